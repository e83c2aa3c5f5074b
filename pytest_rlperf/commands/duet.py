"""`rlperf duet 'CMD A' 'CMD B'`: anything that can be started, against anything else."""

import datetime
import json
import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from pytest_rlperf.duet.campaign import DuetCampaign
from pytest_rlperf.duet.command_line import DuetCommand, read_commands
from pytest_rlperf.duet.model import DuetSettings
from pytest_rlperf.duet.report import duet_as_dict, duet_markdown, render_duet, render_duet_header
from pytest_rlperf.errors import UsageError
from pytest_rlperf.files import write_for_user
from pytest_rlperf.machine.fingerprint import read_machine
from pytest_rlperf.model.quantity import parse_fraction, parse_seconds
from pytest_rlperf.report.terminal import ProgressLine

THRESHOLD = 0.05
BUDGET_S = 120.0


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "commands",
        metavar="CMD",
        nargs="+",
        help="two commands or more, each in quotes; all others are judged against the first",
    )
    add(
        "--waits",
        action="store_true",
        help="judge by the clock, one run after the other in random order, on all cores: for what "
        "waits, for what computes on several cores, and for commands that would be in each other's "
        "way",
    )
    add(
        "--threshold",
        metavar=f"{THRESHOLD:.0%}",
        default=f"{THRESHOLD:.0%}",
        help="how much slower than the first a command may be",
    )
    add(
        "--budget",
        metavar="SECONDS",
        default=f"{BUDGET_S:.0f}",
        help=f"for all of it (default {BUDGET_S:.0f}); it ends as soon as all is decided",
    )
    add("--prepare", metavar="CMD", help="run this before each run of a command, untimed")
    add(
        "--warmup",
        metavar="N",
        default="0",
        help="untimed runs of each command at the beginning (default 0)",
    )
    add("--input", metavar="FILE", type=Path, help="what each run reads (default: nothing)")
    add(
        "--ignore-failure",
        action="store_true",
        help="measure commands that end with another exit code than 0, too",
    )
    add(
        "--shell",
        action="store_true",
        help="run each command by `sh -c` (default: only where one of them needs it)",
    )
    add("--no-shell", action="store_true", help="never: split each command into words")
    add(
        "--show-output",
        action="store_true",
        help="let commands print (default: what they print is dropped)",
    )
    add("--export-json", metavar="FILE", type=Path, help="write all of it as data")
    add("--export-markdown", metavar="FILE", type=Path, help="write the table as Markdown")


def run(arguments: Namespace) -> int:
    settings = _settings(arguments)
    for path in (arguments.export_json, arguments.export_markdown):
        if path is not None:
            _check_folder(path)
    line = ProgressLine(sys.__stderr__ or sys.stderr)
    campaign = DuetCampaign(settings, lambda text: line.write(f"rlperf duet: {text}"))
    print(render_duet_header(settings, campaign.cores), flush=True)
    try:
        result = campaign.run()
    finally:
        line.clear()
    for each in render_duet(result):
        print(each.text)
    if arguments.export_json is not None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        data = duet_as_dict(result, now, read_machine())
        write_for_user(arguments.export_json, json.dumps(data, indent=1, allow_nan=False) + "\n")
    if arguments.export_markdown is not None:
        write_for_user(arguments.export_markdown, duet_markdown(result))
    return result.exit_code


def _settings(arguments: Namespace) -> DuetSettings:
    """Read what the user said; whatever cannot be is refused before anything runs."""
    if sys.platform == "win32":
        raise UsageError("rlperf duet needs a system that forks; Windows does not.")
    if len(arguments.commands) < 2:
        raise UsageError("a duet needs two commands; give each as one argument, in quotes.")
    if arguments.shell and arguments.no_shell:
        raise UsageError("--shell and --no-shell exclude each other; give one of them.")
    shell = True if arguments.shell else False if arguments.no_shell else None
    return DuetSettings(
        commands=read_commands(arguments.commands, shell),
        threshold=parse_fraction(arguments.threshold, "--threshold"),
        budget_s=parse_seconds(arguments.budget, "--budget"),
        prepare=_prepare(arguments.prepare, shell),
        warmup=_number(arguments.warmup),
        input=_input(arguments.input),
        waits=arguments.waits,
        ignore_failure=arguments.ignore_failure,
        show_output=arguments.show_output,
    )


def _prepare(text: str | None, shell: bool | None) -> DuetCommand | None:
    return None if text is None else read_commands([text], shell).each[0]


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise UsageError(f"--warmup is {text!r}, which is no number of runs; write 3.")
    return int(text)


def _input(path: Path | None) -> Path | None:
    if path is None or (path.exists() and not path.is_dir() and os.access(path, os.R_OK)):
        return path
    raise UsageError(f"--input is {str(path)!r}, which is no file that can be read; name another.")


def _check_folder(path: Path) -> None:
    """Refuse now what could not be written when all is measured."""
    if path.is_dir() or not os.access(path.absolute().parent, os.W_OK):
        raise UsageError(f"{path} cannot be written; name a file in a folder that is there.")
