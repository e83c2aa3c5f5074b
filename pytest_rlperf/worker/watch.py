"""Watches which differences between the two sides a test meets, so that a test which meets none
need not be measured.

It sees the functions that run, the modules that a test's own module leads to, the files of the tree
that are read, and the extensions that are loaded from it, in this process and in those that
`multiprocessing` starts. Other processes, foreign extensions, and before Python 3.12 other threads,
cannot be followed: it says so. What a test leaves behind for the next one (a cache, a compiled
function) is not seen either, so the controller starts new workers after a test that met a
difference.
"""

import _thread
import atexit
import builtins
import importlib
import json
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import resolve_name
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from pytest_rlperf.model.code import CodeChanges, Ran
from pytest_rlperf.profile.functions import OWN_LOOP, is_own
from pytest_rlperf.reading import typed
from pytest_rlperf.trees.ownership import INSTALLED, relative
from pytest_rlperf.worker import calls as calls_module
from pytest_rlperf.worker import watch_processes
from pytest_rlperf.worker.calls import Calls, Rounds
from pytest_rlperf.worker.watch_processes import WATCH, Processes, has_children

if TYPE_CHECKING:  # a spawned process begins sooner without
    import pytest


LIKE_A_BLOCK_NS = 100_000_000
LONG_CALL_NS = 50_000_000
LEAST_CALLS, LEAST_LONG_CALLS = 9, 3
"""A watched test makes as many calls as one side of a block does: what it does not run in them it
would not run in a block."""

PROCESS_EVENTS = frozenset(
    {
        "subprocess.Popen", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork",
        "os.forkpty", "pty.spawn",
    }
)  # fmt: skip
"""Audit events of a process that is started."""
PROCESSES = "it starts processes"
READING_EVENTS = frozenset({"open", "ctypes.dlopen", "os.listdir", "os.scandir"})
IMPORT_SYSTEM = "<frozen importlib"
MODULE_SUFFIXES = (".py", ".pyc")
"""What it reads in order to import; by `get_data` it reads any other file of a package."""
PYTHON_LIBRARY = os.path.dirname(os.__file__) + os.sep
METADATA = os.path.join(PYTHON_LIBRARY, "importlib", "metadata") + os.sep
"""Looks for what is installed, in every folder that is imported from."""
CONFTEST = "conftest.py"


# -- the functions that run -----------------------------------------------------------------------


Place = tuple[str, str]
"""The file and the qualified name of a function that ran. Code objects would not do: those of equal
functions in two files are equal.
"""


class Recorder(Protocol):
    """Records the functions that run."""

    follows_threads: bool

    def resume(self) -> None: ...

    def pause(self) -> None: ...

    def take(self) -> set[Place]:
        """Return what ran since the last time, by no name of a module: at the end of a process they
        are gone.
        """
        ...


class ProfilerRecorder:
    """Records this thread by the profiler that is compiled into Python: below 3.12 there is nothing
    that costs less. Calls take up to a few times as long meanwhile.
    """

    follows_threads = False

    def __init__(self) -> None:
        from _lsprof import Profiler

        self._profiler = Profiler(subcalls=False, builtins=False)

    def resume(self) -> None:
        self._profiler.enable()

    def pause(self) -> None:
        self._profiler.disable()

    def take(self) -> set[Place]:
        codes = [e.code for e in self._profiler.getstats() if not isinstance(e.code, str)]
        self._profiler.clear()
        return {(code.co_filename, code.co_qualname) for code in codes}


class MonitoringRecorder:
    """Records all threads, at the price of one event for each function and test."""

    follows_threads = True
    TOOL = 4  # none of those that debuggers, profilers and coverage are given

    def __init__(self, monitoring: Any) -> None:
        """`monitoring` is `sys.monitoring`, which Python has from 3.12 on."""
        self._monitoring = monitoring
        self._ran: set[Place] = set()
        events = monitoring.events
        monitoring.use_tool_id(self.TOOL, "rlperf")
        for event in (events.PY_START, events.PY_RESUME):
            monitoring.register_callback(self.TOOL, event, self._note)
        monitoring.set_events(self.TOOL, events.PY_START | events.PY_RESUME)

    def _note(self, code: CodeType, _offset: int) -> Any:
        self._ran.add((code.co_filename, code.co_qualname))
        return self._monitoring.DISABLE

    def resume(self) -> None:
        """Go on, as it always does."""

    def pause(self) -> None:
        """Go on: what has been seen costs nothing any more."""

    def take(self) -> set[Place]:
        ran, self._ran = self._ran, set()
        self._monitoring.restart_events()
        return ran


def make_recorder() -> Recorder:
    monitoring = getattr(sys, "monitoring", None)
    return ProfilerRecorder() if monitoring is None else MonitoringRecorder(monitoring)


# -- the modules that a module leads to -----------------------------------------------------------


class ImportsSeen:
    """Notes which module imports which, by statement or by `importlib.import_module`."""

    def __init__(self) -> None:
        self._edges: dict[str, set[str]] = defaultdict(set)
        self._imported: set[str] = set()

    def install(self) -> None:
        plain_import, plain_import_module = builtins.__import__, importlib.import_module

        def noting_import(
            name: str,
            globals: Mapping[str, object] | None = None,
            locals: Mapping[str, object] | None = None,
            fromlist: Sequence[str] | None = (),
            level: int = 0,
        ) -> ModuleType:
            module = plain_import(name, globals, locals, fromlist or (), level)
            self._note(globals or {}, "." * level + name, fromlist or ())
            return module

        def noting_import_module(name: str, package: str | None = None) -> ModuleType:
            module = plain_import_module(name, package)
            self._note(sys._getframe(1).f_globals, module.__name__, ())
            return module

        builtins.__import__ = noting_import
        importlib.import_module = noting_import_module

    def _note(self, importer: Mapping[str, object], name: str, fromlist: Iterable[str]) -> None:
        spec = importer.get("__spec__")
        package = importer.get("__package__") or getattr(spec, "parent", None) or ""
        full = resolve_name(name, str(package)) if name.startswith(".") else name
        names = {full, *(f"{full}.{each}" for each in fromlist)} & sys.modules.keys()
        self._edges[str(importer.get("__name__", ""))] |= names
        self._imported |= names

    def reached(self, roots: Iterable[str]) -> set[str]:
        """Return the modules that these lead to, themselves and the packages around them too."""
        seen: set[str] = set()
        waiting = [*roots]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += [name.rpartition(".")[0]] if "." in name else []
                waiting += self._edges.get(name, ())
        return seen

    def is_orphan(self, name: str) -> bool:
        """Return whether nobody was seen importing it."""
        return name not in self._imported


# -- the watch ------------------------------------------------------------------------------------


class CodeWatch:
    """Follows the tests of one worker, one after the other."""

    def __init__(
        self,
        changes: CodeChanges,
        tree: str,
        recorder: Recorder | None = None,
        folder: str | None = None,
    ) -> None:
        """A process that a watched one spawned finds what it needs in a `folder`."""
        self._changes = changes
        self._tree = tree
        self._functions = {
            place: set(names)
            for file, names in changes.functions.items()
            for place in _places(tree, file)
        }
        self._recorder = recorder or make_recorder()
        self._imports = ImportsSeen()
        self._read: set[str] = set()
        self._unseen: set[str] = set()
        self._before = Ran()  # what happened before the first test, which counts for all
        self._begun: set[Place] = set()  # functions, while this process paused
        self._late: list[str] | None = None  # events since the end of a spawned process
        self._collecting = folder is None
        self._measuring_forked = False  # in this test, to watch its memory
        self.processes = Processes(self, (changes, tree), _is_measuring, folder)

    def install(self) -> None:
        """Begin, before anything of the tree is imported."""
        if self._changes.modules:
            self._imports.install()
        self.processes.install()
        if not self._recorder.follows_threads:
            self._notice_threads()
        sys.addaudithook(self._audit)
        self._recorder.resume()

    def _notice_threads(self) -> None:
        """Notice every thread that is started from now on: there is no audit event for it."""
        start = _thread.start_new_thread

        def noticing_start(*args: Any) -> int:
            if not _is_measuring(sys._getframe(1)):
                self._unseen.add("it starts threads")
            return start(*args)

        _thread.start_new_thread = threading._start_new_thread = noticing_start  # type: ignore[attr-defined]

    def collected(self) -> None:
        """Note what importing and collecting met: it counts for every test."""
        self._recorder.pause()
        self._look_at_extensions()
        ran = self._recorder.take()
        met = (*self._functions_met(ran), *self._outreaching_met(), *self._unnamed_met(ran))
        self._before = self._with_processes(met)
        self._collecting = False

    def met_by_imports(self, item: "pytest.Item") -> Ran | None:
        """Return the differences that a test meets however it runs, since what was imported for it
        leads to them; None: there are none.
        """
        met = tuple(sorted({*self._before.met, *self._modules_met(item, ())}))
        return Ran(met) if met else None

    def begin(self) -> None:
        """Begin with the next test."""
        self._read, self._unseen, self._begun = set(), set(), set()
        self._measuring_forked = False
        self.processes.begin()
        if not self._recorder.follows_threads and threading.active_count() > 1:
            self._unseen.add("it has threads")
        self._recorder.resume()

    def pause(self) -> None:
        """Let calls be timed until `follow`."""
        self._recorder.pause()
        self.processes.pause()

    def go_on(self, frame: FrameType | None = None) -> None:
        """Go on after a pause; the functions of the frame may have begun meanwhile."""
        while frame is not None:
            self._begun.add((frame.f_code.co_filename, frame.f_code.co_qualname))
            frame = frame.f_back
        self.processes.go_on()
        self._recorder.resume()

    def follow(self, calls: Calls | Rounds, call_ns: float) -> None:
        """Make as many calls as a block makes. A test that counts its calls has made them all."""
        self.go_on()
        if isinstance(calls, Calls):
            call_ns = max(1.0, call_ns + calls.setup_ns)
            least = LEAST_CALLS if call_ns < LONG_CALL_NS else LEAST_LONG_CALLS
            for _ in range(max(least, int(LIKE_A_BLOCK_NS / call_ns))):
                calls.once()

    def end(self, item: "pytest.Item | None" = None) -> Ran:
        """Return what the test met, or a process that it started."""
        self._recorder.pause()
        self._look_at_extensions()
        ran = self._recorder.take() | self._begun
        together = self._with_processes({*self._functions_met(ran), *self._modules_met(item, ran)})
        others = self.processes.others_ended() and not self._measuring_forked
        if others or has_children():  # not every library that starts one raises an event
            together = replace(together, unseen=(*together.unseen, PROCESSES))
        self.processes.close()
        return Ran.together([self._before, together])

    def _with_processes(self, met: Iterable[str]) -> Ran:
        """Return what this process met, and those that it started."""
        reports = self.processes.reports()
        if None in reports:
            self._unseen.add(PROCESSES)
        own = Ran(tuple(sorted(met)), tuple(sorted(self._read)), tuple(sorted(self._unseen)))
        return Ran.together([own, *(ran for ran in reports if ran is not None)])

    # -- in a process that a test started -----------------------------------------------------

    def forked(self) -> None:
        """Go on in a child. What its parent met so far counts for it too: it is the same test."""
        self._measuring_forked = False
        self._recorder.resume()

    def end_spawned(self) -> None:
        """End where a process does so by itself, and go on looking until it is gone."""
        self.processes.end_spawned()
        self._late = []
        self._recorder.resume()

    def met_more(self) -> bool:
        """Return whether anything may have been met since the end. It needs no name of a module:
        they are gone by then.
        """
        functions, ran = self._functions, self._recorder.take()
        return bool(self._late) or any(name in functions.get(file, ()) for file, name in ran)

    # -- what was met -------------------------------------------------------------------------

    def _functions_met(self, ran: Iterable[Place]) -> Iterator[str]:
        for file, name in ran:
            if name in self._functions.get(file, ()):
                yield f"{self._inside(file)}:{name}"

    def _outreaching_met(self) -> Iterator[str]:
        loaded = self._tree_modules()
        return (file for file in self._changes.outreaching if file in loaded.values())

    def _unnamed_met(self, ran: Iterable[Place]) -> Iterator[str]:
        """Yield the files that differ and were run under no name that could be followed: scripts,
        modules that were loaded by their path, and the first of two conftests.
        """
        if self._changes.modules:
            unnamed = self._files(ran) - set(self._tree_modules().values())
            yield from unnamed & set(self._changes.modules)

    def _files(self, ran: Iterable[Place]) -> set[str]:
        """Return the files of the tree in which these functions lie."""
        return {inside for file, _ in ran if (inside := self._inside(file)) is not None}

    def _modules_met(self, item: "pytest.Item | None", ran: Iterable[Place]) -> Iterator[str]:
        """Yield the files that differ in what importing them does, and that the test leads to."""
        if not self._changes.modules:
            return
        modules = self._tree_modules()
        ran_files = self._files(ran)
        roots = [name for name, file in modules.items() if file in ran_files]
        if item is not None:  # a process knows no test: modules that it imports run in it
            roots += [n for n, file in modules.items() if self._steers(item, file)]
            orphans = (name for name in modules if self._imports.is_orphan(name))
            roots += [n for n in orphans if not _is_of_tests(n, item)]
            roots.append(_module_name(item))
        reached = self._imports.reached(roots)
        met = {*ran_files, *(modules[name] for name in reached & modules.keys())}
        yield from met & set(self._changes.modules)

    def _steers(self, item: "pytest.Item", file: str) -> bool:
        """Return whether a file is a conftest of the test."""
        folder, _, name = file.rpartition("/")
        own = self._inside(str(item.path)) or ""
        return name == CONFTEST and (not folder or own.startswith(f"{folder}/"))

    def _tree_modules(self) -> dict[str, str]:
        """Return the modules of the tree by name, with their files."""
        files = ((n, getattr(m, "__file__", None)) for n, m in list(sys.modules.items()))
        inside = ((name, self._inside(file)) for name, file in files if isinstance(file, str))
        return {name: file for name, file in inside if file is not None}

    def _inside(self, path: str) -> str | None:
        return relative(path, self._tree)

    # -- what was read, and what cannot be followed -------------------------------------------

    def _audit(
        self,
        event: str,
        args: tuple[Any, ...],
        of_concern: Set[str] = READING_EVENTS | PROCESS_EVENTS,
    ) -> None:
        if event not in of_concern:
            return
        if self._late is not None:
            self._late.append(event)
        elif event in READING_EVENTS:
            self._note_reading(event, args)
        elif not self.processes.is_followed(sys._getframe(1)):
            if self._is_no_concern(sys._getframe(1)):
                self._measuring_forked = True
            else:
                self._unseen.add(PROCESSES)

    def _is_no_concern(self, frame: FrameType | None) -> bool:
        """Return whether a process is started by the measuring code, or before the first test by a
        plug-in, with no code of the tree at work: pytest-benchmark asks git for a commit.
        """
        if _is_measuring(frame) or not self._collecting:
            return _is_measuring(frame)
        while frame is not None:
            file = frame.f_code.co_filename
            if self._inside(file) is not None and not is_own(file):
                return False
            frame = frame.f_back
        return True

    def _note_reading(self, event: str, args: tuple[Any, ...]) -> None:
        path = args[0]
        if not isinstance(path, str | bytes | os.PathLike) or not path:
            return
        caller = sys._getframe(2).f_code.co_filename
        lists = event in ("os.listdir", "os.scandir")
        if lists and (self._collecting or caller.startswith(METADATA)):
            return  # when tests are collected, pytest itself looks for them
        file = os.path.abspath(os.fsdecode(path))
        if caller.startswith(IMPORT_SYSTEM) and (lists or file.endswith(MODULE_SUFFIXES)):
            return
        inside = self._inside(file)
        if inside is not None and not _is_metadata(inside) and not _writes_only(event, args):
            self._read.add(inside)

    def _look_at_extensions(self) -> None:
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and file.endswith(tuple(EXTENSION_SUFFIXES)):
                inside = self._inside(file)
                if inside is not None:
                    self._read.add(inside)
                elif not _is_installed(file):
                    self._unseen.add(f"it loads {os.path.basename(file)}, which is not installed")


def _is_measuring(frame: FrameType | None) -> bool:
    """Return whether the measuring code does this by itself, as where it watches memory, and not
    what it calls: Python's own library and this watch aside, it comes first on the stack.
    """
    while frame is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
    file = "" if frame is None else frame.f_code.co_filename
    return is_own(file) and file not in (OWN_LOOP, calls_module.__file__)


def _is_between(file: str) -> bool:
    if file in (__file__, watch_processes.__file__):
        return True
    return file.startswith(("<frozen ", PYTHON_LIBRARY)) and not _is_installed(file)


def watch_spawned(folder: str) -> None:
    """Begin in a process that a watched one spawned, before it imports anything of the tree."""
    try:
        changes, tree = json.loads(Path(folder, WATCH).read_text())
    except FileNotFoundError:
        return  # the test is over
    watch = CodeWatch(typed(CodeChanges, changes), tree, folder=folder)
    atexit.register(watch.end_spawned)  # before all others, so that it comes last
    watch.install()


def _places(tree: str, file: str) -> set[str]:
    """Return the paths by which code of the file may be known."""
    path = os.path.join(tree, *file.split("/"))
    return {path, os.path.realpath(path)}


def _module_name(item: "pytest.Item") -> str:
    return getattr(getattr(item, "module", None), "__name__", "")


def _is_of_tests(name: str, item: "pytest.Item") -> bool:
    """Return whether it is a module that pytest imports: a test file, or a conftest."""
    collected = {_module_name(each) for each in item.session.items}
    return name in collected or name.rpartition(".")[2] == "conftest"


def _is_metadata(file: str) -> bool:
    """Return whether a file says what is installed, which is the same on both sides."""
    return any(part.endswith((".egg-info", ".dist-info")) for part in file.split("/"))


def _writes_only(event: str, args: tuple[Any, ...]) -> bool:
    if event != "open" or len(args) < 3:
        return False
    mode, flags = args[1], args[2]
    if isinstance(mode, str):
        return not set(mode) & set("r+")
    return isinstance(flags, int) and flags & os.O_ACCMODE == os.O_WRONLY


def _is_installed(file: str) -> bool:
    parts = set(file.replace(os.sep, "/").split("/"))
    return bool(parts & (INSTALLED | {"lib-dynload"}))
