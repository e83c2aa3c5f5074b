"""What must hold of whatever a command says: it parses, and nothing in it acts on its reader."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from tests.report.page.parsed import parsed

RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters, escapes and marks that turn the direction of text."""
LINKED = re.compile(r"GH-\d|#\d|[@]name|https?://(?!github\.example)", re.IGNORECASE)
CODE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$|`[^`\n]+`|<code>.*?</code>|<!--.*?-->", re.S | re.M)


class Unfit(AssertionError):
    """What was said does not parse, or could act on whoever reads it."""


def check_terminal(text: str) -> None:
    if raw := RAW.search(text):
        raise Unfit(f"a raw {raw[0]!r} in the terminal: {text[: raw.end()][-80:]!r}")
    if "\n::error::forged" in f"\n{text}":
        raise Unfit("a forged line in the terminal")


def check_json(text: str) -> None:
    json.loads(text, parse_constant=_refuse)


def check_lines(text: str) -> None:
    for line in text.splitlines():
        check_json(line)


def _refuse(word: str) -> NoReturn:
    raise Unfit(f"{word} in JSON")


def check_markdown(text: str) -> None:
    check_terminal(text.replace("\u200b", ""))
    outside = CODE.sub("", text).replace("&#8203;", "\u200b")
    if linked := LINKED.search(outside):
        raise Unfit(f"{linked[0]!r} becomes a link: {outside[: linked.end()][-80:]!r}")


def check_html(text: str) -> None:
    if raw := RAW.search(text.replace("\u200b", "")):
        raise Unfit(f"a raw {raw[0]!r} in the page: {text[: raw.end()][-80:]!r}")
    parsed(text)
    if "cm9vdDp4Oj" in text or "alert(1)</script>" in text:
        raise Unfit("the page holds a foreign file, or a script")


CHECKS: Mapping[str, Callable[[str], None]] = {
    ".html": check_html,
    ".json": check_json,
    ".md": check_markdown,
    ".jsonl": check_lines,
    ".txt": check_terminal,
}


def check_file(path: Path) -> None:
    CHECKS[path.suffix](path.read_text(encoding="utf-8"))
