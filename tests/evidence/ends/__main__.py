"""``python -m tests.evidence.ends kills 1000`` and ``signals 100``: what is lost, what is left.

Exit code 1: something was. Each trial is told that went wrong; the counts are the last line.
"""

from __future__ import annotations

import argparse
import platform
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.evidence.ends.kills import Kills
from tests.evidence.ends.signals import Signals
from tests.evidence.ends.trial import Trial

KINDS: dict[str, type[Kills] | type[Signals]] = {"kills": Kills, "signals": Signals}


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="python -m tests.evidence.ends", description=__doc__)
    root.add_argument("what", choices=KINDS)
    root.add_argument("trials", type=int)
    root.add_argument("--seed", type=int, default=0)
    root.add_argument("--seconds", type=float, default=1e9, help="begin no trial after this time")
    root.add_argument("--only", action="append", default=[], metavar="KIND", help="may repeat")
    return root


def trials(options: argparse.Namespace, folder: Path) -> Iterator[Trial]:
    rng, until = random.Random(options.seed), time.monotonic() + options.seconds
    kind = KINDS[options.what](folder, rng, options.only)
    for _ in range(options.trials):
        if time.monotonic() > until:
            return
        yield kind.trial()


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    outcomes: Counter[str] = Counter()
    bad = done = 0
    with tempfile.TemporaryDirectory(prefix="ends-") as folder:
        for trial in trials(options, Path(folder)):
            done += 1
            outcomes[f"{trial.kind}: {trial.outcome}"] += 1
            if trial.trouble:
                bad += 1
                print(f"{trial.kind}, {trial.outcome}: {trial.trouble}", flush=True)
    for outcome, n in sorted(outcomes.items()):
        print(f"{n:6}  {outcome}")
    python = platform.python_version()
    print(
        f"{done} {options.what}, seed {options.seed}, Python {python}: {bad} lost or left something"
    )
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
