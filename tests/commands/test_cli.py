"""`rlperf`: its commands are listed, loaded one at a time, and fail with a sentence."""

import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

import pytest

from pytest_rlperf import cli
from pytest_rlperf.commands import COMMANDS, load
from pytest_rlperf.errors import UsageError


def ended(argv: Sequence[str]) -> int | str | None:
    """The code with which argparse ends the process."""
    with pytest.raises(SystemExit) as exited:
        cli.main(argv)
    return exited.value.code


def test_the_help_lists_every_command(capsys: pytest.CaptureFixture[str]):
    assert ended(["--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for name, about in COMMANDS.items():
        assert f"{name} {about}" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]):
    assert ended([name, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith(f"usage: rlperf {name} ")
    assert COMMANDS[name] in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_loaded_and_takes_its_arguments(name: str):
    command = load(name)
    command.add_arguments(ArgumentParser())
    assert callable(command.run)


@pytest.mark.parametrize("words", [[], ["no-such-command"], ["doctor", "--no-such-option"]])
def test_wrong_usage_is_told_with_the_exit_code_pytest_has_for_it(
    words: list[str], capsys: pytest.CaptureFixture[str]
):
    assert ended(words) == 4
    assert capsys.readouterr().err.startswith("usage: rlperf ")


def test_an_error_of_a_command_is_one_sentence_and_the_same_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def fail(arguments: Namespace) -> int:
        raise UsageError("there is no such file; name another.")

    monkeypatch.setattr(load("doctor"), "run", fail)
    assert cli.main(["doctor"]) == 4
    assert capsys.readouterr().err == "rlperf: there is no such file; name another.\n"


def test_only_the_command_that_was_asked_for_is_imported():
    script = (
        "import sys; from pytest_rlperf import cli; cli._parser(['doctor']); "
        "print(*(name for name in sys.modules if name.startswith('pytest_rlperf.commands.')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.split() == ["pytest_rlperf.commands.doctor"], done.stderr


def test_the_doctor_speaks_of_this_machine(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    machine, mpi = [line for line in lines if not line.startswith(("  helps  ", "  hurts  "))]
    assert "measuring" in machine
    assert "mpi" in mpi.lower()
