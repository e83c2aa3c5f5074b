"""The facts of a CPU, from what Linux and macOS say of several kinds."""

import sys
from pathlib import Path

import pytest

from pytest_rlperf.machine import fingerprint
from pytest_rlperf.machine.fingerprint import (
    cache_sizes,
    cpuinfo_facts,
    read_cpu,
    sysctl_facts,
    threads_per_core,
)

TURIN = """\
processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 26
model\t\t: 2
model name\t: AMD EPYC
stepping\t: 1
cache size\t: 1024 KB
flags\t\t: fpu sse sse2 pni sme ssse3 fma sse4_2 avx f16c smep avx2 bmi2 avx512f avx_vnni

processor\t: 1
vendor_id\t: AuthenticAMD
cpu family\t: 26
model\t\t: 2
model name\t: AMD EPYC
stepping\t: 1
flags\t\t: fpu sse sse2 pni sme ssse3 fma sse4_2 avx f16c smep avx2 bmi2 avx512f avx_vnni
"""
MILAN = """\
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 1
model name\t: AMD EPYC
stepping\t: 1
flags\t\t: fpu sse sse2 ssse3 fma sse4_2 avx f16c avx2 bmi2
"""
EMULATED = """\
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 142
model name\t: unknown
stepping\t: unknown
flags\t\t: fpu sse sse2
"""
GRAVITON = """\
processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd evtstrm aes atomics fphp asimdhp asimddp sve svei8mm i8mm bf16 ssbs
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x1
CPU part\t: 0xd40
CPU revision\t: 1
"""
BIG_AND_LITTLE = """\
processor\t: 0
model name\t: ARMv7 Processor rev 4 (v7l)
Features\t: half thumb neon vfpv3 vfpv4 idiva
CPU implementer\t: 0x41
CPU architecture: 7
CPU variant\t: 0x0
CPU part\t: 0xc07
CPU revision\t: 4

processor\t: 4
model name\t: ARMv7 Processor rev 3 (v7l)
Features\t: half thumb neon vfpv3 vfpv4 idiva
CPU implementer\t: 0x41
CPU architecture: 7
CPU variant\t: 0x2
CPU part\t: 0xc0f
CPU revision\t: 3

Hardware\t: ODROID-XU4
Model\t\t: a board
"""


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        pytest.param(
            TURIN,
            {
                "cpu": "AMD EPYC",
                "vendor": "AuthenticAMD",
                "family": "26",
                "model": "2",
                "stepping": "1",
                "simd": "avx avx2 avx512f avx_vnni bmi2 f16c fma sse4_2 ssse3",
            },
            id="a hypervisor's bare name",
        ),
        pytest.param(
            MILAN,
            {
                "cpu": "AMD EPYC",
                "vendor": "AuthenticAMD",
                "family": "25",
                "model": "1",
                "stepping": "1",
                "simd": "avx avx2 bmi2 f16c fma sse4_2 ssse3",
            },
            id="another generation of the same name",
        ),
        pytest.param(
            EMULATED, {"vendor": "GenuineIntel", "family": "6", "model": "142"}, id="unknown facts"
        ),
        pytest.param(
            GRAVITON,
            {
                "vendor": "0x41",
                "family": "8",
                "model": "0xd40",
                "stepping": "r1p1",
                "simd": "asimd asimddp asimdhp bf16 i8mm sve svei8mm",
            },
            id="ARM",
        ),
        pytest.param(
            BIG_AND_LITTLE,
            {
                "cpu": "ARMv7 Processor rev 4 (v7l)+ARMv7 Processor rev 3 (v7l)",
                "vendor": "0x41",
                "family": "7",
                "model": "0xc07+0xc0f",
                "stepping": "r0p4+r2p3",
                "simd": "neon vfpv3 vfpv4",
            },
            id="cores of two kinds",
        ),
        pytest.param("processor : 0\nisa : rv64imafdc\n", {}, id="a system that does not say"),
        pytest.param("", {}, id="nothing to read"),
    ],
)
def test_cpuinfo_becomes_facts(text: str, facts: dict[str, str]):
    assert cpuinfo_facts(text) == facts


@pytest.mark.parametrize(
    ("caches", "sizes"),
    [
        (
            [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "1024K")],
            "L1d 48K, L1i 32K, L2 1024K",
        ),
        ([("3", "Unified", "32768K"), ("2", "Unified", "")], "L3 32768K"),
        ([], ""),
    ],
)
def test_caches_are_named_by_level_and_kind(caches: list[tuple[str, str, str]], sizes: str):
    assert cache_sizes(caches) == sizes


@pytest.mark.parametrize(
    ("siblings", "threads"),
    [(["0", "1"], 1), (["0-1", "0-1"], 2), (["0,64", "1,65"], 2), (["0-3,8"], 5), ([""], 0)],
)
def test_threads_that_share_a_core_are_counted(siblings: list[str], threads: int):
    assert threads_per_core(siblings) == threads


def test_what_linux_does_not_say_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(fingerprint, "PROC_CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(fingerprint, "SYS_CPUS", tmp_path)
    read_cpu.cache_clear()
    assert read_cpu() == {}
    read_cpu.cache_clear()
    (tmp_path / "cpu0/topology").mkdir(parents=True)
    (tmp_path / "cpu0/topology/thread_siblings_list").write_text("0-1\n")
    assert read_cpu() == {"threads_per_core": 2}
    read_cpu.cache_clear()


# -- macOS --------------------------------------------------------------------------------------

APPLE = """\
hw.ncpu: 8
hw.logicalcpu: 8
hw.physicalcpu: 8
hw.l1icachesize: 131072
hw.l1dcachesize: 65536
hw.l2cachesize: 4194304
hw.perflevel0.l2cachesize: 12582912
hw.cpufamily: 458787763
hw.cpusubfamily: 2
hw.optional.neon: 1
hw.optional.arm.FEAT_DotProd: 1
hw.optional.arm.FEAT_BF16: 0
hw.optional.arm.FEAT_LSE: 1
machdep.cpu.cores_per_package: 8
machdep.cpu.brand_string: Apple M1
"""
INTEL = """\
hw.logicalcpu: 12
hw.physicalcpu: 6
hw.l1icachesize: 32768
hw.l1dcachesize: 32768
hw.l2cachesize: 262144
hw.l3cachesize: 12582912
hw.cpufamily: 260141638
hw.optional.sse4_2: 1
hw.optional.avx1_0: 1
hw.optional.avx2_0: 1
hw.optional.avx512f: 0
machdep.cpu.vendor: GenuineIntel
machdep.cpu.brand_string: Intel(R) Core(TM) i7-8850H CPU @ 2.60GHz
machdep.cpu.family: 6
machdep.cpu.model: 158
machdep.cpu.stepping: 10
"""


def test_an_apple_cpu_is_known_by_its_family():
    assert sysctl_facts(APPLE) == {
        "cpu": "Apple M1",
        "family": "458787763",
        "model": "2",
        "simd": "dotprod neon",
        "caches": "L1d 64K, L1i 128K, L2 4096K",
        "threads_per_core": 1,
    }


def test_an_intel_cpu_of_a_mac_has_the_facts_of_any_other():
    assert sysctl_facts(INTEL) == {
        "cpu": "Intel(R) Core(TM) i7-8850H CPU @ 2.60GHz",
        "vendor": "GenuineIntel",
        "family": "6",
        "model": "158",
        "stepping": "10",
        "simd": "avx1_0 avx2_0 sse4_2",
        "caches": "L1d 32K, L1i 32K, L2 256K, L3 12288K",
        "threads_per_core": 2,
    }


def test_a_mac_that_says_nothing_has_no_facts():
    assert sysctl_facts("") == {}
