"""Draws of trials and of compared pairs in a run file, what people say of them, and the rules that they follow."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import convert, to_builtins

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import UsageError
from evenhand.store.adding import added_to
from evenhand.store.encoding import read_text, write_text
from evenhand.store.labels.draw import (
    Design,
    Draw,
    LabelledVerdict,
    MetricLabel,
    Pair,
    PairAnswer,
    PairDraw,
    PairLabel,
    Stratum,
)
from evenhand.store.opened import ReadsRun, readable


def add_draw(
    path: Path,
    seed: int,
    metrics: Sequence[str],
    population: int,
    places: Sequence[int],
    design: Design = "uniform",
    by: str = "",
    strata: Sequence[Stratum] = (),
    *,
    known: int | None = None,
) -> None:
    """Keeps a draw in a run file, of whichever version.

    Args:
        seed: What the draw follows from.
        metrics: What is to be labelled.
        population: How many trials there were to draw from.
        places: Those that were drawn, in their order.
        design: How likely each was to be drawn.
        by: The column that the strata are of; empty for none.
        strata: What was drawn from; none for a uniform draw.
        known: How many draws the run had when this one was made; None where that doesn't matter.

    Raises:
        UsageError: Somebody else drew meanwhile.
        StoreError: The file cannot be written.
    """
    with added_to(path, "draws") as db:
        _check_known(db, "draw", known)
        number = db.execute(
            "insert into draw (at, seed, metrics, population, places) values (?, ?, ?, ?, ?)",
            (time.time(), seed, encode(list(metrics)), population, encode(list(places))),
        ).lastrowid
        if strata:
            rows = encode([to_builtins(stratum) for stratum in strata])
            db.execute(
                "insert into design (draw, design, column_name, strata) values (?, ?, ?, ?)",
                (number, design, encode(by), rows),
            )


def add_metric_labels(
    path: Path,
    author: str,
    labels: Sequence[tuple[int, str, LabelledVerdict | None]],
    *,
    at: float | None = None,
) -> None:
    """Adds what one person says: all of it or nothing.

    Args:
        labels: Each as (place in the plan, metric, verdict).
        at: When it was said, in seconds since 1970; None for now.

    Raises:
        StoreError: The file cannot be written.
    """
    now = time.time() if at is None else at
    with added_to(path, "labels") as db:
        db.executemany(
            "insert into metric_label (at, author, idx, metric, verdict) values (?, ?, ?, ?, ?)",
            [
                (now, write_text(author), index, encode(metric), verdict)
                for index, metric, verdict in labels
            ],
        )


def add_pair_draw(
    path: Path,
    seed: int,
    metric: str,
    population: int,
    pairs: Sequence[Pair],
    *,
    known: int | None = None,
) -> None:
    """Keeps a draw of pairs in a run file, of whichever version.

    Args:
        seed: What the draw follows from.
        population: How many pairs there were, those that had been drawn before among them.
        pairs: Those that were drawn, in their order; of each, the trial to show first before the other.
        known: How many draws of pairs the run had when this one was made; None where that doesn't matter.

    Raises:
        UsageError: Somebody else drew meanwhile.
        StoreError: The file cannot be written.
    """
    with added_to(path, "draws") as db:
        _check_known(db, "pair_draw", known)
        db.execute(
            "insert into pair_draw (at, seed, metric, population, pairs) values (?, ?, ?, ?, ?)",
            (time.time(), seed, encode(metric), population, encode([list(each) for each in pairs])),
        )


def add_pair_labels(
    path: Path,
    author: str,
    labels: Sequence[tuple[Pair, str, PairAnswer | None]],
    *,
    at: float | None = None,
) -> None:
    """Adds what one person says: all of it or nothing.

    Args:
        labels: Each as (the pair as it was shown, ranking, answer).
        at: When it was said, in seconds since 1970; None for now.

    Raises:
        StoreError: The file cannot be written.
    """
    now = time.time() if at is None else at
    with added_to(path, "labels") as db:
        db.executemany(
            "insert into pair_label (at, author, idx, other, metric, answer) values (?, ?, ?, ?, ?, ?)",
            [
                (now, write_text(author), *pair, encode(metric), answer)
                for pair, metric, answer in labels
            ],
        )


def set_rule(path: Path, metric: str, rule: str, *, first: bool = False) -> None:
    """Keeps the rule that people follow when they label a metric, in place of an earlier one.

    Args:
        metric: The metric, or the ranking.
        rule: What makes an output pass, or the better one.
        first: There was no rule when this one was written.

    Raises:
        UsageError: There are labels by another rule, which would pass for labels by this one; or somebody else wrote
            another one first.
        StoreError: The file cannot be written.
    """
    with added_to(path, "rules") as db:  # which keeps labels out until it is decided
        before = db.execute(
            "select rule from rule where metric = ? order by seq desc limit 1", (encode(metric),)
        ).fetchone()
        if before == (encode(rule),):
            return
        if before is not None and (labels := _labelled(db, metric)):
            raise UsageError(
                f"{labels:,} {'output is' if labels == 1 else 'outputs are'} labelled by another rule: "
                f"{convert(decode(before[0]), str)}",
                hint="Labels count for the rule by which they were given. "
                "Keep it, or label a later run by the new one.",
            )
        if before is not None and first:
            raise UsageError(
                f"somebody else wrote a rule meanwhile: {convert(decode(before[0]), str)}",
                hint="Label by it, or agree on another one before the first label.",
            )
        db.execute(
            "insert into rule (at, metric, rule) values (?, ?, ?)",
            (time.time(), encode(metric), encode(rule)),
        )


def drawn_meanwhile() -> UsageError:
    """The error of a draw that is made of what somebody else has drawn from by then."""
    return UsageError(
        "somebody else drew from this run meanwhile",
        hint="Look at what is drawn, and draw again if you need more.",
    )


def _check_known(db: sqlite3.Connection, table: str, known: int | None) -> None:
    """Raises UsageError if there are other draws than those that a new one left out."""
    if known is not None and db.execute(f"select count(*) from {table}").fetchone() != (known,):  # noqa: S608 (our own names)
        raise drawn_meanwhile()


def _labelled(db: sqlite3.Connection, metric: str) -> int:
    """How many outputs have standing labels under a metric, or pairs under a ranking."""
    last: dict[tuple[object, ...], object] = {}
    for table, item, answer in (
        ("metric_label", "idx, idx", "verdict"),
        ("pair_label", "min(idx, other), max(idx, other)", "answer"),
    ):
        rows = db.execute(
            f"select {item}, author, {answer} from {table} where metric = ? order by seq",  # noqa: S608 (our own names)
            (encode(metric),),
        )
        for *of, value in rows:
            last[table, *of] = value
    return len({of[:3] for of, value in last.items() if value is not None})


class LabelledDraws(ReadsRun):
    """Reads the draws of an open run file, and their labels."""

    def draws(self) -> list[Draw]:
        """The draws, in their order."""
        columns = "id, at, seed, metrics, population, places"
        with readable(self._run.path):
            designs = {
                number: (design, convert(decode(by), str), convert(decode(strata), list[Stratum]))
                for number, design, by, strata in self._rows(
                    "design", "draw, design, column_name, strata"
                )
            }
            draws: list[Draw] = []
            decided = (
                {
                    place
                    for (place,) in self._run.db.execute(
                        "select idx from latest where outcome != 'error'"
                    )
                }
                if any(design == "uniform" for design, _, _ in designs.values())
                else set[int]()
            )
            for number, at, seed, metrics, population, places in self._rows("draw", columns):
                design, by, strata = designs.get(number, ("uniform", "", []))
                if design == "uniform" and decided <= {i for one in strata for i in one.places}:
                    strata = []  # it was drawn from all that there are
                draws.append(
                    Draw(
                        number=number,
                        at=at,
                        seed=seed,
                        metrics=tuple(convert(decode(metrics), list[str])),
                        population=_population(population),
                        places=tuple(convert(decode(places), list[int])),
                        design=convert(design, Design),
                        by=by,
                        strata=tuple(strata),
                    )
                )
        return draws

    def metric_labels(self) -> list[MetricLabel]:
        """What people said, in the order in which they said it."""
        columns = "seq, at, author, idx, metric, verdict"
        with readable(self._run.path):
            return [
                MetricLabel(at, read_text(author), index, convert(decode(metric), str), verdict)
                for _, at, author, index, metric, verdict in self._rows("metric_label", columns)
            ]

    def pair_draws(self) -> list[PairDraw]:
        """The draws, in their order."""
        with readable(self._run.path):
            return [
                PairDraw(
                    number=number,
                    at=at,
                    seed=seed,
                    metric=convert(decode(metric), str),
                    population=population,
                    pairs=tuple(convert(decode(pairs), list[tuple[int, int]])),
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

    def rules(self) -> dict[str, str]:
        """The rule that people follow, by metric."""
        with readable(self._run.path):
            return {
                convert(decode(metric), str): convert(decode(rule), str)
                for _, metric, rule in self._rows("rule", "seq, metric, rule")
            }

    def _rows(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """A table's rows in the order of their first column."""
        if not self._run.has_table(table):
            return []  # of an earlier version
        return self._run.db.execute(f"select {columns} from {table} order by 1").fetchall()  # noqa: S608 (our own names)


def _population(size: int) -> int:
    """The number of trials that a draw was from; raises ValueError where there were none, and so no draw."""
    if size < 1:
        raise ValueError(f"a draw from {size} trials")
    return size


def standing_labels(labels: Sequence[MetricLabel]) -> dict[tuple[int, str], dict[str, MetricLabel]]:
    """What counts: for each trial and metric, the last of each person's labels that was not taken back."""
    last: dict[tuple[int, str], dict[str, MetricLabel]] = {}
    for label in labels:
        of_item = last.setdefault((label.index, label.metric), {})
        if label.verdict is None:
            of_item.pop(label.author, None)
        else:
            of_item[label.author] = label
    return {item: of_item for item, of_item in last.items() if of_item}


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
