"""Reviewing on the page: the drawn outputs, and what one person says of them; nobody sees the others' words before."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from evenhand.analysis.reviews.drawing import draw_outputs, drawn_notes, review_draws
from evenhand.analysis.reviews.reviewed import (
    Verdict,
    keep_review,
    material_of,
    reviews_of,
    to_review,
)
from evenhand.core.document import Key
from evenhand.core.errors import UsageError
from evenhand.core.judge_checks import refuse_judge_check
from evenhand.core.record import Record
from evenhand.core.wording.spreadsheet_cells import as_text
from evenhand.store.labels.label import LONGEST_NOTE
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.drawn import MOST, author_in


class ReviewedShape(Record, frozen=True, kw_only=True):
    """One drawn output, and what this person said of it."""

    index: int
    material: Annotated[str, Key("What it is an answer to.")]
    output: str
    verdict: Verdict | None
    note: str


class ReviewDrawShape(Record, frozen=True, kw_only=True):
    """What a person has to review, in the order of the draw; no items before something is drawn."""

    items: Sequence[ReviewedShape]
    disputed: Annotated[
        Sequence[str],
        Key("What people disagree about, a line each; empty before this person has said all."),
    ]


def review_draw(run: RunFile, author: str) -> ReviewDrawShape:
    """What this person has to review, with what they said; the others' words once they are through."""
    drawn, reviews = drawn_notes([run]), reviews_of(run)
    left = set(to_review(author, drawn, reviews))
    mine = {r.note: one for r in reviews for one in r.reviews if one.author == author}
    notes = [note for note in drawn if note in left or note in mine]
    trials = {trial.index: trial for trial in run.at(sorted(note.index for note in notes))}
    items = [
        ReviewedShape(
            index=note.index,
            material=material_of(trials[note.index]),
            output=as_text(trials[note.index].output),
            verdict=mine[note].verdict if note in mine else None,
            note=mine[note].note if note in mine else "",
        )
        for note in notes
        if note.index in trials
    ]
    disputed = [
        f"{one.case}: "
        + " · ".join(f"{o.author} {o.verdict} {o.note}".strip() for o in one.reviews)
        for one in reviews
        if one.is_disputed and not left
    ]
    return ReviewDrawShape(items=items, disputed=disputed)


def draw_reviews(path: Path, request: Mapping[str, Any]) -> None:
    """Draws `size` outputs to be reviewed.

    Raises:
        UsageError: That is no number of outputs, or nothing is left to draw.
        StoreError: The run file cannot be written.
    """
    size = request.get("size")
    if type(size) is not int or not 0 < size <= MOST:
        raise UsageError(f"size: a number of outputs from 1 to {MOST:,}")
    with RunFile.open(path) as run:
        draw_outputs([run], size, secrets.randbelow(2**31))


def keep_reviewed(path: Path, request: Mapping[str, Any]) -> None:
    """Keeps the `verdict` of an `author` on the drawn output at `index`, with a `note`; null takes both back.

    Raises:
        UsageError: Something of it is missing, or that output isn't drawn.
        StoreError: The run file cannot be written.
    """
    index, verdict, note = request.get("index"), request.get("verdict"), request.get("note", "")
    author = author_in(request)
    if verdict not in ("pass", "fail", None):
        raise UsageError("verdict: pass, fail or null")
    if not isinstance(note, str) or len(note) > LONGEST_NOTE:
        raise UsageError(f"note: a text of at most {LONGEST_NOTE:,} characters")
    with RunFile.open(path) as run:
        refuse_judge_check(run.meta)
        drawn = {place for draw in review_draws(run) for place in draw.places}
    if type(index) is not int or index not in drawn:
        raise UsageError(f"output {index!r:.40} isn't drawn to be reviewed")
    keep_review(path, index, author, verdict, note.strip())
