"""An environment as its interpreter describes it, and how two of them differ."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pytest_rlperf.environments import probe
from pytest_rlperf.errors import UsageError
from pytest_rlperf.machine.fingerprint import blas_in
from pytest_rlperf.model.environment import EnvironmentDifference
from pytest_rlperf.reading import Damage, typed
from pytest_rlperf.trees.ownership import relative

OLDEST = (3, 11)
NEEDED = ("pytest", "psutil")
"""What the measuring code, which comes from head, imports."""
OPTION = "--rlperf-against-python"
PATIENCE_S = 60.0
OURS = "pytest-rlperf"


@dataclass(frozen=True, slots=True)
class Distribution:
    """What is installed under one name."""

    version: str
    tags: str = ""  # of the wheel
    files: str = ""  # a digest; empty: nobody noted them
    origin: str = ""  # direct_url.json; empty: it came from an index

    @property
    def editable_from(self) -> Path | None:
        """The folder that it is imported from; None: it is installed as a copy."""
        try:
            origin = json.loads(self.origin)
            editable = origin.get("dir_info", {}).get("editable", False)
            return Path(unquote(urlsplit(origin["url"]).path)) if editable else None
        except (ValueError, KeyError, AttributeError):
            return None


@dataclass(frozen=True, slots=True)
class Description:
    """What an interpreter says of itself."""

    version: tuple[int, ...]
    path: tuple[str, ...]
    prefixes: tuple[str, ...]
    interpreter: Mapping[str, str]
    numpy: str | None = None
    distributions: Mapping[str, Distribution] = field(default_factory=dict)

    @property
    def by_name(self) -> Mapping[str, Distribution]:
        """The distributions by names that are written in one way."""
        return {re.sub(r"[-_.]+", "-", n).lower(): d for n, d in self.distributions.items()}


@dataclass(frozen=True, slots=True)
class Environment:
    """The interpreter of one side, and the import path of its workers."""

    executable: str
    sys_path: tuple[str, ...]


# -- finding and asking it ------------------------------------------------------------------------


def find_interpreter(place: str, folder: Path) -> Path:
    """Return the interpreter that `place` names, which is written in `folder`: its path, the folder
    of a virtual environment, or a name on the PATH.
    """
    path = folder / Path(place).expanduser()
    inside = [path / "bin" / name for name in ("python", "python3")]
    if path.is_dir():
        if (found := next(filter(_runs, inside), None)) is None:
            raise UsageError(
                f"{OPTION}={place} is a folder without bin/python; name the folder of a virtual "
                "environment, or an interpreter."
            )
        return Path(os.path.abspath(found))
    if _runs(path):
        return Path(os.path.abspath(path))
    by_name = shutil.which(place) if place and os.sep not in place else None
    if by_name is None:
        raise UsageError(
            f"{OPTION}={place} is no interpreter that can be run; name one, or the folder of a "
            "virtual environment."
        )
    return Path(os.path.abspath(by_name))


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def describe(executable: str | Path) -> Description:
    """Ask an interpreter what it is; refuse one that cannot run the workers."""
    try:
        asked = subprocess.run(
            [os.fspath(executable), os.fspath(probe.__file__)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        description = typed(Description, json.loads((asked.stdout.splitlines() or [""])[-1]))
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{executable} cannot be asked what it is: {error}.") from None
    except (ValueError, Damage):
        said = (asked.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise UsageError(
            f"{executable} is no Python that can be measured ({said}); name one of version "
            f"{_dotted(OLDEST)} or newer."
        ) from None
    if description.version < OLDEST:
        raise UsageError(
            f"{executable} is Python {_dotted(description.version)}, and workers need "
            f"{_dotted(OLDEST)} or newer."
        )
    if missing := [name for name in NEEDED if name not in description.by_name]:
        raise UsageError(
            f"{executable} has no {' and no '.join(missing)}; measuring there needs it: "
            f"{executable} -m pip install {' '.join(missing)}"
        )
    return description


def _dotted(version: Sequence[int]) -> str:
    return ".".join(map(str, version))


def environment_of(
    executable: Path, description: Description, link: Path, home: Path, head_path: Sequence[str]
) -> Environment:
    """Return the environment with the import path of its workers: the measuring code, which lies in
    `link` alone, then what that interpreter imports from. The project's own folders are where head
    has them: before Python's library, or at the end.
    """
    before, after = _projects(home, head_path)
    path = [str(link), *before, *description.path, *after]
    return Environment(str(executable), tuple(dict.fromkeys(path)))


def _projects(home: Path, path: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the project's folders on an import path, those before Python's library first."""
    sides: tuple[list[str], list[str]] = ([], [])
    library = os.path.realpath(os.path.dirname(os.__file__))
    passed = False
    for entry in path:
        passed = passed or os.path.realpath(entry or ".") == library
        if relative(entry or ".", str(home)) is not None:
            sides[passed].append(entry)
    return sides


def _is_inside(entry: str | Path, folder: Path) -> bool:
    return Path(os.path.realpath(entry)).is_relative_to(os.path.realpath(folder))


def link_measuring_code(folder: Path) -> Path:
    """Make a folder in which nothing but this plugin is found, whatever lies beside it here."""
    link = folder / "measuring"
    link.mkdir()
    (link / "pytest_rlperf").symlink_to(Path(probe.__file__).parents[1], target_is_directory=True)
    return link


# -- how two differ -------------------------------------------------------------------------------


def differences(
    base: Description, head: Description, home: Path
) -> tuple[EnvironmentDifference, ...]:
    """Return all in which they differ: the interpreters first, then distributions of two versions,
    then those that one lacks. What is imported from the project is measured, and no difference;
    the plugin is head's on both sides.
    """
    facts = [*_compared(base.interpreter, head.interpreter)]
    blas = _blas(base), _blas(head)
    facts += [EnvironmentDifference("BLAS of numpy", *blas)] if blas[0] != blas[1] else []
    ones, others = _installed(base, home), _installed(head, home)
    changed = [*_changed(ones, others)]
    return (*facts, *sorted(changed, key=lambda d: (d.base is None or d.head is None, d.name)))


def _compared(base: Mapping[str, str], head: Mapping[str, str]) -> Iterator[EnvironmentDifference]:
    for name in dict.fromkeys((*base, *head)):
        one, other = base.get(name, ""), head.get(name, "")
        if one != other:
            yield EnvironmentDifference(name, *_shortened(one, other))


def _shortened(one: str, other: str) -> tuple[str, str]:
    """Return the words that only one of them has, where both are lists of flags."""
    words, others = one.split(), other.split()
    if max(len(words), len(others)) < 8:
        return one, other
    only = (w for w in words if w not in others), (w for w in others if w not in words)
    return " ".join(only[0]) or "in another order", " ".join(only[1]) or "in another order"


def _blas(description: Description) -> str | None:
    return None if description.numpy is None else blas_in(Path(description.numpy))


def _installed(description: Description, home: Path) -> Mapping[str, Distribution]:
    def is_measured(name: str, each: Distribution) -> bool:
        folder = each.editable_from
        return name == OURS or (folder is not None and _is_inside(folder, home))

    every = description.by_name.items()
    return {name: each for name, each in every if not is_measured(name, each)}


def _changed(
    base: Mapping[str, Distribution], head: Mapping[str, Distribution]
) -> Iterator[EnvironmentDifference]:
    for name in sorted(base.keys() | head.keys()):
        one, other = base.get(name), head.get(name)
        if one is None or other is None:
            yield EnvironmentDifference(name, _version(one), _version(other), True)
        elif one.version != other.version:
            yield EnvironmentDifference(name, one.version, other.version, True)
        elif one.tags and other.tags and one.tags != other.tags:
            texts = [f"{each.version} ({each.tags})" for each in (one, other)]
            yield EnvironmentDifference(name, texts[0], texts[1], True)
        elif one.files and other.files and one.files != other.files:
            texts = [f"{each.version} (files {each.files})" for each in (one, other)]
            yield EnvironmentDifference(name, texts[0], texts[1], True)


def _version(distribution: Distribution | None) -> str | None:
    return None if distribution is None else distribution.version
