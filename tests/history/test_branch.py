"""The history on a branch of its own, in real repositories."""

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.errors import RlperfError, UsageError
from pytest_rlperf.history.branch import HistoryBranch, history_of, history_on
from pytest_rlperf.history.file import Past, entries_of, line_of
from pytest_rlperf.history.records import PastTest
from pytest_rlperf.report.result_file import run_as_dict
from pytest_rlperf.trees import data_branch
from tests.factories import FACTS, a_past, a_test, block, run_result
from tests.trees.repositories import commit, new_repository, run_git

FIRST, SECOND, THIRD = a_past("a" * 40), a_past("b" * 40), a_past("c" * 40)
JANUARY = "history/2030-01.jsonl"
WRITER = """
import sys
from pathlib import Path
from pytest_rlperf.history.branch import HistoryBranch
from tests.factories import a_past

remote = sys.argv[3] if len(sys.argv) > 3 else None
branch = HistoryBranch(Path(sys.argv[1]), remote=remote)
for number in range(4):
    branch.append([a_past(f"{sys.argv[2]}{number:039}")])
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository", {"lib.py": "VALUE = 1\n"})


@pytest.fixture
def remote(tmp_path: Path, repository: Path) -> Path:
    """A bare one, known to the repository as origin."""
    folder = tmp_path / "remote.git"
    run_git(tmp_path, "clone", "--quiet", "--bare", str(repository), str(folder))
    run_git(repository, "remote", "add", "origin", folder.as_uri())
    return folder


def cloned(remote: Path, name: str, *options: str) -> Path:
    folder = remote.parent / name
    run_git(remote.parent, "clone", "--quiet", *options, remote.as_uri(), str(folder))
    return folder


def state(repository: Path) -> dict[str, str]:
    """All that the user sees of a repository, but for the history."""
    asked = {
        "head": ("rev-parse", "--symbolic-full-name", "HEAD"),
        "commit": ("rev-parse", "HEAD"),
        "changes": ("status", "--porcelain"),
        "index": ("ls-files", "--stage"),
    }
    return {name: run_git(repository, *words) for name, words in asked.items()}


def lines_on(repository: Path, path: str = JANUARY, ref: str = "rlperf-data") -> list[str]:
    return run_git(repository, "show", f"{ref}:{path}").splitlines()


def test_what_is_appended_is_read_in_order(repository: Path):
    HistoryBranch(repository).append([FIRST])
    kept = HistoryBranch(repository).append([SECOND, THIRD])
    assert (kept.added, kept.where, kept.torn) == (2, "the branch rlperf-data", None)
    assert HistoryBranch(repository).read().tests == (FIRST, SECOND, THIRD)


def test_working_tree_index_and_head_stay_as_they_are(repository: Path):
    (repository / "lib.py").write_text("VALUE = 2\n")
    (repository / "new.py").write_text("")
    run_git(repository, "add", "new.py")
    before = state(repository)
    HistoryBranch(repository).append([FIRST])
    assert state(repository) == before
    assert run_git(repository, "branch", "--format=%(refname:short)").split() == [
        "main",
        "rlperf-data",
    ]


def test_the_branch_has_no_commit_in_common_with_the_code(repository: Path):
    HistoryBranch(repository).append([FIRST])
    HistoryBranch(repository).append([SECOND])
    assert run_git(repository, "rev-list", "--count", "rlperf-data") == "2"
    assert run_git(repository, "ls-tree", "-r", "--name-only", "rlperf-data") == JANUARY


def test_every_month_has_a_file(repository: Path):
    later = a_past("b" * 40, created="2030-02-01T00:00:00+00:00")
    HistoryBranch(repository).append([FIRST])
    HistoryBranch(repository).append([later])
    assert lines_on(repository) == [line_of(FIRST)]
    assert lines_on(repository, "history/2030-02.jsonl") == [line_of(later)]
    assert HistoryBranch(repository).read().tests == (FIRST, later)


def test_a_result_that_is_there_already_makes_no_commit(repository: Path):
    HistoryBranch(repository).append([FIRST])
    assert HistoryBranch(repository).append([FIRST]).added == 0
    assert run_git(repository, "rev-list", "--count", "rlperf-data") == "1"


def test_other_files_on_the_branch_are_kept(repository: Path):
    HistoryBranch(repository).append([FIRST])
    run_git(repository, "checkout", "--quiet", "rlperf-data")
    commit(repository, {"baselines/some.json": "{}"})
    run_git(repository, "checkout", "--quiet", "main")
    HistoryBranch(repository).append([SECOND])
    assert run_git(repository, "show", "rlperf-data:baselines/some.json") == "{}"


def test_a_torn_line_is_put_aside_on_the_branch(repository: Path):
    HistoryBranch(repository).append([FIRST])
    run_git(repository, "checkout", "--quiet", "rlperf-data")
    commit(repository, {JANUARY: f"{line_of(FIRST)}\n{line_of(SECOND)[:-9]}"})
    run_git(repository, "checkout", "--quiet", "main")
    (trouble,) = HistoryBranch(repository).read().troubles
    assert trouble.startswith(f"rlperf-data:{JANUARY} ends in a line that was cut off")
    kept = HistoryBranch(repository).append([SECOND])
    assert kept.torn == f"{JANUARY}.torn of the branch rlperf-data"
    assert lines_on(repository, f"{JANUARY}.torn") == [line_of(SECOND)[:-9]]
    assert HistoryBranch(repository).read().tests == (FIRST, SECOND)


def test_of_two_torn_lines_that_meet_neither_is_lost(remote: Path, repository: Path):
    HistoryBranch(repository, remote="origin").append([FIRST])
    other = cloned(remote, "other")
    for folder in (repository, other):
        run_git(folder, "checkout", "--quiet", "rlperf-data")
        commit(folder, {JANUARY: f'{line_of(FIRST)}\n{{"{folder.name}'})
        run_git(folder, "checkout", "--quiet", "main")
    run_git(other, "push", "--quiet", "origin", "rlperf-data")
    HistoryBranch(repository, remote="origin").append([SECOND])
    assert sorted(lines_on(remote, f"{JANUARY}.torn")) == ['{"other', '{"repository']
    assert lines_on(remote) == [line_of(FIRST), line_of(SECOND)]


def test_a_detached_head_is_no_hindrance(repository: Path):
    run_git(repository, "checkout", "--quiet", "--detach")
    HistoryBranch(repository).append([FIRST])
    assert HistoryBranch(repository).read().tests == (FIRST,)
    assert run_git(repository, "rev-parse", "--symbolic-full-name", "HEAD") == "HEAD"


def test_without_an_identity_the_plugin_signs(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    run_git(repository, "config", "user.useConfigOnly", "true")
    HistoryBranch(repository).append([FIRST])
    who = run_git(repository, "log", "-1", "--format=%an <%ae>", "rlperf-data")
    assert who == "pytest-rlperf <pytest-rlperf@localhost>"


def test_hooks_of_the_repository_do_not_run(repository: Path, remote: Path):
    for name in ("pre-push", "reference-transaction", "post-index-change"):
        hook = repository / ".git" / "hooks" / name
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
    HistoryBranch(repository, remote="origin").append([FIRST])
    assert lines_on(remote) == [line_of(FIRST)]


def wait_for(*commands: list[str]) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, *words]) for words in commands]
    assert [writer.wait(timeout=300) for writer in writers] == [0] * len(writers)


def commits_in(repository: Path) -> set[str]:
    past = HistoryBranch(repository).read()
    assert past.troubles == ()
    assert len(past.tests) == len({test.commit for test in past.tests})
    return {test.commit for test in past.tests}


WRITTEN = {f"{name}{number:039}" for name in "ab" for number in range(4)}


def test_two_writers_at_once_lose_nothing(repository: Path):
    wait_for([str(repository), "a"], [str(repository), "b"])
    assert commits_in(repository) == WRITTEN


def test_two_writers_that_push_from_one_clone_lose_nothing(remote: Path):
    clone = str(cloned(remote, "one"))
    wait_for([clone, "a", "origin"], [clone, "b", "origin"])
    assert commits_in(remote) == WRITTEN


@pytest.mark.parametrize("ref", ["heads/rlperf-data", "remotes/origin/rlperf-data"])
def test_a_lock_that_a_killed_git_left_is_named_with_its_age_and_owner(
    remote: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, ref: str
):
    monkeypatch.setattr(data_branch, "PAUSE_S", 0.0)
    HistoryBranch(cloned(remote, "other"), remote="origin").append([FIRST])
    lock = repository / ".git" / "refs" / f"{ref}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    long_ago = time.time() - 3 * 3600
    os.utime(lock, (long_ago, long_ago))
    said = rf"{lock} is there, made 3 hours ago by {lock.owner()}; .* remove that file, and append"
    with pytest.raises(RlperfError, match=said):
        HistoryBranch(repository, remote="origin").append([SECOND])
    lock.unlink()
    HistoryBranch(repository, remote="origin").append([SECOND])
    assert len(lines_on(remote)) == 2


def test_a_lock_of_a_user_without_a_name_is_named_too(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    def nameless(_: Path) -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(Path, "owner", nameless)
    monkeypatch.setattr(data_branch, "ATTEMPTS", 1)
    lock = repository / ".git" / "refs" / "heads" / "rlperf-data.lock"
    lock.touch()
    said = rf"{lock} is there, made \d+ seconds ago by user {os.getuid()}, who has no name here;"
    with pytest.raises(RlperfError, match=said):
        HistoryBranch(repository).append([FIRST])


def test_a_lock_that_a_killed_git_left_in_the_remote_is_named(
    remote: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(data_branch, "ATTEMPTS", 1)
    HistoryBranch(repository, remote="origin").append([FIRST])
    lock = remote / "refs" / "heads" / "rlperf-data.lock"
    lock.touch()
    with pytest.raises(
        RlperfError, match=r"rlperf-data\.lock is there, in 'origin'; .* and append"
    ):
        HistoryBranch(repository, remote="origin").append([SECOND])
    lock.unlink()
    HistoryBranch(repository, remote="origin").append([SECOND])
    assert len(lines_on(remote)) == 2


def test_two_clones_that_push_at_once_lose_nothing(remote: Path):
    clones = {name: cloned(remote, name) for name in "ab"}
    wait_for(*([str(folder), name, "origin"] for name, folder in clones.items()))
    assert commits_in(remote) == WRITTEN


def test_what_another_clone_pushed_stays_and_comes_along(remote: Path, repository: Path):
    HistoryBranch(repository, remote="origin").append([FIRST])
    other = cloned(remote, "other")
    HistoryBranch(other).append([SECOND])  # not pushed, and it does not know of the first
    kept = HistoryBranch(other, remote="origin").append([THIRD])
    assert kept.where == "the branch rlperf-data, pushed to origin"
    assert {*lines_on(remote)} == {line_of(test) for test in (FIRST, SECOND, THIRD)}
    assert {*HistoryBranch(other).read().tests} == {FIRST, SECOND, THIRD}


def test_other_files_of_both_sides_outlive_a_merge(remote: Path, repository: Path):
    HistoryBranch(repository, remote="origin").append([FIRST])
    other = cloned(remote, "other")
    for folder in (repository, other):
        run_git(folder, "checkout", "--quiet", "rlperf-data")
        commit(folder, {f"baselines/{folder.name}.json": folder.name, "shared": folder.name})
        run_git(folder, "checkout", "--quiet", "main")
    HistoryBranch(other, remote="origin").append([SECOND])
    HistoryBranch(repository, remote="origin").append([THIRD])
    for name in ("other", "repository"):
        assert run_git(remote, "show", f"rlperf-data:baselines/{name}.json") == name
    assert run_git(remote, "show", "rlperf-data:shared") == "other"  # who came first


def test_it_works_from_a_folder_below_the_top(repository: Path):
    folder = repository / "deep" / "down"
    folder.mkdir(parents=True)
    HistoryBranch(folder).append([FIRST])
    HistoryBranch(folder).append([SECOND])
    assert HistoryBranch(folder).read().tests == (FIRST, SECOND)
    assert run_git(repository, "ls-tree", "-r", "--name-only", "rlperf-data") == JANUARY


def test_a_shallow_clone_appends_to_the_whole_history(remote: Path, repository: Path):
    commit(repository, {"lib.py": "VALUE = 2\n"})
    run_git(repository, "push", "--quiet", "origin", "main")
    for test in (FIRST, SECOND):
        HistoryBranch(repository, remote="origin").append([test])
    shallow = cloned(remote, "shallow", "--depth=1")
    HistoryBranch(shallow, remote="origin").append([THIRD])
    assert lines_on(remote) == [line_of(test) for test in (FIRST, SECOND, THIRD)]
    assert run_git(remote, "rev-list", "--count", "rlperf-data") == "3"


def test_a_full_clone_does_not_become_shallow(remote: Path, repository: Path):
    HistoryBranch(repository, remote="origin").append([FIRST])
    full = cloned(remote, "full")
    HistoryBranch(full, remote="origin").append([SECOND])
    assert run_git(full, "rev-parse", "--is-shallow-repository") == "false"


def test_a_fresh_clone_reads_what_was_pushed(remote: Path, repository: Path):
    HistoryBranch(repository, remote="origin").append([FIRST])
    assert HistoryBranch(cloned(remote, "fresh")).read().tests == (FIRST,)
    single = cloned(remote, "single", "--single-branch", "--depth=1")
    assert HistoryBranch(single, remote="origin").read().tests == (FIRST,)


def test_a_remote_that_is_not_there_is_told_in_one_line(repository: Path):
    run_git(repository, "remote", "add", "origin", (repository / "gone").as_uri())
    with pytest.raises(RlperfError, match=r"cannot be fetched from 'origin' .*; check `git remote"):
        HistoryBranch(repository, remote="origin").append([FIRST])


@pytest.mark.parametrize("name", ["upstream", "https://example.org/x.git", "", "--all"])
def test_what_is_no_remote_is_refused_before_anything_is_written(repository: Path, name: str):
    with pytest.raises(UsageError, match="is no remote of this repository; add it with `git remo"):
        HistoryBranch(repository, remote=name).append([FIRST])
    assert run_git(repository, "branch", "--list", "rlperf-data") == ""


def test_a_remote_that_refuses_is_told_at_once(remote: Path, repository: Path):
    hook = remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho the branch is protected\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(RlperfError, match=r"(?s)cannot be pushed to 'origin'.*protected.*nothing"):
        HistoryBranch(repository, remote="origin").append([FIRST])
    assert HistoryBranch(repository).read().tests == (FIRST,)


def test_a_branch_of_the_code_is_refused(repository: Path):
    with pytest.raises(UsageError, match="the branch 'main' is one of your code; the history"):
        HistoryBranch(repository, "main").append([FIRST])


def test_a_branch_that_is_checked_out_is_refused(repository: Path):
    HistoryBranch(repository).append([FIRST])
    run_git(repository, "worktree", "add", "--quiet", "../data", "rlperf-data")
    with pytest.raises(UsageError, match="the branch 'rlperf-data' is checked out"):
        HistoryBranch(repository).append([SECOND])
    assert HistoryBranch(repository).read().tests == (FIRST,)


@pytest.mark.parametrize("name", ["", "-x", "a..b", "@{-1}"])
def test_what_is_no_name_of_a_branch_is_refused(repository: Path, name: str):
    with pytest.raises(UsageError, match="which is no name of a branch; try rlperf-data"):
        HistoryBranch(repository, name).append([FIRST])


def test_outside_of_a_repository_a_file_is_recommended(tmp_path: Path):
    with pytest.raises(UsageError, match=r"git finds no repository at .*; run it in a clone, or"):
        HistoryBranch(tmp_path).append([FIRST])


def test_a_branch_that_is_not_there_is_told_with_how_to_get_it(repository: Path):
    with pytest.raises(UsageError, match="there is no history on the branch 'rlperf-data'; write"):
        HistoryBranch(repository).read()


# The history that a report shows: where it is read, and when the run is a part of it.


TEST = a_test(blocks=tuple(block([500], [400]) for _ in range(3)))


def result(**fields: Any) -> dict[str, Any]:
    run = run_result(TEST, a_test("test_a.py::test_b"), mode="stored", fingerprint=FACTS)
    return {**run_as_dict(run, 0), **fields}


def past(**fields: Any) -> PastTest:
    """As the result would be kept, of an earlier commit."""
    created = "2030-01-01T00:00:00+00:00"
    (test,) = entries_of(result(commit="e" * 40, created=created, **fields), "", None)
    return test


def commits(*tests: PastTest, **fields: Any) -> list[str]:
    (trend,) = history_of(Past(tests), result(**fields)).trends
    return [point.commit[0] for point in trend.points]


def test_the_branch_of_the_repository_is_read(tmp_path: Path):
    folder = new_repository(tmp_path / "repository", {"lib.py": ""})
    assert history_on(folder, "rlperf-data", result()) is None
    HistoryBranch(folder).append([a_past("a" * 40), a_past("b" * 40)])
    found = history_on(folder, "rlperf-data", result())
    assert found is not None
    assert [len(trend.points) for trend in found.trends] == [2]


@pytest.mark.parametrize("name", ["another", "no name"])
def test_a_branch_that_is_not_there_is_no_trouble(tmp_path: Path, name: str):
    folder = new_repository(tmp_path / "repository", {"lib.py": ""})
    HistoryBranch(folder).append([a_past("a" * 40)])
    assert history_on(folder, name, result()) is None


def test_outside_of_a_repository_there_is_none(tmp_path: Path):
    assert history_on(tmp_path, "rlperf-data", result()) is None


def test_only_tests_of_the_run_are_looked_at():
    other = a_past("a" * 40, "test_z.py::test_z")
    found = history_of(Past((other, past()), ("a line is damaged.",)), result())
    assert [trend.nodeid for trend in found.trends] == [TEST.nodeid]
    assert found.troubles == ("a line is damaged.",)


def test_the_run_is_the_last_point():
    assert commits(past()) == ["e", "f"]


@pytest.mark.parametrize(
    "fields",
    [
        {"mode": "against", "base_commit": "e" * 40},
        {"dirty": True},
        {"commit": None},
        {"fingerprint": {**FACTS, "cpu": "Another CPU"}},
    ],
)
def test_a_run_of_another_kind_or_machine_is_not(fields: dict[str, Any]):
    assert commits(past(), **fields) == ["e"]


def test_a_run_that_was_appended_already_is_one_point():
    (kept,) = entries_of(result(), "", committed="2030-01-01T12:00:00+00:00")
    assert commits(past(), kept) == ["e", "f"]


def test_warnings_of_libraries_are_no_errors(monkeypatch: pytest.MonkeyPatch):
    def warn(*_: object) -> tuple[()]:
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return ()

    monkeypatch.setattr("pytest_rlperf.history.branch.trends", warn)
    assert history_of(Past((past(),)), result()).trends == ()
