"""A cascade of judges, `judge: {first: a, then: b, people: 5%, risk: 10%}`, and what its calibration says of it.

As an id it is `cascade:{"first":"a","then":"b","people":0.05,"risk":0.1}`, so that it can stand wherever an id does.
How sure a judge has to be stands in `calibration.json`; it is read when the first verdict is asked for. As a provider,
a cascade is its first judge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.core.cascade import CascadeLimits
from evenhand.core.encoding import digest
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_array, as_mapping, is_number, is_object
from evenhand.core.names import nearest
from evenhand.core.provider import SEVERAL, Provider, judge_id
from evenhand.core.record import MutableRecord
from evenhand.languages.documents.project import project_folder
from evenhand.providers.catalog import create
from evenhand.providers.roster import model_id
from evenhand.providers.wanted import Wanted
from evenhand.providers.wrapped import SeveralJudges

RISK = 0.1
"""The share of verdicts that stand which may be wrong, where the config doesn't say."""
_KEYS = ("first", "then", "people", "risk")
_WRITE = (
    "Write judge: {first: openai:decisions:gpt-6-luna, then: openai:chat:gpt-5-mini, risk: 10%}."
)


class CascadeJudge(SeveralJudges, MutableRecord):
    """A cheap judge and a dearer one. Implements `Provider`.

    Attributes:
        id: Its id, as it was written.
        key: Which cascade it is: both judges, their settings and the risk, as JSON. Limits are for one of these.
        first: The decision model that is asked about every output.
        then: The judge of those on which that isn't sure enough.
        people: The share of outputs that people are to label; 0 for none.
        risk: The share of verdicts that stand which may be wrong.
        folders: Where its calibration is looked for.
    """

    id: str
    key: str
    first: Provider
    then: Provider
    people: float
    risk: float
    folders: tuple[Path, ...]
    _limits: list[tuple[str, CascadeLimits]] | None = None

    @property
    def label(self) -> str:
        return f"{self.first.label}, then {self.then.label}"

    @property
    def judges(self) -> tuple[Provider, ...]:
        return self.first, self.then

    def limits(self, metric: str, question: str, system: str) -> CascadeLimits | None:
        if self._limits is None:
            self._limits = _limits_in(self.folders, self.key)
        return next(
            (
                limits
                for name, limits in self._limits
                if name == metric and question in limits.questions and system in limits.systems
            ),
            None,
        )


def _unknown(key: str) -> str:
    near = nearest(key, _KEYS)
    return f"'{key}' is not known" + (f" (did you mean '{near}'?)" if near else "")


def make(wanted: Wanted) -> CascadeJudge:
    """The cascade of an id.

    Raises:
        UsageError: All that is wrong with it.
    """
    try:
        table: object = json.loads(wanted.rest)
    except ValueError:
        table = None
    if not is_object(table):
        raise UsageError(f"provider '{wanted.id}' is not a cascade", hint=_WRITE)
    problems = [_unknown(key) for key in table if key not in _KEYS]
    problems += [
        f"'{key}' is no model's id" if table.get(key) else f"there is no '{key}'"
        for key in ("first", "then")
        if not isinstance(one := table.get(key), str) or not one or one.startswith(SEVERAL)
    ]
    people, risk = (share_of(table.get(key, default)) for key, default in _SHARES)
    if people is None:
        problems.append(f"people is {table['people']!r}, not a share such as 5%")
    if risk is None or not 0 < risk < 1:
        problems.append(f"risk is {table['risk']!r}, not a share such as 10%")
    if problems or people is None or risk is None:
        raise UsageError(f"judge {wanted.rest}: {'; '.join(problems)}", hint=_WRITE)

    def judge(name: str) -> Provider:
        return create(
            model_id(name), config=wanted.config, env=wanted.env, base=wanted.base, fill=wanted.fill
        )

    first, then = judge(table["first"]), judge(table["then"])
    if "decide" not in first.tasks:
        raise UsageError(
            f"judge {wanted.rest}: the first judge is not a decision model, so it doesn't say how sure it is",
            hint=_WRITE,
        )
    key = {"first": first.id, "then": then.id, "risk": risk}
    settings = {name: value for name, value in wanted.config.items() if name != "apiKey"}
    if settings:
        key["settings"] = digest(json.dumps(settings, sort_keys=True, default=str))[:16]
    return CascadeJudge(
        id=str(judge_id(table)),
        key=json.dumps(key, sort_keys=True),
        first=first,
        then=then,
        people=people,
        risk=risk,
        folders=(wanted.base, project_folder(wanted.base)),
    )


_SHARES: tuple[tuple[str, float], ...] = (("people", 0.0), ("risk", RISK))


def share_of(value: object) -> float | None:
    """A share, as `0.05` or `5%`; None for what is none."""
    if isinstance(value, str) and value.strip().endswith("%"):
        try:
            value = float(value.strip().removesuffix("%")) / 100
        except ValueError:
            return None
    return float(value) if is_number(value) and 0 <= value <= 1 else None


def _limits_in(folders: tuple[Path, ...], key: str) -> list[tuple[str, CascadeLimits]]:
    """What calibrations in these folders say of this cascade, with the metric; the first file that is there counts."""
    for folder in folders:
        try:
            document: object = json.loads((folder / "calibration.json").read_text("utf-8"))
        except (OSError, ValueError):
            continue  # a damaged one is reported before the run
        file = as_mapping(document)
        rows, codes = map(as_mapping, as_array(file.get("cascades"))), as_mapping(file.get("code"))
        return [limit for row in rows if (limit := _limit_of(row, key, codes)) is not None]
    return []


def _limit_of(
    row: Mapping[str, Any], key: str, codes: Mapping[str, object]
) -> tuple[str, CascadeLimits] | None:
    metric, first, then = row.get("metric"), row.get("first"), row.get("then")
    judges = tuple(map(str, as_array(row.get("judges"))))
    if row.get("cascade") != key or not isinstance(metric, str) or len(judges) != 2:
        return None
    if not all(one is None or is_number(one) for one in (first, then)):
        return None
    return metric, CascadeLimits(
        first=first,
        then=then,
        questions=frozenset(map(str, as_array(row.get("questions")))),
        systems=frozenset(map(str, as_array(row.get("systems")))),
        judges=judges,
        code={name: str(one) for name, one in as_mapping(codes.get(str(row.get("run")))).items()},
    )
