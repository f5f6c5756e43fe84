"""The share of outputs that people would give a kind, from their codes of a draw and a judge's of all outputs.

How this works: an output on which the judge gave no verdict is of a stratum of its own, so that people's codes alone
speak for it, whatever made the judge silent. A failure that people read and haven't coded yet may have a kind or not:
the interval reaches from what the share is if none of them has it to what it is if all of them do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from evenhand.analysis.filters.vocabulary import tags_of
from evenhand.analysis.reviews.drawing import stratum_of, weights_of
from evenhand.analysis.reviews.reviewed import Review, reviews_of
from evenhand.core.record import Record
from evenhand.languages.documents.failures_yml import Codebook, Kind, NoteId
from evenhand.stats.correction import Estimate, Verdicts
from evenhand.stats.kind_shares import kind_share
from evenhand.store.runfile import RunFile

PeoplesCode = Callable[[Review], bool | None]
"""Whether people say that a reviewed output has something; None where they haven't said."""
Marks = Mapping[NoteId, bool]
"""Whether a judge says so, by output; without what it gave no verdict on."""


class RunOutputs(Record, frozen=True, kw_only=True):
    """The outputs of one run, as far as they can be counted.

    Attributes:
        places: All of them: those with an output.
        tags: The tags of those that have any.
        failing: Those that the run's own expectations failed.
        reviews: What people say, by place; only of drawn outputs.
        weights: For how many outputs each reviewed one stands.
    """

    run: RunFile
    places: Sequence[int]
    variants: Mapping[int, int]
    cases: Mapping[int, str]
    tags: Mapping[int, frozenset[str]]
    failing: frozenset[int]
    reviews: Mapping[int, Review]
    weights: Mapping[int, float]

    def note(self, place: int) -> NoteId:
        """The name of an output."""
        return NoteId(self.run.meta.id, place)


Within = Callable[[RunOutputs, int], bool]
"""Whether an output is of the part of the runs that a share is of."""


def outputs_of(run: RunFile) -> RunOutputs:
    """The outputs of a run."""
    variants: dict[int, int] = {}
    cases: dict[int, str] = {}
    tags: dict[int, frozenset[str]] = {}
    failing: set[int] = set()
    for trial in run.trials():
        if trial.output is None:
            continue
        variants[trial.index] = trial.variant
        cases[trial.index] = trial.case
        if own := tags_of(trial):
            tags[trial.index] = frozenset(own)
        if trial.outcome == "fail":
            failing.add(trial.index)
    # A trial that was asked again may have no output by now.
    reviews = {one.note.index: one for one in reviews_of(run) if one.note.index in variants}
    weights = weights_of(run, reviews)
    return RunOutputs(
        run=run,
        places=list(variants),
        variants=variants,
        cases=cases,
        tags=tags,
        failing=frozenset(failing),
        reviews={place: one for place, one in reviews.items() if place in weights},
        weights=weights,
    )


def peoples_code(book: Codebook, kind: Kind) -> PeoplesCode:
    """What people say of outputs under a kind.

    An output has it where the kind lists its note. What passes has none. A failure that is listed nowhere isn't coded
    yet; nor is any under a kind that lists no note at all, as it may be newer than the codes.
    """
    notes, coded = set(kind.notes), book.coded

    def code(review: Review) -> bool | None:
        if review.note in notes:
            return True
        if not review.failed:
            return False
        return False if notes and review.note in coded else None

    return code


def share_of(
    outputs: Sequence[RunOutputs],
    code: PeoplesCode,
    marks: Marks | None = None,
    within: Within = lambda _, __: True,
) -> Estimate | None:
    """The share of outputs that people would find to have something, from 0 to 1, with its interval.

    Args:
        outputs: The runs' outputs. Without a judge, those of a run that nobody has reviewed are left out.
        code: What people say of reviewed ones.
        marks: What a judge says of all of them; None where none was asked.

    Returns:
        None where nothing is reviewed, or nothing is coded and no judge was asked.
    """
    marks = marks or {}
    # Of a run that nobody has read and no judge has coded nothing is known: it need not be like another one.
    outputs = [one for one in outputs if one.reviews or marks]
    least = kind_share(list(_strata(outputs, code, marks, within, otherwise=False)))
    most = kind_share(list(_strata(outputs, code, marks, within, otherwise=True)))
    if least is None or most is None:
        return None
    failures = [
        (code(review), marks.get(review.note))
        for one in outputs
        for place, review in one.reviews.items()
        if review.failed and within(one, place)
    ]
    uncoded = [mark for has, mark in failures if has is None]
    if not uncoded:
        return least
    # Of those, about as many have it as the judge says, or as have it of the failures that people coded.
    guesses = [mark for mark in uncoded if mark is not None] or [
        has for has, _ in failures if has is not None
    ]
    if not guesses:
        return None
    likely = least.value + sum(guesses) / len(guesses) * (most.value - least.value)
    return Estimate(likely, least.low, most.high)


def _strata(
    outputs: Sequence[RunOutputs],
    code: PeoplesCode,
    marks: Marks,
    within: Within,
    *,
    otherwise: bool,
) -> Iterator[Verdicts]:
    """The codes of each stratum, as verdicts: an output passes that doesn't have the kind."""
    for one in outputs:
        stratum = stratum_of(one.run)
        groups: dict[tuple[tuple[int, ...], bool], list[int]] = {}
        for place in one.places:
            if within(one, place):
                groups.setdefault((stratum(place), one.note(place) in marks), []).append(place)
        for _, places in sorted(groups.items()):
            free = {place: not marks.get(one.note(place), False) for place in places}
            pairs: Counter[tuple[bool, bool]] = Counter()
            for place in places:
                if place in one.reviews:
                    has = code(one.reviews[place])
                    pairs[not (otherwise if has is None else has), free[place]] += 1
            yield Verdicts(
                both_pass=pairs[True, True],
                missed=pairs[True, False],
                excused=pairs[False, True],
                both_fail=pairs[False, False],
                passed=sum(free.values()),
                items=len(places),
            )
