"""Loads and stores of shared counters in a promised order, for compiled code.

They become LLVM's atomic instructions, which each processor's backend knows how to keep: on x86,
where stores become visible in program order and loads are made in it, acquire and release are
plain moves that the compiler may not reorder; on ARM, which promises neither, they are `ldar` and
`stlr`. Only `fence_all` costs something on both: `mfence`, `dmb ish`.

They are fixed: what Numba has cached of their callers never goes stale.

Called from Python they are plain accesses: enough for one thread at a time, and for no more.
"""

from __future__ import annotations

from typing import Any, Final

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from rl_impls.jit import require_numba

require_numba("an actor-learner pipeline", otherwise="train in one process")


WORD_BYTES: Final = 8


def load_acquire(marks: Any, at: int) -> int:
    """Load so that whatever is read after this is at least as new as this."""
    return int(marks[at])


def store_release(marks: Any, at: int, value: int) -> None:
    """Store so that whoever sees this value sees all that was written before it."""
    marks[at] = value


def swap_if(marks: Any, at: int, old: int, new: int) -> bool:
    """Write `new` if `old` is there still, in one step that no other process can split."""
    if marks[at] != old:
        return False
    marks[at] = new
    return True


def fence_reads() -> None:
    """Have reads before it done before reads and writes after it."""


def fence_writes() -> None:
    """Let writes after it become visible after reads and writes before it."""


def fence_all() -> None:
    """Let nothing pass, not even a later read an earlier write."""


def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


def _load_code(typing: Any, marks: Any, at: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _address(context, builder, signature.args[0], args[0], args[1])
        return builder.load_atomic(place, "acquire", WORD_BYTES)

    return types.int64(marks, types.intp), code


_load: Any = intrinsic(_load_code)


def _store_code(typing: Any, marks: Any, at: Any, value: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _address(context, builder, signature.args[0], args[0], args[1])
        builder.store_atomic(args[2], place, "release", WORD_BYTES)
        return context.get_dummy_value()

    return types.void(marks, types.intp, types.int64), code


_store: Any = intrinsic(_store_code)


def _swap_code(typing: Any, marks: Any, at: Any, old: Any, new: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _address(context, builder, signature.args[0], args[0], args[1])
        done = builder.cmpxchg(place, args[2], args[3], "seq_cst", "seq_cst")
        return builder.extract_value(done, 1)

    return types.boolean(marks, types.intp, types.int64, types.int64), code


_swap: Any = intrinsic(_swap_code)


def _fence(ordering: str) -> Any:
    def fence(typing: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            builder.fence(ordering)
            return context.get_dummy_value()

        return types.void(), code

    return intrinsic(fence)


_acquire, _release, _all = _fence("acquire"), _fence("release"), _fence("seq_cst")


@overload(load_acquire, strict=False)
def _load_acquire(marks: Any, at: Any) -> Any:
    return lambda marks, at: _load(marks, at)


@overload(store_release, strict=False)
def _store_release(marks: Any, at: Any, value: Any) -> Any:
    return lambda marks, at, value: _store(marks, at, value)


@overload(swap_if, strict=False)
def _swap_if(marks: Any, at: Any, old: Any, new: Any) -> Any:
    return lambda marks, at, old, new: _swap(marks, at, old, new)


@overload(fence_reads, strict=False)
def _fence_reads() -> Any:
    return lambda: _acquire()


@overload(fence_writes, strict=False)
def _fence_writes() -> Any:
    return lambda: _release()


@overload(fence_all, strict=False)
def _fence_all() -> Any:
    return lambda: _all()


# Rows of one array to another by the C library's memcpy, for compiled code.
#
# It knows how the processor copies fastest: rows of 28 kB took a loop over words twice as long. On
# x86 it may use string instructions, whose stores are not in order among themselves; a store after
# them still comes after them all, so that `store_release` keeps its promise.
#
# It is fixed: what Numba has cached of its callers never goes stale.


require_numba("an actor-learner pipeline", otherwise="train in one process")


_memcpy: Any = cgutils.raw_memcpy


def copy_rows(goal: Any, at: int, source: Any, begin: int, n: int) -> None:
    """Copy `n` rows of `source` from `begin` on to `goal` from `at` on; both are as wide."""
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
