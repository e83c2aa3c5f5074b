"""What is copied from head: benchmarks and what they need, never library code."""

from pathlib import Path

import pytest

from pytest_rlperf.errors import RevisionError
from pytest_rlperf.trees.cache import cache_folder
from pytest_rlperf.trees.overlay import overlay_files
from tests.trees.repositories import new_repository, write_files

CASES = {
    "flat, test beside library": (
        "test_bench.py conftest.py lib.py pyproject.toml data.csv",
        "test_bench.py",
        "conftest.py pyproject.toml test_bench.py",
    ),
    "a tests folder, with helpers and data": (
        "lib/__init__.py tests/__init__.py tests/help.py tests/perf/test_bench.py "
        "tests/perf/data/x.csv conftest.py docs/conf.py",
        "tests/perf/test_bench.py",
        "conftest.py tests/__init__.py tests/help.py "
        "tests/perf/data/x.csv tests/perf/test_bench.py",
    ),
    "tests inside the package": (
        "lib/__init__.py lib/core.py lib/conftest.py lib/tests/__init__.py lib/tests/test_bench.py",
        "lib/tests/test_bench.py",
        "lib/conftest.py lib/tests/__init__.py lib/tests/test_bench.py",
    ),
    "a library named as a benchmark folder": (
        "performance/core.py performance/tests/test_bench.py performance/tests/help.py",
        "performance/tests/test_bench.py",
        "performance/tests/help.py performance/tests/test_bench.py",
    ),
    "test beside library in a package": (
        "lib/__init__.py lib/core.py lib/test_bench.py",
        "lib/test_bench.py",
        "lib/test_bench.py",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_overlay(case: str, tmp_path: Path):
    files, module, expected = CASES[case]
    repo = new_repository(tmp_path / "repo", dict.fromkeys(files.split(), ""))
    found = overlay_files(repo, [repo / module], repo / "pyproject.toml")
    copied = {str(path.relative_to(repo)) for path in found if path.exists()}
    assert copied == set(expected.split())


def test_ignored_files_and_bytecode_stay_at_head_but_new_files_go_along(tmp_path: Path):
    files = {"tests/test_bench.py": "", ".gitignore": "*.log\n"}
    repo = new_repository(tmp_path / "repo", files)
    write_files(repo, {"tests/run.log": "", "tests/__pycache__/a.pyc": "", "tests/new.py": ""})
    found = overlay_files(repo, [repo / "tests/test_bench.py"], None)
    assert found == [repo / "tests/new.py", repo / "tests/test_bench.py"]


def test_the_cache_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder({"RLPERF_CACHE": "/c", "XDG_CACHE_HOME": "/x"}) == Path("/c")
    assert cache_folder({"XDG_CACHE_HOME": "/x"}) == Path("/x/pytest-rlperf")
    assert cache_folder({"XDG_CACHE_HOME": "relative"}) == tmp_path / ".cache/pytest-rlperf"


def test_without_a_home_the_cache_says_what_to_set(monkeypatch: pytest.MonkeyPatch):
    def no_home() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(RevisionError, match="set RLPERF_CACHE"):
        cache_folder({})
