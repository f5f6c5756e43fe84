"""Asking a trial of an earlier run again with some of it edited: its prompt, its variables, its model.

How this works: a plan that can do so has an `Editor`, made by its front door. The run's plan is made anew from the
project's files; where its fingerprint is still the run's, the trial is found by its place, and the editor makes a plan
of that trial alone. What was typed is data: it is never code, a path, or a look into the environment, and a template
only where the original was one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from evenhand.core.encoding import digest, encode
from evenhand.core.errors import UsageError
from evenhand.core.plan import Edit, Editable, Editor, Plan, PlannedTrial
from evenhand.core.variant import Variant
from evenhand.core.wording.words import short_id

ASKED_FROM = " · asked again from "
"""Stands between a plan's title and the cell that was asked again."""


class CannotAsk(UsageError):
    """A trial can't be asked again."""


def editable(plan: Plan, edit: Edit) -> Editable:
    """What can be edited of the trial that an edit is of.

    Raises:
        UsageError: It can't be asked again: why.
    """
    editor, trial = _found(plan, edit)
    return editor.editable(trial)


def edited_plan(plan: Plan, edit: Edit) -> Plan:
    """The plan of one trial of a plan, edited.

    Raises:
        UsageError: It can't be asked so: why.
    """
    editor, trial = _found(plan, edit)
    _look_at(edit, editor.editable(trial))
    edited = editor.edited(trial, edit)
    before = plan.fingerprint
    edited.title = (
        f"{plan.title.partition(ASKED_FROM)[0]}{ASKED_FROM}{short_id(edit.run)} cell {edit.trial}"
    )
    edited.identify = lambda: digest(before, encode(edit))
    # Files and bounds are those of the whole run, and a recording has no answer to what is asked only now.
    edited.options = replace(
        edited.options, outputs=(), requirements=(), gates=(), cassettes=(), set_up_once=()
    )
    return edited


def _found(plan: Plan, edit: Edit) -> tuple[Editor, PlannedTrial]:
    if plan.editor is None:
        raise CannotAsk("this cell's code holds its prompt and its data: there is nothing to edit")
    if plan.fingerprint != edit.fingerprint:
        raise CannotAsk(
            f"the prompts, tests, models or code of run {short_id(edit.run)} have changed since",
            hint="Run them again, and ask from the new run.",
        )
    trial = next((one for one in plan.trials() if one.index == edit.trial), None)
    if trial is None:
        raise CannotAsk(f"the run has no cell {edit.trial}")
    if trial.after:
        raise CannotAsk(
            "this cell goes on from the answer of another one, which is not asked again",
            hint="Ask from the first cell of the conversation.",
        )
    return plan.editor, trial


def _look_at(edit: Edit, editable: Editable) -> None:
    """Refuses an edit of what can't be edited."""
    if edit.prompt is not None and editable.prompt is None:
        raise CannotAsk("the prompt of this cell can't be edited")
    unknown = [name for name in edit.values if name not in editable.values]
    if unknown:
        raise CannotAsk(f"the cell has no variable {unknown[0]!r:.60} that could be edited")
    if editable.model is None and (edit.model or edit.variant is not None):
        raise CannotAsk("the model of this cell can't be chosen")
    if edit.variant is not None and edit.variant not in editable.models:
        raise CannotAsk(f"no variant {edit.variant} has a model to ask")


def models_among(variants: Iterable[Variant], answered: str) -> tuple[dict[int, str], int | None]:
    """The models of variants, each by the first that has it, and the variant among these of the one that answered."""
    models: dict[int, str] = {}
    for variant in variants:
        if variant.model not in models.values():
            models[variant.index] = variant.model
    return models, next((index for index, name in models.items() if name == answered), None)


def editable_data(values: Mapping[str, object]) -> dict[str, Any]:
    """The values that are data all through, as JSON has it: these can be typed."""
    return {name: value for name, value in values.items() if _is_data(value)}


def _is_data(value: object) -> bool:
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return all(isinstance(name, str) and _is_data(one) for name, one in items)
    if isinstance(value, list | tuple):
        return all(map(_is_data, cast("Sequence[object]", value)))
    return value is None or isinstance(value, str | int | float | bool)
