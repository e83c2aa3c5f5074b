"""`rlperf scale` as text and as data."""

import json
from dataclasses import replace

import pytest

from pytest_rlperf.model.spec import Scaling
from pytest_rlperf.scale.fit import fit_jobs
from pytest_rlperf.scale.jobs import Collective, Fit, FittedTerm, Network, ScalePlan
from pytest_rlperf.scale.projection import project
from pytest_rlperf.scale.report import render_fit, render_notes, render_projection, scale_as_dict
from tests.scale.measured_jobs import a_job, some_jobs

FIT = fit_jobs([*some_jobs(), a_job("Small-v0", 4)], Collective.ALLGATHERV)
ETHERNET = Network(50e-6, 1 / 1.25e9)
PLAN = ScalePlan(Scaling.STRONG, 4_000_000, 500, Collective.ALLGATHERV, ((500.0, 1240.0),))


def test_terms_and_jobs_stand_in_tables():
    assert render_fit(FIT) == [
        "9 measured jobs, exchanging by allgatherv",
        "",
        "term                              fitted  95 % interval",
        "computing a step, Small-v0        60 ns   60 ns to 60 ns",
        "computing a step, Large-v0        100 ns  100 ns to 100 ns",
        "latency, Small-v0                 5 µs    5 µs to 5 µs",
        "latency, Large-v0                 20 µs   20 µs to 20 µs",
        "bandwidth                         2 GB/s  2 GB/s to 2 GB/s",
        "waiting at 2 ranks, of computing  1.0 %   1.0 % to 1.0 %",
        "",
        "job                   ranks  sync period  measured  modelled  error    left out",
        "Small-v0-1-500.json   1                   240 ms    240 ms    +0.00 %  +0.00 %",
        "Small-v0-2-500.json   2      500          327 ms    327 ms    +0.00 %  +0.00 %",
        "Small-v0-2-2000.json  2      2,000        266 ms    266 ms    +0.00 %  +0.00 %",
        "Small-v0-2-8000.json  2      8,000        250 ms    250 ms    +0.00 %  +0.00 %",
        "Large-v0-1-500.json   1                   400 ms    400 ms    +0.00 %  +0.00 %",
        "Large-v0-2-500.json   2      500          744 ms    744 ms    +0.00 %  +0.00 %",
        "Large-v0-2-2000.json  2      2,000        497 ms    497 ms    +0.00 %  +0.00 %",
        "Large-v0-2-8000.json  2      8,000        433 ms    433 ms    +0.00 %  +0.00 %",
        "Small-v0-4-500.json   4      500          419 ms    419 ms    +0.00 %  +0.00 %",
    ]


def test_modelled_rows_are_marked_beside_measured_ones():
    found = project(FIT, "Small-v0", PLAN, [4, 256], None, None)
    assert render_projection(found, {}) == [
        "",
        "strong scaling of Small-v0: 4,000,000 steps in all,",
        "synchronised every 500 steps of a node, one rank a node",
        "nodes            steps       time     speed-up  efficiency  most lost by (of the time)",
        "1      measured  4,000,000   240 ms   1         100 %",
        "2      measured  8,000,000   327 ms   1.47      73.3 %",
        "4      measured  16,000,000  419 ms   2.29      57.3 %",
        "4      modelled  4,000,000   105 ms   2.29      57.3 %      latency (38.2 %)",
        "256    modelled  4,000,000   8.42 ms  28.5      11.1 %      bandwidth (58.7 %)",
    ]
    assert render_notes([found]) == []


def test_a_stated_network_has_a_floor_a_period_for_the_target_and_others_beside_it():
    found = project(FIT, "Small-v0", PLAN, [4, 16], ETHERNET, 0.95)
    titles, *_, row = render_projection(found, {16: 0.776})[3:]
    assert "at least" in titles
    assert "95 % from a period of" in titles
    assert row.startswith("16     modelled")
    assert row.endswith("77.6 %")
    assert "none" in row
    assert [note[:10] for note in render_notes([found])] == ["", "note: at l", "note: none"]


def test_weak_scaling_says_whose_steps_they_are():
    plan = replace(PLAN, scaling=Scaling.WEAK)
    lines = render_projection(project(FIT, "Small-v0", plan, [4], None, None), {})
    assert lines[1] == "weak scaling of Small-v0: 4,000,000 steps on each node,"


def changed(fit: Fit, error: float) -> Fit:
    return replace(fit, jobs=(replace(fit.jobs[0], left_out=error), *fit.jobs[1:]))


def test_a_model_that_misses_its_jobs_is_told_as_doubtful():
    assert "up to 12.0 %" in render_fit(changed(FIT, -0.12))[-1]
    assert "note" not in render_fit(changed(FIT, -0.09))[-1]


@pytest.mark.parametrize(
    ("fitted", "words"),
    [
        (FittedTerm(0.0, 0.0, 1e-9), "no limit seen  1 GB/s to no limit seen"),
        (FittedTerm(0.0, 0.0, 0.0), "no limit seen not told from none"),
        (FittedTerm(1e-8), "100 MB/s       one job alone tells it"),
        (FittedTerm(1e-5, 5e-6, 2e-5), "100 kB/s       50 kB/s to 200 kB/s"),
    ],
)
def test_a_bandwidth_is_told_as_far_as_it_was_seen(fitted: FittedTerm, words: str):
    lines = render_fit(replace(FIT, byte_s=fitted))
    row = next(line for line in lines if line.startswith("bandwidth"))
    assert row.split(maxsplit=1)[1].split() == words.split()


def test_the_data_holds_all_of_it():
    found = project(FIT, "Small-v0", PLAN, [16], ETHERNET, 0.95)
    told = json.loads(json.dumps(scale_as_dict(FIT, ETHERNET, [found], {16: 0.776})))
    assert told["schema"] == 1
    assert told["terms"]["latency_s"]["Large-v0"]["value"] == pytest.approx(20e-6)
    assert told["stated"] == {"latency_s": 50e-6, "byte_s": 8e-10, "overlap": 0.0}
    assert told["jobs"][0]["name"] == "Small-v0-1-500.json"
    (projection,) = told["projections"]
    (row,) = projection["modelled"]
    assert (row["nodes"], row["limit"], row["published"]) == (16, "latency", 0.776)
    assert row["at_least"]["efficiency"] < row["efficiency"]
    assert projection["measured"][0]["parts"] == {}
