"""``python -m tests.evidence.projects run --from FOLDER --out FILE`` tries the gate on clones of
other projects that lie in FOLDER, unchanged and with one function made slower; ``table FILE``
prints what it said. The last of the projects is ours, and is written there.

Each is compared with itself, and with two slowdowns of about 10 % in a test. A slowdown is a loop
that does nothing, at the beginning of one function, as long as it takes: how long is measured
first. ``--python`` is the interpreter that has this plug-in and what the projects need.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_rlperf.files import append_lines, read_lines
from tests import schema_lines
from tests.evidence.projects import smallrl

# 1: first version.
SCHEMA = 1
WANTED = 0.10
"""The slowdown of the test that a function is made slower for."""
FIRST_LOOPS = 200
MORE = 5
TOLD = 0.03
"""A smaller slowdown tells little of how long the loop has to be: then it is made longer."""
NOTHING = "nothing"
WRONG = frozenset({"regressed", "improved"})


@dataclass(frozen=True, slots=True)
class Slow:
    """A function to make slower, and a test in which it is hot."""

    file: str
    function: str
    test: str  # for -k

    def __str__(self) -> str:
        return f"{self.file}:{self.function}"


@dataclass(frozen=True, slots=True)
class Project:
    name: str
    args: tuple[str, ...]
    slow: tuple[Slow, Slow]


PROJECTS = (
    Project(
        "dacite",
        ("tests/performance",),
        (
            Slow("dacite/types.py", "is_instance", "test_union_matching"),
            Slow("dacite/core.py", "_build_value", "test_parsing_multiple_items"),
        ),
    ),
    Project(
        "graphql-core",
        ("tests/benchmarks",),
        (
            Slow("src/graphql/language/lexer.py", "Lexer.read_name", "test_parse_kitchen_sink"),
            Slow("src/graphql/language/visitor.py", "visit", "test_visit_all_ast_nodes"),
        ),
    ),
    Project(
        "multidict",
        ("--no-c-extensions", "tests/test_multidict_benchmarks.py"),
        (
            Slow("multidict/_multidict_py.py", "MultiDict.add", "test_multidict_add_str"),
            Slow("multidict/_multidict_py.py", "MultiDict.popone", "test_multidict_pop_str"),
        ),
    ),
    Project(
        "markdown-it-py",
        ("benchmarking/bench_core.py", "-o", "python_files=bench_*.py"),
        (
            Slow("markdown_it/parser_inline.py", "ParserInline.tokenize", "test_spec"),
            Slow("markdown_it/renderer.py", "RendererHTML.renderToken", "test_spec"),
        ),
    ),
    Project(
        "attrs",
        ("bench",),
        (
            Slow("src/attr/_make.py", "_ClassBuilder.__init__", "test_create_simple_class"),
            Slow("src/attr/_make.py", "_transform_attrs", "test_create_frozen_class"),
        ),
    ),
    Project(
        "smallrl",
        ("tests",),
        (
            Slow("smallrl/wrappers.py", "RunningNorm.update", "test_collect and RunningNorm"),
            Slow("smallrl/wrappers.py", "TileCoding.index", "test_tiles"),
        ),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Record:
    """One comparison of a suite."""

    project: str
    commit: str
    slowed: str  # the function; NOTHING: the code is the same
    loops: int
    outcomes: Mapping[str, int]
    wrong: tuple[str, ...]  # verdicts on tests that meet no change
    hot: str | None  # the outcome of the test that was slowed
    hot_change: float | None
    regressed: int
    profiled: int  # of these, those whose profile names the function first
    edited: int  # those that name it by its source
    seconds: float
    budget_s: float
    code: int
    load: float
    date: str
    python: str


def slowed(text: str, function: str, loops: int) -> str:
    """Return the source with a loop at the beginning of a function."""
    node: ast.AST = ast.parse(text)
    for name in function.split("."):
        node = next(child for child in ast.iter_child_nodes(node) if _defines(child, name))
    assert isinstance(node, ast.FunctionDef)
    body = node.body[1:] if ast.get_docstring(node) is not None and node.body[1:] else node.body
    lines = text.splitlines(keepends=True)
    lines.insert(body[0].lineno - 1, f"{' ' * body[0].col_offset}for _ in range({loops}): pass\n")
    return "".join(lines)


def _defines(node: ast.AST, name: str) -> bool:
    """Return whether it is the class or function of this name, and not just one of its types."""
    if not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name != name:
        return False
    return not any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list)


def write_smallrl(folder: Path) -> None:
    """Make the project that is nobody's, unless it is there."""
    if folder.exists():
        return
    for name, text in smallrl.FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for args in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "Begin"]):
        subprocess.run(["git", *args], cwd=folder, check=True)


class Trial:
    """A project in its clone."""

    def __init__(self, project: Project, clone: Path, python: str, cache: Path) -> None:
        self.project = project
        self._clone, self._python, self._cache = clone, python, cache

    def records(self) -> Iterator[Record]:
        yield self._record(None, 0)
        for slow in self.project.slow:
            yield self._record(slow, self._loops(slow))

    def _loops(self, slow: Slow) -> int:
        """Return how long the loop has to be."""
        loops, change = FIRST_LOOPS, 0.0
        while change < TOLD:
            with self._changed(slow, loops):
                content, *_ = self._run("--rlperf-profile=off", "-k", slow.test)
            change = _hot(content["tests"], slow)["metrics"][0]["change"]
            loops *= MORE
        return max(1, round(loops / MORE * WANTED / change))

    def _record(self, slow: Slow | None, loops: int) -> Record:
        load = os.getloadavg()[0]
        if slow is None:
            content, code, seconds = self._run("--rlperf-same-code=measure")
        else:
            with self._changed(slow, loops):
                content, code, seconds = self._run()
        tests = content["tests"]
        hot = None if slow is None else _hot(tests, slow)
        met = {t["nodeid"] for t in tests if slow is not None and t["differences"]}
        called = {t["nodeid"] for t in tests if t["outcome"] in WRONG}
        regressed = [t for t in tests if t["outcome"] == "regressed"]
        return Record(
            project=self.project.name,
            commit=self._git("rev-parse", "--short", "HEAD"),
            slowed=str(slow) if slow else NOTHING,
            loops=loops,
            outcomes=dict(Counter(t["outcome"] for t in tests)),
            wrong=tuple(called - met),
            hot=hot["outcome"] if hot else None,
            hot_change=hot["metrics"][0]["change"] if hot and hot["metrics"] else None,
            regressed=len(regressed),
            profiled=sum(_names(t, "functions")[:1] == [str(slow)] for t in regressed),
            edited=sum(str(slow) in _names(t, "edits") for t in regressed),
            seconds=round(seconds, 1),
            budget_s=content["budget_seconds"],
            code=code,
            load=round(load, 1),
            date=datetime.date.today().isoformat(),
            python=content["fingerprint"]["python"],
        )  # fmt: skip

    def _changed(self, slow: Slow, loops: int) -> _Changed:
        return _Changed(self._clone / slow.file, slow.function, loops)

    def _run(self, *more: str) -> tuple[Mapping[str, Any], int, float]:
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder) / "result.json"
            command = [
                self._python, "-m", "pytest", "--rlperf", "--rlperf-against=HEAD",
                f"--rlperf-json={result}", "-p", "no:cacheprovider", *self.project.args, *more,
            ]  # fmt: skip
            begun = time.monotonic()
            done = self._execute(command, RLPERF_CACHE=str(self._cache))
            seconds = time.monotonic() - begun
            if not result.exists():
                raise RuntimeError(f"{self.project.name}: no result:\n{done.stdout}{done.stderr}")
            return json.loads(result.read_text(encoding="utf-8")), done.returncode, seconds

    def _git(self, *args: str) -> str:
        done = self._execute(["git", *args])
        done.check_returncode()
        return done.stdout.strip()

    def _execute(self, command: Sequence[str], **more: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **more}
        return subprocess.run(
            command, cwd=self._clone, env=environment, capture_output=True, text=True
        )


class _Changed:
    """A file with a slowdown in it, as long as it lasts."""

    def __init__(self, file: Path, function: str, loops: int) -> None:
        self._file, self._text = file, file.read_text(encoding="utf-8")
        self._slowed = slowed(self._text, function, loops)

    def __enter__(self) -> None:
        self._file.write_text(self._slowed, encoding="utf-8")

    def __exit__(self, *error: object) -> None:
        self._file.write_text(self._text, encoding="utf-8")


def _hot(tests: Sequence[Mapping[str, Any]], slow: Slow) -> Mapping[str, Any]:
    words = slow.test.split(" and ")
    return next(t for t in tests if all(word in t["nodeid"] for word in words))


def _names(test: Mapping[str, Any], key: str) -> list[str]:
    return [f"{each['file']}:{each['function']}" for each in test.get("profile", {}).get(key, ())]


# -- the table ------------------------------------------------------------------------------------


TITLES = (
    "| project | slowed | its test | tests | called wrongly | inconclusive | "
    "named by the profile, by its source | seconds of budget |"
)


def render(records: Sequence[Record]) -> str:
    """Return the table, and the sums below it."""
    slow = [r for r in records if r.slowed != NOTHING]
    verdicts = sum(sum(r.outcomes.values()) for r in records)
    sums = (
        f"{sum(r.hot == 'regressed' for r in slow)} of {len(slow)} slowdowns called; the right "
        f"function named by the profile in {sum(r.profiled > 0 for r in slow)}, by its source in "
        f"{sum(r.edited > 0 for r in slow)}. {sum(len(r.wrong) for r in records)} of {verdicts} "
        "verdicts wrong."
    )
    return "\n".join(
        [TITLES, "|---" * TITLES.count(" | ") + "|---|", *map(_row, records), "", sums, ""]
    )


def _row(r: Record) -> str:
    hot = "" if r.hot is None else f"{r.hot} {r.hot_change or 0:+.1%}"
    named = f"{r.profiled} and {r.edited} of {r.regressed}" if r.slowed != NOTHING else ""
    cells = [
        r.project, r.slowed, hot, str(sum(r.outcomes.values())), str(len(r.wrong)),
        str(r.outcomes.get("inconclusive", 0) + r.outcomes.get("not_measured", 0)),
        named, f"{r.seconds:.0f} of {r.budget_s:.0f}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def from_line(line: str) -> Record:
    data = schema_lines.from_line(SCHEMA, line)
    return Record(**{**data, "wrong": tuple(data["wrong"])})


def run(out: Path, folder: Path, python: str, only: Sequence[str]) -> None:
    write_smallrl(folder / "smallrl")
    with tempfile.TemporaryDirectory(prefix="rlperf-projects-") as cache:
        for project in PROJECTS:
            if only and project.name not in only:
                continue
            for record in Trial(project, folder / project.name, python, Path(cache)).records():
                append_lines(out, [schema_lines.to_line(SCHEMA, asdict(record))])
                print(_row(record), flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.evidence.projects", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    running, table = commands.add_parser("run"), commands.add_parser("table")
    running.add_argument("--from", dest="folder", type=Path, required=True, help="holds the clones")
    running.add_argument("--out", type=Path, required=True, help="JSON-lines file")
    running.add_argument("--python", default=sys.executable)
    running.add_argument("--only", action="append", default=[], help="a project; may repeat")
    table.add_argument("file", type=Path)
    options = parser.parse_args(argv)
    if options.command == "table":
        print(render([from_line(line) for line in read_lines(options.file)]), end="")
    else:
        run(options.out, options.folder, options.python, options.only)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
