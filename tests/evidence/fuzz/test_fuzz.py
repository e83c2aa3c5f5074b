"""A slice of the fuzzer: every kind of file and every command that reads it, damaged in some ways.

`python -m tests.evidence.fuzz run 100000 1` plays as many as are wanted.
"""

import pytest

from tests.evidence.fuzz.play import play, play_good
from tests.evidence.fuzz.subjects import SUBJECTS

INPUTS = 12
"""Of each kind; all of them together take seconds."""


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_damaged_file_is_read_or_refused_in_a_sentence(name: str):
    tally = play(INPUTS, seed=23, names=[name])
    assert len(tally) == INPUTS
    assert [failure.text for failure in tally.failures] == []


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_good_file_is_read(name: str):
    tally = play_good(name)
    assert [failure.text for failure in tally.failures] == []
    # Where a reader asks for more, such as MPI jobs, it says so.
    assert tally.ends[name, "accepted"] >= tally.ends[name, "refused"]
