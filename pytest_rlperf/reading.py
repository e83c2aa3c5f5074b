"""What came from elsewhere, as data: checked whole before anything of it is used.

A file may have been edited, cut off or made up, and so may the answer of a server. `parse_json`
takes JSON that is whole and whose numbers are finite. `typed` makes of it what a type says: a data
class, a named tuple, a typed dictionary. It looks at every type, range and depth, and names the
first place that does not fit: whoever has the data then need not look again.
"""

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NoReturn,
    NotRequired,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pytest_rlperf.errors import UsageError

Kind = TypeVar("Kind")
Read = Callable[[Any], Any]

MOST = 1e30
"""Nothing that is measured is larger; squares and products of what is not larger stay finite."""
LEAST = 1e-30
"""What is smaller counts as nothing: dividing by it would be beyond all bounds."""
MOST_WHOLE = 2**63
DEEPEST = 40
"""Levels of what has no type of its own, such as a test's metadata."""


class Damage(ValueError):
    """Raised where something is not what its type says; `where` names the place."""

    def __init__(self, *way: str) -> None:
        super().__init__(*way)
        self.way = list(way)

    @property
    def where(self) -> str:
        return "".join(self.way).removeprefix(".") or "its top"

    def __str__(self) -> str:
        return f"is damaged at {self.where}"


# -- what a value must be besides of its type ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fits:
    """Something that a type cannot say, for `Annotated`."""

    holds: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Like:
    """The data of a data class that are left as JSON has them."""

    kind: type


CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
Name = Annotated[str, Fits(lambda text: not CONTROL.search(text))]
"""One line: what names tests, units and commits has no end of a line, nor an escape, nor a mark
that turns the direction of text."""
Positive = Annotated[float, Fits(lambda number: number >= LEAST)]
NotNegative = Annotated[float, Fits(lambda number: number >= 0)]
Whole = Annotated[int, Fits(lambda number: number >= 0)]
Counting = Annotated[int, Fits(lambda number: number >= 1)]


def is_growth(share: float) -> bool:
    """Return whether it can be a change, as a fraction, of what is never less than nothing."""
    return share > -1 + 1e-12


Growth = Annotated[float, Fits(is_growth)]
"""A change, as a fraction: no time and no size becomes less than nothing."""


def _is_path(text: str) -> bool:
    try:
        os.fsencode(text)
    except ValueError:
        return False
    return True


PathText = Annotated[Name, Fits(_is_path)]
"""What can be the name of a file."""


# -- JSON ---------------------------------------------------------------------------------------


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; raises ValueError for what is none, and for numbers that are not finite."""
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"it holds {text}, which is no finite number")
    return number


def read_text(path: Path, anew: str) -> str:
    """Return the text in `path`; `anew` says how to get a good one."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        refuse(path, "does not exist", anew)
    except OSError as error:
        refuse(path, f"cannot be read ({error.strerror})", "it must be a file that you may read")
    except ValueError as error:  # no UTF-8, or no name of a file
        refuse(path, f"is no text ({error})", anew)


def read_json(path: Path, anew: str) -> Any:
    """Return what `path` holds; `anew` says how to get a good one."""
    text = read_text(path, anew)
    try:
        return parse_json(text)
    except ValueError as error:  # only a part of it, or NaN in it
        refuse(path, f"is no whole JSON file ({error})", anew)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; raises ValueError for what is none."""
    try:
        import tomllib  # here: this module is loaded in every worker, which reads no such file

        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_toml(path: Path) -> dict[str, Any] | None:
    """Return the tables in `path`; None: there is no such file."""
    if not os.path.lexists(path):
        return None
    try:
        return parse_toml(read_text(path, "correct it"))
    except ValueError as error:
        refuse(path, f"cannot be read ({error})", "correct it")


def check_schema(
    path: Path, content: Mapping[str, Any], schema: int, anew: str, oldest: int | None = None
) -> None:
    """Refuse newer files, which are for newer versions, and those older than `oldest`."""
    number = content.get("schema")
    if type(number) is int and schema < number < MOST_WHOLE:
        newer = f"has schema {number}, and this version reads up to {schema}"
        refuse(path, newer, "update pytest-rlperf")
    if type(number) is not int or not (schema if oldest is None else oldest) <= number <= schema:
        refuse(path, f"has the unknown schema {short(number)}", anew)


def short(value: object) -> str:
    """Return what a value is in few letters, however long it is."""
    if isinstance(value, int) and abs(value) >= MOST_WHOLE:
        return "of many digits"
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "a table"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


@contextmanager
def refusing(path: Path, anew: str) -> Iterator[None]:
    """Refuse the file at its first damage."""
    try:
        yield
    except Damage as damage:
        refuse(path, str(damage), anew)


def refuse(path: Path, what: str, advice: str) -> NoReturn:
    raise UsageError(f"{path} {what}; {advice}.")


# -- data by their types ------------------------------------------------------------------------


def typed(kind: type[Kind], data: object) -> Kind:
    """Return JSON as an instance of `kind`. What is missing has its default, and what may be null
    is null where it is missing; whatever does not fit raises Damage.
    """
    try:
        return cast(Kind, _reader(cast(Any, kind))(data))
    except RecursionError:
        raise Damage from None


@cache
def _reader(kind: Any) -> Read:
    """Return the function that reads one kind of value; made once for each kind."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _bounded(args[0], args[1:])
    if origin is NotRequired:
        return _reader(args[0])
    if origin in (Union, UnionType):
        return partial(_one_of, tuple(map(_reader, args)))
    if origin in (tuple, list):
        return _of_sequence(origin, args)
    if origin is not None and issubclass(origin, Mapping):
        return partial(_mapping, _reader(args[0]), args[0] is int, _reader(args[1]))
    if is_typeddict(kind):
        return _of_typed_dict(kind)
    if is_dataclass(kind):
        return _of_dataclass(kind)
    if isinstance(kind, type) and issubclass(kind, tuple):  # a named one
        return _of_named_tuple(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return partial(_enum, {member.value: member for member in kind})
    return SCALARS[kind]


def _int(data: Any) -> int:
    if type(data) is not int or not -MOST_WHOLE <= data < MOST_WHOLE:
        raise Damage
    return data


def _float(data: Any) -> float:
    # Not finite: between processes only, which says "without limit".
    if type(data) not in (int, float) or (not -MOST <= data <= MOST and abs(data) != math.inf):
        raise Damage
    return 0.0 if 0 < abs(data) < LEAST else data


def _exact(kind: type, data: Any) -> Any:
    if type(data) is not kind:
        raise Damage
    return data


def _none(data: Any) -> None:
    if data is not None:
        raise Damage


def _anything(data: Any, depth: int = 0) -> Any:
    """Return JSON that has no type of its own, if it is neither too deep nor too large."""
    if depth > DEEPEST:
        raise Damage
    for each in data.values() if isinstance(data, dict) else data if type(data) is list else ():
        _anything(each, depth + 1)
    if type(data) is int:
        _int(data)
    return data


SCALARS: Mapping[Any, Read] = {
    int: _int,
    float: _float,
    str: partial(_exact, str),
    bool: partial(_exact, bool),
    dict: partial(_exact, dict),
    NoneType: _none,
    Any: _anything,
    object: _anything,
}


def _bounded(kind: Any, conditions: tuple[Any, ...]) -> Read:
    read = _reader(kind)

    def bounded(data: Any) -> Any:
        value = read(data)
        for condition in conditions:
            if isinstance(condition, Fits) and not condition.holds(value):
                raise Damage
            if isinstance(condition, Like):
                _reader(condition.kind)(data)
        return value

    return bounded


def _one_of(arms: tuple[Read, ...], data: Any) -> Any:
    """Read what may be of several kinds; the damage deepest inside says most."""
    worst = Damage()
    for read in arms:
        try:
            return read(data)
        except Damage as damage:
            worst = max(worst, damage, key=lambda damage: len(damage.way))
    raise worst


def _enum(members: Mapping[Any, Enum], data: Any) -> Enum:
    if not isinstance(data, str) or data not in members:
        raise Damage
    return members[data]


def _of_sequence(origin: Any, args: tuple[Any, ...]) -> Read:
    if origin is list or args[-1] is Ellipsis:
        return partial(_sequence, origin, _reader(args[0]))
    return partial(_row, tuple(map(_reader, args)))


def _sequence(make: Callable[[Any], Any], read: Read, data: Any) -> Any:
    if not isinstance(data, list | tuple):
        raise Damage
    try:
        return make(map(read, data))
    except Damage:  # which of them? They are read again
        return make(_inside(f"[{i}]", read, each) for i, each in enumerate(data))


def _row(readers: tuple[Read, ...], data: Any) -> tuple[Any, ...]:
    if not isinstance(data, list | tuple) or len(data) != len(readers):
        raise Damage
    return tuple(_inside(f"[{i}]", read, data[i]) for i, read in enumerate(readers))


def _mapping(read_key: Read, numbers: bool, read: Read, data: Any) -> dict[Any, Any]:
    if not isinstance(data, dict):
        raise Damage
    values = {}
    for name, value in data.items():
        try:
            key = read_key(int(name) if numbers else name)
        except ValueError:
            raise Damage(f".{short(name)}") from None
        values[key] = _inside(f".{name}", read, value)
    return values


def _inside(place: str, read: Read, data: Any) -> Any:
    try:
        return read(data)
    except Damage as damage:
        raise _below(damage, place) from None


def _below(damage: Damage, place: str) -> Damage:
    return Damage(place if place.isprintable() else f".{short(place[1:])}", *damage.way)


def _of_typed_dict(kind: Any) -> Read:
    hints = get_type_hints(kind, include_extras=True)
    readers = {name: _reader(hint) for name, hint in hints.items()}
    required = kind.__required_keys__

    def read(data: Any) -> Any:
        if not isinstance(data, dict):
            raise Damage
        # What a later version added stays as it is.
        values = {n: _inside(f".{n}", readers.get(n, _anything), data[n]) for n in data}
        for name in sorted(required - data.keys()):
            values[name] = _absent(name, readers[name])
        return values

    return read


def _of_dataclass(kind: Any) -> Read:
    hints = get_type_hints(kind, include_extras=True)
    readers = {each.name: _reader(hints[each.name]) for each in fields(kind) if each.init}
    required = {
        each.name
        for each in fields(kind)
        if each.init and each.default is MISSING and each.default_factory is MISSING
    }

    def read(data: Any) -> Any:
        if not isinstance(data, dict):
            raise Damage
        values = {n: _inside(f".{n}", reads, data[n]) for n, reads in readers.items() if n in data}
        for name in sorted(required - data.keys()):
            values[name] = _absent(name, readers[name])
        return _made(kind, values)

    return read


def _of_named_tuple(kind: Any) -> Read:
    hints = get_type_hints(kind, include_extras=True)
    row = partial(_row, tuple(map(_reader, hints.values())))

    def read(data: Any) -> Any:
        if isinstance(data, dict):
            data = [data.get(name) for name in hints]
        return kind(*row(data))

    return read


def _absent(name: str, read: Read) -> Any:
    """Read null for what is not there: it may be, or is what does not fit."""
    return _inside(f".{name}", read, None)


def _made(kind: Any, values: dict[str, Any]) -> Any:
    """Make the data class, whose own checks know what its fields may be together."""
    try:
        return kind(**values)
    except Damage:
        raise
    except ValueError:
        raise Damage from None
