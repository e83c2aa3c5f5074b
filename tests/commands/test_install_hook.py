"""`rlperf install-hook`: where the hook is written, and that nobody's own is lost."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from pytest_rlperf.cli import main
from tests.trees.repositories import new_repository, run_git

MINE = "#!/bin/sh\necho mine\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = new_repository(tmp_path / "repo", {"a.py": ""})
    (folder / ".git/hooks/pre-push").unlink(missing_ok=True)
    monkeypatch.chdir(folder)
    # Whoever runs the tests may have settings of their own.
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    return folder


def hook(repository: Path) -> Path:
    return repository / ".git/hooks/pre-push"


def run_hook(path: Path, **how) -> "subprocess.CompletedProcess[str]":
    words = [str(path), "origin", "url"]
    return subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, **how)


def test_the_hook_can_be_run_and_has_nothing_to_do_where_nothing_is_pushed(
    repository: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["install-hook"]) == 0
    assert capsys.readouterr().out == f"wrote {hook(repository)}\n"
    assert hook(repository).stat().st_mode & stat.S_IXUSR
    done = run_hook(hook(repository))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_wishes_are_written_into_the_hook_as_data(repository: Path):
    words = ["--budget=30", "--against=origin/main", "--", "tests/perf", "-k", "fast or $(touch x)"]
    assert main(["install-hook", *words]) == 0
    last = hook(repository).read_text().splitlines()[-1]
    assert last.endswith(
        "pre-push --remote \"$1\" --budget=30 --against=origin/main -- tests/perf -k "
        "'fast or $(touch x)'"
    )  # fmt: skip


def test_a_budget_that_is_none_is_refused_before_anything_is_written(
    repository: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["install-hook", "--budget=soon"]) == 4
    assert "--budget is 'soon', which is no time" in capsys.readouterr().err
    assert not hook(repository).exists()


def test_a_second_time_the_hook_is_renewed(repository: Path):
    main(["install-hook"])
    assert main(["install-hook", "--budget=30"]) == 0
    assert "--budget=30" in hook(repository).read_text()
    assert list(hook(repository).parent.glob("*rlperf*")) == []


def test_somebodys_hook_is_left_alone_and_the_line_to_add_is_told(
    repository: Path, capsys: pytest.CaptureFixture[str]
):
    hook(repository).write_text(MINE)
    assert main(["install-hook"]) == 4
    said = capsys.readouterr().err
    assert said.startswith(f"rlperf: {hook(repository)} is a hook of your own; ")
    assert said.endswith('-m pytest_rlperf.cli pre-push --budget=60 --remote "$1"\n')
    assert hook(repository).read_text() == MINE


def test_the_line_to_add_works_in_somebodys_hook(
    repository: Path, capsys: pytest.CaptureFixture[str]
):
    hook(repository).write_text(MINE)
    main(["install-hook", "--", "-k", "a or b"])
    line = capsys.readouterr().err.partition("beside: ")[2]
    hook(repository).write_text(MINE + line)
    hook(repository).chmod(0o755)
    done = run_hook(hook(repository))
    assert (done.returncode, done.stdout, done.stderr) == (0, "mine\n", "")


def test_force_keeps_it_beside_and_remove_puts_it_back(
    repository: Path, capsys: pytest.CaptureFixture[str]
):
    hook(repository).write_text(MINE)
    assert main(["install-hook", "--force"]) == 0
    said = f"wrote {hook(repository)}; yours is kept as pre-push.before-rlperf\n"
    assert capsys.readouterr().out == said
    assert hook(repository).with_name("pre-push.before-rlperf").read_text() == MINE
    assert main(["install-hook", "--remove"]) == 0
    assert "pre-push.before-rlperf is in its place again" in capsys.readouterr().out
    assert hook(repository).read_text() == MINE


def test_a_second_force_loses_neither_hook(repository: Path):
    for text in ("first", "second"):
        hook(repository).write_text(text)
        assert main(["install-hook", "--force"]) == 0
    kept = sorted(path.read_text() for path in hook(repository).parent.glob("*before-rlperf*"))
    assert kept == ["first", "second"]


def test_a_link_is_somebodys_and_what_it_leads_to_is_not_touched(repository: Path, tmp_path: Path):
    shared = tmp_path / "shared"
    shared.write_text(MINE)
    hook(repository).symlink_to(shared)
    assert main(["install-hook"]) == 4
    assert main(["install-hook", "--force"]) == 0
    assert shared.read_text() == MINE
    assert not hook(repository).is_symlink()


def test_a_folder_in_the_place_of_a_hook_is_somebodys(repository: Path):
    hook(repository).mkdir()
    assert main(["install-hook"]) == 4
    assert main(["install-hook", "--force"]) == 0
    assert hook(repository).with_name("pre-push.before-rlperf").is_dir()


@pytest.mark.parametrize(("present", "word"), [(MINE, "--force"), ("", "--remove")])
def test_hooks_that_may_not_be_changed_are_told_in_one_sentence(
    repository: Path,
    present: str,
    word: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    main(["install-hook"])
    if present:
        hook(repository).write_text(present)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    for name in ("rename", "unlink"):  # no mode of a folder keeps root out
        monkeypatch.setattr(Path, name, refuse)
    assert main(["install-hook", word]) == 4
    said = f"{hook(repository)} cannot be written (Permission denied); make its folder writable."
    assert capsys.readouterr().err == f"rlperf: {said}\n"


def test_remove_takes_the_hook_away(repository: Path, capsys: pytest.CaptureFixture[str]):
    main(["install-hook"])
    capsys.readouterr()
    for said in (f"removed {hook(repository)}\n", f"there is no hook at {hook(repository)}\n"):
        assert main(["install-hook", "--remove"]) == 0
        assert capsys.readouterr().out == said
    assert not hook(repository).exists()


def test_remove_leaves_somebodys_hook(repository: Path, capsys: pytest.CaptureFixture[str]):
    hook(repository).write_text(MINE)
    assert main(["install-hook", "--remove"]) == 4
    assert "is a hook of your own; nothing was removed" in capsys.readouterr().err
    assert hook(repository).read_text() == MINE


def test_in_a_worktree_the_hook_is_that_of_the_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run_git(repository, "worktree", "add", "--quiet", str(tmp_path / "other"), "-b", "other")
    monkeypatch.chdir(tmp_path / "other")
    assert main(["install-hook"]) == 0
    assert hook(repository).exists()


def test_from_a_folder_below_the_top_it_is_the_same_hook(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    (repository / "sub").mkdir()
    monkeypatch.chdir(repository / "sub")
    assert main(["install-hook"]) == 0
    assert hook(repository).exists()


@pytest.mark.parametrize("below", ["", "sub"])
def test_a_folder_of_hooks_in_the_repository_is_used(
    below: str, repository: Path, monkeypatch: pytest.MonkeyPatch
):
    run_git(repository, "config", "core.hooksPath", ".githooks")
    (repository / "sub").mkdir()
    monkeypatch.chdir(repository / below)
    assert main(["install-hook"]) == 0
    assert (repository / ".githooks/pre-push").exists()
    assert not hook(repository).exists()


def test_a_folder_of_hooks_that_other_repositories_use_is_refused(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    run_git(repository, "config", "core.hooksPath", str(tmp_path / "everybodys"))
    assert main(["install-hook"]) == 4
    assert "outside of this repository, where other repositories find it" in capsys.readouterr().err
    assert not (tmp_path / "everybodys").exists()


def test_outside_of_a_repository_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main(["install-hook"]) == 4
    assert "is in no git repository; run this in the one" in capsys.readouterr().err


def test_a_hook_whose_interpreter_is_gone_says_so_and_lets_the_push_go(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    gone = tmp_path / "it's gone" / "python"
    monkeypatch.setattr("sys.executable", str(gone))
    main(["install-hook"])
    done = run_hook(hook(repository), env={**os.environ})
    assert done.returncode == 0
    said = f"rlperf: NOTHING WAS MEASURED: {gone} is gone; run rlperf install-hook again.\n"
    assert done.stderr == said
