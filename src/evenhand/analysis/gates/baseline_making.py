"""Makes a baseline of a run: what each trial came to, hashes of what it sent, and what all of it is bound to."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import chain, repeat
from typing import Any

from msgspec import UNSET

from evenhand.analysis.comparison.case_judges import judge_rows, judges_asked
from evenhand.analysis.comparison.case_values import recorder_of
from evenhand.analysis.comparison.same_test import chosen_by, chosen_note
from evenhand.analysis.gates.baseline import (
    SCHEMA,
    BaselineExpectation,
    BaselineHeader,
    BaselineJudge,
    BaselineScale,
    BaselineTrial,
    BaselineVariant,
)
from evenhand.analysis.summaries.column_names import column_names
from evenhand.analysis.trust.run_basis import basis_of
from evenhand.core.definition import UNKNOWN, Definition
from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.core.score import COMPONENTS, Outcome
from evenhand.core.scripted import journaled_name
from evenhand.core.wording.words import count, short_id
from evenhand.store.runfile import RunFile

_OF_JUDGE = ("judge", "prompt", "instrument")


def baseline_parts(
    run: RunFile, *, outputs: bool = False
) -> tuple[BaselineHeader, list[BaselineTrial]]:
    """The baseline of a run: its header, without counts and digest, and its trials.

    Args:
        run: A finished run.
        outputs: With the outputs of its trials.

    Raises:
        UsageError: Nothing can be compared with this run: it did not finish, or has no verdict.
    """
    _look_at(run)
    meta = run.meta
    names = column_names(meta.variants)
    by_index = {variant.index: name for variant, name in zip(meta.variants, names, strict=True)}
    trials = list(baseline_trials(run, by_index, outputs=outputs))
    taken = sum(bool(trial.taken) for trial in run.trials())
    if taken:
        raise UsageError(
            f"run {short_id(meta.id)} took {count(taken, 'trial')} from a baseline: it is not a run of its own",
            hint="Make the baseline of a run (`evenhand run`), or of a gate with --all.",
        )
    if not any(trial.expectations for trial in trials):
        raise UsageError(
            f"run {short_id(meta.id)} expects nothing of its outputs: nothing can be compared with it",
            hint="Write what is expected of them, and run it again.",
        )
    header = BaselineHeader(
        schema=SCHEMA,
        title=meta.title,
        run=meta.id,
        run_at=round(meta.created_at, 3),
        evenhand=meta.version,
        variants=[
            BaselineVariant(name, one.prompt, one.model, one.eval, dict(one.axes), one.cluster)
            for name, one in zip(names, meta.variants, strict=True)
        ],
        cases=len({trial.case for trial in trials}),
        trials=0,
        bound=basis_of(run),
        digest="",
        offline=meta.is_scripted,
        scales=[
            BaselineScale(by_index[variant], metric, low, high)
            for (variant, metric), (low, high) in sorted(run.scales().items())
            if variant in by_index
        ],
        judges=[
            BaselineJudge(name, sorted(one.ids), sorted(one.settings))
            for name, one in sorted(judges_asked(run).items())
        ],
        recorder=recorder_of(meta),
    )
    return header, trials


def baseline_trials(
    run: RunFile,
    names: Mapping[int, str],
    *,
    outputs: bool = False,
    without: Container[int] = (),
) -> Iterator[BaselineTrial]:
    """The trials of a run as a baseline has them.

    Args:
        names: What each of its variants is called there; trials of others are left out.
        without: Places of trials that are left out.
    """
    requests = _requests(run)
    for trial in run.trials():
        if trial.variant in names and trial.index not in without:
            yield _trial(
                trial, names[trial.variant], requests.get(trial.index, {}), outputs=outputs
            )


def _look_at(run: RunFile) -> None:
    """That a run can be a baseline.

    Raises:
        UsageError: It cannot.
    """
    meta, totals = run.meta, run.totals()
    name = short_id(meta.id)
    chosen = chosen_by(meta, narrowed=run.by_outcome)
    if chosen:
        raise UsageError(
            f"nothing can be compared with run {name}: {chosen_note('its cases', chosen)}",
            hint="Make the baseline of a run of all cases, or of some that were chosen beforehand.",
        )
    if run.alive:
        raise UsageError(f"run {name} is not finished yet", hint="Wait for its end.")
    if totals.trials < meta.planned:
        raise UsageError(
            f"run {name} did not finish: {totals.trials:,} of {meta.planned:,} trials",
            hint="Make the baseline of a run of all cases: run it again without --stop-when-decided and --sample."
            if meta.status == "decided"
            else f"Finish it first: evenhand resume {name}",
        )
    if not totals.passed + totals.failed:
        what = (
            f"all {count(totals.errors, 'trial')} ended in an error"
            if totals.errors
            else "nothing applied to any trial"
            if totals.trials
            else "it has no trial"
        )
        raise UsageError(
            f"run {name} has no verdict ({what}): nothing can be compared with it",
            hint="`evenhand show` says why.",
        )


def _requests(run: RunFile) -> Mapping[int, Mapping[str, set[str]]]:
    """The hashes of the requests that each trial sent, or that a cache answered, by role."""
    requests: dict[int, dict[str, set[str]]] = {}
    scripted = run.meta.is_scripted
    for call in run.calls():
        if call.end is not None:
            of_trial = requests.setdefault(call.start.trial, {})
            name = journaled_name(call.start.key, call.start.identity, scripted=scripted)
            of_trial.setdefault(call.start.role, set()).add(name)
    return requests


def _trial(
    trial: TrialResult, variant: str, requests: Mapping[str, set[str]], *, outputs: bool
) -> BaselineTrial:
    return BaselineTrial(
        case=trial.case,
        variant=variant,
        repeat=trial.repeat,
        outcome=trial.outcome,
        score=trial.score,
        name=trial.description,
        metrics=dict(sorted(trial.named_scores.items())),
        expectations=[
            _expectation(outcome, definition)
            for outcome, definition in zip(
                trial.outcomes, chain(trial.definitions, repeat(UNKNOWN)), strict=False
            )
        ],
        subject=sorted(requests.get("subject", ())),
        judge=sorted(requests.get("judge", ())),
        checks=trial.checks,
        content=dict(trial.content),
        cost_usd=trial.full_cost_usd,
        output=trial.output if outputs else UNSET,
    )


def _expectation(outcome: Outcome, definition: Definition) -> BaselineExpectation:
    return BaselineExpectation(
        name=outcome.name,
        outcome=outcome.outcome,
        score=outcome.score,
        metric=outcome.metric,
        weight=outcome.weight if outcome.weight != 1 else UNSET,
        at_least=outcome.at_least,
        at_most=outcome.at_most,
        named=dict(sorted(outcome.named.items())),
        judge=_judge(outcome),
        scale=outcome.scale,
        kind=definition.kind,
        settings=dict(definition.settings),
        exact=definition.exact,
    )


def _judge(outcome: Outcome) -> dict[str, Any]:
    """Who judged, and by which instrument: each judge of several, of a jury or of the parts of an `assert-set`."""
    metadata = outcome.metadata
    judge = {key: metadata[key] for key in _OF_JUDGE if isinstance(metadata.get(key), str)}
    jury = [
        {key: row[key] for key in _OF_JUDGE if isinstance(row.get(key), str)}
        for row in judge_rows(outcome)
    ]
    if isinstance(metadata.get("jury"), list) or (COMPONENTS in metadata and any(jury)):
        judge["jury"] = jury
    return judge if "judge" in judge or "jury" in judge else {}
