"""The proof of the gate as text."""

from collections.abc import Iterator, Sequence

from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import Figures, Goal, Proof, Rate, Trial
from pytest_rlperf.prove.rates import Expectation, expectation
from pytest_rlperf.report.text import WORDS, aligned, render_interval

FALSE_ALARM = "FALSE ALARM"
EXPECTED = {
    Expectation.NEVER: "none",
    Expectation.HARDLY: "hardly any: less than allowed",
    Expectation.AT_LIMIT: "hardly any: just what is allowed",
    Expectation.OFTEN: "some: more than allowed",
    Expectation.ALWAYS: "all: at least twice what is allowed",
}
AT_LIMIT = (
    "A change of just what is allowed is no regression, and lies too close to one to be told from "
    "it: there, unchanged and inconclusive are right."
)
COUNTED = (
    "counted: all verdicts on these tests, as they are written now, with their thresholds, by this "
    "version of the plugin on this machine"
)
NAMED = 5
"""The number of single verdicts that are shown; more are counted."""


def render_change(injected: float) -> str:
    return format_percent(injected) if injected else "unchanged"


def render_proof_summary(proof: Proof) -> str:
    verdicts = "1 verdict" if proof.verdicts == 1 else f"{proof.verdicts} verdicts"
    return f"proof of the gate, {verdicts}, {proof.added} of them new"


def render_proof(proof: Proof) -> list[str]:
    """Return the table, what stands out in it, and what it rests on."""
    uncounted = (f"{nodeid}: no verdict: {why}" for nodeid, why in proof.uncounted.items())
    striking = [*_alarms(proof.false_alarms), *_missed(proof.missed), *uncounted]
    table = render_proof_table(proof)
    return [*table, *([""] if table else []), *striking, *_basis(proof)]


def render_proof_table(proof: Proof) -> list[str]:
    """Return one line a change and threshold; nothing where there is no verdict."""
    if not proof.cases:
        return []
    head = [
        "change", "allowed", "n", "called slower", "called faster", "inconclusive",
        "interval holds it", "read as, mean ± sd", "s a verdict", "should be called slower",
    ]  # fmt: skip
    return aligned([head, *map(_row, proof.cases)])


def _row(figures: Figures) -> list[str]:
    return [
        render_change(figures.injected),
        format_percent(figures.threshold),
        str(figures.n),
        _rate(figures.slower),
        str(figures.faster or ""),
        str(figures.inconclusive),
        _rate(figures.covered),
        _spread(figures),
        f"{figures.mean_seconds:.1f}",
        EXPECTED[expectation(figures.injected, figures.threshold)],
    ]


def _rate(rate: Rate) -> str:
    """Return "2 of 100 (0.243 to 7.04 %)"."""
    return f"{rate.hits} of {rate.n} ({100 * rate.low:.3g} to {100 * rate.high:.3g} %)"


def _spread(figures: Figures) -> str:
    sd = "" if figures.sd_change is None else f" ± {100 * figures.sd_change:.2f}"
    return f"{100 * figures.mean_change:+.2f}{sd} %"


def _alarms(trials: Sequence[Trial]) -> Iterator[str]:
    for trial in trials[:NAMED]:
        yield f"{FALSE_ALARM}: {trial.nodeid}: unchanged code read as {_reading(trial)}"
    yield from _more(trials, FALSE_ALARM)


def _missed(trials: Sequence[Trial]) -> Iterator[str]:
    for trial in trials[:NAMED]:
        change, word = render_change(trial.injected), WORDS[trial.outcome]
        yield f"missed: {trial.nodeid}: {change} read as {_reading(trial)}, {word}"
    yield from _more(trials, "missed")


def _more(trials: Sequence[Trial], word: str) -> Iterator[str]:
    if len(trials) > NAMED:
        yield f"{word}: {len(trials) - NAMED} more"


def _reading(trial: Trial) -> str:
    interval = render_interval(trial.interval)
    return f"{format_percent(trial.interval.change)} {interval} on {trial.created}"


def _basis(proof: Proof) -> Iterator[str]:
    expected = {expectation(figures.injected, figures.threshold) for figures in proof.cases}
    if Expectation.AT_LIMIT in expected:
        yield AT_LIMIT
    yield f"verdicts: {', '.join(map(_goal, proof.goals))}; {_what_next(proof.goals)}"
    others = f"; {proof.left_out} others are left out" if proof.left_out else ""
    yield f"{COUNTED}{others}."
    yield f"kept in {proof.file}"


def _goal(goal: Goal) -> str:
    at = "at " if goal.injected else ""
    return f"{goal.done} of {goal.wanted} {at}{render_change(goal.injected)}"


def _what_next(goals: Sequence[Goal]) -> str:
    if all(goal.done >= goal.wanted for goal in goals):
        return "that is all that was wanted."
    return "run it again to go on."
