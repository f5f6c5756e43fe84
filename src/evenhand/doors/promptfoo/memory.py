"""What a trial takes from earlier ones: stored outputs (`storeOutputAs`) and conversations (`_conversation`).

How this works: the plan walks its steps in the order in which promptfoo would run them one after the other, and notes
for each which earlier step last stored outputs, and which was the last turn of its conversation. A trial keeps, with
its result, all outputs stored so far and its own turn; those that come after it read that. So one who goes on with a
run after a crash needs nothing but the results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from evenhand.core.expect import Trial
from evenhand.core.json_shapes import as_mapping
from evenhand.core.message import Prompt
from evenhand.core.record import MutableRecord, Record
from evenhand.doors.promptfoo.prompts import is_chat
from evenhand.doors.promptfoo.tests import Test

CONVERSATION = "_conversation"


class Turn(Record, frozen=True):
    """A step of a conversation, and the one before it."""

    index: int
    before: Turn | None


class Memory(MutableRecord, kw_only=True):
    """What one trial takes from earlier ones, and what it keeps for later ones.

    Attributes:
        stored: The step that last stored an output.
        turn: The last turn of its conversation.
        speaks: It is a turn of a conversation itself.
        listens: It is told what was said before.
        stores: The variable that its output becomes; empty for none.
    """

    stored: int | None = None
    turn: Turn | None = None
    speaks: bool = False
    listens: bool = False
    stores: str = ""
    _kept: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def after(self) -> tuple[int, ...]:
        """The steps that have to be settled before: all that it reads from, each turn of its conversation included."""
        before = set[int]() if self.stored is None else {self.stored}
        turn = self.turn
        while turn is not None:
            before.add(turn.index)
            turn = turn.before
        return tuple(sorted(before))

    def outputs(self, trial: Trial) -> Mapping[str, Any]:
        """The outputs stored so far, by the names of their variables."""
        outputs: Mapping[str, Any] = {}
        if self.stored is not None:
            outputs = _part(trial.kept(self.stored), "outputs")
        if self.stores:
            # What was there stays there where this trial has no output.
            self._kept = {**self._kept, "outputs": dict(outputs)}
            trial.keep(self._kept)
        return outputs

    def turns(self, trial: Trial) -> list[Mapping[str, Any]]:
        """The turns so far, the first one first."""
        turns: list[Mapping[str, Any]] = []
        turn = self.turn
        while turn is not None:
            record = _part(trial.kept(turn.index), "turn")
            if record:
                turns.append(record)
            turn = turn.before
        return turns[::-1]

    def asked(self, trial: Trial, prompt: Prompt) -> None:
        """Keeps the turn as it is when its model has not answered yet: that may be all there will be of it."""
        if self.speaks:
            text: object = prompt.text
            user_input: object = text
            if is_chat(prompt.text):
                last = prompt.messages[-1].content if prompt.messages else ""
                text = [row for m in prompt.messages for row in m.rows]
                user_input = last
            self._keep(
                trial, "turn", {"prompt": text, "input": user_input, "output": "", "metadata": {}}
            )

    def answered(self, trial: Trial, output: object, metadata: Mapping[str, Any]) -> None:
        """Keeps what was answered, before anything changes it."""
        if self.speaks:
            turn = {**self._kept["turn"], "output": output or "", "metadata": dict(metadata)}
            self._keep(trial, "turn", turn)

    def finished(self, trial: Trial, output: object) -> None:
        """Stores the output as it is in the end. An empty one leaves what was stored before."""
        if self.stores and output:
            self._keep(trial, "outputs", {**self._kept.get("outputs", {}), self.stores: output})

    def _keep(self, trial: Trial, name: str, value: object) -> None:
        self._kept = {**self._kept, name: value}
        trial.keep(self._kept)


class Reached(MutableRecord):
    """How far a walk over the steps has come."""

    stored: int | None = None
    turns: dict[str, Turn] = msgspec.field(default_factory=dict[str, Turn])


class Links:
    """Says of each step, in the plan's order, what it takes from earlier ones.

    Steps that stand alone are run before all others, so they take from each other only, and the others from them.

    Args:
        first: A walk over the whole plan that has been made before, where some of its steps stand alone.
    """

    def __init__(self, first: Links | None = None) -> None:
        self.alone = Reached()
        """How far the steps that stand alone have come."""
        self._others = Reached()
        if first is not None:
            self._others = Reached(first.alone.stored, dict(first.alone.turns))

    def of(self, index: int, test: Test, conversation: str, *, answers: bool = True) -> Memory:
        """What the step at this place takes.

        Args:
            answers: Whether it will have an output. Nobody goes on from one that is not asked.
            conversation: What tells the conversations of its variant from others; empty where its prompt asks for none.
        """
        reached = self.alone if test.alone else self._others
        if conversation:
            conversation += f":{test.metadata.get('conversationId') or ''}"
        turn = reached.turns.get(conversation) if conversation else None
        memory = Memory(
            stored=reached.stored,
            turn=turn,
            speaks=bool(conversation),
            listens=bool(conversation) and test.listens,
            stores=test.stores,
        )
        if test.stores and answers:
            reached.stored = index
        if conversation and answers:
            reached.turns[conversation] = Turn(index, turn)
        return memory


def _part(stored: object, name: str) -> Mapping[str, Any]:
    return as_mapping(as_mapping(stored).get(name))
