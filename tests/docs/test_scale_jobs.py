"""What docs/scale.md says of the jobs recorded beside it, said again from them."""

import json
import shlex
from pathlib import Path

import pytest

from pytest_rlperf.cli import main
from tests.docs.commands import block_commands
from tests.docs.markdown import ROOT, Block, read_page

PAGE = read_page("docs/scale.md")
SHOWN = [block for block in PAGE.blocks if block.text.startswith("$ rlperf scale docs/scale-jobs")]
LEFT_OUT_AT = "..."
ALLOWED = 0.10


def words_of(block: Block) -> list[str]:
    """Return the words of its command, with the files that a shell would put in."""
    (command,) = block_commands(block)
    return [each for word in shlex.split(command.text)[1:] for each in _files(word)]


def _files(word: str) -> list[str]:
    return sorted(str(path) for path in Path().glob(word)) if "*" in word else [word]


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_the_page_shows_both_networks():
    assert [LEFT_OUT_AT in block.text for block in SHOWN] == [False, True]


@pytest.mark.parametrize("block", SHOWN, ids=["fitted", "stated"])
def test_a_table_of_the_page_is_what_the_command_prints(
    block: Block, capsys: pytest.CaptureFixture[str]
):
    assert main(words_of(block)) == 0
    printed = capsys.readouterr().out
    said = block.text.replace("\\\n", "").partition("\n")[2]
    if said.startswith(LEFT_OUT_AT):
        assert printed.endswith(said.removeprefix(f"{LEFT_OUT_AT}\n"))
    else:
        assert printed == said


def test_each_job_of_two_ranks_is_told_unseen(tmp_path: Path):
    """Each job of three tables is told from the jobs of other periods."""
    out = tmp_path / "scale.json"
    jobs = sorted(str(path) for path in Path("docs/scale-jobs").iterdir())
    assert main(["scale", *jobs, "--json", str(out)]) == 0
    told = [job for job in json.loads(out.read_text())["jobs"] if job["ranks"] == 2]
    assert {job["workload"].split()[0] for job in told} == {
        "FrozenLake8x8-v1",
        "Taxi-v4",
        "TicTacToe-v0",
    }
    assert len(told) == 3 * 5
    assert max(abs(job["left_out"]) for job in told) <= ALLOWED
    for job in told:
        assert f"{100 * job['left_out']:+.1f} %" in PAGE.sentences
        assert f"{job['seconds']:.2f}" in PAGE.sentences
