"""`python -m rl_impls train --runtime mpi-sync`: as a plain program, and in ranks that may die."""

import json
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from rl_impls.__main__ import main
from rl_impls.registry import COMPRESSIONS
from rl_impls.runtimes.mpi.messages import CODECS
from rl_impls.tabular import LEARNERS
from tests.rl_impls.commands.mistakes import assert_is_one_clear_line
from tests.rl_impls.leftovers import DEADLINE_S, assert_all_end

pytest.importorskip("mpi4py")
MPIEXEC = Path(sys.executable).with_name("mpiexec")
TRAIN = [
    sys.executable, "-m", "rl_impls", "train", "TicTacToe-v0", "--agent", "compiled",
    "--runtime", "mpi-sync",
]  # fmt: skip


def test_the_command_line_knows_every_compression():
    assert set(COMPRESSIONS) == set(CODECS)


def test_a_plain_program_is_one_rank_and_learns_what_serial_does(tmp_path):
    tables = mpi_table, serial_table = tmp_path / "mpi.npz", tmp_path / "serial.npz"
    words = ["--steps", "200_000", "--json", "-", "--save"]
    ended = subprocess.run([*TRAIN, *words, str(mpi_table)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert (result["ranks"], result["bytes_sent"], result["steps"]) == (1, 0, 200_000)
    assert main([*TRAIN[3:-1], "serial", *words, str(serial_table)]) == 0
    mpi, serial = (LEARNERS["compiled"].load(table) for table in tables)
    assert (mpi.table() == serial.table()).all()
    assert mpi.n_episodes == serial.n_episodes == result["episodes"]


@pytest.mark.skipif(not MPIEXEC.exists(), reason="no mpiexec beside the interpreter")
def test_a_killed_rank_ends_the_job_at_once_and_a_resumed_one_goes_on(tmp_path):
    checkpoint = tmp_path / "so_far.npz"
    words = [str(MPIEXEC), "-n", "2", *TRAIN, "--checkpoint", str(checkpoint), "--json", "-"]
    kill_a_rank_of([*words, "--steps", str(10**14)], checkpoint)
    before = LEARNERS["compiled"].load(checkpoint).n_steps
    assert before > 0
    result = resumed([*words, "--compression", "int8"], before + 100_001)
    assert (result["steps"], result["resumed_steps"], result["ranks"]) == (100_001, before, 2)
    assert result["compression"] == "int8"
    assert result["win_rate"] > 0.85
    assert result["syncs"] >= 1
    assert 0 < result["bytes_sent"] < 1_000_000
    assert result["sync_seconds"] > 0
    assert result["sync_period"] % 64 == 0
    assert LEARNERS["list"].load(checkpoint).n_steps == before + 100_001
    again = resumed([*words[:-5], "mpi-async", *words[-4:]], before + 150_002)
    assert (again["steps"], again["runtime"], again["compression"]) == (50_001, "mpi-async", None)
    assert again["bytes_sent"] > 0
    assert LEARNERS["list"].load(checkpoint).n_steps == before + 150_002


def resumed(words, n_steps):
    words = [*words, "--steps", str(n_steps), "--resume"]
    ended = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert ended.returncode == 0, ended.stderr
    assert f"{n_steps:,} of {n_steps:,} steps" in ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.skipif(not MPIEXEC.exists(), reason="no mpiexec beside the interpreter")
def test_ranks_end_with_their_launcher_and_their_memory_has_no_name(tmp_path):
    checkpoint = tmp_path / "so_far.npz"
    words = [str(MPIEXEC), "-n", "2", *TRAIN, "--checkpoint", str(checkpoint)]
    job, processes, ranks = started([*words, "--steps", str(10**14)], checkpoint)
    maps = [Path(f"/proc/{rank.pid}/maps") for rank in ranks]
    shared = [line for file in maps if file.exists() for line in file.read_text().splitlines()]
    assert [s for s in shared if "mpich_shm" in s and not s.endswith("(deleted)")] == []
    ranks[0].parent().kill()
    job.communicate(timeout=DEADLINE_S)
    assert_all_end(processes)


def kill_a_rank_of(words, checkpoint):
    job, processes, ranks = started(words, checkpoint)
    ranks[-1].kill()
    said, complaints = job.communicate(timeout=DEADLINE_S)
    assert job.returncode != 0
    # The launcher is told of the death, or the other rank sees it first.
    assert "signal 9" in said + complaints or "ended before its work was done" in complaints
    assert "Traceback" not in complaints
    assert_all_end(processes)


def started(words, checkpoint):
    """A job that has begun to learn, all its processes, and those of them that are ranks."""
    job = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + DEADLINE_S
    while not checkpoint.exists():
        assert job.poll() is None, job.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    processes = psutil.Process(job.pid).children(recursive=True)
    ranks = [process for process in processes if "mpi-sync" in process.cmdline()]
    assert len(ranks) >= 2
    return job, processes, ranks


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--agent", "list"], "list trains with --runtime serial or parallel"),
        (["--agent", "compiled", "--pin"], "--pin is the launcher's task"),
        (["--agent", "compiled", "--resume"], "--resume needs to know from where"),
        (["--agent", "compiled", "--processes", "2"], "--processes belongs to --runtime parallel"),
        (["--agent", "compiled", "--compression", "zip"], "there is no compression 'zip': choose"),
        (["--agent", "compiled", "--checkpoint", "no/file"], "make it first"),
    ],
)
def test_a_mistake_is_one_clear_line(words, said, capsys):
    mistake = ["train", "TicTacToe-v0", "--steps", "9", "--runtime", "mpi-sync", *words]
    assert_is_one_clear_line(mistake, said, capsys)


def test_options_of_ranks_belong_to_ranks(capsys):
    for words in (["--compression", "int8"], ["--checkpoint", "file"]):
        mistake = ["train", "TicTacToe-v0", "--steps", "9", "--agent", "compiled", *words]
        assert_is_one_clear_line(mistake, "belongs to --runtime mpi-sync", capsys)


def test_without_mpi4py_one_sentence_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    assert main([*TRAIN[3:], "--steps", "9"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pip install mpi4py mpich" in said
