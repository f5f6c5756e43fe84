"""What people said of a row in promptfoo's results: parts of the type `human`, and the row's comment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from evenhand.render.promptfoo.row import HIGHLIGHT, HUMAN
from evenhand.store.labels.label import LONGEST_NOTE, NewLabel


def labels_in(grading: Mapping[str, Any], index: int) -> Iterator[NewLabel]:
    """The labels of one trial.

    A part with a metric is about that metric, and says whose it is, as `evenhand export` writes them; promptfoo itself
    has one verdict for the whole row.

    Args:
        grading: The row's `gradingResult`.
        index: The trial's place.
    """
    parts = cast("Sequence[Mapping[str, Any]]", grading.get("componentResults") or ())
    for part in filter(is_human, parts):
        about = cast("Mapping[str, Any]", part.get("metadata") or {})
        verdict = "pass" if part.get("pass") else "fail"
        metric, author = part["assertion"].get("metric"), about.get("author")
        yield NewLabel(
            index=index,
            field="verdict",
            value=verdict,
            author=author if isinstance(author, str) else "",
            metric=metric if isinstance(metric, str) else "",
        )
        rating = about.get("rating")
        if _is_rating(rating) and not metric:
            yield NewLabel(index, "score", rating)
    comment = grading.get("comment")
    note = comment if isinstance(comment, str) else ""
    if note.startswith(HIGHLIGHT):
        note = note.removeprefix(HIGHLIGHT).strip()
        yield NewLabel(index, "star", True)
    if note:
        yield NewLabel(index, "note", note[:LONGEST_NOTE])


def is_human(part: Mapping[str, Any] | None) -> bool:
    """Whether a part of a row is what a person said, and not what was measured."""
    assertion = cast("Mapping[str, Any]", (part or {}).get("assertion") or {})
    return assertion.get("type") == HUMAN


def _is_rating(value: object) -> bool:
    return isinstance(value, (int, float)) and value is not True and 1 <= value <= 5
