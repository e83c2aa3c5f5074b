"""Targets of the Makefile that the docs name and that no other test runs."""

import shlex
import subprocess
import tomllib
from itertools import pairwise
from pathlib import Path

from tests.docs.markdown import ROOT


def run_make(*words: str) -> str:
    done = subprocess.run(["make", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_lock_pins_every_extra_that_the_tests_need(tmp_path: Path):
    """With a stand-in for uv, which would ask the network."""
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
