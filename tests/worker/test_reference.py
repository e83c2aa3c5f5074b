"""The partner of a stored baseline: kernels in turn, and a worker that answers like any other."""

import gc
import random
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

import pytest

from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.wire import (
    BASE,
    Channel,
    Collected,
    Finished,
    Go,
    Job,
    KernelSpeeds,
    Measurement,
    Order,
    Ready,
    StandAside,
    Stop,
)
from pytest_rlperf.worker import reference
from pytest_rlperf.worker.kernels import NAMES, NEED_NUMPY, Kernel
from pytest_rlperf.worker.reference import KernelSlices, ReferenceWorker
from pytest_rlperf.worker.turns import Baton
from tests.factories import FakeClock, side

Kind = TypeVar("Kind")
NODE = "test_a.py::test_a"
TAKES_NS = {"a": 100, "b": 2_000, "c": 30_000}
CALLS = {"a": 7, "b": 3, "c": 1}
ROUND_NS = sum(CALLS[name] * ns for name, ns in TAKES_NS.items())
ROUNDS = 4
PLAN = Plan(
    Mode.SLICED, calls=1, pairs=2, warmup=0, kernels=tuple(CALLS.items()), kernel_rounds=ROUNDS
)


def slices(
    clock: FakeClock,
    played: list[str] | None = None,
    plan: Plan = PLAN,
    over: Callable[[], bool] = lambda: False,
) -> KernelSlices:
    def kernel(name: str) -> Kernel:
        def compute() -> None:
            clock.compute(TAKES_NS[name])
            if played is not None:
                played.append(name)

        return compute

    return KernelSlices({name: kernel(name) for name in TAKES_NS}, plan, random.Random(1), over)


def kernel_ns(made: KernelSlices) -> Mapping[str, tuple[float, ...]]:
    return made.add_facts(Measurement(side([1])), PLAN).kernel_ns


def test_every_slice_has_the_planned_calls_of_every_kernel():
    clock = FakeClock()
    made = slices(clock)
    times = [made.timed(99, clock).own_ns for _ in range(2)]
    assert times == [ROUNDS * ROUND_NS] * 2
    assert kernel_ns(made) == {name: (ns,) * 2 for name, ns in TAKES_NS.items()}


@pytest.mark.parametrize(("lasts_ns", "rounds"), [(0, 1), (ROUND_NS, 1), (9 * ROUND_NS + 1, 10)])
def test_beside_a_test_that_runs_at_the_same_time_they_play_until_its_slice_is_over(
    lasts_ns: int, rounds: int
):
    clock = FakeClock()
    together = replace(PLAN, mode=Mode.CONCURRENT)
    made = slices(clock, plan=together, over=lambda: clock.wall_ns >= lasts_ns)
    assert made.timed(1, clock).own_ns == rounds * ROUND_NS
    assert kernel_ns(made) == {name: (ns,) for name, ns in TAKES_NS.items()}


def test_all_kernels_have_their_turn_before_one_has_a_second():
    clock, played = FakeClock(), list[str]()
    made = slices(clock, played)
    for _ in range(5):
        made.timed(1, clock)
    size = sum(CALLS.values())
    rounds = ["".join(played[i : i + size]) for i in range(0, len(played), size)]
    assert len(rounds) == 5 * ROUNDS
    assert {"".join(sorted(each)) for each in rounds} == {"aaaaaaabbbc"}
    assert len(set(rounds)) > 1, "always in the same order, a kernel would follow the same one"


def test_warming_up_plays_each_kernel_once_and_leaves_no_trace():
    clock = FakeClock()
    made = slices(clock)
    made.warm(50)
    assert clock.wall_ns == sum(TAKES_NS.values())
    assert kernel_ns(made) == {"a": (), "b": (), "c": ()}


# -- the worker ---------------------------------------------------------------------------------


class Talk:
    """The controller's end of a connection with a worker in a thread."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(30.0)
        self.channel = Channel(ours)
        self.status: int | None = None
        self._theirs = Channel(theirs)
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        job = Job(
            side=BASE, root="", cwd="", tree="", head_tree="", import_roots=(), sys_path=(),
            pytest_args=(), options={}, nodeids=(NODE,), channel_fd=-1, baton_fd=None,
            layout_seed=1, reference=True,
        )  # fmt: skip
        self.status = ReferenceWorker(job, self._theirs, Baton(None)).work()

    def hear(self, kind: type[Kind]) -> Kind:
        message = self.channel.receive()
        assert isinstance(message, kind)
        return message

    def order(self, plan: Plan | None) -> None:
        self.channel.send(Order(NODE, 30.0, plan, seed=1))

    def end(self) -> int | None:
        self._thread.join(30.0)
        self._theirs.close()
        return self.status


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Talk]:
    monkeypatch.setattr(reference, "SCOUT_CALLS", 2)
    made = Talk()
    yield made
    made.channel.close()
    made.end()
    gc.unfreeze()


def test_it_collects_what_it_is_told_and_scouts_the_kernels(talk: Talk):
    assert talk.hear(Collected).nodeids == (NODE,)
    talk.order(None)
    unit_ns = talk.hear(KernelSpeeds).unit_ns
    assert NAMES - NEED_NUMPY <= unit_ns.keys() <= NAMES
    assert min(unit_ns.values()) > 0
    assert talk.hear(Finished).played is True
    talk.channel.send(Stop())
    assert talk.end() == 0


def test_it_plays_the_planned_kernels_and_says_what_each_took_slice_by_slice(talk: Talk):
    talk.hear(Collected)
    kernels = (("interpreter", 2), ("compiled", 3))
    talk.order(Plan(Mode.SLICED, calls=5, pairs=4, warmup=1, kernels=kernels))
    talk.hear(Ready)
    talk.channel.send(Go())
    measured = talk.hear(Measurement)
    taken = measured.kernel_ns
    assert taken.keys() == {"compiled", "interpreter"}
    each = zip(*([calls * ns for ns in taken[name]] for name, calls in kernels), strict=True)
    assert list(measured.block.own_ns) == [pytest.approx(sum(pieces)) for pieces in each]
    assert talk.hear(Finished).abandoned is False


def test_where_the_test_cannot_play_it_stands_aside(talk: Talk):
    talk.hear(Collected)
    talk.order(Plan(Mode.SLICED, calls=1, pairs=1, warmup=0, kernels=(("compiled", 1),)))
    talk.hear(Ready)
    talk.channel.send(StandAside())
    assert talk.hear(Finished).played is True


def test_a_controller_that_is_gone_ends_it(talk: Talk):
    talk.hear(Collected)
    talk.channel.close()
    assert talk.end() == 3
