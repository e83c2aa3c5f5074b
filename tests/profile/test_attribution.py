"""Who is blamed for a change, and who is not: functions, lines, and operators of torch."""

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.model.profile import (
    Callee,
    Cost,
    Function,
    LineCost,
    LineProfile,
    Operator,
    OperatorCost,
    SideProfile,
)
from pytest_rlperf.profile.attribution import (
    DOUBT,
    LOOKS,
    ProfiledPair,
    charged,
    compare_lines,
    compare_operators,
    explain,
    weighted_median,
)
from tests.factories import examples

LEARN, ACT, STEP = (Function("agent.py", name) for name in ("learn", "act", "step"))
US = 1_000.0


def profile(
    costs: Mapping[Function, tuple[int, float]],
    rng: random.Random | None = None,
    spread: float = 0.0,
    **fields: object,
) -> SideProfile:
    """Calls and microseconds of each function, in ten calls of the benchmark."""
    rng = rng or random.Random(0)
    functions = {}
    for function, (calls, us) in costs.items():
        ns = us * US * (1 + rng.gauss(0, spread))
        functions[function] = Cost(10 * calls, ns, ns)
    return SideProfile(functions, calls=10, computing=1.0, **fields)  # type: ignore[arg-type]


def pairs(
    base: Mapping[Function, tuple[int, float]],
    head: Mapping[Function, tuple[int, float]],
    *,
    number: int = 8,
    spread: float = 0.01,
    seed: int = 1,
) -> list[ProfiledPair]:
    rng = random.Random(seed)
    return [
        ProfiledPair(profile(head, rng, spread), profile(base, rng, spread)) for _ in range(number)
    ]


BASE = {LEARN: (5, 100.0), ACT: (5, 100.0), STEP: (5, 50.0)}


def test_the_function_that_takes_longer_is_blamed_with_its_share_and_ratios():
    found = explain(pairs(BASE, {**BASE, LEARN: (5, 150.0)}), measured=0.2, by_mean=False)
    assert [cause.function for cause in found.causes] == [LEARN]
    cause = found.causes[0]
    assert cause.share == pytest.approx(1.0, abs=0.1)
    assert cause.time_ratio == pytest.approx(1.5, abs=0.03)
    assert not cause.calls.changed
    assert found.change == pytest.approx(0.2, abs=0.02)
    assert found.note is None


def test_who_accounts_for_most_comes_first():
    head = {**BASE, ACT: (5, 140.0), LEARN: (5, 180.0)}
    found = explain(pairs(BASE, head), measured=0.48, by_mean=False)
    assert [cause.function for cause in found.causes] == [LEARN, ACT]
    assert sum(cause.share for cause in found.causes) == pytest.approx(1.0, abs=0.1)


def test_another_number_of_calls_is_certain_even_where_times_say_nothing():
    head = {**BASE, STEP: (10, 60.0)}
    found = explain(pairs(BASE, head, spread=0.3), measured=0.04, by_mean=False)
    assert STEP in [cause.function for cause in found.causes]
    count = next(c.calls for c in found.causes if c.function == STEP)
    assert (count.base, count.head, count.certain) == (5, 10, True)


def test_counts_that_differ_between_processes_of_a_side_are_not_certain():
    made = pairs(BASE, {**BASE, LEARN: (9, 150.0)})
    other = ProfiledPair(profile({**BASE, LEARN: (8, 150.0)}), profile(BASE))
    found = explain([*made[:-1], other], measured=0.2, by_mean=False)
    assert not found.causes[0].calls.certain


def test_a_new_function_has_no_ratio():
    new = Function("copy.py", "deepcopy")
    found = explain(pairs(BASE, {**BASE, new: (5, 80.0)}), measured=0.3, by_mean=False)
    assert found.causes[0].function == new
    assert found.causes[0].time_ratio is None
    assert found.causes[0].calls.base == 0


def test_what_a_function_began_to_call_is_told_with_it():
    def side(callees: Mapping[str, Callee], ns: float) -> SideProfile:
        return SideProfile({LEARN: Cost(10, ns, ns, callees=callees)}, calls=10, computing=1.0)

    one = ProfiledPair(side({"numpy.ndarray.copy": Callee(30, 50.0)}, 150.0), side({}, 100.0))
    found = explain([one] * 6, measured=0.5, by_mean=False)
    [(name, count)] = found.causes[0].callees
    assert (name, count.base, count.head) == ("numpy.ndarray.copy", 0, 3)


def test_a_change_that_the_profiler_does_not_see_is_not_explained():
    found = explain(pairs(BASE, {**BASE, LEARN: (5, 110.0)}), measured=0.35, by_mean=False)
    assert found.causes == ()
    assert found.note is not None
    assert "does not explain what was measured" in found.note


def test_a_profile_of_a_bad_moment_is_not_shown_as_what_was_measured():
    slower = {function: (calls, 1.8 * us) for function, (calls, us) in BASE.items()}
    found = explain(pairs(BASE, slower), measured=0.076, by_mean=False)
    assert (found.causes, found.change) == ((), None)
    assert found.note is not None
    assert found.note.endswith("does not explain what was measured without it (+7.6 %)")


def test_what_only_some_slices_spend_is_seen_by_the_mean():
    def side(mean_us: float) -> SideProfile:
        return SideProfile({LEARN: Cost(10, 100 * US, mean_us * US)}, calls=10, computing=1.0)

    made = [ProfiledPair(side(150.0 + n), side(100.0)) for n in range(6)]
    assert explain(made, measured=0.5, by_mean=False).causes == ()
    assert explain(made, measured=0.5, by_mean=True).causes[0].function == LEARN


def test_two_pairs_are_too_few():
    found = explain(pairs(BASE, BASE, number=2), measured=0.2, by_mean=False)
    assert found.note == "only 2 pairs of processes could be profiled"


def test_a_base_of_which_the_profilers_own_time_left_nothing_explains_nothing():
    nothing = {function: (calls, 0.0) for function, (calls, _) in BASE.items()}
    found = explain(pairs(nothing, BASE), measured=0.2, by_mean=False)
    assert (found.causes, found.note) == ((), "only 0 pairs of processes could be profiled")


def test_pairs_of_which_something_is_left_are_enough():
    nothing = {function: (calls, 0.0) for function, (calls, _) in BASE.items()}
    slower = {**BASE, LEARN: (5, 150.0)}
    found = explain([*pairs(nothing, BASE), *pairs(BASE, slower)], measured=0.2, by_mean=False)
    assert (found.pairs, found.causes[0].function) == (8, LEARN)


def test_of_shares_that_outweigh_a_gain_elsewhere_none_is_above_the_whole():
    head = {**BASE, LEARN: (5, 190.0), ACT: (5, 50.0)}
    found = explain(pairs(BASE, head), measured=0.16, by_mean=False)
    assert found.causes[0].function == LEARN
    assert found.causes[0].share <= 1.0


@pytest.mark.parametrize("suspects", [set(), {LEARN}, {LEARN, ACT, STEP}])
@pytest.mark.parametrize("spread", [0.01, 0.05, 0.2])
def test_code_compared_with_itself_rarely_blames_anybody(spread: float, suspects: set[Function]):
    """Rarely, not never: a bound has its doubt."""

    def is_blamed(seed: int) -> bool:
        made = pairs(BASE, BASE, seed=seed, spread=spread, number=max(LOOKS))
        return any(explain(made[:look], None, False, suspects).causes for look in LOOKS)

    assert sum(map(is_blamed, range(300))) / 300 <= 2 * DOUBT


def test_a_suspect_is_blamed_for_less_than_others_are():
    """A change of 8 % in one of ten functions, beside which profiles spread by 3 %."""
    base = {Function("agent.py", f"f{n}"): (5, 100.0) for n in range(10)}
    guilty = Function("agent.py", "f3")
    head = {**base, guilty: (5, 180.0)}

    def found(look: int, suspects: set[Function]) -> float:
        made = (pairs(base, head, number=look, spread=0.15, seed=seed) for seed in range(60))
        blamed = [explain(each, 0.08, False, suspects).causes for each in made]
        return sum(guilty in [cause.function for cause in causes] for causes in blamed) / 60

    assert found(8, {guilty}) > found(8, set()) + 0.2
    assert found(16, {guilty}) > 0.95


def slowed(side: SideProfile, factor: float) -> SideProfile:
    functions = {
        name: replace(cost, typical_ns=cost.typical_ns * factor, mean_ns=cost.mean_ns * factor)
        for name, cost in side.functions.items()
    }
    return replace(side, functions=functions)


MANY = {Function("agent.py", name): (5, 50.0) for name in "abcdef"}


def test_a_moment_in_which_the_machine_is_slower_blames_nobody():
    made = pairs(MANY, MANY)
    head_unlucky = [ProfiledPair(slowed(pair.head, 1.3), pair.base) for pair in made]
    assert explain(head_unlucky, None, by_mean=False).causes == ()


def test_a_function_is_seen_though_the_machines_speed_goes_up_and_down():
    guilty = Function("agent.py", "a")
    rng = random.Random(3)
    made = [
        ProfiledPair(slowed(pair.head, rng.uniform(1, 2)), slowed(pair.base, rng.uniform(1, 2)))
        for pair in pairs(MANY, {**MANY, guilty: (5, 75.0)})
    ]
    found = explain(made, measured=None, by_mean=False)
    assert [cause.function for cause in found.causes] == [guilty]


def test_another_functions_gain_is_no_ones_loss():
    quicker = {**MANY, Function("agent.py", "a"): (5, 5.0)}
    assert explain(pairs(MANY, quicker), measured=None, by_mean=False).causes == ()


@examples
@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)), min_size=1))
def test_half_of_the_weight_lies_on_either_side_of_a_weighted_median(
    values: list[tuple[float, float]],
):
    middle = weighted_median(values)
    total = sum(weight for _, weight in values)
    assert sum(weight for value, weight in values if value < middle) <= total / 2 + 1e-9
    assert sum(weight for value, weight in values if value > middle) <= total / 2 + 1e-9


# -- time outside of the project reaches those who spend it -------------------------------------


def test_a_librarys_time_is_its_callers():
    found = charged({"learn": 5, "sort": 10}, {"learn": {"sort": 10}}, {"sort"})
    assert found == {"learn": 15}


def test_callers_share_it_as_they_spent_it():
    spent = {"act": {"sort": 2}, "learn": {"sort": 6}}
    assert charged({"act": 1, "learn": 1, "sort": 8}, spent, {"sort"}) == {"act": 3, "learn": 7}


def test_it_passes_through_the_library():
    spent = {"learn": {"flatnonzero": 9}, "flatnonzero": {"ravel": 4}}
    own = {"learn": 1, "flatnonzero": 5, "ravel": 4}
    assert charged(own, spent, {"flatnonzero", "ravel"}) == {"learn": 10}


def test_functions_that_call_each_other_keep_none_of_it():
    spent = {"info": {"deepcopy": 9}, "deepcopy": {"dict": 6}, "dict": {"deepcopy": 3}}
    found = charged({"info": 1, "deepcopy": 5, "dict": 4}, spent, {"deepcopy", "dict"})
    assert found["info"] == pytest.approx(10, rel=1e-4)


def test_recursion_is_no_caller():
    found = charged({"f": 1, "walk": 3}, {"f": {"walk": 3}, "walk": {"walk": 2}}, {"walk"})
    assert found == {"f": 4}


def test_what_nobody_in_the_project_called_keeps_its_time():
    assert charged({"sort": 7}, {}, {"sort"}) == {"sort": 7}


@examples
@given(st.data())
def test_no_time_is_lost_or_made(data: st.DataObject):
    names = "abcdef"
    own = {name: data.draw(st.floats(0, 100)) for name in names}
    edges = st.dictionaries(st.sampled_from(names), st.floats(0, 50), max_size=3)
    spent = {name: data.draw(edges) for name in names}
    outside = data.draw(st.sets(st.sampled_from(names)))
    total = sum(charged(own, spent, outside).values())
    assert total == pytest.approx(sum(own.values()), rel=1e-4, abs=1e-6)


# -- lines of a function on both sides, matched by their text -----------------------------------


def line_profile(first: int, source: str, **ns: float) -> LineProfile:
    """`l0=100` is the first line's time."""
    lines = {first + int(name[1:]): LineCost(2, value) for name, value in ns.items()}
    return LineProfile(first, tuple(source.splitlines()), lines)


BASE_LINES = "def f(x):\n    y = x\n    return y"
HEAD = "def f(x):\n    y = x.copy()\n    return y"


def test_equal_lines_meet_though_their_numbers_moved():
    found = compare_lines(
        "f",
        [line_profile(20, BASE_LINES, l1=30, l2=5)],
        [line_profile(10, BASE_LINES, l1=20, l2=5)],
    )
    assert [(line.number, line.base_ns, line.head_ns) for line in found.lines] == [
        (20, None, None),
        (21, 20, 30),
        (22, 5, 5),
    ]


def test_a_line_that_changed_stands_twice():
    found = compare_lines("f", [line_profile(1, HEAD, l1=30)], [line_profile(1, BASE_LINES, l1=20)])
    assert [(line.text.strip(), line.base_ns, line.head_ns) for line in found.lines[1:3]] == [
        ("y = x", 20, None),
        ("y = x.copy()", None, 30),
    ]


def test_processes_are_averaged():
    heads = [line_profile(1, BASE_LINES, l1=ns) for ns in (10, 20, 30)]
    assert compare_lines("f", heads, [line_profile(1, BASE_LINES)]).lines[1].head_ns == 20


def test_a_function_that_never_ran_has_no_lines():
    assert compare_lines("f", [], [line_profile(1, BASE_LINES, l1=1)]).lines == ()


# -- operators of torch beside the functions that are blamed ------------------------------------


def side(**operators: tuple[float, float]) -> SideProfile:
    """Calls and ns of each."""
    costs = {name: OperatorCost(*cost) for name, cost in operators.items()}
    return SideProfile({}, calls=1, computing=1.0, operators=costs)


def test_what_moved_in_all_pairs_is_told_the_largest_change_first():
    base = side(mm=(4, 1000.0), relu=(2, 300.0), copy=(1, 100.0))
    head = side(mm=(6, 1500.0), relu=(2, 200.0), copy=(1, 101.0))
    assert compare_operators([ProfiledPair(head, base)] * 3) == (
        Operator("mm", base_calls=4, head_calls=6, base_ns=1000.0, head_ns=1500.0),
        Operator("relu", base_calls=2, head_calls=2, base_ns=300.0, head_ns=200.0),
    )


def test_a_new_operator_was_called_never_before():
    base, head = side(mm=(1, 1000.0)), side(mm=(1, 1000.5), clone=(3, 400.0))
    (found,) = compare_operators([ProfiledPair(head, base)] * 4)
    assert (found.name, found.base_calls, found.head_calls) == ("clone", 0, 3)


def test_what_only_some_pairs_show_is_left_out():
    base = side(mm=(1, 1000.0))
    heads = [side(mm=(1, ns)) for ns in (1500.0, 1500.0, 900.0)]
    assert compare_operators([ProfiledPair(head, base) for head in heads]) == ()


def test_too_few_pairs_tell_nothing():
    pair = ProfiledPair(side(mm=(1, 2000.0)), side(mm=(1, 1000.0)))
    assert compare_operators([pair] * 2) == ()
    silent = ProfiledPair(side(), side())
    assert compare_operators([silent] * 8) == ()
