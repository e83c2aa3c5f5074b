"""Commands that tools start: in the project's folder, without writing into it, for a bounded time.

A run leaves its result in the cache folder, where later questions find it.
"""

import asyncio
import datetime
import os
import secrets
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import private_folder
from pytest_rlperf.trees.cache import RESULTS, SNIPPETS, cache_folder, digest

KEPT_RESULTS, NAMED_RESULTS = 20, 5
"""Of each project; older ones go."""
END_S = 20.0
"""A run that is told to end first keeps what it has measured."""
MOST_OUTPUT = 1 << 20
NO_CACHE = ("-p", "no:cacheprovider")


@dataclass(frozen=True, slots=True)
class Done:
    """A command that is over."""

    code: int | None  # None: it took too long and was ended
    output: str


async def run_bounded(
    command: Sequence[str], cwd: Path, env: Mapping[str, str], deadline_s: float
) -> Done:
    """Run a command; one that takes too long, or that nobody waits for any more, is ended."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env=dict(env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    reading = asyncio.ensure_future(process.communicate())
    try:
        said, _ = await asyncio.wait_for(asyncio.shield(reading), deadline_s)
        return Done(process.returncode, _decoded(said))
    except TimeoutError:
        return Done(None, _decoded(await _ended(process, reading)))
    except asyncio.CancelledError:
        await _ended(process, reading)
        raise


async def _ended(
    process: asyncio.subprocess.Process, reading: "asyncio.Future[tuple[bytes, bytes]]"
) -> bytes:
    """End a command, gently first, and return what it said."""
    if process.returncode is None:
        process.terminate()
    try:
        said, _ = await asyncio.wait_for(asyncio.shield(reading), END_S)
    except TimeoutError:
        process.kill()
        said, _ = await reading
    return said


def _decoded(said: bytes) -> str:
    return said[-MOST_OUTPUT:].decode("utf-8", "replace")


# -- how they are started -----------------------------------------------------------------------


def environment(inherited: Mapping[str, str], added: Sequence[str] = ()) -> dict[str, str]:
    """Return the environment of a command that leaves no trace in its folder; `added` are options
    of pytest that shall not stand in the command that repeats a test.
    """
    options = [inherited.get("PYTEST_ADDOPTS", ""), shlex.join([*NO_CACHE, *added])]
    return {
        **inherited,
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "NO_COLOR": "1",
        "PYTEST_ADDOPTS": " ".join(filter(None, options)),
    }


def pytest_command(*args: str) -> list[str]:
    return [sys.executable, "-m", "pytest", *args]


def rlperf_command(*args: str) -> list[str]:
    return [sys.executable, "-m", "pytest_rlperf.cli", *args]


def checked_words(words: Sequence[str], what: str) -> list[str]:
    """Return names that an assistant gave; one that would be taken for an option is refused."""
    for word in words:
        if not word.strip() or word.startswith("-"):
            raise UsageError(f"{word!r} is no {what}; give one that does not begin with a dash.")
    return list(words)


# -- what they leave ----------------------------------------------------------------------------

LAST = "last"


@dataclass(frozen=True, slots=True)
class KeptResults:
    """The results of one project's runs, in the cache folder."""

    folder: Path

    @classmethod
    def of(cls, project: Path, environ: Mapping[str, str]) -> "KeptResults":
        return cls(cache_folder(environ) / RESULTS / digest(str(project)))

    def new(self) -> Path:
        """Return where the next run is to write its result, and drop the oldest ones."""
        private_folder(self.folder)
        for old in self._newest_first()[KEPT_RESULTS - 1 :]:
            old.unlink(missing_ok=True)
        now = datetime.datetime.now(datetime.UTC)
        return self.folder / f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}.json"

    def find(self, name: str) -> Path:
        """Return the result of a name that a tool gave, the last one, or a file of the user."""
        kept = self._newest_first()
        if name == LAST:
            if not kept:
                raise UsageError("nothing was measured here yet; measure first.")
            return kept[0]
        path = next((path for path in kept if path.stem == name), Path(name))
        if not path.exists():
            names = (
                ", ".join([LAST, *(each.stem for each in kept[:NAMED_RESULTS])]) if kept else "none"
            )
            raise UsageError(f"there is no result {name!r}, and no such file; there is: {names}.")
        return path

    def _newest_first(self) -> list[Path]:
        return sorted(self.folder.glob("*.json"), key=os.path.getmtime, reverse=True)


KEPT_SNIPPETS = 10


def snippets_folder(key: str, environ: Mapping[str, str]) -> Path:
    """Return an empty folder for a project of snippets, and drop the oldest ones."""
    place = cache_folder(environ) / SNIPPETS
    private_folder(place)
    folder = place / key
    shutil.rmtree(folder, ignore_errors=True)
    for old in sorted(place.iterdir(), key=os.path.getmtime, reverse=True)[KEPT_SNIPPETS - 1 :]:
        shutil.rmtree(old, ignore_errors=True)
    folder.mkdir()
    return folder
