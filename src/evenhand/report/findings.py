"""What there is to know of a run beyond its rates: what beats what, which cases waver, and what is worth a look."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.providers.journaled import journaled_reply
from evenhand.report.grid import Grid
from evenhand.report.marks import Marked, marked
from evenhand.report.outcome import UNSURE, unsure
from evenhand.report.preferences import preferences
from evenhand.report.rates import repeats
from evenhand.report.triggers import trigger_rates
from evenhand.report.trust.standing_lines import standing_lines
from evenhand.report.variant_comparison import sentences
from evenhand.report.words import clip, count, interval, money, near, percents, safe, tokens
from evenhand.stats.tallies import Share
from evenhand.store.counted import CaseTally, ModelUsage, added
from evenhand.store.runfile import RunFile

NAMED = 3
NAME = 40
CHOSEN = "trials were chosen by what came of them: rates say nothing of the others"
NO_SANDBOX = "no sandbox: bwrap "
_ROLES = {"setup": "set-up", "simulator": "simulated user"}


def findings(
    run: RunFile, grid: Grid, where: Marked | None = None, *, one_each: bool = False
) -> list[str]:
    """The sentences below the table. Columns are not compared by trials that were chosen: the choice decides.

    Of those that were chosen by what came of them, only what their judges were not sure of is told.

    Args:
        run: The run.
        grid: Its cells.
        where: Where to look, for those who know; without it every trial is looked at.
        one_each: Rankings in one line each, for lists, and not line by line.
    """
    where = where or marked(run)
    if run.by_outcome:
        return _unsure(run, grid, where)
    triggers = trigger_rates(run, where.triggers)
    lines = [f"{grid.names[one.variant]}: {one}" for one in triggers]
    preferred = preferences(run, where.judged)
    lines += [f"{grid.names[one.variant]}: {one}" for one in preferred]
    ranked = standing_lines(run, grid.names, where.judged, one_each=one_each)
    lines += ranked
    compared = [] if run.narrowed else sentences(grid)
    if ranked:  # of which these say nothing
        compared = [f"by pass rate: {line}" for line in compared]
    return [*lines, *compared, *_repeats(run, grid), *_unsure(run, grid, where)]


def warnings(run: RunFile) -> list[str]:
    """How trials were chosen, answers without text, evals that expect nothing, and agents without a sandbox."""
    return [*_chosen(run), *_empty(run), *_unasked(run), *_unprotected(run)]


def _unprotected(run: RunFile) -> list[str]:
    """The agents that are programs and ran without a sandbox although nobody had said so."""
    names = {
        variant.index: variant.provider_id
        for variant in run.meta.variants
        if variant.provider_id.startswith("agent:")
    }
    why: dict[str, str] = {}
    for place, _, variant, _ in run.places() if names else ():
        trial = run.trial(place) if variant in names else None
        for call in () if trial is None else run.calls_of(trial):
            if call.end is not None and call.end.body and call.start.provider == names[variant]:
                reply = journaled_reply(call.start.identity, call.end.body)
                why[names.pop(variant)] = str(reply.metadata.get("sandbox") or "")
                break
        if not names:
            break
    return [
        f"{safe(name)} ran without a sandbox: bwrap {safe(said.removeprefix(NO_SANDBOX))}"
        for name, said in why.items()
        if said.startswith(NO_SANDBOX)
    ]


def _empty(run: RunFile) -> list[str]:
    empty, cut_off = run.empty_answers()
    if not empty:
        return []
    text = f"{count(empty, 'answer')} {'was' if empty == 1 else 'were'} empty"
    if not cut_off:
        return [text]
    which = "" if cut_off == empty == 1 else "all " if cut_off == empty else f"{cut_off:,} of them "
    return [f"{text}, {which}cut off before the first word: allow more tokens (max_tokens)"]


def _chosen(run: RunFile) -> list[str]:
    if not (run.by_outcome and run.meta.planned):
        return []
    left_out = "comparisons" if len(run.meta.variants) > 1 else ""
    if run.meta.repeats > 1:
        left_out += f"{', ' if left_out else ''}pass@k and cases that waver"
    return [CHOSEN + (f"; {left_out} are left out" if left_out else "")]


def _unasked(run: RunFile) -> list[str]:
    if not any(variant.where for variant in run.meta.variants):
        return []  # and nothing is read
    passed: dict[tuple[str, str], int] = {}
    trials: dict[tuple[str, str], int] = {}
    for variant, unasked, totals in zip(
        run.meta.variants, run.unasked(), run.by_variant(), strict=True
    ):
        if not variant.where:
            continue
        eval_ = variant.where, variant.eval
        passed[eval_] = passed.get(eval_, 0) + unasked
        trials[eval_] = trials.get(eval_, 0) + totals.trials
    return [
        f"{_place(where)}: {safe(name)} expects nothing{_part(unasked, trials[where, name])}: "
        "there is no verdict then; --strict makes that an error"
        for (where, name), unasked in passed.items()
        if unasked
    ]


def _part(part: int, whole: int) -> str:
    return "" if part == whole else f" in {part:,} of {count(whole, 'trial')}"


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


def _repeats(run: RunFile, grid: Grid) -> list[str]:
    if run.meta.repeats < 2:
        return []
    lines: list[str] = []
    for name, result in zip(grid.names, repeats(run), strict=True):
        if result.tries:
            tries = result.tries[-1]
            lines.append(
                f"{name}: pass@{tries.k} {_share(tries.once)}, pass^{tries.k} {_share(tries.always)} over "
                f"{count(tries.cases, 'case')} (at least once, and every time, in {tries.k} tries)"
            )
        if result.flaky:
            named = ", ".join(_tally(run, case) for case in result.flaky[:NAMED])
            more = len(result.flaky) - NAMED
            lines.append(
                f"{name}: {len(result.flaky):,} of {count(result.cases, 'case')} passed in some repeats and failed in "
                f"others: {named}{f' and {more:,} more' if more > 0 else ''}"
            )
    return lines


def _share(share: Share) -> str:
    return f"{percents(share.least, share.most)} [{interval(share.low, share.high)}]"


def _tally(run: RunFile, case: CaseTally) -> str:
    trial = run.trial(case.first)
    name = (trial.description or trial.case) if trial else case.case
    return f"{clip(safe(name), NAME)} ({case.tally.passed} of {case.tally.n} passed)"


def _unsure(run: RunFile, grid: Grid, where: Marked) -> list[str]:
    number, first = low_confidence(run, where.judged)
    if first is None:
        return []
    trial = run.trial(first)
    place = f"{grid.place(trial)}, trial {first}" if trial else f"trial {first}"
    return [f"{count(number, 'judgement')} of low confidence, the first at {place}"]


def low_confidence(run: RunFile, places: Sequence[int] | None = None) -> tuple[int, int | None]:
    """How many judgements their judge was not sure of, and the place in the plan of the first.

    Args:
        run: The run.
        places: Where in the plan such trials are, and maybe others; without them every trial is looked at.
    """
    number, first = 0, None
    for trial in run.warned(UNSURE) if places is None else run.at(places):
        doubts = sum(map(unsure, trial.outcomes))
        number += doubts
        if doubts and first is None:
            first = trial.index
    return number, first


def _place(where: str) -> str:
    """`path:line` as people would write it from where they stand."""
    path, _, line = where.rpartition(":")
    return safe(f"{near(path)}:{line}")
