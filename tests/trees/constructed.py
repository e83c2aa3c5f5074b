"""Changes made up to fool the comparison of code. Each is a small library on both sides, and a test
that runs what differs; of the harmless ones the test runs nothing that differs.

`base` and `head` are the text of `lib.py` in the case's own package, or a mapping of its files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

Files = str | Mapping[str, str]


@dataclass(frozen=True)
class Case:
    base: Files
    head: Files
    test: str = "lib.run()"
    more: Mapping[str, str] = field(default_factory=dict)  # files that are the same on both sides

    def files(self, side: str) -> dict[str, str]:
        own: Files = getattr(self, side)
        texts = {"lib.py": own} if isinstance(own, str) else dict(own)
        return {"__init__.py": "", **self.more, **texts}


def swapped(text: str, old: str, new: str, **how: object) -> Case:
    """A case in which `old` became `new`."""
    assert old in text
    return Case(text, text.replace(old, new), **how)  # type: ignore[arg-type]


CONSTANTS = {"consts.py": "N = 5\n"}, {"consts.py": "N = 6\n"}
COMPILER = """
def compiled(function):
    '''Takes the function apart, and never runs it.'''
    steps = function.__code__.co_consts
    return lambda: sum(c for c in steps if isinstance(c, int))
"""


def parallel(
    method: str, target: str = "work", before: str = "", after: str = "child.join()"
) -> str:
    """A library whose `run` starts a process by multiprocessing; `work` calls `changed`, `idle`
    does not.
    """
    return (
        f"import multiprocessing, os, sys, time\n{before}"
        "def changed():\n    return 5\ndef work():\n    return changed()\n"
        "def idle():\n    return 1\n"
        "def start(method, target, **more):\n"
        "    context = multiprocessing.get_context(method)\n"
        "    child = context.Process(target=target, **more)\n    child.start()\n    return child\n"
        "def nested():\n    start('fork', work).join()\n    start('spawn', work).join()\n"
        "def nested_idle():\n    start('fork', idle).join()\n    start('spawn', idle).join()\n"
        f"def run():\n    child = start({method!r}, {target})\n    {after}\n"
    )


def in_a_process(old: str, new: str, *of_library: str, **more: str) -> Case:
    return swapped(parallel(*of_library, **more), old, new)


FIVE_SIX = "return 5", "return 6"
READS = "def read():\n    return open(os.path.join(os.path.dirname(__file__), 'data.md')).read()\n"
LAZY = "def lazy():\n    from . import consts\n    return consts.N\n"
SCRIPTS = {"script.py": "print(5)\n"}, {"script.py": "print(6)\n"}
PROSE = {"data.md": "5\n"}, {"data.md": "6\n"}
SCRIPT = "SCRIPT = os.path.join(os.path.dirname(__file__), 'script.py')\n"

IN_PROCESSES = {
    "spawned": in_a_process(*FIVE_SIX, "spawn"),
    "forked_by_multiprocessing": in_a_process(*FIVE_SIX, "fork"),
    "nested_in_a_spawned_process": in_a_process(*FIVE_SIX, "spawn", "nested"),
    "nested_in_a_forked_process": in_a_process(*FIVE_SIX, "fork", "nested"),
    "failing_process": in_a_process(
        "'5'", "'6'", "spawn", "fail", before="def fail():\n    sys.exit('5')\n"
    ),
    "constant_in_a_process": in_a_process("N = 5", "N = 6", "spawn", "idle", before="N = 5\n"),
    "unpickled_in_a_process": in_a_process(
        "n = 5", "n = 6", "spawn", "C().m",
        before="class C:\n    def __getstate__(self):\n        return {'m': 1}\n"
        "    def __setstate__(self, state):\n        self.n = 5\n    def m(self):\n        pass\n",
    ),
    "at_exit_of_a_process": in_a_process(
        *FIVE_SIX, "spawn", "late", before="import atexit\ndef late():\n    atexit.register(work)\n"
    ),
    "not_joined": in_a_process(
        *FIVE_SIX, "fork", after="multiprocessing.connection.wait([child.sentinel])",
        before="import multiprocessing.connection\n",
    ),
    **{
        f"import_in_a_{method}ed_process": Case(
            *CONSTANTS, more={"lib.py": parallel(method, "lazy", before=LAZY)}
        )
        for method in ("fork", "spawn")
    },
    **{
        f"prose_in_a_{method}ed_process": Case(
            *PROSE, more={"lib.py": parallel(method, "read", before=READS)}
        )
        for method in ("fork", "spawn")
    },
}  # fmt: skip
"""A process meets what differs, and is followed there."""

FOOLING = {
    **IN_PROCESSES,
    # -- what importing the module does
    "constant": swapped("N = 5\ndef run():\n    return N\n", "5", "6"),
    "constant_elsewhere": Case(
        *CONSTANTS, more={"lib.py": "from .consts import N\ndef run():\n    return N\n"}
    ),
    "star_import": Case(
        *CONSTANTS, more={"lib.py": "from .consts import *\ndef run():\n    return N\n"}
    ),
    "attribute_of_a_package": Case(
        *CONSTANTS,
        test="lib.run()",
        more={
            "__init__.py": "from . import consts\n",
            "lib.py": "import importlib\nhere = importlib.import_module(__package__)\n"
            "def run():\n    return here.consts.N\n",
        },
    ),
    "default": swapped("def run(n=5):\n    return n\n", "5", "6"),
    "keyword_default": swapped("def run(*, n=5):\n    return n\n", "5", "6"),
    "mutable_default": swapped("def run(n={'a': 5}):\n    return n\n", "5", "6"),
    "table": swapped("T = [i for i in range(9)]\ndef run():\n    return sum(T)\n", "9", "8"),
    "loop": swapped("T = 0\nfor i in range(9):\n    T += i\ndef run():\n    return T\n", "9", "8"),
    "decorator": swapped(
        "def twice(f):\n    return lambda: f() + f()\n\n\ndef run():\n    return 1\n",
        "\n\n\ndef run", "\n\n\n@twice\ndef run",
    ),
    "decorators_body": swapped(
        "def often(f):\n    return lambda: [f() for _ in range(2)]\n"
        "@often\ndef run():\n    return 1\n",
        "range(2)", "range(3)",
    ),
    "decorators_argument": swapped(
        "def often(n):\n    return lambda f: lambda: [f() for _ in range(n)]\n"
        "@often(2)\ndef run():\n    return 1\n",
        "(2)", "(3)",
    ),
    "base_class": swapped(
        "class A:\n    n = 1\nclass B:\n    n = 2\nclass C(A):\n    pass\n"
        "def run():\n    return C().n\n",
        "C(A)", "C(B)",
    ),
    "class_attribute": swapped("class C:\n    n = 1\ndef run():\n    return C.n\n", "1", "2"),
    "metaclass": swapped(
        "class M(type):\n    n = 1\nclass C:\n    pass\ndef run():\n    return type(C).__name__\n",
        "class C:", "class C(metaclass=M):",
    ),
    "slots": swapped(
        "class C:\n    __slots__ = ()\ndef run():\n    return C()\n", "()\ndef", "('a',)\ndef"
    ),
    "dataclass_default": swapped(
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    n: int = 5\n"
        "def run():\n    return C()\n",
        "5", "6",
    ),
    "dataclass_option": swapped(
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    n: int = 5\n"
        "def run():\n    return C() == C()\n",
        "@dataclass", "@dataclass(eq=False)",
    ),
    "enum": swapped(
        "from enum import Enum\nclass E(Enum):\n    A = 1\ndef run():\n    return E.A.value\n",
        "1", "2",
    ),
    "namedtuple": swapped(
        "from collections import namedtuple\nP = namedtuple('P', 'a b')\n"
        "def run():\n    return P(1, 2)\n",
        "'a b'", "'b a'",
    ),
    "partial": swapped(
        "from functools import partial\nrun = partial(pow, 2, 5)\n", "5", "6"
    ),
    "other_function": swapped(
        "def slow():\n    return 1\ndef fast():\n    return 2\nrun = slow\n", "= slow", "= fast"
    ),
    "annotations": swapped(
        "class C:\n    n: int\ndef run():\n    return C.__annotations__\n", "int", "str"
    ),
    "loaded_by_its_path": Case(
        *CONSTANTS,
        more={
            "lib.py": "import importlib.util, os\n"
            "path = os.path.join(os.path.dirname(__file__), 'consts.py')\n"
            "spec = importlib.util.spec_from_file_location('anything', path)\n"
            "consts = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(consts)\n"
            "def run():\n    return consts.N\n",
        },
    ),
    "run_as_a_script": Case(
        *CONSTANTS,
        more={
            "lib.py": "import runpy\n"
            "def run():\n    return runpy.run_module(f'{__package__}.consts')['N']\n",
        },
    ),
    "forgotten_module": Case(
        *CONSTANTS,
        more={
            "lib.py": "import sys\nfrom . import consts\ndel sys.modules[consts.__name__]\n"
            "def run():\n    return consts.N\n",
        },
    ),
    "reexport": Case(
        {"__init__.py": "from .a import f\n"}, {"__init__.py": "from .b import f\n"},
        more={
            "a.py": "def f():\n    return 1\n", "b.py": "def f():\n    return 1\n",
            "lib.py": "from importlib import import_module\n"
            "def run():\n    return import_module(__package__).f()\n",
        },
    ),
    "conditional_import": Case(
        {}, {"fast.py": "def f():\n    return 1\n"},
        more={
            "slow.py": "def f():\n    return 1\n",
            "lib.py": "try:\n    from .fast import f as run\n"
            "except ImportError:\n    from .slow import f as run\n",
        },
    ),
    "conditional_constant": Case(
        {}, {"fast.py": "N = 1\n"},
        more={
            "lib.py": "try:\n    from .fast import N\nexcept ImportError:\n    N = 1\n"
            "def run():\n    return N\n",
        },
    ),
    "dynamic_import": Case(
        *CONSTANTS,
        more={
            "lib.py": "from importlib import import_module\n"
            "def run():\n    return import_module('.consts', __package__).N\n",
        },
    ),
    "called_at_import": swapped(
        "def helper():\n    return 5\ndef build():\n    return helper()\nN = build()\n"
        "def run():\n    return N\n",
        "return 5", "return 6",
    ),
    "subclass_hook": swapped(
        "class A:\n    def __init_subclass__(cls):\n        cls.n = 5\n"
        "class B(A):\n    pass\ndef run():\n    return B.n\n",
        "5", "6",
    ),
    # -- functions that run
    "body": swapped("def run():\n    return 5\n", "5", "6"),
    "called": swapped("def f():\n    return 5\ndef run():\n    return f()\n", "5", "6"),
    "method": swapped(
        "class C:\n    def m(self):\n        return 5\ndef run():\n    return C().m()\n", "5", "6"
    ),
    "property": swapped(
        "class C:\n    @property\n    def m(self):\n        return 5\n"
        "def run():\n    return C().m\n",
        "5", "6",
    ),
    "setter": swapped(
        "class C:\n    @property\n    def m(self):\n        return 1\n    @m.setter\n"
        "    def m(self, n):\n        self.n = 5\ndef run():\n    C().m = 1\n",
        "5", "6",
    ),
    "static_method": swapped(
        "class C:\n    @staticmethod\n    def m():\n        return 5\n"
        "def run():\n    return C.m()\n",
        "5", "6",
    ),
    "operator": swapped(
        "class C:\n    def __add__(self, other):\n        return 5\n"
        "def run():\n    return C() + 1\n",
        "5", "6",
    ),
    "descriptor": swapped(
        "class D:\n    def __get__(self, *args):\n        return 5\nclass C:\n    d = D()\n"
        "def run():\n    return C().d\n",
        "5", "6",
    ),
    "hash": swapped(
        "class C:\n    def __hash__(self):\n        return 5\ndef run():\n    return {C()}\n",
        "5", "6",
    ),
    "finaliser": swapped(
        "class C:\n    def __del__(self):\n        self.n = 5\ndef run():\n    C()\n", "5", "6"
    ),
    "nested": swapped(
        "def run():\n    def inner():\n        return 5\n    return inner()\n", "5", "6"
    ),
    "factory": swapped(
        "def make():\n    n = 5\n    return lambda: n\nrun = make()\n", "5", "6"
    ),
    "lambda_in_a_function": swapped("def run():\n    return (lambda: 5)()\n", "5", "6"),
    "generator": swapped(
        "def numbers():\n    yield 5\ndef run():\n    return list(numbers())\n", "5", "6"
    ),
    "generator_made_at_import": swapped(
        "def numbers():\n    while True:\n        yield 5\nstream = numbers()\n"
        "def run():\n    return next(stream)\n",
        "5", "6",
    ),
    "coroutine": swapped(
        "import asyncio\nasync def work():\n    return 5\n"
        "def run():\n    return asyncio.run(work())\n",
        "5", "6",
    ),
    "context_manager": swapped(
        "from contextlib import contextmanager\n@contextmanager\ndef c():\n    yield 5\n"
        "def run():\n    with c() as n:\n        return n\n",
        "5", "6",
    ),
    "cached": swapped(
        "from functools import lru_cache\n@lru_cache\ndef f():\n    return 5\n"
        "def run():\n    return f()\n",
        "5", "6",
    ),
    "lazy_module_attribute": Case(
        {"__init__.py": "from . import lib\ndef __getattr__(name):\n    return 5\n"},
        {"__init__.py": "from . import lib\ndef __getattr__(name):\n    return 6\n"},
        more={"lib.py": "import sys\ndef run():\n    sys.modules[__package__].whatever\n"},
    ),
    "by_name": swapped(
        "class C:\n    def m_5(self):\n        return 5\n"
        "def run():\n    return getattr(C(), 'm_' + '5')()\n",
        "return 5", "return 6",
    ),
    "registered": swapped(
        "R = []\ndef register(f):\n    R.append(f)\n@register\ndef f():\n    return 5\n"
        "def run():\n    return [f() for f in R]\n",
        "5", "6",
    ),
    "rare": swapped(
        "calls = 0\ndef f():\n    return 5\ndef run():\n    global calls\n    calls += 1\n"
        "    return f() if calls % 50 == 0 else 0\n",
        "return 5", "return 6", test="[lib.run() for _ in range(60)]",
    ),
    "handler": swapped(
        "class E(Exception):\n    def __init__(self):\n        self.n = 5\n"
        "def run():\n    try:\n        raise E\n    except E as error:\n        return error.n\n",
        "5", "6",
    ),
    "callback_from_c": swapped(
        "def key(n):\n    return 5\ndef run():\n    return sorted([2, 1], key=key)\n", "5", "6"
    ),
    # -- functions that are looked into instead of run
    "compiled_by_decorator": swapped(
        f"{COMPILER}@compiled\ndef run():\n    return 5\n", "5", "6"
    ),
    "compiled_by_call": swapped(
        f"{COMPILER}def step():\n    return 5\nrun = compiled(step)\n", "5", "6"
    ),
    "compiled_elsewhere": Case(
        {"plain.py": "def step():\n    return 5\n"}, {"plain.py": "def step():\n    return 6\n"},
        more={"lib.py": f"from . import plain\n{COMPILER}run = compiled(plain.step)\n"},
    ),
    "compiled_in_a_function": swapped(
        f"{COMPILER}def run():\n    def step():\n        return 5\n    return compiled(step)()\n",
        "5", "6",
    ),
    "compiled_by_what_is_measured": swapped(
        f"{COMPILER}def rlperf(function, *args):\n    return function(*args)\n"
        "def taken():\n    return 5\ndef run():\n    return rlperf(compiled, taken)()\n",
        "5", "6",
    ),
    "compiled_by_its_name": swapped(
        f"{COMPILER}def by_name():\n    return 5\nrun = compiled(globals()['by_name'])\n", "5", "6"
    ),
    "compiled_method": swapped(
        f"{COMPILER}class C:\n    def step():\n        return 5\nrun = compiled(C.step)\n",
        "5", "6",
    ),
    "docstring": swapped("def run():\n    '5'\n    return run.__doc__\n", "5", "6"),
    # -- what is read, and what cannot be followed
    "prose": Case(
        {"data.md": "5\n"}, {"data.md": "6\n"},
        more={
            "lib.py": "from pathlib import Path\n"
            "def run():\n    return Path(__file__).with_name('data.md').read_text()\n",
        },
    ),
    "prose_of_a_package": Case(
        *PROSE,
        more={
            "lib.py": "import pkgutil\n"
            "def run():\n    return pkgutil.get_data(__package__, 'data.md')\n",
        },
    ),
    "prose_at_import": Case(
        {"data.md": "5\n"}, {"data.md": "6\n"},
        more={
            "lib.py": "from pathlib import Path\n"
            "N = Path(__file__).with_name('data.md').read_text()\ndef run():\n    return N\n",
        },
    ),
    "executed_text": Case(
        {"code.py": "N = 5\n"}, {"code.py": "N = 6\n"},
        more={
            "lib.py": "from pathlib import Path\n"
            "def run():\n    exec(Path(__file__).with_name('code.py').read_text())\n",
        },
    ),
    "listed_folder": Case(
        {}, {"parts/two.py": ""},
        more={
            "parts/one.py": "",
            "lib.py": "import os\ndef run():\n"
            "    return os.listdir(os.path.join(os.path.dirname(__file__), 'parts'))\n",
        },
    ),
    "process": Case(
        {"script.py": "print(5)\n"}, {"script.py": "print(6)\n"},
        more={
            "lib.py": "import os, subprocess, sys\nHERE = os.path.dirname(__file__)\ndef run():\n"
            "    subprocess.run([sys.executable, os.path.join(HERE, 'script.py')], check=True)\n",
        },
    ),
    "forked": swapped(
        "import os\ndef work():\n    return 5\ndef run():\n    pid = os.fork()\n    if not pid:\n"
        "        work()\n        os._exit(0)\n    os.waitpid(pid, 0)\n",
        "return 5", "return 6",
    ),
    "terminated_process": in_a_process(
        *FIVE_SIX, "fork", "endless", after="time.sleep(0.2); child.terminate(); child.join()",
        before="def endless():\n    work()\n    time.sleep(60)\n",
    ),
    "process_that_leaves": in_a_process(
        *FIVE_SIX, "spawn", "leave", before="def leave():\n    work()\n    os._exit(0)\n"
    ),
    "replaced_process": Case(
        *SCRIPTS,
        more={"lib.py": parallel(
            "spawn", "become",
            before=f"{SCRIPT}def become():\n"
            "    os.execv(sys.executable, [sys.executable, SCRIPT])\n",
        )},
    ),
    "finaliser_of_a_process": in_a_process(
        "= 5", "= 6", "spawn", "idle",
        before="class C:\n    def __del__(self):\n        self.n = 5\nkept = C()\n",
    ),
    "fork_in_a_process": in_a_process(
        *FIVE_SIX, "fork", "forks",
        before="def forks():\n    pid = os.fork()\n    if not pid:\n"
        "        work()\n        os._exit(0)\n    os.waitpid(pid, 0)\n",
    ),
    "thread_in_a_process": in_a_process(
        *FIVE_SIX, "spawn", "threads",
        before="import threading\ndef threads():\n    thread = threading.Thread(target=work)\n"
        "    thread.start()\n    thread.join()\n",
    ),
    "pool": in_a_process(
        *FIVE_SIX, "fork", "idle", after="child.join(); pooled()",
        before="def pooled():\n    with multiprocessing.get_context('fork').Pool(1) as pool:\n"
        "        pool.apply(work)\n        pool.close()\n        pool.join()\n",
    ),
    "process_of_a_library": Case(
        *SCRIPTS,
        more={"lib.py": parallel(
            "fork", "idle", after="child.join(); ctypes.CDLL(None).system(COMMAND)",
            before=f"import ctypes\n{SCRIPT}COMMAND = f'{{sys.executable}} {{SCRIPT}}'.encode()\n",
        )},
    ),
    "command_in_a_process": Case(
        *SCRIPTS,
        more={"lib.py": parallel(
            "spawn", "subprocess.run, args=([sys.executable, SCRIPT],)",
            before=f"import subprocess\n{SCRIPT}",
        )},
    ),
    "served_by_a_fork_server": in_a_process(*FIVE_SIX, "forkserver"),
    "process_that_outlives_the_test": in_a_process(
        *FIVE_SIX, "spawn", "late", after="",
        before="def late():\n    time.sleep(1)\n    work()\n",
    ),
    "thread": swapped(
        "import threading\nfound = []\ndef work():\n    found.append(5)\ndef run():\n"
        "    thread = threading.Thread(target=lambda: work())\n"
        "    thread.start()\n    thread.join()\n",
        "5", "6",
    ),
}  # fmt: skip

LINGERING = frozenset({"served_by_a_fork_server", "process_that_outlives_the_test"})
"""They leave a process behind, so that nothing could be told of a test that comes after them."""

HARMLESS = {
    "spawned_elsewhere": in_a_process(*FIVE_SIX, "spawn", "idle"),
    "forked_elsewhere": in_a_process(*FIVE_SIX, "fork", "idle"),
    "nested_elsewhere": in_a_process(*FIVE_SIX, "spawn", "nested_idle"),
    "nested_in_a_fork_elsewhere": in_a_process(*FIVE_SIX, "fork", "nested_idle"),
    "daemon_elsewhere": in_a_process(*FIVE_SIX, "spawn", "idle, daemon=True"),
    "failing_elsewhere": in_a_process(*FIVE_SIX, "fork", "sys.exit, args=(1,)"),
    "answer_of_a_process": in_a_process(
        *FIVE_SIX, "spawn", "answer, args=(theirs,)",
        before="ours, theirs = multiprocessing.Pipe()\n"
        "def answer(end):\n    end.send(end.recv())\n",
        after="ours.send(1); ours.recv(); child.join()",
    ),
    "comment": swapped("def run():\n    return 5  # five\n", "# five", "# V"),
    "position": swapped("def run():\n    return 5\n", "def", "\n\n\ndef"),
    "other_functions_body": swapped(
        "def other():\n    return 5\ndef run():\n    return 1\n", "5", "6"
    ),
    "other_method": swapped(
        "class C:\n    def a(self):\n        return 5\n    def b(self):\n        return 1\n"
        "def run():\n    return C().b()\n",
        "5", "6",
    ),
    "branch_not_taken": swapped(
        "def unlucky():\n    return 5\ndef run(n=0):\n    return unlucky() if n else 1\n",
        "return 5", "return 6",
    ),
    "unread_prose": Case({"data.md": "5\n"}, {"data.md": "6\n"}, more={"lib.py": "def run(): 1\n"}),
    "unused_module": Case(*CONSTANTS, more={"lib.py": "def run():\n    return 1\n"}),
    "unchanged_file_read": swapped(
        "from pathlib import Path\ndef other():\n    return 5\n"
        "def run():\n    return Path(__file__).with_name('d.md').read_text()\n",
        "5", "6", more={"d.md": "5\n"},
    ),
    "new_module": Case(
        {}, {"new.py": "def f():\n    return 1\n"}, more={"lib.py": "def run():\n    return 1\n"}
    ),
}  # fmt: skip
