"""A judge's score by a rubric."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand.core.errors import JudgeError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.score import Score
from evenhand.core.traits import Traits, TraitsOf
from evenhand.scorers.constructor_checks import need_number, need_text
from evenhand.scorers.judge_prompt import judge_prompt
from evenhand.scorers.judge_reply import confidence_of, number, reasoning_of, the_object
from evenhand.scorers.judging import (
    UNSURE,
    AsksJudge,
    answer_details,
    answer_schema,
    ask_judge,
    check_judge,
    lent_judge,
)
from evenhand.scorers.rubric import Rubric
from evenhand.scorers.text import text_of


@dataclass(frozen=True, slots=True)
class Rating(AsksJudge):
    """A judge's score by a rubric, on its own scale. A bound decides: `expect(text, Rating(CLARITY), at_least=4)`.

    A score that the rubric does not have is asked for again, and then an error. The outcome's metadata holds the
    score, the reasoning, the confidence, who judged, the rubric and the version of the prompt.

    Args:
        rubric: What each score stands for; a plain text is a rubric called `custom`, from 1 to 5.
        context: What else the judge should know.
        judge: Who judges; the set's judge by default.
        unsure_below: A confidence below this is warned of.

    Raises:
        UsageError: It is not a rubric, its text is empty, or the judge isn't a model.
    """

    traits: ClassVar[TraitsOf[Rating]] = TraitsOf(
        Traits(gives="number", counted=False), lambda rating: rating.own_traits
    )

    rubric: Rubric | str
    context: str = field(default="", kw_only=True)
    unsure_below: float = field(default=UNSURE, kw_only=True)

    def __post_init__(self) -> None:
        check_judge(self.judge)
        need_text("Rating", "context", self.context)
        need_number("Rating", "unsure_below", self.unsure_below, (0, 1))
        if not isinstance(self.rubric, (str, Rubric)):  # pyright: ignore[reportUnnecessaryIsInstance] (a user may not type-check)
            raise UsageError(
                f"Rating: {self.rubric!r} is not a rubric",
                hint="Write Rating(CLARITY), a Rubric of your own, or its words as a text.",
            )
        if isinstance(self.rubric, str):
            object.__setattr__(self, "rubric", Rubric("custom", self.rubric))

    async def score(self, output: Any, trial: Trial) -> Score:
        model = lent_judge(self.judge, trial)
        text = text_of(output)
        rubric = self._rubric
        version, prompt = judge_prompt(
            "rating",
            {
                "rubric": rubric.text,
                "scores": rubric.scores,
                "context": self.context,
                "output": text,
            },
            rubric.steps,
        )

        def read(answer: str) -> tuple[float, str, float | None]:
            value = the_object(answer, ["score"])
            if value["score"] is None:
                raise JudgeError("the judge gave no score")
            # The rubric itself decides which scores there are: it may lack some between its lowest and its highest.
            score = rubric.checked(number(value["score"], None))
            return score, reasoning_of(value), confidence_of(value)

        keys = (
            f'with the keys "reasoning", "score" ({rubric.scores}) and "confidence" (from 0 to 1)'
        )
        schema = answer_schema(score=rubric.schema)
        reply, (score, reasoning, confidence) = await ask_judge(model, prompt, read, keys, schema)
        details = answer_details(
            reply, model, version, confidence, text, unsure_below=self.unsure_below, prompt=prompt
        )
        rated = {"rubric": rubric.name, "scale": list(rubric.scale)}
        metadata = {"score": score, "reasoning": reasoning, **rated, **details}
        return Score(score, None, reasoning, metadata, scale=self.traits.scale)

    @property
    def own_traits(self) -> Traits:
        """On the rubric's scale."""
        low, high = self._rubric.scale  # its own, not from 0 to 1
        return Traits(gives="number", scale=(float(low), float(high)), counted=False)

    @property
    def _rubric(self) -> Rubric:
        return self.rubric if isinstance(self.rubric, Rubric) else Rubric("custom", self.rubric)

    def __str__(self) -> str:
        return f"rating {self._rubric.name}"
