"""Returns of real trainings: 40 seeds of each agent of `tests/learns`, a row a seed, after each
quarter of its steps.

pytest --rlperf tests/learns --rlperf-baselines=FOLDER --rlperf-budget=600 --rlperf-save
python -m tests.learning.real_returns FOLDER
"""

import json
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pytest_rlperf.baselines.file import read_module
from pytest_rlperf.files import write_atomically
from pytest_rlperf.model.learning import Curve, Training

FILE = Path(__file__).with_suffix(".json")
SEEDS = 40
WORST = {"test_sac_learns": -1600.0}
"""As in the markers."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent with all of its seeds."""

    name: str
    worst: float
    curves: tuple[Curve, ...]

    def trainings(self, seeds: range) -> list[Training]:
        return [Training(s, {"": self.curves[s % len(self.curves)]}) for s in seeds]


@cache
def agents() -> tuple[Agent, ...]:
    content = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(
        Agent(
            name,
            WORST.get(name, 0.0),
            tuple(tuple(zip(map(float, row["steps"]), c, strict=True)) for c in row["returns"]),
        )
        for name, row in content.items()
    )


def main(folder: Path) -> None:
    """Write the table from stored baselines."""
    (file,) = folder.glob("*/main/tests/learns/test_agents_learn.json")
    rows = []
    for nodeid, stored in sorted(read_module(file).items()):
        assert stored.learning is not None
        curves = [training.curves[""] for training in stored.learning.trainings[:SEEDS]]
        returns = [[round(value, 2) for _, value in curve] for curve in curves]
        row = {"steps": [steps for steps, _ in curves[0]], "returns": returns}
        rows.append(f"{json.dumps(nodeid.rpartition('::')[2])}: {json.dumps(row)}")
    lines = ",\n".join(rows).replace("]], ", "]],\n ").replace("], [", "],\n  [")
    write_atomically(FILE, f"{{{lines}}}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
