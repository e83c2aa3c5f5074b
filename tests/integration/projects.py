"""Generated projects with two revisions and a fake clock, and real runs of pytest on them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from .fake_time import COMMON
from .forked import run_forked

AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
MARK = "INTEGRATION_RUN"
"""Environment variable that names a run: every process of it inherits the value."""

OWN_PLUGIN = ("-p", "pytest_rlperf.plugin")
NO_CACHE = ("-p", "no:cacheprovider")


@dataclass(frozen=True)
class Ended:
    """A run of pytest that is over."""

    code: int
    text: str  # stdout and stderr, as a terminal would show them
    seconds: float
    result: dict[str, Any]  # --rlperf-json; empty where none was written
    folder: Path  # the project's

    @property
    def outcomes(self) -> dict[str, str]:
        return {_name(t["nodeid"]): t["metrics"][0]["outcome"] for t in self.result["tests"]}

    def test(self, name: str) -> dict[str, Any]:
        return next(t for t in self.result["tests"] if _name(t["nodeid"]) == name)

    def metric(self, name: str, metric: str = "time") -> dict[str, Any]:
        return next(m for m in self.test(name)["metrics"] if m["name"] == metric)

    def section(self, name: str) -> str:
        """Return what the terminal shows of a failing test."""
        for part in self.text.split("\n____")[1:]:
            title, _, body = part.partition("\n")
            if title.strip(" _") == name:
                return body.split("\n====")[0]
        raise AssertionError(f"{name} is not among the failures:\n{self.text}")


def _name(nodeid: str) -> str:
    return nodeid.partition("::")[2]


@dataclass(frozen=True)
class Project:
    """A git repository in which pytest is run."""

    folder: Path
    cache: Path
    cwd: str = "."

    @property
    def result(self) -> Path:
        return self.folder.parent / "result.json"

    def git(self, *args: str) -> str:
        command = ["git", *AUTHOR, *args]
        done = subprocess.run(
            command, cwd=self.folder, env=_clean(), check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, files: Mapping[str, str]) -> None:
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", "change")

    def add_remote(self) -> None:
        """`origin`, a bare repository beside this one, which has all of main."""
        remote = self.folder.parent / "remote"
        self.git("init", "--quiet", "--bare", "--initial-branch=main", str(remote))
        self.git("remote", "add", "origin", str(remote))
        self.git("push", "--quiet", "-u", "origin", "main")

    def start(
        self, *args: str, autoload: bool = False, env: Mapping[str, str] | None = None
    ) -> "Running":
        """Start pytest. Without the other installed plugins, workers start in half the time."""
        plugin = () if autoload else OWN_PLUGIN
        command = [sys.executable, "-m", "pytest", *plugin, *NO_CACHE, *args]
        return self.start_command(command, autoload=autoload, env=env)

    def start_command(
        self,
        command: Sequence[str],
        *,
        autoload: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> "Running":
        """Start any command, in the environment in which pytest would run."""
        run = self._new_run()
        environment = {**self._environment(run), **(env or {})}
        if autoload:
            del environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
        # To a file: a pipe would stay open as long as any process of the run is left.
        with (run / "output").open("wb") as output:
            popen = subprocess.Popen(
                command,
                cwd=self.folder / self.cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        return Running(popen, self.folder, run, self.result, time.monotonic())

    def run(
        self,
        *args: str,
        json_result: bool = True,
        autoload: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> Ended:
        result = (f"--rlperf-json={self.result}",) if json_result else ()
        return self.start(*args, *result, autoload=autoload, env=env).wait()

    def refuse(self, *args: str) -> Ended:
        """A run that is to end before it measures."""
        run, begun = self._new_run(), time.monotonic()
        output = run / "output"
        code = run_forked(
            [*OWN_PLUGIN, *NO_CACHE, *args],
            cwd=self.folder / self.cwd,
            env=self._environment(run),
            output=output,
        )
        return Ended(code, output.read_text(), time.monotonic() - begun, {}, self.folder)

    def _new_run(self) -> Path:
        run = self.folder.parent / f"run-{time.monotonic_ns()}"
        run.mkdir()
        self.result.unlink(missing_ok=True)
        return run

    def _environment(self, run: Path) -> dict[str, str]:
        return _clean() | {
            "RLPERF_CACHE": str(self.cache),
            "TMPDIR": str(self.cache.parent),  # what a killed run leaves goes with it
            "COLUMNS": "200",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "INTEGRATION_FOLDER": str(run),
            "INTEGRATION_PROJECT": str(self.folder),
            MARK: str(run),
        }

    def measure(self, *args: str, against: str = "base", **how: Any) -> Ended:
        return self.run("--rlperf", f"--rlperf-against={against}", *args, **how)


@dataclass(frozen=True)
class Running:
    """A run of pytest under way."""

    popen: "subprocess.Popen[bytes]"
    project: Path
    folder: Path  # of the run: the numbers its workers took, and its output
    result: Path
    begun: float

    def wait(self, deadline_s: float = 150.0) -> Ended:
        try:
            code = self.popen.wait(deadline_s)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
            raise AssertionError(f"the run hung:\n{self.output()}") from None
        seconds = time.monotonic() - self.begun
        found = json.loads(self.result.read_text()) if self.result.exists() else {}
        return Ended(code, self.output(), seconds, found, self.project)

    def output(self) -> str:
        return (self.folder / "output").read_text(errors="replace")

    def wait_for_file(self, name: str, deadline_s: float = 60.0) -> None:
        """Until a worker has written it into the folder of the run."""
        until = time.monotonic() + deadline_s
        while not (self.folder / name).exists():
            assert time.monotonic() < until, self.output()
            assert self.popen.poll() is None, self.output()
            time.sleep(0.02)

    def processes(self) -> list[psutil.Process]:
        """Those of this run that are still alive, wherever they were moved to."""
        return [p for p in psutil.process_iter() if self._is_ours(p)]

    def commands(self) -> list[str]:
        """Return their command lines; processes of the block before may be leaving."""
        found = []
        for process in self.processes():
            with suppress(psutil.Error):
                found.append(" ".join(process.cmdline()))
        return found

    def wait_until_gone(self, deadline_s: float) -> list[psutil.Process]:
        until = time.monotonic() + deadline_s
        while (left := self.processes()) and time.monotonic() < until:
            time.sleep(0.05)
        return left

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            alive = process.status() != psutil.STATUS_ZOMBIE
            return alive and process.environ().get(MARK) == str(self.folder)
        except (psutil.Error, OSError):
            return False


@dataclass(frozen=True)
class Workshop:
    """Makes projects that share a cache: bytecode of pytest itself is compiled once."""

    folder: Path

    def project(
        self,
        name: str,
        base: Mapping[str, str],
        head: Mapping[str, str] | None = None,
        *,
        common: Mapping[str, str] = COMMON,
    ) -> Project:
        """Tagged `base`, then `head` as uncommitted changes."""
        project = self.plain(name)
        project.git("init", "--quiet", "--initial-branch=main")
        project.commit({**common, **base})
        project.git("tag", "base")
        project.write(head or {})
        return project

    def plain(self, name: str) -> Project:
        """A folder that is no repository."""
        folder = self.folder / name / "project"
        folder.mkdir(parents=True)
        return Project(folder, self.folder / "cache")


def _clean() -> dict[str, str]:
    ours = ("PYTEST_", "GIT_", "GITHUB_", "RLPERF_", "INTEGRATION_", "COV_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}
