"""What users import, with its types: as docs/api.md shows it."""

import subprocess
import sys
from pathlib import Path

import pytest
from mypy import api

import pytest_rlperf
from pytest_rlperf import fixtures
from tests.docs.markdown import ROOT, read_page

PAGE = read_page("docs/api.md")
LIBRARY = """
class ReplayBuffer:
    def __init__(self, size: int) -> None: ...
    def sample(self, number: int) -> list[int]: ...
"""
COROUTINE = """
from pytest_rlperf import Rlperf

async def fetch(url: str) -> bytes: ...

def test_fetch(rlperf: Rlperf) -> None:
    reveal_type(rlperf(fetch, "a"))
"""


def checked(folder: Path, snippet: str) -> str:
    """Return what mypy says of a user's file."""
    (folder / "mylib.pyi").write_text(LIBRARY)
    (folder / "snippet.py").write_text(snippet)
    words = ["--strict", "--no-error-summary", f"--config-file={folder / 'none.ini'}"]
    (folder / "none.ini").write_text(f"[mypy]\nmypy_path = {folder}:{ROOT}\n")
    cache = f"--cache-dir={ROOT / '.mypy_cache/snippets'}"
    out, err, _ = api.run([*words, cache, str(folder / "snippet.py")])
    return out + err


def test_the_snippet_of_the_page_has_no_mistake_of_types(tmp_path: Path):
    (block,) = [block for block in PAGE.blocks if block.language == "python"]
    assert checked(tmp_path, block.text) == ""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("reveal_type(rlperf(ReplayBuffer(9).sample, 256))", 'Revealed type is "list[int]"'),
        ('rlperf(ReplayBuffer(9).sample, "256")', "No overload variant"),
        ("rlperf(ReplayBuffer(9).sample)", "No overload variant"),
        ("rlperf(3)", "No overload variant"),
    ],
)
def test_arguments_and_result_of_a_measured_function_are_known(
    tmp_path: Path, call: str, said: str
):
    head = "from mylib import ReplayBuffer\nfrom pytest_rlperf import Rlperf\n"
    snippet = f"{head}def test_it(rlperf: Rlperf) -> None:\n    {call}\n"
    assert said in checked(tmp_path, snippet).replace("builtins.", "")


def test_a_coroutine_function_gives_what_is_awaited(tmp_path: Path):
    assert 'Revealed type is "bytes"' in checked(tmp_path, COROUTINE).replace("builtins.", "")


@pytest.mark.parametrize("name", pytest_rlperf.__all__)
def test_every_public_name_is_there_and_on_the_page(name: str):
    assert getattr(pytest_rlperf, name) is getattr(fixtures, name)
    assert f"| `{name}` |" in PAGE.text


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Rlprf'"):
        _ = pytest_rlperf.Rlprf


def test_a_library_that_carries_phases_does_not_import_pytest_by_them():
    code = "import sys; from pytest_rlperf import phase; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
