"""Time by line of one function, the functions it calls included.

Every line of it costs an event, about as much as a short line itself: shares are to be compared
between the sides, not with other functions.
"""

import inspect
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from pytest_rlperf.measure.clock import Elapsed


class LineWatch:
    """Traces the frames of one function and no other."""

    def __init__(self, wanted: str, read_ns: Callable[[], int]) -> None:
        self._file, _, self._name = wanted.rpartition(":")
        self._read_ns = read_ns
        self._code: CodeType | None = None
        self._cost: dict[int, list[float]] = {}  # by line: hits, ns
        self._line: dict[FrameType, tuple[int, int]] = {}  # running now, since
        self._slices = 0

    def start(self) -> None:
        sys.settrace(self._called)

    def stop(self) -> None:
        sys.settrace(None)
        self._line.clear()

    def note(self, elapsed: Elapsed) -> None:
        self._slices += 1

    def facts(self, calls: int) -> dict[str, Any]:
        number = max(1, calls * self._slices)
        return {"line_profile": None if self._code is None else self._of(self._code, number)}

    def _of(self, code: CodeType, number: int) -> dict[str, Any]:
        try:
            source, first = inspect.getsourcelines(code)
        except OSError:
            source, first = [], code.co_firstlineno
        return {
            "first": first,
            "source": [line.rstrip() for line in source],
            "lines": {n: [hits / number, ns / number] for n, (hits, ns) in self._cost.items()},
        }

    def _called(self, frame: FrameType, event: str, _arg: object) -> Any:
        code = frame.f_code
        if code is not self._code and not (self._code is None and self._is_wanted(code)):
            return None
        self._code = code
        return self._traced

    def _is_wanted(self, code: CodeType) -> bool:
        name = code.co_qualname
        return (name == self._name or name.endswith(f".{self._name}")) and (
            not self._file or code.co_filename.endswith(self._file)
        )

    def _traced(self, frame: FrameType, event: str, _arg: object) -> Any:
        now = self._read_ns()
        if (before := self._line.pop(frame, None)) is not None:
            line, since = before
            cost = self._cost.setdefault(line, [0.0, 0.0])
            cost[0] += 1
            cost[1] += now - since
        if event == "line":
            self._line[frame] = (frame.f_lineno, self._read_ns())
        return self._traced
