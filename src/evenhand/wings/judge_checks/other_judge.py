"""A judged expectation, asked of another judge, in other words, or several times.

How this works: whatever a scorer asks, it asks a model that its trial lends it for judging. So another judge is lent
in its place, and every scorer that judges takes part, with its own prompt and its own way to read a reply. Several
judges are a `Jury` of the same question. A whole prompt of the user's replaces the question itself: its answer is read
as that of a rubric.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Expectation, Scorer, Trial
from evenhand.core.message import CallRole, Message, Model
from evenhand.core.provider import Provider
from evenhand.core.record import Record
from evenhand.core.score import Outcome, Score
from evenhand.core.traits import Traits, label_of, traits_of
from evenhand.languages.templates.rendering import NO_CONFIG
from evenhand.providers.prompt_text import filled_messages
from evenhand.scorers.judge import MeetsRubric
from evenhand.scorers.judging import Judge
from evenhand.scorers.jury import Jury
from evenhand.wings.judge_checks.asking import criteria_of
from evenhand.wings.judge_checks.judge_variants import JudgeVariant

T = TypeVar("T")
_INNER = ("scorer", "of")
_WORDS = ("criteria", "criterion", "rubric")


def asked_of_variant(
    expectation: Expectation,
    variant: JudgeVariant,
    models: Sequence[Provider],
    trial: Trial,
    variables: Mapping[str, Any],
) -> Expectation:
    """The expectation as a variant of its judge is asked.

    Args:
        models: The variant's models, in its order; none for those of today.
        variables: What a prompt may name, beside the output and the criteria.

    Raises:
        ScoreError: Its criteria or its judge cannot be changed.
    """
    label = expectation.label or label_of(expectation.scorer)
    change = partial(_varied, variant=variant, models=models, trial=trial, variables=variables)
    changed = replace(expectation, scorer=_inside(expectation.scorer, change), label=label)
    # A prompt of the user's gives a verdict, which bounds of another scale say nothing of.
    return replace(changed, at_least=None, at_most=None) if variant.prompt else changed


def _inside(scorer: Any, change: Callable[[Any], Any]) -> Any:
    """A scorer with the question inside of it changed, of however many scorers that is wrapped in."""
    if not isinstance(scorer, Jury):
        for name in _INNER:
            inner = getattr(scorer, name, None)
            if hasattr(inner, "score") and dataclasses.is_dataclass(scorer):
                return replace(cast("Any", scorer), **{name: _inside(inner, change)})
    return change(scorer)


def _varied(
    scorer: Any,
    *,
    variant: JudgeVariant,
    models: Sequence[Provider],
    trial: Trial,
    variables: Mapping[str, Any],
) -> Any:
    question = scorer.of if isinstance(scorer, Jury) else scorer
    own: Sequence[Judge] = scorer.judges if isinstance(scorer, Jury) else ()
    if not models and not own and (variant.repeats > 1 or variant.prompt):
        own = [_judge_of(question, trial)]
    judges = [*(models or own)] * variant.repeats
    question = _in_words(question, variant, variables)
    if not judges:
        return question
    if len(judges) == 1:
        return OfAnotherJudge(question, judges[0])
    return Jury(judges, of=OfAnotherJudge(question))


def _in_words(question: Any, variant: JudgeVariant, variables: Mapping[str, Any]) -> Any:
    """The question in the variant's words."""
    if variant.prompt:
        criteria = variant.criteria or criteria_of(question)
        return MeetsRubric(
            criteria,
            cast("Provider", None),  # another one is lent in its place
            messages=partial(_messages, variant.prompt, variables),
            scale=None,
        )
    if not variant.criteria:
        return question
    for name in _WORDS:
        words = getattr(question, name, None)
        if isinstance(words, str):
            return replace(question, **{name: variant.criteria})
        if isinstance(words, (list, tuple)):
            return replace(question, **{name: [variant.criteria]})
    raise ScoreError(
        f"{label_of(question)} has no criteria in words that could be replaced",
        hint="Write a whole prompt instead: prompt: file://judge.txt.",
    )


def _messages(
    template: str, variables: Mapping[str, Any], criteria: str, output: str
) -> tuple[Message, ...]:
    values = {**variables, "criteria": criteria, "rubric": criteria, "output": output}
    return filled_messages(template, values, NO_CONFIG)


def _judge_of(question: Any, trial: Trial) -> Judge:
    """Who judges today."""
    for holder in (
        question,
        getattr(question, "grader", None),
        getattr(question, "evaluate", None),
    ):
        if (judge := getattr(holder, "judge", None)) is not None:
            return judge
    if trial.judge is None:
        raise ScoreError(
            f"it isn't known which model {label_of(question)} asks",
            hint="Name the variant's model: model: openai:gpt-5.",
        )
    return trial.judge


class OfAnotherJudge(Record, frozen=True):
    """A question, asked of another judge than the one that it would ask."""

    scorer: Scorer
    judge: Judge | None = None

    def judged_by(self, judge: Judge) -> OfAnotherJudge:
        return replace(self, judge=judge)

    @property
    def traits(self) -> Traits:
        """The question's traits."""
        return traits_of(self.scorer)

    async def score(self, output: Any, trial: Trial) -> Score:
        judge = self.judge
        provider = trial.provider(judge) if isinstance(judge, str) else cast("Provider", judge)
        lending = _Lending(trial, provider)
        answer = self.scorer.score(output, cast("Trial", lending))
        score = await answer if inspect.isawaitable(answer) else answer
        if not lending.asked:
            raise ScoreError(
                f"{label_of(self.scorer)} doesn't ask its judge through the run, so no other one can take its place",
                hint="Leave this metric out: --metric NAME tries the judges of another one.",
            )
        return score

    def __str__(self) -> str:
        return label_of(self.scorer)


class _Lending:
    """A trial that lends one judge in place of any other.

    Attributes:
        asked: Whether it was lent.
    """

    def __init__(self, trial: Trial, judge: Provider) -> None:
        self._trial, self._judge = trial, judge
        self.asked = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trial, name)

    @property
    def judge(self) -> Provider:
        """Who judges."""
        return self._judge

    def model(self, provider: Provider, role: CallRole) -> Model:
        """The model; for judging, the one that judges here."""
        if role == "judge":
            self.asked = True
            provider = self._judge
        return self._trial.model(provider, role)

    async def once(self, key: Hashable, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `ask` comes to, asked once for this judge: others of a panel ask for themselves."""
        self.asked = True
        return await self._trial.once((self, key), ask)

    async def settled(self, expectations: Sequence[Expectation]) -> Sequence[Outcome]:
        """Settles parts of an expectation, which are asked of the same judge."""
        mine = [replace(one, scorer=_Part(one.scorer, self)) for one in expectations]
        return await self._trial.settled(mine)


class _Part(Record, frozen=True):
    """A part of a question, asked in the trial that lends the other judge."""

    scorer: Scorer
    lending: _Lending

    def score(self, output: Any, trial: Trial) -> Any:
        del trial
        return self.scorer.score(output, cast("Trial", self.lending))

    def __str__(self) -> str:
        return label_of(self.scorer)
