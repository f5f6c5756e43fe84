"""A judge that looks at a simulated user's turns after the rules have found nothing, before they count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand.core.arguments import checked_class
from evenhand.core.expect import Trial
from evenhand.core.record import Record
from evenhand.core.score import Score, check
from evenhand.core.traits import Traits
from evenhand.doors.conversations.contract import UserContract
from evenhand.doors.conversations.fault import Fault
from evenhand.doors.conversations.talk import Talk
from evenhand.scorers.judge_prompt import judge_prompt, mark_of
from evenhand.scorers.judge_reply import ruled
from evenhand.scorers.judging import (
    UNSURE,
    AsksJudge,
    Judge,
    answer_details,
    answer_schema,
    ask_judge,
    check_judge,
    lent_judge,
)

METRIC = "simulated-user"
"""The metric under which a run has what the judge said of the simulated users."""
LOOKED_BACK = 24_000
"""Characters of the conversation that the judge is shown with a turn."""
_KEYS = 'with the keys "reasoning", "sound" (true or false) and "confidence" (from 0 to 1)'
_SCHEMA = answer_schema(sound={"type": "boolean"})


@checked_class
@dataclass(frozen=True, slots=True)
class TurnJudge(AsksJudge):
    """A judge that says whether a simulated user's turn is sound: `SimulatedUser(…, turn_judge=TurnJudge())`.

    It is asked about each turn that the rules let pass, so it costs a call for each. What it said is an outcome of the
    trial, `simulated-user`, that does not count for the verdict: label and calibrate it as any judged metric.

    Args:
        judge: Who judges; the set's judge by default.
        unsure_below: A confidence below this is warned of.

    Raises:
        UsageError: The judge isn't a model.
    """

    judge: Judge | None = field(default=None, repr=False)
    unsure_below: float = UNSURE

    def __post_init__(self) -> None:
        check_judge(self.judge)

    async def ruling(
        self, text: str, talk: Talk, contract: UserContract, trial: Trial, *, ends: bool = False
    ) -> Ruled:
        """What the judge says of a turn.

        Args:
            text: What the user is about to say.
            ends: It ends the conversation with it.

        Raises:
            JudgeError: It gave no verdict.
        """
        model = lent_judge(self.judge, trial)
        facts = written_facts(contract.facts)
        never = "\n".join(f"- {phrase}" for phrase in contract.never_says)
        before = talk.as_text(LOOKED_BACK)
        version, prompt = judge_prompt(
            "conversation/user_turn",
            {
                "mark": mark_of(contract.goal, facts, never, before, text),
                "goal": contract.goal,
                "facts": facts,
                "never": never,
                "conversation": before,
                "message": text,
                "ends": "yes" if ends else "",
            },
        )
        reply, (sound, reasoning, confidence) = await ask_judge(
            model, prompt, _read, _KEYS, _SCHEMA
        )
        details = answer_details(
            reply,
            model,
            version,
            confidence,
            text,
            before,
            unsure_below=self.unsure_below,
            prompt=prompt,
        )
        # A digest of the prompt would change with each goal, as if each had a judge of its own.
        details["instrument"] = version
        return Ruled(sound, reasoning, {"confidence": confidence, **details})


class Ruled(Record, frozen=True):
    """What the judge said of a turn.

    Attributes:
        sound: It makes no mistake.
        reasoning: Why, in the judge's words.
        details: Who judged, by which prompt, how sure.
    """

    sound: bool
    reasoning: str
    details: Mapping[str, Any]

    def fault(self) -> Fault | None:
        """The mistake that it found; None for none."""
        return None if self.sound else Fault("judged", self.reasoning)


class StaysInRole(Record, frozen=True):
    """What the judge said of a conversation's simulated user: 1 where it found every turn sound, 0 where it did not.

    Attributes:
        rulings: What it said of each turn that was judged, with the turn's number.
    """

    traits: ClassVar[Traits] = Traits(asks=())
    rulings: tuple[tuple[int, Ruled], ...]

    def score(self, output: Any, trial: Trial) -> Score:
        """Sums the rulings up."""
        del output, trial
        turn, decisive = next((one for one in self.rulings if not one[1].sound), self.rulings[-1])
        reason = decisive.reasoning if decisive.sound else f"turn {turn}: {decisive.reasoning}"
        sure = [c for _, one in self.rulings if (c := one.details.get("confidence")) is not None]
        details = {**decisive.details, "reasoning": reason}
        if sure:
            details["confidence"] = min(sure)
        return check(decisive.sound, reason, **details)

    def __str__(self) -> str:
        return "the simulated user stays in its role"


def written_facts(facts: Mapping[str, Any]) -> str:
    """Facts, one a line; empty for none."""
    return "\n".join(f"- {name}: {value}" for name, value in facts.items())


def _read(text: str) -> tuple[bool, str, float | None]:
    return ruled(text, "sound")[:3]
