"""How two environments differ, by what their interpreters say of themselves."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.environments.environment import (
    Description,
    Distribution,
    describe,
    differences,
    environment_of,
    find_interpreter,
    link_measuring_code,
)
from pytest_rlperf.environments.report import MOST, MOST_LETTERS, render_both
from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.environment import EnvironmentDifference, Environments

HOME = Path("/project")
PYTHON = {"Python": "CPython 3.12.1", "compiler of Python": "GCC 13"}


def description(
    distributions: dict[str, Distribution] | None = None, interpreter: dict[str, str] | None = None
) -> Description:
    facts = PYTHON | (interpreter or {})
    return Description((3, 12, 1), (), (), facts, None, distributions or {})


def named(base: dict[str, Distribution], head: dict[str, Distribution]) -> list[str]:
    return [str(each) for each in differences(description(base), description(head), HOME)]


def test_versions_are_named_before_what_one_side_lacks():
    base = {"a": Distribution("1"), "Zed_lib": Distribution("1"), "same": Distribution("3")}
    head = {"zed-lib": Distribution("2"), "b": Distribution("4"), "same": Distribution("3")}
    assert named(base, head) == ["zed-lib 1 → 2", "a 1 → none", "b none → 4"]


def test_builds_of_one_version_differ_by_their_tags_or_files():
    one, other = Distribution("1", "cp312-abi3", "aa"), Distribution("1", "py3-none", "bb")
    assert named({"a": one}, {"a": other}) == ["a 1 (cp312-abi3) → 1 (py3-none)"]
    again = Distribution("1", "cp312-abi3", "cc")
    assert named({"a": one}, {"a": again}) == ["a 1 (files aa) → 1 (files cc)"]


def test_the_project_and_the_plugin_are_no_difference():
    origin = json.dumps({"url": "file:///project/lib", "dir_info": {"editable": True}})
    head = {"lib": Distribution("1", origin=origin), "pytest-rlperf": Distribution("0.1")}
    assert named({}, head) == []


def test_of_long_flags_only_those_that_differ_are_named():
    flags = " ".join(f"-f{n}" for n in range(20))
    base = description(interpreter={"PY_CFLAGS": f"{flags} -O2"})
    head = description(interpreter={"PY_CFLAGS": f"{flags} -O3"})
    assert [str(each) for each in differences(base, head, HOME)] == ["PY_CFLAGS -O2 → -O3"]


names = st.dictionaries(
    st.text("abc-_.", min_size=1, max_size=4), st.builds(Distribution, st.sampled_from("12"))
)


@given(names, names)
def test_the_other_way_round_the_same_is_named(
    base: dict[str, Distribution], head: dict[str, Distribution]
):
    there = differences(description(base), description(head), HOME)
    back = differences(description(head), description(base), HOME)
    assert {(d.name, d.base, d.head) for d in there} == {(d.name, d.head, d.base) for d in back}
    assert differences(description(base), description(base), HOME) == ()


def test_a_real_interpreter_describes_itself():
    own = describe(sys.executable)
    assert own.version == sys.version_info[:3]
    assert "pytest" in own.by_name
    assert own.interpreter["Python"].endswith(own.interpreter["Python"].split()[-1])
    assert not any(entry.endswith("environments") for entry in own.path)
    assert differences(own, describe(sys.executable), HOME) == ()


def test_what_is_no_python_is_refused(tmp_path: Path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho strange >&2\n")
    program.chmod(0o755)
    with pytest.raises(UsageError, match=r"is no Python that can be measured \(strange\)"):
        describe(program)


def test_an_interpreter_may_be_named_by_its_path_folder_or_name(tmp_path: Path):
    folder = tmp_path / "env" / "bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    assert find_interpreter("env", tmp_path) == folder / "python"
    assert find_interpreter("env/bin/python", tmp_path) == folder / "python"
    assert find_interpreter("sh", tmp_path).name == "sh"


def test_the_projects_folders_keep_their_place_on_the_path(tmp_path: Path):
    import os

    library = os.path.dirname(os.__file__)
    home = tmp_path / "home"
    (home / "src").mkdir(parents=True)
    other = Description((3, 12, 1), ("/env/lib",), (), {})
    path = [str(home), "/elsewhere", library, str(home / "src")]
    link = link_measuring_code(tmp_path)
    made = environment_of(Path("/env/bin/python"), other, link, home, path)
    assert made.sys_path == (str(link), str(home), "/env/lib", str(home / "src"))
    assert [entry.name for entry in link.iterdir()] == ["pytest_rlperf"]


def test_only_so_many_differences_are_named():
    many = tuple(EnvironmentDifference(f"lib{n}", "1" * 200, "2", True) for n in range(MOST + 5))
    title, *lines, last = render_both(Environments("old", many))
    assert title == "from old to this environment:"
    assert len(lines) == MOST
    assert max(map(len, lines)) <= MOST_LETTERS + 2
    assert last == "  and 5 more, which --rlperf-json tells"
