"""Asks why a test takes longer: profiles both sides of the tests that need an explanation.

This is done after the verdicts, in fresh processes as in any block, and in as many pairs of them as
tell a change from their spread: a large one shows in four, one of 6 % may take 24. Of tests that
meet the same changes of the code, the one that moved most is profiled first, since the others will
say the same and the time is short. What profiles take is judged by nobody.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from pytest_rlperf.baselines.levels import Level
from pytest_rlperf.errors import never_fatal
from pytest_rlperf.gate.partners import Kernels
from pytest_rlperf.gate.track import Track
from pytest_rlperf.model.block import Spending
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.plan import Mode, Plan, Scouted
from pytest_rlperf.model.profile import (
    Callee,
    Cost,
    Explanation,
    Function,
    FunctionRecord,
    Key,
    LineProfile,
    Profiling,
    SideProfile,
    SlicesProfile,
)
from pytest_rlperf.options import ProfileWish
from pytest_rlperf.profile.attribution import (
    LOOKS,
    ProfiledPair,
    charged,
    compare_lines,
    compare_operators,
    explain,
)
from pytest_rlperf.profile.flamegraph import write_flamegraph
from pytest_rlperf.profile.sources import Sources, with_sources
from pytest_rlperf.report.text import render_tests
from pytest_rlperf.stats.verdicts import error_line
from pytest_rlperf.trees.git import SHORT
from pytest_rlperf.wire import BASE, HEAD, Measurement, Order
from pytest_rlperf.workers.blocks import Blocks, Played
from pytest_rlperf.workers.pair import Stage
from pytest_rlperf.workers.side import State


@dataclass(frozen=True, slots=True)
class Places:
    """Where one side's code lies: its own tree, and what both sides import."""

    tree: Path
    sys_path: Sequence[str]
    names_libraries: bool = False  # they may differ between the sides, and so be to blame

    def is_named(self, key: Key) -> bool:
        """Return whether the function's time is its own, not charged to who calls it."""
        return self.is_project(key) or (self.names_libraries and os.path.isabs(key[0]))

    def is_project(self, key: Key) -> bool:
        """Return whether the function belongs to the project, and not to an environment that was
        made inside of its tree.
        """
        inside = _inside(key[0], str(self.tree))
        return inside is not None and "site-packages" not in inside

    def function(self, key: Key) -> Function:
        return Function(self._short(key[0]), key[1])

    def _short(self, file: str) -> str:
        """Return the path in the tree; of a library, in the longest folder it is imported from."""
        folders = [str(self.tree), *filter(None, self.sys_path)]
        names = [short for folder in folders if (short := _inside(file, folder)) is not None]
        return names[0] if self.is_project((file, "")) else min(names, key=len, default=file)


def _inside(file: str, folder: str) -> str | None:
    """Return the path of the file from the folder on; None: it lies elsewhere."""
    prefix = folder.rstrip(os.sep) + os.sep
    return file.removeprefix(prefix) if file.startswith(prefix) else None


def side_profile(profile: SlicesProfile, places: Places) -> SideProfile:
    """Return a profile whose functions have the same names on both sides, with the time of those
    that are not named charged to those that are.
    """
    records = {record.key: record for record in profile.functions}
    outside = {key for key in records if not places.is_named(key)}
    spent = {key: {callee: ns for callee, (_, ns) in r.callees} for key, r in records.items()}
    typical = charged({key: r.typical_ns for key, r in records.items()}, spent, outside)
    mean = charged({key: r.mean_ns for key, r in records.items()}, spent, outside)
    return SideProfile(
        functions={
            places.function(key): Cost(
                calls=records[key].calls,
                typical_ns=typical.get(key, 0.0),
                mean_ns=mean.get(key, 0.0),
                compiled=records[key].compiled,
                callees=_outside_callees(records[key], outside, places),
            )
            for key in typical.keys() | mean.keys()
        },
        calls=profile.calls,
        computing=profile.computing,
        stacks={
            tuple(str(places.function(key)) for key in stack): ns for stack, ns in profile.stacks
        },
        operators=profile.operators,
    )


def _outside_callees(
    record: FunctionRecord, outside: Set[Key], places: Places
) -> dict[str, Callee]:
    """Return the function's callees outside of the project. Of native ones, only their own time is
    known to be spent here.
    """
    library = {str(places.function(key)): c for key, c in record.callees if key in outside}
    return {**library, **record.natives}


SLICES = (9, 24)
"""The least and the most slices of a process; every third has its stacks sampled."""
PROCESS_NS = 1.2e9
"""The time aimed at for one test in one process."""
SLOWED = 4
"""Profiled code may take this many times as long."""


def function_plan(plan: Plan, seen: Scouted) -> Plan:
    """Return how the slices of a test are profiled, given how they were timed. The sides take
    turns: side by side, the other side's time would be in every function's.
    """
    mode = Mode.LIVE if plan.mode is Mode.LIVE else Mode.SLICED
    profiled = replace(plan.without_starts, mode=mode, abreast=False, profile=Profiling.FUNCTIONS)
    if plan.exact:  # the test counts its calls
        return profiled
    slice_ns = plan.calls * (SLOWED * seen.call_ns + seen.setup_ns)
    least, most = SLICES
    return replace(profiled, pairs=max(least, min(most, round(PROCESS_NS / max(1.0, slice_ns)))))


def line_plan(plan: Plan, seen: Scouted, function: str) -> Plan:
    return replace(function_plan(plan, seen), profile=Profiling.LINES, lines_of=function)


LINE_PAIRS = 3
PATIENCE_S = 60.0
"""The time for one test in one process, besides what it should take."""
STARTUP_S = 120.0
ENOUGH = 0.5
"""The share of a change from which on those blamed explain it: no more pairs are needed."""
PROFILES_S = 120.0
"""The most time for profiling, or as much as the budget is if that is less; then it is over with
the pairs there are."""


@dataclass(slots=True)
class ProfiledRuns:
    """The pairs of processes in which a test was profiled on both sides."""

    played: list[Played] = field(default_factory=list)
    trouble: str = ""  # what stopped it in the last pair that is not among them

    def take(self, played: Played) -> None:
        """Keep the runs of a pair, or what stopped one of them."""
        stopped = [run for run in played.runs if run.state is not State.RAN or not run.report]
        if stopped:
            # A side that was left in the middle of its turns does not know why.
            cause = min(stopped, key=lambda run: run.state is State.ABANDONED)
            self.trouble = error_line(cause.text) or cause.state.value
        else:
            self.played.append(played)


@dataclass(frozen=True, slots=True)
class Profiler:
    """Profiles tests on a stage with two revisions."""

    stage: Stage
    wish: ProfileWish
    graphs: Path  # folder for flame graphs
    say: Callable[[str], None]
    most_s: float = PROFILES_S

    def explain(self, tracks: Sequence[Track]) -> None:
        """Leave an explanation in each track that needs one."""
        asked = [track for track in tracks if self._needs(track)]
        if not asked or not LOOKS:
            return
        until = time.monotonic() + self.most_s
        first = first_of_each_change(asked)
        self._explain([track for track in asked if first[_nodeid(track)] is track], LOOKS, until)
        others = [track for track in asked if first[_nodeid(track)] is not track]
        if time.monotonic() < until:
            self._explain(others, LOOKS[:2], until)
        else:
            for track in others:
                with never_fatal(partial(_leave_note, track)):
                    why = Explanation(note=_like_another(first[_nodeid(track)]))
                    track.explanation = self._with_edits(track, why, self._sources(track))
        if self.wish.lines:
            self._add_lines(asked, until)

    def _explain(self, tracks: Sequence[Track], looks: Sequence[int], until: float) -> None:
        """Profile tests in more and more pairs of processes, as long as nobody is to blame."""
        asked = {_nodeid(track): (track, _function_plan(track)) for track in tracks}
        runs = {nodeid: ProfiledRuns() for nodeid in asked}
        for done, wanted in pairwise((0, *looks)):
            if not asked or (done and time.monotonic() > until):
                break
            self._play(asked, runs, range(done + 1, wanted + 1), until)
            for nodeid, (track, _) in asked.items():
                with never_fatal(partial(_leave_note, track)):
                    track.explanation = self._explained(track, runs[nodeid])
            asked = {nodeid: each for nodeid, each in asked.items() if _is_open(each[0])}
        for track in tracks:
            with never_fatal(partial(_leave_no_picture, track)):
                self._add_pictures(track, runs[_nodeid(track)])

    def _needs(self, track: Track) -> bool:
        """Return whether the user wishes to know why this test takes as long as it does."""
        if track.plan is None or track.failure or track.ended:
            return False
        return self.wish.always or (_regressed(track) and self.wish.on_regression)

    def _play(
        self,
        asked: Mapping[str, tuple[Track, Plan]],
        runs: Mapping[str, ProfiledRuns],
        pairs: range,
        until: float,
    ) -> None:
        """Run tests under the profiler in these pairs of processes, and add to their runs."""
        orders = [_order(track, plan) for track, plan in asked.values()]
        blocks = Blocks(self.stage)
        try:
            for index in pairs[:: blocks.lanes]:
                shares = [orders] * min(blocks.lanes, pairs.stop - index)
                tests = render_tests(len(orders))
                self.say(f"rlperf: profiling {tests} · pair {index} of {pairs.stop - 1}")
                for played in blocks.run(index, shares, orders, STARTUP_S):
                    runs[played.nodeid].take(played)
                    asked[played.nodeid][0].cost += Spending(profiles=played.share_s)
                if time.monotonic() > until:
                    break
        finally:
            blocks.close()

    def _explained(self, track: Track, runs: ProfiledRuns) -> Explanation:
        decision, pairs = track.decision, self._pairs(runs)
        measured = decision.interval.change if decision and decision.interval else None
        sources = self._sources(track)
        heads = [pair.head for pair in pairs]
        by_mean = decision is not None and decision.by_sums
        explanation = explain(pairs, measured, by_mean, sources.suspects(heads))
        if explanation.change is None and runs.trouble:
            note = f"{explanation.note}: {runs.trouble}"
            explanation = replace(explanation, note=note)
        ran = {function for profile in heads for function in profile.functions}
        return self._with_edits(track, explanation, sources, ran)

    def _sources(self, track: Track) -> Sources:
        return Sources.read(track.imported, self.stage.sides[HEAD].tree)

    def _with_edits(
        self,
        track: Track,
        explanation: Explanation,
        sources: Sources,
        ran: Set[Function] = frozenset(),
    ) -> Explanation:
        """Add what the sources say. What the test met was seen before it was measured, so that it
        is known although no profile could be taken.
        """
        met = {
            Function(*difference.rsplit(":", 1))
            for difference in track.differences
            if ":" in difference
        }
        explanation = with_sources(explanation, sources, ran | met)
        sole = track.differences == tuple(str(edit.function) for edit in explanation.edits)
        return replace(explanation, sole=sole and len(track.differences) == 1)

    def _add_pictures(self, track: Track, runs: ProfiledRuns) -> None:
        """Add to an explanation what shows the same in another way."""
        pairs = self._pairs(runs)
        graph = write_flamegraph(self.graphs, _nodeid(track), pairs)
        assert track.explanation is not None
        operators = compare_operators(pairs)
        track.explanation = replace(track.explanation, graph=graph, operators=operators)

    def _pairs(self, runs: ProfiledRuns) -> list[ProfiledPair]:
        return [ProfiledPair(self._profile(p, HEAD), self._profile(p, BASE)) for p in runs.played]

    def _profile(self, played: Played, side: int) -> SideProfile:
        profile = _slices_profile(played, side)
        assert profile is not None
        own = self.stage.sides[side]
        two = any(each.environment is not None for each in self.stage.sides)
        return side_profile(profile, Places(own.tree, self.stage.path_of(own), two))

    def _add_lines(self, tracks: Sequence[Track], until: float) -> None:
        named = {_nodeid(t): (t, self._lines_of(t)) for t in tracks}
        asked = {n: (t, _line_plan(t, function)) for n, (t, function) in named.items() if function}
        runs = {nodeid: ProfiledRuns() for nodeid in asked}
        self._play(asked, runs, range(1, LINE_PAIRS + 1), until)
        for nodeid, played in runs.items():
            track, function = named[nodeid]
            head, base = (_line_profiles(played.played, side) for side in (HEAD, BASE))
            assert track.explanation is not None
            lines = compare_lines(function, head, base)
            track.explanation = replace(track.explanation, lines=lines)

    def _lines_of(self, track: Track) -> str:
        """Return the function that was named, else the one blamed most; empty: there is none."""
        causes = track.explanation.causes if track.explanation else ()
        return self.wish.function or (str(causes[0].function) if causes else "")


def first_of_each_change(tracks: Sequence[Track]) -> dict[str, Track]:
    """Return for each test the one to profile first among those that meet the same changes of the
    code: the one that moved most. A test of which it is not known what it met stands for itself.
    """
    alike: dict[tuple[str, ...], list[Track]] = {}
    for track in tracks:
        alike.setdefault(track.differences or (_nodeid(track),), []).append(track)
    first = {met: max(group, key=_moved) for met, group in alike.items()}
    return {_nodeid(track): first[met] for met, group in alike.items() for track in group}


def _moved(track: Track) -> float:
    interval = track.decision.interval if track.decision else None
    return interval.change if interval else 0.0


def _like_another(first: Track) -> str:
    return (
        "not profiled, since the time for profiles was over; "
        f"{_nodeid(first)} meets the same changes, and its profile tells why"
    )


def _is_open(track: Track) -> bool:
    """Return whether more pairs may explain a regression that is not explained yet."""
    why = track.explanation
    if why is None or not why.pairs or not _regressed(track):
        return False
    return sum(cause.share for cause in why.causes) < ENOUGH


def point_to_revision(tracks: Sequence[Track], partner: Kernels, wish: ProfileWish) -> None:
    """Leave in each regressed track which revision tells why: a stored baseline holds no code."""
    for track in tracks:
        if _regressed(track) and wish.on_regression:
            level = partner.levels[_nodeid(track)]
            commit = level.commit if isinstance(level, Level) else None
            track.explanation = Explanation(note=_with_revision(commit))


def _with_revision(commit: str | None) -> str:
    what = "the commit it was saved from" if commit else "another revision"
    return (
        "a baseline holds no code to look into; "
        f"--rlperf-against={commit[:SHORT] if commit else 'REF'} compares with {what} and tells why"
    )


def _leave_note(track: Track, why: str) -> None:
    track.explanation = Explanation(note=f"no profile: {why}")


def _leave_no_picture(track: Track, why: str) -> None:
    if track.explanation is not None:
        notes = filter(None, (track.explanation.note, f"no flame graph: {why}"))
        track.explanation = replace(track.explanation, note="; ".join(notes))


def _regressed(track: Track) -> bool:
    return track.decision is not None and track.decision.outcome is Outcome.REGRESSED


def _nodeid(track: Track) -> str:
    return track.benchmark.nodeid


def _order(track: Track, plan: Plan) -> Order:
    deadline_s = PATIENCE_S + 2 * SLOWED * track.expected_s(plan)
    return track.benchmark.order(deadline_s, plan)


def _function_plan(track: Track) -> Plan:
    assert track.plan is not None
    assert track.seen is not None
    return function_plan(track.plan, track.seen)


def _line_plan(track: Track, function: str) -> Plan:
    assert track.plan is not None
    assert track.seen is not None
    return line_plan(track.plan, track.seen, function)


def _line_profiles(played: Sequence[Played], side: int) -> list[LineProfile]:
    profiles = [_slices_profile(run, side) for run in played]
    return [profile.lines for profile in profiles if profile and profile.lines is not None]


def _slices_profile(played: Played, side: int) -> SlicesProfile | None:
    report = played.runs[side].report
    return report.profile if isinstance(report, Measurement) else None
