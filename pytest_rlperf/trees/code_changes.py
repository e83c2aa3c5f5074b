"""Where the code of two trees differs: which functions, and which modules when they are imported.

Positions and comments are no difference; a docstring is one, since programs read them. A function
counts by itself if only running it can make its difference felt. It counts as part of what
surrounds it, the module or another function, if somebody may look into it instead: a decorator that
is not known, or code that handles it without calling it, as a compiler does. In doubt a difference
is found where there is none: the price is a test that is measured without need.
"""

import ast
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from filecmp import cmp
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType

from pytest_rlperf.model.code import CodeChanges, Ran
from pytest_rlperf.trees.git import listed, listed_at, top_level
from pytest_rlperf.trees.reach import changed_files, is_prose

# -- one module on both sides ---------------------------------------------------------------------

PLAIN_DECORATORS = frozenset({"property", "staticmethod", "classmethod"})
"""Decorators of Python's own that leave the function to be run as it is."""
PROPERTY_PARTS = frozenset({"setter", "getter", "deleter"})
Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """What one side's file compiles to, apart from positions and comments."""

    body: tuple[str, ...]  # what importing it does, with the functions that count as part of it
    functions: Mapping[str, tuple[str, ...]]  # by qualified name, which may be given several times
    statements: Counter[str]  # of the module, without the bodies of functions
    outreaching: frozenset[str]  # of these, those that may change other modules

    @classmethod
    def of(cls, text: bytes) -> "ModuleSource":
        """Read a file; raise SyntaxError or ValueError for what is no Python."""
        tree = ast.parse(text)
        codes: dict[str, list[str]] = {}
        code = compile(text, "<source>", "exec", dont_inherit=True)
        _describe(code, "", _looked_into(tree), codes)
        statements = {_outline(statement): statement for statement in tree.body}
        return cls(
            body=tuple(codes.pop("", ())),
            functions={name: tuple(each) for name, each in codes.items()},
            statements=Counter(map(_outline, tree.body)),
            outreaching=frozenset(o for o, s in statements.items() if not _is_inert(s)),
        )


NOTHING = ModuleSource((), {}, Counter(), frozenset())
"""A file that one side does not have."""


@dataclass(frozen=True, slots=True)
class ModuleChange:
    """How one file differs between the sides."""

    functions: frozenset[str] = frozenset()
    body: bool = False
    outreaching: bool = False


def module_change(base: ModuleSource, head: ModuleSource) -> ModuleChange:
    """Compare both sides of one file."""
    names = base.functions.keys() | head.functions.keys()
    differing = (base.statements - head.statements) + (head.statements - base.statements)
    return ModuleChange(
        functions=frozenset(n for n in names if base.functions.get(n) != head.functions.get(n)),
        body=base.body != head.body,
        outreaching=not (base.outreaching | head.outreaching).isdisjoint(differing),
    )


def _describe(code: CodeType, owner: str, opaque: Set[str], into: dict[str, list[str]]) -> None:
    """Add what a code object does to that of the function that it counts as part of; "" is the
    module. Class bodies, comprehensions and lambdas are part of what surrounds them.
    """
    consts = [c.co_qualname if isinstance(c, CodeType) else (type(c), c) for c in code.co_consts]
    facts = (
        code.co_code, repr(consts), code.co_names, code.co_varnames, code.co_freevars,
        code.co_cellvars, code.co_flags, code.co_argcount, code.co_posonlyargcount,
        code.co_kwonlyargcount, code.co_exceptiontable,
    )  # fmt: skip
    into.setdefault(owner, []).append(repr(facts))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            name = inner.co_qualname
            alone = inner.co_flags & CO_OPTIMIZED and not inner.co_name.startswith("<")
            counts_alone = alone and name not in opaque
            _describe(inner, name if counts_alone else owner, opaque, into)


def _looked_into(tree: ast.Module) -> frozenset[str]:
    """Return the qualified names of functions with a decorator that may look into them."""
    return frozenset(
        name
        for name, function in _functions(tree, "")
        if not all(map(_is_plain, function.decorator_list))
    )


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, Definition):
            yield f"{prefix}{child.name}", child
            yield from _functions(child, f"{prefix}{child.name}.<locals>.")
        else:
            yield from _functions(child, prefix)


def _is_plain(decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Attribute):
        return decorator.attr in PROPERTY_PARTS and isinstance(decorator.value, ast.Name)
    return isinstance(decorator, ast.Name) and decorator.id in PLAIN_DECORATORS


class _WithoutBodies(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return ast.FunctionDef(**{**dict(ast.iter_fields(node)), "body": []})

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return ast.AsyncFunctionDef(**{**dict(ast.iter_fields(node)), "body": []})

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        body = [self.visit(statement) for statement in node.body]
        return ast.ClassDef(**{**dict(ast.iter_fields(node)), "body": body})


def _outline(statement: ast.stmt) -> str:
    """Return a statement of a module as text, without the bodies of its functions."""
    return ast.dump(_WithoutBodies().visit(statement))


def _is_inert(statement: ast.stmt) -> bool:
    """Return whether a statement of a module only gives names to things: then whoever does not
    import the module cannot tell.
    """
    outline = _WithoutBodies().visit(statement)
    for node in ast.walk(outline):
        if isinstance(node, ast.Call | ast.Await | ast.Delete | ast.With):
            return False
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, Definition | ast.ClassDef) and not all(
            map(_is_plain, node.decorator_list)
        ):
            return False
    return True


# -- functions that somebody handles without calling them -----------------------------------------

CALLING_FIXTURES = frozenset({"rlperf", "rlperf_memory", "rlperf_mpi", "benchmark"})
BY_NAME = re.compile(rb"\b(?:getattr|attrgetter|methodcaller|globals|vars|__dict__)\b")
"""Who uses these may get at a function by the text of its name."""
CALLED_KEYWORDS = frozenset({"func", "target", "setup", "teardown", "work"})
"""They call their first argument and these; the others are handed on to what may look into them."""


def handled_names(text: bytes, names: frozenset[str], own: Set[str]) -> frozenset[str]:
    """Return which of these names a file mentions otherwise than to call or to define them, with a
    dot before those of attributes. Those of modules that are not among the tree's `own` do not
    count.
    """
    if not re.search(rb"\b(?:%s)\b" % b"|".join(re.escape(n.encode()) for n in names), text):
        return frozenset()
    nodes = list(ast.walk(ast.parse(text)))
    by_name = BY_NAME.search(text) is not None
    called = {id(name) for node in nodes for name in _called(node)}
    foreign = {name for node in nodes for name in _foreign_modules(node, own)}
    mentioned = (_mentioned(node, foreign, by_name) for node in nodes if id(node) not in called)
    return frozenset(name for name in mentioned if name and name.removeprefix(".") in names)


def _called(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what an expression calls: the function, and what a fixture is handed to call."""
    if isinstance(node, ast.Call):
        yield node.func
        fixture = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        if isinstance(fixture, ast.Name) and fixture.id in CALLING_FIXTURES:
            yield from node.args[:1]
            yield from (word.value for word in node.keywords if word.arg in CALLED_KEYWORDS)


def _foreign_modules(node: ast.AST, own: Set[str]) -> Iterator[str]:
    """Yield the names that a statement gives to modules from elsewhere."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if own.isdisjoint(alias.name.split(".")):
                yield alias.asname or alias.name.partition(".")[0]


def _mentioned(node: ast.AST, foreign: Set[str], by_name: bool) -> str | None:
    """Return the name that a node stands for; `by_name`: a text may be that of an attribute."""
    match node:
        case ast.Attribute(value=ast.Name(id=module)) if module in foreign:
            return None
        case ast.Attribute(attr=name):
            return f".{name}"
        case ast.Name(id=name, ctx=ast.Load()):
            return name
        case ast.Constant(value=str(text)) if by_name:
            return f".{text}"
    return None


def _is_handled(name: str, here: Set[str], anywhere: Set[str]) -> bool:
    """Return whether somebody mentions a function without calling it: in its own file by its bare
    name, in others so only if it is one of the module's; everywhere as an attribute, unless it is
    another function's own.
    """
    outer, _, simple = name.rpartition(".")
    if outer.endswith("<locals>"):
        return simple in here
    return f".{simple}" in anywhere or simple in (here if outer else anywhere)


def _spread(change: ModuleChange, here: Set[str], anywhere: Set[str]) -> ModuleChange:
    """Let the difference of a handled function count for what surrounds it, too."""
    functions, body = set(change.functions), change.body
    waiting = [name for name in functions if _is_handled(name, here, anywhere)]
    while waiting:
        outer, inside, _ = waiting.pop().rpartition(".<locals>.")
        body = body or not inside
        if inside and outer not in functions:
            functions.add(outer)
            waiting += [outer] if _is_handled(outer, here, anywhere) else []
    return ModuleChange(frozenset(functions), body, change.outreaching)


# -- two trees ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TwoTrees:
    """The top folders of both sides, as they are measured."""

    head: Path
    base: Path

    def same(self, path: str) -> bool:
        """Return whether a file, or the names in a folder, are the same on both sides."""
        one, other = self.head / path, self.base / path
        try:
            if one.is_dir() and other.is_dir():
                return _names(one) == _names(other)
            return one.is_symlink() == other.is_symlink() and cmp(one, other, shallow=False)
        except OSError:
            return False

    def text(self, side: Path, path: str) -> bytes | None:
        file = side / path
        return file.read_bytes() if file.is_file() else None


def _names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir() if entry.name != "__pycache__"}


def code_changes(trees: TwoTrees, files: Iterable[str], keep: Sequence[str] = ()) -> CodeChanges:
    """Compare both trees in these files. Packages to `keep` are head's on both sides."""
    python: list[str] = []
    others: list[str] = []
    for path in sorted(set(files)):
        if not _is_kept(path, keep) and not trees.same(path):
            (python if path.endswith(".py") else others).append(path)
    if data := [path for path in others if not is_prose(path)]:
        return CodeChanges(everywhere=f"{_some(data)} changed, and who reads it cannot be seen")
    try:
        changes = {path: _change(trees, path) for path in python}
        handled = _handled(trees, files, changes.values())
    except (SyntaxError, ValueError, RecursionError) as error:
        return CodeChanges(everywhere=f"a file that changed cannot be read as Python ({error})")
    anywhere = frozenset().union(*handled.values())
    nothing: frozenset[str] = frozenset()
    changes = {p: _spread(c, handled.get(p, nothing), anywhere) for p, c in changes.items()}
    return CodeChanges(
        functions={p: tuple(sorted(c.functions)) for p, c in changes.items() if c.functions},
        modules=tuple(p for p, c in changes.items() if c.body),
        outreaching=tuple(p for p, c in changes.items() if c.body and c.outreaching),
    )


def _is_kept(path: str, keep: Sequence[str]) -> bool:
    return any(f"/{package}/" in f"/{path}" for package in keep)


def _change(trees: TwoTrees, path: str) -> ModuleChange:
    texts = (trees.text(side, path) for side in (trees.base, trees.head))
    return module_change(*(NOTHING if text is None else ModuleSource.of(text) for text in texts))


def _handled(
    trees: TwoTrees, files: Iterable[str], changes: Iterable[ModuleChange]
) -> dict[str, frozenset[str]]:
    """Return by file which of the functions that changed it mentions without calling them."""
    levels = (level for change in changes for name in change.functions for level in _levels(name))
    names = frozenset(level.rpartition(".")[2] for level in levels)
    handled: dict[str, frozenset[str]] = {}
    if names:
        python = [path for path in files if path.endswith(".py")]
        own = {part for path in python for part in path.removesuffix(".py").split("/")}
        for path in python:
            texts = (trees.text(side, path) for side in (trees.head, trees.base))
            found = (handled_names(text, names, own) for text in texts if text)
            handled[path] = frozenset().union(*found)
    return handled


def _levels(name: str) -> Iterator[str]:
    """Yield a function and all that it is nested in."""
    while name:
        yield name
        name = name.rpartition(".<locals>.")[0]


def _some(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def files_to_compare(root: Path, base: str, head: str | None, besides: Path) -> list[str]:
    """Return the files in which two revisions may differ, from the top of the repository. `head` is
    None for the working tree. Every Python file is among them: git can be told not to look at one.
    What lies `besides`, in the folder of the stored baselines, is read by no test.
    """
    top, _ = top_level(root)
    new = listed(top, "--cached", "--others", "--exclude-standard", "--", "*.py")
    at = (listed_at(top, revision) for revision in (base, head) if revision is not None)
    python = (path for paths in at for path in paths if path.endswith(".py"))
    folder = Path(os.path.realpath(top))
    stored = Path(os.path.realpath(besides))
    differing = (p for p in changed_files(root, base, head) if not p.is_relative_to(stored))
    changed = (path.relative_to(folder).as_posix() for path in differing)
    return sorted({*changed, *python, *(new if head is None else ())})


@dataclass(frozen=True)
class SameCode:
    """Tells whether a test ran the same code on both sides."""

    trees: TwoTrees
    changes: CodeChanges
    tests: Set[str] | None = None  # that the other side was measured with; None: all

    def speaks_of(self, nodeid: str) -> bool:
        """Return whether this test's other side is the tree that head is compared with."""
        return self.tests is None or nodeid in self.tests

    @property
    def certain(self) -> bool:
        """Whether nothing differs. Since a baseline was saved, what git ignores may have changed
        all the same.
        """
        return self.changes.none and self.tests is None

    @property
    def watched(self) -> CodeChanges | None:
        """The changes that a worker has to look for; None: that would tell nothing."""
        return None if self.certain or self.changes.everywhere else self.changes

    @property
    def base_has_more(self) -> bool:
        """Whether only the base has some module, which head cannot be seen to miss."""
        return any(not (self.trees.head / path).exists() for path in self.changes.files)

    def differences(self, sides: Iterable[Ran | None]) -> Iterator[str]:
        """Yield the differences that a test may have met, going by what was seen of it. What
        was not watched may have met any.
        """
        if self.certain:
            return
        if self.changes.everywhere is not None:
            yield self.changes.everywhere
        for ran in sides:
            if ran is None:
                yield "it is not watched"
            else:
                yield from (*ran.met, *ran.unseen)
                yield from (path for path in ran.read if not self.trees.same(path))
