"""What the tests of compiled code share."""

import os

import numpy as np
import pytest

from rl_impls import jit


@pytest.fixture(params=["compiled", "plain"])
def kind(request, monkeypatch):
    """With Numba, and as if there was none."""
    if request.param == "plain":
        monkeypatch.setattr(jit, "has_numba", lambda: False)
    return request.param


@pytest.fixture(autouse=os.environ.get("NUMBA_DISABLE_JIT") == "1")
def _numbers_that_wrap_around():
    """Compiled code multiplies without a word what Python warns of."""
    with np.errstate(over="ignore"):
        yield
