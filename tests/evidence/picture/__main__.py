"""``python -m tests.evidence.picture`` draws every picture anew, and prints the README's words."""

from collections.abc import Mapping

from .badges import badges
from .gate import block, decision
from .shares import draw, recorded, sentence
from .svg import FOLDER


def drawn() -> Mapping[str, str]:
    """Return every picture by the name of its file."""
    return {
        "verdicts.svg": draw(recorded()),
        "block.svg": block(),
        "decision.svg": decision(),
        **badges(),
    }


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in drawn().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(sentence(recorded()))


if __name__ == "__main__":
    main()
