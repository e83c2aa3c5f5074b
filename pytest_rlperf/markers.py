"""What tests say of themselves: `@pytest.mark.rlperf(...)` → `Spec`, `@pytest.mark.rlperf_mpi(...)`
→ `RankSpec` too, or one sentence that says what is wrong with it; and suites written for another
plugin.
"""

import difflib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.learning import (
    LEARNING_KEYWORDS,
    LEAST_SEEDS,
    LearningMetric,
    LearningSpec,
)
from pytest_rlperf.model.memory import parse_limits
from pytest_rlperf.model.quantity import parse_fraction
from pytest_rlperf.model.spec import KEYWORDS, RANK_KEYWORDS, RankSpec, Scaling, Spec

MARKER = "rlperf"
MPI_MARKER = "rlperf_mpi"
LEARNING_MARKER = "rlperf_learning"

Keywords = dict[str, Any]
"""What a user wrote into a marker."""


def spec_of(item: pytest.Item) -> Spec:
    """Read the markers of a test; the closest one wins, keyword by keyword."""
    merged = {name: value for name, value in _merged(item).items() if name not in RANK_KEYWORDS}
    group = group_of(item)
    if group is not None:
        merged.setdefault("category", group)
    marker = MPI_MARKER if item.get_closest_marker(MPI_MARKER) else MARKER
    return spec_from(merged, item.nodeid, marker)


def ranks_of(item: pytest.Item) -> RankSpec:
    """Read what an MPI test says of its jobs."""
    merged = {name: value for name, value in _merged(item).items() if name in RANK_KEYWORDS}
    _check(merged, item.nodeid, MPI_MARKER, ranks=True)
    if "nprocs" in merged:
        sizes = merged["nprocs"]
        merged["nprocs"] = tuple(sorted({sizes} if isinstance(sizes, int) else set(sizes)))
    if "scaling" in merged:
        merged["scaling"] = Scaling(merged["scaling"])
    return RankSpec(**merged)


def learning_of(item: pytest.Item) -> LearningSpec:
    """Read what a test says of its trainings."""
    merged = _merged(item, (LEARNING_MARKER,))
    _check(merged, item.nodeid, LEARNING_MARKER)
    if "threshold" in merged:
        merged["threshold"] = parse_fraction(merged["threshold"], f"{item.nodeid}: threshold")
    if "metric" in merged:
        merged["metric"] = LearningMetric(merged["metric"])
    if "seeds" in merged:
        seeds = merged["seeds"]
        merged["seeds"] = tuple(range(seeds) if isinstance(seeds, int) else seeds)
    spec = LearningSpec(**merged)
    if spec.goal is None and spec.metric in (LearningMetric.STEPS, LearningMetric.SOLVED):
        raise UsageError(
            f"{item.nodeid}: metric={spec.metric.value!r} needs the return that is to be reached; "
            "add goal=..."
        )
    return spec


def _merged(item: pytest.Item, names: Sequence[str] = (MARKER, MPI_MARKER)) -> Keywords:
    merged: Keywords = {}
    for marker in item.iter_markers():
        if marker.name not in names:
            continue
        if marker.args:
            first = "threshold" if marker.name == LEARNING_MARKER else "category"
            raise UsageError(
                f"{item.nodeid}: @pytest.mark.{marker.name} takes keywords only, "
                f"and got {marker.args[0]!r}; write {first}={marker.args[0]!r}, for example."
            )
        for name in marker.kwargs:
            if marker.name == MARKER and name in RANK_KEYWORDS:
                raise UsageError(_unknown(name, item.nodeid, MARKER))
        merged = {**marker.kwargs, **merged}
    return merged


def spec_from(keywords: Keywords, nodeid: str, marker: str = MARKER) -> Spec:
    _check(keywords, nodeid, marker)
    values = dict(keywords)
    if values.get("threshold") is not None:
        values["threshold"] = parse_fraction(values["threshold"], f"{nodeid}: threshold")
    if "memory" in values:
        values["memory"] = _memory(values["memory"], nodeid)
    if isinstance(values.get("imports"), str):
        values["imports"] = (values["imports"],)
    values["imports"] = tuple(values.get("imports", ()))
    values["sizes"] = tuple(sorted(values.get("sizes", ())))
    if isinstance(values.get("kpi"), str):
        values["kpi"] = (values["kpi"],)
    values["kpi"] = tuple(values.get("kpi", ()))
    spec = Spec(**values)
    if marker == MPI_MARKER and spec.starts:
        raise UsageError(
            f"{nodeid}: imports and first_call are timed in one process, and this test runs in "
            "ranks; give them to a test of its own."
        )
    return spec


def _memory(limits: bool | Keywords, nodeid: str) -> Keywords | None:
    if isinstance(limits, Mapping):
        return parse_limits(limits, f"{nodeid}: memory")
    return {} if limits else None


def _check(keywords: Keywords, nodeid: str, marker: str, *, ranks: bool = False) -> None:
    learning = marker == LEARNING_MARKER
    own = LEARNING_KEYWORDS if learning else RANK_KEYWORDS if ranks else KEYWORDS
    for name, value in keywords.items():
        if name not in own:
            raise UsageError(_unknown(name, nodeid, marker))
        expected, fits = (LEARNING_CHECKS if learning else CHECKS)[name]
        if not fits(value):
            raise UsageError(f"{nodeid}: {marker}({name}={value!r}) is not {expected}; correct it.")


def _unknown(name: str, nodeid: str, marker: str) -> str:
    others = {MARKER: KEYWORDS, LEARNING_MARKER: LEARNING_KEYWORDS}
    known = others.get(marker, (*RANK_KEYWORDS, *KEYWORDS))
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}."
    return f"{nodeid}: @pytest.mark.{marker} has no keyword {name!r}; {hint}"


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_names(value: Any) -> bool:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names:
        return False
    return all(isinstance(name, str) and name for name in names)


def _is_modules(value: Any) -> bool:
    if not _is_names(value):
        return False
    names = [value] if isinstance(value, str) else value
    return all(part.isidentifier() for name in names for part in name.split("."))


def _is_sizes(value: Any) -> bool:
    sizes = [value] if isinstance(value, int) else value
    return isinstance(sizes, list | tuple) and bool(sizes) and all(map(_whole(1), sizes))


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _is_scale(value: Any) -> bool:
    """Ask for sizes that a slope can be fitted over."""
    if not isinstance(value, list | tuple) or not all(map(_is_positive, value)):
        return False
    return 1 < len(value) == len(set(value))


FAR_TOO_MANY = 10_000
"""Seeds; looking after each costs more with every one before it."""


def _is_seeds(value: Any) -> bool:
    if _whole(LEAST_SEEDS)(value):
        return bool(value <= FAR_TOO_MANY)
    if not isinstance(value, list | tuple | range) or not all(map(_whole(0), value)):
        return False
    return LEAST_SEEDS <= len(value) == len(set(value)) <= FAR_TOO_MANY


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_json_mapping(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return isinstance(value, Mapping)


CHECKS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "category": ("a name", lambda value: isinstance(value, str)),
    "steps": ("a whole number above 0", _whole(1)),
    "threshold": ("a fraction or a percentage", lambda value: isinstance(value, str | float | int)),
    "kpi": ("the name of a KPI, or a list of names", _is_names),
    "threads": ("a whole number above 0", _whole(1)),
    "waits": ("True or False", lambda value: isinstance(value, bool)),
    "memory": ("True, False or a mapping of limits", lambda v: isinstance(v, bool | Mapping)),
    "warmup": ("a whole number, 0 or more", _whole(0)),
    "iterations": ("a whole number above 0", _whole(1)),
    "imports": ("the name of a module, or a list of names", _is_modules),
    "first_call": ("True or False", lambda value: isinstance(value, bool)),
    "sizes": ("a list of two or more different numbers above 0", _is_scale),
    "metadata": ("a mapping that fits into JSON", _is_json_mapping),
    "nprocs": ("a number of ranks, or a list of them", _is_sizes),
    "timeout": ("a number of seconds above 0", _is_positive),
    "scaling": ("'strong' or 'weak'", lambda value: value in list(Scaling)),
    "gate_oversubscribed": ("True or False", lambda value: isinstance(value, bool)),
}

LEARNING_CHECKS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "threshold": CHECKS["threshold"],
    "metric": (f"one of {', '.join(LearningMetric)}", lambda value: value in list(LearningMetric)),
    "seeds": (
        f"a number of seeds from {LEAST_SEEDS} to {FAR_TOO_MANY:,}, or a list of as many "
        "different ones",
        _is_seeds,
    ),
    "timeout": CHECKS["timeout"],
    "goal": ("a return, as a number", _is_finite),
    "worst": ("a return, as a number", _is_finite),
}

# -- suites written for the `benchmark` fixture of pytest-benchmark or pytest-codspeed -----------
#
# Which tests those are, their groups, and how those plugins are kept from measuring, saving and
# comparing beside this one. Without `--rlperf` nothing here acts, so they are as they would be
# without this plugin.

FIXTURES = frozenset({"benchmark", "codspeed_benchmark"})
"""Their markers have these names, too."""
CODSPEED = "pytest_codspeed.plugin"
PROVIDERS = frozenset({"pytest_benchmark.plugin", CODSPEED})
"""A fixture of that name which comes from neither is something else."""

SILENT: Mapping[str, Any] = {
    "benchmark_skip": False,
    "benchmark_only": False,
    "benchmark_enable": False,
    "benchmark_save": None,
    "benchmark_autosave": None,
    "benchmark_json": None,
    "benchmark_compare": [],
    "benchmark_compare_fail": None,
    "benchmark_cprofile": None,
    "benchmark_histogram": [],
    "benchmark_quiet": True,
    "benchmark_verbose": False,
    # The storage is opened (a folder made, a server asked) even where nothing is stored.
    "benchmark_storage": f"file://{os.devnull}",
    "codspeed": False,
}
"""Options of both, as in `config.option`, with the values under which nothing comes of them."""


def silence(config: pytest.Config, *, tests_run: bool) -> None:
    """Keep the other plugins silent; call it before they read their options, wherever given.

    Where tests run, the fixture must not say that it is disabled. Where none do it is, or
    pytest-benchmark would warn of whatever keeps it from measuring.
    """
    for name, value in {**SILENT, "benchmark_disable": not tests_run}.items():
        if hasattr(config.option, name):
            setattr(config.option, name, value)


def uses_benchmark(item: pytest.Item) -> bool:
    """Return whether a test uses it, itself or through a fixture such as `benchmark_weave`, or is a
    benchmark as a whole.
    """
    used = not FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
    return (used and not PROVIDERS.isdisjoint(_plugins(item.config))) or is_marked_alone(item)


def is_marked_alone(item: pytest.Item) -> bool:
    """Return whether the marker of pytest-codspeed says that the whole test is a benchmark: there
    is no fixture that measures a part of it.
    """
    names = getattr(item, "fixturenames", ())
    if any(name in FIXTURES or name.startswith(MARKER) for name in names):
        return False
    return any(map(item.get_closest_marker, FIXTURES)) and CODSPEED in _plugins(item.config)


def _plugins(config: pytest.Config) -> set[str]:
    plugins = config.pluginmanager.get_plugins()
    return {getattr(plugin, "__name__", "") for plugin in plugins}


def group_of(item: pytest.Item) -> str | None:
    """Return the group that `@pytest.mark.benchmark` gives a test that uses the fixture."""
    marker = item.get_closest_marker("benchmark")
    group = marker.kwargs.get("group") if marker and uses_benchmark(item) else None
    return group if isinstance(group, str) else None
