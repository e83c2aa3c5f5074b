"""Exact call counts and time by function, from the interpreter's own profiling events.

What the profiler itself costs an event is measured and taken off again: without that a cheap
function that is called more often would be blamed for the profiler's time.

A function's time is that of its own code and of the native functions it calls. Comprehensions are
part of the function they stand in, as they are from Python 3.12 on. Numba reports a compiled
function to the profiler as if it were a Python one, so its time is its own; what was inlined into
it is not seen.
"""

import cProfile
import re
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import repeat
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import pytest_rlperf
from pytest_rlperf.model.profile import Callee, FunctionRecord, Key, SlicesProfile
from pytest_rlperf.worker.clock import Elapsed

# -- what an event costs -------------------------------------------------------------------------

NS = 1e-9
"""The unit of the clock's readings, in seconds."""
CALLS = 2_000
ROUNDS = 7


@dataclass(frozen=True, slots=True)
class Overhead:
    """The profiler's own nanoseconds a call, counted as the called function's and the caller's."""

    inside_ns: float = 0.0
    outside_ns: float = 0.0
    native_inside_ns: float = 0.0
    native_outside_ns: float = 0.0


def event_overhead(read_ns: Callable[[], int]) -> Overhead:
    """Measure what an event costs: the least of a few rounds, since noise only adds. On a fake
    clock events cost nothing.
    """
    inside_ns, outside_ns = _costs(read_ns, _nothing)
    native_inside_ns, native_outside_ns = _costs(read_ns, ().count, None)
    return Overhead(inside_ns, outside_ns, native_inside_ns, native_outside_ns)


def _nothing() -> None: ...


def _calling(function: Callable[..., Any], *args: Any) -> None:
    for _ in repeat(None, CALLS):
        function(*args)


def _costs(
    read_ns: Callable[[], int], function: Callable[..., Any], *args: Any
) -> tuple[float, float]:
    """Return the cost inside and outside of a call of a function that does nothing."""
    bare_ns = min(_bare_ns(read_ns, function, *args) for _ in range(ROUNDS))
    profiled = [_profiled_ns(read_ns, function, *args) for _ in range(ROUNDS)]
    inside_ns, outside_ns = map(min, zip(*profiled, strict=True))
    return inside_ns, max(0.0, outside_ns - bare_ns)


def _bare_ns(read_ns: Callable[[], int], function: Callable[..., Any], *args: Any) -> float:
    begun = read_ns()
    _calling(function, *args)
    return (read_ns() - begun) / CALLS


def _profiled_ns(
    read_ns: Callable[[], int], function: Callable[..., Any], *args: Any
) -> tuple[float, float]:
    """Return a call's time as the profiler sees it: the function's own, and its caller's."""
    profile = cProfile.Profile(read_ns, NS)
    profile.enable()
    _calling(function, *args)
    profile.disable()
    inside_s = outside_s = 0.0
    for stat in profile.getstats():
        if stat.code is _calling.__code__:
            outside_s = stat.inlinetime
        elif stat.callcount == CALLS:
            inside_s = stat.inlinetime
    return inside_s / NS / CALLS, outside_s / NS / CALLS


# -- from what cProfile lists to functions by name, without this package's own -------------------

OWN_FOLDER = str(Path(pytest_rlperf.__file__).parent)
OWN_LOOP = "<rlperf loop>"
NATIVE = ""
"""Stands in the place of a file. Some native functions call Python ones, such as
`numpy.ndarray.max`."""

INNER = re.compile(r"(\.<locals>\.<(listcomp|setcomp|dictcomp|genexpr)>)+$")
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
METHOD = re.compile(r"<method '(.+)' of '(.+)' objects>")
OF_TYPE = re.compile(r"<built-in method (.+) of type object")
BUILT_IN = re.compile(r"<built-in method (?:builtins\.)?(.+)>")


class ProfileEntry(NamedTuple):
    """One function in one slice."""

    calls: int
    own_ns: float
    natives: Mapping[str, Callee]
    callees: Mapping[Key, Callee]


NOTHING = ProfileEntry(0, 0.0, {}, {})


def entries(stats: Iterable[Any], overhead: Overhead) -> dict[Key, ProfileEntry]:
    """Return the functions in `stats`, which `cProfile.Profile.getstats` returns."""
    by_key: dict[Key, ProfileEntry] = {}
    for stat in stats:
        key = key_of(stat.code)
        if not is_own(key[0]):
            by_key[key] = _added(by_key.get(key, NOTHING), _entry(stat, overhead))
    return by_key


def key_of(code: CodeType | str) -> Key:
    """Return the key of a function's code; a native function has a description only."""
    if isinstance(code, str):
        return NATIVE, native_name(code)
    return code.co_filename, INNER.sub("", code.co_qualname)


def is_own(file: str) -> bool:
    """Return whether it is this package that made the calls, and not the measured function."""
    return file == OWN_LOOP or file.startswith(OWN_FOLDER)


def native_name(description: str) -> str:
    """Shorten `<method 'copy' of 'numpy.ndarray' objects>` to `numpy.ndarray.copy`."""
    if match := METHOD.fullmatch(description):
        return f"{match[2]}.{match[1]}"
    if match := OF_TYPE.match(description):
        return f"type.{match[1]}"
    text = ADDRESS.sub("", description)
    return match[1] if (match := BUILT_IN.fullmatch(text)) else text


def _entry(stat: Any, overhead: Overhead) -> ProfileEntry:
    natives: dict[str, Callee] = {}
    callees: dict[Key, Callee] = {}
    for sub in stat.calls or ():
        key = key_of(sub.code)
        _add(callees, key, Callee(sub.callcount, sub.totaltime * 1e9))
        if key[0] == NATIVE:
            ns = _less(sub.inlinetime, sub.callcount * overhead.native_inside_ns)
            _add(natives, key[1], Callee(sub.callcount, ns))
    if isinstance(stat.code, str):  # its own time is its callers'
        return ProfileEntry(0, 0.0, {}, callees)
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
    return ProfileEntry(0 if inner else stat.callcount, own_ns, natives, callees)


def _less(seconds: float, overhead_ns: float) -> float:
    return max(0.0, seconds * 1e9 - overhead_ns)


def _add(callees: dict[Any, Callee], name: Any, callee: Callee) -> None:
    calls, ns = callees.get(name, (0, 0.0))
    callees[name] = Callee(calls + callee.calls, ns + callee.ns)


def _added(one: ProfileEntry, other: ProfileEntry) -> ProfileEntry:
    natives, callees = dict(one.natives), dict(one.callees)
    for native, callee in other.natives.items():
        _add(natives, native, callee)
    for key, callee in other.callees.items():
        _add(callees, key, callee)
    return ProfileEntry(one.calls + other.calls, one.own_ns + other.own_ns, natives, callees)


def summed(entries: Iterable[ProfileEntry]) -> ProfileEntry:
    return reduce(_added, entries, NOTHING)


# -- the watch -----------------------------------------------------------------------------------


class FunctionWatch:
    """Runs cProfile around every slice."""

    def __init__(self, read_ns: Callable[[], int]) -> None:
        self._profile = cProfile.Profile(read_ns, NS)
        self._overhead = event_overhead(read_ns)
        self._slices: list[dict[Key, ProfileEntry]] = []
        self._elapsed: list[Elapsed] = []

    def start(self) -> None:
        self._profile.enable()

    def stop(self) -> None:
        self._profile.disable()

    def note(self, elapsed: Elapsed) -> None:
        self._slices.append(entries(self._profile.getstats(), self._overhead))
        self._elapsed.append(elapsed)
        self._profile.clear()

    def add_to(self, profile: SlicesProfile, calls: int) -> SlicesProfile:
        compiled = _compiled()
        keys = sorted({key for each in self._slices for key in each})
        return replace(
            profile,
            functions=tuple(self._record(key, calls, key in compiled) for key in keys),
            calls=calls * len(self._slices),
            computing=_computing(self._elapsed),
        )

    def _record(self, key: Key, calls: int, compiled: bool) -> FunctionRecord:
        """Return one function over all slices, each of `calls` calls."""
        slices = [each.get(key, NOTHING) for each in self._slices]
        times = [entry.own_ns / calls for entry in slices]
        whole = summed(slices)
        return FunctionRecord(
            key=key,
            calls=whole.calls,
            typical_ns=statistics.median(times),
            mean_ns=statistics.fmean(times),
            compiled=compiled,
            natives=whole.natives,
            callees=tuple(whole.callees.items()),
        )


def _computing(slices: Iterable[Elapsed]) -> float:
    own_ns, cpu_ns = map(sum, zip(*((each.own_ns, each.cpu_ns) for each in slices), strict=True))
    return min(1.0, cpu_ns / max(1, own_ns))


def _compiled() -> set[Key]:
    """Return the functions that Numba compiled, as far as modules know them by a name."""
    if "numba" not in sys.modules:
        return set()
    codes = (
        getattr(getattr(value, "py_func", None), "__code__", None)
        for module in list(sys.modules.values())
        for value in list(getattr(module, "__dict__", {}).values())
        # Others may do anything when they are asked for an attribute.
        if str(type(value).__module__).startswith("numba.")
    )
    return {key_of(code) for code in codes if isinstance(code, CodeType)}
