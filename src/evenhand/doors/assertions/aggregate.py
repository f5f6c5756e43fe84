"""How promptfoo's files say that a test's assertions become its verdict: weights, and a threshold on their mean."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from evenhand.core.expect import VerdictRule, named_scores, scale_of_mean, state_of, weighted_mean
from evenhand.core.score import SHARES, Outcome, State, Verdict
from evenhand.core.wording.bounds import as_written, beside

_EPSILON = 2.2e-16


def verdict_rule(
    threshold: float | None = None,
    binding: frozenset[int] = frozenset(),
    excusing: frozenset[int] = frozenset(),
) -> VerdictRule:
    """The rule of a test.

    Without a threshold every assertion must pass. With one, only the weighted mean of the scores counts. Weight 0 takes
    no part. An assertion in error leaves the test without a verdict, unless the others have decided: one that failed
    (without a threshold), or a mean that the missing score, from 0 to 1, can no longer bring to the other side.

    Args:
        binding: The places of outcomes that must pass even where they weigh nothing.
        excusing: The places of outcomes that let the test pass when they fail: guardrails that were meant to.
    """
    rule: VerdictRule
    if threshold is None:
        rule = partial(every, binding=binding) if binding else every
    else:
        rule = partial(mean_reaches, threshold=threshold)
    return partial(unless_blocked, rule=rule, excusing=excusing) if excusing else rule


def unless_blocked(
    outcomes: Sequence[Outcome], rule: VerdictRule, excusing: frozenset[int]
) -> Verdict:
    """What the rule says, but that the test passes where one of these failed; see `verdict_rule`."""
    verdict = rule(outcomes)
    blocked = next((outcomes[i] for i in sorted(excusing) if outcomes[i].outcome == "fail"), None)
    if blocked is None:
        return verdict
    return replace(verdict, outcome="pass", reason=f"blocked, as it should be: {blocked.reason}")


def every(outcomes: Sequence[Outcome], binding: frozenset[int] = frozenset()) -> Verdict:
    """Every assertion must pass; see `verdict_rule`."""
    # Most tests have one assertion, whose outcome is the verdict: no mean has to be worked out.
    if len(outcomes) == 1:
        only = outcomes[0]
        if only.weight > 0 and not only.metric and not only.named:
            return Verdict(only.outcome, only.score, only.reason, scale=only.scale)
    counted = [o for i, o in enumerate(outcomes) if o.weight > 0 or i in binding]
    state = state_of(counted)
    score = weighted_mean(counted)
    if not outcomes:
        return Verdict("pass", 1.0, "nothing was expected", scale=SHARES)
    return Verdict(
        state,
        0.0 if not counted else None if state == "error" else score,
        next((o.reason for o in counted if o.outcome == state), ""),
        named_scores(outcomes),
        scale=scale_of_mean(counted),
    )


def mean_reaches(outcomes: Sequence[Outcome], threshold: float) -> Verdict:
    """The weighted mean of the scores must reach the threshold; see `verdict_rule`."""
    if not outcomes or all(o.outcome == "not_applicable" for o in outcomes):
        # There is no score to take the mean of.
        return replace(every(outcomes), threshold=threshold)
    counted = [o for o in outcomes if o.weight > 0 and o.outcome != "not_applicable"]
    total = sum(o.weight for o in counted)
    known = sum(o.weight * o.score for o in counted if o.score is not None)
    unknown = sum(o.weight for o in counted if o.score is None)
    # The two means that are possible: with each missing score as 0, and with each as 1.
    lowest = known / total if total else 0.0
    highest = (known + unknown) / total if total else 0.0
    state: State
    if lowest >= threshold - _EPSILON:
        state = "pass"
    elif unknown and highest >= threshold - _EPSILON:
        state = "error"
    else:
        state = "fail"
    sign = "≥" if state == "pass" else "<"
    end = lowest if state == "pass" or not unknown else highest
    number = beside(end, threshold, digits=2, form="f")
    open_ = ("at least " if state == "pass" else "at most ") if unknown else ""
    reason = (
        next((o.reason for o in counted if o.outcome == "error"), "")
        if state == "error"
        else f"score {open_}{number} {sign} {as_written(threshold)}"
    )
    score = None if unknown else lowest
    return Verdict(state, score, reason, named_scores(outcomes), threshold, scale_of_mean(counted))
