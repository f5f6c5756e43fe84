"""The items of a probe: which of a run's answers are attacked, and which must pass.

How this works: a bad answer is one that the judge failed and that no person passes. Where there are too few of them,
right answers of other cases are taken: these are asked about as they are first, and attacked only where the judge
fails them. A good answer is one that the judge passed and that no person fails. Items are in an order that follows
from the seed; those with an answer that no other item has come first, as the same question twice says nothing new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from evenhand.analysis.trust.judgements.judged import Item, JudgedMetric, judge_of, metric_of
from evenhand.core.encoding import digest
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome, with_parts
from evenhand.scorers.text import value_text
from evenhand.store.labels.draw import MetricLabel
from evenhand.store.labels.stored_draws import standing_labels
from evenhand.store.runfile import RunFile
from evenhand.wings.judge_checks.attacks import FEWEST_WORDS

LOOKED_AT = 10
"""For each item that is wanted, so many trials are read at most to find one with an answer of its own."""

QUERY = "decision"
"""What trigger tests keep beside their verdict, and no other expectation of ours does."""

OF_SEVERAL = ("select-best", "max-score", "conversation-relevance")
"""What the names of outcomes begin with that are of the answers of several trials, or of a whole conversation."""

Labels = Mapping[tuple[int, str], Mapping[str, MetricLabel]]


class ProbeItem(Record, frozen=True):
    """One trial of the run, whose judge is asked again about another text.

    Attributes:
        index: The trial's place in the run's plan.
        names: The names of its judged expectations under the metric.
        answer: The answer that stands for its own; None for its own.
    """

    index: int
    names: frozenset[str]
    answer: str | None = None


class ProbeItems(Record, frozen=True):
    """The items for one judge.

    Attributes:
        bad: With answers that should fail.
        good: With answers that should pass.
        long: Those of the good ones that are long enough to be truncated.
        any: Trials whose answers don't matter.
    """

    bad: Sequence[ProbeItem]
    good: Sequence[ProbeItem]
    long: Sequence[ProbeItem]
    any: Sequence[ProbeItem]

    def places(self) -> set[int]:
        """The places of their trials in the run's plan."""
        return {item.index for item in (*self.bad, *self.good, *self.long, *self.any)}


def items_of(run: RunFile, judge: JudgedMetric, count: int, seed: int) -> ProbeItems:
    """Chooses the items for one judge.

    Args:
        count: How many of each sort, at most.
        seed: Their order follows from it.
    """
    labels = standing_labels(run.metric_labels())
    order = sorted(judge.items, key=lambda item: digest(str(seed), judge.metric, str(item.index)))
    chooser = _Chooser(run, judge, count)
    passing = [item for item in order if item.passed and not _labelled(item, judge, labels, "fail")]
    failing = [
        item for item in order if not item.passed and not _labelled(item, judge, labels, "pass")
    ]
    bad = chooser.items(failing)
    if len(bad) < count:
        bad += _of_others(chooser, order, passing, count - len(bad))
    good = chooser.items(passing)
    long = chooser.items(passing, lambda trial: len(_text(trial).split()) >= FEWEST_WORDS)
    return ProbeItems(bad, good, long, chooser.items(order))


class _Chooser:
    """Reads trials, and takes those with answers of their own first."""

    def __init__(self, run: RunFile, judge: JudgedMetric, count: int) -> None:
        self._run, self._judge, self._count = run, judge, count

    def trials(
        self, order: Sequence[Item], fits: Callable[[TrialResult], bool] | None = None
    ) -> list[TrialResult]:
        """Trials with an output, as many as are wanted."""
        own: list[TrialResult] = []
        others: list[TrialResult] = []
        answers: set[str] = set()
        for trial in self._read(order[: self._count * LOOKED_AT]):
            if trial.output is None or not self._of_answers(trial):
                continue
            if fits is not None and not fits(trial):
                continue
            text = _text(trial)
            # Equal answers under one attack would be one question, asked several times.
            (others if text in answers else own).append(trial)
            answers.add(text)
            if len(own) == self._count:
                break
        return [*own, *others][: self._count]

    def items(
        self, order: Sequence[Item], fits: Callable[[TrialResult], bool] | None = None
    ) -> list[ProbeItem]:
        """Items of trials with an output, as many as are wanted."""
        return [self.item(trial) for trial in self.trials(order, fits)]

    def item(self, trial: TrialResult, answer: str | None = None) -> ProbeItem:
        """An item of this trial."""
        names = frozenset(outcome.name for outcome in self._judged(trial))
        return ProbeItem(trial.index, names, answer)

    def _judged(self, trial: TrialResult) -> list[Outcome]:
        key = self._judge.metric, self._judge.model
        return [o for o in with_parts(trial.outcomes) if (metric_of(o), judge_of(o)) == key]

    def _of_answers(self, trial: TrialResult) -> bool:
        """Whether an answer was judged by itself: not a query, and not beside those of other trials."""
        return not any(
            QUERY in outcome.metadata or outcome.name.startswith(OF_SEVERAL)
            for outcome in self._judged(trial)
        )

    def _read(self, order: Sequence[Item]) -> Iterator[TrialResult]:
        return self._run.at(item.index for item in order)


def _of_others(
    chooser: _Chooser, order: Sequence[Item], passing: Sequence[Item], count: int
) -> list[ProbeItem]:
    """Items whose answer is a right one of another case; none where all cases have the same answers."""
    donors = chooser.trials(passing)
    items: list[ProbeItem] = []
    for place, trial in enumerate(chooser.trials(order)):
        own = _text(trial)
        # Each takes from another place on, so that not all have the same wrong answer.
        turned = donors[place % len(donors) :] + donors[: place % len(donors)] if donors else []
        for donor in turned:
            if donor.case != trial.case and _text(donor) != own:
                items.append(chooser.item(trial, _text(donor)))
                break
        if len(items) == count:
            break
    return items


def _labelled(item: Item, judge: JudgedMetric, labels: Labels, verdict: str) -> bool:
    """Whether some person gave it this verdict."""
    people = labels.get((item.index, judge.metric), {})
    return any(label.verdict == verdict for label in people.values())


def _text(trial: TrialResult) -> str:
    return value_text(trial.output)
