"""The one reader of what came from elsewhere: all of it fits, or the first place that does not."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.reading import (
    Damage,
    Growth,
    Like,
    Name,
    PathText,
    Positive,
    Whole,
    parse_json,
    parse_toml,
    read_json,
    short,
    typed,
)


class Spot(NamedTuple):
    file: str
    line: int


@dataclass(frozen=True)
class Part:
    name: Name
    note: str | None
    value: Positive = 1.0

    def __post_init__(self) -> None:
        if self.name == "contradiction":
            raise ValueError("it contradicts itself")


class Content(TypedDict):
    parts: list[Part]
    count: Whole
    change: Growth | None
    outcome: Outcome
    sizes: dict[str, tuple[float, ...]]
    kept: NotRequired[Annotated[dict[str, Any], Like(Part)]]


GOOD: dict[str, Any] = {
    "parts": [{"name": "a", "note": None}, {"name": "b", "note": "x", "value": 2}],
    "count": 3,
    "change": None,
    "outcome": "regressed",
    "sizes": {"a": [1, 2.5]},
}


def test_what_fits_is_read_as_its_types():
    read = typed(Content, GOOD)
    assert read["parts"] == [Part("a", None), Part("b", "x", 2)]
    assert read["outcome"] is Outcome.REGRESSED
    assert read["sizes"] == {"a": (1, 2.5)}


def test_what_may_be_null_is_null_where_it_is_absent():
    read = typed(Content, {name: GOOD[name] for name in GOOD if name != "change"})
    assert read["change"] is None
    assert typed(Part, {"name": "a"}) == Part("a", None)


def test_what_a_later_version_added_is_kept():
    assert typed(Content, {**GOOD, "weather": {"sun": [1]}})["weather"] == {"sun": [1]}  # type: ignore[typeddict-item]


def test_data_that_stay_as_they_are_are_checked_too():
    assert typed(Content, {**GOOD, "kept": {"name": "a"}})["kept"] == {"name": "a"}
    with pytest.raises(Damage, match=r"at kept\.name"):
        typed(Content, {**GOOD, "kept": {"name": 5}})


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"parts": None}, "parts"),
        ({"parts": {}}, "parts"),
        ({"parts": [{"name": "a", "note": None}, 5]}, "parts[1]"),
        ({"parts": [{"note": None}]}, "parts[0].name"),
        ({"parts": [{"name": "a\n::error::", "note": None}]}, "parts[0].name"),
        ({"parts": [{"name": "\x1b[2J", "note": None}]}, "parts[0].name"),
        ({"parts": [{"name": "a\u202eb", "note": None}]}, "parts[0].name"),
        ({"parts": [{"name": "a", "note": 1}]}, "parts[0].note"),
        ({"parts": [{"name": "a", "note": None, "value": 0}]}, "parts[0].value"),
        ({"parts": [{"name": "a", "note": None, "value": 1e308}]}, "parts[0].value"),
        ({"parts": [{"name": "a", "note": None, "value": 10**400}]}, "parts[0].value"),
        ({"parts": [{"name": "contradiction", "note": None}]}, "parts[0]"),
        ({"count": True}, "count"),
        ({"count": 1.0}, "count"),
        ({"count": -1}, "count"),
        ({"count": 2**63}, "count"),
        ({"change": -1}, "change"),
        ({"outcome": "unheard of"}, "outcome"),
        ({"outcome": []}, "outcome"),
        ({"sizes": {"a": [1, "2"]}}, "sizes.a[1]"),
        ({"weather": nested(100)}, "weather"),
        ({"weather": [10**400]}, "weather"),
    ],
)
def test_what_does_not_fit_is_named_by_its_place(fields: dict[str, Any], where: str):
    with pytest.raises(Damage) as caught:
        typed(Content, {**GOOD, **fields})
    assert str(caught.value) == f"is damaged at {where}"


def test_a_name_of_a_place_is_as_harmless_as_short():
    with pytest.raises(Damage) as caught:
        typed(Content, {**GOOD, "sizes": {"\x1b" * 500: "no"}})
    assert caught.value.where.isprintable()
    assert len(caught.value.where) < 80


def test_a_named_tuple_is_a_row_or_has_names():
    assert typed(Spot, ["a.py", 3]) == typed(Spot, {"file": "a.py", "line": 3}) == Spot("a.py", 3)
    with pytest.raises(Damage, match=r"at \[1\]"):
        typed(Spot, {"file": "a.py"})


@pytest.mark.parametrize("text", ["[" * 100_000, "NaN", "1e999", "9" * 5_000, "{", b"\xff"])
def test_json_that_is_none_is_one_kind_of_error(text: str | bytes):
    with pytest.raises(ValueError, match=r"\w"):
        parse_json(text)


def test_toml_that_is_nested_too_deeply_is_that_kind_too():
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_toml(f"a = {'[' * 5_000}{']' * 5_000}")


@pytest.mark.parametrize("kind", ["folder", "loop", "nul"])
def test_what_is_no_file_is_refused_in_a_sentence(tmp_path: Path, kind: str):
    path = tmp_path / ("a\0b" if kind == "nul" else "input.json")
    if kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path.name)
    with pytest.raises(UsageError, match=r"; write it anew\.|; it must be a file"):
        read_json(path, "write it anew")


def test_a_path_is_what_a_file_can_be_called():
    assert typed(PathText, "a\udcff") == "a\udcff"
    for text in ("a\0b", "a\ud800"):
        with pytest.raises(Damage):
            typed(PathText, text)


def test_values_are_told_in_few_letters():
    assert short(10**5_000) == "of many digits"
    assert len(short("x" * 500)) < 80
    assert json.dumps(short([1]))
