"""How often the gate says what, on returns of real agents: their shape is what no formula has.
Pairs are drawn from the table of `real_returns` with replacement, so that what is true is known.

python -m tests.learning.real_rates 200
"""

import random
import sys
from collections import Counter
from collections.abc import Callable

from pytest_rlperf.learning.bets import LearningGate, outcome_of
from pytest_rlperf.learning.scores import differences_of, scored
from pytest_rlperf.model.learning import Curve, LearningMetric, LearningSpec, Training
from pytest_rlperf.model.metric import Outcome
from tests.learning.real_returns import Agent, agents

Change = Callable[[Curve, Agent, random.Random], Curve | None]
"""Makes a curve of head from one of the base; None: the seed fails."""
MOST, THRESHOLD = 40, 0.10
NAMES = [agent.name for agent in agents()]


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
    # Nothing of a pair changes with those after it.
    looks = (outcome_of(differences[:pairs], gate) for pairs in range(6, MOST + 1))
    return next(filter(None, looks), Outcome.INCONCLUSIVE)


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


CHANGES = {
    "other draws": same,
    "each learns 10 % less": less_by(0.1),
    "each learns 20 % less": less_by(0.2),
    "each learns 30 % less": less_by(0.3),
    "three in ten fail": fails_in(0.3),
    "half of them fail": fails_in(0.5),
}


def main(runs: int) -> None:
    """Print a row a change, over all agents."""
    for title, change in CHANGES.items():
        said = sum((outcomes(name, change, runs) for name in NAMES), Counter[Outcome]())
        worse, passed = said[Outcome.REGRESSED], said[Outcome.UNCHANGED] + said[Outcome.IMPROVED]
        n = runs * len(NAMES)
        print(f"| {title} | {worse} of {n} | {passed} | {said[Outcome.INCONCLUSIVE]} |")


if __name__ == "__main__":
    main(int(sys.argv[1]))
