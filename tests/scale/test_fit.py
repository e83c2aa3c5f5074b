"""Terms come back from jobs that are made of them, or a sentence says why they cannot."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls  # type: ignore[import-untyped]

from pytest_rlperf.errors import UsageError
from pytest_rlperf.scale.fit import first_confused, fit_jobs, nonnegative_least_squares
from pytest_rlperf.scale.jobs import Collective, MeasuredJob, Network, Terms
from tests.factories import examples
from tests.scale.measured_jobs import TERMS, a_job, some_jobs

ALLGATHERV = Collective.ALLGATHERV
JOBS = some_jobs()
STEP_S = st.floats(1e-8, 1e-6)
SHARE = st.floats(0.01, 0.2)
LATENCY_S = st.floats(1e-6, 1e-4)
BYTE_S = st.floats(1e-10, 1e-8)


@examples
@given(STEP_S, STEP_S, SHARE, LATENCY_S, LATENCY_S, BYTE_S, st.sampled_from(Collective))
def test_the_terms_of_a_job_are_found(
    small_s: float,
    large_s: float,
    waiting: float,
    small: float,
    large: float,
    byte_s: float,
    collective: Collective,
):
    terms = {
        "Small-v0": Terms(small_s, waiting, (Network(small, byte_s),)),
        "Large-v0": Terms(large_s, waiting, (Network(large, byte_s),)),
    }
    fit = fit_jobs(some_jobs(terms, collective), collective)
    for name, truth in terms.items():
        assert fit.step_s[name].value == pytest.approx(truth.step_s, rel=1e-6)
        assert fit.latency_s[name].value == pytest.approx(truth.networks[0].latency_s, rel=1e-3)
    assert fit.byte_s.value == pytest.approx(byte_s, rel=1e-3)
    assert fit.waiting.value == pytest.approx(waiting, rel=1e-3)
    for checked in fit.jobs:
        assert checked.error == pytest.approx(0, abs=1e-6)
        assert checked.left_out is None or checked.left_out == pytest.approx(0, abs=1e-3)


def test_a_job_is_also_predicted_from_all_others():
    slow = replace(JOBS[0], seconds=1.2 * JOBS[0].seconds)
    fit = fit_jobs([slow, *JOBS[1:]], ALLGATHERV)
    first = fit.jobs[0]
    assert first.left_out == pytest.approx(1 / 1.2 - 1, abs=1e-6)
    assert abs(first.error) < abs(first.left_out or 0)


def test_noise_widens_the_interval_which_holds_the_truth():
    noisy = [
        replace(job, seconds=job.seconds * (1.02 if i % 2 else 0.98)) for i, job in enumerate(JOBS)
    ]
    found = fit_jobs(noisy, ALLGATHERV).step_s["Large-v0"]
    truth = TERMS["Large-v0"].step_s
    assert found.low is not None
    assert found.high is not None
    assert found.low < truth < found.high
    assert found.high - found.low > 0.01 * truth


def test_a_term_that_the_jobs_do_not_show_is_zero_and_never_negative():
    free = {name: replace(each, waiting=0.0) for name, each in TERMS.items()}
    fit = fit_jobs(some_jobs(free), ALLGATHERV)
    assert fit.waiting.value == pytest.approx(0, abs=1e-9)
    assert fit.waiting.value >= 0


def test_a_term_that_hangs_on_one_job_has_no_interval():
    one_table = [a_job(period=period) for period in (500, 2_000, 2_000, 8_000)]
    fit = fit_jobs([a_job(ranks=1), *one_table], ALLGATHERV)
    assert fit.byte_s.low is fit.byte_s.high is None
    assert [checked.left_out is None for checked in fit.jobs] == [True, True, False, False, True]


def test_a_workload_that_hangs_on_one_job_is_not_predicted_without_it():
    large = [a_job("Large-v0", ranks) for ranks in (1, 2)]
    fit = fit_jobs([*JOBS[:4], a_job(ranks=4), *large], ALLGATHERV)
    assert [checked.left_out is None for checked in fit.jobs[-2:]] == [True, True]
    assert fit.step_s["Large-v0"].low is None


Change = Callable[[list[MeasuredJob]], list[MeasuredJob]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda jobs: [j for j in jobs if j.ranks == 2], "all jobs have 2 ranks, which says nothi"),
        (lambda jobs: [j for j in jobs if j.ranks == 1], "all jobs have 1 rank, which says nothin"),
        (lambda jobs: jobs[:4], "4 jobs are too few for 4 terms; measure 5 at least, with several"),
        (lambda jobs: jobs[:5], "no job of Large-v0 has more than one rank, so nothing says what"),
        (
            lambda jobs: [*jobs[:4], *[jobs[5]] * 3],
            "the jobs do not tell all terms apart: each workload exchanges as often for its steps",
        ),
        (
            lambda jobs: [jobs[0], *[jobs[1]] * 4],
            "the jobs do not tell all terms apart: all say as much in each synchronisation; add",
        ),
        (
            lambda jobs: [jobs[0], *jobs[1:3], *jobs[1:3]],
            "the jobs do not tell all terms apart: waiting goes with what they compute or say; add",
        ),
        (
            lambda jobs: [*jobs[:4], *(replace(j, seconds=9e6 / j.period**2) for j in jobs[5:])],
            "the jobs contradict each other: all time of Large-v0 goes with its exchanges, and",
        ),
        (
            lambda jobs: [replace(jobs[0], seconds=9.0, sync_seconds=0.0), *jobs[1:]],
            "the jobs contradict each other: Small-v0-1-500.json took 9 s, and all together say",
        ),
    ],
    ids=[
        "two ranks",
        "one rank",
        "few",
        "lonely",
        "one rhythm",
        "one period",
        "two periods",
        "no computing",
        "contradiction",
    ],
)
def test_jobs_that_do_not_tell_are_refused(change: Change, said: str):
    with pytest.raises(UsageError) as refused:
        fit_jobs(change(JOBS), ALLGATHERV)
    assert str(refused.value).startswith(said)


# Least squares without negative terms, against SciPy's.


VALUES = st.floats(0.05, 20) | st.just(0.0)
ROWS = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.lists(VALUES, min_size=n, max_size=n), min_size=n, max_size=12)
)


@examples
@given(ROWS)
def test_nothing_that_is_not_negative_fits_better(rows: list[list[float]]):
    found = nonnegative_least_squares(rows)
    assert min(found) >= 0
    _, best = nnls(np.asarray(rows), np.ones(len(rows)))
    left = float(np.linalg.norm(np.asarray(rows) @ found - 1))
    assert left == pytest.approx(best, abs=1e-6)


def test_a_term_that_would_be_negative_is_zero():
    assert nonnegative_least_squares([[1.0, 0.0], [1.0, 1.0], [0.5, 1.0]]) == pytest.approx(
        [0.888889, 0.333333], rel=1e-5
    )
    assert nonnegative_least_squares([[1.0, 1.0], [2.0, 8.0]])[1] == 0


@pytest.mark.parametrize(
    ("rows", "unclear"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], None),
        ([[1.0, 2.0], [2.0, 4.0]], 1),
        ([[1.0, 2.0], [2.0, 4.01]], 1),
        ([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0]], 2),
        ([[1.0, 2.0]], 1),
        ([[0.0]], 0),
    ],
)
def test_a_term_is_told_only_if_it_goes_its_own_way(rows: list[list[float]], unclear: int | None):
    assert first_confused(rows) == unclear
