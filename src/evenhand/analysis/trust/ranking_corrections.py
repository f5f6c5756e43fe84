"""What people would have found of a ranking, by its run's own labels or by a calibration that still holds.

`standings` puts the variants of a run in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations
from statistics import fmean

from evenhand.analysis.trust.calibrated import Status
from evenhand.analysis.trust.calibration_document import CalibrationDocument, CalibrationRanking
from evenhand.analysis.trust.calibration_file import place_of, read_calibration
from evenhand.analysis.trust.judgements.compared_pairs import (
    ComparedPairs,
    RankedPair,
    compared_pairs,
)
from evenhand.analysis.trust.judgements.judged import Judgements, judgements
from evenhand.analysis.trust.judgements.judged_basis import is_called
from evenhand.analysis.trust.labelled_cases import case_of
from evenhand.analysis.trust.labels.ranking_labels import ranking_labels
from evenhand.analysis.trust.ranking_calibration import (
    RankedChances,
    judge_of_pairs,
    judges_chances,
    labels_of,
    peoples_chances,
    trust_in,
)
from evenhand.analysis.trust.trust_rules import (
    NOT_CHECKED,
    SURE,
    age,
    bound_to,
    changed_since,
    evidence_of,
    stale_words,
    without_split,
)
from evenhand.core.application_code import changed_code
from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.wording.words import count
from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.bradley_terry import Comparison, NotEstimable, connected
from evenhand.stats.corrected_strengths import JudgedPair, LabelledPair
from evenhand.stats.interval import CONFIDENCE
from evenhand.stats.paired_rates import mcnemar
from evenhand.stats.tallies import Share
from evenhand.store.runfile import RunFile

PREFERENCES = "judge's preferences"
"""What is said to have changed where nothing else has, and the judge leans further to one of two variants."""


class RankingCorrection(Record, frozen=True, kw_only=True):
    """What is known of people's view of a ranking.

    Attributes:
        status: Whether there are labels, and whether they still hold.
        corrected: The ranking that people would have found; None without labels that hold and suffice.
        labels: How many labels that rests on.
        split: How many drawn pairs it leaves out, as people are split on them.
        labelled_at: When the last of them was given, seconds since 1970; None without any.
        changed: What has changed since the calibration was made.
        verdict: What the labels say of the judge; empty without any.
    """

    status: Status = "missing"
    corrected: RankedChances | None = None
    labels: int = 0
    split: int = 0
    labelled_at: float | None = None
    changed: tuple[str, ...] = ()
    verdict: str = ""

    @property
    def trusted(self) -> bool:
        """Whether the ranking may stand in a gate: it is corrected, and its judge may be used."""
        return self.corrected is not None and self.verdict in ("usable", "usable with labels")

    @property
    def words(self) -> str:
        """What the ranking is worth, by people's labels."""
        if self.corrected is not None:
            labels = f"{count(self.labels, 'label')}, {age(self.labelled_at)}"
            return f"corrected by {labels}{without_split(self.split, 'pair')}"
        if self.status == "stale":
            return f"calibration is stale: {stale_words(self.changed)}"
        if self.verdict == "do not use":
            return "do not use this judge: see `evenhand calibrate`"
        if self.status == "fresh":
            return "labelled, and not corrected: see `evenhand calibrate`"
        if self.changed:
            return f"{NOT_CHECKED}: the calibration is for another judge"
        return NOT_CHECKED


NO_LABELS = RankingCorrection()
"""Nobody has labelled any of it."""


def ranking_corrections(run: RunFile, rankings: Sequence[ComparedPairs]) -> list[RankingCorrection]:
    """What people would have found, ranking by ranking.

    Raises:
        UsageError: `calibration.json` is damaged.
    """
    if not rankings or run.meta.is_judge_check:
        return [NO_LABELS for _ in rankings]
    file = read_calibration(place_of(run.meta))
    known = {(one.name, one.model): one for one in file.rankings}

    # Reading all judgements takes long, and most runs need it for no ranking.
    @cache
    def judged() -> Judgements:
        return judgements(run)

    drawn = {draw.metric for draw in run.pair_draws()}
    return [
        (_by_labels(run, pairs) if pairs.name in drawn else None)
        or _by_file(run, pairs, known.get((pairs.name, pairs.model)), file, judged)
        or RankingCorrection(
            changed=("judge model",) if any(name == pairs.name for name, _ in known) else ()
        )
        for pairs in rankings
    ]


def _by_labels(run: RunFile, pairs: ComparedPairs) -> RankingCorrection | None:
    labels = ranking_labels(run, pairs)
    if not labels.pairs:
        return None
    trust = trust_in(pairs, labels.pairs, undrawn=labels.undrawn)
    return RankingCorrection(
        status="fresh",
        corrected=trust.corrected,
        labels=len(labels.pairs),
        split=labels.split,
        labelled_at=labels.labelled_at,
        verdict=trust.verdict,
    )


def _by_file(
    run: RunFile,
    pairs: ComparedPairs,
    ranking: CalibrationRanking | None,
    file: CalibrationDocument,
    judged: Callable[[], Judgements],
) -> RankingCorrection | None:
    if ranking is None or not ranking.answers:
        return None
    rules = run.rules()
    judge, with_rule = judge_of_pairs(run, pairs), pairs.name in rules
    bound = bound_to(judge, judged(), rules.get(pairs.name, ""))
    evidence = evidence_of(judge, judged())
    changed = (
        *changed_since(ranking.bound, bound, ranking.seen, evidence, with_rule=with_rule),
        *changed_code(file.code_of(ranking), run.meta.code, judge.evals),
    )
    same = [_variant_of(run, pairs, judged(), ranking, i) for i in range(len(ranking.variants))]
    # A variant that was labelled isn't in this run: its labels speak of another ranking.
    if not changed and None in same:
        changed = ("system",)
    one = RankingCorrection(
        status="stale" if changed else "fresh",
        labels=len(ranking.answers),
        split=ranking.split,
        labelled_at=ranking.labelled_at,
        changed=changed,
        verdict=ranking.verdict,
    )
    if changed or ranking.verdict not in ("usable", "usable with labels"):
        return one
    try:
        labels = labels_of(ranking.answers, [variant for variant in same if variant is not None])
    except (ValueError, IndexError):
        raise UsageError(
            f"{place_of(run.meta)}: an answer of {ranking.name!r} is not a label",
            hint="Make it again with `evenhand calibrate`, or restore it.",
        ) from None
    pairs = _without_names(pairs)
    if _answers_otherwise(labels, pairs):
        return replace(one, status="stale", changed=(PREFERENCES,))
    try:
        group = connected(pairs.answers)[0]
        return replace(one, corrected=peoples_chances(pairs, labels, group))
    except NotEstimable:
        return one


def _answers_otherwise(labels: Sequence[LabelledPair], pairs: ComparedPairs) -> bool:
    """Whether the judge leans further to one of two variants than it did on the same cases of the labelled run.

    Then something is otherwise that no digest has, such as a model behind its old name. The mean shift of each two
    variants is held against 0, for all of them at once (Bonferroni).
    """
    then = _leans(label.judge for label in labels)
    now = _leans(one.judge for one in pairs.judged)
    shifts: dict[tuple[int, int], list[float]] = {}
    for case, variants in then.keys() & now.keys():
        shift = fmean(now[case, variants]) - fmean(then[case, variants])
        shifts.setdefault(variants, []).append(shift)
    for of_two in shifts.values():
        units = [(shift, 1) for shift in of_two]
        apart = mean_on_scale(units, (-2, 2), 1 - (1 - SURE) / len(shifts))
        if apart is not None and not apart[1] <= 0 <= apart[2]:
            return True
    return False


def _leans(pairs: Iterable[JudgedPair]) -> dict[tuple[str, tuple[int, int]], list[float]]:
    """By case (or cluster) and variants, in the order of their indexes: how far the first is preferred, −1 to 1."""
    leans: dict[tuple[str, tuple[int, int]], list[float]] = {}
    for pair in pairs:
        lean = pair.wins - pair.losses
        ahead = pair.one < pair.two
        variants = (pair.one, pair.two) if ahead else (pair.two, pair.one)
        leans.setdefault((pair.cluster, variants), []).append(lean if ahead else -lean)
    return leans


def _variant_of(
    run: RunFile, pairs: ComparedPairs, judged: Judgements, ranking: CalibrationRanking, index: int
) -> int | None:
    """The variant of this run that is the same system; of several, the one of the same name."""
    variant = ranking.variants[index]
    alike = [v for v in sorted(pairs.variants) if judged.parts.system_of(v) == variant.system]
    named = [v for v in alike if is_called(run.meta.variants[v], variant.prompt, variant.model)]
    candidates = named or alike
    return candidates[0] if len(candidates) == 1 else None


def _without_names(pairs: ComparedPairs) -> ComparedPairs:
    """The pairs with cases called as calibrations call them, so that labelled ones are known again."""
    return replace(
        pairs,
        judged=[one._replace(unit=case_of(one.unit)) for one in pairs.judged],
        missing=[one._replace(unit=case_of(one.unit)) for one in pairs.missing],
    )


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
        errors: How many are missing: a judge gave none, or a trial is in error.
        ranked: The variants, best first, by corrected chances where there are some; empty where they can't be ranked.
        why: Why they cannot; empty where they are.
        apart: Variants that no answer compares with those in `ranked`: also those that are always in error.
        first_wins: The chance that the text shown first is preferred where both are equally good, ties aside.
        ties: The share of answers that are ties; None without answers.
        not_behind: Of the others those that the first is not shown to beat, all pairs taken together.
        circle: Three variants of which the judge prefers each to the next, and the last to the first, in more cases
            than chance explains: no order is theirs. Empty where there are none.
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
    circle: tuple[int, ...] = ()
    correction: RankingCorrection = NO_LABELS


def standings(run: RunFile, places: Sequence[int] | None = None) -> list[Standings]:
    """The rankings of a run, in the order of their names; none where nothing was compared.

    Args:
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
        cases=len({one.case for one in pairs.judged}),
        answers=len(answers),
        errors=round(sum(one.weight for one in pairs.missing)),
        correction=correction,
    )
    # Strengths can only be compared within variants that answers connect.
    groups = connected(answers)
    if not groups:
        return replace(empty, why="no answer of a judge can be used")
    group = groups[0]
    ties = sum(one.answer == "tie" for one in answers) / len(answers)
    apart = tuple(sorted(pairs.variants.difference(group)))
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
    return replace(
        known,
        ranked=ranked,
        first_wins=raw.first_wins,
        not_behind=best.not_behind,
        circle=_circle(pairs.judged),
    )


def _circle(judged: Sequence[RankedPair]) -> tuple[int, ...]:
    """The first three variants that a judge prefers in a circle; see `Standings.circle`.

    Bradley and Terry's model gives each variant one strength, so it can't show it. Each pair's cases, or clusters,
    are held against chance by themselves (sign test), for all pairs at once (Bonferroni).
    """
    leads: dict[tuple[int, int], dict[str, float]] = {}
    for one in judged:
        ascending = one.one < one.two
        lead = one.wins - one.losses if ascending else one.losses - one.wins
        units = leads.setdefault((min(one.one, one.two), max(one.one, one.two)), {})
        units[one.unit] = units.get(one.unit, 0.0) + lead
    beats: set[tuple[int, int]] = set()
    for (one, two), units in leads.items():
        ahead = sum(lead > 0 for lead in units.values())
        behind = sum(lead < 0 for lead in units.values())
        if mcnemar(ahead, behind) * len(leads) < 1 - CONFIDENCE:
            beats.add((one, two) if ahead > behind else (two, one))
    variants = sorted({variant for pair in beats for variant in pair})
    triples = (
        (one, two, three)
        for one, *others in (variants[place:] for place in range(len(variants)))
        for two, three in permutations(others, 2)
    )
    return next((t for t in triples if {(t[0], t[1]), (t[1], t[2]), (t[2], t[0])} <= beats), ())


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
