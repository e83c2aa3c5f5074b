"""`python -m tests.evidence.figures.scale_jobs FOLDER [ROUNDS [SHARE [ENV ...]]]`: jobs to scale.

Three tables of different size, each learned in one rank and in two with five sync periods, once in
every round, in random order. Of each job the folder keeps the one that took the median time of the
rounds. The outer periods tell the terms of the model, so that it can be held against each of the
three between them without having seen it. SHARE makes all of them that much shorter,
and after it the wanted tables may be named.
"""

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.evidence.figures.machine import circumstances
from tests.evidence.figures.mpi import MPIEXEC


@dataclass(frozen=True, slots=True)
class Work:
    """`steps` of a rank take about three seconds. In the shortest period exchanges take a good part
    of the time, in the longest next to nothing."""

    env: str
    steps: int
    periods: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Job:
    env: str
    ranks: int
    steps: int  # of a rank
    period: int

    @property
    def name(self) -> str:
        return f"{self.env}-{self.ranks}-{self.period}"


WORKS = (
    Work("FrozenLake8x8-v1", 400_000, (64, 128, 256, 1024, 16_384)),
    Work("Taxi-v4", 260_000, (64, 128, 256, 1024, 16_384)),
    Work("TicTacToe-v0", 120_000_000, (8192, 16_384, 65_536, 262_144, 2_097_152)),
)


def jobs(share: float, envs: Sequence[str]) -> Iterator[Job]:
    for work in (work for work in WORKS if not envs or work.env in envs):
        steps = max(work.periods[0], int(work.steps * share))
        # One rank exchanges with nobody; two such jobs tell how exactly a step is known.
        yield from (Job(work.env, 1, steps, period) for period in work.periods[-2:])
        yield from (Job(work.env, 2, steps, period) for period in work.periods)


def trained(job: Job, file: Path) -> dict[str, Any]:
    subprocess.run(
        [MPIEXEC, "-n", str(job.ranks), sys.executable, "-m", "rl_impls", "train", job.env,
         "--agent", "compiled", "--runtime", "mpi-sync", "--steps", str(job.steps * job.ranks),
         "--steps-per-sync", str(job.period), "--json", str(file)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True,
    )  # fmt: skip
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return told


def of_median_time(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    return sorted(rounds, key=lambda told: told["seconds"])[len(rounds) // 2]


def main(argv: list[str]) -> None:
    folder, n_rounds = Path(argv[0]), int(argv[1]) if argv[1:] else 5
    wanted = list(jobs(float(argv[2]) if argv[2:] else 1.0, argv[3:]))
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{circumstances()}\npython -m tests.evidence.figures.scale_jobs {' '.join(argv)}")
    found: dict[Job, list[dict[str, Any]]] = {job: [] for job in wanted}
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(n_rounds):
            for job in random.sample(wanted, len(wanted)):
                found[job].append(trained(job, Path(scratch) / "job.json"))
    for job, rounds in found.items():
        text = json.dumps(of_median_time(rounds), indent=2) + "\n"
        (folder / f"{job.name}.json").write_text(text, encoding="utf-8")
        seconds = ", ".join(f"{told['seconds']:.3f}" for told in rounds)
        print(f"{job.name:28}{seconds} s")


if __name__ == "__main__":
    main(sys.argv[1:])
