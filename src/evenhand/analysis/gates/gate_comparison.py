"""The metrics of a run beside those of its baseline, pair by pair of variants, and a verdict for each of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from evenhand.analysis.comparison.case_judges import AskedJudges
from evenhand.analysis.comparison.case_values import CaseIds, Scales, Seen, read_trials
from evenhand.analysis.comparison.comparison_results import unlike_words
from evenhand.analysis.comparison.comparison_sides import matched_variants
from evenhand.analysis.comparison.drawn_part import DrawnPart
from evenhand.analysis.comparison.pairing import distinct, paired, undirected
from evenhand.analysis.comparison.same_test import Likeness, other_evals
from evenhand.analysis.gates.baseline import Baseline
from evenhand.analysis.gates.gate_results import GateResult, GateVerdict
from evenhand.analysis.gates.gate_rule import gate_rule, more_cases
from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.core.wording.words import count, safe
from evenhand.stats.multiple import holm
from evenhand.stats.paired_difference import LEVEL, Word

UNCHANGED = "no request or expectation has changed"
NO_VALUE = "the run has no value"
_VERDICTS: dict[Word, GateVerdict] = {
    "better": "better",
    "worse": "worse",
    "non-inferior": "not worse",
    "undecided": "undecided",
}


class GateSides:
    """A baseline's columns, ready to be compared with those of a run of these variants.

    Args:
        metrics: What is compared; with none, all that the baseline has.
        lower: The metrics of which less is better.

    Attributes:
        pairs: The columns that belong together: the baseline's variant, and the run's.
        gone: Variants of the baseline without a counterpart.
        added: Variants of the run without one.
        mine: The baseline's columns, by variant.
        clusters: What says which cases belong together, by the run's variant.
    """

    def __init__(
        self,
        baseline: Baseline,
        variants: Sequence[Variant],
        *,
        metrics: Sequence[str] = (),
        lower: Collection[str] = (),
    ) -> None:
        self._baseline, self._variants = baseline, variants
        self._metrics, self._lower = metrics, lower
        self.pairs, self.gone, self.added = matched_variants(baseline.variants, variants)
        self._ids = CaseIds()
        # What belongs together, the run says of the cases of both; where it says nothing, the baseline does.
        self.clusters = {variant.index: variant.cluster for variant in variants}
        for i, j in self.pairs:
            self.clusters[j] = self.clusters.get(j) or baseline.variants[i].cluster
        columns = {i for i, _ in self.pairs}
        self.mine = self._columns(
            baseline.results(),
            columns,
            baseline.scales,
            baseline.judges,
            recorder=baseline.header.recorder,
        )

    def read(
        self, trials: Iterable[TrialResult], scales: Scales, judges: AskedJudges | None = None
    ) -> dict[int, Seen]:
        """The run's columns, by variant.

        Args:
            trials: The run's, or some of them.
            scales: As far as its scorers say so.
            judges: What its judges were asked by, as far as that is known.
        """
        return self._columns(trials, {j for _, j in self.pairs}, scales, judges)

    def _columns(
        self,
        trials: Iterable[TrialResult],
        columns: set[int],
        scales: Scales,
        judges: AskedJudges | None,
        *,
        recorder: str = "",
    ) -> dict[int, Seen]:
        return read_trials(
            map(expecting, trials),
            columns,
            self._metrics,
            self.clusters,
            ids=self._ids,
            scales=scales,
            imported=recorder,
            judges=judges,
        )

    def compared(
        self,
        theirs: Mapping[int, Seen],
        names: Sequence[str],
        *,
        withheld: str = "",
        taken: Collection[tuple[int, str]] = (),
        drawn: DrawnPart | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> Iterator[tuple[int, GateResult]]:
        """Each metric of each pair with the run's variant; nothing is judged yet.

        Args:
            withheld: Why nothing can be concluded from any difference; empty where something can.
            taken: Variants and cases of which all trials were taken from the baseline.
            drawn: The part of the cases that was to be run; None for all of them.
            tell: Told how the tests differ where that decides nothing.
        """
        for i, j in self.pairs:
            mine, now = self.mine[i], theirs[j]
            other = withheld or other_evals(self._baseline.variants[i], self._variants[j])
            likeness = Likeness(mine, now, withheld=other)
            whose = f"{safe(names[j])}: " if len(self.pairs) > 1 else ""
            for note in (
                *likeness.notes(),
                *_other_clusters(self._baseline.variants[i], self._variants[j]),
            ):
                tell(f"{whose}{note}")
            common = [n for n in mine.cases if n in now.cases]
            same = frozenset(n for n in common if (j, self._ids[n]) in taken)
            # Of cases that weren't run it isn't known whether they would have been taken.
            unchanged = bool(common) and len(same) == len(common) and (drawn is None or drawn.whole)
            part = drawn and replace(drawn, earlier=self._baseline.earlier(i))
            for metric in _metrics(mine, now, self._metrics):
                note = undirected(metric, mine, now)
                if note and metric not in (*self._metrics, *self._lower):
                    tell(note)
                    continue
                yield (
                    j,
                    _compared(
                        metric,
                        names[j],
                        (mine, now),
                        likeness,
                        less=metric in self._lower,
                        unchanged=unchanged,
                        same=same,
                        drawn=part,
                    ),
                )


def expecting(trial: TrialResult) -> TrialResult:
    """A trial of which nothing was expected has not passed: nothing applied to it."""
    if trial.outcome == "pass" and not trial.outcomes:
        return replace(trial, outcome="not_applicable", score=None)
    return trial


def _other_clusters(before: Variant, now: Variant) -> Iterator[str]:
    """That cases belong together otherwise than in the baseline, which makes its results more or less certain."""
    if not before.cluster or before.cluster == now.cluster:
        return
    there = f"in the baseline, cases belong together by {safe(before.cluster)}"
    if now.cluster:
        yield f"{there}, and by {safe(now.cluster)} now"
    else:
        yield f"{there}: so they do here, though the evals don't say so any more; a new baseline changes that"


def _metrics(mine: Seen, theirs: Seen, names: Sequence[str]) -> list[str]:
    """What is compared: what is named, or else all that the baseline has of the cases of both."""
    if names:
        return [name for name in names if name in mine.metrics or name in theirs.metrics]
    return [
        name
        for name in mine.metrics
        if any(mine.value(name, case).n for case in mine.cases if case in theirs.cases)
    ]


def _compared(
    metric: str,
    variant: str,
    sides: tuple[Seen, Seen],
    likeness: Likeness,
    *,
    less: bool,
    unchanged: bool,
    same: Collection[int],
    drawn: DrawnPart | None,
) -> GateResult:
    """A metric of two columns; nothing is judged yet, but where there is nothing to judge.

    Args:
        variant: What the run's table calls it.
        less: Whether less is better.
        unchanged: All of its trials were taken from the baseline: there is no difference to look for.
        same: Cases that were taken from it: they differ by nothing, whatever earlier runs in it say of them.
        drawn: The part of the cases that was to be run; None for all of them.
    """
    mine, theirs = sides
    for side, who in ((mine, "baseline"), (theirs, "run")):
        if metric not in side.metrics:
            return GateResult(
                metric=metric,
                variant=variant,
                verdict="nothing",
                why=f"the {who} has no values of this metric",
            )
    compared = paired(
        metric,
        (variant, variant),
        mine,
        theirs,
        less,
        several=False,
        likeness=likeness,
        drawn=drawn,
        same=same,
    )
    known = [
        case for case in mine.cases if case in theirs.cases and theirs.value(metric, case).values
    ]
    why = ""
    if compared.n and not known:
        why = f"{NO_VALUE}: {count(compared.n, 'case')} in error"
    elif compared.n and not any(mine.value(metric, case).values for case in known):
        why = "the baseline has no value: its trials are in error"
    elif compared.withheld:
        why = compared.withheld
    elif not compared.n and compared.unlike:
        why = f"the test has changed: {unlike_words(compared)}"
    elif not compared.n:
        why = "no case has a value in both"
    if not why and unchanged:
        # By what is known, and not by what was drawn.
        alike = replace(compared, low=0.0, high=0.0)
        return GateResult(
            metric=metric, variant=variant, verdict="not worse", compared=alike, why=UNCHANGED
        )
    # Another judge says nothing of the application: it may have become worse or not.
    of_judge = compared.other_judge and why == compared.withheld
    return GateResult(
        metric=metric,
        variant=variant,
        verdict="nothing" if why and not of_judge else "undecided",
        compared=compared,
        why=why,
    )


def judged(
    results: Sequence[GateResult],
    margin: float,
    level: float = LEVEL,
    later: Callable[[int], float] = lambda _: LEVEL,
) -> Iterator[GateResult]:
    """The results with their verdicts, each in the light of how many they are.

    Args:
        results: All of them.
        margin: How much worse is accepted.
        level: Of each test.
        later: That of a run of so many cases, or clusters of them.
    """
    rule = partial(gate_rule, level=level)
    tests, places = distinct(
        r.compared
        for r in results
        if r.compared is not None and r.verdict == "undecided" and not r.why
    )
    alone = [compared.p_alone for compared in tests]
    remaining = iter(places)
    for result in results:
        compared = result.compared
        if compared is not None and compared.data.rates and margin > 1:
            raise of_a_rate(margin, result.metric)
        if compared is None or result.verdict != "undecided" or result.why:
            yield result
            continue

        def corrected(own: float, i: int = next(remaining)) -> float:
            return holm([*alone[:i], own, *alone[i + 1 :]])[i]

        word, open_ = compared.data.verdict(
            corrected, lower=compared.lower, of=len(tests), margin=margin, rule=rule
        )
        more = None
        if word == "undecided":
            more = more_cases(
                compared.data,
                margin,
                lower=compared.lower,
                level=lambda units: min(level, later(units)),
                of=len(tests),
            )
        low, high, p = compared.data.agreeing(corrected(compared.p_alone), level, word=word)
        least, most = compared.data.interval(1 - 2 * level)
        yield replace(
            result,
            verdict=_VERDICTS[word],
            compared=replace(
                compared,
                verdict=word,
                open=open_,
                low=low,
                high=high,
                p=p,
            ),
            more=more,
            at_worst=most if compared.lower else -least,
        )


def of_a_rate(margin: float, metric: str) -> UsageError:
    """That a margin is more than a rate can fall by."""
    return UsageError(
        f"the margin is {margin:g}, and {metric} is a rate between 0 and 1",
        hint=f"{margin:g} points are {margin / 100:g}.",
    )
