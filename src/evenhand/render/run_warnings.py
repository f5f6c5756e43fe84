"""What a summary says beside the rates: what models were asked, and what to know before rates are believed."""

from __future__ import annotations

from evenhand.analysis.summaries.column_names import column_names
from evenhand.core.application_code import JUDGE, is_of_two
from evenhand.core.run import REFUSED, UNSEEN
from evenhand.core.score import OFF_SCALE
from evenhand.core.scripted import SCRIPTED
from evenhand.core.wording.words import count, money, near, safe, seconds, spent, tokens
from evenhand.store.counted import ModelUsage, added
from evenhand.store.runfile import RunFile

CHOSEN = "trials were chosen by outcome: rates say nothing about the others"
_ROLES = {"setup": "set-up", "simulator": "simulated user"}
NAMED = 8
"""So many calls that were not recorded are named."""
LONG_WAIT_S = 0.05
"""Answers that waited less than so long on average are not spoken of, in seconds."""
NO_SANDBOX = "no sandbox: bwrap "


def warnings(run: RunFile) -> list[str]:
    """What readers of a run should know: a scripted gate, unrecorded calls, refusals, evals that expect nothing."""
    return [
        *([SCRIPTED] if run.meta.is_scripted and run.meta.is_of_gate else []),
        *_unrecorded(run),
        *_changed_judges(run),
        *_chosen(run),
        *_empty(run),
        *_share(run, run.refused(), "refused"),
        *_share(
            run, run.without_thoughts(), "scored without the thoughts in the text (showThinking)"
        ),
        *_unasked(run),
        *_unprotected(run),
        *_off_scale(run),
        *_waited(run),
        *_compared(run),
    ]


def usage_line(run: RunFile) -> str:
    """What models were asked, role by role; empty where there is one role only, of which the summary says all."""
    roles: dict[str, ModelUsage] = {}
    for used in run.usage():
        # Usage is counted by role and model, and several models may have one role.
        before = roles.get(used.role)
        roles[used.role] = added(before, used) if before else used
    if len(roles) < 2:
        return ""
    scripted = run.meta.is_scripted
    parts = [
        f"{_ROLES.get(role, role)}: {_used(used, scripted=scripted)}"
        for role, used in roles.items()
    ]
    totals = run.totals()
    # Neither what a model answered for nothing, nor what an earlier session received, was asked for by another trial.
    again = min(
        totals.calls - sum(used.calls for used in roles.values()),
        totals.cached - sum(used.cached for used in roles.values()),
    )
    if again > 0:
        parts.append(f"{again:,} answered by earlier calls of the run")
    # Those of earlier takes of a trial are among them.
    return ("in all, " if run.retaken else "") + " · ".join(parts)


def _used(used: ModelUsage, *, scripted: bool) -> str:
    replayed = f" ({used.cached:,} replayed)" if used.cached else ""
    parts = [count(used.calls, "call") + replayed]
    if used.unanswered:
        parts.append(f"{used.unanswered:,} without an answer")
    if used.tokens_in or used.tokens_out:
        parts.append(tokens(used.tokens_in, used.tokens_out))
    if used.cost_usd is not None or not scripted:
        parts.append(spent(used.cost_usd, scripted=scripted))
    return ", ".join(parts)


def _unrecorded(run: RunFile) -> list[str]:
    """The calls that belonged to no trial, or can't be recorded: those that were sent, and those that were not."""
    calls = run.meta.unrecorded
    refused = {n.removeprefix(REFUSED): k for n, k in calls.items() if n.startswith(REFUSED)}
    blind = {n.removeprefix(UNSEEN): k for n, k in calls.items() if n.startswith(UNSEEN)}
    sent = {n: k for n, k in calls.items() if not n.startswith((REFUSED, UNSEEN))}
    barred = {n.removeprefix(UNSEEN): k for n, k in refused.items() if n.startswith(UNSEEN)}
    refused = {n: k for n, k in refused.items() if not n.startswith(UNSEEN)}
    stray = "of a recording client belonged to no trial, and"
    past = "to models bypassed the recorder, and"
    lines: list[str] = []
    for these, which, what in (
        (sent, stray, "not recorded"),
        (blind, past, "not recorded"),
        (barred, past, "not sent"),
        (refused, stray, "not sent"),
    ):
        if number := sum(these.values()):
            named = [
                safe(name) + (f" ({times:,})" if times > 1 else "") for name, times in these.items()
            ]
            more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
            lines.append(
                f"{count(number, 'call')} {which} "
                f"{'was' if number == 1 else 'were'} {what}: {', '.join(named[:NAMED])}{more}"
                + "".join(
                    remedy for way, remedy in _RECORDED_BY if any(way in name for name in these)
                )
            )
    return lines


_RECORDED_BY = (
    ("through http.client", "; requests, httpx and aiohttp are recorded, and urllib isn't"),
    ("on the event loop", "; use an async client there, or asyncio.to_thread"),
)
"""What to use instead, by what the name of an unrecorded call has in it."""


def _changed_judges(run: RunFile) -> list[str]:
    """The judges that are programs and were others in a later part of the run."""
    return [
        f"{safe(name.removeprefix(JUDGE))} judged by two versions of its code: run again for verdicts of one"
        for name, part in run.meta.code.items()
        if name.startswith(JUDGE) and is_of_two(part)
    ]


def _waited(run: RunFile) -> list[str]:
    """How long answers waited on this machine, where it is worth knowing beside how long the models took."""
    answers, waited_s, took_s = run.waits()
    if waited_s < max(LONG_WAIT_S * answers, took_s / 10) or not answers:
        return []
    waited, took = seconds(waited_s / answers), seconds(took_s / answers)
    line = (
        f"answers waited {waited} on this machine on average, and the models took {took}: latencies exclude "
        f"the wait; if scorers or your own code cause it, run fewer trials at once (-j)"
    )
    return [line]


def _compared(run: RunFile) -> list[str]:
    """The calls that compared the outputs of all variants, which are counted in the costs of one."""
    variants = run.meta.variants
    if run.meta.status == "running" or len(variants) < 2 or not run.asks_judges():
        return []
    names = dict(zip((one.index for one in variants), column_names(variants), strict=True))
    return [
        f"{count(used.calls, 'judge call')}{f' ({money(used.cost_usd)})' if used.cost_usd else ''} compared the "
        f"outputs of all variants, and {'counts' if used.calls == 1 else 'count'} in {safe(names[variant])} alone"
        + ("" if run.meta.is_scripted else ": don't compare the variants' costs")
        for variant, used in run.compared_spending().items()
    ]


def _off_scale(run: RunFile) -> list[str]:
    """The first score of a judge that is on another scale than its threshold. What is judged is read for it."""
    if run.meta.status == "running" or not run.asks_judges():
        return []
    trial = next(run.warned(OFF_SCALE), None)
    outcomes = () if trial is None else trial.outcomes
    texts = (str(one.metadata.get("warning", "")) for one in outcomes)
    text = next((text for text in texts if text.startswith(OFF_SCALE)), "")
    if trial is None or not text:
        return []
    case = safe(trial.description or trial.case)
    return [f"{safe(text)}, in {case}: write the threshold on the scale of your prompt's scores"]


def _unprotected(run: RunFile) -> list[str]:
    """The agents that are programs and ran without a sandbox although nobody had said so."""
    names = {
        variant.index: variant.provider_id
        for variant in run.meta.variants
        if variant.provider_id.startswith("agent:")
    }
    if not names:
        return []
    from evenhand.providers.journaled import journaled_reply  # noqa: PLC0415 (imported on use)

    why: dict[str, str] = {}
    for place, _, variant, _ in run.places():
        trial = run.trial(place) if variant in names else None
        for call in () if trial is None else run.calls_of(trial):
            if call.end is not None and call.end.body and call.start.provider == names[variant]:
                reply = journaled_reply(call.start.identity, call.end.body)
                # One answer says it for the whole column, so its other trials are not read.
                why[names.pop(variant)] = str(reply.metadata.get("sandbox") or "")
                break
        if not names:
            break
    return [
        f"{safe(name)} ran without a sandbox: bwrap {safe(reason.removeprefix(NO_SANDBOX))}"
        for name, reason in why.items()
        if reason.startswith(NO_SANDBOX)
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


def _share(run: RunFile, numbers: list[int], what: str) -> list[str]:
    """Of how many trials' answers something holds; in a run of several variants, of which."""
    if not any(numbers):
        return []
    of = [totals.trials for totals in run.by_variant()]
    # Not of so many answers: a trial in error may have none.
    answers, were = ("answer", "was") if sum(numbers) == 1 else ("answers", "were")
    text = f"the {answers} of {sum(numbers):,} of {count(sum(of), 'trial')} {were} {what}"
    if len(of) == 1:
        return [text]
    shares = [
        f"{safe(name)} {number:,} of {trials:,}"
        for name, number, trials in zip(column_names(run.meta.variants), numbers, of, strict=True)
        if number
    ]
    return [f"{text}: {', '.join(shares)}"]


def _chosen(run: RunFile) -> list[str]:
    if not (run.by_outcome and run.meta.planned):
        return []
    left_out = "comparisons" if len(run.meta.variants) > 1 else ""
    if run.meta.repeats > 1:
        left_out += f"{', ' if left_out else ''}pass@k and flaky cases"
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
        f"{_place(where)}: {safe(name)} expects nothing{_part(unasked, trials[where, name])}, "
        "so there is no verdict; --strict makes that an error"
        for (where, name), unasked in passed.items()
        if unasked
    ]


def _part(part: int, whole: int) -> str:
    return "" if part == whole else f" in {part:,} of {count(whole, 'trial')}"


def _place(where: str) -> str:
    """`path:line` as people would write it from where they stand."""
    path, _, line = where.rpartition(":")
    return safe(f"{near(path)}:{line}")
