"""Seeded damage: to a tree of JSON, to lines of it, to TOML, to an archive, and to plain bytes."""

import copy
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np

Tree = dict[str, Any] | list[Any]
LONG = "LONG_NUMBER", "9" * 400
DEEP = "DEEP_NEST", "[" * 20_000 + "]" * 20_000
"""What `json.dumps` would not write: a word in the tree, and what stands for it in the text."""
STRINGS = (
    "", " ", "x" * 5_000, "\x00", "a\x00b", "\ud800", "\x1b[2J\x1b]0;title\x07", "a\nb", "\r",
    "\u202etxt", "\x9b31m", "::error::forged", "\n::error::forged", "GH-12 #12 @name a/b#1",
    "[link](https://example.org)", "<script>alert(1)</script>", "|`|", "../../../etc/passwd",
    "/etc/passwd", "/dev/zero", "/proc/self/mem", "time", "regressed", "unchanged", "lower",
    "2030-01-02", "2030-01-02T03:04:05", "9999-99-99T00:00:00+00:00", "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59", "nan", "5 %", "ns", "bytes", "test_a.py::test_a", "é" * 3,
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 2, 3, 1 << 31, 1 << 63, -(1 << 63), 10**30, 0.0, -0.0, 0.1, -0.5, -1.0, -2.0, 1.5,
    1e-300, 5e-324, 1e16, 1e154, 1e300, 1e308, -1e308, 1.7976931348623157e308, 1e-9, 1e6, 50, 51,
    LONG[0], "Infinity", "NaN",
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None,
    True,
    False,
    [],
    {},
    [[]],
    [{}],
    [None],
    [1, "a"],
    {"a": 1},
    {"": None},
    DEEP[0],
)


def value(rng: Random) -> Any:
    """Return anything that JSON can hold, and what it should not."""
    pool = rng.choice((STRINGS, NUMBERS, OTHERS))
    return copy.deepcopy(rng.choice(pool))


def damaged_tree(rng: Random, tree: Any) -> str:
    """Return the text of a tree in which one to three things are not as they should be."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holder, key = _place(rng, tree)
        if holder is None:
            tree = value(rng)
            continue
        _ACTS[rng.randrange(len(_ACTS))](rng, tree, holder, key)
    return text_of(tree)


def text_of(tree: Any) -> str:
    text = json.dumps(tree)
    for word, meant in (LONG, DEEP):
        text = text.replace(f'"{word}"', meant)
    return text


def _place(rng: Random, tree: Any) -> tuple[Any, Any]:
    """Choose a place by going down from the top: what lies high is as likely as what lies deep."""
    holder: Any = None
    key: Any = None
    here = tree
    while isinstance(here, dict | list) and here and (holder is None or rng.random() < 0.75):
        holder = here
        key = rng.choice(list(here)) if isinstance(here, dict) else rng.randrange(len(here))
        here = here[key]
    return holder, key


def _replace(rng: Random, tree: Any, holder: Any, key: Any) -> None:
    holder[key] = value(rng)


def _like(rng: Random, tree: Any, holder: Any, key: Any) -> None:
    """Put another value of the same kind there: this is what passes a look at types alone."""
    here = holder[key]
    if isinstance(here, bool) or here is None:
        holder[key] = rng.choice((True, False, None))
    elif isinstance(here, int | float):
        holder[key] = rng.choice(NUMBERS)
    elif isinstance(here, str):
        holder[key] = rng.choice(STRINGS)
    elif isinstance(here, list) and here:
        holder[key] = here[:-1] if rng.random() < 0.5 else [*here, here[0]]
    else:
        holder[key] = value(rng)


def _drop(rng: Random, tree: Any, holder: Any, key: Any) -> None:
    del holder[key]


def _swap(rng: Random, tree: Any, holder: Any, key: Any) -> None:
    other, there = _place(rng, tree)
    if other is not None:
        holder[key] = copy.deepcopy(other[there])


def _rename(rng: Random, tree: Any, holder: Any, key: Any) -> None:
    if isinstance(holder, dict):
        holder[rng.choice(STRINGS)] = holder.pop(key)
    else:
        holder.insert(rng.randrange(len(holder) + 1), value(rng))


def _add(rng: Random, tree: Any, holder: Any, key: Any) -> None:
    """Put something there that only a later version knows."""
    if isinstance(holder, dict):
        holder["later"] = value(rng)
    else:
        holder.append(value(rng))


_Act = Callable[[Random, Any, Any, Any], None]
_ACTS: tuple[_Act, ...] = (_replace, _like, _like, _like, _drop, _drop, _swap, _rename, _add)


def damaged_bytes(rng: Random, content: bytes) -> bytes:
    """Return bytes that are cut off, flipped, doubled or of another encoding."""
    act = rng.randrange(7)
    at = rng.randrange(len(content) + 1)
    to = rng.randrange(at, len(content) + 1)
    if act == 0:
        return content[:at]
    if act == 1:
        flipped = bytearray(content)
        for _ in range(rng.randrange(1, 9)):
            if flipped:
                flipped[rng.randrange(len(flipped))] = rng.randrange(256)
        return bytes(flipped)
    if act == 2:
        return content[:at] + content[to:]
    if act == 3:
        return content[:to] + content[at:]
    if act == 4:
        odd = rng.choice((b"\xff\xfe", b"\x00", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"[" * 5_000))
        return content[:at] + odd + content[at:]
    if act == 5:
        return content.decode("utf-8", "replace").encode("utf-16")
    return rng.choice((b"", b"\n", b"null", b"[]", b"{}", b'"', b"0", rng.randbytes(50)))


def damaged_json(rng: Random, content: bytes) -> bytes:
    if rng.random() < 0.08:
        return damaged_bytes(rng, content)
    return damaged_tree(rng, json.loads(content)).encode("utf-8", "surrogatepass")


def damaged_lines(rng: Random, content: bytes) -> bytes:
    """Damage one or two lines of a file that has a tree in each."""
    lines = content.splitlines()
    for at in rng.sample(range(len(lines)), rng.choice((1, 1, 2))):
        lines[at] = damaged_json(rng, lines[at])
    ends = b"\n" if rng.random() < 0.9 else b""
    return b"\n".join(lines) + ends


TOML = (
    '""', '"x"', "'a\tb'", "1", "-1", "0", "0.0", "1e308", "inf", "-inf", "nan", "true", "false",
    "[]", "{}", "[[]]", "[1, 'a']", "{ a = 1 }", "2030-01-31", "2030-01-31T00:00:00",
    "2030-01-31T00:00:00Z", "12:00:00", "9999-12-31", "0001-01-01", "9" * 400, '"\\u0000"',
    '"\\u001b[2J"', '"%"', '"5%"', '"time"', '"ms"', "[" * 2_000 + "]" * 2_000, '"""\na\n"""',
    "{ until = 2030-01-31, reason = 1 }", "0x" + "f" * 5_000,
)  # fmt: skip


def damaged_toml(rng: Random, content: bytes) -> bytes:
    """Put other values behind equals signs, take lines out, or names apart."""
    if rng.random() < 0.15:
        return damaged_bytes(rng, content)
    lines = content.decode().splitlines()
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(lines))
        name, sign, _old = lines[at].partition("=")
        if sign and rng.random() < 0.7:
            lines[at] = f"{name}= {rng.choice(TOML)}"
        elif rng.random() < 0.5:
            lines[at] = re.sub(r"\w+", rng.choice(("tool", "rlperf", "x", "a.b", '""')), lines[at])
        else:
            lines.insert(at, f"{rng.choice(('tool', 'rlperf', 'kpi', 'x'))} = {rng.choice(TOML)}")
    return "\n".join(lines).encode()


def damaged_archive(rng: Random, content: bytes) -> bytes:
    """Damage the header of an archive, one of its arrays, or the archive itself."""
    if rng.random() < 0.25:
        return damaged_bytes(rng, content)
    with np.load(io.BytesIO(content)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    if rng.random() < 0.6:
        header = damaged_tree(rng, json.loads(arrays["header"].tobytes()))
        arrays["header"] = np.frombuffer(header.encode("utf-8", "surrogatepass"), np.uint8)
        return _archive(arrays)
    name = rng.choice(sorted(arrays))
    members = {f"{name}.npy": _npy(array) for name, array in arrays.items()}
    act = rng.randrange(6)
    if act == 0:
        del members[f"{name}.npy"]
    elif act == 1:
        members[f"{name}.npy"] = _npy(_other(rng, arrays[name]))
    elif act == 2:
        members[f"{name}.npy"] = damaged_bytes(rng, members[f"{name}.npy"])
    elif act == 3:  # a header of NumPy that declares a huge array
        shape = b"(%d,)" % rng.choice((10**6, 10**10, 10**15, 10**30, -1))
        members[f"{name}.npy"] = re.sub(rb"\([0-9, ]*\)", shape, members[f"{name}.npy"], count=1)
    elif act == 4:
        return members[f"{name}.npy"]
    else:
        members[f"{rng.choice(STRINGS[:4])}{name}"] = members.pop(f"{name}.npy")
    return _zipped(members)


def _other(rng: Random, array: np.ndarray) -> np.ndarray:
    """Return an array of another type, shape or content."""
    with np.errstate(all="ignore"):
        acts: tuple[Callable[[], Any], ...] = (
            lambda: array.astype(rng.choice(("f4", "f8", "i8", "u1", "S3", "U2", "c16", "M8[s]"))),
            lambda: array[:1],
            lambda: array.reshape(-1),
            lambda: np.array(rng.choice((0, -1, 1e308, np.nan, np.inf))),
            lambda: array.ravel()[:0],
            lambda: np.full_like(array, rng.choice((0, 1))),
            lambda: np.full(array.shape, rng.choice((np.nan, np.inf, -1e308, 1e308))),
            lambda: np.full(array.shape, -1, np.int64),
            lambda: np.full(array.shape, 1 << 62, np.int64),
        )
        try:
            return np.asarray(rng.choice(acts)())
        except (ValueError, TypeError, IndexError, OverflowError):
            return np.zeros(3)


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def _archive(arrays: dict[str, np.ndarray]) -> bytes:
    return _zipped({f"{name}.npy": _npy(array) for name, array in arrays.items()})


def _zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name or "x"), content)
    return file.getvalue()


def strings_in(tree: Any) -> Iterator[str]:
    """Yield every string and every key."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        for key, each in tree.items():
            yield key
            yield from strings_in(each)
    elif isinstance(tree, list):
        for each in tree:
            yield from strings_in(each)
