"""A fresh process that imports modules and tells how long that took.

Run by path and with `-P`, so that nothing but this file decides what is importable.
"""

import json
import os
import sys
from importlib import import_module
from typing import Any


def measure(order: dict[str, Any]) -> dict[str, Any]:
    """The measuring code is imported before the tree's own modules can be, as in a worker."""
    sys.path[:] = order["sys_path"]
    from pytest_rlperf.trees.imports import explain, foreign_imports, install_tree_finder
    from pytest_rlperf.worker.clock import SystemClock

    trees = order["head_tree"], order["tree"], order["import_roots"]
    install_tree_finder(*trees)
    clock = SystemClock()
    clock.start()
    for name in order["names"]:
        import_module(name)
    elapsed = clock.stop()
    head_tree, tree, roots = trees
    found = foreign_imports(tree, head_tree, roots, sys.modules)
    return {"own_ns": elapsed.own_ns, "foreign": explain(found) if found else None}


if __name__ == "__main__":
    answer = os.dup(1)
    os.dup2(2, 1)  # what modules print while they are imported is no answer
    told = measure(json.load(sys.stdin))
    os.write(answer, json.dumps(told).encode())
