"""What an earlier run of the same plan asked and cost, and in how many waves: for plans whose calls are unknown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from evenhand.core.errors import StoreError
from evenhand.core.json_shapes import as_mapping
from evenhand.core.message import Usage
from evenhand.core.plan import CallEstimate, Plan, Sheet
from evenhand.core.provider import Price
from evenhand.core.record import Record
from evenhand.core.run import RunMeta
from evenhand.core.step import Step
from evenhand.providers.chat import ChatProvider
from evenhand.providers.prices import cost, price_by_id
from evenhand.store.counted import ModelUsage
from evenhand.store.run_lookup import paths
from evenhand.store.runfile import RunFile

LOOKED_AT = 100
"""Runs, newest first, among which an earlier one is looked for."""


class Precedent(Record, frozen=True):
    """An earlier run, and what a plan would ask and cost if its trials were like those.

    Attributes:
        run: The run's id.
        trials: How many of its trials were settled.
        estimates: The calls of the whole plan. A cost is what to expect, not a bound; it leaves the cache out.
        waves: The waves that its trials took in batches, or would have taken.
        scripted: Whether a script answered: a model writes more or less, at its list price.
    """

    run: str
    trials: int
    estimates: tuple[CallEstimate, ...]
    waves: int = 0
    scripted: bool = False


def precedent_of(plan: Plan, home: Path) -> Precedent | None:
    """An earlier run of the plan's file or folder and of its evals, or title; None where none settled a trial of it.

    It is the latest one that is whole or has as many trials as the plan, and otherwise the one with the most: a run of
    a few cases, or of one eval, says little of what the others ask.
    """
    most = 0
    fullest: Path | None = None
    evals = {variant.eval for variant in plan.variants}
    for path in paths(home)[:LOOKED_AT]:
        try:
            with RunFile.open(path) as run:
                if run.meta.source != plan.source:
                    continue
                # Of several sets, a part is called otherwise than all of them; their evals tell.
                if evals == {""} and run.meta.title != plan.title:
                    continue
                trials = sum(_trials_of(run, _columns(run, sheet)) for sheet in plan.sheets)
                if not trials:
                    continue
                has_all = evals <= {variant.eval for variant in run.meta.variants}
                if (has_all and trials >= plan.size) or _is_whole(run.meta, run.totals().trials):
                    return _going_by(run, plan, trials)
                if trials > most:
                    most, fullest = trials, path
        except StoreError:
            continue
    if fullest is None:
        return None
    with RunFile.open(fullest) as run:
        return _going_by(run, plan, most)


def _columns(run: RunFile, sheet: Sheet) -> list[int] | None:
    """The run's columns that are of the evals of a sheet; None where all are."""
    evals = {variant.eval for variant in sheet.variants}
    columns = [i for i, variant in enumerate(run.meta.variants) if variant.eval in evals]
    return None if len(columns) == len(run.meta.variants) else columns


def _trials_of(run: RunFile, columns: Sequence[int] | None) -> int:
    """How many trials of these columns the run settled."""
    if columns is None:
        return run.totals().trials
    counts = run.by_variant()
    return sum(counts[column].trials for column in columns)


def _is_whole(meta: RunMeta, trials: int) -> bool:
    """Whether a run settled all its trials, and nobody had chosen some of them."""
    request = as_mapping(meta.settings.get("asked"))
    choices = {**as_mapping(request.get("selection")), "names": request.get("names")}
    parts = [value for name, value in choices.items() if name not in ("repeats", "seed")]
    return trials >= meta.planned and not any(parts)


def _going_by(run: RunFile, plan: Plan, trials: int) -> Precedent:
    prices = {one.id: one.price for one in plan.providers if isinstance(one, ChatProvider)}
    calls: dict[tuple[str, str], CallEstimate] = {}
    # Evals may ask different numbers of calls, so each set goes by its own.
    for sheet in plan.sheets:
        columns = _columns(run, sheet)
        if not (settled := _trials_of(run, columns)):
            continue
        usage = run.usage(columns)
        if run.meta.is_scripted:
            usage = [_at_list_price(one, prices) for one in usage]
        for one in _scaled(usage, run.batched_usd(columns), sheet.size / settled):
            before = calls.get((one.role, one.provider))
            calls[one.role, one.provider] = one if before is None else _together(before, one)
    estimates = tuple(sorted(calls.values(), key=lambda one: one.role != "subject"))
    return Precedent(run.meta.id, trials, estimates, waves_of_run(run), run.meta.is_scripted)


def _together(one: CallEstimate, other: CallEstimate) -> CallEstimate:
    costs = (one.cost_usd, other.cost_usd)
    return replace(
        one,
        calls=one.calls + other.calls,
        tokens_in=one.tokens_in + other.tokens_in,
        cost_usd=None if None in costs else math.fsum(filter(None, costs)),
    )


def _at_list_price(usage: ModelUsage, prices: Mapping[str, Price | None]) -> ModelUsage:
    """What a model would have charged for as many tokens as a script answered with, for nothing."""
    price = prices.get(usage.model) or price_by_id(usage.model)
    tokens = Usage(usage.tokens_in, usage.tokens_out)
    return replace(usage, cost_usd=cost(price, tokens), cached=0)


def _scaled(
    usage: list[ModelUsage], batched_usd: Mapping[tuple[str, str], float], times: float
) -> Iterator[CallEstimate]:
    from evenhand.providers.batches.places import batch_share_of  # noqa: PLC0415 (only before a run)

    for one in usage:
        cost, paid = one.cost_usd, one.calls - one.cached
        if cost is not None:
            half, share = batched_usd.get((one.role, one.model), 0.0), batch_share_of(one.model)
            if share:  # what it would have cost live
                cost += half / share - half
            # What the cache answered, or nobody, would have cost as much as what was paid for; of nothing paid, nothing
            # is known.
            cost = cost / paid * one.requests * times if paid else None
        asked_again = one.requests / one.calls if one.calls else 1.0
        calls, tokens = round(one.requests * times), round(one.tokens_in * asked_again * times)
        yield CallEstimate(one.model, one.role, calls, tokens, cost)


WALKED = 100_000
"""Trials that are looked at for how they come after one another."""
TRIALS_READ = 200
"""Trials of an earlier run that are looked at for how many answers they waited for."""
HOURS = 24


def planned_waves(
    plan: Plan, estimates: Sequence[CallEstimate], shares: Mapping[str, float]
) -> int:
    """The waves of a plan whose calls are known: one for answers, one for judges, as often as trials follow others.

    Args:
        shares: The models that are asked in batches.

    Returns:
        At least so many; 0 where nothing is asked in batches.
    """
    roles = {one.role for one in estimates if one.calls and one.provider in shares}
    return len(roles) * _longest(plan) if roles else 0


def waves_of_run(run: RunFile) -> int:
    """The waves that a run took, or would have taken: the most answers that a trial waited for, one after another."""
    depths, _ = run.depths()
    if depths:
        return max(depths.values())
    before: dict[int, int] = {}
    judged = False
    for call in run.ended():
        if call.role == "judge":
            judged = True
        elif call.role != "subject":
            before[call.trial] = before.get(call.trial, 0) + 1
    most = max(before.values(), default=0)
    # A run whose trials kept no steps asked its subject all the same: one wave at least.
    one_call = {call.trial for call in run.ended() if call.role == "subject"}
    for place in islice(sorted(run.stepped()), TRIALS_READ):
        steps = run.kept_steps(place) or ()
        most = max(most, before.get(place, 0) + one_after_another(steps))
    return max(most, 1 if one_call else 0) + judged


def one_after_another(steps: Iterable[Step]) -> int:
    """The most calls of models among these, each of which began when the one before it had been answered."""
    number, free_s = 0, 0.0
    spans = [
        (one.started_s or 0.0, (one.started_s or 0.0) + (one.duration_s or 0.0))
        for one in steps
        if one.kind == "model"
    ]
    # The greedy choice by the earliest end gives the most intervals that don't overlap.
    for start_s, end_s in sorted(spans, key=lambda span: span[1]):
        if not number or start_s >= free_s:
            number, free_s = number + 1, end_s
    return number


def waves_in_words(waves: int) -> str:
    """How many, and how long that may be.

    >>> waves_in_words(4)
    'about 4 waves, each of up to 24 h'
    """
    many = "1 wave" if waves == 1 else f"about {waves} waves, each"
    return f"{many} of up to {HOURS} h"


def _longest(plan: Plan) -> int:
    """The longest chain of trials that come after one another; 1 where none does."""
    depths: dict[int, int] = {}
    for planned in islice(plan.trials(), WALKED):
        if planned.after:
            # Those before it were walked before it; 1 for one that is itself first.
            depths[planned.index] = 1 + max(depths.get(i, 1) for i in planned.after)
    return max(depths.values(), default=1)
