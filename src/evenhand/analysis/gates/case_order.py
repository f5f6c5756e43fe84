"""An order of a plan's cases that is drawn before anything is known of them, and their results in that order.

How this works: a case's place is a hash of the seed and its id. So the order depends on nothing else, and the same seed
gives the same order in the next session, and in the next run, of which the cache may have answers. A case is complete
once all its trials are there, in all variants and repeats; it is handed on when all cases before it have been.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

from evenhand.core.case import copy_key_of
from evenhand.core.errors import UsageError
from evenhand.core.plan import Plan, PlannedTrial
from evenhand.core.run import TrialResult
from evenhand.core.wording.words import clip, safe


class CaseOrder:
    """The cases of a plan in an order of their own.

    Args:
        plan: It. It is walked once; each of its trials takes some memory from then on.
        seed: Of the order.

    Raises:
        UsageError: A case comes after another one, as in a conversation: these have no order but their own. Or cases
            belong together.
    """

    def __init__(self, plan: Plan, seed: int) -> None:
        self._seed = seed
        self._missing: dict[str, int] = {}
        of_trials: list[str] = []
        contents: dict[str, str] = {}
        for planned in plan.trials():
            case = planned.case.id
            if planned.variant.cluster:
                raise UsageError(
                    f"--stop-when-decided: cases of one {clip(safe(planned.variant.cluster), 60)} belong together,"
                    " and cases have to be independent of one another",
                    hint="Leave --stop-when-decided out.",
                )
            if case not in contents:
                contents[case] = copy_key_of(planned.case, planned.test)
            of_trials.append(case)
            self._missing[case] = self._missing.get(case, 0) + 1
            # Only trials of the case itself may come before it: other cases are run in another order.
            if any(of_trials[earlier] != case for earlier in planned.after):
                raise UsageError(
                    f"--stop-when-decided: case {clip(safe(str(planned.case)), 60)} goes on where another one ended,"
                    " and cases have to be independent of one another",
                    hint="Leave --stop-when-decided out.",
                )
        self.cases = tuple(sorted(self._missing, key=self._place))
        """The ids of all cases, in this order."""
        firsts: set[str] = set()
        self.copies = frozenset(
            case
            for case in self.cases
            if contents[case] and (contents[case] in firsts or firsts.add(contents[case]))
        )
        """Those that say the same as one before them, in this order: the first of them counts for all."""
        self.taken_in = 0
        """How many of them were handed on."""
        self._waiting: dict[str, list[TrialResult]] = {}

    def arranged(self, planned_trials: Iterable[PlannedTrial]) -> Iterator[PlannedTrial]:
        """Trials in the order of their cases; those of one case as the plan has them."""
        by_case: dict[str, list[PlannedTrial]] = {}
        for planned in planned_trials:
            by_case.setdefault(planned.case.id, []).append(planned)
        for case in sorted(by_case, key=self._place):
            yield from by_case[case]

    def add(self, result: TrialResult) -> Iterator[list[TrialResult]]:
        """Takes in a result, in whatever order they come, and hands on the results of cases that are complete now."""
        self._waiting.setdefault(result.case, []).append(result)
        self._missing[result.case] -= 1
        # One result can complete several: those that waited for this case.
        while self.taken_in < len(self.cases) and not self._missing[self.cases[self.taken_in]]:
            case = self.cases[self.taken_in]
            self.taken_in += 1
            yield self._waiting.pop(case)

    def _place(self, case: str) -> bytes:
        return blake2b(f"{self._seed}\0{case}".encode(errors="surrogatepass")).digest()
