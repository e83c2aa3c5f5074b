"""The examples with Stable-Baselines3, which needs torch: part of `make test-extras`."""

from importlib.util import find_spec

import pytest

from tests.docs.markdown import read_page
from tests.docs.walks.page_walk import walk
from tests.docs.walks.prepared import empty
from tests.integration.projects import Workshop

# Looked for and not imported: what torch warns of is nothing that a test here should fail on.
pytestmark = pytest.mark.skipif(
    find_spec("stable_baselines3") is None,
    reason="pip install stable-baselines3, or run it with make test-extras",
)


def test_the_replay_buffer_gets_slower_as_it_stands(workshop: Workshop):
    page = read_page("docs/your-library.md")
    walked = walk(empty(workshop, "stable-baselines"), page, "Stable-Baselines3's replay buffer")
    assert "REGRESSED" in walked[-1].text


def test_ppo_learns_less_as_it_stands(workshop: Workshop):
    page = read_page("docs/learning-gate.md")
    walked = walk(empty(workshop, "learning"), page, "Stable-Baselines3's PPO on CartPole")
    assert "REGRESSED (high): mean_return -" in walked[-1].text
