"""`rlperf install-hook`: measure before every `git push`, and take the hook away again."""

import shlex
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_rlperf.commands.install_hook.place import Hook, hook_of
from pytest_rlperf.commands.install_hook.script import render_hook
from pytest_rlperf.commands.pre_push import add_wishes, checked_words
from pytest_rlperf.errors import UsageError


def add_arguments(parser: ArgumentParser) -> None:
    add_wishes(parser)
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
    script = render_hook(sys.executable, checked_words(arguments))
    kept = ""
    if hook.is_somebodys:
        if not arguments.force:
            raise UsageError(
                f"{hook.path} is a hook of your own; add this line to it, or replace it with "
                f"--force, which keeps it beside: {call_of(arguments)}"
            )
        kept = f"; yours is kept as {hook.set_aside()}"
    hook.write(script)
    return f"wrote {hook.path}{kept}"


def call_of(arguments: Namespace) -> str:
    """The line that somebody's own hook would have."""
    words = (sys.executable, "-m", "pytest_rlperf.cli", "pre-push", *checked_words(arguments))
    return f'{shlex.join(words)} --remote "$1"'


def _remove(hook: Hook) -> str:
    if hook.is_somebodys:
        raise UsageError(f"{hook.path} is a hook of your own; nothing was removed.")
    if not hook.path.exists():
        return f"there is no hook at {hook.path}"
    hook.remove()
    back = hook.put_back()
    return f"removed {hook.path}" + ("" if back is None else f"; {back} is in its place again")
