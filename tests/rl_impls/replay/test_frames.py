"""Stacked frames that are kept once: what is drawn against plain lists of episodes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.errors import SettingError
from rl_impls.replay.frames import FrameReplay

FRAME = (2, 3)


def frame(number):
    """One that knows its number."""
    return np.full(FRAME, number, np.uint8)


class Episodes:
    """All frames ever added, with the number at which their episode began, and what is drawn."""

    def __init__(self, lengths, truncated):
        self.first: list[int] = []
        self.acts: list[bool] = []
        self.terminated: list[bool] = []
        for length, cut in zip(lengths, truncated, strict=True):
            begin = len(self.first)
            self.first += [begin] * (length + 1)
            self.acts += [True] * length + [False]
            self.terminated += [False] * (length - 1) + [not cut, False]

    def fill(self, replay):
        for number, acts in enumerate(self.acts):
            if acts:
                replay.add(frame(number), number, float(number), self.terminated[number])
            else:
                replay.end(frame(number))

    def stack(self, number, size):
        return [max(self.first[number], number - back) for back in range(size - 1, -1, -1)]

    def drawable(self, capacity, size):
        """The next frame is there, and none that the stack shows is overwritten."""
        oldest = max(0, len(self.acts) - capacity)
        return {
            number
            for number in range(oldest, len(self.acts) - 1)
            if self.acts[number] and min(self.stack(number, size)) >= oldest
        }


EPISODES = st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=12)


@given(episodes=EPISODES, capacity=st.integers(4, 40), size=st.integers(1, 3))
@settings(deadline=None, max_examples=100)
def test_a_draw_is_what_was_seen_before_and_after_one_action(episodes, capacity, size):
    world = Episodes(*zip(*episodes, strict=True))
    replay = FrameReplay(capacity, FRAME, stack=size, batch_size=16, seed=0)
    world.fill(replay)
    drawable = world.drawable(capacity, size)
    if not drawable:
        with pytest.raises(ValueError, match="no transition is whole yet"):
            replay.sample()
        return
    batch = replay.sample()
    for i, number in enumerate(batch.indices.tolist()):
        assert number in drawable
        assert batch.a_tm1[i] == batch.r_t[i] == number
        assert batch.terminated_t[i] == world.terminated[number]
        for obs, at in ((batch.obs_tm1, number), (batch.obs_t, number + 1)):
            want = np.stack([frame(shown) for shown in world.stack(at, size)])
            np.testing.assert_array_equal(obs[i], want)


def test_every_whole_transition_is_drawn_about_equally_often():
    world = Episodes([5, 3, 8], [False, True, False])
    replay = FrameReplay(100, FRAME, stack=3, batch_size=1_500, seed=0)
    world.fill(replay)
    numbers, counts = np.unique(replay.sample().indices, return_counts=True)
    assert set(numbers.tolist()) == world.drawable(100, 3)
    assert counts.min() > 50  # of 94 on the mean: seeded, so not a matter of luck


def test_frames_take_a_quarter_of_what_they_would_as_float32():
    replay = FrameReplay(1_000, (84, 84), batch_size=1)
    assert replay.nbytes <= 0.26 * 1_000 * 84 * 84 * 4


def test_before_the_first_action_led_somewhere_there_is_nothing_to_draw():
    replay = FrameReplay(10, FRAME, batch_size=1)
    replay.add(frame(0), 0, 0.0, False)
    with pytest.raises(ValueError, match="add more frames before sampling"):
        replay.sample()


def test_a_replay_too_small_for_one_stack_is_refused():
    with pytest.raises(SettingError, match="capacity at least"):
        FrameReplay(4, FRAME, stack=4, batch_size=1)
