"""Settles the expectations of a trial: each is asked, and each that raises is an outcome of its own."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol, cast

from evenhand.core.cascade import metric_asked
from evenhand.core.expect import Expectation
from evenhand.core.score import Outcome, Score
from evenhand.core.traits import label_of
from evenhand.engine.call_context import Asked, asked, asking
from evenhand.engine.deciding import Deciding
from evenhand.engine.outcome import (
    ANYTHING,
    Scored,
    checked_outcome,
    error_outcome,
    give_up,
    is_final,
    raise_if_final,
    resting_on,
    score_of,
)


class Settling(Scored, Protocol):
    """A trial whose scorers are asked."""

    @property
    def deciding(self) -> Deciding:
        """What its scorers ask decision models."""
        ...


async def settle_all(
    trial: Settling, expectations: Sequence[Expectation], known: Mapping[int, Outcome]
) -> tuple[Outcome, ...]:
    """The outcomes of expectations, in their order: those that answer at once first, the others side by side.

    Args:
        known: Outcomes that are settled already, by place.
    """
    outcomes: list[Outcome | None] = [None] * len(expectations)
    waiting: list[tuple[int, Awaitable[Score], Asked]] = []
    for i, expectation in enumerate(expectations):
        if i in known:
            outcomes[i] = known[i]
            continue
        calls: Asked = []
        token = asked.set(calls)
        try:
            score = score_of(trial, expectation)
            if not isinstance(score, Score) and inspect.isawaitable(score):
                waiting.append((i, score, calls))
            else:
                outcomes[i] = resting_on(calls, checked_outcome(expectation, score))
        except ANYTHING as error:  # a scorer may raise anything; it is an outcome
            if is_final(error):
                for _, unwanted, _ in waiting:
                    give_up(unwanted)
                raise
            outcomes[i] = resting_on(calls, error_outcome(expectation, error))
        finally:
            asked.reset(token)
    if not waiting:
        return tuple(cast("list[Outcome]", outcomes))
    deciding = trial.deciding
    deciding.begin(len(waiting))
    if len(waiting) == 1:
        i, score, calls = waiting[0]
        outcomes[i] = await _outcome(expectations[i], score, calls, deciding)
    else:
        tasks = [
            asyncio.ensure_future(_outcome(expectations[i], s, c, deciding)) for i, s, c in waiting
        ]
        try:
            settled = await asyncio.gather(*tasks)
        except BaseException:  # the run ends, or all are cancelled: leave none behind
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            raise
        for (i, _, _), outcome in zip(waiting, settled, strict=True):
            outcomes[i] = outcome
    return tuple(cast("list[Outcome]", outcomes))


async def _outcome(
    expectation: Expectation, score: Awaitable[Score], calls: Asked, deciding: Deciding
) -> Outcome:
    metric_asked.set(expectation.metric or expectation.label or label_of(expectation.scorer))
    try:
        with asking(calls):
            outcome = checked_outcome(expectation, await score)
    except ANYTHING as error:  # a scorer may raise anything; it is an outcome
        raise_if_final(error)
        outcome = error_outcome(expectation, error)
    finally:
        deciding.end()
    return resting_on(calls, outcome)
