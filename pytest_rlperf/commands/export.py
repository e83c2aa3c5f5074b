"""`rlperf export`: a result in the format of another tool.

That of pytest-benchmark is for its `compare` and whatever else reads its JSON files. A round there
is a block here: the mean time of a call in one fresh process. The spread it shows is that between
blocks, not that between calls.
"""

import json
import re
import statistics
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_rlperf.files import write_for_user
from pytest_rlperf.model.metric import TIME
from pytest_rlperf.report.result_file import read_result

VERSION = "5.3.1"
"""Of pytest-benchmark, whose files look like this."""

NS = 1e9
FENCE = 1.5
"""Times the distance of the quartiles beyond which a value is an outlier, after Tukey."""


def as_pytest_benchmark(result: Mapping[str, Any]) -> dict[str, Any]:
    measured = [test for test in result["tests"] if _times(test)]
    return {
        "machine_info": _machine(result["fingerprint"]),
        "commit_info": _commit(result),
        "benchmarks": [_benchmark(test, result) for test in measured],
        "datetime": result["created"],
        "version": VERSION,
    }


def _times(test: Mapping[str, Any]) -> list[float]:
    """List the seconds a call took at head, one a block."""
    time = next((metric for metric in test["metrics"] if metric["name"] == TIME), None)
    return [ns / NS for ns in time["head_blocks"]] if time else []


def _machine(fingerprint: Mapping[str, Any]) -> dict[str, Any]:
    system, _, release = str(fingerprint.get("system", "")).partition(" ")
    return {
        "node": "",
        "processor": fingerprint.get("architecture", ""),
        "machine": fingerprint.get("architecture", ""),
        "python_implementation": fingerprint.get("implementation", ""),
        "python_implementation_version": fingerprint.get("python", ""),
        "python_version": fingerprint.get("python", ""),
        "release": release,
        "system": system,
        "cpu": {"brand_raw": fingerprint.get("cpu", ""), "count": fingerprint.get("cores")},
    }


def _commit(result: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": result.get("commit") or "unversioned",
        "time": None,
        "author_time": None,
        "dirty": bool(result.get("dirty")),
        "project": "",
        "branch": "(unknown)",
    }


def _benchmark(test: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    name = test["nodeid"].rpartition("::")[2]
    parameters = re.search(r"\[(.*)\]$", name, re.DOTALL)
    plan = test.get("plan") or {}
    times = _times(test)
    return {
        "group": test["category"],
        "name": name,
        "fullname": test["nodeid"],
        "params": None,
        "param": parameters[1] if parameters else None,
        "extra_info": {**test.get("metadata", {}), "rlperf": _verdict(test, result)},
        "options": {
            "disable_gc": False,
            "timer": "pytest-rlperf",
            "min_rounds": len(times),
            "max_time": sum(times),
            "min_time": 0.0,
            "warmup": bool(plan.get("warmup", False)),
        },
        "stats": {**stats_of(times), "data": times, "iterations": plan.get("calls", 1)},
    }


def _verdict(test: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """Collect what pytest-benchmark has no place for."""
    time = next(metric for metric in test["metrics"] if metric["name"] == TIME)
    names = ("outcome", "change", "low", "high", "threshold")
    return {"against": result.get("against"), **{name: time.get(name) for name in names}}


def stats_of(times: Sequence[float]) -> dict[str, Any]:
    """Describe one value or more by pytest-benchmark's names, quartiles and counts of outliers."""
    ordered = sorted(times)
    mean = statistics.mean(ordered)
    deviation = statistics.stdev(ordered) if len(ordered) > 1 else 0.0
    q1, q3 = _quartiles(ordered)
    low, high = q1 - FENCE * (q3 - q1), q3 + FENCE * (q3 - q1)
    inside = [value for value in ordered if low <= value <= high]
    beyond = sum(abs(value - mean) > deviation for value in ordered)
    total = sum(ordered)
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "mean": mean,
        "stddev": deviation,
        "rounds": len(ordered),
        "median": statistics.median(ordered),
        "iqr": q3 - q1,
        "q1": q1,
        "q3": q3,
        "iqr_outliers": len(ordered) - len(inside),
        "stddev_outliers": beyond,
        "outliers": f"{beyond};{len(ordered) - len(inside)}",
        "ld15iqr": inside[0],
        "hd15iqr": inside[-1],
        "ops": len(ordered) / total,
        "total": total,
    }


def _quartiles(ordered: Sequence[float]) -> tuple[float, float]:
    """Return the medians of the halves; the middle of an odd number is in both, and counts half."""
    half, middle = divmod(len(ordered), 2)
    lower = [part for part in (ordered[:half], ordered[: half + middle]) if part]
    upper = [part for part in (ordered[half:], ordered[half + middle :]) if part]
    return (
        statistics.fmean(map(statistics.median, lower)),
        statistics.fmean(map(statistics.median, upper)),
    )


# -- the command --------------------------------------------------------------------------------

FORMATS = {"pytest-benchmark": as_pytest_benchmark}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", type=Path, help="what --rlperf-json wrote")
    parser.add_argument("--format", required=True, choices=FORMATS, help="whose to write")
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help="where to write it (default: standard output)"
    )


def run(arguments: Namespace) -> int:
    exported = FORMATS[arguments.format](read_result(arguments.result))
    text = json.dumps(exported, indent=1, allow_nan=False) + "\n"
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        write_for_user(arguments.output, text)
    return 0
