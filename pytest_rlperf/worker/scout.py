"""The first, uncounted look at a benchmark: how long a call is and what it keeps busy."""

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import psutil

from pytest_rlperf.awaiting import refuse_unused
from pytest_rlperf.machine.host import ended_children_cpu, threads_delay_ns
from pytest_rlperf.model.plan import MOST_CALLS, SETUP_CALLS_MAX, Scouted
from pytest_rlperf.worker.calls import Calls, Rounds
from pytest_rlperf.worker.clock import Clock, Elapsed

ENOUGH_NS = 10_000_000
ENOUGH_SETUP_NS = 50_000_000
TRIES = 3
"""The quickest of this many looks counts: of a single one, a neighbour's burst may be the better
part, and a test that is taken for a longer one gets too few calls a block."""
ONE_TRY_NS = 100_000_000
"""A look this long has met its neighbours' good and bad moments alike."""
LONG_CALL_NS = 20_000_000_000
"""Compiling takes seconds, so that a first call tells nothing of the next; but one this long is not
made twice before the first block."""
CHILD_WATCH_S = 0.25
"""CPU times of other processes come in ticks of 10 ms: shorter looks see nothing."""
BUSY_SHARE = 0.2
"""A child counts as part of the job when it computes for this share of the watched time."""

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these


def scout(
    calls: Calls | Rounds, clock: Clock, now_quiet: Callable[[], None] = lambda: None
) -> Scouted:
    """Make some calls; return what a plan is chosen by. `now_quiet` is called before those whose
    time counts, unless the test counts its calls and has no others.
    """
    before = _children_cpu()
    begun = time.perf_counter()
    if isinstance(calls, Rounds):
        scouted = _look_at_rounds(calls, clock)
    else:
        scouted = _look(calls, clock, now_quiet)
        if _may_have_worked(before, _children_cpu()):
            while time.perf_counter() - begun < CHILD_WATCH_S:
                calls.once()
    if calls.settle.hosted and isinstance(calls, Calls):
        scouted = replace(scouted, cpu_share=_wanted_share(calls))
    seconds = time.perf_counter() - begun
    return replace(
        scouted,
        processes=1 + _busy(before, _children_cpu(), seconds),
        has_setup=calls.has_setup,
        setup_ns=calls.setup_ns,
        hosted=calls.settle.hosted,
        accelerated=calls.settle.accelerated,
    )


def _look(calls: Calls, clock: Clock, now_quiet: Callable[[], None]) -> Scouted:
    """Look at a function by calling it until 10 ms are full."""
    elapsed = calls.timed(1, clock)
    refuse_unused(calls.result)
    now_quiet()
    first_ns, number = elapsed.own_ns, 1
    most = SETUP_CALLS_MAX if calls.has_setup else MOST_CALLS
    if first_ns < LONG_CALL_NS:  # a longer one is its own estimate
        elapsed = calls.timed(1, clock)
        while (
            elapsed.own_ns < ENOUGH_NS
            and number < most
            and number * calls.setup_ns < ENOUGH_SETUP_NS
        ):
            number = min(most, number * (4 if elapsed.own_ns < ENOUGH_NS // 8 else 2))
            elapsed = calls.timed(number, clock)
        if number * calls.setup_ns < ENOUGH_SETUP_NS:
            elapsed = _quickest(calls, number, clock, elapsed)
    return _times(first_ns, elapsed, number)


def _quickest(calls: Calls, number: int, clock: Clock, elapsed: Elapsed) -> Elapsed:
    """Repeat the look that was made, and return the quickest."""
    for _ in range(TRIES - 1):
        if elapsed.own_ns >= ONE_TRY_NS:
            break
        again = calls.timed(number, clock)
        elapsed = min(elapsed, again, key=lambda each: each.own_ns)
    return elapsed


def _look_at_rounds(rounds: Rounds, clock: Clock) -> Scouted:
    """Make all rounds: the test goes on as it does in every block."""
    for _ in range(rounds.warmup):
        rounds.once()
    number = rounds.iterations
    elapsed = rounds.timed(number, clock)
    refuse_unused(rounds.result)
    first_ns = elapsed.own_ns // number
    if rounds.rounds > 1:
        number = (rounds.rounds - 1) * rounds.iterations
        elapsed = rounds.timed(number, clock)
    return replace(
        _times(first_ns, elapsed, number),
        rounds=rounds.rounds,
        iterations=rounds.iterations,
        warmup=rounds.warmup,
    )


def _times(first_ns: int, elapsed: Elapsed, calls: int) -> Scouted:
    return Scouted(
        call_ns=elapsed.own_ns / calls,
        first_ns=float(first_ns),
        cpu_share=min(1.0, elapsed.cpu_ns / elapsed.own_ns),
        processes=1,
    )


def _wanted_share(calls: Calls) -> float:
    """Return the share of the time in which threads of this process had a core or waited for one:
    those that compute are not those that the clock is read in."""
    begun, cpu, delay = time.perf_counter_ns(), time.process_time_ns(), threads_delay_ns()
    while (wall := time.perf_counter_ns() - begun) < ENOUGH_NS:
        calls.once()
    wanted = time.process_time_ns() - cpu + threads_delay_ns() - delay
    return min(1.0, wanted / wall)


def _may_have_worked(before: dict[int, float], after: dict[int, float]) -> bool:
    """Return whether a child lives, or ended since: one that an import had started is no part of
    any test, and all of a suite were watched for it.
    """
    return any(pid or cpu != before.get(pid) for pid, cpu in after.items())


def _busy(before: dict[int, float], after: dict[int, float], seconds: float) -> int:
    used = [cpu - before.get(pid, 0.0) for pid, cpu in after.items()]
    return sum(1 for cpu in used if cpu > BUSY_SHARE * seconds)


def _children_cpu() -> dict[int, float]:
    """Return the CPU seconds of each living descendant; those that ended together are number 0."""
    seconds = {0: ended_children_cpu()}
    tracker = _tracker_pid()
    for child in psutil.Process().children(recursive=True):
        if child.pid == tracker:
            continue
        try:
            times = child.cpu_times()
        except psutil.Error:
            continue
        seconds[child.pid] = times.user + times.system
    return {pid: cpu for pid, cpu in seconds.items() if pid or cpu}


def _tracker_pid() -> object:
    """Return the id of the process that multiprocessing keeps to tidy up after it, if it does. That
    one stays idle for as long as this one lives, and every later test would be watched for it.
    """
    module = sys.modules.get("multiprocessing.resource_tracker")
    return getattr(getattr(module, "_resource_tracker", None), "_pid", None)
