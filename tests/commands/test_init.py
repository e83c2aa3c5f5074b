"""`rlperf init`: what it writes into a project, and what it leaves alone."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from pytest_rlperf import cli
from pytest_rlperf.commands import init
from tests.trees.repositories import run_git

OWN = Path(__file__).parents[2]
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
    assert files(folder) == [
        init.ACTION, init.COMMENT_WORKFLOW, init.WORKFLOW, "pytest.ini", init.TEST,
    ]  # fmt: skip
    assert capsys.readouterr().out.splitlines() == [
        "wrote tests/perf/test_first.py",
        "wrote .github/workflows/rlperf.yml",
        "wrote .github/workflows/rlperf-comment.yml",
        "wrote .github/actions/rlperf/action.yml",
        "wrote pytest.ini",
        "Next, commit these files, change something, and run:",
        "  pytest --rlperf --rlperf-against=HEAD tests/perf",
    ]


BENCHMARK = "def test_fast(benchmark):\n    benchmark(sum, [1])\n"


def test_a_project_that_has_performance_tests_gets_no_first_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    for name in ("bench/test_a.py", "bench/deep/b_test.py", "tests/test_c.py", "test_top.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(BENCHMARK)
    assert cli.main(["init"]) == 0
    assert not (folder / init.TEST).exists()
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "No first test: there are performance tests in bench test_top.py tests."
    assert last == "  pytest --rlperf --rlperf-against=HEAD bench test_top.py tests"
    workflow = (folder / init.WORKFLOW).read_text()
    assert workflow.count("arguments: bench test_top.py tests\n") == 2


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.benchmark\ndef test_a():\n    pass\n",
        "@pytest.mark.rlperf(steps=3)\ndef test_a(mine):\n    pass\n",
        "async def test_a(rlperf):\n    pass\n",
    ],
)
def test_so_is_one_by_its_marker_or_that_is_awaited(folder: Path, text: str):
    (folder / "test_a.py").write_text(text)
    assert init.find_performance_tests(folder) == [Path("test_a.py")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tests/test_plain.py", "def test_a(tmp_path):\n    pass\n"),
        ("tests/test_broken.py", "def test_a(benchmark:\n"),
        ("tests/helpers.py", BENCHMARK),
        (".tox/lib/test_a.py", BENCHMARK),
        ("venv/test_a.py", BENCHMARK),
    ],
)
def test_what_is_no_performance_test_of_the_project_is_none(folder: Path, name: str, text: str):
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text(text)
    if name.startswith("venv"):
        (folder / "venv/pyvenv.cfg").write_text("")
    assert init.find_performance_tests(folder) == []


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
    assert re.search(r"pyproject\.toml cannot be read \(.*\); correct it", capsys.readouterr().err)
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
    text = (folder / init.WORKFLOW).read_text()
    assert text.count(f"- run: python -m pip install {words}\n") == 2


def test_jobs_pin_the_actions_that_our_own_do_and_have_the_same_permissions(folder: Path):
    cli.main(["init"])
    for name in (init.WORKFLOW, init.COMMENT_WORKFLOW):
        text, own = (folder / name).read_text(), (OWN / name).read_text()
        assert set(re.findall(r"uses: (.*)", text)) <= set(re.findall(r"uses: (.*)", own))
        assert "<" not in text
        jobs, own_jobs = yaml.safe_load(text)["jobs"], yaml.safe_load(own)["jobs"]
        allowed = [job.get("permissions") for job in own_jobs.values()]
        assert all(job["permissions"] in allowed for job in jobs.values())
        assert yaml.safe_load(text)["permissions"] == {}


def test_the_main_branch_is_recorded_once_a_week_too_with_more_time(folder: Path):
    cli.main(["init"])
    workflow = yaml.safe_load((folder / init.WORKFLOW).read_text())
    (when,) = workflow[True]["schedule"]
    minute, hour, *days, weekday = when["cron"].split()
    assert (days, minute.isdecimal(), hour.isdecimal()) == (["*", "*"], True, True)
    assert weekday.isdecimal()
    record = workflow["jobs"]["record"]
    assert record["if"] == "github.event_name != 'pull_request'"
    budget = record["steps"][-1]["with"]["budget"]
    (seconds,) = re.findall(r"'schedule' && '(\d+)' \|\| ''", budget)
    assert float(TABLE["rlperf_budget"]) < int(seconds)
    assert int(seconds) < 60 * record["timeout-minutes"]


def test_the_action_is_a_copy_of_our_own(folder: Path):
    cli.main(["init"])
    assert (folder / init.ACTION).read_text() == (OWN / init.ACTION).read_text()


def test_the_second_workflow_waits_for_the_first(folder: Path):
    cli.main(["init"])
    first = yaml.safe_load((folder / init.WORKFLOW).read_text())
    # YAML 1.1 reads `on` as true.
    second = yaml.safe_load((folder / init.COMMENT_WORKFLOW).read_text())[True]
    assert second["workflow_run"]["workflows"] == [first["name"]]


@pytest.mark.parametrize(
    ("branch", "written"), [("trunk", "trunk"), ("a/b-1", "a/b-1"), ("x]y", "main"), (None, "main")]
)
def test_the_workflow_watches_the_main_branch_of_the_remote(
    folder: Path, branch: str | None, written: str
):
    run_git(folder, "init", "--quiet")
    if branch is not None:
        head = f"refs/remotes/origin/{branch}"
        run_git(folder, "symbolic-ref", "refs/remotes/origin/HEAD", head)
    cli.main(["init"])
    workflow = yaml.safe_load((folder / init.WORKFLOW).read_text())
    assert workflow[True]["push"] == {"branches": [written]}


def test_the_workflows_pass_zizmor(folder: Path):
    cli.main(["init"])
    command = [
        str(Path(sys.executable).with_name("zizmor")),
        "--offline",
        "--quiet",
        "--no-progress",
    ]
    config = OWN / ".github/zizmor.yml"
    done = subprocess.run(
        [*command, f"--config={config}", ".github"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
