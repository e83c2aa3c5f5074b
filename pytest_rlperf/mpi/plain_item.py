"""An MPI test of a plain run: its body runs in the ranks of a job, and the job is one test."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.fixtures import MPI_FIXTURE
from pytest_rlperf.gate.selection import repeat_command
from pytest_rlperf.gate.worker_args import (
    plain_options,
    relative_inipath,
    session_arguments,
    session_launcher,
)
from pytest_rlperf.leaving import Interrupts, temporary_folder
from pytest_rlperf.markers import ranks_of
from pytest_rlperf.mpi.job import JobOrder, MpiJob
from pytest_rlperf.mpi.rank_files import JobEnd
from pytest_rlperf.mpi.report import render_job, render_outputs
from pytest_rlperf.mpi.side import Ranks, write_order
from pytest_rlperf.wire import HEAD, Job


class JobFailed(Exception):
    """A job failed; the text is the whole report."""


class MpiItem(pytest.Item):
    """Stands for a test function that needs ranks; its fixtures are made in those alone."""

    def __init__(self, *, function: pytest.Function, **how: Any) -> None:
        super().__init__(**how)
        self._function = function
        self._spec = ranks_of(function)
        self._nprocs = int(str(function.callspec.params[MPI_FIXTURE]))
        self.own_markers = function.own_markers
        self.keywords.update(function.keywords)

    @property
    def fixturenames(self) -> list[str]:
        return self._function.fixturenames

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        return self._function.reportinfo()

    def runtest(self) -> None:
        with Interrupts(), temporary_folder("mpi") as folder:
            job = MpiJob(self._order(folder))
            try:
                end = job.run(self._spec.timeout)
            finally:  # Ctrl+C too
                job.end()
        self._judge(end)

    def _order(self, folder: Path) -> JobOrder:
        launcher = session_launcher(self.config)
        if isinstance(launcher, str):
            pytest.skip(launcher)
        ranks = Ranks(self._nprocs, launcher)
        return JobOrder(
            launcher=launcher,
            nprocs=self._nprocs,
            command=write_order(ranks, self._job(), folder, self._spec.timeout),
            folder=folder,
            cwd=str(self.config.invocation_params.dir),
            env=os.environ,
        )

    def _job(self) -> Job:
        config, root = self.config, str(self.config.rootpath)
        ini = relative_inipath(config)
        return Job(
            side=HEAD,
            root=root,
            cwd=str(config.invocation_params.dir),
            tree=root,
            head_tree=root,
            import_roots=(),
            sys_path=tuple(sys.path),
            pytest_args=(
                *session_arguments(config),
                "--rootdir",
                root,
                *(("-c", str(config.rootpath / ini)) if ini else ()),
                str(self.path),
            ),
            # Whether a failure was expected is for this session to say.
            options={**plain_options(config), "runxfail": True},
            nodeids=(self.nodeid,),
            channel_fd=-1,
            baton_fd=None,
            layout_seed=0,
        )

    def _judge(self, end: JobEnd) -> None:
        for title, text in render_outputs(end):
            self.add_report_section("call", title, f"{text}\n")
        if end.skipped is not None:
            pytest.skip(end.skipped)
        if not end.passed:
            raise JobFailed(render_job(end, repeat_command(self, self.config)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, JobFailed | UsageError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


def as_jobs(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the same tests, those that need ranks as items that start a job."""
    for item in items:
        if MPI_FIXTURE in getattr(item, "fixturenames", ()) and isinstance(item, pytest.Function):
            assert item.parent is not None
            yield MpiItem.from_parent(parent=item.parent, name=item.name, function=item)
        else:
            yield item
