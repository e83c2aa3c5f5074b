"""Rows from one array to another, compiled and not."""

import numpy as np
import pytest

from rl_impls.jit import compiled
from rl_impls.pipeline.copying import copy_rows


@compiled
def copied(goal, at, source, begin, n):
    copy_rows(goal, at, source, begin, n)
    return goal


@pytest.mark.parametrize("copy", [copied, copied.py_func if hasattr(copied, "py_func") else copied])
@pytest.mark.parametrize("step", [1, 2])  # in one piece, and not
def test_the_rows_that_are_named_are_copied_and_no_others(copy, step):
    source = np.arange(15, dtype=np.uint64).reshape(5, 3)
    goal = np.zeros((4, 3 * step), np.uint64)[:, ::step]
    copy(goal, 1, source, 2, 2)
    assert goal.tolist() == [[0, 0, 0], [6, 7, 8], [9, 10, 11], [0, 0, 0]]
