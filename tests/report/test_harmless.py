"""Text of crafted files: shown, and obeyed by no terminal, no log and no page."""

import io

import pytest

from pytest_rlperf.report.text import Harmless, fenced, plain, printable


def shown(*texts: str) -> str:
    stream = io.StringIO()
    harmless = Harmless(stream)
    for text in texts:
        print(text, end="", file=harmless)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b31m\x07\x7f", "\\x9b31m\\x07\\x7f"),
        ("a\rb", "a\\rb"),
        ("a\r\nb", "a\nb"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("\u2028", "\\u2028"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_acts_on_its_reader_is_written_out(text: str, said: str):
    assert printable(text) == shown(text) == said


def test_it_can_be_let_go_of_after_its_stream_was_closed():
    """By the garbage collector, in silence: Python 3.13 tells of every stream that it cannot."""
    stream = io.StringIO()
    harmless = Harmless(stream)
    stream.close()
    harmless.close()
    assert harmless.closed


@pytest.mark.parametrize("order", ["::error::forged", "##[error]forged", "  ::error::forged"])
def test_no_line_is_an_order_to_the_job_that_shows_it(order: str):
    assert order not in shown("fine\n", order)
    assert order not in shown(f"fine\n{order}")
    assert order not in shown("fine", f"\n{order}")
    assert order.strip() not in shown(" ", order)
    assert shown("test_a.py", "::test_a") == "test_a.py::test_a"
    assert order not in fenced(f"fine\n{order}")


def test_the_older_sign_of_an_order_is_none_in_the_middle_of_a_line_either():
    assert (
        shown("a ##[error]forged", " ##[stop-commands]x")
        == "a ## [error]forged ## [stop-commands]x"
    )


LINKS = ["GH-12", "gh-12", "#12", "a/b#12", "@name", "https://a.b", "www.a"]


@pytest.mark.parametrize("text", LINKS)
def test_running_text_becomes_no_link(text: str):
    assert text not in plain(text)
    assert plain(text).replace("&#8203;", "") == text
