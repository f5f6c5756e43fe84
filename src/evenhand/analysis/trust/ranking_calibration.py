"""Whether the judge of a ranking can be trusted: its preferences beside people's, and the ranking once corrected.

The rules are those of `calibration`. What TPR + TNR − 1 is for verdicts is, for preferences, how much more often the
judge prefers what people prefer than the opposite, among the pairs in which people prefer one. An answer of the judge
that is a tie, or that goes by the order, is neither.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec import UNSET, field

from evenhand.analysis.summaries.share_rows import Chance
from evenhand.analysis.trust.agreement import AgreementStatistics, share_of
from evenhand.analysis.trust.calibration_document import (
    CalibrationRanked,
    CalibrationRanking,
    random_draw_row,
)
from evenhand.analysis.trust.judgements.compared_pairs import (
    ComparedPairs,
    MissingAnswer,
    compared_pairs,
)
from evenhand.analysis.trust.judgements.judged import JudgedMetric, Judgements, Questions
from evenhand.analysis.trust.labelled_cases import case_of, few_cases
from evenhand.analysis.trust.labels.ranking_labels import RankingLabels, ranking_labels
from evenhand.analysis.trust.trust_rules import (
    TELLS_APART,
    Bound,
    Evidence,
    TrustVerdict,
    bound_to,
    estimate_row,
    evidence_of,
    few_labels,
    is_equivalent,
    left_out,
    too_little,
)
from evenhand.core.document import filled
from evenhand.core.record import Record
from evenhand.core.variant import Variant
from evenhand.core.wording.words import percent
from evenhand.stats.bradley_terry import Comparison, NotEstimable, Strengths, connected, fit
from evenhand.stats.corrected_strengths import JudgedPair, LabelledPair, corrected_strengths
from evenhand.stats.correction import Estimate, drawn_at_random
from evenhand.stats.design_effect import DesignEffects, share_effect
from evenhand.stats.interval import CONFIDENCE, wilson
from evenhand.stats.tallies import Share
from evenhand.store.runfile import RunFile

FEWEST_EACH = 10
"""Labelled pairs that each variant has to be in."""


class RankingTrust(Record, frozen=True):
    """What labels say of the judge of a ranking, and of the ranking.

    Attributes:
        verdict: Whether the judge can be used; see the module.
        why: The reason for it, in words.
        raw: The ranking by the judge; None where it can't rank.
        corrected: The ranking that people would have found; None where there is none.
        random_p: How likely a random draw would be to look like the labels; None without labels.
    """

    verdict: TrustVerdict
    why: str
    raw: RankedChances | None
    corrected: RankedChances | None
    random_p: float | None


class RankingCalibration(AgreementStatistics, frozen=True, kw_only=True):
    """The judge of a ranking beside people.

    Attributes:
        model: The judge, as its answers named it.
        pairs: How many pairs it compared.
        labels: What people say.
        agreement: The share of labelled pairs of which it says what people say, ties among them; None without labels.
        systems: A digest of what each variant is, whatever it is called.
        seen: What later runs need to say what has changed since.
    """

    name: str
    model: str
    pairs: int
    labels: RankingLabels
    trust: RankingTrust
    agreement: Estimate | None
    bound: Bound
    systems: Mapping[int, str] = field(default_factory=dict[int, str])
    seen: Evidence

    @property
    def warnings(self) -> list[str]:
        """What to keep in mind, a line each."""
        n, notes = len(self.labels.pairs), list[str]()
        if few := few_labels(n, self.pairs):
            notes.append(few)
        return [*notes, *left_out(self.labels.unused, self.labels.split, "pair")]

    def row(self, variants: Sequence[Variant]) -> CalibrationRanking:
        """The ranking's calibration in the keys of `evenhand.calibration/1`."""
        trust, order = self.trust, sorted(self.systems)
        raw, corrected = trust.raw, trust.corrected
        return filled(
            CalibrationRanking,
            self,
            run=UNSET,
            labels=len(self.labels.pairs),
            split=self.labels.split,
            verdict=trust.verdict,
            why=trust.why,
            agreement=estimate_row(self.agreement),
            first_wins=None if raw is None else Chance.of(raw.first_wins),
            people_first_wins=None if corrected is None else Chance.of(corrected.first_wins),
            weight=None if corrected is None else corrected.weight,
            random_draw=None if trust.random_p is None else random_draw_row(trust.random_p),
            people=self.labels.people,
            variants=[
                CalibrationRanked(
                    prompt=variants[index].prompt,
                    model=variants[index].model,
                    system=self.systems[index],
                    raw=_chance_of(raw, index),
                    corrected=_chance_of(corrected, index),
                )
                for index in order
            ],
            answers=[_text_of(label, order) for label in self.labels.pairs],
            labelled_at=self.labels.labelled_at,
            bound=dict(self.bound),
        )


def ranking_calibrations(run: RunFile, judged: Judgements) -> list[RankingCalibration]:
    """The judges of a run's rankings beside people, in the order of the rankings' names."""
    rules = run.rules()
    return [
        _calibrated(run, pairs, judged, rules.get(pairs.name, ""))
        for pairs in compared_pairs(run)
        if pairs.judged
    ]


def judge_of_pairs(run: RunFile, pairs: ComparedPairs) -> JudgedMetric:
    """The judge of a ranking, with what it was asked, for what its calibration holds for."""
    evals = {run.meta.variants[variant].eval for variant in pairs.variants}
    questions = Questions(instruments=pairs.instruments, criteria=pairs.criteria)
    return JudgedMetric(
        metric=pairs.name, model=pairs.model, questions=dict.fromkeys(evals, questions)
    )


def trust_in(
    pairs: ComparedPairs, labels: Sequence[LabelledPair], *, undrawn: bool = False
) -> RankingTrust:
    """Whether the judge of a ranking can be used, and what people would have found.

    Args:
        pairs: What the judge compared.
        labels: What people say of drawn pairs.
        undrawn: Some pairs could not be drawn.
    """
    try:
        raw = judges_chances(pairs, connected(pairs.answers)[0])
    except (NotEstimable, IndexError):
        raw = None
    random_p = None if not labels else 0.0 if undrawn else _random_p(pairs, labels, raw)
    if refusal := _refusal(pairs, labels, random_p):
        return RankingTrust("no verdict", refusal, raw, None, random_p)
    same, opposite, decided = _sides(labels)
    if not decided:
        why = "people preferred neither output of any labelled pair"
        return RankingTrust("no verdict", why, raw, None, random_p)
    misses = (
        f"of the pairs in which people prefer one, it prefers the other in {percent(opposite / decided)}"
        f" and neither in {percent(1 - (same + opposite) / decided)}"
    )
    # Ties count half, as in a sign test, so that the share is 0.5 by chance.
    effect = share_effect([(one.people.cluster, _agree(one)) for one in labels if _decided(one)])
    low, _ = wilson((decided + same - opposite) / 2 / effect, decided / effect)
    if low <= 0.5:
        why = f"not shown to be better than chance: {misses}"
        return RankingTrust("do not use", why, raw, None, random_p)
    try:
        corrected = peoples_chances(pairs, labels, connected(pairs.answers)[0])
    except NotEstimable as error:
        return RankingTrust("no verdict", str(error), raw, None, random_p)
    usable = (
        2 * low - 1 > TELLS_APART
        and raw is not None
        and all(
            is_equivalent(end, corrected.chances[v].low, corrected.chances[v].high)
            for v, one in raw.chances.items()
            for end in (one.least, one.most)
        )
    )
    word: TrustVerdict = "usable" if usable else "usable with labels"
    return RankingTrust(word, misses, raw, corrected, random_p)


def labels_of(answers: Sequence[str], variants: Sequence[int]) -> list[LabelledPair]:
    """The labels that a calibration keeps, as `row` writes them.

    Args:
        answers: Each as "case first second answer wins losses".
        variants: Which variants they number.

    Raises:
        ValueError: One is none.
    """
    labels: list[LabelledPair] = []
    for text in answers:
        case, one, two, answer, wins, losses = text.split(" ")
        first, second = variants[int(one)], variants[int(two)]
        # Python would take −1 for the last variant.
        if answer not in ("first", "second", "tie") or first == second or int(one) < 0:
            raise ValueError(text)
        shares = float(wins), float(losses)
        # They were written with six digits: thirds don't add up to 1.
        if not (min(shares) >= 0 and sum(shares) <= 1.001):
            raise ValueError(text)
        labels.append(
            LabelledPair(
                Comparison(case, first, second, answer), JudgedPair(case, first, second, *shares)
            )
        )
    return labels


def _text_of(label: LabelledPair, order: Sequence[int]) -> str:
    people, judge = label
    first, second = order.index(people.first), order.index(people.second)
    wins, losses = judge.wins, judge.losses
    # The judge's pair is in the order of the variants, people's in the order that was shown.
    if judge.one != people.first:
        wins, losses = losses, wins
    return f"{case_of(people.cluster)} {first} {second} {people.answer} {wins:g} {losses:g}"


def _chance_of(ranked: RankedChances | None, variant: int) -> Chance | None:
    if ranked is None or variant not in ranked.chances:
        return None
    return Chance.of(ranked.chances[variant])


def _calibrated(
    run: RunFile, pairs: ComparedPairs, judged: Judgements, rule: str
) -> RankingCalibration:
    labels, judge = ranking_labels(run, pairs), judge_of_pairs(run, pairs)
    sides = [(_peoples_side(label), _judges_side(label)) for label in labels.pairs]
    shares = [(_peoples_side(one), _judges_share(one)) for one in labels.pairs]
    return filled(
        RankingCalibration,
        AgreementStatistics.of_pairs(sides, shares),
        name=pairs.name,
        model=pairs.model,
        pairs=len(pairs.judged),
        labels=labels,
        trust=trust_in(pairs, labels.pairs, undrawn=labels.undrawn),
        agreement=share_of([(one.people.cluster, _agree(one)) for one in labels.pairs])
        if labels.pairs
        else None,
        bound=bound_to(judge, judged, rule),
        systems={variant: judged.parts.system_of(variant) for variant in sorted(pairs.variants)},
        seen=evidence_of(judge, judged),
    )


def _refusal(pairs: ComparedPairs, labels: Sequence[LabelledPair], random_p: float | None) -> str:
    """Why the labels do not suffice; empty where they do."""
    if why := too_little(len(labels), random_p, "compared"):
        return why
    units = DesignEffects(cases=len({one.people.cluster for one in labels}), labels=len(labels))
    if units.too_few:
        return few_cases(units)
    each = Counter(v for label in labels for v in (label.judge.one, label.judge.two))
    least = min(each[v] for pair in pairs.judged for v in (pair.one, pair.two))
    if least < FEWEST_EACH:
        return f"a variant is in only {least} of the labelled pairs: each must be in {FEWEST_EACH} or more"
    return ""


def _random_p(
    pairs: ComparedPairs, labels: Sequence[LabelledPair], raw: RankedChances | None
) -> float:
    """How likely a random draw is to look like the labels.

    In how many pairs the judge is undecided, in how many others it prefers the variant that is weaker on the whole, and
    how many there are of each two variants: the least likely of them, corrected for their number (Bonferroni).
    """
    judged = [pair.judge for pair in pairs.judged]
    drawn = [label.judge for label in labels]
    decided, drawn_decided = ([p for p in each if p.wins != p.losses] for each in (judged, drawn))
    tests = [drawn_at_random((len(drawn_decided), len(drawn)), (len(decided), len(judged)))]
    if raw is not None and drawn_decided:
        upset = _upset(raw.order)
        drawn_upset = sum(map(upset, drawn_decided)), len(drawn_decided)
        tests.append(drawn_at_random(drawn_upset, (sum(map(upset, decided)), len(decided))))
    kinds, drawn_kinds = (Counter((p.one, p.two) for p in each) for each in (judged, drawn))
    each = [
        drawn_at_random((drawn_kinds[kind], len(drawn)), (kinds[kind], len(judged)))
        for kind in kinds
    ]
    tests.append(min(each) * len(each))
    return min(1.0, min(tests) * len(tests))


def _upset(order: Sequence[int]) -> Callable[[JudgedPair], bool]:
    """Says of a pair whether the judge prefers the variant that is weaker on the whole."""
    place = {variant: i for i, variant in enumerate(order)}
    last = len(place)
    return lambda pair: (
        (pair.wins > pair.losses) is (place.get(pair.one, last) > place.get(pair.two, last))
    )


def _sides(labels: Sequence[LabelledPair]) -> tuple[int, int, int]:
    """In how many pairs the judge prefers what people prefer, the opposite, and in how many people prefer one."""
    decided = [label for label in labels if _decided(label)]
    sides = [(_peoples_side(label), _judges_side(label)) for label in decided]
    same = sum(a == b for a, b in sides)
    opposite = sum(a == 1 - b and b != 0.5 for a, b in sides)
    return same, opposite, len(decided)


def _decided(label: LabelledPair) -> bool:
    """Whether people prefer one of the two."""
    return label.people.answer != "tie"


def _agree(label: LabelledPair) -> bool:
    """Whether the judge says what people say."""
    return _peoples_side(label) == _judges_side(label)


def _peoples_side(label: LabelledPair) -> float:
    """1 for the text that people saw first, 0 for the other, 0.5 for neither."""
    return {"first": 1.0, "second": 0.0, "tie": 0.5}[label.people.answer]


def _judges_share(label: LabelledPair) -> float:
    people, judge = label
    lean = judge.wins - judge.losses
    return 0.5 + (lean if judge.one == people.first else -lean) / 2


def _judges_side(label: LabelledPair) -> float:
    """The judge's side: 1 for the text that people saw first, 0 for the other, 0.5 where its answers do not agree."""
    share = _judges_share(label)
    return share if share in (0.0, 1.0) else 0.5


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
    judged = [one.judge for one in pairs.judged if one.one in group]
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
        self, fitted: Callable[[Sequence[Comparison]], Strengths], missing: Sequence[MissingAnswer]
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
