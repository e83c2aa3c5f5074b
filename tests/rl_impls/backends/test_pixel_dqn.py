"""The agent that learns from frames: its network, its parts of a batch, its weights elsewhere."""

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from rl_impls.__main__ import main
from rl_impls.agents.agent import shape_of, train
from rl_impls.agents.dqn import PixelSettings
from rl_impls.agents.evaluation import BestCheckpoint, evaluate
from rl_impls.commands import train_agent
from rl_impls.envs.control.make import make_batch
from rl_impls.errors import SettingError, SpaceError
from tests.rl_impls.backends.agreement import need

torch = need("torch")

from rl_impls.backends.torch.computing import Computing, device_named, sent, spread  # noqa: E402
from rl_impls.backends.torch.pixel_dqn import ConvQ, PixelDQN, Stacks, flattened  # noqa: E402

NAME = "rl_impls/SideScroller-v0"
SMALL: Any = {"hidden": (32,), "buffer": 400, "batch": 8, "learning_starts": 40}


def played(n_steps: int = 60, computing: Any = None, **settings: Any) -> PixelDQN:
    env = make_batch(NAME, 1, seed=0)
    chosen = PixelSettings(**{**SMALL, **settings})
    agent = PixelDQN(shape_of(env), chosen, seed=1, computing=computing)
    train(agent, env, n_steps)
    return agent


def test_the_network_is_the_one_of_the_papers():
    net = ConvQ(4, (84, 84), n_actions=2, width=512)
    kinds = [type(layer).__name__ for layer in net.layers]
    assert kinds == [*["Conv2d", "BatchNorm2d", "ReLU"] * 3, "Flatten", "Linear", "ReLU", "Linear"]
    convolutions = [layer for layer in net.layers if isinstance(layer, torch.nn.Conv2d)]
    assert [(c.out_channels, c.kernel_size[0], c.stride[0]) for c in convolutions] == [
        (32, 8, 4), (64, 4, 2), (64, 3, 1)
    ]  # fmt: skip
    assert all(c.bias is None for c in convolutions)
    assert all(layer.inplace for layer in net.layers if isinstance(layer, torch.nn.ReLU))
    wanted = np.sqrt(2 / (4 * 8 * 8))
    assert convolutions[0].weight.std().item() == pytest.approx(wanted, rel=0.05)
    assert net(torch.zeros((3, 4, 84, 84), dtype=torch.uint8)).shape == (3, 2)


def test_too_small_frames_are_refused():
    with pytest.raises(SettingError, match="too small: 36 x 36 is the least"):
        ConvQ(4, (35, 84), 2, 8)
    assert ConvQ(4, (36, 36), 2, 8)(torch.zeros((1, 4, 36, 36), dtype=torch.uint8)).shape == (1, 2)


def test_the_loop_trains_it_on_frames_and_it_plays_with_what_it_saw():
    agent = played(60)
    assert agent.n_steps == 60
    assert agent.updates_made == 6  # at 40, 44, ..., 60
    assert agent.replay.n_added >= 60
    assert evaluate(agent, NAME, 2, seed=5).shape == (2,)


def test_who_plays_sees_what_each_environment_showed_before():
    agent = played(44)
    env, watching = make_batch(NAME, 2, seed=5), Stacks(2, 4, (84, 84))
    player = agent.player(2)
    for _ in range(6):
        actions = player.greedy(env.obs)
        seen: Any = env.obs
        np.testing.assert_array_equal(actions, agent.greedy(watching.push(seen)))
        env.step(actions)


def test_the_command_line_trains_it_and_goes_on_from_a_file(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(train_agent, "VALIDATION_EPISODES", 1)
    monkeypatch.setattr(train_agent, "EPISODES", 2)
    words = ["train", NAME, "--agent", "pixel-dqn", "--save", str(tmp_path / "agent.npz")]
    assert main([*words, "--steps", "50", "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["steps"], told["agent"], told["backend"]) == (50, "pixel-dqn", "torch")
    assert -1 <= told["mean_return"] <= 25
    assert main([*words, "--steps", "60", "--resume", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 10


def test_an_agent_from_a_file_learns_when_its_replay_is_filled_again(tmp_path: Path):
    agent = played(60)
    agent.save(tmp_path / "agent.npz")
    again = PixelDQN.load(tmp_path / "agent.npz")
    env = make_batch(NAME, 1, seed=3)
    train(again, env, 39)
    assert again.updates_made == agent.updates_made
    train(again, env, 5)
    assert again.updates_made == agent.updates_made + 2  # at 100 and 104 in all


def test_the_best_that_was_validated_comes_back():
    agent, scores = played(44), iter([1.0, 0.0])
    best = BestCheckpoint(lambda _: next(scores))
    best.judge(agent)
    kept = agent.parameters()[0].copy()
    agent.update()
    best.judge(agent)
    assert (agent.parameters()[0] != kept).any()
    best.restore_best(agent)
    np.testing.assert_array_equal(agent.parameters()[0], kept)


def test_it_fits_what_it_is_shown():
    agent = played(150, learning_starts=1000, batch=16, learning_rate=1e-3, max_norm=100.0)
    agent.follow()
    losses = []
    for _ in range(60):
        agent.update()
        losses.append(agent.loss)
    assert np.mean(losses[-10:]) < 0.7 * np.mean(losses[:10])


def kept(batch: Any) -> Any:
    """A batch that the next one does not overwrite."""
    return type(batch)(*(np.array(array) for array in batch))


def test_accumulated_parts_have_the_gradient_of_the_large_batch():
    in_parts, whole = (
        played(60, learning_starts=1000, batch=8 * n, accumulate=4 // n) for n in (1, 4)
    )
    parts = [kept(in_parts.replay.sample()) for _ in range(4)]
    large = type(parts[0])(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    gradients = []
    for agent, given in ((in_parts, parts), (whole, [large])):
        agent.net.renew(sent(large.obs_tm1, device_named("cpu")))
        agent.improve(given)
        gradients.append(10 * agent._adam.state()["mean"])  # a tenth of it is what Adam keeps
    assert in_parts.loss == pytest.approx(whole.loss, rel=1e-5)
    assert np.abs(gradients[1]).max() > 0.01
    np.testing.assert_allclose(gradients[0], gradients[1], atol=1e-5)


def test_rows_of_a_batch_do_not_depend_on_each_other():
    agent = played(44)
    stacks = agent.replay.sample().obs_tm1
    together = agent.values(stacks)
    alone = np.concatenate([agent.values(stacks[i : i + 1]) for i in range(len(stacks))])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_mixed_precision_learns_nearly_the_same_in_parameters_of_32_bits():
    plain, mixed = played(40), played(40, Computing(precision="mixed"))
    ours, theirs = plain.parameters()[0], mixed.parameters()[0]
    assert np.median(np.abs(ours - theirs)) < 1e-3
    assert (theirs != played(39).parameters()[0]).any()
    assert theirs.dtype == np.float32


def test_weights_reach_another_agent_by_the_double_buffer_of_the_pipeline():
    weights_module = pytest.importorskip("rl_impls.runtimes.actor_learner.weights")
    agent, reader = played(44), played(1)
    shared = weights_module.SharedWeights(agent.parameters()[0].size)
    assert shared.publish(agent.parameters(), 7)
    assert not shared.publish(agent.parameters(), 8)  # nothing changed
    assert shared.copy_to(reader.parameters()) == 7
    stacks = agent.replay.sample().obs_tm1
    np.testing.assert_array_equal(agent.values(stacks), reader.values(stacks))


def test_a_saved_agent_acts_as_it_did(tmp_path: Path):
    agent = played(44)
    agent.save(tmp_path / "pixels.npz")
    again = PixelDQN.load(tmp_path / "pixels.npz")
    stacks = agent.replay.sample().obs_tm1
    np.testing.assert_array_equal(agent.values(stacks), again.values(stacks))
    assert again.updates_made == agent.updates_made


def test_a_stack_begins_with_its_first_frame_and_goes_on_with_the_newest_last():
    stacks = Stacks(2, 3, (1, 1))
    first = np.array([1, 2], np.uint8).reshape(2, 1, 1)
    assert stacks.push(first)[:, :, 0, 0].tolist() == [[1, 1, 1], [2, 2, 2]]
    assert stacks.push(first + 10)[:, :, 0, 0].tolist() == [[1, 1, 11], [2, 2, 12]]
    stacks.end(np.array([False, True]))
    assert stacks.push(first + 20)[:, :, 0, 0].tolist() == [[1, 11, 21], [22, 22, 22]]


def test_agents_and_environments_have_to_fit():
    rows, frames = (shape_of(make_batch(name, 1)) for name in ("rl_impls/CartPole-v1", NAME))
    assert frames.frame == (84, 84)
    with pytest.raises(SpaceError, match="show rows of numbers, and pixel-dqn learns from frames"):
        PixelDQN(rows)
    with pytest.raises(SettingError, match="frames are kept of 1 environment, and not of 2"):
        PixelDQN(frames._replace(n_envs=2))
    with pytest.raises(SettingError, match="1 hidden layer: name its width"):
        PixelSettings(hidden=(8, 8))
    with pytest.raises(SettingError, match="learning_starts is at least 2, not 1"):
        PixelSettings(learning_starts=1)


def test_several_gpus_share_a_batch(monkeypatch: pytest.MonkeyPatch):
    module = torch.nn.Linear(1, 1)
    assert spread(module, torch.device("cpu")) is module
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.nn, "DataParallel", lambda inner: ("spread", inner))
    assert spread(module, torch.device("cuda")) == ("spread", module)
    with pytest.raises(SettingError, match="there is no cuda:3 here"):
        device_named("cuda:3")


def test_a_flattened_network_is_a_view_of_its_numbers():
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 2), torch.nn.BatchNorm2d(2))
    flat = flattened(net)
    assert len(flat) == 8 + 2 + 2 + 2 + 2 + 2
    flat.fill_(3.0)
    assert all((p == 3.0).all() for p in (*net.parameters(), net[1].running_var))


class Grey(gymnasium.Env[Any, Any]):
    """Frames of one shade, which tells how many steps the episode has had; action 1 pays."""

    observation_space = gymnasium.spaces.Box(0, 255, (36, 36), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)
    n = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.n = 0
        return np.zeros((36, 36), np.uint8), {}

    def step(self, action: Any) -> Any:
        self.n += 1
        return np.full((36, 36), self.n, np.uint8), float(action), self.n >= 7, False, {}


def test_frames_of_gymnasiums_environments_are_learned_from_and_played():
    agent = PixelDQN(Grey, PixelSettings(**SMALL), seed=0).learn(60)
    assert (agent.shape.frame, agent.n_steps) == ((36, 36), 60)
    # Three episodes in one environment see what three environments see: no stack outlives its own.
    one_by_one, at_once = evaluate(agent, Grey(), 3), evaluate(agent, Grey, 3)
    np.testing.assert_array_equal(one_by_one, at_once)
    assert set(one_by_one) <= set(range(8))
