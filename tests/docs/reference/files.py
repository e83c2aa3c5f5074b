"""Files that are written, by the module that writes each; and the keys of those for programs."""

from collections.abc import Iterator, Mapping
from types import ModuleType

from pytest_rlperf.baselines import folder
from pytest_rlperf.commands import init, install_hook
from pytest_rlperf.commands.init import ACTION, COMMENT_WORKFLOW, PYTEST_INI, TEST, WORKFLOW
from pytest_rlperf.gate import publishing
from pytest_rlperf.history import branch, file
from pytest_rlperf.model.kpi import BUILT_IN
from pytest_rlperf.options import BASELINES
from pytest_rlperf.project import ACCEPTED_KEYS, KPI_KEYS
from pytest_rlperf.prove import rates
from pytest_rlperf.report import github, result_file
from pytest_rlperf.trees import base_tree, cache
from tests.docs.reference.texts import code, docstring, prose, table

BRANCH = branch.NAME
MONTHS = f"{branch.FOLDER}/YYYY-MM{branch.ENDING}"
FILES: tuple[tuple[tuple[str, ...], ModuleType], ...] = (
    (("FILE",), result_file),
    (("DIR/report.html", "DIR/report.md", "DIR/report.json", "DIR/*.svg"), publishing),
    ((f"{BASELINES}/<machine key>/<name>/<test module>.json",), folder),
    ((f"{MONTHS} on the branch {BRANCH}",), branch),
    ((f"{folder.FOLDER}/ on the branch {BRANCH}",), folder),
    (("PATH",), file),
    (("<cache folder>/<repository>/",), base_tree),
    (("<cache folder>/pending/",), folder),
    (("<cache folder>/proofs/",), rates),
    ((TEST, WORKFLOW, COMMENT_WORKFLOW, ACTION, PYTEST_INI), init),
    ((f".git/hooks/{install_hook.NAME}",), install_hook),
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
    said = docstring(result_file)
    yield f"{said} Fractions, not percent; what does not apply is null. A run has\n"
    yield _keys(result_file.RUN)
    yield "\nEach of `tests` has\n"
    yield _keys(result_file.TEST)
    yield "\nEach of a test's `metrics` has\n"
    yield _keys(result_file.METRIC)


def _keys(meanings: Mapping[str, str]) -> str:
    return table(("key", ""), ((code(name), prose(text)) for name, text in meanings.items()))
