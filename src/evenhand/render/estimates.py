"""What a run of a plan would ask and cost, before anything is sent: for people, and for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from evenhand.analysis.estimates.earlier_run import Precedent
from evenhand.analysis.estimates.half_price import (
    batch_cost,
    batch_line,
    batch_shares,
    foreseen_waves,
)
from evenhand.core.document import Key, as_object, filled
from evenhand.core.plan import CallEstimate, Plan
from evenhand.core.record import Record
from evenhand.core.wording.words import count, priced, safe, seconds, short_id
from evenhand.providers.wrapped import Paused
from evenhand.render.heading import heading


class CheckVariant(Record, frozen=True, kw_only=True):
    """What `evenhand.check/1` says of a variant."""

    prompt: Annotated[str, Key("the prompt's label")]
    model: Annotated[str, Key("the model's label")]


class CheckCalls(Record, frozen=True, kw_only=True):
    """What `evenhand.check/1` says of the calls."""

    provider: Annotated[str, Key("as asked for")]
    role: Annotated[str, Key("`subject`, `judge`, `setup` or `simulator`")]
    calls: Annotated[int, Key("", "calls")]
    tokens_in: Annotated[int | None, Key("in all of them", "tokens", null="not known")]
    cost_bound_usd: Annotated[
        float | None,
        Key(
            "they cannot cost more",
            "US dollars",
            null="no price is known, or it goes by an earlier run",
        ),
    ]
    cost_expected_usd: Annotated[
        float | None,
        Key(
            "an estimate, not a bound; the cache may make it less",
            "US dollars",
            null="no price is known, or it does not go by an earlier run",
        ),
    ]
    batch_cost_usd: Annotated[
        float | None,
        Key(
            "the same cost [with `--batch`](../batches.md)",
            "US dollars",
            null="it is asked live, or the price is not known",
        ),
    ]


class CheckHint(Record, frozen=True, kw_only=True):
    """What `evenhand.check/1` says of a hint."""

    file: Annotated[str, Key("may be empty")]
    line: Annotated[int, Key("from 1; 0 where there is none")]
    column: Annotated[int, Key("from 1; 0 where there is none")]
    what: str
    hint: Annotated[str, Key("what to do; may be empty")]


class CheckDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.check/1`."""

    schema: Annotated[str, Key("`evenhand.check/1`")]
    title: Annotated[str, Key("of the plan")]
    source: Annotated[str, Key("the config, file or folder; empty for a plan made in code")]
    fingerprint: Annotated[str, Key("of the plan")]
    trials: Annotated[int, Key("", "trials")]
    cases: Annotated[int, Key("", "cases")]
    repeats: Annotated[int, Key("trials of each case for each variant")]
    variants: Annotated[list[CheckVariant], Key("the variants")]
    calls: Annotated[
        list[CheckCalls], Key("one for each model and role; empty where nobody knows before a run")
    ]
    batch_waves: Annotated[
        int | None,
        Key(
            "about how many it takes with `--batch`",
            "waves",
            null="nothing goes in a batch, or it is not known",
        ),
    ]
    going_by: Annotated[
        str | None,
        Key(
            "the id of the earlier run that they are estimated from",
            null="the calls are counted from the plan, or not known",
        ),
    ]
    hints: Annotated[list[CheckHint], Key("what was tolerated")]


def estimate_lines(
    plan: Plan,
    estimates: Sequence[CallEstimate],
    path: str = "",
    precedent: Precedent | None = None,
    *,
    ready: bool = True,
    scripted: bool = False,
) -> list[str]:
    """What a run of a plan would ask, and what it may cost.

    Args:
        path: How the user named it, with options, after a space; empty for the current folder.
        precedent: An earlier run, where the calls are not known before they are made.
        ready: Whether it could be run as it is; the last line says so.
        scripted: Whether a script would answer, which has no price.
    """
    lines = [heading(plan), ""]
    bound = "at most"
    if not estimates and precedent is not None:
        estimates, bound = precedent.estimates, "about"
        settled = count(precedent.trials, "trial")
        if precedent.scripted:
            settled += ", replies scripted: a model's may be longer"
        lines.append(
            f"  going by run {short_id(precedent.run)} ({settled}):"
            if estimates
            else f"  run {short_id(precedent.run)} recorded no calls, so how many a run makes is not known"
        )
    for estimate in estimates:
        tokens = (
            f"about {estimate.tokens_in:,} tokens in"
            if estimate.tokens_in
            else "tokens unknown beforehand"
        )
        cost = priced(estimate.cost_usd, scripted=scripted, bound=bound)
        lines.append(
            f"  {estimate.role:<9} {safe(estimate.provider)}   {count(estimate.calls, 'call')} · {tokens} · {cost}"
        )
    if not estimates and precedent is None:
        lines.append(
            "  what an eval asks is unknown before its first run; after that, check estimates from it"
        )
    state = f"no problems, {count(len(plan.hints), 'hint')}" if plan.hints else "nothing is wrong"
    if not scripted:
        lanes = batch_line(plan, estimates, bound, precedent if bound == "about" else None)
        lines += [lanes] if lanes else []
    lines += _waits(plan, estimates)
    if not ready:
        return [*lines, ""]
    lines += ["", f"{state}, and nothing was sent · next: evenhand run{path}"]
    return lines


def _waits(plan: Plan, estimates: Sequence[CallEstimate]) -> list[str]:
    """How long the waits before calls take by themselves: a config's one after the other, a provider's side by side."""
    delay, at_once = plan.options.delay_s, plan.options.concurrency
    if delay:
        free = {one.id for one in plan.providers if not one.paid}  # they are asked without a wait
        calls = sum(each.calls for each in estimates if each.provider not in free)
        return [_wait("", delay, calls, 1)] if calls else []
    if not at_once:
        return []  # the number at a time is not fixed, so nobody knows how long it takes
    delays = {one.id: one.delay_s for one in plan.providers if isinstance(one, Paused)}
    return [
        _wait(f" of {safe(each.provider)}", delays[each.provider], each.calls, at_once)
        for each in estimates
        if each.calls and delays.get(each.provider)
    ]


def _wait(whose: str, delay_s: float, calls: int, at_once: int) -> str:
    least = seconds(delay_s * math.ceil(calls / at_once))
    together = f", {at_once} at a time" if at_once > 1 else ""
    each = f"{count(calls, 'call')}{whose}{together}"
    return f"  {'waits':<9} {seconds(delay_s)} before each of {each}: {least} at least, without answers from the cache"


def estimate_row(
    plan: Plan, estimates: Sequence[CallEstimate], precedent: Precedent | None = None
) -> dict[str, Any]:
    """What a run would ask and cost, as a JSON-ready dict. Costs that go by an earlier run are expected, not bounds."""
    by_run = precedent is not None and not estimates
    if precedent is not None and not estimates:
        estimates = precedent.estimates
    shares = batch_shares(plan, estimates if by_run else ())
    return as_object(
        CheckDocument(
            schema="evenhand.check/1",
            title=plan.title,
            source=plan.source,
            fingerprint=plan.fingerprint,
            trials=plan.size,
            cases=plan.case_count,
            repeats=plan.repeats,
            variants=[CheckVariant(prompt=v.prompt, model=v.model) for v in plan.variants],
            calls=[
                filled(
                    CheckCalls,
                    e,
                    tokens_in=e.tokens_in or None,
                    cost_bound_usd=None if by_run else e.cost_usd,
                    cost_expected_usd=e.cost_usd if by_run else None,
                    batch_cost_usd=batch_cost(e, shares),
                )
                for e in estimates
            ],
            batch_waves=foreseen_waves(plan, () if by_run else estimates, precedent, shares)
            or None,
            going_by=precedent.run if by_run and precedent is not None else None,
            hints=[filled(CheckHint, h) for h in plan.hints],
        )
    )
