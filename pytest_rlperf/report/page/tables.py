"""Rows as tables, and pairs as lists of facts."""

from collections.abc import Iterable, Sequence

from pytest_rlperf.report.columns import filled
from pytest_rlperf.report.page.anchors import anchor
from pytest_rlperf.report.page.markup import Child, Markup, element, together


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
        "table",
        element("caption", caption),
        element("thead", head),
        element("tbody", lines),
    )
    # Wide tables scroll in themselves, by keyboard too; the page never does.
    return element("div", content, class_="wide", tabindex="0", role="group", aria_label=caption)


def _cell(title: str, cell: str) -> Markup:
    """The name of a test leads to it; code looks like code."""
    if title == "test" and cell:
        link = element("a", element("code", cell), href=f"#{anchor(cell)}")
        return element("td", link, class_="name")
    return (
        element("td", element("code", cell), class_="name")
        if title == "source"
        else element("td", cell)
    )


def facts(pairs: Iterable[tuple[str, Child]]) -> Markup | None:
    """Name and value; those without one are left out."""
    found = [(name, value) for name, value in pairs if value]
    if not found:
        return None
    terms = (element("div", element("dt", name), element("dd", value)) for name, value in found)
    return element("dl", terms)


def bullets(items: Iterable[Child]) -> Markup | None:
    lines = [element("li", item) for item in items]
    return element("ul", lines) if lines else None


def titled(level: int, title: str, *content: Child) -> Markup | None:
    """A heading with what stands below it; None where that is nothing."""
    below = together(*content)
    return together(element(f"h{level}", title), below) if below else None
