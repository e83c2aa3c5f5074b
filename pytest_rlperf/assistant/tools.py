"""The tools themselves: each takes plain words, and returns a short text with the command that
repeats it. They know nothing of the protocol by which they are called.
"""

import asyncio
import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_rlperf.assistant import listing, same_results
from pytest_rlperf.assistant.answers import (
    MOST_TESTS,
    bounded,
    render_evidence,
    render_referee,
    some_terse,
)
from pytest_rlperf.assistant.runs import (
    LAST,
    Done,
    KeptResults,
    checked_words,
    environment,
    pytest_command,
    rlperf_command,
    run_bounded,
    snippets_folder,
)
from pytest_rlperf.assistant.snippets import Snippets, Work, committed, compared_work, write_project
from pytest_rlperf.commands.bisect import error_said
from pytest_rlperf.commands.explain import explanation, named_test
from pytest_rlperf.errors import ExitCode, UsageError
from pytest_rlperf.leaving import temporary_folder
from pytest_rlperf.model.quantity import parse_fraction
from pytest_rlperf.report.explain import render_run
from pytest_rlperf.report.result_file import read_run
from pytest_rlperf.report.terse import parse_terse, render_terse
from pytest_rlperf.trees.cache import digest

LEAST_BUDGET_S, MOST_BUDGET_S = 1.0, 900.0
MOST_BISECTION_S = 3600.0
COLLECTING_S = 120.0
RESULTS_S = 60.0
BESIDES_S = 180.0
"""What a run may take beside its budget: to lay out and build the base, and to explain."""
SNIPPET_THRESHOLD = "5%"
REFUSAL = "rlperf: "
"""How the sentence begins that a command ends with where it cannot be obeyed."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools, for one project. What measures does so one after the other."""

    project: Path
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def _results(self) -> KeptResults:
        return KeptResults.of(self.project, self.environ)

    # -- what there is --------------------------------------------------------------------------

    async def list_benchmarks(self, pattern: str = "") -> str:
        """List the performance tests whose node id holds the pattern."""
        args = ("--collect-only", "-q", "-p", listing.__name__)
        with temporary_folder("listing") as folder:
            file = folder / "benchmarks.jsonl"
            env = environment(self.environ) | {listing.FILE: str(file)}
            done = await self._run(pytest_command(*args), env, COLLECTING_S)
            if not file.exists():
                raise UsageError(f"the tests cannot be collected: {error_said(done.output)}")
            rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        chosen = [row for row in rows if pattern in row["nodeid"]]
        lines = [_benchmark_line(row) for row in chosen[:MOST_TESTS]]
        more = len(chosen) - MOST_TESTS
        if more > 0:
            lines.append(f"and {more} more; narrow them by pattern")
        if done.code not in (ExitCode.FINE, ExitCode.NO_TESTS):
            lines.append(f"not all could be collected: {error_said(done.output)}")
        named = f" whose name holds {pattern!r}" if pattern else ""
        head = f"{len(chosen)} of {len(rows)} performance tests{named}:"
        return bounded([head, *lines, "repeat: pytest --collect-only -q"])

    # -- what is measured -----------------------------------------------------------------------

    async def measure(
        self,
        against: str = "HEAD",
        tests: Sequence[str] = (),
        budget_s: float = 60.0,
        threshold: str = "",
    ) -> str:
        """Compare the working tree with a revision."""
        checked_words([against], "revision")
        budget_s = _within(budget_s, "budget_s", MOST_BUDGET_S)
        args = ["--rlperf", f"--rlperf-against={against}", f"--rlperf-budget={budget_s:g}"]
        if threshold:
            parse_fraction(threshold, "threshold")
            args.append(f"--rlperf-threshold={threshold}")
        args += self._known(checked_words(tests, "node id"))
        result = self._results.new()
        env = environment(self.environ, _told(result))
        async with self._turn:  # two at once would disturb each other
            done = await self._run(pytest_command(*args), env, 2 * budget_s + BESIDES_S)
        lines = _terse(done, result)
        return bounded([*lines, *_where(result), f"repeat: {shlex.join(['pytest', *args])}"])

    async def compare_snippets(
        self, before: str, after: str, setup: str = "", call: str = "", budget_s: float = 30.0
    ) -> str:
        """Compare two pieces of code by the gate, and say whether one is a real improvement."""
        budget_s = _within(budget_s, "budget_s", MOST_BUDGET_S)
        snippets = Snippets(before, after, setup, call)
        snippets.modules()  # what is wrong with them is said before anything is laid out
        folder = snippets_folder(digest(*snippets.parts), self.environ)
        write_project(snippets, folder)
        # The project itself can be imported, the same on both sides.
        paths = [str(self.project), self.environ.get("PYTHONPATH", "")]
        inherited = {**self.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        async with self._turn:
            work = await self._work(folder, inherited)
            if work.equal is False:
                return bounded(render_referee(None, work))
            args = ["--rlperf", "--rlperf-against=HEAD", f"--rlperf-budget={budget_s:g}"]
            args.append(f"--rlperf-threshold={SNIPPET_THRESHOLD}")
            result = self._results.new()
            own = ("-p", "pytest_rlperf.plugin", *_told(result))
            env = environment(inherited, own) | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
            env.pop("PYTEST_PLUGINS", None)
            command = pytest_command(*args)
            done = await run_bounded(command, folder, env, 2 * budget_s + BESIDES_S)
        lines = _terse(done, result)
        test = read_run(result)[0].tests[0] if result.exists() else None
        repeat = f"repeat: cd {shlex.quote(str(folder))} && {shlex.join(['pytest', *args])}"
        return bounded([*render_referee(test, work), *lines, *_where(result), repeat])

    async def _work(self, folder: Path, inherited: Mapping[str, str]) -> Work:
        """Compare what both sides return of one call."""
        (folder / ".git" / "before.py").write_text(committed(folder), encoding="utf-8")
        command = [sys.executable, "-m", same_results.__name__, ".git/before.py", "snippet.py"]
        done = await run_bounded(command, folder, environment(inherited), RESULTS_S)
        return compared_work(done.output, finished=done.code is not None)

    async def bisect(
        self, good: str, bad: str, test: str, budget_s: float = 30.0, deadline_s: float = 900.0
    ) -> str:
        """Find the commit that made a test slower."""
        budget_s = _within(budget_s, "budget_s", MOST_BUDGET_S)
        deadline_s = _within(deadline_s, "deadline_s", MOST_BISECTION_S)
        revisions = checked_words([good, bad], "revision")
        words = ["bisect", f"--budget={budget_s:g}", *revisions]
        words += ["--", *checked_words([test], "node id")]
        env = environment(self.environ)
        async with self._turn:
            done = await self._run(rlperf_command(*words), env, deadline_s)
        lines = done.output.splitlines()
        if done.code == ExitCode.USAGE:
            raise UsageError(refusal(lines, "bisect"))
        if done.code is None:
            lines.append(f"ended after {deadline_s:g} s: allow more, or narrow the commits")
        return bounded([*lines, f"repeat: {shlex.join(['rlperf', *words])}"])

    # -- what was measured ----------------------------------------------------------------------

    def read_result(self, result: str = LAST, test: str = "") -> str:
        """Tell a result, or one test of it with all its numbers."""
        path = self._results.find(result)
        run, content = read_run(path)
        if test:
            lines = [*render_run(run), "", *render_evidence(named_test(run.tests, test))]
        else:
            terse = render_terse(run, int(content["exit_code"]))
            lines = [*render_run(run), "", *some_terse(terse)]
        return bounded([*lines, f"repeat: rlperf explain {_shown(path, test)}"])

    def explain(self, result: str = LAST, test: str = "") -> str:
        """Explain the worst regression of a result, or one test of it."""
        path = self._results.find(result)
        run, _ = read_run(path)
        lines = explanation(run, test or None)
        return bounded([*lines, f"repeat: rlperf explain {_shown(path, test)}"])

    async def trends(self, test: str = "", branch: str = "") -> str:
        """Tell what the history says of tests."""
        words = ["trend"]
        words += [f"--test={test}"] if test else []
        words += [f"--branch={checked_words([branch], 'branch')[0]}"] if branch else []
        done = await self._run(rlperf_command(*words), environment(self.environ), COLLECTING_S)
        lines = done.output.splitlines()
        if done.code != ExitCode.FINE:
            raise UsageError(refusal(lines, "trend"))
        return bounded([*lines, f"repeat: {shlex.join(['rlperf', *words])}"])

    # -- how ------------------------------------------------------------------------------------

    def _known(self, tests: Sequence[str]) -> Sequence[str]:
        """Refuse a test by a part of its name: pytest would look for a file of that name."""
        for test in tests:
            if not (self.project / test.partition("::")[0]).exists():
                raise UsageError(
                    f"{test!r} is no node id and no file; list_benchmarks tells the node ids."
                )
        return tests

    async def _run(self, command: Sequence[str], env: Mapping[str, str], deadline_s: float) -> Done:
        return await run_bounded(command, self.project, env, deadline_s)


def _within(seconds: float, name: str, most: float) -> float:
    if not LEAST_BUDGET_S <= seconds <= most:
        raise UsageError(f"{name} is {seconds:g}; give {LEAST_BUDGET_S:g} to {most:g} seconds.")
    return seconds


def _told(result: Path) -> tuple[str, ...]:
    """Return the options by which a run tells what it found here, and nowhere else."""
    return f"--rlperf-json={result}", "--rlperf-terse", "-o", "rlperf_report="


def _terse(done: Done, result: Path) -> list[str]:
    """Return the lines of a run; one that has not come to verdicts is an error of the caller."""
    lines = [line for line in done.output.splitlines() if parse_terse(line)]
    if result.exists() and lines:
        return some_terse(lines)
    told = filter(None, map(parse_terse, lines))
    said = [line.fields.get("why") or line.fields.get("text", "") for line in told]
    why = "; ".join(filter(None, said)) or error_said(done.output)
    raise UsageError(why if done.code is not None else "it took too long, and was ended")


def refusal(lines: Sequence[str], command: str) -> str:
    """Return the sentence with which a command refused, wherever it stands among what it told."""
    refusals = [line for line in lines if line.startswith(REFUSAL)]
    last = (refusals or lines or [f"rlperf {command} said nothing"])[-1]
    return last.removeprefix(REFUSAL)


def _where(result: Path) -> list[str]:
    """Return by which name a result is found again."""
    return [f"result: {result.stem} (explain tells why, read_result all numbers)"]


def _shown(path: Path, test: str) -> str:
    return shlex.join([str(path), *([test] if test else [])])


def _benchmark_line(row: Mapping[str, object]) -> str:
    facts = [f"category {row['category']}"] if row["category"] else []
    facts += [word for word in ("memory", "learning") if row[word]]
    told = ", ".join(facts)
    return f"{row['nodeid']} ({told})" if told else str(row["nodeid"])
