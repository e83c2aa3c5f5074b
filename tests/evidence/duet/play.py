"""One comparison of two commands by either tool, and the record of what it said."""

from __future__ import annotations

import datetime
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import fmean, stdev

from pytest_rlperf.files import append_lines, read_lines
from tests import schema_lines
from tests.evidence.proof import load
from tests.evidence.proof.facts import cpu_model

SCHEMA = 1
LIMIT = 0.05
PYTHON = f"{sys.executable} -s -S"
"""Not isolated (`-I`), which is deaf to the hash seed that both sides of a block have: blocks of a
loop of 0.2 s with itself then spread by up to 6.9 %, else by 2.2 %."""
LOOP = "for i in range({}): pass"
PROBE = 20_000_000
TOOLS = ("rlperf", "hyperfine")
LENGTHS_MS = (20, 60, 300)
TRUTHS = (0.0, 0.1)


@dataclass(frozen=True, slots=True)
class Played:
    """What a tool said of a command beside one of which the difference is known."""

    tool: str
    ms: int
    truth: float  # how much more the second command has to do, start-up included
    round: int
    change: float  # that the tool read
    outcome: str  # of rlperf; of hyperfine whether its means differ by more than the limit
    blocks: tuple[float, ...]  # the change in each, of rlperf
    seconds: float
    load: bool
    date: str
    machine: str

    @property
    def key(self) -> tuple[str, int, float, int, bool]:
        return self.tool, self.ms, self.truth, self.round, self.load

    @property
    def says_slower(self) -> bool:
        return self.outcome in ("regressed", "slower by more")

    @property
    def says_faster(self) -> bool:
        return self.outcome in ("improved", "faster by more")


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool said, without what is known of it."""

    change: float
    outcome: str
    blocks: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Pace:
    """What a Python command takes on this machine."""

    start_s: float
    loop_s: float  # a turn of the loop

    @classmethod
    def measured(cls) -> Pace:
        start, whole = (min(_seconds(n) for _ in range(5)) for n in (1, PROBE))
        return cls(start, (whole - start) / PROBE)

    def command(self, seconds: float) -> str:
        """Return a command that takes so long, as far as Python starts faster than that."""
        turns = max(1, round((seconds - self.start_s) / self.loop_s))
        return f"{PYTHON} -c '{LOOP.format(turns)}'"


def _seconds(turns: int) -> float:
    """Return the CPU time of a loop with its start: it does not wait for a core."""

    def used() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    before = used()
    subprocess.run([*PYTHON.split(), "-c", LOOP.format(turns)], check=True)
    return used() - before


def tools() -> list[str]:
    """Return those that are installed: rlperf, and beside it hyperfine if it is there."""
    return [tool for tool in TOOLS if tool == "rlperf" or shutil.which(tool)]


def run(
    out: Path,
    rounds: int,
    minutes: float,
    loaded: bool,
    scratch: Path,
    pairs: Sequence[tuple[int, float]] = (),
) -> Iterator[Played]:
    """Play what is not recorded yet; yield each record when it is written. `pairs`: only these
    lengths and truths.
    """
    until = time.monotonic() + 60 * minutes
    done = {record.key for record in read(out)}
    pace = Pace.measured()
    with _load(loaded):
        wanted = pairs or list(product(LENGTHS_MS, TRUTHS))
        for number, (ms, truth), tool in product(range(rounds), wanted, tools()):
            if (tool, ms, truth, number, loaded) in done:
                continue
            if time.monotonic() > until:
                return
            record = played(tool, ms, truth, number, loaded, pace, scratch)
            append_lines(out, [schema_lines.to_line(SCHEMA, asdict(record))])
            yield record


def played(
    tool: str, ms: int, truth: float, number: int, loaded: bool, pace: Pace, scratch: Path
) -> Played:
    seconds = ms / 1e3
    commands = pace.command(seconds), pace.command(seconds * (1 + truth))
    begun = time.monotonic()
    said = (_by_rlperf if tool == "rlperf" else _by_hyperfine)(commands, scratch)
    return Played(
        tool=tool,
        ms=ms,
        truth=truth,
        round=number,
        change=said.change,
        outcome=said.outcome,
        blocks=said.blocks,
        seconds=round(time.monotonic() - begun, 2),
        load=loaded,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        machine=cpu_model(),
    )


def _by_rlperf(commands: tuple[str, str], scratch: Path) -> Said:
    file = scratch / "duet.json"
    words = [sys.executable, "-m", "pytest_rlperf.cli", "duet", *commands]
    limit = ("--threshold", f"{LIMIT:.0%}", "--export-json", str(file))
    done = subprocess.run([*words, *limit], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise ValueError(f"rlperf duet ended with {done.returncode}: {done.stdout}{done.stderr}")
    (verdict,) = json.loads(file.read_text(encoding="utf-8"))["verdicts"]
    return Said(verdict["change"], verdict["outcome"], tuple(verdict["blocks"]))


def _by_hyperfine(commands: tuple[str, str], scratch: Path) -> Said:
    """Compare the means, as people read its summary."""
    file = scratch / "hyperfine.json"
    words = ["hyperfine", "--shell=none", "--export-json", str(file), *commands]
    subprocess.run(words, check=True, capture_output=True)
    first, second = (e["mean"] for e in json.loads(file.read_text(encoding="utf-8"))["results"])
    change = second / first - 1
    if change > LIMIT:
        return Said(change, "slower by more")
    return Said(change, "faster by more" if change < -LIMIT else "no more")


@contextmanager
def _load(loaded: bool) -> Iterator[None]:
    """Keep the machine as busy as a shared one."""
    children = load.start(os.cpu_count() or 1, seed=0) if loaded else []
    try:
        yield
    finally:
        for child in children:
            child.terminate()
            child.join()


def read(path: Path) -> list[Played]:
    """Return the records of a file; none where there is no file yet."""
    return [Played(**schema_lines.from_line(SCHEMA, line)) for line in read_lines(path)]


def table(records: list[Played]) -> str:
    """Return a row for each tool, length and truth as Markdown."""
    rows = [
        "| tool | load | command | truth | n | slower | faster | median change | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for key in sorted({(r.truth, r.ms, r.load, r.tool) for r in records}):
        truth, ms, loaded, tool = key
        own = [r for r in records if (r.truth, r.ms, r.load, r.tool) == key]
        middle = sorted(r.change for r in own)[len(own) // 2]
        slower, faster = sum(r.says_slower for r in own), sum(r.says_faster for r in own)
        mean_s = sum(r.seconds for r in own) / len(own)
        rows.append(
            f"| {tool} | {'yes' if loaded else 'no'} | {ms} ms | {truth:+.0%} | {len(own)} "
            f"| {slower} | {faster} | {middle:+.1%} | {mean_s:.1f} |"
        )
    return "\n".join(rows) + "\n"


SOON = 6
"""Blocks: a comparison that ends with so many or fewer has ended soon."""


def lean(records: list[Played]) -> str:
    """Return which way unchanged commands read, as Markdown: in their first blocks, which are the
    same whenever a comparison ends, and in what is said of those that end soon and late.
    """
    rows = ["| blocks of a command against itself | n | mean | its error |", "|---|---|---|---|"]
    same = [r for r in records if r.truth == 0 and r.blocks]
    for ms in sorted({r.ms for r in same}):
        own = [r for r in same if r.ms == ms]
        kinds = {
            "the first three of each": [fmean(r.blocks[:3]) for r in own],
            f"said after at most {SOON}": [r.change for r in own if len(r.blocks) <= SOON],
            "said after more": [r.change for r in own if len(r.blocks) > SOON],
        }
        for kind, means in kinds.items():
            if len(means) > 1:
                error = stdev(means) / math.sqrt(len(means))
                rows.append(
                    f"| {ms} ms, {kind} | {len(means)} | {fmean(means):+.1%} | {error:.1%} |"
                )
    return "\n".join(rows) + "\n"
