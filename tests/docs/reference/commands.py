"""The `rlperf` commands with their arguments, and the exit codes."""

import argparse
from argparse import Action, ArgumentParser
from collections.abc import Iterator

from pytest_rlperf.commands import COMMANDS, EXITS, USUAL, exits_of, load
from pytest_rlperf.errors import MEANINGS
from tests.docs.reference.texts import code, prose, table


def render_commands() -> Iterator[str]:
    yield "## The `rlperf` command\n"
    for name, text in COMMANDS.items():
        yield f"### `rlperf {name}`\n"
        yield f"{_sentence(text)}\n"
        parser = ArgumentParser(prog=name)
        load(name).add_arguments(parser)
        yield from _arguments(parser, f"rlperf {name}")


def _sentence(text: str) -> str:
    """Begun with a capital, unless it begins with the name of a file."""
    first, said = text.split()[0], prose(text)
    return f"{said if '.' in first else said[0].upper() + said[1:]}."


def _arguments(parser: ArgumentParser, words: str) -> Iterator[str]:
    actions = [action for action in parser._actions if action.dest != "help"]
    below = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    own = [action for action in actions if action not in below]
    if own:
        yield table(("argument", ""), ((code(_usage(a)), prose(_help(a))) for a in own))
        yield ""
    for action in below:
        for name, inner in action.choices.items():
            yield f"`{words} {name}`: {prose(inner.description or '')}\n"
            yield from _arguments(inner, f"{words} {name}")


def _usage(action: Action) -> str:
    value = "|".join(action.choices) if action.choices else action.metavar
    if not action.option_strings:
        return {"*": f"[{value} ...]", "?": f"[{value}]"}.get(f"{action.nargs}", f"{value}")
    (name,) = action.option_strings
    return name if action.nargs == 0 else f"{name}={value}"


def _help(action: Action) -> str:
    if not action.help:
        raise ValueError(f"{_usage(action)} has no help; the reference needs it.")
    return action.help


def render_exit_codes() -> Iterator[str]:
    yield "## Exit codes\n"
    yield "`pytest --rlperf` ends with\n"
    yield table(("code", ""), ((code(int(c)), prose(text)) for c, text in MEANINGS.items()))
    usual = ", or with ".join(f"`{number}`: {text}" for number, text in USUAL.items())
    yield f"\nA command of `rlperf` ends with {usual}. Some have more to say:\n"
    yield table(
        ("command", "code", ""),
        (
            (code(f"rlperf {name}"), code(number), prose(exits_of(name)[number]))
            for name, others in EXITS.items()
            for number in others
        ),
    )
