"""What judges came to that compared the outputs of all variants: it is counted in one trial of each case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.run import Judged

if TYPE_CHECKING:
    from evenhand.store.runfile import RunFile


def compared_spending(run: RunFile) -> dict[int, Judged]:
    """By the index of the variant that it is counted in; empty where nobody compared variants."""
    if len(run.meta.variants) < 2 or not sum(run.judge_calls()):
        return {}
    spent: dict[int, Judged] = {}
    for trial in run.comparing():
        if trial.compared is not None:
            spent[trial.variant] = _both(spent.get(trial.variant, Judged()), trial.compared)
    return spent


def _both(one: Judged, other: Judged) -> Judged:
    cost_usd = None
    if one.cost_usd is not None and other.cost_usd is not None:
        cost_usd = one.cost_usd + other.cost_usd
    return Judged(
        calls=one.calls + other.calls,
        tokens_in=one.tokens_in + other.tokens_in,
        tokens_out=one.tokens_out + other.tokens_out,
        cost_usd=cost_usd,
    )
