"""By how much a corrected rate is less sure than it looks, because trials of one case go together.

How this works: the corrected rate is a sum over cases. To first order, what a case adds to it is how far the judge's
verdicts on its trials lead away from the rate, plus how far people's verdicts on its labelled trials are from what
people say of all outputs with the judge's verdict. The sum of the squares of these, over cases, is the variance of the
rate whatever the trials of a case have in common. Divided by the same sum over single trials, as if each were a case of
its own, it is the design effect: as many trials of different cases as there are, divided by it, would say as much.

For means as for rates: what a trial adds to a corrected mean is how far the judge's score of it is from the judge's
mean, times λ, and, of a labelled trial, how far people's score is from theirs, less λ times the same of the judge's.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from evenhand.stats.distributions import t_quantile
from evenhand.stats.interval import CONFIDENCE, z_of

FEWEST_CASES = 10
"""Of so many cases there must be labels where cases are repeated."""
_PRIOR = 0.5
_ROUNDING = 1e-9
_ALIKE = 5.0
"""That trials of a case are always alike weighs as much as so many labels: a few don't tell how alike they are."""


class CaseLabel(NamedTuple):
    """What people and the judge say of a labelled trial.

    Attributes:
        case: The case, by whatever it is called.
        judge: Whether the judge passes it.
        weight: For how many trials it stands; only compared with those of other labels.
        probability: How likely a pass is, as the judge says; None for one that says only a verdict.
    """

    case: str
    people: bool
    judge: bool
    weight: float = 1.0
    probability: float | None = None


class DesignEffects(NamedTuple):
    """By how much variances are larger than they would be if each trial were a case of its own; at least 1.

    Attributes:
        rate: That of the corrected rate.
        alone: That of people's rate on the labelled trials, without the judge.
        tpr: That of the share that the judge passes, of what people pass.
        tnr: That of the share that the judge fails, of what people fail.
    """

    rate: float = 1.0
    alone: float = 1.0
    tpr: float = 1.0
    tnr: float = 1.0
    cases: int = 0
    labels: int = 0

    @property
    def too_few(self) -> bool:
        """Whether the labels are of so few cases that nothing can be said of others."""
        return self.cases < min(FEWEST_CASES, self.labels)


def design_effects(
    judged: Sequence[tuple[str, bool]],
    labels: Sequence[CaseLabel],
    *,
    same_trials: bool,
) -> DesignEffects:
    """The design effects of a corrected rate, and of what it is made of.

    Where cases are repeated, each has the square of Student's quantile over the normal one in it, with one degree of
    freedom fewer than there are labelled cases. Where they aren't, labels of an earlier run still say less of a case's
    new trial than labels of the trial itself: only that counts.

    Args:
        judged: Each judged trial: its case, and whether the judge passes it.
        labels: The labelled trials.
        same_trials: Whether the labelled trials are among the judged ones, and not of an earlier run of the same cases.

    Returns:
        1 for all of them without labels or judged trials, and where no case has two trials and these are the labelled
        ones.

    Source: the linearised variance by clusters, with G/(G − 1): Binder, International Statistical Review 51 (1983),
        279–292, of the efficient estimator in Chen et al. (2026), arXiv:2601.05420; design effects and degrees of
        freedom: Korn and Graubard, Survey Methodology 24 (1998), 193–201. The measured effect is averaged with that of
        trials that are always alike, Σm²/Σm for m labels of a case (Kish, Survey Sampling, 1965, §8.2); with what
        weight was chosen by simulation (`bench/labels_of_repeats.py`).

    >>> judged = [(case, case in "abcdef") for case in "abcdefghij" for _ in range(3)]
    >>> labels = [CaseLabel(case, True, case in "abcdef") for case in "abcdefghij" for _ in range(3)]
    >>> found = design_effects(judged, labels, same_trials=True)
    >>> found.cases, found.rate > 3
    (10, True)
    """
    judged_cases, labelled_cases = {case for case, _ in judged}, {label.case for label in labels}
    cases = len(labelled_cases)
    once = len(judged_cases) == len(judged) and cases == len(labels)
    if not labels or not judged or (once and same_trials):
        return DesignEffects(cases=cases, labels=len(labels))
    if once:
        ratio = ratio_by_case(_of_rate(judged, labels, prior=0.0))
        # Exactly 1 where rounding alone makes it more: counts are then left as they are.
        rate = ratio if ratio > 1 + _ROUNDING else 1.0
        return DesignEffects(rate, cases=cases, labels=len(labels))
    few = _few_groups(cases, len(judged_cases | labelled_cases))

    def effect(parts: Iterable[tuple[str, float]], of: Sequence[CaseLabel]) -> float:
        return few * drawn_to_alike(ratio_by_case(parts), [one.case for one in of])

    passed = [label for label in labels if label.people]
    failed = [label for label in labels if not label.people]
    return DesignEffects(
        effect(_of_rate(judged, labels, _PRIOR), labels),
        effect(_of_share([(one.case, one.people) for one in labels]), labels),
        effect(_of_share([(one.case, one.judge) for one in passed]), passed),
        effect(_of_share([(one.case, one.judge) for one in failed]), failed),
        cases,
        len(labels),
    )


def share_effect(verdicts: Sequence[tuple[str, bool]]) -> float:
    """The design effect of a share of labelled trials, such as of those on which a judge and people agree; at least 1.

    Args:
        verdicts: Each of the trials: its case, and whether it counts.

    Returns:
        1 where no case has two of the trials, and for none.

    Source: as `design_effects`.

    >>> share_effect([("a", True), ("b", False), ("c", True)])
    1.0
    >>> share_effect([(case, case < "d") for case in "abcdefgh" for _ in range(3)]) > 3
    True
    """
    cases = [case for case, _ in verdicts]
    groups = len(set(cases))
    if groups == len(cases):
        return 1.0
    alike = drawn_to_alike(ratio_by_case(_of_share(verdicts)), cases)
    return alike * _few_groups(groups, groups)


def _few_groups(labelled: int, cases: int) -> float:
    """By how much a variance that was measured on few cases has to be larger.

    That is G/(G − 1) for all G cases, times the square of Student's quantile over the normal one, with one degree of
    freedom fewer than there are labelled cases.
    """
    student = (t_quantile(CONFIDENCE, max(1, labelled - 1)) / z_of()) ** 2
    return student * cases / max(1, cases - 1)


def _of_rate(
    judged: Sequence[tuple[str, bool]], labels: Sequence[CaseLabel], prior: float
) -> Iterator[tuple[str, float]]:
    """What each trial adds to the corrected rate: as one that the judge judged, and as one that people labelled."""
    items = len(judged)
    passed = sum(ok for _, ok in judged) / items
    sizes = {True: passed, False: 1 - passed}
    each = math.fsum(one.weight for one in labels) / len(labels)
    total, people = {True: 0.0, False: 0.0}, {True: 0.0, False: 0.0}
    for one in labels:
        total[one.judge] += one.weight / each
        people[one.judge] += one.people * one.weight / each
    rates = {side: people[side] / total[side] if total[side] else 0.5 for side in sizes}
    rate = math.fsum(sizes[side] * rates[side] for side in sizes)
    for case, ok in judged:
        yield case, (rates[ok] - rate) / items
    # With a prior, even labels that are all alike leave some variance.
    middle = {
        side: (people[side] + prior) / (total[side] + 2 * prior) for side in sizes if total[side]
    }
    for one in labels:
        share = sizes[one.judge] * one.weight / each / total[one.judge]
        yield one.case, share * (one.people - middle[one.judge])


def _of_share(verdicts: Sequence[tuple[str, bool]]) -> Iterator[tuple[str, float]]:
    """What each labelled trial adds to a share of them."""
    rate = (sum(ok for _, ok in verdicts) + _PRIOR) / (len(verdicts) + 2 * _PRIOR)
    for case, ok in verdicts:
        yield case, ok - rate


def ratio_by_case(parts: Iterable[tuple[str, float]]) -> float:
    """The sum of squares over cases, divided by that over single trials; 1 where nothing differs.

    Args:
        parts: The case of each trial, and what the trial adds to the number in question.
    """
    cases: defaultdict[str, float] = defaultdict(float)
    single = 0.0
    for case, part in parts:
        cases[case] += part
        single += part * part
    if not single:
        return 1.0
    squares = math.fsum(part * part for part in cases.values())
    return squares / single


def drawn_to_alike(ratio: float, cases: Sequence[str]) -> float:
    """A measured ratio, averaged with that of trials that are always alike: the fewer the labels, the nearer to that.

    Args:
        ratio: As it was measured.

    Returns:
        At least 1; 1 without labels.
    """
    n = len(cases)
    if not n:
        return 1.0
    alike = math.fsum(m * m for m in Counter(cases).values()) / n
    return max(1.0, (n * ratio + _ALIKE * alike) / (n + _ALIKE))


class ScoreLabel(NamedTuple):
    """People's score of a trial and the judge's.

    Attributes:
        case: The case, by whatever it is called.
        weight: For how many trials it stands; only compared with those of other labels.
    """

    case: str
    people: float
    judge: float
    weight: float = 1.0


class MeanEffect(NamedTuple):
    """How much less labels say of a mean because trials of one case go together.

    Attributes:
        variance: By how much its variance is larger than if each trial were a case of its own; at least 1.
        free: How many cases are left to tell the spread from; None where no case is repeated.
    """

    variance: float = 1.0
    free: int | None = None
    cases: int = 0
    labels: int = 0

    @property
    def too_few(self) -> bool:
        """Whether the labels are of so few cases that nothing can be said of others."""
        return self.cases < min(FEWEST_CASES, self.labels)


def mean_effect(
    judged: Sequence[tuple[str, float]],
    labels: Sequence[ScoreLabel],
    weight: float,
    *,
    same_trials: bool,
) -> MeanEffect:
    """By how much less the labels say.

    Args:
        judged: Each judged trial: its case, and the judge's score.
        labels: The labelled trials.
        weight: How much the judge's scores count, λ, from 0 to 1.
        same_trials: Whether the labelled trials are among the judged ones, and not of an earlier run of the same cases.

    Returns:
        1 without labels, and where no case has two trials and these are the labelled ones.

    Source: as `design_effects`; the mean is that of Angelopoulos, Duchi and Zrnic (2023), arXiv:2311.01453.

    >>> judged = [(case, float(ord(case) % 5)) for case in "abcdefghijkl" for _ in range(3)]
    >>> labels = [ScoreLabel(case, 5 - score, score) for case, score in judged]
    >>> found = mean_effect(judged, labels, 0.0, same_trials=True)
    >>> round(found.variance, 2), found.free
    (3.27, 11)
    """
    cases = [label.case for label in labels]
    known = {case for case, _ in judged}
    different = len(set(cases))
    once = len(known) == len(judged) and different == len(cases)
    if not labels or not judged or (once and same_trials):
        return MeanEffect(cases=different, labels=len(labels))
    ratio = ratio_by_case(_parts(judged, labels, weight))
    if once:
        return MeanEffect(max(1.0, ratio), cases=different, labels=len(labels))
    groups = len(known | set(cases))
    variance = drawn_to_alike(ratio, cases) * groups / max(1, groups - 1)
    return MeanEffect(variance, max(1, different - 1), different, len(labels))


def _parts(
    judged: Sequence[tuple[str, float]], labels: Sequence[ScoreLabel], weight: float
) -> Iterator[tuple[str, float]]:
    middle = math.fsum(score for _, score in judged) / len(judged)
    for case, score in judged:
        yield case, weight * (score - middle) / len(judged)
    total = math.fsum(one.weight for one in labels)
    people = math.fsum(one.weight * one.people for one in labels) / total
    judge = math.fsum(one.weight * one.judge for one in labels) / total
    for one in labels:
        yield one.case, one.weight / total * (one.people - people - weight * (one.judge - judge))
