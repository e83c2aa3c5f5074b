"""`rlperf upgrade`: an environment is made of this one, and compared with it. The wheels lie in a
folder, so that no network is needed.
"""

import os
import sys
import zipfile
from pathlib import Path

import pytest

from tests.trees.environments import MEASURING_CODE, Environment

from .projects import NO_CACHE, OWN_PLUGIN, Ended, Project, Workshop
from .test_two_environments import LIBRARY, SKIPPING, TESTS, VERSIONS, environment

OFFLINE = {"PIP_NO_INDEX": "1", "UV_OFFLINE": "1", "UV_NO_INDEX": "1"}
OWN_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


def write_wheel(folder: Path, name: str, version: str, module: str) -> None:
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": module,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for file, text in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(file, text)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for version, ms in VERSIONS.items():
        write_wheel(folder, "fastlib", version, LIBRARY.format(ms=ms))
    return folder


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The environment of the user: what is installed here, and version 1 of the library."""
    return environment(tmp_path_factory.mktemp("here") / "env", "1.0", str(MEASURING_CODE))


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    return workshop.project("upgrade", {"pytest.ini": SKIPPING, "test_perf.py": TESTS})


def upgrade(
    project: Project, here: Environment, wheels: Path, *words: str, first: Path | None = None
) -> Ended:
    """Upgrade by what is found in the folder `first`, before all that is installed."""
    command = [str(here.folder / "bin/python"), "-m", "pytest_rlperf.cli", "upgrade", *words]
    env = OFFLINE | {"PIP_FIND_LINKS": str(wheels), "UV_FIND_LINKS": str(wheels)}
    if first is not None:
        env["PATH"] = os.pathsep.join([str(first), os.environ["PATH"]])
    return project.start_command(command, env=env).wait()


@pytest.fixture(scope="module")
def upgraded(project: Project, here: Environment, wheels: Path) -> Ended:
    return upgrade(project, here, wheels, "fastlib==2.0", "--", *OWN_PLUGIN, *NO_CACHE)


def test_a_library_that_gets_slower_is_named_with_the_test(upgraded: Ended):
    assert "rlperf upgrade: 1 distributions differ:\n" in upgraded.text, upgraded.text
    assert "rlperf upgrade:   fastlib 1.0 → 2.0\n" in upgraded.text
    assert "rlperf upgrade: slower by it: test_perf.py::test_work +" in upgraded.text
    assert upgraded.code == 1


def test_the_users_environment_stays_as_it_was(upgraded: Ended, here: Environment):
    (info,) = here.site_packages.glob("fastlib-*")
    assert info.name == "fastlib-1.0.dist-info"
    assert (here.site_packages / "fastlib.py").read_text() == LIBRARY.format(ms=1.0)


def test_the_environment_is_made_once(
    upgraded: Ended, project: Project, here: Environment, tmp_path: Path
):
    again = upgrade(project, here, tmp_path, "fastlib==2.0", "--", *OWN_PLUGIN, *NO_CACHE)
    assert "making an environment" in upgraded.text
    assert "making an environment" not in again.text
    assert again.code == 1


def test_another_python_is_made_of_the_same_distributions(
    project: Project, here: Environment, wheels: Path
):
    words = ["--python", OWN_PYTHON, "--", *OWN_PLUGIN, *NO_CACHE]
    ended = upgrade(project, here, wheels, *words)
    assert f"making an environment with Python {OWN_PYTHON}" in ended.text
    assert "rlperf upgrade: 0 distributions differ\n" in ended.text, ended.text
    assert "rlperf upgrade: no test was called slower by it\n" in ended.text
    assert ended.code == 0


def test_what_uv_cannot_make_pip_does(
    project: Project, here: Environment, wheels: Path, tmp_path: Path
):
    """uv does not read pip's configuration, which may be what names the index."""
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\necho no such index\nexit 2\n")
    uv.chmod(0o755)
    words = ["fastlib>=2", "--", *OWN_PLUGIN, *NO_CACHE, "--collect-only"]
    ended = upgrade(project, here, wheels, *words, first=tmp_path)
    assert "rlperf upgrade: uv said: no such index; pip tries it now …\n" in ended.text
    assert ended.code == 0, ended.text
    ended = upgrade(project, here, wheels, "--python", "9.9", "--", first=tmp_path)
    assert "--python 9.9 is not on this machine; install it." in ended.text
    assert ended.code == 4


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fastlib==3.0", "--"], "the environment cannot be made: "),
        ([], "there is nothing to upgrade; name a requirement, such as 'numpy==2.5.0', or"),
        (["--", "tests/perf"], "there is nothing to upgrade"),
        (["fastlib==2.0", "test_perf.py"], "test_perf.py is a file or a folder; write -- before"),
        (["fastlib==2.0", "--python", "3.13"], "--python stands after a requirement; write"),
        (["../fastlib"], "'../fastlib' names no distribution; write it as pip takes it"),
        (["--python", "9.9", "--"], "9.9"),
    ],
)
def test_what_cannot_be_made_is_said_in_one_sentence(
    project: Project, here: Environment, wheels: Path, words: list[str], sentence: str
):
    ended = upgrade(project, here, wheels, *words)
    assert sentence in ended.text
    assert "Traceback" not in ended.text
    assert ended.code == 4
