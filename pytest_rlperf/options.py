"""Command line and ini file → one frozen `Settings`. The only place that reads either."""

import difflib
import os
import re
from dataclasses import dataclass, fields
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Self

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.history import DATA_BRANCH
from pytest_rlperf.model.environment import OtherPython
from pytest_rlperf.model.memory import Limits, parse_limit
from pytest_rlperf.model.quantity import parse_fraction, parse_seconds
from pytest_rlperf.model.shard import ShardNumber

BUDGET_S = 300.0
BASELINES = "baselines"
DEFAULT_NAME = "main"

MEMORY = {
    "memory_threshold": ("resident", "20%,1MiB", "growth of resident memory, by both"),
    "traced_threshold": ("traced", "5%,64KiB", "growth of what Python allocates at most, by both"),
    "growth": ("growth", "1KiB", "growth of what Python holds, by every call"),
    "growth_rss": ("growth_rss", "8KiB", "growth of resident memory, by every call"),
}
"""Options with the field of `Limits` that they set, its default, and what is allowed by it."""

INI = {
    "rlperf_against": "git revision to compare with, as --rlperf-against",
    "rlperf_against_python": "interpreter of the base side, as --rlperf-against-python",
    "rlperf_else_against": "as --rlperf-else-against",
    "rlperf_threshold": "allowed slowdown, as --rlperf-threshold",
    "rlperf_shard_by": "result whose seconds balance the shards, as --rlperf-shard-by",
    "rlperf_same_code": "skip or measure, as --rlperf-same-code",
    "rlperf_budget": "seconds for the whole run, as --rlperf-budget",
    "rlperf_baseline": "stored baseline to compare with, as --rlperf-baseline",
    "rlperf_baselines": "folder of the stored baselines, as --rlperf-baselines",
    "rlperf_foreign": "show or judge, as --rlperf-foreign",
    "rlperf_profile": "when to profile, as --rlperf-profile; off: never",
    "rlperf_json": "file for the result, as --rlperf-json",
    "rlperf_report": "folder for the report, as --rlperf-report",
    "rlperf_history": f"branch whose history the report shows (default: {DATA_BRANCH})",
    "rlperf_build": "shell command that builds a tree whose package is compiled",
    "rlperf_mpi_launcher": "program that starts the ranks of MPI tests, or its command line with "
    "{nprocs} (default: mpiexec)",
    "rlperf_mpi_hostfile": "host file for that program",
    "rlperf_mpi_interface": "network interface for that program",
}


@dataclass(frozen=True, slots=True)
class ProfileWish:
    """The value of `--rlperf-profile`: when both sides are profiled, and how closely."""

    on_regression: bool = True
    always: bool = False
    lines: bool = False
    function: str = ""  # whose lines are timed; empty: the one that is blamed most

    @classmethod
    def parse(cls, given: str | None) -> Self:
        match (given or "").partition(":"):
            case ("", "", ""):
                return cls()
            case ("off", "", ""):
                return cls(on_regression=False)
            case ("functions", "", ""):
                return cls(always=True)
            case ("line", "", ""):
                return cls(always=True, lines=True)
            case ("line", ":", function) if function:
                return cls(always=True, lines=True, function=function)
        raise UsageError(
            f"--rlperf-profile={given} is no way to profile; write --rlperf-profile=functions, "
            "line, line:FUNCTION or off."
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """The wishes of the user, checked."""

    against: str | None
    against_python: OtherPython | None  # under which the base side runs; None: under this one
    else_against: str | None  # the revision to compare with where this machine has no baseline
    head: str | None  # the revision to measure; None: the working tree
    save: str | None  # record a baseline of this name
    baseline: str | None  # name of the stored baseline to compare with; None: the default one
    baselines: Path  # folder of the stored baselines
    judge_foreign: bool  # baselines of other machines too, which are shown otherwise
    threshold: float | None  # None: the default of what is compared with
    budget_s: float
    usual_budget_s: float  # without the command line's: that of a run which proves nothing
    categories: frozenset[str]
    shard: ShardNumber | None  # only this part of the suite
    shard_by: Path | None  # the result of an earlier run, by whose seconds the suite is shared out
    strict: bool
    reached: bool  # only tests that the change can reach
    skip_same_code: bool  # do not measure what runs the same code on both sides
    prove: bool
    profile: ProfileWish
    limits: Limits  # of memory
    json: Path | None
    report: Path | None
    history: str  # the branch that the report reads
    build: str | None
    terse: bool  # a few stable lines instead of all that a terminal shows


@dataclass(frozen=True, slots=True)
class MpiWishes:
    """The settings of the ini file on launching ranks."""

    launcher: str | None = None
    hostfile: str | None = None
    interface: str | None = None


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("rlperf", "performance gate")
    group.addoption(
        "--rlperf",
        action="store_true",
        help="Measure and gate the performance tests, and run nothing else. Without it they run "
        "once, as plain tests.",
    )
    group.addoption(
        "--rlperf-against",
        metavar="REF",
        help="Compare with this git revision; REF... is the merge base with it.",
    )
    group.addoption(
        "--rlperf-against-python",
        metavar="PATH",
        help="Compare with the same tree, or with the revision of --rlperf-against, in another "
        "environment: that of this interpreter or virtual environment, which needs pytest and "
        "psutil.",
    )
    group.addoption(
        "--rlperf-else-against",
        metavar="REF",
        help="Compare with this git revision where there is no stored baseline of this machine, "
        "unless another option says what to compare with.",
    )
    group.addoption(
        "--rlperf-head",
        metavar="REF",
        help="Measure this git revision instead of the working tree, whose tests are used.",
    )
    group.addoption(
        "--rlperf-save",
        metavar="NAME",
        nargs="?",
        const=DEFAULT_NAME,
        help=f"Record a stored baseline (default name {DEFAULT_NAME}).",
    )
    group.addoption(
        "--rlperf-baseline",
        metavar="NAME",
        help=f"Compare with the stored baseline of this name (default {DEFAULT_NAME}).",
    )
    group.addoption(
        "--rlperf-baselines",
        metavar="DIR",
        help=f"Folder of the stored baselines (default {BASELINES}, beside pytest's ini file).",
    )
    group.addoption(
        "--rlperf-foreign",
        metavar="show|judge",
        help="What a stored baseline of another machine is good for: show the change (the "
        "default), or judge it too.",
    )
    group.addoption(
        "--rlperf-threshold",
        metavar="5%",
        help="Allowed slowdown (default 5%% against a revision, 10%% against a stored baseline, "
        "25%% against one of another machine or build of Python).",
    )
    group.addoption(
        "--rlperf-budget",
        metavar="SECONDS",
        help=f"Time for the whole run (default {BUDGET_S:.0f}).",
    )
    group.addoption(
        "--rlperf-category",
        metavar="NAME",
        action="append",
        help="Only tests of this category; may repeat.",
    )
    group.addoption(
        "--rlperf-shard",
        metavar="K/N",
        help="Only the K-th of N parts of the suite, the same on every machine; rlperf merge makes "
        "one result of all of them.",
    )
    group.addoption(
        "--rlperf-shard-by",
        metavar="FILE",
        help="Share the suite out by the seconds that its tests took in this result, which all "
        "shards must have (default: by the stored baselines of the commit).",
    )
    group.addoption(
        "--rlperf-strict",
        action="store_true",
        default=None,
        help="Fail on inconclusive, unmeasured, incomparable and missing comparisons too.",
    )
    group.addoption(
        "--rlperf-reached",
        action="store_true",
        default=None,
        help="Only tests whose imports lead to a file that changed since the revision of "
        "--rlperf-against; needs grimp.",
    )
    group.addoption(
        "--rlperf-same-code",
        metavar="skip|measure",
        help="What to do with tests that run the same code on both sides of --rlperf-against: "
        "skip (the default) passes them without measuring.",
    )
    group.addoption(
        "--rlperf-prove",
        action="store_true",
        help="Measure the gate itself: compare the selected tests with themselves, unchanged and "
        "made slower by 5%% and 10%%, and print how often it was wrong. Run it again to go on.",
    )
    group.addoption(
        "--rlperf-profile",
        metavar="HOW",
        nargs="?",
        const="functions",
        help="Profile both sides, even where nothing regressed; line or line:FUNCTION adds the "
        "time of single lines; off: not even a regression is profiled.",
    )
    group.addoption(
        "--rlperf-report",
        metavar="DIR",
        help="Write report.html, report.md and report.json into DIR.",
    )
    group.addoption(
        "--rlperf-json", metavar="FILE", help="Write the machine-readable result to FILE."
    )
    group.addoption(
        "--rlperf-terse",
        action="store_true",
        default=None,
        help="Print a few stable lines for logs and programs, and nothing else: one for each test "
        "that is not plainly fine, and one of counts.",
    )
    for name, (_, default, text) in MEMORY.items():
        option = f"--rlperf-{name.replace('_', '-')}"
        allowed = f"Allowed {text} (default {default})".replace("%", "%%")
        group.addoption(option, metavar=default.replace("%", "%%"), help=f"{allowed}.")
        parser.addini(f"rlperf_{name}", f"as {option}", default=None)
    for name, text in INI.items():
        parser.addini(name, text, default=None)
    parser.addini("rlperf_category", "categories to run, as --rlperf-category", type="args")
    parser.addini("rlperf_reached", "as --rlperf-reached", type="bool", default=False)
    parser.addini("rlperf_strict", "as --rlperf-strict", type="bool", default=False)
    parser.addini("rlperf_terse", "as --rlperf-terse", type="bool", default=False)


def read_settings(config: pytest.Config) -> Settings:
    """Read the command line first, then ini; the first thing wrong is raised as one sentence."""
    against, python = _against(config), _against_python(config)
    compared = against is not None or python is not None
    threshold = _text(config, "threshold")
    budget = _seconds(config.getoption("rlperf_budget"))
    usual_budget = _seconds(config.getini("rlperf_budget") or None) or BUDGET_S
    json_file, report = _text(config, "json"), _text(config, "report")
    here = config.invocation_params.dir
    categories = config.getoption("rlperf_category") or config.getini("rlperf_category")
    return Settings(
        against=against,
        against_python=python,
        else_against=_else_against(config, compared),
        head=_head(config, against),
        save=_save_name(config),
        baseline=_baseline_name(_text(config, "baseline"), "--rlperf-baseline"),
        baselines=_baselines_folder(config),
        judge_foreign=_judge_foreign(config),
        threshold=None if threshold is None else parse_fraction(threshold, "--rlperf-threshold"),
        budget_s=budget or usual_budget,
        usual_budget_s=usual_budget,
        categories=frozenset(categories),
        shard=_shard(config),
        shard_by=_shard_by(config),
        strict=_flag(config, "strict"),
        reached=_reached(config, against, python),
        skip_same_code=_skip_same_code(config),
        prove=bool(config.getoption("rlperf_prove")),
        profile=_profile(config, compared),
        limits=_limits(config),
        json=None if json_file is None else checked_file(here / json_file),
        report=None if report is None else checked_folder(here / report),
        history=config.getini("rlperf_history") or DATA_BRANCH,
        build=config.getini("rlperf_build") or None,
        terse=is_terse(config),
    )


def read_mpi_wishes(config: pytest.Config) -> MpiWishes:
    names = (field.name for field in fields(MpiWishes))
    return MpiWishes(**{name: config.getini(f"rlperf_mpi_{name}") or None for name in names})


def _limits(config: pytest.Config) -> Limits:
    limits: dict[str, Any] = {}
    for name, (field, _, _) in MEMORY.items():
        text = _text(config, name)
        if text is not None:
            limits[field] = parse_limit(field, text, f"--rlperf-{name.replace('_', '-')}")
    return Limits(**limits)


LONE = (
    "against", "against_python", "else_against", "head", "save", "baseline", "baselines", "foreign",
    "threshold", "budget", "category", "shard", "shard_by", "strict", "reached", "same_code",
    "prove", "profile", *MEMORY, "json", "report", "terse",
)  # fmt: skip
"""Options that mean nothing without `--rlperf`."""


def refuse_lone_options(config: pytest.Config) -> None:
    """Refuse options without `--rlperf`: a gate that is not run would be green for ever."""
    for name in LONE:
        if config.getoption(f"rlperf_{name}") not in (None, False):
            option = f"--rlperf-{name.replace('_', '-')}"
            raise pytest.UsageError(f"rlperf: {option} does nothing alone; add --rlperf.")


def _text(config: pytest.Config, name: str) -> str | None:
    option: str | None = config.getoption(f"rlperf_{name}")
    return option if option is not None else (config.getini(f"rlperf_{name}") or None)


def _flag(config: pytest.Config, name: str) -> bool:
    option: bool | None = config.getoption(f"rlperf_{name}")
    return bool(config.getini(f"rlperf_{name}") if option is None else option)


def _seconds(text: str | None) -> float | None:
    return None if text is None else parse_seconds(text, "--rlperf-budget")


PARTNERS = ("against", "against_python", "prove", "save", "baseline")
"""Options that say with whom the tests are compared."""
TOGETHER = {("against", "against_python"), ("save", "baseline")}
"""A revision in another environment; and one name given twice, or refused later."""


def _partners(config: pytest.Config) -> list[str]:
    return [n for n in PARTNERS if config.getoption(f"rlperf_{n}") not in (None, False)]


def _against(config: pytest.Config) -> str | None:
    """Put any partner on the command line before a revision in the ini file."""
    partners = _partners(config)
    for pair in combinations(partners, 2):
        if pair not in TOGETHER:
            first, second = (f"--rlperf-{name.replace('_', '-')}" for name in pair)
            raise UsageError(f"{first} and {second} exclude each other; give one of them.")
    return None if partners and "against" not in partners else _text(config, "against")


def _against_python(config: pytest.Config) -> OtherPython | None:
    """Find the interpreter: one of the command line is named from where that was written, one of
    the ini file from pytest's root folder.
    """
    given: str | None = config.getoption("rlperf_against_python")
    folder = config.invocation_params.dir
    if given is None and {*_partners(config)} <= {"against"}:
        given, folder = config.getini("rlperf_against_python") or None, config.rootpath
    if given is None:
        return None
    from pytest_rlperf.environments.environment import find_interpreter  # few runs need it

    return OtherPython(given, find_interpreter(given, folder))


def _else_against(config: pytest.Config, compared: bool) -> str | None:
    """Return the second choice, unless something was chosen already."""
    return None if _partners(config) or compared else _text(config, "else_against")


def _judge_foreign(config: pytest.Config) -> bool:
    wish = _text(config, "foreign")
    if wish not in (None, "show", "judge"):
        raise UsageError(
            f"--rlperf-foreign={wish} is no use of another machine's baseline; write show or judge."
        )
    return wish == "judge"


def _head(config: pytest.Config, against: str | None) -> str | None:
    revision: str | None = config.getoption("rlperf_head")
    if revision is not None and against is None:
        raise UsageError(f"--rlperf-head={revision} needs --rlperf-against to compare it with.")
    return revision


def _reached(config: pytest.Config, against: str | None, python: OtherPython | None) -> bool:
    if python is not None and config.getoption("rlperf_reached"):
        raise UsageError(
            "--rlperf-reached and --rlperf-against-python exclude each other: another environment "
            "reaches every test; leave one of them out."
        )
    if against is None and config.getoption("rlperf_reached"):
        raise UsageError(
            "--rlperf-reached needs --rlperf-against, which tells since when files changed."
        )
    return against is not None and python is None and _flag(config, "reached")


SHARD = re.compile(r"([0-9]{1,4})/([0-9]{1,4})")


def _shard(config: pytest.Config) -> ShardNumber | None:
    text: str | None = config.getoption("rlperf_shard")
    if text is None:
        return None
    match = SHARD.fullmatch(text)
    try:
        number = ShardNumber(*map(int, match.groups())) if match else None
    except ValueError:
        number = None
    if number is None:
        raise UsageError(
            f"--rlperf-shard={text} names no part of a suite; write --rlperf-shard=2/4 for the "
            "second of four."
        )
    if config.getoption("rlperf_prove"):
        raise UsageError(
            "--rlperf-shard and --rlperf-prove exclude each other: a proof goes on from run to run "
            "by itself; name folders or -k for a part of it."
        )
    return number


def _shard_by(config: pytest.Config) -> Path | None:
    """Return the file: one of the command line lies where that was written, one of the ini file
    beside it, so that it is the same one for all shards.
    """
    given: str | None = config.getoption("rlperf_shard_by")
    if given is not None and config.getoption("rlperf_shard") is None:
        raise UsageError("--rlperf-shard-by does nothing alone; add --rlperf-shard=K/N.")
    if given is not None:
        return config.invocation_params.dir / given
    usual: str | None = config.getini("rlperf_shard_by")
    return config.rootpath / usual if usual else None


def _skip_same_code(config: pytest.Config) -> bool:
    given = _text(config, "same_code") or "skip"
    if given not in ("skip", "measure"):
        raise UsageError(f"--rlperf-same-code={given} is neither skip nor measure; write one.")
    return given == "skip"


def is_terse(config: pytest.Config) -> bool:
    """Return whether a run that gives verdicts tells them in a few stable lines."""
    proves = config.getoption("rlperf_prove")
    if proves and config.getoption("rlperf_terse"):
        raise UsageError(
            "--rlperf-terse tells verdicts, and --rlperf-prove gives none; leave one of them out."
        )
    return not proves and _flag(config, "terse")


def _profile(config: pytest.Config, compared: bool) -> ProfileWish:
    wish = ProfileWish.parse(_text(config, "profile"))
    if wish.always and not compared and config.getoption("rlperf_profile") is not None:
        raise UsageError(
            "--rlperf-profile needs --rlperf-against: it compares the code of two revisions, and a "
            "stored baseline holds none."
        )
    return wish


def _save_name(config: pytest.Config) -> str | None:
    """Read the name; it may be left out, and then a path that follows looks like one."""
    name: str | None = config.getoption("rlperf_save")
    words = [str(word) for word in config.invocation_params.args]
    path = config.invocation_params.dir / (name or "").partition("::")[0]
    if name is not None and ("--rlperf-save", name) in pairwise(words) and path.exists():
        raise UsageError(
            f"--rlperf-save took {name!r} for its NAME; put it last, or write "
            f"--rlperf-save={DEFAULT_NAME}."
        )
    return _baseline_name(name, "--rlperf-save")


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def _baseline_name(name: str | None, option: str) -> str | None:
    """Refuse what cannot become the name of a folder."""
    if name is not None and not NAME.fullmatch(name):
        raise UsageError(
            f"{option}={name} is no name for a baseline; use letters, digits, dots, dashes and "
            "underscores."
        )
    return name


def _baselines_folder(config: pytest.Config) -> Path:
    folder: str | None = config.getoption("rlperf_baselines")
    if folder is not None:
        return config.invocation_params.dir / folder
    return config.rootpath / (config.getini("rlperf_baselines") or BASELINES)


def checked_file(path: Path) -> Path:
    """Refuse now what could not be written after minutes of measuring."""
    if path.is_dir():
        raise UsageError(f"--rlperf-json={path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise UsageError(f"--rlperf-json={path}: its folder does not exist; create it first.")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"--rlperf-json={path}: its folder is not writable; choose another.")
    return path


def checked_folder(path: Path) -> Path:
    if path.exists() and not path.is_dir():
        raise UsageError(f"--rlperf-report={path} is a file; name a folder.")
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    if not os.access(existing, os.W_OK):
        raise UsageError(f"--rlperf-report={path}: {existing} is not writable; choose another.")
    return path


def check_categories(wanted: frozenset[str], known: frozenset[str]) -> None:
    for name in sorted(wanted - known):
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else _known_categories(known)
        raise UsageError(f"no selected test has the category {name!r}; {hint}")


def _known_categories(known: frozenset[str]) -> str:
    if known:
        return f"there are {', '.join(sorted(known))}."
    return "none has one, so mark some with @pytest.mark.rlperf(category=...)."
