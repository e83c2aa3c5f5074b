"""Which functions two versions of modules differ in, and which were compiled into which."""

from pathlib import Path

import pytest

from pytest_rlperf.model.profile import (
    Cause,
    Cost,
    Count,
    Explanation,
    Function,
    SideProfile,
    Source,
    Spot,
)
from pytest_rlperf.profile.sources import (
    Module,
    Sources,
    changed_functions,
    compiled_into,
    line_to_look_at,
    with_sources,
)

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


# -- which line of an edited function is the one to look at -------------------------------------


BASE = '''\
class Ring:
    def push(self, row):
        """Add a row."""
        # the oldest goes
        self.rows[self.at] = row

        self.at = (self.at + 1) % self.size
'''


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("= row\n", "= row.copy()\n", 5),
        ("self.at + 1", "self.at + 2", 7),
        ("        self.rows[self.at] = row\n", "", 6),
        ("        self.at = (", "        for _ in row:\n            self.at = (", 7),
        ("        self.at = (self.at + 1) % self.size\n", "", 5),
        ("(self, row)", "(self, row, check=True)", 2),
    ],
)
def test_it_is_the_first_that_differs(old: str, new: str, line: int):
    assert line_to_look_at(Module(BASE.replace(old, new)), Module(BASE), "Ring.push") == line


@pytest.mark.parametrize(
    ("old", "new"),
    [("Add a row.", "Add one.\n\n        Always."), ("# the oldest goes\n", "\n"), ("", "")],
)
def test_words_and_blank_lines_are_no_code(old: str, new: str):
    assert line_to_look_at(Module(BASE.replace(old, new)), Module(BASE), "Ring.push") == 2


def test_a_line_that_moved_into_a_loop_differs():
    base = "def f(rows):\n    for row in rows:\n        a(row)\n    b(rows)\n"
    assert line_to_look_at(Module(base.replace("    b", "        b")), Module(base), "f") == 4


@pytest.mark.parametrize("base", [None, Module("def other(): ...\n")])
def test_a_new_function_begins_where_it_begins(base: Module | None):
    assert line_to_look_at(Module(BASE), base, "Ring.push") == 2


def test_what_is_not_there_has_no_line():
    assert line_to_look_at(Module(BASE), Module(BASE), "Ring.pop") is None


# -- two trees on disk --------------------------------------------------------------------------


TWO_FUNCTIONS = "def best(q):\n    return max(q)\n\ndef train(q):\n    return best(q)\n"
TRAIN, BEST = Function("lib/kernels.py", "train"), Function("lib/kernels.py", "best")


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    imported = {}
    for side, text in (
        ("base", TWO_FUNCTIONS),
        ("head", TWO_FUNCTIONS.replace("max(q)", "max(list(q))")),
    ):
        file = tmp_path / side / "lib" / "kernels.py"
        file.parent.mkdir(parents=True)
        file.write_text(text)
        package = file.with_name("__init__.py")
        package.touch()
        imported[side] = {"lib": str(package), "gone": str(tmp_path / side / "gone.so")}
    return Sources.read(imported, tmp_path / "head")


def cause(function: Function, compiled: bool = False) -> Cause:
    calls = Count(1, 1, certain=True)
    return Cause(function, 1.0, 10.0, calls, time_ratio=2.0, compiled=compiled)


def judged(sources: Sources, one: Cause) -> Cause:
    return with_sources(Explanation((one,)), sources, [one.function]).causes[0]


def test_a_function_whose_source_changed_is_marked(sources: Sources):
    assert judged(sources, cause(BEST)).source is Source.CHANGED


def test_a_function_whose_source_is_the_same_is_marked_so(sources: Sources):
    found = judged(sources, cause(TRAIN))
    assert (found.source, found.inlined) == (Source.SAME, ())


def test_of_a_librarys_function_nothing_is_known(sources: Sources):
    found = judged(sources, cause(Function("copy.py", "deepcopy")))
    assert (found.source, found.at) == (Source.UNKNOWN, None)


@pytest.mark.parametrize(
    ("one", "line"), [(cause(BEST), 2), (cause(TRAIN), 4), (cause(TRAIN, compiled=True), 2)]
)
def test_the_line_to_look_at_is_the_one_that_changed_or_where_the_function_begins(
    sources: Sources, one: Cause, line: int
):
    assert judged(sources, one).at == Spot("lib/kernels.py", line)


def test_a_compiled_function_names_what_changed_inside_it(sources: Sources):
    assert judged(sources, cause(TRAIN, compiled=True)).inlined == (BEST,)


def test_a_compiled_function_that_changed_itself_needs_no_other(sources: Sources):
    assert judged(sources, cause(BEST, compiled=True)).inlined == ()


@pytest.mark.parametrize(("ran", "edited"), [([TRAIN, BEST], [BEST]), ([TRAIN], [])])
def test_functions_that_ran_and_were_edited_are_named_whoever_is_blamed(
    sources: Sources, ran: list[Function], edited: list[Function]
):
    nobody = Explanation(pairs=8, note="no function took longer")
    assert [edit.function for edit in with_sources(nobody, sources, ran).edits] == edited


def test_an_edit_that_was_compiled_in_is_named_before_those_that_are_not_blamed(sources: Sources):
    blamed = Explanation((cause(TRAIN, compiled=True),), pairs=8)
    assert [edit.function for edit in with_sources(blamed, sources, [TRAIN]).edits] == [BEST]


def test_an_edit_shows_what_changed_with_the_lines_around_it(sources: Sources):
    (edit,) = with_sources(Explanation(), sources, [BEST]).edits
    assert edit.diff == (" def best(q):", "-    return max(q)", "+    return max(list(q))")
    assert edit.at == Spot("lib/kernels.py", 2)


@pytest.mark.parametrize(
    ("function", "compiled", "found"),
    [(BEST, False, {BEST}), (TRAIN, False, set()), (TRAIN, True, {TRAIN})],
)
def test_suspects_ran_and_changed_or_hold_what_changed(
    sources: Sources, function: Function, compiled: bool, found: set[Function]
):
    costs = {function: Cost(1, 1.0, 1.0, compiled=compiled)}
    assert sources.suspects([SideProfile(costs, calls=1, computing=1.0)]) == found
