"""A run without a revision: compares with the stored baselines, or saves them."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pytest_rlperf.campaign import Benchmark
from pytest_rlperf.errors import UsageError
from pytest_rlperf.judge.stored import Level
from pytest_rlperf.launch.cache import cache_folder
from pytest_rlperf.model.baseline import Stored
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import RunResult, Vanished
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.options import DEFAULT_NAME, Settings
from pytest_rlperf.partners import THRESHOLD_STORED, Alone, Kernels, Partner
from pytest_rlperf.saving import facts_of, levels_of, to_store, vanished
from pytest_rlperf.selection import Scope
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
        self._comparable = 0
        self.vanished: tuple[Vanished, ...] = ()

    @classmethod
    def of(cls, settings: Settings, root: Path) -> Self:
        """Refuses at once what could not work after minutes of measuring."""
        if settings.save is not None:
            check_writable(settings.baselines)
        elif settings.baseline is not None:
            known = names_in(settings.baselines)
            if settings.baseline not in known:
                there = f"there are {', '.join(known)}" if known else "there is none"
                raise UsageError(
                    f"no baseline is named {settings.baseline!r} in {settings.baselines}, {there}; "
                    f"save it with --rlperf-save={settings.baseline}."
                )
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
            return "nothing to compare with yet: this is the first baseline of these tests."
        return (
            f"NOTHING WAS COMPARED: there is no stored baseline {self._name!r} that fits; save one "
            "with pytest --rlperf --rlperf-save, or compare with a revision: "
            "pytest --rlperf --rlperf-against=REF."
        )

    def partner(
        self, benchmarks: Sequence[Benchmark], fingerprint: Mapping[str, Any], scope: Scope
    ) -> Partner:
        s = self._settings
        self._baselines = Baselines(s.baselines, self._name, facts_of(fingerprint, 1))
        self._stored = self._baselines.load()
        if scope.whole:
            known = {n: test for n, test in self._stored.items() if scope.holds(n)}
            self.vanished = tuple(vanished(known, benchmarks))
        levels = levels_of(self._stored, benchmarks, fingerprint)
        self._comparable = sum(isinstance(level, Level) for level in levels.values())
        if s.save is None and not levels:
            return Alone(s.threshold)
        return Kernels(levels, s.save is not None, s.threshold)

    def keep(self, run: RunResult) -> tuple[str, ...]:
        """Save what was measured if it may be; returns what to tell about it."""
        if self._settings.save is None or self._baselines is None:
            return ()
        if run.interrupted or any(test.failure for test in run.tests):
            return ("nothing was saved, since a test failed; a failed run is no baseline.",)
        tests = to_store(run, self._stored)
        folder = self._baselines.own_folder
        cache = cache_folder(os.environ)
        if any(test.verdict.outcome is Outcome.REGRESSED for test in run.tests):
            pending.keep(cache, self._root, folder, self._name, tests)
            return (
                "nothing was saved, since a test regressed; mend it, or take it over with "
                "rlperf accept --reason TEXT.",
            )
        if not tests:
            return ("nothing was saved, since nothing was measured; raise --rlperf-budget.",)
        save_into(folder, tests)
        pending.drop(cache, folder)
        where = os.path.relpath(folder, self._root)
        return (f"saved {len(tests)} tests in {where}; commit it.",)
