"""The files in which two revisions differ."""

import os
from pathlib import Path

from pytest_rlperf.launch.git import git, listed, top_level


def changed_files(root: Path, base: str, head: str | None) -> frozenset[Path]:
    """Real paths, of files that are gone too. `head` is None for the working tree, whose new files
    count.
    """
    top, _ = top_level(root)
    revisions = (base,) if head is None else (base, head)
    told = git(top, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", *revisions, "--")
    new = listed(top, "--others", "--exclude-standard") if head is None else []
    folder = Path(os.path.realpath(top))
    return frozenset(folder / name for name in (*told.split("\0"), *new) if name)
