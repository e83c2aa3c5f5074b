"""Targets of the Makefile that the docs name and that no other test runs: the locks, the site."""

import os
import shlex
import subprocess
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, pages
from tests.docs.walks.ready import ready_environment


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


def test_every_target_that_the_docs_name_is_in_the_list():
    listed = run_make("help")
    names = "setup", "test", "perf", "lint", "docs", "lock", "test-extras", "learn", "peers"
    for name in (*names, "frameworks"):
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
