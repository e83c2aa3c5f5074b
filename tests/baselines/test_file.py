"""One module's baseline on disk: what was written reads back, and one sentence for every damage."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.baselines.file import (
    Accepted,
    Session,
    Stored,
    StoredLearning,
    StoredMemory,
    read_module,
    write_module,
)
from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.block import LEAST_BLOCKS, LogRatios
from pytest_rlperf.model.learning import Training
from tests.factories import FACTS, a_session, a_stored, examples

NODE = "test_a.py::test_a"
ANEW = "; restore it from version control, or remove it and save again with --rlperf-save."

log_ratios = st.integers(-40_000_000, 40_000_000).map(lambda micro: micro / 1e6)
texts = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20)
commits = st.one_of(st.none(), texts)
kernels = ("interpreter", "stride")


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    pair = st.builds(LogRatios, log_ratios, log_ratios)
    rows = st.lists(st.fixed_dictionaries(dict.fromkeys(kernels, pair)), min_size=LEAST_BLOCKS)
    return Session(
        created=draw(texts),
        commit=draw(commits),
        dirty=draw(st.booleans()),
        facts=draw(
            st.dictionaries(texts, st.one_of(texts, st.integers(-(2**62), 2**62), st.none()))
        ),
        call_ns=draw(st.integers(1, 10**12)) / 10,
        blocks=tuple(draw(rows)),
    )


@st.composite
def stored_tests(draw: st.DrawFn) -> Stored:
    share = draw(st.integers(1, 999_999)) / 1e6
    accepted = st.builds(
        Accepted,
        texts,
        texts,
        commits,
        st.integers(-900, 10_000).map(lambda promille: promille / 1000),
    )
    return Stored(
        nodeid=f"test_a.py::{draw(texts)}",
        source_hash=draw(texts),
        weights={"interpreter": share, "stride": round(1 - share, 6)},
        sessions=tuple(draw(st.lists(sessions(), min_size=1, max_size=3))),
        steps=draw(st.one_of(st.none(), st.integers(0, 2**62))),
        work=draw(st.dictionaries(texts, st.integers(-(10**9), 10**9).map(float))),
        accepted=tuple(draw(st.lists(accepted, max_size=2))),
    )


@examples
@given(st.lists(stored_tests(), max_size=3, unique_by=lambda test: test.nodeid))
def test_what_was_written_reads_back(tmp_path_factory: pytest.TempPathFactory, tests: list[Stored]):
    path = tmp_path_factory.mktemp("module") / "test_a.json"
    write_module(path, "test_a.py", tests)
    assert read_module(path) == {test.nodeid: test for test in tests}


def test_a_file_says_what_it_is_and_whose(tmp_path: Path):
    write_module(tmp_path / "deep" / "a.json", "test_a.py", [a_stored()])
    content = json.loads((tmp_path / "deep" / "a.json").read_text())
    assert (content["schema"], content["kind"]) == (3, "pytest-rlperf baseline")
    assert (content["module"], list(content["tests"])) == ("test_a.py", [NODE])


def written(tmp_path: Path) -> dict[str, Any]:
    accepted = (Accepted("it checks more", "2030-01-01", None, 0.2),)
    test = a_stored(accepted=accepted, work={"updates": 3.0}, sessions=(a_session(), a_session()))
    write_module(tmp_path / "a.json", "test_a.py", [test])
    content: dict[str, Any] = json.loads((tmp_path / "a.json").read_text())
    return content


def refusal(tmp_path: Path, text: str) -> str:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_module(path)
    (sentence,) = str(caught.value).splitlines()
    assert path.read_text(encoding="utf-8") == text, "reading changes nothing"
    return sentence.removeprefix(f"{path} ")


def test_notes_that_people_added_do_no_harm(tmp_path: Path):
    content = written(tmp_path)
    plain = read_module(tmp_path / "a.json")
    test = content["tests"][NODE]
    for place in (content, test, test["sessions"][0], test["accepted"][0]):
        place["note"] = 7
    test["sessions"][0]["blocks"]["stride"]["note"] = 7
    (tmp_path / "a.json").write_text(json.dumps(content))
    assert read_module(tmp_path / "a.json") == plain


@pytest.mark.parametrize("text", ["[]", "{}", '{"schema": 1}', '{"kind": "else"}', "3"])
def test_another_kind_of_file_is_no_baseline(tmp_path: Path, text: str):
    assert refusal(tmp_path, text) == f"is no stored baseline{ANEW}"


def test_a_newer_schema_asks_for_an_update(tmp_path: Path):
    text = json.dumps({**written(tmp_path), "schema": 4})
    said = "has schema 4, and this version reads up to 3; update pytest-rlperf."
    assert refusal(tmp_path, text) == said


@pytest.mark.parametrize("schema", [0, None, "1", True])
def test_an_unknown_schema_is_named(tmp_path: Path, schema: object):
    text = json.dumps({**written(tmp_path), "schema": schema})
    assert refusal(tmp_path, text) == f"has the unknown schema {schema!r}{ANEW}"


@examples
@given(st.data())
def test_a_truncated_file_is_refused_wherever_it_ends(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
):
    folder = tmp_path_factory.mktemp("part")
    text = json.dumps(written(folder))
    said = refusal(folder, text[: data.draw(st.integers(0, len(text) - 1))])
    assert said.startswith("is no whole JSON file (")
    assert said.endswith(ANEW)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_number_that_is_none_is_refused(tmp_path: Path, number: str):
    text = json.dumps(written(tmp_path)).replace("1.001", number, 1)
    assert f"(it holds {number}, which is no finite number)" in refusal(tmp_path, text)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("weights", None),
        ("weights", {}),
        ("weights", {"interpreter": 0.5}),
        ("weights", {"interpreter": -1, "stride": 2}),
        ("weights", {"interpreter": "1"}),
        ("source_hash", 7),
        ("steps", "many"),
        ("work", [1]),
        ("work.updates", "many"),
        ("accepted", {}),
        ("accepted[0]", "because"),
        ("accepted[0].reason", None),
        ("accepted[0].change", "much"),
        ("sessions", []),
        ("sessions[1]", None),
        ("sessions[0].created", None),
        ("sessions[0].dirty", "no"),
        ("sessions[0].facts", []),
        ("sessions[0].call_ns", "1 ms"),
        ("sessions[0].blocks", {}),
        ("sessions[0].blocks", {"stride": {"typical": [1.0] * 3, "total": [1.0] * 3}}),
        ("sessions[0].blocks.stride", [1.0]),
        ("sessions[0].blocks.stride.typical", 1.0),
        ("sessions[0].blocks.stride.typical", [1.0, None, 1.0]),
        ("sessions[0].blocks.stride.total", [1.0, True, 1.0]),
        ("sessions[0].blocks.stride.total", [1.0, 1e300, 1.0]),
        ("sessions[0].blocks.stride.total", [1.0, 10**400, 1.0]),
    ],
)
def test_damage_is_located(tmp_path: Path, where: str, value: object):
    content = written(tmp_path)
    *way, last = where.replace("[", ".").replace("]", "").split(".")
    place: Any = content["tests"][NODE]
    for step in way:
        place = place[int(step) if step.isdigit() else step]
    place[int(last) if last.isdigit() else last] = value
    said = refusal(tmp_path, json.dumps(content))
    assert said.startswith(f"is damaged at tests.{NODE}.{where}")
    assert said.endswith(ANEW)


@pytest.mark.parametrize("blocks", [LEAST_BLOCKS - 1, 40])
def test_columns_of_a_session_are_equally_long_and_long_enough(tmp_path: Path, blocks: int):
    content = written(tmp_path)
    content["tests"][NODE]["sessions"][0]["blocks"]["stride"]["typical"] = [1.0] * blocks
    assert refusal(tmp_path, json.dumps(content)).startswith(
        f"is damaged at tests.{NODE}.sessions[0].blocks;"
    )


def test_a_field_of_the_file_itself_is_located_too(tmp_path: Path):
    text = json.dumps({**written(tmp_path), "tests": []})
    assert refusal(tmp_path, text).startswith("is damaged at tests;")


def test_what_is_no_number_is_never_written(tmp_path: Path):
    path = tmp_path / "a.json"
    write_module(path, "test_a.py", [a_stored()])
    before = path.read_bytes()
    broken = a_stored(sessions=(a_session({"interpreter": [float("nan")] * 3}, facts=FACTS),))
    with pytest.raises(ValueError, match="JSON"):
        write_module(path, "test_a.py", [broken])
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (before, [path])


def test_starts_read_back_too(tmp_path: Path):
    test = a_stored(starts={"first_call": a_stored(weights={"stride": 1.0})})
    write_module(tmp_path / "test_a.json", "test_a.py", [test])
    assert read_module(tmp_path / "test_a.json") == {test.nodeid: test}


def test_a_note_in_a_start_that_has_the_name_of_starts_does_no_harm(tmp_path: Path):
    test, path = a_stored(starts={"first_call": a_stored()}), tmp_path / "test_a.json"
    write_module(path, "test_a.py", [test])
    content = json.loads(path.read_text())
    content["tests"][NODE]["starts"]["first_call"]["starts"] = {"imports": 0.5}
    path.write_text(json.dumps(content))
    assert read_module(path) == {test.nodeid: test}


# -- memory: read back, refused where damaged, absent in older files ----------------------------


MEMORY = StoredMemory(
    created="2030-01-02T03:04:05+00:00",
    commit="a" * 40,
    dirty=False,
    facts=FACTS,
    repeats=30,
    values={"peak_rss": (5e6, 5.1e6, 5e6), "growth": (0.0, -1.0, 0.5)},
)


def memory_written(path: Path, test: Stored) -> dict[str, Any]:
    write_module(path, "test_a.py", [test])
    content: dict[str, Any] = json.loads(path.read_text())
    return content


@pytest.mark.parametrize(
    "test",
    [a_stored(memory=MEMORY), Stored(NODE, "abc", weights={}, sessions=(), memory=MEMORY)],
    ids=["beside time", "alone"],
)
def test_memory_reads_back(tmp_path: Path, test: Stored):
    path = tmp_path / "a.json"
    memory_written(path, test)
    assert read_module(path) == {NODE: test}


def test_a_file_from_before_memory_still_loads(tmp_path: Path):
    path = tmp_path / "a.json"
    content = memory_written(path, a_stored())
    del content["tests"][NODE]["memory"]
    path.write_text(json.dumps({**content, "schema": 1}))
    assert read_module(path) == {NODE: a_stored()}


@pytest.mark.parametrize(
    ("name", "value"), [("repeats", "30"), ("values", []), ("values", {"uss": [1, 2]})]
)
def test_damaged_memory_is_named(tmp_path: Path, name: str, value: object):
    path = tmp_path / "a.json"
    content = memory_written(path, a_stored(memory=MEMORY))
    content["tests"][NODE]["memory"][name] = value
    path.write_text(json.dumps(content))
    with pytest.raises(UsageError, match=rf"is damaged at tests\.{NODE}\.memory\.{name}"):
        read_module(path)


LEARNING = StoredLearning(
    created="2030-01-02T03:04:05+00:00",
    commit="a" * 40,
    dirty=False,
    facts=FACTS,
    versions={"numpy": "2.4.6"},
    trainings=(
        *(Training(seed, {"": ((0.0, 0.1), (10.0, 1 / 3))}, seconds=2.5) for seed in range(6)),
        Training(6, failure="ValueError: no action"),
    ),
)


def test_trainings_read_back_bit_for_bit(tmp_path: Path):
    test = Stored(NODE, "abc", weights={}, sessions=(), learning=LEARNING)
    write_module(tmp_path / "a.json", "test_a.py", [test])
    assert read_module(tmp_path / "a.json") == {NODE: test}


def test_too_few_trainings_are_damage(tmp_path: Path):
    path = tmp_path / "a.json"
    few = replace(LEARNING, trainings=LEARNING.trainings[2:])
    write_module(path, "test_a.py", [Stored(NODE, "abc", {}, (), learning=few)])
    with pytest.raises(UsageError, match=rf"is damaged at tests\.{NODE}\.learning\.trainings"):
        read_module(path)


def test_a_baseline_of_nothing_cannot_be():
    with pytest.raises(ValueError, match="needs a session and a kernel, memory, or trainings"):
        Stored(NODE, "abc", weights={}, sessions=())
