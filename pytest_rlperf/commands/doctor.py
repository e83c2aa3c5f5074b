"""`rlperf doctor`: what on this machine helps or hurts measuring."""

from argparse import ArgumentParser, Namespace

from pytest_rlperf.launch.fingerprint import cpu_model
from pytest_rlperf.measure.machine import findings, read_facts
from pytest_rlperf.report.doctor import render_findings


def add_arguments(parser: ArgumentParser) -> None:
    """It takes none."""


def run(arguments: Namespace) -> int:
    print(render_findings(cpu_model(), findings(read_facts())))
    return 0
