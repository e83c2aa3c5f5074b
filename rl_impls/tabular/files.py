"""Saved learners: a NumPy archive of the rows that hold something, and a header of JSON.

Version 1: header {version, learner, n_states, n_actions, n_steps, n_episodes, settings, chance},
arrays `states` and `rows`.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar

import numpy as np

from rl_impls.errors import ImplsError, TableFileError
from rl_impls.tabular.settings import Settings
from rl_impls.tabular.whole_file import whole_file

if TYPE_CHECKING:
    from rl_impls.tabular.learner import QLearner

VERSION: Final = 1

Learner = TypeVar("Learner", bound="QLearner")


def save(learner: QLearner, path: Path) -> None:
    try:
        with whole_file(path) as file:
            _write(learner, file)
    except OSError as error:
        raise TableFileError(
            f"the table cannot be written to {path} ({error.strerror}): choose another place."
        ) from error


def load(kind: type[Learner], path: Path) -> Learner:
    try:
        # Opened here: NumPy leaves a damaged archive's file open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
            states, rows = archive["states"], archive["rows"]
    except FileNotFoundError as error:
        raise TableFileError(f"there is no saved table at {path}: save one first.") from error
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise TableFileError(f"{path} holds no saved table, or a damaged one: {REMEDY}") from error
    return _restored(kind, path, header, states, rows)


REMEDY: Final = "name a file that a learner's save() wrote."


def _write(learner: QLearner, file: BinaryIO) -> None:
    learner.flush()
    states, rows = learner.rows()
    header = {
        "version": VERSION,
        "learner": learner.name,
        "n_states": learner.n_states,
        "n_actions": learner.n_actions,
        "n_steps": learner.n_steps,
        "n_episodes": learner.n_episodes,
        "settings": learner.settings.as_data(),
        "chance": learner.chance_state(),
    }
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(file, header=text, states=states, rows=rows)


def _restored(kind: type[Learner], path: Path, header: Any, states: Any, rows: Any) -> Learner:
    version = header.get("version") if isinstance(header, dict) else None
    if version != VERSION:
        raise TableFileError(
            f"{path} has version {version!r}, and this release reads version {VERSION}: "
            "load it with the release that wrote it."
        )
    try:
        n_states, n_actions = header["n_states"], header["n_actions"]
        settings = Settings.from_data(header["settings"])
        learner = kind(n_states, n_actions, settings=settings)
        _check_rows(n_states, n_actions, states, rows)
        learner.set_rows(states, rows)
        learner.set_progress(header["n_steps"], header["n_episodes"])
        if header["learner"] == kind.name:
            learner.set_chance_state(header["chance"])
    except (KeyError, TypeError, ValueError, ImplsError) as error:
        raise TableFileError(f"{path} contradicts itself ({error}): {REMEDY}") from error
    return learner


def _check_rows(n_states: int, n_actions: int, states: Any, rows: Any) -> None:
    if states.ndim != 1 or rows.shape != (len(states), n_actions):
        raise ValueError(f"rows of shape {rows.shape} for {len(states)} states")
    if len(states) and not 0 <= states.min() <= states.max() < n_states:
        raise ValueError(f"states beyond the {n_states} of its table")
    if not np.isfinite(rows).all():
        raise ValueError("values that are not finite")
