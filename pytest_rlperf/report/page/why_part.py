"""What a card says of the cause: the functions, lines and sources that a change is put down to."""

from pytest_rlperf.model.result import TestResult
from pytest_rlperf.report.page.flames import Flame
from pytest_rlperf.report.page.markup import Markup, element
from pytest_rlperf.report.page.tables import bullets, table, titled
from pytest_rlperf.report.phases import render_moved
from pytest_rlperf.report.why import (
    line_rows,
    render_cause,
    render_lines_title,
    render_operator,
    render_profile,
)


def why_part(test: TestResult, flame: Flame | None) -> Markup | None:
    found = test.explanation
    if found is None:
        return None
    lines = found.lines
    return titled(
        4,
        "Why",
        bullets(
            [
                *map(render_cause, found.causes),
                *map(render_operator, found.operators),
                *(line.strip() for line in render_moved(test)),
            ]
        ),
        element("p", render_profile(found), class_="aside"),
        None if lines is None else table(line_rows(lines), render_lines_title(lines)),
        _flame(flame),
    )


def _flame(flame: Flame | None) -> Markup | None:
    if flame is None:
        return None
    link = element("p", element("a", "Flame graph as a file of its own", href=flame.link))
    if flame.picture is None:
        return link
    picture = element(
        "img", src=flame.picture, alt="Flame graph: width is head's time", loading="lazy"
    )
    wide = element(
        "div", picture, class_="wide flame", tabindex="0", role="group", aria_label="Flame graph"
    )
    return element("details", element("summary", "Flame graph"), wide, link)
