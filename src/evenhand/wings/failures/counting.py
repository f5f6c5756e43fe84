"""How many outputs have each kind of failure: people's codes of a draw, and a judge's of all outputs, put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from evenhand.analysis.reviews.reviewed import Review, reviews_of
from evenhand.analysis.summaries.column_names import column_names
from evenhand.analysis.summaries.share_rows import EstimatedShare, percent_within
from evenhand.core.document import Key, filled
from evenhand.core.record import Record
from evenhand.core.wording.words import clip, count, safe, short_id
from evenhand.languages.documents.failures_yml import Codebook, Kind, NoteId
from evenhand.stats.correction import Estimate
from evenhand.stats.kind_shares import named_share
from evenhand.store.runfile import RunFile
from evenhand.wings.failures.changes import (
    FEW,
    Codes,
    KindChange,
    KindMove,
    change_lines,
    kind_changes,
    kind_moves,
)
from evenhand.wings.failures.shares import RunOutputs, Within, outputs_of, peoples_code, share_of

SCHEMA = "evenhand.failures/1"
LISTED = 10
WIDTH = 80
_NOT_KNOWN = "share unknown: none of its failures is coded, or nothing is reviewed"


class VariantShare(Record, frozen=True, kw_only=True):
    """What `evenhand.failures/1` says of a kind in a variant."""

    run: Annotated[str, Key("the run's id")]
    variant: Annotated[str, Key("the variant's name; empty for the only one")]
    share: Annotated[
        EstimatedShare | None,
        Key("of its outputs", null="nothing is reviewed, or no failure is coded"),
    ]


class TagShare(Record, frozen=True, kw_only=True):
    """What `evenhand.failures/1` says of a kind in the cases of a tag."""

    tag: Annotated[str, Key("the tag")]
    share: Annotated[
        EstimatedShare | None,
        Key("of its outputs", null="nothing is reviewed, or no failure is coded"),
    ]


class KindCount(Record, frozen=True, kw_only=True):
    """What `evenhand.failures/1` says of a kind."""

    name: Annotated[str, Key("the kind")]
    rule: Annotated[str, Key("when an output has it")]
    ratified: Annotated[bool, Key("whether a person accepted it as it is")]
    people: Annotated[int, Key("reviewed outputs that people gave it", "outputs")]
    uncoded: Annotated[
        int, Key("reviewed failures of which people haven't said whether they have it", "outputs")
    ]
    judge: Annotated[
        int | None, Key("outputs that the judge gave it", "outputs", null="no judge was asked")
    ]
    judged: Annotated[int, Key("outputs that the judge gave a verdict on", "outputs")]
    share: Annotated[
        EstimatedShare | None,
        Key(
            "of all outputs, as people would code them; the interval allows for what isn't coded",
            null="nothing is reviewed, or no failure is coded",
        ),
    ]
    variants: Annotated[
        list[VariantShare], Key("the same of each variant, where there are several")
    ]
    tags: Annotated[list[TagShare], Key("the same of the cases of each tag")]


class FailuresDocument(Record, frozen=True, kw_only=True):
    """What `evenhand review count --json` prints."""

    schema: Annotated[str, Key("`evenhand.failures/1`")]
    runs: Annotated[list[str], Key("the runs' ids")]
    outputs: Annotated[int, Key("outputs that could be drawn", "outputs")]
    reviewed: Annotated[int, Key("drawn outputs that people reviewed", "outputs")]
    unread: Annotated[
        list[str],
        Key(
            "the ids of runs of which nothing is reviewed: `failed` leaves them out, and so do all shares if no judge "
            "was asked"
        ),
    ]
    failed: Annotated[
        EstimatedShare | None,
        Key("of all outputs, those that people say fail", null="nothing is reviewed"),
    ]
    covered: Annotated[
        EstimatedShare | None,
        Key("of all failures, those that a named kind covers", null="no failure is coded"),
    ]
    uncoded: Annotated[
        list[str], Key("reviewed failures that the file lists neither under a kind nor without one")
    ]
    without_kind: Annotated[
        list[str],
        Key(
            "failures that fit no kind: those of which people say so, then those of the evals that the judge has "
            "none for"
        ),
    ]
    kinds: Annotated[list[KindCount], Key("the kinds, the most frequent first")]
    coding: Annotated[
        str | None, Key("the run in which the judge coded the outputs", null="no judge was asked")
    ] = None
    changes: Annotated[
        list[KindChange], Key("of several runs, what changed from the last run but one to the last")
    ]
    moves: Annotated[
        list[KindMove], Key("cases that changed from one kind to another between these two runs")
    ]


def counted(
    runs: Sequence[RunFile], book: Codebook, codes: Codes | None = None
) -> FailuresDocument:
    """Counts the kinds of failure.

    An output has a kind where its note is listed in the codebook; see `peoples_code`.

    Args:
        runs: The runs that were reviewed.
        codes: What a judge says of all outputs; None where none was asked. Then the shares are people's alone.
    """
    in_time = sorted(runs, key=lambda run: run.meta.created_at)
    outputs = [outputs_of(run) for run in in_time]
    reviews = [
        (one.weights[place], review) for one in outputs for place, review in one.reviews.items()
    ]
    failures = [(weight, review) for weight, review in reviews if review.failed]
    coded = book.coded
    kinds = [_kind(kind, book, outputs, codes) for kind in book.kinds]
    return FailuresDocument(
        schema=SCHEMA,
        runs=[run.meta.id for run in in_time],
        outputs=sum(len(one.places) for one in outputs),
        reviewed=len(reviews),
        unread=[one.run.meta.id for one in outputs if not one.reviews],
        failed=_as_share(share_of(outputs, lambda review: review.failed)),
        covered=_as_share(_covered(failures, book)),
        uncoded=[str(review.note) for _, review in failures if review.note not in coded],
        without_kind=[str(note) for note in _without_kind(outputs, book, codes)],
        kinds=sorted(kinds, key=lambda one: (-(one.share.value if one.share else 0.0), one.name)),
        changes=kind_changes(outputs, book, codes or {}),
        moves=kind_moves(outputs, book, codes or {}),
    )


def stray_notes(runs: Sequence[RunFile], book: Codebook) -> list[NoteId]:
    """The notes on these runs that a codebook lists and nobody wrote: they count for nothing."""
    reviewed = {one.note for run in runs for one in reviews_of(run)}
    own = {run.meta.id for run in runs}
    return sorted(
        (note for note in book.coded if note.run in own and note not in reviewed), key=str
    )


def count_lines(document: FailuresDocument) -> Iterator[str]:
    """What a count came to, in words: outputs without a kind, what the kinds cover, and each kind's share."""
    few = ", too few to say much" if document.reviewed < FEW else ""
    yield f"{document.reviewed:,} of {count(document.outputs, 'output')} reviewed{few}"
    if document.failed is not None:
        yield f"failed according to people: {percent_within(document.failed)}"
    if document.unread and document.reviewed:
        runs = ", ".join(map(short_id, document.unread))
        judged = any(kind.judge is not None for kind in document.kinds)
        yield f"  without {runs}, of which nothing is reviewed{'' if judged else '; so are the shares below'}"
    if document.without_kind:
        number = count(len(document.without_kind), "failure")
        yield f"{number} without a kind: {_first(document.without_kind)}"
    if document.uncoded and document.kinds:
        yield f"{count(len(document.uncoded), 'reviewed failure')} not coded yet: {_first(document.uncoded)}"
        yield "  list each under its kinds, or under without_kind; until then, intervals are wider"
    if document.covered is not None:
        yield f"named kinds cover an estimated {percent_within(document.covered)} of failures"
    silent = max(
        (document.outputs - k.judged for k in document.kinds if k.judge is not None), default=0
    )
    if silent:
        yield f"no verdict of the judge on {count(silent, 'output')}: there, people's codes alone count"
    width = max((len(safe(one.name)) for one in document.kinds), default=0)
    for one in document.kinds:
        unknown = (
            "share unknown: no failure is coded"
            if document.reviewed
            else "nothing has been reviewed"
        )
        share = unknown if one.share is None else percent_within(one.share)
        judge = "" if one.judge is None else f", the judge {one.judge:,} of {one.judged:,}"
        uncoded = f" ({one.uncoded:,} not coded)" if one.uncoded else ""
        open_ = "" if one.ratified else "  (not ratified)"
        yield f"  {safe(one.name):<{width}}  {share}  people {one.people:,}{uncoded}{judge}{open_}"
        for each in one.variants:
            value = _NOT_KNOWN if each.share is None else percent_within(each.share)
            name = clip(safe(named_variant(each, one.variants)), WIDTH)
            yield f"  {'':<{width}}    {name}: {value}"
        for each in one.tags if 1 < len(one.tags) <= LISTED else ():
            if each.share is not None:
                yield f"  {'':<{width}}    {clip(safe(each.tag), WIDTH)}: {percent_within(each.share)}"
    yield from change_lines(document.runs, document.changes, document.moves)


def named_variant(one: VariantShare, every: Sequence[VariantShare]) -> str:
    """What a variant is called among others: of several runs, with its run."""
    run = short_id(one.run)
    if not one.variant or len({each.run for each in every}) == 1:
        return one.variant or run
    return f"{run} · {one.variant}"


def _kind(
    kind: Kind, book: Codebook, outputs: Sequence[RunOutputs], codes: Codes | None
) -> KindCount:
    code = peoples_code(book, kind)
    marks = {note: has[kind.name] for note, has in (codes or {}).items() if kind.name in has}
    own = marks if codes is not None and kind.is_ratified else None
    people = [code(review) for one in outputs for review in one.reviews.values()]
    columns = [
        (one.run.meta.id, name, variant)
        for one in outputs
        for variant, name in enumerate(column_names(one.run.meta.variants))
    ]
    tags = sorted({tag for one in outputs for each in one.tags.values() for tag in each})
    return KindCount(
        name=kind.name,
        rule=kind.rule,
        ratified=kind.is_ratified,
        people=people.count(True),
        uncoded=people.count(None),
        judge=None if own is None else sum(own.values()),
        judged=len(marks),
        share=_as_share(share_of(outputs, code, own)),
        variants=[
            VariantShare(
                run=run,
                variant=name,
                share=_as_share(share_of(outputs, code, own, _of_variant(run, variant))),
            )
            for run, name, variant in columns
        ]
        if len(columns) > 1
        else [],
        tags=[
            TagShare(tag=tag, share=_as_share(share_of(outputs, code, own, _of_tag(tag))))
            for tag in tags
        ],
    )


def _of_variant(run: str, variant: int) -> Within:
    return lambda one, place: one.run.meta.id == run and one.variants[place] == variant


def _of_tag(tag: str) -> Within:
    return lambda one, place: tag in one.tags.get(place, ())


def _covered(failures: Sequence[tuple[float, Review]], book: Codebook) -> Estimate | None:
    """How much named kinds cover; failures that aren't coded yet may have no kind, or the most frequent one."""
    coded = book.coded
    known = [(weight, book.kinds_of(r.note)) for weight, r in failures if r.note in coded]
    rest = [weight for weight, r in failures if r.note not in coded]
    share = named_share(known)
    if share is None or not rest:
        return share
    most = Counter(name for _, names in known for name in names).most_common(1)
    least = named_share([*known, *((weight, ()) for weight in rest)])
    best = named_share([*known, *((weight, [name for name, _ in most]) for weight in rest)])
    return Estimate(
        share.value,
        min(one.low for one in (share, least, best) if one is not None),
        max(one.high for one in (share, least, best) if one is not None),
    )


def _without_kind(
    outputs: Sequence[RunOutputs], book: Codebook, codes: Codes | None
) -> Iterator[NoteId]:
    """Failures without a kind: first those that people say fit none."""
    for one in outputs:
        for review in one.reviews.values():
            if review.failed and review.note in book.without_kind:
                yield review.note
    ratified = {kind.name for kind in book.kinds if kind.is_ratified}
    for one in outputs:
        for place in sorted(one.failing - one.reviews.keys()):
            marks = (codes or {}).get(NoteId(one.run.meta.id, place))
            # Where a verdict is missing, whether a kind fits isn't known.
            if marks is not None and ratified <= marks.keys() and not any(marks.values()):
                yield NoteId(one.run.meta.id, place)


def _first(notes: Sequence[str]) -> str:
    rest = len(notes) - LISTED
    return ", ".join(notes[:LISTED]) + (f" and {rest:,} more" if rest > 0 else "")


def _as_share(estimate: Estimate | None) -> EstimatedShare | None:
    return estimate and filled(EstimatedShare, estimate)
