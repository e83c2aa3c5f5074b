"""Foreign text comes out of Markdown as it went in."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.report.text import code, fenced, html_code, plain
from tests.factories import examples

NASTY = [
    "test_a.py::test_a[x|y]",
    "test_a.py::test_a[`x`]",
    "test_a.py::test_a[x\\|y]",
    "test_a.py::test_a[``|``]",
    "test_a.py::test_a[</code>|<b>&amp;]",
    "test_a.py::test_a[_x_-*y*-__z__|]",
    "test_a.py::test_a[ x|\n\n| y]",
    "test_a.py::test_a[[0](http://example.org)|]",
]
texts = st.text(st.characters(exclude_categories=("Cc", "Cs")) | st.sampled_from("|`\\\n_*<&"))


def shown(markup: str) -> str:
    """What a reader sees of a code span or a code element."""
    if markup.startswith("`"):
        return markup[1:-1]
    return html.unescape(markup.removeprefix("<code>").removesuffix("</code>"))


@pytest.mark.parametrize("text", ["test_a.py::test_a", "test_a.py::test_a[[0]-<b>-_x_-\\xe4]"])
def test_a_usual_id_is_a_plain_code_span(text: str):
    assert code(text) == f"`{text}`"


@pytest.mark.parametrize("text", NASTY)
def test_a_nasty_id_is_written_without_a_character_that_markdown_reads(text: str):
    assert re.fullmatch(r"<code>([A-Za-z0-9 -]|&#\d+;)*</code>", code(text))
    assert shown(code(text)) == text


@examples
@given(texts)
def test_any_id_stays_in_its_cell_and_is_shown_as_it_is(text: str):
    assert not re.search(r"[|\r\n]", code(text))
    assert shown(code(text)) == text


@examples
@given(texts)
def test_an_id_in_html_opens_no_tag_and_ends_no_block(text: str):
    assert re.findall("<[^>]*>|\n", html_code(text)) == ["<code>", "</code>"]
    assert shown(html_code(text)) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("slower than the allowed +5.0 %, beyond doubt (by sums)", None),
        ("[x](y) *a* __b__ `c`", r"\[x\](y) \*a\* \_\_b\_\_ \`c\`"),
        ("<script> & $x$ | ~~y~~", r"&lt;script&gt; &amp; \$x\$ \| \~\~y\~\~"),
        ("C:\\new\n\n# title", r"C:\\new #&#8203; title"),
        ("@pytest.mark fixes #12", "@&#8203;pytest.mark fixes #&#8203;12"),
        ("https://x.org or WWW.x.org", "https:&#8203;//x.org or WWW&#8203;.x.org"),
    ],
)
def test_running_text_is_on_one_line_without_markup_links_and_mentions(
    text: str, escaped: str | None
):
    assert plain(text) == (text if escaped is None else escaped)


@examples
@given(texts)
def test_no_text_ends_the_block_of_code_that_holds_it(text: str):
    fence, *lines, last = fenced(text).split("\n")
    assert fence == last
    assert "\n".join(lines) == text
    assert fence not in text
