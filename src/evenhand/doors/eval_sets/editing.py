"""A case of an eval set, asked again with its prompt, its data or its model edited."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from evenhand.core.case import Case
from evenhand.core.definition import brief
from evenhand.core.editing import CannotAsk, editable_data, models_among
from evenhand.core.plan import Edit, Editable, Plan, PlannedTrial
from evenhand.core.provider import Provider
from evenhand.core.record import Record
from evenhand.core.variant import Variant
from evenhand.doors.eval_sets.body import EvalBody
from evenhand.doors.eval_sets.models import EvalSetRoster
from evenhand.doors.eval_sets.prechecks import asked_of
from evenhand.doors.eval_sets.prompt import Prompt
from evenhand.providers.roster import look_at_vendor

INPUT = "input"
"""What a case's input is called among its variables, where none of them is called so."""


class SetEditor(Record, frozen=True, kw_only=True):
    """Asks cases of eval sets again. Implements `evenhand.core.plan.Editor`.

    Attributes:
        variants: Those of the plan, each with what happens in it.
        roster_of: Makes the models of a set.
        again: The plan of one case in one variant.
    """

    variants: Sequence[tuple[Variant, EvalBody]]
    roster_of: Callable[[EvalBody], EvalSetRoster]
    again: Callable[[Variant, EvalBody, Case], Plan]

    def editable(self, trial: PlannedTrial) -> Editable:
        """What of a case can be edited.

        Raises:
            CannotAsk: Its code holds all of it.
        """
        body = _body(trial)
        prompts = _prompts_of(body)
        values = editable_data(_values_of(trial.case))
        models: dict[int, str] = {}
        answering: int | None = None
        if body.model is not None and "model" in asked_of(body.evals, body.eval):
            with_model = (variant for variant, other in self.variants if other.model is not None)
            models, answering = models_among(with_model, trial.variant.model)
        if len(prompts) != 1 and not values and answering is None:
            raise CannotAsk(
                "this cell's code holds its prompt, its data and its model: there is nothing to edit"
            )
        notes: list[str] = []
        if len(prompts) != 1:
            why = "its axes have several" if prompts else "the eval's code holds it"
            notes.append(f"The prompt can't be edited: {why}.")
        if answering is None:
            notes.append("The model can't be chosen: the eval's code asks its own.")
        if body.evals.compares:
            notes.append("What compares variants is left out: there is one.")
        return Editable(
            prompt=next(iter(prompts.values())).text if len(prompts) == 1 else None,
            values=values,
            models=models,
            model=answering,
            notes=tuple(notes),
        )

    def edited(self, trial: PlannedTrial, edit: Edit) -> Plan:
        """The plan of one case, edited.

        Raises:
            UsageError: The model can't be asked.
        """
        body, variant, case = _body(trial), trial.variant, trial.case
        if edit.prompt is not None:
            ((axis, prompt),) = _prompts_of(body).items()
            body = replace(body, axes={**body.axes, axis: Prompt(prompt.name, edit.prompt)})
            variant = replace(
                variant,
                prompt_raw=edit.prompt,
                contents={**variant.contents, axis: brief(edit.prompt)},
            )
        model = self._model(body, edit)
        if model is not None and model is not body.model:
            body = replace(body, model=model)
            axes = {**variant.axes, "model": model.label} if "model" in variant.axes else None
            variant = replace(
                variant,
                model=model.label,
                provider_id=model.id,
                axes=variant.axes if axes is None else axes,
            )
        if edit.values:
            values = dict(edit.values)
            if INPUT in values and INPUT not in case.vars:
                case = replace(case, input=values.pop(INPUT))
            case = replace(case, vars={**case.vars, **values})
        return self.again(replace(variant, index=0), body, case)

    def _model(self, body: EvalBody, edit: Edit) -> Provider | None:
        roster, model = self.roster_of(body), body.model
        if edit.variant is not None:
            model = next(
                one.model for variant, one in self.variants if variant.index == edit.variant
            )
        elif edit.model:
            look_at_vendor(edit.model)
            model = roster(edit.model)
        lacking = roster.keyless(model) if "model" in asked_of(body.evals, body.eval) else None
        if lacking is not None:
            raise CannotAsk(lacking[0], hint=lacking[1])
        return model


def _body(trial: PlannedTrial) -> EvalBody:
    body = trial.body
    if not isinstance(body, EvalBody):
        raise CannotAsk("this cell is not an eval's")
    return body


def _prompts_of(body: EvalBody) -> dict[str, Prompt]:
    """The values of the eval's axes that are prompts."""
    return {axis: value for axis, value in body.axes.items() if isinstance(value, Prompt)}


def _values_of(case: Case) -> Mapping[str, Any]:
    """A case's variables, and its input, in the order of the page."""
    if case.input is None or INPUT in case.vars:
        return case.vars
    return {INPUT: case.input, **case.vars}
