"""The server: the tools by the Model Context Protocol, over stdin and stdout. Only here the SDK is
imported.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from pytest_rlperf.assistant.tools import Toolbox
from pytest_rlperf.errors import RlperfError

NAME = "rlperf"
INSTRUCTIONS = """\
Judges performance on noisy machines: both sides run at the same moment on the same core.
list_benchmarks, then measure; explain says why a test regressed. compare_snippets is a referee for
an optimisation before you make it. Only `improved` with equal work counts as faster. `unchanged` is
no proof that nothing changed: read what could have been detected. `inconclusive` wants a larger
budget_s. Nothing is written into the repository."""

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
"""Measuring runs the project's code, as its tests do, and changes nothing of it."""


def make_server(project: Path) -> MCPServer:
    server = MCPServer(NAME, instructions=INSTRUCTIONS, log_level="WARNING")
    tools = Toolbox(project)
    tool = server.tool(annotations=READS, structured_output=False)

    @tool
    async def list_benchmarks(pattern: str = "") -> str:
        """The performance tests of the project, by node id; `pattern` is a part of it."""
        with _in_a_sentence():
            return await tools.list_benchmarks(pattern)

    @tool
    async def measure(
        against: str = "HEAD",
        tests: list[str] | None = None,
        budget_s: float = 60.0,
        threshold: str = "",
    ) -> str:
        """Compare the working tree with a git revision (`main...` is the merge base) by duets.
        `tests`: node ids or files, all where there are none. Takes up to `budget_s` seconds, and as
        long again to explain a regression. `threshold`, such as 5%, is the slowdown allowed.
        Answers with one line a test that is not plainly fine, and counts.
        """
        with _in_a_sentence():
            return await tools.measure(against, tests or (), budget_s, threshold)

    @tool
    async def compare_snippets(
        before: str, after: str, setup: str = "", call: str = "", budget_s: float = 30.0
    ) -> str:
        """A referee: whether the Python code `after` is really faster than `before`, with equal
        work. Each is a body of statements whose last expression is its result, or defines `run()`,
        or defines what the expression `call` calls, such as f(data). `setup` runs once on both
        sides, for imports and data. Measured in a project of its own, never in the repository.
        """
        with _in_a_sentence():
            return await tools.compare_snippets(before, after, setup, call, budget_s)

    @tool
    async def read_result(result: str = "last", test: str = "") -> str:
        """A result that `measure` named, the last one, or a file of --rlperf-json; with `test` all
        numbers of that test.
        """
        with _in_a_sentence():
            return tools.read_result(result, test)

    @tool
    async def explain(result: str = "last", test: str = "") -> str:
        """Why a test regressed: verdict with interval, the functions that account for it, counts,
        changed lines, memory, and what to do next. Without `test`: the worst regression.
        """
        with _in_a_sentence():
            return tools.explain(result, test)

    @tool
    async def bisect(
        good: str, bad: str, test: str, budget_s: float = 30.0, deadline_s: float = 900.0
    ) -> str:
        """The commit between two revisions that made a test slower, by a duet a step of up to
        `budget_s` seconds each, and `deadline_s` in all.
        """
        with _in_a_sentence():
            return await tools.bisect(good, bad, test, budget_s, deadline_s)

    @tool
    async def trends(test: str = "", branch: str = "") -> str:
        """What the project's history says of each test: changes, creep, flaky ones."""
        with _in_a_sentence():
            return await tools.trends(test, branch)

    return server


@contextmanager
def _in_a_sentence() -> Iterator[None]:
    """Let the caller read what is wrong: of an error that is not meant for it the SDK says none."""
    try:
        yield
    except RlperfError as error:
        raise ToolError(str(error)) from None
    except OSError as error:
        raise ToolError(f"{error.strerror}: {error.filename}") from None
