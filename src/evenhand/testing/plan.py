"""A plan made by hand, for tests of what runs and reads plans."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from evenhand.core.case import Case
from evenhand.core.contest import Referee
from evenhand.core.errors import Problem
from evenhand.core.expect import Trial, VerdictRule, all_pass
from evenhand.core.plan import Plan, Row, RunOptions, Sheet, Slot
from evenhand.core.provider import Provider
from evenhand.core.variant import Variant


def example_of(
    body: Callable[[Trial], Awaitable[object]],
    cases: Sequence[Case],
    *,
    variants: Sequence[Variant] = (Variant(0, "prompt", "model"),),
    repeats: int = 1,
    providers: Sequence[Provider] = (),
    rule: VerdictRule = all_pass,
    title: str = "example",
    source: str = "",
    fingerprint: str = "example",
    options: RunOptions | None = None,
    config: Mapping[str, Any] | None = None,
    hints: Sequence[Problem] = (),
    referees: Sequence[Referee] = (),
) -> Plan:
    """Cases × variants × repeats, and one body for all of them."""
    slots = [Slot(variant=variant, body=body) for variant in variants]

    def rows() -> Iterator[Row]:
        for case in cases:
            yield Row(
                cases=(case,), slots=lambda *_: slots, repeats=repeats, rule=rule, referees=referees
            )

    size = len(cases) * len(variants) * repeats
    sheet = Sheet(
        variants=variants,
        rows=rows,
        case_count=len(cases),
        size=size,
        repeats=repeats,
        providers=lambda: providers,
    )
    return Plan(
        title=title,
        sheets=[sheet],
        identify=lambda: fingerprint,
        record=lambda: config or {},
        source=source,
        options=options or RunOptions(),
        hints=hints,
    )


def example(count: int, body: Callable[[Trial], Awaitable[object]], **more: Any) -> Plan:
    """A plan of so many cases, called case-0, case-1, …, each with its number as the variable `n`."""
    return example_of(body, [Case(f"case-{i}", {"n": i}) for i in range(count)], **more)
