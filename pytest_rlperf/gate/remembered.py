"""What scouts saw, kept in the cache folder: a later run knows how long tests take before it has
run one, and against stored baselines it need not scout them again.

It is a cache: what is damaged, or of another test, interpreter or machine, is as good as absent.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pytest_rlperf.files import private_folder, write_atomically
from pytest_rlperf.gate.track import Benchmark, ScoutRecord
from pytest_rlperf.machine.fingerprint import comparable
from pytest_rlperf.model.result import Fingerprint
from pytest_rlperf.reading import parse_json, typed
from pytest_rlperf.trees.cache import digest
from pytest_rlperf.wire import plain
from pytest_rlperf.worker.kernels import EDITION, PIECE_CALLS

UNUSED_DAYS = 60
"""What no run has asked for this long is dropped."""


@dataclass(frozen=True, slots=True)
class RememberedScouts:
    """The scouts of one project, by test."""

    file: Path
    keys: Mapping[str, str]  # under which the file holds a test, by node id
    today: int  # in days since the epoch

    @classmethod
    def of(
        cls,
        cache: Path,
        root: Path,
        benchmarks: Iterable[Benchmark],
        fingerprint: Fingerprint,
        today: int,
    ) -> "RememberedScouts":
        """Return those of the project with this root; a test that changed has another key, and so
        has one that another interpreter, numpy or machine runs.
        """
        keys = {
            b.nodeid: digest(
                b.nodeid,
                b.source_hash,
                json.dumps(comparable(fingerprint, b.spec.threads)),
                str(EDITION),
            )
            for b in benchmarks
        }
        return cls(cache / "scouts" / f"{digest(str(root))}.json", keys, today)

    def load(self) -> dict[str, ScoutRecord]:
        """Return what is known of these tests, by node id."""
        rows = self._rows()
        known = {nodeid: _record(rows.get(key)) for nodeid, key in self.keys.items()}
        return {nodeid: record for nodeid, record in known.items() if record is not None}

    def keep(self, scouts: Mapping[str, ScoutRecord]) -> None:
        """Add these to what the file holds; where it cannot be written, they are scouted again."""
        new = {self.keys[n]: plain(replace(each, day=self.today)) for n, each in scouts.items()}
        rows = {key: row for key, row in self._rows().items() if self._is_recent(row)} | new
        with suppress(OSError):
            private_folder(self.file.parent)
            write_atomically(self.file, json.dumps(rows))

    def _rows(self) -> dict[str, Any]:
        try:
            rows = parse_json(self.file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return rows if isinstance(rows, dict) else {}

    def _is_recent(self, row: object) -> bool:
        day = row.get("day") if isinstance(row, dict) else None
        return isinstance(day, int) and self.today - day <= UNUSED_DAYS


def _record(row: object) -> ScoutRecord | None:
    """Return the record that a row holds; None: it is none, or has numbers that no scout sees."""
    try:
        record = typed(ScoutRecord, row)
        seen, speeds = record.seen, record.speeds
        numbers = [number for number in asdict(seen).values() if number is not None]
        sound = min(record.seconds, *numbers) >= 0 and seen.iterations > 0
        if speeds is not None:
            known = speeds.unit_ns.keys() <= PIECE_CALLS.keys()
            sound = sound and known and min(speeds.unit_ns.values()) > 0
        return record if sound else None
    except (ValueError, TypeError):
        return None
