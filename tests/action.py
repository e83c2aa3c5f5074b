"""The steps of our GitHub action, run by bash as GitHub would run them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ACTION = Path(__file__).parents[1] / ".github/actions/rlperf/action.yml"
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


@dataclass(frozen=True)
class Script:
    """A step that runs a shell."""

    text: str
    env: dict[str, str]

    @property
    def command(self) -> list[str]:
        """Return the command by which GitHub runs `shell: bash`."""
        return ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self.text]


def action() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(ACTION.read_text())
    return content


def script(name: str, /, **inputs: str) -> Script:
    """The step of this name; inputs are named with underscores, and others have their default."""
    content = action()
    step = next(step for step in content["runs"]["steps"] if step["name"] == name)
    given = {key.replace("_", "-"): value for key, value in inputs.items()}
    known = {key: about["default"] for key, about in content["inputs"].items()}
    assert given.keys() <= known.keys()
    facts = {f"inputs.{key}": value for key, value in (known | given).items()}
    facts["github.action_path"] = str(ACTION.parent)
    env = {key: EXPRESSION.sub(lambda m: facts[m[1]], value) for key, value in step["env"].items()}
    return Script(step["run"], env)
