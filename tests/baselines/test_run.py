"""From a run to the baselines it leaves: sessions, the kernels of each test, vanished tests."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_rlperf.baselines.file import Accepted, Stored, StoredMemory
from pytest_rlperf.baselines.folder import save_into
from pytest_rlperf.baselines.levels import Level
from pytest_rlperf.baselines.run import BaselineRun, facts_of, levels_of, to_store, vanished
from pytest_rlperf.gate.selection import Scope
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.model.block import LEAST_BLOCKS, Block, Reference
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import Failure, Fingerprint, RunResult, TestResult, Vanished
from pytest_rlperf.model.spec import Spec
from tests.factories import FACTS, a_session, a_stored, a_test, run_result, side, verdict

NODE = "test_a.py::test_a"
FINGERPRINT: Fingerprint = {
    "cpu": "Some CPU",
    "cores": 2,
    "architecture": "x86_64",
    "implementation": "CPython",
    "python": "3.11.7",
    "python_build": "3.11.7, GCC 12.2.0",
    "addresses": "fixed",
    "libraries": {},
}
SLICES = 4


def a_block(stride_ns: float = 100.0, **head: Any) -> Block:
    """A test of 1000 ns a call, and a kernel that is steadier than the other."""
    times = {"interpreter": (50.0,) * SLICES, "stride": (stride_ns,) * SLICES}
    return Block(side([2000] * SLICES, calls=2, **head), reference=Reference(times))


def stride_only(k: int) -> Reference:
    return Reference({"stride": (100.0 + 9 * k,) * SLICES})


BLOCKS = tuple(a_block(100.0 + k) for k in range(6))


def measured(**fields: Any) -> TestResult:
    return a_test(NODE, **{"blocks": BLOCKS, "source_hash": "abc", **fields})


def a_run(*tests: TestResult, **fields: Any) -> RunResult:
    return run_result(*tests, **{"fingerprint": FINGERPRINT, **fields})


def saved(run: RunResult, old: Stored | None = None) -> Stored:
    (stored,) = to_store(run, {} if old is None else {NODE: old})
    return stored


# -- what is held against -----------------------------------------------------------------------

SIZES = StoredMemory("2030", "a" * 40, False, FACTS, 30, {"traced_peak": (4e6,) * 3})


@pytest.mark.parametrize(("memory", "said"), [(None, "NOTHING"), (SIZES, "NO TIME")])
def test_where_all_times_are_of_another_machine_only_sizes_may_be_compared(
    tmp_path: Path, memory: StoredMemory | None, said: str
):
    session = a_session(facts={**FACTS, "cpu": "Other CPU"})
    stored = a_stored(NODE, sessions=(session,), memory=memory)
    save_into(tmp_path / "other" / "main", [stored])
    settings: Any = SimpleNamespace(
        save=None, baseline=None, baselines=tmp_path, judge_foreign=False, threshold=None
    )
    run = BaselineRun(settings, tmp_path)
    run.partner([Benchmark(NODE, Spec(), "abc", "", memory=True)], FINGERPRINT, Scope(False, ()))
    assert run.foreign
    assert run.label == "baseline 'main'"
    assert run.nothing_compared.startswith(
        f"{said} WAS COMPARED: the stored baseline 'main' is of another machine"
    )


# -- at which commit it was measured ------------------------------------------------------------

INSTALLED: Fingerprint = {**FINGERPRINT, "distributions": "d1", "surroundings": "s1"}
AT = "c" * 40


def saved_at(
    folder: Path, now: Fingerprint = INSTALLED, save: str | None = None, **then: Any
) -> tuple[str, set[str]] | None:
    """The commit of a baseline that was saved under these facts, and its tests."""
    stored = saved(a_run(measured(), **{"fingerprint": INSTALLED, "commit": AT, **then}))
    save_into(folder / "own" / "main", [stored])
    settings: Any = SimpleNamespace(
        save=save, baseline=None, baselines=folder, judge_foreign=True, threshold=None
    )
    run = BaselineRun(settings, folder)
    run.partner([benchmark()], now, Scope(False, ()))
    at = run.saved_at(now)
    return None if at is None else (at.commit, set(at.tests))


def test_the_commit_of_a_save_is_known(tmp_path: Path):
    assert saved_at(tmp_path) == (AT, {NODE})


@pytest.mark.parametrize(
    "otherwise",
    [
        {"commit": None},
        {"dirty": True},
        {"fingerprint": FINGERPRINT},
        {"fingerprint": {**INSTALLED, "distributions": "d2"}},
        {"fingerprint": {**INSTALLED, "surroundings": "s2"}},
        {"fingerprint": {**INSTALLED, "cpu": "Other CPU"}},
        {"fingerprint": {**INSTALLED, "python_build": "3.11.7, Clang 17"}},
        {"now": FINGERPRINT},
        {"now": {**INSTALLED, "distributions": None}},
        {"save": "main"},
    ],
)
def test_where_more_than_code_may_have_changed_it_is_not(tmp_path: Path, otherwise: dict[str, Any]):
    assert saved_at(tmp_path, **otherwise) is None


# -- what is stored -----------------------------------------------------------------------------


def test_a_session_remembers_the_run_and_holds_a_ratio_for_every_block_and_kernel():
    run = a_run(measured(steps=7))
    (session,) = saved(run).sessions
    assert (session.created, session.commit, session.dirty) == (run.created, run.commit, False)
    assert session.call_ns == 1000
    assert session.facts == facts_of(FINGERPRINT, 1)
    assert [block.keys() for block in session.blocks] == [{"clock", "interpreter", "stride"}] * 6


def test_a_test_is_measured_in_the_kernel_that_followed_it_best():
    assert saved(a_run(measured())).weights == {"interpreter": 1.0}


def test_starts_that_a_test_asks_for_are_stored_as_tests_of_their_own():
    blocks = tuple(a_block(100.0 + k, starts_ns={"first_call": 5e6}) for k in range(6))
    test = measured(blocks=blocks, spec=Spec(first_call=True))
    stored = saved(a_run(test))
    (session,) = stored.starts["first_call"].sessions
    assert session.call_ns == 5e6
    levels = levels_of({NODE: stored}, [Benchmark(NODE, test.spec, "abc", "")], FINGERPRINT)
    assert levels.keys() == {NODE, f"{NODE} first_call"}


def test_a_test_that_computes_is_never_measured_by_the_clock():
    unsteady = tuple(replace(b, reference=stride_only(k)) for k, b in enumerate(BLOCKS))
    assert saved(a_run(measured(blocks=unsteady))).weights == {"stride": 1.0}


def test_a_test_that_waits_is_measured_by_the_clock_where_that_is_steadier():
    waiting = tuple(a_block(100.0 + 9 * k, cpu_ns=(100,) * SLICES) for k in range(6))
    only_stride = tuple(replace(b, reference=stride_only(k)) for k, b in enumerate(waiting))
    assert saved(a_run(measured(blocks=only_stride))).weights == {"clock": 1.0}


def test_the_declared_work_and_steps_are_stored():
    blocks = tuple(a_block(work={"updates": 3.0}) for _ in range(LEAST_BLOCKS))
    stored = saved(a_run(measured(blocks=blocks, steps=7)))
    assert (stored.work, stored.steps) == ({"updates": 3.0}, 7)


@pytest.mark.parametrize(
    "unfit",
    [
        {"blocks": ()},
        {"blocks": BLOCKS[: LEAST_BLOCKS - 1]},
        {"failure": Failure("it broke")},
        {"skipped": "needs a GPU"},
    ],
)
def test_what_was_not_measured_enough_is_not_stored(unfit: dict[str, Any]):
    assert to_store(a_run(measured(**unfit)), {}) == []


# -- sessions -----------------------------------------------------------------------------------


def test_on_the_same_clean_commit_a_session_is_added():
    first = saved(a_run(measured()))
    second = saved(a_run(measured(), created="2031"), first)
    assert [session.created for session in second.sessions] == [
        first.sessions[0].created,
        "2031",
    ]


@pytest.mark.parametrize(
    ("now", "test"),
    [
        ({"commit": "b" * 40}, {}),
        ({"commit": None}, {}),
        ({"dirty": True}, {}),
        ({"fingerprint": {**FINGERPRINT, "python": "3.12.0"}}, {}),
        ({}, {"source_hash": "other"}),
    ],
)
def test_otherwise_the_new_session_takes_the_place_of_the_old(
    now: dict[str, Any], test: dict[str, Any]
):
    first = saved(a_run(measured()))
    (session,) = saved(a_run(measured(**test), created="2031", **now), first).sessions
    assert session.created == "2031"


def test_a_dirty_session_is_never_added_to():
    first = saved(a_run(measured(), dirty=True))
    assert len(saved(a_run(measured()), first).sessions) == 1


def test_the_unit_is_chosen_over_all_sessions():
    stray = tuple(a_block(100.0) for _ in BLOCKS)
    first = saved(a_run(measured(blocks=stray)))
    assert saved(a_run(measured()), first).weights == {"interpreter": 1.0}


# -- regressions --------------------------------------------------------------------------------


def test_a_regression_waits_for_its_reason():
    slower = measured(verdict=verdict(Outcome.REGRESSED, change=(0.2, 0.1, 0.3)))
    run = a_run(slower)
    assert saved(run).accepted == (Accepted("", run.created, run.commit, 0.2),)


def test_a_regression_that_the_project_accepts_brings_its_reason():
    accepted = verdict(Outcome.ACCEPTED, "slower, but accepted", change=(0.2, 0.1, 0.3))
    assert saved(a_run(measured(verdict=accepted))).accepted[0].reason == "slower, but accepted"


def test_earlier_reasons_are_kept():
    old = a_stored(accepted=(Accepted("it checks more", "2029", None, 0.3),))
    assert saved(a_run(measured()), old).accepted == old.accepted


# -- levels and vanished tests ------------------------------------------------------------------


def benchmark(nodeid: str = NODE, source_hash: str = "abc", **spec: Any) -> Benchmark:
    return Benchmark(nodeid, Spec(**spec), source_hash, f"pytest {nodeid}")


def test_a_level_is_looked_for_with_the_threads_of_the_test():
    stored = {NODE: saved(a_run(measured()))}
    plain = levels_of(stored, [benchmark()], FINGERPRINT)
    threaded = levels_of(stored, [benchmark(threads=2)], FINGERPRINT)
    assert isinstance(plain[NODE], Level)
    assert not isinstance(threaded[NODE], Level)


def test_a_test_without_a_baseline_has_no_level():
    assert levels_of({}, [benchmark()], FINGERPRINT) == {}


def test_a_stored_test_that_the_suite_has_not_is_vanished():
    stored = {NODE: a_stored(), "test_b.py::b": a_stored("test_b.py::b", source_hash="other")}
    assert vanished(stored, [benchmark()]) == [Vanished("test_b.py::b")]


def test_a_new_test_with_the_same_source_is_its_new_name():
    found = vanished({NODE: a_stored()}, [benchmark("test_b.py::new"), benchmark("c.py::c", "c")])
    assert found == [Vanished(NODE, "test_b.py::new")]


def test_cases_of_a_parametrized_test_find_their_own_new_names():
    stored = {f"a.py::old[{case}]": a_stored(f"a.py::old[{case}]") for case in "xy"}
    new = [benchmark(f"a.py::new[{case}]") for case in "yxz"]
    assert [gone.renamed_to for gone in vanished(stored, new)] == ["a.py::new[x]", "a.py::new[y]"]


@pytest.mark.parametrize(
    "new",
    [
        [benchmark("b.py::one"), benchmark("b.py::two")],  # which of them?
        [benchmark("b.py::one", source_hash="")],  # no source to tell by
    ],
)
def test_where_the_source_does_not_tell_there_is_no_hint(new: list[Benchmark]):
    gone = a_stored(source_hash=new[0].source_hash)
    assert vanished({NODE: gone}, new) == [Vanished(NODE, None)]
