"""Observations of Gymnasium's spaces as rows of numbers, and those that are refused."""

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from rl_impls.envs.spaces import MOST_CHOICES, actions_of, brief, layout_of
from rl_impls.errors import SpaceError

SMALL = st.integers(1, 4)
LEAVES = st.one_of(
    st.builds(spaces.Discrete, SMALL, start=st.integers(-2, 2)),
    st.builds(spaces.MultiDiscrete, st.lists(SMALL, min_size=1, max_size=3)),
    st.builds(spaces.MultiBinary, SMALL),
    st.builds(lambda n: spaces.Box(-1.0, 1.0, (n, 2)), SMALL),
)
SPACES = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=3).map(spaces.Tuple),
        st.dictionaries(st.sampled_from("abc"), parts, min_size=1).map(spaces.Dict),
    ),
    max_leaves=4,
)


def by_hand(space, observation):
    """The same numbers, one at a time."""
    match space:
        case spaces.Discrete():
            return [float(i == observation - space.start) for i in range(space.n)]
        case spaces.MultiDiscrete():
            chosen = zip(space.nvec, observation, strict=True)
            return [float(i == value) for n, value in chosen for i in range(n)]
        case spaces.Dict():
            return [x for k in space.spaces for x in by_hand(space.spaces[k], observation[k])]
        case spaces.Tuple():
            parts = zip(space.spaces, observation, strict=True)
            return [x for part, value in parts for x in by_hand(part, value)]
    return [float(x) for x in np.asarray(observation).ravel()]


@given(SPACES, st.integers(0, 99))
def test_a_row_holds_the_numbers_and_a_1_for_each_choice(space, seed):
    layout = layout_of(space)
    space.seed(seed)
    observation = space.sample()
    row = np.asarray(layout.numbers(observation), np.float32)
    assert layout.shape == row.shape
    np.testing.assert_array_equal(row, np.array(by_hand(space, observation), np.float32))


def test_a_grey_image_is_a_frame_and_other_bytes_are_numbers():
    frame = layout_of(spaces.Box(0, 255, (84, 84), np.uint8))
    assert (frame.shape, frame.dtype) == ((84, 84), np.uint8)
    board = layout_of(spaces.Box(0, 2, (3, 3), np.uint8))
    assert (board.shape, board.dtype) == ((9,), np.float32)
    ram = layout_of(spaces.Box(0, 255, (128,), np.uint8))
    assert (ram.shape, ram.dtype) == ((128,), np.float32)


COLOUR = spaces.Box(0, 255, (96, 96, 3), np.uint8)


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (COLOUR, "images in colour: wrap the environment in Gymnasium's GrayscaleObservation"),
        (spaces.Dict(a=COLOUR, b=spaces.Discrete(2)), "images beside other things: keep one"),
        (spaces.Discrete(MOST_CHOICES + 1), "Choose a learner of a table"),
        (spaces.Text(5), "or wrap it"),
        (spaces.Sequence(spaces.Discrete(2)), "or wrap it"),
    ],
)
def test_what_no_row_holds_is_refused_with_what_to_do(space, said):
    with pytest.raises(SpaceError, match=said) as refused:
        layout_of(space)
    assert "\n" not in str(refused.value)


def test_actions_count_from_where_the_space_begins_and_stay_within_bounds():
    numbered = actions_of(spaces.Discrete(3, start=5))
    assert numbered.taken(np.array([0, 2])).tolist() == [5, 7]
    box = actions_of(spaces.Box(-1.0, 2.0, (2, 1)))
    assert box.taken(np.array([[-9.0, 0.5], [3.0, 1.0]])).tolist() == [[[-1], [0.5]], [[2], [1]]]
    with pytest.raises(SpaceError, match="wrap the environment in Gymnasium's TransformAction"):
        actions_of(spaces.MultiDiscrete([2, 2]))
    with pytest.raises(SpaceError, match="Discrete or a Box"):
        actions_of(spaces.Tuple([spaces.Discrete(2)]))


def test_a_space_is_told_of_in_one_short_line():
    assert brief(COLOUR) == "a Box of shape (96, 96, 3) and uint8"
    many = spaces.Tuple([spaces.Discrete(2)] * 100)
    assert len(brief(many)) < 60
