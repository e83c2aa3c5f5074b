"""In the worker: one call of a test's `train` with one seed, and what it returned as curves."""

import inspect
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from itertools import islice, pairwise
from typing import Any

from pytest_rlperf.awaiting import blocking, refuse_unused
from pytest_rlperf.errors import FixtureError
from pytest_rlperf.model.learning import Curve, Training
from pytest_rlperf.reading import MOST

MOST_POINTS = 10_000
"""A curve is kept, drawn and sent whole."""
WANTED = (
    "train(seed) returned {what}; return the final return as a number, a curve as a list of "
    "(steps, return), or a mapping of such by task."
)


def trained(train: Callable[[int], Any], seed: int) -> tuple[Training, Any]:
    """Call `train(seed)`; return what it learned, and what it returned.

    Whoever trains without seeding the generators gets them seeded: both sides then begin alike.
    """
    seed_everything(seed)
    begun = time.monotonic()
    result = blocking(train)(seed)
    if inspect.isgenerator(result):  # it trains while its points are asked for
        result = list(islice(result, MOST_POINTS + 1))
    seconds = time.monotonic() - begun
    refuse_unused(result)
    return Training(seed, curves_of(result), seconds=seconds), result


def failed(seed: int, error: BaseException) -> Training:
    """Return the training that ended with an error, with the frames of the test's own code; where
    it has diverged, the return alone is told, since none of the frames is the test's.
    """
    if isinstance(error, DivergedError):
        return Training(seed, failure=str(error))
    frames = every = error.__traceback__
    while every is not None:
        if every.tb_frame.f_code is trained.__code__:
            frames = every.tb_next
        every = every.tb_next
    text = "".join(traceback.format_exception(type(error), error, frames))
    return Training(seed, failure=text.rstrip())


def seed_everything(seed: int) -> None:
    """Seed the generators that are shared in a process, of those modules that are loaded."""
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed % 2**32)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(seed)


def curves_of(result: Any) -> dict[str, Curve]:
    """Return what `train` returned as curves by task, or refuse it."""
    if isinstance(result, Mapping):
        if not result:
            raise FixtureError(WANTED.format(what="an empty mapping"))
        return {str(task): _curve(curve) for task, curve in result.items()}
    return {"": _curve(result)}


def _curve(result: Any) -> Curve:
    if _is_number(result):
        return ((0.0, _number(result)),)
    if isinstance(result, str | bytes) or not isinstance(result, Iterable):
        raise FixtureError(WANTED.format(what=f"{type(result).__name__}"))
    points = [_point(point) for point in result]
    if not points:
        raise FixtureError(WANTED.format(what="an empty curve"))
    if any(later[0] <= earlier[0] for earlier, later in pairwise(points)):
        raise FixtureError("train(seed) returned a curve whose steps do not increase; sort them.")
    if len(points) > MOST_POINTS:
        raise FixtureError(
            f"train(seed) returned a curve of {len(points)} points, and {MOST_POINTS} are the "
            "most; return the mean over some steps at a time."
        )
    return tuple(points)


def _point(point: Any) -> tuple[float, float]:
    try:
        steps, value = point
    except (TypeError, ValueError):
        raise FixtureError(WANTED.format(what="a sequence that holds no pairs")) from None
    if not (_is_number(steps) and _is_number(value)):
        raise FixtureError(WANTED.format(what="a curve with something else than numbers in it"))
    return _number(steps), _number(value)


def _is_number(value: Any) -> bool:
    """Return whether it is one number: of Python, of numpy, or a tensor with one element."""
    if isinstance(value, str | bytes | bool):
        return False
    return hasattr(type(value), "__float__") and getattr(value, "ndim", 0) == 0


def _number(value: Any) -> float:
    number = float(value)
    if not abs(number) <= MOST:
        raise DivergedError(f"the training has diverged: its return is {number:g}")
    return number


class DivergedError(ArithmeticError):
    """A return is no number, or beyond all bounds: for the gate, the training has failed."""
