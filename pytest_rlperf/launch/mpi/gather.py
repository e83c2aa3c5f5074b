"""From what the ranks of a job left on disk to how each of them ended."""

import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pytest_rlperf.launch.mpi.rank_files import RankFiles
from pytest_rlperf.model.ranks import Phase, RankEnd, RankOutcome

Exit = Mapping[str, Any]

LAUNCHERS_SIGNALS = frozenset({signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGCONT})
"""What a launcher ends the other ranks with when one is lost."""


def read_exits(folder: str, nprocs: int) -> dict[int, Exit]:
    """Of the ranks whose processes have ended so far."""
    found = {rank: RankFiles(folder, rank).exit() for rank in range(nprocs)}
    return {rank: exit_ for rank, exit_ in found.items() if exit_ is not None}


def gather(
    folder: str, nprocs: int, exits: Mapping[int, Exit], *, timed_out: bool
) -> tuple[RankEnd, ...]:
    """`exits` are those from before anybody ended the job from outside."""
    files = [RankFiles(folder, rank) for rank in range(nprocs)]
    causes = _causes(files, exits)
    return tuple(_end(each, exits.get(each.rank), causes, timed_out) for each in files)


def _causes(files: Sequence[RankFiles], exits: Mapping[int, Exit]) -> frozenset[int]:
    """Ranks that went wrong by themselves: those that failed or crashed; where none failed, the one
    that left first too. All others left because of them.
    """
    failed = {each.rank for each in files if _has_failed(each)}
    unfinished = {each.rank for each in files if each.phase() != Phase.DONE} - failed
    early = {rank: exit_ for rank, exit_ in exits.items() if rank in unfinished}
    signals = {rank: exit_["signal"] for rank, exit_ in early.items() if exit_["signal"]}
    crashed = {rank for rank, number in signals.items() if number not in LAUNCHERS_SIGNALS}
    first = min(early, key=lambda rank: early[rank]["at"], default=None)
    return frozenset(failed | crashed | (set() if failed or first is None else {first}))


def _has_failed(files: RankFiles) -> bool:
    report = files.report()
    return report is not None and report["outcome"] == RankOutcome.FAILED


def _end(files: RankFiles, exit_: Exit | None, causes: frozenset[int], timed_out: bool) -> RankEnd:
    report = files.report()
    phase = _phase(files)
    outcome = _outcome(report, phase, exit_, files.rank in causes, timed_out)
    shows_stacks = outcome in (RankOutcome.STUCK, RankOutcome.KILLED)
    left = exit_ if outcome in (RankOutcome.KILLED, RankOutcome.EXITED) else None
    return RankEnd(
        rank=files.rank,
        outcome=outcome,
        phase=phase,
        signal=_signal_name(left["signal"]) if left else None,
        status=left["status"] if left else None,
        text=report["text"] if report else "",
        stacks=files.stacks() if shows_stacks else "",
        output=files.output(),
    )


def _outcome(
    report: Mapping[str, Any] | None,
    phase: Phase | None,
    exit_: Exit | None,
    cause: bool,
    timed_out: bool,
) -> RankOutcome:
    if phase is None:
        return RankOutcome.ABSENT
    if report is not None and report["outcome"] == RankOutcome.FAILED:
        return RankOutcome.FAILED
    if exit_ is None:
        return RankOutcome.STUCK if timed_out else RankOutcome.STOPPED
    if report is not None and phase is Phase.DONE:
        return RankOutcome(report["outcome"])
    if not cause:
        return RankOutcome.STOPPED
    return RankOutcome.KILLED if exit_["signal"] else RankOutcome.EXITED


def _phase(files: RankFiles) -> Phase | None:
    with suppress(ValueError):
        return Phase(files.phase() or "")
    return None


def _signal_name(number: int | None) -> str | None:
    if not number:
        return None
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
