"""A failed job as text, and what the ranks of a test did."""

from dataclasses import replace

import pytest

from pytest_rlperf.model.block import Block, RankFacts, SideBlock
from pytest_rlperf.mpi.rank_files import JobEnd, RankEnd, RankOutcome, RankPhase
from pytest_rlperf.mpi.report import rank_summary, render_job, render_outputs, render_ranks
from tests.factories import a_test

TRACE = "def test():\n>   assert x == 1\nE   assert 2 == 1"
STOPPED = RankEnd(0, RankOutcome.STOPPED, RankPhase.CALL)
REPEAT = "pytest 'test_a.py::test_a[nprocs=2]'"


def job(*ranks: RankEnd, **how: object) -> JobEnd:
    numbered = tuple(replace(rank, rank=number) for number, rank in enumerate(ranks))
    return JobEnd(numbered, ("mpiexec",), 1.0, **how)  # type: ignore[arg-type]


def test_a_failure_shows_table_traceback_and_the_command_to_repeat_it():
    failed = RankEnd(1, RankOutcome.FAILED, RankPhase.CALL, text=TRACE)
    assert render_job(job(STOPPED, failed), REPEAT) == (
        "rank 1 failed: assert 2 == 1 (2 ranks)\n"
        "\n"
        "rank  last phase  outcome  signal\n"
        "0     call        stopped  -\n"
        "1     call        failed   -\n"
        "\n"
        "rank 1:\n"
        f"{TRACE}\n"
        "\n"
        f"repeat: {REPEAT}"
    )


def test_equal_tracebacks_are_shown_once():
    failed = RankEnd(0, RankOutcome.FAILED, RankPhase.CALL, text=TRACE)
    text = render_job(job(failed, STOPPED, failed), REPEAT)
    assert text.startswith("ranks 0, 2 failed: assert 2 == 1")
    assert text.count(TRACE) == 1
    assert f"ranks 0, 2:\n{TRACE}" in text


@pytest.mark.parametrize(
    ("rank", "how", "cause"),
    [
        (
            RankEnd(0, RankOutcome.KILLED, RankPhase.CALL, signal="SIGSEGV"),
            {},
            "rank 1 ended by SIGSEGV during call",
        ),
        (
            RankEnd(0, RankOutcome.EXITED, RankPhase.FINALIZE, status=0),
            {},
            "rank 1 exited with status 0 during finalize",
        ),
        (
            RankEnd(0, RankOutcome.STUCK, RankPhase.CALL, stacks="File x, line 3"),
            {"timeout_s": 2.5},
            "rank 1 did not end within 2.5 s",
        ),
        (
            RankEnd(0, RankOutcome.SKIPPED, RankPhase.DONE),
            {},
            "rank 1 skipped the test, and the others did not",
        ),
        (STOPPED, {"status": 7}, "the launcher ended with status 7"),
    ],
)
def test_the_first_line_says_what_happened(rank: RankEnd, how: dict[str, object], cause: str):
    assert render_job(job(STOPPED, rank, **how), REPEAT).startswith(f"{cause} (2 ranks)\n")


def test_stacks_of_stuck_ranks_are_shown():
    stuck = RankEnd(0, RankOutcome.STUCK, RankPhase.CALL, stacks="File x, line 3")
    assert "rank 0:\nFile x, line 3" in render_job(job(stuck, timeout_s=1.0), REPEAT)


def test_where_no_rank_is_to_blame_the_launcher_has_the_word():
    absent = RankEnd(0, RankOutcome.ABSENT)
    text = render_job(job(absent, status=1, launcher_output="no such host"), REPEAT)
    assert "the launcher said:\nno such host" in text


def test_processes_that_would_not_end_are_named():
    assert "processes that would not end: 12, 13" in render_job(job(STOPPED, left=(12, 13)), "")


def test_each_rank_has_its_output():
    ended = job(replace(STOPPED, output="a"), STOPPED, replace(STOPPED, output="c"))
    assert render_outputs(ended) == [("Output of rank 0", "a"), ("Output of rank 2", "c")]


# -- what the ranks of a test did, over its blocks ----------------------------------------------


SIDE = SideBlock(own_ns=(40, 40), wall_ns=(40, 40), cpu_ns=(80, 80), calls=2)


def block(*own_ns: float, communication: tuple[float, ...] = (0.0, 0.5)) -> Block:
    return Block(replace(SIDE, ranks=RankFacts(own_ns, communication, (1000.0, 3000.0))))


def test_times_are_those_of_a_call_medians_over_blocks():
    facts = rank_summary(replace(a_test(), blocks=(block(40, 80), block(44, 80), block(400, 80))))
    assert facts is not None
    assert facts.time_ns == [11, 20]
    assert (facts.time_min_ns, facts.time_median_ns, facts.time_max_ns) == (11, 15.5, 20)
    assert facts.communication == [0.0, 0.5]
    assert facts.peak_bytes == [1000, 3000]


def test_imbalance_counts_computing_only():
    ranks = RankFacts((80.0, 80.0), (0.0, 0.5), (1.0, 1.0))
    assert ranks.imbalance == pytest.approx(80 / 60 - 1)
    assert RankFacts((5.0,), (1.0,), (1.0,)).imbalance == 0.0


def test_ranks_are_told_in_a_line():
    assert render_ranks(replace(a_test(), blocks=(block(40, 80),))) == (
        "2 ranks, 10 ns to 20 ns a call, imbalance 0.00 %, communicating for 0 to 50 % of it, "
        "peak of a rank 2.93 KiB"
    )


def test_a_test_without_ranks_has_none():
    assert rank_summary(a_test()) is None
    assert render_ranks(a_test()) is None
