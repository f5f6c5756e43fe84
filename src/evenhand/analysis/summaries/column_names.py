"""What the columns of a run are called: by what differs between them, in as much room as there is.

A column is one eval or prompt, with one value of each axis and one model. What all columns share says nothing and is
left out. The names are the same on every terminal, as people type them (`evenhand show RUN plain:3`). A report calls
columns by them where all are short; otherwise it numbers them, and names each once, in full, in its table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from evenhand.core.variant import Variant
from evenhand.core.wording.words import clip, columns, safe

LONGEST = 72
"""Columns of a terminal that a name takes at most."""
PART = 28
"""So much of it each part has at least, where the whole is too long."""
SHORT = 22
"""So long are names that a report repeats: `openai:chat:gpt-5-mini`."""
RATES = 30
"""Columns of a terminal that a pass rate takes beside the name, with its interval."""
_NUMBER = r"#\d+"
_FILE_AND_TEXT = r"(\S+\.(?:txt|md|j2|json|yaml|yml)): "


def column_names(variants: Sequence[Variant]) -> list[str]:
    """The shortest name of each column that tells it from the others."""
    return _distinct(_joined(_cut(_whole(variants)), len(variants)), LONGEST)


def short_names(variants: Sequence[Variant], width: int) -> list[str]:
    """What a report of this width calls the columns: by their names where all are short, otherwise `#1`, `#2` and on.

    A column that is alone needs no number: it is called nothing.
    """
    names = column_names(variants)
    if all(columns(name) <= min(SHORT, width - RATES) for name in names):
        return names
    if len(names) == 1:
        return [""]
    return [f"#{number}" for number in range(1, len(names) + 1)]


def in_ranges(names: Sequence[str]) -> list[str]:
    """Names for a list, in order; numbers that follow each other as one.

    >>> in_ranges(["#1", "#2", "#3", "#5"]), in_ranges(["plain", "better"])
    (['#1–#3', '#5'], ['plain', 'better'])
    """
    if not all(re.fullmatch(_NUMBER, name) for name in names):
        return list(names)
    numbers = sorted(int(name[1:]) for name in names)
    runs = [
        [number for _, number in run]
        for _, run in groupby(enumerate(numbers), lambda e: e[1] - e[0])
    ]
    return [
        text
        for run in runs
        for text in (
            [f"#{run[0]}–#{run[-1]}"] if len(run) > 2 else [f"#{number}" for number in run]
        )
    ]


def full_names(variants: Sequence[Variant]) -> list[str]:
    """What differs between columns in one text each, however long."""
    return [" · ".join(filter(None, row.values())) for row in differing_parts(variants)]


def differing_parts(variants: Sequence[Variant]) -> list[dict[str, str]]:
    """What differs between columns, in full, part by part; empty texts for parts that a column lacks."""
    whole = _whole(variants)
    return [{part: texts[i] for part, texts in whole.items()} for i in range(len(variants))]


def _whole(variants: Sequence[Variant]) -> dict[str, list[str]]:
    """The parts that differ, each for all columns, without what they begin with in common."""
    rows = _differing(variants)
    parts = (rows or [{}])[0]
    return {part: _without_common(_files([row[part] for row in rows])) for part in parts}


def _cut(parts: dict[str, list[str]]) -> dict[str, list[str]]:
    """The parts as names have them: in full where that is short enough, or else each cut."""
    for cut in (parts, {part: _ends(part, texts) for part, texts in parts.items()}):
        names = _joined(cut, len(next(iter(cut.values()), [])))
        if all(columns(name) <= LONGEST for name in names) and len(set(names)) == len(names):
            return cut
    # Three columns go to the ` · ` between parts.
    room = max(PART, (LONGEST - 3 * len(parts)) // max(1, len(parts)))
    return {part: shortened(_ends(part, texts), room) for part, texts in parts.items()}


def column_head(variants: Sequence[Variant]) -> str:
    """What the names name: `prompt · model`."""
    rows = _differing(variants)
    return " · ".join(rows[0]) if rows else "prompt"


def _differing(variants: Sequence[Variant]) -> list[dict[str, str]]:
    """The parts of each column's name that are not the same in all of them, by what they are."""
    rows = _unlike([_parts(variant) for variant in variants])
    prompts = {(variant.prompt, variant.model) for variant in variants}
    if rows and len({tuple(row.values()) for row in rows}) >= len(prompts):
        return rows
    # The prompt says more than eval and axes do, or nothing differs at all.
    noun = "eval" if any(variant.eval for variant in variants) else "prompt"
    whole = [{noun: safe(v.prompt), "model": safe(v.model)} for v in variants]
    if differing := _unlike(whole):
        return differing
    noun = noun if any(row[noun] for row in whole) else "model"  # imported runs may name no prompt
    return [{noun: row[noun]} for row in whole]


def _unlike(rows: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """The rows without the parts that are the same in all of them; none where all parts are."""
    every = dict.fromkeys(part for row in rows for part in row)
    left = [part for part in every if len({row.get(part, "") for row in rows}) > 1]
    return [{part: row.get(part, "") for part in left} for row in rows] if left else []


def _parts(variant: Variant) -> dict[str, str]:
    if not variant.eval:
        return {"prompt": safe(variant.prompt), "model": safe(variant.model)}
    axes: Mapping[str, object] = variant.axes
    others = {safe(name): safe(str(value)) for name, value in axes.items() if name != "model"}
    return {"eval": safe(variant.eval), **others, "model": safe(variant.model)}


def _joined(parts: Mapping[str, Sequence[str]], number: int) -> list[str]:
    return [" · ".join(texts[i] for texts in parts.values() if texts[i]) for i in range(number)]


def shortened(texts: Sequence[str], room: int) -> list[str]:
    """Texts cut to a width, by what they have in common first: `…_v1` and `…_v2`, then at their ends."""
    different = list(dict.fromkeys(filter(None, texts)))
    if all(columns(text) <= room for text in different):
        return list(texts)
    start = _alike(different)
    spared = max(
        0, start - room // 3
    )  # some of it stays: a name that begins anywhere is hard to read
    short = {text: clip(text, room) for text in different}
    if len(set(short.values())) < len(different):
        short = {text: clip(f"…{text[spared:]}", room) for text in different}
    return [short.get(text, text) for text in texts]


def _ends(part: str, texts: Sequence[str]) -> list[str]:
    """`a set: an eval` as `an eval`, where that tells all of them apart; a prompt's text may have colons anywhere."""
    if part == "prompt":
        return list(texts)
    different = set(filter(None, texts))
    short: dict[str, str] = {}
    for text in different:
        name, dot, axes = text.partition(" · ")  # values of axes may be prompts, too
        short[text] = f"{name.rpartition(': ')[2]}{dot}{axes}"
    # A name that is empty, or another one's as well, tells nothing apart.
    if not all(short.values()) or len(set(short.values())) < len(different):
        return list(texts)
    return [short.get(text, text) for text in texts]


def _alike(texts: Sequence[str]) -> int:
    """How many characters all of these begin with."""
    first, last = min(texts), max(texts)  # what lies between them begins as they do
    return next((i for i, c in enumerate(first) if last[i : i + 1] != c), len(first))


def _distinct(names: Sequence[str], width: int) -> list[str]:
    """The names cut to a width; numbered where that leaves two alike."""
    cut = [clip(name, width) for name in names]
    if len(set(cut)) == len(cut):
        return cut
    last = len(str(len(names))) + 2
    return [f"{clip(name, max(1, width - last))} #{i}" for i, name in enumerate(names, 1)]


def _files(names: Sequence[str]) -> list[str]:
    """`prompts/a.txt: You are …` as `prompts/a.txt`, where the file tells all of them apart: its text changes."""
    different = set(filter(None, names))
    short = {name: file[1] for name in different if (file := re.match(_FILE_AND_TEXT, name))}
    if len(short) < len(different) or len(set(short.values())) < len(short):
        return list(names)
    return [short.get(name, name) for name in names]


def file_names(names: Iterable[str]) -> dict[str, str]:
    """The short names of prompts that are called by file and text, where the file tells them apart; see `_files`."""
    listed = list(names)
    return dict(zip(listed, _files(listed), strict=True))


def _without_common(names: Sequence[str]) -> list[str]:
    """`prompts.py:a` and `prompts.py:b` as `a` and `b`; also where the starts differ, and the ends tell them apart."""
    different = set(filter(None, names))
    starts = {name.rpartition(":")[0] for name in different}
    if len(different) > 1 and len(starts) == 1 and starts != {""}:
        short = {name: name.rpartition(":")[2].strip() for name in different}
        if all(short.values()) and len(set(short.values())) == len(short):
            return [short.get(name, name) for name in names]
    return list(names)
