"""Whatever holds the table, the same transitions lead to the same values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rl_impls.tabular import LEARNERS, Constant, Linear, Settings
from rl_impls.tabular.training import TableTransitions
from tests.rl_impls.tabular.oracle import Transition, table_after

N_STATES, N_ACTIONS = 4, 3
legal_actions = st.none() | st.sets(st.integers(0, N_ACTIONS - 1)).map(lambda a: tuple(sorted(a)))
# Few states and actions: pairs repeat, and targets read what was just written, within any batch.
streams = st.lists(
    st.builds(
        Transition,
        s_tm1=st.integers(0, N_STATES - 1),
        a_tm1=st.integers(0, N_ACTIONS - 1),
        r_t=st.floats(-2, 2, width=32),
        s_t=st.integers(0, N_STATES - 1),
        terminated=st.booleans(),
        legal_t=legal_actions,
    ),
    max_size=80,
)


def learner_of(name, alpha=0.3, discount=0.9):
    return LEARNERS[name](
        N_STATES,
        N_ACTIONS,
        settings=Settings(learning_rate=Constant(alpha), discount=discount),
        seed=0,
    )


def as_arrays(stream):
    masks = np.ones((len(stream), N_ACTIONS), np.bool_)
    for mask, t in zip(masks, stream, strict=True):
        if t.legal_t is not None:
            mask[:] = False
            mask[list(t.legal_t)] = True
    return TableTransitions(
        np.array([t.s_tm1 for t in stream], np.int64),
        np.array([t.a_tm1 for t in stream], np.int64),
        np.array([t.r_t for t in stream], np.float32),
        np.array([t.s_t for t in stream], np.int64),
        np.array([t.terminated for t in stream], np.bool_),
        masks,
    )


def learn_one_by_one(learner, stream):
    for t in stream:
        learner.learn(t.s_tm1, t.a_tm1, t.r_t, t.s_t, terminated=t.terminated, legal_t=t.legal_t)


@pytest.mark.parametrize("name", LEARNERS)
@settings(deadline=None, max_examples=60)
@given(
    stream=streams, alpha=st.sampled_from([0.1, 0.3, 1.0]), discount=st.sampled_from([0, 0.9, 1])
)
def test_transitions_learned_one_by_one(name, stream, alpha, discount):
    learner = learner_of(name, alpha, discount)
    learn_one_by_one(learner, stream)
    want = table_after(N_STATES, N_ACTIONS, stream, alpha, discount)
    np.testing.assert_allclose(learner.table(), want, atol=1e-4)
    assert learner.n_steps == len(stream)


@pytest.mark.parametrize("name", LEARNERS)
@settings(deadline=None, max_examples=60)
@given(first=streams, second=streams)
def test_transitions_learned_in_batches(name, first, second):
    learner = learner_of(name)
    # Singly in between: what a learner holds back must not be overtaken.
    learner.learn_batch(as_arrays(first))
    learn_one_by_one(learner, second)
    learner.learn_batch(as_arrays(first))
    want = table_after(N_STATES, N_ACTIONS, [*first, *second, *first], 0.3, 0.9)
    np.testing.assert_allclose(learner.table(), want, atol=1e-4)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learning_rate_per_step_changes_inside_a_batch(name):
    stream = [Transition(0, 0, 1.0, 1, True, None)] * 40
    rates = Linear(1.0, 0.0, over=40, per="step")
    learner = LEARNERS[name](N_STATES, N_ACTIONS, settings=Settings(learning_rate=rates), seed=0)
    learner.learn_batch(as_arrays(stream[:20]))
    learn_one_by_one(learner, stream[20:])
    # The very first step has rate 1 and hits the target; later ones stay there.
    np.testing.assert_allclose(learner.table()[0, 0], 1.0, atol=1e-4)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_terminated_transition_does_not_look_at_its_last_state(name):
    learner = learner_of(name)
    learner.set_table(np.full((N_STATES, N_ACTIONS), 5.0))
    learner.learn(0, 1, 1.0, 2, terminated=True)
    assert learner.table()[0, 1] == pytest.approx(5.0 + 0.3 * (1.0 - 5.0))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_greedy_choice_is_the_first_best_legal_one(name):
    learner = learner_of(name)
    table = np.zeros((N_STATES, N_ACTIONS), np.float32)
    table[1] = [3.0, 1.0, 1.0]
    learner.set_table(table)
    assert learner.greedy(1) == 0
    assert learner.greedy(1, (1, 2)) == 1
    assert learner.greedy(0, (2,)) == 2


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_explores_and_only_among_legal_actions(name):
    learner = LEARNERS[name](N_STATES, N_ACTIONS, settings=Settings(epsilon=Constant(0.5)), seed=3)
    table = np.zeros((N_STATES, N_ACTIONS), np.float32)
    table[0, 2] = 1.0
    learner.set_table(table)
    single = np.bincount([learner.act(0, (0, 2)) for _ in range(2000)], minlength=3)
    states, masks = np.zeros(2000, np.int64), np.tile([True, False, True], (2000, 1))
    batched = np.bincount(learner.act_batch(states, masks), minlength=3)
    for counts in (single, batched):
        assert counts[1] == 0
        # A quarter explores to action 0; 5 standard deviations are 97.
        assert counts[0] == pytest.approx(500, abs=97)
