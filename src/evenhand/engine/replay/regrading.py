"""Today's expectations and judges over the outputs of an earlier run: what the subject is asked is answered from it.

How this works: the code of each trial runs, and asks. The subject's and the set-up's calls get the recorded answer of
the same request; or, as prompts may have changed since, that of the same trial's call with the same number; or, where
the run has no calls (it was imported, say), the trial's output. Only what judges are asked is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from evenhand.core.case import Case
from evenhand.core.definition import TALK, content_of
from evenhand.core.encoding import encode
from evenhand.core.errors import NotRecorded
from evenhand.core.message import CallRole, Reply
from evenhand.core.plan import Plan
from evenhand.core.provider import Provider, Request
from evenhand.core.run import CallEnd, CallStart, ToolRecord, TrialResult
from evenhand.core.step import Step
from evenhand.core.variant import Variant
from evenhand.engine.replay.answering import Replay, replay_record
from evenhand.engine.replay.summary import outputs_of
from evenhand.providers.app_call import AppCall
from evenhand.store.recordings import Recordings, variant_ids
from evenhand.store.runfile import RunFile

if TYPE_CHECKING:
    from evenhand.engine.trial import LiveTrial

_HINT = "Run the evals again: only outputs that are there can be graded."
_Same = Callable[[Variant], object]
_LIKE: tuple[_Same, ...] = (
    lambda one: (one.eval, one.prompt, one.model),
    lambda one: (one.eval, one.model),
    lambda one: (one.prompt, one.model),
    lambda one: one.model,
    lambda _: None,
)
"""What variants of two plans may have in common, the most telling first."""


class Regrade(Replay):
    """The outputs of a run, for the trials of one plan."""

    def __init__(self, recordings: Recordings, variants: Sequence[Variant]) -> None:
        super().__init__(recordings, variants, lambda: recordings.which, hint=_HINT)
        self._variants.update(_paired(variants, recordings.header.variants))
        self._asked: dict[tuple[int, str], int] = {}
        self._following: set[int] = set()
        """The trials whose simulated user was asked the very same as when it was recorded."""
        self._elsewhere: set[int] = set()
        """Trials that went another way: the user says something else, or says it at another time."""
        self._questions: dict[int, list[str]] = {}
        """The trials whose case says something else than the one that was answered, and what."""

    @staticmethod
    def over(recordings: Recordings, plan: Plan) -> Regrade:
        """The outputs of a run, for the trials of this plan."""
        return Regrade(recordings, plan.variants)

    def may_ask(self, role: CallRole) -> bool:
        return role == "judge"

    def answer(self, trial: LiveTrial, start: CallStart, request: Request) -> CallEnd | None:
        if start.role == "judge":
            return None
        number = self._number(start.trial, start.role)
        recorded = super().answer(trial, start, request)
        if start.role == "simulator":
            # It is asked what was said before: where that is no longer the same, its next turn answers something else.
            if recorded is None and start.trial in self._following:
                self._elsewhere.add(start.trial)
                return None
            if recorded is not None:
                self._following.add(start.trial)
        if recorded is not None:
            return recorded
        place = self.place(trial)
        result = None if place is None else self.recordings.trial(place)
        if result is not None and (parts := _other_parts(trial, result)):
            self._questions[start.trial] = parts
            return None
        if result is not None and _goes_by_another(trial, result):
            self._elsewhere.add(start.trial)
            return None
        calls = self.recordings.of_trial(-1 if place is None else place)
        same = [call for call in calls if call.role == start.role]
        if number >= len(same):
            return None
        if start.trial in self._following:
            before = takewhile(lambda call: call is not same[number], calls)
            turns = sum(call.role == "simulator" for call in before)
            if turns != self._asked[start.trial, "simulator"]:
                self._elsewhere.add(start.trial)
                return None
        # A user whose script was edited says something else: the old answer would be none to that.
        turns = _turns(trial.step_log.steps())
        if (
            turns
            and place is not None
            and turns != _turns(self.recordings.steps(place))[: len(turns)]
        ):
            self._elsewhere.add(start.trial)
            return None
        record = self.recordings.read(same[number].id)
        return record.end if record else None

    def stored(self, trial: LiveTrial, provider: Provider, start: CallStart) -> Reply | None:
        place = self.place(trial)
        if place is None or isinstance(provider, AppCall) or start.role in ("judge", "simulator"):
            return None
        result = self.recordings.trial(place)
        called = any(call.role != "judge" for call in self.recordings.of_trial(place))
        if result is None or result.output is None or called:
            return None
        # Variables may be references, too: of other ones, a prompt with the same text made none.
        parts = _other_parts(trial, result)
        if parts and not (parts == [_VARIABLES] and result.prompt in ("", trial.prompt_text)):
            self._questions[start.trial] = parts
            return None
        self._questions.pop(start.trial, None)
        trial.step_log.stand_in(self.recordings.steps(place))
        output: Any = result.output
        text = output if isinstance(output, str) else encode(output, ordered=False).decode()
        metadata = result.answer.metadata
        return Reply(
            text, output, latency_s=result.latency_s, metadata=metadata, origin="replay", attempts=0
        )

    def missed(
        self, trial: LiveTrial, role: CallRole, provider: str, request: Request
    ) -> NotRecorded:
        del request, role
        source, place = self.recordings.header.name, self.place(trial)
        result = None if place is None else self.recordings.trial(place)
        if place is None:
            what = f"{source} has no output of this case, variant and repeat"
        elif result is not None and result.error is not None:
            what = f"{source} has no output here: it ended in {result.error.slug}"
        elif parts := self._questions.get(trial.planned.index):
            what = f"this case has {' and '.join(parts)} in {source}: the answer there is to another question"
        elif trial.planned.index in self._elsewhere:
            what = f"the conversation takes another course than in {source}: its user says something else"
        else:
            what = f"{source} has no further answer of {provider} for this trial"
        return NotRecorded(what, hint=_HINT)

    def tool(
        self, trial: LiveTrial, name: str, arguments: bytes, key: str, nth: int
    ) -> ToolRecord | None:
        number = self._number(trial.planned.index, f"tool {name}")
        recorded = super().tool(trial, name, arguments, key, nth)
        if recorded is not None:
            return recorded
        place = self.place(trial)
        calls = [
            c for c in self.recordings.tools_of(-1 if place is None else place) if c.name == name
        ]
        return calls[number] if number < len(calls) else None

    def record(self, others: Sequence[Replay] = ()) -> dict[str, Any]:
        del others
        record = replay_record([self.recordings.header], asks=False)
        record["replay"]["regrades"] = True
        with RunFile.open(self.recordings.header.file) as graded:
            if (first := outputs_of(graded.meta)) != graded.meta.id:
                record["replay"]["first"] = first
        return record

    def _number(self, trial: int, what: str) -> int:
        """How many calls of a kind the trial has made before."""
        number = self._asked.get((trial, what), 0)
        self._asked[trial, what] = number + 1
        return number


_VARIABLES = "other variables"
_PARTS = {"input": "another input", "context": "another context"}


def _turns(steps: Iterable[Step]) -> list[object]:
    """What users said in a trial's conversations, in their order."""
    return [one.result for one in steps if (one.kind, one.name) == ("message", "user")]


def _goes_by_another(trial: LiveTrial, result: TrialResult) -> bool:
    """Whether a conversation of the trial, as far as they have begun, was another one when it was recorded."""
    before = result.content
    return any(
        part.startswith(TALK) and before.get(part, own) != own
        for part, own in trial.content.items()
    )


def _other_parts(trial: LiveTrial, result: TrialResult) -> list[str]:
    """What a trial's case says otherwise than the recorded one, in words. What is expected may be corrected."""
    case = trial.planned.case
    now = content_of(case, trial.vars)
    before = result.content or content_of(Case(id=result.case, input=result.input), {})
    parts = [words for part, words in _PARTS.items() if now.get(part) != before.get(part)]
    if not result.content:  # an earlier version's, or another program's
        parts = [_PARTS["input"]] if None not in (case.input, result.input) and parts else []
    # What is filled in when the trial runs, today's date say, is no edit of the case.
    fixed = {name: own for name, own in case.vars.items() if trial.vars.get(name, own) == own}
    if any(name in result.vars and result.vars[name] != own for name, own in fixed.items()):
        parts.append(_VARIABLES)
    return parts


def _paired(now: Sequence[Variant], before: Sequence[Variant]) -> Iterator[tuple[int, str]]:
    """The variants that are called otherwise now, each with the id that it had: where no other is meant."""
    ids = dict(zip((one.index for one in before), variant_ids(before), strict=True))
    known = set(ids.values())
    left = [one for one, id_ in zip(now, variant_ids(now), strict=True) if id_ not in known]
    mine = set(variant_ids(now))
    right = [one for one in before if ids[one.index] not in mine]
    for same in _LIKE:
        for one in list(left):
            alike = [other for other in right if same(other) == same(one)]
            rivals = [other for other in left if same(other) == same(one)]
            if len(alike) == len(rivals) == 1:
                left.remove(one)
                right.remove(alike[0])
                yield one.index, ids[alike[0].index]
