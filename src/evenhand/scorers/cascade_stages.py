"""What the judges of a cascade said of one output, for its outcome: by this, labels show how sure they have to be."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from evenhand.core.cascade import JOINS, CascadingModel
from evenhand.core.encoding import digest
from evenhand.core.errors import JudgeError, Undecided
from evenhand.core.json_shapes import is_number
from evenhand.core.message import Prompt, Reply
from evenhand.scorers.deciding import CASCADE, DECIDED
from evenhand.scorers.judge_prompt import JudgePrompt
from evenhand.scorers.judge_reply import the_object


class Stages:
    """What each judge said, as far as it was asked."""

    def __init__(self, model: CascadingModel, prompt: Prompt) -> None:
        form = prompt.decision if isinstance(prompt, JudgePrompt) else None
        self._kept: dict[str, Any] = {"id": model.cascade, "risk": model.risk}
        # By the names that are asked, as not every one answers.
        self._judge = JOINS.join((model.first.name, model.then.name))
        # One instrument, whichever judge's verdict stands: that of the question.
        self._instrument = "" if form is None else form.question.instrument
        self._version = "" if form is None else form.version

    @property
    def question(self) -> str:
        """A digest of what is asked, apart from what is judged: limits hold for this question only."""
        return digest(self._instrument or self._version)

    def first_failed(self, why: str) -> None:
        """The first judge gave no verdict."""
        self._kept["first"] = {"error": why[:200]}

    def first_said(self, reply: Reply, name: str) -> float:
        """What the first judge said; returns how sure it is."""
        details = reply.metadata[DECIDED]
        answer = {key: details[key] for key in ("probability", "probabilities") if key in details}
        likelihood = answer["probability"]
        sure = likelihood if "probabilities" in answer else max(likelihood, 1 - likelihood)
        self._kept["first"] = {**answer, "certainty": sure, "judge": reply.model or name}
        return sure

    def then_said(self, reply: Reply, name: str) -> float:
        """What the second judge said; returns how sure it is, 1 where it doesn't say."""
        try:
            stated = the_object(reply.text, ["confidence"])["confidence"]
        except JudgeError:
            stated = None
        sure = float(stated) if is_number(stated) and 0 <= stated <= 1 else 1.0
        self._kept["then"] = {"certainty": sure, "judge": reply.model or name}
        return sure

    def reply(self, reply: Reply, stage: str) -> Reply:
        """The reply of the judge whose verdict stands."""
        return replace(reply, metadata={**reply.metadata, CASCADE: self._details(stage)})

    def undecided(self) -> Undecided:
        """That neither is sure enough."""
        first, then = self._kept["first"], self._kept["then"]
        sure = first.get("certainty")
        words = "it gave no verdict" if sure is None else f"{sure:.2f}"
        return Undecided(
            f"no judge is sure enough: the first {words}, the other {then['certainty']:.2f}",
            self._details("people"),
            hint=f"`evenhand label --unsure {self._kept['risk']:g}` opens it for a person.",
        )

    def _details(self, stage: str) -> dict[str, Any]:
        details: dict[str, Any] = {**self._kept, "stage": stage}
        return {
            "cascade": details,
            "prompt": self._version,
            "instrument": self._instrument,
            "judge": self._judge,
        }
