"""``python -m tests.evidence.learning run`` trains both sides of every task, ``table`` prints, and
``same`` compares what both compute of the same batches."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.evidence.learning.records import read
from tests.evidence.learning.run import lacking, play, run
from tests.evidence.learning.table import render
from tests.evidence.learning.tasks import OURS, SB3, SEEDS, TASKS, TEXTBOOK, task_named

SIDES = (OURS, SB3, TEXTBOOK)


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="python -m tests.evidence.learning", description=__doc__)
    commands = root.add_subparsers(dest="command", required=True)
    train = commands.add_parser("run", help="train; started again, it goes on")
    train.add_argument("--out", type=Path, required=True, help="JSON-lines file to append to")
    train.add_argument(
        "--only", action="append", default=[], metavar="PART",
        help="the task of this name, or those whose names have it, such as 'ppo'; may repeat",
    )  # fmt: skip
    train.add_argument("--side", action="append", default=[], choices=SIDES, help="may repeat")
    train.add_argument("--seeds", type=int, default=len(SEEDS), metavar="N", help="the first N")
    train.add_argument("--minutes", type=float, help="start no training after this time")
    side = commands.add_parser("side", help="one training, as a run starts it")
    side.add_argument("task", choices=[task.name for task in TASKS], metavar="TASK")
    side.add_argument("--side", choices=SIDES, default=OURS)
    side.add_argument("--seed", type=int, default=0)
    same = commands.add_parser(
        "same", help="how far both sides are apart after equal updates, in spreads of the outputs"
    )
    same.add_argument("task", choices=[task.name for task in TASKS], nargs="?")
    table = commands.add_parser("table", help="print the tables as markdown")
    table.add_argument("file", type=Path)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if options.command == "side":
        played = play(task_named(options.task), options.side, options.seed)
        print(json.dumps(asdict(played)))
        return 0
    if options.command == "same":
        # Imported here: nothing else of this needs Stable-Baselines3 in the same process.
        from tests.evidence.learning.same import KNOWN, sides_of

        for name in KNOWN if options.task is None else [options.task]:
            told = lacking(task_named(name)) or f"{sides_of(task_named(name)).difference:.1g}"
            print(f"{name}: {told}", flush=True)
        return 0
    if options.command == "run":
        run(options.out, options.only, options.side, options.seeds, options.minutes)
    print(render(read(options.out if options.command == "run" else options.file)), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
