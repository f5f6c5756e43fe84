"""What is otherwise in a run than in the one before it: its models, prompts, cases or judges.

How it is found out: from what a run file says as a whole, from the names of its cases, and from the texts of its first
trials, SAMPLED of them. So it costs the same for a run of a million trials, and a case whose texts changed further down
under the same id is not noticed. Code that eval sets call leaves no trace in a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from typing import Literal

from msgspec import field

from evenhand.core.encoding import digest, encode
from evenhand.core.message import CallRole
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.report.column_names import file_names
from evenhand.report.gates.baseline_making import is_offline
from evenhand.report.judgements.judged import instrument_of, judge_of, metric_of
from evenhand.report.words import clip, count, safe
from evenhand.store.runfile import RunFile

SAMPLED = 200
LARGE = 200_000
"""Settled trials above which the journal is not read: which names the models answered under is not known then."""
NAMED = 3

ChangeKind = Literal["judge", "data", "prompt", "model"]


class RunChange(Record, frozen=True):
    """Something that is otherwise.

    Attributes:
        kind: What it is a change of.
        text: What changed, in words, on one line.
    """

    kind: ChangeKind
    text: str


class Evidence(Record, frozen=True):
    """What a run says of its models, prompts, cases and judges.

    Attributes:
        finished: Whether all its trials are settled.
        offline: Whether its replies came from a script.
        prompts: The prompts by label, as digests of how they were written.
        variants: The models of the variants, as they are asked for.
        models: Those that were asked, each with the names under which it answered; empty where none was.
        judges: The same of judges.
        cases: How many cases, and a digest of their ids whatever their order.
        contents: By case a digest of its texts, of the first trials.
        instruments: By case and metric a digest of what the judge was asked, of the first trials.
    """

    finished: bool
    offline: bool
    prompts: Mapping[str, str]
    variants: frozenset[str]
    models: Mapping[str, frozenset[str]]
    judges: Mapping[str, frozenset[str]]
    cases: tuple[int, str]
    contents: Mapping[str, str] = field(default_factory=dict[str, str])
    instruments: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])


def evidence_of(run: RunFile) -> Evidence:
    """What a run says of what it depends on.

    Raises:
        StoreError: The file cannot be read.
    """
    meta = run.meta
    asked = _asked(run) if run.settled() <= LARGE else {}
    contents: dict[str, str] = {}
    instruments: dict[tuple[str, str], str] = {}
    for trial in run.trials(limit=SAMPLED):
        contents.setdefault(trial.case, _contents(trial))
        for outcome in trial.outcomes:
            if judge_of(outcome):
                instruments.setdefault((trial.case, metric_of(outcome)), instrument_of(outcome))
    return Evidence(
        finished(run),
        is_offline(meta),
        {v.prompt: digest(v.prompt_raw) for v in meta.variants if v.prompt},
        frozenset(v.provider_id or v.model for v in meta.variants) - {""},
        {name: answered for (role, name), answered in asked.items() if role == "subject"},
        {name: answered for (role, name), answered in asked.items() if role == "judge"},
        _cases(run),
        contents,
        instruments,
    )


def finished(run: RunFile) -> bool:
    """Whether all trials that were planned are settled."""
    return run.meta.status == "finished" and run.totals().trials >= run.meta.planned


def changes(before: Evidence, now: Evidence) -> list[RunChange]:
    """What is otherwise now: at most one change of each kind."""
    every: Mapping[ChangeKind, Iterator[str]] = {
        "judge": _judge_changes(before, now),
        "data": _data_changes(before, now),
        "prompt": _prompt_changes(before, now),
        "model": _model_changes(before, now),
    }
    found = [RunChange(kind, "; ".join(texts)) for kind, texts in every.items()]
    return [one for one in found if one.text]


def _asked(run: RunFile) -> dict[tuple[CallRole, str], frozenset[str]]:
    return {(row.role, row.model): frozenset(row.answered) for row in run.usage()}


def _contents(trial: TrialResult) -> str:
    return digest(encode([trial.vars, trial.input, trial.expected]))


def _cases(run: RunFile) -> tuple[int, str]:
    """How many cases, and the sum of the hashes of their ids: none of them is kept."""
    number = total = 0
    for case in run.cases():
        number += 1
        total += int.from_bytes(blake2b(case.encode("utf-8", "replace"), digest_size=16).digest())
    return number, f"{total % (1 << 128):032x}"


def _judge_changes(before: Evidence, now: Evidence) -> Iterator[str]:
    if before.judges and now.judges:
        yield from _asked_otherwise(before.judges, now.judges)
    common = before.instruments.keys() & now.instruments.keys()
    names = {metric for case, metric in common if before.contents[case] == now.contents[case]
             and before.instruments[case, metric] != now.instruments[case, metric]}  # fmt: skip
    if names:
        yield f"another prompt for {_listed(names)}"


def _data_changes(before: Evidence, now: Evidence) -> Iterator[str]:
    if before.finished and now.finished and before.cases != now.cases:
        if before.cases[0] != now.cases[0]:
            yield f"{count(now.cases[0], 'case')} instead of {before.cases[0]:,}"
        else:
            yield f"other cases, {now.cases[0]:,} as before"
    common = before.contents.keys() & now.contents.keys()
    changed = sum(before.contents[case] != now.contents[case] for case in common)
    if changed:
        yield f"{count(changed, 'case')} with other texts"


def _prompt_changes(before: Evidence, now: Evidence) -> Iterator[str]:
    # A prompt that is called by its file and its text has another name once it is edited.
    old, new = (
        {short: one.prompts[name] for name, short in file_names(one.prompts).items()}
        for one in (before, now)
    )
    edited = {name for name in old.keys() & new.keys() if old[name] != new[name]}
    if edited:
        yield f"{_listed(edited)} edited"
    yield from _come_and_gone(old.keys(), new.keys())


def _model_changes(before: Evidence, now: Evidence) -> Iterator[str]:
    if before.offline != now.offline:
        yield "scripted replies" if now.offline else "a model instead of scripted replies"
    yield from _come_and_gone(before.variants, now.variants)
    if before.models and now.models:  # a run that took all answers from elsewhere asked none
        named = before.variants == now.variants
        yield from _asked_otherwise(before.models, now.models, only_names=not named)


def _asked_otherwise(
    before: Mapping[str, frozenset[str]],
    now: Mapping[str, frozenset[str]],
    *,
    only_names: bool = False,
) -> Iterator[str]:
    """Models that are asked instead of others, unless that is known, and those that answer under another name."""
    if not only_names:
        yield from _come_and_gone(before.keys(), now.keys())
    for name in sorted(before.keys() & now.keys()):
        if before[name] and now[name] and before[name] != now[name]:
            yield f"{_listed({name})} is now {_listed(now[name])}, was {_listed(before[name])}"


def _come_and_gone(before: AbstractSet[str], now: AbstractSet[str]) -> Iterator[str]:
    new, gone = now - before, before - now
    if new and gone:
        yield f"{_listed(new)} instead of {_listed(gone)}"
    elif new:
        yield f"{_listed(new)} added"
    elif gone:
        yield f"{_listed(gone)} left out"


def _listed(names: AbstractSet[str]) -> str:
    shown = [clip(safe(name), 40) for name in sorted(names)]
    more = f" and {len(shown) - NAMED:,} more" if len(shown) > NAMED else ""
    return ", ".join(shown[:NAMED]) + more
