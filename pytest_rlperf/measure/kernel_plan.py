"""A plan for a duet with the reference kernels: which of them a block plays, and how long."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_rlperf.measure.planning import lengthened
from pytest_rlperf.model.plan import Plan, Scouted
from pytest_rlperf.model.spec import Spec


def with_kernels(
    plan: Plan,
    spec: Spec,
    seen: Scouted,
    kernels: Sequence[str],
    unit_ns: Mapping[str, float],
    *,
    some: bool = False,
) -> Plan:
    """`plan` with slices for every kernel, as long as those of the test. `some`: where the test
    itself allows too few slices, the first of the kernels will do.
    """
    enough = _enough_pairs(plan, spec, seen, len(kernels))
    if some:
        kernels = kernels[: enough.pairs]
    whole_ns = enough.calls * seen.call_ns
    calls = tuple((name, max(1, round(whole_ns / unit_ns[name]))) for name in kernels)
    return replace(enough, kernels=calls, pairs=max(enough.pairs, len(kernels)))


def _enough_pairs(plan: Plan, spec: Spec, seen: Scouted, wanted: int) -> Plan:
    """A pair for each kernel at least; where the number of calls is fixed, by shorter slices."""
    if plan.exact:
        return _split_rounds(plan, seen.iterations, wanted)
    if spec.iterations is not None and plan.pairs < wanted:
        calls = max(1, spec.iterations // wanted)
        return replace(plan, calls=calls, pairs=-(-spec.iterations // calls))
    times = 1
    while plan.pairs * times < wanted and spec.iterations is None:
        times *= 2
    return lengthened(plan, spec, times)


def _split_rounds(plan: Plan, iterations: int, wanted: int) -> Plan:
    """Slices hold equally many rounds, all of them together."""
    rounds = plan.calls // iterations
    fitting = (d for d in range(1, rounds) if rounds % d == 0 and plan.pairs * d >= wanted)
    parts = next(fitting, rounds)
    return replace(plan, calls=plan.calls // parts, pairs=plan.pairs * parts)
