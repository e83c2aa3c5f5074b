"""Checkpoints are written now and then, and can be gone on from."""

from rl_impls.runtimes.mpi.runtime import Checkpoint
from rl_impls.tabular import LEARNERS
from tests.rl_impls.runtimes.games import player


def test_the_first_is_written_at_once_and_the_others_when_they_are_due(tmp_path):
    now = [0.0]
    written: list[float] = []

    def snapshot():
        written.append(now[0])
        return player("list")

    path = tmp_path / "so_far.npz"
    checkpoint = Checkpoint(path, every_s=10.0, clock=lambda: now[0])
    for moment in (0.0, 9.0, 11.0, 20.0, 21.0):
        now[0] = moment
        checkpoint.offer(snapshot)
    assert written == [0.0, 11.0, 21.0]
    checkpoint.write(snapshot)
    assert written == [0.0, 11.0, 21.0, 21.0]
    assert LEARNERS["compiled"].load(path).n_steps == 0
    assert [each.name for each in tmp_path.iterdir()] == ["so_far.npz"]
