"""Where torch computes, and how arrays get there."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray

from rl_impls.errors import SettingError


def device_named(name: str = "auto") -> torch.device:
    """ "auto": the first GPU where CUDA finds one, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise SettingError(f"torch knows no device {name!r}: choose auto, cpu or cuda.") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SettingError(f"there is no {name} here: choose auto or cpu.")
    return device


def sent(array: NDArray[Any], device: torch.device) -> torch.Tensor:
    """The array on the device: the same memory on the CPU, else by way of pinned memory, from which
    a copy needs no further one and does not stop the caller."""
    tensor = torch.from_numpy(array)
    if device.type == "cpu":
        return tensor
    return tensor.pin_memory().to(device, non_blocking=True)


def spread(module: torch.nn.Module, device: torch.device) -> torch.nn.Module:
    """Where there are several GPUs, a batch is split over all of them."""
    if device.type == "cuda" and torch.cuda.device_count() > 1:
        return torch.nn.DataParallel(module)
    return module
