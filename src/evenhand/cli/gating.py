"""What a gate goes by once its plan is there: its baseline and terms, and what may be run instead of all of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from evenhand.cli.gate_request import GateRequest
from evenhand.core.errors import NothingSelected, UsageError
from evenhand.core.gate_terms import GateTerms
from evenhand.core.record import MutableRecord
from evenhand.core.wording.words import near, safe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.analysis.gates.baseline import Baseline
    from evenhand.analysis.gates.early_stopping import GateDecider
    from evenhand.analysis.gates.gate_results import Gate
    from evenhand.analysis.gates.reused_trials import FromBaseline
    from evenhand.core.plan import Plan
    from evenhand.store.recordings import Recordings
    from evenhand.store.runfile import RunFile


class Gating(MutableRecord):
    """A gate before and after its run.

    Attributes:
        request: What it goes by: its terms have a baseline and a margin.
        taking: Takes trials from the baseline; None where everything is run.
        decider: Stops the run; None where it runs to its end.
    """

    request: GateRequest
    before: Baseline
    taking: FromBaseline | None = None
    decider: GateDecider | None = None

    @staticmethod
    def of(request: GateRequest, terms: GateTerms) -> Gating:
        """A gate as it was asked for, by all terms that hold for it.

        Raises:
            UsageError: They lack something, or the baseline lacks a metric, or cannot be read.
        """
        from evenhand.analysis.gates.gate_verdict import look_at

        if not terms.baseline:
            raise UsageError(
                "there is no baseline to compare with",
                hint="Name one: --baseline FILE. `evenhand baseline RUN --to FILE` makes it of a run that you accept.",
            )
        if terms.margin is None:
            raise UsageError(
                "there is no margin",
                hint="Say how much worse you accept: --margin 0.03 is 3 points of a pass rate.",
            )
        request = replace(request, terms=terms)
        before = read_before(request)
        look_at(before, terms.margin, terms.metrics, request.lower)
        whole = replace(terms, baseline=str(Path(terms.baseline).absolute()))
        return Gating(replace(request, terms=whole, digest=before.header.digest), before)

    @property
    def terms(self) -> GateTerms:
        """The terms that the gate goes by."""
        return self.request.terms

    @property
    def margin(self) -> float:
        """How much worse is accepted."""
        return self.terms.margin or 0.0

    def spend(self, plan: Plan, budget_usd: float) -> None:
        """Makes it a gate of as many cases as a budget pays for.

        Raises:
            UsageError: The baseline doesn't say what a case costs, or the budget pays for none.
        """
        sample = sample_for(self.before, self.terms.baseline, plan, budget_usd)
        self.request = replace(self.request, sample=sample)

    def stopping(self, plan: Plan, seed: int) -> GateDecider:
        """What ends the run as soon as it is decided, or after a part of its cases."""
        from evenhand.analysis.gates.early_stopping import GateDecider

        return GateDecider(
            self.before,
            plan,
            self.margin,
            metrics=self.terms.metrics,
            lower=self.request.lower,
            seed=seed,
            sample=self.request.sample,
            stops=self.request.stops,
            by_flips=self.request.by_flips,
        )

    def outcome(self, run: RunFile) -> Gate:
        """What the run came to, with the reasons for which trials were not taken."""
        from evenhand.analysis.gates.gate_verdict import gate as gated

        outcome = gated(
            self.before,
            run,
            self.margin,
            metrics=self.terms.metrics,
            lower=self.request.lower,
            decider=self.decider,
        )
        if self.taking is None:
            return outcome
        if self.taking.resumed:
            self.taking.count_anew(run)
        # Variants of prompt directories name their eval.yml.
        files = [variant.where.rpartition(":")[0] for variant in run.meta.variants]
        of_evals = all(file.endswith(".py") for file in files)
        why = self.taking.notes(outcome.asked, of_evals=of_evals)
        return replace(outcome, notes=(*why, *outcome.notes))


def read_before(request: GateRequest) -> Baseline:
    """The baseline that a gate compares with."""
    from evenhand.analysis.gates.baseline_file import read_baseline

    return read_baseline(Path(request.terms.baseline))


def sample_for(baseline: Baseline, file: str, plan: Plan, budget_usd: float) -> int:
    """How many cases a budget pays for.

    Args:
        baseline: What says what a case costs.

    Raises:
        UsageError: The baseline doesn't say what a case costs, or the budget pays for none.
    """
    from evenhand.analysis.gates.baseline import cost_of_case

    cost = cost_of_case(baseline, plan.repeats)
    if cost is None:
        raise UsageError(
            f"--budget: the baseline {near(file)} doesn't say what its cases cost",
            hint="They were free, answered by the cache, or have no known price. Say how many cases to run instead:"
            " --sample 200. --max-cost is a limit on what is spent.",
        )
    if budget_usd < cost:
        raise UsageError(
            f"--budget {budget_usd:g} pays for no case: by the baseline one costs ${cost:.2g}",
            hint="Raise it, or leave it out to run all cases.",
        )
    # A sum of cents can be a last digit too high.
    return max(1, int(budget_usd / cost + 1e-9))


def terms_of(plan: Plan, own: GateTerms) -> GateTerms:
    """What the eval sets or the config of a plan say of their gate.

    Raises:
        UsageError: They say different things, and the command line does not settle it.
    """
    terms = list(dict.fromkeys(own.over(one) for one in plan.options.gates))
    if len(terms) > 1:
        files = ", ".join(safe(one.baseline) or "none" for one in terms)
        raise UsageError(
            f"the eval sets here have different gates: baselines {files}",
            hint="Gate each file by itself, or give --baseline and --margin.",
        )
    return terms[0] if terms else GateTerms()


def look_at_script(
    offline: bool, request: GateRequest, env: Mapping[str, str], replay: Recordings | None
) -> None:
    """That a script doesn't answer in CI by accident, nor what one answered earlier.

    Raises:
        UsageError: It would.
    """
    # Most CI systems set it to true; some set it to an empty text, or to false.
    in_ci = env.get("CI", "").lower() not in ("", "0", "false", "no")
    if not (offline and in_ci) or request.offline_in_ci:
        return
    instead = (
        "add --offline-in-ci: the gate then tests your own code and prompts with scripted replies,"
        " and says so."
    )
    if replay is not None:
        raise UsageError(
            f"{replay.header.name} holds scripted replies (--offline), and in CI models are to answer for themselves",
            hint=f"Record it from a model. Or {instead}",
        )
    raise UsageError(
        "--offline in CI: models and judges would answer from a script instead of for themselves",
        hint=f"Leave --offline out. Or {instead}",
    )


def mixed_replies(baseline: Baseline, file: str, offline: bool) -> UsageError | None:
    """Why scripted replies would be compared with those of models; None where they would not."""
    has_replies = any(trial.subject or trial.judge for trial in baseline.trials)
    if offline == baseline.header.offline or not has_replies:
        return None
    before, now, to_do = "scripted replies", "a model's", "Add --offline"
    if offline:
        before, now, to_do = now, before, "Leave --offline out"
    return UsageError(
        f"{near(file)} was made from other replies: it has {before}, and this run would have {now}",
        hint=f"{to_do}, or make the baseline of a run of the same kind.",
    )


def look_at_plan(baseline: Baseline, file: str, plan: Plan) -> None:
    """That a baseline has something in common with a plan, before anything is paid for.

    Raises:
        NothingSelected: It has not.
    """
    from evenhand.analysis.comparison.comparison_sides import matched_variants

    pairs, _, _ = matched_variants(baseline.variants, plan.variants)
    known = {trial.case for trial in baseline.trials}
    if pairs and any(planned.case.id in known for planned in plan.trials()):
        return
    raise NothingSelected(
        f"{near(file)} is for something else: it has no {'case' if pairs else 'variant'} in common with {plan.title}",
        hint=f"It was made from {baseline.header.title!r}. Nothing was sent."
        + ("" if pairs else " Give each prompt a label that stays: variants are matched by it."),
    )
