"""`rlperf accept --reason TEXT`: take a refused save over into the baselines."""

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_rlperf.baselines.file import Accepted
from pytest_rlperf.baselines.folder import Pending, drop_pending, find_pending, save_into
from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.trees.cache import cache_folder
from pytest_rlperf.trees.git import SHORT


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--reason", metavar="TEXT", required=True, help="why it may be slower; it is stored"
    )
    parser.add_argument("--baseline", metavar="NAME", help="which one, if several were refused")


def run(arguments: Namespace) -> int:
    reason = arguments.reason.strip()
    if not reason:
        raise UsageError("--reason is empty; say why it may be slower.")
    cache = cache_folder(os.environ)
    refused = _choose(find_pending(cache, Path.cwd()), arguments.baseline)
    save_into(refused.folder, refused.with_reason(reason))
    drop_pending(cache, refused.folder)
    for test in refused.tests:
        for accepted in test.accepted:
            if not accepted.reason:
                print(f"accepted {_measured(accepted)}: {test.nodeid}")
    print(f"saved the baseline {refused.name!r} in {os.path.relpath(refused.folder)}; commit it.")
    return 0


def _measured(accepted: Accepted) -> str:
    """Add when and at what it was measured: a save refused long ago may be of other code."""
    at = f" at {accepted.commit[:SHORT]}" if accepted.commit else ""
    return f"{format_percent(accepted.change)} (measured {accepted.created}{at})"


def _choose(pending: list[Pending], name: str | None) -> Pending:
    fitting = [each for each in pending if name in (None, each.name)]
    if not fitting:
        raise UsageError(
            "there is no refused save to accept here; run pytest --rlperf --rlperf-save in the "
            "project first."
        )
    if len(fitting) > 1:
        names = ", ".join(each.name for each in fitting)
        raise UsageError(f"several saves were refused ({names}); choose one with --baseline.")
    return fitting[0]
