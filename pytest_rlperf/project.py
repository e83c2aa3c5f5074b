"""`[tool.rlperf]` of pyproject.toml → one frozen `Project`, or one sentence on what is wrong.

Its tables are the KPIs of a project, and the regressions it accepts: of which tests, until when,
and why.
"""

import datetime
import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.kpi import BUILT_IN, UNITS, WITHOUT, Kpi, KpiMetric
from pytest_rlperf.model.quantity import parse_fraction
from pytest_rlperf.reading import LEAST, MOST, read_toml, short

FILE = "pyproject.toml"
KPI_KEYS = ("metric", "target", "alert", "direction", "unit")
ACCEPTED_KEYS = ("until", "reason", "allowed")


@dataclass(frozen=True, slots=True)
class Exemption:
    """A regression that is accepted: one entry of `[tool.rlperf.accepted]`."""

    pattern: str  # a node id, in which * stands for anything
    until: datetime.date  # the last day it holds
    reason: str
    allowed: float | None = None  # largest slowdown that is accepted, a fraction; None: any

    def matches(self, nodeid: str) -> bool:
        """Match without fnmatch: the brackets of a parametrized id are no set of characters."""
        parts = (re.escape(part) for part in self.pattern.split("*"))
        return re.fullmatch(".*".join(parts), nodeid, re.DOTALL) is not None


@dataclass(frozen=True, slots=True)
class Project:
    """The rules that a project sets for all its tests."""

    kpis: Mapping[str, Kpi]  # by name: the built-in ones, and the project's own
    expected: frozenset[str] = frozenset()  # KPIs in its tables: a test should claim each
    accepted: tuple[Exemption, ...] = ()


def read_project(root: Path) -> Project:
    """Read the tables beside pytest's root folder; without any, the built-in KPIs alone."""
    tool = _table((read_toml(root / FILE) or {}).get("tool", {}), "tool")
    rlperf = _table(tool.get("rlperf", {}), "tool.rlperf")
    _refuse_unknown(rlperf, ("kpi", "accepted"), "[tool.rlperf]")
    kpis = _table(rlperf.get("kpi", {}), "tool.rlperf.kpi")
    accepted = _table(rlperf.get("accepted", {}), "tool.rlperf.accepted")
    built_in = {kpi.name: kpi for kpi in BUILT_IN}
    own = {name: _kpi(name, entry, built_in.get(name)) for name, entry in kpis.items()}
    return Project(
        kpis=built_in | own,
        expected=frozenset(own),
        accepted=tuple(_exemption(pattern, entry) for pattern, entry in accepted.items()),
    )


def _table(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{FILE}: {name} is {short(value)}, which is no table; write [{name}].")
    return value


def _refuse_unknown(keys: Iterable[str], known: Collection[str], where: str) -> None:
    for key in keys:
        if key not in known:
            raise UsageError(f"{FILE}, {where}: unknown key {key!r}; {_hint(key, known)}")


def _hint(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}."


# -- KPIs ---------------------------------------------------------------------------------------


def _kpi(name: str, entry: object, built_in: Kpi | None) -> Kpi:
    """Read a KPI; keys that are left out of the table of a built-in one stay as they are."""
    where = f"[tool.rlperf.kpi.{name}]"
    table = _table(entry, f"tool.rlperf.kpi.{name}")
    _refuse_unknown(table, KPI_KEYS, where)
    if ":" in name:
        raise UsageError(f"{FILE}, {where}: a KPI's name holds no colon; choose another.")
    metric = _metric(_value(table, "metric", built_in, where), where)
    _check_direction(table.get("direction", metric.direction), metric, where)
    try:
        return Kpi(
            name=name,
            metric=metric,
            target=_limit(table, "target", built_in, where),
            alert=_limit(table, "alert", built_in, where),
            unit=_unit(table, metric, built_in, where),
        )
    except ValueError as error:
        raise UsageError(f"{FILE}, {where}: {error}.") from None


def _value(table: Mapping[str, Any], key: str, built_in: Kpi | None, where: str) -> Any:
    if key in table:
        return table[key]
    if built_in is None:
        raise UsageError(f"{FILE}, {where}: {key} is missing; add it.")
    return getattr(built_in, key)


def _metric(value: object, where: str) -> KpiMetric:
    names = [metric.value for metric in KpiMetric]
    if value not in names:
        hint = _hint(short(value).strip("'"), names)
        raise UsageError(f"{FILE}, {where}: {short(value)} is no metric; {hint}")
    return KpiMetric(value)


def _limit(table: Mapping[str, Any], key: str, built_in: Kpi | None, where: str) -> float:
    value = _value(table, key, built_in, where)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not LEAST <= value <= MOST:
        raise UsageError(
            f"{FILE}, {where}: {key} is {short(value)}, which is no number above 0; "
            "write it without its unit, which has a key of its own."
        )
    return float(value)


def _unit(table: Mapping[str, Any], metric: KpiMetric, built_in: Kpi | None, where: str) -> str:
    """Read the unit; a metric that has only one needs none."""
    units = list(UNITS[metric])
    if "unit" not in table and len(units) == 1:
        return units[0]
    return short(_value(table, "unit", built_in, where)).strip("'")


def _check_direction(value: object, metric: KpiMetric, where: str) -> None:
    if value != metric.direction:
        raise UsageError(
            f"{FILE}, {where}: direction is {short(value)}, but of {metric.value} "
            f"{metric.direction.value} is better; leave it out."
        )


def check_claims(claims: Mapping[str, Collection[str]], kpis: Mapping[str, Kpi]) -> None:
    """Check what tests say in `kpi=`, by node id, against the KPIs there are."""
    partners: dict[str, str] = {}
    for nodeid, claimed in claims.items():
        for claim in claimed:
            name = claim.removesuffix(WITHOUT)
            if name not in kpis:
                raise UsageError(f"{nodeid}: there is no KPI {name!r}; {_hint(name, kpis)}")
            if claim == name:
                continue
            if kpis[name].metric is not KpiMetric.OVERHEAD:
                raise UsageError(
                    f"{nodeid}: {claim!r} makes sense for an overhead only, and {name!r} is of the "
                    f"metric {kpis[name].metric.value!r}; write kpi={name!r}."
                )
            if claim in partners:
                raise UsageError(
                    f"{nodeid}: {partners[claim]} is {claim!r} already, and there can be one only; "
                    f"give each pair of tests a KPI of its own in [tool.rlperf.kpi] of {FILE}."
                )
            partners[claim] = nodeid


# -- accepted regressions -----------------------------------------------------------------------


def _exemption(pattern: str, entry: object) -> Exemption:
    where = f"[tool.rlperf.accepted], {pattern!r}"
    if not isinstance(entry, dict):
        raise UsageError(
            f"{FILE}, {where}: {short(entry)} is no entry; "
            'write { until = 2030-01-31, reason = "..." } after the equals sign.'
        )
    _refuse_unknown(entry, ACCEPTED_KEYS, where)
    allowed = entry.get("allowed")
    if not isinstance(allowed, str | float | None):
        raise UsageError(f'{FILE}, {where}: allowed is {short(allowed)}; write "30%".')
    return Exemption(
        pattern=pattern,
        until=_date(entry.get("until"), where),
        reason=_reason(entry.get("reason"), where),
        allowed=None if allowed is None else parse_fraction(allowed, f"{FILE}, {where}: allowed"),
    )


def _date(value: object, where: str) -> datetime.date:
    if value is None:
        raise UsageError(f"{FILE}, {where}: until is missing; add the last day it holds.")
    if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
        shown = value.isoformat() if isinstance(value, datetime.datetime) else short(value)
        raise UsageError(
            f"{FILE}, {where}: until is {shown}, which is no date; "
            "write it as 2030-01-31, without quotes and time."
        )
    return value


def _reason(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{FILE}, {where}: a reason is missing; say why it is accepted.")
    return value.strip()
