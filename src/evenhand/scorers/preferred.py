"""A judge's preference between two outputs, asked in both orders.

How this works: judges like what they read first, or last. So each pair is shown twice, with the places changed. Only
where both answers name the same text is it preferred; where they name different ones, the place decided and not the
text, and that is a tie. Which text stood where is kept with each answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from evenhand.core.encoding import digest
from evenhand.core.errors import JudgeError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.message import Model
from evenhand.core.record import Record
from evenhand.core.score import Score
from evenhand.core.traits import Traits
from evenhand.scorers.constructor_checks import need_number, need_text
from evenhand.scorers.judge_prompt import judge_prompt
from evenhand.scorers.judge_reply import confidence_of, reasoning_of, the_object, value_shown
from evenhand.scorers.judging import (
    UNSURE,
    AsksJudge,
    answer_details,
    answer_schema,
    ask_judge,
    check_judge,
    lent_judge,
    side_by_side,
)
from evenhand.scorers.text import quoted, text_of

Ties = Literal["half", "win", "lose", "forbid"]
Winner = Literal["output", "other", "tie"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferred(AsksJudge):
    """A judge prefers the output to another one, in both orders: 1; or the other one: 0.

    The outcome's metadata holds the winner (`output`, `other` or `tie`), whether both orders agree, and for each order
    which text stood first, who won, and why.

    Args:
        over: The other one.
        criteria: By what they are compared.
        ties: What a tie is, whether the judge says so or changes its mind with the order: `half` is a score of 0.5 that
            does not pass, `win` a 1 that passes (at least as good), `lose` a 0. With `forbid` the judge must choose,
            and one that chooses by order gives no verdict at all: an error.
        context: What else the judge should know.
        judge: Who judges; the set's judge by default.
        unsure_below: A confidence below this is warned of.

    Raises:
        UsageError: There are no criteria, nothing to compare with, no such rule for ties, or the judge isn't a model.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")

    over: Any
    criteria: str
    ties: Ties = "half"
    context: str = ""
    unsure_below: float = UNSURE

    def __post_init__(self) -> None:
        check_judge(self.judge)
        check_comparison("Preferred", self.criteria, self.context, self.unsure_below)
        if self.over is None:
            raise UsageError("Preferred: over=None is nothing to compare with")
        if self.ties not in get_args(Ties):
            raise UsageError(
                f"Preferred: ties={self.ties!r}", hint="It is one of half, win, lose and forbid."
            )

    async def score(self, output: Any, trial: Trial) -> Score:
        model = lent_judge(self.judge, trial)
        mine, other = text_of(output), text_of(self.over)
        one, two = await side_by_side(
            [
                self._asked(model, mine, other, mine_first=True),
                self._asked(model, mine, other, mine_first=False),
            ]
        )
        winner: Winner = one["winner"] if one["winner"] == two["winner"] else "tie"
        consistent = one["winner"] == two["winner"]
        if self.ties == "forbid" and not consistent:
            raise JudgeError(
                f"the judge prefers whichever stands {'first' if one['winner'] == 'output' else 'second'}",
                hint="Ask another judge, sharpen the criteria, or allow ties.",
            )
        metadata: dict[str, Any] = {
            "winner": winner,
            "consistent": consistent,
            "judge": one["judge"],
            "prompt": one["prompt"],
            "instrument": digest(one["instrument"], two["instrument"])[:16],
            "orders": [one, two],
        }
        for name in ("warning", "suspect"):
            note = one.get(name) or two.get(name)
            if note:
                metadata[name] = note
        if winner == "tie":
            value, passed = {"half": (0.5, False), "win": (1.0, True), "lose": (0.0, False)}[
                self.ties
            ]
            why = "the judge says so" if consistent else "the order decided"
            reason = f"a tie, {why}: {one['reasoning']}"
        else:
            passed = winner == "output"
            value = 1.0 if passed else 0.0
            reason = one["reasoning"]
        return Score(value, passed, reason, metadata)

    async def _asked(
        self, model: Model, mine: str, other: str, *, mine_first: bool
    ) -> dict[str, Any]:
        question = PreferenceQuestion(
            criteria=self.criteria,
            context=self.context,
            ties=self.ties != "forbid",
            unsure_below=self.unsure_below,
        )
        answer = await question.asked_of(
            model, mine if mine_first else other, other if mine_first else mine
        )
        winner: Winner = "tie"
        if answer["said"] != "tie":
            winner = "output" if (answer["said"] == "first") is mine_first else "other"
        return {"first": "output" if mine_first else "other", "winner": winner, **answer}

    def __str__(self) -> str:
        return f"preferred by {quoted(self.criteria.strip())}"


_CHOICES = (
    ("first", "the first text"),
    ("second", "the second text"),
    ("tie", "neither is better"),
)


def check_comparison(name: str, criteria: object, context: object, unsure_below: object) -> None:
    """Refuses what nothing can be compared by.

    Args:
        name: The scorer, as messages call it.
        criteria: By what to compare.
        context: What else the judge should know.
        unsure_below: A confidence below this is warned of.

    Raises:
        UsageError: There are no criteria, or one of these is of the wrong kind.
    """
    need_text(name, "criteria", criteria)
    if not str(criteria).strip():
        raise UsageError(f"{name}: there are no criteria", hint="Say by what to compare.")
    need_text(name, "context", context)
    need_number(name, "unsure_below", unsure_below, (0, 1))


class PreferenceQuestion(Record, frozen=True, kw_only=True):
    """By what two texts are compared.

    Attributes:
        context: What else the judge should know.
        ties: Whether the judge may prefer neither.
        unsure_below: A confidence below this is warned of.
    """

    criteria: str
    context: str
    ties: bool
    unsure_below: float

    async def asked_of(self, model: Model, first: str, second: str) -> dict[str, Any]:
        """The answer, for the metadata: `said` is `first`, `second` or `tie`, beside what is kept of every judge.

        Raises:
            JudgeError: There is no usable answer.
        """
        version, prompt = judge_prompt(
            "preferred",
            {
                "criteria": self.criteria.strip(),
                "ties": "yes" if self.ties else "",
                "context": self.context,
                "first": first,
                "second": second,
            },
            _CHOICES if self.ties else _CHOICES[:2],
        )
        words = ["first", "second", "tie"] if self.ties else ["first", "second"]

        def read(answer: str) -> tuple[str, str, float | None]:
            value = the_object(answer, ["winner"])
            place = str(value["winner"]).strip().lower()
            if place not in words:
                raise JudgeError(
                    f"the judge's winner is {value_shown(value['winner'])}, not one of {', '.join(words)}"
                )
            return place, reasoning_of(value), confidence_of(value)

        keys = f'with the keys "reasoning", "winner" ({" or ".join(words)}) and "confidence" (from 0 to 1)'
        schema = answer_schema(winner={"type": "string", "enum": words})
        reply, (place, reasoning, confidence) = await ask_judge(model, prompt, read, keys, schema)
        own = {"said": place, "reasoning": reasoning}
        judged, unsure_below = (first, second), self.unsure_below
        return own | answer_details(
            reply, model, version, confidence, *judged, unsure_below=unsure_below, prompt=prompt
        )
