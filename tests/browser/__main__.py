"""`python -m tests.browser REPORT.html FOLDER`: pictures of a report, for people to look at."""

import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.browser.chromium import PAINTED, Page, running

SCREENS = {
    "desktop": (1280, 1000, False),
    "desktop-dark": (1280, 1000, True),
    "phone": (360, 780, False),
    "phone-dark": (360, 780, True),
}
TALLEST = 8000
"""Of a whole page, in pixels."""
COLOURS = 255
"""Of a picture that the docs keep: a report is text and flat areas."""


def main(report: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile, running(Path(profile) / "profile") as browser:
        page = Page.new(browser)
        for name, (width, height, dark) in SCREENS.items():
            page.look(width, height, dark=dark)
            page.open(report.resolve().as_uri())
            keep(page, folder / f"{name}.png")
            whole = page.value("document.documentElement.scrollHeight")
            page.look(width, min(whole, TALLEST), dark=dark)
            page.value(PAINTED)
            keep(page, folder / f"{name}-whole.png")


def keep(page: Page, file: Path) -> None:
    """Take a picture, and make it as small as what is on it allows."""
    page.screenshot(file)
    with Image.open(file) as taken:
        small = taken.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(file, optimize=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
