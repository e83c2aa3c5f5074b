"""Two sides pass the baton over a real socket; each side is a thread here."""

import socket
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.errors import PartnerGone
from pytest_rlperf.worker import turns
from pytest_rlperf.worker.turns import Baton, order_of_turns, run_abreast, run_together, take_turns
from tests.factories import examples

PATIENCE_S = 30.0


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def batons(sockets: tuple[socket.socket, socket.socket]) -> tuple[Baton, Baton]:
    pair = Baton(sockets[0]), Baton(sockets[1])
    for baton in pair:
        baton.reset(PATIENCE_S)
    return pair


def both(play: Callable[[int], None]) -> None:
    """Run `play` for both sides at once."""
    threads = [threading.Thread(target=play, args=(side,), daemon=True) for side in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


@examples
@given(pairs=st.integers(1, 50), seed=st.integers())
def test_each_pair_of_turns_has_both_sides(pairs: int, seed: int):
    order = order_of_turns(pairs, seed)
    assert len(order) == 2 * pairs
    assert all({order[k], order[k + 1]} == {0, 1} for k in range(0, 2 * pairs, 2))


def test_the_order_is_the_same_on_both_sides_and_another_in_each_block():
    assert order_of_turns(40, seed=1) == order_of_turns(40, seed=1)
    assert order_of_turns(40, seed=1) != order_of_turns(40, seed=2)


@pytest.mark.parametrize("seed", range(5))
def test_the_sides_run_in_the_order_that_was_drawn(batons: tuple[Baton, Baton], seed: int):
    order, played = order_of_turns(20, seed), []
    both(lambda side: take_turns(side, order, batons[side], lambda: played.append(side)))
    assert played == order


@pytest.mark.parametrize("seed", range(5))
def test_nobody_leaves_before_the_partners_last_slice(batons: tuple[Baton, Baton], seed: int):
    order, events = order_of_turns(3, seed), []

    def play(side: int) -> None:
        take_turns(side, order, batons[side], lambda: events.append("slice"))
        events.append("left")

    both(play)
    assert events == ["slice"] * 6 + ["left"] * 2


def test_together_neither_side_begins_a_slice_before_both_ended_the_one_before(
    batons: tuple[Baton, Baton], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(turns, "PERIOD_S", 0.0)
    monkeypatch.setattr(turns, "FILLER_BYTES", 1)  # threads share one interpreter
    played: list[int] = []
    both(lambda side: run_together(side, 10, 3, batons[side], lambda: played.append(side)))
    assert all({played[k], played[k + 1]} == {0, 1} for k in range(0, 20, 2))


PAIRS = 4
FAST, SLOW = 0, 1


def play_abreast(batons: tuple[Baton, Baton], patch: pytest.MonkeyPatch, ahead: int) -> list[str]:
    """The slow side begins when the fast one has made `ahead` slices and calls more; what the fast
    one did."""
    patch.setattr(turns, "PERIOD_S", 0.0)
    patch.setattr(turns, "FILLER_BYTES", 1)  # threads share one interpreter
    far = threading.Event()
    did: list[str] = []

    def do(what: str) -> None:
        did.append(what)
        if len(did) == ahead:
            far.set()

    def wait() -> None:
        assert far.wait(PATIENCE_S)

    def play(side: int) -> None:
        run_slice = wait if side == SLOW else lambda: do("slice")
        run_abreast(side, PAIRS, 3, batons[side], run_slice, lambda: do("more"))

    both(play)
    return did


def test_abreast_no_side_waits_for_the_other_between_slices(
    batons: tuple[Baton, Baton], monkeypatch: pytest.MonkeyPatch
):
    assert play_abreast(batons, monkeypatch, ahead=PAIRS)[:PAIRS] == ["slice"] * PAIRS


def test_abreast_who_is_done_first_makes_as_many_calls_more_as_there_were_slices(
    batons: tuple[Baton, Baton], monkeypatch: pytest.MonkeyPatch
):
    did = play_abreast(batons, monkeypatch, ahead=2 * PAIRS)
    assert did == ["slice"] * PAIRS + ["more"] * PAIRS


def test_a_side_that_raises_and_leaves_ends_the_partners_waiting(batons: tuple[Baton, Baton]):
    batons[1].leave()
    with pytest.raises(PartnerGone, match="stopped in the middle of a test"):
        batons[0].wait()


def test_a_partner_that_leaves_in_the_middle_ends_the_turns(batons: tuple[Baton, Baton]):
    batons[1].hand_over()
    batons[1].leave()
    played: list[int] = []
    with pytest.raises(PartnerGone):
        take_turns(0, [1, 0, 1, 0], batons[0], lambda: played.append(0))
    assert played == [0]


def test_a_partner_whose_process_ended_ends_the_waiting(
    batons: tuple[Baton, Baton], sockets: tuple[socket.socket, socket.socket]
):
    sockets[1].close()
    with pytest.raises(PartnerGone):
        batons[0].wait()


def test_a_partner_that_ended_without_reading_ends_the_waiting_too(
    batons: tuple[Baton, Baton], sockets: tuple[socket.socket, socket.socket]
):
    batons[0].hand_over()
    sockets[1].close()  # resets the connection: a byte was left unread
    batons[0].reset(1)
    with pytest.raises(PartnerGone):
        batons[0].wait()


def test_handing_over_to_a_process_that_ended_says_so(
    batons: tuple[Baton, Baton], sockets: tuple[socket.socket, socket.socket]
):
    sockets[1].close()
    with pytest.raises(PartnerGone, match="process ended in the middle of a test"):
        batons[0].hand_over()
    batons[0].leave()  # says goodbye to nobody, and does not complain


@pytest.mark.parametrize("seconds", [-1.0, 0.0, 0.001])
def test_a_partner_that_does_not_hand_over_in_time_is_given_up(
    batons: tuple[Baton, Baton], seconds: float
):
    batons[0].reset(seconds)
    with pytest.raises(PartnerGone, match="did not hand over in time"):
        batons[0].wait()


def test_past_the_deadline_there_is_nothing_more_to_wait_for(batons: tuple[Baton, Baton]):
    assert not batons[0].waiting()
    batons[0].reset(0.0)
    assert batons[0].waiting()
    with pytest.raises(PartnerGone, match="did not hand over in time"):
        batons[0].wait()


def test_a_side_that_keeps_the_core_busy_for_a_hanging_partner_gives_up_in_time(
    batons: tuple[Baton, Baton], monkeypatch: pytest.MonkeyPatch
):
    now = [0.0]
    fake = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda seconds: None)
    monkeypatch.setattr(turns, "time", fake)

    def run_slice() -> None:
        now[0] = PATIENCE_S + 1

    batons[0].reset(PATIENCE_S)
    batons[1].hand_over()  # it begins, and then hangs
    with pytest.raises(PartnerGone, match="did not hand over in time"):
        run_together(0, 3, 1, batons[0], run_slice)


def test_a_reset_forgets_what_an_aborted_test_left_behind(batons: tuple[Baton, Baton]):
    batons[1].hand_over()
    batons[1].leave()
    assert batons[0].waiting()
    batons[0].reset(PATIENCE_S)
    assert not batons[0].waiting()


def test_without_a_partner_nothing_is_waited_for():
    baton = Baton(None)
    baton.reset(0.0)
    baton.hand_over()
    baton.wait()
    baton.leave()
    assert baton.alone
    assert baton.waiting()
