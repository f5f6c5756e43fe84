"""A case under examination: its own body and expectations, given one made answer after the other.

How this works: a case's body runs with all that is its own (prompt, fixtures, transforms, tools), and is given an
answer where it asks. Running it for each of a dozen answers takes long, and most bodies do nothing with an answer but
expect something of it. So a body runs for two marks first. Where both times it expects the same of them, of the very
text, it would of any other answer: that is put in the mark's place, and the body isn't run again. A body that asks
nobody has an output of its own; the same is done with that, once.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import field
from msgspec.structs import replace

from evenhand.core.errors import NotRecorded
from evenhand.core.expect import Expectation
from evenhand.core.json_shapes import texts_in
from evenhand.core.message import Prompt
from evenhand.core.plan import PlannedTrial
from evenhand.core.provider import Host, Provider
from evenhand.core.record import MutableRecord, Record
from evenhand.core.run import TrialError
from evenhand.core.score import Outcome, State, Verdict
from evenhand.core.step import Step
from evenhand.engine.call_context import Home, during, phase
from evenhand.engine.capture import Sink, current
from evenhand.engine.outcome import ANYTHING, trial_error
from evenhand.engine.trial import LiveTrial, present
from evenhand.wings.audit.given import Answer, Given, reply_of
from evenhand.wings.audit.reading import demand_of, judge_in
from evenhand.wings.audit.users_code import Memory, refused

MARKS = ("<made answer 1: zqx>", "<made answer 2: wvk>")
"""Two answers that no suite expects."""


class GivenTrial(LiveTrial):
    """A trial that notes what is expected, for as many outputs as one likes.

    Attributes:
        known: The outcomes of those that were settled at once, by their place.
        kept_value: What its body kept for later trials.
        made_steps: The steps that it is said to have made; None for those that it made.
    """

    __slots__ = ("expectations", "kept_value", "known", "made_steps")

    def __init__(
        self, planned: PlannedTrial, source: Given, host: Host, earlier: Mapping[int, Any]
    ) -> None:
        super().__init__(planned, source, host, earlier.get)
        self.expectations: list[Expectation] = []
        self.known: dict[int, Outcome] = {}
        self.kept_value: Any = None
        self.made_steps: Sequence[Step] | None = None

    @property
    def steps(self) -> Sequence[Step]:
        return super().steps if self.made_steps is None else self.made_steps

    def expect(self, expectation: Expectation) -> None:
        self.expectations.append(expectation)

    async def now(self, expectation: Expectation) -> Outcome:
        place = len(self.expectations)
        self.expectations.append(expectation)
        with during("judge"):
            (outcome,) = await self.settled([expectation])
        self.known[place] = outcome
        return outcome

    def keep(self, value: Any) -> None:
        self.kept_value = value


OPEN = "looks-elsewhere"
"""Stands for the error of a condition that the application's own code has already decided, whatever is answered."""


class Judged(Record, frozen=True, kw_only=True):
    """What a case says of an answer.

    Attributes:
        state: Its verdict. `error` may be for want of a judge, or of an answer to look at: see `open`.
        outcomes: One for each expectation.
        output: What the body returned; None where it was not run.
        error: Why there is no verdict, where the body itself broke.
        steps: What the body did on its way.
    """

    state: State
    outcomes: tuple[Outcome, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    output: object = None
    error: TrialError | None = None
    steps: tuple[Step, ...] = ()

    @property
    def open(self) -> Literal["unasked", "open", ""]:
        """Why there is no verdict: for want of a judge, or as a condition looks at no made answer; empty for neither.

        Where both are so, a judge's verdict could still make it a failure.
        """
        if self.unasked:
            return "unasked"
        is_open = any(outcome.error == OPEN for outcome in self.outcomes)
        return "open" if self.state == "error" and is_open else ""

    @property
    def unasked(self) -> bool:
        """Whether there is no verdict for want of a judge."""
        slug = NotRecorded.slug
        return self.state == "error" and (
            (self.error is not None and self.error.slug == slug)
            or any(outcome.error == slug for outcome in self.outcomes)
        )


class Exam(MutableRecord, kw_only=True):
    """A case that answers are given to.

    Attributes:
        planned: The case, in the variant that it is examined in.
        home: The loop that it lives on.
        earlier: What earlier trials of a conversation kept.
        memory: What functions said of texts before.
        prompt: The prompt as sent; empty where nobody was asked.
        variables: The variables as rendered.
        first: What it says of the first mark.
        problem: Why it can't be examined; empty where it can.
        asks: Whether its body asks the subject at all.
        acts: Whether more than one answer decides: it talks, calls tools, or asks again.
        kept_value: What it kept for later trials.
        tools: The tools that the subject was offered.
        output: The body's own output, where it asks nobody.
        again: Whether its body has to run for each answer.
        template: What it expects of an answer, where its body needn't run again.
        path: Where an answer stands in the JSON that the body takes; empty where it takes a text.
    """

    planned: PlannedTrial
    host: Host
    home: Home
    earlier: Mapping[int, Any]
    memory: Memory
    prompt: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict[str, Any])
    first: Judged | None = None
    problem: str = ""
    asks: bool = True
    acts: bool = False
    kept_value: Any = None
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    output: object = None
    again: bool = True
    template: tuple[Expectation, ...] = ()
    path: tuple[str, ...] = ()

    @property
    def judge(self) -> Provider | None:
        """Who judges: for scorers that name nobody, or else whom one of them names; None for nobody."""
        expectations = self.first.expectations if self.first is not None else ()
        return self.planned.judge or judge_in(expectations)

    async def open(self) -> None:
        """Runs the body for the marks, and finds out how it takes answers."""
        if self.planned.problem is not None:
            self.problem = self.planned.problem.summary
            return
        before = len(refused)
        first, trial, source = await self._run(Answer(MARKS[0]))
        if len(refused) > before:
            self.problem = f"its code connects to {refused[-1]}, and the audit sends nothing"
            return
        self.first, self.kept_value, self.asks = first, trial.kept_value, source.times > 0
        self.acts = source.times > 1 or source.talked > 0 or bool(source.offered)
        self.acts = self.acts or any(step.kind == "tool" for step in first.steps)
        self.prompt, self.variables, self.tools = trial.prompt_text, trial.vars, source.offered
        broke = first.error is not None and not first.outcomes
        if broke or (first.state == "error" and not first.unasked):
            await self._open_wrapped(first)
            if broke or self.path:
                return
        if not self.asks:
            self._own_output(first)
            return
        second, _, _ = await self._run(Answer(MARKS[1]))
        pairs = list(zip(first.expectations, second.expectations, strict=False))
        self.again = (
            len(first.expectations) != len(second.expectations)
            or not pairs
            or bool(trial.known)
            or bool(source.offered)
            or any(demand_of(one).of_steps for one in first.expectations)
            or not all(_alike(one, other) for one, other in pairs)
        )
        if not self.again:
            self.template = first.expectations

    async def _open_wrapped(self, first: Judged) -> None:
        """Looks for a form in which the body takes an answer, where it raises for a mere text."""
        for path in paths_of(self.planned.test):
            judged, _, _ = await self._run(Answer(wrapped(MARKS[0], path)))
            if judged.error is None and (judged.state != "error" or judged.unasked):
                self.first, self.path = judged, path
                return
        if first.error is None:
            return
        # Some applications raise for an answer of no use; then only others say whether it can be examined.
        second, _, _ = await self._run(Answer("{}"))
        if second.error is not None and not second.outcomes:
            self.problem = first.error.message

    def _own_output(self, first: Judged) -> None:
        """Takes what a body that asks nobody came to for its output."""
        values = [one.value for one in first.expectations if isinstance(one.value, str)]
        output = first.output if isinstance(first.output, str) else None
        if output is None and values and not first.unasked:
            output = max(values, key=values.count)
        if output is None and first.unasked:
            self.problem = "only a judge decides, and it looks at no answer"
        elif output is None or not any(value == output for value in values):
            self.problem = (
                "its output is not a text that it expects something of, and it asks no model"
            )
        else:
            self.output, self.again, self.template = output, False, first.expectations

    async def judged(
        self, answer: Answer, steps: Sequence[Step] | None = None, *, anew: bool = False
    ) -> Judged:
        """What the case says of an answer.

        Args:
            steps: What the application is said to have done; None for what it does.
            anew: Whether all of it is asked again, though it may be known already.
        """
        if self.again:
            answer_here = replace(answer, text=wrapped(answer.text, self.path))
            return (await self._run(answer_here, steps, anew=anew))[0]
        mark = MARKS[0] if self.asks else self.output
        expectations = tuple(
            replace(one, value=answer.text) if self.asks or one.value == mark else one
            for one in self.template
        )
        trial = GivenTrial(self.planned, Given(answer), self.host, self.earlier)
        trial.made_steps = steps
        trial.vars = self.variables
        trial.answered(Prompt((), self.prompt), reply_of(answer.text))
        return await self._settled(trial, answer.text, expectations, anew=anew)

    async def _run(
        self, answer: Answer, steps: Sequence[Step] | None = None, *, anew: bool = False
    ) -> tuple[Judged, GivenTrial, Given]:
        source = Given(answer)
        trial = GivenTrial(self.planned, source, self.host, self.earlier)
        trial.log, trial.home = Sink(""), self.home
        token, sink = present.set(trial), current.set(trial.log)
        phase.set("subject")
        try:
            output = await self.planned.body(trial)
            if trial.own is not None:
                await trial.own.over()
        except ANYTHING as error:
            if isinstance(error, asyncio.CancelledError):
                raise
            problem = trial_error(error)
            outcomes = tuple(trial.known[place] for place in sorted(trial.known))
            return Judged(state="error", outcomes=outcomes, error=problem), trial, source
        finally:
            trial.over = True
            present.reset(token)
            current.reset(sink)
        did = tuple(trial.steps)
        trial.made_steps = steps
        judged = await self._settled(trial, output, tuple(trial.expectations), anew=anew)
        return replace(judged, steps=did), trial, source

    async def _settled(
        self,
        trial: GivenTrial,
        output: object,
        expectations: tuple[Expectation, ...],
        *,
        anew: bool,
    ) -> Judged:
        """What expectations come to. Of a body that asks nobody, those of another value than its output are open."""
        planned = self.planned
        phase.set("judge")
        by_place = dict(trial.known)
        keys = {} if anew else {i: self.memory.key(one) for i, one in enumerate(expectations)}
        for place, key in keys.items():
            if (known := self.memory.get(key)) is not None:
                by_place.setdefault(place, known)
        open_ = [place for place in range(len(expectations)) if place not in by_place]
        settled = await trial.settled([expectations[place] for place in open_])
        for place, outcome in zip(open_, settled, strict=True):
            by_place[place] = outcome
            self.memory.put(keys.get(place), outcome)
        outcomes = tuple(by_place[place] for place in range(len(expectations)))
        if not self.asks:
            outcomes = tuple(
                outcome if one.value == output or own.value == self.output else _open(outcome)
                for one, own, outcome in zip(
                    expectations, self.template or expectations, outcomes, strict=True
                )
            )
        try:
            verdict = planned.rule(outcomes)
            if planned.review is not None:
                verdict = await planned.review(trial, outcomes, verdict)
        except ANYTHING as error:
            if isinstance(error, asyncio.CancelledError):
                raise
            verdict = Verdict("error", None)
            return Judged(
                state="error",
                outcomes=outcomes,
                expectations=expectations,
                output=output,
                error=trial_error(error),
            )
        return Judged(
            state=verdict.outcome, outcomes=outcomes, expectations=expectations, output=output
        )


def _open(outcome: Outcome) -> Outcome:
    """An outcome that says nothing of a made answer, as it is about something else."""
    return replace(outcome, outcome="error", score=None, error=OPEN)


def _alike(one: Expectation, other: Expectation) -> bool:
    """Whether the same is expected of both marks, and of nothing but them."""
    if one.value != MARKS[0] or other.value != MARKS[1]:
        return False
    try:
        if one.scorer is not other.scorer and one.scorer != other.scorer:
            return False
        return replace(one, value=None, scorer=other.scorer) == replace(other, value=None)
    except Exception:  # noqa: BLE001 (a user's __eq__ may raise)
        return False


_PATHS = (
    re.compile(r"""JSON\.parse\(\s*output\s*\)((?:\??\.\w+|\[['"]\w+['"]\])+)"""),
    re.compile(
        r"""json\.loads\(\s*output\s*\)((?:\[['"]\w+['"]\]|\.get\(\s*['"]\w+['"][^)]*\))+)"""
    ),
)
_NAME = re.compile(r"""\.get\(\s*['"](\w+)['"][^)]*\)|\??\.(\w+)|\[['"](\w+)['"]\]""")


def paths_of(test: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The paths into an output's JSON that a config's code reads: `("answer",)` for `JSON.parse(output).answer`."""
    paths: dict[tuple[str, ...], None] = {}
    for text in texts_in(test):
        for pattern in _PATHS:
            for match in pattern.finditer(text):
                names = ("".join(groups) for groups in _NAME.findall(match[1]))
                # What is read of a value, such as its length, is no key.
                path = tuple(
                    name for name in names if name not in ("length", "trim", "toLowerCase")
                )
                if path:
                    paths.setdefault(path)
    yield from paths


def wrapped(text: str, path: tuple[str, ...]) -> str:
    """A text as the value at a path in a JSON object; the text itself for no path.

    >>> wrapped("30 days", ("answer", "text"))
    '{"answer": {"text": "30 days"}}'
    """
    if not path:
        return text
    value: object = text
    for name in reversed(path):
        value = {name: value}
    return json.dumps(value, ensure_ascii=False)
