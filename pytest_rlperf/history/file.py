"""The history in a plain file.

A line of it, schema 1, is one test of one result. What a result holds becomes lines, and lines are
read back, with one sentence for each that is none of ours.
"""

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import NoneType
from typing import Any

from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import NUMBER, Shape, append_lines, misfits, parse_json, split_lines
from pytest_rlperf.history.records import PastMetric, PastTest
from pytest_rlperf.machine.fingerprint import machine_facts, machine_key
from pytest_rlperf.model.block import ReferenceTime
from pytest_rlperf.model.metric import THROUGHPUT, Outcome
from pytest_rlperf.report.result_file import ANEW, ResultContent
from pytest_rlperf.wire import typed

SCHEMA = 1
"""Of a line. 1: first version."""

NOTHING_LEFT = -1.0
"""A change, as a fraction: no time and no size becomes less than nothing."""
MAYBE = (*NUMBER, NoneType)
LINE: Shape = {
    **dict.fromkeys(("nodeid", "commit", "created", "mode"), (str,)),
    **dict.fromkeys(("machine", "python", "source_hash"), (str,)),
    **dict.fromkeys(("base", "committed", "category"), (str, NoneType)),
    **dict.fromkeys(("steal", "drift"), MAYBE),
    "reference": (dict, NoneType),
    "metrics": (list,),
}
METRIC: Shape = {
    **dict.fromkeys(("name", "unit", "direction", "outcome"), (str,)),
    "value": NUMBER,
    **dict.fromkeys(("change", "low", "high", "threshold"), MAYBE),
    "blocks": (int,),
}
REFERENCE: Shape = {"edition": (int,), "log_ratios": (dict,), "weights": (dict,)}


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
    return next(_damages(parse_json(line_of(test))), None)


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
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no JSON ({error}); mend it or take it out") from None
    schema = content.get("schema") if isinstance(content, dict) else None
    if type(schema) is int and schema > SCHEMA:
        raise ValueError(
            f"has schema {schema}, and this version reads up to {SCHEMA}; update pytest-rlperf"
        )
    if schema != SCHEMA:
        raise ValueError("is no line of a history; mend it or take it out")
    if (damage := next(_damages(content), None)) is not None:
        raise ValueError(f"is damaged at {damage}; mend it or take it out")
    return typed(PastTest, content)


def _damages(content: Mapping[str, Any]) -> Iterator[str]:
    """Name where a line has not the shape of the schema; only the first counts."""
    yield from misfits(content, LINE, "")
    yield from (name for name in ("created", "committed") if not _is_date(content[name]))
    for i, metric in enumerate(content["metrics"]):
        yield from misfits(metric, METRIC, f"metrics[{i}]")
        for name in ("change", "low", "high"):
            if metric[name] is not None and metric[name] <= NOTHING_LEFT:
                yield f"metrics[{i}].{name}"
    reference = content["reference"]
    if reference is not None:
        yield from misfits(reference, REFERENCE, "reference")
        for part in ("log_ratios", "weights"):
            yield from misfits(
                reference[part], dict.fromkeys(reference[part], NUMBER), f"reference.{part}"
            )


def _is_date(text: str | None) -> bool:
    """Ask for an offset, so that dates can be put in order; None is no date, and no damage."""
    if text is None:
        return True
    try:
        return datetime.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


# -- from a result to what the history keeps of it ----------------------------------------------


def entries_of(result: ResultContent, name: str, committed: str | None) -> list[PastTest]:
    """Return an entry for every test that was measured. `name` is the result's for people,
    `committed` the date of its commit, if it is known.
    """
    _refuse_unfit(result, name)
    try:
        entries = _entries(result, committed)
    except (AttributeError, KeyError, TypeError) as error:  # somebody edited it
        raise UsageError(
            f"{name} holds what no run writes ({type(error).__name__}); {ANEW}."
        ) from None
    if not entries:
        raise UsageError(f"{name} holds no test that was measured; there is nothing to append.")
    for test in entries:  # a line that nobody can read would stay in the history for good
        if (damage := damage_of(test)) is not None:
            raise UsageError(f"{name} is damaged at {damage} of {test.nodeid}; {ANEW}.")
    return entries


def _entries(result: ResultContent, committed: str | None) -> list[PastTest]:
    common = {
        "commit": result["commit"],
        "created": result["created"],
        "mode": result["mode"],
        "base": result.get("base_commit"),
        "committed": committed,
        "machine": _machine(result["fingerprint"]),
        "python": str(result["fingerprint"].get("python_build", "unknown")),
    }
    return [_entry(test, common) for test in result["tests"] if any(_metrics(test))]


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
        reference=None if reference is None else ReferenceTime(**reference),
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
