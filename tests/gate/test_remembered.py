"""Scouts that later runs remember: what the file holds, and what a campaign makes of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rlperf.gate.partners import Alone, Kernels, Partner
from pytest_rlperf.gate.remembered import UNUSED_DAYS, RememberedScouts
from pytest_rlperf.gate.track import MOST_OFF, Benchmark, ScoutRecord
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import Fingerprint
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.wire import KernelSpeeds
from tests.gate.campaigns import MS, SEEN, Fake, run

FINGERPRINT: Fingerprint = {
    "cpu": "Some CPU",
    "cores": 2,
    "architecture": "x86_64",
    "implementation": "CPython",
    "python": "3.11.7",
    "python_build": "3.11.7, GCC 12.2.0",
    "libraries": {"numpy": "2.4.6"},
    "addresses": "fixed",
}
NODE = "test_a.py::test_a"
RECORD = ScoutRecord(SEEN, 0.5, KernelSpeeds({"interpreter": 50_000.0}), day=100)


def scouts(
    cache: Path,
    *,
    today: int = 100,
    nodeid: str = NODE,
    source: str = "abc",
    facts: Fingerprint = FINGERPRINT,
) -> RememberedScouts:
    benchmark = Benchmark(nodeid, Spec(), source, "pytest")
    return RememberedScouts.of(cache, Path("project"), [benchmark], facts, today)


def test_what_was_kept_is_there_again(tmp_path: Path):
    assert scouts(tmp_path).load() == {}
    scouts(tmp_path).keep({NODE: RECORD})
    assert scouts(tmp_path).load() == {NODE: RECORD}


def test_another_source_interpreter_or_library_is_another_test(tmp_path: Path):
    scouts(tmp_path).keep({NODE: RECORD})
    assert scouts(tmp_path, source="def").load() == {}
    other: Fingerprint = {**FINGERPRINT, "python_build": "3.99.0, another compiler"}
    assert scouts(tmp_path, facts=other).load() == {}
    other = {**FINGERPRINT, "libraries": {"numpy": "99.0"}}
    assert scouts(tmp_path, facts=other).load() == {}
    assert scouts(tmp_path).load() == {NODE: RECORD}


def test_what_nobody_asks_for_is_dropped_and_what_is_used_stays(tmp_path: Path):
    scouts(tmp_path, nodeid="old").keep({"old": RECORD})
    scouts(tmp_path).keep({NODE: RECORD})
    later = 100 + UNUSED_DAYS
    scouts(tmp_path, today=later).keep(scouts(tmp_path, today=later).load())
    scouts(tmp_path, today=later + 1).keep({})
    assert scouts(tmp_path, nodeid="old").load() == {}
    assert scouts(tmp_path).load() == {NODE: replace(RECORD, day=later)}


DAMAGED = ["", "{", "[]", "null", '{"%s": 1}', '{"%s": {}}', '{"%s": {"seen": {"call_ns": "x"}}}']
WRONG = [
    replace(RECORD, seconds=-1.0),
    replace(RECORD, seen=replace(SEEN, iterations=0)),
    replace(RECORD, seen=replace(SEEN, call_ns="soon")),  # type: ignore[arg-type]
    replace(RECORD, speeds=KernelSpeeds({"unknown": 1.0})),
    replace(RECORD, speeds=KernelSpeeds({"interpreter": 0.0})),
    replace(RECORD, speeds=KernelSpeeds({})),
]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, text: str):
    known = scouts(tmp_path)
    known.file.parent.mkdir()
    known.file.write_text(text.replace("%s", known.keys[NODE]))
    assert known.load() == {}
    known.keep({NODE: RECORD})
    assert known.load() == {NODE: RECORD}


@pytest.mark.parametrize("record", WRONG)
def test_numbers_that_no_scout_sees_are_not_believed(tmp_path: Path, record: ScoutRecord):
    scouts(tmp_path).keep({NODE: record})
    assert scouts(tmp_path).load() == {}


def test_a_folder_that_cannot_be_written_does_no_harm(tmp_path: Path):
    (tmp_path / "scouts").write_text("in the way")
    scouts(tmp_path).keep({NODE: RECORD})
    assert scouts(tmp_path).load() == {}


# -- campaigns ----------------------------------------------------------------------------------


@pytest.mark.parametrize("partner", [Kernels({}), Alone()])
def test_stored_comparisons_need_no_scout_of_a_test_that_is_known(partner: Partner):
    tests = {"known": Fake(), "new": Fake()}
    first = run(tests, partner=partner)
    known = {"known": first.scouts["known"]}
    again = run(tests, partner=partner, scouts=known)
    assert again.blocks.scouted == ["new"]
    assert again.results["known"].plan == first.results["known"].plan
    assert again.results["known"].steps == first.results["known"].steps == 7
    assert again.outcome("known") is first.outcome("known")
    assert again.scouts.keys() == {"known", "new"}


@pytest.mark.parametrize("times", [1.1 * MOST_OFF, 1 / 1.1 / MOST_OFF])
def test_a_test_that_became_another_is_scouted_again(times: float):
    first = run({"same": Fake()}, partner=Alone())
    changed = run({"same": Fake(call_ns=times * MS)}, partner=Alone(), scouts=first.scouts)
    fresh = run({"same": Fake(call_ns=times * MS)}, partner=Alone())
    assert changed.blocks.scouted == ["same"]
    assert changed.results["same"].plan == fresh.results["same"].plan
    assert len(changed.results["same"].blocks) == len(fresh.results["same"].blocks)
    assert changed.scouts == fresh.scouts


def test_where_starts_are_judged_a_scout_compiles_what_the_first_block_would():
    tests = {"starts": Fake(spec=Spec(imports=("json",)))}
    first = run(tests, partner=Alone(), budget_s=0.1)
    assert run(tests, partner=Alone(), budget_s=0.1, scouts=first.scouts).blocks.scouted


def test_a_save_scouts_again():
    saving = Kernels({}, saving=True)
    first = run({"same": Fake()}, partner=saving)
    assert run({"same": Fake()}, partner=saving, scouts=first.scouts).blocks.scouted == ["same"]


def test_against_a_revision_every_test_is_scouted_and_the_quick_ones_first():
    tests = {f"t{k:02}": Fake(seconds=1.0 if k < 39 else 0.2) for k in range(40)}
    first = run(tests, budget_s=10_000)
    again = run(tests, budget_s=60, scouts=first.scouts)
    assert again.blocks.scouted[0] == "t39"
    assert again.outcome("t39") is Outcome.UNCHANGED


def test_kernel_speeds_outlive_a_run_against_a_revision():
    first = run({"same": Fake()}, partner=Kernels({}))
    against = run({"same": Fake()}, scouts=first.scouts)
    assert against.scouts["same"].speeds == first.scouts["same"].speeds is not None
