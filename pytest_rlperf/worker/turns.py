"""Turn taking: the two sides of a block pass a baton, without the controller between them.

Both are pinned to one core. The controller may sit on a busy one, and asking it for every turn
would put its waiting between the two slices of a pair.
"""

import random
import select
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from pytest_rlperf.errors import PartnerGone
from pytest_rlperf.worker.disturbance import PERIOD_S

TURN = b"t"
GONE = b"x"
FILLER_BYTES = 1 << 19


class Baton:
    """One end of the socket between the two sides. Without a partner it does nothing."""

    def __init__(self, sock: socket.socket | None) -> None:
        self._sock = sock
        self._deadline = float("inf")
        if sock is not None:
            sock.setblocking(False)

    @property
    def alone(self) -> bool:
        return self._sock is None

    @property
    def overdue(self) -> bool:
        return time.monotonic() >= self._deadline

    def reset(self, seconds: float) -> None:
        """Forget what an aborted test left in the socket; set the deadline of the next one."""
        self._deadline = time.monotonic() + seconds
        if self._sock is not None:
            with suppress(OSError):  # empty, or closed: then the first turn will say so
                while self._sock.recv(64):
                    pass

    def hand_over(self, message: bytes = TURN) -> None:
        if self._sock is None:
            return
        try:
            self._sock.send(message)
        except OSError as error:
            raise PartnerGone("the other side's process ended in the middle of a test") from error

    def wait(self) -> None:
        if self._sock is None:
            return
        left = self._deadline - time.monotonic()
        if left <= 0 or not select.select([self._sock], [], [], left)[0]:
            raise PartnerGone("the other side did not hand over in time")
        try:
            message = self._sock.recv(1)
        except OSError:  # a partner that ends without reading our last word resets the socket
            message = b""
        if message != TURN:
            raise PartnerGone("the other side stopped in the middle of a test")

    def waiting(self) -> bool:
        """Return whether `wait` would return, or raise, at once."""
        if self._sock is None or self.overdue:
            return True
        return bool(select.select([self._sock], [], [], 0)[0])

    def leave(self) -> None:
        """Tell the partner that no further turn will come, whatever state it is in."""
        with suppress(PartnerGone):
            self.hand_over(GONE)


def order_of_turns(pairs: int, seed: int) -> list[int]:
    """Return side 0 or 1 for each turn: pairs of neighbours, each pair in random order."""
    rng = random.Random(seed)
    order: list[int] = []
    for _ in range(pairs):
        first = rng.randrange(2)
        order += [first, 1 - first]
    return order


def take_turns(
    side: int, order: Sequence[int], baton: Baton, run_slice: Callable[[], None]
) -> None:
    """Run this side's slices in turn; two turns in a row need no hand-over."""
    holder = order[0]
    for position, turn in enumerate(order):
        if turn != side:
            continue
        if holder != side:
            baton.wait()
            holder = side
        run_slice()
        following = order[position + 1 : position + 2]
        if following and following[0] != side:
            baton.hand_over()
            holder = 1 - side
    # Together to the end: who is done must not tidy up during the partner's last slice.
    baton.hand_over()
    baton.wait()


def run_together(
    side: int, pairs: int, seed: int, baton: Baton, run_slice: Callable[[], None]
) -> None:
    """Run each slice at the same time as the partner's, and meet after each.

    Who is done first keeps the core and its caches busy, or the rest of the slower side's slice
    would run faster than the part before it, and a change would read too small.
    """
    pause = _pauses(side, seed)
    filler = _filler()
    baton.hand_over()
    baton.wait()
    for _ in range(pairs):
        pause()
        run_slice()
        baton.hand_over()
        while not baton.waiting():
            filler.count(1)
        baton.wait()


def run_abreast(
    side: int,
    pairs: int,
    seed: int,
    baton: Baton,
    run_slice: Callable[[], None],
    go_on: Callable[[], object],
) -> None:
    """Run all slices while the partner runs its own, and meet at the end only.

    Code that lives in the caches is several times slower beside a copy of itself. Whatever else
    keeps the core busy while the slower side finishes is a milder neighbour: of 10 % more work a
    gather from 8 MB read 2.8 to 6.7 % where the sides met after each slice, and 9.5 % where there
    is always the other side's next slice. At the end, who is done first goes on with calls that
    nobody times; not for ever, where the other is many times slower.
    """
    pause = _pauses(side, seed)
    baton.hand_over()
    baton.wait()
    for _ in range(pairs):
        pause()
        run_slice()
    baton.hand_over()
    for _ in range(pairs):
        if baton.waiting():
            break
        go_on()
    filler = _filler()
    while not baton.waiting():
        filler.count(1)
    baton.wait()


def _pauses(side: int, seed: int) -> Callable[[], None]:
    """Return what to call before each slice: one of the two sides, drawn anew each time, starts up
    to a beat of the metronome later. The turns could fall into step with those on another core, and
    then one side alone would always meet its neighbour. Not more than a beat, since for that long
    the other has the core to itself.
    """
    rng = random.Random(seed)

    def pause() -> None:
        late, pause_s = rng.randrange(2), rng.uniform(0, PERIOD_S)
        if side == late:
            time.sleep(pause_s)

    return pause


def _filler() -> bytearray:
    return bytearray(b"\2") * FILLER_BYTES  # zeros would be one page, over and over
