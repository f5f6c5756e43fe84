"""How many outputs have each kind of failure: people's codes of a draw, and a judge's of all outputs, put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from evenhand.analysis.summaries.column_names import column_names
from evenhand.core.document import Key, as_object, filled
from evenhand.core.record import Record
from evenhand.core.wording.words import clip, count, interval, percent, safe
from evenhand.languages.documents.codebook import Codebook, Kind, NoteId
from evenhand.stats.correction import Estimate, Verdicts
from evenhand.stats.kind_shares import kind_share
from evenhand.stats.saturation import named_share
from evenhand.stats.weighted import weighted_share
from evenhand.store.runfile import RunFile
from evenhand.wings.failures.changes import KindChange, change_lines, kind_changes
from evenhand.wings.failures.coding import Codes
from evenhand.wings.failures.drawing import stratum_of, weights_of
from evenhand.wings.failures.reviews import Review, reviews_of

SCHEMA = "evenhand.failures/1"
LISTED = 10
WIDTH = 80
FEW = 30
"""With fewer reviewed outputs, it is said that they are few."""


class KindsShare(Record, frozen=True, kw_only=True):
    """What `evenhand.failures/1` says of a share."""

    value: Annotated[float, Key("from 0 to 1", "share")]
    low: Annotated[float, Key("the lower end of its 95 % interval", "share")]
    high: Annotated[float, Key("the upper end", "share")]


class VariantShare(Record, frozen=True, kw_only=True):
    """What `evenhand.failures/1` says of a kind in a variant."""

    run: Annotated[str, Key("the run's id")]
    variant: Annotated[str, Key("the variant's name; empty for the only one")]
    share: Annotated[KindsShare | None, Key("of its outputs", null="none of them is reviewed")]


class KindCount(Record, frozen=True, kw_only=True):
    """What `evenhand.failures/1` says of a kind."""

    name: Annotated[str, Key("the kind")]
    rule: Annotated[str, Key("when an output has it")]
    ratified: Annotated[bool, Key("whether a person accepted it as it is")]
    people: Annotated[int, Key("reviewed outputs that people gave it", "outputs")]
    judge: Annotated[
        int | None, Key("outputs that the judge gave it", "outputs", null="no judge was asked")
    ]
    judged: Annotated[int, Key("outputs that the judge gave a verdict on", "outputs")]
    share: Annotated[
        KindsShare | None,
        Key("of all outputs, as people would code them", null="nothing is reviewed"),
    ]
    variants: Annotated[
        list[VariantShare], Key("the same of each variant, where there are several")
    ]


class FailuresDocument(Record, frozen=True, kw_only=True):
    """What `evenhand review count --json` prints."""

    schema: Annotated[str, Key("`evenhand.failures/1`")]
    runs: Annotated[list[str], Key("the runs' ids")]
    outputs: Annotated[int, Key("outputs that could be drawn", "outputs")]
    reviewed: Annotated[int, Key("drawn outputs that people reviewed", "outputs")]
    failed: Annotated[
        KindsShare | None,
        Key("of all outputs, those that people say fail", null="nothing is reviewed"),
    ]
    covered: Annotated[
        KindsShare | None,
        Key("of all failures, those that a named kind covers", null="nothing failed"),
    ]
    without_kind: Annotated[
        list[str],
        Key("outputs that failed and have no kind: those that people reviewed come first"),
    ]
    kinds: Annotated[list[KindCount], Key("the kinds, the most frequent first")]
    changes: Annotated[
        list[KindChange],
        Key(
            "of several runs that a judge coded, what changed from the last run but one to the last"
        ),
    ]


class _Outputs(Record, frozen=True, kw_only=True):
    """The outputs of one run, as far as they can be counted.

    Attributes:
        run: The run.
        places: All of them: those with an output.
        variants: The variant of each.
        failing: Those that the run's own expectations failed.
        reviews: What people say, by place; only of drawn outputs.
        weights: For how many outputs each reviewed one stands.
    """

    run: RunFile
    places: Sequence[int]
    variants: Mapping[int, int]
    failing: frozenset[int]
    reviews: Mapping[int, Review]
    weights: Mapping[int, float]


def counted(
    runs: Sequence[RunFile], book: Codebook, codes: Codes | None = None
) -> FailuresDocument:
    """Counts the kinds of failure.

    An output has a kind where its note is listed in the codebook; a reviewed output that no kind lists has none.

    Args:
        runs: The runs that were reviewed.
        book: The kinds.
        codes: What a judge says of all outputs; None where none was asked. Then the shares are people's alone.
    """
    outputs = [_outputs(run) for run in runs]
    labelled = [
        (one.weights[place], review) for one in outputs for place, review in one.reviews.items()
    ]
    failures = [(w, book.kinds_of(r.note)) for w, r in labelled if r.failed]
    kinds = [_kind(kind, outputs, codes) for kind in book.kinds]
    in_time = sorted(runs, key=lambda run: run.meta.created_at)
    return FailuresDocument(
        schema=SCHEMA,
        runs=[run.meta.id for run in in_time],
        outputs=sum(len(one.places) for one in outputs),
        reviewed=len(labelled),
        failed=_as_share(weighted_share([(w, r.failed) for w, r in labelled])),
        covered=_as_share(named_share(failures)),
        without_kind=[str(note) for note in _without_kind(outputs, book, codes)],
        kinds=sorted(kinds, key=lambda one: (-(one.share.value if one.share else 0.0), one.name)),
        changes=kind_changes(in_time, book, codes or {}),
    )


def stray_notes(runs: Sequence[RunFile], book: Codebook) -> list[NoteId]:
    """The notes that a codebook lists and nobody wrote in these runs: they count for nothing."""
    reviewed = {one.note for run in runs for one in reviews_of(run)}
    notes = dict.fromkeys(note for kind in book.kinds for note in kind.notes)
    return [note for note in notes if note not in reviewed]


def failures_document(document: FailuresDocument) -> dict[str, object]:
    """As JSON: `evenhand.failures/1`."""
    return as_object(document)


def count_lines(document: FailuresDocument) -> Iterator[str]:
    """What a count came to, in words: outputs without a kind, what the kinds cover, and each kind's share."""
    few = ", too few to say much" if document.reviewed < FEW else ""
    yield f"{document.reviewed:,} of {count(document.outputs, 'output')} reviewed{few}"
    if document.failed is not None:
        yield f"failed, as people say: {_words(document.failed)}"
    if document.without_kind:
        rest = len(document.without_kind) - LISTED
        more = f" and {rest:,} more" if rest > 0 else ""
        first = ", ".join(document.without_kind[:LISTED])
        yield f"{count(len(document.without_kind), 'failure')} without a kind: {first}{more}"
    if document.covered is not None:
        yield f"named kinds cover an estimated {_words(document.covered)} of failures"
    width = max((len(safe(one.name)) for one in document.kinds), default=0)
    for one in document.kinds:
        # Reviewed outputs that the judge gave no verdict on correct nothing.
        unknown = (
            "share not known: no reviewed output has a verdict"
            if one.judge is not None
            else "nobody reviewed anything"
        )
        share = unknown if one.share is None else _words(one.share)
        judge = "" if one.judge is None else f", the judge {one.judge:,} of {one.judged:,}"
        open_ = "" if one.ratified else "  (not ratified)"
        yield f"  {safe(one.name):<{width}}  {share}  people {one.people:,}{judge}{open_}"
        for each in one.variants:
            value = "none of its outputs is reviewed" if each.share is None else _words(each.share)
            name = clip(safe(each.variant) or each.run, WIDTH)
            yield f"  {'':<{width}}    {name}: {value}"
    yield from change_lines(document.runs, document.changes)


def _outputs(run: RunFile) -> _Outputs:
    variants: dict[int, int] = {}
    failing: set[int] = set()
    for trial in run.trials():
        if trial.output is None:
            continue
        variants[trial.index] = trial.variant
        if trial.outcome == "fail":
            failing.add(trial.index)
    reviews = {one.note.index: one for one in reviews_of(run)}
    weights = weights_of(run, reviews)
    return _Outputs(
        run=run,
        places=list(variants),
        variants=variants,
        failing=frozenset(failing),
        reviews={place: one for place, one in reviews.items() if place in weights},
        weights=weights,
    )


def _kind(kind: Kind, outputs: Sequence[_Outputs], codes: Codes | None) -> KindCount:
    notes = set(kind.notes)
    marks = {note: has[kind.name] for note, has in (codes or {}).items() if kind.name in has}
    own = marks if codes is not None and kind.is_ratified else None
    people = sum(r.note in notes for one in outputs for r in one.reviews.values())
    columns = [(one, variant) for one in outputs for variant in range(len(one.run.meta.variants))]
    return KindCount(
        name=kind.name,
        rule=kind.rule,
        ratified=kind.is_ratified,
        people=people,
        judge=None if own is None else sum(own.values()),
        judged=len(marks),
        share=_as_share(_share(outputs, notes, own, None)),
        variants=[
            VariantShare(
                run=one.run.meta.id,
                variant=column_names(one.run.meta.variants)[variant],
                share=_as_share(_share([one], notes, own, variant)),
            )
            for one, variant in columns
        ]
        if len(columns) > 1
        else [],
    )


def _share(
    outputs: Sequence[_Outputs],
    notes: set[NoteId],
    marks: Mapping[NoteId, bool] | None,
    variant: int | None,
) -> Estimate | None:
    """The share of all outputs, or of a variant's, that people would give a kind."""
    if marks is None:
        return weighted_share(
            [
                (one.weights[place], review.note in notes)
                for one in outputs
                for place, review in one.reviews.items()
                if variant is None or review.variant == variant
            ]
        )
    strata: list[Verdicts] = []
    for one in outputs:
        stratum = stratum_of(one.run)
        groups: dict[tuple[int, ...], list[int]] = {}
        for place in one.places:
            coded = NoteId(one.run.meta.id, place) in marks
            if coded and (variant is None or one.variants[place] == variant):
                groups.setdefault(stratum(place), []).append(place)
        for _, places in sorted(groups.items()):
            strata.append(_verdicts(one, places, notes, marks))
    return kind_share(strata)


def _verdicts(
    outputs: _Outputs, places: Sequence[int], notes: set[NoteId], marks: Mapping[NoteId, bool]
) -> Verdicts:
    """A stratum's codes, as verdicts: an output passes that doesn't have the kind."""
    run = outputs.run.meta.id
    free = {place: not marks[NoteId(run, place)] for place in places}
    pairs = Counter(
        (NoteId(run, place) not in notes, free[place])
        for place in places
        if place in outputs.reviews
    )
    return Verdicts(
        both_pass=pairs[True, True],
        missed=pairs[True, False],
        excused=pairs[False, True],
        both_fail=pairs[False, False],
        passed=sum(free.values()),
        items=len(places),
    )


def _without_kind(
    outputs: Sequence[_Outputs], book: Codebook, codes: Codes | None
) -> Iterator[NoteId]:
    """Failures without a kind: those that people say fail, then those of the evals that the judge has no kind for."""
    for one in outputs:
        for review in one.reviews.values():
            if review.failed and not book.kinds_of(review.note):
                yield review.note
    ratified = {kind.name for kind in book.kinds if kind.is_ratified}
    for one in outputs:
        for place in sorted(one.failing - one.reviews.keys()):
            marks = (codes or {}).get(NoteId(one.run.meta.id, place))
            # Where a verdict is missing, whether a kind fits isn't known.
            if marks is not None and ratified <= marks.keys() and not any(marks.values()):
                yield NoteId(one.run.meta.id, place)


def _as_share(estimate: Estimate | None) -> KindsShare | None:
    return estimate and filled(KindsShare, estimate)


def _words(share: KindsShare) -> str:
    return f"{percent(share.value)} [{interval(share.low, share.high)}]"
