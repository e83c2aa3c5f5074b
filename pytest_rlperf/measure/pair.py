"""The controller's view of a block's two workers: start them, run tests in lock-step, end them."""

import json
import os
import selectors
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from pytest_rlperf.launch.channel import Channel, ChannelClosed, Message
from pytest_rlperf.launch.process import Process
from pytest_rlperf.measure import boot
from pytest_rlperf.model.job import SIDES, Job
from pytest_rlperf.model.plan import Plan

POLL_S = 0.25


class State(StrEnum):
    """How a test ended on one side."""

    RAN = "ran"  # to its end; measured, scouted, or stood aside for a partner that could not
    FAILED = "failed"
    SKIPPED = "skipped"
    CRASHED = "crashed"
    HUNG = "hung"
    UNCOLLECTED = "uncollected"
    UNMEASURED = "unmeasured"  # it never called the fixture
    ABANDONED = "abandoned"  # the partner left in the middle of the slices
    WRONG_COPY = "wrong copy"  # it measured the other side's code


@dataclass(frozen=True, slots=True)
class SideRun:
    """One test on one side in one block."""

    state: State
    text: str = ""  # traceback, skip reason or the output of a crashed worker
    facts: Mapping[str, Any] | None = None  # what `scouted` or `measured` carried
    imported: Mapping[str, str] = field(default_factory=dict)
    sections: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """One test to run now."""

    nodeid: str
    following: str | None
    plan: Plan | None
    cores: tuple[int, ...]
    seed: int
    deadline_s: float

    def as_message(self) -> Message:
        return {
            "do": "run",
            "nodeid": self.nodeid,
            "next": self.following,
            "plan": None if self.plan is None else self.plan.as_dict(),
            "cores": list(self.cores),
            "seed": self.seed,
            "deadline_s": self.deadline_s,
        }


@dataclass(frozen=True, slots=True)
class Start:
    """What it takes to start one side."""

    job: Job
    env: Mapping[str, str]
    cores: tuple[int, ...]


class _Side:
    """One worker with what it has said so far about the current test."""

    def __init__(self, name: str, process: Process, channel: Channel) -> None:
        self.name = name
        self.process = process
        self.channel = channel
        self.begun = time.monotonic()
        self.collected: set[str] | None = None
        self.startup_s = 0.0
        self.collect_errors: dict[str, str] = {}
        self.broken: SideRun | None = None
        self.clear()

    def clear(self) -> None:
        self.run: SideRun | None = None
        self.ready = self.told = False
        self._facts: Mapping[str, Any] | None = None
        self._trouble: SideRun | None = None
        if self.collected is not None:
            self.process.mark_output()

    def tell(self, message: Message) -> None:
        try:
            self.channel.send(message)
        except ChannelClosed:
            self.crash()

    def crash(self) -> None:
        how = self.process.how_it_ended()
        when = "before it could run a test" if self.collected is None else "during this test"
        text = f"the {self.name} worker ended ({how}) {when}"
        tail = self.process.output_tail()
        self.run = self.broken = SideRun(State.CRASHED, f"{text}\n{tail}".strip(), self._facts)

    def hang(self, seconds: float) -> None:
        self.process.dump_stacks()
        text = f"no answer from the {self.name} worker within {seconds:.0f} s"
        tail = self.process.output_tail()
        self.run = self.broken = SideRun(State.HUNG, f"{text}\n{tail}".strip())

    def take(self, message: Message) -> None:
        match message["event"]:
            case "collected":
                self.collected = set(message["nodeids"])
                self.startup_s = message["at"] - self.begun
            case "uncollected":
                self.collect_errors[message["nodeid"]] = message["text"]
            case "ready":
                self.ready = True
            case "scouted" | "measured":
                self._facts = message
            case "failed" | "skipped" as event:
                # The first report of a test is the cause; a failing teardown may follow.
                self._trouble = self._trouble or SideRun(
                    State(event),
                    message["text"],
                    sections=self._sections(message["sections"]),
                )
            case "ended":
                self.run = self._ended(message)

    def _sections(self, reported: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
        printed = self.process.output_tail()
        own = (("Captured output", f"{printed}\n"),) if printed else ()
        return (*((str(title), str(text)) for title, text in reported), *own)

    def _ended(self, message: Message) -> SideRun:
        if message["abandoned"]:
            return SideRun(State.ABANDONED)
        if self._trouble is not None:
            return replace(self._trouble, facts=self._facts)
        if message["foreign"]:
            return SideRun(State.WRONG_COPY, message["foreign"])
        if not message["played"]:
            return SideRun(State.UNMEASURED)
        return SideRun(State.RAN, "", self._facts, message["imported"])


class Pair:
    """The workers of one block. One side only where there is no partner."""

    def __init__(self, starts: Sequence[Start], folder: Path) -> None:
        self._sides: list[_Side] = []
        self._over = self._leaving = False
        self._selector = selectors.DefaultSelector()
        batons = socket.socketpair() if len(starts) == 2 else (None,) * len(starts)
        try:
            for start, baton in zip(starts, batons, strict=True):
                self._sides.append(_start_side(start, baton, folder))
        except BaseException:
            self.end()
            raise
        finally:
            for baton in batons:
                if baton is not None:
                    baton.close()
        for side in self._sides:
            self._selector.register(side.channel, selectors.EVENT_READ, side)

    @property
    def usable(self) -> bool:
        """A side that could not even collect would not do better a second time."""
        return not any(side.broken and side.collected is not None for side in self._sides)

    @property
    def startup_s(self) -> float:
        """From the start of the processes until the tests were collected; 0 as long as unknown."""
        return max(side.startup_s for side in self._sides)

    def wait_collected(self, seconds: float) -> None:
        """Until both sides have collected, or have failed to."""
        until = time.monotonic() + seconds
        while any(s.collected is None and s.broken is None for s in self._sides):
            if not self._listen(until):
                for side in self._sides:
                    if side.collected is None and side.broken is None:
                        side.hang(seconds)

    def run(self, turn: Turn) -> list[SideRun]:
        """One test on all sides; answers in the order of the sides."""
        playing = []
        for side in self._sides:
            side.clear()
            if missing := _cannot_run(side, turn.nodeid):
                side.run = missing
            else:
                playing.append(side)
        for side in playing:
            side.tell(turn.as_message())
        until = time.monotonic() + turn.deadline_s
        while any(side.run is None for side in self._sides):
            self._let_go()
            if not self._listen(until):
                self._give_up(turn.deadline_s)
        return [side.run for side in self._sides if side.run is not None]

    def _let_go(self) -> None:
        """Start the slices when all are ready; send one home whose partner cannot play."""
        waiting = [side for side in self._sides if side.ready and not side.told and not side.run]
        if len(waiting) == len(self._sides):
            answer = "go"
        elif all(side.run is not None for side in self._sides if side not in waiting):
            answer = "alone"
        else:
            return
        for side in waiting:
            side.told = True
            side.tell({"do": answer})

    def _give_up(self, seconds: float) -> None:
        """The deadline has passed: the side that still runs is to blame, not one that waits."""
        late = [side for side in self._sides if side.run is None]
        busy = [side for side in late if not side.ready or side.told] or late
        for side in busy:
            side.hang(seconds)
        for side in late:
            side.run = side.broken = side.run or SideRun(State.RAN)

    def _listen(self, until: float) -> bool:
        """Take what has arrived; False when the time is up."""
        heard = set()
        for key, _ in self._selector.select(min(POLL_S, max(0.0, until - time.monotonic()))):
            side: _Side = key.data
            heard.add(side)
            try:
                for message in side.channel.feed():
                    side.take(message)
            except (ChannelClosed, ValueError):
                self._lose(side)
        for side in self._sides:
            # Its children may hold the connection open: silence of a process that ended is final.
            if side not in heard and side.broken is None and side.process.ended:
                self._lose(side)
        return time.monotonic() < until

    def _lose(self, side: _Side) -> None:
        self._selector.unregister(side.channel)
        if side.broken is None:
            side.crash()

    def stop(self) -> None:
        """Let the sessions end in good order; `end` waits for them."""
        self._leaving = True
        for side in self._sides:
            if side.broken is None:
                side.tell({"do": "stop"})

    def end(self, grace_s: float = 0.0) -> None:
        """End all processes, whatever they are doing; only those told to stop get time for it.
        A second call does nothing.
        """
        if self._over:
            return
        for side in self._sides:
            side.process.end(grace_s if self._leaving and side.broken is None else 0.0)
            side.channel.close()
        self._selector.close()
        self._over = True


def _cannot_run(side: _Side, nodeid: str) -> SideRun | None:
    if side.broken is not None:
        return side.broken
    if side.collected is not None and nodeid in side.collected:
        return None
    for collector, text in side.collect_errors.items():
        if nodeid.startswith(collector):
            return SideRun(State.UNCOLLECTED, text)
    return SideRun(State.UNCOLLECTED, f"{nodeid} was not collected on the {side.name} side")


def _start_side(start: Start, baton: socket.socket | None, folder: Path) -> _Side:
    """Sockets are made here and closed here: the child has its own copies after the start."""
    ours, theirs = socket.socketpair()
    baton_fd = None if baton is None else baton.fileno()
    job = replace(start.job, channel_fd=theirs.fileno(), baton_fd=baton_fd)
    name = SIDES[job.side]
    job_file = folder / f"{name}-{theirs.fileno()}-{time.monotonic_ns()}.json"
    job_file.write_text(json.dumps(job.as_dict()), encoding="utf-8")
    fds = [theirs.fileno()] + ([] if baton_fd is None else [baton_fd])
    argv = [sys.executable, "-P", os.fspath(boot.__file__), str(job_file)]
    process = Process(
        argv,
        env=start.env,
        cwd=job.cwd,
        cores=start.cores,
        fds=fds,
        log=job_file.with_suffix(".log"),
    )
    theirs.close()
    return _Side(name, process, Channel(ours))
