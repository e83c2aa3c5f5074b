"""The doctor's findings as text."""

from collections.abc import Sequence

from pytest_rlperf.measure.machine import Finding


def render_findings(cpu: str, findings: Sequence[Finding]) -> str:
    hurting = sum(finding.hurts for finding in findings)
    verdict = "nothing hurts measuring here" if not hurting else f"{hurting} things hurt measuring"
    if hurting == 1:
        verdict = "one thing hurts measuring"
    lines = [f"{cpu}: {verdict}"]
    lines += [f"  {'hurts' if finding.hurts else 'helps'}  {finding.text}" for finding in findings]
    return "\n".join(lines)
