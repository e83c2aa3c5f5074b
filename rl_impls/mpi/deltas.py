"""What a rank learned, as a message: the entries that changed, how often, and by how much.

Layout: three numbers of 32 bits (entries, long gaps, long counts), the gaps between the entries'
places and the counts of their visits, a byte each, then the values. A gap or a count that does not
fit into its byte stands behind the bytes of its kind, and its byte says LONG.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rl_impls.mpi.compression import Bytes, Codec, Values

LONG: Final = 255
HEAD_BYTES: Final = 12
LONG_BYTES: Final = 8

Places = NDArray[np.int64]  # in the flat table: state * n_actions + action
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Deltas:
    places: Places  # ascending
    counts: Counts  # visits, as far as they were counted
    values: Values  # by how much the entry is above the agreed one

    def __len__(self) -> int:
        return len(self.places)


def packed(deltas: Deltas, codec: Codec) -> Bytes:
    gaps = np.diff(deltas.places, prepend=-1) - 1
    short_gaps, long_gaps = _split(gaps)
    short_counts, long_counts = _split(deltas.counts)
    head = np.array([len(deltas), len(long_gaps), len(long_counts)], np.uint32)
    parts = (head, short_gaps, long_gaps, short_counts, long_counts, codec.pack(deltas.values))
    return np.concatenate([part.view(np.uint8) for part in parts])


def unpacked(data: Bytes, codec: Codec) -> Deltas:
    head = np.frombuffer(data[:HEAD_BYTES].tobytes(), np.uint32)
    n, n_long_gaps, n_long_counts = head.tolist()
    rest = data[HEAD_BYTES:]
    gaps, rest = _joined(rest, n, n_long_gaps)
    counts, rest = _joined(rest, n, n_long_counts)
    return Deltas(np.cumsum(gaps + 1) - 1, counts, codec.unpack(rest, n))


def _split(numbers: NDArray[np.int64]) -> tuple[Bytes, NDArray[np.int64]]:
    return np.minimum(numbers, LONG).astype(np.uint8), numbers[numbers >= LONG]


def _joined(data: Bytes, n: int, n_long: int) -> tuple[NDArray[np.int64], Bytes]:
    """The numbers at the beginning of `data`, and what follows them."""
    end = n + n_long * LONG_BYTES
    numbers = data[:n].astype(np.int64)
    numbers[data[:n] == LONG] = np.frombuffer(data[n:end].tobytes(), np.int64)
    return numbers, data[end:]
