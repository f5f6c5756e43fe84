"""An order of a plan's cases that is drawn before anything is known of them, and their results in that order.

How this works: a case's place is a hash of the seed and its id. So the order depends on nothing else, and the same seed
gives the same order in the next session, and in the next run, of which the cache may have answers. A case is complete
once all its trials are there, in all variants and repeats; it is handed on when all cases before it have been.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

from evenhand.core.errors import UsageError
from evenhand.core.plan import Plan, Step
from evenhand.core.run import TrialResult
from evenhand.report.words import clip, safe


class CaseOrder:
    """The cases of a plan in an order of their own.

    Args:
        plan: It. It is walked once; each of its trials takes some memory from then on.
        seed: Of the order.

    Raises:
        UsageError: A case comes after another one, as in a conversation: these have no order but their own.
    """

    def __init__(self, plan: Plan, seed: int) -> None:
        self._seed = seed
        self._missing: dict[str, int] = {}
        of_steps: list[str] = []
        for step in plan.steps():
            case = step.case.id
            of_steps.append(case)
            self._missing[case] = self._missing.get(case, 0) + 1
            if any(of_steps[earlier] != case for earlier in step.after):
                raise UsageError(
                    f"--stop-when-decided: case {clip(safe(str(step.case)), 60)} goes on where another one ended,"
                    " and cases have to be independent of one another",
                    hint="Leave --stop-when-decided out.",
                )
        self.cases = tuple(sorted(self._missing, key=self._place))
        """The ids of all cases, in this order."""
        self.taken_in = 0
        """How many of them were handed on."""
        self._waiting: dict[str, list[TrialResult]] = {}

    def arranged(self, steps: Iterable[Step]) -> Iterator[Step]:
        """Steps in the order of their cases; those of one case as the plan has them."""
        by_case: dict[str, list[Step]] = {}
        for step in steps:
            by_case.setdefault(step.case.id, []).append(step)
        for case in sorted(by_case, key=self._place):
            yield from by_case[case]

    def add(self, result: TrialResult) -> Iterator[list[TrialResult]]:
        """Takes in a result, in whatever order they come, and hands on the results of cases that are complete now."""
        self._waiting.setdefault(result.case, []).append(result)
        self._missing[result.case] -= 1
        while self.taken_in < len(self.cases) and not self._missing[self.cases[self.taken_in]]:
            case = self.cases[self.taken_in]
            self.taken_in += 1
            yield self._waiting.pop(case)

    def _place(self, case: str) -> bytes:
        return blake2b(f"{self._seed}\0{case}".encode(errors="surrogatepass")).digest()
