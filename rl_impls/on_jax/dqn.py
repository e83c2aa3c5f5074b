"""DQN whose update is one compiled function of JAX; the rest is that of `agents.dqn`."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rl_impls.agents.agent import Shape
from rl_impls.agents.dqn import DQN, DQNSettings
from rl_impls.nets.optimisers import Optimiser
from rl_impls.on_jax.adam import BETAS, CarriedAdam
from rl_impls.on_jax.compiling import precompile
from rl_impls.on_jax.network import Layers, Moments, NetworkSpec, adam_step, clipped
from rl_impls.replay.transitions import Transitions
from rl_impls.schedules import Constant


class QRow(NamedTuple):
    """A transition, or many of them."""

    obs_tm1: Any
    a_tm1: Any
    r_t: Any
    obs_t: Any
    terminated_t: Any


def row_loss(
    spec: NetworkSpec, settings: DQNSettings, layers: Layers, target: Layers, row: QRow
) -> Any:
    """The Huber loss of one transition; see `agents.q_kernels.q_loss`."""
    q_t = spec.row(target, row.obs_t)
    best = jnp.argmax(spec.row(layers, row.obs_t) if settings.double else q_t)
    follows = jnp.where(row.terminated_t, 0.0, settings.discount * q_t[best])
    error = spec.row(layers, row.obs_tm1)[row.a_tm1] - jax.lax.stop_gradient(row.r_t + follows)
    bounded = jnp.clip(error, -settings.huber, settings.huber)
    # The slope of a bound is 0 beyond it, and the value's there is what is left: huber.
    return jnp.where(
        jnp.abs(error) <= settings.huber, 0.5 * error**2, bounded * error - 0.5 * bounded**2
    )


@lru_cache(maxsize=64)
def compiled_update(spec: NetworkSpec, settings: DQNSettings) -> Any:
    """(params, target, moments, correction, batch) -> (params, moments, loss, |gradient|).

    Agents of equal settings share it, and with it what is compiled.
    """

    def mean_loss(layers: Layers, target: Layers, batch: QRow) -> Any:
        losses = jax.vmap(partial(row_loss, spec, settings), in_axes=(None, None, 0))
        return losses(layers, target, batch).mean()

    def update(params: Any, target: Any, moments: Moments, correction: Any, batch: QRow) -> Any:
        loss, slopes = jax.value_and_grad(mean_loss)(
            spec.layers(params), spec.layers(target), batch
        )
        (grads,), norm = clipped([spec.flat(slopes)], settings.max_norm)
        params, moments = adam_step(params, moments, grads, correction, betas=BETAS, eps=1e-8)
        return params, moments, loss, norm

    return jax.jit(update)


class JaxDQN(DQN):
    """A loss that is not finite is noticed after the step that it made. With `precompiled` the
    update is compiled when the agent is made, and `compile_s` says how long that took.
    """

    backend: ClassVar[str] = "jax"

    def __init__(
        self,
        shape: Shape,
        settings: DQNSettings | None = None,
        *,
        seed: int | None = None,
        remat: bool = False,
        precompiled: bool = False,
    ) -> None:
        super().__init__(shape, settings, seed=seed)
        spec = NetworkSpec.of(self.net, remat=remat)
        self._step = compiled_update(spec, self.settings)
        self.compile_s = 0.0
        if precompiled:
            dummies = Transitions.zeros(self.settings.batch, shape.obs_size)
            made = precompile(self._step, *self._inputs(dummies))
            self._step, self.compile_s = made.function, made.seconds

    def _optimiser(self) -> Optimiser:
        rate = Constant(self.settings.learning_rate, "step")
        self._carried = CarriedAdam(self.net.params.size, rate)
        return self._carried

    @classmethod
    def acting_type(cls) -> type[DQN]:
        return DQN

    def _inputs(self, batch: Transitions) -> tuple[Any, ...]:
        correction = self._carried.next_corrections(1)[0]
        rows = QRow(*batch.arrays())
        return self.net.params, self.target.params, self._carried.moments, correction, rows

    def _improve(self, batch: Transitions) -> None:
        params, moments, loss, gradient = self._step(*self._inputs(batch))
        # Waits for the update: until then JAX may read the arrays of NumPy.
        self.net.params[:] = np.asarray(params)
        self._carried.took(1, moments)
        self.loss = float(loss)
        self._require_finite(loss=self.loss, gradient=float(gradient))
