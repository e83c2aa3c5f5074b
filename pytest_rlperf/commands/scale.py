"""`rlperf scale JOB.json...`: what MPI jobs would do on more nodes, modelled from measured ones."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import write_for_user
from pytest_rlperf.model.quantity import parse_bandwidth, parse_latency, parse_share
from pytest_rlperf.model.spec import Scaling
from pytest_rlperf.scale.fit import fit_jobs
from pytest_rlperf.scale.jobs import Collective, Fit, MeasuredJob, Network, ScalePlan, read_jobs
from pytest_rlperf.scale.projection import project, sent_by_period
from pytest_rlperf.scale.report import (
    draw_scaling,
    render_fit,
    render_notes,
    render_projection,
    scale_as_dict,
)

NODES = "4,8,16,32,64,128,256"
MOST_NODES = 1_000_000
PICTURES = ("svg", "png")


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("jobs", metavar="JOB", nargs="+", type=Path, help="JSON of MPI jobs, several of them")
    add("--nodes", metavar="4,16", default=NODES, help=f"numbers of nodes (default: {NODES})")
    add(
        "--scaling",
        choices=[each.value for each in Scaling],
        default=Scaling.STRONG.value,
        help="whether the nodes share the steps or each has as many (default: strong)",
    )
    add(
        "--collective",
        choices=[each.value for each in Collective],
        default=Collective.ALLGATHERV.value,
        help="how the jobs exchange (default: allgatherv)",
    )
    add(
        "--steps",
        metavar="N",
        type=int,
        help="of the whole job, weak: of each node (default: the most that were measured)",
    )
    add(
        "--sync-period",
        metavar="N",
        type=float,
        help="steps of a node between two synchronisations (default: the shortest measured)",
    )
    add("--latency", metavar="50us", help="of another network, in place of the fitted one")
    add("--bandwidth", metavar="10Gbit", help="of that network, a second")
    add(
        "--overlap",
        metavar="80%",
        help="share of the computing that hides exchanges on that network (default: none)",
    )
    add("--target", metavar="95%", help="tell the sync period at which this efficiency holds")
    add("--published", metavar="16=77.6%", help="efficiencies of others, to stand beside")
    add("--plot", metavar="FILE", type=Path, help="draw all of it, as .svg or .png")
    add("--json", metavar="FILE", type=Path, help="write all of it as data")


def run(arguments: Namespace) -> int:
    nodes, target = _nodes(arguments.nodes), _target(arguments.target)
    stated, published = _stated(arguments), _published(arguments.published)
    if arguments.plot is not None:
        _check_picture(arguments.plot)
    jobs = _jobs(arguments.jobs)
    fit = fit_jobs(jobs, Collective(arguments.collective))
    projections = [
        project(fit, name, _plan(arguments, fit, name, nodes), nodes, stated, target)
        for name in fit.step_s
    ]
    lines = render_fit(fit)
    for projection in projections:
        lines += render_projection(projection, published)
    print("\n".join([*lines, *render_notes(projections)]))
    if arguments.json is not None:
        data = scale_as_dict(fit, stated, projections, published)
        write_for_user(arguments.json, json.dumps(data, indent=1, allow_nan=False) + "\n")
    if arguments.plot is not None:
        picture = draw_scaling(projections, published, _kind(arguments.plot))
        write_for_user(arguments.plot, picture)
    return 0


def _jobs(paths: Sequence[Path]) -> list[MeasuredJob]:
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} is named twice; name every job once.")
    return [job for path in paths for job in read_jobs(path)]


def _plan(arguments: Namespace, fit: Fit, workload: str, nodes: Sequence[int]) -> ScalePlan:
    jobs = [each.job for each in fit.jobs if each.job.workload == workload]
    scaling = Scaling(arguments.scaling)
    sent = sent_by_period([job for job in jobs if job.exchanged], fit.collective)
    if scaling is Scaling.STRONG:
        measured = max(job.steps for job in jobs)
    else:
        measured = round(max(job.steps_of_rank for job in jobs))
    steps = measured if arguments.steps is None else arguments.steps
    if steps < (max(nodes) if scaling is Scaling.STRONG else 1):
        raise UsageError(f"{steps} steps leave a node without any; give more with --steps.")
    period = sent[0][0] if arguments.sync_period is None else arguments.sync_period
    if not 1 <= period < float("inf"):
        raise UsageError(f"--sync-period is {period:g}, which is no number of steps; write 1000.")
    return ScalePlan(scaling, steps, period, fit.collective, sent)


# -- what the user says -------------------------------------------------------------------------


def _nodes(text: str) -> list[int]:
    try:
        nodes = sorted({int(word) for word in text.split(",")})
    except ValueError:
        nodes = [0]
    if nodes[0] < 1 or nodes[-1] > MOST_NODES:
        raise UsageError(f"--nodes is {text!r}, which is no list of numbers; write 4,16.")
    return nodes


def _target(text: str | None) -> float | None:
    target = None if text is None else parse_share(text, "--target")
    if target in (0, 1):
        raise UsageError(f"--target is {text!r}, which all or no jobs reach; write 95%.")
    return target


def _stated(arguments: Namespace) -> Network | None:
    latency, bandwidth, overlap = arguments.latency, arguments.bandwidth, arguments.overlap
    if (latency is None) != (bandwidth is None):
        raise UsageError("a network has a latency and a bandwidth; give both, or none.")
    if latency is None:
        if overlap is not None:
            raise UsageError(
                "--overlap is for a network that was not measured: fitted terms hold only what was "
                "not hidden; give --latency and --bandwidth too."
            )
        return None
    return Network(
        parse_latency(latency, "--latency"),
        1 / parse_bandwidth(bandwidth, "--bandwidth"),
        0.0 if overlap is None else parse_share(overlap, "--overlap"),
    )


def _published(text: str | None) -> dict[int, float]:
    efficiencies = {}
    for word in [] if text is None else text.split(","):
        nodes, _, share = word.partition("=")
        if not nodes.isdecimal() or int(nodes) < 1:
            raise UsageError(f"--published has {word!r}; write nodes and efficiency, 16=77.6%.")
        efficiencies[int(nodes)] = parse_share(share, "--published")
    return efficiencies


def _check_picture(path: Path) -> None:
    """Refuse before anything is fitted: nobody should wait to hear that there is no figure."""
    if _kind(path) not in PICTURES:
        raise UsageError(f"{path} is no picture that can be drawn; let it end in .svg or .png.")
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise UsageError("--plot needs matplotlib: pip install 'pytest-rlperf[plots]'.") from None


def _kind(path: Path) -> str:
    return path.suffix.lower().removeprefix(".")
