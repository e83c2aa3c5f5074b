"""The partner of a stored baseline: kernels in turn, and a worker that answers like any other."""

import gc
import random
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_rlperf.launch.channel import Channel
from pytest_rlperf.measure import reference
from pytest_rlperf.measure.kernels import NAMES, NEED_NUMPY
from pytest_rlperf.measure.reference import KernelSlices, ReferenceWorker
from pytest_rlperf.measure.turns import Baton
from pytest_rlperf.model.job import BASE, Job
from pytest_rlperf.model.plan import Mode, Plan
from tests.factories import FakeClock

NODE = "test_a.py::test_a"
TAKES_NS = {"a": 100, "b": 2_000, "c": 30_000}
CALLS = {"a": 7, "b": 3, "c": 1}


def slices(clock: FakeClock, seed: int = 1) -> KernelSlices:
    kernels = {name: lambda ns=ns: clock.compute(ns) for name, ns in TAKES_NS.items()}
    return KernelSlices(kernels, CALLS, random.Random(seed))


def test_a_slice_is_the_planned_number_of_calls_of_one_kernel():
    clock = FakeClock()
    made = slices(clock)
    times = [made.timed(99, clock)[0].own_ns for _ in range(6)]
    played = made.facts()["kernels"]
    assert times == [CALLS[name] * TAKES_NS[name] for name in played]


def test_all_kernels_have_their_turn_before_one_has_a_second():
    clock = FakeClock()
    made = slices(clock)
    for _ in range(30):
        made.timed(1, clock)
    played = made.facts()["kernels"]
    rounds = [tuple(played[i : i + 3]) for i in range(0, 30, 3)]
    assert {frozenset(each) for each in rounds} == {frozenset("abc")}
    assert len(set(rounds)) > 1, "always in the same order, a kernel could meet the same calls"


def test_warming_up_plays_each_kernel_once_and_leaves_no_trace():
    clock = FakeClock()
    made = slices(clock)
    made.warm(50)
    assert clock.wall_ns == sum(TAKES_NS.values())
    assert made.facts() == {"kernels": []}


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

    def hear(self, event: str) -> dict[str, Any]:
        message = self.channel.receive()
        assert message["event"] == event
        return message

    def order(self, plan: Plan | None) -> None:
        self.channel.send(
            {
                "do": "run",
                "nodeid": NODE,
                "plan": None if plan is None else plan.as_dict(),
                "cores": [],
                "seed": 1,
                "deadline_s": 30.0,
            }
        )

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
    assert talk.hear("collected")["nodeids"] == [NODE]
    talk.order(None)
    unit_ns = talk.hear("scouted")["unit_ns"]
    assert NAMES - NEED_NUMPY <= unit_ns.keys() <= NAMES
    assert min(unit_ns.values()) > 0
    assert talk.hear("ended")["played"] is True
    talk.channel.send({"do": "stop"})
    assert talk.end() == 0


def test_it_plays_the_planned_kernels_and_says_which_each_slice_was(talk: Talk):
    talk.hear("collected")
    kernels = (("interpreter", 2), ("compiled", 3))
    talk.order(Plan(Mode.SLICED, calls=5, pairs=4, warmup=1, kernels=kernels))
    talk.hear("ready")
    talk.channel.send({"do": "go"})
    measured = talk.hear("measured")
    assert sorted(measured["kernels"]) == ["compiled"] * 2 + ["interpreter"] * 2
    assert len(measured["own_ns"]) == 4
    assert talk.hear("ended")["abandoned"] is False


def test_where_the_test_cannot_play_it_stands_aside(talk: Talk):
    talk.hear("collected")
    talk.order(Plan(Mode.SLICED, calls=1, pairs=1, warmup=0, kernels=(("compiled", 1),)))
    talk.hear("ready")
    talk.channel.send({"do": "alone"})
    assert talk.hear("ended")["played"] is True


def test_a_controller_that_is_gone_ends_it(talk: Talk):
    talk.hear("collected")
    talk.channel.close()
    assert talk.end() == 3
