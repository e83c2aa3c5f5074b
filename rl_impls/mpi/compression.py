"""How the values of a message are written: exactly, or shorter with an error that stays small.

What a message could not convey is not lost: the rank that sent it still holds it, and it is part of
the next difference between its table and the agreed one (error feedback).
"""

from __future__ import annotations

from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rl_impls.errors import SettingError

Number = TypeVar("Number", np.float32, np.float16)
Values = NDArray[np.float32]
Bytes = NDArray[np.uint8]

# So many neighbours share a scale, one byte.
GROUP: Final = 64
MOST_INT8: Final = 127
# Of a scale: below, float32 itself has no full precision.
LEAST_EXPONENT: Final = -126


class Codec(Protocol):
    @property
    def name(self) -> str: ...

    def pack(self, values: Values) -> Bytes: ...

    def unpack(self, data: Bytes, n: int) -> Values:
        """The n values that `pack` wrote, as far as it conveyed them."""


class Exact:
    name: Final = "exact"

    def pack(self, values: Values) -> Bytes:
        return values.astype(np.float32).view(np.uint8)

    def unpack(self, data: Bytes, n: int) -> Values:
        return _as(data, np.float32, n)


class Float16:
    name: Final = "float16"

    def pack(self, values: Values) -> Bytes:
        most = np.finfo(np.float16).max
        return np.clip(values, -most, most).astype(np.float16).view(np.uint8)

    def unpack(self, data: Bytes, n: int) -> Values:
        return _as(data, np.float16, n).astype(np.float32)


class Int8:
    """Whole numbers from -127 to 127, times a power of two that suits the largest of a group: the
    product, and what it leaves over, are exact."""

    name: Final = "int8"

    def pack(self, values: Values) -> Bytes:
        groups = _in_groups(values)
        _, exponents = np.frexp(np.abs(groups).max(axis=1, initial=0.0) / MOST_INT8)
        exponents = np.maximum(exponents, LEAST_EXPONENT)
        whole = np.rint(np.ldexp(groups, -exponents[:, None]))
        numbers = np.clip(whole, -MOST_INT8, MOST_INT8).astype(np.int8).reshape(-1)
        written = (exponents.astype(np.int8), numbers[: len(values)])
        return np.concatenate(written).view(np.uint8)

    def unpack(self, data: Bytes, n: int) -> Values:
        n_groups = -(-n // GROUP)
        numbers = data.view(np.int8)
        groups = _in_groups(numbers[n_groups:].astype(np.float32))
        values: Values = np.ldexp(groups, numbers[:n_groups, None].astype(np.int32)).reshape(-1)
        return values[:n]


_ALL: Final[tuple[Codec, ...]] = (Exact(), Float16(), Int8())
CODECS: Final = {codec.name: codec for codec in _ALL}
DEFAULT: Final = Float16.name


def codec_named(name: str) -> Codec:
    if name not in CODECS:
        raise SettingError(f"there is no compression {name!r}: choose {', '.join(CODECS)}.")
    return CODECS[name]


def _as(data: Bytes, kind: type[Number], n: int) -> NDArray[Number]:
    # Copied: it may begin anywhere in a message, and numbers lie at multiples of their size.
    return data.copy().view(kind)[:n]


def _in_groups(values: Values) -> Values:
    """(groups, GROUP), the last one filled up with zeros."""
    padded = np.zeros(-(-len(values) // GROUP) * GROUP, np.float32)
    padded[: len(values)] = values
    return padded.reshape(-1, GROUP)
