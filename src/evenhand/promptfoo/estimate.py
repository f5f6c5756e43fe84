"""What a plan will ask, counted, and priced from its first prompts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from evenhand.core.message import Prompt
from evenhand.core.plan import CallEstimate, Row
from evenhand.core.provider import Provider
from evenhand.promptfoo.resolved import resolved
from evenhand.promptfoo.step import CellBody, Pair, with_settings
from evenhand.promptfoo.survey import Survey

JUDGE_TOKENS = 700
"""A guess at what a judge is sent: our prompt, a rubric of two lines, an answer of three paragraphs."""

ESTIMATED_FROM = 300
"""Trials whose prompts are filled in to estimate tokens and prices of all."""


def estimate(
    rows: Iterator[Row],
    pairs: Sequence[Pair],
    survey: Survey,
    judges: Sequence[Provider],
) -> list[CallEstimate]:
    """The calls of a plan.

    Args:
        rows: Its rows; the prompts of the first trials are filled in.
    """
    tokens: dict[int, list[int]] = {}
    bounds: dict[int, list[float | None]] = {}
    trials = (slot for row in rows for case in row.cases for slot in row.slots(case, 0))
    for slot in itertools.islice(trials, ESTIMATED_FROM):
        body = slot.body
        assert isinstance(body, CellBody)  # noqa: S101 (made above)
        pair, test = body.pair, body.test
        variables, filled = resolved(
            body.variables, test.files, test.tagged, pair.base, pair.templates
        )
        fill = pair.fill(test.prefix, test.suffix)
        index = pair.variant.index
        if fill is None:
            # A function's prompt is not known before it runs: its own text and what it is given come close.
            prompt = Prompt.of("\n".join([pair.prompt.raw, *map(str, variables.values())]))
        else:
            prompt = with_settings(fill(variables, filled), test)
        request = pair.column.provider.request(prompt)
        tokens.setdefault(index, []).append(request.tokens_in)
        bounds.setdefault(index, []).append(request.cost_bound_usd)
    found: list[CallEstimate] = []
    for pair in pairs:
        index, calls = pair.variant.index, survey.calls.get(pair.variant.index, 0)
        sizes, prices = tokens.get(index, [0]), bounds.get(index, [None])
        known = [price for price in prices if price is not None]
        cost = sum(known) / len(known) * calls if len(known) == len(prices) else None
        found.append(
            CallEstimate(
                pair.column.provider.id, "subject", calls, sum(sizes) * calls // len(sizes), cost
            ),
        )
    for judge, calls in survey.judged.items():
        known_judge = next((provider for provider in judges if provider.id == judge), None)
        request = known_judge.request(Prompt.of("word" * JUDGE_TOKENS)) if known_judge else None
        price = request.cost_bound_usd if request else None
        found.append(
            CallEstimate(
                judge,
                "judge",
                calls,
                calls * JUDGE_TOKENS,
                None if price is None else price * calls,
            ),
        )
    return found
