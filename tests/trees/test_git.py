"""Which commit is meant, and one clear sentence where none is."""

from pathlib import Path

import pytest

from pytest_rlperf.errors import RevisionError
from pytest_rlperf.trees.git import GitFailed, WorkingState, git, resolve, working_state
from tests.trees.repositories import commit, new_repository, run_git, write_files


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repo", {"lib.py": "x = 1\n"})


def test_a_branch_is_its_commit_and_labelled_with_it(repo: Path):
    sha = run_git(repo, "rev-parse", "main")
    revision = resolve(repo, "main")
    assert (revision.ref, revision.sha, revision.label) == ("main", sha, f"main ({sha[:7]})")


def test_a_commit_given_by_its_own_name_is_named_once(repo: Path):
    sha = run_git(repo, "rev-parse", "main")
    assert resolve(repo, sha).label == sha[:7]


def test_a_tag_object_is_resolved_to_its_commit(repo: Path):
    run_git(repo, "tag", "-a", "v1", "-m", "v1")
    assert resolve(repo, "v1").sha == run_git(repo, "rev-parse", "main")


def test_three_dots_are_the_merge_base(repo: Path):
    fork = run_git(repo, "rev-parse", "main")
    run_git(repo, "checkout", "--quiet", "-b", "topic")
    commit(repo, {"lib.py": "x = 2\n"})
    run_git(repo, "checkout", "--quiet", "main")
    commit(repo, {"other.py": ""})
    run_git(repo, "checkout", "--quiet", "topic")
    revision = resolve(repo, "main...")
    assert revision.sha == fork
    assert revision.label == f"merge base with main ({fork[:7]})"


@pytest.mark.parametrize("ref", ["", " ", "...", "-q", "--help", "--output=x..."])
def test_what_is_no_name_is_refused(repo: Path, ref: str):
    with pytest.raises(RevisionError, match="such as --rlperf-against=main"):
        resolve(repo, ref)


@pytest.mark.parametrize(
    "ref", ["nowhere", "nowhere...", "main...nowhere", "main:lib.py", "a" * 40]
)
def test_what_does_not_exist_is_refused(repo: Path, ref: str):
    with pytest.raises(RevisionError, match="is not in this repository; see `git branch"):
        resolve(repo, ref)


def test_a_branch_that_only_the_remote_has_is_hinted_at(repo: Path, tmp_path: Path):
    run_git(tmp_path, "clone", "--quiet", str(repo), "clone")
    run_git(tmp_path / "clone", "checkout", "--quiet", "--detach")
    run_git(tmp_path / "clone", "branch", "--quiet", "-D", "main")
    with pytest.raises(RevisionError, match="did you mean 'origin/main'"):
        resolve(tmp_path / "clone", "main")


def test_a_shallow_clone_says_so(repo: Path, tmp_path: Path):
    first = run_git(repo, "rev-parse", "main")
    run_git(repo, "checkout", "--quiet", "-b", "topic")
    commit(repo, {"lib.py": "x = 2\n"})
    run_git(repo, "checkout", "--quiet", "main")
    commit(repo, {"lib.py": "x = 3\n"})
    args = ("--quiet", "--depth=1", "--no-single-branch", repo.as_uri(), "clone")
    run_git(tmp_path, "clone", *args)
    with pytest.raises(RevisionError, match="fetch-depth: 0"):
        resolve(tmp_path / "clone", first)
    with pytest.raises(RevisionError, match=r"no common ancestor in this shallow clone.*unshallow"):
        resolve(tmp_path / "clone", "origin/topic...")


def test_unrelated_histories_have_no_merge_base(repo: Path):
    run_git(repo, "checkout", "--quiet", "--orphan", "island")
    commit(repo, {"lib.py": "x = 2\n"})
    with pytest.raises(RevisionError, match="no common ancestor; compare with the commit itself"):
        resolve(repo, "main...")


def test_a_folder_without_a_repository_is_refused(tmp_path: Path):
    with pytest.raises(RevisionError, match=r"is in no git repository.*run pytest inside a clone"):
        resolve(tmp_path, "main")
    assert working_state(tmp_path) == WorkingState(None, False)


@pytest.mark.parametrize("name", ["half a character: \ud800", "a NUL: \0"])
def test_what_no_process_can_be_given_is_a_failure_of_git(repo: Path, name: str):
    with pytest.raises(GitFailed, match="git can take no argument such as"):
        git(repo, "log", name)


def test_git_not_installed_is_said(repo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(RevisionError, match=r"git was not found.*install git"):
        resolve(repo, "main")
    assert working_state(repo) == WorkingState(None, False)


def test_inside_a_hook_of_another_repository_this_one_is_meant(
    repo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    other = new_repository(tmp_path / "other", {"a.py": ""})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "no-index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert resolve(repo, "main").sha == run_git(repo, "rev-parse", "main")
    assert working_state(repo) == WorkingState(run_git(repo, "rev-parse", "main"), False)


def test_the_working_state_tells_clean_from_changed(repo: Path):
    sha = run_git(repo, "rev-parse", "main")
    write_files(repo, {"notes.txt": "new, but nothing imports it"})
    assert working_state(repo) == WorkingState(sha, False)
    write_files(repo, {"new.py": ""})
    assert working_state(repo) == WorkingState(sha, True)
    (repo / "new.py").unlink()
    write_files(repo, {"lib.py": "x = 5\n"})
    assert working_state(repo) == WorkingState(sha, True)


def test_what_lies_in_a_folder_that_is_left_out_changes_nothing(repo: Path, tmp_path: Path):
    sha = commit(repo, {"baselines/a.json": "{}", "odd [x]/a.json": "{}"})
    write_files(repo, {"baselines/a.json": "[]", "odd [x]/a.json": "[]"})
    assert working_state(repo).dirty
    assert working_state(repo, besides=repo / "baselines").dirty
    write_files(repo, {"odd [x]/a.json": "{}"})
    assert working_state(repo, besides=repo / "baselines") == WorkingState(sha, False)
    assert working_state(repo, besides=tmp_path / "elsewhere") == WorkingState(sha, True)
