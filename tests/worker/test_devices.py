"""Arrays that are computed after the call has returned: whom a slice waits for."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from pytest_rlperf.model.block import DeviceFacts
from pytest_rlperf.model.plan import Mode, Plan, Scouted
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.wire import Measurement
from pytest_rlperf.worker import scout as scout_module
from pytest_rlperf.worker.calls import Calls, Rounds
from pytest_rlperf.worker.devices import MOST_LEAVES, device_of
from pytest_rlperf.worker.scout import scout
from pytest_rlperf.workers.planning import choose_plan
from tests.factories import FakeClock, side

ORDER_NS, WORK_NS = 10, 1_000
MS = 1_000_000


class LazyArray:
    """Takes time when somebody waits for it."""

    def __init__(self, queue: list[int], device: Any) -> None:
        self.queue = queue
        self.device = device
        queue.append(WORK_NS)

    def devices(self) -> set[Any]:
        return {self.device}


class Framework:
    """Orders take 10 ns of the clock, and what they order 1,000 ns once it is waited for."""

    def __init__(self, device: Any) -> None:
        self.clock = FakeClock()
        self.queue: list[int] = []
        self.device = device

    def order(self, *_: Any) -> LazyArray:
        self.clock.compute(ORDER_NS)
        return LazyArray(self.queue, self.device)

    def wait(self, *_: Any) -> None:
        self.clock.compute(sum(self.queue))
        self.queue.clear()


class JaxDevice(NamedTuple):
    platform: str
    id: int
    device_kind: str


@dataclass(frozen=True)
class TorchDevice:
    type: str

    def __str__(self) -> str:
        return f"{self.type}:0"


def _leaves(tree: Any) -> list[Any]:
    return [leaf for each in tree for leaf in _leaves(each)] if isinstance(tree, tuple) else [tree]


@pytest.fixture(autouse=True)
def no_frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("jax", "torch"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.fixture
def jax(monkeypatch: pytest.MonkeyPatch) -> Framework:
    made = Framework(JaxDevice("cpu", 0, "cpu"))
    tree = SimpleNamespace(tree_leaves=_leaves)
    module = SimpleNamespace(Array=LazyArray, tree_util=tree, block_until_ready=made.wait)
    monkeypatch.setitem(sys.modules, "jax", module)
    return made


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Framework:
    made = Framework(TorchDevice("cuda"))
    cuda = SimpleNamespace(synchronize=made.wait, utilization=lambda device: 87)
    accelerator = SimpleNamespace(synchronize=made.wait)
    module = SimpleNamespace(Tensor=LazyArray, cuda=cuda, accelerator=accelerator)
    monkeypatch.setitem(sys.modules, "torch", module)
    return made


def test_a_slice_lasts_until_its_work_is_done(jax: Framework):
    elapsed = Calls(jax.order).timed(3, jax.clock)
    assert elapsed.own_ns == 3 * (ORDER_NS + WORK_NS)


def test_what_was_ordered_before_a_slice_is_no_part_of_it(jax: Framework):
    calls = Calls(jax.order)
    calls.once()
    calls.warm(5)
    assert not jax.queue
    assert calls.timed(1, jax.clock).own_ns == ORDER_NS + WORK_NS


def test_fresh_state_a_call_changes_nothing_of_it(jax: Framework):
    elapsed = Calls(jax.order, setup=lambda: 1).timed(2, jax.clock)
    assert elapsed.own_ns == 2 * (ORDER_NS + WORK_NS)


@pytest.mark.parametrize("setup", [None, lambda: ((), {})])
def test_calls_that_a_test_counts_are_waited_for(jax: Framework, setup: Any):
    elapsed = Rounds(jax.order, setup=setup, rounds=2).timed(2, jax.clock)
    assert elapsed.own_ns == 2 * (ORDER_NS + WORK_NS)


@pytest.mark.parametrize(
    "wrap", [lambda x: x, lambda x: (1, x), lambda x: [2, [x]], lambda x: {"loss": x, "n": 1}]
)
def test_tensors_on_an_accelerator_are_found_where_results_have_them(
    torch: Framework, wrap: Callable[[Any], Any]
):
    elapsed = Calls(lambda: wrap(torch.order())).timed(2, torch.clock)
    assert elapsed.own_ns == 2 * (ORDER_NS + WORK_NS)


def test_a_long_list_of_numbers_is_not_searched_to_its_end(torch: Framework):
    assert device_of([0.0] * MOST_LEAVES + [torch.order()]) is None


def test_a_list_that_holds_itself_has_an_end(torch: Framework):
    endless: list[Any] = []
    endless.append(endless)
    assert device_of(endless) is None


def test_a_dict_that_jax_cannot_walk_holds_none_of_its_arrays(jax: Framework, monkeypatch: Any):
    def unsorted(result: Any) -> list[Any]:
        raise ValueError("keys of several types")

    monkeypatch.setattr(sys.modules["jax"].tree_util, "tree_leaves", unsorted)
    assert device_of({1: 2, "a": 3}) is None


def test_a_stand_in_for_a_framework_is_none(monkeypatch: Any):
    stand_in = SimpleNamespace(Array="any", Tensor=lambda: None)
    for name in ("jax", "torch"):
        monkeypatch.setitem(sys.modules, name, stand_in)
    assert device_of(3) is None


def test_tensors_on_the_cpu_are_there_when_a_call_returns(torch: Framework):
    torch.device = TorchDevice("cpu")
    elapsed = Calls(torch.order).timed(2, torch.clock)
    assert elapsed.own_ns == 2 * ORDER_NS


def used(calls: Calls) -> DeviceFacts | None:
    """What is told of a block on two cores, half of whose wall time was CPU time."""
    block = replace(side([50, 50]), wall_ns=(100, 100))
    plan = Plan(Mode.SLICED, calls=1, pairs=2, warmup=0, cores=2)
    return calls.add_facts(Measurement(block), plan).block.device


def test_results_of_other_kinds_are_looked_at_once(jax: Framework, monkeypatch: Any):
    looks: list[Any] = []

    def leaves(result: Any) -> list[Any]:
        looks.append(result)
        return [result]

    monkeypatch.setattr(sys.modules["jax"].tree_util, "tree_leaves", leaves)
    calls = Calls(lambda: 7)
    for _ in range(4):
        calls.timed(10, jax.clock)
    assert looks == [7]
    assert used(calls) is None


def test_the_controller_is_told_the_device_and_how_busy_it_was(torch: Framework):
    calls = Calls(torch.order)
    calls.once()
    assert used(calls) == DeviceFacts("torch cuda:0", 0.87)


def test_of_the_cores_themselves_cpu_time_tells(jax: Framework):
    calls = Calls(jax.order)
    calls.once()
    assert used(calls) == DeviceFacts("jax cpu:0", 0.25)


def test_a_driver_that_does_not_tell_how_busy_a_device_is_costs_nothing(torch: Framework):
    def missing(device: Any) -> int:
        raise ModuleNotFoundError("pynvml")

    sys.modules["torch"].cuda.utilization = missing
    calls = Calls(torch.order)
    calls.once()
    assert used(calls) == DeviceFacts("torch cuda:0", None)


def test_a_scout_tells_who_computes(jax: Framework):
    seen = scout(Calls(jax.order), jax.clock)
    assert (seen.hosted, seen.accelerated) == (True, False)


@pytest.mark.parametrize("busy", [True, False])
def test_threads_that_wait_for_a_core_compute_and_those_that_sleep_do_not(
    jax: Framework, monkeypatch: Any, busy: bool
):
    clock = jax.clock

    def wait(result: Any) -> Any:
        clock.compute(3 * MS)
        (clock.wait_for_core if busy else clock.sleep)(7 * MS)

    monkeypatch.setattr(sys.modules["jax"], "block_until_ready", wait)
    fake = SimpleNamespace(
        perf_counter=lambda: clock.wall_ns / 1e9,
        perf_counter_ns=lambda: clock.wall_ns,
        process_time_ns=lambda: clock.cpu_ns,
    )
    monkeypatch.setattr(scout_module, "time", fake)
    monkeypatch.setattr(scout_module, "threads_delay_ns", lambda: clock.delay_ns)
    seen = scout(Calls(jax.order), clock)
    assert seen.cpu_share == pytest.approx(1.0 if busy else 0.3, abs=0.01)


LONG = Scouted(call_ns=2e7, first_ns=2e7, cpu_share=1.0, processes=1)


def test_long_calls_of_other_threads_run_side_by_side_and_are_judged_by_cpu_time():
    plan = choose_plan(replace(LONG, hosted=True), Spec(), cores=2)
    assert (plan.mode, plan.hosted, plan.warmup) == (Mode.CONCURRENT, True, 1)


@pytest.mark.parametrize(
    ("seen", "spec"),
    [
        (replace(LONG, hosted=True), Spec(threads=2)),
        (replace(LONG, hosted=True), Spec(waits=True)),
        (replace(LONG, hosted=True, cpu_share=0.5), Spec()),
    ],
)
def test_where_cpu_time_is_not_what_counts_wall_time_stays(seen: Scouted, spec: Spec):
    plan = choose_plan(seen, spec, cores=2)
    assert (plan.mode, plan.hosted) == (Mode.SLICED, False)


def test_two_sides_never_share_an_accelerator():
    plan = choose_plan(replace(LONG, accelerated=True), Spec(), cores=2)
    assert plan.mode is Mode.SLICED
    assert LONG.worst(replace(LONG, accelerated=True, hosted=True)).accelerated


def test_a_jax_device_besides_the_cores_is_named_with_its_kind(jax: Framework):
    jax.device = JaxDevice("gpu", 1, "Some GPU")
    device = device_of(jax.order())
    assert device is not None
    assert (device.name, device.on_host) == ("jax gpu:1 (Some GPU)", False)
