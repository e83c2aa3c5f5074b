"""Saving and loading: all of it, or nothing and one clear sentence."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rl_impls.envs.tabular import make_tabular
from rl_impls.errors import TableFileError
from rl_impls.tabular import LEARNERS, Linear, Settings

SETTINGS = Settings(learning_rate=Linear(0.5, 0.1, over=400, per="step"))


def trained(name, n_steps=300):
    env = make_tabular("TicTacToe-v0", seed=0)
    learner = LEARNERS[name](env.n_states, env.n_actions, settings=SETTINGS, seed=0)
    learner.train(env, n_steps)
    return learner, env


@pytest.mark.parametrize("name", LEARNERS)
def test_a_loaded_learner_goes_on_as_if_it_had_never_stopped(name, tmp_path):
    learner, env = trained(name)
    path = tmp_path / "table.npz"
    learner.save(path)
    same = type(learner).load(path)
    np.testing.assert_array_equal(same.table(), learner.table())
    assert (same.n_steps, same.n_episodes) == (learner.n_steps, learner.n_episodes)
    assert same.settings == learner.settings

    start = env.state, env.running
    chance = env.chance.getstate()
    want = learner.train(env, 200)
    env.place(start[0], running=start[1])
    env.chance.setstate(chance)
    assert same.train(env, 200) == want
    np.testing.assert_array_equal(same.table(), learner.table())


@pytest.mark.parametrize("name", LEARNERS)
def test_any_learner_loads_what_any_other_saved(name, tmp_path):
    saved, _ = trained("sparse")
    saved.save(tmp_path / "table.npz")
    np.testing.assert_array_equal(
        LEARNERS[name].load(tmp_path / "table.npz").table(), saved.table()
    )


def test_pending_transitions_are_saved_too(tmp_path):
    learner = LEARNERS["batch"](3, 2)
    learner.learn(1, 1, 1.0, 0, terminated=True)
    learner.save(tmp_path / "table.npz")
    assert LEARNERS["batch"].load(tmp_path / "table.npz").table()[1, 1] == pytest.approx(0.3)


def test_a_save_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    learner, _ = trained("list", 50)
    path = tmp_path / "table.npz"
    learner.save(path)
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TableFileError, match="No space left on device"):
        learner.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["table.npz"]


KILLED_WHILE_SAVING = """
import os, signal, sys
from rl_impls.tabular import LEARNERS
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
LEARNERS["list"](2, 2).save(sys.argv[1])
"""


def test_the_next_save_takes_the_place_of_one_that_was_killed(tmp_path):
    path = tmp_path / "table.npz"
    program = [sys.executable, "-c", KILLED_WHILE_SAVING, str(path)]
    assert subprocess.run(program).returncode == -signal.SIGKILL
    assert [file.name for file in tmp_path.iterdir()] == [".table.npz.part"]
    trained("sparse", 50)[0].save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["table.npz"]
    assert LEARNERS["sparse"].load(path).n_steps == 50


def test_saves_to_one_place_at_the_same_time_leave_one_of_them_whole(tmp_path):
    path = tmp_path / "table.npz"
    learners = [trained("sparse", n_steps)[0] for n_steps in (10, 200)]
    with ThreadPoolExecutor(4) as pool:
        for saved in [pool.submit(learners[i % 2].save, path) for i in range(40)]:
            saved.result()
    assert [file.name for file in tmp_path.iterdir()] == ["table.npz"]
    assert LEARNERS["sparse"].load(path).n_steps in (10, 200)


def test_a_saved_table_may_be_read_by_whoever_may_read_new_files(tmp_path):
    (tmp_path / "other").touch()
    trained("list", 50)[0].save(tmp_path / "table.npz")
    modes = {file.stat().st_mode for file in tmp_path.iterdir()}
    assert len(modes) == 1


@pytest.mark.parametrize("kind", ["symbolic", "hard", "pipe"])
def test_what_was_laid_under_the_name_of_a_draft_is_not_written_to(kind, tmp_path):
    precious, draft = tmp_path / "precious", tmp_path / ".table.npz.part"
    precious.write_text("as it was")
    if kind == "symbolic":
        draft.symlink_to(precious)
    elif kind == "hard":
        draft.hardlink_to(precious)
    else:
        os.mkfifo(draft)
    trained("list", 50)[0].save(tmp_path / "table.npz")
    assert precious.read_text() == "as it was"
    assert not draft.exists()
    assert LEARNERS["list"].load(tmp_path / "table.npz").n_steps == 50


def rewrite(path, **changes):
    """Change parts of a saved file's header or arrays."""
    with np.load(path) as archive:
        parts = dict(archive)
    header = json.loads(parts["header"].tobytes())
    for name, value in changes.items():
        if name in ("states", "rows"):
            parts[name] = value(parts[name])
        else:
            header[name] = value
    parts["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path, **parts)


def with_infinity(rows):
    rows[0, 0] = np.inf
    return rows


def too_large_for_a_table(rows):
    return np.full(rows.shape, 1e300)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "version 2, and this release reads version 1"),
        ({"n_states": 5}, "states beyond the 5 of its table"),
        ({"n_actions": 4}, "contradicts itself"),
        ({"rows": with_infinity}, "values that are not finite"),
        ({"rows": too_large_for_a_table}, "values that are not finite"),
        ({"settings": {}}, "contradicts itself"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(tmp_path, changes, message):
    path = tmp_path / "table.npz"
    trained("list", 50)[0].save(path)
    rewrite(path, **changes)
    with pytest.raises(TableFileError, match=message):
        LEARNERS["list"].load(path)


@pytest.mark.parametrize("content", [b"", b"not a table", b"PK\x03\x04 cut"])
def test_a_file_that_is_no_table_is_refused(tmp_path, content):
    path = tmp_path / "table.npz"
    path.write_bytes(content)
    with pytest.raises(TableFileError, match="holds no saved table, or a damaged one"):
        LEARNERS["numpy"].load(path)


def test_half_a_file_is_refused(tmp_path):
    path = tmp_path / "table.npz"
    trained("list", 50)[0].save(path)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(TableFileError, match="damaged"):
        LEARNERS["list"].load(path)


def test_a_missing_file_and_a_missing_folder_are_named(tmp_path):
    with pytest.raises(TableFileError, match="there is no saved table at"):
        LEARNERS["list"].load(tmp_path / "table.npz")
    with pytest.raises(TableFileError, match="cannot be written"):
        LEARNERS["list"](2, 2).save(tmp_path / "missing" / "table.npz")
