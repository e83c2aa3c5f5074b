"""Policy networks: a batch, bound by BLAS, and single observations, bound by call overhead."""

import numpy as np
import pytest

from rl_impls.nets.mlp import MLP

SIZES = (64, 256, 256, 8)
BATCH_SIZE = 512
N_ACTS = 200


def observations(n):
    return np.random.default_rng(0).standard_normal((n, SIZES[0]), dtype=np.float32)


@pytest.mark.rlperf(category="nets", steps=BATCH_SIZE)
def test_mlp_forward_of_a_batch(rlperf):
    mlp = MLP(SIZES, max_batch=BATCH_SIZE, seed=0)
    x = observations(BATCH_SIZE)
    q = rlperf(mlp.forward, x)
    assert q.shape == (BATCH_SIZE, SIZES[-1])
    assert np.isfinite(q).all()


def act_one_by_one(mlp, x):
    return [int(mlp.forward(x[i : i + 1]).argmax()) for i in range(len(x))]


@pytest.mark.rlperf(category="nets", steps=N_ACTS)
def test_mlp_acting_on_single_observations(rlperf):
    mlp = MLP(SIZES, max_batch=N_ACTS, seed=0)
    x = observations(N_ACTS)
    actions = rlperf(act_one_by_one, mlp, x)
    # Summing in another order may turn a near tie, no more.
    assert np.mean(actions == mlp.forward(x).argmax(axis=1)) > 0.98
