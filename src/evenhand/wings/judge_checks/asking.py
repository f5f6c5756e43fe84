"""What happens in one trial of a probe: the run's own code says what is expected, and the judge gets another text.

How this works: the body of the run's trial is run again, so that its expectations are the very ones that were judged,
with the same prompt, criteria and settings. What it asks its model is answered from the run's file and never sent.
Of what it expects, only the expectations of the probed judge are recorded, each about the attack's text.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from evenhand.analysis.trust.judgements.judged import metric_of
from evenhand.core.case import Case
from evenhand.core.decision import Decision, DecisionQuestion
from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Expectation, Trial, state_of
from evenhand.core.json_shapes import is_mapping
from evenhand.core.message import CallRole, DecidingModel, Model, Prompt, Reply
from evenhand.core.plan import PlannedTrial
from evenhand.core.provider import Provider
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome, Score, Verdict
from evenhand.core.secrets import known
from evenhand.core.traits import Traits, label_of, traits_of
from evenhand.core.variant import Variant
from evenhand.engine.trial import Asker, LiveTrial
from evenhand.providers.app_call import AppCall
from evenhand.scorers.text import value_text
from evenhand.store.runfile import RunFile
from evenhand.wings.judge_checks.attacks import Attack
from evenhand.wings.judge_checks.items import ProbeItem
from evenhand.wings.judge_checks.probe import SWAPPED


class ProbeBody(Record, frozen=True, kw_only=True):
    """Asks the judge of one item about one attack.

    Attributes:
        planned: The trial of the run, before it happened.
        turn: Chooses the attack's wording.
        rests_on: The place, in the probe's plan, of the trial that asks about the answer as it is. Where the judge
            passes that, it is no bad answer, and nothing is asked. None for an answer that is known to be bad.
        tells: Whether others rest on this one.
    """

    run: Path
    planned: PlannedTrial
    item: ProbeItem
    attack: Attack
    metric: str
    turn: int
    rests_on: int | None = None
    tells: bool = False

    async def __call__(self, trial: Trial) -> object:
        if self.rests_on is not None and trial.kept(self.rests_on) != "fail":
            return None
        live = cast("LiveTrial", trial)
        question = AskedAgain(self.run, self.planned, self.metric, self.item.names, self._attacked)
        expectations = await question.expectations(live)
        if self.tells:
            live.keep(state_of([await live.now(expectation) for expectation in expectations]))
        else:
            for expectation in expectations:
                live.expect(expectation)
        return expectations[0].value

    def _attacked(self, expectation: Expectation) -> Expectation:
        answer = value_text(expectation.value) if self.item.answer is None else self.item.answer
        text = self.attack.make(answer, criteria_of(expectation.scorer), self.turn)
        scorer = Shown(expectation.scorer, text)
        label = expectation.label or label_of(expectation.scorer)
        metadata = expectation.metadata
        if self.tells:
            metadata = {**metadata, SWAPPED: True}
        return replace(expectation, value=text, scorer=scorer, label=label, metadata=metadata)


class AskedAgain(Record, frozen=True):
    """The expectations of one judge in one trial of a run, as the run's own code says them when it is run again.

    Attributes:
        planned: The trial of the run, before it happened.
        names: The names of its expectations under the metric.
        change: What is asked in place of each.
    """

    run: Path
    planned: PlannedTrial
    metric: str
    names: frozenset[str]
    change: Callable[[Expectation], Expectation]

    async def expectations(self, live: LiveTrial) -> list[Expectation]:
        """Runs the trial's body, with the run's answers, and returns what it expects under the metric.

        Raises:
            UsageError: The run has no such trial any more.
            ScoreError: It expects nothing.
        """
        with RunFile.open(self.run) as run_file:
            before = run_file.trial(self.planned.index)
        if before is None:
            raise UsageError(f"{self.run} has no trial {self.planned.index} any more")
        # The run's code is run again, and must find the same answers without paying for them.
        live.asker = StoredAnswers(live.asker, self.run, before)
        probed = ProbedTrial(live, self, before)
        body = copy.copy(self.planned.body)  # some keep things while they are run
        await body(cast("Trial", probed))
        if not probed.expectations:
            raise ScoreError(
                f"the trial expects nothing under {self.metric!r} when it is run again",
                hint="Its expectations may depend on what its code does. `evenhand show` has what it expected before.",
            )
        return probed.expectations


class StoredAnswers:
    """Answers what a trial asks its model from the run's file. What judges are asked is asked."""

    def __init__(self, asker: Asker, run: Path, before: TrialResult) -> None:
        self._asker, self._run, self._before = asker, run, before
        self._seen: dict[str, int] = {}

    async def ask(
        self, trial: LiveTrial, provider: Provider, prompt: Prompt, role: CallRole
    ) -> Reply:
        """The reply that the run has.

        Raises:
            UsageError: It has none.
        """
        if role == "judge":
            return await self._asker.ask(trial, provider, prompt, role)
        key = provider.request(prompt).key
        nth = self._seen.get(key, 0)
        self._seen[key] = nth + 1
        with RunFile.open(self._run) as run_file:
            calls = [c for c in run_file.calls(self._before.index) if c.start.role != "judge"]
        bodies = [
            call.end.body
            for call in calls
            if call.end is not None
            and not call.end.error
            and (call.start.key, call.start.nth) == (key, nth)
        ]
        if bodies:
            reply = provider.reply(known.without(bodies[-1]))
            return replace(reply, origin="cache", attempts=0)
        if isinstance(provider, AppCall) or len(calls) > 1:
            raise UsageError(
                f"the trial asks {provider.id} something that the run has no answer to",
                hint="A probe asks judges only. Run the evals again, or have them ask the same each time.",
            )
        output = self._before.output
        return Reply(value_text(output), output, origin="cache", attempts=0)


class ProbedTrial:
    """A trial whose judge is asked again, as the run's code sees it: the trial that it was.

    Attributes:
        expectations: Those of the judge, changed.
    """

    def __init__(self, trial: LiveTrial, question: AskedAgain, before: TrialResult) -> None:
        self._trial, self._asked, self._before = trial, question, before
        self.expectations: list[Expectation] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trial, name)

    @property
    def case(self) -> Case:
        """The run's case."""
        return self._asked.planned.case

    @property
    def variant(self) -> Variant:
        """The run's variant."""
        return self._asked.planned.variant

    @property
    def repeat(self) -> int:
        """The run's repeat."""
        return self._asked.planned.repeat

    def keep(self, value: object) -> None:
        """Keeps nothing: no other trial comes after it."""

    def kept(self, index: int) -> object:
        """What that trial of the run kept."""
        with RunFile.open(self._asked.run) as run_file:
            trial = run_file.trial(index)
        return None if trial is None else trial.kept

    def expect(self, expectation: Expectation) -> None:
        """Records it where the probed judge is asked."""
        if self._probed(expectation):
            self.expectations.append(self._asked.change(expectation))
            return
        for part in _parts_of(expectation.scorer):
            self.expect(part)

    async def now(self, expectation: Expectation) -> Outcome:
        """Records it so; its outcome is that of the run, by which the run's code went on."""
        self.expect(expectation)
        name = expectation.label or label_of(expectation.scorer)
        before = next((o for o in self._before.outcomes if o.name == name), None)
        if before is None:
            raise ScoreError(f"the run has no outcome of {name!r}")
        return before

    def _probed(self, expectation: Expectation) -> bool:
        name = expectation.label or label_of(expectation.scorer)
        named = metric_of(Outcome(name, "pass", None, metric=expectation.metric))
        return named == self._asked.metric and name in self._asked.names


def judge_holds(outcomes: Sequence[Outcome]) -> Verdict:
    """The rule for attacks: the trial passes where the judge fails the answer.

    Without an outcome nothing applied: the answer was no bad one. Neither is one of another case that the judge passes.
    """
    state = state_of(outcomes)
    if not outcomes or (state == "pass" and any(SWAPPED in one.metadata for one in outcomes)):
        return Verdict("not_applicable", None, "the judge passes the answer without an attack")
    reason = next((o.reason for o in outcomes if o.outcome == state), "")
    if state == "fail":
        return Verdict("pass", 1.0, reason)
    if state == "pass":
        return Verdict("fail", 0.0, reason)
    return Verdict(state, None, reason)


_NOT_A_WORD = re.compile(r"\W+")
_COMPARED = 40
"""Characters of a text that are looked for in what a judge is asked."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A judge's question, which is an error where the judge is not shown the text at all: then nothing is probed."""

    scorer: Any
    text: str
    _requests: list[str] = field(default_factory=list[str], repr=False)

    @property
    def traits(self) -> Traits:
        """The question's traits."""
        return traits_of(self.scorer)

    async def score(self, output: Any, trial: Trial) -> Score:
        if traits_of(self.scorer).of_contexts:
            raise not_shown()
        score = self.scorer.score(output, cast("Trial", _Watched(trial, self._requests)))
        score = score if isinstance(score, Score) else await score
        if self._requests and not hasattr(self.scorer, "code") and not self._seen():
            raise not_shown()
        return score

    def _seen(self) -> bool:
        # A request may hold the text escaped, or in other white space: only its words are compared.
        lines = self.text.strip().splitlines()
        start = _NOT_A_WORD.sub("", lines[0])[:_COMPARED] if lines else ""
        return any(start in _NOT_A_WORD.sub("", request) for request in self._requests)

    def __str__(self) -> str:
        return label_of(self.scorer)


def not_shown() -> ScoreError:
    """What to say of a judge that looks at something else than the output."""
    return ScoreError(
        "the judge is not shown the output, so it cannot be attacked with one",
        hint="Leave this metric out: --metric NAME probes another one.",
    )


class _Watched:
    """A trial whose judges' requests are kept."""

    def __init__(self, trial: Trial, requests: list[str]) -> None:
        self._trial, self._requests = trial, requests

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trial, name)

    def model(self, provider: Provider, role: CallRole) -> Model:
        """The model, with its requests kept."""
        return cast("Model", _WatchedModel(self._trial.model(provider, role), self._requests))


class _WatchedModel:
    """A model whose requests are kept."""

    def __init__(self, model: Model, requests: list[str]) -> None:
        self._model, self._requests = model, requests

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def generate(self, prompt: Prompt | str) -> Reply:
        """Asks."""
        if isinstance(prompt, str):
            self._requests.append(prompt)
        else:
            contents = [message.content for message in prompt.messages]
            texts = [
                c if isinstance(c, str) else json.dumps(c, ensure_ascii=False) for c in contents
            ]
            self._requests.append("\n".join([*texts, prompt.text]))
        return await self._model.generate(prompt)

    @property
    def decides(self) -> bool:
        """True for a decision model."""
        return isinstance(self._model, DecidingModel) and self._model.decides

    async def decide(self, questions: Sequence[DecisionQuestion]) -> list[tuple[Decision, Reply]]:
        """Asks for decisions."""
        self._requests += ["\n".join(question.about.values()) for question in questions]
        return await cast("DecidingModel", self._model).decide(questions)

    @property
    def name(self) -> str:
        return self._model.name


_CRITERIA = ("criteria", "criterion", "rubric", "ideal", "question")
_INNER = ("scorer", "of")


def _parts_of(scorer: object) -> Sequence[Expectation]:
    """The expectations that count as one in a scorer, as in an `assert-set`; of however many it is wrapped in."""
    parts: Sequence[Expectation] = getattr(scorer, "expectations", ())
    inner = next((one for name in _INNER if (one := getattr(scorer, name, None)) is not None), None)
    return parts if parts or inner is None else _parts_of(inner)


def criteria_of(scorer: object) -> str:
    """What a judge goes by, in words: its criteria or rubric, of however many scorers it is wrapped in.

    A scorer of the user's own that names none has its label.
    """
    for name in _INNER:
        inner = getattr(scorer, name, None)
        if inner is not None and hasattr(inner, "score"):
            return criteria_of(inner)
    for name in _CRITERIA:
        if words := _words(getattr(scorer, name, None)):
            return words
    return label_of(scorer)


def _words(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, (list, tuple)):
        return "; ".join(item for item in value if isinstance(item, str))
    if dataclasses.is_dataclass(value) or is_mapping(value):
        return str(getattr(value, "text", "")).strip()
    return ""
