"""The tables of the back ends: ratios inside a round, with their intervals."""

import math

from tests.docs.markdown import ROOT, read_page
from tests.evidence.frameworks.table import interval, render
from tests.evidence.peers.measured import Measured
from tests.evidence.peers.records import Record, begun, read


def record(name, per_s, number, **fields):
    return Record(begun("2026-01-01", "full"), number, name, Measured(per_s, **fields))


def test_a_ratio_is_that_inside_a_round():
    records = [record("dqn numpy", 100, 0), record("dqn jax", 50, 0, compile_s=0.25)]
    records += [record("dqn numpy", 300, 1), record("dqn jax", 150, 1, compile_s=0.75)]
    said = render(records)
    assert "| dqn numpy | 200 | 1 |  | 2 |" in said
    assert "| dqn jax | 100 | 0.5 [0.5, 0.5] | 0.50 | 2 |" in said
    assert "Updates of PPO" not in said
    assert said.rstrip().splitlines()[-1].startswith("`make frameworks`: 2026-01-01, ")


def test_a_row_without_its_first_has_no_ratio():
    assert "| ppo jax | 7 | 1 |" in render([record("ppo jax", 7, 0)])
    assert render([]) == "Nothing was measured yet.\n"


def test_a_column_without_figures_is_left_out():
    assert "|  | steps/s | beside the first [95 %] | rounds |" in render(
        [record("cartpole ours", 7, 0)]
    )
    assert "| return |" in render([record("cartpole ours", 7, 0, mean_return=500.0)])


def test_the_interval_is_students():
    logs = [math.log(x) for x in (1.0, 1.1, 1.2)]
    # t of 2 degrees of freedom is 4.303.
    assert interval(logs) == "1.1 [0.875, 1.38]"
    assert interval(logs[:1]) == "1"


def test_the_page_has_the_tables_of_the_recorded_run():
    tables = render(read(ROOT / "docs/frameworks/figures.jsonl")).partition("`make frameworks`: ")
    page = read_page("docs/frameworks.md").text
    assert tables[0] in page
    assert f"<sub>{tables[2].strip()}</sub>" in page
