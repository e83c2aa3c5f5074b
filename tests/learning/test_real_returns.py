"""How often the gate is wrong on returns of real agents: their shape is what no formula has. Pairs
are drawn from the table of `real_returns` with replacement, so that what is true is known.
"""

import random
from collections import Counter
from collections.abc import Callable

import pytest

from pytest_rlperf.learning.bets import LearningGate, decide
from pytest_rlperf.learning.scores import differences_of, scored
from pytest_rlperf.model.learning import Curve, LearningMetric, LearningSpec, Training
from pytest_rlperf.model.metric import Outcome
from tests.learning.real_returns import Agent, agents

Change = Callable[[Curve, Agent, random.Random], Curve | None]
"""Makes a curve of head from one of the base; None: the seed fails."""
MOST, THRESHOLD = 40, 0.10
NAMES = [agent.name for agent in agents()]
STEADY = ("test_a_table_learns[compiled]", "test_a_table_learns[list]")


def outcomes(name: str, change: Change, runs: int, tests: int = 1) -> Counter[Outcome]:
    """Decide so many times, with a look after every pair from the sixth on."""
    (agent,) = (each for each in agents() if each.name == name)
    rng, gate = random.Random(f"{name} {runs}"), LearningGate(THRESHOLD, tests)
    return Counter(_outcome(agent, change, rng, gate) for _ in range(runs))


def _outcome(agent: Agent, change: Change, rng: random.Random, gate: LearningGate) -> Outcome:
    head, base = [], []
    for seed in range(MOST):
        other = change(rng.choice(agent.curves), agent, rng)
        head.append(Training(seed, {"": other} if other else {}, None if other else "failed"))
        base.append(Training(seed, {"": rng.choice(agent.curves)}))
    spec = LearningSpec(metric=LearningMetric.AREA, worst=agent.worst)
    differences = differences_of(scored(head, base, spec))
    assert differences is not None
    for pairs in range(6, MOST + 1):  # nothing of a pair changes with those after it
        decision = decide(differences[:pairs], gate, exhausted=False)
        if decision.outcome is not None:
            return decision.outcome
    return Outcome.INCONCLUSIVE


def same(curve: Curve, agent: Agent, rng: random.Random) -> Curve:
    return curve


def less_by(share: float) -> Change:
    """Every seed learns so much less."""
    return lambda curve, agent, rng: tuple(
        (steps, agent.worst + (1 - share) * (value - agent.worst)) for steps, value in curve
    )


def fails_in(share: float) -> Change:
    """So many of the seeds fail, and the others learn as before."""
    return lambda curve, agent, rng: None if rng.random() < share else curve


def late(curve: Curve, agent: Agent, rng: random.Random) -> Curve:
    """Everything is learned in twice as many steps."""
    steps = [step for step, _ in curve]
    values = [curve[max(0, (i + 1) // 2 - 1)][1] for i in range(len(curve))]
    return tuple(zip(steps, values, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_other_draws_of_the_same_skill_are_hardly_ever_called_worse(name: str):
    assert outcomes(name, same, runs=150)[Outcome.REGRESSED] <= 3  # 1 % at most: 1.5


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_of_what_is_allowed_is_seldom_called_and_seldom_passes(name: str):
    said = outcomes(name, less_by(THRESHOLD), runs=150)
    assert said[Outcome.REGRESSED] <= 9  # 2.5 % at most: 3.75, and 2.7 standard deviations
    assert said[Outcome.UNCHANGED] <= 9


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_of_thirty_percent_is_called(name: str):
    said = outcomes(name, less_by(0.3), runs=40)
    assert said[Outcome.REGRESSED] >= 36
    assert not said[Outcome.UNCHANGED]


@pytest.mark.parametrize("name", ["test_sac_learns", *STEADY])
def test_who_learns_half_as_fast_is_called(name: str):
    """PPO loses a fifth by it, and DQN have learned what they learn by the first quarter."""
    assert outcomes(name, late, runs=40)[Outcome.REGRESSED] >= 38


@pytest.mark.parametrize("name", NAMES)
def test_seeds_of_which_a_third_fail_are_called_more_often_than_not(name: str):
    said = outcomes(name, fails_in(1 / 3), runs=40)
    assert said[Outcome.REGRESSED] >= 20
    assert said[Outcome.UNCHANGED] <= 6


@pytest.mark.parametrize("name", NAMES)
def test_seeds_of_which_half_fail_are_called_though_the_others_learn_as_before(name: str):
    said = outcomes(name, fails_in(0.5), runs=40)
    assert said[Outcome.REGRESSED] >= 36
    assert said[Outcome.UNCHANGED] <= 2
