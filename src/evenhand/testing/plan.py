"""A plan made by hand, for tests of what runs and reads plans."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenhand.core.case import Case
from evenhand.core.contest import Contest, Referee
from evenhand.core.errors import Problem
from evenhand.core.expect import Trial, VerdictRule, all_pass
from evenhand.core.plan import CallEstimate, RunOptions, Step
from evenhand.core.provider import Provider
from evenhand.core.variant import Variant


@dataclass(slots=True)
class Example:
    """Cases × variants × repeats, and one body for all of them. Implements `evenhand.core.plan.Plan`."""

    body: Callable[[Trial], Awaitable[object]]
    cases: Sequence[Case]
    variants: Sequence[Variant] = (Variant(0, "prompt", "model"),)
    repeats: int = 1
    providers: Sequence[Provider] = ()
    rule: VerdictRule = all_pass
    title: str = "example"
    source: str = ""
    fingerprint: str = "example"
    options: RunOptions = field(default_factory=RunOptions)
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    hints: Sequence[Problem] = ()
    referees: Sequence[Referee] = ()

    @property
    def size(self) -> int:
        return len(self.cases) * len(self.variants) * self.repeats

    @property
    def case_count(self) -> int:
        return len(self.cases)

    def steps(self) -> Iterator[Step]:
        index = 0
        for case in self.cases:
            for repeat in range(self.repeats):
                contest = None
                if self.referees:
                    size = len(self.variants)
                    contest = Contest(index, size, self.referees)
                for variant in self.variants:
                    yield Step(index, case, variant, repeat, self.body, self.rule, contest=contest)
                    index += 1

    def estimate(self) -> Sequence[CallEstimate]:
        return ()


def example(count: int, body: Callable[[Trial], Awaitable[object]], **more: Any) -> Example:
    """A plan of so many cases, called case-0, case-1, …, each with its number as the variable `n`."""
    return Example(body, [Case(f"case-{i}", {"n": i}) for i in range(count)], **more)
