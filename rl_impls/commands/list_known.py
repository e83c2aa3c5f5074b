"""`python -m rl_impls list`: the names that can be chosen, or the settings of one agent."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Final

from rl_impls import registry
from rl_impls.commands import arguments as accepts

NAME: Final = "list"
HELP: Final = "what there is: agents, runtimes, environments; or the settings of one agent"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("agent", nargs="?", type=accepts.agent, metavar="AGENT",
                        help="tell of its settings, as --set takes them")  # fmt: skip


def run(arguments: Namespace) -> int:
    lines = _names() if arguments.agent is None else _settings(arguments.agent)
    print("\n".join(lines), flush=True)
    return 0


def _names() -> list[str]:
    """Return a line for each name: the agent, and what it goes with."""
    width = max(map(len, (*registry.AGENTS, *registry.LEARNERS)))
    lines = ["deep agents, and the runtimes and back ends that they have:"]
    lines += [
        f"  {name:<{width}}  {', '.join(entry.runtimes)}; {', '.join(entry.backends)}"
        for name, entry in registry.AGENTS.items()
    ]
    lines.append("learners of a table:")
    lines += [
        f"  {name:<{width}}  {', '.join(registry.runtimes_of(name))}" for name in registry.LEARNERS
    ]
    lines.append("environments of this package, beside all that gymnasium.make knows:")
    lines += [f"  {name}" for name in registry.ENVIRONMENTS]
    lines.append("python -m rl_impls list AGENT tells of the settings of one.")
    return lines


def _settings(agent: str) -> list[str]:
    # Imported here: settings come with NumPy, and the names do not.
    from rl_impls.commands.settings import known_settings, written

    known = list(known_settings(agent))
    names = max(len(each.name) for each in known)
    defaults = max(len(each.default) for each in known)
    lines = [f"{agent}: --set NAME=VALUE; with these defaults where no preset says otherwise"]
    lines += [
        f"  {each.name:<{names}}  {each.default:<{defaults}}  {each.meaning}".rstrip()
        for each in known
    ]
    presets = [
        f"  {env} ({preset.source}): "
        + (" ".join(f"{key}={written(value)}" for key, value in preset.values.items()) or "-")
        for (name, env), preset in registry.PRESETS.items()
        if name == agent
    ]
    if presets:
        lines += ["presets, for an environment and its compiled form:", *presets]
    return lines
