"""Files that are written, by the module that writes each; and the keys of those for programs."""

from collections.abc import Iterator, Mapping
from types import ModuleType

from pytest_rlperf.commands import init, install_hook
from pytest_rlperf.commands.init import ACTION, COMMENT_WORKFLOW, PYTEST_INI, TEST, WORKFLOW
from pytest_rlperf.commands.install_hook import place
from pytest_rlperf.launch import base_tree, cache
from pytest_rlperf.model.kpi import BUILT_IN
from pytest_rlperf.options import BASELINES
from pytest_rlperf.project import ACCEPTED_KEYS, KPI_KEYS
from pytest_rlperf.report import export, folder, github, schema
from pytest_rlperf.store import (
    baseline_branch,
    baselines,
    history_branch,
    history_file,
    pending,
    proof_file,
)
from tests.docs.reference.texts import code, docstring, prose, table

BRANCH = history_branch.NAME
MONTHS = f"{history_branch.FOLDER}/YYYY-MM{history_branch.ENDING}"
FILES: tuple[tuple[tuple[str, ...], ModuleType], ...] = (
    (("FILE",), export),
    (("DIR/report.html", "DIR/report.md", "DIR/report.json", "DIR/*.svg"), folder),
    ((f"{BASELINES}/<machine key>/<name>/<test module>.json",), baselines),
    ((f"{MONTHS} on the branch {BRANCH}",), history_branch),
    ((f"{baseline_branch.FOLDER}/ on the branch {BRANCH}",), baseline_branch),
    (("PATH",), history_file),
    (("<cache folder>/<repository>/",), base_tree),
    (("<cache folder>/pending/",), pending),
    (("<cache folder>/proofs/",), proof_file),
    ((TEST, WORKFLOW, COMMENT_WORKFLOW, ACTION, PYTEST_INI), init),
    ((f".git/hooks/{place.NAME}",), install_hook),
    (("$GITHUB_STEP_SUMMARY",), github),
)


def render_files() -> Iterator[str]:
    yield "## Files\n"
    yield table(("file", ""), ((", ".join(map(code, paths)), docstring(by)) for paths, by in FILES))
    yield f"\nThe cache folder is {docstring(cache.cache_folder)}\n"
    yield "## Tables in pyproject.toml\n"
    yield "Beside pytest's root folder; [kpis.md](kpis.md) explains both.\n"
    yield f"- `[tool.rlperf.kpi.NAME]`: {_codes(KPI_KEYS)}; built in are {_kpis()}."
    yield f"- `[tool.rlperf.accepted]`, an entry a node id or pattern: {_codes(ACCEPTED_KEYS)}."


def _codes(names: tuple[str, ...]) -> str:
    return ", ".join(map(code, names))


def _kpis() -> str:
    return ", ".join(
        f"`{kpi.name}` ({kpi.metric.value}: target {kpi.target:g} {kpi.unit}, alert {kpi.alert:g})"
        for kpi in BUILT_IN
    )


def render_result() -> Iterator[str]:
    yield "\n## The result as data\n"
    yield f"{docstring(export)} Fractions, not percent; what does not apply is null. A run has\n"
    yield _keys(schema.RUN)
    yield "\nEach of `tests` has\n"
    yield _keys(schema.TEST)
    yield "\nEach of a test's `metrics` has\n"
    yield _keys(schema.METRIC)


def _keys(meanings: Mapping[str, str]) -> str:
    return table(("key", ""), ((code(name), prose(text)) for name, text in meanings.items()))
