"""What is otherwise in a run than in the one before it: its models, prompts, cases, expectations, judges or code.

How it is found out: from what a run file says as a whole, from the names of its cases, and from what its trials were
given and asked, as a comparison knows it (`comparison.case_tests`). Of more than READ trials the first SAMPLED are
looked at: so it costs the same for a run of a million trials, and a case that changed further down under the same id
is not noticed. Of code that eval sets call, a run has a digest of each file, but not the text: a prompt that the code
holds is a change of code.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Literal

from evenhand.analysis.comparison.case_judges import AskedJudges, judges_asked, other_settings
from evenhand.analysis.comparison.case_tests import CaseTests
from evenhand.analysis.comparison.case_values import recorder_of
from evenhand.analysis.comparison.changed_tests import Change, TestChanges
from evenhand.analysis.comparison.same_test import change_words, chosen_by, part_words
from evenhand.analysis.summaries.column_names import file_names
from evenhand.analysis.trust.judgements.judged import judge_of, metric_of
from evenhand.analysis.trust.judgements.judged_basis import name_alone
from evenhand.core.application_code import EVAL, ApplicationCode, changed_code
from evenhand.core.encoding import digest
from evenhand.core.json_shapes import is_mapping
from evenhand.core.message import CallRole
from evenhand.core.record import Record
from evenhand.core.score import with_parts
from evenhand.core.variant import Variant
from evenhand.core.wording.words import clip, count, safe
from evenhand.store.runfile import RunFile

READ = 10_000
SAMPLED = 200
LARGE = 200_000
"""Settled trials above which the journal is not read: which names the models answered under is not known then."""
NAMED = 3

Models = Mapping[str, frozenset[str]]
"""Models by what they are called, each with the names under which it answered."""
ChangeKind = Literal["judge", "data", "expectation", "eval", "prompt", "model", "code"]


class RunChange(Record, frozen=True):
    """Something that is otherwise.

    Attributes:
        text: What changed, in words, on one line.
    """

    kind: ChangeKind
    text: str


class Evidence(Record, frozen=True, kw_only=True):
    """What a run says of its models, prompts, cases and judges.

    Attributes:
        finished: Whether all its trials are settled.
        offline: Whether its replies came from a script.
        prompts: The prompts by label, as digests of how they were written, and other values of axes that say more
            than their label.
        labels: The prompts by label alone.
        evals: The evals of sets, by name.
        variants: The models of the variants, as they are asked for.
        models: Those that were asked, each with the names under which it answered; empty where none was.
        asked: What judges were asked by, as far as that is known.
        cases: How many cases, and a digest of their ids whatever their order.
        folders: A digest of each folder of data that a project has, by name.
        chosen: By what of their outcomes they were chosen; empty where they weren't.
        places: By eval and case the place in `tests`.
        tests: What the cases say and are asked.
        judged: The metrics that a judge is asked about.
        code: Digests of the application's code; see `RunMeta.code`.
    """

    finished: bool
    offline: bool
    prompts: Mapping[str, str]
    labels: frozenset[str]
    evals: frozenset[str]
    variants: frozenset[str]
    models: Models
    judges: Models
    asked: AskedJudges
    cases: tuple[int, str]
    folders: Mapping[str, str]
    chosen: str
    places: Mapping[tuple[str, str], int]
    tests: CaseTests
    judged: frozenset[str]
    code: ApplicationCode


def evidence_of(run: RunFile) -> Evidence:
    """What a run says of what it depends on.

    Raises:
        StoreError: The file cannot be read.
    """
    meta = run.meta
    by_role = _answered_by(run) if run.settled() <= LARGE else {}
    places: dict[tuple[str, str], int] = {}
    tests = CaseTests(imported=recorder_of(meta))
    judged: set[str] = set()
    evals = {variant.index: variant.eval for variant in meta.variants}
    for trial in run.trials(limit=READ if run.settled() <= READ else SAMPLED):
        tests.add(places.setdefault((evals.get(trial.variant, ""), trial.case), len(places)), trial)
        judged.update(
            metric_of(outcome) for outcome in with_parts(trial.outcomes) if judge_of(outcome)
        )
    return Evidence(
        finished=finished(run),
        offline=meta.is_scripted,
        prompts=_prompts(meta.variants),
        labels=frozenset(map(_label, meta.variants)) - {""},
        evals=_evals(meta.variants),
        variants=frozenset(v.provider_id or v.model for v in meta.variants) - {""},
        models={name: answered for (role, name), answered in by_role.items() if role == "subject"},
        judges={name: answered for (role, name), answered in by_role.items() if role == "judge"},
        asked=judges_asked(run, SAMPLED) if run.settled() <= LARGE else {},
        cases=_cases(run),
        folders=_folders(meta.config),
        chosen=chosen_by(meta),
        places=places,
        tests=tests,
        judged=frozenset(judged),
        code=meta.code,
    )


def _folders(config: Mapping[str, Any]) -> dict[str, str]:
    digests = config.get("files")
    if not is_mapping(digests):
        return {}
    return {name: str(each) for name, each in digests.items() if name.endswith(os.sep)}


def _evals(variants: Sequence[Variant]) -> frozenset[str]:
    """The evals of sets; of one set by their own names."""
    names = {variant.eval for variant in variants} - {""}
    sets = {name.rpartition(": ")[0] for name in names}
    return frozenset(name.rpartition(": ")[2] if len(sets) == 1 else name for name in names)


def _label(variant: Variant) -> str:
    """What a variant's prompt is called, without the name of its eval; empty where it has no other."""
    own = variant.eval.rpartition(": ")[2]
    name = name_alone(variant)
    return "" if own and name == own else name.removeprefix(f"{own} · ") if own else name


def _prompts(variants: Sequence[Variant]) -> dict[str, str]:
    """A digest of each text that is varied, by what people call it."""
    prompts: dict[str, str] = {}
    for one in variants:
        for axis, content in one.contents.items():
            prompts[str(one.axes.get(axis, axis))] = content
        if (label := _label(one)) and not one.contents:
            prompts[label] = digest(one.prompt_raw)
    return prompts


def finished(run: RunFile) -> bool:
    """Whether all trials that were planned are settled."""
    return run.meta.status == "finished" and run.totals().trials >= run.meta.planned


def changes(before: Evidence, now: Evidence) -> list[RunChange]:
    """What is otherwise now: at most one change of each kind."""
    common = [(place, now.places[key]) for key, place in before.places.items() if key in now.places]
    tests = TestChanges(before.tests, now.tests, common)
    alike = [pair for pair in common if not tests.of_case(*pair)]
    checks = {
        (one.slot, one.text): one for pair in alike for one in tests.of_checks(*pair)
    }.values()
    every: Mapping[ChangeKind, Iterator[str]] = {
        "judge": _judge_changes(before, now, checks),
        "data": _data_changes(before, now, tests, common),
        "expectation": _expectation_changes(now, checks),
        "eval": _come_and_gone(before.evals, now.evals),
        "prompt": _prompt_changes(before, now),
        "model": _model_changes(before, now),
        "code": _code_changes(before.code, now.code),
    }
    listed = [RunChange(kind, "; ".join(texts)) for kind, texts in every.items()]
    return [one for one in listed if one.text]


def _answered_by(run: RunFile) -> dict[tuple[CallRole, str], frozenset[str]]:
    return {(row.role, row.model): frozenset(row.answered) for row in run.usage()}


def _cases(run: RunFile) -> tuple[int, str]:
    """How many cases, and the sum of the hashes of their ids: none of them is kept."""
    number = total = 0
    for case in run.cases():
        number += 1
        # A sum doesn't depend on the order, and takes no memory for a million cases.
        total += int.from_bytes(blake2b(case.encode("utf-8", "replace"), digest_size=16).digest())
    return number, f"{total % (1 << 128):032x}"


def _judge_changes(before: Evidence, now: Evidence, checks: Iterable[Change]) -> Iterator[str]:
    yield from _script_changes(before, now, before.judges, now.judges, "a judge")
    # A run that took all of its verdicts from elsewhere asked none: that is no change.
    if all(one.judges or not one.judged for one in (before, now)):
        yield from _asked_otherwise(before.judges, now.judges)
    others = [
        (
            other_settings(before.asked[name], now.asked[name]),
            name or ", ".join(sorted(now.asked[name].ids)),
        )
        for name in before.asked.keys() & now.asked.keys()
    ]
    for what in ("settings", "code"):
        if names := {name for other, name in others if other == what}:
            yield f"other {what} for {listed(names)}"
    if names := {one.slot for one in checks if _of_judge(one, now)}:
        yield f"another prompt for {listed(names)}"


def _of_judge(change: Change, now: Evidence) -> bool:
    """Whether the change is one of what a judge is asked."""
    return change.of_argument and not now.judged.isdisjoint(change.names)


def _expectation_changes(now: Evidence, checks: Iterable[Change]) -> Iterator[str]:
    others = [one for one in checks if not _of_judge(one, now)]
    # A reader of a history knows no first and second run, but what was added to one.
    words = {"first": "left out", "second": "added", None: ""}
    if others:
        yield change_words(replace(one, text=words[one.only] or one.text) for one in others)


def _data_changes(
    before: Evidence, now: Evidence, tests: TestChanges, common: Sequence[tuple[int, int]]
) -> Iterator[str]:
    if before.finished and now.finished and before.cases != now.cases:
        if before.cases[0] != now.cases[0]:
            yield f"{count(now.cases[0], 'case')} instead of {before.cases[0]:,}"
        else:
            yield f"other cases, {now.cases[0]:,} as before"
    common_folders = before.folders.keys() & now.folders.keys()
    edited = {name for name in common_folders if before.folders[name] != now.folders[name]}
    if edited:
        yield f"{listed(edited)} edited"
    if before.chosen != now.chosen:
        yield f"the cases {now.chosen}" if now.chosen else "the cases were not chosen by outcome"
    others = Counter(part_words(parts) for pair in common if (parts := tests.of_case(*pair)))
    for words, cases in others.most_common(NAMED):
        yield f"{count(cases, 'case')} with {words}"
    if rest := others.total() - sum(cases for _, cases in others.most_common(NAMED)):
        yield f"{count(rest, 'other case')} edited"


def _prompt_changes(before: Evidence, now: Evidence) -> Iterator[str]:
    # A prompt that is called by its file and its text has another name once it is edited.
    old, new = (
        {short: one.prompts[name] for name, short in file_names(one.prompts).items()}
        for one in (before, now)
    )
    if edited := {name for name in old.keys() & new.keys() if old[name] != new[name]}:
        yield f"{listed(edited)} edited"
    labels = [frozenset(file_names(one.labels).values()) for one in (before, now)]
    yield from _come_and_gone(*labels)


def _model_changes(before: Evidence, now: Evidence) -> Iterator[str]:
    yield from _script_changes(before, now, before.models, now.models, "a model")
    yield from _come_and_gone(before.variants, now.variants)
    if before.models and now.models:  # a run that took all answers from elsewhere asked none
        named = before.variants == now.variants
        yield from _asked_otherwise(before.models, now.models, only_names=not named)


def _code_changes(before: ApplicationCode, now: ApplicationCode) -> Iterator[str]:
    """The files and evals whose code was edited; a change of judges' code is told of the judges."""
    evals = [name.removeprefix(EVAL) for name in now if name.startswith(EVAL)]
    if names := changed_code(before, now, evals):
        yield f"{', '.join(clip(safe(name), 40) for name in names)} edited"


def _script_changes(
    before: Evidence, now: Evidence, asked_before: Models, asked_now: Models, noun: str
) -> Iterator[str]:
    """Whether a script answers in place of these, or no longer: only where they were asked at all."""
    if now.offline and not before.offline and asked_now:
        yield "scripted replies"
    elif before.offline and not now.offline and asked_before and asked_now:
        yield f"{noun} instead of scripted replies"


def _asked_otherwise(
    before: Models,
    now: Models,
    *,
    only_names: bool = False,
) -> Iterator[str]:
    """Models that are asked instead of others, unless that is known, and those that answer under another name."""
    if not only_names:
        yield from _come_and_gone(before.keys(), now.keys())
    for name in sorted(before.keys() & now.keys()):
        # Empty where no call says under which name the model answered.
        if before[name] and now[name] and before[name] != now[name]:
            yield f"{listed({name})} is now {listed(now[name])}, was {listed(before[name])}"


def _come_and_gone(before: AbstractSet[str], now: AbstractSet[str]) -> Iterator[str]:
    new, gone = now - before, before - now
    if new and gone:
        yield f"{listed(new)} instead of {listed(gone)}"
    elif new:
        yield f"{listed(new)} added"
    elif gone:
        yield f"{listed(gone)} left out"


def listed(names: Iterable[str]) -> str:
    """Names in the order of the alphabet, the first of them where there are many."""
    texts = [clip(safe(name), 40) for name in sorted(names)]
    more = f" and {len(texts) - NAMED:,} more" if len(texts) > NAMED else ""
    return ", ".join(texts[:NAMED]) + more
