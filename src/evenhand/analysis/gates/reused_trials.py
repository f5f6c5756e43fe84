"""Takes trials from a baseline: those whose request and checks are what they were.

It implements `evenhand.engine.reuse.Taking`. A trial is taken where the baseline has one of the same case and repeat,
in the variant that it is compared with, that asked its model once, with the very request that would be sent now; whose
variables, expectations, judges and code have the same digest; and that came to a verdict. All others are run, and
counted by why. A variant that is compared with none takes from any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from evenhand.analysis.comparison.comparison_sides import matched_variants
from evenhand.analysis.gates.baseline import Baseline, BaselineTrial, result_of
from evenhand.core.errors import AuthError
from evenhand.core.scripted import journaled_name
from evenhand.core.version import __version__
from evenhand.core.wording.words import count, short_id

if TYPE_CHECKING:
    from evenhand.core.plan import PlannedTrial
    from evenhand.core.run import TrialResult
    from evenhand.core.variant import Variant
    from evenhand.store.runfile import RunFile

NEW = "not in the baseline"
ERROR = "in error in the baseline"
REQUEST = "another request"
CHECKS = "changed expectation, judge, variable or code"
CODE = "code, a hook, a conversation or a web service decides them, and may have changed"
SEVERAL = "several requests"
EVALS = "trials of eval sets always run"
UNASKED = "only a judge was asked, or nobody: queries, stored outputs, errors before the request"


class FromBaseline:
    """Knows the trials of a baseline.

    Args:
        script: A digest of the script that answers; empty for models.
        resumed: An earlier session has run some of the trials: why, the run's file says; see `count_anew`.
        whole: The run ends with an AuthError at the first trial that has to be run: it has no keys to ask with.
    """

    def __init__(
        self,
        baseline: Baseline,
        script: str = "",
        *,
        variants: Sequence[Variant] = (),
        resumed: bool = False,
        whole: bool = False,
    ) -> None:
        pairs, _, _ = matched_variants(baseline.variants, variants)
        # What another variant came to would hide that this one's prompt or model is now that one's.
        self._before = {j: baseline.header.variants[i].name for i, j in pairs}
        self.resumed = resumed
        self._whole_only = whole
        self._run = baseline.header.run
        self._by_case: dict[tuple[str, int], list[BaselineTrial]] = {}
        for trial in baseline.trials:
            self._by_case.setdefault((trial.case, trial.repeat), []).append(trial)
        self._whole = _whole(baseline, script)
        self.reasons: Counter[str] = Counter()
        """How many trials were run, by why."""

    def __call__(
        self, planned: PlannedTrial, request: str, checks: str, *, by_request_alone: bool
    ) -> TrialResult | None:
        why, trial = self._whole, None
        if not why:
            # Without a digest of the checks, or where more than the request decides, anything may differ.
            known = checks if by_request_alone else ""
            place = planned.case.id, planned.repeat, planned.variant.index
            why, trial = self._looked_up(place, request, known)
        if trial is None:
            if self._whole_only:
                raise AuthError(f"keys are missing, and a trial has to be run: {why}")
            self.reasons[why] += 1
            return None
        result = result_of(trial, planned.index, planned.variant.index)
        reason = f"taken from the baseline of run {short_id(self._run)}: nothing has changed"
        unpaid = result.cost_usd
        return replace(result, taken=self._run, cost_usd=0.0, unpaid_usd=unpaid, reason=reason)

    def may_have(self, trials: Iterable[PlannedTrial]) -> bool:
        """Whether the baseline may know all of these trials, as far as can be said before any is begun."""
        return not self._whole and all(
            (one.case.id, one.repeat) in self._by_case and one.checks is not None for one in trials
        )

    def count_anew(self, run: RunFile) -> None:
        """Counts why trials were run by what the run's file says of them, whichever session ran them."""
        requests: dict[int, str] = {}
        for call in run.calls():
            if call.start.role == "subject" and call.start.trial not in requests:
                requests[call.start.trial] = journaled_name(
                    call.start.key, call.start.identity, scripted=run.meta.is_scripted
                )
        self.reasons = Counter()
        for trial in run.trials():
            request = requests.get(trial.index)
            # Of what asked nobody, `notes` knows how many there are.
            if trial.taken or (request is None and not trial.checks):
                continue
            place = trial.case, trial.repeat, trial.variant
            if why := self._whole or self._looked_up(place, request, trial.checks)[0]:
                self.reasons[why] += 1

    def _looked_up(
        self, place: tuple[str, int, int], request: str | None, checks: str
    ) -> tuple[str, BaselineTrial | None]:
        """A trial that can be taken, or why there is none.

        Args:
            place: The case, the repeat and the variant.
            request: The name of the first request; None where no call of the trial is on record, as it is free.
            checks: The digest of what is expected; empty where anything may differ.
        """
        case, repeat, variant = place
        before = self._before.get(variant)
        candidates = [
            trial
            for trial in self._by_case.get((case, repeat), ())
            if before is None or trial.variant == before
        ]
        if not candidates:
            return NEW, None
        if not checks:
            return CODE, None
        if request is None:
            alike = any(trial.checks == checks for trial in candidates)
            return REQUEST if alike else CHECKS, None
        same = [trial for trial in candidates if request in trial.subject]
        if not same:
            return REQUEST, None
        # What a trial that asked several times came to hangs on all of its requests.
        alone = [trial for trial in same if len(trial.subject) == 1]
        if not alone:
            return SEVERAL, None
        alike = [trial for trial in alone if trial.checks == checks]
        if not alike:
            return CHECKS, None
        settled = [trial for trial in alike if trial.outcome != "error" and not _broken(trial)]
        return (ERROR, None) if not settled else ("", settled[0])

    def notes(self, run: int, *, of_evals: bool = False) -> list[str]:
        """Why trials were not taken, in a line; none where all were. Those of eval sets need no count: all run.

        Args:
            run: How many were run.
            of_evals: Whether they are of eval sets.
        """
        if of_evals:
            return [EVALS] if run else []
        reasons = self.reasons + Counter({UNASKED: max(0, run - self.reasons.total())})
        if not reasons:
            return []
        parts = [f"{count(n, 'trial')} ({why})" for why, n in reasons.most_common()]
        return [f"not taken from the baseline: {', '.join(parts)}"]


def _broken(trial: BaselineTrial) -> bool:
    """Whether one of its expectations is in error: it may settle now."""
    return any(one.outcome == "error" for one in trial.expectations)


def _whole(baseline: Baseline, script: str) -> str:
    """Why none of a baseline's trials can be taken; empty where they can."""
    header = baseline.header
    bound: Mapping[str, str] = header.bound
    # Another version may score otherwise.
    if header.evenhand != __version__:
        return f"by Evenhand {header.evenhand} in the baseline, and by {__version__} now"
    if bound.get("script", "") != script[:16]:
        return "another script"
    return ""
