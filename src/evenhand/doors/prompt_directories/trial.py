"""What happens in one trial: the guard is asked, the prompt is filled in and sent, and the answer is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.core.definition import written_definition
from evenhand.core.encoding import digest, encode
from evenhand.core.expect import Expectation, Scorer, Trial
from evenhand.core.message import Message, Prompt
from evenhand.core.provider import Provider
from evenhand.core.record import Record
from evenhand.doors.assertions.assertion import Cell
from evenhand.doors.assertions.identity import CannotBeKnownError, model_identity
from evenhand.doors.prompt_directories.eval_scorers import Verified
from evenhand.doors.prompt_directories.eval_yml import HIGHEST, LOWEST, EvalCase
from evenhand.doors.prompt_directories.hooks import guarded, is_hook
from evenhand.doors.prompt_directories.library import TEMPLATE
from evenhand.doors.prompt_directories.prompt import SOURCES, Meta, PromptFolder, merged
from evenhand.languages.documents.findings import shown_path
from evenhand.languages.templates.plain import as_text, render
from evenhand.scorers.agents.triggers import Triggers
from evenhand.scorers.jury import Jury
from evenhand.scorers.rating import Rating
from evenhand.scorers.rubric import Rubric

RUBRIC = "rubric"


class CaseBody(Record, frozen=True, kw_only=True):
    """One case: rendered, sent, and looked at.

    Attributes:
        variables: Over the case's inputs.
        guard: Sets variables, or says no; None for nobody.
        verify: Looks at the answer; None for nobody.
    """

    prompt: PromptFolder
    case: EvalCase
    provider: Provider
    judge: Provider | None
    variables: Mapping[str, object]
    guard: Path | None
    verify: Path | None

    def checks(self) -> str:
        """A digest of what is expected of the answer; empty where that can't be known: a hook looks at it, say."""
        case = self.case
        if any(hook is not None and is_hook(hook) for hook in (self.guard, self.verify)):
            return ""
        try:
            judge = model_identity(self.judge if case.rubric.strip() else None)
        except CannotBeKnownError:
            return ""
        judging = [case.judging.at_least, case.judging.samples]
        return digest(case.checks, case.rubric, judge, encode(judging)) if case.checks else ""

    async def __call__(self, trial: Trial) -> object:
        prompt, case, limit_s = self.prompt, self.case, self.prompt.meta.hook_limit_s
        values = merged(prompt.defaults, case.inputs, self.variables)
        if self.guard is not None and is_hook(self.guard):
            ran = await guarded(self.guard, prompt.id, case.name, values, limit_s)
            values = merged(values, ran.values()[0])
        trial.show(values)
        text = render(prompt.template, values, shown_path(prompt.path / TEMPLATE), SOURCES)
        request = Prompt((Message("user", text),), text, vars=values, label=prompt.id)
        reply = await trial.model(self.provider, "subject").generate(request)
        id_ = self.provider.id
        cell = Cell(
            output=reply.text,
            prompt=text,
            variables=values,
            test={},
            provider_id=id_,
            provider_label=id_,
            reply=reply,
            steps=lambda: trial.steps,
        )
        for make in case.makes:
            trial.expect(make(cell))
        if case.rubric.strip():
            trial.expect(self._rated(reply.text, values))
        if self.verify is not None and is_hook(self.verify):
            scorer = Verified(self.verify, prompt.id, case.name, values, limit_s)
            trial.expect(Expectation(reply.text, scorer, definition=written_definition(scorer)))
        return reply.text

    def _rated(self, output: str, values: Mapping[str, object]) -> Expectation:
        """What the rubric expects. Who judges sees the inputs, too."""
        judging = self.case.judging
        material = "\n\n".join(f"{name}:\n{as_text(value)}" for name, value in values.items())
        context = f"The output was made of these inputs.\n\n{material}" if material else ""
        rubric = Rubric(RUBRIC, self.case.rubric, scale=(LOWEST, HIGHEST))
        scorer: Scorer = Rating(rubric, context=context)
        definition = written_definition(scorer, but="context")
        if judging.samples > 1 and self.judge is not None:
            scorer = Jury([self.judge] * judging.samples, of=Rating(rubric, context=context))
        return Expectation(
            output, scorer, at_least=judging.at_least, metric=RUBRIC, definition=definition
        )


@dataclass(frozen=True, slots=True)
class QueryBody:
    """One thing that somebody may say: is the prompt meant?"""

    meta: Meta
    query: str
    matches: bool
    others: Sequence[str]
    judge: Provider | None = field(default=None)

    async def __call__(self, trial: Trial) -> object:
        scorer = Triggers(
            wanted=self.matches,
            description=self.meta.description or self.meta.summary,
            positive=self.meta.triggers,
            negative=self.meta.not_for,
            others=self.others,
        )
        outcome = await trial.now(Expectation(self.query, scorer))
        return outcome.metadata.get("decision")
