"""What a plan's calls would cost with `--batch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand.analysis.estimates.earlier_run import Precedent, planned_waves, waves_in_words
from evenhand.core.message import Prompt
from evenhand.core.plan import CallEstimate, Plan
from evenhand.core.wording.words import money


def batch_shares(
    plan: Plan, estimates: Sequence[CallEstimate] = (), *, marked: bool = False
) -> Mapping[str, float]:
    """The share of its price that each model costs in a batch, by id; without those that are asked live.

    Args:
        plan: The plan, with the models that it names.
        estimates: Calls that may be of other models, which an application asks by itself.
        marked: Only those whose config says `batch: true`.
    """
    from evenhand.providers.batches.places import (  # noqa: PLC0415 (only before a run)
        DISCOUNT,
        batch_share_of,
        place_of,
    )
    from evenhand.providers.chat import asks_for_batches  # noqa: PLC0415 (only before a run)

    shares: dict[str, float] = {}
    for provider in plan.providers:
        if marked and not asks_for_batches(provider):
            continue
        place = place_of(provider, provider.request(Prompt.of(""))) if provider.paid else None
        if place is not None:
            shares[provider.id] = shares[provider.label] = 1 - DISCOUNT[place[0].vendor]
    # Their shares are known above: live if they are not in `shares`.
    named = {name for provider in plan.providers for name in (provider.id, provider.label)}
    for one in () if marked else estimates:
        share = None if one.provider in named else batch_share_of(one.provider)
        if share is not None:
            shares[one.provider] = share
    return shares


def batch_cost(estimate: CallEstimate, shares: Mapping[str, float]) -> float | None:
    """What these calls cost in a batch; None where they are asked live, or a price is not known."""
    share = shares.get(estimate.provider)
    return None if share is None or estimate.cost_usd is None else share * estimate.cost_usd


def foreseen_waves(
    plan: Plan,
    estimates: Sequence[CallEstimate],
    precedent: Precedent | None,
    shares: Mapping[str, float],
) -> int:
    """About how many waves a plan would take in batches; 0 where that is not known, or nothing goes in one.

    Args:
        estimates: Its calls, where they are known before it has run.
        precedent: An earlier run of it, where they are not.
        shares: As `batch_shares` says.
    """
    if estimates or precedent is None:
        return planned_waves(plan, estimates, shares)
    return precedent.waves


def batch_line(
    plan: Plan, estimates: Sequence[CallEstimate], bound: str, precedent: Precedent | None = None
) -> str:
    """Both lanes in a line; empty where nothing would go in a batch, or a price is not known.

    Args:
        estimates: Its calls, as planned or as in the precedent.
        bound: How sure the costs are: `at most` or `about`.
        precedent: The earlier run that has them; None where they are known without one.
    """
    shares = batch_shares(plan, estimates if precedent is not None else ())
    if not any(batch_cost(one, shares) for one in estimates):
        return ""
    costs = [one.cost_usd for one in estimates]
    if None in costs:
        return ""
    live = sum(cost or 0.0 for cost in costs)
    halved = _sum(estimates, shares)
    marked = batch_shares(plan, marked=True)
    of_models = ""
    if marked:
        waves = planned_waves(plan, estimates, marked)
        words = f"in {waves_in_words(waves)}" if waves else "in batches"
        of_models = (
            f"; with batch: true, as it is, {bound} {money(_sum(estimates, marked))}, {words}"
        )
    waves = precedent.waves if precedent is not None else planned_waves(plan, estimates, shares)
    return f"  live {bound} {money(live)}{of_models}; with --batch {bound} {money(halved)}, in {waves_in_words(waves)}"


def _sum(estimates: Sequence[CallEstimate], shares: Mapping[str, float]) -> float:
    """What these calls cost if these models are asked in batches, and all others live."""
    halves = [(one.cost_usd or 0.0, batch_cost(one, shares)) for one in estimates]
    return sum(cost if half is None else half for cost, half in halves)
