"""One assertion, asked of one output without a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from evenhand.core.case import Case
from evenhand.core.message import Prompt, Reply
from evenhand.core.plan import PlannedTrial
from evenhand.core.provider import Provider
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.doors.assertions.aggregate import verdict_rule
from evenhand.doors.assertions.assertion import Assertion, Cell, split
from evenhand.doors.assertions.preparing import prepared
from evenhand.engine.code import CodeHost
from evenhand.engine.trial import LiveTrial


class Direct:
    """Asks a provider without an engine."""

    async def ask(self, trial: LiveTrial, provider: Provider, prompt: Prompt, role: str) -> Reply:
        return provider.reply((await provider.send(provider.request(prompt), trial)).body)


Settle = Callable[..., Awaitable[Outcome]]


@pytest.fixture
def settled() -> Settle:
    """The outcome of an assertion, its type as a config writes it."""

    async def settled(
        type_: str,
        value: Any = None,
        *,
        output: Any = "the answer",
        reply: Reply | None = None,
        variables: Mapping[str, Any] | None = None,
        provider_config: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Outcome:
        name, negated = split(type_)
        make = prepared(Assertion(type=name, negated=negated, value=value, **more))

        async def body(trial: Any) -> object:
            trial.expect(
                make(
                    Cell(
                        output=output,
                        prompt="the prompt",
                        variables=variables or {},
                        test={},
                        provider_id="echo",
                        provider_label="echo",
                        reply=reply,
                        provider_config=provider_config or {},
                    )
                )
            )
            return output

        host = CodeHost()
        with host.open():
            planned = PlannedTrial(
                index=0,
                case=Case("1"),
                variant=Variant(0, "p", "m"),
                repeat=0,
                body=body,
                rule=verdict_rule(),
            )
            result = await LiveTrial(planned, Direct(), host).settle()
        return result.outcomes[0]

    return settled
