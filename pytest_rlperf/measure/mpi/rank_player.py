"""One rank's part in a benchmark of a whole job."""

from typing import Any

from pytest_rlperf.launch.channel import Channel
from pytest_rlperf.measure.assignment import Assignment
from pytest_rlperf.measure.clock import Clock
from pytest_rlperf.measure.loop import Calls
from pytest_rlperf.measure.mpi.rank_calls import RankCalls
from pytest_rlperf.measure.mpi.rank_clock import RankClock
from pytest_rlperf.measure.mpi.rank_scout import scout_ranks
from pytest_rlperf.measure.player import Player
from pytest_rlperf.measure.rounds import Rounds
from pytest_rlperf.measure.turns import Baton
from pytest_rlperf.measure.work import Work, counts
from pytest_rlperf.model.plan import Mode

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these


class RankPlayer(Player):
    """Takes turns with the same rank of the other side; the slices of its job begin together."""

    ends_alone = False  # the other ranks may have lost no partner, and would be waited for

    def __init__(
        self,
        channel: Channel,
        clock: Clock,
        side: int,
        baton: Baton,
        slowdown: float,
        world: Any,
    ) -> None:
        super().__init__(channel, RankClock(clock, world), side, baton, slowdown)
        self._world = world

    def _play(
        self, assignment: Assignment, calls: Calls | Rounds, work: Work, steps: int | None
    ) -> Any:
        assert isinstance(calls, RankCalls)  # the fixture makes no others
        if assignment.plan is not None:
            if assignment.plan.mode is Mode.CONCURRENT:
                calls.watch()
            return self._play_block(assignment, assignment.plan, calls, work, steps)
        seen, result = scout_ranks(calls, self._with_phases(self._clock), self._world)
        exchanges = max(self._world.allgather(calls.exchanges()))
        said = {**seen, "exchanges": exchanges, "work": counts(work, result), "steps": steps}
        self._say("scouted", **said)
        return result
