"""Reading a result back: our own files, and one sentence for every other."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.errors import UsageError
from pytest_rlperf.report.export import run_as_dict, write_json
from pytest_rlperf.store.result_file import read_result
from tests.factories import a_test, block, examples, run_result


def written() -> dict[str, Any]:
    measured = a_test(blocks=(block([500], [400]), block([501], [400])), steps=5)
    return run_as_dict(run_result(measured, a_test("test_b.py::test_b")), 0)


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        read_result(path)
    (sentence,) = str(caught.value).splitlines()
    assert sentence.startswith(f"{path} ")
    return sentence.removeprefix(f"{path} ")


def refusal_of(tmp_path: Path, text: str) -> str:
    path = tmp_path / "result.json"
    path.write_text(text, encoding="utf-8")
    return refusal(path)


def test_what_was_written_reads_back(tmp_path: Path):
    write_json(tmp_path / "result.json", written())
    assert read_result(tmp_path / "result.json") == written()


def test_a_field_of_a_later_version_of_the_same_schema_is_kept(tmp_path: Path):
    write_json(tmp_path / "result.json", {**written(), "weather": "fair"})
    assert read_result(tmp_path / "result.json")["weather"] == "fair"


def test_a_missing_file_is_named_with_how_to_write_one(tmp_path: Path):
    said = "does not exist; write it with pytest --rlperf --rlperf-json=FILE."
    assert refusal(tmp_path / "nowhere.json") == said


def test_a_folder_cannot_be_read(tmp_path: Path):
    assert (
        refusal(tmp_path) == "cannot be read (Is a directory); it must be a file that you may read."
    )


@pytest.mark.parametrize("text", ["[]", "3", "null", '"text"', "{}", '{"benchmarks": []}'])
def test_a_file_of_another_kind_is_none_of_ours(tmp_path: Path, text: str):
    said = "is no result of this plugin; name a file that --rlperf-json wrote."
    assert refusal_of(tmp_path, text) == said


def test_a_file_nested_too_deeply_is_none_of_ours_either(tmp_path: Path):
    said = (
        "is nested too deeply to be one of ours; write it with pytest --rlperf --rlperf-json=FILE."
    )
    assert refusal_of(tmp_path, "[" * 100_000) == said


def test_a_file_that_is_no_text_is_refused(tmp_path: Path):
    path = tmp_path / "result.json"
    path.write_bytes(b"\x80\x81")
    assert refusal(path).startswith("is no whole JSON file ('utf-8' codec")


@examples
@given(st.data())
def test_a_truncated_file_is_refused_wherever_it_ends(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
):
    text = json.dumps(written())
    part = text[: data.draw(st.integers(0, len(text) - 1))]
    said = refusal_of(tmp_path_factory.mktemp("part"), part)
    assert said.startswith("is no whole JSON file (")
    assert said.endswith("; write it with pytest --rlperf --rlperf-json=FILE.")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_refused(tmp_path: Path, number: str):
    text = json.dumps(written()).replace("500.5", number)
    assert f"(it holds {number}, which is no finite number)" in refusal_of(tmp_path, text)


def test_a_newer_schema_asks_for_an_update(tmp_path: Path):
    said = "has schema 2, and this version reads up to 1; update pytest-rlperf."
    assert refusal_of(tmp_path, json.dumps({**written(), "schema": 2})) == said


@pytest.mark.parametrize("schema", [0, -1, True, "1", None, 1.0])
def test_an_unknown_schema_is_named(tmp_path: Path, schema: object):
    text = json.dumps({**written(), "schema": schema})
    assert refusal_of(tmp_path, text).startswith(f"has the unknown schema {schema!r};")


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("mode", None),
        ("tests", {}),
        ("tests.0", "test_a"),
        ("tests.1.nodeid", 7),
        ("tests.0.metrics", None),
        ("tests.0.metrics.0", []),
        ("tests.0.metrics.0.value", "fast"),
        ("tests.0.metrics.1.name", None),
        ("tests.0.metrics.0.head_blocks", None),
        ("tests.0.metrics.0.head_blocks", [1.0, None]),
        ("tests.0.metrics.0.base_blocks", [0]),
        ("tests.0.metrics.0.base_blocks", [True]),
    ],
)
def test_damage_is_located(tmp_path: Path, where: str, value: object):
    content = written()
    *way, last = (int(step) if step.isdigit() else step for step in where.split("."))
    place: Any = content
    for step in way:
        place = place[step]
    place[last] = value
    shown = re.sub(r"\.(\d)", r"[\1]", where)
    assert refusal_of(tmp_path, json.dumps(content)).startswith(f"is damaged at {shown};")
