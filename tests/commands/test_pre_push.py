"""`rlperf pre-push`: which commits are measured against which, in real repositories."""

import io
from pathlib import Path

import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.commands.pre_push import Base, Pushed, base_of, pushed_commits, pytest_command
from tests.trees.repositories import commit, new_repository, run_git

ZEROS = "0" * 40
SHA, OLD = "a" * 40, "b" * 40


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """On the branch `work`, of which nothing was pushed."""
    new_repository(tmp_path / "upstream", {"a.py": ""})
    run_git(tmp_path, "clone", "--quiet", "--bare", "upstream", "remote")
    run_git(tmp_path, "clone", "--quiet", "remote", "clone")
    folder = tmp_path / "clone"
    run_git(folder, "checkout", "--quiet", "-b", "work", "--no-track")
    commit(folder, {"a.py": "x = 1\n"})
    return folder


def head(folder: Path, ref: str = "HEAD") -> str:
    return run_git(folder, "rev-parse", ref)


def pushed(folder: Path, name: str = "work") -> Pushed:
    return Pushed(name, head(folder, name))


def push_work(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As git tells its hook."""
    line = f"refs/heads/work {head(clone)} refs/heads/work {ZEROS}\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(line))


def label(found: Base | str) -> str:
    return found if isinstance(found, str) else found.label.split(" ")[0]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", []),
        (f"refs/heads/work {SHA} refs/heads/work {OLD}\n", [Pushed("work", SHA)]),
        (f"refs/heads/work {SHA} refs/heads/work {ZEROS}\n", [Pushed("work", SHA)]),
        (f"(delete) {ZEROS} refs/heads/work {OLD}\n", []),
        (f"refs/tags/v1 {SHA} refs/tags/v1 {ZEROS}\n", []),
        (f"HEAD~1 {SHA} refs/heads/work {OLD}\n", [Pushed("HEAD~1", SHA)]),
        (
            f"refs/heads/a {SHA} refs/heads/a {OLD}\nrefs/heads/b {OLD} refs/heads/b {ZEROS}\n",
            [Pushed("a", SHA), Pushed("b", OLD)],
        ),
    ],
)
def test_branches_that_git_lists_are_pushed_and_neither_tags_nor_removals(
    lines: str, expected: list[Pushed], tmp_path: Path
):
    assert pushed_commits(tmp_path, {}, io.StringIO(lines)) == expected


def test_pre_commit_tells_it_in_its_own_way(tmp_path: Path):
    told = {"PRE_COMMIT_TO_REF": SHA, "PRE_COMMIT_LOCAL_BRANCH": "refs/heads/work"}
    assert pushed_commits(tmp_path, told, io.StringIO("ignored")) == [Pushed("work", SHA)]


def test_a_branch_without_upstream_is_compared_with_the_remotes_main_one(clone: Path):
    assert base_of(clone, pushed(clone), "origin", None) == Base(
        head(clone, "origin/main"), f"origin/main ({head(clone, 'origin/main')[:7]})"
    )


def test_a_branch_with_upstream_is_compared_with_where_it_left_that(clone: Path):
    run_git(clone, "push", "--quiet", "-u", "origin", "work")
    left = head(clone)
    commit(clone, {"a.py": "x = 2\n"})
    found = base_of(clone, pushed(clone), "origin", None)
    assert found == Base(left, f"origin/work ({left[:7]})")


def test_a_remote_that_named_no_main_branch_is_asked_for_the_usual_names(clone: Path):
    run_git(clone, "remote", "set-head", "origin", "--delete")
    assert label(base_of(clone, pushed(clone), "origin", None)) == "origin/main"


def test_an_upstream_that_is_gone_is_none(clone: Path):
    run_git(clone, "config", "branch.work.remote", "origin")
    run_git(clone, "config", "branch.work.merge", "refs/heads/deleted")
    assert label(base_of(clone, pushed(clone), "origin", None)) == "origin/main"


@pytest.mark.parametrize(
    ("name", "remote", "wanted", "said"),
    [
        ("work", "nowhere", None, "work has no upstream branch; name one with --against."),
        ("main", "origin", None, "origin/main has all of main already."),
        ("work", "origin", "-x", "work and -x have no common ancestor; name another with --"),
    ],
)
def test_where_there_is_nothing_to_compare_the_reason_is_told(
    clone: Path, name: str, remote: str, wanted: str | None, said: str
):
    assert str(base_of(clone, pushed(clone, name), remote, wanted)).startswith(said)


def test_a_push_without_anything_to_compare_says_so_loudly_and_goes_on(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(clone)
    push_work(clone, monkeypatch)
    assert main(["pre-push", "--remote", "nowhere"]) == 0
    said = "rlperf: NOTHING WAS MEASURED: work has no upstream branch; name one with --against.\n"
    assert capsys.readouterr().out == said


@pytest.mark.parametrize("clean", [True, False])
def test_the_commit_is_measured_and_not_what_happens_to_lie_in_the_working_tree(
    clean: bool, clone: Path, monkeypatch: pytest.MonkeyPatch
):
    commands: list[list[str]] = []

    def keep(command: list[str], root: Path) -> int:
        commands.append(command)
        return 6

    if not clean:
        (clone / "a.py").write_text("x = 3\n")
    monkeypatch.chdir(clone)
    push_work(clone, monkeypatch)
    monkeypatch.setattr("pytest_rlperf.commands.pre_push.run_pytest", keep)
    assert main(["pre-push", "--budget=30", "--", "tests/perf"]) == 0
    base = head(clone, "origin/main")
    expected = pytest_command(base, None if clean else head(clone), 30, ["tests/perf"])
    assert commands[-1] == expected


@pytest.mark.parametrize(("code", "ended"), [(0, 0), (1, 1), (6, 0), (2, 1), (4, 1)])
def test_a_push_goes_on_where_nothing_regressed_or_could_be_compared(
    code: int, ended: int, clone: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(clone)
    push_work(clone, monkeypatch)
    monkeypatch.setattr("pytest_rlperf.commands.pre_push.run_pytest", lambda command, root: code)
    assert main(["pre-push"]) == ended


def test_the_command_is_a_duet_on_what_the_change_reaches():
    assert pytest_command("1a2b", "3c4d", 30, ["-k", "x"])[1:] == [
        *("-m", "pytest", "--rlperf", "--rlperf-reached", "--rlperf-against=1a2b"),
        *("--rlperf-head=3c4d", "--rlperf-budget=30", "--rlperf-profile=off", "-k", "x"),
    ]
