"""How many steps each rank makes until the next exchange. All ranks know the same, and so conclude
the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from rl_impls.errors import SettingError
from rl_impls.mpi.exchange import Report
from rl_impls.runtimes.balance import blended, shares

# Steps are handed out in batches.
BATCH: Final = 64
FIRST_PERIOD: Final = 256 * BATCH
LONGEST_PERIOD: Final = 65_536 * BATCH
# The part of a period that an exchange may take.
SYNC_PART: Final = 0.01
# The part of what all have learned so far that they may learn apart: early on ranks have most to
# tell each other.
NEW_PART: Final = 1 / 8
# The last periods are shorter, down to this part of a whole one: nobody computes while the last
# messages are awaited.
LAST_PART: Final = 1 / 4
# Of the time by which a rank is late, so much is taken off its next part. Half, since the news is
# two periods old: the whole would be taken off twice.
CATCH_UP: Final = 0.5


@dataclass(frozen=True, slots=True)
class Pace:
    """A chosen period stays, and is the same for all ranks: equal seeds then learn equal tables."""

    period: int  # steps of a rank, on average
    speeds: tuple[float, ...]  # of each rank; 0: not known yet
    is_chosen: bool
    lags_s: tuple[float, ...] = ()  # by which each rank was behind the first one; none known yet

    @classmethod
    def begin(cls, n_ranks: int, steps_per_sync: int | None) -> Self:
        if steps_per_sync is not None and steps_per_sync < 1:
            raise SettingError(f"steps_per_sync is at least 1, not {steps_per_sync}.")
        if steps_per_sync is not None:
            return cls(in_batches(steps_per_sync), (0.0,) * n_ranks, is_chosen=True)
        # A rank that is alone has nobody to tell anything, soon or late.
        period = LONGEST_PERIOD if n_ranks == 1 else FIRST_PERIOD
        return cls(period, (0.0,) * n_ranks, is_chosen=n_ranks == 1)

    def parts(self, left: int) -> list[int]:
        """Of the `left` steps, those that each rank makes next."""
        total = min(left, self.period * len(self.speeds))
        if not self.is_chosen:
            total = min(total, max(left // 2, int(LAST_PART * self.period * len(self.speeds))))
        weights = catching_up(total, self.speeds, self.lags_s)
        parts = [BATCH * batches for batches in shares(total // BATCH, weights)]
        parts[-1] += total % BATCH
        return parts

    def after(self, reports: Sequence[Report], n_steps: int) -> Self:
        """When the ranks have reported, and made `n_steps` steps in all."""
        if self.is_chosen:
            return self
        speeds = tuple(
            blended(before, report.steps / report.compute_s) if report.compute_s > 0 else before
            for before, report in zip(self.speeds, reports, strict=True)
        )
        most = max(FIRST_PERIOD, int(NEW_PART * n_steps / len(speeds)))
        period = min(most, next_period(self.period, speeds, reports))
        first_s = min(report.elapsed_s for report in reports)
        lags_s = tuple(report.elapsed_s - first_s for report in reports)
        return replace(self, period=in_batches(period), speeds=speeds, lags_s=lags_s)


def catching_up(n_steps: int, speeds: Sequence[float], lags_s: Sequence[float]) -> Sequence[float]:
    """In which proportion ranks share the steps, so that who is behind comes closer to the rest."""
    if not lags_s or min(speeds) < 1.0:  # not known yet: nobody makes less than a step a second
        return speeds
    late_s = [CATCH_UP * lag_s for lag_s in lags_s]
    lost = sum(speed * late for speed, late in zip(speeds, late_s, strict=True))
    whole_s = (n_steps + lost) / sum(speeds)  # that a rank computes which is not late
    return [
        speed * max(whole_s - late, whole_s / 100)
        for speed, late in zip(speeds, late_s, strict=True)
    ]


def next_period(period: int, speeds: Sequence[float], reports: Sequence[Report]) -> int:
    """So long that the exchange takes its part of it, but at most doubled or halved.

    The rank that spends least on the exchange waits for nobody: the others' time would grow with
    the period.
    """
    sync_s = min(report.sync_s for report in reports)
    if sync_s <= 0:  # the first exchange has none before it
        return period
    wanted = sync_s / SYNC_PART * sum(speeds) / len(speeds)
    bounded = min(max(wanted, period / 2), period * 2, LONGEST_PERIOD)
    return int(bounded)


def in_batches(n_steps: int) -> int:
    """Rounded up."""
    return -(-n_steps // BATCH) * BATCH
