"""Draws of compared pairs in a run file, and which outputs of the drawn pairs people prefer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import convert

from evenhand.core.encoding import decode, encode
from evenhand.store.adding import added_to
from evenhand.store.encoding import read_text, write_text
from evenhand.store.labels.drawn_pairs import Pair, PairAnswer, PairDraw, PairLabel
from evenhand.store.opened import OpenRun, readable


def add_pair_draw(
    path: Path, seed: int, metric: str, population: int, pairs: Sequence[Pair]
) -> None:
    """Keeps a draw of pairs in a run file, of whichever version.

    Args:
        path: The file.
        seed: What the draw follows from.
        metric: The ranking.
        population: How many pairs there were, those that had been drawn before among them.
        pairs: Those that were drawn, in their order; of each, the trial to show first before the other.

    Raises:
        StoreError: The file cannot be written.
    """
    with added_to(path, "draws") as db:
        db.execute(
            "insert into pair_draw (at, seed, metric, population, pairs) values (?, ?, ?, ?, ?)",
            (time.time(), seed, encode(metric), population, encode([list(each) for each in pairs])),
        )


def add_pair_labels(
    path: Path, author: str, labels: Sequence[tuple[Pair, str, PairAnswer | None]]
) -> None:
    """Adds what one person says: all of it or nothing.

    Args:
        path: The file.
        author: Who says it.
        labels: Each as (the pair as it was shown, ranking, answer).

    Raises:
        StoreError: The file cannot be written.
    """
    now = time.time()
    with added_to(path, "labels") as db:
        db.executemany(
            "insert into pair_label (at, author, idx, other, metric, answer) values (?, ?, ?, ?, ?, ?)",
            [
                (now, write_text(author), *pair, encode(metric), answer)
                for pair, metric, answer in labels
            ],
        )


class LabelledPairs:
    """Reads the draws of pairs of an open run file, and their labels."""

    def __init__(self, run: OpenRun) -> None:
        self._run = run

    def pair_draws(self) -> list[PairDraw]:
        """The draws, in their order."""
        with readable(self._run.path):
            return [
                PairDraw(
                    number,
                    at,
                    seed,
                    convert(decode(metric), str),
                    population,
                    tuple(convert(decode(pairs), list[tuple[int, int]])),
                )
                for number, at, seed, metric, population, pairs in self._rows(
                    "pair_draw", "id, at, seed, metric, population, pairs"
                )
            ]

    def pair_labels(self) -> list[PairLabel]:
        """What people said, in the order in which they said it."""
        with readable(self._run.path):
            return [
                PairLabel(
                    at,
                    read_text(author),
                    (one, other),
                    convert(decode(metric), str),
                    None if answer is None else convert(answer, PairAnswer),
                )
                for _, at, author, one, other, metric, answer in self._rows(
                    "pair_label", "seq, at, author, idx, other, metric, answer"
                )
            ]

    def _rows(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """A table's rows in the order of their first column."""
        if not self._run.has_table(table):
            return []  # of an earlier version
        return self._run.db.execute(f"select {columns} from {table} order by 1").fetchall()  # noqa: S608 (our own names)


def standing_pair_labels(
    labels: Sequence[PairLabel],
) -> dict[tuple[Pair, str], dict[str, PairLabel]]:
    """What counts: for each pair and ranking, the last of each person's labels that was not taken back."""
    last: dict[tuple[Pair, str], dict[str, PairLabel]] = {}
    for label in labels:
        of_pair = last.setdefault(label.key, {})
        if label.answer is None:
            of_pair.pop(label.author, None)
        else:
            of_pair[label.author] = label
    return {key: of_pair for key, of_pair in last.items() if of_pair}
