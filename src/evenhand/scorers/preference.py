"""One question to a judge: which of two texts is better, the one shown first or the other?"""

from __future__ import annotations

from typing import Any

from evenhand.core.errors import JudgeError, UsageError
from evenhand.core.message import Model
from evenhand.core.record import Record
from evenhand.scorers.argument_checks import need_number, need_text
from evenhand.scorers.judge_prompt import judge_prompt
from evenhand.scorers.judge_reply import confidence_of, reasoning_of, the_object, value_shown
from evenhand.scorers.judging import answer_details, answer_schema, ask_judge

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
        criteria: The criteria.
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
        details = answer_details(
            reply,
            model,
            version,
            confidence,
            first,
            second,
            unsure_below=self.unsure_below,
            prompt=prompt,
        )
        return {"said": place, "reasoning": reasoning, **details}
