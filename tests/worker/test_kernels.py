"""The reference kernels never change: what they compute is pinned, edition by edition."""

import inspect
import sys
from collections import Counter

import pytest

from pytest_rlperf.worker import kernels
from pytest_rlperf.worker.kernels import (
    EDITION,
    NAMES,
    NEED_NUMPY,
    exponentiate,
    make_blas,
    make_chain,
    make_gather,
    make_interpreter,
    make_kernels,
    make_stride,
)

CONSTANTS = {
    "LOOPS": 256,
    "STATES": 256,
    "SMALL": 127,
    "MATRIX": 96,
    "PRODUCTS": 1,
    "LINKS": 2048,
    "CHAINS": 6,
    "MEMORY_BYTES": 33_554_432,
    "STEP_BYTES": 8256,
    "PASSES": 2,
    "LINE_BYTES": 64,
    "GATHERED": 8192,
    "WEYL": 2_654_435_761,
    "MODULUS": 2**521 - 1,
    "EXPONENT": 79_228_162_514_264_337_593_543_962_681,
}


def test_a_change_of_a_kernel_needs_a_new_edition():
    """Whoever changes one raises `EDITION`, and pins it anew in this file."""
    assert EDITION == 1
    assert {name: getattr(kernels, name) for name in CONSTANTS} == CONSTANTS


def test_the_interpreter_kernel_walks_the_same_way():
    kernel = make_interpreter()
    assert [kernel() for _ in range(3)] == [0, 0, 0]
    counts = inspect.getclosurevars(kernel).nonlocals["counts"]
    assert Counter(counts.values()) == {3: 128, 0: 110, 12: 9, 24: 3, 36: 2, 60: 2, 6: 2}


def test_the_compiled_kernel_has_the_same_result():
    assert exponentiate() % 10**12 == 557_535_120_718


def test_the_stride_kernel_reads_as_many_bytes_from_every_offset():
    kernel = make_stride()
    assert {kernel() for _ in range(200)} == {8128, 8129, 8130}


def test_the_gather_kernel_reads_the_same_numbers():
    pytest.importorskip("numpy")
    kernel = make_gather()
    first, second = kernel().copy(), kernel().copy()
    assert first[:4].tolist() == [0, 3_635_633, 3_076_962, 2_518_291]
    assert (first.sum(), second.sum()) == (17_161_318_400, 17_178_095_616)


def test_the_blas_kernel_has_the_same_product():
    pytest.importorskip("numpy")
    product = make_blas()()
    assert product.shape == (96, 96)
    assert product.sum() == pytest.approx(221_192.000_868_149_8, rel=1e-9)
    assert product[3, 5] == pytest.approx(0.200_944_401_379_123_92, rel=1e-9)


def test_the_chain_kernel_stays_at_zero_and_in_place():
    pytest.importorskip("numpy")
    kernel = make_chain()
    assert kernel() is kernel()  # anything but zeros would grow, or become slow as it underflows
    assert (kernel().shape, kernel().any()) == ((2048,), False)


def test_all_of_them_are_made():
    pytest.importorskip("numpy")
    assert make_kernels().keys() == NAMES


def test_without_numpy_the_others_remain(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert make_kernels().keys() == NAMES - NEED_NUMPY
