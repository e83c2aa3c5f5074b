"""What is recorded of the functions that run."""

from typing import Any

from pytest_rlperf.worker.watch import make_recorder


def test_equal_functions_of_two_files_are_two():
    recorder = make_recorder()
    functions = []
    for file in ("one.py", "other.py"):
        names: dict[str, Any] = {}
        exec(compile("def work():\n    return 5\n", file, "exec"), names)
        functions.append(names["work"])
    recorder.resume()
    for function in functions:
        function()
    recorder.pause()
    assert {("one.py", "work"), ("other.py", "work")} <= set(recorder.take())
