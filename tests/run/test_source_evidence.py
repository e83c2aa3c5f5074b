"""What two trees on disk say of the functions that are blamed."""

from pathlib import Path

import pytest

from pytest_rlperf.model.profile import Function
from pytest_rlperf.model.why import Cause, Count, Explanation, Source, Spot
from pytest_rlperf.run.source_evidence import Sources, with_sources

KERNELS = "def best(q):\n    return max(q)\n\ndef train(q):\n    return best(q)\n"
TRAIN, BEST = Function("lib/kernels.py", "train"), Function("lib/kernels.py", "best")


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    imported = {}
    for side, text in (("base", KERNELS), ("head", KERNELS.replace("max(q)", "max(list(q))"))):
        file = tmp_path / side / "lib" / "kernels.py"
        file.parent.mkdir(parents=True)
        file.write_text(text)
        package = file.with_name("__init__.py")
        package.touch()
        imported[side] = {"lib": str(package), "gone": str(tmp_path / side / "gone.so")}
    return Sources.read(imported, tmp_path / "head")


def cause(function: Function, compiled: bool = False) -> Cause:
    calls = Count(1, 1, certain=True)
    return Cause(function, 1.0, 10.0, calls, time_ratio=2.0, compiled=compiled)


def judged(sources: Sources, one: Cause) -> Cause:
    return with_sources(Explanation((one,)), sources, [one.function]).causes[0]


def test_a_function_whose_source_changed_is_marked(sources: Sources):
    assert judged(sources, cause(BEST)).source is Source.CHANGED


def test_a_function_whose_source_is_the_same_is_marked_so(sources: Sources):
    found = judged(sources, cause(TRAIN))
    assert (found.source, found.inlined) == (Source.SAME, ())


def test_of_a_librarys_function_nothing_is_known(sources: Sources):
    found = judged(sources, cause(Function("copy.py", "deepcopy")))
    assert (found.source, found.at) == (Source.UNKNOWN, None)


@pytest.mark.parametrize(
    ("one", "line"), [(cause(BEST), 2), (cause(TRAIN), 4), (cause(TRAIN, compiled=True), 2)]
)
def test_the_line_to_look_at_is_the_one_that_changed_or_where_the_function_begins(
    sources: Sources, one: Cause, line: int
):
    assert judged(sources, one).at == Spot("lib/kernels.py", line)


def test_a_compiled_function_names_what_changed_inside_it(sources: Sources):
    assert judged(sources, cause(TRAIN, compiled=True)).inlined == (BEST,)


def test_a_compiled_function_that_changed_itself_needs_no_other(sources: Sources):
    assert judged(sources, cause(BEST, compiled=True)).inlined == ()


@pytest.mark.parametrize(
    ("ran", "said"),
    [
        ([TRAIN, BEST], "no function took longer; the source of lib/kernels.py:best changed"),
        ([TRAIN], "no function took longer"),
    ],
)
def test_where_nobody_is_blamed_the_functions_that_ran_and_were_edited_are_named(
    sources: Sources, ran: list[Function], said: str
):
    nobody = Explanation(pairs=8, note="no function took longer")
    assert with_sources(nobody, sources, ran).note == said
