"""Options and settings, as the plugin registers them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self, cast

import pytest

from pytest_rlperf.options import add_options
from tests.docs.reference.texts import code, prose, table


@dataclass
class Recorder:
    """Stands in for pytest's parser."""

    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    def getgroup(self, *words: str) -> Self:
        return self

    def addoption(self, name: str, **attributes: Any) -> None:
        self.options[name] = attributes

    def addini(self, name: str, help: str, **_: Any) -> None:
        self.settings[name] = help


def recorded() -> Recorder:
    recorder = Recorder()
    add_options(cast(pytest.Parser, recorder))
    return recorder


def twin(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def render_options() -> Iterator[str]:
    found = recorded()
    yield "## Options\n"
    yield "What stands on the command line comes before its twin in pytest's configuration.\n"
    yield table(
        ("option", "ini", ""),
        (
            (
                code(_usage(name, attributes)),
                code(twin(name)) if twin(name) in found.settings else "",
                prose(attributes["help"].replace("%%", "%")),
            )
            for name, attributes in found.options.items()
        ),
    )
    yield "\nIn pytest's configuration only:\n"
    twins = {twin(name) for name in found.options}
    yield table(
        ("ini", ""),
        ((code(name), prose(text)) for name, text in found.settings.items() if name not in twins),
    )


def _usage(name: str, attributes: dict[str, Any]) -> str:
    if attributes.get("action") == "store_true":
        return name
    value = f"={attributes['metavar']}".replace("%%", "%")
    return f"{name}[{value}]" if attributes.get("nargs") == "?" else name + value
