"""Markup by functions: escaped unless it is markup already."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.report.page.markup import Markup, Value, breakable, element, together, with_code
from tests.factories import examples
from tests.report.page.parsed import parsed


def test_text_is_escaped_and_markup_is_not():
    inner = element("b", "a < b")
    assert element("p", inner, " & ", ["c", None]) == "<p><b>a &lt; b</b> &amp; c</p>"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("run `rlperf doctor` <here>", "run <code>rlperf doctor</code> &lt;here&gt;"),
        ("`a<b` and `c`", "<code>a&lt;b</code> and <code>c</code>"),
        ("one ` is left", "one ` is left"),
        ("nothing in `` here", "nothing in `` here"),
        ("none", "none"),
    ],
)
def test_what_stands_between_backticks_is_code(text: str, written: str):
    assert with_code(text) == written


@given(st.text())
@examples
def test_a_name_that_may_break_is_the_name(name: str):
    shown, plain = (parsed(markup).texts for markup in (breakable(name), together(name)))
    assert "".join(text for _, text in shown) == "".join(text for _, text in plain)


def test_a_name_breaks_between_its_words():
    parts = breakable("tests/perf/test_a.py::test_long_name[x-1]").split("<wbr>")
    assert parts == ["tests/", "perf/", "test_", "a.py::", "test_", "long_", "name[", "x-", "1]"]


@pytest.mark.parametrize(
    ("value", "written"),
    [("x", ' data-a="x"'), (1.25, ' data-a="1.2"'), (3, ' data-a="3"'), (True, " data-a")],
)
def test_an_attribute_is_written_by_its_kind(value: Value, written: str):
    assert element("i", data_a=value) == f"<i{written}></i>"


@pytest.mark.parametrize("value", [None, False])
def test_an_attribute_that_is_none_is_left_out(value: Value):
    assert element("i", class_=value) == "<i></i>"


def test_a_void_element_has_no_end():
    assert element("input", type="search") == '<input type="search">'


def test_markup_together_is_markup():
    assert isinstance(together(Markup("<b>"), "<"), Markup)


@examples
@given(st.text())
def test_no_text_gets_out_of_its_element_or_attribute(text: str):
    found = parsed(element("p", element("i", text, title=text), "after"))
    assert found.skeleton == [("p", ()), ("i", ("title",))]
    assert found.texts[-1] == ("p", "after")


def test_what_no_document_can_hold_is_written_out():
    assert element("i", "a\x00b\udcff\x1b") == "<i>a\\x00b\\udcff\\x1b</i>"
