"""Fits of a ranking, as the answers of which there are none may have been."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs, MissingAnswer
from evenhand.core.record import Record
from evenhand.stats.bradley_terry import Comparison, NotEstimable, Strengths, fit
from evenhand.stats.corrected_strengths import JudgedPair, LabelledPair, corrected_strengths
from evenhand.stats.correction import Estimate
from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.tallies import Share


class RankedChances(Record, frozen=True):
    """What the answers about some variants say of each.

    Attributes:
        chances: Of each the chance that it beats the average of them, ties aside.
        order: They, best first.
        not_behind: Those that the first of them is not shown to beat, all pairs taken together.
        first_wins: The chance that the text shown first is preferred where both are equally good, ties aside.
        weight: The judge's weight beside people, from 0 to 1; 1 where there are no people.
    """

    chances: Mapping[int, Share]
    order: Sequence[int]
    not_behind: tuple[int, ...]
    first_wins: Share
    weight: float = 1.0


def judges_chances(pairs: ComparedPairs, group: Sequence[int]) -> RankedChances:
    """What a judge's answers say of variants that were compared with each other.

    Raises:
        NotEstimable: They can't be ranked; the message says why.
    """
    inside = [one for one in pairs.answers if one.first in group]
    return _Fits(lambda more: _fitted([*inside, *more]), _missing(pairs, group)).ranked(group)


def peoples_chances(
    pairs: ComparedPairs, labels: Sequence[LabelledPair], group: Sequence[int]
) -> RankedChances:
    """What people would have said of them, from their answers about some of the pairs.

    Raises:
        NotEstimable: They can't be ranked; the message says why.
    """
    judged = [
        JudgedPair(one.case, one.one, one.two, one.wins, one.losses)
        for one in pairs.judged
        if one.one in group
    ]
    inside = [label for label in labels if label.judge.one in group]
    plain = corrected_strengths(inside, judged)
    # A missing answer is one of two, or of one, that a pair has; people give one about a pair.
    answers = sum(one.first in group for one in pairs.answers)
    each = len(judged) / max(1, answers)
    missing = [one._replace(weight=one.weight * each) for one in _missing(pairs, group)]

    def fitted(more: Sequence[Comparison]) -> Strengths:
        if not more:
            return plain.strengths
        # The weight stays that of the real answers: imagined ones are no evidence of agreement.
        return corrected_strengths(inside, judged, more, plain.weight).strengths

    return _Fits(fitted, missing).ranked(group, plain.weight)


def _missing(pairs: ComparedPairs, group: Sequence[int]) -> list[MissingAnswer]:
    return [one for one in pairs.missing if one.first in group and one.second in group]


class _Fits:
    """Fits of the answers with those that are missing taken for what is asked about."""

    def __init__(
        self,
        fitted: Callable[[Sequence[Comparison]], Strengths],
        missing: Sequence[MissingAnswer],
    ) -> None:
        self._fitted = fitted
        self._missing = missing
        self._plain = fitted([])

    def ranked(self, group: Sequence[int], weight: float = 1.0) -> RankedChances:
        """All that they say of these variants."""
        shares = {variant: self._chance(variant) for variant in group}
        order = sorted(group, key=lambda v: (-shares[v].least, -shares[v].most, v))
        return RankedChances(shares, order, self._not_behind(order), self._first_wins(), weight)

    def _chance(self, variant: int) -> Share:
        """Of a variant: as if it had lost all of its missing answers, and as if it had won them."""
        return _share(self._losing(variant).chance(variant), self._winning(variant).chance(variant))

    def _first_wins(self) -> Share:
        """The chance that the text shown first wins: as if all missing answers had named the second, or the first."""
        least = self._with([one.answered("second") for one in self._missing])
        most = self._with([one.answered("first") for one in self._missing])
        return _share(least.first_wins(), most.first_wins())

    def _not_behind(self, order: Sequence[int]) -> tuple[int, ...]:
        """The variants that the first of them is not shown to beat, had it lost all of its missing answers.

        It was picked for being the best, after a look at all of them: it has been compared with each, as each has with
        the others. So each interval is wide enough for those of all pairs to hold at once (Bonferroni).
        """
        best, *others = order
        fitted, confidence = self._losing(best), 1 - (1 - CONFIDENCE) / math.comb(len(order), 2)
        return tuple(v for v in others if not fitted.beats(best, v, confidence).low > 0.5)

    def _losing(self, variant: int) -> Strengths:
        return self._with(self._of(variant, lambda one: one.second == variant))

    def _winning(self, variant: int) -> Strengths:
        return self._with(self._of(variant, lambda one: one.first == variant))

    def _of(
        self, variant: int, first_wins: Callable[[MissingAnswer], bool]
    ) -> Sequence[Comparison]:
        return [
            one.answered("first" if first_wins(one) else "second")
            for one in self._missing
            if variant in (one.first, one.second)
        ]

    def _with(self, more: Sequence[Comparison]) -> Strengths:
        return self._fitted(more) if more else self._plain


def _fitted(answers: Sequence[Comparison]) -> Strengths:
    fitted = fit(answers)
    if not fitted.converged:
        raise NotEstimable("the fit did not converge")
    return fitted


def _share(least: Estimate, most: Estimate) -> Share:
    return Share(least.value, most.value, least.low, most.high)
