"""What judges may cost: a judge's request has a text that isn't known before there is an answer to judge."""

from __future__ import annotations

from evenhand.core.message import Prompt
from evenhand.core.plan import CallEstimate
from evenhand.core.provider import Provider

JUDGE_TOKENS = 700
"""A guess at what a judge is sent: our prompt, a rubric of two lines, an answer of three paragraphs."""


def judge_estimate(provider: Provider, calls: int, role: str = "judge") -> CallEstimate:
    """So many calls to a judge: their tokens, and the most that they may cost."""
    request = provider.request(Prompt.of("word" * JUDGE_TOKENS))
    bound = request.cost_bound_usd if provider.paid else 0.0
    return CallEstimate(
        provider.id,
        role,
        calls,
        calls * JUDGE_TOKENS,
        None if bound is None else bound * calls,
        None if request.tokens_out is None else request.tokens_out * calls,
    )
