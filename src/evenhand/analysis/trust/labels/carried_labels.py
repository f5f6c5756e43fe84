"""Labels of an earlier run that count for a later one, too: those of the same outputs to the same questions.

How this works: a label says of one output whether it meets a criterion. It is carried over only if the later run has
the same output of the same case, judged by the same criterion. What a case belongs to, its tags and its metadata may
have changed. The draw is carried over as well if it would be a random draw of the later run: if every judged output
has its counterpart, and every label was carried over. Labels without it wait for a draw, and count if that has them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from evenhand.analysis.trust.judgements.judged import (
    criteria_of,
    instrument_of,
    judge_of,
    metric_of,
)
from evenhand.analysis.trust.labels.carried_preferences import (
    CarriedPreferences,
    carry_preferences,
    countable_preferences,
)
from evenhand.analysis.trust.labels.drawing import DrawnItem, draws_to_label, judged_metrics
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.score import with_parts
from evenhand.core.variant import Variant, identity
from evenhand.core.wording.spreadsheet_cells import as_text
from evenhand.core.wording.words import count, safe, short_id
from evenhand.store.labels.draw import Draw, LabelledVerdict, MetricLabel
from evenhand.store.labels.label import NewLabel, standing
from evenhand.store.labels.stored_draws import (
    add_draw,
    add_metric_labels,
    set_rule,
    standing_labels,
)
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile

REMARKS = ("score", "note", "code")
"""What people say of a labelled output beside their verdict."""


class CarriedLabels(Record, frozen=True, kw_only=True):
    """What of a run's labels counts for another run.

    Attributes:
        labels: Those that do, each with its place in the other run.
        different: How many do not, as the output, its question or the criterion is another one there.
        draws: The draws that they are of, as the other run has them; empty where it would be no random draw there.
        places: The labelled trials' places in the other run, by those in this one.
        preferences: What counts of its labelled pairs.
    """

    labels: Sequence[MetricLabel]
    different: int
    draws: Sequence[Draw]
    places: Mapping[int, int]
    preferences: CarriedPreferences = CarriedPreferences()

    @property
    def counts(self) -> bool:
        """Whether any label was carried over with its draw."""
        return bool((self.labels and self.draws) or self.preferences.draws)


def countable(old: RunFile, new: RunFile, metrics: Collection[str] = ()) -> CarriedLabels:
    """The labels of a run that count for another one; nothing is written.

    Args:
        metrics: Only labels of these; of all where there are none.
    """
    pairs = dict(_counterparts(old, new))
    labels: list[MetricLabel] = []
    places: dict[int, int] = {}
    different = 0
    for (index, metric), by_author in standing_labels(old.metric_labels()).items():
        if metrics and metric not in metrics:
            continue
        place = pairs.get(index)
        if place is None or not _is_same(old, index, new, place, metric):
            different += len(by_author)
            continue
        places[index] = place
        labels += [replace(label, index=place) for label in by_author.values()]
    draws = [] if different or new.draws() else _draws(old, new, pairs, metrics)
    preferences = countable_preferences(
        old, new, pairs, lambda one, other: _same_answer(old, one, new, other), metrics
    )
    return CarriedLabels(
        labels=labels,
        different=different + preferences.different,
        draws=draws,
        places=places,
        preferences=preferences,
    )


def carry_labels(old: RunFile, new: RunFile, metrics: Collection[str] = ()) -> CarriedLabels:
    """Writes the labels of a run that count for another one into that, with their authors and times.

    What their authors have said of it there stays.

    Raises:
        UsageError: There are none, or it is labelled by another rule.
        StoreError: The file cannot be written.
    """
    if old.meta.id == new.meta.id:
        raise UsageError(
            f"run {short_id(new.meta.id)} has these labels already", hint="Name an earlier run."
        )
    which = countable(old, new, metrics)
    preferences = which.preferences
    if not which.labels and not preferences.labels:
        name = short_id(old.meta.id)
        why = "the outputs, their questions or the criteria are different"
        raise UsageError(
            f"{count(which.different, 'label')} of run {name}, and none is carried over: {why}"
            if which.different
            else f"run {name} has no labels to carry over"
        )
    _check_rules(old, new, {label.metric for label in (*which.labels, *preferences.labels)})
    there = standing_labels(new.metric_labels())
    fresh = [
        one for one in which.labels if one.author not in there.get((one.index, one.metric), {})
    ]
    for author, at in dict.fromkeys((one.author, one.at) for one in fresh):
        rows: list[tuple[int, str, LabelledVerdict | None]] = [
            (o.index, o.metric, o.verdict) for o in fresh if (o.author, o.at) == (author, at)
        ]
        add_metric_labels(new.path, author, rows, at=at)
    append_labels(new.path, list(_remarks(old, new, which.places)))
    for one in which.draws:
        add_draw(
            new.path,
            one.seed,
            one.metrics,
            one.population,
            one.places,
            design=one.design,
            by=one.by,
            strata=one.strata,
        )
    carry_preferences(new, preferences)
    return which


def _counterparts(old: RunFile, new: RunFile) -> Iterator[tuple[int, int]]:
    """The trials of both that are of the same case: by its id, or by what was asked where it has another one."""
    variants = _same_variants(old.meta.variants, new.meta.variants)
    by_id: dict[tuple[str, int, int], int] = {}
    by_question: dict[str, list[int]] = {}
    for trial in new.trials():
        by_id[trial.case, trial.variant, trial.repeat] = trial.index
        by_question.setdefault(_question(trial, trial.variant), []).append(trial.index)
    frequency = Counter(_question(one, variants.get(one.variant, -1)) for one in old.trials())
    for trial in old.trials():
        variant = variants.get(trial.variant)
        if variant is None:
            continue
        place = by_id.get((trial.case, variant, trial.repeat))
        question = _question(trial, variant)
        if place is None and question and frequency[question] == 1:
            (place, *others) = by_question.get(question) or [None]
            place = None if others else place
        if place is not None:
            yield trial.index, place


def _same_variants(old: Sequence[Variant], new: Sequence[Variant]) -> dict[int, int]:
    if len(old) == len(new) == 1:
        return {old[0].index: new[0].index}
    known = {(one.eval, identity(one)): one.index for one in new}
    return {one.index: known[key] for one in old if (key := (one.eval, identity(one))) in known}


def _question(trial: TrialResult, variant: int) -> str:
    """A digest of what a trial was asked; empty where nothing but its variables may say so."""
    if trial.input is None and not trial.prompt:
        return ""
    return digest(encode([variant, trial.repeat, trial.input, trial.expected, trial.prompt]))


def _is_same(old: RunFile, index: int, new: RunFile, place: int, metric: str) -> bool:
    """Whether a label says the same of a trial as of its counterpart."""
    one, other = old.trial(index), new.trial(place)
    if one is None or other is None or metric not in judged_metrics(other):
        return False
    return (
        _same_question(one, other)
        and _criteria(one, metric) == _criteria(other, metric)
        and DrawnItem.of(old, one, metric).output == DrawnItem.of(new, other, metric).output
    )


def _same_answer(old: RunFile, index: int, new: RunFile, place: int) -> bool:
    """Whether a trial and its counterpart have the same output to the same question."""
    one, other = old.trial(index), new.trial(place)
    if one is None or other is None:
        return False
    return _same_question(one, other) and as_text(one.output) == as_text(other.output)


def _same_question(one: TrialResult, other: TrialResult) -> bool:
    return (
        (one.input, one.expected, one.prompt) == (other.input, other.expected, other.prompt)
        # A key that was added says what the case belongs to.
        and all(name in other.vars and other.vars[name] == v for name, v in one.vars.items())
        and one.content.get("context") == other.content.get("context")
    )


def _criteria(trial: TrialResult, metric: str) -> list[tuple[str, str]]:
    return sorted(
        (criteria_of(outcome), instrument_of(outcome))
        for outcome in with_parts(trial.outcomes)
        if judge_of(outcome) and metric_of(outcome) == metric
    )


def _draws(
    old: RunFile, new: RunFile, pairs: Mapping[int, int], metrics: Collection[str]
) -> list[Draw]:
    """The draws as the other run has them; none where it has other judged outputs to draw from."""
    judged = {trial.index: judged_metrics(trial) for trial in old.trials()}
    theirs = {trial.index: judged_metrics(trial) for trial in new.trials()}
    draws: list[Draw] = []
    for draw in draws_to_label(old, tuple(metrics)):
        names = [one for one in draw.metrics if not metrics or one in metrics]
        mine = [pairs.get(i) for i, every in judged.items() if any(one in every for one in names)]
        population = {i for i, every in theirs.items() if any(one in every for one in names)}
        if len(mine) != len(population) or set(mine) != population:
            # How likely an output was to be drawn follows from all draws together.
            return []
        strata = [
            replace(s, places=tuple(pairs[i] for i in s.places if i in pairs)) for s in draw.strata
        ]
        places = tuple(pairs[i] for i in draw.places)
        draws.append(replace(draw, metrics=tuple(names), places=places, strata=tuple(strata)))
    return draws


def _check_rules(old: RunFile, new: RunFile, metrics: Collection[str]) -> None:
    """Has people judge by the same rule in both.

    Raises:
        UsageError: The other run has another one.
    """
    before, now = old.rules(), new.rules()
    for metric in sorted(metrics):
        rule = before.get(metric, "")
        if metric in now and now[metric] != rule:
            raise UsageError(
                f"the labels of {safe(metric)} were given by another rule: {safe(rule) or 'none'}",
                hint="Labels count for the rule by which they were given.",
            )
    for metric in sorted(metrics & before.keys()):
        set_rule(new.path, metric, before[metric])


def _remarks(old: RunFile, new: RunFile, places: Mapping[int, int]) -> Iterator[NewLabel]:
    """What people said of the labelled outputs beside their verdicts, and haven't in the other run."""
    there = standing(new.labels())
    for index, labels in standing(old.labels()).items():
        place = places.get(index)
        if place is None:
            continue
        known = {(one.author, one.field) for one in there.get(place, ())}
        for one in labels:
            if one.field in REMARKS and (one.author, one.field) not in known:
                yield NewLabel(place, one.field, one.value, one.author, one.blind)
