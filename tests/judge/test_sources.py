"""Which functions two versions of modules differ in, and which were compiled into which."""

import pytest

from pytest_rlperf.judge.sources import Module, changed_functions, compiled_into

KERNELS = """
from envs import step_state
from other import unused

def best_of(q):
    return max(q)

def make_train():
    def train(q):
        return best_of(q) + step_state(q)
    return train
"""
ENVS = """
def rules(f):
    return f

def step_state(q):
    return q

@rules
def _step(q):
    return 1
"""


def changed(before: str, after: str) -> set[str]:
    return set(changed_functions(Module(after), Module(before)))


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (KERNELS, set()),
        (KERNELS.replace("max(q)", "max(q[:])"), {"best_of"}),
        (KERNELS.replace("+ step", "- step"), {"make_train.<locals>.train"}),
        (KERNELS.replace("def best_of", "# faster\n\ndef best_of"), set()),
        (KERNELS.replace("(q):\n    return max", '(q):\n    """Best."""\n    return max'), set()),
        (KERNELS + "\ndef new():\n    pass\n", {"new"}),
    ],
)
def test_a_function_changed_when_its_own_code_did(after: str, found: set[str]):
    assert changed(KERNELS, after) == found


def test_methods_are_named_as_the_interpreter_names_them():
    before = "class A:\n    def f(self):\n        return 1\n"
    assert changed(before, before.replace("1", "2")) == {"A.f"}


def test_what_is_no_python_has_no_functions():
    assert changed_functions(Module("def ("), None) == frozenset()


PLACE = ("kernels", "make_train.<locals>.train")
MODULES = {"kernels": Module(KERNELS), "envs": Module(ENVS)}


def test_a_changed_function_that_a_compiled_one_calls_is_found_by_name():
    found = compiled_into(PLACE, MODULES, {"kernels": {"best_of"}, "envs": {"_step"}}, ran=set())
    assert found == [("kernels", "best_of")]


def test_its_own_change_comes_first():
    found = compiled_into(PLACE, MODULES, {"kernels": {"best_of", PLACE[1]}}, ran=set())
    assert found[0] == PLACE


def test_names_are_followed_into_the_module_they_come_from():
    assert compiled_into(PLACE, MODULES, {"envs": {"step_state"}}, ran=set()) == [
        ("envs", "step_state")
    ]


def test_what_no_name_leads_to_is_looked_for_in_imported_modules():
    assert compiled_into(PLACE, MODULES, {"envs": {"_step"}}, ran=set()) == [("envs", "_step")]


def test_what_ran_as_python_was_not_compiled_in():
    ran = {("envs", "_step")}
    assert compiled_into(PLACE, MODULES, {"envs": {"_step"}}, ran=ran) == []
