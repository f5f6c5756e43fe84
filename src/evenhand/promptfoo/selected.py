"""Which tests a selection takes, and which columns."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.case import case_id
from evenhand.core.errors import NothingSelected
from evenhand.core.plan import Selection
from evenhand.core.selecting import Selector
from evenhand.promptfoo.cases import Test
from evenhand.promptfoo.models import Column
from evenhand.promptfoo.prompts import AnyPrompt


def takes(selector: Selector, test: Test) -> bool:
    """Whether what a test says is what is looked for."""
    return selector.takes(
        lambda: map(case_id, test.cases()), test.description, test.variables.values(), test.metadata
    )


def selected_columns(
    prompts: Sequence[AnyPrompt], columns: Sequence[Column], selection: Selection
) -> tuple[list[AnyPrompt], list[Column]]:
    """The prompts and models that a selection takes.

    Raises:
        NothingSelected: It takes none.
        UsageError: It is no regular expression.
    """
    selector = Selector(selection)
    some = [p for p in prompts if selector.takes_prompt(p.label)]
    models = [c for c in columns if selector.takes_model(c.provider.id, c.provider.label)]
    if prompts and not some:
        there = ", ".join(p.label for p in prompts[:10])
        raise NothingSelected(
            f"--filter-prompts {selection.prompts!r} leaves no prompt", hint=f"There are: {there}."
        )
    if columns and not models:
        there = ", ".join(c.provider.label for c in columns[:10])
        raise NothingSelected(
            f"--filter-providers {selection.models!r} leaves no provider",
            hint=f"There are: {there}.",
        )
    return some, models
