"""A history for people and for programs: a line for each column of each run, and what changed between them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from evenhand.report.history import History, HistoryColumn, HistoryRun, RunLine
from evenhand.report.ink import Ink
from evenhand.report.rates import share_row
from evenhand.report.trust.canaries import CanaryReport
from evenhand.report.trust.drift_words import canary_sentences
from evenhand.report.words import (
    clip,
    columns,
    count,
    interval,
    money,
    near,
    padded,
    percents,
    safe,
    seconds,
    short_id,
)
from evenhand.stats.tallies import Share

SCHEMA = "evenhand.history/1"
BAR = 26
NAME = 24
_HEADS = ("started", "run", "0 %" + "100 %".rjust(BAR - 3), "rate", "95 %", "cost", "latency")


def lines(history: History, ink: Ink) -> list[str]:
    """The history as text: each config or set with its runs, the oldest first."""
    text: list[str] = []
    for line in history.lines:
        text += [*([""] if text else []), *_of_line(line, ink)]
    for path, problem in history.unreadable:
        text.append(f"! {safe(near(path))}: {safe(problem)}")
    return text


def _of_line(line: RunLine, ink: Ink) -> Iterator[str]:
    where = f"  {safe(near(line.source))}" if line.source else ""
    yield f"{ink(clip(safe(line.title), 60), 'bold')}{ink(where, 'dim')}"
    if line.earlier:
        yield ink(f"… {count(line.earlier, 'earlier run')}", "dim")
    names = [safe(column.name) for run in line.runs for column in run.columns]
    width = min(NAME, max(map(columns, names), default=0))
    yield ink(_row(("", *_HEADS), width), "dim")
    for run in line.runs:
        yield from (ink(f"┄ {one.kind}: {one.text}", "yellow") for one in run.changes)
        yield from _of_run(run, width)
        if run.canaries is not None:
            yield from _of_canaries(run.canaries, ink)


def _of_canaries(report: CanaryReport, ink: Ink) -> Iterator[str]:
    """A line for each judge: what it is right on, and who changed since the first check."""
    for key, text in zip(report.check.answers, canary_sentences(report), strict=True):
        drift = report.drift(key)
        alarming = drift is not None and drift.word in ("judge", "system")
        yield ink(f"┄ {text}", "yellow" if alarming else "dim")


def _of_run(run: HistoryRun, width: int) -> Iterator[str]:
    started = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.at))
    marks = ("scripted" * run.offline, *(f"#{safe(tag)}" for tag in run.tags))
    said = "".join(f"  {mark}" for mark in marks if mark)
    head = (started, short_id(run.id))
    if not run.finished:
        status = "unfinished" if run.status == "finished" else run.status.replace("_", " ")
        what = f"{status}: {run.trials:,} of {count(run.planned, 'trial')}"
        yield f"{head[0]}  {head[1]}  {what}{said}"
        return
    for place, column in enumerate(run.columns):
        cost = money(run.cost_usd) if place == 0 else ""
        cells = (safe(column.name), *(head if place == 0 else ("", "")), *_cells(column), cost)
        latency = seconds(column.latency and column.latency.value)
        yield _row((*cells, latency), width) + (said if place == 0 else "")


def _cells(column: HistoryColumn) -> tuple[str, str, str]:
    share = column.share
    if share is None:
        return "·" * BAR, "–", "–"
    return _bar(share), percents(share.least, share.most), interval(share.low, share.high)


def _bar(share: Share) -> str:
    """The interval as a line from 0 to 1, and the rate on it; where errors leave it open, from end to end.

    >>> _bar(Share(0.5, 0.5, 0.25, 0.75))
    '······┝━━━━━●━━━━━━┥······'
    """
    low, least, most, high = (
        min(BAR - 1, max(0, round(end * (BAR - 1))))
        for end in (share.low, share.least, share.most, share.high)
    )
    marks = ["·"] * BAR
    marks[low : high + 1] = "━" * (high + 1 - low)
    marks[low], marks[high] = "┝", "┥"
    marks[least : most + 1] = "●" * (most + 1 - least)
    return "".join(marks)


def _row(cells: tuple[str, ...], width: int) -> str:
    name, started, run, bar, rate, reach, cost, latency = cells
    named = f"{padded(clip(name, width), width)}  " if width else ""
    row = f"{started:<16}  {run:<10}  {named}{bar}  {rate:>7}  {reach:>9}  {cost:>8}  {latency:>8}"
    return row.rstrip()


def document(history: History) -> dict[str, Any]:
    """It as plain values, `evenhand.history/1`: what `evenhand history --json` prints."""
    return {
        "schema": SCHEMA,
        "lines": [
            {
                "source": line.source,
                "title": line.title,
                "earlier": line.earlier,
                "runs": [_run(run) for run in line.runs],
            }
            for line in history.lines
        ],
        "unreadable": [
            {"file": str(path), "problem": problem} for path, problem in history.unreadable
        ],
    }


def _run(run: HistoryRun) -> dict[str, Any]:
    return {
        "run": run.id,
        "file": str(run.path),
        "title": run.title,
        "started_at": run.at,
        "status": run.status,
        "finished": run.finished,
        "trials": run.trials,
        "planned": run.planned,
        "offline": run.offline,
        "cost_usd": run.cost_usd,
        "tags": list(run.tags),
        "changes": [{"kind": one.kind, "text": one.text} for one in run.changes],
        "columns": [_column(column) for column in run.columns],
        "canaries": None if run.canaries is None else run.canaries.rows(),
    }


def _column(column: HistoryColumn) -> dict[str, Any]:
    latency = column.latency
    low = latency.low if latency else None
    return {
        "name": column.name,
        "cases": column.cases,
        **share_row(column.share),
        "cost_usd": column.cost_usd,
        "latency_s": latency and latency.value,
        "latency_low_s": None if low is None else max(0.0, low),
        "latency_high_s": latency and latency.high,
    }
