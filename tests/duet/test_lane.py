"""How blocks of commands are played, with real processes."""

import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rlperf.duet.command_line import read_commands
from pytest_rlperf.duet.lane import BlockPlan, CommandLane, OutOfTime, Runs
from pytest_rlperf.duet.model import DuetSettings
from pytest_rlperf.duet.starting import CommandFailed
from pytest_rlperf.machine.host import available_cores
from pytest_rlperf.workers.lanes import waited_for

PYTHON = f"{sys.executable} -I -S -c"


@contextmanager
def lane(
    folder: Path, *texts: str, core: int | None = None, **changes: object
) -> Iterator[CommandLane]:
    settings = replace(DuetSettings(read_commands(texts, None), 0.05, 60.0), **changes)  # type: ignore[arg-type]
    one = CommandLane(settings, core, folder, dict(os.environ), random.Random(0))
    try:
        yield one
    finally:
        one.end()


def played(one: CommandLane, pairs: int, fills: bool = False, seconds: float = 60) -> Runs:
    plan = BlockPlan(pairs, fills)
    return waited_for(one.block((0, 1), plan, time.monotonic() + seconds))


def noting(file: Path, seconds: float) -> str:
    """Return a command that adds a line to a file and sleeps."""
    return f'{PYTHON} \'import time; open("{file}", "a").write("x\\n"); time.sleep({seconds})\''


def lines(file: Path) -> int:
    return len(file.read_text().splitlines())


def test_a_block_has_its_pairs_and_no_run_beside_them(tmp_path: Path):
    files = tmp_path / "quick", tmp_path / "slow"
    with lane(tmp_path, noting(files[0], 0.01), noting(files[1], 0.2)) as one:
        runs = played(one, 3)
    assert [len(side) for side in runs] == [3, 3]
    assert [lines(file) for file in files] == [3, 3]
    assert min(use.wall_ns for use in runs[1]) > 0.2e9


def test_a_side_that_is_done_first_goes_on_and_nobody_counts_it(tmp_path: Path):
    files = tmp_path / "quick", tmp_path / "slow"
    with lane(tmp_path, noting(files[0], 0.01), noting(files[1], 0.2)) as one:
        for _ in range(2):  # the second block begins when the filling is over
            runs = played(one, 2, fills=True)
            assert [len(side) for side in runs] == [2, 2]
    assert lines(files[0]) > 6
    assert lines(files[1]) == 4


def test_runs_stay_on_the_core_of_their_lane(tmp_path: Path):
    cores = available_cores()
    if not cores:
        return  # nothing can be pinned here
    file = tmp_path / "cores"
    said = f'import os; print(os.sched_getaffinity(0), file=open("{file}", "a"))'
    with lane(tmp_path, f"{PYTHON} '{said}'", f"{PYTHON} '{said}'", core=cores[-1]) as one:
        played(one, 1)
    assert set(file.read_text().splitlines()) == {f"{{{cores[-1]}}}"}


def test_by_the_clock_runs_take_turns(tmp_path: Path):
    file = tmp_path / "turns"
    note = (
        'import time; f = open("{}", "a"); f.write("("); f.flush(); time.sleep(0.03); f.write(")")'
    )
    text = f"{PYTHON} '{note.format(file)}'"
    with lane(tmp_path, text, text, waits=True) as one:
        played(one, 4)
    assert file.read_text() == 8 * "()"


def test_hash_seeds_are_those_of_the_block_and_the_stack_moves_with_each_run(tmp_path: Path):
    file = tmp_path / "seeds"
    note = (
        "import os; e = os.environ; "
        f'print(e["PYTHONHASHSEED"], len(e["RLPERF_PADDING"]), file=open("{file}", "a"))'
    )
    text = f"{PYTHON} '{note}'"
    with lane(tmp_path, text, text) as one:
        for _ in range(2):
            played(one, 3)
    seeds, paddings = zip(*(line.split() for line in file.read_text().splitlines()), strict=True)
    assert [len(set(seeds[:6])), len(set(seeds[6:])), len(set(seeds))] == [1, 1, 2]
    assert len(set(paddings)) > 2


def test_children_that_nobody_waited_for_count_with_their_run(tmp_path: Path):
    busy = "n = sum(range(4000000))"
    left = f'{PYTHON} "{busy}" & true'
    with lane(tmp_path, left, "true; true") as one:
        (first,), (second,) = played(one, 1)
    assert first.cpu_ns > 5 * second.cpu_ns


def test_a_run_beyond_its_deadline_is_given_up_and_ended(tmp_path: Path):
    with lane(tmp_path, "sleep 50", "true") as one, pytest.raises(OutOfTime):
        played(one, 1, seconds=0.1)


def test_a_program_that_the_system_cannot_start_is_named(tmp_path: Path):
    script = tmp_path / "script"
    script.write_bytes(b"\x7fnothing")
    script.chmod(0o700)
    with (
        lane(tmp_path, str(script), "true") as one,
        pytest.raises(CommandFailed, match="could not be started: Exec format error"),
    ):
        played(one, 1)
