"""From what cProfile lists to functions: named, without this package's own, with their natives.

A function's time is that of its own code and of the native functions it calls. Comprehensions are
part of the function they stand in, as they are from Python 3.12 on.
"""

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import pytest_rlperf
from pytest_rlperf.measure.profiling.overhead import Overhead
from pytest_rlperf.model.profile import Callee

OWN_FOLDER = str(Path(pytest_rlperf.__file__).parent)
OWN_LOOP = "<rlperf loop>"
NATIVE = ""
"""In the place of a file. Some native functions call Python ones, such as `numpy.ndarray.max`."""

INNER = re.compile(r"(\.<locals>\.<(listcomp|setcomp|dictcomp|genexpr)>)+$")
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
METHOD = re.compile(r"<method '(.+)' of '(.+)' objects>")
OF_TYPE = re.compile(r"<built-in method (.+) of type object")
BUILT_IN = re.compile(r"<built-in method (?:builtins\.)?(.+)>")

Key = tuple[str, str]  # file as the interpreter knows it, "" of a native one; qualified name


class Entry(NamedTuple):
    """One function in one slice."""

    calls: int
    own_ns: float
    natives: Mapping[str, Callee]
    callees: Mapping[Key, Callee]


NOTHING = Entry(0, 0.0, {}, {})


def entries(stats: Iterable[Any], overhead: Overhead) -> dict[Key, Entry]:
    """`stats` is what `cProfile.Profile.getstats` returns."""
    found: dict[Key, Entry] = {}
    for stat in stats:
        key = key_of(stat.code)
        if not is_own(key[0]):
            found[key] = _added(found.get(key, NOTHING), _entry(stat, overhead))
    return found


def key_of(code: CodeType | str) -> Key:
    """Of a function's code; of a native function there is a description only."""
    if isinstance(code, str):
        return NATIVE, native_name(code)
    return code.co_filename, INNER.sub("", code.co_qualname)


def is_own(file: str) -> bool:
    """Whether it is this package that made the calls, and not the measured function."""
    return file == OWN_LOOP or file.startswith(OWN_FOLDER)


def native_name(description: str) -> str:
    """`<method 'copy' of 'numpy.ndarray' objects>` → `numpy.ndarray.copy`."""
    if found := METHOD.fullmatch(description):
        return f"{found[2]}.{found[1]}"
    if found := OF_TYPE.match(description):
        return f"type.{found[1]}"
    text = ADDRESS.sub("", description)
    return found[1] if (found := BUILT_IN.fullmatch(text)) else text


def _entry(stat: Any, overhead: Overhead) -> Entry:
    natives: dict[str, Callee] = {}
    callees: dict[Key, Callee] = {}
    for sub in stat.calls or ():
        key = key_of(sub.code)
        _add(callees, key, Callee(sub.callcount, sub.totaltime * 1e9))
        if key[0] == NATIVE:
            ns = _less(sub.inlinetime, sub.callcount * overhead.native_inside_ns)
            _add(natives, key[1], Callee(sub.callcount, ns))
    if isinstance(stat.code, str):  # its own time is its callers'
        return Entry(0, 0.0, {}, callees)
    n_natives = sum(native.calls for native in natives.values())
    n_calls = sum(callee.calls for callee in callees.values())
    own_ns = _less(
        stat.inlinetime,
        stat.callcount * overhead.inside_ns
        + (n_calls - n_natives) * overhead.outside_ns
        + n_natives * overhead.native_outside_ns,
    )
    own_ns += sum(native.ns for native in natives.values())
    inner = key_of(stat.code)[1] != stat.code.co_qualname
    return Entry(0 if inner else stat.callcount, own_ns, natives, callees)


def _less(seconds: float, overhead_ns: float) -> float:
    return max(0.0, seconds * 1e9 - overhead_ns)


def _add(found: dict[Any, Callee], name: Any, callee: Callee) -> None:
    calls, ns = found.get(name, (0, 0.0))
    found[name] = Callee(calls + callee.calls, ns + callee.ns)


def _added(one: Entry, other: Entry) -> Entry:
    natives, callees = dict(one.natives), dict(one.callees)
    for native, callee in other.natives.items():
        _add(natives, native, callee)
    for key, callee in other.callees.items():
        _add(callees, key, callee)
    return Entry(one.calls + other.calls, one.own_ns + other.own_ns, natives, callees)


def summed(entries: Iterable[Entry]) -> Entry:
    return reduce(_added, entries, NOTHING)
