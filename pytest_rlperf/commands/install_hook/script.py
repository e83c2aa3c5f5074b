"""What the hook says to the shell."""

import shlex
from collections.abc import Sequence

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
    """A hook for this interpreter: the one that has the project's packages."""
    more = "".join(f" {shlex.quote(word)}" for word in words)
    return SCRIPT.format(mark=MARK, python=shlex.quote(python), words=more)
