"""A line of the history, schema 1: written, and read back with one sentence where it is none."""

import datetime
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from types import NoneType
from typing import Any

from pytest_rlperf.model.history import PastMetric, PastTest, ReferenceTime
from pytest_rlperf.store.json_file import NUMBER, Shape, misfits, parse_json

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
    """What a history holds, and a sentence for each line that could not be read."""

    tests: tuple[PastTest, ...] = ()
    troubles: tuple[str, ...] = ()


def line_of(test: PastTest) -> str:
    content = {"schema": SCHEMA, **asdict(test)}
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def damage_of(test: PastTest) -> str | None:
    """What would keep its line from being read back; None: nothing."""
    return next(_damages(parse_json(line_of(test))), None)


def read_history(name: str, lines: Iterable[str], torn: bytes = b"") -> Past:
    """`name` is what a sentence calls the file. A line that is wrong is told and left where it is:
    the others are as good as before.
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
    """Raises ValueError with what is wrong, and what to do."""
    try:
        found = parse_json(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no JSON ({error}); mend it or take it out") from None
    schema = found.get("schema") if isinstance(found, dict) else None
    if type(schema) is int and schema > SCHEMA:
        raise ValueError(
            f"has schema {schema}, and this version reads up to {SCHEMA}; update pytest-rlperf"
        )
    if schema != SCHEMA:
        raise ValueError("is no line of a history; mend it or take it out")
    if (damage := next(_damages(found), None)) is not None:
        raise ValueError(f"is damaged at {damage}; mend it or take it out")
    known = {each.name: found[each.name] for each in fields(PastTest)}
    known["metrics"] = tuple(_metric(metric) for metric in found["metrics"])
    if known["reference"] is not None:
        known["reference"] = ReferenceTime(**{name: known["reference"][name] for name in REFERENCE})
    return PastTest(**known)


def _metric(found: dict[str, Any]) -> PastMetric:
    return PastMetric(**{each.name: found[each.name] for each in fields(PastMetric)})


def _damages(found: dict[str, Any]) -> Iterator[str]:
    """Where it has not the shape of the schema; only the first counts."""
    yield from misfits(found, LINE, "")
    yield from (name for name in ("created", "committed") if not _is_date(found[name]))
    for i, metric in enumerate(found["metrics"]):
        yield from misfits(metric, METRIC, f"metrics[{i}]")
        for name in ("change", "low", "high"):
            if metric[name] is not None and metric[name] <= NOTHING_LEFT:
                yield f"metrics[{i}].{name}"
    reference = found["reference"]
    if reference is not None:
        yield from misfits(reference, REFERENCE, "reference")
        for part in ("log_ratios", "weights"):
            yield from misfits(
                reference[part], dict.fromkeys(reference[part], NUMBER), f"reference.{part}"
            )


def _is_date(text: str | None) -> bool:
    """With its offset, so that dates can be put in order; None is none, and no damage."""
    if text is None:
        return True
    try:
        return datetime.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
