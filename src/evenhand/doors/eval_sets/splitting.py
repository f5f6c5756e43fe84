"""A dataset in parts: which case goes where, by the hash of its id."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from evenhand.core.case import Case
from evenhand.core.errors import UsageError

_ALL = 2**64


class Part(Sequence[Case]):
    """Some of the cases of a dataset, which stay where they are: a part takes 8 bytes for each."""

    def __init__(self, cases: Sequence[Case], places: array[int]) -> None:
        self._cases = cases
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Case]:
        places = iter(self._places)
        following = next(places, None)
        # In one pass: the cases may be rows of a file, which is opened anew for each access by place.
        for place, case in enumerate(self._cases):
            if place == following:
                yield case
                following = next(places, None)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self._cases[i] for i in self._places[place]]
        return self._cases[self._places[place]]


def places_of(
    cases: Sequence[Case], parts: Mapping[str, float], *, seed: int, by: str, group: str
) -> dict[str, array[int]]:
    """The places of the cases of each part; see `Dataset.split`.

    Raises:
        UsageError: A share is not above 0, a part is left without a case, or no case has the field.
    """
    if not parts or any(isinstance(s, bool) or not 0 < s < float("inf") for s in parts.values()):
        raise UsageError(
            f"split: the parts are {dict(parts)!r}", hint='Write {"dev": 0.2, "test": 0.8}.'
        )
    if by and group:
        raise UsageError(
            f"split: by={by!r} and group={group!r} cannot both hold",
            hint="A group goes whole into one part, whatever shares its values would have.",
        )
    if len(parts) > len(cases):
        number = f"{len(cases)} case{'s'[: len(cases) != 1]}"
        raise UsageError(f"split: {number} cannot be split into {len(parts)} parts")
    places_by_part = {name: array("Q") for name in parts}
    if by:
        _by_value(cases, parts, places_by_part, seed, by)
    else:
        _by_hash(cases, parts, places_by_part, seed, group)
    empty = [name for name, places in places_by_part.items() if not places]
    if empty:
        what = f"split: no case of {len(cases):,} falls into {', '.join(map(repr, empty))}"
        raise UsageError(what, hint="Take another seed, or a larger share.")
    return places_by_part


def _by_hash(
    cases: Sequence[Case],
    parts: Mapping[str, float],
    places_by_part: dict[str, array[int]],
    seed: int,
    group: str,
) -> None:
    """Each case, or group, by the part whose share of all hashes its own lies in."""
    grouped = 0
    for place, case in enumerate(cases):
        value = _value(case, group) if group else None
        grouped += value is not None
        places_by_part[
            _part(_hash(seed, case.id if value is None else f"group {value}"), parts)
        ].append(place)
    if group and not grouped:
        raise _nowhere(group)


def _by_value(
    cases: Sequence[Case],
    parts: Mapping[str, float],
    places_by_part: dict[str, array[int]],
    seed: int,
    by: str,
) -> None:
    """Each value's cases in the order of their hashes, cut where the shares end."""
    values: dict[str, list[tuple[int, int]]] = {}
    for place, case in enumerate(cases):
        value = ",".join(sorted(case.tags)) if by == "tags" else _value(case, by)
        values.setdefault(value or "", []).append((_hash(seed, case.id), place))
    if values.keys() == {""} and by != "tags":
        raise _nowhere(by)
    have = dict.fromkeys(parts, 0)
    total, number = sum(parts.values()), 0
    # Along the values, always the part that is furthest behind its share: few cases of many values add up.
    for value in sorted(values):
        for _, place in sorted(values[value]):
            number += 1
            part = max(parts, key=lambda name: parts[name] / total * number - have[name])
            have[part] += 1
            places_by_part[part].append(place)
    for name, places in places_by_part.items():
        # `Part` iterates in step with its dataset, which requires ascending places.
        places_by_part[name] = array("Q", sorted(places))


def _nowhere(field: str) -> UsageError:
    return UsageError(
        f"split: no case has {field!r}", hint="Name a column, a variable, or a key of the metadata."
    )


def _part(hashed: int, parts: Mapping[str, float]) -> str:
    total, upto = sum(parts.values()), 0.0
    name = ""
    for name, share in parts.items():
        upto += share / total
        if hashed < upto * _ALL:
            return name
    return name


def _hash(seed: int, text: str) -> int:
    # An id may hold half a character, which UTF-8 cannot write.
    data = f"{seed} {text}".encode("utf-8", "backslashreplace")
    return int.from_bytes(blake2b(data, digest_size=8).digest())


def _value(case: Case, field: str) -> str | None:
    """What a case has under this name; None for nothing."""
    if field in ("input", "expected", "description"):
        value = getattr(case, field)
    else:
        value = case.vars.get(field, case.metadata.get(field))
    return None if value is None else str(value)
