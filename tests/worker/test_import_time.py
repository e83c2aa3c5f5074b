"""How long imports take: real processes, whose answer is all that is looked at."""

import sys
from pathlib import Path

import pytest

from pytest_rlperf.errors import FixtureError
from pytest_rlperf.wire import HEAD, Job
from pytest_rlperf.worker.import_time import import_ns


def job(tree: Path) -> Job:
    return Job(
        side=HEAD,
        root=str(tree),
        cwd=str(tree),
        tree=str(tree),
        head_tree=str(tree),
        import_roots=(".",),
        sys_path=(),
        pytest_args=(),
        options={},
        nodeids=(),
        channel_fd=-1,
        baton_fd=None,
        layout_seed=1,
    )


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "noisy_library.py").write_text("print('loading')\nVALUE = 1\n")
    (tmp_path / "broken_library.py").write_text("raise OSError('no such device')\n")
    return tmp_path


def test_an_import_takes_time_whatever_the_module_prints(tree: Path):
    assert import_ns(["noisy_library"], job(tree), 60.0) > 0


def test_this_process_does_not_import_it(tree: Path):
    import_ns(["noisy_library"], job(tree), 60.0)
    assert "noisy_library" not in sys.modules


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("broken_library", "OSError: no such device"),
        ("missing_library", "No module named 'missing_library'"),
    ],
)
def test_what_cannot_be_imported_is_told_in_one_line(tree: Path, name: str, cause: str):
    with pytest.raises(FixtureError, match=f"^imports={name} cannot be timed .*{cause}.*$"):
        import_ns([name], job(tree), 60.0)
