"""The variants of a run in the order in which judges prefer their outputs, and how sure that order is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from evenhand.report.compared_pairs import ComparedPairs, MissingAnswer, compared_pairs
from evenhand.stats.bradley_terry import Comparison, NotEstimable, Strengths, connected, fit
from evenhand.stats.correction import Estimate
from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.tallies import Share
from evenhand.store.runfile import RunFile

_NO_FIT = "the fit did not converge"


@dataclass(frozen=True, slots=True)
class Standing:
    """One variant in a ranking.

    Attributes:
        variant: Its index.
        chance: The chance that its output is preferred to that of the average variant, ties aside.
        won: In how many answers its output was preferred.
        lost: In how many the other one was.
        tied: In how many neither was.
    """

    variant: int
    chance: Share
    won: int
    lost: int
    tied: int


@dataclass(frozen=True, slots=True)
class Standings:
    """A ranking. Answers that are missing may have been any: every number and interval holds for all of them.

    Attributes:
        name: The ranking, as outcomes are called.
        judges: Who compared, as their answers named them.
        cases: How many cases have an answer.
        answers: How many answers there are.
        errors: How many are missing: a judge gave none, or a trial is in error.
        ranked: The variants, best first; empty where they cannot be ranked.
        why: Why they cannot; empty where they are.
        apart: Variants that were never compared with those in `ranked`.
        first_wins: The chance that the text shown first is preferred where both are equally good, ties aside.
        ties: The share of answers that are ties; None without answers.
        not_behind: Of the others those that the first is not shown to beat, all comparisons with it taken together.
    """

    name: str
    judges: tuple[str, ...]
    cases: int
    answers: int
    errors: int
    ranked: tuple[Standing, ...] = ()
    why: str = ""
    apart: tuple[int, ...] = ()
    first_wins: Share | None = None
    ties: float | None = None
    not_behind: tuple[int, ...] = ()


def standings(run: RunFile, places: Sequence[int] | None = None) -> list[Standings]:
    """The rankings of a run, in the order of their names; none where nothing was compared.

    Args:
        run: The run.
        places: Where in the plan trials with preferences are, and maybe others; without them every trial is looked at.
    """
    return [_standings(pairs) for pairs in compared_pairs(run, places)]


def _standings(pairs: ComparedPairs) -> Standings:
    answers = pairs.answers
    empty = Standings(
        pairs.name,
        tuple(sorted(filter(None, pairs.judges))),
        len({one.cluster for one in answers}),
        len(answers),
        round(sum(one.weight for one in pairs.missing)),
    )
    groups = connected(answers)
    if not groups:
        return replace(empty, why="no answer of a judge can be used")
    group, *others = groups
    ties = sum(one.answer == "tie" for one in answers) / len(answers)
    apart = tuple(sorted(variant for other in others for variant in other))
    known = replace(empty, ties=ties, apart=apart)
    inside = [one for one in answers if one.first in group]
    missing = [one for one in pairs.missing if one.first in group and one.second in group]
    try:
        fits = _Fits(inside, missing)
        shares = {variant: fits.chance(variant) for variant in group}
        first_wins = fits.first_wins()
        order = sorted(group, key=lambda v: (-shares[v].least, -shares[v].most, v))
        not_behind = fits.not_behind(order)
    except NotEstimable as error:
        return replace(known, why=str(error))
    ranked = tuple(_standing(variant, shares[variant], inside) for variant in order)
    return replace(known, ranked=ranked, first_wins=first_wins, not_behind=not_behind)


class _Fits:
    """Fits of the answers with those that are missing taken for what is asked about."""

    def __init__(self, answers: Sequence[Comparison], missing: Sequence[MissingAnswer]) -> None:
        self._answers = answers
        self._missing = missing
        self._plain = _fitted(answers)

    def chance(self, variant: int) -> Share:
        """Of a variant: as if it had lost all of its missing answers, and as if it had won them."""
        return _share(self._losing(variant).chance(variant), self._winning(variant).chance(variant))

    def first_wins(self) -> Share:
        """The same for the place: as if all of them had named the second, or the first."""
        least = self._with([one.answered("second") for one in self._missing])
        most = self._with([one.answered("first") for one in self._missing])
        return _share(least.first_wins(), most.first_wins())

    def not_behind(self, order: Sequence[int]) -> tuple[int, ...]:
        """The variants that the first of them is not shown to beat, had it lost all of its missing answers.

        It was picked for being the best: so each interval is wide enough for all of them to hold at once (Bonferroni).
        """
        best, *others = order
        fitted, confidence = self._losing(best), 1 - (1 - CONFIDENCE) / len(others)
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
        return _fitted([*self._answers, *more]) if more else self._plain


def _fitted(answers: Sequence[Comparison]) -> Strengths:
    fitted = fit(answers)
    if not fitted.converged:
        raise NotEstimable(_NO_FIT)
    return fitted


def _share(least: Estimate, most: Estimate) -> Share:
    return Share(least.value, most.value, least.low, most.high)


def _standing(variant: int, chance: Share, answers: Sequence[Comparison]) -> Standing:
    mine = [one for one in answers if variant in (one.first, one.second)]
    tied = sum(one.answer == "tie" for one in mine)
    won = sum(one.answer == ("first" if one.first == variant else "second") for one in mine)
    return Standing(variant, chance, won, len(mine) - won - tied, tied)
