"""`rlperf cache`: what is kept between runs, the limit of its size, and how to be rid of it."""

import os
import shutil
from pathlib import Path

import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.trees import cache as cache_module
from pytest_rlperf.trees.cache import (
    BYTECODE_FOLDER,
    KEPT,
    KERNELS_FOLDER,
    LOOK_S,
    PRUNED,
    REMADE,
    WHOLE,
    Slot,
    cached_in,
    claim,
    prune,
    sizes,
)

MB = 1_000_000


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("RLPERF_CACHE", str(folder))
    return folder


def write(file: Path, megabytes: float = 1.0, age_s: float = 0.0) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x" * int(megabytes * MB))
    made = file.stat().st_mtime - age_s
    os.utime(file, (made, made))
    return file


def tree(cache: Path, repository: Path, key: str) -> Slot:
    """A base tree of one megabyte, which somebody holds."""
    repository.mkdir(exist_ok=True)
    slot = claim(cache, repository, key)
    write(slot.path / "lib.py")
    return slot


def test_each_kind_is_told_with_its_size(cache: Path, capsys: pytest.CaptureFixture[str]):
    write(cache / BYTECODE_FOLDER / "a.pyc", 2)
    write(cache / "proofs" / "b.jsonl", 0.5)
    assert main(["cache"]) == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{cache}: 2.38 MiB of at most 954 MiB (RLPERF_CACHE_LIMIT")
    assert others == ["  1.91 MiB  bytecode", "  488 KiB   verdicts of --rlperf-prove"]


def test_an_empty_cache_is_no_trouble(cache: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["cache", "--clear"]) == 0
    assert "dropped 0 B" in capsys.readouterr().out
    assert not cache.exists()


def test_a_limit_that_is_none_is_refused(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("RLPERF_CACHE_LIMIT", "much")
    assert main(["cache"]) == 4
    assert "RLPERF_CACHE_LIMIT" in capsys.readouterr().err


def test_to_clear_leaves_what_a_run_holds_and_what_nobody_can_make_again(cache: Path):
    held = tree(cache, cache.parent / "project", "held")
    free = tree(cache, cache.parent / "project", "free")
    free.release()
    for name in REMADE | WHOLE | KEPT:
        write(cache / name / "some" / "file")
    assert main(["cache", "--clear"]) == 0
    assert held.path.is_dir()
    assert not free.path.exists()
    assert set(sizes(cache)) == {"base trees", *KEPT.values()}
    held.release()


# -- what a run drops by itself ------------------------------------------------------------------


def test_bytecode_goes_with_its_source(cache: Path, tmp_path: Path):
    there = write(tmp_path / "there" / "lib.py")
    gone = tmp_path / "gone" / "lib.py"
    kept, dropped = (write(cached_in(cache, source, Path("lib.pyc"))) for source in (there, gone))
    prune(cache, 100 * MB)
    assert kept.exists()
    assert not dropped.exists()


def test_beyond_the_limit_what_was_made_longest_ago_goes_first(cache: Path, tmp_path: Path):
    ages = {"old": 3000.0, "older": 9000.0, "new": 0.0}
    files = {n: write(cache / KERNELS_FOLDER / n / "f.nbc", 1, age) for n, age in ages.items()}
    prune(cache, 2.5 * MB)
    assert {name for name, file in files.items() if file.exists()} == {"old", "new"}


def test_trees_go_last_and_never_one_in_use(cache: Path, tmp_path: Path):
    held, free = (tree(cache, tmp_path / "project", key) for key in ("held", "free"))
    free.release()
    kernel = write(cache / KERNELS_FOLDER / "a" / "f.nbc")
    prune(cache, 0.5 * MB)
    assert not kernel.exists()
    assert not free.path.exists()
    assert held.path.is_dir()
    held.release()


def test_the_size_is_looked_at_once_an_hour(cache: Path):
    prune_at_first = write(cache / KERNELS_FOLDER / "a" / "f.nbc")
    prune(cache, 0)
    assert not prune_at_first.exists()
    again = write(cache / KERNELS_FOLDER / "a" / "f.nbc")
    prune(cache, 0)
    assert again.exists()
    an_hour_ago = (cache / PRUNED).stat().st_mtime - LOOK_S
    os.utime(cache / PRUNED, (an_hour_ago, an_hour_ago))
    prune(cache, 0)
    assert not again.exists()


def test_what_another_run_drops_meanwhile_is_no_trouble(
    cache: Path, monkeypatch: pytest.MonkeyPatch
):
    write(cache / BYTECODE_FOLDER / str(cache).lstrip("/") / "a.pyc")
    newest = cache_module._newest

    def gone_meanwhile(folder: Path) -> float:
        shutil.rmtree(folder)
        return newest(folder)

    monkeypatch.setattr(cache_module, "_newest", gone_meanwhile)
    prune(cache, most_bytes=0)
