"""Rows of one array to another by the C library's memcpy, for compiled code.

It knows how the processor copies fastest: rows of 28 kB took a loop over words twice as long. On
x86 it may use string instructions, whose stores are not in order among themselves; a store after
them still comes after them all, so that `store_release` keeps its promise.

It is fixed: what Numba has cached of its callers never goes stale.
"""

from __future__ import annotations

from typing import Any

from rl_impls.jit import require_numba

require_numba("an actor-learner pipeline", otherwise="train in one process")

from numba import types  # noqa: E402
from numba.core import cgutils  # noqa: E402
from numba.extending import intrinsic, overload  # noqa: E402

_memcpy: Any = cgutils.raw_memcpy


def copy_rows(goal: Any, at: int, source: Any, begin: int, n: int) -> None:
    """`n` rows of `source` from `begin` on, to `goal` from `at` on; both are as wide."""
    goal[at : at + n] = source[begin : begin + n]


def _copy_words_code(typing: Any, goal: Any, at: Any, source: Any, begin: Any, n: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to, at, source, begin, n = args
        into = context.make_array(signature.args[0])(context, builder, to).data
        out_of = context.make_array(signature.args[2])(context, builder, source).data
        n_bytes = context.get_abi_sizeof(context.get_data_type(goal.dtype))
        _memcpy(builder, builder.gep(into, [at]), builder.gep(out_of, [begin]), n, n_bytes)
        return context.get_dummy_value()

    return types.void(goal, types.intp, source, types.intp, types.intp), code


_copy_words: Any = intrinsic(_copy_words_code)


@overload(copy_rows, strict=False)
def _copy_rows(goal: Any, at: Any, source: Any, begin: Any, n: Any) -> Any:
    if goal.layout == source.layout == "C" and goal.dtype == source.dtype:

        def in_one_piece(goal: Any, at: Any, source: Any, begin: Any, n: Any) -> None:
            width = goal.shape[1]
            _copy_words(goal, at * width, source, begin * width, n * width)

        return in_one_piece

    def word_by_word(goal: Any, at: Any, source: Any, begin: Any, n: Any) -> None:
        for i in range(n):
            for j in range(goal.shape[1]):
                goal[at + i, j] = source[begin + i, j]

    return word_by_word
