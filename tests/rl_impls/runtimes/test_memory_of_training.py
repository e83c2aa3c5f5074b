"""A million steps of tic-tac-toe take next to no memory beyond what importing takes."""

import pytest

from tests.perf.figures.memory import ALLOWED_BYTES, NAMES, peaks_of_training


@pytest.mark.parametrize("name", NAMES)
def test_training_takes_at_most_ten_megabytes_more_than_its_control(name):
    control, trained = peaks_of_training(name)
    assert control > ALLOWED_BYTES
    assert trained - control <= ALLOWED_BYTES
