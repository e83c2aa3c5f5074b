"""HTML that cannot be broken out of: whatever is not `Markup` already is escaped."""

from collections.abc import Iterable

from pytest_rlperf.report.escape import html_text

VOID = frozenset({"img", "input", "link", "meta", "source"})
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
    """A tenth of a pixel is enough."""
    return f"{value:.1f}".removesuffix(".0")
