"""Verdicts by id: a judge's list, read so that no verdict can be lost, invented or given to the wrong item.

How this works: each item that is asked about has a number, and each verdict must carry one. What is nested is
flattened; a number that was not asked for is left out, unless others are missing: then the judge has counted
differently, and none of its numbers can be trusted. What is missing, said twice in two ways, or cannot be read is asked
for once more, and only that. What is missing then is an error, never a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import field

from evenhand.core.errors import JudgeError
from evenhand.core.json_schema import strict_object
from evenhand.core.message import Model, Prompt, Reply
from evenhand.core.record import MutableRecord, Record
from evenhand.core.scripted import A_RULE_SAID_SO, script_answers
from evenhand.core.unusable_answers import forgotten_if_unusable
from evenhand.scorers.judge_reply import the_object, value_shown
from evenhand.scorers.judging import ask_judge

Word = TypeVar("Word", bound=str)
_NUMBER = re.compile(r"\D{0,12}(\d{1,9})\D{0,3}")


class Section(Record, frozen=True):
    """One list that a judge is asked for.

    Attributes:
        key: Its key in the judge's answer.
        what: What it is about, in a word.
        ids: What must be there.
        read: Reads one item, given its id, or raises a JudgeError.
        items: The JSON Schema of one item, without its id.
    """

    key: str
    what: str
    ids: tuple[int, ...]
    read: Callable[[int, Mapping[str, object]], Any]
    items: Mapping[str, Any]


class Itemised(MutableRecord):
    """What a judge said, by list and by id.

    Attributes:
        verdicts: By key of the list, then by id.
        more: What else the answer said beside its lists, of the first answer.
        calls: How many answers it took.
    """

    verdicts: dict[str, dict[int, Any]]
    model: str = ""
    more: dict[str, object] = field(default_factory=dict[str, object])
    calls: int = 1


Ask = Callable[[Mapping[str, Sequence[int]]], Prompt]
"""The prompt that asks for these ids of each list."""


async def itemised(
    model: Model,
    sections: Sequence[Section],
    ask: Ask,
    beside: Mapping[str, Mapping[str, Any]] | None = None,
) -> Itemised:
    """The verdicts on all items.

    Args:
        ask: See `Ask`.
        beside: Further keys of the answer, with their schemas; they come first, and are in `more`.

    Raises:
        JudgeError: Some are missing although they were asked for twice.
    """
    with forgotten_if_unusable():
        return await _itemised(model, sections, ask, beside or {})


async def _itemised(
    model: Model,
    sections: Sequence[Section],
    ask: Ask,
    beside: Mapping[str, Mapping[str, Any]],
) -> Itemised:
    open_ids = {section.key: section.ids for section in sections}
    result = Itemised({section.key: {} for section in sections})
    for attempt in (1, 2):
        left = [s for s in sections if open_ids[s.key]]
        reply, (value, whys) = await _asked(model, left, open_ids, ask, beside)
        result.model = result.model or reply.model or model.name
        for section in left:
            result.verdicts[section.key] |= value[section.key]
        if attempt == 1:
            result.more = value["more"]
        result.calls = attempt
        open_ids = {
            s.key: tuple(i for i in s.ids if i not in result.verdicts[s.key]) for s in sections
        }
        if not any(open_ids.values()):
            return result
    missing = "; ".join(
        f"{section.what} {', '.join(map(str, open_ids[section.key][:10]))}"
        for section in sections
        if open_ids[section.key]
    )
    why = next(iter(whys), "")
    again = "`evenhand resume --errors --no-cache` asks again; or ask another judge."
    raise JudgeError(
        f"the judge was asked twice, and gave no usable verdict on {missing}"
        + (f": {why}" if why else ""),
        hint=A_RULE_SAID_SO if script_answers() else again,
    )


async def _asked(
    model: Model,
    sections: Sequence[Section],
    wanted: Mapping[str, Sequence[int]],
    ask: Ask,
    beside: Mapping[str, Mapping[str, Any]],
) -> tuple[Reply, tuple[dict[str, Any], list[str]]]:
    keys = [section.key for section in sections]

    def read(text: str) -> tuple[dict[str, Any], list[str]]:
        value = the_object(text, keys)
        whys: list[str] = []
        verdicts: dict[str, Any] = {"more": {k: v for k, v in value.items() if k not in keys}}
        for section in sections:
            verdicts[section.key] = _items(
                section, wanted[section.key], value.get(section.key), whys
            )
        return verdicts, whys

    listed = " and ".join(
        f'"{s.key}", a list with one object for each {s.what}, its number as "id"' for s in sections
    )
    lists = {
        section.key: {
            "type": "array",
            "items": strict_object(id={"type": "integer"}, **section.items),
        }
        for section in sections
    }
    return await ask_judge(
        model, ask(wanted), read, f"with the keys {listed}", strict_object(**beside, **lists)
    )


def _items(section: Section, ids: Sequence[int], listed: object, whys: list[str]) -> dict[int, Any]:
    verdicts: dict[int, Any] = {}
    doubtful: set[int] = set()
    known, strange = frozenset(ids), False
    for item in _flat(listed):
        number = _number(item.get("id"))
        if number is None or number not in known:
            strange = True
            continue
        try:
            verdict = section.read(number, item)
        except JudgeError as error:
            whys.append(f"{section.what} {number}: {error.message}")
            doubtful.add(number)
            continue
        if number in verdicts and verdicts[number] != verdict:
            whys.append(f"{section.what} {number} has two verdicts that differ")
            doubtful.add(number)
        verdicts[number] = verdict
    verdicts = {i: verdict for i, verdict in verdicts.items() if i not in doubtful}
    # The judge has numbered otherwise, so even the numbers that fit may be of other items.
    if strange and any(i not in verdicts and i not in doubtful for i in ids):
        whys.append(f"its numbers are not those of the {section.what}s")
        return {}
    return verdicts


def _flat(value: object, depth: int = 0) -> Iterator[Mapping[str, object]]:
    """The objects in a list, and in lists in it; and those that are values of an object keyed by id."""
    if isinstance(value, Mapping):
        if "id" in value:
            yield value
        else:
            for key, item in value.items():
                if isinstance(item, Mapping):
                    yield {"id": key, **item}
    elif isinstance(value, (list, tuple)) and depth < 8:  # a hostile reply may nest without end
        for item in value:
            yield from _flat(item, depth + 1)


def _number(value: object) -> int | None:
    """The number that an id is: 3, 3.0, "3", "claim 3"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        # NaN and infinity fail this comparison, too.
        return int(value) if value == value // 1 else None
    match = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(match[1]) if match else None


def one_of(value: object, words: Sequence[Word], what: str) -> Word:
    """The word that this says, among these.

    Raises:
        JudgeError: It says none of them.
    """
    word = str(value).strip().lower().replace(" ", "_").replace("-", "_")
    for known in words:
        if word == known:
            return known
    raise JudgeError(f"its {what} is {value_shown(value)}, not one of: {', '.join(words)}")


def said_in(item: Mapping[str, object], key: str = "reasoning") -> str:
    """The words under this key; empty for none."""
    words = item.get(key)
    return words.strip() if isinstance(words, str) else ""
