"""Two snippets of code as a small project with two revisions, which the gate can measure, and
whether both do the same work.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.errors import UsageError
from pytest_rlperf.trees.git import commit_all, git

RUN = "run"
TEST = f"""\
import snippet


def test_snippet(rlperf):
    rlperf(snippet.{RUN})
"""
INI = "[pytest]\ntestpaths = test_snippet.py\npythonpath = .\n"


@dataclass(frozen=True, slots=True)
class Snippets:
    """Two pieces of code that should do the same."""

    before: str
    after: str
    setup: str = ""  # runs once on both sides, before either
    call: str = ""  # the expression to measure; empty: `run()`, or the whole snippet

    @property
    def parts(self) -> tuple[str, ...]:
        return self.before, self.after, self.setup, self.call

    def modules(self) -> tuple[str, str]:
        """Return both sides as modules that have a function `run`."""
        setup = _parsed(self.setup, "setup")
        sides = {"before": self.before, "after": self.after}
        before, after = (_module(setup, code, self.call, side) for side, code in sides.items())
        return before, after


def _module(setup: ast.Module, code: str, call: str, side: str) -> str:
    snippet = _parsed(code, side)
    if call:
        body = [*setup.body, *snippet.body, _function([_returned(call)])]
    elif _defines_run(snippet, side):
        body = [*setup.body, *snippet.body]
    else:
        body = [*setup.body, _function(list(_with_result(snippet.body)))]
    module = ast.fix_missing_locations(ast.Module(body=body, type_ignores=[]))
    return ast.unparse(module) + "\n"


def _parsed(code: str, what: str) -> ast.Module:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{what} is no Python: {error}; correct it.") from None


def _defines_run(snippet: ast.Module, side: str) -> bool:
    defined = [s for s in snippet.body if isinstance(s, ast.FunctionDef) and s.name == RUN]
    if not snippet.body:
        raise UsageError(f"{side} is empty; give the code to measure.")
    if defined and (defined[-1].args.args or defined[-1].args.posonlyargs):
        raise UsageError(f"run of {side} takes arguments; name the call to measure, as run(data).")
    only = all(isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef) for s in snippet.body)
    if only and not defined:
        raise UsageError(
            f"{side} only defines functions; call one of them run, or name the call to measure, "
            "such as f(data)."
        )
    return bool(defined)


def _function(body: list[ast.stmt]) -> ast.FunctionDef:
    function = ast.parse(f"def {RUN}(): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = body
    return function


def _returned(call: str) -> ast.Return:
    try:
        return ast.Return(ast.parse(call, mode="eval").body)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"call is no expression: {error}; give one, such as f(data).") from None


def _with_result(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements; a last one that is an expression becomes what the function returns."""
    yield from body[:-1]
    last = body[-1]
    yield ast.Return(last.value) if isinstance(last, ast.Expr) else last


def write_project(snippets: Snippets, folder: Path) -> None:
    """Lay out a repository whose commit is `before`, and whose working tree is `after`."""
    before, after = snippets.modules()
    files = {"snippet.py": before, "test_snippet.py": TEST, "pytest.ini": INI}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit_all(folder, "before")
    (folder / "snippet.py").write_text(after, encoding="utf-8")


# -- whether both do the same work ---------------------------------------------------------------


MOST_WORDS = 400


@dataclass(frozen=True, slots=True)
class Work:
    """What both sides returned of one call, compared; None: that does not tell."""

    equal: bool | None
    words: str


def compared_work(said: str, finished: bool) -> Work:
    """Read what `same_results.py` printed."""
    if not finished:
        return Work(None, "the calls did not end in time")
    word, _, words = (said.strip().splitlines() or ["nothing was said"])[-1].partition(" ")
    known = {"equal": True, "close": True, "different": False}
    return Work(known.get(word), words[:MOST_WORDS])


def committed(folder: Path) -> str:
    """Return the module of `before`."""
    return git(folder, "show", "HEAD:snippet.py")
