"""All that people said of a run's trials, and where a judge agrees, or is more lenient or stricter than they are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Literal

from evenhand.analysis.summaries.column_names import column_names
from evenhand.analysis.trust.judgements.judged import judge_of, judgements, metric_of
from evenhand.core.document import Key
from evenhand.core.record import Record
from evenhand.core.score import State, with_parts
from evenhand.store.labels.label import Label, LabelValue
from evenhand.store.runfile import RunFile

BesidePeople = Literal["agrees", "lenient", "strict"]
"""agrees: both pass it, or both fail it · lenient: the judge passes what people fail · strict: the judge fails what
people pass."""


class JudgedVerdict(Record, frozen=True, kw_only=True):
    """What the judges of a metric said of one trial."""

    index: Annotated[int, Key("The trial's place in the plan.")]
    metric: str
    passed: Annotated[
        Sequence[bool], Key("Whether they pass it; both values where several judges differ.")
    ]
    reason: Annotated[str, Key("Theirs, a line for each; empty where none was given.")]


def judged_verdicts(run: RunFile, places: Collection[int]) -> list[JudgedVerdict]:
    """What judges said of some trials of a run, in the plan's order; empty where no judge was asked.

    The verdicts are those that `evenhand calibrate` counts.

    Args:
        run: The run. Only the named trials are read.

    Raises:
        StoreError: The run cannot be read.
    """
    if not places:
        return []
    chosen = run.only(sorted(places), "", by_outcome=True)
    passed: dict[tuple[int, str], list[bool]] = {}
    for (metric, _), judge in judgements(chosen, verdicts_only=True).metrics.items():
        for item in judge.items:
            passed.setdefault((item.index, metric), []).append(item.passed)
    reasons: dict[tuple[int, str], list[str]] = {}
    for trial in chosen.trials():
        for outcome in with_parts(trial.outcomes):
            if outcome.reason and judge_of(outcome):
                reasons.setdefault((trial.index, metric_of(outcome)), []).append(outcome.reason)
    return [
        JudgedVerdict(
            index=index,
            metric=metric,
            passed=sorted(set(verdicts), reverse=True),
            reason="\n".join(reasons.get((index, metric), ())),
        )
        for (index, metric), verdicts in sorted(passed.items())
    ]


def labelled_places(labels: Mapping[int, Sequence[Label]]) -> list[int]:
    """The places of trials with a verdict of people's on a judged metric."""
    return [
        place
        for place, of_trial in labels.items()
        if any(label.field == "verdict" and label.metric for label in of_trial)
    ]


def beside_people(
    outcome: State, labels: Sequence[Label], judged: Mapping[str, Sequence[bool]]
) -> Iterator[tuple[str, BesidePeople]]:
    """How the verdicts on a trial stand beside people's, by metric; the metric "" is the trial as a whole.

    People's verdict is that of most of them. Where they are split there is none, as in `evenhand calibrate`.

    Args:
        labels: What people say of it, as `store.labels.label.standing` gives it.
        judged: By metric whether its judges pass the trial.
    """
    people: dict[str, list[bool]] = {}
    for label in labels:
        if label.field == "verdict":
            people.setdefault(label.metric, []).append(label.value == "pass")
    whole = {"": (outcome == "pass",)} if outcome in ("pass", "fail") else {}
    for metric, verdicts in people.items():
        if 2 * sum(verdicts) == len(verdicts):
            continue
        passed = 2 * sum(verdicts) > len(verdicts)
        for judge in (whole if metric == "" else judged).get(metric, ()):
            yield metric, "agrees" if judge is passed else "lenient" if judge else "strict"


_OF_METRICS, _OF_PAIRS = -(2**40), -(2**41)
"""Where the `seq` of those begin that are kept in tables of their own: below all labels of trials."""


def every_label(run: RunFile) -> list[Label]:
    """What people said of trials, each an event; see `store.labels.label.standing`.

    A verdict on a judged metric has the metric's name. A preference between two trials is a label of each of them.
    """
    return [*_of_pairs(run), *_of_metrics(run), *run.labels()]


def _of_metrics(run: RunFile) -> Iterator[Label]:
    for number, one in enumerate(run.metric_labels(), _OF_METRICS):
        yield Label(
            number, one.at, one.author, one.index, "verdict", one.verdict, metric=one.metric
        )


def _of_pairs(run: RunFile) -> Iterator[Label]:
    names = column_names(run.meta.variants)

    @cache
    def called(index: int) -> str:
        """The other output of a pair, which is of the same case: by its variant, and its repeat."""
        trial = run.trial(index)
        if trial is None:
            return "another output"
        return names[trial.variant] + (
            f", repeat {trial.repeat + 1}" if run.meta.repeats > 1 else ""
        )

    for number, one in enumerate(run.pair_labels()):
        for second, index in enumerate(one.pair):
            value: LabelValue = None
            if one.answer is not None:
                better = one.answer == ("second" if second else "first")
                word = (
                    "tied with"
                    if one.answer == "tie"
                    else "better than"
                    if better
                    else "worse than"
                )
                value = f"{word} {called(one.pair[not second])}"
            seq = _OF_PAIRS + 2 * number + second
            yield Label(seq, one.at, one.author, index, "preference", value, metric=one.metric)
