"""This environment as the Makefile's, which is then set up already."""

import sys
from pathlib import Path

PARTS = ("bin", "lib", "pyvenv.cfg")
MARKS = (".locked", ".ready")


def ready_environment(folder: Path) -> Path:
    """Links to the parts of this one, and the marks that it needs no set-up."""
    made = folder / "environment"
    if not made.exists():
        _make(made)
    return made


def _make(made: Path) -> None:
    made.mkdir()
    for name in PARTS:
        (made / name).symlink_to(Path(sys.prefix) / name)
    for name in MARKS:
        (made / name).touch()
