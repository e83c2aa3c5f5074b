"""`rlperf_learning`: what two revisions learn, seed by seed."""

import json
import signal
import time

import pytest

from .projects import Ended, Project, Workshop

LIBRARY = """
import os
import random

SKILL = {skill}

def train(seed, start={start}):
    with open(os.environ["RLPERF_CACHE"] + "/trained", "a") as file:
        print(SKILL, start, seed, file=file)
    rng = random.Random(start + seed)
    return [(steps, SKILL * 5 * steps * rng.uniform(0.95, 1.05)) for steps in (0, 50, 100)]

def breaks(seed):
    if SKILL < 1 and seed % 2:
        raise ValueError(f"no action for seed {{seed}}")
    return 100.0

def dies(seed):
    if SKILL < 1:
        import os
        os.abort()
    return 100.0

def diverges(seed):
    return float("nan") if SKILL < 1 else 100.0

def helper():
    return {helper}
"""
TESTS = """
import lib
import pytest

@pytest.mark.rlperf_learning(seeds=24)
def test_learns(rlperf_learning):
    assert rlperf_learning(lib.train)[-1][0] == 100

def test_breaks(rlperf_learning):
    rlperf_learning(lib.breaks)

def test_dies(rlperf_learning):
    rlperf_learning(lib.dies)

def test_diverges(rlperf_learning):
    rlperf_learning(lib.diverges)

def test_asserts(rlperf_learning):
    assert rlperf_learning(lib.breaks) < 0
"""
BASE = {"lib.py": LIBRARY.format(skill=1, start=0, helper=1), "tests/test_learning.py": TESTS}
SAME = {"lib.py": LIBRARY.format(skill=1, start=0, helper=2)}
OTHER_DRAWS = {"lib.py": LIBRARY.format(skill=1, start=1000, helper=1)}
WORSE = {"lib.py": LIBRARY.format(skill=0.6, start=0, helper=1)}
LEARNS = ("-k", "test_learns")


@pytest.fixture(scope="module")
def worse(workshop: Workshop) -> Ended:
    return workshop.project("learning-worse", BASE, WORSE).measure("--rlperf-budget=10000")


def test_who_learns_less_fails(worse: Ended):
    assert worse.code == 1
    metric = worse.metric("test_learns", "final_return")
    assert (metric["outcome"], metric["direction"], metric["threshold"]) == (
        "regressed", "higher", 0.1,
    )  # fmt: skip
    assert metric["change"] == pytest.approx(0.4, abs=0.03)  # positive: worse
    assert metric["low"] > 0.1
    assert 6 <= metric["blocks"] <= 24
    assert metric["value"] == pytest.approx(0.6 * metric["base_value"], rel=0.05)


def test_a_failing_test_shows_both_sides_by_seed(worse: Ended):
    shown = worse.section("test_learns")
    assert "REGRESSED (high): final_return -4" in shown
    assert "against base" in shown
    assert "allowed -10.0 %" in shown
    assert "it learns less, by more than the allowed 10.0 %, beyond doubt" in shown
    assert "base, by seed: " in shown
    assert "head, by seed: " in shown
    assert "repeat: pytest " in shown


def test_curves_of_both_sides_are_in_the_result(worse: Ended):
    learning = worse.test("test_learns")["learning"]
    assert [training["seed"] for training in learning["head"]] == list(
        range(worse.metric("test_learns", "final_return")["blocks"])
    )
    head, base = (learning[side][0]["curves"][""] for side in ("head", "base"))
    assert [steps for steps, _ in head] == [0, 50, 100]
    assert head[2][1] == pytest.approx(0.6 * base[2][1])


def test_a_seed_that_fails_is_the_worst_return_with_its_traceback(worse: Ended):
    assert worse.metric("test_breaks", "final_return")["outcome"] == "regressed"
    shown = worse.section("test_breaks")
    assert "seeds of head failed; seed 1: ValueError: no action for seed 1" in shown
    assert "seeds of base failed" not in shown


def test_a_seed_that_ends_its_process_is_the_worst_return(worse: Ended):
    assert worse.metric("test_dies", "final_return")["outcome"] == "regressed"
    assert "the head worker ended (signal SIGABRT) during this test" in json.dumps(
        worse.test("test_dies")["learning"]
    )


def test_a_training_that_diverges_has_failed(worse: Ended):
    assert worse.metric("test_diverges", "final_return")["outcome"] == "regressed"
    assert "the training has diverged: its return is nan" in worse.section("test_diverges")


def test_what_a_test_asserts_it_asserts_of_every_seed(worse: Ended):
    assert worse.test("test_asserts")["outcome"] == "failed"
    assert "assert 100.0 < 0" in worse.section("test_asserts")


def test_the_same_curves_are_identical(workshop: Workshop):
    ended = workshop.project("learning-same", BASE, SAME).measure(*LEARNS)
    assert ended.code == 0, ended.text
    assert ended.metric("test_learns", "final_return")["outcome"] == "identical"
    assert "the first 3 seeds learned the same on both sides, bit for bit" in ended.text


def test_the_same_tree_needs_no_training(workshop: Workshop):
    ended = workshop.project("learning-none", BASE).measure(*LEARNS, "--rlperf-same-code=skip")
    assert ended.metric("test_learns", "final_return")["outcome"] == "same_code"


def test_other_draws_of_the_same_skill_pass(workshop: Workshop):
    ended = workshop.project("learning-draws", BASE, OTHER_DRAWS).measure(*LEARNS)
    assert ended.code == 0, ended.text
    metric = ended.metric("test_learns", "final_return")
    assert metric["outcome"] == "unchanged"
    assert metric["high"] < 0.1


def test_what_was_trained_is_not_trained_again(workshop: Workshop):
    project = workshop.project("learning-kept", BASE, OTHER_DRAWS)
    trained = project.cache / "trained"
    trained.unlink(missing_ok=True)
    first = project.measure(*LEARNS)
    lines = trained.read_text().splitlines()
    again = project.measure(*LEARNS)
    assert again.metric("test_learns", "final_return") == first.metric(
        "test_learns", "final_return"
    )
    assert trained.read_text().splitlines() == lines
    project.write(WORSE)
    assert project.measure(*LEARNS).code == 1
    new = trained.read_text().splitlines()[len(lines) :]
    assert {line.split()[0] for line in new[: len(lines) // 2]} == {"0.6"}  # the base is known


def test_what_was_trained_before_ctrl_c_is_told_and_kept(workshop: Workshop):
    slow = OTHER_DRAWS["lib.py"].replace(
        "rng = random", "import time; time.sleep(0.2); rng = random"
    )
    project = workshop.project("learning-ctrl-c", BASE, {"lib.py": slow})
    trained = project.cache / "trained"
    trained.unlink(missing_ok=True)
    result = f"--rlperf-json={project.result}"
    running = project.start("--rlperf", "--rlperf-against=base", *LEARNS, result)
    until = time.monotonic() + 60
    while not trained.exists() or len(trained.read_text().splitlines()) < 8:
        assert time.monotonic() < until, running.output()
        time.sleep(0.05)
    running.popen.send_signal(signal.SIGINT)
    ended = running.wait()
    assert ended.code == 2, ended.text
    told = {f"1 1000 {each['seed']}" for each in ended.test("test_learns")["learning"]["head"]}
    assert told
    assert running.wait_until_gone(10) == []
    before = trained.read_text().splitlines()
    assert project.measure(*LEARNS).code == 0
    assert not told & {*trained.read_text().splitlines()[len(before) :]}


def test_without_anything_to_compare_with_nothing_is_trained(workshop: Workshop):
    ended = workshop.project("learning-alone", BASE).run("--rlperf", *LEARNS)
    metric = ended.metric("test_learns", "final_return")
    assert (metric["outcome"], metric["blocks"]) == ("no_baseline", 0)
    assert "what is learned is compared with a revision, --rlperf-against=REF, or with" in (
        ended.text
    )


# -- stored baselines ---------------------------------------------------------------------------


def trained_by(project: Project) -> list[str]:
    """The trainings that there were: skill, first draw and seed."""
    return (project.cache / "trained").read_text().splitlines()


@pytest.fixture(scope="module")
def saved(workshop: Workshop) -> tuple[Project, Ended]:
    project = workshop.project("learning-saved", BASE)
    (project.cache / "trained").unlink(missing_ok=True)
    return project, project.run("--rlperf", *LEARNS, "--rlperf-save")


def test_a_save_trains_every_seed_and_stores_returns_with_versions(saved: tuple[Project, Ended]):
    project, ended = saved
    assert ended.code == 0, ended.text
    assert "saved 1 test in baselines/" in ended.text
    assert sorted(trained_by(project)[:24]) == sorted(f"1 0 {seed}" for seed in range(24))
    metric = ended.metric("test_learns", "final_return")
    assert (metric["outcome"], metric["blocks"]) == ("no_baseline", 24)
    (file,) = project.folder.glob("baselines/*/main/tests/test_learning.json")
    (test,) = json.loads(file.read_text())["tests"].values()
    stored = test["learning"]
    assert [training["seed"] for training in stored["trainings"]] == list(range(24))
    assert stored["commit"] == project.git("rev-parse", "HEAD")
    assert "Python" in stored["versions"]


def test_what_learns_as_stored_is_identical(saved: tuple[Project, Ended]):
    project, _ = saved
    project.write(SAME)
    ended = project.run("--rlperf", *LEARNS)
    assert ended.metric("test_learns", "final_return")["outcome"] == "identical"
    assert "NOTHING WAS COMPARED" not in ended.text


def test_who_learns_less_than_stored_fails_and_cannot_be_saved(saved: tuple[Project, Ended]):
    project, _ = saved
    before = len(trained_by(project))
    project.write(WORSE)
    ended = project.run("--rlperf", *LEARNS)
    assert ended.code == 1, ended.text
    metric = ended.metric("test_learns", "final_return")
    assert metric["outcome"] == "regressed"
    assert metric["change"] == pytest.approx(0.4, abs=0.03)
    assert {line.split()[0] for line in trained_by(project)[before:]} == {"0.6"}  # no base
    assert "nothing was saved, since a test regressed" in (
        project.run("--rlperf", *LEARNS, "--rlperf-save").text
    )


def test_other_draws_of_the_stored_skill_pass_on_another_machine(saved: tuple[Project, Ended]):
    project, _ = saved
    (file,) = project.folder.glob("baselines/*/main/tests/test_learning.json")
    content = json.loads(file.read_text())
    for test in content["tests"].values():
        test["learning"]["facts"]["cpu"] = "Other CPU"
        test["learning"]["versions"]["numpy"] = "1.0"
    other = file.parents[2].with_name("another-machine")
    file.parents[2].rename(other)
    file = other / file.relative_to(file.parents[2])
    file.write_text(json.dumps(content))
    project.write(OTHER_DRAWS)
    ended = project.run("--rlperf", *LEARNS)
    assert ended.code == 0, ended.text
    metric = ended.metric("test_learns", "final_return")
    assert metric["outcome"] == "unchanged"
    assert "another machine; numpy was 1.0" in metric["label"]


def test_a_changed_test_is_not_compared_with_what_was_stored(workshop: Workshop):
    project = workshop.project("learning-edited", BASE)
    assert project.run("--rlperf", *LEARNS, "--rlperf-save").code == 0
    project.write({"tests/test_learning.py": TESTS.replace("[-1][0] == 100", "[-1][0] >= 100")})
    ended = project.run("--rlperf", *LEARNS)
    metric = ended.metric("test_learns", "final_return")
    assert metric["outcome"] == "incomparable"
    assert "the benchmark itself changed since its baseline was saved" in metric["reason"]


def test_a_plain_run_trains_once(workshop: Workshop):
    ended = workshop.project("learning-plain", BASE).run(*LEARNS, json_result=False)
    assert ended.code == 0
    assert "1 passed" in ended.text


@pytest.mark.parametrize(
    ("test", "sentence"),
    [
        (
            "@pytest.mark.rlperf_learning(metric='solved')\ndef test_x(rlperf_learning): pass",
            "metric='solved' needs the return that is to be reached; add goal=",
        ),
        (
            "@pytest.mark.rlperf_learning(seeds=3)\ndef test_x(rlperf_learning): pass",
            "is not a number of seeds from 6 to 10,000, or a list of as many different ones",
        ),
        (
            "@pytest.mark.rlperf_learning(seeds=10**9)\ndef test_x(rlperf_learning): pass",
            "is not a number of seeds from 6 to 10,000",
        ),
        (
            "@pytest.mark.rlperf_learning('5%')\ndef test_x(rlperf_learning): pass",
            "takes keywords only, and got '5%'; write threshold='5%', for example",
        ),
        (
            "@pytest.mark.rlperf_learning(seed=9)\ndef test_x(rlperf_learning): pass",
            "has no keyword 'seed'; did you mean 'seeds'?",
        ),
        (
            "@pytest.mark.rlperf_learning()\ndef test_x(): pass",
            "does not take the fixture of that name; add it to the arguments of the test",
        ),
        (
            "def test_x(rlperf, rlperf_learning): pass",
            "takes rlperf_learning and another fixture that measures; split it in two tests",
        ),
    ],
)
def test_what_cannot_be_obeyed_is_refused(workshop: Workshop, test: str, sentence: str):
    name = f"learning-{abs(hash(test))}"
    files = {"tests/test_x.py": f"import pytest\n\n{test}\n"}
    ended = workshop.project(name, files).refuse("--rlperf", "--rlperf-against=base")
    assert ended.code == 4
    assert sentence in ended.text


def test_a_plain_run_says_in_a_sentence_what_is_wrong(workshop: Workshop):
    test = "@pytest.mark.rlperf_learning(seeds=0)\ndef test_x(rlperf_learning): pass"
    files = {"tests/test_x.py": f"import pytest\n\n{test}\n"}
    ended = workshop.project("learning-plain-refused", files).run(json_result=False)
    assert ended.code == 1
    assert "rlperf_learning(seeds=0) is not a number of seeds from 6 to 10,000" in ended.text
    assert "markers.py" not in ended.text
    assert "Traceback" not in ended.text
    assert "another exception" not in ended.text


BROKEN = """
import lib
import pytest

@pytest.mark.rlperf_learning(seeds=9)
def test_nonsense(rlperf_learning):
    rlperf_learning(lambda seed: "good")

@pytest.mark.rlperf_learning(seeds=9)
def test_tasks(rlperf_learning):
    rlperf_learning(lambda seed: {task: 9.0 + seed for task in lib.TASKS})
"""


def test_nonsense_on_both_sides_fails_and_tasks_that_are_gone_are_named(workshop: Workshop):
    base = {"lib.py": "TASKS = ('pole', 'car')\n", "tests/test_learning.py": BROKEN}
    head = {"lib.py": "TASKS = ('pole', 'reach')\n"}
    ended = workshop.project("learning-nonsense", base, head).measure("--rlperf-budget=10000")
    assert ended.code == 1
    assert "train(seed) returned str; return the final return as a number" in (
        ended.section("test_nonsense")
    )
    reason = ended.metric("test_tasks", "final_return")["reason"]
    assert "head tells nothing of car, which counts as the worst return" in reason
    assert "not judged, since the base tells nothing of it: reach" in reason
