"""Weights that are published: versions, unchanged ones, and copies that are never torn."""

import numpy as np
import pytest

from rl_impls.runtimes.actor_learner.weights import SharedWeights
from tests.evidence.figures.first_pipeline import ComparedWeights
from tests.rl_impls.runtimes.actor_learner.weights_stress import LEAST, stress


def weights_of(*numbers):
    return [np.full(5, number, np.float32) for number in numbers]


@pytest.fixture(params=[SharedWeights, ComparedWeights])
def kind(request):
    return request.param


def test_what_was_published_last_is_copied_with_its_version(kind):
    shared, mine = kind(10), weights_of(0, 0)
    assert shared.copy_to(mine) == 0
    for version in (1, 2, 7):
        assert shared.publish(weights_of(version, -version), version)
        assert shared.copy_to(mine) == shared.version == version
        np.testing.assert_array_equal(mine, weights_of(version, -version))


def test_unchanged_weights_are_not_published(kind):
    shared = kind(5)
    assert shared.publish(weights_of(1), 1)
    assert not shared.publish(weights_of(1), 2)
    assert shared.version == 1
    assert shared.publish(weights_of(2), 3)


def test_a_version_that_a_reader_has_is_not_copied_again():
    shared, mine = SharedWeights(5), weights_of(0)
    shared.publish(weights_of(1), 4)
    assert shared.copy_to(mine, have=4) == 4
    np.testing.assert_array_equal(mine, weights_of(0))
    assert shared.copy_to(mine, have=3) == 4
    np.testing.assert_array_equal(mine, weights_of(1))


def test_versions_count_upwards():
    shared = SharedWeights(5)
    shared.publish(weights_of(1), 4)
    with pytest.raises(ValueError, match="version 4 comes after 4"):
        shared.publish(weights_of(2), 4)


def test_no_copy_is_torn_however_often_weights_are_published():
    last, seen = stress(1.5)
    assert last >= LEAST
    assert [reader.torn for reader in seen] == [0, 0]
    assert all(reader.copies > 0 for reader in seen)
