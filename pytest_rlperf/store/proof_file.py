"""The verdicts of `--rlperf-prove` in the cache folder: a file for each project, a line each."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from pathlib import Path
from types import NoneType
from typing import Any

from pytest_rlperf.errors import UsageError
from pytest_rlperf.launch.cache import digest
from pytest_rlperf.model.proof import Trial
from pytest_rlperf.model.verdict import Interval, Outcome
from pytest_rlperf.store.json_file import NUMBER, Shape, check_schema, check_shape, misfits, refuse
from pytest_rlperf.store.json_lines import append_lines, read_lines

SCHEMA = 1
"""Of a line. 1: first version."""
SHAPE: Shape = {
    **dict.fromkeys(("nodeid", "source_hash", "outcome", "created"), (str,)),
    **dict.fromkeys(("injected", "threshold", "blocks", "seconds"), NUMBER),
    "interval": (dict,),
    "commit": (str, NoneType),
    "dirty": (bool,),
    "facts": (dict,),
}
INTERVAL: Shape = dict.fromkeys(("change", "low", "high"), NUMBER)
ANEW = "delete it to begin anew"


def proof_file(cache: Path, root: Path) -> Path:
    """Of the project with this root."""
    return cache / "proofs" / f"{digest(str(root))}.jsonl"


def append(path: Path, trials: Iterable[Trial]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        append_lines(path, map(_line, trials))
    except OSError as error:
        raise UsageError(
            f"the verdicts cannot be written to {path} ({error.strerror}); set RLPERF_CACHE to a "
            "folder that you may write to."
        ) from error


def read(path: Path) -> list[Trial]:
    return [_trial(path, number, line) for number, line in enumerate(read_lines(path), start=1)]


def _line(trial: Trial) -> str:
    return json.dumps({"schema": SCHEMA, **asdict(trial)}, allow_nan=False)


def _trial(path: Path, number: int, line: str) -> Trial:
    try:
        data = json.loads(line)
    except ValueError as error:
        refuse(path, f"is damaged in line {number} ({error})", ANEW)
    check_shape(path, _damages(data, f"line {number}"), ANEW)
    check_schema(path, data, SCHEMA, ANEW)
    known = {each.name: data[each.name] for each in fields(Trial)}
    interval = Interval(**{name: data["interval"][name] for name in INTERVAL})
    return Trial(**{**known, "outcome": Outcome(data["outcome"]), "interval": interval})


def _damages(data: Any, where: str) -> Iterator[str]:
    yield from misfits(data, {"schema": (int,)}, where)
    if data["schema"] == SCHEMA:
        yield from misfits(data, SHAPE, where)
        yield from misfits(data["interval"], INTERVAL, f"{where}.interval")
        if data["outcome"] not in set(Outcome):
            yield f"{where}.outcome"
