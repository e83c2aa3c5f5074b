"""The whole page: one file, which asks no host for anything and opens from disk."""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from pytest_rlperf.environments.report import render_environments
from pytest_rlperf.history.records import History
from pytest_rlperf.model.kpi import Status
from pytest_rlperf.model.metric import COMPARED, TIME, WORST_FIRST, Metric
from pytest_rlperf.model.result import RunResult, ScalingTable, TestResult
from pytest_rlperf.mpi.scaling import render_scaling_title, scaling_rows
from pytest_rlperf.prove.report import render_proof, render_proof_summary
from pytest_rlperf.report.categories import UNCATEGORISED, category_rows
from pytest_rlperf.report.evidence import render_advice
from pytest_rlperf.report.kpis import kpi_remarks, kpi_rows, render_kpi_title
from pytest_rlperf.report.metrics import render_change, render_interval_of
from pytest_rlperf.report.origins import render_parts
from pytest_rlperf.report.page.axes import PLAIN
from pytest_rlperf.report.page.charts import Curve, curves_chart, strip
from pytest_rlperf.report.page.markup import (
    Child,
    Markup,
    anchor,
    breakable,
    bullets,
    element,
    facts,
    table,
    titled,
    together,
    with_code,
)
from pytest_rlperf.report.page.parts import (
    Flame,
    alarms,
    decisive,
    fails,
    failure_part,
    learning_part,
    memory_part,
    repeat_part,
    tables_part,
    time_part,
    trend_part,
    why_part,
    witness_part,
)
from pytest_rlperf.report.terminal import render_vanished
from pytest_rlperf.report.text import (
    DETECTS,
    INTERRUPTED,
    WORDS,
    fact_rows,
    render_head,
    render_subject,
    render_summary,
    render_tests,
    render_verdict,
    worst_first,
)

INSTALL = "The overview figures need matplotlib: pip install 'pytest-rlperf[plots]'."


def overview(run: RunResult) -> list[Markup] | None:
    """Return figures of all tests, none where nothing was measured; None: they cannot be drawn."""
    if not any(test.blocks for test in run.tests):
        return []
    try:  # here: it takes half a second, and is not needed for all the rest
        from pytest_rlperf.report.page.plots import category_plot, forest_plot
    except ImportError:
        return None
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


# -- the form that narrows the list of tests; the script shows it and does the work -------------


FILTERED_FROM = 8
"""Fewer tests are seen at a glance, and choices would fill the first screen of a phone."""


def render_filters(tests: Sequence[TestResult]) -> Markup:
    outcomes = Counter(test.outcome for test in tests)
    categories = Counter(test.spec.category or UNCATEGORISED for test in tests)
    return element(
        "form",
        element(
            "p",
            element("label", "Search by name", for_="q"),
            element(
                "input", type="search", id="q", name="q", autocomplete="off", spellcheck="false"
            ),
            class_="search",
        ),
        _choice(
            "Outcome",
            [
                _chip("outcome", o.value, WORDS[o].lower(), outcomes[o], o.value)
                for o in WORST_FIRST
                if outcomes[o]
            ],
        ),
        _choice("Category", [_chip("category", c, c, n) for c, n in sorted(categories.items())])
        if len(categories) > 1
        else None,
        element(
            "p",
            element("output", render_tests(len(tests)), id="count", aria_live="polite"),
            element("button", "Show all", type="reset"),
            element("button", "Open all shown", type="button", id="unfold"),
            class_="count",
        ),
        id="filter",
        role="search",
        aria_label="Filter the tests",
        class_="few" if len(tests) < FILTERED_FROM else None,
        hidden=True,
    )


def _choice(title: str, chips: Sequence[Markup]) -> Markup:
    return element("fieldset", element("legend", title), element("div", chips, class_="chips"))


def _chip(name: str, value: str, text: str, number: int, kind: str = "") -> Markup:
    box = element("input", type="checkbox", name=name, value=value)
    count = element("span", str(number), class_="number")
    return element("label", box, f"{text} ", count, class_=f"chip {kind}".rstrip())


# -- the run as a whole, below its tests; a part without content is left out --------------------


@dataclass(frozen=True, slots=True)
class Section:
    name: str  # as an anchor
    title: str
    content: Markup

    @property
    def link(self) -> Markup:
        return element("a", self.title, href=f"#{self.name}")

    @property
    def block(self) -> Markup:
        heading = element("h2", self.title)
        return element("section", heading, self.content, id=self.name)


def render_sections(
    run: RunResult, notices: Sequence[str], history: History | None
) -> list[Section]:
    figures = overview(run)
    notes = [*render_advice(run), *map(render_vanished, run.vanished), *notices]
    notes += [*render_environments(run), *render_parts(run)]
    notes += [INSTALL] if figures is None else []
    contents: dict[str, tuple[str, Child]] = {
        "overview": ("Overview", figures),
        "trends": ("Trends", None if history is None else trend_part(run, history)),
        "kpis": ("KPIs", _kpis(run)),
        "scaling": ("Scaling", [_scaling(scaling) for scaling in run.scaling]),
        "categories": ("Categories", table(category_rows(run), "The run by category")),
        "notes": ("Notes", bullets(map(with_code, notes))),
        "machine": ("Machine and libraries", facts(fact_rows(run.fingerprint))),
    }
    made = [Section(name, title, together(content)) for name, (title, content) in contents.items()]
    return [section for section in made if section.content]


def _kpis(run: RunResult) -> Iterator[Child]:
    if run.kpis:
        yield table(kpi_rows(run.kpis), render_kpi_title(run))
        yield bullets(kpi_remarks(run.kpis))


def _scaling(scaling: ScalingTable) -> Markup | None:
    rows = scaling.rows
    curves = [
        Curve(
            "ideal", "ideal", [(r.size.nprocs, r.size.nprocs / rows[0].size.nprocs) for r in rows]
        ),
        Curve("head", "head", [(row.size.nprocs, row.speedup) for row in rows]),
    ]
    picture = None
    if len(rows) > 1:
        picture = curves_chart("Speed-up over ranks", curves, PLAIN, PLAIN, measured=True)
    charts = element("div", picture, class_="charts")
    below = table(scaling_rows(scaling), "By number of ranks")
    return titled(3, render_scaling_title(scaling), charts, below)


# -- the whole page ------------------------------------------------------------------------------

OPEN = 3
"""Failing tests that are unfolded at first; more would bury the others."""
LEAST_REACH = 0.1
"""Of the strips beside the names: smaller changes shall look small."""


def render_page(
    run: RunResult,
    notices: Sequence[str] = (),
    flames: Mapping[str, Flame] | None = None,
    history: History | None = None,
) -> str:
    style, script = (_own_file(name) for name in ("style.css", "script.js"))
    title = _title(run)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content="pytest-rlperf"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", Markup(style)),
    )
    content = _proof(run) if run.proof is not None else _tests(run, flames or {})
    sections = [] if run.proof is not None else render_sections(run, notices, history)
    body = element(
        "body",
        element("a", "Skip to the tests", href="#tests", class_="skip"),
        _header(run, sections),
        element("main", content, [section.block for section in sections]),
        element("script", Markup(script)),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _own_file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return the page's security policy: nothing is loaded, no style or script runs but ours."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _title(run: RunResult) -> str:
    if run.proof is not None:
        return f"Performance: {render_proof_summary(run.proof)}"
    return f"{render_subject(run)}: {render_summary(run) or 'no tests'}"


# -- top ----------------------------------------------------------------------------------------


def _header(run: RunResult, sections: Sequence[Section]) -> Markup:
    links = [element("a", "Tests", href="#tests"), *(section.link for section in sections)]
    alerted = any(result.status is Status.ALERT for result in run.kpis)
    return element(
        "header",
        element("p", render_subject(run), class_="kicker"),
        element("h1", _sentence(run)),
        element("p", INTERRUPTED, class_="alarm") if run.interrupted else None,
        element("p", element("a", render_kpi_title(run), href="#kpis")) if alerted else None,
        _bar(run),
        element("p", render_summary(run), class_="counts"),
        element("p", _facts(run), class_="aside"),
        element("nav", links, aria_label="Parts of this report"),
    )


def _sentence(run: RunResult) -> str:
    text = render_verdict(run) if run.proof is None else render_proof_summary(run.proof)
    return f"{text[0].upper()}{text[1:]}"


def _facts(run: RunResult) -> list[Markup]:
    against = "" if run.against is None else f" against {run.against}"
    moment = element("time", run.created.replace("T", " "), datetime=run.created)
    return [
        element("span", f"{render_head(run)}{against}"),
        element("span", moment, f", in {run.seconds:.0f} s"),
    ]


def _bar(run: RunResult) -> Markup | None:
    """Return a bar of how the tests ended, by share; the same is said in words above it."""
    ended = [test.outcome for test in run.tests]
    if not ended:
        return None
    parts, x = [], 0.0
    for outcome in WORST_FIRST:
        wide = 1000 * ended.count(outcome) / len(ended)
        if wide:
            rect = element(
                "rect",
                element("title", f"{ended.count(outcome)} {WORDS[outcome].lower()}"),
                x=x,
                y=0,
                width=wide,
                height=10,
                class_=f"share {outcome.value}",
            )
            parts.append(rect)
            x += wide
    return element(
        "svg",
        parts,
        viewBox="0 0 1000 10",
        preserveAspectRatio="none",
        class_="bar",
        aria_hidden="true",
    )


# -- tests --------------------------------------------------------------------------------------


def _tests(run: RunResult, flames: Mapping[str, Flame]) -> Markup:
    tests = sorted(run.tests, key=lambda test: (not fails(test, run), *worst_first(test)))
    reach = _reach(tests)
    failing = [test.nodeid for test in tests if fails(test, run)][:OPEN]
    cards = [
        render_card(
            test, run, reach=reach, is_open=test.nodeid in failing, flame=flames.get(test.nodeid)
        )
        for test in tests
    ]
    return element(
        "section",
        element("h2", "Tests"),
        render_filters(tests) if tests else None,
        element("ol", cards, id="list"),
        element("p", "No test fits this filter.", id="none", hidden=True),
        element("p", f"Detects: {DETECTS}", class_="aside")
        if any(test.headline.detectable is not None for test in tests)
        else None,
        id="tests",
    )


def _reach(tests: Sequence[TestResult]) -> float:
    """Return the largest change that strips show: they are for what lies around the allowed, and
    larger changes end at their edge.
    """
    allowed = (test.headline.threshold or 0.0 for test in tests)
    return max(LEAST_REACH, 3 * max(allowed, default=0.0))


def _proof(run: RunResult) -> Markup:
    """Return the section of a run that measured the gate itself."""
    assert run.proof is not None
    lines = "\n".join(render_proof(run.proof))
    return element("section", element("h2", "Proof"), element("pre", lines), id="tests")


# -- one test: a line that says how it ended, and below it all that is known of it ----------------


def render_card(
    test: TestResult, run: RunResult, *, reach: float, is_open: bool, flame: Flame | None
) -> Markup:
    """`reach` is the largest change that the strips show; `flame` the flame graph, if any."""
    body = element(
        "div",
        failure_part(test),
        time_part(test, run),
        why_part(test, flame),
        tables_part(test, run),
        learning_part(test),
        memory_part(test),
        witness_part(test),
        repeat_part(test),
        class_="body",
    )
    return element(
        "li",
        element("details", _summary(test, run, reach), body, open=is_open),
        id=anchor(test.nodeid),
        class_=f"test {test.outcome.value}",
        data_outcome=test.outcome.value,
        data_category=test.spec.category or UNCATEGORISED,
    )


def _summary(test: TestResult, run: RunResult, reach: float) -> Markup:
    metric = decisive(test)
    names = dict.fromkeys(alarm.name for alarm in alarms(test, run))
    return element(
        "summary",
        element("span", _badge(test), [element("span", n, class_="badge alarm") for n in names]),
        element("h3", _name(test.nodeid), _part(test)),
        element("span", None if metric is None else _change(metric), class_="change"),
        None if metric is None else _strip(metric, reach),
    )


def _part(test: TestResult) -> Markup | None:
    """Return which run the test is from, where there are several."""
    return None if test.part is None else element("span", f"from {test.part}", class_="part")


def _change(metric: Metric) -> list[Child]:
    """Return its change with the interval; time needs no name: most changes are its own."""
    name = "" if metric.name == TIME else f"{metric.name} "
    interval = element("span", render_interval_of(metric), class_="interval")
    change = render_change(metric)
    return [name, element("b", change), " ", interval] if change else []


def _strip(metric: Metric, reach: float) -> Markup | None:
    v = metric.verdict
    if metric.name != TIME or v.interval is None:
        return None
    return strip(v.interval, v.threshold if v.outcome in COMPARED else None, reach)


def _badge(test: TestResult) -> Markup:
    severity = f" · {test.severity.value}" if test.severity else ""
    return element("span", f"{WORDS[test.outcome].lower()}{severity}", class_="badge")


def _name(nodeid: str) -> Markup:
    file, colons, name = nodeid.partition("::")
    where = element("span", breakable(f"{file}{colons}"), class_="file") if colons else None
    return element("code", where, breakable(name or file), class_="nodeid")
