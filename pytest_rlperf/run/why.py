"""Asks why: profiles both sides of the tests that need an explanation, after the verdicts.

Fresh processes as in any block, and as many pairs of them as tell a change from their spread. What
they take is judged by nobody.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_rlperf.judge.blame import ProfiledPair, explain
from pytest_rlperf.judge.lines import compare_lines
from pytest_rlperf.judge.operators import compare_operators
from pytest_rlperf.judge.stored import Level
from pytest_rlperf.judge.verdicts import error_line
from pytest_rlperf.launch.revision import SHORT
from pytest_rlperf.measure.blocks import Blocks, Played, Task
from pytest_rlperf.measure.side import State
from pytest_rlperf.measure.stage import Stage
from pytest_rlperf.model.job import BASE, HEAD
from pytest_rlperf.model.plan import Plan
from pytest_rlperf.model.profile import LineProfile, SideProfile
from pytest_rlperf.model.profile_wish import ProfileWish
from pytest_rlperf.model.verdict import Outcome
from pytest_rlperf.model.why import Explanation
from pytest_rlperf.report.flamegraph import write_flamegraph
from pytest_rlperf.run.partners import Kernels
from pytest_rlperf.run.profile_facts import Places, side_profile
from pytest_rlperf.run.profile_plan import SLOWED, function_plan, line_plan
from pytest_rlperf.run.source_evidence import Sources, with_sources
from pytest_rlperf.run.track import Track

PAIRS = 8
"""Of fresh processes. Six of them stay when the extremes are trimmed: fewer leave bounds so wide
that a change of 10 % hides behind them."""
LINE_PAIRS = 3
PATIENCE_S = 60.0
"""For one test in one process, besides what it should take."""
STARTUP_S = 120.0
LONGEST_S = 120.0
"""Of profiling; then it is over with the pairs there are."""


@dataclass(slots=True)
class Sittings:
    """The pairs of processes in which a test was profiled on both sides."""

    played: list[Played] = field(default_factory=list)
    trouble: str = ""  # what stopped it in the last of the others

    def take(self, played: Played) -> None:
        stopped = [run for run in played.runs if run.state is not State.RAN or not run.facts]
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

    def explain(self, tracks: Sequence[Track]) -> None:
        """Leave an explanation in each track that needs one."""
        asked = [track for track in tracks if self._needs(track)]
        if not asked or not PAIRS:
            return
        played = self._played({_nodeid(t): (t, _function_plan(t)) for t in asked}, PAIRS)
        for track in asked:
            track.explanation = self._explained(track, played[_nodeid(track)])
        if self.wish.lines:
            self._add_lines(asked)

    def _needs(self, track: Track) -> bool:
        if track.plan is None or track.failure or track.ended:
            return False
        return self.wish.always or (_regressed(track) and self.wish.on_regression)

    def _played(
        self, asked: Mapping[str, tuple[Track, Plan]], pairs: int
    ) -> Mapping[str, Sittings]:
        found = {nodeid: Sittings() for nodeid in asked}
        tasks = [_task(track, plan) for track, plan in asked.values()]
        blocks = Blocks(self.stage)
        until = time.monotonic() + LONGEST_S
        try:
            for index in range(1, pairs + 1):
                tests = "1 test" if len(tasks) == 1 else f"{len(tasks)} tests"
                self.say(f"rlperf: profiling {tests} · pair {index} of {pairs}")
                for played in blocks.run(index, tasks, tasks, STARTUP_S):
                    found[played.nodeid].take(played)
                if time.monotonic() > until:
                    break
        finally:
            blocks.close()
        return found

    def _explained(self, track: Track, sittings: Sittings) -> Explanation:
        decision, played = track.decision, sittings.played
        pairs = [ProfiledPair(self._profile(p, HEAD), self._profile(p, BASE)) for p in played]
        measured = decision.interval.change if decision and decision.interval else None
        explanation = explain(pairs, measured, decision is not None and decision.by_sums)
        if explanation.change is None and sittings.trouble:
            note = f"{explanation.note}: {sittings.trouble}"
            explanation = replace(explanation, note=note)
        sources = Sources.read(track.imported, self.stage.sides[HEAD].tree)
        ran = [function for pair in pairs for function in pair.head.functions]
        graph = write_flamegraph(self.graphs, _nodeid(track), pairs)
        explanation = with_sources(explanation, sources, ran)
        return replace(explanation, graph=graph, operators=compare_operators(pairs))

    def _profile(self, played: Played, side: int) -> SideProfile:
        facts = played.runs[side].facts
        assert facts is not None
        places = Places(self.stage.sides[side].tree, self.stage.sys_path)
        return side_profile(facts["profile"], places)

    def _add_lines(self, tracks: Sequence[Track]) -> None:
        named = {_nodeid(t): (t, self._lines_of(t)) for t in tracks}
        asked = {n: (t, _line_plan(t, function)) for n, (t, function) in named.items() if function}
        for nodeid, sittings in self._played(asked, LINE_PAIRS).items():
            track, function = named[nodeid]
            head, base = (_line_profiles(sittings.played, side) for side in (HEAD, BASE))
            assert track.explanation is not None
            lines = compare_lines(function, head, base)
            track.explanation = replace(track.explanation, lines=lines)

    def _lines_of(self, track: Track) -> str:
        """The function that was named, else the one that is blamed most."""
        causes = track.explanation.causes if track.explanation else ()
        return self.wish.function or (str(causes[0].function) if causes else "")


def point_to_revision(tracks: Sequence[Track], partner: Kernels, wish: ProfileWish) -> None:
    """Beside a stored baseline: say how to learn why."""
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


def _regressed(track: Track) -> bool:
    return track.decision is not None and track.decision.outcome is Outcome.REGRESSED


def _nodeid(track: Track) -> str:
    return track.benchmark.nodeid


def _task(track: Track, plan: Plan) -> Task:
    b = track.benchmark
    deadline_s = PATIENCE_S + 2 * SLOWED * track.expected_s(plan)
    return Task(b.nodeid, plan, b.spec.threads, deadline_s, b.nprocs)


def _function_plan(track: Track) -> Plan:
    assert track.plan is not None
    assert track.seen is not None
    return function_plan(track.plan, track.seen)


def _line_plan(track: Track, function: str) -> Plan:
    assert track.plan is not None
    assert track.seen is not None
    return line_plan(track.plan, track.seen, function)


def _line_profiles(played: Sequence[Played], side: int) -> list[LineProfile]:
    facts = [each.runs[side].facts for each in played]
    found = [each["profile"]["line_profile"] for each in facts if each is not None]
    return [LineProfile.from_facts(each) for each in found if each is not None]
