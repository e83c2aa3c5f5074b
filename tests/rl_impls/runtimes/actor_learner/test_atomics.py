"""Shared counters are read and written by the instructions that keep their order, on ARM too."""

import os
import re

import numpy as np
import pytest

from rl_impls.jit import compiled
from rl_impls.runtimes.actor_learner.atomics import (
    copy_rows,
    fence_all,
    fence_reads,
    fence_writes,
    load_acquire,
    store_release,
    swap_if,
)

ARM = "aarch64-unknown-linux-gnu"


def each_once(marks):
    store_release(marks, 1, load_acquire(marks, 0))
    fence_writes()
    marks[2] = 3
    fence_reads()
    marks[3] = marks[2] + 1
    fence_all()
    return swap_if(marks, 0, 5, 6)


def test_without_a_compiler_they_do_the_same():
    marks = np.array([5, 0, 0, 0])
    assert each_once(marks)
    assert not each_once(marks)
    assert marks.tolist() == [6, 6, 3, 4]


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_on_arm_they_are_instructions_that_keep_their_order():
    import llvmlite.binding as llvm  # type: ignore[import-untyped]
    from numba import njit

    compiled = njit(each_once)
    assert compiled(np.array([5, 0, 0, 0]))
    whole = compiled.inspect_llvm(compiled.signatures[0])
    found = re.search(r"^define [^\n]*each_once.*?^}", whole, re.DOTALL | re.MULTILINE)
    assert found
    # Without references to what stands elsewhere and belongs to this machine.
    body = re.sub(r" #\d+|, !\w+ !\d+", "", found[0])
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    code = llvm.Target.from_triple(ARM).create_target_machine().emit_assembly(
        llvm.parse_assembly(body)
    )  # fmt: skip
    barriers = re.findall(r"\b(ldar|stlr|dmb\tishld|dmb\tish|ldaxr|stlxr)\b", code)
    assert barriers == ["ldar", "stlr", "dmb\tish", "dmb\tishld", "dmb\tish", "ldaxr", "stlxr"]


# Rows from one array to another, compiled and not.


@compiled
def copied(goal, at, source, begin, n):
    copy_rows(goal, at, source, begin, n)
    return goal


@pytest.mark.parametrize("copy", [copied, copied.py_func if hasattr(copied, "py_func") else copied])
@pytest.mark.parametrize("step", [1, 2])  # in one piece, and not
def test_the_rows_that_are_named_are_copied_and_no_others(copy, step):
    source = np.arange(15, dtype=np.uint64).reshape(5, 3)
    goal = np.zeros((4, 3 * step), np.uint64)[:, ::step]
    copy(goal, 1, source, 2, 2)
    assert goal.tolist() == [[0, 0, 0], [6, 7, 8], [9, 10, 11], [0, 0, 0]]
