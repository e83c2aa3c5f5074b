"""Messages over a socket arrive whole, however the bytes were cut."""

import math
import socket
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.model.block import DeviceFacts, RankFacts, SideBlock, Spending
from pytest_rlperf.model.code import Ran
from pytest_rlperf.model.learning import Training
from pytest_rlperf.model.memory import Evidence, Pass, Probe, ProcessPeak, Site
from pytest_rlperf.model.plan import Mode, Plan, Scouted
from pytest_rlperf.model.profile import (
    Callee,
    FunctionRecord,
    LineCost,
    LineProfile,
    OperatorCost,
    SlicesProfile,
)
from pytest_rlperf.wire import (
    KINDS,
    Channel,
    ChannelClosed,
    Collected,
    Finished,
    Go,
    Hello,
    KernelSpeeds,
    Measurement,
    MemoryReport,
    Message,
    Met,
    Order,
    RankShare,
    Ready,
    ScoutReport,
    StandAside,
    Stop,
    Trouble,
    Uncollected,
    decode,
    encode,
)
from tests.factories import examples

MESSAGES: list[Message] = [
    Order("test_a.py::test_a[é]", 30.0, Plan(Mode.LIVE, 2, 3, 1, kernels=(("blas", 4),))),
    Order("test_a.py::test_b", math.inf, probe=Probe(Pass.TRACED, 7), nprocs=2, cores=(0, 1)),
    Go(),
    StandAside(),
    Stop(),
    Hello(rank=1, pid=77),
    Collected(("test_a.py::test_a",), 1.5),
    Uncollected("test_a.py", "E  no such module"),
    Ready(),
    ScoutReport(Scouted(5.0, 7.0, 1.0, 1, exchanges=3), {"updates": 2}, steps=9),
    KernelSpeeds({"blas": 12.5}),
    Measurement(
        SideBlock(
            (3, 4),
            (5, 6),
            (3, 4),
            calls=2,
            ranks=RankFacts((1.0,), (0.5,), (9.0,)),
            device=DeviceFacts("jax cpu:0", None),
        ),
        kernel_ns={"blas": (1.0, 2.0)},
        rank=RankShare(0.5, 1000, (1, 2)),
        profile=SlicesProfile(
            (FunctionRecord(("a.py", "f"), 3, 1.0, 2.0, True, {"len": Callee(1, 2.0)}, ()),),
            stacks=(((("a.py", "f"), ("b.py", "g")), 5.0),),
            operators={"aten::mm": OperatorCost(1.0, 2.0)},
            lines=LineProfile(7, ("def f():", ""), {8: LineCost(1.0, 30.0)}),
        ),
    ),
    MemoryReport(
        Pass.RESIDENT,
        3,
        {"peak_rss": 7, "growth_rss": 0.5},
        Evidence((ProcessPeak("own", 5),), sites=(Site("a.py:3", 4, 1),), curve=((0.1, 2.0),)),
        call_s=0.25,
    ),
    Training(3, {"": ((0.0, 1.5), (10.0, 2.5)), "pole": ()}, "E  why", seconds=0.5),
    Trouble("failed", "E  why", (("Captured stdout", "printed"),)),
    Met(Ran(met=("lib/near.py:step",), read=("lib/table.csv",), unseen=("it starts threads",))),
    Finished(played=True, imported={"lib": "/head/lib/__init__.py"}, cost=Spending(slices=0.5)),
]
"""One of each kind, with what is nested deepest in it."""
messages = st.sampled_from(MESSAGES)


def test_every_kind_of_message_is_tried():
    assert {type(message).__name__ for message in MESSAGES} == set(KINDS)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_is_read_back_as_it_was_written(message: Message):
    assert decode(encode(message)) == message


@pytest.mark.parametrize(
    "line",
    [b'["Order", {"nodeid": 1}]', b'["Nobody", {}]', b'["Measurement", {"block": 3}]', b"[1]"],
)
def test_a_message_of_another_shape_is_an_error(line: bytes):
    with pytest.raises(ValueError, match=r"."):
        decode(line)


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
    stream = b"".join(map(encode, sent))
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
    ends[0].sock.sendall(b'["Go", {}]\n["St')
    assert ends[1].feed() == [Go()]
    ends[0].sock.sendall(b'op", {}]\n')
    assert ends[1].receive() == Stop()


@pytest.mark.parametrize("left_behind", [b"", b'["Go", '])
def test_an_end_that_is_gone_is_said_to_be(ends: tuple[Channel, Channel], left_behind: bytes):
    ends[0].sock.sendall(left_behind)
    ends[0].close()
    with pytest.raises(ChannelClosed):
        ends[1].receive()


def test_whole_messages_of_an_end_that_is_gone_still_arrive(ends: tuple[Channel, Channel]):
    ends[0].send(Ready())
    ends[0].close()
    assert ends[1].feed() == [Ready()]
    with pytest.raises(ChannelClosed):
        ends[1].feed()


def test_sending_to_an_end_that_is_gone_is_said_to_be(ends: tuple[Channel, Channel]):
    ends[1].close()
    with pytest.raises(ChannelClosed):
        ends[0].send(Ready())


def test_an_end_that_vanished_with_words_unread_is_gone_too(ends: tuple[Channel, Channel]):
    ends[0].send(Ready())
    ends[1].close()
    with pytest.raises(ChannelClosed):
        ends[0].receive()


def test_a_line_that_is_no_message_is_an_error(ends: tuple[Channel, Channel]):
    ends[0].sock.sendall(b"Segmentation fault\n")
    with pytest.raises(ValueError, match="Expecting value"):
        ends[1].feed()


def test_a_selector_can_watch_it(ends: tuple[Channel, Channel]):
    assert ends[0].fileno() == ends[0].sock.fileno()
