"""The answers of judges that compared a run's outputs in pairs, read from its trials; and those that are missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, NamedTuple

from evenhand.analysis.summaries.marks import PREFERENCE
from evenhand.analysis.trust.judgements.judged import criteria_of
from evenhand.core.encoding import digest
from evenhand.core.json_shapes import as_array, is_array, is_mapping
from evenhand.core.run import Outcome, TrialResult
from evenhand.stats.bradley_terry import Comparison
from evenhand.stats.corrected_strengths import JudgedPair
from evenhand.store.groups import named_cluster
from evenhand.store.runfile import RunFile

_ANSWERS = ("first", "second", "tie")
_Cell = tuple[str, int]
"""A case and a repeat."""
PairKey = tuple[str, int, int, int]
"""A case, a repeat, and two variants in ascending order."""


class MissingAnswer(NamedTuple):
    """An answer that may have been any.

    Attributes:
        unit: What is independent of others: the case, or the cluster that it belongs to.
        first: The variant that was shown first, or would have been.
        weight: For how many answers it stands: a share, where it is not known which pairs would have been drawn.
    """

    unit: str
    first: int
    second: int
    weight: float

    def answered(self, answer: Literal["first", "second"]) -> Comparison:
        """As if this had been the answer."""
        return Comparison(self.unit, self.first, self.second, answer, self.weight)


class RankedPair(NamedTuple):
    """Two outputs of a case that a judge compared, with what its answers come to.

    Attributes:
        unit: What is independent of others: the case, or the cluster that it belongs to.
        wins: The share of the answers that prefer the first of these.
        losses: The share that prefer the other; the rest are ties.
    """

    unit: str
    case: str
    repeat: int
    one: int
    two: int
    wins: float
    losses: float

    @property
    def judge(self) -> JudgedPair:
        """What its answers come to, without its place in the run."""
        return JudgedPair(self.unit, self.one, self.two, self.wins, self.losses)

    @property
    def key(self) -> PairKey:
        """The outputs, in whichever order."""
        return self.case, self.repeat, min(self.one, self.two), max(self.one, self.two)


@dataclass(slots=True, kw_only=True)
class ComparedPairs:
    """What judges said of a run's outputs by one criterion.

    Attributes:
        name: The ranking, as outcomes are called.
        answers: What they preferred.
        missing: The answers that there could have been.
        judges: Who they are, as their answers named them.
        judged: The pairs that have an answer.
        instruments: Digests of what was asked, apart from the outputs.
        criteria: Digests of the expectations: their names and bounds.
        variants: The variants whose outputs were to be compared.
        clusters: For each variant of the run, what says which of its cases belong together; see `Variant.cluster`.
    """

    name: str
    clusters: Sequence[str] = ()
    answers: list[Comparison] = field(default_factory=list[Comparison])
    missing: list[MissingAnswer] = field(default_factory=list[MissingAnswer])
    judges: set[str] = field(default_factory=set[str])
    judged: list[RankedPair] = field(default_factory=list[RankedPair])
    instruments: set[str] = field(default_factory=set[str])
    criteria: set[str] = field(default_factory=set[str])
    variants: set[int] = field(default_factory=set[int])
    _there: dict[_Cell, set[int]] = field(default_factory=lambda: defaultdict(set))

    def add(self, trial: TrialResult, other: int, orders: Iterable[object]) -> None:
        """A pair's answers: of this trial's output, and that of another variant."""
        self._there[trial.case, trial.repeat] |= {trial.variant, other}
        self.variants |= {trial.variant, other}
        before, unit = len(self.answers), self._unit(trial)
        for order in orders:
            if is_mapping(order):
                self._add(unit, trial.variant, other, order)
        if answers := self.answers[before:]:
            names = [
                one.first if one.answer == "first" else one.second
                for one in answers
                if one.answer != "tie"
            ]
            wins, losses = (
                names.count(variant) / len(answers) for variant in (trial.variant, other)
            )
            self.judged.append(
                RankedPair(
                    unit=unit,
                    case=trial.case,
                    repeat=trial.repeat,
                    one=trial.variant,
                    two=other,
                    wins=wins,
                    losses=losses,
                )
            )

    @property
    def model(self) -> str:
        """The judge, as its answers named it; several joined by `+`."""
        return "+".join(sorted(filter(None, self.judges)))

    def _unit(self, trial: TrialResult) -> str:
        key = self.clusters[trial.variant] if self.clusters else ""
        return named_cluster(key, trial.vars, trial.metadata) or trial.case

    def _add(self, unit: str, one: int, two: int, order: Mapping[str, object]) -> None:
        first, answer = order.get("first"), order.get("said")
        if first not in (one, two):
            return
        pair = (one, two) if first == one else (two, one)
        if "error" in order:
            self.missing.append(MissingAnswer(unit, *pair, 1.0))
        elif answer in _ANSWERS:
            self.answers.append(Comparison(unit, *pair, answer))
            self.judges.add(str(order.get("judge", "")))
            self.instruments.add(digest(str(order.get("instrument") or order.get("prompt") or "")))

    def add_absent(self, trials: Iterable[TrialResult], evals: Sequence[str]) -> None:
        """Takes the pairs of trials in error for missing, also those of a variant that never had an output.

        Args:
            trials: All of the run.
            evals: Of each of its variants. Only variants of one eval are compared with each other.
        """
        of_these = {evals[variant] for variant in self.variants}
        variants = {variant for variant, eval_ in enumerate(evals) if eval_ in of_these}
        pairs = sum(len(there) * (len(there) - 1) // 2 for there in self._there.values())
        # As many answers as a pair has on average, half of them in each order.
        each = (len(self.answers) + len(self.missing)) / pairs / 2
        members: dict[_Cell, set[int]] = defaultdict(set)
        absent: dict[_Cell, set[int]] = defaultdict(set)
        units: dict[_Cell, str] = {}
        for trial in trials:
            cell = trial.case, trial.repeat
            if trial.variant in variants and trial.outcome != "not_applicable":
                members[cell].add(trial.variant)
                units[cell] = self._unit(trial)
                if trial.outcome == "error" and trial.variant not in self._there.get(cell, ()):
                    absent[cell].add(trial.variant)
                    self.variants.add(trial.variant)
        for cell, gone in sorted(absent.items()):
            for one, two in combinations(sorted(members[cell]), 2):
                if one in gone or two in gone:
                    self.missing.append(MissingAnswer(units[cell], one, two, each))
                    self.missing.append(MissingAnswer(units[cell], two, one, each))


def compared_pairs(run: RunFile, places: Sequence[int] | None = None) -> list[ComparedPairs]:
    """What judges said by each criterion, in the order of their names.

    None of trials that were chosen by what came of them. Of a view, the pairs of which it has both variants.

    Args:
        places: Where in the plan trials with preferences are, and maybe others; without them every trial is looked at.
    """
    if run.by_outcome:
        return []
    clusters = [variant.cluster for variant in run.meta.variants]
    present = {i for i, totals in enumerate(run.by_variant()) if totals.trials}
    by_name: dict[str, ComparedPairs] = {}
    for trial in run.measuring(PREFERENCE) if places is None else run.at(places):
        for outcome in trial.outcomes:
            for other, orders in _pairs(outcome):
                if other in present and other != trial.variant:
                    one = by_name.setdefault(
                        outcome.name, ComparedPairs(name=outcome.name, clusters=clusters)
                    )
                    one.add(trial, other, orders)
                    one.criteria.add(criteria_of(outcome))
    rankings = [one for _, one in sorted(by_name.items()) if one.answers or one.missing]
    if rankings and run.totals().errors:
        for one in rankings:
            one.add_absent(run.trials(), [variant.eval for variant in run.meta.variants])
    return rankings


def _pairs(outcome: Outcome) -> Iterator[tuple[int, list[object]]]:
    """The other variant of each pair that an outcome keeps, and what was said in each order."""
    rows = outcome.metadata.get("ranked")
    for row in as_array(rows):
        if is_mapping(row):
            variant, orders = row.get("variant"), row.get("orders")
            # A truth value is an int for isinstance(), and no variant.
            if type(variant) is int and is_array(orders):
                yield variant, orders
