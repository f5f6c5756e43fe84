"""Several judges, asked the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any, Protocol, runtime_checkable

from evenhand.core.errors import JudgeError, ProviderError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.score import Score
from evenhand.core.traits import Traits, label_of, traits_of
from evenhand.scorers.constructor_checks import need_list
from evenhand.scorers.judging import Judge, check_judge, side_by_side
from evenhand.scorers.opposite import Not, Question


@runtime_checkable
class JudgeQuestion(Protocol):
    """A question that a judge answers: `Passes`, `Rating`, `Preferred`, or a `CustomJudge`."""

    @property
    def judge(self) -> Judge | None: ...

    def judged_by(self, judge: Judge) -> JudgeQuestion:
        """The question, asked of this judge."""
        ...

    async def score(self, output: Any, trial: Trial) -> Score: ...


@dataclass(frozen=True, slots=True)
class Jury(Question):
    """Several judges answer the same question: `Jury([one, two, three], of=Passes("is polite"))`.

    Of verdicts, more than half must pass, and the score is the share that does. A judge that gives none leaves the
    verdict standing where it could not have changed it, without a score; otherwise it is an error. Of scores it is the
    mean, and every judge must give one. The metadata holds each judge's answer, and how far they lie apart:
    `agreement`, the share that the larger side has, `spread` and `deviation` (the sample's; None for one judge).

    Args:
        judges: Who judges. The same one may be named several times: it is asked as often.
        of: What they are asked.

    Raises:
        UsageError: There are no judges, one is none, or the question has a judge of its own.
    """

    judges: Sequence[Judge] = field(hash=False, repr=False)
    of: JudgeQuestion = field(kw_only=True)

    def __post_init__(self) -> None:
        need_list("Jury", self.judges, "Write Jury([one, another], of=…).")
        if isinstance(self.of, Not):
            raise UsageError(f"Jury: of={self.of}", hint="Write ~Jury([…], of=…) for the opposite.")
        if isinstance(self.of, type) or not isinstance(self.of, JudgeQuestion):  # pyright: ignore[reportUnnecessaryIsInstance] (a user may not type-check)
            raise UsageError(
                f"Jury: no judge answers {self.of!r}",
                hint="Write of=Passes(…), Rating(…), Preferred(…) or a CustomJudge of yours.",
            )
        object.__setattr__(self, "judges", tuple(self.judges))
        if not self.judges:
            raise UsageError("Jury: there are no judges")
        for judge in self.judges:
            if judge is None:  # pyright: ignore[reportUnnecessaryComparison] (a user may not type-check)
                raise UsageError("Jury: a judge is None")
            check_judge(judge)
        if self.of.judge is not None:
            raise UsageError(
                f"Jury: {label_of(self.of)} has a judge of its own",
                hint="Leave its judge= out: the jury judges.",
            )

    @property
    def traits(self) -> Traits:
        """The question's traits; a mean or a share of votes need not be on its scale."""
        of = traits_of(self.of)
        return Traits(gives=of.gives, counted=of.counted, lower_is_better=of.lower_is_better)

    async def score(self, output: Any, trial: Trial) -> Score:
        answers = await side_by_side(
            [_answer(self.of.judged_by(judge), output, trial) for judge in self.judges]
        )
        scores = [answer for answer in answers if isinstance(answer, Score)]
        errors = [answer for answer in answers if not isinstance(answer, Score)]
        metadata: dict[str, Any] = {"jury": [_answer_row(answer) for answer in answers]}
        verdicts = [score.passed for score in scores if score.passed is not None]
        if verdicts and len(verdicts) == len(scores):
            return self._by_vote(verdicts, scores, errors, metadata)
        if errors:
            raise JudgeError(
                f"{len(errors)} of {len(answers)} judges gave no score: {errors[0].message}",
                hint=errors[0].hint,
            )
        values = [score.value for score in scores if score.value is not None]
        if len(values) < len(scores):
            return Score(None, None, "the question did not apply", metadata)
        metadata.update(_dispersion(values))
        return Score(
            fmean(values),
            None,
            f"mean of {', '.join(f'{value:g}' for value in values)}: {scores[0].reason}",
            metadata,
            _means(scores),
        )

    def _by_vote(
        self,
        verdicts: Sequence[bool],
        scores: Sequence[Score],
        errors: Sequence[JudgeError | ProviderError],
        metadata: dict[str, Any],
    ) -> Score:
        yes, no, size = sum(verdicts), len(verdicts) - sum(verdicts), len(self.judges)
        passed = yes * 2 > size  # of all judges, not of those that answered
        # Had the missing ones voted for it, it would have passed: nobody knows the verdict.
        if not passed and (yes + len(errors)) * 2 > size:
            raise JudgeError(
                f"{yes} pass, {no} fail, and {len(errors)} of {size} judges gave no verdict: {errors[0].message}",
                hint=errors[0].hint,
            )
        values = [score.value for score in scores if score.value is not None]
        metadata["agreement"] = max(yes, no) / len(verdicts)
        with_majority = next((s for s in scores if s.passed is passed), scores[0])
        without = f", and {len(errors)} gave no verdict" if errors else ""
        reason = f"{yes} of {size} judges pass it{without}: {with_majority.reason}"
        # A share or a mean of the others would be one of another jury.
        if errors or len(values) < size:
            return Score(None, passed, reason, metadata)
        metadata.update(_dispersion(values))
        return Score(fmean(values), passed, reason, metadata, _means(scores))

    def __str__(self) -> str:
        return f"jury of {len(self.judges)}: {label_of(self.of)}"


async def _answer(
    question: JudgeQuestion, output: object, trial: Trial
) -> Score | JudgeError | ProviderError:
    """A judge's score, or why there is none. What ends a run is raised."""
    try:
        return await question.score(output, trial)
    except JudgeError as error:
        return error
    except ProviderError as error:
        if error.fatal:
            raise
        return error


def _answer_row(answer: Score | JudgeError | ProviderError) -> dict[str, Any]:
    """One judge's answer, for the metadata."""
    if isinstance(answer, Score):
        return {"score": answer.value, "passed": answer.passed, **answer.metadata}
    return {"score": None, "passed": None, "error": answer.slug, "reason": answer.message}


def _dispersion(values: Sequence[float]) -> dict[str, float | None]:
    return {
        "spread": max(values) - min(values),
        "deviation": stdev(values) if len(values) > 1 else None,
    }


def _means(scores: Sequence[Score]) -> dict[str, float]:
    """The mean of each named number that all judges gave."""
    names = [name for name in scores[0].named if all(name in score.named for score in scores)]
    return {name: fmean([score.named[name] for score in scores]) for name in names}
