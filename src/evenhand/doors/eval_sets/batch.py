"""`score_batch`: the metrics of every answer of a dataset, as a run like any other."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from evenhand.core.arguments import checked
from evenhand.core.case import Case
from evenhand.core.encoding import encode
from evenhand.core.errors import UsageError
from evenhand.core.expect import Scorer, Trial, all_pass
from evenhand.core.json_shapes import is_number
from evenhand.core.plan import Body
from evenhand.core.provider import Provider
from evenhand.core.record import Record
from evenhand.core.score import Outcome, Verdict, unknown
from evenhand.doors.eval_sets.answer_material import (
    answered_of,
    with_own_fields,
    with_reply,
    without_answer,
)
from evenhand.doors.eval_sets.caseplan import begun, case_plan, models_for, only_column
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.doors.eval_sets.plan import LIMIT_S, no_cluster
from evenhand.doors.eval_sets.running import shown
from evenhand.doors.eval_sets.scoring import DEFAULT, chosen_metrics, described, expect_metrics
from evenhand.doors.eval_sets.thresholds import Thresholds
from evenhand.engine.door import Settings, settle, waiting
from evenhand.languages.documents.project import project_for
from evenhand.render.batch import BatchReport
from evenhand.scorers.function import ScorerFunction
from evenhand.scorers.judging import NAME_A_JUDGE
from evenhand.scorers.metric import AnsweredQuestion, Metric, need_weights, overall
from evenhand.scorers.rag.definitions import OURS, check_system, using_definitions
from evenhand.scorers.rag.similarity import Embedder
from evenhand.store.run_lookup import home_for

Bounds = float | Mapping[str, float] | None


@checked
async def score_batch_async(
    data: Dataset | Iterable[Case | Mapping[str, Any]] | Any,
    pipeline: Callable[..., Any] | Any = None,
    *,
    metrics: Sequence[str | Scorer | ScorerFunction] = DEFAULT,
    judge: str | Provider | None = None,
    at_least: Bounds = None,
    at_most: Bounds = None,
    weights: Mapping[str, float] | None = None,
    definitions: str = OURS,
    cluster: str = "",
    embedder: Embedder | None = None,
    name: str = "",
    concurrency: int | None = None,
    cache: bool | None = None,
    max_cost_usd: float | None = None,
    progress: bool | None = None,
    resume: bool = False,
    home: str | Path | None = None,
) -> BatchReport:
    """Measures every answer of a dataset: `score_batch(…)` waits for it, in a script, a cell, and a running loop too.

    `await score_batch_async(…)` stays on the running loop, for an application that shares it.

    Args:
        data: The cases: a dataset, rows, or a frame. Without a pipeline they hold the answers, and what was retrieved.
        pipeline: What answers: a function of the question, plain or async, or an object with `query`. A parameter
            called `case` is given the case. It returns a text; (answer, passages); or a dict or object with `answer`,
            `context` and `retrieved`.
        metrics: Their names, `["faithfulness", "token_f1", "nDCG@10"]`, scorers, or functions of the answer.
        judge: Who judges; the project's judge by default.
        at_least: A bound for each metric by name, or one for all of which more is better: a case below it fails.
        at_most: The same for what must not be above; one for all is for those of which less is better.
        weights: What each metric counts in `overall`; by default each the same.
        definitions: Whose definitions: evenhand, ragas, deepeval, eval-ruby or promptfoo.
        cluster: The variable of the cases, or the key of their metadata, that says which belong together, such as the
            document that they ask about. Each cluster counts once in means, intervals and comparisons.
        embedder: What makes embeddings: anything with `embed(texts)`.
        name: For reports; the pipeline's name by default.
        concurrency: Cases in flight.
        cache: Whether replies may come from the cache.
        max_cost_usd: No call is sent that could take the run past this.
        progress: Whether a line on stderr says how far it is; by default where that is a terminal.
        resume: Go on with the latest run of the same cases, metrics and pipeline, if it stopped or has errors.
        home: The folder that keeps runs; `.evenhand` in the current folder by default.

    Returns:
        The run, with its metrics summed up: print it, or take `summary()`, `worst()`, `failures()`, `by_tag()`.

    Raises:
        UsageError: A metric, a bound or a weight that nobody knows; no judge is named; there are no cases.
        StoreError: The run cannot be kept.
    """
    dataset = data if isinstance(data, Dataset) else Dataset(data)
    if not len(dataset):
        raise UsageError("score_batch: there are no cases")
    check_system("definitions", definitions)
    if cluster and (missing := no_cluster(dataset, cluster)):
        raise UsageError(f"score_batch: {missing[0]}", hint=missing[1])
    chosen = chosen_metrics(metrics)
    need_weights(weights, chosen)
    low, high = _bounds("at_least", at_least, chosen), _bounds("at_most", at_most, chosen)
    if at_least is None and at_most is None:
        low, high = Thresholds(project_for(Path.cwd()).thresholds).of(chosen)
    ask = None if pipeline is None else _asking(pipeline)
    source = Path.cwd()
    models = models_for(source, judge=judge)
    if models.judge is None and any(one.judged for one in chosen):
        raise UsageError("score_batch: no judge is named", hint=NAME_A_JUDGE)
    config = {
        "metrics": described(chosen),
        "weights": weights,
        "at_least": low,
        "at_most": high,
        "definitions": definitions,
        "judge": None if models.judge is None else models.judge.id,
    }
    answering = _Answering(metrics=chosen, ask=ask, at_least=low, at_most=high, embedder=embedder)
    plan = case_plan(
        only_column(name or _name(pipeline) or dataset.name or "score_batch", cluster=cluster),
        str(source),
        dataset,
        answering,
        [dataset.fingerprint, encode(config), *([cluster] if cluster else []), *_says(pipeline)],
        models,
        rule=partial(_verdict, metrics=chosen, weights=weights),
        config={
            **config,
            "data": dataset.fingerprint,
            **({"answers": "stored"} if ask is None else {}),
        },
        apart=answering.apart,
    )
    home = home_for(source) if home is None else Path(home)
    earlier = begun(home, plan.fingerprint) if resume else None
    settings = Settings(
        home=home,
        concurrency=concurrency,
        cache=cache,
        max_cost_usd=max_cost_usd,
        time_limit_s=LIMIT_S,
    )
    with shown(plan, progress) as show, using_definitions(definitions):
        finished = await settle(plan, settings, resume=earlier, progress=show)
    return BatchReport.open(finished.path)


score_batch = waiting(score_batch_async)
"""`score_batch_async`, waited for: in a script, in a notebook cell, and inside a running loop too."""


class _Answering(Record, frozen=True, kw_only=True):
    """What happens to a case: the pipeline answers, and every metric is asked of the answer."""

    metrics: Sequence[Metric]
    ask: Callable[[Case, Any], partial[Any]] | None
    at_least: Mapping[str, float]
    at_most: Mapping[str, float]
    embedder: Embedder | None
    stored: Case | None = None

    def apart(self, case: Case) -> tuple[Case, Body]:
        """A case under the names that cases have; without a pipeline, without the answer that it holds, too."""
        case = with_own_fields(case)
        if self.ask is not None:
            return case, self
        return without_answer(case), replace(self, stored=case)

    async def __call__(self, trial: Trial) -> object:
        answered = answered_of(self.stored or trial.case)
        if self.stored is not None:
            trial.show(self.stored.vars)
            trial.mark(self.stored.metadata)
        if self.ask is not None:
            returned = await trial.call(
                self.ask(trial.case, answered.question), name="pipeline", limit_s=LIMIT_S
            )
            answered = with_reply(answered, returned)
            trial.show({**trial.case.vars, **_shown(answered)})
        expect_metrics(trial, self.metrics, answered, self.embedder, self.at_least, self.at_most)
        return answered.answer


def _verdict(
    outcomes: Sequence[Outcome], metrics: Sequence[Metric], weights: Mapping[str, float] | None
) -> Verdict:
    """Passed unless a bound is missed. The score is the overall number; None if errors leave it open."""
    verdict = all_pass(outcomes)
    if any(unknown(one.outcome, one.score) for one in outcomes):
        return replace(verdict, score=None)
    return replace(verdict, score=overall(verdict.named_scores, metrics, weights))


def _shown(answered: AnsweredQuestion) -> dict[str, Any]:
    """What a reader of the results wants to see beside the answer."""
    parts = {
        "question": answered.question,
        "context": answered.context,
        "retrieved": answered.retrieved,
    }
    return {name: _jsonable(value) for name, value in parts.items() if value is not None}


def _jsonable(value: Any) -> Any:
    try:
        encode(value)
    except (TypeError, ValueError):
        return [str(one) for one in value] if isinstance(value, (list, tuple)) else str(value)
    return value


def _asking(pipeline: Any) -> Callable[[Case, Any], partial[Any]]:
    """How a pipeline is asked: by its `query` or as a function, with the question, with the case, or with both."""
    function = getattr(pipeline, "query", pipeline)
    if not callable(function) or isinstance(function, type):
        raise UsageError(
            f"score_batch: the pipeline is {pipeline!r}, not a function",
            hint="Give a function of the question, or an object with a method `query`.",
        )
    try:
        parameters = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # one that is not written in Python
        parameters = {}
    if parameters.pop("case", None) is None:
        return lambda _, question: partial(function, question)
    # Beside the case, the question is what has to be given, or is called so.
    own = [o for o in parameters.values() if o.default is o.empty or o.name == "question"]
    named = [o for o in own if o.kind in (o.POSITIONAL_OR_KEYWORD, o.KEYWORD_ONLY)]
    name = next((o.name for o in named), "")
    places = any(o.kind in (o.POSITIONAL_ONLY, o.VAR_POSITIONAL) for o in own)

    def ask(case: Case, question: Any) -> partial[Any]:
        if places and not name:
            return partial(function, question, case=case)
        return partial(function, case=case, **({name: question} if name else {}))

    return ask


def _bounds(what: str, bounds: Bounds, chosen: Sequence[Metric]) -> dict[str, float]:
    """The bounds by metric. One for all is for those that it can mean: highs have a least, lows a most."""
    if bounds is None:
        return {}
    if not isinstance(bounds, Mapping):
        best = "high" if what == "at_least" else "low"
        bounds = {one.name: bounds for one in chosen if one.best == best and one.counted}
    there = [one.name for one in chosen]
    wrong = [
        f"score_batch: {what} names {name!r}, which is not measured"
        if name not in there
        else f"score_batch: {what} of {name} is {bound!r}, not a number"
        for name, bound in bounds.items()
        if name not in there
        or not is_number(bound)  # pyright: ignore[reportUnnecessaryIsInstance] (a user may not type-check)
        or not isfinite(bound)
    ]
    if wrong:
        raise UsageError("\n".join(wrong), hint=f"Measured are: {', '.join(there)}.")
    return {name: float(bound) for name, bound in bounds.items()}


def _says(pipeline: Any) -> list[bytes | str]:
    """The code that decides what is answered: the pipeline's name, and the file that it stands in."""
    function = getattr(pipeline, "query", pipeline)
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    file = Path(code.co_filename) if code is not None else Path()
    return [_name(pipeline), file.read_bytes() if file.is_file() else b""]


def _name(pipeline: Any) -> str:
    return "" if pipeline is None else str(getattr(pipeline, "__name__", type(pipeline).__name__))
