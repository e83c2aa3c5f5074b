"""The form by which a reader narrows the list of tests; the script shows it and does the work."""

from collections import Counter
from collections.abc import Sequence

from pytest_rlperf.model.result import TestResult
from pytest_rlperf.model.verdict import WORST_FIRST
from pytest_rlperf.report.categories import UNCATEGORISED
from pytest_rlperf.report.headline import render_tests
from pytest_rlperf.report.page.markup import Markup, element
from pytest_rlperf.report.words import WORDS


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
        hidden=True,
    )


def _choice(title: str, chips: Sequence[Markup]) -> Markup:
    return element("fieldset", element("legend", title), element("div", chips, class_="chips"))


def _chip(name: str, value: str, text: str, number: int, kind: str = "") -> Markup:
    box = element("input", type="checkbox", name=name, value=value)
    count = element("span", str(number), class_="number")
    return element("label", box, f"{text} ", count, class_=f"chip {kind}".rstrip())
