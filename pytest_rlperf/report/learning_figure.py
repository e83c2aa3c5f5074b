"""The learning curves of a test as a figure in a file of its own, for slides and papers.

Imported only where a report is written and matplotlib is there.
"""

import io
import warnings
from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pytest_rlperf.learning.scores import bands_of, tasks_of
from pytest_rlperf.model.learning import LearningResult, Training
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.report.page.plots import LIGHT, SETTINGS
from pytest_rlperf.report.text import WORDS, printable

WIDTH, HEIGHT = 5.0, 3.4
"""Inches, of one task."""
BASE_COLOUR = "#75706a"
"""As on the page, whose style sheet has the colours."""
BAND = 0.18


def learning_figure(test: TestResult, learning: LearningResult) -> bytes:
    """Return an SVG with the curves of both sides: interquartile means and quartiles of the seeds,
    side by side for each task.
    """
    tasks = tasks_of((*learning.base, *learning.head))
    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters that its font lacks
        figure = Figure(figsize=(WIDTH * len(tasks), HEIGHT), layout="constrained")
        name = printable(test.nodeid.rpartition("::")[2])
        figure.suptitle(f"{name}: {WORDS[test.outcome].lower()}", fontsize=11, color=LIGHT.text)
        every = figure.subplots(1, len(tasks), squeeze=False)[0]
        for axes, task in zip(every, tasks, strict=True):
            _draw(axes, task, learning)
        file = io.BytesIO()
        # Neither when nor by what it was drawn: the same run gives the same file.
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def _draw(axes: Axes, task: str, learning: LearningResult) -> None:
    _draw_side(axes, task, "base", learning.base, BASE_COLOUR)
    _draw_side(axes, task, "head", learning.head, LIGHT.head)
    if learning.goal is not None:
        axes.axhline(learning.goal, color=LIGHT.text, linewidth=0.8, linestyle="dotted")
    axes.set_title(printable(task), fontsize=10, color=LIGHT.text)
    axes.set_xlabel("steps", color=LIGHT.text)
    axes.set_ylabel("return", color=LIGHT.text)
    axes.tick_params(colors=LIGHT.text, length=0)
    axes.grid(color=LIGHT.faint, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, labelcolor=LIGHT.text)


def _draw_side(
    axes: Axes, task: str, name: str, trainings: Sequence[Training], colour: str
) -> None:
    course = bands_of(trainings, task)
    if not course:
        return
    seeds = sum(task in training.curves for training in trainings)
    steps = [band.steps for band in course]
    lows, highs = ([band.low for band in course], [band.high for band in course])
    axes.fill_between(steps, lows, highs, color=colour, alpha=BAND, linewidth=0)
    label = f"{name}, {seeds} of {len(trainings)} seeds"
    middles = [band.middle for band in course]
    axes.plot(steps, middles, color=colour, linewidth=1.8, label=label)
