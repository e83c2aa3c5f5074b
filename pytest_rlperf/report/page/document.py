"""The whole page: one file, which asks no host for anything and opens from disk."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources

from pytest_rlperf.model.kpi import Status
from pytest_rlperf.model.result import RunResult, TestResult
from pytest_rlperf.model.trend import History
from pytest_rlperf.model.verdict import WORST_FIRST
from pytest_rlperf.report.headline import INTERRUPTED, render_head, render_verdict
from pytest_rlperf.report.kpis import render_kpi_title
from pytest_rlperf.report.page.alarms import fails
from pytest_rlperf.report.page.card import render_card
from pytest_rlperf.report.page.filters import render_filters
from pytest_rlperf.report.page.flames import Flame
from pytest_rlperf.report.page.markup import Markup, element
from pytest_rlperf.report.page.sections import Section, render_sections
from pytest_rlperf.report.proof import render_proof, render_proof_summary
from pytest_rlperf.report.terminal import render_summary, worst_first
from pytest_rlperf.report.words import DETECTS, WORDS

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
    """Nothing is loaded, and no style or script runs but ours."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _title(run: RunResult) -> str:
    if run.proof is not None:
        return f"Performance: {render_proof_summary(run.proof)}"
    return f"Performance: {render_summary(run) or 'no tests'}"


# -- top ----------------------------------------------------------------------------------------


def _header(run: RunResult, sections: Sequence[Section]) -> Markup:
    links = [element("a", "Tests", href="#tests"), *(section.link for section in sections)]
    return element(
        "header",
        element("p", "Performance", class_="kicker"),
        element("h1", _sentence(run)),
        element("p", INTERRUPTED, class_="alarm") if run.interrupted else None,
        element("p", element("a", render_kpi_title(run), href="#kpis")) if _alerted(run) else None,
        _bar(run),
        element("p", render_summary(run), class_="counts"),
        element("p", _facts(run), class_="aside"),
        element("nav", links, aria_label="Parts of this report"),
    )


def _alerted(run: RunResult) -> bool:
    return any(result.status is Status.ALERT for result in run.kpis)


def _sentence(run: RunResult) -> str:
    said = render_verdict(run) if run.proof is None else render_proof_summary(run.proof)
    return f"{said[0].upper()}{said[1:]}"


def _facts(run: RunResult) -> list[Markup]:
    against = "" if run.against is None else f" against {run.against}"
    moment = element("time", run.created.replace("T", " "), datetime=run.created)
    return [
        element("span", f"{render_head(run)}{against}"),
        element("span", moment, f", in {run.seconds:.0f} s"),
    ]


def _bar(run: RunResult) -> Markup | None:
    """How the tests ended, by share; the same is said in words above it."""
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
            test,
            run,
            reach=reach,
            is_open=test.nodeid in failing,
            flame=flames.get(test.nodeid),
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
        if any(test.verdict.detectable is not None for test in tests)
        else None,
        id="tests",
    )


def _reach(tests: Sequence[TestResult]) -> float:
    """The strips are for what lies around the allowed; larger changes end at their edge."""
    allowed = (test.verdict.threshold or 0.0 for test in tests)
    return max(LEAST_REACH, 3 * max(allowed, default=0.0))


def _proof(run: RunResult) -> Markup:
    """What was measured is the gate."""
    assert run.proof is not None
    lines = "\n".join(render_proof(run.proof))
    return element("section", element("h2", "Proof"), element("pre", lines), id="tests")
