"""`--rlperf-same-code`: what runs the same code on both sides is not measured."""

import pytest

from .projects import Ended, Project, Workshop

STEP = "from fakeclock import tick\n\n\ndef step():\n    tick(1_000_000)\n"
BASE = {
    "pytest.ini": "[pytest]\n",
    "lib/__init__.py": "",
    "lib/near.py": f"{STEP}\n\ndef other():\n    tick(2_000_000)\n",
    "lib/far.py": "from fakeclock import tick\n\n\ndef jump():\n    tick(1_000_000)\n",
    "tests/test_lib.py": "from lib.far import jump\nfrom lib.near import other, step\n\n\n"
    "def test_step(rlperf):\n    rlperf(step)\n\n\n"
    "def test_other(rlperf):\n    rlperf(other)\n\n\n"
    "def test_jump(rlperf):\n    rlperf(jump)\n",
}
SLOWER = {"lib/near.py": BASE["lib/near.py"].replace("1_000", "1_500")}


@pytest.fixture(scope="module")
def one_function(workshop: Workshop) -> Ended:
    return workshop.project("same-code", BASE, SLOWER).measure()


def test_only_what_runs_a_changed_function_is_measured(one_function: Ended):
    assert one_function.code == 1
    assert one_function.outcomes == {
        "test_step": "regressed",
        "test_other": "same_code",
        "test_jump": "same_code",
    }
    assert one_function.test("test_other")["blocks"] == []


def test_the_result_says_what_was_compared(one_function: Ended):
    changes = one_function.result["code_changes"]
    assert changes["functions"] == {"lib/near.py": ["step"]}
    assert one_function.test("test_step")["differences"] == ["lib/near.py:step"]
    assert one_function.test("test_other")["differences"] == []
    assert one_function.test("test_jump")["differences"] == []
    assert one_function.metric("test_jump")["value"] == pytest.approx(1_000_000, rel=0.01)
    said = "2 tests run nothing of what changed in lib/near.py"
    assert said in one_function.text


def test_where_nothing_changed_nothing_is_measured_and_the_run_passes(workshop: Workshop):
    ended = workshop.project("same-code-none", BASE).measure()
    assert ended.code == 0
    assert set(ended.outcomes.values()) == {"same_code"}
    assert "3 tests run the same code: nothing changed" in ended.text


def test_a_module_that_only_the_base_has_is_met_where_head_tries_to_import_it(workshop: Workshop):
    optional = (
        "from fakeclock import tick\n\ntry:\n    from lib.fast import NS\n"
        "except ImportError:\n    NS = 1_500_000\n\n\ndef run():\n    tick(NS)\n"
    )
    test = "from lib.optional import run\n\n\ndef test_run(rlperf):\n    rlperf(run)\n"
    files = {"lib/fast.py": "NS = 1_000_000\n", "lib/optional.py": optional}
    project = workshop.project("same-code-missing", {**BASE, **files, "tests/test_run.py": test})
    (project.folder / "lib" / "fast.py").unlink()
    ended = project.measure()
    assert ended.test("test_run")["differences"] == ["lib/fast.py"]
    assert ended.outcomes["test_run"] == "regressed"
    assert ended.outcomes["test_jump"] == "same_code"


def test_a_failing_test_fails_although_nothing_changed(workshop: Workshop):
    failing = {**BASE, "tests/test_no.py": "def test_no(rlperf):\n    assert rlperf(int) == 1\n"}
    ended = workshop.project("same-code-failing", failing).measure()
    assert (ended.code, ended.test("test_no")["outcome"]) == (1, "failed")


def test_what_a_test_left_behind_for_the_next_one_is_not_taken_for_the_same(workshop: Workshop):
    cached = {
        **BASE,
        "lib/table.py": "from fakeclock import tick\n\nsteps = []\n\n\n"
        "def build():\n    return [1_000_000]\n\n\n"
        "def walk():\n    if not steps:\n        steps.extend(build())\n    tick(steps[0])\n",
        "tests/test_table.py": "from lib.table import walk\n\n\n"
        "def test_first(rlperf):\n    rlperf(walk)\n\n\n"
        "def test_second(rlperf):\n    rlperf(walk)\n",
    }
    slower = {"lib/table.py": cached["lib/table.py"].replace("[1_000", "[1_500")}
    ended = workshop.project("same-code-left", cached, slower).measure("tests/test_table.py")
    assert ended.outcomes == {"test_first": "regressed", "test_second": "regressed"}


SEES_WATCHES = """
import sys
from pathlib import Path

from lib import far

def test_seen(rlperf):
    monitoring = getattr(sys, "monitoring", None)
    watches = [sys.getprofile(), *(monitoring.get_tool(n) for n in range(6) if monitoring)]
    if any(watches):
        Path(__file__).with_name("watched").touch()
    rlperf(far.jump)
"""


def test_what_its_imports_lead_to_is_known_without_running_a_test(workshop: Workshop):
    seeing = {**BASE, "tests/test_seen.py": SEES_WATCHES}
    function = {"lib/near.py": BASE["lib/near.py"].replace("2_000_000", "2_000_001")}
    constant = {"lib/far.py": f"NEW = 1\n{BASE['lib/far.py']}"}
    project = workshop.project("same-code-imports", seeing, {**function, **constant})
    ended = project.measure("tests/test_seen.py")
    assert ended.test("test_seen")["differences"] == ["lib/far.py"]
    assert not (project.folder / "tests" / "watched").exists()
    project.write({"lib/far.py": BASE["lib/far.py"]})
    assert project.measure("tests/test_seen.py").outcomes == {"test_seen": "same_code"}
    assert (project.folder / "tests" / "watched").exists()


def test_what_is_said_of_an_installed_project_is_no_difference(workshop: Workshop):
    """Git ignores it, so that the base has none."""
    named = (
        "from pathlib import Path\n\nfrom lib.far import jump\n\n\n"
        "def test_named(rlperf):\n"
        "    info = Path(__file__).parents[1] / 'lib.egg-info' / 'PKG-INFO'\n"
        "    assert info.read_text()\n"
        "    rlperf(jump)\n"
    )
    files = {**BASE, ".gitignore": "*.egg-info\n", "tests/test_named.py": named}
    project = workshop.project("same-code-named", files, SLOWER)
    project.write({"lib.egg-info/PKG-INFO": "Name: lib\n"})
    assert project.measure("tests/test_named.py").outcomes == {"test_named": "same_code"}


def test_data_that_changed_lets_everything_be_measured(workshop: Workshop):
    data = {**BASE, "lib/numbers.csv": "1\n"}
    project = workshop.project("same-code-data", data, {"lib/numbers.csv": "2\n"})
    ended = project.measure()
    assert set(ended.outcomes.values()) == {"unchanged"}
    assert "lib/numbers.csv changed" in ended.test("test_jump")["differences"][0]


@pytest.fixture(scope="module")
def unchanged(workshop: Workshop) -> Project:
    return workshop.project("same-code-measured", BASE)


def test_it_can_be_measured_all_the_same(unchanged: Project):
    ended = unchanged.measure("--rlperf-same-code=measure", "-k", "jump")
    assert ended.outcomes == {"test_jump": "unchanged"}
    assert ended.result["code_changes"] is None


def test_another_word_is_refused(unchanged: Project):
    ended = unchanged.refuse("--rlperf", "--rlperf-against=base", "--rlperf-same-code=never")
    assert ended.code == 4
    assert "--rlperf-same-code=never is neither skip nor measure" in ended.text


def test_memory_that_the_change_does_not_reach_is_not_measured(workshop: Workshop):
    pytest.importorskip("memory_profiler")
    memory = {
        **BASE,
        "lib/sizes.py": "def near():\n    return bytearray(1 << 20)\n\n\n"
        "def far():\n    return bytearray(2 << 20)\n",
        "tests/test_sizes.py": "from lib.sizes import far, near\n\n\n"
        "def test_near(rlperf_memory):\n    rlperf_memory(near)\n\n\n"
        "def test_far(rlperf_memory):\n    rlperf_memory(far)\n",
    }
    more = {"lib/sizes.py": memory["lib/sizes.py"].replace("1 << 20", "8 << 20")}
    ended = workshop.project("same-code-memory", memory, more).measure("tests/test_sizes.py")
    outcomes = {t["nodeid"].partition("::")[2]: t["outcome"] for t in ended.result["tests"]}
    assert outcomes == {"test_near": "regressed", "test_far": "same_code"}


PROCESSES = {
    **BASE,
    "lib/parallel.py": "import multiprocessing\n\nfrom fakeclock import tick\n\n"
    "from lib.far import jump\nfrom lib.near import step\n\n\n"
    "def far():\n    jump()\n\n\n"
    "def near():\n    step()\n\n\n"
    "def serve(end, what):\n    while end.recv():\n        end.send(what())\n\n\n"
    "def start(target, *args, method='spawn'):\n"
    "    process = multiprocessing.get_context(method).Process(target=target, args=args)\n"
    "    process.start()\n    return process\n\n\n"
    "def each_call(target, method):\n"
    "    start(target, method=method).join()\n    tick(1_000_000_000)\n",
    "tests/test_parallel.py": "import multiprocessing\n\nimport pytest\n\n"
    "from fakeclock import tick\nfrom lib.parallel import each_call, far, near, serve, start\n\n"
    "TARGETS = {'far': far, 'near': near}\n\n\n"
    "@pytest.mark.parametrize('method', ['fork', 'spawn'])\n"
    "def test_each(rlperf, method):\n    rlperf(each_call, far, method)\n\n\n"
    "@pytest.mark.parametrize('target', TARGETS)\n"
    "def test_living(rlperf, target):\n    ours, theirs = multiprocessing.Pipe()\n"
    "    process = start(serve, theirs, TARGETS[target])\n\n"
    "    def ask():\n        ours.send(True)\n        ours.recv()\n        tick(1_000_000)\n\n"
    "    rlperf(ask)\n    ours.send(False)\n    process.join()\n",
}


def test_processes_that_run_nothing_of_what_changed_are_the_same_code(workshop: Workshop):
    ended = workshop.project("same-code-processes", PROCESSES, SLOWER).measure(
        "tests/test_parallel.py"
    )
    met = {t["nodeid"].partition("::")[2]: t["differences"] for t in ended.result["tests"]}
    same: list[str] = []
    other = ["lib/near.py:step"]
    assert met == {
        "test_each[fork]": same, "test_each[spawn]": same,
        "test_living[far]": same, "test_living[near]": other,
    }  # fmt: skip
    outcomes = {name: outcome == "same_code" for name, outcome in ended.outcomes.items()}
    assert outcomes == {name: not differences for name, differences in met.items()}
