"""The connections of ranks with the controller and with their partners."""

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.mpi.channels import RankChannels, connect
from pytest_rlperf.wire import Channel, ChannelClosed, Go, Message, Ready

Ends = tuple[socket.socket, socket.socket | None]
Join = Callable[[RankChannels, int], Ends]


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp().parent / f"s{id(tmp_path_factory) % 10**6}"


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    made = [socket.socketpair() for _ in range(2)]
    yield made
    for one, other in made:
        one.close()
        other.close()


@pytest.fixture
def joined(path: Path) -> Iterator[Join]:
    """Connects a rank, beside the controller that welcomes it."""
    opened: list[socket.socket] = []

    def join(channels: RankChannels, rank: int) -> Ends:
        ends: list[Ends] = []
        thread = threading.Thread(target=lambda: ends.append(connect(str(path), rank, 100 + rank)))
        thread.start()
        while thread.is_alive():
            channels.feed()
        opened.extend(end for end in ends[0] if end is not None)
        return ends[0]

    yield join
    for sock in opened:
        sock.close()


@pytest.fixture
def channels(
    path: Path, pairs: list[tuple[socket.socket, socket.socket]]
) -> Iterator[RankChannels]:
    made = RankChannels(path, [pair[0] for pair in pairs])
    yield made
    made.close()
    path.unlink(missing_ok=True)


def heard(channels: RankChannels) -> list[tuple[int, Message]]:
    messages: list[tuple[int, Message]] = []
    while not messages:
        messages = channels.feed()
    return messages


def test_messages_say_which_rank_sent_them(channels: RankChannels, joined: Join):
    ranks = {rank: joined(channels, rank)[0] for rank in (1, 0)}
    for rank, sock in ranks.items():
        Channel(sock).send(Ready())
        assert heard(channels) == [(rank, Ready())]
    assert channels.pids == {1: 101, 0: 100}


def test_all_ranks_are_told(channels: RankChannels, joined: Join):
    ranks = [joined(channels, rank)[0] for rank in range(2)]
    channels.send(Go())
    assert [Channel(sock).receive() for sock in ranks] == [Go()] * 2


def test_each_rank_gets_the_socket_to_its_partner(
    channels: RankChannels, joined: Join, pairs: list[tuple[socket.socket, socket.socket]]
):
    batons = [joined(channels, rank)[1] for rank in range(2)]
    for baton, (_, partner) in zip(batons, pairs, strict=True):
        assert baton is not None
        baton.sendall(b"t")
        assert partner.recv(1) == b"t"


def test_without_a_partner_there_is_no_such_socket(path: Path, joined: Join):
    channels = RankChannels(path, [None])
    assert joined(channels, 0)[1] is None
    channels.close()
    path.unlink()


def test_the_loss_of_a_rank_is_noticed(channels: RankChannels, joined: Join):
    joined(channels, 0)[0].close()
    with pytest.raises(ChannelClosed):
        heard(channels)


def test_a_path_too_long_for_a_socket_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match=r"too long a path .* set TMPDIR to a shorter one"):
        RankChannels(tmp_path / ("x" * 100), [])
