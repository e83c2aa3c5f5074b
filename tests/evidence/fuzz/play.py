"""Many damaged files, one after the other, each in one of the commands that read its kind."""

import contextlib
import importlib
import os
import shutil
import signal
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random

from pytest_rlperf.errors import RlperfError
from rl_impls.errors import ImplsError
from tests.evidence.fuzz.subjects import REFUSED, SUBJECTS, Reader

PATIENCE_S = 20.0
"""For one input: the slowest takes a tenth of a second."""
LOADED_ONCE = "pytest_rlperf.report.page.plots"
"""Takes a second, and many times that on a crowded machine, which is no fault of an input."""
CLEAN = ("GITHUB_SERVER_URL", "GITHUB_RUN_ID", "GITHUB_STEP_SUMMARY", "RLPERF_CACHE")


class Hang(BaseException):
    """An input took longer than its time; no `except Exception` keeps it."""


@dataclass(frozen=True)
class Failure:
    """An input that ended neither well nor in a sentence."""

    subject: str
    reader: str
    number: int
    kind: str  # "traceback", "hang" or "unfit"
    text: str

    @property
    def place(self) -> str:
        """The last line of its traceback, and the last frame of ours: one for each mistake."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        ours = [line for line in lines if "/pytest_rlperf/" in line or "/rl_impls/" in line]
        return f"{(ours or lines)[-1]}: {lines[-1][:160]}"


@dataclass
class Tally:
    """What came of the inputs so far."""

    ends: Counter[tuple[str, str]] = field(default_factory=Counter)  # by subject and end
    failures: list[Failure] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(self.ends.values())


def play(count: int, seed: int, names: Sequence[str] = tuple(SUBJECTS), first: int = 0) -> Tally:
    """Play `count` inputs, from number `first` on: the same seed and number make the same one."""
    tally = Tally()
    importlib.import_module(LOADED_ONCE)
    with _workplace() as folder:
        for number in range(first, first + count):
            name = names[number % len(names)]
            subject, rng = SUBJECTS[name], Random(f"{seed} {number}")
            sample = rng.choice(subject.samples())
            reader = rng.choice(sorted(subject.readers))
            path = folder / subject.file
            path.write_bytes(subject.damage(rng, sample))
            if rng.random() < 0.01:
                _spoil(rng, path)
            _note(tally, name, reader, number, path, folder)
    return tally


def play_good(name: str) -> Tally:
    """Hand what is not damaged to every reader of its kind."""
    tally = Tally()
    subject = SUBJECTS[name]
    with _workplace() as folder:
        for number, (sample, reader) in enumerate(product(subject.samples(), subject.readers)):
            path = folder / subject.file
            path.write_bytes(sample)
            _note(tally, name, reader, number, path, folder)
    return tally


def _note(tally: Tally, name: str, reader: str, number: int, path: Path, folder: Path) -> None:
    end, text = _read(SUBJECTS[name].readers[reader], path, folder)
    tally.ends[name, end] += 1
    if text:
        tally.failures.append(Failure(name, reader, number, end, text))
    _clean(path)


def _spoil(rng: Random, path: Path) -> None:
    """Put a folder, a link that goes round or nothing in the place of the file."""
    path.unlink()
    act = rng.randrange(3)
    if act == 0:
        path.mkdir()
    elif act == 1:
        path.symlink_to(path.name)


def _clean(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def _read(reader: Reader, path: Path, folder: Path) -> tuple[str, str]:
    try:
        with _limited():
            code = reader(path, folder)
    except Hang:
        return "hang", traceback.format_exc()
    except (RlperfError, ImplsError):
        return "refused", ""
    except AssertionError:
        return "unfit", traceback.format_exc()
    except (Exception, SystemExit):
        return "traceback", traceback.format_exc()
    return "refused" if code == REFUSED else "accepted", ""


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _workplace() -> Iterator[Path]:
    """Make a folder of our own the current one, in no repository and with no job's environment."""
    before = {name: os.environ.pop(name) for name in CLEAN if name in os.environ}
    outer = Path(tempfile.mkdtemp(prefix="rlperf-fuzz-"))
    folder = outer / "work"
    folder.mkdir()
    try:
        with contextlib.chdir(folder):
            yield folder
    finally:
        shutil.rmtree(outer)
        os.environ.update(before)
