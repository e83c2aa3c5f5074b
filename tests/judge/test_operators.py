"""Which operators of torch are told beside the functions that are blamed."""

from pytest_rlperf.judge.blame import ProfiledPair
from pytest_rlperf.judge.operators import compare_operators
from pytest_rlperf.model.profile import OperatorCost, SideProfile
from pytest_rlperf.model.why import Operator


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
