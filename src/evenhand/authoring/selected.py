"""Which cases and which columns of eval sets a selection leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from evenhand.authoring.evalset import Eval, EvalSet
from evenhand.core.case import Case
from evenhand.core.plan import Selection
from evenhand.core.selecting import condition_of, pattern_of, says, taken
from evenhand.core.variant import Variant


def wanted(
    eval_: Eval, evals: EvalSet, names: str, tag: str, lines: Sequence[tuple[Path, int]]
) -> bool:
    """Whether an eval is meant: by its name or its set's, by its tags, and by the lines that are named of its file."""
    if names and names.lower() not in f"{evals.name} {eval_.name}".lower():
        return False
    if tag and tag not in eval_.tags:
        return False
    named = [line for path, line in lines if path == eval_.path]
    return not named or any(eval_.first <= line <= eval_.last for line in named)


def cases_of(evals: EvalSet, selection: Selection) -> Sequence[Case]:
    """The cases of a set that are left; one that is called like the set, for a set without data.

    Raises:
        UsageError: The selection says something that cannot be read.
    """
    conditions = [condition_of(text) for text in selection.metadata]
    text = pattern_of("--filter", selection.filter)
    pattern = pattern_of("--filter-pattern", selection.pattern)
    cases: Sequence[Case] = (Case(evals.name),)
    if evals.data is not None:
        cases = evals.data  # not as a list: it may be larger than memory
    if conditions or text or pattern or selection.only is not None:
        cases = [
            case
            for case in cases
            if all(says(_metadata(case), key, value) for key, value in conditions)
            and (selection.only is None or case.id in selection.only)
            and (text is None or any(text.search(str(part)) for part in _texts(case)))
            and (pattern is None or pattern.search(str(case)))
        ]
    return taken(cases, selection)


def column_left(selection: Selection) -> Callable[[Variant], bool]:
    """Says whether a column is left: its eval, with its axes, and its model are called so.

    Raises:
        UsageError: The selection says what is no regular expression.
    """
    said = pattern_of("--filter-prompts", selection.prompts)
    named = pattern_of("--filter-providers", selection.models)

    def left(variant: Variant) -> bool:
        models = (variant.model, variant.provider_id)
        return (said is None or bool(said.search(variant.prompt))) and (
            named is None or any(map(named.search, models))
        )

    return left


def _texts(case: Case) -> tuple[object, ...]:
    return (case.id, case.description, case.input or "", *case.vars.values())


def _metadata(case: Case) -> dict[str, object]:
    """What conditions go by: the tags, too, where the metadata has no other."""
    return {"tags": tuple(case.tags), **case.metadata}
