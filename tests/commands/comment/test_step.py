"""The step of the action that comments needs this package and no other."""

import os
import subprocess
import sys
from pathlib import Path

from tests.action import script
from tests.commands.comment.conftest import Job
from tests.commands.comment.stand_in import TOKEN, GitHubStandIn
from tests.factories import a_test, run_result


def test_the_step_comments_with_a_python_that_has_no_packages(
    job: Job, github: GitHubStandIn, tmp_path: Path
):
    job.report(run_result(a_test()))
    job.folder.rename(tmp_path / "rlperf-comment")
    # In the way, if the folder of the job were searched for modules.
    (tmp_path / "json.py").write_text("raise SystemExit('somebody else is run')")
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    step = script("Comment", token=TOKEN, python=str(bare), name="linux")
    env = {**os.environ, **step.env, "RUNNER_TEMP": str(tmp_path)}
    done = subprocess.run(step.command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert github.bodies[0].startswith("<!-- rlperf: linux -->\n")
