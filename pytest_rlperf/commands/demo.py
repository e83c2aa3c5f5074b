"""`rlperf demo`: a small project with a slower commit in it, and what the gate says of that."""

import sys
import tempfile
import webbrowser
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from pytest_rlperf.errors import ExitCode, UsageError
from pytest_rlperf.leaving import run_to_its_end
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import RunResult
from pytest_rlperf.report.result_file import read_run
from pytest_rlperf.trees.git import commit_all, git

REWARDS = '''\
"""Rewards and what follows from them."""


def returns(rewards, gamma):
    """Return what is still to come, discounted, at each step."""
    total, backwards = 0.0, []
    for reward in reversed(rewards):
        total = reward + gamma * total
        backwards.append(total)
    return backwards[::-1]


def normalised(values):
    """Return the values with a mean of zero and a spread of one."""
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    return [(value - mean) / (variance + 1e-8) ** 0.5 for value in values]
'''
CHOICES = '''\
"""Which of several to choose."""


def best(values):
    """Return the number of the largest value."""
    return max(range(len(values)), key=values.__getitem__)
'''
REWARDS_TESTS = """\
import rewards

STEPS = [float(step % 7) for step in range(2000)]


def test_returns(rlperf):
    assert len(rlperf(rewards.returns, STEPS, 0.99)) == len(STEPS)


def test_normalised(rlperf):
    assert abs(sum(rlperf(rewards.normalised, STEPS))) < 1e-3
"""
CHOICES_TEST = """\
import choices


def test_best(rlperf):
    assert rlperf(choices.best, [3.0, 9.0, 1.0] * 500) == 1
"""
INI = "[pytest]\ntestpaths = tests\npythonpath = .\n"
SLOWER = "reward + gamma * total\n", "reward + discounted(total, gamma)\n"
HELPER = (
    "\n\ndef normalised(",
    '\n\ndef discounted(value, gamma):\n    """Return what a value is worth one step earlier."""\n'
    "    return gamma * value\n\n\ndef normalised(",
)
TIDIER = (
    "    return [(value - mean) / (variance + 1e-8) ** 0.5 for value in values]\n",
    "    spread = (variance + 1e-8) ** 0.5\n"
    "    return [(value - mean) / spread for value in values]\n",
)
REPORT = "report"
WORDS = ("--rlperf", "--rlperf-against=HEAD~1", f"--rlperf-report={REPORT}")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="FOLDER",
        help="where to make the project: a folder that is not there yet; default: a temporary one",
    )
    parser.add_argument("--open", action="store_true", help="show the report in a browser")


def run(arguments: Namespace) -> int:
    folder = _new_folder(arguments.folder)
    write_demo(folder)
    for line in _introduction(folder):
        _say(line)
    done = run_to_its_end([sys.executable, "-m", "pytest", *WORDS], cwd=folder)
    result, page = folder / REPORT / "report.json", folder / REPORT / "report.html"
    if not result.exists():
        return ExitCode.FAILED
    for line in _conclusion(read_run(result)[0], done.returncode, page):
        _say(line)
    if arguments.open:
        webbrowser.open(page.as_uri())
    return ExitCode.FINE


def _new_folder(wanted: Path | None) -> Path:
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="rlperf-demo-"))
    try:
        wanted.mkdir(parents=True)
    except OSError as error:
        raise UsageError(
            f"{wanted} cannot be made ({error.strerror}); name a folder that is not there yet."
        ) from None
    return wanted.resolve()


def write_demo(folder: Path) -> None:
    """Lay out a repository with two commits, of which the second makes one function slower."""
    files = {
        "rewards.py": REWARDS,
        "choices.py": CHOICES,
        "tests/test_rewards.py": REWARDS_TESTS,
        "tests/test_choices.py": CHOICES_TEST,
        "pytest.ini": INI,
        ".gitignore": f"__pycache__/\n.pytest_cache/\n{REPORT}/\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit_all(folder, "Compute returns, and tell how fast")
    changed = REWARDS.replace(*SLOWER).replace(*HELPER).replace(*TIDIER)
    (folder / "rewards.py").write_text(changed, encoding="utf-8")
    commit_all(folder, "Tidy up")


def _introduction(folder: Path) -> Iterator[str]:
    yield f"made a project with two commits in {folder}"
    yield from (f"  {line}" for line in git(folder, "diff", "-U0", "HEAD~1").splitlines()[4:])
    yield f"does that make it slower?  $ pytest {' '.join(WORDS)}"


def _conclusion(measured: RunResult, status: int, page: Path) -> Iterator[str]:
    slower = sum(test.outcome is Outcome.REGRESSED for test in measured.tests)
    fate = "the change would fail in CI" if status else "the change would pass in CI"
    yield f"{slower} of {len(measured.tests)} tests got slower; pytest ended with {status}: {fate}"
    yield f"the report: {page}"
    yield "in your own project: pytest --rlperf --rlperf-against=HEAD; a first test: rlperf init"


def _say(text: str) -> None:
    print(f"rlperf demo: {text}" if text[:1] != " " else text, flush=True)
