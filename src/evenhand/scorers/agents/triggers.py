"""Whether a skill would be used for what somebody says, and whether it should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand.core.errors import JudgeError
from evenhand.core.expect import Trial
from evenhand.core.score import TRIGGER_PRECISION, TRIGGER_RECALL, Score
from evenhand.core.traits import Traits
from evenhand.scorers.judge_prompt import judge_prompt
from evenhand.scorers.judge_reply import confidence_of, reasoning_of, the_object, yes_or_no
from evenhand.scorers.judging import (
    UNSURE,
    Judge,
    answer_details,
    answer_schema,
    ask_judge,
    lent_judge,
)
from evenhand.scorers.text import text_of

_KEYS = 'with the keys "reasoning", "matches" (true or false) and "confidence" (from 0 to 1)'
_SCHEMA = answer_schema(matches={"type": "boolean"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    """A judge who knows only what a skill says of itself uses it for this query, as it should; or leaves it.

    Over many queries the mean of `trigger recall` is the share of those that should be matched and were; the mean of
    `trigger precision` is the share of those that were matched and should be. A query tells of each only where it can.

    Attributes:
        wanted: Whether the skill should be used.
        description: What the skill says that it is for.
        positive: What people say who want it.
        negative: What it is not for.
        others: Other skills, each a name with its description, that could be used instead.
    """

    traits: ClassVar[Traits] = Traits(asks=("wanted",))
    wanted: bool
    description: str
    positive: Sequence[str] = ()
    negative: Sequence[str] = ()
    others: Sequence[str] = ()
    judge: Judge | None = field(default=None, repr=False)

    async def score(self, output: Any, trial: Trial) -> Score:
        model = lent_judge(self.judge, trial)
        query = text_of(output)
        version, prompt = judge_prompt(
            "triggers",
            {
                "description": self.description.strip(),
                "positive": _listed(self.positive),
                "negative": _listed(self.negative),
                "others": _listed(self.others),
                "query": query,
            },
        )
        reply, (matches, reasoning, confidence) = await ask_judge(
            model, prompt, _read, _KEYS, _SCHEMA
        )
        passed = matches is self.wanted
        named: dict[str, float] = {}
        if matches:
            named[TRIGGER_PRECISION] = float(self.wanted)
        if self.wanted:
            named[TRIGGER_RECALL] = float(matches)
        metadata = {
            "decision": "YES" if matches else "NO",
            "reasoning": reasoning,
            **answer_details(reply, model, version, confidence, query, unsure_below=UNSURE),
        }
        return Score(float(passed), passed, reasoning, metadata, named)

    def __str__(self) -> str:
        return "triggers" if self.wanted else "does not trigger"


def _read(text: str) -> tuple[bool, str, float | None]:
    value = the_object(text, ["matches"])
    if value["matches"] is None:
        raise JudgeError("the judge made no decision")
    return yes_or_no(value["matches"]), reasoning_of(value), confidence_of(value)


def _listed(lines: Sequence[str]) -> str:
    # A line break inside a description would begin an item of its own.
    return "\n".join(f"- {' '.join(line.split())}" for line in lines)
