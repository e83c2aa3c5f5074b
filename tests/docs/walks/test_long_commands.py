"""Commands of the docs that measure for minutes can be begun: with less to do they end well."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.elsewhere import SHORTENED
from tests.docs.markdown import ROOT


@pytest.mark.parametrize("text", SHORTENED)
def test_what_takes_long_can_be_begun(text: str, tmp_path: Path):
    assert SHORTENED[text].split()[:3] == text.split()[:3]
    command = SHORTENED[text].replace("{folder}", str(tmp_path))
    done = subprocess.run(
        [sys.executable, *command.split()[1:]], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
