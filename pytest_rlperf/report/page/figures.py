"""The overview: figures by matplotlib, where that is installed."""

from pytest_rlperf.model.result import RunResult
from pytest_rlperf.report.page.markup import Markup, element

INSTALL = "The overview figures need matplotlib: pip install 'pytest-rlperf[plots]'."


def overview(run: RunResult) -> list[Markup]:
    """Nothing where nothing was measured."""
    if not any(test.blocks for test in run.tests):
        return []
    try:  # here: it takes half a second, and is not needed for all the rest
        from pytest_rlperf.report.page.plots import category_plot, forest_plot
    except ImportError:
        return [element("p", INSTALL, class_="aside")]
    plots = (forest_plot(run), category_plot(run))
    return [_figure(plot.title, plot.light, plot.dark) for plot in plots if plot is not None]


def _figure(title: str, light: str, dark: str) -> Markup:
    picture = element(
        "picture",
        element("source", srcset=dark, media="(prefers-color-scheme: dark)"),
        element("img", src=light, alt=title, loading="lazy"),
    )
    # On a phone its words would be too small: there it scrolls in itself.
    wide = element("div", picture, class_="wide", tabindex="0", role="group", aria_label=title)
    return element("figure", element("figcaption", title), wide, class_="plot")
