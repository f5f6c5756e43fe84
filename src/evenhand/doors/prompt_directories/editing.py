"""A case of a prompt directory, asked again with its prompt, its inputs or its model edited."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from evenhand.core.editing import CannotAsk, editable_data, models_among
from evenhand.core.plan import Edit, Editable, Plan, PlannedTrial
from evenhand.core.record import Record
from evenhand.doors.prompt_directories.hooks import is_hook
from evenhand.doors.prompt_directories.suite import Suite, set_columns
from evenhand.doors.prompt_directories.trial import CaseBody
from evenhand.providers.roster import Roster, look_at_vendor


class PromptsEditor(Record, frozen=True):
    """Asks cases of prompt directories again. Implements `evenhand.core.plan.Editor`.

    Attributes:
        again: The plan of one case: its suite, and what goes over its inputs.
    """

    suites: Sequence[Suite]
    roster: Roster
    again: Callable[[Suite, Mapping[str, object]], Plan]

    def editable(self, trial: PlannedTrial) -> Editable:
        """What of a case can be edited.

        Raises:
            CannotAsk: It is a query, for which no prompt is sent.
        """
        body = _body(trial)
        values = editable_data(trial.case.vars)
        notes = ["This is no evidence of the prompt: what is asked is not what its files say."]
        if body.guard is not None and is_hook(body.guard):
            notes.append("guard.sh sees the edited inputs, and its variables go over them.")
        answered = (
            variant
            for suite in self.suites
            for variant in suite.variants
            if variant.axes["model"] in {case.model for case in suite.cases}
        )
        models, answering = models_among(answered, trial.variant.model)
        return Editable(
            prompt=body.prompt.template,
            values=values,
            models=models,
            model=answering,
            notes=tuple(notes),
        )

    def edited(self, trial: PlannedTrial, edit: Edit) -> Plan:
        """The plan of one case, edited. It leaves no evidence.

        Raises:
            UsageError: The model can't be asked.
        """
        body = _body(trial)
        suite = next(one for one in self.suites if one.prompt.id == body.prompt.id)
        template = body.prompt.template if edit.prompt is None else edit.prompt
        model = edit.model or body.case.model
        if edit.model:
            look_at_vendor(edit.model)
            self.roster(edit.model, body.case.timeout_s)
        elif edit.variant is not None:
            variants = [one for suite in self.suites for one in suite.variants]
            model = next(str(one.axes["model"]) for one in variants if one.index == edit.variant)
        prompt = replace(body.prompt, template=template)
        case = replace(body.case, model=model)
        one = Suite(
            prompt=prompt,
            eval=suite.eval,
            cases=[case],
            queries=[],
            judge=suite.judge,
            router=None,
            content=suite.content,
            default_judge=suite.default_judge,
            partial=True,
        )
        set_columns([one])
        problem = one.refuses(case, self.roster)
        if problem is not None:
            raise CannotAsk(problem.what, hint=problem.hint)
        plan = self.again(one, edit.values)
        plan.options = replace(plan.options, closing=None)
        return plan


def _body(trial: PlannedTrial) -> CaseBody:
    body = trial.body
    if not isinstance(body, CaseBody):
        raise CannotAsk("this cell asks which prompt is meant, and sends none")
    return body
