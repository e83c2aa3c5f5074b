"""Messages over a socket arrive whole, however the bytes were cut."""

import json
import socket
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.wire import Channel, ChannelClosed, Message
from tests.factories import examples

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
messages = st.dictionaries(st.text(), values, max_size=3)


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    left, right = socket.socketpair()
    with left, right:
        yield Channel(left), Channel(right)


@examples
@given(st.lists(messages, max_size=5))
def test_messages_arrive_in_order_as_they_left(sent: list[Message]):
    left, right = socket.socketpair()
    with left, right:
        for message in sent:
            Channel(left).send(message)
        channel = Channel(right)
        assert [channel.receive() for _ in sent] == sent


@examples
@given(st.lists(messages, min_size=1, max_size=4), st.data())
def test_messages_split_at_any_byte_arrive_whole(sent: list[Message], data: st.DataObject):
    stream = b"".join(json.dumps(message).encode() + b"\n" for message in sent)
    cuts = data.draw(st.lists(st.integers(1, len(stream) - 1), max_size=10))
    edges = [0, *sorted(set(cuts)), len(stream)]
    left, right = socket.socketpair()
    with left, right:
        channel, arrived = Channel(right), []
        for start, stop in pairwise(edges):
            left.sendall(stream[start:stop])
            arrived += channel.feed()
    assert arrived == sent


def test_what_was_fed_but_not_whole_is_completed_by_receive(ends: tuple[Channel, Channel]):
    ends[0].sock.sendall(b'{"a": 1}\n{"b"')
    assert ends[1].feed() == [{"a": 1}]
    ends[0].sock.sendall(b": 2}\n")
    assert ends[1].receive() == {"b": 2}


@pytest.mark.parametrize("left_behind", [b"", b'{"half": '])
def test_an_end_that_is_gone_is_said_to_be(ends: tuple[Channel, Channel], left_behind: bytes):
    ends[0].sock.sendall(left_behind)
    ends[0].close()
    with pytest.raises(ChannelClosed):
        ends[1].receive()


def test_whole_messages_of_an_end_that_is_gone_still_arrive(ends: tuple[Channel, Channel]):
    ends[0].send({"last": "words"})
    ends[0].close()
    assert ends[1].feed() == [{"last": "words"}]
    with pytest.raises(ChannelClosed):
        ends[1].feed()


def test_sending_to_an_end_that_is_gone_is_said_to_be(ends: tuple[Channel, Channel]):
    ends[1].close()
    with pytest.raises(ChannelClosed):
        ends[0].send({})


def test_an_end_that_vanished_with_words_unread_is_gone_too(ends: tuple[Channel, Channel]):
    ends[0].send({"never": "read"})
    ends[1].close()
    with pytest.raises(ChannelClosed):
        ends[0].receive()


def test_a_line_that_is_no_message_is_an_error(ends: tuple[Channel, Channel]):
    ends[0].sock.sendall(b"Segmentation fault\n")
    with pytest.raises(ValueError, match="Expecting value"):
        ends[1].feed()


def test_a_selector_can_watch_it(ends: tuple[Channel, Channel]):
    assert ends[0].fileno() == ends[0].sock.fileno()
