"""What is known of one test's learning so far: trainings of both sides by seed, and what is next.

The base is trained in this run, or its trainings come from a stored baseline.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from pytest_rlperf.baselines.levels import LearningLevel
from pytest_rlperf.gate.track import Benchmark, Track
from pytest_rlperf.learning.runs import SeedTask
from pytest_rlperf.model.learning import LearningSpec, Training
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.stats.decide import Decision
from pytest_rlperf.stats.verdicts import Ended
from pytest_rlperf.wire import BASE, HEAD
from pytest_rlperf.workers.side import SideRun

AHEAD = 4
"""Seeds that may be begun before the first of them is over on both sides."""
NO_BASE = (
    "what is learned is compared with a revision, --rlperf-against=REF, or with a baseline that "
    "--rlperf-save stored"
)
OTHER_SEEDS = "it was stored with none of these seeds; save it again"
SAVED_ALONE = "trained, with nothing to compare with"


@dataclass(slots=True)
class LearningTrack:
    """The learning of one test in a campaign, which fills this seed by seed."""

    track: Track  # how it fails, is skipped, or has trouble on the base
    spec: LearningSpec
    level: LearningLevel | None = None  # the base, where it is stored
    trained_sides: tuple[int, ...] = (HEAD, BASE)
    saving: bool = False  # head is trained with every seed, whatever is decided
    sides: dict[int, dict[int, Training]] = field(default_factory=lambda: {HEAD: {}, BASE: {}})
    unkept: set[int] = field(default_factory=set)  # sides with trainings that later runs lack
    begun: set[SeedTask] = field(default_factory=set)
    decision: Decision | None = None
    base_trouble: SideRun | None = None  # it did not train, and head has not yet
    spent_s: float = 0.0

    @property
    def benchmark(self) -> Benchmark:
        return self.track.benchmark

    @property
    def compared_seeds(self) -> tuple[int, ...]:
        """Return the seeds that both sides can have, in their order."""
        if BASE in self.trained_sides:
            return self.spec.seeds
        return tuple(seed for seed in self.spec.seeds if seed in self.sides[BASE])

    @property
    def pairs(self) -> list[tuple[Training, Training]]:
        """Return head and base of the seeds that both have trained, up to the first that is not
        over: which seeds are judged must not depend on how long they take.
        """
        head, base = self.sides[HEAD], self.sides[BASE]
        seeds = takewhile(lambda seed: seed in head and seed in base, self.compared_seeds)
        return [(self._of_head(seed), base[seed]) for seed in seeds]

    @property
    def of_head(self) -> list[Training]:
        """Return the trainings of head, up to the first seed that is not over."""
        seeds = self.spec.seeds if self.saving else self.compared_seeds
        over = takewhile(lambda seed: seed in self.sides[HEAD], seeds)
        return [self._of_head(seed) for seed in over]

    def _of_head(self, seed: int) -> Training:
        """Return a training of head as that of the base is known."""
        training = self.sides[HEAD][seed]
        return training if self.level is None else training.thinned()

    @property
    def judged(self) -> bool:
        track = self.track
        if track.ended or track.failure or track.skipped is not None:
            return True
        return self.decision is not None and self.decision.outcome is not None

    @property
    def reached(self) -> bool:
        """Return whether there is something to tell of it: a verdict, or what is to be saved."""
        if self.saving and not self.track.failure and self.track.skipped is None:
            return bool(self.of_head)
        return self.judged

    @property
    def open(self) -> bool:
        if self.saving and not self.track.failure and self.track.skipped is None:
            return len(self.of_head) < len(self.spec.seeds)
        return not self.judged

    def next_task(self, own: Collection[int]) -> SeedTask | None:
        """Return a training that nobody has begun, of a side that the asker has a worker of, if
        there is one: to start another takes time. Nobody hurries far ahead of what is judged.
        """
        seeds = self.spec.seeds if self.saving else self.compared_seeds
        done = len(self.of_head) if self.trained_sides == (HEAD,) else len(self.pairs)
        near = seeds[done : done + AHEAD]
        sides = self.trained_sides if self.base_trouble is None else (HEAD,)
        every = (SeedTask(side, seed) for seed in near for side in sides)
        waiting = [task for task in every if task not in self.begun]
        owned = (task for task in waiting if task.side in own)
        task = next(owned, next(iter(waiting), None))
        if task is not None:
            self.begun.add(task)
        return task


@dataclass(frozen=True, slots=True)
class StoredReturns:
    """The baselines that a run without a revision compares with, or saves."""

    levels: Mapping[str, LearningLevel | Ended]
    saving: bool


def track_of(
    benchmark: Benchmark, spec: LearningSpec, stored: StoredReturns | None
) -> LearningTrack:
    """Return the track of a test in a run that compares with a revision, or with what is stored."""
    if stored is None:
        return LearningTrack(Track(benchmark), spec)
    track = LearningTrack(Track(benchmark), spec, trained_sides=(HEAD,), saving=stored.saving)
    match stored.levels.get(benchmark.nodeid):
        case LearningLevel() as level:
            track.level = level
            track.sides[BASE] = level.seeds
            if not track.compared_seeds:
                track.track.ended = Ended(Outcome.INCOMPARABLE, OTHER_SEEDS)
        case Ended() as ended:
            track.track.ended = ended
        case None:
            reason = SAVED_ALONE if stored.saving else NO_BASE
            track.track.ended = Ended(Outcome.NO_BASELINE, reason)
    return track
