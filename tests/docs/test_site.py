"""`make docs`."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, pages
from tests.docs.walks.ready import ready_environment


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


def test_what_the_readme_says_of_verdicts_and_their_proof_is_on_the_site(site: Path):
    text = (site / "verdict.html").read_text(encoding="utf-8")
    assert "metronome" in text
    assert "+10 % at 5 %" in text
    assert "License" not in text


def test_data_of_the_proof_can_be_fetched_from_it(site: Path):
    assert {path.name for path in site.rglob("*.jsonl")} >= {"verdicts.jsonl", "why.jsonl"}


def test_a_page_loads_nothing_from_another_host(site: Path):
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert 'src="http' not in text
        assert 'rel="stylesheet" href="http' not in text
