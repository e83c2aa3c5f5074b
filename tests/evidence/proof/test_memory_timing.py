"""Whether a memory pass disturbs the time: what is compared, and how it is told."""

import math
import sys
from pathlib import Path

import pytest

from tests.evidence.proof.memory.timing import WORKS, log_ratios, render, render_tests

GATE = """\
import json, pathlib, re, sys
tests = re.findall(r"def (\\w+)", pathlib.Path(sys.argv[1]).read_text())
def read(test):
    return {"name": "time", "value": 110.0 if test.endswith("_memory") else 100.0}
found = [{"nodeid": f"a.py::{test}", "metrics": [{"name": "peak_rss", "value": 1}, read(test)]}
         for test in tests]
out = next(word for word in sys.argv if word.startswith("--rlperf-json="))
pathlib.Path(out.partition("=")[2]).write_text(json.dumps({"tests": found}))
"""


def test_a_run_tells_the_ratio_of_what_the_gate_read_for_twins(tmp_path: Path):
    gate = tmp_path / "gate.py"
    gate.write_text(GATE)
    found = log_ratios(0, pytest=(sys.executable, str(gate)))
    assert found == {work: pytest.approx(math.log(1.1)) for work in WORKS}


def test_twins_differ_in_their_marker_alone():
    _, *tests = render_tests().split("\n\n\n")
    plain, marked = tests[::2], tests[1::2]
    assert len(plain) == len(WORKS)
    for one, other in zip(plain, marked, strict=True):
        marker, _, rest = other.partition("\n")
        assert marker == "@pytest.mark.rlperf(memory=True)"
        assert rest.replace("_memory(rlperf)", "(rlperf)").strip() == one.strip()


def test_the_mean_ratio_is_told_with_its_interval():
    told = render([dict.fromkeys(WORKS, math.log(1.0 + apart)) for apart in (-0.01, 0.0, 0.01)])
    assert "-0.00% (-2.46% to +2.51%), 3 runs" in told
