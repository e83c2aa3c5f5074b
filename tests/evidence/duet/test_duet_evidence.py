"""The evidence of `rlperf duet`: what is played once is recorded, and not played again."""

from pathlib import Path

import pytest

from tests.evidence.duet import play
from tests.evidence.duet.play import Pace, Played, read, run, table


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play, "LENGTHS_MS", (20,))
    monkeypatch.setattr(play, "TRUTHS", (0.0,))
    monkeypatch.setattr(play, "TOOLS", ("rlperf",))


def test_what_is_recorded_is_not_played_again(short: None, tmp_path: Path):
    out = tmp_path / "duet.jsonl"
    assert len(list(run(out, 1, 5, False, tmp_path))) == 1
    assert list(run(out, 1, 5, False, tmp_path)) == []
    (record,) = read(out)
    assert (record.tool, record.truth, record.load) == ("rlperf", 0.0, False)


def test_the_table_counts_what_either_tool_said():
    one = Played("rlperf", 20, 0.1, 0, 0.1, "regressed", 2.0, True, "2026-11-19", "x")
    other = Played("hyperfine", 20, 0.0, 0, -0.06, "faster by more", 6.0, True, "2026-11-19", "x")
    rows = table([one, other]).splitlines()[2:]
    assert rows == [
        "| hyperfine | yes | 20 ms | +0% | 1 | 0 | 1 | -6.0% | 6.0 |",
        "| rlperf | yes | 20 ms | +10% | 1 | 1 | 0 | +10.0% | 2.0 |",
    ]


def test_a_command_takes_as_long_as_it_is_to():
    pace = Pace(start_s=0.01, loop_s=1e-8)
    assert "range(1000000)" in pace.command(0.02)
    assert "range(1)" in pace.command(0.001)
