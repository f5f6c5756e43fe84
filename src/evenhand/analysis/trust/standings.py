"""The variants of a run in the order in which judges prefer their outputs, and how sure that order is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs, compared_pairs
from evenhand.analysis.trust.ranking_corrections import (
    NO_LABELS,
    RankingCorrection,
    ranking_corrections,
)
from evenhand.analysis.trust.ranking_fits import judges_chances
from evenhand.core.record import Record
from evenhand.stats.bradley_terry import Comparison, NotEstimable, connected
from evenhand.stats.tallies import Share
from evenhand.store.runfile import RunFile


class Standing(Record, frozen=True, kw_only=True):
    """One variant in a ranking.

    Attributes:
        variant: Its index.
        chance: The chance that its output is preferred to that of the average variant, ties aside, by the judge.
        won: In how many answers its output was preferred.
        lost: In how many the other one was.
        tied: In how many neither was.
        corrected: The chance as people would have found it; None where that is not known.
    """

    variant: int
    chance: Share
    won: int
    lost: int
    tied: int
    corrected: Share | None = None


class Standings(Record, frozen=True, kw_only=True):
    """A ranking. Answers that are missing may have been any: every number and interval holds for all of them.

    Attributes:
        name: The ranking, as outcomes are called.
        judges: Who compared, as their answers named them.
        cases: How many cases have an answer.
        answers: How many answers there are.
        errors: How many are missing: a judge gave none, or a trial is in error.
        ranked: The variants, best first, by corrected chances where there are some; empty where they can't be ranked.
        why: Why they cannot; empty where they are.
        apart: Variants that were never compared with those in `ranked`.
        first_wins: The chance that the text shown first is preferred where both are equally good, ties aside.
        ties: The share of answers that are ties; None without answers.
        not_behind: Of the others those that the first is not shown to beat, all pairs taken together.
        correction: What is known of people's view.
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
    correction: RankingCorrection = NO_LABELS


def standings(run: RunFile, places: Sequence[int] | None = None) -> list[Standings]:
    """The rankings of a run, in the order of their names; none where nothing was compared.

    Args:
        run: The run.
        places: Where in the plan trials with preferences are, and maybe others; without them every trial is looked at.

    Raises:
        UsageError: `calibration.json` is damaged.
    """
    pairs = compared_pairs(run, places)
    corrections = ranking_corrections(run, pairs)
    return [_standings(*each) for each in zip(pairs, corrections, strict=True)]


def _standings(pairs: ComparedPairs, correction: RankingCorrection) -> Standings:
    answers = pairs.answers
    empty = Standings(
        name=pairs.name,
        judges=tuple(sorted(filter(None, pairs.judges))),
        cases=len({one.cluster for one in answers}),
        answers=len(answers),
        errors=round(sum(one.weight for one in pairs.missing)),
        correction=correction,
    )
    # Strengths can only be compared within variants that answers connect.
    groups = connected(answers)
    if not groups:
        return replace(empty, why="no answer of a judge can be used")
    group, *others = groups
    ties = sum(one.answer == "tie" for one in answers) / len(answers)
    apart = tuple(sorted(variant for other in others for variant in other))
    known = replace(empty, ties=ties, apart=apart)
    try:
        raw = judges_chances(pairs, group)
    except NotEstimable as error:
        return replace(known, why=str(error))
    inside = [one for one in answers if one.first in group]
    corrected = correction.corrected
    best = raw if corrected is None else corrected
    ranked = tuple(
        _standing(v, raw.chances[v], corrected and corrected.chances[v], inside) for v in best.order
    )
    return replace(known, ranked=ranked, first_wins=raw.first_wins, not_behind=best.not_behind)


def _standing(
    variant: int, chance: Share, corrected: Share | None, answers: Sequence[Comparison]
) -> Standing:
    mine = [one for one in answers if variant in (one.first, one.second)]
    tied = sum(one.answer == "tie" for one in mine)
    won = sum(one.answer == ("first" if one.first == variant else "second") for one in mine)
    return Standing(
        variant=variant,
        chance=chance,
        won=won,
        lost=len(mine) - won - tied,
        tied=tied,
        corrected=corrected,
    )
