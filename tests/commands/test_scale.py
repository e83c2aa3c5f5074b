"""`rlperf scale`: from the JSON of measured jobs to a table of more nodes, or one sentence."""

import json
import sys
from pathlib import Path

import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.scale.jobs import MeasuredJob
from tests.scale.measured_jobs import some_jobs

NETWORK = ("--latency", "50us", "--bandwidth", "10Gbit")


def as_json(job: MeasuredJob) -> str:
    period = 500 if job.ranks == 1 else round(job.period)
    told = {
        "env": job.workload, "runtime": "mpi-sync", "ranks": job.ranks, "steps": job.steps,
        "seconds": job.seconds, "sync_seconds": job.sync_seconds, "bytes_sent": job.bytes_sent,
        "syncs": job.syncs, "sync_period": period, "steps_per_sync": period,
    }  # fmt: skip
    return json.dumps(told)


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for job in some_jobs():
        Path(job.name).write_text(as_json(job))
    return [job.name for job in some_jobs()]


def test_every_workload_gets_rows_for_4_to_256_nodes(
    jobs: list[str], capsys: pytest.CaptureFixture[str]
):
    assert main(["scale", *jobs]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("strong scaling of ") for line in lines) == 2
    modelled = [line.split()[0] for line in lines if " modelled  " in line and "%)" in line]
    assert modelled == 2 * ["4", "8", "16", "32", "64", "128", "256"]
    assert sum(" measured  " in line for line in lines if line[0:1].isdigit()) == 4


def test_a_network_target_and_figures_of_others_can_be_stated(
    jobs: list[str], capsys: pytest.CaptureFixture[str]
):
    words = (*NETWORK, "--target", "50%", "--published", "16=77.6%", "--nodes", "16")
    assert main(["scale", *jobs, *words, "--sync-period", "8000", "--json", "out.json"]) == 0
    text = capsys.readouterr().out
    assert "50 % from a period of" in text
    assert "77.6 %" in text
    told = json.loads(Path("out.json").read_text())
    assert [len(each["modelled"]) for each in told["projections"]] == [1, 1]
    assert [each["sync_period"] for each in told["projections"]] == [8000, 8000]


@pytest.mark.parametrize(("words", "steps"), [((), 4_000_000), (("--steps", "5000"), 5_000)])
def test_weak_scaling_gives_each_node_the_steps(
    jobs: list[str], words: tuple[str, ...], steps: int
):
    assert main(["scale", *jobs, "--scaling", "weak", *words, "--json", "out.json"]) == 0
    told = json.loads(Path("out.json").read_text())
    assert {each["steps"] for each in told["projections"]} == {steps}


def test_what_is_hidden_behind_computing_costs_nothing(jobs: list[str]):
    found = []
    for overlap in ("0%", "100%"):
        words = (*NETWORK, "--overlap", overlap, "--nodes", "4")
        assert main(["scale", *jobs, *words, "--json", "out.json"]) == 0
        (row,) = json.loads(Path("out.json").read_text())["projections"][1]["modelled"]
        found.append(row["efficiency"])
    assert found[0] < found[1]


@pytest.mark.parametrize(("name", "begin"), [("f.svg", b"<?xml"), ("f.PNG", b"\x89PNG")])
def test_measured_and_modelled_are_drawn_together(jobs: list[str], name: str, begin: bytes):
    words = (*NETWORK, "--published", "16=77.6%", "--plot", name)
    assert main(["scale", *jobs, *words]) == 0
    picture = Path(name).read_bytes()
    assert picture.startswith(begin)
    if name == "f.svg":
        for words_in_it in (b"Small-v0, measured", b"Small-v0, modelled", b"published"):
            assert words_in_it in picture


def test_without_matplotlib_one_sentence_says_what_to_install(
    jobs: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for name in ("matplotlib.figure", "pytest_rlperf.report.page.plots"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["scale", *jobs]) == 0
    capsys.readouterr()
    assert main(["scale", *jobs, "--plot", "f.svg"]) == 4
    told = capsys.readouterr()
    assert told.err == "rlperf: --plot needs matplotlib: pip install 'pytest-rlperf[plots]'.\n"
    assert told.out == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--nodes", "4,x"), "--nodes is '4,x', which is no list of numbers; write 4,16."),
        (("--nodes", "0"), "--nodes is '0', which is no list of numbers; write 4,16."),
        (("--nodes", "4,9999999"), "--nodes is '4,9999999', which is no list of numbers; "),
        (("--latency", "50us"), "a network has a latency and a bandwidth; give both, or none."),
        (("--latency", "50", "--bandwidth", "1GB"), "--latency is '50', which is no latency; "),
        (("--overlap", "50%"), "--overlap is for a network that was not measured: "),
        (("--target", "100%"), "--target is '100%', which all or no jobs reach; write 95%."),
        (("--published", "x"), "--published has 'x'; write nodes and efficiency, 16=77.6%."),
        (("--published", "0=90%"), "--published has '0=90%'; write nodes and efficiency, "),
        (("--published", "16=x"), "--published is 'x', which is no share; "),
        (("--plot", "f.pdf"), "f.pdf is no picture that can be drawn; let it end in .svg or .png."),
        (("--steps", "100"), "100 steps leave a node without any; give more with --steps."),
        (("--sync-period", "0"), "--sync-period is 0, which is no number of steps; write 1000."),
        (("--json", "no/where"), "no/where cannot be written (No such file or directory); name"),
        (("absent.json",), "absent.json does not exist; name the JSON of MPI jobs"),
        (("Small-v0-1-500.json",), "Small-v0-1-500.json is named twice; name every job once."),
    ],
)
def test_wrong_usage_is_one_sentence(
    jobs: list[str], words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["scale", *jobs, *words]) == 4
    told = capsys.readouterr().err
    assert told.startswith(f"rlperf: {said}")
    assert told.count("\n") == 1


def test_jobs_that_do_not_tell_the_terms_are_refused(
    jobs: list[str], capsys: pytest.CaptureFixture[str]
):
    assert main(["scale", jobs[0]]) == 4
    assert capsys.readouterr().err.startswith("rlperf: all jobs have 1 rank, which says nothing")
