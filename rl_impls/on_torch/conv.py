"""The convolutional Q-network (Mnih et al., 2015), with BatchNorm (Ioffe & Szegedy, 2015)."""

from __future__ import annotations

from typing import Any, Final

import torch
from numpy.typing import NDArray

from rl_impls.errors import SettingError

# Filters, their side, and the step from one to the next.
LAYERS: Final = ((32, 8, 4), (64, 4, 2), (64, 3, 1))


class ConvQ(torch.nn.Module):
    """From stacks of frames of bytes, (n, stack, height, width), to values of actions.

    Layers before a BatchNorm have no bias, which it would take away again. Weights are He's, for
    the ReLU behind them, which overwrites what it gets. BatchNorm divides by kept statistics in
    acting and in learning alike; only `renew` changes them. So rows of a batch do not depend on
    each other: a batch in parts has the gradient of the whole, and one frame the value that it had
    among many.
    """

    def __init__(self, stack: int, frame: tuple[int, ...], n_actions: int, width: int) -> None:
        super().__init__()
        layers: list[torch.nn.Module] = []
        channels = stack
        for filters, side, step in LAYERS:
            layers += [
                torch.nn.Conv2d(channels, filters, side, step, bias=False),
                # What is renewed replaces what was there.
                torch.nn.BatchNorm2d(filters, momentum=1.0),
                torch.nn.ReLU(inplace=True),
            ]
            channels = filters
        n_features = channels * _area(frame)
        layers += [
            torch.nn.Flatten(),
            torch.nn.Linear(n_features, width),
            torch.nn.ReLU(inplace=True),
            torch.nn.Linear(width, n_actions),
        ]
        self.layers: Final = torch.nn.Sequential(*layers)
        for layer in self.layers:
            if isinstance(layer, torch.nn.Conv2d | torch.nn.Linear):
                torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                if layer.bias is not None:
                    torch.nn.init.zeros_(layer.bias)
        self.eval()

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        return self.layers(frames.float() / 255.0)

    def renew(self, frames: torch.Tensor) -> None:
        """Take the statistics of BatchNorm from these."""
        self.train()
        with torch.no_grad():
            self(frames)
        self.eval()


def _area(frame: tuple[int, ...]) -> int:
    """Of what the convolutions leave of a frame."""
    area = 1
    for length in frame:
        for _, side, step in LAYERS:
            length = (length - side) // step + 1
            if length < 1:
                raise SettingError(f"frames of {frame} are too small: 36 x 36 is the least.")
        area *= length
    return area


def flattened(module: torch.nn.Module) -> torch.Tensor:
    """All numbers that decide what it puts out, moved to one flat tensor, which they stay parts of:
    to copy a network or to publish it is one pass."""
    buffers = [buffer for buffer in module.buffers() if buffer.is_floating_point()]
    values: list[Any] = [*module.parameters(), *buffers]
    flat = torch.cat([value.detach().reshape(-1) for value in values])
    at = 0
    for value in values:
        value.data = flat[at : at + value.numel()].view_as(value)
        at += value.numel()
    return flat


def on_host(flat: torch.Tensor) -> NDArray[Any]:
    """The same memory where that is the CPU's."""
    return flat.detach().cpu().numpy()
