"""What the judges of a cascade said of one output, for its outcome: by this, labels show how sure they have to be.

A verdict that stands by limits is the cascade's. One that both judges were asked for, as there are no limits, is the
second judge's own: it is the verdict that this judge alone would have given, and has its calibration.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from evenhand.core.cascade import JOINS, CascadeLimits, CascadingModel
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
        self._graded = form is not None and bool(form.graded)
        self._version = "" if form is None else form.version
        # By the names that are asked, as not every one answers.
        self._judge = JOINS.join((model.first.name, model.then.name))
        self.question = digest("" if form is None else form.instrument)[:16]
        self._kept: dict[str, Any] = {
            "id": model.cascade,
            "risk": model.risk,
            "people": model.people,
            "question": self.question,
            "system": model.system,
        }

    def first_failed(self, why: str) -> None:
        """The first judge gave no verdict."""
        self._kept["first"] = {"error": why[:200]}

    def first_said(self, reply: Reply, name: str) -> float:
        """What the first judge said; returns how sure it is."""
        details = reply.metadata[DECIDED]
        answer = {key: details[key] for key in ("probability", "probabilities") if key in details}
        likelihood = answer["probability"]
        sure = likelihood if "probabilities" in answer else max(likelihood, 1 - likelihood)
        if self._graded:  # a threshold is one of the probability
            answer["graded"] = True
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

    def are_judges_of(self, limits: CascadeLimits) -> bool:
        """Whether those that answered so far are the judges that limits were chosen for."""
        names = zip(("first", "then"), limits.judges, strict=True)
        return all(self._kept.get(stage, {}).get("judge", name) == name for stage, name in names)

    def reply(self, reply: Reply, stage: str, limits: CascadeLimits | None) -> Reply:
        """The reply of the judge whose verdict stands."""
        details = self._details(stage, limits)
        return replace(reply, metadata={**reply.metadata, CASCADE: details})

    def undecided(self, limits: CascadeLimits) -> Undecided:
        """That neither is sure enough."""
        first, then = self._kept["first"], self._kept["then"]
        sure = first.get("certainty")
        words = "it gave no verdict" if sure is None else f"{sure:.2f}"
        return Undecided(
            f"no judge is sure enough: the first {words}, the other {then['certainty']:.2f}",
            self._details("people", limits),
            hint=f"`evenhand label --unsure {self._kept['risk']:g}` opens it for a person.",
        )

    def _details(self, stage: str, limits: CascadeLimits | None) -> dict[str, Any]:
        details: dict[str, Any] = {"cascade": {**self._kept, "stage": stage}}
        if limits is None:
            return details
        # One instrument, whichever judge's verdict stands; by other limits other verdicts stand.
        instrument = digest(self.question, str(limits.first), str(limits.then))[:16]
        return {
            **details,
            "prompt": self._version,
            "instrument": instrument,
            "judge": self._judge,
        }
