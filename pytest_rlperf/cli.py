"""The `rlperf` command."""

import argparse
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="rlperf", description="Companion of `pytest --rlperf`.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    doctor = commands.add_parser("doctor", help="what on this machine helps or hurts measuring")
    doctor.set_defaults(run=_doctor)
    arguments = parser.parse_args(argv)
    status: int = arguments.run()
    return status


def _doctor() -> int:
    from pytest_rlperf.launch.fingerprint import cpu_model
    from pytest_rlperf.measure.machine import findings, read_facts
    from pytest_rlperf.report.doctor import render_findings

    print(render_findings(cpu_model(), findings(read_facts())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
