"""HTML that cannot be broken out of: whatever is not `Markup` already is escaped."""

import hashlib
import re
from collections.abc import Iterable, Sequence

from pytest_rlperf.report.text import filled, html_text

VOID = frozenset({"img", "input", "link", "meta", "source", "wbr"})
"""Elements without an end."""


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


Child = Markup | str | None | Iterable["Child"]
Value = str | float | bool | None


def element(tag: str, /, *children: Child, **attributes: Value) -> Markup:
    """`class_` and `data_outcome` are written class and data-outcome. True is an attribute without
    a value; None and False are none.
    """
    given = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in VOID:
        return Markup(f"<{tag}{given}>")
    return Markup(f"<{tag}{given}>{together(*children)}</{tag}>")


def together(*children: Child) -> Markup:
    return Markup("".join(map(_child, children)))


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    return html_text(child) if isinstance(child, str) else together(*child)


def _attribute(name: str, value: Value) -> str:
    written = name.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {written}"
    return f' {written}="{html_text(value if isinstance(value, str) else number(value))}"'


def number(value: float) -> str:
    """Return the number as an attribute has it: a tenth of a pixel is enough."""
    return f"{value:.1f}".removesuffix(".0")


# -- rows as tables, and pairs as lists of facts ------------------------------------------------


def table(rows: Sequence[Sequence[str]], caption: str, last: bool = True) -> Markup | None:
    """Titles first; None where there is no row. Without the `last` column where all of them would
    say the same there.
    """
    shown = filled(rows if last else [row[:-1] for row in rows])
    if not shown:
        return None
    title, *body = shown
    head = element("tr", [element("th", cell, scope="col") for cell in title])
    lines = [element("tr", map(_cell, title, row)) for row in body]
    content = element(
        "table", element("caption", caption), element("thead", head), element("tbody", lines)
    )
    # Wide tables scroll in themselves, by keyboard too; the page never does.
    return element("div", content, class_="wide", tabindex="0", role="group", aria_label=caption)


def _cell(title: str, cell: str) -> Markup:
    """Return a cell; the name of a test is a link to it, and code looks like code."""
    if title == "test" and cell:
        link = element("a", element("code", cell), href=f"#{anchor(cell)}")
        return element("td", link, class_="name")
    if title == "function":
        return element("td", element("strong", element("code", breakable(cell))), class_="name")
    return (
        element("td", element("code", cell), class_="name")
        if title == "source"
        else element("td", cell)
    )


def facts(pairs: Iterable[tuple[str, Child]]) -> Markup | None:
    """Return a list of names and values; those without a value are left out."""
    known = [(name, value) for name, value in pairs if value]
    if not known:
        return None
    terms = (element("div", element("dt", name), element("dd", value)) for name, value in known)
    return element("dl", terms)


END_OF_WORD = re.compile(r"(?<=[/_\[,-])(?=[^/_\[,-])|(?<=::)")


def breakable(name: str) -> Markup:
    """Return a name that a narrow screen breaks between its words, and not within one."""
    first, *rest = END_OF_WORD.split(name)
    return together(first, ((element("wbr"), word) for word in rest))


def with_code(text: str) -> Markup:
    """Return text whose parts between backticks are code, as in Markdown."""
    parts = text.split("`")
    if len(parts) % 2 == 0 or "" in parts[1::2]:  # one is left over, or nothing between two
        return together(text)
    return together(element("code", part) if n % 2 else part for n, part in enumerate(parts))


def bullets(items: Iterable[Child]) -> Markup | None:
    lines = [element("li", item) for item in items]
    return element("ul", lines) if lines else None


def titled(level: int, title: str, *content: Child) -> Markup | None:
    """Return a heading with what stands below it; None where that is nothing."""
    below = together(*content)
    return together(element(f"h{level}", title), below) if below else None


# -- where a test is to be found in the page ----------------------------------------------------

LONGEST = 60
DIGITS = 8
"""The digits of a hash: names that look the same as anchors stay apart."""


def anchor(nodeid: str) -> str:
    """Return the name of a test's place: letters, digits and dashes, the same in every report."""
    name = re.sub(r"[^a-z0-9]+", "-", nodeid.rpartition("/")[2].lower()).strip("-")[:LONGEST]
    digest = hashlib.sha256(nodeid.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]
    return f"t-{name}-{digest}"
