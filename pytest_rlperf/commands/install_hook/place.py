"""The hook of a repository: where it is, whose it is, and what is kept beside it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pytest_rlperf.commands.install_hook.script import MARK
from pytest_rlperf.errors import RevisionError, UsageError
from pytest_rlperf.launch.git import git, hooks_folder, top_level
from pytest_rlperf.store.atomic import write_atomically

NAME = "pre-push"
ASIDE = ".before-rlperf"
MODE = 0o755


@dataclass(frozen=True, slots=True)
class Hook:
    path: Path

    @property
    def is_somebodys(self) -> bool:
        """Whether there is one that this command did not write."""
        if self.path.is_symlink() or self.path.is_dir():
            return True  # what it leads to may be shared
        return self.path.exists() and MARK not in self.path.read_bytes().decode("utf-8", "replace")

    def write(self, script: str) -> None:
        with self._changing():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.path, script)
            self.path.chmod(MODE)

    def remove(self) -> None:
        with self._changing():
            self.path.unlink()

    def set_aside(self) -> str:
        """A name that nothing has yet, so that no second `--force` loses the first hook."""
        names = (f"{NAME}{ASIDE}{'' if n == 1 else f'-{n}'}" for n in count(1))
        free = next(name for name in names if not os.path.lexists(self.path.with_name(name)))
        with self._changing():
            self.path.rename(self.path.with_name(free))
        return free

    def put_back(self) -> str | None:
        """The one that was set aside first; None: there was none."""
        kept = self.path.with_name(f"{NAME}{ASIDE}")
        if not os.path.lexists(kept):
            return None
        with self._changing():
            kept.rename(self.path)
        return kept.name

    @contextmanager
    def _changing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UsageError(
                f"{self.path} cannot be written ({error.strerror}); make its folder writable."
            ) from None


def hook_of(folder: Path) -> Hook:
    try:
        top, _ = top_level(folder)
    except RevisionError:
        raise UsageError(
            f"{folder} is in no git repository; run this in the one that is to get the hook."
        ) from None
    hooks = hooks_folder(top)
    common = top / git(top, "rev-parse", "--git-common-dir").removesuffix("\n")
    if not any(_is_inside(hooks, place) for place in (top, common)):
        raise UsageError(
            f"core.hooksPath is {hooks}, outside of this repository, where other repositories find "
            "it too; set one for this repository with `git config core.hooksPath .githooks`."
        )
    return Hook(hooks / NAME)


def _is_inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
