"""The whole page."""

from pathlib import Path

from tests.docs.reference.commands import render_commands, render_exit_codes
from tests.docs.reference.files import render_files, render_result
from tests.docs.reference.options import render_options
from tests.docs.reference.tests import render_fixtures, render_markers

FILE = Path(__file__).parents[3] / "docs" / "reference.md"
COMMAND = "python -m tests.docs.reference"
SECTIONS = (
    render_options,
    render_markers,
    render_fixtures,
    render_commands,
    render_exit_codes,
    render_files,
    render_result,
)


def render_reference() -> str:
    lines = ["# Reference\n", f"Generated from the code by `{COMMAND}`; edit it there.\n"]
    for section in SECTIONS:
        lines += [*section(), ""]
    text = "\n".join(lines)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.rstrip() + "\n"
