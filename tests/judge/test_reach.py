"""Which changes reach a test: in doubt, all of them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.judge.reach import is_reached
from tests.factories import examples

TOP = Path("/repo")
TEST = TOP / "tests/perf/test_a.py"
IMPORTS = {TEST, TOP / "tests/conftest.py", TOP / "lib/__init__.py", TOP / "lib/a.py"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lib/a.py", True),
        ("lib/__init__.py", True),
        ("tests/perf/test_a.py", True),
        ("tests/conftest.py", True),
        ("lib/b.py", False),
        ("tests/test_b.py", False),
        ("docs/conf.py", False),
        ("conftest.py", True),  # removed: the test had it
        ("tests/other/conftest.py", False),
        ("setup.py", True),
        ("pyproject.toml", True),
        ("src/fast.c", True),
        ("lib/table.json", True),
        ("README.md", False),
        ("docs/figure.svg", False),
        (".github/workflows/ci.yml", False),
        (".gitignore", False),
    ],
)
def test_a_changed_file_reaches_what_imports_it_or_might(name: str, expected: bool):
    assert is_reached(TEST, IMPORTS, [TOP / name], TOP) is expected


def test_a_test_that_imports_nothing_of_the_project_is_reached_by_all_code():
    own = {TEST, TOP / "tests/conftest.py"}
    assert is_reached(TEST, own, [TOP / "lib/b.py"], TOP)
    assert not is_reached(TEST, own, [TOP / "README.md"], TOP)


names = st.sampled_from(["lib/a.py", "lib/b.py", "x.json", "README.md", "conftest.py", "setup.py"])


@examples
@given(st.lists(names), st.lists(names))
def test_a_larger_change_never_reaches_less(some: list[str], more: list[str]):
    def reached(changed: list[str]) -> bool:
        return is_reached(TEST, IMPORTS, [TOP / name for name in changed], TOP)

    assert reached(some) <= reached(some + more)
