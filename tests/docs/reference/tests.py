"""What a test can say and use: markers, fixtures, the library's function and the hook."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any

import pytest_rlperf
from pytest_rlperf import fixtures
from pytest_rlperf.fixtures import Rlperf, RlperfLearning, RlperfMemory, RlperfMpi
from pytest_rlperf.markers import CHECKS, LEARNING_CHECKS, LEARNING_MARKER, MARKER, MPI_MARKER
from pytest_rlperf.model.learning import LearningSpec
from pytest_rlperf.model.spec import RankSpec, Spec
from pytest_rlperf.plugin import HookSpecs
from tests.docs.reference.texts import code, comments, docstring, prose, signature, table

KINDS = {
    "rlperf": Rlperf,
    fixtures.MEMORY_FIXTURE: RlperfMemory,
    fixtures.LEARNING_FIXTURE: RlperfLearning,
    fixtures.MPI_FIXTURE: RlperfMpi,
    fixtures.SIZE_FIXTURE: None,
}
"""Fixtures, with the class of what a test gets; None: a plain value."""
Checks = Mapping[str, tuple[str, Callable[[Any], bool]]]


def render_markers() -> Iterator[str]:
    yield "## Markers\n"
    yield f"`@pytest.mark.{MARKER}(...)` takes keywords only; an unknown one is an error.\n"
    yield _keywords(Spec)
    yield f"\n`@pytest.mark.{MPI_MARKER}(...)` takes all of these, and\n"
    yield _keywords(RankSpec)
    yield f"\n`@pytest.mark.{LEARNING_MARKER}(...)` says what a test with that fixture learns:\n"
    yield _keywords(LearningSpec, LEARNING_CHECKS)


def _keywords(spec: Any, checks: Checks = CHECKS) -> str:
    said = comments(spec)
    return table(
        ("keyword", "takes", "default", ""),
        ((code(f.name), checks[f.name][0], _default(f), prose(said[f.name])) for f in fields(spec)),
    )


def _default(of: Any) -> str:
    value = of.default if of.default is not MISSING else of.default_factory()
    if value is None or value == () or value == {}:
        return ""
    if isinstance(value, tuple):
        if len(value) > 1:
            return f"{value[0]} to {value[-1]}"
        (value,) = value
    return code(repr(str(value) if isinstance(value, str) else value))


def render_fixtures() -> Iterator[str]:
    yield "## Fixtures\n"
    for name, kind in KINDS.items():
        yield f"### `{name}`\n"
        yield f"{docstring(getattr(fixtures, name))}\n"
        if kind is not None:
            yield from _uses(name, kind)
    yield "## In a library\n"
    phase = pytest_rlperf.phase
    yield f"`pytest_rlperf.phase{signature(phase)}`: {docstring(phase)}\n"
    yield "## Hooks\n"
    for name, hook in inspect.getmembers(HookSpecs, inspect.isfunction):
        yield f"`{name}{signature(hook)}`: {docstring(hook)}\n"


def _uses(name: str, kind: type) -> Iterator[str]:
    """Yield the uses that the class adds to those shown before it."""
    shown = () if kind is Rlperf else vars(Rlperf)
    own = {key: value for key, value in vars(kind).items() if key not in shown}
    rows = [_use(name, key, value) for key, value in own.items() if _is_public(key, value)]
    rows += [(code(f"{name}.{key}"), prose(text)) for key, text in comments(kind).items()]
    if rows:
        yield table(("use", ""), rows)
        yield ""
    if kind is not Rlperf and issubclass(kind, Rlperf):
        yield "Calling it, `measure` and `phase` are those of `rlperf`.\n"


def _is_public(name: str, value: object) -> bool:
    return name == "__call__" or (not name.startswith("_") and (callable(value) or _is_get(value)))


def _is_get(value: object) -> bool:
    return isinstance(value, property)


def _use(name: str, key: str, value: Any) -> tuple[str, str]:
    if _is_get(value):
        return code(f"{name}.{key}"), docstring(value)
    dotted = name if key == "__call__" else f"{name}.{key}"
    shown = signature(value).replace("(func, /,", "(func,")
    return code(f"{dotted}{shown}"), prose(inspect.getdoc(value) or "")
