"""A run from its result file: all that a report tells of it comes back."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.block import RankFacts
from pytest_rlperf.model.result import RunResult
from pytest_rlperf.report.export import run_as_dict, write_json
from pytest_rlperf.report.markdown import render_markdown
from pytest_rlperf.report.sections import render_sections
from pytest_rlperf.store.read_back.one_test import equal_parts
from pytest_rlperf.store.read_back.run import read_run, run_from
from tests.factories import a_test, block, examples, run_result, side
from tests.sample_runs import EVERYTHING


def plain(run: RunResult) -> dict[str, Any]:
    """As a file has it."""
    found: dict[str, Any] = json.loads(json.dumps(run_as_dict(run, 1)))
    return found


def almost(content: Any) -> Any:
    """Ratios go through a logarithm, which costs their last digit."""
    if isinstance(content, dict):
        return {name: almost(value) for name, value in content.items()}
    if isinstance(content, list):
        return [almost(value) for value in content]
    return round(content, 12) if isinstance(content, float) else content


def test_what_was_read_back_would_be_written_the_same():
    assert almost(plain(run_from(plain(EVERYTHING)))) == almost(plain(EVERYTHING))


def test_the_report_of_a_file_is_the_report_of_its_run():
    again = run_from(plain(EVERYTHING))
    assert render_markdown(again) == render_markdown(EVERYTHING)
    assert render_sections(again) == render_sections(EVERYTHING)


def test_ranks_come_back_with_their_blocks():
    ranks = RankFacts((5.0, 6.0), (0.1, 0.2), (1e6, 2e6))
    jobs = tuple(replace(block([10, 11], [9, 9]), head=side([10, 11], ranks=ranks)) for _ in "ab")
    run = run_result(a_test(blocks=jobs))
    assert plain(run_from(plain(run)))["tests"][0]["ranks"] == plain(run)["tests"][0]["ranks"]


@examples
@given(st.integers(1, 10**12), st.integers(1, 50))
def test_equal_parts_add_up(total: int, parts: int):
    found = equal_parts(total, parts)
    assert sum(found) == total
    assert len(found) == parts
    assert max(found) - min(found) <= 1


def test_a_file_holds_a_run(tmp_path: Path):
    write_json(tmp_path / "result.json", run_as_dict(EVERYTHING, 1))
    run, content = read_run(tmp_path / "result.json")
    assert [test.nodeid for test in run.tests] == [test.nodeid for test in EVERYTHING.tests]
    assert content == plain(EVERYTHING)


@pytest.mark.parametrize("lost", ["blocks", "failure", "plan"])
def test_a_result_of_a_version_that_wrote_less_is_refused_in_one_sentence(
    tmp_path: Path, lost: str
):
    content = plain(EVERYTHING)
    del content["tests"][0][lost]
    write_json(tmp_path / "result.json", content)
    with pytest.raises(UsageError, match=f"lacks what a report needs.*{lost}.*; write it with"):
        read_run(tmp_path / "result.json")


def test_a_proof_has_no_report_but_its_own(tmp_path: Path):
    write_json(tmp_path / "result.json", {**plain(EVERYTHING), "proof": {}})
    with pytest.raises(UsageError, match="give that run --rlperf-report=DIR"):
        read_run(tmp_path / "result.json")
