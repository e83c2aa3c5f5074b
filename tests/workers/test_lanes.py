"""Several generators that wait for processes, driven in turns by one loop."""

import os
import select
from collections.abc import Iterator

import pytest

from pytest_rlperf.workers.lanes import Lane, Waiting, in_turns, waited_for


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def lane(*given: str) -> Lane[str]:
    yield from given


def test_lanes_go_on_in_turns_until_all_have_ended():
    assert list(in_turns([lane("a", "b", "c"), lane("1")])) == ["a", "1", "b", "c"]


def test_one_that_waits_does_not_hold_up_the_others(pipe: tuple[int, int]):
    reader, writer = pipe

    def waits() -> Lane[str]:
        while not select.select([reader], [], [], 0)[0]:  # it goes on when others have, too
            yield [reader]
        yield os.read(reader, 1).decode()

    def goes_on() -> Lane[str]:
        yield "a"
        os.write(writer, b"b")

    assert list(in_turns([waits(), goes_on()])) == ["a", "b"]


def test_what_a_single_one_returns_is_waited_for(pipe: tuple[int, int]):
    reader, writer = pipe

    def waits() -> Waiting[bytes]:
        os.write(writer, b"x")
        yield [reader]
        return os.read(reader, 1)

    assert waited_for(waits()) == b"x"


@pytest.mark.parametrize("error", [GeneratorExit, KeyboardInterrupt], ids=lambda e: e.__name__)
def test_what_ends_the_loop_ends_all_lanes_by_the_same(error: type[BaseException]):
    ended: list[type[BaseException]] = []

    def one() -> Lane[str]:
        try:
            yield "a"
            raise error
        except BaseException as why:
            ended.append(type(why))
            raise

    def other() -> Lane[str]:
        try:
            while True:
                yield "b"
        except BaseException as why:
            ended.append(type(why))
            raise

    lanes = in_turns([one(), other()])
    if error is GeneratorExit:  # whoever asked wants no more
        assert next(lanes) == "a"
        assert next(lanes) == "b"
        lanes.close()
    else:
        with pytest.raises(error):
            list(lanes)
    assert ended == [error, error]
