"""Command line and ini file → one frozen `Settings`. The only place that reads either."""

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.quantity import parse_fraction, parse_seconds

THRESHOLD_AGAINST = 0.05
THRESHOLD_STORED = 0.10
BUDGET_S = 300.0

INI = {
    "rlperf_against": "git revision to compare with, as --rlperf-against",
    "rlperf_threshold": "allowed slowdown, as --rlperf-threshold",
    "rlperf_budget": "seconds for the whole run, as --rlperf-budget",
    "rlperf_json": "file for the result, as --rlperf-json",
    "rlperf_build": "shell command that builds a tree whose package is compiled",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked for, checked."""

    against: str | None
    threshold: float
    budget_s: float
    categories: frozenset[str]
    strict: bool
    json: Path | None
    build: str | None


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
        "--rlperf-threshold",
        metavar="5%",
        help="Allowed slowdown (default 5%% against a revision).",
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
        "--rlperf-strict",
        action="store_true",
        default=None,
        help="Fail on inconclusive, incomparable and missing comparisons too.",
    )
    group.addoption(
        "--rlperf-json", metavar="FILE", help="Write the machine-readable result to FILE."
    )
    for name, text in INI.items():
        parser.addini(name, text, default=None)
    parser.addini("rlperf_category", "categories to run, as --rlperf-category", type="args")
    parser.addini("rlperf_strict", "as --rlperf-strict", type="bool", default=False)


def read_settings(config: pytest.Config) -> Settings:
    """Command line first, then ini; the first thing wrong is raised as one sentence."""
    against = _text(config, "against")
    threshold = _text(config, "threshold")
    budget = _text(config, "budget")
    json_file = _text(config, "json")
    strict = config.getoption("rlperf_strict")
    categories = config.getoption("rlperf_category") or config.getini("rlperf_category")
    return Settings(
        against=against,
        threshold=_threshold(threshold, against),
        budget_s=BUDGET_S if budget is None else parse_seconds(budget, "--rlperf-budget"),
        categories=frozenset(categories),
        strict=bool(config.getini("rlperf_strict") if strict is None else strict),
        json=None if json_file is None else checked_file(config.invocation_params.dir / json_file),
        build=config.getini("rlperf_build") or None,
    )


def refuse_lone_options(config: pytest.Config) -> None:
    """A gate that was asked for and is not run would be green for ever."""
    for name in ("against", "threshold", "budget", "category", "strict", "json"):
        if config.getoption(f"rlperf_{name}"):
            raise pytest.UsageError(f"rlperf: --rlperf-{name} does nothing alone; add --rlperf.")


def _text(config: pytest.Config, name: str) -> str | None:
    given: str | None = config.getoption(f"rlperf_{name}")
    return given if given is not None else (config.getini(f"rlperf_{name}") or None)


def _threshold(given: str | None, against: str | None) -> float:
    if given is not None:
        return parse_fraction(given, "--rlperf-threshold")
    return THRESHOLD_STORED if against is None else THRESHOLD_AGAINST


def checked_file(path: Path) -> Path:
    """Refuse now what could not be written after minutes of measuring."""
    if path.is_dir():
        raise UsageError(f"--rlperf-json={path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise UsageError(f"--rlperf-json={path}: its folder does not exist; create it first.")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"--rlperf-json={path}: its folder is not writable; choose another.")
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
