"""Which settings an agent gets on which environment."""

import pytest

from rl_impls.agents.agent import AgentSettings, Shape
from rl_impls.errors import SettingError
from rl_impls.registry import (
    AGENTS,
    NUMPY,
    PRESETS,
    agent_type,
    backends_of,
    make_agent,
    preset_for,
    settings_type,
)

ON_NUMPY = [name for name in AGENTS if NUMPY in backends_of(name)]
NUMBERED, CONTINUOUS = Shape(8, 3, 2), Shape(8, 3, 0, 1, (-1.0,), (1.0,))


@pytest.mark.parametrize("name", AGENTS)
def test_where_no_preset_is_known_an_agent_has_its_defaults(name):
    preset = preset_for(name, "Acrobot-v1")
    assert preset.settings == settings_type(name)()
    assert preset.source == "defaults"


@pytest.mark.parametrize(("agent", "env"), PRESETS)
def test_a_compiled_environment_has_the_preset_of_gymnasiums(agent, env):
    assert preset_for(agent, env) is preset_for(agent, f"rl_impls/{env}") is PRESETS[agent, env]


@pytest.mark.parametrize("name", ON_NUMPY)
def test_settings_make_the_agent_they_belong_to(name):
    shape = CONTINUOUS if name in ("sac", "td3") else NUMBERED
    agent = make_agent(shape, preset_for(name, "CartPole-v1").settings, seed=0)
    assert type(agent) is agent_type(name)


def test_settings_of_no_agent_are_refused():
    with pytest.raises(SettingError, match="no agent takes AgentSettings"):
        make_agent(NUMBERED, AgentSettings())
