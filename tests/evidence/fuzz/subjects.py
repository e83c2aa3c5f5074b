"""Every kind of file that is read: good ones, the damage that suits them, and their readers."""

import contextlib
import datetime
import io
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import rl_impls
from pytest_rlperf import wire
from pytest_rlperf.baselines.file import StoredLearning, StoredMemory, write_module
from pytest_rlperf.baselines.folder import Baselines, keep_pending
from pytest_rlperf.baselines.levels import Level, learning_level, level_of, memory_level
from pytest_rlperf.cli import main
from pytest_rlperf.commands import exits_of
from pytest_rlperf.gate.remembered import RememberedScouts
from pytest_rlperf.gate.rules import Rules
from pytest_rlperf.gate.selection import Scope
from pytest_rlperf.gate.track import Benchmark, ScoutRecord
from pytest_rlperf.history.file import line_of
from pytest_rlperf.machine.fingerprint import machine_key
from pytest_rlperf.model.learning import Training
from pytest_rlperf.model.plan import Mode, Plan, Scouted
from pytest_rlperf.model.profile import Explanation
from pytest_rlperf.model.result import Proof, RunResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.project import read_project
from pytest_rlperf.prove import rates
from pytest_rlperf.prove.report import render_proof
from pytest_rlperf.report.result_file import run_as_dict
from pytest_rlperf.stats.verdicts import Ended
from pytest_rlperf.web import Reply, Request
from rl_impls.agents.agent import shape_of
from rl_impls.envs.control.make import make_batch
from rl_impls.registry import make_agent, preset_for
from tests.commands.comment.stand_in import HEAD, NUMBER, PULL_REQUEST, REPOSITORY, WORKFLOW_RUN
from tests.evidence.fuzz.checks import (
    Unfit,
    check_file,
    check_json,
    check_markdown,
    check_terminal,
)
from tests.evidence.fuzz.mutations import (
    damaged_archive,
    damaged_bytes,
    damaged_json,
    damaged_lines,
    damaged_toml,
)
from tests.factories import FACTS, a_session, a_stored, a_test, a_trial, block, run_result
from tests.sample_history import PAST
from tests.sample_runs import EVERYTHING, SLOWER
from tests.scale.measured_jobs import some_jobs

Reader = Callable[[Path, Path], int]
"""Reads a file, in a folder of its own, and returns an exit code: 4 where it was refused."""
REFUSED = 4


@dataclass(frozen=True)
class Subject:
    """One kind of file."""

    samples: Callable[[], list[bytes]]
    damage: Callable[[Random, bytes], bytes]
    readers: Mapping[str, Reader]
    file: str = "input.json"


def rlperf(*words: str | Path, check: Callable[[str], None] = check_terminal) -> int:
    """Run a command, and check what it says."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    if code not in exits_of(str(words[0])):
        raise Unfit(f"exit code {code}")
    check_terminal(err.getvalue())
    if code != REFUSED:
        check(out.getvalue())
    elif len(err.getvalue().splitlines()) - 1 > err.getvalue().count("\nrlperf: "):
        raise Unfit(f"more than a sentence: {err.getvalue()[:300]}")
    return int(code)


def _put(file: Path, place: Path) -> None:
    """Move it there, whatever it is."""
    if place.is_dir() and not place.is_symlink():
        place.rmdir()
    else:
        place.unlink(missing_ok=True)
    if os.path.lexists(file):
        file.rename(place)


def _bytes(file: Path) -> bytes:
    return file.read_bytes() if file.is_file() else b""


# -- results ------------------------------------------------------------------------------------


def _result(run: RunResult) -> bytes:
    return json.dumps(run_as_dict(run, 0)).encode()


@cache
def _results() -> list[bytes]:
    blocks = tuple(block([500 + i, 510], [400, 401]) for i in range(3))
    small = a_test(blocks=blocks, steps=5, spec=Spec(category="agents", metadata={"env": "Chain"}))
    graph = replace(SLOWER, explanation=Explanation(graph=Path("graph.svg")))
    return [
        _result(run_result(small, a_test("test_b.py::test_b"))),
        _result(run_result(graph)),
        _result(replace(EVERYTHING, dirty=False)),
    ]


def _report(file: Path, folder: Path) -> int:
    (folder / "graph.svg").write_text("<svg/>")
    out = folder / "report"
    code = rlperf("report", file, "--out", out, "--file", _good_history(folder))
    if code != REFUSED:
        for written in out.iterdir():
            check_file(written)
    return code


def _good_history(folder: Path) -> Path:
    path = folder / "good.jsonl"
    if not path.exists():
        path.write_bytes(_histories()[0])
    return path


def _compare(file: Path, folder: Path) -> int:
    good = folder / "good.json"
    good.write_bytes(_results()[0])
    first = rlperf("compare", file, good)
    return max(first, rlperf("compare", good, file, "--fail-on", "5%"))


def _append(file: Path, folder: Path) -> int:
    history = folder / "appended.jsonl"
    history.unlink(missing_ok=True)
    code = rlperf("history", "append", file, "--file", history)
    if code != REFUSED:
        check_file(history)
        if rlperf("trend", "--file", history) != 0:
            raise Unfit("what was appended is not read back")
    return code


def _notify(file: Path, folder: Path) -> int:
    def posted(request: Request, _: object) -> Reply:
        check_json((request.body or b"").decode())
        check_terminal(json.loads(request.body or b"")["text"])
        return Reply(200, {}, b"")

    with (
        patch("pytest_rlperf.commands.notify.send", posted),
        patch.dict("os.environ", CHAT="https://chat.example/secret"),
    ):
        return rlperf("notify", file, "--webhook-env", "CHAT", "--always")


def _scale(file: Path, folder: Path) -> int:
    written = folder / "scale.json"
    others = [folder / f"job-{i}.json" for i in range(1, len(_jobs()))]
    for path, content in zip(others, _jobs()[1:], strict=True):
        path.write_bytes(content)
    code = rlperf("scale", file, *others, "--json", written, "--nodes", "4,64")
    if code != REFUSED:
        check_file(written)
    return code


# -- GitHub -------------------------------------------------------------------------------------

ANSWERS = {
    "pull": {"state": "open", "head": {"sha": HEAD, "repo": {"full_name": "somebody/lib"}}},
    "comments": [{"id": 7, "user": {"login": "github-actions[bot]"}, "body": "<!-- rlperf -->"}],
    "POST": {"id": 8, "user": None, "body": "text"},
    "PATCH": {"id": 7, "user": {"login": "x"}, "body": None},
    "DELETE": None,
}


def _comment(report: bytes, event: bytes, answers: bytes, number: bytes, folder: Path) -> int:
    place = folder / "comment"
    place.mkdir(exist_ok=True)
    (place / "report.json").write_bytes(report)
    (place / "pull-request").write_bytes(number)
    (folder / "event.json").write_bytes(event)

    def answered(request: Request, _: object) -> Reply:
        if request.body:
            check_markdown(json.loads(request.body)["body"])
        asked = "comments" if request.url.partition("?")[0].endswith("comments") else "pull"
        name = asked if request.method == "GET" else request.method
        try:
            content = json.loads(answers)[name]
            body = json.dumps(content).encode()
        except (ValueError, LookupError, TypeError, RecursionError):
            body = answers
        return Reply(200, {}, body)

    with (
        patch("pytest_rlperf.commands.comment.send", answered),
        patch.dict(
            "os.environ",
            GITHUB_EVENT_PATH=str(folder / "event.json"),
            GITHUB_REPOSITORY=REPOSITORY,
            GITHUB_SERVER_URL="https://github.example",
            GITHUB_TOKEN="token",
        ),
    ):
        return rlperf("comment", place)


def _comment_with(file: Path, folder: Path, part: str) -> int:
    parts = {
        "report": _results()[0],
        "event": json.dumps(WORKFLOW_RUN).encode(),
        "answers": json.dumps(ANSWERS).encode(),
        "number": f"{NUMBER}\n".encode(),
    }
    return _comment(**{**parts, part: _bytes(file)}, folder=folder)


def _ci(file: Path, folder: Path) -> int:
    with (
        patch("pytest_rlperf.commands.ci.run_pytest", lambda words: 0),
        patch.dict("os.environ", GITHUB_EVENT_PATH=str(file), GITHUB_BASE_REF="main"),
    ):
        return rlperf("ci", "compare", "--report", folder / "ci")


# -- histories, proofs and baselines ------------------------------------------------------------


@cache
def _histories() -> list[bytes]:
    picked = [*PAST[:21], *PAST[21:47:2], *PAST[-10:]]
    return ["".join(f"{line_of(test)}\n" for test in picked).encode()]


def _trend(file: Path, folder: Path) -> int:
    code = rlperf("trend", "--file", file)
    rlperf("trend", "--file", file, "--json", check=check_json)
    rlperf("trend", "--file", file, "--markdown", check=check_markdown)
    return code


def _report_beside(file: Path, folder: Path) -> int:
    result = folder / "good.json"
    result.write_bytes(_results()[1])
    code = rlperf("report", result, "--out", folder / "report", "--file", file)
    if code != REFUSED:
        check_file(folder / "report" / "report.html")
    return code


def _append_to(file: Path, folder: Path) -> int:
    result = folder / "good.json"
    result.write_bytes(_results()[0])
    return rlperf("history", "append", result, "--file", file)


def _trials() -> list[bytes]:
    trials = [a_trial(), a_trial("test_a.py::b", injected=0.1), a_trial(injected=0.025)]
    rows = ({"schema": rates.SCHEMA, **asdict(trial)} for trial in trials)
    return ["".join(f"{json.dumps(row)}\n" for row in rows).encode()]


def _proof(file: Path, folder: Path) -> int:
    trials = rates.read(file)
    proof = Proof(
        rates.by_case(trials),
        rates.by_test(trials),
        (),
        rates.false_alarms(trials),
        rates.missed(trials),
        added=0,
        left_out=0,
        file="proof.jsonl",
    )
    text = "\n".join(render_proof(proof)) if trials else ""
    check_terminal(text)
    check_json(json.dumps(run_as_dict(run_result(proof=proof), 0), allow_nan=False))
    return 0


@cache
def _baselines() -> list[bytes]:
    memory = StoredMemory(
        "2030-01-02T03:04:05+00:00", None, False, FACTS, 5, {"peak_rss": (1e6, 1.1e6, 1.2e6)}
    )
    curves = {"": ((0.0, 1.0), (10.0, 2.5))}
    trainings = (*(Training(s, curves) for s in range(6)), Training(6, failure="ValueError"))
    learning = StoredLearning(memory.created, None, False, FACTS, {"numpy": "2"}, trainings)
    start = a_stored(sessions=(a_session(),))
    tests = [
        a_stored(sessions=(a_session(), a_session(commit=None)), starts={"first_call": start}),
        a_stored("test_a.py::b", steps=5, work={"updates": 3.0}, memory=memory),
        replace(a_stored("test_a.py::c"), sessions=(), weights={}, memory=memory),
        replace(a_stored("test_a.py::d"), sessions=(), weights={}, learning=learning),
    ]
    with _scratch("module.json") as path:
        write_module(path, "test_a.py", tests)
        return [path.read_bytes()]


@contextlib.contextmanager
def _scratch(name: str) -> Any:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / name


def _gate(file: Path, folder: Path) -> int:
    """Do with stored baselines what a run of the gate does before it measures."""
    whole = folder / "baselines"
    own = whole / machine_key(FACTS) / "main"
    shutil.rmtree(whole, ignore_errors=True)
    own.mkdir(parents=True)
    _put(file, own / "test_a.json")
    for stored in Baselines(whole, "main", FACTS).load().values():
        for each in (stored, *stored.starts.values()):
            level = level_of(each, each.source_hash, FACTS, judge_foreign=True)
            if isinstance(level, Level):
                blocks = [block for session in level.sessions for block in session.blocks]
                for unit in (level.unit(), level.unit(blocks)):
                    [unit.apart(ratios) for ratios in blocks]
            else:
                check_terminal(level.reason)
        memory_level(stored, stored.source_hash, FACTS)
        if isinstance(learned := learning_level(stored, stored.source_hash, FACTS, {}), Ended):
            check_terminal(learned.reason)
        check_terminal(stored.nodeid)
    return 0


def _accept(file: Path, folder: Path, name: str) -> int:
    store = folder / "cache"
    shutil.rmtree(store, ignore_errors=True)
    shutil.rmtree(folder / "stored", ignore_errors=True)
    keep_pending(store, folder, folder / "stored", "main", [a_stored()])
    (place,) = store.glob("pending/*")
    _put(file, place / name)
    with patch.dict("os.environ", RLPERF_CACHE=str(store)), contextlib.chdir(folder):
        code = rlperf("accept", "--reason", "faster elsewhere")
    if code != REFUSED:
        for written in (folder / "stored").rglob("*.json"):
            check_file(written)
    if escaped := [path for path in folder.parent.iterdir() if path != folder]:
        raise Unfit(f"written elsewhere: {escaped}")
    return code


def _wheres() -> list[bytes]:
    with _scratch("where.json") as path:
        root = path.parent
        return [
            json.dumps({"root": str(root), "folder": str(root / "s"), "name": "main"}).encode(),
            b'{"root": "/", "folder": "stored", "name": "main"}',
        ]


# -- jobs, scouts, messages, settings, checkpoints ----------------------------------------------


@cache
def _jobs() -> list[bytes]:
    return [
        json.dumps(
            {
                "env": job.workload,
                "agent": "dense",
                "ranks": job.ranks,
                "steps": job.steps,
                "seconds": job.seconds,
                "sync_seconds": job.sync_seconds,
                "bytes_sent": job.bytes_sent,
                "syncs": job.syncs,
                "sync_period": job.steps_of_rank / job.syncs,
                "steps_per_sync": None,
            }
        ).encode()
        for job in some_jobs()
    ]


BENCHMARK = Benchmark("test_a.py::test_a", Spec(), "abc", "pytest")
FINGERPRINT: Any = {
    **{"cpu": "Some CPU", "cores": 2, "architecture": "x86_64", "implementation": "CPython"},
    **{"python": "3.11", "python_build": "3.11.7", "libraries": {}, "addresses": "fixed"},
}


def _remembered(folder: Path) -> RememberedScouts:
    return RememberedScouts.of(folder, folder, [BENCHMARK], FINGERPRINT, 20_000)


@cache
def _scouts() -> list[bytes]:
    with _scratch("x") as path:
        scouts = _remembered(path.parent)
        seen = Scouted(call_ns=1e6, first_ns=2e6, cpu_share=0.9, processes=1)
        speeds = wire.KernelSpeeds({"interpreter": 1e5})
        scouts.keep({BENCHMARK.nodeid: ScoutRecord(seen, 1.5, speeds, 20_000)})
        return [scouts.file.read_bytes()]


def _scout(file: Path, folder: Path) -> int:
    scouts = _remembered(folder)
    scouts.file.parent.mkdir(exist_ok=True)
    _put(file, scouts.file)
    scouts.load()
    scouts.keep({})
    check_json(_bytes(scouts.file).decode() or "{}")
    return 0


@cache
def _messages() -> list[bytes]:
    plan = Plan(Mode.SLICED, calls=2, pairs=8, warmup=1, kernels=(("interpreter", 3),))
    measured = wire.Measurement(block([5, 6], None).head, 5, {"interpreter": (1.0, 2.0)})
    return [
        wire.encode(wire.Order("test_a.py::test_a", 5.0, plan)),
        wire.encode(measured),
        wire.encode(wire.Finished(True, imported={"lib": "/lib.py"})),
    ]


def _message(file: Path, folder: Path) -> int:
    try:
        wire.encode(wire.decode(_bytes(file)))
    except ValueError:  # what whoever listens expects of a line that is none
        return REFUSED
    return 0


PYPROJECT = b"""[project]
name = "lib"
[tool.rlperf.kpi.environment_step]
target = 2
alert = 6
unit = "ms"
[tool.rlperf.kpi.own]
metric = "time"
target = 1
alert = 2.5
direction = "lower"
unit = "us"
[tool.rlperf.accepted]
"tests/test_a.py::test_*" = { until = 2030-01-31, reason = "worth it", allowed = "30%" }
[tool.pytest.ini_options]
rlperf_budget = "300"
"""


def _rules(file: Path, folder: Path) -> int:
    rules = Rules(read_project(folder), datetime.date(2030, 1, 30))
    run = rules.applied(EVERYTHING)
    notices = rules.notices([test.nodeid for test in run.tests], Scope(True, (Path("tests"),)))
    check_terminal("\n".join(notices))
    check_json(json.dumps(run_as_dict(run, 0), allow_nan=False))
    return 0


def _init(file: Path, folder: Path) -> int:
    code = rlperf("init", folder)
    for name in (".github", "tests"):
        shutil.rmtree(folder / name, ignore_errors=True)
    return code


@cache
def _tables() -> list[bytes]:
    with _scratch("table.npz") as path:
        learner: Any = rl_impls.train("TicTacToe-v0", "sparse", steps=50, seed=0)
        learner.save(path)
        return [path.read_bytes()]


@cache
def _agents() -> list[bytes]:
    contents = []
    for name in ("ppo", "dqn", "rainbow-lite", "sac", "td3"):
        with _scratch("agent.npz") as path:
            env = "Pendulum-v1" if name in ("sac", "td3") else "CartPole-v1"
            preset = preset_for(name, env)
            settings: Any = replace(preset.settings, hidden=(4,))
            if name != "ppo":  # a small file
                settings = replace(settings, buffer=100, batch=10)
            shape = shape_of(make_batch(env, preset.n_envs, seed=0))
            make_agent(shape, settings, seed=0).save(path)
            contents.append(path.read_bytes())
    return contents


def _load(file: Path, folder: Path, env: str | None = None) -> int:
    rl_impls.load(file, env)
    return 0


SUBJECTS: Mapping[str, Subject] = {
    "result": Subject(
        _results,
        damaged_json,
        {
            "compare": _compare,
            "report": _report,
            "export": lambda file, folder: rlperf(
                "export", file, "--format", "pytest-benchmark", check=check_json
            ),
            "notify": _notify,
            "append": _append,
            "scale": _scale,
            "comment": partial(_comment_with, part="report"),
        },
    ),
    "history": Subject(
        _histories,
        damaged_lines,
        {"trend": _trend, "report": _report_beside, "append": _append_to},
        "history.jsonl",
    ),
    "baseline": Subject(
        _baselines, damaged_json, {"gate": _gate, "accept": partial(_accept, name="tests.json")}
    ),
    "pending save": Subject(_wheres, damaged_json, {"accept": partial(_accept, name="where.json")}),
    "proof": Subject(_trials, damaged_lines, {"prove": _proof}, "proof.jsonl"),
    "job": Subject(_jobs, damaged_json, {"scale": _scale}),
    "scouts": Subject(_scouts, damaged_json, {"gate": _scout}),
    "message": Subject(_messages, damaged_json, {"wire": _message}),
    "pyproject": Subject(
        lambda: [PYPROJECT], damaged_toml, {"gate": _rules, "init": _init}, "pyproject.toml"
    ),
    "answer": Subject(
        lambda: [json.dumps(ANSWERS).encode()],
        damaged_json,
        {"comment": partial(_comment_with, part="answers")},
    ),
    "event": Subject(
        lambda: [json.dumps(each).encode() for each in (WORKFLOW_RUN, PULL_REQUEST)],
        damaged_json,
        {"comment": partial(_comment_with, part="event"), "ci": _ci},
    ),
    "number": Subject(
        lambda: [b"12\n"], damaged_bytes, {"comment": partial(_comment_with, part="number")}
    ),
    "table": Subject(_tables, damaged_archive, {"load": _load}, "table.npz"),
    "agent": Subject(
        _agents,
        damaged_archive,
        {"load": _load, "go on": partial(_load, env="rl_impls/CartPole-v1")},
        "agent.npz",
    ),
}
