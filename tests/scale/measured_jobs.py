"""Jobs whose time is made of terms that are known."""

import math
from collections.abc import Mapping

from pytest_rlperf.scale.jobs import Collective, MeasuredJob, Network, Terms, TimePart
from pytest_rlperf.scale.projection import seconds_by_part, volumes

PERIODS = (500, 2_000, 8_000)
TERMS = {
    "Small-v0": Terms(60e-9, 0.01, (Network(5e-6, 5e-10),)),
    "Large-v0": Terms(100e-9, 0.01, (Network(20e-6, 5e-10),)),
}
SENT = {"Small-v0": 16.0, "Large-v0": 64.0}  # bytes of the first step


def said(workload: str, period: float) -> float:
    """Longer periods touch the same entries again."""
    return SENT[workload] * math.pow(period, 0.7)


def a_job(
    workload: str = "Small-v0",
    ranks: int = 2,
    period: int = 500,
    terms: Mapping[str, Terms] = TERMS,
    collective: Collective = Collective.ALLGATHERV,
) -> MeasuredJob:
    steps = 4_000_000 * ranks
    syncs = 4_000_000 // period
    bytes_a_sync = round(said(workload, period))
    sent = bytes_a_sync * syncs * ranks * volumes(collective, ranks)
    parts = seconds_by_part(terms[workload], collective, ranks, steps / ranks, syncs, bytes_a_sync)
    seconds = math.fsum(parts.values())
    return MeasuredJob(
        name=f"{workload}-{ranks}-{period}.json",
        workload=workload,
        ranks=ranks,
        steps=steps,
        seconds=seconds,
        sync_seconds=seconds - parts[TimePart.COMPUTING],
        bytes_sent=round(sent),
        syncs=syncs,
    )


def some_jobs(
    terms: Mapping[str, Terms] = TERMS, collective: Collective = Collective.ALLGATHERV
) -> list[MeasuredJob]:
    """One rank and two, as two cores allow."""
    return [
        a_job(workload, ranks, period, terms, collective)
        for workload in terms
        for ranks, periods in ((1, PERIODS[:1]), (2, PERIODS))
        for period in periods
    ]
