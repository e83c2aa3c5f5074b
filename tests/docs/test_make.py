"""Targets of the Makefile that the docs name and that no other test runs: the locks, the site."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, pages
from tests.docs.walks.ready import ready_environment

BOUND = re.compile(r"([\w-]+)>=([\d.]+)")


def run_make(*words: str) -> str:
    done = subprocess.run(["make", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_lock_pins_every_extra_that_the_tests_need(tmp_path: Path):
    """A stand-in takes the place of uv, which would ask the network."""
    uv, told = tmp_path / "uv", tmp_path / "told"
    uv.write_text(f'#!/bin/sh\necho "$@" >> {told}\n')
    uv.chmod(0o755)
    run_make("lock", f"UV={uv}")
    words = [shlex.split(line) for line in told.read_text().splitlines()]
    pairs = (pair for line in words for pair in pairwise(line))
    extras = {given for option, given in pairs if option == "--extra"}
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert {"dev", "docs"} <= extras <= set(pyproject["project"]["optional-dependencies"])
    assert all("--generate-hashes" in line for line in words)


def test_the_lock_of_lowest_versions_has_those_that_pyproject_allows():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lock = (ROOT / "requirements/lowest.lock").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w-]+)==([\w.]+)", lock, re.M))
    extras = project["optional-dependencies"]
    left_out = {"docs", "torch", "box2d", "jax", "tensorboard"}  # no test of the plug-in needs them
    wanted = [each for name in extras.keys() - left_out for each in extras[name]]
    bounds = (BOUND.match(each) for each in (*project["dependencies"], *wanted))
    for name, lowest in (bound.groups() for bound in bounds if bound):
        assert f"{pinned[name]}.".startswith(f"{lowest}."), name


@pytest.mark.parametrize("version", ["3.11", "3.99"])
def test_pythons_that_are_not_here_are_named_and_what_ran_is_said(tmp_path: Path, version: str):
    """With tests that are none, on a Python that is a stand-in."""
    (tmp_path / "bin").mkdir()
    if version == "3.11":
        (tmp_path / "bin/python3.11").symlink_to(sys.executable)
    env = {**os.environ, "HOME": str(tmp_path), "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    made = ready_environment(tmp_path)
    made.rename(f"{made}-{version}")
    words = f"PYTHONS={version}", f"VENV={made}", "OWN_TESTS=--version", "ALONE=--version"
    done = subprocess.run(
        ["make", "test-pythons", *words], cwd=ROOT, env=env, capture_output=True, text=True
    )
    here = version == "3.11"
    assert (done.returncode == 0) is here, done.stdout + done.stderr
    assert f"{version}: {'passed' if here else 'not here'}" in done.stdout


def test_the_plug_ins_own_tests_are_all_but_those_of_other_things():
    said = run_make("--dry-run", "test-own", f"VENV={Path(sys.prefix)}")
    for name in ("tests/gate", "tests/integration", "tests/stats", "tests/test_wire.py"):
        assert name in said.split()
    for name in ("tests/rl_impls", "tests/evidence", "tests/docs", "tests/conftest.py"):
        assert name not in said.split()


def test_every_target_that_the_docs_name_is_in_the_list():
    listed = run_make("help")
    names = "setup", "test", "perf", "lint", "docs", "lock", "test-extras", "learn", "peers"
    for name in (*names, "frameworks", "test-pythons", "test-lowest", "test-wheel"):
        assert f"make {name} " in listed


# -- make docs ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    words = ("make", "docs", f"SITE={folder / 'html'}", f"VENV={ready_environment(folder)}")
    done = subprocess.run(words, cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def test_the_site_builds_without_a_warning(site: Path):
    names = {page.path.stem for page in pages() if page.name.startswith("docs/")}
    assert {path.stem for path in site.glob("*.html")} >= names


def test_steps_proof_and_pictures_are_on_the_site(site: Path):
    text = (site / "verdict.html").read_text(encoding="utf-8")
    assert "metronome" in text
    assert "+10 % at 5 %" in text
    assert (site / "_images/verdicts.svg").exists()


def test_data_of_the_proof_can_be_fetched_from_it(site: Path):
    assert {path.name for path in site.rglob("*.jsonl")} >= {"verdicts.jsonl", "why.jsonl"}


def test_a_page_loads_nothing_from_another_host(site: Path):
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert 'src="http' not in text
        assert 'rel="stylesheet" href="http' not in text
