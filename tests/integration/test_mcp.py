"""`rlperf mcp`: a client of the SDK talks to it over stdin and stdout, about a real project."""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from pytest_rlperf.assistant.answers import MOST_LETTERS
from pytest_rlperf.cli import main

from .projects import MARK, OWN_PLUGIN, Project, Workshop

LIBRARY = """
from fakeclock import tick

def work():
    tick({ns})

def other():
    tick(1_000_000)
"""
TESTS = """
import lib
import pytest

@pytest.mark.rlperf(category="core")
def test_work(rlperf):
    rlperf(lib.work)

def test_other(rlperf):
    rlperf(lib.other)

def test_plain():
    pass
"""
WORK = "tests/test_perf.py::test_work"
BUDGET = {"budget_s": 20}


class Asked:
    """Answers of one session with the server, by what was asked."""

    def __init__(self, project: Project) -> None:
        environment = {**project._environment(project._new_run()), "PATH": os.environ["PATH"]}
        environment |= {"PYTEST_ADDOPTS": " ".join(OWN_PLUGIN), "PROFILED_PAIRS": "3"}
        self.server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "pytest_rlperf.cli", "mcp"],
            env=environment,
            cwd=project.folder,
        )

    def session(self, talk: Callable[[Client], Awaitable[None]]) -> None:
        async def talked() -> None:
            async with Client(self.server) as client:
                await talk(client)

        asyncio.run(asyncio.wait_for(talked(), 240))


async def ask(client: Client, tool: str, **arguments: object) -> tuple[str, bool]:
    """Return the text of an answer, and whether it is an error."""
    answer = await client.call_tool(tool, arguments)
    assert answer.structured_content is None  # or all would be said twice
    (content,) = answer.content
    assert isinstance(content, TextContent)
    assert len(content.text) <= MOST_LETTERS
    return content.text, bool(answer.is_error)


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def project(workshop: Workshop) -> Project:
    """Slower by 30 % in the second of three commits."""
    base = {
        "lib.py": LIBRARY.format(ns=1_000_000),
        "tests/test_perf.py": TESTS,
        "pytest.ini": "[pytest]\n",
    }
    project = workshop.project("mcp", base)
    for ns in (1_300_000, 1_300_100):
        project.commit({"lib.py": LIBRARY.format(ns=ns)})
    return project


@pytest.fixture(scope="module")
def answers(project: Project) -> dict[str, tuple[str, bool]]:
    """A walk from the list to the explanation, and what goes wrong on the way."""
    found: dict[str, tuple[str, bool]] = {}
    before = files(project.folder)

    async def walk(client: Client) -> None:
        found["tools"] = " ".join(tool.name for tool in (await client.list_tools()).tools), False
        found["nothing yet"] = await ask(client, "explain")
        found["list"] = await ask(client, "list_benchmarks")
        found["list work"] = await ask(client, "list_benchmarks", pattern="work")
        found["measure"] = await ask(client, "measure", against="base", **BUDGET)
        found["explain"] = await ask(client, "explain")
        found["explain other"] = await ask(client, "explain", test="test_other")
        found["read"] = await ask(client, "read_result")
        found["read work"] = await ask(client, "read_result", test=WORK)
        found["bisect"] = await ask(client, "bisect", good="base", bad="HEAD", test=WORK, **BUDGET)
        found["nowhere"] = await ask(client, "measure", against="nowhere", **BUDGET)
        found["no such test"] = await ask(client, "measure", tests=["tests/gone.py"], **BUDGET)
        found["no result"] = await ask(client, "explain", result="yesterday")
        found["option"] = await ask(client, "measure", tests=["--co"])
        found["too long"] = await ask(client, "measure", budget_s=1e9)
        found["trends"] = await ask(client, "trends")

    Asked(project).session(walk)
    assert files(project.folder) == before  # not even in .git
    return found


def test_there_are_tools_for_all_of_it(answers: dict[str, tuple[str, bool]]):
    assert answers["tools"][0].split() == [
        "list_benchmarks", "measure", "compare_snippets", "read_result", "explain", "bisect",
        "trends",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ("list", ["2 of 2 performance tests:", f"{WORK} (category core)"]),
        ("list work", ["1 of 2 performance tests whose name holds 'work':"]),
        ("measure", ["rlperf regressed test=", "rlperf total tests=2 regressed=1 same_code=1 "]),
        ("measure", ["result: ", "repeat: pytest --rlperf --rlperf-against=base "]),
        ("explain", [WORK, "REGRESSED (high): time +30.0 % [", "  changed: lib.py:work"]),
        ("explain", ["      +    tick(1300100)"]),
        ("explain other", ["tests/test_perf.py::test_other", "  the sides differ in: lib.py:work"]),
        ("read", ["rlperf regressed test=tests/test_perf.py::test_work "]),
        ("read work", ["time: REGRESSED: 1 ms → 1.3 ms, +30.0 %", "  the change in each block: "]),
        ("bisect", ["is the commit that made it slower: +30.0 % [", "repeat: rlperf bisect "]),
    ],
)
def test_each_answers_in_a_few_lines(
    asked: str, lines: list[str], answers: dict[str, tuple[str, bool]]
):
    text, failed = answers[asked]
    assert not failed, text
    told = text.splitlines()
    assert [line for line in lines if not any(each.startswith(line) for each in told)] == [], text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("nothing yet", "nothing was measured here yet; measure first."),
        ("nowhere", "The revision 'nowhere' is not in this repository; "),
        (
            "no such test",
            "'tests/gone.py' is no node id and no file; list_benchmarks tells the node",
        ),
        ("no result", "there is no result 'yesterday', and no such file; there is: last, 2"),
        ("option", "'--co' is no node id; give one that does not begin with a dash."),
        ("too long", "budget_s is 1e+09; give 1 to 900 seconds."),
        ("trends", "there is no history on the branch"),
    ],
)
def test_what_goes_wrong_is_one_sentence(
    asked: str, said: str, answers: dict[str, tuple[str, bool]]
):
    text, failed = answers[asked]
    assert failed
    assert said in text
    assert len(text.splitlines()) == 1


def test_the_command_that_repeats_a_test_is_one_for_people(answers: dict[str, tuple[str, bool]]):
    text, _ = answers["explain"]
    repeat = f"  repeat: pytest --rlperf --rlperf-against=base --rlperf-budget=20 {WORK}"
    assert repeat in text.splitlines()


def test_two_snippets_are_refereed(project: Project):
    found: dict[str, str] = {}
    setup = "data = list(range(3000))"
    loop = "total = 0\nfor x in data:\n    total += x\ntotal"

    async def walk(client: Client) -> None:
        for name, after in {"faster": "sum(data)", "wrong": "sum(data[:-1])"}.items():
            given = {"before": loop, "after": after, "setup": setup}
            found[name], failed = await ask(client, "compare_snippets", **given, **BUDGET)
            assert not failed, found[name]

    Asked(project).session(walk)
    verdict, work, *rest = found["faster"].splitlines()
    assert verdict.startswith("verdict: after is an improvement: it counts (-")
    assert work == "work: equal: both return 4498500"
    assert rest[0].startswith("rlperf improved test=test_snippet.py::test_snippet ")
    assert rest[-1].startswith("repeat: cd ")
    assert found["wrong"].startswith("NOT THE SAME WORK, so nothing was measured: before returns ")


def test_a_server_whose_client_is_gone_ends_with_what_it_started(project: Project):
    async def walk(client: Client) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ask(client, "measure", against="base", budget_s=60), 2)

    asked = Asked(project)
    asked.session(walk)
    mark = (asked.server.env or {})[MARK]
    until = time.monotonic() + 30
    while left := processes(mark):
        assert time.monotonic() < until, left
        time.sleep(0.1)


def processes(mark: str) -> list[str]:
    """Return what is left of a run, by the variable that each of its processes inherits."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
    return found


def test_without_the_sdk_a_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.delitem(sys.modules, "pytest_rlperf.assistant.server", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "mcp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main(["mcp"]) == 4
    said = "rlperf: rlperf mcp needs the SDK: pip install 'pytest-rlperf[mcp]'.\n"
    assert capsys.readouterr().err == said


def test_a_folder_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["mcp", "--project", "nowhere"]) == 4
    assert capsys.readouterr().err == (
        "rlperf: --project=nowhere is no folder; name the project's.\n"
    )
