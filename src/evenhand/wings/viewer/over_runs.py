"""The prompts and cases of a config or set over its runs: each one's versions or results, and what changed when.

`prompt_texts` reads what a run's prompts say; `edited_prompts` what of two runs' prompts differs. Prompts that are
written in code have no text in a run, and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from evenhand.analysis.summaries.column_names import column_names, file_names
from evenhand.analysis.summaries.rates import share_in
from evenhand.core.document import Key
from evenhand.core.encoding import digest
from evenhand.core.record import MutableRecord, Record
from evenhand.core.run import RunMeta
from evenhand.core.variant import Variant
from evenhand.stats.tallies import Tally
from evenhand.store.groups import Groups
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.listing import Runs, rate, read_recent
from evenhand.wings.viewer.shapes import EditedPrompt, RateShape


class PromptText(Record, frozen=True):
    """What a prompt says in a run, and the columns that it has there."""

    text: str
    columns: tuple[int, ...]


class PromptVersion(Record, frozen=True, kw_only=True):
    """What a prompt said in some runs."""

    digest: Annotated[str, Key("Of the text: the same text, the same digest.")]
    text: str
    runs: Annotated[Sequence[str], Key("The runs that had it, oldest first.")]
    created_at: Annotated[float, Key("When the first of them began, in seconds since 1970.")]
    rate: Annotated[
        RateShape | None,
        Key("Over all of its trials; each case, or cluster of cases, counts once."),
    ]


class PromptHistory(Record, frozen=True):
    """A prompt, by what people call it, and its versions, the one that appeared first first."""

    name: str
    versions: Sequence[PromptVersion]


class PromptPage(Record, frozen=True):
    """The prompts of the runs of one config or set."""

    prompts: Sequence[PromptHistory]
    unread: Annotated[int, Key("How many runs were not read: older ones, where there is much.")]


class RunPrompts(Record, frozen=True):
    """What one run says of its prompts: its id and facts, their texts, and by prompt what its cases came to."""

    id: str
    meta: RunMeta
    texts: Mapping[str, PromptText]
    tallies: Mapping[str, Mapping[str, Tally]]
    groups: Groups


class _Version(MutableRecord, kw_only=True):
    """A version, while the runs are read."""

    text: str
    runs: list[str]
    created_at: float
    tallies: dict[str, Tally]
    groups: dict[str, int]
    meta: RunMeta


def prompt_texts(variants: Sequence[Variant]) -> dict[str, PromptText]:
    """What each prompt of a run says, by its shortest lasting name: its file where it has one, and not its text."""
    texts: dict[str, PromptText] = {}
    for one in variants:
        if one.prompt_raw:
            name = _name(one)
            columns = texts[name].columns if name in texts else ()
            texts[name] = PromptText(one.prompt_raw, (*columns, one.index))
    return {short: texts[name] for name, short in file_names(texts).items()}


def _name(variant: Variant) -> str:
    """A prompt that is the one text that an eval varies is called by its value, else as its column is."""
    if len(variant.contents) == 1:
        (axis,) = variant.contents
        return str(variant.axes.get(axis, axis))
    return variant.prompt


def edited_prompts(before: Sequence[Variant], after: Sequence[Variant]) -> list[EditedPrompt]:
    """The prompts of the later run that say something else than in the earlier one; see `_earlier_names`."""
    old, new = prompt_texts(before), prompt_texts(after)
    return [
        EditedPrompt(name, old[earlier].text, new[name].text)
        for name, earlier in _earlier_names(old, new).items()
        if old[earlier].text != new[name].text
    ]


def _earlier_names(old: Mapping[str, PromptText], new: Mapping[str, PromptText]) -> dict[str, str]:
    """By name of a prompt what an earlier run called it.

    A prompt without a label is called by its text, and so otherwise once it is edited: where one such came and one
    went, they are taken for the same.
    """
    names = {name: name for name in new if name in old}
    came, went = ([name for name in one if name not in names] for one in (new, old))
    if len(came) == len(went) == 1 and _says_itself(came[0], new) and _says_itself(went[0], old):
        names[came[0]] = went[0]
    return names


def _says_itself(name: str, texts: Mapping[str, PromptText]) -> bool:
    """Whether a prompt is called by how its text begins."""
    begin = " ".join(name.split())[:20]
    return " ".join(texts[name].text.split()).startswith(begin)


def prompt_page(runs: Runs, path: Path) -> PromptPage:
    """The prompts of the runs of what this one is of.

    Raises:
        StoreError: Files cannot be read.
    """
    looks, unread = read_recent(runs, path, run_prompts)
    return PromptPage(prompt_histories(looks), unread)


def run_prompts(run: RunFile) -> RunPrompts:
    """What one run says of its prompts.

    Raises:
        StoreError: The file cannot be read.
    """
    texts = prompt_texts(run.meta.variants)
    sums = run.sums()
    tallies: dict[str, dict[str, Tally]] = {}
    for name, prompt in texts.items():
        together = tallies[name] = {}
        for column in prompt.columns:
            _add(together, sums.of_column(column))
    belongs = {case: number for each in run.groups() for case, number in each.items()}
    return RunPrompts(run.path.stem, run.meta, texts, tallies, belongs)


def _add(together: dict[str, Tally], tallies: Mapping[str, Tally]) -> None:
    for case, tally in tallies.items():
        before = together.get(case)
        together[case] = (
            Tally(*(a + b for a, b in zip(before, tally, strict=True))) if before else tally
        )


def prompt_histories(runs: Iterable[RunPrompts]) -> list[PromptHistory]:
    """Each prompt of these runs with its versions; those of the newest run first.

    Args:
        runs: The oldest first.
    """
    prompts: dict[str, dict[str, _Version]] = {}
    before: Mapping[str, PromptText] = {}
    for run in runs:
        earlier = _earlier_names(before, run.texts)
        newest = {name: prompts.pop(earlier.get(name, name), {}) for name in run.texts}
        for name, prompt in run.texts.items():
            version = newest[name].get(digest(prompt.text))
            if version is None:
                version = newest[name][digest(prompt.text)] = _Version(
                    text=prompt.text,
                    runs=[],
                    created_at=run.meta.created_at,
                    tallies={},
                    groups={},
                    meta=run.meta,
                )
            version.runs.append(run.id)
            version.meta = run.meta
            version.groups.update(run.groups)
            _add(version.tallies, run.tallies[name])
        prompts, before = newest | prompts, run.texts
    return [PromptHistory(name, _read(versions)) for name, versions in prompts.items()]


def _read(versions: Mapping[str, _Version]) -> list[PromptVersion]:
    return [
        PromptVersion(
            digest=name,
            text=one.text,
            runs=one.runs,
            created_at=one.created_at,
            rate=rate(share_in(one.meta, one.tallies, one.groups), len(one.tallies)),
        )
        for name, one in versions.items()
    ]


MOST = 100
"""Lines of one answer: the most interesting, or those that were asked for. The page draws 20 marks for each."""
LETTERS = {"pass": "p", "fail": "f", "error": "e", "not_applicable": "n"}
MIXED, ABSENT = "m", "-"
"""Of a case whose repeats both passed and failed; of one that a run does not have."""


_ESCAPED = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U(00[0-9a-f]{6}))")


class CaseLine(Record, frozen=True, kw_only=True):
    """What became of one case in one column over the runs."""

    case: str
    variant: str
    came: Annotated[
        str,
        Key(
            "A letter for each run: p, f, e, n, m where repeats passed and failed, - where it is not there."
        ),
    ]
    cells: Annotated[
        Sequence[int], Key("Where its first trial is in each run's plan; -1 for none.")
    ]
    flips: Annotated[int, Key("How often pass and fail changed: between runs, or among repeats.")]
    errors: Annotated[int, Key("In how many runs it ended in an error.")]


class CasePage(Record, frozen=True, kw_only=True):
    """The cases of the runs of one config or set; those that flip most come first."""

    runs: Annotated[Sequence[str], Key("Their ids, oldest first.")]
    unread: Annotated[int, Key("How many runs were not read: older ones, where there is much.")]
    lines: Sequence[CaseLine]
    total: Annotated[int, Key("How many lines there are.")]


class RunCases(Record, frozen=True):
    """What became of the cases of one run: by case and column's name a letter, and its first trial's place."""

    id: str
    came: dict[tuple[str, str], tuple[str, int]]


def case_page(runs: Runs, path: Path, text: str) -> CasePage:
    """The cases of the runs of what this one is of.

    Args:
        text: What the ids of the cases contain; empty for all.

    Raises:
        StoreError: Files cannot be read.
    """
    looks, unread = read_recent(runs, path, run_cases)
    small = text.lower()
    histories: dict[tuple[str, str], list[tuple[int, str, int]]] = {}
    for number, look in reversed(list(enumerate(looks))):  # in the order of the newest run
        for key, came in look.came.items():
            histories.setdefault(key, []).append((number, *came))
    keys = [key for key in histories if small in _read_case(key[0]).lower()]
    top = nsmallest(MOST, keys, key=lambda key: _rank(histories[key], len(looks) - 1))
    return CasePage(
        runs=[look.id for look in looks],
        unread=unread,
        lines=[_line(key, histories[key], len(looks)) for key in top],
        total=len(keys),
    )


def run_cases(run: RunFile) -> RunCases:
    """What became of the cases of one run.

    Raises:
        StoreError: The file cannot be read.
    """
    names = column_names(run.meta.variants)
    came: dict[tuple[str, str], tuple[str, int]] = {}
    for trial in run.outcomes():
        key = trial.case, names[trial.variant]
        letter = LETTERS[trial.outcome]
        before = came.get(key)
        came[key] = (
            (letter, trial.index) if before is None else (_both(before[0], letter), before[1])
        )
    return RunCases(run.path.stem, came)


def _read_case(written: str) -> str:
    """A case's id, from what a trial's row has of it: `store.encoding.written_case` the other way round."""
    return (
        _ESCAPED.sub(lambda each: chr(int(each[each.lastindex or 0], 16)), written)
        if "\\" in written
        else written
    )


def _both(one: str, other: str) -> str:
    """What two repeats came to together: an error says nothing beside a verdict."""
    if one == other or other in "ne":
        return one
    return other if one in "ne" else MIXED


def _rank(history: Sequence[tuple[int, str, int]], newest: int) -> tuple[int, int, bool]:
    """What flips and fails stands in front of what does not. Where lines are alike, they stay in their order."""
    number, letter, _ = history[0]
    return -_flips(history), -_errors(history), number != newest or letter not in "fme"


def _flips(history: Sequence[tuple[int, str, int]]) -> int:
    letters = [letter for _, letter, _ in history]
    verdicts = [letter for letter in letters if letter in "pf"]
    return letters.count(MIXED) + sum(one != other for one, other in pairwise(verdicts))


def _errors(history: Sequence[tuple[int, str, int]]) -> int:
    return sum(letter == LETTERS["error"] for _, letter, _ in history)


def _line(key: tuple[str, str], history: Sequence[tuple[int, str, int]], runs: int) -> CaseLine:
    came, cells = [ABSENT] * runs, [-1] * runs
    for number, letter, place in history:
        came[number], cells[number] = letter, place
    return CaseLine(
        case=_read_case(key[0]),
        variant=key[1],
        came="".join(came),
        cells=cells,
        flips=_flips(history),
        errors=_errors(history),
    )
