"""Files that are written, with what each holds; and the keys of those for programs."""

from collections.abc import Iterator, Mapping

from pytest_rlperf.baselines.folder import FOLDER
from pytest_rlperf.commands import install_hook
from pytest_rlperf.commands.init import ACTION, COMMENT_WORKFLOW, PYTEST_INI, TEST, WORKFLOW
from pytest_rlperf.history import branch
from pytest_rlperf.model.kpi import BUILT_IN
from pytest_rlperf.options import BASELINES
from pytest_rlperf.project import ACCEPTED_KEYS, KPI_KEYS
from pytest_rlperf.report import result_file
from pytest_rlperf.trees import cache
from tests.docs.reference.texts import code, docstring, prose, table

BRANCH = branch.NAME
MONTHS = f"{branch.FOLDER}/YYYY-MM{branch.ENDING}"
FILES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("FILE",), "The machine-readable result, schema 1 (`--rlperf-json`)."),
    (
        ("DIR/report.html", "DIR/report.md", "DIR/report.json", "DIR/*.svg"),
        "`--rlperf-report`: a folder for people and for programs.",
    ),
    (
        (f"{BASELINES}/<machine key>/<name>/<test module>.json",),
        "The folder of stored baselines: whose file is compared with, and which are written.",
    ),
    (
        (f"{MONTHS} on the branch {BRANCH}",),
        "The history on a branch of its own, so that the branches with code stay clean.",
    ),
    (
        (f"{FOLDER}/ on the branch {BRANCH}",),
        "Stored baselines on the data branch, beside the history: CI renews them, main stays "
        "clean.",
    ),
    (("PATH",), "The history in a plain file."),
    (
        ("<cache folder>/<repository>/",),
        "A checkout of the base revision beside the user's repository, which is not touched.",
    ),
    (
        ("<cache folder>/pending/",),
        "A save that was refused because of a regression, kept until it is accepted with a reason.",
    ),
    (
        ("<cache folder>/proofs/",),
        "The verdicts of `--rlperf-prove` in the cache folder: a file for each project, a line "
        "each.",
    ),
    (
        (TEST, WORKFLOW, COMMENT_WORKFLOW, ACTION, PYTEST_INI),
        "`rlperf init`: a first performance test, a workflow and settings for somebody's project.",
    ),
    (
        (f".git/hooks/{install_hook.NAME}",),
        "`rlperf install-hook`: measure before every `git push`, and take the hook away again.",
    ),
    (
        ("$GITHUB_STEP_SUMMARY",),
        "What GitHub Actions shows of a run: annotations at lines, and the job's summary.",
    ),
)


def render_files() -> Iterator[str]:
    yield "## Files\n"
    yield table(("file", ""), ((", ".join(map(code, paths)), text) for paths, text in FILES))
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
