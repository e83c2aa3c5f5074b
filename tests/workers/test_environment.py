"""The environment of a worker is a pure function of the run's own."""

import os
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.workers.process import (
    HUGE_PAGES,
    PADDING,
    RUN,
    THREAD_COUNTS,
    worker_environment,
)


def environment(inherited: dict[str, str] | None = None, **changes: Any) -> dict[str, str]:
    arguments: dict[str, Any] = {
        "threads": 1,
        "hash_seed": 7,
        "padding": 0,
        "caches": Path("caches"),
        "token": "this-run",
        "import_folders": (),
    }
    return worker_environment(inherited or {}, **{**arguments, **changes})


@pytest.mark.parametrize("name", ["PATH", "HOME", "CUDA_VISIBLE_DEVICES", "PYTHONWARNINGS"])
def test_what_the_user_set_is_kept(name: str):
    assert environment({name: "mine"})[name] == "mine"


@pytest.mark.parametrize(
    "name",
    [
        "PYTEST_ADDOPTS",
        "PYTEST_CURRENT_TEST",
        "PYTEST_XDIST_WORKER",
        "COV_CORE_SOURCE",
        "COVERAGE_PROCESS_START",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONSAFEPATH",
    ],
)
def test_what_belongs_to_the_outer_session_is_left_out(name: str):
    assert name not in environment({name: "1"})


@pytest.mark.parametrize("name", ["PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"])
def test_the_choice_of_plugins_is_kept(name: str):
    assert environment({name: "x"})[name] == "x"


@pytest.mark.parametrize("threads", [1, 4])
def test_libraries_get_as_many_threads_as_the_test_asks_for(threads: int):
    found = environment({"OMP_NUM_THREADS": "64"}, threads=threads)
    assert {found[name] for name in THREAD_COUNTS} == {str(threads)}


def test_idle_thread_pools_sleep_whatever_the_user_set():
    assert environment({"OMP_WAIT_POLICY": "active"})["OMP_WAIT_POLICY"] == "passive"


@pytest.mark.parametrize(("chosen", "kept"), [({}, "0"), ({HUGE_PAGES: "1"}, "1")])
def test_huge_pages_are_off_unless_the_user_chose_them(chosen: dict[str, str], kept: str):
    assert environment(chosen)[HUGE_PAGES] == kept


def test_the_hash_seed_is_the_blocks():
    assert environment({"PYTHONHASHSEED": "0"}, hash_seed=123)["PYTHONHASHSEED"] == "123"


@pytest.mark.parametrize("inherited", [{}, {RUN: "a run around this one"}])
def test_the_processes_of_a_run_carry_its_mark(inherited: dict[str, str]):
    assert environment(inherited, token="1a2b")[RUN] == "1a2b"


def test_compiled_code_is_kept_in_the_runs_own_caches():
    found = environment({"NUMBA_CACHE_DIR": "/elsewhere"}, caches=Path("/c"))
    assert Path(found["NUMBA_CACHE_DIR"]).parent == Path("/c")
    assert Path(found["PYTHONPYCACHEPREFIX"]).parent == Path("/c")


@pytest.mark.parametrize(
    ("inherited", "folders", "expected"),
    [
        ({}, ["/t/src", "/t"], ["/t/src", "/t"]),
        ({"PYTHONPATH": "/mine"}, ["/t"], ["/t", "/mine"]),
        ({"PYTHONPATH": ""}, ["/t"], ["/t"]),
    ],
)
def test_processes_a_test_starts_find_the_sides_own_tree_first(
    inherited: dict[str, str], folders: list[str], expected: list[str]
):
    found = environment(inherited, import_folders=folders)
    assert found["PYTHONPATH"].split(os.pathsep) == expected


def test_the_sides_differ_in_the_length_of_the_padding_only():
    head, base = environment(padding=5), environment(padding=900)
    assert (len(head.pop(PADDING)), len(base.pop(PADDING))) == (5, 900)
    assert head == base


def test_the_runs_own_environment_is_left_alone():
    inherited = {"PYTEST_ADDOPTS": "-q", "PYTHONPATH": "/mine"}
    environment(inherited, import_folders=["/t"])
    assert inherited == {"PYTEST_ADDOPTS": "-q", "PYTHONPATH": "/mine"}
