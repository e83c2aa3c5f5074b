"""`agent.learn` with reports: callbacks, early stopping, files and a bar."""

import csv
import io
import math
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from rl_impls import DQN, PPO, DQNSettings, KeepBest, PPOSettings, StopAt
from rl_impls.agents.agent import train
from rl_impls.envs.control.make import make_batch
from rl_impls.errors import LogError, SettingError
from rl_impls.learning import Report, learn

CARTPOLE = "rl_impls/CartPole-v1"
SHORT = PPOSettings(horizon=128, n_epochs=1, hidden=(8,))


def test_reports_change_nothing_of_what_is_learned(tmp_path):
    plain = PPO(CARTPOLE, SHORT, seed=3)
    train(plain, plain.own_env(), 1024)
    watched = PPO(CARTPOLE, SHORT, seed=3).learn(
        1024, callbacks=[lambda report: None], every=100, log=tmp_path / "log.csv"
    )
    for mine, other in zip(watched.parameters(), plain.parameters(), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_a_report_tells_of_the_episodes_that_ended_last():
    told: list[Report] = []
    agent = PPO(CARTPOLE, SHORT, seed=0)
    twin = make_batch(CARTPOLE, 8, seed=0)
    agent.learn(800, callbacks=[told.append], every=200)
    assert [report.steps for report in told] == [200, 400, 600, 800]
    assert all(report.agent is agent for report in told)
    # The same actions once more, by hand: a reward of 1 a step, so returns are lengths.
    again, running, ended = PPO(CARTPOLE, SHORT, seed=0), np.zeros(8), []
    for _ in range(100):
        step = twin.step(again.act(twin.obs))
        again.observe(step)
        running += 1
        for row in np.flatnonzero(step.terminated | step.truncated):
            ended.append(running[row])
            running[row] = 0
    assert told[-1].episodes == len(ended)
    assert told[-1].mean_return == told[-1].mean_length == pytest.approx(np.mean(ended[-100:]))


def test_before_an_episode_has_ended_its_return_is_nan_and_not_0(tmp_path):
    told: list[Report] = []
    agent = PPO("CartPole-v1", SHORT, seed=0)
    agent.learn(8, callbacks=[told.append], tensorboard=tmp_path)
    assert told[0].episodes == 0
    assert math.isnan(told[0].mean_return)


def test_a_callback_that_returns_true_ends_the_training_and_all_are_told():
    told: list[int] = []
    agent = PPO(CARTPOLE, SHORT, seed=0)
    agent.learn(
        4000, every=400, callbacks=[lambda r: r.steps >= 800, lambda r: told.append(r.steps)]
    )
    assert agent.n_steps == 800
    assert told == [400, 800]


def test_a_training_stops_at_the_return_that_is_wanted():
    agent = PPO(CARTPOLE, seed=0).learn(200_000, callbacks=[StopAt(60)], every=2048)
    assert 2048 <= agent.n_steps < 100_000


def test_the_best_parameters_are_kept_and_patience_brings_them_back():
    class Scripted(KeepBest):
        def _score(self, agent):
            return {3: 9.0}.get(agent.n_steps // 128, 1.0)

    best = Scripted(patience=2)
    parameters: list[np.ndarray] = []
    agent = PPO(CARTPOLE, SHORT, seed=0)
    keep = lambda report: parameters.append(report.agent.parameters()[0].copy())  # noqa: E731
    agent.learn(1280, every=128, callbacks=[keep, best])
    assert (best.best, agent.n_steps) == (9.0, 5 * 128)
    np.testing.assert_array_equal(agent.parameters()[0], parameters[2])


def test_the_best_is_found_by_playing_where_one_says():
    best = KeepBest(lambda: gymnasium.make("CartPole-v1", max_episode_steps=5), episodes=3)
    PPO(CARTPOLE, SHORT, seed=0).learn(256, every=128, callbacks=[best])
    assert best.best == 5.0


def test_a_log_has_a_row_for_each_report_and_is_written_at_once(tmp_path):
    seen: list[int] = []

    def look(report):
        rows = list(csv.DictReader(log.read_text().splitlines()))
        seen.append(len(rows))
        assert int(rows[-1]["steps"]) == report.steps
        assert float(rows[-1]["mean_return"]) > 8

    log = tmp_path / "log.csv"
    PPO(CARTPOLE, SHORT, seed=0).learn(1024, every=256, callbacks=[look], log=str(log))
    assert seen == [1, 2, 3, 4]


def test_events_are_written_for_tensorboard(tmp_path):
    PPO(CARTPOLE, SHORT, seed=0).learn(512, tensorboard=tmp_path / "runs")
    (file,) = (tmp_path / "runs").iterdir()
    data = file.read_bytes()
    for tag in (b"rollout/mean_return", b"rollout/mean_length", b"time/steps_per_s"):
        assert tag in data


def test_a_bar_is_shown_when_it_is_asked_for():
    stream = io.StringIO()
    agent = PPO(CARTPOLE, SHORT, seed=0)
    learn(agent, 256, progress=True, stream=stream)
    assert "rl_impls/CartPole-v1 ppo 100%" in stream.getvalue()
    assert "256 of 256 steps" in stream.getvalue()


def test_mistakes_are_told(tmp_path):
    agent = DQN(CARTPOLE, DQNSettings(buffer=100), seed=0)
    with pytest.raises(SettingError, match="n_steps is at least 1, not 0"):
        agent.learn(0)
    with pytest.raises(SettingError, match="every is at least 1"):
        agent.learn(10, every=0)
    with pytest.raises(SettingError, match="is no callback: give functions"):
        agent.learn(10, callbacks=[7])  # type: ignore[list-item]
    with pytest.raises(LogError, match="rows cannot be written to"):
        agent.learn(10, log=Path(tmp_path) / "no" / "log.csv")
    assert agent.n_steps == 0
