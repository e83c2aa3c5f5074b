"""From a worker's words to a profile with the same names on both sides; how many slices that takes,
and what is left where a test could not be profiled.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.gate.track import Benchmark, Track
from pytest_rlperf.model.metric import Interval, Outcome
from pytest_rlperf.model.plan import Mode, Plan, Scouted
from pytest_rlperf.model.profile import (
    Callee,
    Function,
    FunctionRecord,
    Profiling,
    SideProfile,
    SlicesProfile,
)
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.profile.profiler import (
    SLICES,
    Places,
    ProfiledRuns,
    first_of_each_change,
    function_plan,
    line_plan,
    side_profile,
)
from pytest_rlperf.reading import typed
from pytest_rlperf.stats.decide import Decision
from pytest_rlperf.wire import Measurement, plain
from pytest_rlperf.workers.blocks import Played
from pytest_rlperf.workers.side import SideRun, State
from tests.factories import side

PLACES = Places(Path("/project/tree"), ("/project/tree", "/env/lib", "/env/lib/site-packages", ""))


@pytest.mark.parametrize(
    ("file", "short"),
    [
        ("/project/tree/lib/agent.py", "lib/agent.py"),
        ("/env/lib/site-packages/numpy/core.py", "numpy/core.py"),
        ("/env/lib/copy.py", "copy.py"),
        ("<string>", "<string>"),
        ("/elsewhere/a.py", "/elsewhere/a.py"),
        ("/project/tree2/a.py", "/project/tree2/a.py"),
    ],
)
def test_a_file_is_named_from_the_folder_it_is_imported_from(file: str, short: str):
    assert PLACES.function((file, "f")) == Function(short, "f")


def test_an_environment_inside_of_the_tree_is_not_the_project():
    assert PLACES.is_project(("/project/tree/lib/agent.py", "f"))
    assert not PLACES.is_project(("/project/tree/.venv/lib/site-packages/numpy/core.py", "f"))


def entry(file: str, name: str, ns: float, **fields: Any) -> FunctionRecord:
    return replace(FunctionRecord((file, name), 4, ns, ns, False, {}, ()), **fields)


LEARN, SORT = "/project/tree/agent.py", "/env/lib/site-packages/numpy/core.py"


def profile(*functions: FunctionRecord) -> SideProfile:
    stacks = ((((LEARN, "learn"), (SORT, "sort")), 5.0),)
    return side_profile(SlicesProfile(functions, 2, 0.5, stacks), PLACES)


def test_of_two_environments_a_librarys_functions_are_named_and_native_ones_charged_to_them():
    functions = (
        entry(LEARN, "learn", 10.0, callees=(((SORT, "sort"), Callee(6, 30.0)),)),
        entry(SORT, "sort", 30.0, natives={"native": Callee(6, 5.0)}),
    )
    places = replace(PLACES, names_libraries=True)
    found = side_profile(SlicesProfile(functions, 2, 0.5, ()), places).functions
    assert found[Function("agent.py", "learn")].typical_ns == 10.0
    assert found[Function("agent.py", "learn")].callees == {}
    assert found[Function("numpy/core.py", "sort")].typical_ns == 30.0
    assert set(found[Function("numpy/core.py", "sort")].callees) == {"native"}


def test_a_librarys_time_is_charged_to_the_project_and_its_calls_are_told():
    found = profile(
        entry(
            LEARN,
            "learn",
            10.0,
            callees=(((SORT, "sort"), Callee(6, 30.0)),),
            natives={"len": Callee(2, 1.0)},
        ),
        entry(SORT, "sort", 30.0),
    )
    [(function, cost)] = found.functions.items()
    assert function == Function("agent.py", "learn")
    assert cost.typical_ns == cost.mean_ns == 40.0
    assert {name: callee.calls for name, callee in cost.callees.items()} == {
        "len": 2,
        "numpy/core.py:sort": 6,
    }


def test_it_reaches_the_project_through_native_functions_too():
    found = profile(
        entry(
            LEARN,
            "learn",
            10.0,
            callees=((("", "max"), Callee(6, 35.0)),),
            natives={"max": Callee(6, 5.0)},
        ),
        entry("", "max", 0.0, callees=(((SORT, "_amax"), Callee(6, 30.0)),)),
        entry(SORT, "_amax", 30.0),
    )
    [(function, cost)] = found.functions.items()
    assert function == Function("agent.py", "learn")
    assert cost.typical_ns == pytest.approx(40.0)
    assert list(cost.callees) == ["max"]


def test_a_librarys_function_that_is_measured_itself_keeps_its_time():
    assert list(profile(entry(SORT, "sort", 30.0)).functions) == [Function("numpy/core.py", "sort")]


def test_stacks_carry_the_same_names():
    assert profile(entry(LEARN, "learn", 1.0)).stacks == {
        ("agent.py:learn", "numpy/core.py:sort"): 5.0
    }


# -- how many slices are profiled, and how ------------------------------------------------------


MS = 10**6
PLAN = Plan(Mode.CONCURRENT, calls=1, pairs=8, warmup=2, abreast=True)


def seen(call_ms: float, setup_ms: float = 0.0) -> Scouted:
    return Scouted(
        call_ns=call_ms * MS, first_ns=MS, cpu_share=1.0, processes=1, setup_ns=setup_ms * MS
    )


def test_sides_that_ran_at_once_take_turns():
    plan = function_plan(PLAN, seen(10))
    assert (plan.mode, plan.profile, plan.warmup) == (Mode.SLICED, Profiling.FUNCTIONS, 2)


@pytest.mark.parametrize(
    ("call_ms", "setup_ms", "pairs"),
    [(1, 0, SLICES[1]), (25, 0, 12), (10, 60, 12), (5_000, 0, SLICES[0])],
)
def test_long_calls_have_fewer_slices(call_ms: float, setup_ms: float, pairs: int):
    assert function_plan(PLAN, seen(call_ms, setup_ms)).pairs == pairs


def test_a_test_that_counts_its_calls_keeps_their_number():
    exact = Plan(Mode.SLICED, calls=3, pairs=2, warmup=0, exact=True)
    plan = function_plan(exact, seen(1))
    assert (plan.calls, plan.pairs) == (3, 2)


def test_lines_are_those_of_the_named_function():
    plan = line_plan(PLAN, seen(10), "agent.py:learn")
    assert (plan.profile, plan.lines_of) == (Profiling.LINES, "agent.py:learn")
    assert typed(Plan, plain(plan)) == plan


# -- which tests are profiled first -------------------------------------------------------------


def regressed(name: str, change: float, *differences: str) -> Track:
    interval = Interval(change, change - 0.01, change + 0.01)
    decision = Decision(Outcome.REGRESSED, 8, interval)
    benchmark = Benchmark(name, Spec(), "abc", f"pytest {name}")
    return Track(benchmark, decision=decision, differences=differences)


def test_of_tests_that_meet_the_same_changes_the_one_that_moved_most_stands_for_all():
    small, large = regressed("a", 0.1, "lib.py:f"), regressed("b", 0.3, "lib.py:f")
    other, unknown, too = regressed("c", 0.2, "lib.py:g"), regressed("d", 0.2), regressed("e", 0.1)
    first = first_of_each_change([small, large, other, unknown, too])
    assert {name: track.benchmark.nodeid for name, track in first.items()} == {
        "a": "b",
        "b": "b",
        "c": "c",
        "d": "d",
        "e": "e",
    }


# -- processes in which a test could not be profiled --------------------------------------------


FAILED = SideRun(State.FAILED, "    raise RuntimeError\nE   RuntimeError: I am watched\n")
LEFT_ALONE = SideRun(State.ABANDONED)
RAN = SideRun(State.RAN, report=Measurement(side([1]), profile=SlicesProfile()))


def profiled_runs(*runs: SideRun) -> ProfiledRuns:
    found = ProfiledRuns()
    found.take(Played("test_it", runs, core=None, steal=0.0, seconds=1.0))
    return found


def test_two_sides_that_ran_are_a_pair():
    found = profiled_runs(RAN, RAN)
    assert len(found.played) == 1
    assert not found.trouble


@pytest.mark.parametrize("runs", [(FAILED, LEFT_ALONE), (LEFT_ALONE, FAILED)])
def test_the_side_that_failed_says_why_whoever_had_the_first_turn(runs: tuple[SideRun, ...]):
    found = profiled_runs(*runs)
    assert not found.played
    assert found.trouble == "RuntimeError: I am watched"


def test_a_side_without_a_word_is_named_by_its_state():
    assert profiled_runs(RAN, SideRun(State.CRASHED)).trouble == "crashed"
