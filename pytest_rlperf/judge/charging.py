"""Time outside of the project, charged to the functions of the project that spend it.

Whoever asks why a test became slower wants to hear of a function that can be mended: of the one
that began to copy, not of the copying. What a library's function takes is charged to its callers,
in proportion to what it took when each of them called it, and so on until it reaches the project
(Graham, Kessler & McKusick, gprof, SIGPLAN 1982). A library's function that nobody in the project
called keeps its time.
"""

from collections.abc import Hashable, Mapping, Set
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)

SWEEPS = 200
"""Functions of a library that call each other pass time round: each sweep leaves less of it."""
NOTHING_LEFT = 1e-6


def charged(
    own: Mapping[Name, float], spent: Mapping[Name, Mapping[Name, float]], outside: Set[Name]
) -> dict[Name, float]:
    """`own` time of each function; `spent[caller][callee]` is what calls along that way took."""
    callers = _callers(spent)
    amounts = dict(own)
    least = NOTHING_LEFT * sum(own.values())
    for _ in range(SWEEPS):
        due = [name for name in outside if amounts.get(name, 0.0) > least and name in callers]
        if not due:
            break
        for name in due:
            amount, amounts[name] = amounts[name], 0.0
            for caller, share in callers[name].items():
                amounts[caller] = amounts.get(caller, 0.0) + share * amount
    return {
        name: amount for name, amount in amounts.items() if name not in outside or amount > least
    }


def _callers(spent: Mapping[Name, Mapping[Name, float]]) -> dict[Name, dict[Name, float]]:
    """Of each function those that call it, with their shares; itself is none."""
    found: dict[Name, dict[Name, float]] = {}
    for caller, callees in spent.items():
        for callee, ns in callees.items():
            if callee != caller and ns > 0:
                found.setdefault(callee, {})[caller] = ns
    return {
        callee: {caller: ns / sum(shares.values()) for caller, ns in shares.items()}
        for callee, shares in found.items()
    }
