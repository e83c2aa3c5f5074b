"""A base tree holds the revision, head's benchmarks, and nothing else of head."""

import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_rlperf.errors import RevisionError
from pytest_rlperf.trees.base_tree import BaseTree, lay_out, run_build
from pytest_rlperf.trees.git import resolve
from tests.trees.repositories import commit, new_repository, run_git, write_files

FIRST = {
    "src/lib/__init__.py": "SPEED = 'base'\n",
    "tests/conftest.py": "# base\n",
    "tests/test_bench.py": "# base\n",
    ".gitignore": "_version.py\n*.so\n__pycache__\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = new_repository(tmp_path / "repo", FIRST)
    run_git(repo, "tag", "v1")
    commit(repo, {"src/lib/__init__.py": "SPEED = 'head'\n", "src/lib/new.py": ""})
    write_files(repo, {"tests/test_bench.py": "# head\n", "tests/conftest.py": "# head\n"})
    return repo


def laid_out(repo: Path, *overlay: str, build: str | None = None, root: str = "") -> BaseTree:
    files = [repo / name for name in overlay]
    folder = repo / root
    return lay_out(folder, resolve(folder, "v1"), files, build, repo.parent / "cache")


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def texts(tree: BaseTree, names: Iterable[str]) -> list[str]:
    return [(tree.path / name).read_text() for name in names]


def test_the_tree_is_the_revision_with_the_overlay_of_head(repo: Path):
    with laid_out(repo, "tests/test_bench.py") as tree:
        assert files_below(tree.path) == set(FIRST)
        assert texts(tree, ["tests/test_bench.py", "tests/conftest.py"]) == ["# head\n", "# base\n"]
        assert "base" in (tree.root / "src/lib/__init__.py").read_text()
        assert tree.counterpart(repo / "tests") == tree.path / "tests"


def test_the_repository_is_not_touched(repo: Path):
    index = repo / ".git" / "index"
    status = run_git(repo, "status", "--porcelain")
    before = (index.read_bytes(), index.stat().st_mtime_ns, files_below(repo / ".git"))
    laid_out(repo, "tests/test_bench.py").close()
    after = (index.read_bytes(), index.stat().st_mtime_ns, files_below(repo / ".git"))
    assert after == before
    assert run_git(repo, "status", "--porcelain") == status
    assert len(run_git(repo, "worktree", "list").splitlines()) == 1


def test_a_link_beside_the_tree_is_not_followed(repo: Path):
    precious = repo / "precious"
    precious.write_text("as it was")
    with laid_out(repo, "tests/test_bench.py") as tree:
        beside = tree.path.with_name(f"{tree.path.name}.overlaid.new")
        beside.symlink_to(precious)
    laid_out(repo, "tests/test_bench.py").close()
    assert precious.read_text() == "as it was"


def test_the_next_run_finds_the_tree_and_restores_what_was_overlaid(repo: Path):
    write_files(repo, {"tests/helper.py": "# head only\n"})
    with laid_out(repo, "tests/test_bench.py", "tests/helper.py") as first:
        library = (first.path / "src/lib/__init__.py").stat()
    with laid_out(repo, "tests/conftest.py") as tree:
        assert tree.path == first.path
        assert (tree.path / "src/lib/__init__.py").stat().st_ino == library.st_ino
        assert files_below(tree.path) == set(FIRST)
        assert texts(tree, ["tests/test_bench.py", "tests/conftest.py"]) == ["# base\n", "# head\n"]


def test_files_that_did_not_change_keep_their_time(repo: Path):
    names = ["src/lib/__init__.py", "tests/test_bench.py", "tests/conftest.py"]
    with laid_out(repo, "tests/test_bench.py", "tests/conftest.py") as tree:
        before = [(tree.path / name).stat().st_mtime_ns for name in names]
    os.utime(repo / "tests/test_bench.py")
    write_files(repo, {"tests/conftest.py": "# changed\n"})
    with laid_out(repo, "tests/test_bench.py", "tests/conftest.py") as tree:
        after = [(tree.path / name).stat().st_mtime_ns for name in names]
    assert after[:2] == before[:2]
    assert after[2] != before[2]


def test_two_runs_at_once_get_two_trees(repo: Path):
    with laid_out(repo) as first, laid_out(repo) as second:
        assert first.path != second.path
        assert files_below(first.path) == files_below(second.path) == set(FIRST)
    with laid_out(repo) as third:
        assert third.path == first.path


def test_remains_of_a_crash_are_laid_out_again(repo: Path):
    with laid_out(repo) as tree:
        (tree.path / "src/lib/__init__.py").unlink()
        tree.path.with_name(tree.path.name + ".complete").unlink()
    with laid_out(repo) as again:
        assert files_below(again.path) == set(FIRST)


def test_a_conftest_that_head_dropped_does_not_run_on_the_base(repo: Path):
    (repo / "tests/conftest.py").unlink()
    for _ in range(2):
        with laid_out(repo, "tests/test_bench.py") as tree:
            assert files_below(tree.path) == set(FIRST) - {"tests/conftest.py"}
    with laid_out(repo) as tree:
        assert files_below(tree.path) == set(FIRST)


def test_generated_python_files_are_copied_but_never_compiled_ones(repo: Path):
    ignored = {
        "src/lib/_version.py": "v = 2\n",
        "src/lib/_fast.so": "",
        "elsewhere/_version.py": "",
    }
    write_files(repo, ignored)
    for _ in range(2):
        with laid_out(repo) as tree:
            assert files_below(tree.path) == {*FIRST, "src/lib/_version.py"}


def test_a_monorepo_is_laid_out_whole(tmp_path: Path):
    files = {"a/lib_a.py": "", "a/tests/test_a.py": "# base\n", "b/lib_b.py": ""}
    repo = new_repository(tmp_path / "repo", files)
    run_git(repo, "tag", "v1")
    write_files(repo, {"a/tests/test_a.py": "# head\n"})
    with laid_out(repo, "a/tests/test_a.py", root="a", build="pwd > here") as tree:
        assert tree.root == tree.path / "a"
        assert files_below(tree.path) == {*files, "a/here"}
        assert (tree.root / "tests/test_a.py").read_text() == "# head\n"


def test_links_are_kept_and_never_written_through(repo: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo / "linked").symlink_to(outside)
    (repo / "README").symlink_to("src")
    commit(repo, {}, "links")
    run_git(repo, "tag", "--force", "v1")
    (repo / "linked").unlink()
    write_files(repo, {"linked/test_bench.py": ""})
    for _ in range(2):
        with laid_out(repo, "linked/test_bench.py") as tree:
            assert (tree.path / "linked/test_bench.py").is_file()
            assert os.readlink(tree.path / "README") == "src"
            assert not list(outside.iterdir())
    with laid_out(repo) as tree:
        assert os.readlink(tree.path / "linked") == str(outside)


def test_submodules_are_named_in_a_notice(repo: Path, tmp_path: Path):
    new_repository(tmp_path / "sub", {"a.py": ""})
    run_git(repo, "submodule", "--quiet", "add", str(tmp_path / "sub"), "vendor")
    commit(repo, {})
    run_git(repo, "tag", "--force", "v1")
    with laid_out(repo) as tree:
        assert "not laid out in the base tree (vendor)" in tree.notices[0]


def test_a_build_is_paid_once(repo: Path):
    command = "echo built >> $RLPERF_TREE/built.txt && pwd"
    for _ in range(2):
        with laid_out(repo, "tests/test_bench.py", build=command) as tree:
            assert (tree.path / "built.txt").read_text() == "built\n"


def test_a_build_that_fails_shows_its_last_lines_and_is_tried_again(repo: Path):
    for _ in range(2):
        with pytest.raises(RevisionError, match=r"(?s)rlperf_build .*status 3.*no compiler here"):
            laid_out(repo, build="echo no compiler here; exit 3")


def test_a_build_that_hangs_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    log = tmp_path / "log"

    class Begun(subprocess.Popen[bytes]):
        """Its time runs from its first word on, however long the shell takes to come up."""

        def wait(self, timeout: float | None = None) -> int:
            while not log.read_text():
                assert self.poll() is None
                time.sleep(0.002)
            return super().wait(timeout)

    monkeypatch.setattr(subprocess, "Popen", Begun)
    with pytest.raises(RevisionError, match=r"took longer than 0.2 s(?s:.*)begun"):
        run_build("echo begun; sleep 60 | cat", tmp_path, tmp_path, log, deadline_s=0.2)


def test_only_the_newest_trees_are_kept_and_none_in_use_is_dropped(repo: Path, tmp_path: Path):
    first = laid_out(repo)
    for number in range(7):
        laid_out(repo, build=f"echo {number}").close()
    kept = [path for path in (tmp_path / "cache").glob("*/*") if path.is_dir()]
    assert first.path in kept
    assert len(kept) == 6
    first.close()


def test_a_file_outside_the_repository_is_refused(repo: Path, tmp_path: Path):
    write_files(tmp_path, {"test_out.py": ""})
    with pytest.raises(RevisionError, match="outside the repository"):
        laid_out(repo, "../test_out.py")


def test_a_cache_that_cannot_be_written_says_what_to_set(repo: Path, tmp_path: Path):
    write_files(tmp_path, {"cache": "a file, not a folder"})
    with pytest.raises(RevisionError, match="set RLPERF_CACHE"):
        laid_out(repo)
