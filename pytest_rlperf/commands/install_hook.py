"""`rlperf install-hook`: measure before every `git push`, and take the hook away again."""

import os
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pytest_rlperf.commands.pre_push import add_run_arguments, as_command_line
from pytest_rlperf.errors import RevisionError, UsageError
from pytest_rlperf.files import write_atomically
from pytest_rlperf.trees.git import git, hooks_folder, top_level

MARK = "Written by `rlperf install-hook`"
"""By which a hook of ours is known."""

SCRIPT = """\
#!/bin/sh
# {mark}; `rlperf install-hook --remove` takes it away.
python={python}
if ! [ -x "$python" ]; then
    echo "rlperf: NOTHING WAS MEASURED: $python is gone; run rlperf install-hook again." >&2
    exit 0
fi
exec "$python" -m pytest_rlperf.cli pre-push --remote "$1"{words}
"""


def render_hook(python: str, words: Sequence[str]) -> str:
    """Write a hook for this interpreter: the one that has the project's packages."""
    more = "".join(f" {shlex.quote(word)}" for word in words)
    return SCRIPT.format(mark=MARK, python=shlex.quote(python), words=more)


NAME = "pre-push"
ASIDE = ".before-rlperf"
MODE = 0o755


@dataclass(frozen=True, slots=True)
class Hook:
    """The hook of a repository: where it is, whose it is, and what is kept beside it."""

    path: Path

    @property
    def is_somebodys(self) -> bool:
        """Return whether there is one that this command did not write."""
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
        """Rename the hook to what nothing is called yet: no second `--force` loses the first."""
        names = (f"{NAME}{ASIDE}{'' if n == 1 else f'-{n}'}" for n in count(1))
        free = next(name for name in names if not os.path.lexists(self.path.with_name(name)))
        with self._changing():
            self.path.rename(self.path.with_name(free))
        return free

    def put_back(self) -> str | None:
        """Restore the hook that was set aside first; None: there was none."""
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


def add_arguments(parser: ArgumentParser) -> None:
    add_run_arguments(parser)
    parser.add_argument(
        "--force", action="store_true", help="replace a hook of your own, which is kept beside it"
    )
    parser.add_argument(
        "--remove", action="store_true", help="take the hook away, and put yours back"
    )


def run(arguments: Namespace) -> int:
    hook = hook_of(Path.cwd())
    print(_remove(hook) if arguments.remove else _install(hook, arguments))
    return 0


def _install(hook: Hook, arguments: Namespace) -> str:
    script = render_hook(sys.executable, as_command_line(arguments))
    aside = ""
    if hook.is_somebodys:
        if not arguments.force:
            raise UsageError(
                f"{hook.path} is a hook of your own; add this line to it, or replace it with "
                f"--force, which keeps it beside: {call_of(arguments)}"
            )
        aside = f"; yours is kept as {hook.set_aside()}"
    hook.write(script)
    return f"wrote {hook.path}{aside}"


def call_of(arguments: Namespace) -> str:
    """Write the line that somebody's own hook would have."""
    words = (sys.executable, "-m", "pytest_rlperf.cli", "pre-push", *as_command_line(arguments))
    return f'{shlex.join(words)} --remote "$1"'


def _remove(hook: Hook) -> str:
    if hook.is_somebodys:
        raise UsageError(f"{hook.path} is a hook of your own; nothing was removed.")
    if not hook.path.exists():
        return f"there is no hook at {hook.path}"
    hook.remove()
    back = hook.put_back()
    return f"removed {hook.path}" + ("" if back is None else f"; {back} is in its place again")
