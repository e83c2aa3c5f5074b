"""The little SVG that the pictures need: text, boxes and lines that know light and dark."""

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "docs/pictures"
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
# On a ground of their own, since a page may be dark where the system is light.
STYLE = """
.ground{fill:#ffffff;stroke:#d0d7de}.ink{fill:#1f2328}.faint{fill:#59636e}.track{fill:#eaeef2}
.ours{fill:#0969da}.other{fill:#8c959f}.bounds{stroke:#1f2328}
@media (prefers-color-scheme:dark){
.ground{fill:#0d1117;stroke:#3d444d}.ink{fill:#f0f6fc}.faint{fill:#9198a1}.track{fill:#21262d}
.ours{fill:#4493f8}.other{fill:#6e7681}.bounds{stroke:#f0f6fc}}
""".strip()


def picture(width: int, height: int, title: str, parts: Sequence[str], style: str = STYLE) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" font-family="{FONT}">'
    )
    return "\n".join(
        [head, f"<title>{escape(title)}</title>", f"<style>{style}</style>", *parts, "</svg>", ""]
    )


def box(x: float, y: float, width: float, height: float, kind: str, radius: float = 0) -> str:
    place = f'x="{x:g}" y="{y:g}" width="{round(width, 1):g}" height="{height:g}"'
    return f'<rect class="{kind}" {place} rx="{radius:g}"/>'


def words(
    x: float, y: float, text: str, kind: str = "ink", size: int = 13, anchor: str = "start",
    bold: bool = False,
) -> str:  # fmt: skip
    weight = ' font-weight="600"' if bold else ""
    where = f"x={quoteattr(f'{x:g}')} y={quoteattr(f'{y:g}')}"
    return (
        f'<text class="{kind}" {where} font-size="{size}" text-anchor="{anchor}"{weight}>'
        f"{escape(text)}</text>"
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    ends = " ".join(
        f'{name}="{round(value, 1):g}"'
        for name, value in (("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2))
    )
    return f'<line class="{kind}" {ends}/>'
