"""What is otherwise when a trial of an earlier run is asked again, and what can be; see `evenhand.core.editing`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import field

from evenhand.core.record import Record


class Edit(Record, frozen=True, kw_only=True):
    """What is otherwise when a trial is asked again.

    Attributes:
        run: The id of the trial's run.
        trial: The trial's place in that run's plan.
        fingerprint: That plan's.
        prompt: The prompt, in the template language of the original; None for the original.
        values: The variables that are otherwise, by name.
        variant: The index of the variant whose model is asked; None for the trial's own.
        model: The id of a model that is asked in its place; empty for none.
    """

    run: str
    trial: int
    fingerprint: str
    prompt: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    variant: int | None = None
    model: str = ""


class Editable(Record, frozen=True, kw_only=True):
    """What of a trial can be edited.

    Attributes:
        prompt: The prompt as a template; None where that can't be edited.
        values: The variables by name, as they are written.
        models: The models of its run: the index of the first variant that has each, and its label.
        model: The index among these of the one that answered; None where its model can't be chosen.
        notes: What can't be edited, and what is left out, in sentences.
    """

    prompt: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    models: Mapping[int, str] = field(default_factory=dict[int, str])
    model: int | None = None
    notes: tuple[str, ...] = ()
