"""Trainings that are kept between runs: what Ctrl+C or the budget has ended goes on, and a base
that was trained once is not trained again for every change of head.

They are kept under all that a training may depend on: the code of its side, the test, what is
installed, the machine, options and variables. It is a cache: what is damaged is as good as absent,
and trainings that failed are not in it.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.files import private_folder, write_atomically
from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.model.learning import Training
from pytest_rlperf.reading import parse_json, typed
from pytest_rlperf.trees.cache import digest
from pytest_rlperf.trees.git import Revision, working_state
from pytest_rlperf.trees.reach import changed_files
from pytest_rlperf.wire import plain

FOLDER = "trainings"
"""Of the cache."""
DAYS = 7
"""What a training depends on may change without a trace here, such as a file outside of the
repository: what is older is not used."""
Seeds = dict[int, Training]


@dataclass(frozen=True, slots=True)
class KeptTrainings:
    """The trainings of one project's tests, by the code of a side."""

    folder: Path
    sides: Mapping[int, str]  # the code of each side, by its number
    conditions: Mapping[str, str]  # what else it depends on, by node id

    def load(self, benchmark: Benchmark, side: int) -> Seeds:
        """Return what is known of a test on one side, by seed."""
        file = self._file(benchmark, side)
        try:
            if time.time() - file.stat().st_mtime > DAYS * 86_400:
                return {}
            trainings = typed(tuple[Training, ...], parse_json(file.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return {}
        return {training.seed: training for training in trainings if training.failure is None}

    def keep(self, benchmark: Benchmark, side: int, seeds: Seeds) -> None:
        """Write what is known now; where it cannot be written, it is trained again."""
        good = [plain(training) for training in seeds.values() if training.failure is None]
        with suppress(OSError):
            private_folder(self.folder)
            write_atomically(self._file(benchmark, side), json.dumps(good))

    def _file(self, benchmark: Benchmark, side: int) -> Path:
        nodeid = benchmark.nodeid
        parts = (nodeid, benchmark.source_hash, self.conditions[nodeid], self.sides[side])
        return self.folder / f"{digest(*parts)}.json"


def code_of(
    root: Path, revision: Revision | None, tests: Iterable[Path], besides: Path
) -> str | None:
    """Return a name for the code of a side: a revision with head's `tests`, or the working tree,
    whose folder `besides` holds none; None: it lies in no repository that knows its code.
    """
    if revision is not None:
        return digest(revision.sha, *_contents(tests))
    sha = working_state(root).sha
    if sha is None:
        return None
    no_code = Path(os.path.realpath(besides))
    changed = (file for file in changed_files(root, sha, None) if not file.is_relative_to(no_code))
    return digest(sha, *_contents(sorted(changed)))


def _contents(files: Iterable[Path]) -> Iterator[str]:
    for file in files:
        yield str(file)
        yield hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "gone"
