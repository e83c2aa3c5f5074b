"""One side's part in a benchmark: what it plays, and what it tells the controller."""

import gc
import itertools
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.errors import FixtureError, PartnerGone
from pytest_rlperf.fixtures import Rlperf
from pytest_rlperf.model.block import SideBlock, Spending
from pytest_rlperf.model.memory import Pass, Probe
from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.model.profile import Profiling
from pytest_rlperf.phases import phase
from pytest_rlperf.wire import (
    BASE,
    HEAD,
    Channel,
    Go,
    Measurement,
    Message,
    Order,
    Ready,
    ScoutReport,
    StandAside,
)
from pytest_rlperf.worker import devices, scout, turns
from pytest_rlperf.worker.benchmark_fixture import NotedCalls
from pytest_rlperf.worker.calls import Calls, Rounds, counts
from pytest_rlperf.worker.clock import Elapsed
from pytest_rlperf.worker.devices import Device
from pytest_rlperf.worker.player import Player, own_ns
from pytest_rlperf.worker.turns import Baton
from tests.factories import FakeChannel, FakeClock, examples, side

NODE = "test_a.py::test_a"
PLAN = Plan(Mode.SLICED, calls=2, pairs=3, warmup=4)
MS, S = 10**6, 10**9


@pytest.fixture(autouse=True)
def shared_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Both sides are played in the process of the tests, which slices neither hog nor freeze, and
    whose many objects nobody goes through before each block.
    """
    monkeypatch.setattr(turns, "FILLER_BYTES", 1)
    monkeypatch.setattr("pytest_rlperf.worker.player.gc", SimpleNamespace(collect=int))
    yield
    gc.unfreeze()


def player(
    channel: FakeChannel,
    clock: FakeClock | None = None,
    plan: Plan | None = PLAN,
    side: int = HEAD,
    baton: Baton | None = None,
) -> Player:
    made = Player(cast(Channel, channel), clock or FakeClock(), side, baton or Baton(None))
    made.begin(Order(NODE, 30.0, plan, seed=1))
    return made


def test_a_block_is_announced_let_go_and_reported():
    channel, clock, calls = FakeChannel([Go()]), FakeClock(), []

    def work() -> int:
        calls.append(channel.kinds)
        clock.compute(100)
        return len(calls)

    result = player(channel, clock).play(Calls(work), {"updates": 7}, steps=50)
    assert channel.kinds == [Ready, Measurement]
    assert result == len(calls)
    block = side([200, 200, 200], calls=PLAN.calls, work={"updates": 7.0})
    block = replace(block, preempted=channel.measured.block.preempted)
    assert channel.measured == Measurement(block, steps=50)


def test_warm_up_and_one_untimed_slice_come_before_the_first_turn():
    channel, early = FakeChannel([Go()]), []
    player(channel).play(Calls(lambda: early.append(not channel.sent)), None, None)
    assert early.count(True) == PLAN.warmup + PLAN.calls
    assert early.count(False) == PLAN.pairs * PLAN.calls


def test_the_wait_for_a_core_is_left_out_of_own_time_and_kept_in_wall_time():
    channel, clock = FakeChannel([Go()]), FakeClock()

    def work() -> None:
        clock.compute(100)
        clock.wait_for_core(400)

    player(channel, clock).play(Calls(work), None, None)
    assert channel.measured.block.own_ns == (200,) * 3
    assert channel.measured.block.wall_ns == (1000,) * 3


def test_the_first_call_is_timed_on_its_own_where_the_plan_asks_for_it():
    channel, clock = FakeChannel([Go()]), FakeClock()
    calls: list[int] = []

    def work() -> None:
        clock.compute(100 if calls else 5000)
        calls.append(1)

    plan = replace(PLAN, first_call=True)
    player(channel, clock, plan).play(Calls(work), None, None)
    assert channel.measured.block.starts_ns == {"first_call": 5000.0}
    assert channel.measured.block.own_ns == (200,) * 3
    assert len(calls) == PLAN.warmup + PLAN.calls * (PLAN.pairs + 1)


def test_calls_that_a_test_counts_have_no_other_first_one():
    plan = replace(PLAN, first_call=True, exact=True)
    with pytest.raises(FixtureError, match=r"benchmark\.pedantic allows no other than those it"):
        player(FakeChannel([Go()]), plan=plan).play(Calls(lambda: None), None, None)


def test_phases_are_told_with_the_slices():
    channel, clock = FakeChannel([Go()]), FakeClock()

    def work() -> None:
        with phase("learn"):
            clock.compute(75)
        clock.compute(25)

    player(channel, clock).play(Calls(work), None, None)
    assert channel.measured.block.phases == {"learn": pytest.approx(0.75, abs=0.01)}


def test_a_side_whose_partner_cannot_play_stands_aside():
    channel, clock = FakeChannel([StandAside()]), FakeClock()
    made = player(channel, clock)
    made.play(Calls(lambda: clock.compute(1)), None, None)
    assert channel.kinds == [Ready]
    assert clock.wall_ns == PLAN.warmup + PLAN.calls + 1  # one more, for the test's own checks
    assert made.played


def test_without_a_plan_it_scouts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scout, "CHILD_WATCH_S", 0.0)
    channel, clock = FakeChannel(), FakeClock()
    made = player(channel, clock, plan=None)
    made.play(Calls(lambda: clock.compute(20 * MS)), {"updates": 3}, steps=5)
    (said,) = channel.sent
    assert isinstance(said, ScoutReport)
    assert said.seen.call_ns == 20 * MS
    assert (said.work, said.steps) == ({"updates": 3.0}, 5)


class SlowPartner(FakeChannel):
    """Lets a side go after three seconds of the clock."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__([Go()])
        self._clock = clock

    def receive(self) -> Message:
        self._clock.sleep(3 * S)
        return super().receive()


@pytest.mark.parametrize(
    ("plan", "cost"),
    [
        (PLAN, Spending(fixtures=12.0, warmup=4 + 2, waiting=3.0, slices=3 * 2)),
        (None, Spending(fixtures=12.0, scouting=2.0)),
    ],
)
def test_the_time_of_a_test_is_told_by_what_it_went_to(
    plan: Plan | None, cost: Spending, monkeypatch: pytest.MonkeyPatch
):
    clock = FakeClock()
    fake = SimpleNamespace(monotonic=lambda: clock.wall_ns / S)
    monkeypatch.setattr("pytest_rlperf.worker.player.time", fake)
    monkeypatch.setattr(scout, "CHILD_WATCH_S", 0.0)
    made = player(SlowPartner(clock), clock, plan)
    clock.compute(5 * S)
    made.play(Calls(lambda: clock.compute(1 * S)), None, None)
    clock.compute(7 * S)
    assert made.cost == cost
    made.begin(Order("test_b.py::test_b", 30.0, PLAN, seed=1))
    assert made.cost == Spending()


def test_playing_is_remembered_until_the_next_test_begins():
    made = player(FakeChannel([Go()]))
    assert not made.played
    made.play(Calls(lambda: None), None, None)
    assert made.played
    made.begin(Order("test_b.py::test_b", 30.0, PLAN, seed=1))
    assert not made.played


def test_a_call_outside_of_a_test_is_refused():
    idle = Player(cast(Channel, FakeChannel()), FakeClock(), HEAD, Baton(None))
    with pytest.raises(FixtureError, match="outside of a test; call it in the test body"):
        idle.play(Calls(lambda: None), None, None)


class BothReady(FakeChannel):
    """Lets a side go when its partner is ready too, as the controller does."""

    def __init__(self, barrier: threading.Barrier) -> None:
        super().__init__([Go()])
        self._barrier = barrier

    def receive(self) -> Message:
        self._barrier.wait(30.0)
        return super().receive()


def fail_at(number: int | None) -> Callable[[], None]:
    made = itertools.count(1)

    def call() -> None:
        if next(made) == number:
            raise ValueError(f"call {number}")

    return call


def play_both(
    plan: Plan,
    play: Callable[[int, Player], object],
    clocks: Sequence[FakeClock | None] = (None, None),
) -> tuple[list[Player], list[SideBlock | None], list[Any]]:
    """Both sides in threads, over a real socket; returns the players, what each measured, and what
    `play` returned or raised for it.
    """
    barrier = threading.Barrier(2)
    channels = [BothReady(barrier), BothReady(barrier)]
    met: list[Any] = [None, None]

    def run(side: int) -> None:
        try:
            met[side] = play(side, players[side])
        except Exception as error:
            met[side] = error

    ours, theirs = socket.socketpair()
    with ours, theirs:
        players = [
            player(channels[HEAD], clocks[HEAD], plan, HEAD, Baton(ours)),
            player(channels[BASE], clocks[BASE], plan, BASE, Baton(theirs)),
        ]
        threads = [threading.Thread(target=run, args=(s,), daemon=True) for s in (HEAD, BASE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30.0)
    measured = [c.measured.block if Measurement in c.kinds else None for c in channels]
    return players, measured, met


def play_failing(
    mode: Mode, head_at: int | None, base_at: int | None
) -> tuple[list[Player], list[Any]]:
    """Play sides that raise at a call; returns the players and what each met."""
    works = [Calls(fail_at(head_at)), Calls(fail_at(base_at))]
    plan = Plan(mode, calls=1, pairs=5, warmup=1)
    players, _, met = play_both(plan, lambda side, made: made.play(works[side], None, None))
    return players, met


@pytest.mark.parametrize("mode", Mode)
def test_two_sides_play_to_the_end_in_every_mode(mode: Mode):
    plan = Plan(mode, calls=1, pairs=5, warmup=1)
    players, blocks, _ = play_both(plan, lambda _, made: made.play(Calls(int), None, None))
    assert [block and len(block.own_ns) for block in blocks] == [5, 5]
    assert not any(made.abandoned for made in players)


@pytest.mark.parametrize("mode", [Mode.SLICED, Mode.CONCURRENT])
def test_each_side_runs_alone_before_the_slices_and_tells_what_a_call_took(mode: Mode):
    running: list[int] = []  # sides, as they make their calls
    clocks = FakeClock(), FakeClock()

    def play(side: int, made: Player) -> object:
        def call() -> None:
            clocks[side].compute((side + 1) * MS)
            running.append(side)

        return made.play(Calls(call), None, None)

    plan = Plan(mode, calls=1, pairs=2, warmup=0, alone=3)
    _, blocks, _ = play_both(plan, play, clocks)
    assert [block and block.alone_ns for block in blocks] == [1 * MS, 2 * MS]
    # Three calls fill the caches, three are timed, and nobody else computes meanwhile.
    assert running[:12] == 6 * [HEAD] + 6 * [BASE]


def test_a_side_that_raises_alone_is_to_blame_too():
    plan = Plan(Mode.SLICED, calls=1, pairs=2, warmup=0, alone=3)
    works = [Calls(fail_at(2)), Calls(int)]
    players, _, met = play_both(plan, lambda side, made: made.play(works[side], None, None))
    assert [type(error) for error in met] == [ValueError, PartnerGone]
    assert [made.abandoned for made in players] == [False, True]


@pytest.mark.parametrize("mode", [Mode.SLICED, Mode.CONCURRENT])
def test_a_side_that_raises_in_a_slice_is_to_blame_and_its_partner_is_abandoned(mode: Mode):
    (head, base), (head_met, base_met) = play_failing(mode, head_at=3, base_at=None)
    assert isinstance(head_met, ValueError)
    assert isinstance(base_met, PartnerGone)
    assert (head.abandoned, base.abandoned) == (False, True)


@pytest.mark.parametrize("mode", [Mode.SLICED, Mode.CONCURRENT])
@pytest.mark.parametrize(("head_at", "base_at"), [(3, 3), (5, 3), (3, 5)])
def test_where_both_would_raise_both_say_so(mode: Mode, head_at: int, base_at: int):
    players, met = play_failing(mode, head_at, base_at)
    assert [str(error) for error in met] == [f"call {head_at}", f"call {base_at}"]
    assert not any(made.abandoned for made in players)


@pytest.mark.parametrize(
    ("elapsed", "calls", "wall", "overhead_ns", "expected"),
    [
        (Elapsed(1000, 800, 200), 1, False, 0.0, 800),
        (Elapsed(1000, 800, 200), 1, True, 0.0, 1000),
        (Elapsed(1000, 1000, 0), 50, False, 10.0, 500),
        (Elapsed(1000, 1000, 0), 100, False, 10.0, 1),
        (Elapsed(1000, 1000, 0), 100, False, 99.0, 1),
    ],
)
def test_the_judged_time_is_without_the_loops_own_and_never_zero(
    elapsed: Elapsed, calls: int, wall: bool, overhead_ns: float, expected: int
):
    plan = Plan(Mode.SLICED, calls=calls, pairs=1, warmup=0, wall=wall)
    assert own_ns(elapsed, plan, overhead_ns) == expected


@pytest.mark.parametrize(
    ("work", "found"),
    [
        (None, {}),
        ({}, {}),
        ({"updates": 3, "loss": 0.5}, {"updates": 3.0, "loss": 0.5}),
        (lambda result: {"length": len(result)}, {"length": 4.0}),
    ],
)
def test_work_is_a_mapping_of_counts_or_a_function_of_the_result(work: Any, found: Any):
    assert counts(work, "four") == found


@pytest.mark.parametrize("work", [lambda result: 3, lambda result: None, [("a", 1)]])
def test_work_that_is_no_mapping_is_refused_with_an_example(work: Any):
    with pytest.raises(
        FixtureError, match=r'mapping of counts, not .*return .*\{"updates": 1000\}'
    ):
        counts(work, None)


def test_a_count_that_is_no_number_is_named():
    work: Any = {"updates": 1, "name": "x"}
    with pytest.raises(FixtureError, match=r"work\['name'\] is 'x', not a finite number"):
        counts(work, None)


# -- a test gets the result of its last call, since it may hold it against what its objects are ----


class Counted:
    """A function that takes time and returns how often it was called."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.calls = 0

    def __call__(self, *state: object) -> int:
        self.clock.compute(1 * MS)
        self.calls += 1
        return self.calls


Play = Callable[[Player, Counted], Any]


def with_rlperf(made: Player, work: Counted) -> Any:
    return Rlperf(made, None)(work)


def with_setup(made: Player, work: Counted) -> Any:
    return Rlperf(made, None).measure(work, setup=dict)


def with_benchmark(made: Player, work: Counted) -> Any:
    return made.play(NotedCalls(work, (), {}), None, None)


plays = st.sampled_from([with_rlperf, with_setup, with_benchmark])


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    mode, warmup = draw(st.sampled_from(Mode)), draw(st.integers(0, 3))
    return Plan(
        mode,
        calls=draw(st.integers(1, 4)),
        pairs=draw(st.integers(1, 4)),
        warmup=warmup,
        alone=draw(st.integers(0, 3)),
        abreast=mode is Mode.CONCURRENT and draw(st.booleans()),
        first_call=warmup > 0 and draw(st.booleans()),
        profile=draw(st.sampled_from(Profiling)),
    )


@examples
@given(plans(), plays, st.sampled_from([Go(), StandAside()]))
def test_alone_it_is_that_of_the_last_call(plan: Plan, play: Play, answer: Message):
    work = Counted()
    made = player(FakeChannel([answer]), work.clock, plan)
    assert play(made, work) == work.calls > 0


@examples
@given(plans(), plays)
def test_beside_a_partner_it_is_that_of_the_last_call_on_both_sides(plan: Plan, play: Play):
    plan = replace(plan, profile=Profiling.NOTHING)  # of the two threads only one could be watched
    works = [Counted(), Counted()]
    _, blocks, results = play_both(plan, lambda side, made: play(made, works[side]))
    assert [block and len(block.own_ns) for block in blocks] == [plan.pairs] * 2
    assert results == [work.calls for work in works]


@examples
@given(
    plans(), st.integers(1, 3), st.booleans(), st.sampled_from([Go(), StandAside()]), st.booleans()
)
def test_counted_rounds_end_with_the_result_of_the_last_call(
    plan: Plan, iterations: int, setup: bool, answer: Message, scouts: bool
):
    work = Counted()
    plan = replace(plan, exact=True, first_call=False, calls=iterations * plan.calls)
    rounds = Rounds(
        work,
        setup=(lambda: ((), {})) if setup and iterations == 1 else None,
        rounds=plan.calls * plan.pairs // iterations,
        iterations=iterations,
        warmup=plan.warmup,
    )
    made = player(FakeChannel([answer]), work.clock, None if scouts else plan)
    made.play(rounds, None, None)
    assert rounds.finish() == work.calls > 0


@pytest.mark.parametrize("play", [with_rlperf, with_setup, with_benchmark])
@pytest.mark.parametrize("children", [{}, {7: 1.0}])
@pytest.mark.parametrize("hosted", [False, True])
def test_a_scout_gives_that_of_the_last_call_while_others_compute_too(
    play: Play, children: dict[int, float], hosted: bool, monkeypatch: pytest.MonkeyPatch
):
    device = Device("threads", settle=lambda result: None, on_host=True, utilisation=lambda: None)
    monkeypatch.setattr(devices, "device_of", lambda result: device if hosted else None)
    monkeypatch.setattr(scout, "_children_cpu", lambda: children)
    monkeypatch.setattr(scout, "CHILD_WATCH_S", 0.02)
    work = Counted()
    assert play(player(FakeChannel(), work.clock, plan=None), work) == work.calls


@pytest.mark.parametrize("look", [Pass.RESIDENT, Pass.TRACED])
@pytest.mark.parametrize("play", [with_rlperf, with_setup, with_benchmark])
def test_a_look_at_memory_gives_that_of_the_last_call(play: Play, look: Pass):
    work, made = Counted(), player(FakeChannel())
    made.begin(Order(NODE, 30.0, probe=Probe(look, repeats=3)))
    assert play(made, work) == work.calls == 3


def test_a_plain_run_gives_that_of_its_only_call():
    for setup in (None, dict):
        work = Counted()
        assert Rlperf(None, None).measure(work, setup=setup) == work.calls == 1


class AnyBaton:
    """The baton of two sides, one of which is played elsewhere."""

    alone = False

    def reset(self, seconds: float) -> None:
        """There is nothing to wait for."""


@pytest.mark.parametrize("raises", [False, True])
def test_the_result_is_that_of_the_last_call_also_of_one_beyond_the_plan(
    raises: bool, monkeypatch: pytest.MonkeyPatch
):
    made: list[int] = []

    def work() -> int:
        if raises and len(made) == asked:
            raise ValueError
        made.append(len(made) + 1)
        return made[-1]

    def abreast(side: int, pairs: int, seed: int, baton: Baton, run_slice: Any, go_on: Any) -> None:
        for _ in range(pairs):
            run_slice()
        go_on()

    monkeypatch.setattr("pytest_rlperf.worker.player.run_abreast", abreast)
    plan = Plan(Mode.CONCURRENT, calls=1, pairs=3, warmup=1, abreast=True)
    asked = plan.warmup + plan.pairs
    one = player(FakeChannel([Go()]), plan=plan, baton=cast(Baton, AnyBaton()))
    assert one.play(Calls(work), None, None) == len(made) == asked + (not raises)
