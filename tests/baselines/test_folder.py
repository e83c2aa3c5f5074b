"""The folder of stored baselines: which one is compared with, and what a save leaves of it.

A save that was refused is kept in the cache until it is accepted, and is found from within its
project.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf import files
from pytest_rlperf.baselines.file import Accepted, Stored, read_module
from pytest_rlperf.baselines.folder import (
    Baselines,
    Pending,
    check_writable,
    drop_pending,
    find_pending,
    keep_pending,
    names_in,
    save_into,
)
from pytest_rlperf.errors import UsageError
from pytest_rlperf.machine.fingerprint import machine_key
from tests.factories import FACTS, a_session, a_stored

NODE = "test_a.py::test_a"
NOBODY = 65534

HOLD_THE_LOCK = """
import fcntl, os, sys
handle = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(handle, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


def save(
    folder: Path, name: str = "main", created: str = "2030", **facts: str | int | None
) -> Stored:
    """A baseline of the one test, saved on a machine with these facts."""
    machine = {**FACTS, **facts}
    stored = a_stored(sessions=(a_session(created=created, facts=machine),))
    save_into(folder / machine_key(machine) / name, [stored])
    return stored


def load(folder: Path, **facts: str | int | None) -> dict[str, Stored]:
    return Baselines(folder, "main", {**FACTS, **facts}).load()


# -- which one is compared with -----------------------------------------------------------------


def test_without_a_baseline_there_is_nothing_to_load(tmp_path: Path):
    assert load(tmp_path / "nowhere") == {}


def test_this_machine_comes_before_a_newer_one(tmp_path: Path):
    own = save(tmp_path, created="2030")
    save(tmp_path, created="2031", cores=64)
    save(tmp_path, created="2032", cpu="Other CPU")
    assert load(tmp_path) == {NODE: own}


@pytest.mark.parametrize("other", [{"cpu": "Other CPU"}, {"family": "25"}])
def test_the_same_cpu_model_comes_before_a_newer_other_one(tmp_path: Path, other: dict[str, str]):
    alike = save(tmp_path, created="2030", cores=64)
    save(tmp_path, created="2031", **other)
    assert load(tmp_path) == {NODE: alike}


def test_only_a_baseline_of_this_machine_is_its_own(tmp_path: Path):
    mine = Baselines(tmp_path, "main", FACTS)
    save(tmp_path, stepping="1")
    save(tmp_path, name="nightly")
    assert not mine.has_own
    save(tmp_path)
    assert mine.has_own


@pytest.mark.parametrize("newest", ["Alpha", "Omega"])
def test_among_other_cpus_the_newest_comes_first(tmp_path: Path, newest: str):
    for cpu in ("Alpha", "Omega"):
        save(tmp_path, created="2031" if cpu == newest else "2030", cpu=cpu)
    assert load(tmp_path)[NODE].newest.facts["cpu"] == newest


def test_another_architecture_is_never_compared_with(tmp_path: Path):
    save(tmp_path, architecture="aarch64")
    assert load(tmp_path) == {}


def test_a_test_that_this_machine_has_not_is_taken_from_the_next(tmp_path: Path):
    save(tmp_path)
    other = {**FACTS, "cpu": "Other CPU"}
    more = [a_stored(f"test_b.py::{name}", sessions=(a_session(facts=other),)) for name in "xy"]
    save_into(tmp_path / machine_key(other) / "main", more)
    assert load(tmp_path).keys() == {NODE, "test_b.py::x", "test_b.py::y"}


def test_baselines_of_another_name_are_not_read(tmp_path: Path):
    save(tmp_path, name="nightly")
    (tmp_path / machine_key(FACTS) / "nightly" / "broken.json").write_text("{")
    assert load(tmp_path) == {}


def test_names_are_those_under_which_something_is_stored(tmp_path: Path):
    save(tmp_path, name="nightly")
    save(tmp_path, name="main", cpu="Other CPU")
    (tmp_path / "machine" / "empty").mkdir(parents=True)
    (tmp_path / "README.md").write_text("not ours")
    assert names_in(tmp_path) == ["main", "nightly"]
    assert names_in(tmp_path / "nowhere") == []


# -- saving -------------------------------------------------------------------------------------


def test_every_module_has_its_file_beside_its_path(tmp_path: Path):
    tests = [a_stored("tests/perf/test_a.py::x"), a_stored("test_b.py::TestB::y")]
    save_into(tmp_path, tests)
    files = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert files == ["test_b.json", "tests/perf/test_a.json"]


def test_a_save_replaces_its_tests_and_leaves_the_others(tmp_path: Path):
    kept, old = a_stored("test_a.py::kept"), a_stored("test_a.py::old")
    save_into(tmp_path, [kept, old])
    new = a_stored("test_a.py::old", source_hash="new")
    save_into(tmp_path, [new])
    assert read_module(tmp_path / "test_a.json") == {kept.nodeid: kept, old.nodeid: new}


def test_tests_stand_in_the_order_of_their_names(tmp_path: Path):
    save_into(tmp_path, [a_stored("test_a.py::z"), a_stored("test_a.py::a")])
    assert list(read_module(tmp_path / "test_a.json")) == ["test_a.py::a", "test_a.py::z"]


def test_what_is_gone_is_dropped_and_with_it_a_file_that_would_be_empty(tmp_path: Path):
    save_into(tmp_path, [a_stored("test_a.py::x"), a_stored("test_b.py::y"), a_stored()])
    save_into(tmp_path, [], gone={"test_a.py::x", "test_b.py::y", "test_c.py::never_there"})
    assert list(read_module(tmp_path / "test_a.json")) == [NODE]
    assert not (tmp_path / "test_b.json").exists()


def test_a_damaged_file_in_the_way_keeps_all_others_as_they_were(tmp_path: Path):
    save_into(tmp_path, [a_stored("test_a.py::x"), a_stored("test_b.py::y")])
    (tmp_path / "test_b.json").write_text("{")
    before = (tmp_path / "test_a.json").read_bytes()
    changed = [a_stored("test_a.py::x", source_hash="new"), a_stored("test_b.py::y")]
    with pytest.raises(UsageError, match=r"test_b\.json is no whole JSON file"):
        save_into(tmp_path, changed)
    assert (tmp_path / "test_a.json").read_bytes() == before


# -- two writers, and none ----------------------------------------------------------------------


@pytest.fixture
def held(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process is writing the baselines."""
    save_into(tmp_path, [a_stored()])
    command = [sys.executable, "-c", HOLD_THE_LOCK, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def test_a_folder_that_another_process_writes_is_left_alone(
    tmp_path: Path, held: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(files, "LOCK_WAIT_S", 0.1)
    before = (tmp_path / "test_a.json").read_bytes()
    with pytest.raises(UsageError) as caught:
        save_into(tmp_path, [a_stored(source_hash="new")])
    assert str(caught.value) == (
        f"another process is writing the baselines in {tmp_path}; wait for it, and save again."
    )
    assert (tmp_path / "test_a.json").read_bytes() == before


def test_a_writer_that_is_done_soon_is_waited_for(
    tmp_path: Path, held: "subprocess.Popen[str]", monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(files, "LOCK_WAIT_S", 60.0)
    monkeypatch.setattr(time, "sleep", lambda seconds: held.communicate(""))
    save_into(tmp_path, [a_stored(source_hash="new")])
    assert read_module(tmp_path / "test_a.json")[NODE].source_hash == "new"


def as_somebody_else(act: Callable[[], Any]) -> str:
    """What `act` is refused with for a user who owns nothing: root may write everywhere."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setuid(NOBODY)
            act()
            said = "nothing was refused"
        except UsageError as error:
            said = str(error)
        except BaseException as error:
            said = f"{error!r} is no sentence for a user"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, encoding="utf-8") as answer:
        return answer.read()


@pytest.fixture
def read_only() -> Iterator[Path]:
    """Where everybody may look and nobody may write; pytest's own folder is closed to others."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "baselines"
        save_into(folder, [a_stored()])
        os.chmod(name, 0o555)
        os.chmod(folder, 0o555)
        yield folder
        os.chmod(folder, 0o755)
        os.chmod(name, 0o755)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_read_only_folder_is_refused_before_anything_is_measured(read_only: Path):
    assert as_somebody_else(lambda: check_writable(read_only / "machine" / "main")) == (
        f"the baselines cannot be written to {read_only / 'machine' / 'main'} ({read_only} is "
        "read-only); make it writable, or name another folder with --rlperf-baselines."
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("below", [".", "machine"])
def test_a_folder_that_became_read_only_is_refused_and_stays_as_it_is(read_only: Path, below: str):
    before = (read_only / "test_a.json").read_bytes()
    new = [a_stored(source_hash="new")]
    assert as_somebody_else(lambda: save_into(read_only / below, new)).startswith(
        f"the baselines cannot be written to {read_only / below} (Permission denied); make it "
    )
    assert (read_only / "test_a.json").read_bytes() == before
    assert [path.name for path in read_only.iterdir()] == ["test_a.json"]


def test_a_file_where_the_folder_should_be_is_refused(tmp_path: Path):
    (tmp_path / "baselines").write_text("a file")
    with pytest.raises(UsageError, match=r"baselines is a file\); make it writable"):
        check_writable(tmp_path / "baselines" / "machine")


def test_a_folder_that_does_not_exist_yet_can_be_written(tmp_path: Path):
    check_writable(tmp_path / "baselines" / "machine" / "main")
    assert list(tmp_path.iterdir()) == []


# -- a refused save -----------------------------------------------------------------------------


OLD = Accepted("it checks more", "2029", None, 0.3)
NEW = Accepted("", "2030", "a" * 40, 0.2)
TESTS = [a_stored(accepted=(OLD, NEW)), a_stored("test_b.py::test_b")]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path / "project"


@pytest.fixture
def folder(project: Path) -> Path:
    return project / "baselines" / "machine" / "main"


def test_it_is_found_from_within_the_project(cache: Path, project: Path, folder: Path):
    keep_pending(cache, project, folder, "main", TESTS)
    for here in (project, project / "tests" / "perf"):
        (found,) = find_pending(cache, here)
        assert found == Pending(project, folder, "main", tuple(TESTS))


def test_it_is_not_found_from_elsewhere(cache: Path, project: Path, folder: Path):
    keep_pending(cache, project, folder, "main", TESTS)
    assert find_pending(cache, project.parent) == []
    assert find_pending(cache, project.with_name("project-2")) == []


def test_keeping_it_touches_nothing_but_the_cache(cache: Path, project: Path, folder: Path):
    keep_pending(cache, project, folder, "main", TESTS)
    assert not project.exists()


def test_the_next_refused_save_takes_its_place(cache: Path, project: Path, folder: Path):
    keep_pending(cache, project, folder, "main", TESTS)
    keep_pending(cache, project, folder, "main", TESTS[:1])
    (found,) = find_pending(cache, project)
    assert found.tests == (TESTS[0],)


def test_saves_of_several_names_are_kept_apart(cache: Path, project: Path, folder: Path):
    for name in ("main", "nightly"):
        keep_pending(cache, project, folder.with_name(name), name, TESTS)
    drop_pending(cache, folder)
    assert [found.name for found in find_pending(cache, project)] == ["nightly"]


def test_what_is_not_there_can_be_dropped(cache: Path, folder: Path):
    drop_pending(cache, folder)
    assert find_pending(cache, folder) == []


def test_a_reason_is_given_to_what_has_none(cache: Path, project: Path, folder: Path):
    refused = Pending(project, folder, "main", tuple(TESTS))
    slower, same = refused.with_reason("it must")
    assert [accepted.reason for accepted in slower.accepted] == ["it checks more", "it must"]
    assert same == TESTS[1]


@pytest.mark.parametrize("text", ["{", "[]", '{"root": 3}', "{}"])
def test_a_damaged_note_is_named(cache: Path, project: Path, folder: Path, text: str):
    keep_pending(cache, project, folder, "main", TESTS)
    (where,) = cache.rglob("where.json")
    where.write_text(text)
    with pytest.raises(UsageError, match=r"where\.json is .*; save again with --rlperf-save\."):
        find_pending(cache, project)
