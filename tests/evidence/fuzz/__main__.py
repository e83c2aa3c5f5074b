"""`python -m tests.evidence.fuzz run N SEED`: play N damaged files, and count what came of them."""

import sys
import time
from argparse import ArgumentParser
from collections import Counter

from tests.evidence.fuzz.play import Tally, play
from tests.evidence.fuzz.subjects import SUBJECTS

PORTION = 100


def main() -> int:
    parser = ArgumentParser(prog="python -m tests.evidence.fuzz")
    tasks = parser.add_subparsers(required=True)
    run = tasks.add_parser("run")
    run.add_argument("count", metavar="N", type=int)
    run.add_argument("seed", metavar="SEED", type=int)
    run.add_argument("--first", type=int, default=0, help="the number of the first input")
    run.add_argument("--kind", choices=SUBJECTS, action="append", help="only these kinds of files")
    run.add_argument("--seconds", type=float, default=float("inf"), help="begin no more after that")
    run.add_argument("--show", type=int, default=1, help="tracebacks shown of each mistake")
    arguments = parser.parse_args()
    names = tuple(arguments.kind or SUBJECTS)
    whole, began = Tally(), time.monotonic()
    first, end = arguments.first, arguments.first + arguments.count
    while first < end and time.monotonic() - began < arguments.seconds:
        part = play(min(PORTION, end - first), arguments.seed, names, first)
        whole.ends += part.ends
        whole.failures += part.failures
        first += len(part)
    _print(whole, time.monotonic() - began, arguments.show)
    return 1 if whole.failures else 0


def _print(tally: Tally, seconds: float, show: int) -> None:
    ends = ("accepted", "refused", "traceback", "hang", "unfit")
    print(f"{'kind':<14}" + "".join(f"{end:>11}" for end in ends))
    for name in SUBJECTS:
        counts = [tally.ends[name, end] for end in ends]
        if any(counts):
            print(f"{name:<14}" + "".join(f"{number:>11}" for number in counts))
    totals = [sum(tally.ends[name, end] for name in SUBJECTS) for end in ends]
    print(f"{'all':<14}" + "".join(f"{number:>11}" for number in totals))
    print(f"{len(tally)} inputs in {seconds:.0f} s")
    places = Counter(failure.place for failure in tally.failures)
    for place, number in places.most_common():
        alike = [failure for failure in tally.failures if failure.place == place]
        print(f"\n{number} x {place}")
        for failure in alike[:show]:
            print(
                f"  {failure.kind}: input {failure.number}, {failure.subject} in {failure.reader}"
            )
            print("    " + "\n    ".join(failure.text.splitlines()[-8:]))


if __name__ == "__main__":
    sys.exit(main())
