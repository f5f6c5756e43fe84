"""The prompts of a config or set over its runs: each one's versions by text, and what each version came to.

`prompt_texts` reads what a run's prompts say; `edited_prompts` what of two runs' prompts differs. Prompts that are
written in code have no text in a run, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from evenhand.analysis.summaries.column_names import file_names
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
    rate: Annotated[RateShape | None, Key("Over all of its trials; each case counts once.")]


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
