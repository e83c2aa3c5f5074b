"""The READMEs and docs/*.md, taken apart: fenced blocks, code in sentences, links, headings."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S
)
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^(?P<marks>#+) (?P<title>.+)$", re.M)


@dataclass(frozen=True, slots=True)
class Block:
    """The text between two fences."""

    language: str
    text: str
    section: str  # the heading of second order above it
    at: int  # where in the page


@dataclass(frozen=True, slots=True)
class Page:
    name: str  # relative to the repository
    text: str

    @property
    def path(self) -> Path:
        return ROOT / self.name

    @property
    def blocks(self) -> list[Block]:
        return [
            Block(m["language"].strip(), m["text"], self._section(m.start()), m.start())
            for m in FENCE.finditer(self.text)
        ]

    @property
    def sentences(self) -> str:
        """The text without its blocks, which leave as many characters behind."""
        return FENCE.sub(lambda match: " " * len(match[0]), self.text)

    @property
    def spans(self) -> list[str]:
        """Code within sentences, on one line each."""
        return [" ".join(found.split()) for found in CODE.findall(self.sentences)]

    @property
    def links(self) -> list[str]:
        return [match["target"] for match in LINK.finditer(CODE.sub("", self.sentences))]

    @property
    def anchors(self) -> frozenset[str]:
        return frozenset(_anchor(match["title"]) for match in HEADING.finditer(self.sentences))

    def _section(self, at: int) -> str:
        titles = [m["title"] for m in HEADING.finditer(self.sentences[:at]) if m["marks"] == "##"]
        return titles[-1] if titles else ""


def _anchor(title: str) -> str:
    """Return the anchor of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def read_page(name: str) -> Page:
    return Page(name, (ROOT / name).read_text(encoding="utf-8"))


def pages() -> list[Page]:
    names = sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
    return [read_page(name) for name in ("README.md", "rl_impls/README.md", *names)]
