"""The facts of a machine, and the name of its folder."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.machine.fingerprint import (
    CPU,
    MACHINE,
    blas_version,
    comparable,
    distributions,
    machine_key,
    read_fingerprint,
)
from tests.factories import examples

EPYC: dict[str, Any] = {
    "cpu": "AMD EPYC",
    "vendor": "AuthenticAMD",
    "family": "26",
    "model": "2",
    "stepping": "1",
    "caches": "L1d 48K, L2 1024K",
    "simd": "avx avx2 avx512f",
    "threads_per_core": 1,
    "cores": 2,
    "architecture": "x86_64",
}


def test_a_fingerprint_has_all_that_decides_whether_times_may_be_compared():
    fingerprint = read_fingerprint([0], {}, Path.cwd())
    facts = comparable(fingerprint, 1)
    assert {"cpu", "cores", "architecture"} <= facts.keys()
    assert {name: fingerprint.get(name) for name in MACHINE} == {n: facts.get(n) for n in MACHINE}


def test_a_key_is_readable_and_ends_in_digits_for_all_facts():
    key = machine_key(EPYC)
    assert re.fullmatch("amd-epyc-f26-m2-s1-2-cores-x86-64-[0-9a-f]{6}", key)
    assert machine_key({**EPYC, "threads": 4, "python": "3.12"}) == key


@pytest.mark.parametrize("name", MACHINE)
def test_a_machine_with_another_fact_has_another_key(name: str):
    assert machine_key({**EPYC, name: "other"}) != machine_key(EPYC)


@pytest.mark.parametrize(
    ("cpu", "cores", "architecture", "key"),
    [
        ("AMD EPYC 7763", 2, "x86_64", "amd-epyc-7763-2-cores-x86-64"),
        ("Intel(R) i7 CPU @ 1.80GHz", 8, "x86_64", "intel-r-i7-cpu-1-80ghz-8-cores-x86-64"),
        ("arm", 4, "aarch64", "arm-4-cores-aarch64"),
    ],
)
def test_without_more_facts_it_is_name_cores_and_architecture(
    cpu: str, cores: int, architecture: str, key: str
):
    assert machine_key({"cpu": cpu, "cores": cores, "architecture": architecture}) == key


@examples
@given(st.text(), st.dictionaries(st.sampled_from(CPU), st.text()))
def test_it_is_a_plain_name_whatever_the_cpu_is_called(cpu: str, more: dict[str, Any]):
    key = machine_key({"cpu": cpu, "cores": 2, "architecture": "x86_64", **more})
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key)


def test_blas_is_what_numpy_says_of_itself():
    from numpy import __config__

    blas = __config__.show(mode="dicts")["Build Dependencies"]["blas"]
    assert blas_version() == f"{blas['name']} {blas['version']}"


# -- what is installed ---------------------------------------------------------------------------


def installed(folder: Path, *names: str, editable: Path | None = None) -> str:
    """A folder of distributions; the last one of them is worked on somewhere."""
    for name in names:
        (folder / f"{name}.dist-info").mkdir(parents=True, exist_ok=True)
    if editable is not None:
        origin = {"url": editable.as_uri(), "dir_info": {"editable": True}}
        (folder / f"{names[-1]}.dist-info" / "direct_url.json").write_text(json.dumps(origin))
    return str(folder)


def test_each_version_of_what_is_installed_counts(tmp_path: Path):
    one, same, newer = (
        distributions([installed(tmp_path / place, "a-1", b)], tmp_path / "project")
        for place, b in (("one", "b-1"), ("same", "b-1"), ("newer", "b-2"))
    )
    assert one is not None
    assert one == same != newer


def test_the_project_itself_does_not_count(tmp_path: Path):
    project = tmp_path / "project"
    site = installed(tmp_path / "site", "a-1", "project-0.1", editable=project)
    without = installed(tmp_path / "without", "a-1")
    assert distributions([site, str(project)], project) == distributions([without], project)


def test_code_that_no_version_tells_is_not_known(tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    site = installed(tmp_path / "site", "a-1", "other-1", editable=elsewhere)
    assert distributions([site], tmp_path / "project") is None
    assert distributions([str(elsewhere)], tmp_path / "project") is None
    assert distributions([str(tmp_path / "missing"), sys.prefix], tmp_path / "project") is not None


def test_nor_is_that_of_a_checkout_or_an_archive_on_the_path(tmp_path: Path):
    checkout, archive = tmp_path / "checkout", tmp_path / "lib.zip"
    (checkout / "other.egg-info").mkdir(parents=True)
    archive.touch()
    for place in (checkout, archive):
        assert distributions([str(place)], tmp_path / "project") is None


def test_nor_is_that_beside_the_project_in_a_folder_on_the_path(tmp_path: Path):
    assert distributions([str(tmp_path)], tmp_path / "project") is None


def test_nor_is_that_of_an_editable_installation_kept_in_the_environment(tmp_path: Path):
    source = Path(sys.prefix) / "src" / "other"
    site = installed(tmp_path / "site", "other-1", editable=source)
    assert distributions([site], tmp_path / "project") is None


def test_of_what_came_from_no_index_the_files_count(tmp_path: Path):
    site = installed(tmp_path, "a-1", "other-1")
    info = tmp_path / "other-1.dist-info"
    (info / "direct_url.json").write_text('{"url": "file:///other", "dir_info": {}}')
    digests = set()
    for content in ("other.py,sha256=1,", "other.py,sha256=2,"):
        (info / "RECORD").write_text(content)
        digests.add(distributions([site], tmp_path / "project"))
    assert len(digests) == 2


def test_what_was_installed_without_a_folder_counts(tmp_path: Path):
    before = distributions([installed(tmp_path, "a-1")], tmp_path / "project")
    (tmp_path / "old-1.0.egg-info").touch()
    assert distributions([str(tmp_path)], tmp_path / "project") not in (None, before)
