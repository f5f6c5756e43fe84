"""What people say of the outputs that they review: pass or fail, and a note; each person without the others' words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

from evenhand.analysis.reviews.drawing import drawn_notes
from evenhand.analysis.trust.labels.drawing import not_again
from evenhand.core.document import Key, as_object
from evenhand.core.record import Record
from evenhand.core.wording.words import clip, count, safe
from evenhand.languages.documents.failures_yml import Codebook, NoteId
from evenhand.store.labels.draw import VERDICTS, LabelledVerdict
from evenhand.store.labels.label import NewLabel, standing
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.run_lookup import find
from evenhand.store.runfile import RunFile

SCHEMA = "evenhand.review/1"
WIDTH = 100


class OneReview(Record, frozen=True):
    """What one person says of an output."""

    author: Annotated[str, Key("who")]
    verdict: Annotated[LabelledVerdict, Key("`pass` or `fail`")]
    note: Annotated[str, Key("what is wrong with it, in the person's words")] = ""


class Review(Record, frozen=True, kw_only=True):
    """An output, and what people say of it.

    Attributes:
        case: The case's id.
        variant: The variant's index.
        reviews: One for each person who reviewed it, by name.
    """

    note: NoteId
    case: str
    variant: int
    reviews: tuple[OneReview, ...]

    @property
    def failed(self) -> bool:
        """Whether at least half of the people say that the output failed."""
        return 2 * sum(one.verdict == "fail" for one in self.reviews) >= len(self.reviews)

    @property
    def is_disputed(self) -> bool:
        """Whether people disagree."""
        return len({one.verdict for one in self.reviews}) > 1

    @property
    def words(self) -> str:
        """The notes of those who say that it failed, in one text."""
        return " / ".join(o.note for o in self.reviews if o.verdict == "fail" and o.note)


class ReviewedOutput(Record, frozen=True, kw_only=True):
    """What `evenhand.review/1` says of an output."""

    note: Annotated[
        str, Key("its name in `failures.yml`: the run's id and the output's place in it")
    ]
    case: Annotated[str, Key("the case's id")]
    failed: Annotated[bool, Key("whether at least half of the people say that it failed")]
    reviews: Annotated[list[OneReview], Key("what each person says")]
    kinds: Annotated[list[str], Key("the kinds of `failures.yml` that cover it")]


class ReviewDocument(Record, frozen=True, kw_only=True):
    """What `evenhand review list --json` prints."""

    schema: Annotated[str, Key("`evenhand.review/1`")]
    runs: Annotated[list[str], Key("the runs' ids")]
    drawn: Annotated[int, Key("outputs that were drawn", "outputs")]
    reviewed: Annotated[int, Key("drawn outputs that somebody reviewed", "outputs")]
    outputs: Annotated[
        list[ReviewedOutput],
        Key(
            "all reviewed outputs: those that people disagree about, then failures, then the others"
        ),
    ]


@contextmanager
def opened(names: Sequence[str]) -> Iterator[list[RunFile]]:
    """Opens the runs of these names, each once; the latest run where there are none.

    Raises:
        UsageError: One is not found.
        StoreError: One cannot be read.
    """
    paths = dict.fromkeys(find(Path.cwd(), name) for name in names or [None])
    with ExitStack() as stack:
        yield [stack.enter_context(RunFile.open(path)) for path in paths]


def reviews_of(run: RunFile) -> list[Review]:
    """What people said of a run's outputs, in the order of the plan. Outputs that nobody reviewed are left out."""
    by_trial: dict[int, tuple[OneReview, ...]] = {}
    for index, labels in standing(run.labels()).items():
        notes = {one.author: str(one.value) for one in labels if one.name == "note"}
        own = tuple(
            OneReview(one.author, VERDICTS[str(one.value)], notes.get(one.author, ""))
            for one in sorted(labels, key=lambda one: one.author)
            if one.name == "verdict"
        )
        if own:
            by_trial[index] = own
    return [
        Review(
            note=NoteId(run.meta.id, trial.index),
            case=trial.case,
            variant=trial.variant,
            reviews=by_trial[trial.index],
        )
        for trial in run.at(sorted(by_trial))
    ]


def keep_review(
    run: Path, index: int, author: str, verdict: LabelledVerdict | None, note: str = ""
) -> None:
    """Keeps what a person says of an output, verdict and note together; None takes both back.

    Raises:
        UsageError: The note is too long.
        StoreError: The run file cannot be written.
    """
    words = (note or None) if verdict else None
    append_labels(
        run,
        [
            NewLabel(index, "note", words, author, blind=True),
            NewLabel(index, "verdict", verdict, author, blind=True),
        ],
    )


def to_review(author: str, drawn: Sequence[NoteId], reviews: Sequence[Review]) -> list[NoteId]:
    """What a person has to review, and hasn't: see `not_again`."""
    people = {note: set[str]() for note in drawn}
    people |= {one.note: {o.author for o in one.reviews} for one in reviews if one.note in people}
    skipped = not_again(author, people)
    return [note for note in drawn if author not in people[note] and note not in skipped]


def review_document(runs: Sequence[RunFile], book: Codebook) -> dict[str, object]:
    """The reviews as `evenhand.review/1`."""
    drawn = drawn_notes(runs)
    reviews = in_order(one for run in runs for one in reviews_of(run))
    reviewed = {one.note for one in reviews}
    return as_object(
        ReviewDocument(
            schema=SCHEMA,
            runs=[run.meta.id for run in runs],
            drawn=len(drawn),
            reviewed=sum(note in reviewed for note in drawn),
            outputs=[
                ReviewedOutput(
                    note=str(one.note),
                    case=one.case,
                    failed=one.failed,
                    reviews=list(one.reviews),
                    kinds=book.kinds_of(one.note),
                )
                for one in reviews
            ],
        )
    )


def review_lines(runs: Sequence[RunFile], book: Codebook) -> Iterator[str]:
    """The reviews in words: what people disagree about first, then failures that no kind covers."""
    drawn = drawn_notes(runs)
    reviews = in_order(one for run in runs for one in reviews_of(run))
    reviewed = {one.note for one in reviews}
    done = sum(note in reviewed for note in drawn)
    yield f"{done:,} of {count(len(drawn), 'drawn output')} reviewed"
    disputed = [one for one in reviews if one.is_disputed]
    failed = [one for one in reviews if one.failed and not one.is_disputed]
    bare = [one for one in failed if not book.kinds_of(one.note)]
    covered = [one for one in failed if book.kinds_of(one.note)]
    for heading, group in (
        ("people disagree", disputed), ("failures that no kind covers", bare), ("other failures", covered),
    ):  # fmt: skip
        if group:
            yield f"{heading}: {len(group):,}"
            for one in group:
                kinds = safe(", ".join(book.kinds_of(one.note)))
                yield f"  {one.note}  [{kinds}]" if kinds else f"  {one.note}"
                for each in one.reviews:
                    yield f"    {safe(each.author)}: {each.verdict}  {clip(safe(each.note), WIDTH)}".rstrip()


def in_order(reviews: Iterator[Review]) -> list[Review]:
    """Reviews: those that people disagree about, then failures, then the others."""
    return sorted(reviews, key=lambda one: (not one.is_disputed, not one.failed))
