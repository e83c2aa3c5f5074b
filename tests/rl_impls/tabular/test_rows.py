"""Rows in vectors find what a plain look through the row finds."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.jit import compiled
from rl_impls.tabular.rows import LANES, any_in, best_with

# Few values: equals and minus infinities are everywhere.
values = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0])
tables = st.integers(1, LANES).flatmap(
    lambda n: st.lists(st.lists(values, min_size=n, max_size=n), min_size=1, max_size=3)
)


@compiled
def best_compiled(q, row, action, value):
    return best_with(q, row, action, value)


@compiled
def any_compiled(q, row, draw):
    return any_in(q, row, draw)


@settings(deadline=None)
@given(table=tables, data=st.data())
def test_the_best_action_is_the_first_of_equals_with_the_new_value_in_its_place(table, data):
    q = np.array(table, np.float32)
    row, action = data.draw(st.integers(0, len(q) - 1)), data.draw(st.integers(0, q.shape[1] - 1))
    value = np.float32(data.draw(values))
    before = q.copy()
    want = q[row].copy()
    want[action] = value
    assert best_compiled(q, row, action, value) == want.argmax()
    assert best_with(q, row, action, value) == want.argmax()
    np.testing.assert_array_equal(q, before)


@settings(deadline=None)
@given(table=tables, data=st.data(), draw=st.integers(0, 2**32 - 1))
def test_any_action_is_the_legal_one_that_the_draw_says(table, data, draw):
    q = np.array(table, np.float32)
    row = data.draw(st.integers(0, len(q) - 1))
    legal = [a for a, value in enumerate(q[row]) if value != -np.inf]
    want = legal[draw * len(legal) >> 32] if legal else 0
    assert any_compiled(q, row, draw) == want
    assert any_in(q, row, draw) == want
