"""Metrics by name, `faithfulness`, `nDCG@10`: what each needs to know of an answer, and the scorer that measures it.

The one table of names behind `score` and `score_batch`. A metric whose material is missing does not apply.

How this works: a scorer's class says what it measures by its traits, and what it measures by through its arguments. One
that is called `contexts` is given the passages, `reference` the right answer, and so on; so a name, a class and what it
cannot do without are all that there is to write down, for ours and for those of packages alike.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

from msgspec import field

from evenhand.core.errors import EvenhandError, UsageError
from evenhand.core.expect import Scorer, Trial
from evenhand.core.json_shapes import is_number
from evenhand.core.names import did_you_mean
from evenhand.core.plugins import SCORERS, Plugin, plugin, plugins
from evenhand.core.record import Record
from evenhand.core.score import Score
from evenhand.core.traits import traits_of
from evenhand.scorers.function import as_scorer
from evenhand.scorers.jury import JudgeQuestion
from evenhand.scorers.metrics.ranking import parse
from evenhand.scorers.rag.claims import ENTITIES, REFERENCE_CLAIMS, SUB_QUESTIONS
from evenhand.scorers.rag.contexts import (
    ContextPrecision,
    ContextRecall,
    ContextRelevance,
    ContextUtilization,
)
from evenhand.scorers.rag.correctness import Correctness
from evenhand.scorers.rag.entities import EntityRecall
from evenhand.scorers.rag.faithfulness import Faithfulness, Hallucination
from evenhand.scorers.rag.material import passages_in, reference_in, text_in
from evenhand.scorers.rag.noise import NoiseSensitivity
from evenhand.scorers.rag.relevance import AnswerRelevance, Completeness
from evenhand.scorers.rag.similarity import SemanticSimilarity
from evenhand.scorers.rag.summarisation import PARTS, Summarisation
from evenhand.scorers.retrieval import Ranked
from evenhand.scorers.wording import WORDINGS, Wording


class AnsweredQuestion(Record, frozen=True, kw_only=True):
    """What there is to measure one answer by. What is None or empty is missing.

    Attributes:
        context: The passages that it was answered from.
        expected: What a right answer is: a text, or several.
        retrieved: The ids that were retrieved, best first, or scores by id.
        relevant: The ids that are relevant, or grades by id; an empty list says that none is.
        metadata: The case's: reference_claims, entities, sub_questions where they are stored.
    """

    question: Any = None
    answer: Any = None
    context: Any = None
    expected: Any = None
    retrieved: Any = None
    relevant: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def lacks(self, names: Sequence[str]) -> list[str]:
        """Which of these are missing."""
        return [name for name in names if _nothing(name, getattr(self, name))]


class Metric(Record, frozen=True, kw_only=True):
    """A number that has a name.

    Attributes:
        name: The name, as reports have it.
        needs: The parts of `AnsweredQuestion` that it cannot do without.
        ask: The output that is looked at, and the scorer that looks.
        best: Whether high or low is good.
        counted: Whether it is from 0 to 1, so that it can take part in an overall number.
        judged: Whether a judge is asked.
    """

    name: str
    needs: tuple[str, ...]
    ask: Callable[[AnsweredQuestion], tuple[Any, Scorer]]
    best: str = "high"
    counted: bool = True
    judged: bool = False

    def asked(self, answered: AnsweredQuestion) -> tuple[Any, Scorer]:
        """The output to look at and the scorer; where something is missing, one that says so and does not apply."""
        missing = answered.lacks(self.needs)
        if missing:
            return None, Missing(self.name, tuple(missing))
        try:
            return self.ask(answered)
        except (
            EvenhandError
        ) as error:  # the material is of the wrong kind: the error of this metric alone
            return None, Unasked(self.name, error)


class Missing(Record, frozen=True):
    """Stands for a metric whose material is missing: it does not apply."""

    name: str
    missing: tuple[str, ...]

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        return Score(None, reason=f"there is no {' and no '.join(self.missing)}")

    def __str__(self) -> str:
        return self.name


class Unasked(Record, frozen=True):
    """Stands for a metric whose material is of the wrong kind: an error, wherever it is asked."""

    name: str
    error: EvenhandError

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        raise self.error

    def __str__(self) -> str:
        return self.name


def metric(name: str) -> Metric:
    """The metric of this name: one of ours, or one that an installed package adds.

    Raises:
        UsageError: There is none; the nearest name is offered. Or the package's cannot be used.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] (a user may not type-check)
        raise UsageError(
            f"metrics: {name!r} is not a name", hint=f"There are: {', '.join(names())}."
        )
    own = own_metric(name)
    if own is not None:
        return own
    added = plugin(SCORERS, name)
    if added is not None:
        return _added(added)
    there = [*names(), *plugins(SCORERS)]
    hint = did_you_mean(name, there, f"There are: {', '.join(there)}.")
    raise UsageError(f"metrics: {name!r} is not known", hint=hint)


def own_metric(name: str) -> Metric | None:
    """The metric that we have of this name; None for none.

    Raises:
        UsageError: It is one of ours, and its cut is no number.
    """
    for written in (name, name.replace("-", "_").lower()):
        listed = _TABLE.get(written) or _cut(written)
        if listed is not None:
            return listed
    try:
        ranking = parse(name)
    except ValueError as error:
        # A ranking metric of ours with a wrong cut is refused here. An unknown name may be one that a package adds.
        if "cut" in str(error):
            raise UsageError(
                f"metrics: {error}", hint=f"There are: {', '.join(names())}."
            ) from None
        return None
    return Metric(
        name=str(ranking),
        needs=("retrieved", "relevant"),
        ask=lambda answered: (answered.retrieved, Ranked(ranking, answered.relevant)),
    )


def _added(added: Plugin) -> Metric:
    """What a package adds, as a metric: a function, a scorer, or a class of scorers."""
    loaded = added.load()
    try:
        if not isinstance(loaded, type):
            return of_scorer(as_scorer(loaded, added.name), added.name)
        kind = cast("Callable[..., Scorer]", loaded)
        parameters = inspect.signature(kind).parameters.values()
        needs = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    except (UsageError, TypeError, ValueError) as error:  # no scorer, or without a signature
        raise added.broken("cannot be used", error) from error
    if not hasattr(loaded, "score") or not MATERIAL.keys() >= set(needs):
        raise added.broken(f"is not a class with a score() that is made of {', '.join(MATERIAL)}")
    unguarded = of_class(added.name, kind, *(_PARTS[name] for name in needs))

    def ask(answered: AnsweredQuestion) -> tuple[Any, Scorer]:
        try:
            return unguarded.ask(answered)
        except EvenhandError:
            raise
        except (Exception, SystemExit) as error:  # the package's own code
            raise added.broken("cannot be made of this answer", error) from error

    return replace(unguarded, ask=ask)


def of_scorer(scorer: Scorer, name: str) -> Metric:
    """A scorer that is made already, as a metric. It looks at the answer, or at the passages."""
    traits = traits_of(scorer)

    def ask(answered: AnsweredQuestion) -> tuple[Any, Scorer]:
        return (passages_in(answered.context) if traits.of_contexts else answered.answer), scorer

    return Metric(
        name=name,
        needs=(),
        ask=ask,
        best="low" if traits.lower_is_better else "high",
        counted=traits.counted,
    )


class Weighed(Protocol):
    """What takes part in an overall number."""

    @property
    def name(self) -> str: ...
    @property
    def best(self) -> str: ...
    @property
    def counted(self) -> bool: ...


def overall(
    values: Mapping[str, float | None],
    metrics: Sequence[Weighed],
    weights: Mapping[str, float] | None = None,
) -> float | None:
    """Σ weight·value / Σ weight over the metrics from 0 to 1 that have a value; None where their weights come to 0.

    Args:
        values: By name. Where low is good, 1 − the value counts.
        weights: By name; those without one take no part. None: all alike.

    Raises:
        UsageError: A weight is no number from 0, or of what is not measured.
    """
    need_weights(weights, metrics)
    part = [one for one in metrics if one.name in overall_of(values, metrics, weights)]
    shares = [1.0 if weights is None else weights[one.name] for one in part]
    if not part:
        return None
    good = [
        1 - value if one.best == "low" else value
        for one in part
        if (value := values[one.name]) is not None
    ]
    return math.fsum(map(operator.mul, shares, good)) / math.fsum(shares)


def overall_of(
    values: Mapping[str, float | None],
    metrics: Sequence[Weighed],
    weights: Mapping[str, float] | None = None,
) -> tuple[str, ...]:
    """The names of the metrics that take part in `overall`."""
    return tuple(
        one.name
        for one in metrics
        if one.counted
        and (value := values.get(one.name)) is not None
        and 0 <= value <= 1  # a scorer of a user's may have any scale
        and (weights is None or weights.get(one.name))
    )


def need_weights(weights: Mapping[str, float] | None, metrics: Sequence[Weighed]) -> None:
    """Refuses weights of metrics that nobody measures, or that take no part, and what is no weight.

    Raises:
        UsageError: All that is wrong with them.
    """
    there = {one.name: one.counted for one in metrics}
    wrong: list[str] = []
    for name, weight in (weights or {}).items():
        number = is_number(weight)  # pyright: ignore[reportUnnecessaryIsInstance] (a user may not type-check)
        if name not in there:
            wrong.append(f"weights: {name!r} is not measured")
        elif not there[name]:
            wrong.append(f"weights: {name!r} is not from 0 to 1, and takes no part")
        elif not number or not 0 <= weight < math.inf:
            wrong.append(f"weights: {name!r} has {weight!r}, not a number from 0")
    if wrong:
        takes = ", ".join(name for name, counted in there.items() if counted)
        raise UsageError("\n".join(wrong), hint=f"There are: {takes or 'none'}.")


def names() -> list[str]:
    """All names that there are; those about rankings take any cut."""
    return [*_TABLE, "P@5", "R@5", "hit@5", "RR", "AP", "nDCG@10", "nDCG_exp@10"]


def of_class(
    name: str, kind: Callable[..., Scorer], *needs: str, judged: bool | None = None, **fixed: Any
) -> Metric:
    """A class of scorers as a metric: it is given what its arguments ask for.

    Args:
        needs: The parts of `AnsweredQuestion` that it cannot do without.
        judged: Whether a judge is asked; by default where the class has one.
        fixed: Arguments that are always the same.
    """
    traits = traits_of(kind)

    def ask(answered: AnsweredQuestion) -> tuple[Any, Scorer]:
        output = passages_in(answered.context) if traits.of_contexts else answered.answer
        return output, kind(**_arguments(kind, answered), **fixed)

    best = "low" if traits.lower_is_better else "high"
    asks = isinstance(kind, JudgeQuestion) if judged is None else judged
    return Metric(name=name, needs=needs, ask=ask, best=best, counted=traits.counted, judged=asks)


MATERIAL: Mapping[str, Callable[[AnsweredQuestion], Any]] = {
    "question": lambda answered: text_in(answered.question),
    "reference": lambda answered: reference_in(answered.expected),
    "expected": lambda answered: answered.expected,
    "contexts": lambda answered: passages_in(answered.context),
    "source": lambda answered: passages_in(answered.context),
}
"""What a scorer's arguments are given, by their names; and what a case's metadata stores, where it does."""

_PARTS = {
    "question": "question",
    "reference": "expected",
    "expected": "expected",
    "contexts": "context",
    "source": "context",
}
"""The parts of `AnsweredQuestion` that these are made of."""
_STORED = {name: name for name in (REFERENCE_CLAIMS, ENTITIES, SUB_QUESTIONS)} | {
    "key_claims": REFERENCE_CLAIMS
}


def _arguments(kind: Callable[..., Scorer], answered: AnsweredQuestion) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for name in _parameters(kind):
        if name in MATERIAL:
            arguments[name] = MATERIAL[name](answered)
        elif name in _STORED and _STORED[name] in answered.metadata:
            arguments[name] = answered.metadata[_STORED[name]]
    return arguments


@functools.cache
def _parameters(kind: Callable[..., Scorer]) -> tuple[str, ...]:
    return tuple(inspect.signature(kind).parameters)


def _cut(name: str) -> Metric | None:
    """Precision among the first k passages."""
    match = _AT.fullmatch(name)
    if match is None:
        return None
    ranked = match[1] != "context_precision"
    return of_class(name, ContextPrecision, "context", ranked=ranked, k=int(match[2]))


def _wording(name: str) -> Metric:
    def ask(answered: AnsweredQuestion) -> tuple[Any, Scorer]:
        return answered.answer, Wording(name, answered.expected)

    low = name == "edit_distance"
    return Metric(
        name=name,
        needs=("answer", "expected"),
        ask=ask,
        best="low" if low else "high",
        counted=not low,
    )


def _nothing(name: str, value: Any) -> bool:
    if value is None or (isinstance(value, float) and value != value):  # noqa: PLR0124 (NaN is not itself)
        return True
    if name in {"retrieved", "relevant"}:  # an empty list says something
        return False
    return isinstance(value, (str, list, tuple)) and not (
        value.strip() if isinstance(value, str) else value
    )


_AT = re.compile(r"(context_(?:average_)?precision)@([1-9]\d{0,5})")
_ANSWERED = ("answer", "context")
_NOISE = (*_ANSWERED, "expected")
_TABLE: dict[str, Metric] = {
    one.name: one
    for one in (
        of_class("faithfulness", Faithfulness, *_ANSWERED),
        of_class("hallucination", Hallucination, *_ANSWERED),
        of_class("answer_relevance", AnswerRelevance, "answer", "question"),
        of_class("completeness", Completeness, "answer"),
        of_class("correctness", Correctness, "answer"),
        of_class("context_precision", ContextPrecision, "context"),
        of_class("context_average_precision", ContextPrecision, "context", ranked=True),
        of_class("context_recall", ContextRecall, "context"),
        of_class("context_relevance", ContextRelevance, "context", "question"),
        of_class("context_utilization", ContextUtilization, *_ANSWERED),
        of_class("noise_sensitivity", NoiseSensitivity, *_NOISE),
        of_class("noise_sensitivity:irrelevant", NoiseSensitivity, *_NOISE, passages="irrelevant"),
        of_class("entity_recall", EntityRecall, "context"),
        *(of_class(f"summarisation:{part}", Summarisation, *_ANSWERED, of=part) for part in PARTS),
        of_class("semantic_similarity", SemanticSimilarity, "answer", "expected"),
        *map(_wording, WORDINGS),
    )
}
# The class's traits describe its other parts: compression asks no judge, and less is better.
_TABLE["summarisation:compression"] = replace(
    _TABLE["summarisation:compression"], best="low", counted=False, judged=False
)
