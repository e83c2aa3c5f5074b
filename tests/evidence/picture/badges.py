"""What pyproject.toml says of version, Pythons and license, as small pictures without a network."""

import tomllib

from .svg import ROOT, box, picture, words

HEIGHT = 20
# Of a letter of 11 pixels, on average; a badge is a little wider than its words.
LETTER = 6.4
STYLE = ".name{fill:#3b434b}.value{fill:#0a5cc2}.letters{fill:#ffffff}"


def badges() -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = {
        "version": project["version"],
        "python": project["requires-python"],
        "license": project["license"],
    }
    return {f"{name}.svg": badge(name, value) for name, value in said.items()}


def badge(name: str, value: str) -> str:
    left, right = (round(LETTER * len(text) + 14) for text in (name, value))
    parts = [
        box(0, 0, left + right, HEIGHT, "name", 3),
        box(left, 0, right, HEIGHT, "value", 3),
        box(left, 0, 4, HEIGHT, "value"),
        words(left / 2, 14, name, "letters", 11, "middle"),
        words(left + right / 2, 14, value, "letters", 11, "middle"),
    ]
    return picture(left + right, HEIGHT, f"{name} {value}", parts, STYLE)
