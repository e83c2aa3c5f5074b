"""What the way down a sum tree takes and Numba does not write by itself: vectors and prefetches.

They are LLVM's own, which each processor's backend turns into what it has: with AVX-512, eight sums
of a group in three steps, and one comparison with all of them. They are fixed: what Numba has
cached of their callers never goes stale.

Called from Python they do the same with NumPy, and fetch nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, overload

from rl_impls.replay.layout import LINE
from rl_impls.replay.tree import ends_of


def child_at(groups: Any, group: int, mark: float) -> tuple[int, float]:
    """The child of a group in which the mark lies, and how far into it.

    Without a branch: nobody can foretell where the mark lies. Behind all of them is in the last.
    """
    ends = ends_of(groups[group])
    child = int(np.count_nonzero(mark >= ends[:-1]))
    return child, float(mark - (ends[child - 1] if child else 0.0))


def fetch(rows: Any, row: int) -> None:
    """Have a row under way from memory before it is needed."""


def _place(context: Any, builder: Any, kind: Any, rows: Any, row: Any) -> Any:
    """The address of a row of a two-dimensional array."""
    array = context.make_array(kind)(context, builder, rows)
    width = builder.extract_value(array.shape, 1)
    return builder.gep(array.data, [builder.mul(row, width)])


def _begins(builder: Any, children: Any) -> Any:
    """Where each child begins: 0, then all of `tree.ends_of` but the last."""
    n = children.type.count
    zeros = ir.Constant(children.type, [0.0] * n)

    def moved(lanes: Any, by: int) -> Any:
        sources = [n] * by + list(range(n - by))
        kind = ir.VectorType(ir.IntType(32), n)
        return builder.shuffle_vector(lanes, zeros, ir.Constant(kind, sources))

    ends, by = children, 1
    while by < n:
        ends = builder.fadd(ends, moved(ends, by))
        by *= 2
    return moved(ends, 1)


def _everywhere(builder: Any, number: Any, n: int) -> Any:
    """A vector of n times this number."""
    lanes = ir.Constant(ir.VectorType(number.type, n), ir.Undefined)
    first = builder.insert_element(lanes, number, ir.IntType(32)(0))
    to_first = ir.Constant(ir.VectorType(ir.IntType(32), n), [0] * n)
    return builder.shuffle_vector(first, lanes, to_first)


def _child_code(typing: Any, groups: Any, group: Any, mark: Any) -> Any:
    n = 8 * LINE // groups.dtype.bitwidth

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kept = ir.VectorType(context.get_data_type(groups.dtype), n)
        place = _place(context, builder, signature.args[0], args[0], args[1])
        children = builder.load(builder.bitcast(place, kept.as_pointer()), align=4)
        if groups.dtype != types.float64:
            children = builder.fpext(children, ir.VectorType(ir.DoubleType(), n))
        begins = _begins(builder, children)
        behind = builder.fcmp_ordered(">=", _everywhere(builder, args[2], n), begins)
        # Whatever rounding did to the mark, nothing lies before the first.
        others = ir.Constant(ir.VectorType(ir.IntType(1), n), [False] + [True] * (n - 1))
        flags = builder.bitcast(builder.and_(behind, others), ir.IntType(n))
        child = builder.zext(builder.ctpop(flags), ir.IntType(64))
        rest = builder.fsub(args[2], builder.extract_element(begins, child))
        return context.make_tuple(builder, signature.return_type, (child, rest))

    pair = types.Tuple((types.int64, types.float64))  # type: ignore[no-untyped-call]
    return pair(groups, types.intp, types.float64), code


_child: Any = intrinsic(_child_code)


def _fetch_code(typing: Any, rows: Any, row: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        place = _place(context, builder, signature.args[0], args[0], args[1])
        # To be read; into the nearest cache; data, not code.
        builder.call(prefetch, [builder.bitcast(place, pointer), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(rows, types.intp), code


_fetch: Any = intrinsic(_fetch_code)


@overload(child_at, strict=False)
def _child_at(groups: Any, group: Any, mark: Any) -> Any:
    return lambda groups, group, mark: _child(groups, group, mark)


@overload(fetch, strict=False)
def _fetch_row(rows: Any, row: Any) -> Any:
    return lambda rows, row: _fetch(rows, row)
