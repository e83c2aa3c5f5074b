"""Facts about the machine and the libraries that belong beside every measurement.

Some of them decide whether a stored time may be compared with, and those of `MACHINE` name its
folder. Those of the CPU tell one from another where its name does not: a hypervisor calls several
generations by one name.
"""

import ast
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from pytest_rlperf.machine.host import can_fix_addresses
from pytest_rlperf.model.result import Facts, Fingerprint

LIBRARIES = (
    "pytest-rlperf", "pytest", "numpy", "numba", "torch", "jax", "gymnasium", "stable-baselines3",
)  # fmt: skip
CPU = ("vendor", "family", "model", "stepping", "caches", "simd", "threads_per_core")
MACHINE = ("cpu", *CPU, "cores", "architecture")
"""Facts that must all be equal for two machines to be one."""


def read_fingerprint(
    cores: Sequence[int], threads: Mapping[str, int], project: Path
) -> Fingerprint:
    """Read the facts of this machine; `cores` are those that are measured on, `threads` by test,
    `project` the folder of the repository under test.
    """
    return {
        **read_machine(),
        "pinned_to": list(cores),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "python_build": f"{platform.python_version()}, {platform.python_compiler()}",
        "implementation": platform.python_implementation(),
        "libraries": library_versions(),
        "distributions": distributions(sys.path, project),
        "threads": dict(threads),
        "addresses": "fixed" if can_fix_addresses() else "random",
    }


def read_machine() -> Fingerprint:
    """Read the facts that tell this machine from others."""
    return {
        "cpu": cpu_name(),
        **read_cpu(),
        "cores": os.cpu_count() or 1,
        "architecture": platform.machine(),
    }


def machine_facts(fingerprint: Mapping[str, Any]) -> Facts:
    """Pick the facts of the machine that are known."""
    return {name: fingerprint[name] for name in MACHINE if name in fingerprint}


def comparable(fingerprint: Fingerprint, threads: int) -> Facts:
    """Pick the facts that decide whether a stored time may be compared with."""
    libraries = fingerprint["libraries"]
    return {
        **machine_facts(fingerprint),
        "implementation": fingerprint["implementation"],
        "python": ".".join(fingerprint["python"].split(".")[:2]),
        "python_build": fingerprint["python_build"],
        "threads": threads,
        "numpy": libraries.get("numpy"),
        "blas": blas_version() if "numpy" in libraries else None,
        "addresses": fingerprint["addresses"],
    }


def blas_version() -> str | None:
    """Name the linear algebra library that numpy was built with, and its version. The file that
    says so is read, since importing numpy takes a tenth of a second.
    """
    numpy = find_spec("numpy")
    return None if numpy is None or numpy.origin is None else blas_in(Path(numpy.origin).parent)


def blas_in(numpy: Path) -> str | None:
    """Name the one of the numpy in this folder."""
    try:
        text = (numpy / "__config__.py").read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError):
        return None
    for node in ast.walk(tree):
        blas = _entries(node).get("blas")
        if isinstance(blas, ast.Dict):
            words = (_entries(blas).get(key) for key in ("name", "version"))
            texts = [str(word.value) for word in words if isinstance(word, ast.Constant)]
            return " ".join(texts) if len(texts) == 2 else None
    return None


def _entries(node: ast.AST) -> dict[object, ast.expr]:
    """Return the values of a dictionary in source code, by those of its keys that are constants."""
    if not isinstance(node, ast.Dict):
        return {}
    pairs = zip(node.keys, node.values, strict=True)
    return {key.value: value for key, value in pairs if isinstance(key, ast.Constant)}


def library_versions() -> dict[str, str]:
    versions = {}
    for name in LIBRARIES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


OWN = "pytest_rlperf-"
DIRECT_URL = "direct_url.json"


def distributions(path: Sequence[str], project: Path) -> str | None:
    """Return a digest of everything that is installed in these folders, by name and version; None:
    some code lies in a folder of its own, where no version tells what it is. That of the project
    does not count, nor does the code that measures.
    """
    found: set[str] = set()
    for folder in map(Path, filter(None, path)):
        infos = [info for info in folder.glob("*-info") if "-" in info.stem]  # with a version
        others = [info for info in infos if not info.name.startswith(OWN)]
        origins = {info: _editable_origin(info) for info in others}
        known = infos or _is_below(folder, project, sys.prefix, sys.base_prefix)
        if folder.exists() and not known:
            return None
        if not all(_is_below(Path(origin), project) for origin in filter(None, origins.values())):
            return None
        found.update(_identity(info) for info, origin in origins.items() if origin is None)
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()[:16]


def _is_below(folder: Path, *places: str | Path) -> bool:
    real = Path(os.path.realpath(folder))
    return any(real.is_relative_to(os.path.realpath(place)) for place in places)


def _identity(info: Path) -> str:
    """Return name and version of a distribution; of one that came from no index, whose version may
    stay while it changes, its files too.
    """
    files = ""
    if (info / DIRECT_URL).exists():
        with suppress(OSError):
            files = (info / "RECORD").read_text(encoding="utf-8", errors="replace")
    return f"{info.name} {files}".strip()


def _editable_origin(info: Path) -> str | None:
    """Return the folder that an editable distribution was installed from, by what pip left."""
    try:
        origin = json.loads((info / DIRECT_URL).read_text(encoding="utf-8"))
        editable = origin.get("dir_info", {}).get("editable", False)
        return unquote(urlsplit(origin["url"]).path) if editable else None
    except (OSError, ValueError, KeyError, AttributeError):
        return None


def machine_key(facts: Facts) -> str:
    """Name the folder of a machine: what people know it by, and six digits for all of its facts,
    since a hypervisor calls several CPUs by one name. Older files have no such facts.
    """
    kind = [f"{n[0]}{facts[n]}" for n in ("family", "model", "stepping") if n in facts]
    words = [str(facts["cpu"]), *kind, f"{facts['cores']} cores {facts['architecture']}"]
    if any(name in facts for name in CPU):
        every = "\n".join(f"{name} {facts.get(name)}" for name in MACHINE)
        words.append(hashlib.sha256(every.encode()).hexdigest()[:6])
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")


# -- the CPU: readers are pure functions of what the system says; what it does not say is left out -

PROC_CPUINFO = Path("/proc/cpuinfo")
SYS_CPUS = Path("/sys/devices/system/cpu")
SYSCTL = ("sysctl", "hw", "machdep.cpu")

X86_SIMD = re.compile(r"ssse3|sse4_[12]|avx\w*|amx\w*|fma4?|f16c|bmi[12]")
ARM_SIMD = re.compile(r"neon|vfpv[34]|asimd\w*|sve\w*|sme\w*|i8mm|bf16|fp16|fhm|dotprod")
"""Features by which numpy, BLAS libraries and compilers choose the code that runs. There are two
patterns: x86 has an `sme` that encrypts memory."""


@functools.cache
def read_cpu() -> Fingerprint:
    """Read the facts of this machine's CPU."""
    facts = _from_sysctl() if sys.platform == "darwin" else _from_files()
    return cast(Fingerprint, facts)


def cpu_name() -> str:
    return read_cpu().get("cpu") or platform.processor() or platform.machine()


def _from_sysctl() -> dict[str, str | int]:
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(SYSCTL, capture_output=True, text=True, timeout=10)
        return sysctl_facts(done.stdout)
    return {}


def _from_files() -> dict[str, str | int]:
    caches = [
        tuple(_text(index / name) for name in ("level", "type", "size"))
        for index in sorted((SYS_CPUS / "cpu0" / "cache").glob("index*"))
    ]
    siblings = map(_text, SYS_CPUS.glob("cpu[0-9]*/topology/thread_siblings_list"))
    facts: dict[str, str | int] = {
        **cpuinfo_facts(_text(PROC_CPUINFO)),
        "caches": cache_sizes(caches),
        "threads_per_core": threads_per_core(siblings),
    }
    return {name: fact for name, fact in facts.items() if fact}


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(errors="replace").strip()
    return ""


CPUINFO = {
    "model name": "cpu", "vendor_id": "vendor", "cpu family": "family", "model": "model",
    "stepping": "stepping",
    "CPU implementer": "vendor", "CPU architecture": "family", "CPU part": "model",
}  # fmt: skip
"""Names of /proc/cpuinfo, on x86 and on ARM, with the facts they become."""


def cpuinfo_facts(text: str) -> dict[str, str]:
    """Read /proc/cpuinfo. Where its cores are not alike, a fact has the value of each kind."""
    said: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        said.setdefault(name.strip(), []).append(value.strip())
    facts = {fact: _kinds(said[name]) for name, fact in CPUINFO.items() if name in said}
    variants, revisions = said.get("CPU variant", []), said.get("CPU revision", [])
    if variants and revisions:  # as ARM writes it: r3p1
        pairs = zip(variants, revisions, strict=False)
        facts["stepping"] = _kinds(f"r{v.removeprefix('0x')}p{revision}" for v, revision in pairs)
    flags, features = (said.get(name, [""])[0].split() for name in ("flags", "Features"))
    facts["simd"] = _simd(X86_SIMD, flags) or _simd(ARM_SIMD, features)
    return {name: fact for name, fact in facts.items() if fact}


def _kinds(values: Iterable[str]) -> str:
    return "+".join(value for value in dict.fromkeys(values) if value not in ("", "unknown"))


def _simd(pattern: re.Pattern[str], features: Iterable[str]) -> str:
    return " ".join(sorted({feature for feature in features if pattern.fullmatch(feature)}))


CACHE_TYPES = {"Data": "d", "Instruction": "i"}


def cache_sizes(caches: Iterable[Sequence[str]]) -> str:
    """Return "L1d 48K, L1i 32K, L2 1024K" of the level, type and size of each."""
    named = {f"L{level}{CACHE_TYPES.get(kind, '')}": size for level, kind, size in caches}
    return ", ".join(f"{name} {size}" for name, size in sorted(named.items()) if size)


def threads_per_core(siblings: Iterable[str]) -> int:
    """Return how many threads share a core, by the lists of each thread's siblings, such as "0,4"
    or "0-1"; 0: unknown.
    """
    return max((sum(map(_length, spans.split(","))) for spans in siblings if spans), default=0)


def _length(span: str) -> int:
    first, _, last = span.partition("-")
    return int(last or first) - int(first) + 1


SYSCTL_FACTS = {
    "machdep.cpu.brand_string": "cpu",
    "machdep.cpu.vendor": "vendor",
    "machdep.cpu.family": "family",
    "machdep.cpu.model": "model",
    "machdep.cpu.stepping": "stepping",
    # Apple's own have these instead.
    "hw.cpufamily": "family",
    "hw.cpusubfamily": "model",
}
OPTIONAL = re.compile(r"^hw\.optional\.(?:arm\.)?(?:FEAT_)?(\w+): 1$", re.MULTILINE)
CACHE = re.compile(r"^hw\.l(\d[di]?)cachesize: ([1-9]\d*)", re.MULTILINE)


def sysctl_facts(text: str) -> dict[str, str | int]:
    """Read what `sysctl hw machdep.cpu` says, on Intel's and on Apple's CPUs."""
    said = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    facts: dict[str, str | int] = {}
    for name, fact in SYSCTL_FACTS.items():
        if said.get(name):
            facts.setdefault(fact, said[name])
    offered = [feature.lower() for feature in OPTIONAL.findall(text)]
    facts["simd"] = _simd(X86_SIMD, offered) or _simd(ARM_SIMD, offered)
    caches = sorted(CACHE.findall(text))
    facts["caches"] = ", ".join(f"L{level} {int(size) // 1024}K" for level, size in caches)
    physical, logical = (int(said.get(f"hw.{name}cpu", 0)) for name in ("physical", "logical"))
    facts["threads_per_core"] = logical // physical if physical else 0
    return {name: fact for name, fact in facts.items() if fact}
