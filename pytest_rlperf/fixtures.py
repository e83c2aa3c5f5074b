"""The fixtures `rlperf`, `rlperf_memory`, `rlperf_learning` and `rlperf_mpi`: they measure in a
worker, and call once elsewhere; and `rlperf_size`, the size of the input. Tests are parametrized
here by the sizes of their inputs and of their jobs.
"""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

import pytest

from pytest_rlperf.awaiting import blocking, refuse_unused
from pytest_rlperf.errors import FixtureError, UsageError
from pytest_rlperf.phases import Phase, phase

if TYPE_CHECKING:
    from pytest_rlperf.mpi.communicator import RankRaises
    from pytest_rlperf.mpi.rank_session import Here
    from pytest_rlperf.worker.calls import Calls, Work
    from pytest_rlperf.worker.player import Player

Given = ParamSpec("Given")
Returned = TypeVar("Returned")

MPI_FIXTURE = "rlperf_mpi"
MEMORY_FIXTURE = "rlperf_memory"
LEARNING_FIXTURE = "rlperf_learning"
SIZE_FIXTURE = "rlperf_size"

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these


class Rlperf:
    """Measures one function a test. Calling it returns what the function returned last."""

    _name = "rlperf"

    def __init__(self, player: "Player | None", steps: int | None) -> None:
        self._player = player
        self._steps = steps
        self._called = False

    @overload
    def __call__(
        self,
        func: Callable[Given, Coroutine[Any, Any, Returned]],
        /,
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Returned: ...

    @overload
    def __call__(
        self, func: Callable[Given, Returned], /, *args: Given.args, **kwargs: Given.kwargs
    ) -> Returned: ...

    def __call__(self, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Measure `func(*args, **kwargs)`, awaited where it is a coroutine function."""
        return self._run(func, args, kwargs)

    def measure(
        self,
        func: Callable[..., Any],
        *,
        setup: Callable[[], Any] | None = None,
        steps: int | None = None,
        work: "Work" = None,
    ) -> Any:
        """Measure `func` with fresh state a call and declared work.

        `setup()` runs untimed before each call; what it returns, unless None, is handed to
        `func` as its only argument. `steps` is the number of steps in one call and turns time
        into steps/s. `work` maps the result to counts that must be equal on both sides.
        """
        return self._run(func, (), {}, setup, steps, work)

    def phase(self, name: str) -> Phase:
        """A part of the measured function that is timed on its own: `with rlperf.phase("x"):`."""
        return phase(name)

    def _run(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, object],
        setup: Callable[[], Any] | None = None,
        steps: int | None = None,
        work: "Work" = None,
    ) -> Any:
        if not callable(func):
            raise FixtureError(
                f"{self._name} needs a function to call, not {type(func).__name__}; "
                f"write {self._name}(func, argument), not {self._name}(func(argument))."
            )
        if self._called:
            raise FixtureError(
                f"{self._name} measures one call a test, and this is the second; "
                "split the test in two, or parametrize it."
            )
        self._called = True
        steps = checked_steps(self._steps if steps is None else steps)
        if self._player is not None:
            return self._player.play(self._calls()(func, args, kwargs, setup), work, steps)
        result = self._called_once(func, args, kwargs, setup)
        refuse_unused(result)
        return result

    def _called_once(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, object],
        setup: Callable[[], Any] | None,
    ) -> Any:
        func = blocking(func)
        if setup is None:
            return func(*args, **kwargs)
        state = setup()
        return func() if state is None else func(state)

    def _calls(self) -> "Callable[..., Calls]":
        """Return what makes the calls of a function; imported here, where somebody measures."""
        from pytest_rlperf.worker.calls import Calls

        return Calls


class RlperfMemory(Rlperf):
    """Measures the memory that one function a test takes, and not its time."""

    _name = MEMORY_FIXTURE


class RlperfLearning:
    """Judges what one function a test learns. Calling it returns what the function returned."""

    def __init__(self, player: "Player | None", seed: int) -> None:
        self._player = player
        self._seed = seed
        self._called = False

    def __call__(self, train: Callable[[int], Any], /) -> Any:
        """Train once a seed and side: `train(seed)` returns the final return, a curve as a list of
        (steps, return), or a mapping of such by task. Without `--rlperf` it is called once.
        """
        if not callable(train):
            raise FixtureError(
                f"rlperf_learning needs a function of the seed, not {type(train).__name__}; write "
                "rlperf_learning(train), where train(seed) returns what was learned."
            )
        if self._called:
            raise FixtureError("rlperf_learning judges one training a test; split it in two.")
        self._called = True
        if self._player is not None:
            return self._player.train(train)
        from pytest_rlperf.learning.training import trained

        return trained(train, self._seed)[1]


class RlperfMpi(Rlperf):
    """Measures one function a test in each rank of an MPI job; every rank makes every call."""

    rank: int  # the number of this one, from 0
    size: int  # the number of ranks of the job

    def __init__(self, here: "Here", player: "Player | None", steps: int | None) -> None:
        super().__init__(player, steps)
        from pytest_rlperf.mpi.communicator import RankComm

        self._comm = RankComm(here.world.Dup())  # apart from the library's own messages
        self.rank = here.rank
        self.size = here.size

    def _calls(self) -> "Callable[..., Calls]":
        from pytest_rlperf.mpi.rank_player import RankCalls

        return partial(RankCalls, comm=self._comm)

    @property
    def comm(self) -> Any:
        """mpi4py's communicator of all ranks of the job."""
        return self._comm

    def rank_assert(self, condition: object, message: str = "") -> None:
        """To be called on all ranks: fails on every one where `condition` is false on any."""
        from pytest_rlperf.mpi.communicator import rank_assert

        rank_assert(self._comm, condition, message)

    def rank_raises(
        self,
        expected: type[BaseException] | tuple[type[BaseException], ...],
        *,
        match: str | None = None,
    ) -> "RankRaises":
        """As `pytest.raises`, on all ranks: fails on every one where any does not raise."""
        from pytest_rlperf.mpi.communicator import RankRaises

        return RankRaises(self._comm, expected, match)


def checked_steps(steps: int | None) -> int | None:
    if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int) or steps < 1):
        raise FixtureError(f"steps is {steps!r}; give the whole number of steps one call makes.")
    return steps


@pytest.fixture
def rlperf(request: pytest.FixtureRequest) -> Rlperf:
    """Measure a function: `result = rlperf(func, *args, **kwargs)`."""
    from pytest_rlperf.markers import spec_of

    return Rlperf(_player_beside_memory(request), spec_of(request.node).steps)


def _player_beside_memory(request: pytest.FixtureRequest) -> "Player | None":
    """Return the player, unless it looks at memory and the test has the fixture for that."""
    player = player_of(request.config)
    aside = player is not None and player.probes and MEMORY_FIXTURE in request.fixturenames
    return None if aside else player


@pytest.fixture
def rlperf_memory(request: pytest.FixtureRequest) -> RlperfMemory:
    """Measure the memory of a function: `result = rlperf_memory(func, *args, **kwargs)`."""
    player = player_of(request.config)
    return RlperfMemory(player if player is not None and player.probes else None, None)


@pytest.fixture
def rlperf_learning(request: pytest.FixtureRequest) -> RlperfLearning:
    """Judge what is learned: `rlperf_learning(train)`, where `train(seed)` returns the return."""
    from pytest_rlperf.markers import learning_of

    try:
        spec = learning_of(request.node)
    except UsageError as error:
        # Our own frames explain nothing.
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    return RlperfLearning(player_of(request.config), spec.seeds[0])


def player_of(config: pytest.Config) -> "Player | None":
    """Return a worker session's player; a plain run has none, and imports no measuring code."""
    import sys

    worker = sys.modules.get("pytest_rlperf.worker.session")
    return None if worker is None else config.stash.get(worker.PLAYER, None)


@pytest.fixture
def rlperf_mpi(request: pytest.FixtureRequest) -> RlperfMpi:
    """Communicate and measure in the ranks of an MPI job: `.comm`, `.rank`, `.size`."""
    from pytest_rlperf.markers import spec_of

    here = here_of(request.config)
    if here is None:
        raise FixtureError(
            "rlperf_mpi is for tests that ask for it themselves; take it as an argument of the "
            "test, not by request.getfixturevalue."
        )
    return RlperfMpi(here, _player_beside_memory(request), spec_of(request.node).steps)


def here_of(config: pytest.Config) -> "Here | None":
    """Return the place of this process in an MPI job; None: it is no rank of one."""
    import sys

    rank = sys.modules.get("pytest_rlperf.mpi.rank_session")
    return None if rank is None else config.stash.get(rank.HERE, None)


@pytest.fixture
def rlperf_size(request: pytest.FixtureRequest) -> float:
    """The size of the input: one of those that the marker names, each in a test of its own."""
    size: float = request.param
    return size


def asks_for_sizes(metafunc: pytest.Metafunc) -> bool:
    """Return whether a test asks for sizes by its argument or its marker; both belong together."""
    from pytest_rlperf.markers import MARKER, MPI_MARKER

    markers = metafunc.definition.iter_markers()
    named = any("sizes" in m.kwargs for m in markers if m.name in (MARKER, MPI_MARKER))
    return named or SIZE_FIXTURE in metafunc.fixturenames


def parametrize_sizes(metafunc: pytest.Metafunc) -> None:
    """Make each of the sizes that the marker names a test of its own."""
    from pytest_rlperf.markers import spec_of

    item: Any = metafunc.definition
    try:
        sizes = spec_of(item).sizes
        if bool(sizes) != (SIZE_FIXTURE in metafunc.fixturenames):
            raise UsageError(_half_sized(item.nodeid, bool(sizes)))
    except UsageError as error:
        raise pytest.Collector.CollectError(f"rlperf: {error}") from None
    ids = [size_id(size) for size in sizes]
    metafunc.parametrize(SIZE_FIXTURE, sizes, ids=ids, indirect=True)


def _half_sized(nodeid: str, has_sizes: bool) -> str:
    if has_sizes:
        return (
            f"{nodeid}: the marker names sizes, and the test does not take any; add {SIZE_FIXTURE} "
            "to its arguments and make the input of that size."
        )
    return (
        f"{nodeid}: the test takes {SIZE_FIXTURE}, and no marker says which sizes there are; add "
        "@pytest.mark.rlperf(sizes=[100, 1000, 10000])."
    )


def size_id(size: float) -> str:
    """Return a size as it stands in the name of a test."""
    return f"size={size}"


def parametrize_nprocs(metafunc: pytest.Metafunc) -> None:
    """Make each size of an MPI test's jobs a test of its own; a plain run makes do with one."""
    from pytest_rlperf.markers import ranks_of, spec_of

    item: Any = metafunc.definition
    try:
        spec = ranks_of(item)
        spec_of(item)  # or a wrong keyword would be noticed in the ranks only
    except UsageError as error:
        raise pytest.Collector.CollectError(f"rlperf: {error}") from None
    every = metafunc.config.getoption("rlperf") or here_of(metafunc.config) is not None
    sizes = spec.nprocs if every else (spec.plain,)
    ids = [f"nprocs={size}" for size in sizes]
    metafunc.parametrize(MPI_FIXTURE, sizes, ids=ids, indirect=True)
