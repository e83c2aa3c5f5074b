"""The evidence of `rlperf duet`: what is played once is recorded, and not played again."""

import random
from pathlib import Path
from statistics import fmean

import pytest

from tests.evidence.duet import play
from tests.evidence.duet.play import SOON, Pace, Played, lean, read, run, table
from tests.evidence.duet.stops import ended


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play, "LENGTHS_MS", (20,))
    monkeypatch.setattr(play, "TRUTHS", (0.0,))
    monkeypatch.setattr(play, "TOOLS", ("rlperf",))
    monkeypatch.setattr(play, "LIMIT", 0.5)
    monkeypatch.setattr(play, "PROBE", 1_000_000)


def test_what_is_recorded_is_not_played_again(short: None, tmp_path: Path):
    out = tmp_path / "duet.jsonl"
    assert len(list(run(out, 1, 5, False, tmp_path))) == 1
    assert list(run(out, 1, 5, False, tmp_path)) == []
    (record,) = read(out)
    assert (record.tool, record.truth, record.load) == ("rlperf", 0.0, False)


def a_record(
    tool: str,
    truth: float,
    change: float,
    outcome: str,
    blocks: tuple[float, ...] = (),
    seconds: float = 1.0,
) -> Played:
    return Played(tool, 20, truth, 0, change, outcome, blocks, seconds, True, "2026-11-19", "x")


def test_which_way_unchanged_commands_read_is_told_by_when_they_ended():
    soon = [a_record("rlperf", 0.0, x, "unchanged", (x, x, x)) for x in (-0.03, -0.01)]
    late = [a_record("rlperf", 0.0, 0.01, "unchanged", (0.02, 0.02, 0.02, *4 * [0.0]))] * 2
    slower = [a_record("rlperf", 0.1, 0.1, "regressed", (0.1, 0.1, 0.1))]
    assert lean([*soon, *late, *slower]).splitlines()[2:] == [
        "| 20 ms, the first three of each | 4 | +0.0% | 1.2% |",
        "| 20 ms, said after at most 6 | 2 | -2.0% | 1.0% |",
        "| 20 ms, said after more | 2 | +1.0% | 0.0% |",
    ]


def test_the_table_counts_what_either_tool_said():
    rows = table(
        [
            a_record("rlperf", 0.1, 0.1, "regressed", seconds=2.0),
            a_record("hyperfine", 0.0, -0.06, "faster by more", seconds=6.0),
        ]
    ).splitlines()[2:]
    assert rows == [
        "| hyperfine | yes | 20 ms | +0% | 1 | 0 | 1 | -6.0% | 6.0 |",
        "| rlperf | yes | 20 ms | +10% | 1 | 1 | 0 | +10.0% | 2.0 |",
    ]


def test_a_command_takes_as_long_as_it_is_to():
    pace = Pace(start_s=0.01, loop_s=1e-8)
    assert "range(1000000)" in pace.command(0.02)
    assert "range(1)" in pace.command(0.001)


def test_unchanged_commands_that_end_soon_lean_towards_faster_by_chance_alone():
    rng = random.Random(0)
    ends = [ended(rng, 0.065) for _ in range(60)]
    soon = [end.interval.change for end in ends if end.interval and end.blocks <= SOON]
    late = [end.interval.change for end in ends if end.interval and end.blocks > SOON]
    assert fmean(soon) < -0.01 < fmean(late)
