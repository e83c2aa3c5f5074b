"""The best action of a row of a closed table, or any, in vectors.

Numba does not write these by itself. The vectors are LLVM's own, which each processor's backend
turns into what it has: with AVX-512 a row is one load, its maximum four steps, and the first action
that has it one comparison. They are fixed: what Numba has cached of their callers never goes stale.
Called from Python they do the same with NumPy.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic, overload

LANES: Final = 16  # of float32, in 64 bytes
_I32: Final = ir.IntType(32)
_ROW: Final = ir.VectorType(ir.FloatType(), LANES)
_NUMBERS: Final = ir.VectorType(_I32, LANES)
_COUNT: Final = ir.Constant(_NUMBERS, list(range(LANES)))
_BITS: Final = ir.IntType(LANES)
_I64: Final = ir.IntType(64)
_NOTHING: Final = float("-inf")
_FLAGS: Final = ir.VectorType(ir.IntType(1), LANES)


def best_with(q: Any, row: int, action: int, value: Any) -> int:
    """Return the best action, the first of equals, of a row of at most `LANES` actions, as if
    `action` had this value.

    The row is not read after it was written: a vector that holds a number which is still on its
    way to memory would wait for it.
    """
    values = q[row].copy()
    values[action] = value
    return int(values.argmax())


def any_in(q: Any, row: int, draw: int) -> int:
    """Return a legal action of a row of at most `LANES` actions, each as likely as the others, by a
    draw of 32 bits; without a branch, which nobody could foretell."""
    legal = np.flatnonzero(q[row] != -np.inf)
    return int(legal[int(draw) * len(legal) >> 32]) if len(legal) else 0


def _everywhere(builder: Any, number: Any, kind: Any) -> Any:
    """Return a vector of this kind with the same number in all lanes."""
    lanes = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(lanes, number, _I32(0))
    return builder.shuffle_vector(first, lanes, ir.Constant(_NUMBERS, [0] * LANES))


def _declared(builder: Any, kind: Any, name: str) -> Any:
    return get_or_insert_function(builder.module, kind, name)  # type: ignore[no-untyped-call]


def _loaded(builder: Any, place: Any, flags: Any) -> Any:
    """Return the lanes that the flags name, and minus infinity in the others."""
    pointer = _ROW.as_pointer()
    kind = ir.FunctionType(_ROW, [pointer, _I32, _FLAGS, _ROW])
    name = f"llvm.masked.load.v{LANES}f32.p0"
    load = _declared(builder, kind, name)
    others = ir.Constant(_ROW, [_NOTHING] * LANES)
    return builder.call(load, [builder.bitcast(place, pointer), _I32(4), flags, others])


def _greatest(builder: Any, values: Any) -> Any:
    """Return a vector with the greatest value in all lanes."""
    by = LANES // 2
    while by:
        turned = ir.Constant(_NUMBERS, [lane ^ by for lane in range(LANES)])
        others = builder.shuffle_vector(values, values, turned)
        values = builder.select(builder.fcmp_ordered(">", values, others), values, others)
        by //= 2
    return values


def _first(builder: Any, flags: Any) -> Any:
    """Return the first lane whose flag is set; behind the last where none is."""
    return builder.cttz(builder.zext(builder.bitcast(flags, _BITS), _I64), ir.IntType(1)(0))


def _row(context: Any, builder: Any, kind: Any, q: Any, row: Any) -> Any:
    """Return a row in a vector, with minus infinity behind its end."""
    array = context.make_array(kind)(context, builder, q)
    width = builder.extract_value(array.shape, 1)
    place = builder.gep(array.data, [builder.mul(row, width)])
    n_actions = _everywhere(builder, builder.trunc(width, _I32), _NUMBERS)
    return _loaded(builder, place, builder.icmp_signed("<", _COUNT, n_actions))


def _best_code(typing: Any, q: Any, row: Any, action: Any, value: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = _row(context, builder, signature.args[0], args[0], args[1])
        taken = _everywhere(builder, builder.trunc(args[2], _I32), _NUMBERS)
        new = _everywhere(builder, args[3], _ROW)
        values = builder.select(builder.icmp_signed("==", _COUNT, taken), new, values)
        return _first(builder, builder.fcmp_ordered("==", values, _greatest(builder, values)))

    return types.int64(q, types.int64, types.int64, types.float32), code


_best: Any = intrinsic(_best_code)


def _any_code(typing: Any, q: Any, row: Any, draw: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values = _row(context, builder, signature.args[0], args[0], args[1])
        legal = builder.fcmp_ordered(">", values, ir.Constant(_ROW, [_NOTHING] * LANES))
        bits = builder.zext(builder.bitcast(legal, _BITS), _I64)
        product = builder.mul(args[2], builder.ctpop(bits))
        skipped = builder.trunc(builder.lshr(product, _I64(32)), _I32)
        # How many legal actions come before each.
        before = ir.Constant(_NUMBERS, [(1 << lane) - 1 for lane in range(LANES)])
        all_bits = _everywhere(builder, builder.trunc(bits, _I32), _NUMBERS)
        kind = ir.FunctionType(_NUMBERS, [_NUMBERS])
        count = _declared(builder, kind, f"llvm.ctpop.v{LANES}i32")
        ranks = builder.call(count, [builder.and_(all_bits, before)])
        chosen = builder.icmp_signed("==", ranks, _everywhere(builder, skipped, _NUMBERS))
        return builder.and_(_first(builder, builder.and_(chosen, legal)), _I64(LANES - 1))

    return types.int64(q, types.int64, types.int64), code


_any: Any = intrinsic(_any_code)


@overload(best_with, strict=False)
def _best_with(q: Any, row: Any, action: Any, value: Any) -> Any:
    return lambda q, row, action, value: _best(q, row, action, value)


@overload(any_in, strict=False)
def _any_in(q: Any, row: Any, draw: Any) -> Any:
    return lambda q, row, draw: _any(q, row, draw)
