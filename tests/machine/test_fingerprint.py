"""The folder name of a machine."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.machine.fingerprint import machine_key
from tests.factories import examples


@pytest.mark.parametrize(
    ("cpu", "cores", "architecture", "key"),
    [
        ("AMD EPYC 7763", 2, "x86_64", "amd-epyc-7763-2-cores-x86-64"),
        ("Intel(R) i7 CPU @ 1.80GHz", 8, "x86_64", "intel-r-i7-cpu-1-80ghz-8-cores-x86-64"),
        ("arm", 4, "aarch64", "arm-4-cores-aarch64"),
    ],
)
def test_it_is_cpu_model_cores_and_architecture(cpu: str, cores: int, architecture: str, key: str):
    assert machine_key({"cpu": cpu, "cores": cores, "architecture": architecture}) == key


@examples
@given(st.text())
def test_it_is_a_plain_name_whatever_the_cpu_is_called(cpu: str):
    key = machine_key({"cpu": cpu, "cores": 2, "architecture": "x86_64"})
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key)
