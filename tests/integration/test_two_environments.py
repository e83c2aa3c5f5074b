"""`--rlperf-against-python`: the base side runs in another environment, on the same tree or on a
revision. The environments are made without a network: each has a stub library of its own.
"""

import sys
import sysconfig
from pathlib import Path

import pytest

from tests.trees.environments import MEASURING_CODE, Environment, new_environment

from .projects import NO_CACHE, OWN_PLUGIN, Ended, Project, Workshop

LIBRARY = "from fakeclock import tick\n\ndef work():\n    tick({ms} * 1_000_000)\n"
TESTS = "import fastlib\n\ndef test_work(rlperf):\n    rlperf(fastlib.work)\n"
SKIPPING = "[pytest]\nrlperf_same_code = skip\n"
VERSIONS = {"1.0": 1.0, "2.0": 1.2}
"""Of the library, with the milliseconds of a call."""


def environment(folder: Path, version: str, *besides: str) -> Environment:
    """Make an environment with the library, and what is installed here."""
    made = new_environment(folder)
    made.add_pth("\n".join([sysconfig.get_path("purelib"), *besides]))
    info = made.site_packages / f"fastlib-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: fastlib\nVersion: {version}\n")
    (made.site_packages / "fastlib.py").write_text(LIBRARY.format(ms=VERSIONS[version]))
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("environments")


@pytest.fixture(scope="module")
def new(folder: Path) -> Environment:
    return environment(folder / "new", "2.0", str(MEASURING_CODE))


@pytest.fixture(scope="module")
def old(folder: Path) -> Environment:
    return environment(folder / "old", "1.0")


@pytest.fixture(scope="module")
def same(folder: Path) -> Environment:
    return environment(folder / "same", "2.0")


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    return workshop.project("two-environments", {"pytest.ini": SKIPPING, "test_perf.py": TESTS})


def measure(project: Project, head: Environment, base: Environment, *args: str) -> Ended:
    command = [str(head.folder / "bin/python"), "-m", "pytest", *OWN_PLUGIN, *NO_CACHE, "--rlperf"]
    options = [f"--rlperf-against-python={base.folder}", f"--rlperf-json={project.result}", *args]
    return project.start_command([*command, *options]).wait()


@pytest.fixture(scope="module")
def upgraded(project: Project, new: Environment, old: Environment) -> Ended:
    report = project.folder.parent / "report"
    return measure(project, new, old, f"--rlperf-report={report}")


def test_a_library_that_got_slower_is_found(upgraded: Ended):
    assert upgraded.outcomes == {"test_work": "regressed"}, upgraded.text
    assert upgraded.metric("test_work")["change"] == pytest.approx(0.2, abs=0.01)
    assert upgraded.code == 1


def test_it_is_named_with_both_versions(upgraded: Ended, old: Environment):
    both = upgraded.result["environments"]
    assert both["base"] == str(old.folder)
    named = [each for each in both["differences"] if each["name"] == "fastlib"]
    assert named == [{"name": "fastlib", "base": "1.0", "head": "2.0", "distribution": True}]
    header, _, rest = upgraded.text.partition("collected")
    assert "fastlib 1.0 → 2.0" in header
    assert "fastlib 1.0 → 2.0" in rest
    for name in ("report.md", "report.html"):
        assert "fastlib 1.0 → 2.0" in (upgraded.folder.parent / "report" / name).read_text()


def test_the_environment_is_what_was_compared_with(upgraded: Ended, old: Environment):
    assert upgraded.result["against"] == f"the environment {old.folder}"
    assert upgraded.result["base_commit"] is None


def test_equal_environments_are_measured_and_unchanged(
    project: Project, new: Environment, same: Environment
):
    ended = measure(project, new, same)
    assert ended.outcomes == {"test_work": "unchanged"}, ended.text
    assert ended.result["environments"]["differences"] == []
    assert ended.test("test_work")["blocks"]
    assert "both environments are the same" in ended.text


def test_the_base_may_be_another_revision_too(
    workshop: Workshop, new: Environment, old: Environment
):
    slow = "import fastlib\n\ndef test_work(rlperf):\n    rlperf(call)\n\n"
    calls = "def call():\n    fastlib.work()\n"
    project = workshop.project(
        "two-environments-at",
        {"lib.py": "TIMES = 2\n", "test_perf.py": slow + calls},
        {
            "lib.py": "TIMES = 1\n",
            "test_perf.py": f"import lib\n{slow}{calls * 0}"
            "def call():\n    for _ in range(lib.TIMES):\n        fastlib.work()\n",
        },
    )
    ended = measure(project, new, old, "--rlperf-against=base")
    assert ended.outcomes == {"test_work": "improved"}, ended.text
    assert ended.metric("test_work")["base_value"] == pytest.approx(2e6, rel=0.01)
    assert ended.result["against"].startswith("base (")
    assert ended.result["against"].endswith(f" in the environment {old.folder}")


def test_the_ini_file_may_name_it(project: Project, new: Environment, old: Environment):
    python = str(new.folder / "bin/python")
    wish = f"rlperf_against_python={old.folder}"
    ended = project.start_command(
        [python, "-m", "pytest", *OWN_PLUGIN, *NO_CACHE, "--rlperf", "-o", wish]
    ).wait()
    assert "REGRESSED" in ended.text


def test_what_cannot_be_an_environment_is_refused(project: Project, folder: Path):
    bare = new_environment(folder / "bare").folder
    for place, sentence in {
        str(project.folder): "is a folder without bin/python; name the folder of a virtual "
        "environment, or an interpreter.",
        "nowhere": "is no interpreter that can be run",
        str(bare): "has no pytest and no psutil; measuring there needs it: ",
        str(project.folder / ".." / "x"): "is no interpreter that can be run",
    }.items():
        ended = project.refuse("--rlperf", f"--rlperf-against-python={place}")
        assert ended.code == 4
        assert sentence in ended.text


@pytest.mark.parametrize(
    "other", ["--rlperf-save=main", "--rlperf-baseline=main", "--rlperf-prove"]
)
def test_it_excludes_other_partners(project: Project, other: str):
    ended = project.refuse("--rlperf", f"--rlperf-against-python={sys.executable}", other)
    assert ended.code == 4
    assert "--rlperf-against-python and" in ended.text
    assert "exclude each other" in ended.text


def test_it_excludes_selecting_by_what_changed(project: Project):
    python = f"--rlperf-against-python={sys.executable}"
    ended = project.refuse("--rlperf", python, "--rlperf-against=base", "--rlperf-reached")
    assert ended.code == 4
    assert "another environment reaches every test" in ended.text
