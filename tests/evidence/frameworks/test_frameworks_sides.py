"""Every contestant runs, in the smallest size; those of a framework where it is installed."""

import pytest

from tests.evidence.frameworks.__main__ import main
from tests.evidence.frameworks.contestants import CONTESTANTS, measure
from tests.evidence.frameworks.rows import contestants
from tests.rl_impls.backends.agreement import need

# Compiling takes torch half a minute each, and another test does it once.
SLOW = {name for name in contestants() if "compiled" in name}
SAME_WAY = {name for name in contestants() if name.startswith("wide ")}


def framework_of(name):
    if "torch" in name or "pixels" in name:
        return "torch"
    return "jax" if "jax" in name or "jitted" in name else None


def test_the_rows_name_all_contestants():
    assert sorted(contestants()) == sorted(CONTESTANTS)


@pytest.mark.parametrize("name", sorted({*contestants()} - SLOW - SAME_WAY))
def test_a_side_runs(name):
    if framework := framework_of(name):
        need(framework)
    measured = measure(name, "tiny", 0)
    assert measured.per_s > 0
    assert measured.compile_s
    assert (measured.mean_return is not None) == name.startswith("cartpole")


def test_a_run_starts_each_in_a_process_of_its_own(tmp_path, capsys):
    words = ["--out", str(tmp_path / "figures.jsonl"), "--rounds", "1", "--only", "dqn numpy"]
    assert main(["run", *words, "--sizes", "tiny"]) == 0
    assert "| dqn numpy | " in capsys.readouterr().out


def test_the_jitted_cart_moves_as_ours():
    need("jax")
    import numpy as np

    from rl_impls.envs.control.make import make_batch
    from tests.evidence.frameworks.jitted_ppo import moved

    env = make_batch("rl_impls/CartPole-v1", 1, seed=4)
    for n in range(30):
        before = env.obs[0].copy()
        step = env.step([n % 3 == 0])
        state, fell = moved(before, int(n % 3 == 0))
        np.testing.assert_allclose(state, step.obs_t[0], atol=1e-5)
        assert bool(fell) == step.terminated[0]
