"""`rlperf init`: what it writes into a project, and what it leaves alone."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pytest_rlperf import cli
from pytest_rlperf.commands import init

OWN_WORKFLOW = Path(__file__).parents[2] / ".github" / "workflows" / "rlperf.yml"
TABLE = {"rlperf_budget": "300"}
PROJECT = '[project]\nname = "My-Lib"\nversion = "1"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def add_package(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str = "") -> None:
    """As if it were installed."""
    (folder / "src/my_lib").mkdir(parents=True)
    (folder / "src/my_lib/__init__.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder / "src"))


def answer(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    left = list(answers)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: left.pop(0))


def test_an_empty_folder_gets_a_test_a_workflow_and_settings(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["init"]) == 0
    assert files(folder) == [".github/workflows/rlperf.yml", "pytest.ini", init.TEST]
    assert capsys.readouterr().out.splitlines() == [
        "wrote tests/perf/test_first.py",
        "wrote .github/workflows/rlperf.yml",
        "wrote pytest.ini",
        "Next, commit these files, change something, and run:",
        "  pytest --rlperf --rlperf-against=HEAD tests/perf",
    ]


@pytest.mark.usefixtures("folder")
def test_a_folder_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["init", "nowhere"]) == 4
    said = "rlperf: nowhere is no folder; name the one of your project.\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("packaged", [True, False])
def test_the_first_test_passes_as_it_is(
    packaged: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    if packaged:
        add_package(folder, monkeypatch)
    assert cli.main(["init"]) == 0
    assert ("my_lib" in (folder / init.TEST).read_text()) is packaged
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/perf"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_the_first_test_leaves_the_modules_that_others_know(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    add_package(folder, monkeypatch)
    cli.main(["init"])
    with (folder / init.TEST).open("a") as file:
        file.write("\n\ndef test_after():\n    assert my_lib is sys.modules['my_lib']\n")
    text = (folder / init.TEST).read_text()
    (folder / init.TEST).write_text(text.replace("import sys\n", "import sys\nimport my_lib\n"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/perf"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert "2 passed" in done.stdout, done.stdout


def test_a_package_that_cannot_be_imported_gets_an_example_and_the_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    add_package(folder, monkeypatch, "raise ImportError('no such GPU')")
    assert cli.main(["init"]) == 0
    assert "test_sorting" in (folder / init.TEST).read_text()
    said = "my_lib cannot be imported here (ImportError: no such GPU)."
    assert capsys.readouterr().out.startswith(f"The first test is an example only: {said}")


def test_of_several_packages_the_one_of_the_projects_name_is_taken(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    add_package(folder, monkeypatch)
    (folder / "other").mkdir()
    (folder / "other/__init__.py").touch()
    (folder / "pyproject.toml").write_text(PROJECT)
    cli.main(["init"])
    assert 'rlperf(import_afresh, "my_lib")' in (folder / init.TEST).read_text()


@pytest.mark.parametrize("before", ["", PROJECT, PROJECT.rstrip(), PROJECT.replace("\n", "\r\n")])
def test_settings_are_appended_to_pyproject_and_all_else_stays(folder: Path, before: str):
    path = folder / "pyproject.toml"
    path.write_bytes(before.encode())
    assert cli.main(["init"]) == 0
    after = path.read_bytes().decode()
    assert after.startswith(before)
    assert ("\r\n" in before) == ("\r\n" in after)
    assert tomllib.loads(after)["tool"]["pytest"]["ini_options"] == TABLE
    assert not (folder / "pytest.ini").exists()


@pytest.mark.parametrize(
    ("name", "text", "section"),
    [
        ("pyproject.toml", "[tool.pytest.ini_options]\nxfail_strict = true\n", "tool.pytest.ini_o"),
        ("pyproject.toml", "tool = { black = { line-length = 99 } }\n", "tool.pytest.ini_options"),
        ("pytest.ini", "", "pytest"),
        ("tox.ini", "[tox]\n[pytest]\n", "pytest"),
        ("setup.cfg", "[tool:pytest]\naddopts = -q %x\n", "tool:pytest"),
    ],
)
def test_settings_that_exist_are_not_edited_but_told_what_to_add(
    folder: Path, name: str, text: str, section: str, capsys: pytest.CaptureFixture[str]
):
    (folder / name).write_text(text)
    assert cli.main(["init"]) == 0
    assert (folder / name).read_text() == text
    out = capsys.readouterr().out
    assert f"{name} holds settings of pytest, so it is yours to edit; you may add:\n" in out
    assert f"\n[{section}" in out
    assert name == "pytest.ini" or not (folder / "pytest.ini").exists()


def test_a_file_that_is_no_toml_is_told_before_anything_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    (folder / "pyproject.toml").write_text("[broken")
    assert cli.main(["init"]) == 4
    assert re.search(
        r"pyproject\.toml cannot be read: .*; correct it first", capsys.readouterr().err
    )
    assert files(folder) == ["pyproject.toml"]


def test_a_second_run_has_nothing_to_do(folder: Path, capsys: pytest.CaptureFixture[str]):
    cli.main(["init"])
    capsys.readouterr()
    assert cli.main(["init"]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("Next, ")


def test_without_a_terminal_nothing_is_overwritten(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    (folder / "tests/perf").mkdir(parents=True)
    (folder / init.TEST).write_text("mine")
    assert cli.main(["init"]) == 4
    said = f"rlperf: {init.TEST} would be overwritten; move it away, or add --force.\n"
    assert capsys.readouterr().err == said
    assert files(folder) == [init.TEST]
    assert (folder / init.TEST).read_text() == "mine"


@pytest.mark.parametrize(("said", "kept"), [("y", False), ("", True), ("no", True)])
def test_in_a_terminal_it_asks(
    said: str, kept: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    (folder / "tests/perf").mkdir(parents=True)
    (folder / init.TEST).write_text("mine")
    answer(monkeypatch, said)
    assert cli.main(["init"]) == 0
    assert ((folder / init.TEST).read_text() == "mine") is kept
    assert (folder / init.WORKFLOW).exists()


def test_force_overwrites(folder: Path):
    (folder / "tests/perf").mkdir(parents=True)
    (folder / init.TEST).write_text("mine")
    assert cli.main(["init", "--force"]) == 0
    assert "test_sorting" in (folder / init.TEST).read_text()


def test_below_the_top_of_a_repository_there_is_no_workflow(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    subprocess.run(["git", "init", "--quiet"], check=True)
    (folder / "part").mkdir()
    assert cli.main(["init", "part"]) == 0
    assert files(folder / "part") == ["pytest.ini", init.TEST]
    assert "No workflow: part is not the top of its repository" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("present", "words"),
    [
        ({}, "pytest-rlperf"),
        ({"pyproject.toml": PROJECT}, "pytest-rlperf -e ."),
        ({"setup.py": "", "requirements.txt": ""}, "pytest-rlperf -r requirements.txt -e ."),
        ({"pyproject.toml": "[tool.ruff]\n"}, "pytest-rlperf"),
    ],
)
def test_the_workflow_installs_what_the_project_needs(
    folder: Path, present: dict[str, str], words: str
):
    for name, text in present.items():
        (folder / name).write_text(text)
    cli.main(["init"])
    assert f"- run: python -m pip install {words}\n" in (folder / init.WORKFLOW).read_text()


def test_the_workflow_pins_the_actions_that_our_own_does_and_may_only_read(folder: Path):
    cli.main(["init"])
    text = (folder / init.WORKFLOW).read_text()
    actions = re.findall(r"uses: (.*)", text)
    assert len(actions) == 3
    assert set(actions) <= set(re.findall(r"uses: (.*)", OWN_WORKFLOW.read_text()))
    assert re.findall(r"permissions:(.*)\n( {6}\w.*)?", text) == [
        (" {}", ""),
        ("", "      contents: read"),
    ]
    assert "<" not in text
