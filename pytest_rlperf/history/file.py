"""The history in a plain file.

A line of it, schema 1, is one test of one result. What a result holds becomes lines, and lines are
read back, with one sentence for each that is none of ours.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import append_lines, split_lines
from pytest_rlperf.history.records import PastMetric, PastTest
from pytest_rlperf.machine.fingerprint import machine_facts, machine_key
from pytest_rlperf.model.block import ReferenceTime
from pytest_rlperf.model.metric import THROUGHPUT, Outcome
from pytest_rlperf.reading import Damage, parse_json, short, typed
from pytest_rlperf.report.result_file import ANEW, ResultContent, checked

SCHEMA = 1
"""Of a line. 1: first version."""


@dataclass(frozen=True, slots=True)
class Past:
    """The content of a history, and a sentence for each line that could not be read."""

    tests: tuple[PastTest, ...] = ()
    troubles: tuple[str, ...] = ()


def line_of(test: PastTest) -> str:
    content = {"schema": SCHEMA, **asdict(test)}
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def damage_of(test: PastTest) -> str | None:
    """Name what would keep its line from being read back; None: nothing."""
    try:
        _test(line_of(test))
    except ValueError as error:
        return str(error)
    return None


def read_history(name: str, lines: Iterable[str], torn: bytes = b"") -> Past:
    """Read lines of a file that sentences call `name`. A line that is wrong is told and left where
    it is: the others are as good as before.
    """
    tests, troubles = [], []
    for number, line in enumerate(lines, start=1):
        try:
            tests.append(_test(line))
        except ValueError as error:
            troubles.append(f"{name} line {number} {error}.")
    if torn:
        troubles.append(
            f"{name} ends in a line that was cut off; the next `rlperf history append` puts it "
            "aside."
        )
    return Past(tuple(tests), tuple(troubles))


def _test(line: str) -> PastTest:
    """Read one line; raises ValueError with what is wrong, and what to do."""
    try:
        content = parse_json(line)
    except ValueError as error:
        raise ValueError(f"is no JSON ({error}); mend it or take it out") from None
    schema = content.get("schema") if isinstance(content, dict) else None
    if type(schema) is int and schema > SCHEMA:
        raise ValueError(
            f"has schema {short(schema)}, and this version reads up to {SCHEMA}; "
            "update pytest-rlperf"
        )
    if schema != SCHEMA:
        raise ValueError("is no line of a history; mend it or take it out")
    try:
        return typed(PastTest, content)
    except Damage as damage:
        raise ValueError(f"{damage}; mend it or take it out") from None


# -- from a result to what the history keeps of it ----------------------------------------------


def entries_of(result: ResultContent, name: str, committed: str | None) -> list[PastTest]:
    """Return an entry for every test that was measured. `name` is the result's for people,
    `committed` the date of its commit, if it is known.
    """
    try:
        result = checked(result)
    except Damage as damage:
        raise UsageError(f"{name} {damage}; {ANEW}.") from None
    _refuse_unfit(result, name)
    entries = _entries(result, committed)
    if not entries:
        raise UsageError(f"{name} holds no test that was measured; there is nothing to append.")
    for test in entries:  # a line that nobody can read would stay in the history for good
        if (trouble := damage_of(test)) is not None:
            what = trouble.partition(";")[0]
            raise UsageError(f"{name}: what it says of {test.nodeid} {what}; {ANEW}.")
    return entries


def _entries(result: ResultContent, committed: str | None) -> list[PastTest]:
    """Return the entries of the tests that were measured at the commit of the result. Each is of
    the run that it is from; one of another commit belongs to that commit's own result.
    """
    parts = {part["name"]: part for part in result.get("parts", ())}
    runs = [(test, parts.get(test.get("part"), result)) for test in result["tests"]]
    return [
        _entry(test, _common(run, committed))
        for test, run in runs
        if run["commit"] == result["commit"] and not run["dirty"] and any(_metrics(test))
    ]


def _common(run: ResultContent, committed: str | None) -> dict[str, Any]:
    """Return what all tests of one run have in common; `committed` is the date of its commit."""
    return {
        "commit": run["commit"],
        "created": run["created"],
        "mode": run["mode"],
        "base": run.get("base_commit"),
        "committed": committed,
        "machine": _machine(run["fingerprint"]),
        "python": str(run["fingerprint"].get("python_build", "unknown")),
    }


def _refuse_unfit(result: ResultContent, name: str) -> None:
    if result["mode"] == "prove":
        raise UsageError(
            f"{name} is a proof of the gate, not a measurement; append what a run with "
            "--rlperf-against, --rlperf-save or a stored baseline wrote."
        )
    if result.get("dirty") or not result.get("commit"):
        what = "with uncommitted changes" if result.get("dirty") else "outside of a repository"
        raise UsageError(
            f"{name} was measured {what}, so it belongs to no commit; measure a clean commit."
        )


def _entry(test: ResultContent, common: Mapping[str, Any]) -> PastTest:
    reference, drift = test.get("reference"), test.get("drift")
    return PastTest(
        nodeid=test["nodeid"],
        metrics=tuple(_metrics(test)),
        category=test["category"],
        source_hash=str(test.get("source_hash", "")),
        steal=test.get("witnesses", {}).get("steal"),
        drift=drift["head"]["change"] if drift and drift["head"]["matters"] else None,
        reference=None if reference is None else typed(ReferenceTime, reference),
        **common,
    )


def _metrics(test: ResultContent) -> Iterator[PastMetric]:
    for metric in test["metrics"]:
        unjudged = metric["name"] == THROUGHPUT or metric["outcome"] == Outcome.SHOWN
        if metric["value"] is not None and not unjudged:
            yield PastMetric(
                name=metric["name"],
                unit=metric["unit"] or "",
                direction=metric["direction"],
                value=metric["value"],
                outcome=metric["outcome"],
                change=metric["change"],
                low=metric["low"],
                high=metric["high"],
                threshold=metric.get("threshold"),
                blocks=len(metric["head_blocks"]),
            )


def _machine(fingerprint: ResultContent) -> str:
    unknown = dict.fromkeys(("cpu", "cores", "architecture"), "unknown")
    return machine_key({**unknown, **machine_facts(fingerprint)})


# -- the file -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kept:
    """The outcome of an append."""

    added: int
    where: str
    torn: str | None = None  # where a torn last line was put aside; None: there was none


@dataclass(frozen=True, slots=True)
class HistoryFile:
    """The history in the file `path`."""

    path: Path

    def append(self, tests: Sequence[PastTest]) -> Kept:
        """Write lines that are not there yet."""
        try:
            appended = append_lines(self.path, map(line_of, tests), once=True)
        except OSError as error:
            raise UsageError(
                f"the history cannot be written to {self.path} ({error.strerror}); name another "
                "file, in a folder that exists."
            ) from error
        aside = None if appended.aside is None else str(appended.aside)
        return Kept(appended.added, str(self.path), aside)

    def read(self) -> Past:
        try:
            lines = split_lines(self.path.read_bytes())
        except OSError as error:
            raise UsageError(
                f"the history {self.path} cannot be read ({error.strerror}); write one with "
                "rlperf history append RESULT.json --file PATH."
            ) from error
        return read_history(str(self.path), lines.whole, lines.torn)
