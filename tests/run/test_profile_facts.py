"""From a worker's words to a profile with the same names on both sides."""

from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.model.profile import Function
from pytest_rlperf.run.profile_facts import Places, side_profile

PLACES = Places(Path("/project/tree"), ("/project/tree", "/env/lib", "/env/lib/site-packages", ""))


@pytest.mark.parametrize(
    ("file", "short"),
    [
        ("/project/tree/lib/agent.py", "lib/agent.py"),
        ("/env/lib/site-packages/numpy/core.py", "numpy/core.py"),
        ("/env/lib/copy.py", "copy.py"),
        ("<string>", "<string>"),
        ("/elsewhere/a.py", "/elsewhere/a.py"),
        ("/project/tree2/a.py", "/project/tree2/a.py"),
    ],
)
def test_a_file_is_named_from_the_folder_it_is_imported_from(file: str, short: str):
    assert PLACES.function((file, "f")) == Function(short, "f")


def test_an_environment_inside_of_the_tree_is_not_the_project():
    assert PLACES.is_project(("/project/tree/lib/agent.py", "f"))
    assert not PLACES.is_project(("/project/tree/.venv/lib/site-packages/numpy/core.py", "f"))


def entry(file: str, name: str, ns: float, **fields: Any) -> dict[str, Any]:
    plain = {"calls": 4, "mean_ns": ns, "compiled": False, "natives": {}, "callees": []}
    return {"function": [file, name], "typical_ns": ns, **plain, **fields}


LEARN, SORT = "/project/tree/agent.py", "/env/lib/site-packages/numpy/core.py"


def profile(*functions: dict[str, Any]) -> Any:
    stacks = [[[[LEARN, "learn"], [SORT, "sort"]], 5.0]]
    facts = {"functions": functions, "calls": 2, "computing": 0.5, "stacks": stacks}
    return side_profile(facts, PLACES)


def test_a_librarys_time_is_charged_to_the_project_and_its_calls_are_told():
    found = profile(
        entry(LEARN, "learn", 10.0, callees=[[[SORT, "sort"], 6, 30.0]], natives={"len": [2, 1.0]}),
        entry(SORT, "sort", 30.0),
    )
    [(function, cost)] = found.functions.items()
    assert function == Function("agent.py", "learn")
    assert cost.typical_ns == cost.mean_ns == 40.0
    assert {name: callee.calls for name, callee in cost.callees.items()} == {
        "len": 2,
        "numpy/core.py:sort": 6,
    }


def test_it_reaches_the_project_through_native_functions_too():
    found = profile(
        entry(LEARN, "learn", 10.0, callees=[[["", "max"], 6, 35.0]], natives={"max": [6, 5.0]}),
        entry("", "max", 0.0, callees=[[[SORT, "_amax"], 6, 30.0]]),
        entry(SORT, "_amax", 30.0),
    )
    [(function, cost)] = found.functions.items()
    assert function == Function("agent.py", "learn")
    assert cost.typical_ns == pytest.approx(40.0)
    assert list(cost.callees) == ["max"]


def test_a_librarys_function_that_is_measured_itself_keeps_its_time():
    assert list(profile(entry(SORT, "sort", 30.0)).functions) == [Function("numpy/core.py", "sort")]


def test_stacks_carry_the_same_names():
    assert profile(entry(LEARN, "learn", 1.0)).stacks == {
        ("agent.py:learn", "numpy/core.py:sort"): 5.0
    }
