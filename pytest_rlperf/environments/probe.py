"""Tells what an environment is, in JSON. Run by its path in the interpreter that is asked, which
may be any version of Python and may have nothing installed: so it imports Python's library only.
"""

import hashlib
import json
import os
import platform
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.metadata import Distribution

CONFIGURED = ("CONFIG_ARGS", "PY_CFLAGS", "PY_CFLAGS_NODIST", "PY_CORE_LDFLAGS")
"""Of sysconfig: what Python's build was told, and how the compiler was called."""


def describe() -> "dict[str, object]":
    """Return the facts of this interpreter and what it would import."""
    import sysconfig

    interpreter = {
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "build of Python": " ".join(platform.python_build()),
        "compiler of Python": platform.python_compiler(),
        "debug build": str(bool(sysconfig.get_config_var("Py_DEBUG"))),
        "without a GIL": str(bool(sysconfig.get_config_var("Py_GIL_DISABLED"))),
    }
    for name in CONFIGURED:
        interpreter[name] = " ".join(str(sysconfig.get_config_var(name) or "").split())
    return {
        "version": list(sys.version_info[:3]),
        "path": [entry for entry in sys.path if entry],
        "prefixes": [sys.prefix, sys.base_prefix],
        "interpreter": interpreter,
        "numpy": _numpy(),
        "distributions": _distributions(),
    }


def _numpy() -> "str | None":
    """Return the folder that numpy lies in; None: there is none."""
    folders = [os.path.join(entry, "numpy") for entry in sys.path if entry]
    return next((f for f in folders if os.path.exists(os.path.join(f, "__init__.py"))), None)


def _distributions() -> "dict[str, dict[str, str]]":
    """Return version, wheel tags, a digest of the files and the origin of all that is installed,
    by name. Of several of one name the first is imported.
    """
    try:
        from importlib.metadata import distributions
    except ImportError:  # an old Python, which is refused for that
        return {}
    found: dict[str, dict[str, str]] = {}
    for each in distributions():
        name = each.metadata["Name"]
        if name and name not in found:
            tags = [line for line in _lines(each, "WHEEL") if line.startswith(("Tag:", "Build:"))]
            found[name] = {
                "version": each.version or "",
                "tags": " ".join(sorted(line.partition(":")[2].strip() for line in tags)),
                "files": _digest(_lines(each, "RECORD")),
                "origin": "".join(_lines(each, "direct_url.json")),
            }
    return found


def _lines(distribution: "Distribution", name: str) -> "list[str]":
    try:
        return (distribution.read_text(name) or "").splitlines()
    except (OSError, ValueError):
        return []


def _digest(record: "list[str]") -> str:
    """Return a digest of the files that came with a wheel. Scripts and what the installer writes
    hold paths of the environment, and say nothing of the build.
    """
    own = [
        line
        for line in record
        if "sha256=" in line and not line.startswith("..") and ".dist-info/" not in line
    ]
    return hashlib.sha256("\n".join(sorted(own)).encode()).hexdigest()[:8] if own else ""


if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]  # the folder of this file
    print(json.dumps(describe()))
