"""Facts of cases that are found once and stored with the dataset, so that every run counts against the same.

`evenhand data enrich` puts them into the metadata of each case: `reference_claims` and `entities`, of what a right
answer is, and `sub_questions`, of the question. It is a run like any other: journaled, so nothing is paid for twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec.structs import replace as changed

from evenhand.core.case import Case
from evenhand.core.encoding import encode
from evenhand.core.errors import BudgetStop, EvenhandError, ProviderError, StoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.plan import Plan
from evenhand.core.provider import Provider
from evenhand.core.record import Record
from evenhand.core.run import PREPARES
from evenhand.doors.eval_sets.answer_material import answered_of
from evenhand.doors.eval_sets.caseplan import (
    UNWRITTEN,
    begun,
    case_plan,
    look_for_key,
    models_for,
    only_column,
    unwritten,
)
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.doors.eval_sets.running import shown
from evenhand.engine.door import Finished, Settings, settle, waited_for
from evenhand.render.run import Run
from evenhand.scorers.judge_prompt import template
from evenhand.scorers.rag.claims import ENTITIES, REFERENCE_CLAIMS, SUB_QUESTIONS, Facts
from evenhand.scorers.rag.material import text_in
from evenhand.scorers.rag.questions import find_facts
from evenhand.store.remarks import remark
from evenhand.store.run_lookup import home_for
from evenhand.store.runfile import RunFile

PARTS = (REFERENCE_CLAIMS, ENTITIES, SUB_QUESTIONS)
PREPARED_BY = "prepared_by"
"""The key of a case's metadata that says by whom, and by which prompt."""
_NAME_ONE = (
    "Name one: --judge anthropic:claude-sonnet-4-5, or judge='…' in Python; for a project, judge = '…' below "
    "[tool.evenhand] in pyproject.toml; or in EVENHAND_JUDGE."
)


class Prepared(Record, frozen=True, kw_only=True):
    """What came of it.

    Attributes:
        data: The cases, with what was found.
        errors: What went wrong, by case; these are as they were.
        asked_about: How many cases were asked about.
        dropped: How many results were left out as doubles, or because they could not be shown to be true.
        cost_usd: Dollars; None where a price is not known.
        calls: Model calls, replayed ones included.
        in_doubt: Calls that were in flight when an earlier attempt was killed: they may have been charged for too.
        recovered: All replies are those of an earlier attempt, which ended before its file was written.
    """

    data: Dataset
    errors: Mapping[str, str]
    asked_about: int
    dropped: int = 0
    cost_usd: float | None = None
    calls: int = 0
    in_doubt: int = 0
    recovered: bool = False


def enrich(
    data: Dataset,
    *,
    judge: str | Provider | None = None,
    parts: Sequence[str] = PARTS,
    settings: Settings,
    source: Path | None = None,
    to: Path | None = None,
) -> Prepared:
    """Finds what is not yet stored with the cases, and waits for it. What is stored is left as it is.

    Args:
        judge: Who is asked; the project's judge by default.
        parts: Which facts: `reference_claims`, `entities`, `sub_questions`.
        source: The file that they are from: the run is kept beside it.
        to: The file that the cases are written to.

    Raises:
        UsageError: Nobody is named to judge, there is no such part, or the file cannot be written.
        ProviderError: The judge cannot be asked at all.
        BudgetStop: The next call could pass `max_cost_usd`; what was found is kept, and found again for nothing.
        StoreError: The run cannot be kept.
    """
    wrong = [part for part in parts if part not in PARTS]
    if wrong or not parts:
        raise UsageError(
            f"there is nothing called {', '.join(wrong) or 'nothing'} to find",
            hint=f"There are: {', '.join(PARTS)}.",
        )
    place = source or Path.cwd()
    models = models_for(place, judge=judge)
    if models.judge is None:
        raise UsageError("no judge is named", hint=_NAME_ONE)
    look_for_key(models, models.judge)
    plan = case_plan(
        only_column("dataset enrich"),
        str(place),
        data,
        _Enriching(models.judge, tuple(parts)),
        [
            data.fingerprint,
            encode(list(parts)),
            models.judge.id,
            template("rag/facts").version,
            *scripted(settings),
        ],
        models,
        config={"parts": list(parts), "judge": models.judge.id, **destination(to)},
    )
    settings = kept_beside(place, settings)
    earlier = earlier_attempt(plan, settings)
    with settled(plan, settings, earlier) as run:
        results = {trial.index: trial for trial in run.trials()}
        cases: list[Case] = []
        errors: dict[str, str] = {}
        for index, case in enumerate(data):
            trial = results.get(index)
            if trial is not None and trial.outcome == "error":
                errors[case.id] = trial.error.message if trial.error else trial.reason
            more = trial.output if trial is not None and isinstance(trial.output, dict) else {}
            cases.append(replace(case, metadata={**case.metadata, **more}) if more else case)
        prepared = Prepared(
            data=Dataset(cases, data.name),
            errors=errors,
            asked_about=sum(trial.calls > 0 for trial in results.values()),
            recovered=earlier.unwritten,
        )
        return written(prepared, run, to)


class _Enriching(Record, frozen=True):
    """What happens to a case: what is missing is asked for in one question."""

    judge: Provider
    parts: tuple[str, ...]

    async def __call__(self, trial: Trial) -> object:
        case = trial.case
        missing = [part for part in self.parts if case.metadata.get(part) is None]
        answered = answered_of(case)
        question = text_in(answered.question) if SUB_QUESTIONS in missing else ""
        reference = text_in(answered.expected) if {REFERENCE_CLAIMS, ENTITIES} & {*missing} else ""
        if not question and not reference:
            return None
        facts = await find_facts(trial.model(self.judge, "setup"), question, reference)
        stored = {name: value for name, value in _stored(facts).items() if name in missing}
        by = (
            {"judge": facts.provenance.judge, "prompt": facts.provenance.prompt}
            if facts.provenance
            else {}
        )
        return {**stored, PREPARED_BY: by}


class Earlier(Record, frozen=True):
    """An attempt that is gone on with.

    Attributes:
        path: Its run; None for none.
        unwritten: It had finished its calls, and ended before its file was written.
    """

    path: Path | None
    unwritten: bool


def scripted(settings: Settings) -> list[str]:
    """What tells an attempt that a script answers from one that asks models: neither continues the other."""
    return [str(settings.record.get("script", ""))] if settings.free else []


def destination(to: Path | None) -> Mapping[str, str]:
    """What a run's config says of the file that its cases are written to."""
    return {} if to is None else {UNWRITTEN: str(to)}


def kept_beside(place: Path, settings: Settings) -> Settings:
    """The settings, with the folder of runs of a file or a folder where they name none."""
    return changed(settings, home=settings.home or home_for(place))


def earlier_attempt(plan: Plan, settings: Settings) -> Earlier:
    """The latest attempt at a plan that did not come to its end."""
    assert settings.home is not None  # noqa: S101 (whoever plans says where)
    # Unusable answers are kept in their run: who wants no cache wants others.
    path = begun(settings.home, plan.fingerprint, errors=settings.cache is not False)
    if path is None:
        return Earlier(None, False)
    with RunFile.open(path) as run:
        return Earlier(path, unwritten(run))


def settled(plan: Plan, settings: Settings, earlier: Earlier) -> Run:
    """The run of a plan, gone on with where an earlier attempt did not finish.

    Raises:
        ProviderError: It was stopped.
        BudgetStop: The next call could pass the budget.
        StoreError: The run cannot be kept.
    """
    # The latest run is one of evals, and none that prepared their data.
    settings = changed(settings, record={**settings.record, PREPARES: True})
    with shown(plan, None) as show:
        finished = waited_for(settle(plan, settings, resume=earlier.path, progress=show))
    if finished.ending.status != "finished":
        raise _stopped(finished)
    return Run.open(finished.path)


def written(prepared: Prepared, run: Run, to: Path | None) -> Prepared:
    """Writes the cases to the file that they were asked for, notes that in their run, and adds what the run came to.

    Raises:
        UsageError: The file cannot be written.
    """
    if to is not None:
        if len(prepared.data):
            prepared.data.write(to)
        with contextlib.suppress(
            StoreError
        ):  # the next attempt uses its replies once more, and says so
            remark(run.path, {"note": f"written to {to}"})
    totals, doubts = run.totals(), len(run.in_doubt())
    return changed(prepared, cost_usd=totals.cost_usd, calls=totals.calls, in_doubt=doubts)


def _stopped(finished: Finished) -> EvenhandError:
    message = finished.ending.message or "it was stopped"
    hint = "Everything paid for is saved: run the same command again to continue."
    if finished.ending.status == "out_of_budget":
        return BudgetStop(message, hint=hint)
    return ProviderError(message, hint=hint)


def _stored(facts: Facts) -> dict[str, Any]:
    """Facts as a dataset keeps them."""
    stored: dict[str, Any] = {}
    if facts.claims is not None:
        stored[REFERENCE_CLAIMS] = [
            one.text if one.weight == 1 else {"claim": one.text, "weight": one.weight}
            for one in facts.claims
        ]
    if facts.entities is not None:
        stored[ENTITIES] = [
            {"name": one.name, "aliases": list(one.aliases)} for one in facts.entities
        ]
    if facts.sub_questions is not None:
        stored[SUB_QUESTIONS] = list(facts.sub_questions)
    return stored
