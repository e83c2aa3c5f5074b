"""From what the scouts saw to a plan: the length and nature of a call choose the duet, and how long
each reference kernel plays in a slice.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

from pytest_rlperf.model.block import Block
from pytest_rlperf.model.plan import MOST_CALLS, SETUP_CALLS_MAX, Mode, Plan, Scouted
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.worker.kernels import PIECE_CALLS

SLICE_NS = 2_000_000
"""A turn of the sliced duet. Longer ones cost power: on a shared two-core machine the spread times
the root of the time was 0.35 at 1-2 ms, 0.53 at 6 ms, 1.2 at 12 ms."""
TOGETHER_NS = 10_000_000
"""A slice of the concurrent duet, whose turns are the kernel's."""
LONG_CALL_NS = 3_000_000
"""A call too long for short turns: both sides run at once instead."""
BLOCK_NS = 200_000_000
"""The time aimed at for the slices of both sides of one test in one block. With its share of the
workers' start and its fixtures a test takes about 330 ms a block; half or twice as many slices gave
a wider interval for the same time."""
LIVE_BLOCK_NS = 1_500_000_000
"""The same for jobs of several processes, whose slices differ far more than their blocks do."""
PAIRS = {Mode.SLICED: (2, 32), Mode.CONCURRENT: (1, 8), Mode.LIVE: (2, 32)}
WHOLE_PERIOD = 4
"""The least number of pairs, while that takes no longer than `PERIOD_NS`: of a test that learns in
every 4th call and has two calls a block, no block would see a slower one."""
PERIOD_NS = 400_000_000
LONGEST = 8
"""A block with time to spare has at most this many times its usual pairs."""
CROWDED = 1.25
"""A call that takes so many times as long in the slices as with the core to itself, on both sides,
lives in caches that it finds full of the other side's data."""
ROOMY_SLICE_NS = 10_000_000
"""A slice in which such a call fills its caches once and then runs in them for a while. Where 10 %
more work was done, a gather from 8 MB read +6 % in turns of 3 ms and anything from -14 to +16 % (a
spread between blocks of 23 %) where both sides ran at once; in turns of 10 ms +8 %. Neither untimed
calls before each slice, nor longer turns, nor several runs of the test in a process brought its
verdict sooner. What differs from process to process are the physical pages of its data (150 to
205 us in twelve processes, each steady to 1 %). Other pages can be had without a new process, by a
fork and MADV_POPULATE_WRITE; but 16 such deals make a block four times as long (1.4 s), and it
still spread by 3 to 5 % instead of 4 to 9 %. With another block beside it a call took 3.4 to 5.2 ms
instead of 3."""
LONGEST_TURN_NS = 50_000_000
"""Calls longer than this stay side by side: they are too few in a block to take turns."""
COLD_START = 1.2
"""A first call this much slower than the next needs warming up, however long it is."""
LONG_WARMUP_NS = 100_000_000
"""A call this long warms itself up, unless its first one was cold."""
WAITS_SHARE = 0.8
"""A call that computes for less of its time than this waits for something."""
SETUP_SLICE_NS = 10_000_000
"""The most time for making the states of a slice."""


def choose_plan(scouted: Scouted, spec: Spec, cores: int) -> Plan:
    """Choose a test's plan by the worse of both sides, and by the cores that can be pinned to."""
    call_ns = max(scouted.call_ns, 1.0)
    several = max(scouted.processes, spec.threads)
    mode = _mode(scouted, spec, several > 1, cores)
    slice_ns = TOGETHER_NS if mode is Mode.CONCURRENT else SLICE_NS
    calls = _between(slice_ns / call_ns, (1, _most_calls(scouted)))
    alternating = mode is Mode.LIVE or (several > 1 and mode is Mode.SLICED)
    block_ns = LIVE_BLOCK_NS if alternating else BLOCK_NS
    whole_slice_ns = calls * (call_ns + scouted.setup_ns)
    pairs = _pairs(whole_slice_ns, block_ns, mode)
    if scouted.rounds:
        rounds = _near_divisor(scouted.rounds, calls / scouted.iterations)
        calls, pairs = rounds * scouted.iterations, scouted.rounds // rounds
    elif spec.iterations is not None:
        calls = min(calls, spec.iterations)
        pairs = -(-spec.iterations // calls)
    plan = Plan(
        mode=mode,
        calls=calls,
        pairs=pairs,
        warmup=max(
            int(spec.first_call), scouted.warmup if scouted.rounds else _warmup(scouted, spec)
        ),
        cores=max(1, min(several, cores)),
        abreast=mode is Mode.CONCURRENT and _may_go_on(scouted, pairs),
        wall=spec.waits,
        hosted=scouted.hosted and several == 1 and not _waits(scouted, spec),
        exact=bool(scouted.rounds),
        imports=spec.imports,
        first_call=spec.first_call,
    )
    return replace(plan, alone=_alone(plan, scouted, spec))


def _alone(plan: Plan, scouted: Scouted, spec: Spec) -> int:
    """Return the calls by which a side shows how long one takes when it has the core, and its
    caches, to itself: none where the answer would change nothing.
    """
    single = plan.cores == 1 and scouted.exchanges is None and not plan.hosted
    free = single and not (plan.exact or plan.wall or spec.iterations is not None)
    if not free or plan.mode is Mode.LIVE or scouted.call_ns > LONGEST_TURN_NS:
        return 0
    return _roomy_calls(scouted.call_ns, scouted)


def _roomy_calls(call_ns: float, scouted: Scouted) -> int:
    return _between(ROOMY_SLICE_NS / max(call_ns, 1.0), (1, _most_calls(scouted)))


def settled(plan: Plan, scouted: Scouted, block: Block) -> Plan:
    """Return the plan of the blocks after the first one. Where that shows sides which drive each
    other's data out of the caches, they take turns, long enough to fill them and to run in them.
    """
    later = replace(plan, alone=0)
    head, base = block.head, block.base
    if base is None or head.alone_ns is None or base.alone_ns is None:
        return later
    calls = _roomy_calls(min(head.alone_ns, base.alone_ns), scouted)
    has_room = plan.mode is Mode.SLICED and plan.calls >= calls
    crowd = min(head.call_ns / head.alone_ns, base.call_ns / base.alone_ns)
    if has_room or crowd < CROWDED:
        return later
    slice_ns = calls * (max(head.alone_ns, base.alone_ns) + scouted.setup_ns)
    pairs = _pairs(slice_ns, BLOCK_NS, Mode.SLICED)
    return replace(later, mode=Mode.SLICED, calls=calls, pairs=pairs, abreast=False, exclusive=True)


def lengthened(plan: Plan, spec: Spec, times: int) -> Plan:
    """Return the plan with more pairs, unless the test itself says how many calls there are."""
    fixed = plan.exact or spec.iterations is not None
    return plan if fixed else replace(plan, pairs=plan.pairs * times)


def times_for(free_s: float, planned_s: float) -> int:
    """Return how many times its pairs a block can have when all of it may take `free_s`."""
    if planned_s <= 0 or free_s <= planned_s:
        return 1
    return 1 << min(LONGEST.bit_length() - 1, int(math.log2(free_s / planned_s)))


def _mode(scouted: Scouted, spec: Spec, several: bool, cores: int) -> Mode:
    if scouted.exchanges is not None:
        return Mode.CONCURRENT if _may_share_cores(scouted, spec, cores) else Mode.LIVE
    if scouted.processes > 1 and not scouted.rounds:  # to find a job's processes takes a call more
        return Mode.LIVE
    # Each side would wait for the other's work on a device.
    alone = not several and not scouted.accelerated
    # Unpinned, two busy processes would sit on two cores and not share their luck.
    if scouted.call_ns > LONG_CALL_NS and cores and alone and not _waits(scouted, spec):
        return Mode.CONCURRENT
    return Mode.SLICED


def _waits(scouted: Scouted, spec: Spec) -> bool:
    return spec.waits or scouted.cpu_share < WAITS_SHARE


def _may_go_on(scouted: Scouted, pairs: int) -> bool:
    """Return whether the side that is done first can make further calls: not where the test counts
    them, where all ranks of a job would have to make them, or where one takes as long as the block.
    """
    return pairs >= WHOLE_PERIOD and not scouted.rounds and scouted.exchanges is None


def _may_share_cores(scouted: Scouted, spec: Spec, cores: int) -> bool:
    """Return whether two MPI jobs can run at once: ranks that compute for long between two
    exchanges. One that waits for a message would burn the other job's time, and wait for its turns.
    """
    alone_ns = scouted.call_ns / max(1, scouted.exchanges or 0)
    unseen = scouted.exchanges == 0 and scouted.processes > 1  # by another communicator, perhaps
    return alone_ns > LONG_CALL_NS and scouted.processes <= cores and not (unseen or spec.waits)


def _most_calls(scouted: Scouted) -> int:
    if not scouted.has_setup:
        return MOST_CALLS
    return _between(SETUP_SLICE_NS / max(scouted.setup_ns, 1.0), (1, SETUP_CALLS_MAX))


def _warmup(scouted: Scouted, spec: Spec) -> int:
    if spec.warmup is not None:
        return spec.warmup
    cold = scouted.first_ns > COLD_START * scouted.call_ns
    # The processes of a job may be made in its first call, and pools and devices begin in it.
    begins = scouted.processes > 1 or scouted.hosted or scouted.accelerated
    return 1 if cold or begins or scouted.call_ns < LONG_WARMUP_NS else 0


def _near_divisor(rounds: int, wanted: float) -> int:
    """Return the number near `wanted` that shares all rounds out evenly over slices."""
    low = [d for d in range(1, math.isqrt(rounds) + 1) if rounds % d == 0]
    return min([*low, *(rounds // d for d in low)], key=lambda d: abs(math.log(d / wanted)))


def _pairs(whole_slice_ns: float, block_ns: float, mode: Mode) -> int:
    """Return how many pairs of slices a block has, setting up their calls included."""
    pairs = _power_of_two(_between(block_ns / (2 * whole_slice_ns), PAIRS[mode]))
    in_time = 2 * WHOLE_PERIOD * whole_slice_ns <= PERIOD_NS
    return max(pairs, WHOLE_PERIOD) if in_time else pairs


def _power_of_two(pairs: int) -> int:
    """Round to whole periods of a test whose every 2nd, 4th or 8th call does more."""
    return 1 << round(math.log2(pairs))


def block_seconds(plan: Plan, scouted: Scouted) -> float:
    """Return what the slices and the warm-up of both sides should take on a quiet machine."""
    calls = plan.calls * (plan.pairs + 1) + plan.warmup
    return (2 * calls * (scouted.call_ns + scouted.setup_ns) + scouted.first_ns) / 1e9


def _between(value: float, bounds: tuple[int, int]) -> int:
    low, high = bounds
    return max(low, min(high, round(value)))


# -- the duet with the reference kernels ---------------------------------------------------------

LONG_SLICE_NS = 4_000_000
LONGER = 3
"""A piece has this many times its calls where slices are long: a kernel plays about a millisecond
then before the next one has its turn. That is far shorter than the bursts of a neighbour.
"""


def with_kernels(plan: Plan, scouted: Scouted, unit_ns: Mapping[str, float]) -> Plan:
    """Return `plan` with all kernels in every slice, together about as long as the test's own.

    Who has its turn fills the caches again, so a call of a shorter piece takes longer: a gather of
    half as many calls by 9 to 14 %. Hence the calls of a piece are given, and only the number of
    pieces follows from times, which no two sessions find alike.
    """
    slice_ns = plan.calls * scouted.call_ns
    times = LONGER if slice_ns >= LONG_SLICE_NS else 1
    calls = {name: times * PIECE_CALLS[name] for name in sorted(unit_ns)}
    round_ns = sum(calls[name] * ns for name, ns in unit_ns.items())
    # A stored ratio is that of slices which met their kernels, all of them, from beginning to end.
    return replace(
        plan,
        kernels=tuple(calls.items()),
        kernel_rounds=max(1, round(slice_ns / round_ns)),
        abreast=False,
        alone=0,
    )
