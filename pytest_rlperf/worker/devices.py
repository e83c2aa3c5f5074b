"""Devices that go on working after a call has returned: which to wait for at the end of a slice.

torch on an accelerator, and JAX everywhere, hand back arrays that are still being computed. A slice
that ended there would have timed the orders and not the work. Neither is imported here: a test
whose result is one of their arrays has done that.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from pytest_rlperf.model.block import DeviceFacts

HOST = "cpu"
MOST_LEAVES = 1_000
"""Objects looked at in a result: whoever returns a long list of numbers does not wait for all."""
DEEPEST = 8
"""Containers looked at within each other, one of which might hold itself."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device that computes the arrays of a result."""

    name: str
    settle: Callable[[Any], object]  # of a result: returns when all that was ordered is done
    on_host: bool  # by threads of this process, on the cores that it has
    utilisation: Callable[[], float | None]  # share of the last moments that it was busy


class Settling:
    """Waits for the result of each slice, within the timed part.

    The first result tells what there is to wait for: later ones cost no look.
    """

    def __init__(self) -> None:
        self.device: Device | None = None
        self._decided = False

    def __call__(self, result: Any) -> None:
        if not self._decided:
            self.device, self._decided = device_of(result), True
        if self.device is not None:
            self.device.settle(result)

    @property
    def hosted(self) -> bool:
        """Whether other threads of this process compute the result."""
        return self.device is not None and self.device.on_host

    @property
    def accelerated(self) -> bool:
        """Whether something besides the cores computes the result."""
        return self.device is not None and not self.device.on_host

    def used(self, cpu_ns: Sequence[int], wall_ns: Sequence[int], cores: int) -> DeviceFacts | None:
        """Return how busy the device was in the slices; None: the test computes where it is
        called. Of the host, CPU time tells how busy the cores were.
        """
        if self.device is None:
            return None
        if not self.device.on_host:
            return DeviceFacts(self.device.name, self.device.utilisation())
        busy = sum(cpu_ns) / (cores * max(1, sum(wall_ns)))
        return DeviceFacts(self.device.name, min(1.0, busy))


def device_of(result: Any) -> Device | None:
    """Return the device that computes a result; None: whatever it is, it is there."""
    return _jax_device(result) or _torch_device(result)


def _jax_device(result: Any) -> Device | None:
    jax: Any = sys.modules.get("jax")
    kind: Any = getattr(jax, "Array", None)
    if not isinstance(kind, type):  # half imported, or somebody's stand-in
        return None
    try:
        # Its own walk: what is registered with it, such as the state of a training, is one, too.
        leaves = jax.tree_util.tree_leaves(result)
    except (TypeError, ValueError):  # keys that cannot be sorted: no such dict leaves a jitted call
        return None
    array: Any = next((leaf for leaf in leaves if isinstance(leaf, kind)), None)
    if array is None:
        return None
    device = min(array.devices(), key=lambda each: each.id)
    on_host = device.platform == HOST
    name = f"jax {device.platform}:{device.id}"
    return Device(
        name if on_host else f"{name} ({device.device_kind})",
        # The last result is enough: a device computes in the order in which it was asked to.
        jax.block_until_ready,
        on_host,
        _unknown,
    )


def _torch_device(result: Any) -> Device | None:
    torch: Any = sys.modules.get("torch")
    kind: Any = getattr(torch, "Tensor", None)
    if not isinstance(kind, type):
        return None
    leaves = islice(_leaves(result, DEEPEST), MOST_LEAVES)
    tensors: list[Any] = [leaf for leaf in leaves if isinstance(leaf, kind)]
    devices = (tensor.device for tensor in tensors)
    device = next((each for each in devices if each.type not in (HOST, "meta")), None)
    if device is None:  # on the CPU a call of torch returns when it is done
        return None
    # Older ones than 2.6 know CUDA alone.
    waits = getattr(torch, "accelerator", torch.cuda).synchronize
    return Device(
        f"torch {device}",
        lambda _: waits(device),
        False,
        partial(_cuda_utilisation, torch, device) if device.type == "cuda" else _unknown,
    )


def _leaves(result: Any, depth: int) -> Iterator[Any]:
    if depth and isinstance(result, tuple | list):
        for each in result:
            yield from _leaves(each, depth - 1)
    elif depth and isinstance(result, Mapping):
        for each in result.values():
            yield from _leaves(each, depth - 1)
    else:
        yield result


def _unknown() -> None:
    return None


def _cuda_utilisation(torch: Any, device: Any) -> float | None:
    """Return what the driver says, which torch asks by a package that need not be there."""
    with suppress(Exception):
        return float(torch.cuda.utilization(device)) / 100.0
    return None
