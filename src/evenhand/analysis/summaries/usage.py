"""What a run's models were asked, role by role."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.wording.words import count, money, tokens
from evenhand.store.counted import ModelUsage, added
from evenhand.store.runfile import RunFile

_ROLES = {"setup": "set-up", "simulator": "simulated user"}


def by_role(usage: Sequence[ModelUsage]) -> dict[str, ModelUsage]:
    """What each role's models were asked, together."""
    roles: dict[str, ModelUsage] = {}
    for used in usage:
        before = roles.get(used.role)
        roles[used.role] = added(before, used) if before else used
    return roles


def usage_line(run: RunFile) -> str:
    """What models were asked, role by role; empty where there is one role only, of which the summary says all."""
    roles = by_role(run.usage())
    if len(roles) < 2:
        return ""
    parts = [f"{_ROLES.get(role, role)}: {_used(used)}" for role, used in roles.items()]
    totals = run.totals()
    # Neither what a model answered for nothing, nor what an earlier session received, was asked for by another trial.
    again = min(
        totals.calls - sum(used.calls for used in roles.values()),
        totals.cached - sum(used.cached for used in roles.values()),
    )
    if again > 0:
        parts.append(f"{again:,} answered by earlier calls of the run")
    return " · ".join(parts)


def _used(used: ModelUsage) -> str:
    replayed = f" ({used.cached:,} replayed)" if used.cached else ""
    parts = [count(used.calls, "call") + replayed]
    if used.tokens_in or used.tokens_out:
        parts.append(tokens(used.tokens_in, used.tokens_out))
    parts.append("cost not known" if used.cost_usd is None else money(used.cost_usd))
    return ", ".join(parts)
