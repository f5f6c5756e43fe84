"""`score(…)`: the metrics of one answer, from a script, a notebook or inside a running loop; `score_async` to await.

How this works: one answer is a plan of one trial, so that its calls are journaled, cached, priced and limited like all
others. Its run is thrown away where nobody asks for it: a program that scores every answer it gives must not fill a
disk. The metrics are put into the trial as expectations without a bound, by `expect_metrics`, as those of many answers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from evenhand.core.arguments import checked
from evenhand.core.case import Case, case_id
from evenhand.core.errors import BudgetStop, EvenhandError, ProviderError, UsageError
from evenhand.core.expect import Expectation, Scorer, Trial
from evenhand.core.record import Record
from evenhand.core.scratch import ScratchFolder
from evenhand.core.traits import label_of
from evenhand.doors.eval_sets.caseplan import case_plan, models_for, only_column
from evenhand.engine.door import Finished, Settings, settle, waiting
from evenhand.render.scored import Measured, Scored
from evenhand.scorers.function import ScorerFunction, as_scorer
from evenhand.scorers.judging import Judge, check_judge
from evenhand.scorers.metric import (
    AnsweredQuestion,
    Metric,
    metric,
    need_weights,
    of_scorer,
    own_metric,
)
from evenhand.scorers.rag.definitions import OURS, check_system, using_definitions
from evenhand.scorers.rag.material import passages_in
from evenhand.scorers.rag.similarity import Embedder, UsesEmbedder
from evenhand.store.run_lookup import home_for
from evenhand.store.runfile import RunFile

DEFAULT = ("faithfulness", "answer_relevance", "correctness", "context_precision", "context_recall")
"""The metrics that are measured where none are named; those whose material is missing do not apply."""


@checked
async def score_async(
    *,
    question: Any = None,
    answer: Any = None,
    context: Any = None,
    expected: Any = None,
    retrieved: Any = None,
    relevant: Any = None,
    metadata: Mapping[str, Any] | None = None,
    metrics: Sequence[str | Scorer | ScorerFunction] = DEFAULT,
    judge: Judge | None = None,
    weights: Mapping[str, float] | None = None,
    definitions: str = OURS,
    embedder: Embedder | None = None,
    cache: bool | None = None,
    max_cost_usd: float | None = None,
    keep: bool = False,
    home: str | Path | None = None,
) -> Scored:
    """The metrics of one answer: `score(…)` waits for them, in a script, a notebook cell, and a running loop too.

    `await score_async(…)` stays on the running loop.

    A metric whose material is missing does not apply; one that could not be settled is an error; neither is a number,
    and neither ends the others.

    Args:
        question: What was asked.
        answer: What was answered.
        context: The retrieved passages, best first; one text is one passage.
        expected: What a right answer is.
        retrieved: The ids that were retrieved, best first, for nDCG@k and its like.
        relevant: The ids that are relevant, or grades by id.
        metadata: What a dataset stores for the case: reference_claims, entities, sub_questions.
        metrics: Names, scorers, or functions of the answer.
        judge: Who judges: a model's id or a provider; by default the project's judge, or EVENHAND_JUDGE.
        weights: What each metric counts in `overall`, by name; all alike by default.
        definitions: Whose definitions: evenhand, ragas, deepeval, eval-ruby or promptfoo.
        embedder: What makes embeddings: anything with `embed(texts)`.
        cache: Whether replies may come from the cache.
        max_cost_usd: No call is sent that could take this past so many dollars.
        keep: Keep the run, with every question and answer, as `evenhand run` does: `scored.run` is its file. Otherwise
            nothing is left on disk but the cache, however often this is called.
        home: The folder that keeps the cache, and the run; `.evenhand` in the current folder by default.

    Raises:
        UsageError: A name, a weight or the judge isn't a model.
        BudgetStop: The next call could pass `max_cost_usd`.
        ProviderError: The judge cannot be asked at all: no key, no such model, no credit.
        StoreError: The run cannot be kept.
    """
    check_judge(judge)
    check_system("definitions", definitions)
    chosen = chosen_metrics(metrics)
    need_weights(weights, chosen)
    material = AnsweredQuestion(
        question=question,
        answer=answer,
        context=context,
        expected=expected,
        retrieved=retrieved,
        relevant=relevant,
        metadata=metadata or {},
    )
    case = _case(material)
    plan = case_plan(
        only_column("score"),
        "",
        [case],
        _Measuring(chosen, material, embedder),
        [case.id, *(one.name for one in chosen)],
        models_for(Path.cwd(), judge=judge),
        config={"metrics": described(chosen)},
    )
    home = home_for(None) if home is None else Path(home)
    settings = Settings(home=home, cache=cache, max_cost_usd=max_cost_usd)
    with contextlib.ExitStack() as stack:
        stack.enter_context(using_definitions(definitions))
        if not keep:
            folder = stack.enter_context(ScratchFolder("scores"))
            # Only the run goes with the folder: the cache stays where it is.
            settings = replace(settings, home=Path(folder), cached_in=home)
        finished = await settle(plan, settings)
        with RunFile.open(finished.path) as run:
            trial = run.trial(0)
    if trial is None:
        raise _unfinished(finished)
    measures = [
        Measured.of(outcome, one.best, one.counted)
        for one, outcome in zip(chosen, trial.outcomes, strict=True)
    ]
    return Scored.of(trial, measures, weights, finished.path if keep else None)


score = waiting(score_async)
"""`score_async`, waited for: in a script, in a notebook cell, and inside a running loop too."""


def chosen_metrics(metrics: Sequence[str | Scorer | ScorerFunction]) -> list[Metric]:
    """The metrics that are asked for, each once: by name, or as the scorer that is given.

    Raises:
        UsageError: All that is wrong with them.
    """
    # A single metric needs no list; a name would be taken apart into letters.
    if isinstance(metrics, str) or callable(metrics) or hasattr(metrics, "score"):
        metrics = [cast("str | Scorer", metrics)]
    by_name: dict[str, Metric] = {}
    wrong: list[UsageError] = []
    for one in metrics:
        try:
            own = callable(one) or hasattr(one, "score")
            chosen = _own(one) if own else metric(cast("str", one))
        except UsageError as error:
            wrong.append(error)
        else:
            by_name[chosen.name] = chosen
    if wrong:
        hints = dict.fromkeys(error.hint for error in wrong if error.hint)
        raise UsageError("\n".join(e.message for e in wrong), hint="\n  ".join(hints))
    if not by_name:
        raise UsageError("metrics: there are none", hint=f"By default: {', '.join(DEFAULT)}.")
    return list(by_name.values())


def described(metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    """What a run keeps of its metrics, for reports and comparisons."""
    return [{"name": m.name, "best": m.best, "counted": m.counted} for m in metrics]


def expect_metrics(
    trial: Trial,
    metrics: Sequence[Metric],
    answered: AnsweredQuestion,
    embedder: Embedder | None = None,
    at_least: Mapping[str, float] | None = None,
    at_most: Mapping[str, float] | None = None,
) -> None:
    """Records the metrics of an answer as expectations of a trial, one for each, in their order.

    Args:
        at_least: Bounds by metric; those without one only measure.
        at_most: The same for what must not be above.
    """
    least, most = at_least or {}, at_most or {}
    for one in metrics:
        output, scorer = one.asked(answered)
        if embedder is not None and isinstance(scorer, UsesEmbedder) and scorer.embedder is None:
            scorer = replace(cast("Any", scorer), embedder=embedder)
        trial.expect(
            Expectation(
                output,
                scorer,
                least.get(one.name),
                most.get(one.name),
                metric=one.name,
                label=one.name,
                only_measured=True,
            )
        )


def _own(target: object) -> Metric:
    """A scorer or a function of the user's as a metric. It is told what is given, or else looks at the case."""
    try:
        scorer = as_scorer(target)
    except UsageError as error:
        raise UsageError(f"metrics: {error.message}", hint=error.hint) from None
    own = of_scorer(scorer, label_of(scorer))
    try:
        known = own_metric(own.name)
    except UsageError:
        known = None
    return own if known is None else replace(known, needs=(), ask=own.ask, judged=False)


class _Measuring(Record, frozen=True):
    """What happens in the one trial: every metric is asked of the answer."""

    metrics: Sequence[Metric]
    answered: AnsweredQuestion
    embedder: Embedder | None

    async def __call__(self, trial: Trial) -> object:
        expect_metrics(trial, self.metrics, self.answered, self.embedder)
        return self.answered.answer


def _case(answered: AnsweredQuestion) -> Case:
    """The case that the answer is of."""
    fields = {
        "input": answered.question,
        "expected": answered.expected,
        "metadata": dict(answered.metadata),
    }
    try:
        id_ = case_id([fields, str(answered.answer), str(answered.context)])
    except (TypeError, ValueError):  # NaN or the like; it is told where it is looked at
        id_ = "score"
    context: tuple[str, ...] = ()
    with contextlib.suppress(EvenhandError):  # told by each metric that looks at them
        context = passages_in(answered.context)
    return Case(
        id_,
        input=answered.question,
        expected=answered.expected,
        context=context,
        metadata=answered.metadata,
    )


def _unfinished(finished: Finished) -> EvenhandError:
    ending = finished.ending
    message = ending.message or "it was stopped"
    return BudgetStop(message) if ending.status == "out_of_budget" else ProviderError(message)
