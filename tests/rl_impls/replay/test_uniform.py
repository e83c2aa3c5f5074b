"""The ring of arrays, against a list that forgets its oldest entries."""

from collections import deque

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rl_impls.replay.layout import rows_and_fields
from rl_impls.replay.uniform import Transitions, UniformReplay
from rl_impls.splitmix import drawn


def numbered(first, n):
    """Transitions whose every field tells their number."""
    numbers = np.arange(first, first + n)
    column = numbers[:, None].astype(np.float32)
    return Transitions(
        obs_tm1=np.hstack([column, column + 0.25]),
        a_tm1=numbers,
        r_t=-numbers.astype(np.float32),
        obs_t=np.hstack([column + 0.5, column + 0.75]),
        terminated_t=numbers % 3 == 0,
    )


def assert_rows_belong_together(batch):
    numbers = batch.a_tm1
    np.testing.assert_array_equal(batch.obs_tm1, np.stack([numbers, numbers + 0.25], axis=1))
    np.testing.assert_array_equal(batch.obs_t, np.stack([numbers + 0.5, numbers + 0.75], axis=1))
    np.testing.assert_array_equal(batch.r_t, -numbers)
    np.testing.assert_array_equal(batch.terminated_t, numbers % 3 == 0)


def add_one_by_one(replay, new):
    for obs_tm1, a_tm1, r_t, obs_t, terminated_t in zip(*new.arrays(), strict=True):
        replay.add(obs_tm1, a_tm1, r_t, obs_t, terminated_t)


def add_at_once(replay, new):
    replay.add_batch(new)


def add_rows(replay, new):
    """As they lie in the memory of another replay."""
    rows, fields = rows_and_fields(len(new), 2, 0)
    for field, array in zip(fields.arrays(), new.arrays(), strict=True):
        field[:] = array
    replay.add_rows(rows)


ADDING = [add_one_by_one, add_at_once, add_rows]


@settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    capacity=st.integers(1, 9),
    batches=st.lists(st.tuples(st.integers(0, 20), st.sampled_from(ADDING)), max_size=8),
)
def test_the_ring_holds_what_a_forgetful_list_holds(kind, capacity, batches):
    replay = UniformReplay(capacity, 2, batch_size=200, seed=0)
    oracle: deque[int] = deque(maxlen=capacity)
    first = 0
    for n, add in batches:
        add(replay, numbered(first, n))
        oracle.extend(range(first, first + n))
        first += n
    assert len(replay) == len(oracle)
    if oracle:
        batch = replay.sample()
        assert_rows_belong_together(batch)
        # 200 draws from at most 9: one is missed with a probability below 1e-9.
        assert set(batch.a_tm1.tolist()) == set(oracle)


@pytest.mark.parametrize(("obs_size", "act_size"), [(1, 1), (3, 2), (17, 6)])
def test_continuous_actions_stay_with_their_transitions(kind, obs_size, act_size):
    replay = UniformReplay(12, obs_size, act_size=act_size, batch_size=50, seed=0)
    new = Transitions.zeros(20, obs_size, act_size)
    new.r_t[:] = np.arange(20)
    for field, shift in ((new.obs_tm1, 0.1), (new.a_tm1, 0.2), (new.obs_t, 0.3)):
        field[:] = new.r_t[:, None] + shift + np.arange(field.shape[1])
    replay.add_batch(new)
    batch = replay.sample()
    assert batch.a_tm1.dtype == np.float32
    rows = batch.r_t.astype(int)
    assert set(rows) <= set(range(8, 20))
    for got, want in zip(batch.arrays(), new.arrays(), strict=True):
        np.testing.assert_array_equal(got, want[rows])


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_rows_are_drawn_from_splitmix(kind, size):
    replay = UniformReplay(size, 1, batch_size=33, seed=5)
    new = Transitions.zeros(size, 1)
    new.a_tm1[:] = np.arange(size)
    replay.add_batch(new)
    rng = replay.state()["rng"]
    for _ in range(2):
        want = (drawn(rng, 33) * size).astype(np.int64)
        np.testing.assert_array_equal(replay.sample().a_tm1, want)


def test_a_restored_ring_draws_on_bit_for_bit(kind):
    replay, other = (UniformReplay(7, 2, batch_size=20, seed=seed) for seed in (1, 2))
    replay.add_batch(numbered(0, 10))
    replay.sample()
    other.set_state(replay.state())
    for each in (replay, other):
        each.add_batch(numbered(10, 2))
    for a, b in zip(replay.sample().arrays(), other.sample().arrays(), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="that of another replay: obs_tm1 is float32"):
        UniformReplay(7, 3, batch_size=20).set_state(replay.state())


def test_transitions_of_another_width_are_refused(kind):
    replay = UniformReplay(4, 2, batch_size=3)
    with pytest.raises(ValueError, match=r"expected transitions of shape \(n, 2\), not \(1, 5\)"):
        replay.add_batch(Transitions.zeros(1, 5))


def test_sampling_is_uniform(kind):
    replay = UniformReplay(10, 2, batch_size=10_000, seed=3)
    replay.add_batch(numbered(0, 10))
    counts = np.bincount(replay.sample().a_tm1, minlength=10)
    # 1000 each; 5 standard deviations are 150.
    assert counts == pytest.approx(np.full(10, 1000), abs=150)


def test_sampling_reuses_its_arrays():
    replay = UniformReplay(4, 2, batch_size=3, seed=0)
    replay.add_batch(numbered(0, 4))
    first = replay.sample()
    assert all(a is b for a, b in zip(first.arrays(), replay.sample().arrays(), strict=True))
    assert [array.dtype for array in first.arrays()] == [
        np.float32, np.int64, np.float32, np.float32, np.bool_,
    ]  # fmt: skip


def test_equal_seeds_draw_equal_batches():
    first, second = (UniformReplay(50, 2, batch_size=20, seed=1) for _ in range(2))
    for replay in (first, second):
        replay.add_batch(numbered(0, 50))
    np.testing.assert_array_equal(first.sample().a_tm1, second.sample().a_tm1)


def test_an_empty_buffer_cannot_be_sampled():
    with pytest.raises(ValueError, match="add transitions before sampling"):
        UniformReplay(4, 2, batch_size=3).sample()


def test_fields_of_unequal_length_are_refused():
    good = numbered(0, 3)
    with pytest.raises(ValueError, match=r"same number of rows, not \[2, 3\]"):
        Transitions(good.obs_tm1, good.a_tm1[:2], good.r_t, good.obs_t, good.terminated_t)


@pytest.mark.parametrize("sizes", [(0, 2, 3), (4, 0, 3), (4, 2, 0)])
def test_sizes_below_one_are_refused(sizes):
    capacity, obs_size, batch_size = sizes
    with pytest.raises(ValueError, match="at least 1"):
        UniformReplay(capacity, obs_size, batch_size=batch_size)
