"""The table beside Stable-Baselines3: ratios inside a round, and a miss told as one."""

from dataclasses import replace

import pytest

from tests.evidence.peers import run
from tests.evidence.peers.measured import Measured
from tests.evidence.peers.records import Record, append, begun, from_line, read
from tests.evidence.peers.table import render


def record(contestant, per_s, number=0, date="2026-01-01", mean_return=None, share=None):
    measured = Measured(per_s, mean_return, share)
    return Record(begun(date, "full"), number, contestant, measured)


def test_a_ratio_is_the_median_of_those_inside_a_round():
    records = [record("ppo", 60, 0, mean_return=500), record("sb3 ppo", 10, 0, mean_return=480)]
    records += [record("ppo", 700, 1, mean_return=400), record("sb3 ppo", 100, 1, mean_return=500)]
    said = render(records)
    assert "our CartPole | 380 steps/s | 55 steps/s | 2 | 6.5 (6 to 7) | 6 | reached |" in said
    assert "| 450.0 ± 50.0, 490.0 ± 10.0: missed |" in said
    assert "DQN" not in said
    assert {line.count("|") for line in said.splitlines()[:3]} == {10}


def test_a_miss_is_told_as_one_and_what_nobody_wanted_is_not_judged():
    records = [record("sac updates", 14, share=0.4), record("sb3 sac updates", 10)]
    records += [record("sample 256", 14), record("sb3 sample 256", 10)]
    said = render(records)
    assert "| 1.4 (1.4 to 1.4) | 1.5 | missed |  | 40% |" in said
    assert "| 1.4 (1.4 to 1.4) |  |  |  |  |" in said


def test_both_sides_may_be_of_one_process():
    measured = [Measured(30.0, beside_per_s=100.0), Measured(50.0, beside_per_s=100.0)]
    records = [replace(record("prioritised 256", 0, i), measured=m) for i, m in enumerate(measured)]
    assert "uniform | 40 1/s | 100 1/s | 2 | 0.4 (0.3 to 0.5) | 0.333 | reached |" in render(
        records
    )


def test_the_table_is_that_of_the_last_run(tmp_path):
    records = [record("ppo", 60), record("sb3 ppo", 10)]
    later = [record("ppo", 20, date="2026-02-01"), record("sb3 ppo", 10, date="2026-02-01")]
    for each in [*later, *records]:
        append(tmp_path / "deep.jsonl", each)
    assert read(tmp_path / "deep.jsonl") == [*later, *records]
    assert "| 2 (2 to 2) | 6 | missed |" in render(read(tmp_path / "deep.jsonl"))
    assert render([]) == "Nothing was measured yet.\n"


def test_an_unknown_schema_is_refused():
    with pytest.raises(ValueError, match="reads schema 1"):
        from_line('{"schema": 2}')


def test_a_run_is_gone_on_with_where_nothing_but_its_date_differs(tmp_path, monkeypatch):
    made = []

    def measured(name, sizes, seed, module):
        made.append((name, seed))
        return Measured(1.0)

    monkeypatch.setattr(run, "measured", measured)
    trees = enumerate(["a", "a", "b", "b-dirty", "b-dirty"])

    def begins(date, sizes):
        number, tree = next(trees)
        return replace(begun(f"2026-01-0{number}", sizes), tree=tree)

    monkeypatch.setattr(run, "begun", begins)
    path, sides = tmp_path / "deep.jsonl", ["ppo", "sb3 ppo"]
    counts = []
    for n_rounds, only in ((1, sides[:1]), (2, sides), (2, sides), (1, sides), (1, sides)):
        run.run(path, n_rounds, "tiny", only)
        counts.append(len(made))
    # The second run adds three to the first one's; other code, and code nobody can name, does not.
    assert counts == [1, 4, 8, 10, 12]
    assert sorted(made[:4]) == [("ppo", 0), ("ppo", 1), ("sb3 ppo", 0), ("sb3 ppo", 1)]
    assert {record.run.date for record in read(path)[:4]} == {"2026-01-00"}
