"""Makes an environment like this one with other versions of some distributions, in the cache.

Nothing of this one is written to. What is imported from elsewhere is by the same files there: the
project under test, and all that is installed editable.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from pytest_rlperf.environments.environment import OURS, find_interpreter
from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import private_folder, wait_for_lock
from pytest_rlperf.trees.cache import ENVIRONMENTS, digest

COMPLETE = ".complete"
"""Written last: an environment without it is what an installer that failed has left."""
LAST_LINES, LINE_LETTERS = 5, 200
"""Of what an installer said: pip lists all versions that there are in one line."""
KEPT, USED_S = 3, 24 * 3600.0
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
NOT_TAKEN = frozenset({"_virtualenv.pth", "distutils-precedence.pth"})
"""Of those who made this environment; the new one has its own where it needs them."""


class InstallerFailed(UsageError):
    """What makes environments, or installs, did not."""

    def __init__(self, said: str) -> None:
        super().__init__(f"the environment cannot be made: {said}")
        self.said = said


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What shall be different: these requirements, and the version of Python."""

    requirements: tuple[str, ...] = ()
    python: str | None = None  # None: that of this process

    @property
    def names(self) -> frozenset[str]:
        return frozenset(_normal(name_of(each)) for each in self.requirements)


def name_of(requirement: str) -> str:
    """Return the distribution that a requirement is about; refuse what an installer would take for
    an option or a path, since nobody could say what it changes.
    """
    match = NAME.match(requirement.strip())
    if match is None or os.sep in requirement.partition("@")[0]:
        raise UsageError(
            f"{requirement!r} names no distribution; write it as pip takes it, such as "
            "'numpy==2.5.0'."
        )
    return match.group()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


# -- what is here ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ThisEnvironment:
    """What this environment's own folder holds, and how the new one gets it."""

    pins: tuple[str, ...]  # to be installed again, at the same versions
    files: tuple[Path, ...]  # to be taken over as they are
    layered: bool  # it sees what its interpreter has installed


def read_here(site: Path, prefix: Path, leave_out: Set[str]) -> ThisEnvironment:
    """Read what is installed in `site`, without the distributions to `leave_out`."""
    pins: list[str] = []
    taken: list[Path] = []
    recorded: set[str] = set()
    for each in metadata.distributions(path=[str(site)]):
        name = _normal(each.metadata["Name"] or "")
        origin = json.loads(each.read_text("direct_url.json") or "{}")
        if name == OURS or origin.get("dir_info", {}).get("editable"):
            taken += _folders_of(site, each)
            continue
        recorded.update(str(file) for file in each.files or ())
        if name and name != "pip" and name not in leave_out:
            pins.append(_pin(name, each.version, origin))
    loose = [*site.glob("*.pth"), *site.glob("__editable__*")]
    taken += [f for f in loose if f.name not in recorded | NOT_TAKEN and f.is_file()]
    return ThisEnvironment(tuple(sorted(pins)), tuple(sorted({*taken})), _is_layered(prefix))


def _folders_of(site: Path, distribution: metadata.Distribution) -> Iterator[Path]:
    """Yield the files and folders that a distribution has in `site`."""
    names = {file.parts[0] for file in distribution.files or ()}
    own = names - {"..", "__pycache__"}
    yield from (site / name for name in own if (site / name).exists())


def _pin(name: str, version: str, origin: dict[str, object]) -> str:
    """Return the requirement that installs it again: from where it came, if from no index."""
    url, vcs = origin.get("url"), origin.get("vcs_info")
    if isinstance(vcs, dict):
        return f"{name} @ {vcs.get('vcs')}+{url}@{vcs.get('commit_id')}"
    return f"{name} @ {url}" if url else f"{name}=={version}"


def _is_layered(prefix: Path) -> bool:
    try:
        text = (prefix / "pyvenv.cfg").read_text(encoding="utf-8")
    except OSError:
        return False
    return re.search(r"^include-system-site-packages *= *true", text, re.M | re.I) is not None


# -- making it ------------------------------------------------------------------------------------


def make_upgraded(upgrade: Upgrade, cache: Path, say: Callable[[str], None]) -> Path:
    """Return the interpreter of the environment, made now unless an earlier run has made it."""
    here = read_here(Path(sysconfig.get_path("purelib")), Path(sys.prefix), upgrade.names)
    stamps = (f"{file} {file.stat().st_mtime_ns}" for file in here.files)
    key = digest(sys.executable, sys.version, str((upgrade, here)), *stamps)
    places = cache / ENVIRONMENTS
    private_folder(places)
    folder = places / key
    with (places / f"{key}.lock").open("w") as lock:
        wait_for_lock(lock.fileno())
        if not (folder / COMPLETE).exists():
            say(f"making an environment with {', '.join(_told(upgrade))}")
            shutil.rmtree(folder, ignore_errors=True)
            _make(folder, upgrade, here, say)
        (folder / COMPLETE).touch()
    _drop_old(places)
    return folder / "bin" / "python"


def _drop_old(places: Path) -> None:
    """Keep the newest, and what somebody may still be using."""
    uses = {marker.parent: marker.stat().st_mtime for marker in places.glob(f"*/{COMPLETE}")}
    for folder in sorted(uses, key=uses.__getitem__)[:-KEPT]:
        if time.time() - uses[folder] > USED_S:
            shutil.rmtree(folder, ignore_errors=True)


def _told(upgrade: Upgrade) -> list[str]:
    return [*([f"Python {upgrade.python}"] if upgrade.python else []), *upgrade.requirements]


def _make(
    folder: Path, upgrade: Upgrade, here: ThisEnvironment, say: Callable[[str], None]
) -> None:
    """Make it by uv; where there is none, or it cannot, by pip, which may be told of another index
    or folder of wheels."""
    layered = ["--system-site-packages"] if here.layered else []
    if uv := shutil.which("uv"):
        try:
            _fill(folder, upgrade, here, _bare_by_uv(folder, upgrade, layered, uv))
        except InstallerFailed as error:
            say(f"{error.said}; pip tries it now")
            shutil.rmtree(folder, ignore_errors=True)
        else:
            return
    _fill(folder, upgrade, here, _bare_by_venv(folder, upgrade, layered, uv is not None))


def _bare_by_uv(folder: Path, upgrade: Upgrade, layered: Sequence[str], uv: str) -> list[str]:
    """Make it with nothing in it; return the command that installs there."""
    python = upgrade.python or sys.executable
    _run([uv, "venv", "--quiet", "--python", python, *layered, str(folder)])
    return [uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]


def _bare_by_venv(
    folder: Path, upgrade: Upgrade, layered: Sequence[str], uv_failed: bool
) -> list[str]:
    """Make it with nothing in it; return the command that installs there."""
    python = _interpreter(upgrade.python, uv_failed)
    own_pip = find_spec("pip") is not None
    bare = ["--without-pip"] if own_pip else []
    _run([python, "-m", "venv", *bare, *layered, str(folder)])
    pip = ["-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet"]
    there = str(folder / "bin" / "python")
    base = [sys.executable, *pip, "--python", there] if own_pip else [there, *pip]
    return [*base, "install"]


def _fill(folder: Path, upgrade: Upgrade, here: ThisEnvironment, install: Sequence[str]) -> None:
    _take_over(here.files, _site_of(folder))
    if here.pins:  # as they are, without asking what they require
        _run([*install, "--no-deps", *here.pins])
    if upgrade.requirements:
        _run([*install, *upgrade.requirements])


def _interpreter(python: str | None, uv_failed: bool) -> str:
    if python is None or python == ".".join(map(str, sys.version_info[:2])):
        return sys.executable
    name = f"python{python}" if python[0].isdigit() else python
    try:
        return str(find_interpreter(name, Path.cwd()))
    except UsageError:
        cure = "install it" if uv_failed else "install it, or uv, which fetches it"
        raise UsageError(f"--python {python} is not on this machine; {cure}.") from None


def _site_of(folder: Path) -> Path:
    return next(folder.glob("lib/python*/site-packages"))


def _take_over(files: Sequence[Path], site: Path) -> None:
    for file in files:
        target = site / file.name
        if target.exists():
            continue
        if file.is_dir() and not file.name.endswith("-info"):
            target.symlink_to(file, target_is_directory=True)
        elif file.is_dir():
            shutil.copytree(file, target)
        else:
            shutil.copyfile(file, target)


def _run(command: Sequence[str]) -> None:
    """Run an installer; where it fails, tell its last lines. It reads the user's configuration and
    variables itself, an offline one too.
    """
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        short = (textwrap.shorten(line, LINE_LETTERS, placeholder=" …") for line in lines)
        said = " / ".join([*short][-LAST_LINES:]) or "it said nothing"
        raise InstallerFailed(f"{Path(command[0]).name} said: {said}")
