"""Saved agents: a NumPy archive of their arrays, and a header of JSON.

Version 1: header {version, agent, shape, settings, n_steps}; arrays `agent.*`, and `env.*` of a
compiled batch and `stopping.*` of a checkpoint (an early stopping is one) where they were given.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from rl_impls.envs.control.batch import CompiledBatch, Snapshot
from rl_impls.envs.control.step import ControlBatch
from rl_impls.errors import AgentFileError, ImplsError
from rl_impls.tabular.whole_file import whole_file

if TYPE_CHECKING:
    from rl_impls.agents.agent import DeepAgent, State
    from rl_impls.agents.checkpoint import BestCheckpoint

VERSION: Final = 1
REMEDY: Final = "name a file that an agent's save() wrote."
_SNAPSHOT: Final = ("states", "elapsed", "chance")

Kind = TypeVar("Kind", bound="DeepAgent")


def save(
    path: Path, agent: DeepAgent, env: ControlBatch | None, stopping: BestCheckpoint | None
) -> None:
    header = {
        "version": VERSION,
        "agent": agent.name,
        "shape": agent.shape._asdict(),
        "settings": agent.settings_used.as_data(),
        "n_steps": agent.n_steps,
    }
    arrays: dict[str, Any] = {f"agent.{name}": array for name, array in agent.state().items()}
    if isinstance(env, CompiledBatch):
        snapshot = env.snapshot()
        arrays |= {f"env.{name}": getattr(snapshot, name) for name in _SNAPSHOT}
    if stopping is not None:
        arrays |= {f"stopping.{name}": array for name, array in stopping.state().items()}
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    try:
        with whole_file(path) as file:
            np.savez(file, header=text, **arrays)
    except OSError as error:
        raise AgentFileError(
            f"the agent cannot be written to {path} ({error.strerror}), and what was there before "
            "is as it was: make room, or choose another place."
        ) from error


def load(
    kind: type[Kind], path: Path, env: ControlBatch | None, stopping: BestCheckpoint | None
) -> Kind:
    header, arrays = _read(path)
    version = header.get("version") if isinstance(header, dict) else None
    if version != VERSION:
        raise AgentFileError(
            f"{path} has version {version!r}, and this release reads version {VERSION}: "
            "load it with the release that wrote it."
        )
    if header.get("agent") != kind.name:
        raise AgentFileError(
            f"{path} holds the agent {header.get('agent')!r}, not {kind.name!r}: "
            "load it as what it is."
        )
    try:
        return _restored(kind, header, arrays, env, stopping)
    except (KeyError, TypeError, ValueError, ImplsError) as error:
        raise AgentFileError(f"{path} contradicts itself ({error}): {REMEDY}") from error


def _read(path: Path) -> tuple[Any, State]:
    try:
        # Opened here: NumPy leaves a damaged archive's file open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
            return json.loads(arrays.pop("header").tobytes()), arrays
    except FileNotFoundError as error:
        raise AgentFileError(f"there is no saved agent at {path}: save one first.") from error
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise AgentFileError(f"{path} holds no saved agent, or a damaged one: {REMEDY}") from error


def _restored(
    kind: type[Kind],
    header: Any,
    arrays: State,
    env: ControlBatch | None,
    stopping: BestCheckpoint | None,
) -> Kind:
    # Imported here: that module needs this one.
    from rl_impls.agents.agent import Shape, under

    shape = dict(header["shape"])
    for name, value in shape.items():
        shape[name] = tuple(value) if isinstance(value, list) else value
    settings = kind.settings_type.from_data(header["settings"])
    make: Any = kind  # each agent's constructor takes settings of its own type
    agent: Kind = make(Shape(**shape), settings, seed=0)
    agent.set_state(under("agent", arrays))
    agent.n_steps = int(header["n_steps"])
    if stopping is not None:
        stopping.set_state(under("stopping", arrays))
    snapshot = under("env", arrays)
    if isinstance(env, CompiledBatch) and snapshot:
        env.restore(Snapshot(*(snapshot[name] for name in _SNAPSHOT)))
    else:
        agent.cut()
    return agent
