"""A run without a revision: compares with the stored baselines, or saves them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pytest_rlperf.errors import UsageError
from pytest_rlperf.judge.stored import Level
from pytest_rlperf.judge.stored_memory import MemoryLevel
from pytest_rlperf.judge.verdicts import Ended
from pytest_rlperf.launch.cache import cache_folder
from pytest_rlperf.model.baseline import Stored
from pytest_rlperf.model.kpi import Status
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import RunResult, Vanished
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.options import DEFAULT_NAME, Settings
from pytest_rlperf.run.partners import THRESHOLD_STORED, Alone, Kernels, Partner
from pytest_rlperf.run.saving import facts_of, levels_of, memory_levels_of, to_store, vanished
from pytest_rlperf.run.selection import Scope
from pytest_rlperf.run.track import Benchmark
from pytest_rlperf.store import pending
from pytest_rlperf.store.baselines import Baselines, check_writable, names_in, save_into


class BaselineRun:
    """What one run takes from the stored baselines, and what it leaves there."""

    def __init__(self, settings: Settings, root: Path) -> None:
        self._settings = settings
        self._root = root
        self._name = settings.save or settings.baseline or DEFAULT_NAME
        self._baselines: Baselines | None = None
        self._stored: dict[str, Stored] = {}
        self._comparable = self._known = 0
        self.vanished: tuple[Vanished, ...] = ()
        self.memory_levels: dict[str, MemoryLevel | Ended] = {}

    @classmethod
    def of(cls, settings: Settings, root: Path) -> Self:
        """Refuses at once what could not work after minutes of measuring."""
        if settings.save is not None:
            _refuse_two_names(settings)
            check_writable(settings.baselines)
        elif settings.baseline is not None:
            _refuse_unknown(settings.baseline, settings.baselines)
        return cls(settings, root)

    @property
    def mode(self) -> str:
        return "stored" if self._settings.save is None else "save"

    @property
    def label(self) -> str | None:
        """What was compared with."""
        return f"baseline {self._name!r}" if self._comparable else None

    @property
    def header(self) -> str:
        s = self._settings
        allowed = format_percent(THRESHOLD_STORED if s.threshold is None else s.threshold)
        doing = "saving" if s.save is not None else "against"
        return f"{doing} the stored baseline {self._name!r}, allowed {allowed}"

    @property
    def nothing_compared(self) -> str:
        if self._settings.save is not None:
            return "nothing was compared, since nothing was stored yet that fits these tests."
        return (
            f"NOTHING WAS COMPARED: {self._why_nothing}; save one with pytest --rlperf "
            "--rlperf-save, or compare with a revision: pytest --rlperf --rlperf-against=REF."
        )

    @property
    def _why_nothing(self) -> str:
        if self._stored and not self._known:
            return (
                f"the stored baseline {self._name!r} has none of these tests, but others such as "
                f"{min(self._stored)}"
            )
        return f"there is no stored baseline {self._name!r} that fits"

    def partner(
        self, benchmarks: Sequence[Benchmark], fingerprint: Mapping[str, Any], scope: Scope
    ) -> Partner:
        s = self._settings
        self._baselines = Baselines(s.baselines, self._name, facts_of(fingerprint, 1))
        if s.save is not None:
            check_writable(self._baselines.own_folder)
        self._stored = self._baselines.load()
        if scope.whole:
            known = {n: test for n, test in self._stored.items() if scope.holds(n)}
            self.vanished = tuple(vanished(known, benchmarks))
        levels = levels_of(self._stored, benchmarks, fingerprint)
        sizes = self.memory_levels = memory_levels_of(self._stored, benchmarks, fingerprint)
        self._known = len(levels.keys() | sizes.keys())
        found = (*levels.values(), *sizes.values())
        self._comparable = sum(isinstance(level, Level | MemoryLevel) for level in found)
        if s.save is None and not levels:
            return Alone(s.threshold)
        return Kernels(levels, s.save is not None, s.threshold)

    def keep(self, run: RunResult, collected: bool) -> tuple[str, ...]:
        """Save what was measured if it may be; returns what to tell about it. `collected`: every
        module could be.
        """
        if self._settings.save is None or self._baselines is None:
            return ()
        if run.interrupted:
            return ("nothing was saved, since the run was interrupted.",)
        if not collected or _failed(run):
            return ("nothing was saved, since a test failed; a failed run is no baseline.",)
        return self._save(self._baselines.own_folder, run)

    def _save(self, folder: Path, run: RunResult) -> tuple[str, ...]:
        tests, cache = to_store(run, self._stored), cache_folder(os.environ)
        if any(test.outcome is Outcome.REGRESSED for test in run.tests):
            pending.keep(cache, self._root, folder, self._name, tests)
            return (
                "nothing was saved, since a test regressed; mend it, or take it over with "
                "rlperf accept --reason TEXT.",
            )
        if not tests:
            return ("nothing was saved, since nothing was measured; raise --rlperf-budget.",)
        save_into(folder, tests, {test.nodeid for test in self.vanished})
        pending.drop(cache, folder)
        return tuple(_what_was_saved(run, len(tests), os.path.relpath(folder, self._root)))


def _refuse_two_names(settings: Settings) -> None:
    if settings.baseline not in (None, settings.save):
        raise UsageError(
            f"--rlperf-save={settings.save} is compared with the baseline that it replaces, not "
            f"with {settings.baseline!r}; write --rlperf-save={settings.baseline}, or leave "
            "--rlperf-baseline out."
        )


def _refuse_unknown(name: str, folder: Path) -> None:
    known = names_in(folder)
    if name not in known:
        there = f"there are {', '.join(known)}" if known else "there is none"
        raise UsageError(
            f"no baseline is named {name!r} in {folder}, {there}; save it with "
            f"--rlperf-save={name}."
        )


def _failed(run: RunResult) -> bool:
    alerts = any(kpi.status is Status.ALERT for kpi in run.kpis)
    return alerts or any(test.failure for test in run.tests)


def _what_was_saved(run: RunResult, saved: int, where: str) -> Iterator[str]:
    yield f"saved {_tests(saved)} in {where}; commit it."
    short = sum(test.skipped is None for test in run.tests) - saved
    if short:
        yield f"{_tests(short)} not saved, since the time ran out; raise --rlperf-budget."
    if run.vanished:
        yield f"{_tests(len(run.vanished))} dropped from it, since the suite has them no more."


def _tests(number: int) -> str:
    return "1 test" if number == 1 else f"{number} tests"
