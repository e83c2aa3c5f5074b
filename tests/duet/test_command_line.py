"""Which commands need a shell, and what is said of those that cannot be started."""

import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.duet.command_line import needs_shell, read_commands
from pytest_rlperf.errors import UsageError


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("sort words.txt", False),
        ("python -c 'for i in range(9): pass; print(\"$x\")'", False),
        ('python -c "print(1); print(2)"', False),
        ("grep 'a|b' words.txt", False),
        (r"echo \$HOME a\ b", False),
        ("cmd --key=value", False),
        ("find . -name a#b", False),
        ("sort < words.txt", True),
        ("sort words.txt | uniq", True),
        ('echo "$HOME"', True),
        ("echo *.txt", True),
        ("ls ~/words", True),
        ("sleep 1 # a nap", True),
        ("X=1 env", True),
        ("cd /tmp", True),
        ("make && ./a.out", True),
    ],
)
def test_a_shell_is_there_where_the_words_need_one(text: str, needed: bool):
    assert needs_shell(text) is needed


@given(st.lists(st.text(min_size=1), min_size=1))
def test_words_in_quotes_never_need_one(words: list[str]):
    text = " ".join(f"'{word}'" for word in words if "'" not in word)
    assert not needs_shell(f"cat {text}")


@given(st.lists(st.text(st.characters(exclude_characters="\x00"), min_size=1)))
def test_words_are_split_as_they_were_joined(words: list[str]):
    (command,) = read_commands([shlex.join(["cat", *words])], False).each
    assert list(command.program.argv) == ["cat", *words]


def test_one_that_needs_a_shell_gives_one_to_all():
    commands = read_commands(["sort words.txt", "sort < words.txt"], None)
    assert commands.shell is not None
    assert {tuple(each.program.argv[:2]) for each in commands.each} == {("sh", "-c")}
    assert read_commands(["sort words.txt", "sort -n words.txt"], None).shell is None
    assert read_commands(["sort words.txt", "sort -n words.txt"], True).shell == commands.shell


def test_a_program_is_called_as_the_user_called_it():
    (command,) = read_commands([f"{Path(sys.executable).name} -V"], False).each
    assert command.program.argv[0] == Path(sys.executable).name
    assert Path(command.program.path).is_absolute()


@pytest.mark.parametrize(
    ("text", "shell", "said"),
    [
        ("no-such-program-here x", None, "'no-such-program-here' was not found on PATH"),
        ("no-such-program-here x", True, "'no-such-program-here' was not found on PATH"),
        ("./no/such", None, "'./no/such' is not there"),
        ("cd /tmp", False, "is a word of the shell; leave --no-shell out"),
        ("echo 'a", None, "a quote is not closed"),
        ("echo a\\", None, "it ends in a backslash"),
        ("  ", None, "a command is empty"),
    ],
)
def test_what_cannot_be_started_is_refused(text: str, shell: bool | None, said: str):
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        read_commands(["true", text], shell)


def test_a_file_that_is_no_program_says_how_to_make_it_one(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text("print(1)\n")
    with pytest.raises(UsageError, match="is not executable; make it so"):
        read_commands([str(script)], None)
