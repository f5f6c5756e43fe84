"""Juries beside people: whether their votes, weighted by labels, agree with people more often than their majority.

The weights are fitted to all labelled outputs. What is said of them comes from weights that were fitted without the
output in question and all others of its case. Verdicts of runs stay what they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from evenhand.analysis.trust.agreement import share_of
from evenhand.analysis.trust.calibration_document import (
    CalibrationJury,
    CalibrationMember,
    CalibrationVotes,
)
from evenhand.analysis.trust.judgements.judged import (
    Item,
    JudgedMetric,
    judge_of,
    members_of,
    metric_of,
    verdicts_beside,
)
from evenhand.analysis.trust.labelled_cases import case_labels, rows_of
from evenhand.analysis.trust.trust_rules import estimate_row
from evenhand.core.document import filled
from evenhand.core.encoding import digest
from evenhand.core.json_shapes import is_number
from evenhand.core.record import Record
from evenhand.core.score import Outcome, with_parts
from evenhand.stats.correction import Estimate, Verdicts
from evenhand.stats.design_effect import CaseLabel
from evenhand.stats.extremes import certain
from evenhand.stats.paired_difference import Differences, Word, verdict
from evenhand.stats.votes import cross_fitted, fitted_weights
from evenhand.store.runfile import RunFile

FEWEST = 30
"""Labelled outputs below which no weights are fitted."""
FOLDS = 10

Ballot = Mapping[str, float]
"""What the members of a jury voted on one output, by the judge that answered: +1 for pass, −1 for fail; the sum where
one voted several times. One that gave no verdict is not in it."""


class Member(Record, frozen=True):
    """One judge of a jury beside people.

    Attributes:
        model: The judge, as its answers named it.
        weight: The log-odds that one vote of it is worth.
        agrees: The share of outputs on which it says what people say; None where it never voted.
    """

    model: str
    weight: float
    agrees: Estimate | None


class JuryWeights(Record, frozen=True, kw_only=True):
    """What the votes of a jury are worth, and whether weighting them pays.

    Attributes:
        labels: How many labelled outputs it rests on.
        intercept: The log-odds that people pass an output on which the weighted votes cancel out.
        members: The judges, in the order of their names.
        majority: The share of outputs on which the jury's own verdict is people's.
        weighted: The same for the weighted votes, on outputs that the weights were not fitted to.
        difference: Weighted minus majority.
        p: The two-sided p-value that there is no difference.
        by_variant: For each variant the weighted votes beside people's verdicts, on labelled outputs that the weights
            were not fitted to.
        labelled: The same label by label, with their cases; the judge's verdict is that of the weighted votes.
    """

    labels: int
    intercept: float
    members: tuple[Member, ...]
    majority: Estimate
    weighted: Estimate
    difference: Estimate
    p: float
    word: Word
    by_variant: Mapping[int, Verdicts]
    labelled: Mapping[int, Sequence[CaseLabel]]

    def row(self) -> CalibrationJury:
        """The jury's weights in the keys of `evenhand.calibration/1`."""
        return CalibrationJury(
            labels=self.labels,
            majority=self.majority._asdict(),
            weighted=self.weighted._asdict(),
            difference=self.difference._asdict(),
            p=self.p,
            verdict=self.word,
            intercept=self.intercept,
            members=[
                CalibrationMember(
                    model=member.model, weight=member.weight, agrees=estimate_row(member.agrees)
                )
                for member in self.members
            ],
        )

    def votes_row(self, variant: int) -> CalibrationVotes | None:
        """What later runs need of a variant's weighted votes; None without labels of it."""
        counts = self.by_variant.get(variant)
        if counts is None:
            return None
        return filled(CalibrationVotes, counts, labelled=rows_of(self.labelled[variant]))


def jury_weights(
    run: RunFile, metric: JudgedMetric, people: Mapping[Item, bool]
) -> JuryWeights | None:
    """What the votes of one judge under one metric are worth; None for no jury, or fewer than 30 labelled outputs.

    Args:
        people: What people say of drawn outputs.

    Raises:
        StoreError: The run cannot be read.
    """
    items = {item.index: item for item in people}
    ballots = {
        items[trial.index]: ballot
        for trial in run.at(sorted(items))
        if (ballot := ballot_of(trial.outcomes, metric.metric, metric.model))
    }
    if len(ballots) < FEWEST:
        return None
    judged = list(ballots)
    models, votes = vote_table([ballots[item] for item in judged])
    passes = [people[item] for item in judged]
    own = [item.passed for item in judged]
    votes = turned(votes, own)
    cases = [item.unit for item in judged]
    folds = folds_of(cases)
    weighted = cross_fitted(votes, passes, folds)
    weights = fitted_weights(votes, passes)
    differences = _differences(judged, passes, weighted, own)
    alone = differences.p()
    low, high, p = certain(differences).agreeing(alone)
    variants = sorted({item.variant for item in judged})
    vote_of = dict(zip(judged, weighted, strict=True))
    by_variant = {
        variant: [(people[item], vote) for item, vote in vote_of.items() if item.variant == variant]
        for variant in variants
    }
    return JuryWeights(
        labels=len(judged),
        intercept=weights.intercept,
        members=tuple(
            Member(model, weight, _agrees(cases, [row[i] for row in votes], passes))
            for i, (model, weight) in enumerate(zip(models, weights.weights, strict=True))
        ),
        majority=_share(cases, own, passes),
        weighted=_share(cases, weighted, passes),
        difference=Estimate(differences.mean or 0.0, low, high),
        p=p,
        word=verdict(differences, alone),
        by_variant={
            variant: verdicts_beside(pairs, [vote for _, vote in pairs])
            for variant, pairs in by_variant.items()
        },
        labelled={
            variant: case_labels(
                {item: people[item] for item in judged if item.variant == variant}, judge=vote_of
            )
            for variant in variants
        },
    )


def ballot_of(outcomes: Iterable[Outcome], metric: str, model: str = "") -> Ballot:
    """What the members of a jury voted on one output; empty where no jury judged it.

    Of two expectations under the same metric, a member must pass both.

    Args:
        outcomes: Those of the trial.
        model: Only this jury; any for none.
    """
    by_place: dict[int, tuple[str, bool]] = {}
    for outcome in with_parts(outcomes):
        if metric_of(outcome) != metric or (model and judge_of(outcome) != model):
            continue
        for place, (judge, vote) in enumerate(votes_in(outcome)):
            if vote is not None:
                _, before = by_place.get(place, ("", True))
                by_place[place] = judge, before and vote
    ballot: Counter[str] = Counter()
    for judge, vote in by_place.values():
        ballot[judge] += 1 if vote else -1
    return dict(ballot)


def votes_in(outcome: Outcome) -> list[tuple[str, bool | None]]:
    """Who of a jury voted what, in its order; None for no verdict. Empty for an outcome of one judge.

    A score without a verdict of its own passes where the expectation's bounds would let it.
    """
    return [(str(row.get("judge") or ""), _vote(row, outcome)) for row in members_of(outcome)]


def _vote(row: Mapping[str, object], outcome: Outcome) -> bool | None:
    passed, score = row.get("passed"), row.get("score")
    if isinstance(passed, bool):
        return passed
    if not is_number(score):
        return None
    if outcome.at_least is None and outcome.at_most is None:
        return None
    enough = outcome.at_least is None or score >= outcome.at_least
    return enough and (outcome.at_most is None or score <= outcome.at_most)


def vote_table(ballots: Sequence[Ballot]) -> tuple[list[str], list[list[float]]]:
    """The judges by name, and for each ballot what they voted, 0 for no vote."""
    models = sorted({model for ballot in ballots for model in ballot})
    return models, [[float(ballot.get(model, 0)) for model in models] for ballot in ballots]


def turned(votes: Sequence[Sequence[float]], verdicts: Sequence[bool]) -> list[list[float]]:
    """Votes in the direction of the jury's verdicts: under `not-`, whoever votes for it votes against the output."""
    same = sum((sum(row) > 0) == ok for row, ok in zip(votes, verdicts, strict=True))
    sign = 1.0 if same * 2 >= len(votes) else -1.0
    return [[sign * vote for vote in row] for row in votes]


def folds_of(cases: Sequence[str]) -> list[int]:
    """For each output the number of its fold, from 0. All outputs of a case are in one."""
    # By digest: folds don't hang on the order of the dataset, and are the same each time.
    order = sorted(set(cases), key=digest)
    places = {case: i % FOLDS for i, case in enumerate(order)}
    return [places[case] for case in cases]


def _differences(
    items: Sequence[Item],
    passes: Sequence[bool],
    weighted: Sequence[bool],
    majority: Sequence[bool],
) -> Differences:
    units: dict[str, list[float]] = {}
    for item, ok, one, other in zip(items, passes, weighted, majority, strict=True):
        units.setdefault(item.unit, []).append(float(one == ok) - float(other == ok))
    return Differences(list(units.values()), rates=True)


def _agrees(
    cases: Sequence[str], votes: Sequence[float], passes: Sequence[bool]
) -> Estimate | None:
    each = zip(cases, votes, passes, strict=True)
    voted = [(case, (vote > 0) is ok) for case, vote, ok in each if vote]
    return share_of(voted) if voted else None


def _share(cases: Sequence[str], verdicts: Sequence[bool], passes: Sequence[bool]) -> Estimate:
    each = zip(cases, verdicts, passes, strict=True)
    return share_of([(case, verdict is ok) for case, verdict, ok in each])
