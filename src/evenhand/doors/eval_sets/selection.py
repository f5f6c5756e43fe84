"""Which cases and which variants of eval sets a selection leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from shlex import quote

from evenhand.core.case import Case
from evenhand.core.errors import NothingSelected
from evenhand.core.plan import Selection
from evenhand.core.selecting import Selector
from evenhand.core.variant import Variant
from evenhand.doors.eval_sets.evalset import Eval, EvalSet

_LOOKED_AT = 1_000
"""Cases, for a tag that no eval has."""


@dataclass(frozen=True, kw_only=True)
class EvalFilter:
    """Which evals of the sets are meant.

    Attributes:
        name: Those whose name, or whose set's name, has this text in it.
        tag: Those with this tag.
        lines: Of a file that has lines here, by path and number: those that one of them stands in.
    """

    name: str = ""
    tag: str = ""
    lines: Sequence[tuple[Path, int]] = ()

    def takes(self, eval_: Eval, evals: EvalSet) -> bool:
        """Whether an eval of a set is meant."""
        if self.name and self.name.lower() not in f"{evals.name} {eval_.name}".lower():
            return False
        if self.tag and self.tag not in eval_.tags:
            return False
        named = [line for path, line in self.lines if path == eval_.path]
        return not named or any(eval_.first <= line <= eval_.last for line in named)


def selected(cases: Sequence[Case], selection: Selection) -> Sequence[Case]:
    """The cases of a set that are left.

    Raises:
        UsageError: The selection says something that cannot be read.
    """
    selector = Selector(selection)
    if selector.by_words:  # or else not as a list: they may be more than fit in memory
        cases = [case for case in cases if _taken(selector, case)]
    return selector.placed(cases)


def column_left(selection: Selection) -> Callable[[Variant], bool]:
    """Says whether a variant is left: its eval, with its axes, and its model are called so.

    Raises:
        UsageError: The selection says what is no regular expression.
    """
    selector = Selector(selection)
    return lambda variant: (
        selector.takes_prompt(variant.prompt)
        and selector.takes_model(variant.model, variant.provider_id)
    )


def refuse_unknown_tag(tag: str, sets: Sequence[EvalSet]) -> None:
    """Says which tags evals have, where none has this one; cases with it are chosen otherwise.

    Raises:
        NothingSelected: No eval has it.
    """
    tags = sorted({each for evals in sets for one in evals.evals for each in one.tags})
    if tag in tags:
        return
    hint = f"Evals have: {', '.join(tags)}." if tags else "Evals have no tags."
    of_cases = (case.tags for evals in sets for case in islice(evals.data or (), _LOOKED_AT))
    if any(tag in each for each in of_cases):
        hint += f" Cases have it: --filter-metadata {quote(f'tags={tag}')} chooses those."
    raise NothingSelected(f"no eval has the tag '{tag}', and --tag chooses evals", hint=hint)


def _taken(selector: Selector, case: Case) -> bool:
    # Conditions go by the tags, too, where the metadata has no other.
    metadata = {"tags": tuple(case.tags), **case.metadata}
    values = (case.id, case.input or "", *case.vars.values())
    return selector.takes(lambda: (case.id,), str(case), values, metadata)
