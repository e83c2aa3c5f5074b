"""`rlperf duet`: real commands against each other, from verdicts to what is left behind."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.duet import campaign

PYTHON = f"{sys.executable} -s -S -c"
LOOP = PYTHON + " 'for i in range({}): pass'"
SHORT, LONG = LOOP.format(200_000), LOOP.format(3_000_000)
ROUGH = ("--threshold", "30%", "--budget", "60")


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a block be a pair or two: these commands differ by far more than that tells."""
    monkeypatch.setattr(campaign, "BLOCK_S", 0.05)


def ended(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Return the exit code and what was printed."""
    status = main(["duet", *words])
    said = capsys.readouterr()
    return status, said.out + said.err


def rows(text: str) -> list[str]:
    """Return the line of each command in the table."""
    lines = text.splitlines()
    begin = next(k for k, line in enumerate(lines) if "95 % interval" in line)
    return [line for line in lines[begin + 1 :] if line.endswith("pass'")]


# -- verdicts -----------------------------------------------------------------------------------


def test_a_command_is_as_fast_as_itself(capsys: pytest.CaptureFixture[str]):
    status, text = ended(capsys, SHORT, SHORT, *ROUGH)
    assert status == 0
    assert "without a shell" in text
    first, second = rows(text)
    assert first.startswith("first ")
    assert second.startswith(("unchanged ", "faster ", "slower (allowed) "))
    assert "MiB" in second


def test_a_slower_command_fails_and_one_that_is_faster_does_not(
    capsys: pytest.CaptureFixture[str],
):
    status, text = ended(capsys, SHORT, LONG, *ROUGH)
    assert status == 1
    assert rows(text)[1].startswith("REGRESSED (high) ")
    assert "times as long as" in text
    status, text = ended(capsys, LONG, SHORT, *ROUGH)
    assert status == 0
    assert rows(text)[1].startswith("improved ")
    assert "times as fast as" in text


def test_several_commands_are_each_judged_against_the_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    files = tmp_path / "out.json", tmp_path / "out.md"
    words = (SHORT, SHORT, LONG, *ROUGH)
    exports = ("--export-json", str(files[0]), "--export-markdown", str(files[1]))
    status, text = ended(capsys, *words, *exports)
    assert status == 1
    assert [row.split()[0] for row in rows(text)][::2] == ["first", "REGRESSED"]
    data = json.loads(files[0].read_text())
    assert [each["command"] for each in data["results"]] == [SHORT, SHORT, LONG]
    assert data["verdicts"][1]["outcome"] == "regressed"
    assert data["verdicts"][1]["low"] > 0.3
    assert data["exit_code"] == 1
    assert len(data["results"][0]["times"]) == sum(each["pairs"] for each in data["verdicts"])
    assert files[1].read_text().startswith("| verdict | change |")


def test_time_that_is_waited_counts_by_the_clock_only(capsys: pytest.CaptureFixture[str]):
    naps = [f"sleep {seconds}" for seconds in (0.02, 0.06)]
    status, text = ended(capsys, *naps, *ROUGH, "--waits")
    assert status == 1
    assert "by the clock" in text
    _, text = ended(capsys, *naps, "--threshold", "90%", "--budget", "1")
    assert "it waits for" in text
    assert "--waits" in text


def test_the_processes_of_a_command_count_with_it(capsys: pytest.CaptureFixture[str]):
    busy = "for i in range(3000000): pass"
    inner = f'import subprocess, sys; subprocess.run([sys.executable, "-I", "-S", "-c", "{busy}"])'
    idle = inner.replace("3000000", "1")
    status, text = ended(capsys, f"{PYTHON} '{idle}'", f"{PYTHON} '{inner}'", *ROUGH)
    assert status == 1, text


def test_memory_is_that_of_all_processes_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    holder = tmp_path / "hold.py"
    holder.write_text("import time; x = b'x' * (60 << 20); time.sleep(0.1)\n")
    one = f"{sys.executable} -I -S {holder}"
    out = tmp_path / "out.json"
    ended(capsys, one, f"{one} & {one}; wait", "--budget", "3", "--export-json", str(out))
    single, both = (min(e["memory_usage_byte"]) for e in json.loads(out.read_text())["results"])
    assert 60 << 20 < single < 90 << 20
    assert 120 << 20 < both < 180 << 20


# -- how commands are run -----------------------------------------------------------------------


def test_each_run_is_prepared_and_reads_its_input_from_the_beginning(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("one\ntwo\n")
    same = "sh -c 'test -e fresh.$PPID; cat >> read.txt; sleep 0.01'"
    status, text = ended(
        capsys, same, same, *ROUGH, "--input", "words.txt", "--warmup", "2",
        "--prepare", "sh -c 'echo x >> prepared.txt'",
    )  # fmt: skip
    assert status in (0, 1), text
    read, prepared = (len(Path(n).read_text().splitlines()) for n in ("read.txt", "prepared.txt"))
    assert read == 2 * prepared


def test_what_commands_print_is_dropped_unless_it_is_asked_for(tmp_path: Path):
    def said(*words: str) -> str:
        command = [sys.executable, "-m", "pytest_rlperf.cli", "duet", "echo hello", "echo hello"]
        done = subprocess.run([*command, *ROUGH, *words], capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    assert "\nhello\n" not in said()
    assert "\nhello\n" in said("--show-output")


def test_sides_are_told_no_signals_are_ignored(capsys: pytest.CaptureFixture[str]):
    """A pipe that closes early ends what writes into it."""
    piped = "yes | head -n 1"
    status, text = ended(capsys, piped, piped, *ROUGH)
    assert status in (0, 1), text
    assert "sh -c" in text


def test_pytest_is_not_imported():
    script = (
        "import sys; from pytest_rlperf.cli import main; "
        "main(['duet', 'true', 'true', '--budget', '1']); "
        "print(sorted({'pytest', '_pytest', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


# -- what fails ---------------------------------------------------------------------------------


def test_a_failing_command_is_named_with_its_exit_code_and_last_words(
    capsys: pytest.CaptureFixture[str],
):
    failing = "sh -c 'echo first >&2; echo no such file >&2; exit 3'"
    status, text = ended(capsys, failing, SHORT)
    assert status == 4
    assert "ended with exit code 3; mend it, or add --ignore-failure." in text
    assert "\n  no such file\n" in text
    status, text = ended(capsys, failing, failing, *ROUGH, "--ignore-failure")
    assert status in (0, 1)
    assert "runs ended with exit code 3" in text


def test_a_failing_preparation_is_named(capsys: pytest.CaptureFixture[str]):
    status, text = ended(capsys, "true", "true", "--prepare", "false", "--ignore-failure")
    assert status == 4
    assert "'false' ended with exit code 1; mend it." in text


def test_a_command_that_was_killed_is_told_by_the_signal(capsys: pytest.CaptureFixture[str]):
    status, text = ended(capsys, "true", "sh -c 'kill -SEGV $$'")
    assert status == 4
    assert "was ended by SIGSEGV" in text


def test_a_command_longer_than_the_budget_is_named(capsys: pytest.CaptureFixture[str]):
    begun = time.monotonic()
    status, text = ended(capsys, "sleep 60", "true", "--budget", "1")
    assert (status, time.monotonic() - begun < 20) == (4, True)
    assert "'sleep 60' was not done when the budget of 1 s was over; raise --budget." in text


def test_a_budget_without_room_for_a_block_compares_nothing(capsys: pytest.CaptureFixture[str]):
    status, text = ended(capsys, "sleep 0.4", "sleep 0.4", "--waits", "--budget", "3")
    assert status == 6
    assert "raise --budget" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("true",), "a duet needs two commands"),
        (("true", "no-such-program-here"), "'no-such-program-here' was not found on PATH"),
        (("true", "true", "--shell", "--no-shell"), "exclude each other"),
        (("true", "true", "--warmup", "-1x"), "which is no number of runs"),
        (("true", "true", "--input", "/no/such"), "no file that can be read"),
        (("true", "true", "--export-json", "/no/such/x.json"), "cannot be written"),
        (("true", "true", "--threshold", "x"), "which is no allowed slowdown"),
        (("true", "true", "--budget", "0"), "which is no time"),
    ],
)
def test_what_cannot_be_obeyed_is_refused_before_anything_runs(
    words: Sequence[str], said: str, capsys: pytest.CaptureFixture[str]
):
    status, text = ended(capsys, *[word.replace("-1x", "x") for word in words])
    assert status == 4
    assert said in text


# -- what is left behind ------------------------------------------------------------------------


def test_what_a_command_leaves_running_is_ended_and_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    nap = "1234.5"
    status, text = ended(capsys, "true", f"sh -c 'setsid sleep {nap} & true'", "--budget", "2")
    assert status in (0, 1, 6), text
    assert "processes running, which were ended" in text
    assert napping(nap) == []


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 2), (signal.SIGTERM, 2), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_no_command_outlives_what_started_it(number: signal.Signals, code: int):
    nap = f"{7000 + number}.5"
    command = f"sh -c 'setsid sleep {nap} & sleep {nap}'"
    words = [sys.executable, "-m", "pytest_rlperf.cli", "duet", command, command]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for(lambda: len(napping(nap)) == 2)
        process.send_signal(number)
        process.communicate()
    assert process.returncode == code
    wait_for(lambda: not napping(nap))


def test_an_interrupted_duet_tells_what_there_is(tmp_path: Path):
    runs = tmp_path / "runs"
    command = f"sh -c 'echo >> {runs}'"
    words = [sys.executable, "-m", "pytest_rlperf.cli", "duet", command, command]
    # A threshold that is never reached or passed by so many runs, which are a round of blocks.
    with subprocess.Popen(
        [*words, "--threshold", "0.01%"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(lambda: runs.exists() and len(runs.read_bytes()) > 200)
        process.send_signal(signal.SIGINT)
        text, _ = process.communicate()
    assert process.returncode == 2
    assert "Interrupted: the verdicts rest on what was measured until then." in text
    assert "inconclusive" in text


def napping(seconds: str) -> list[int]:
    return [
        process.pid
        for process in psutil.process_iter(["cmdline", "status"])
        if process.info["cmdline"] == ["sleep", seconds]
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)
