"""Values come through exactly, or with an error that is small and still known to the sender."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.errors import SettingError
from rl_impls.mpi.compression import CODECS, GROUP, codec_named

FLOATS = st.floats(-60_000.0, 60_000.0, width=32)
VALUES = st.lists(FLOATS, max_size=3 * GROUP).map(lambda each: np.array(each, np.float32))
NAMES = st.sampled_from(sorted(CODECS))


def conveyed(name, values):
    return CODECS[name].unpack(CODECS[name].pack(values), len(values))


@settings(deadline=None)
@given(NAMES, VALUES)
def test_what_is_sent_and_what_is_left_over_make_exactly_the_value(name, values):
    sent = conveyed(name, values)
    residual = values - sent
    np.testing.assert_array_equal(sent + residual, values)


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1)))
def test_exact_conveys_every_bit(bits):
    values = np.array(bits, np.uint32).view(np.float32)
    assert conveyed("exact", values).tobytes() == values.tobytes()


@settings(deadline=None)
@given(VALUES)
def test_errors_are_bounded(values):
    float16 = np.abs(values - conveyed("float16", values))
    assert (float16 <= np.abs(values) * 2.0**-11 + 2.0**-25).all()
    for start in range(0, len(values), GROUP):
        largest = np.abs(values[start : start + GROUP]).max()
        int8 = np.abs(values - conveyed("int8", values))[start : start + GROUP]
        assert (int8 <= largest / 127 + 2.0**-126).all()


@pytest.mark.parametrize("name", CODECS)
def test_what_is_too_large_stays_finite(name):
    values = np.array([3e38, -3e38, 1.0, 1e-45], np.float32)
    assert np.isfinite(conveyed(name, values)).all()


@pytest.mark.parametrize(
    ("name", "n_bytes"), [("exact", 4 * 130), ("float16", 2 * 130), ("int8", 130 + 3)]
)
def test_a_message_is_as_long_as_it_should_be(name, n_bytes):
    assert len(CODECS[name].pack(np.ones(130, np.float32))) == n_bytes


def test_an_unknown_compression_is_refused():
    with pytest.raises(SettingError, match="no compression 'zip': choose exact, float16, int8"):
        codec_named("zip")
