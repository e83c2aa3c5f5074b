"""Networks: acting on one row, bound by calls; learning from a batch, bound by BLAS. Going there
and back is part of an update, and has tests of its own only where they tell more: by activation, by
size.

Which activation and which width costs how much: `python -m tests.evidence.figures.nets`.
"""

import numpy as np
import pytest

from rl_impls.nets.mlp import MLP
from rl_impls.nets.optimisers import Adam, clip_by_norm, mean_squared
from rl_impls.nets.plain import ACTIVATIONS

pytestmark = pytest.mark.rlperf(category="rl")

DQN_SIZES = (4, 64, 64, 2)
SAC_SIZES = (17, 256, 256, 6)
BATCH_SIZE = 256
N_ACTS = 500
# About a millisecond a call.
N_TIMES = {DQN_SIZES: 10, SAC_SIZES: 1}
both_sizes = pytest.mark.parametrize("sizes", N_TIMES, ids=["dqn", "sac"])


def batch(sizes, n=BATCH_SIZE):
    rng = np.random.default_rng(0)
    return (
        rng.standard_normal((n, sizes[0]), dtype=np.float32),
        rng.standard_normal((n, sizes[-1]), dtype=np.float32),
    )


class Learner:
    """A network that learns to map one batch to fixed targets."""

    def __init__(self, sizes, activation="relu", n=BATCH_SIZE):
        self.mlp = MLP(sizes, activation=activation, max_batch=n, seed=0)
        self.adam = Adam(self.mlp.params, self.mlp.grads)
        self.x, self.target = batch(sizes, n)
        self.grad = np.empty_like(self.target)

    def loss(self):
        return mean_squared(self.mlp.forward(self.x), self.target, self.grad)

    def forward(self, n):
        for _ in range(n):
            y = self.mlp.forward(self.x)
        return y

    def update(self, n):
        for _ in range(n):
            loss = self.loss()
            self.mlp.backward(self.grad)
            clip_by_norm(self.mlp.grads)
            self.adam.step()
        return loss


def act(mlp, x, n):
    return [int(mlp.forward(x[i % BATCH_SIZE : i % BATCH_SIZE + 1]).argmax()) for i in range(n)]


@pytest.mark.rlperf(kpi="policy_forward", steps=N_ACTS)
def test_acting_on_one_row(rlperf):
    mlp = MLP(DQN_SIZES, max_batch=BATCH_SIZE, seed=0)
    x, _ = batch(DQN_SIZES)
    actions = rlperf(act, mlp, x, N_ACTS)
    # Summing in another order may turn a near tie, no more.
    assert np.mean(actions[:BATCH_SIZE] == mlp.forward(x).argmax(axis=1)) > 0.98


@both_sizes
def test_update_from_a_batch(rlperf, sizes):
    n = N_TIMES[sizes]
    # A fresh network each time: one that has learned the batch by heart has other numbers.
    loss = rlperf.measure(lambda learner: learner.update(n), setup=lambda: Learner(sizes), steps=n)
    assert loss > 0.0
    assert n == 1 or loss < Learner(sizes).loss()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_forward_and_backward_by_activation(rlperf, name):
    learner = Learner(DQN_SIZES, name)

    def there_and_back():
        for _ in range(5):
            y = learner.mlp.forward(learner.x)
            learner.mlp.backward(learner.target)
        return y

    y = rlperf(there_and_back)
    assert np.isfinite(y).all()
    assert np.isfinite(learner.mlp.grads).all()
    assert np.abs(learner.mlp.grads).max() > 0.0


@pytest.mark.rlperf(sizes=[64, 256, 512])
def test_forward_by_width(rlperf, rlperf_size):
    learner = Learner((8, rlperf_size, rlperf_size, 2))
    y = rlperf(learner.forward, 1)
    assert y.shape == (BATCH_SIZE, 2)
    assert np.isfinite(y).all()


@pytest.mark.rlperf(sizes=[16, 256, 1024])
def test_update_by_rows_of_the_batch(rlperf, rlperf_size):
    """What a larger batch saves: the time grows more slowly than its rows."""
    learner = Learner(DQN_SIZES, n=rlperf_size)
    assert np.isfinite(rlperf(learner.update, 1))
    assert learner.mlp.forward(learner.x).shape == (rlperf_size, 2)
