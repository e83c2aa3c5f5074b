"""Others that learn the same weights as an agent, each from experience of its own."""

from __future__ import annotations

from typing import Any, Final, Protocol

from numpy.typing import NDArray

Array = NDArray[Any]


class Peers(Protocol):
    """All make the same updates at the same time, each from as many rows as the others."""

    def join_moments(self, moments: Array) -> None:
        """A row holds count, mean and sum of squared distances from it: those of an agent's own
        numbers become those of the numbers of all."""

    def send(self, grads: Array) -> None:
        """Begin to average them. Whoever sends does not touch them until `receive`."""

    def receive(self) -> None:
        """What was sent since the last time becomes the mean of what all sent."""


class NoPeers:
    """The mean of one is what it has."""

    def join_moments(self, moments: Array) -> None:
        pass

    def send(self, grads: Array) -> None:
        pass

    def receive(self) -> None:
        pass


ALONE: Final = NoPeers()
