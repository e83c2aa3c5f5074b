"""The files in which a revision differs from another, or from the working tree."""

from pathlib import Path

import pytest

from pytest_rlperf.launch.reach.changes import changed_files
from tests.launch.repositories import commit, new_repository, run_git, write_files


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {"a.py": "", "b.py": "", "sub/c.py": "", ".gitignore": "*.pyc\n"}
    return new_repository(tmp_path / "repo", files)


def changed(root: Path, top: Path, base: str = "main", head: str | None = None) -> set[str]:
    return {str(p.relative_to(top.resolve())) for p in changed_files(root, base, head)}


def test_edits_new_files_and_removed_ones_of_the_working_tree_count(repository: Path):
    write_files(repository, {"a.py": "x = 1\n", "new ü.py": "", "ignored.pyc": ""})
    (repository / "b.py").unlink()
    assert changed(repository, repository) == {"a.py", "b.py", "new ü.py"}


def test_both_names_of_a_renamed_file_count(repository: Path):
    run_git(repository, "mv", "sub/c.py", "sub/d.py")
    assert changed(repository, repository) == {"sub/c.py", "sub/d.py"}


def test_between_two_commits_the_working_tree_does_not_count(repository: Path):
    base = run_git(repository, "rev-parse", "HEAD")
    head = commit(repository, {"a.py": "x = 1\n"})
    write_files(repository, {"b.py": "x = 1\n", "new.py": ""})
    assert changed(repository, repository, base, head) == {"a.py"}


def test_below_the_top_of_the_repository_all_of_it_counts(repository: Path):
    write_files(repository, {"a.py": "x = 1\n"})
    assert changed(repository / "sub", repository) == {"a.py"}
