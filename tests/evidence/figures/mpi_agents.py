"""`python -m tests.evidence.figures.mpi_agents [ROUNDS [STEPS [WAY ...]]]`: agents in MPI ranks.

Each round is a seed. It trains PPO in one process, in one rank and in two, and DQN on environments
of 200 µs a step in one process and in two ranks, of which one steps and one learns, in random
order, with 8 environments and as many steps in all. Ratios are medians over rounds of the ratio
inside a round, with quartiles. Returns are those of 100 greedy episodes of the best of 20
checkpoints.
"""

import json
import random
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from tests.evidence.figures.machine import circumstances
from tests.evidence.figures.mpi import MPIEXEC, spread

SIDE = "tests.evidence.figures.mpi_agents_side"
PPO_STEPS = 150_000
DQN_STEPS = 20_000
STEP_US = 200


@dataclass(frozen=True, slots=True)
class Way:
    how: str
    ranks: int  # 0: without MPI's launcher
    steps: int
    step_us: int = 0


def ways(n_steps: int | None) -> dict[str, Way]:
    ppo, dqn = n_steps or PPO_STEPS, n_steps or DQN_STEPS
    return {
        "ppo-serial": Way("ppo", 0, ppo),
        "ppo-1-rank": Way("mpi-ppo", 1, ppo),
        "ppo-2-ranks": Way("mpi-ppo", 2, ppo),
        "dqn-serial": Way("dqn", 0, dqn, STEP_US),
        "dqn-2-ranks": Way("mpi-central", 2, dqn, STEP_US),
    }


RATIOS = (
    ("ppo-1-rank", "ppo-serial"),
    ("ppo-2-ranks", "ppo-serial"),
    ("dqn-2-ranks", "dqn-serial"),
)


def trained(way: Way, seed: int) -> dict[str, float]:
    launcher = [MPIEXEC, "-n", str(way.ranks)] if way.ranks else []
    words = [way.how, str(way.steps), str(seed), str(way.step_us)]
    ended = subprocess.run(
        [*launcher, sys.executable, "-m", SIDE, *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    told: dict[str, float] = json.loads(ended.stdout)
    return told


def render(rounds: list[dict[str, Any]]) -> str:
    lines = []
    for name in rounds[0]:
        speeds = spread([each[name]["steps_per_s"] for each in rounds], ",.0f")
        returns = spread([each[name]["mean_return"] for each in rounds], ".1f")
        line = f"{name:16}{speeds} steps/s; return {returns}"
        if "sync_part" in rounds[0][name]:
            part = spread([each[name]["sync_part"] for each in rounds], ".1%")
            line += f"; exchanging {part}, {rounds[0][name]['bytes_a_step']:,.0f} bytes a step"
        lines.append(line)
    for own, other in RATIOS:
        if not {own, other} <= {*rounds[0]}:
            continue
        ratios = [each[own]["steps_per_s"] / each[other]["steps_per_s"] for each in rounds]
        lines.append(f"{own} / {other}: {spread(ratios, '.3f')}")
    return "\n".join(lines)


def main(argv: list[str]) -> None:
    n_rounds = int(argv[0]) if argv else 9
    known = ways(int(argv[1]) if argv[1:] else None)
    known = {name: known[name] for name in argv[2:] or known}
    print(f"{circumstances()}\npython -m tests.evidence.figures.mpi_agents {n_rounds}; wall time")
    rounds = [
        {name: trained(known[name], seed) for name in random.sample(sorted(known), len(known))}
        for seed in range(n_rounds)
    ]
    print(render([{name: each[name] for name in known} for each in rounds]))


if __name__ == "__main__":
    main(sys.argv[1:])
