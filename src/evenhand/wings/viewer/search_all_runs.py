"""A search for texts in all runs, piece by piece: each request takes half a second at most, and says where it stopped.

A trial is found as in the search of one run: by id, description, variables, input, output, and, unless the search is
blind, by reasons and errors. Of each run the first PER_RUN are given: the run's own filter has all of them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, cast

from evenhand.analysis.filters.query import Names, TextTerm, WordTerm, parse
from evenhand.analysis.summaries.column_names import column_names
from evenhand.core.document import Key, filled
from evenhand.core.errors import StoreError, UsageError
from evenhand.core.record import Record
from evenhand.core.score import State
from evenhand.store.decoding import SearchedTrial, read_searched
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.columns import fields_about, text_of
from evenhand.wings.viewer.listing import NoSuchRun, Runs

PIECE_S = 0.5
PER_RUN = 20
HITS = 60
"""Of one piece, at most; it ends early then."""
BEFORE, EXCERPT = 60, 200
"""Characters in front of the text that was sought, and of the text and behind it."""
_PLAIN = re.compile(r"[ !#-\[\]-~]+")
"""Letters that JSON writes as they are."""
_PLACE = re.compile(r"([0-9A-Za-z_.-]{1,200}):(\d{1,15}):(\d{1,4})", re.ASCII)
"""A run, a trial's place in its plan, and how many were found before it."""


class Hit(Record, frozen=True, kw_only=True):
    """A trial that was found."""

    run: str
    index: Annotated[int, Key("Its place in the plan.")]
    case: str
    variant: Annotated[str, Key("The name of its column; empty in a blind search.")]
    outcome: Annotated[State | None, Key("Null in a blind search.")]
    before: Annotated[str, Key("What stands in front of the text.")]
    text: Annotated[str, Key("The text that was sought; empty for an expression or a case.")]
    after: Annotated[str, Key("What stands behind it; else how the output begins.")]


class SearchPiece(Record, frozen=True, kw_only=True):
    """What a part of a search over all runs came to."""

    hits: Annotated[Sequence[Hit], Key("Of the newest runs first.")]
    more: Annotated[Sequence[str], Key("The runs in which there may be more than these.")]
    runs: Annotated[int, Key("How many runs were searched to their end.")]
    trials: Annotated[int, Key("How many trials were looked at.")]
    unread: Annotated[Sequence[str], Key("The runs that cannot be read.")]
    next: Annotated[str, Key("Where the search goes on; empty at its end.")]


class Query:
    """What is sought: words, regular expressions and cases, in alternatives of which one has to hold.

    Args:
        text: As a filter has it.
        blind: Whether reasons and errors are left out.

    Raises:
        UsageError: It is not a filter, or asks for what is not searched here.
    """

    def __init__(self, text: str, *, blind: bool = False) -> None:
        terms, problems = parse(text, Names())
        if problems:
            raise UsageError(problems[0].what, hint=problems[0].hint)
        self.blind = blind
        self._groups: dict[int, list[TextTerm | WordTerm]] = {}
        for term in terms:
            if not (
                isinstance(term, TextTerm) or (isinstance(term, WordTerm) and term.field == "case")
            ):
                word = text[term.place.at : term.place.end]
                raise UsageError(
                    f"`{word}` is not searched for in all runs",
                    hint='Words, "phrases", /expressions/ and case: are. Open a run to filter it by anything else.',
                )
            self._groups.setdefault(term.place.group, []).append(term)
        self._needed = [list(_needed(group)) for group in self._groups.values()]

    def __bool__(self) -> bool:
        """Whether anything is sought."""
        return bool(self._groups)

    def may_fit(self, result: bytes) -> bool:
        """Whether a result, as JSON, has what a hit needs: finding letters costs far less than reading."""
        if result.isascii():
            text = result.lower()
            return any(
                all(any(part in text for part in parts) for parts in group)
                for group in self._needed
            )
        plain = result.decode("utf-8", "surrogatepass").lower()
        return any(
            all(any(part.decode() in plain for part in parts) for parts in group)
            for group in self._needed
        )

    def find(self, trial: SearchedTrial) -> tuple[str, str, str] | None:
        """The text in a trial that fits, between what is in front of it and behind it; None if it doesn't fit."""
        fields = list(self._fields(trial))
        small = [field.lower() for field in fields]
        for group in self._groups.values():
            if all(_holds(term, trial, small) != term.negated for term in group):
                return _excerpt(group, fields, small) or ("", "", _clip(text_of(trial.output)))
        return None

    def _fields(self, trial: SearchedTrial) -> Iterator[str]:
        yield from fields_about(trial)
        yield text_of(trial.output)
        if not self.blind:
            yield trial.reason
            yield from (outcome.reason for outcome in trial.outcomes)
            if trial.error:
                yield trial.error.message


def _needed(group: Sequence[TextTerm | WordTerm]) -> Iterator[list[bytes]]:
    """For each term the letters of which some stand in every result that it finds; none for a term that has none."""
    for term in group:
        if term.negated:
            continue
        if isinstance(term, WordTerm):
            texts: Sequence[str] | None = term.values
        else:
            texts = [term.text.lower()] if term.pattern is None else term.pattern.needed
        parts = [max(_PLAIN.findall(text), key=len, default="").encode() for text in texts or ()]
        if parts and all(parts):
            yield parts


def _holds(term: TextTerm | WordTerm, trial: SearchedTrial, fields: Sequence[str]) -> bool:
    if isinstance(term, WordTerm):
        named = trial.case.lower(), trial.description.lower()
        return any(value in name for value in term.values for name in named)
    if term.pattern is not None:
        return any(map(term.pattern.search, fields))
    return any(term.text.lower() in field for field in fields)


def _excerpt(
    group: Sequence[TextTerm | WordTerm], fields: Sequence[str], small: Sequence[str]
) -> tuple[str, str, str] | None:
    """Where the first text of a group stands; None where it seeks none."""
    for term in group:
        if term.negated or isinstance(term, WordTerm) or not term.text:
            continue
        for field, lower in zip(fields, small, strict=True):
            if term.pattern is not None:
                if term.pattern.search(lower):
                    return "", "", _clip(field)
                continue
            at = lower.find(term.text.lower())
            if at >= 0:
                # A few letters are longer in small: then places are those of the small text.
                whole = field if len(field) == len(lower) else lower
                first, end = max(0, at - BEFORE), at + len(term.text)
                before = whole[first:at]
                return f"…{before}" if first else before, _clip(whole[at:end]), _clip(whole[end:])
    return None


def _clip(text: str) -> str:
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"


def search_piece(runs: Runs, query: Query, place: str) -> SearchPiece:
    """Searches on from a place, for half a second at most.

    Args:
        place: `next` of the piece before; empty for the start.

    Raises:
        UsageError: There is no such place.
    """
    start = _PLACE.fullmatch(place)
    if place and start is None:
        raise UsageError(f"{place!r:.60} is not where a search goes on")
    at, first, count = (start[1], int(start[2]), int(start[3])) if start else ("", 0, 0)
    every = [one.id for one in runs.list() if not at or one.id <= at] if query else []
    piece = _Piece(query, time.monotonic() + PIECE_S)
    after = ""
    for name in every:
        if piece.is_over():
            after = f"{name}:0:0"
            break
        try:
            with RunFile.open(runs.path(name)) as run:
                after = piece.search(run, name, *((first, count) if name == at else (0, 0)))
        except (StoreError, NoSuchRun):
            piece.unread.append(name)
            continue
        if after:
            break
        piece.done += 1
    return filled(SearchPiece, piece, runs=piece.done, next=after)


class _Piece:
    """A piece of a search, while it is made."""

    def __init__(self, query: Query, until: float) -> None:
        self._query, self._until = query, until
        self.hits: list[Hit] = []
        self.more: list[str] = []
        self.unread: list[str] = []
        self.done = self.trials = 0

    def is_over(self) -> bool:
        """Whether an answer is due."""
        return time.monotonic() > self._until or len(self.hits) >= HITS

    def search(self, run: RunFile, name: str, first: int, count: int) -> str:
        """Searches a run from a trial on. Where it stopped; empty at the end of what is searched of it.

        Args:
            name: Its id.
            first: The trial's place in the plan.
            count: How many were found before it.
        """
        query, names = self._query, column_names(run.meta.variants)
        slow = False
        for result in run.results(first):
            # Looking at the clock costs nothing beside a trial that was read; others are passed over much faster.
            if (slow or self.trials % 16 == 15) and self.is_over():
                return f"{name}:{read_searched(result).index}:{count}"
            self.trials += 1
            slow = query.may_fit(result)
            if not slow:
                continue
            trial = read_searched(result)
            excerpt = query.find(trial)
            if excerpt is None:
                continue
            if count == PER_RUN:
                self.more.append(name)
                return ""
            count += 1
            before, text, after = excerpt
            self.hits.append(
                Hit(
                    run=name,
                    index=trial.index,
                    case=trial.case,
                    variant="" if query.blind else names[trial.variant],
                    outcome=None if query.blind else cast("State", trial.outcome),
                    before=before,
                    text=text,
                    after=after,
                )
            )
        return ""
