"""One test in one block: what its seconds went to."""

import pytest

from pytest_rlperf.model.block import Spending
from pytest_rlperf.workers.blocks import Played
from pytest_rlperf.workers.side import SideRun, State

HEAD = SideRun(State.RAN, cost=Spending(fixtures=1.0, waiting=0.5, slices=2.0))
BASE = SideRun(State.RAN, cost=Spending(fixtures=3.0, slices=2.0))


@pytest.mark.parametrize(
    ("runs", "cost"),
    [
        ((HEAD, BASE), Spending(fixtures=1.0, waiting=2.0, slices=2.0)),
        ((HEAD,), Spending(fixtures=1.0, waiting=0.5, slices=2.0, rest=1.5)),
        ((SideRun(State.CRASHED), BASE), Spending(rest=5.0)),
    ],
    ids=["after its end head waits for its partner", "alone", "a lost side tells nothing"],
)
def test_what_the_seconds_of_a_test_went_to(runs: tuple[SideRun, ...], cost: Spending):
    assert Played("test_a", runs, core=0, steal=0.0, seconds=5.0).cost == cost
