"""A history for people and for programs: a line for each column of each run, and what changed between them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from evenhand.analysis.history.history import History, HistoryColumn, HistoryRun, RunLine
from evenhand.analysis.summaries.rates import share_row
from evenhand.analysis.trust.canaries import CanaryReport
from evenhand.analysis.trust.canary_document import CanaryJudge
from evenhand.core.document import Key, as_object, filled
from evenhand.core.record import Record
from evenhand.core.wording.ink import UNBOUND, Ink
from evenhand.core.wording.words import (
    columns,
    count,
    folded,
    interval,
    near,
    padded,
    paid,
    safe,
    seconds,
    share_within,
    short_id,
)
from evenhand.render.calibration_text import canary_sentences
from evenhand.stats.tallies import Share

SCHEMA = "evenhand.history/1"
BAR, SHORTEST = 26, 10
"""Columns of a terminal that the line from 0 to 1 takes, and where there is less room, at least."""
NAME = 24
"""Names that are longer are numbered, and told once."""
NUMBERS = 38
"""Columns that rate, interval, cost and latency take, with what is between them."""
HEAD = 30
"""Columns that a run's time and id take."""


class HistoryChange(Record, frozen=True, kw_only=True):
    """What `evenhand.history/1` says of a change."""

    kind: Annotated[str, Key("`judge`, `data`, `expectation`, `eval`, `prompt`, `model` or `code`")]
    text: Annotated[str, Key("what changed, for people")]


class HistoryColumnRow(Record, frozen=True, kw_only=True):
    """What `evenhand.history/1` says of a column."""

    name: Annotated[str, Key("as in the run's table; empty for the only column")]
    cases: Annotated[int, Key("with a verdict or an error", "cases")]
    rate: Annotated[
        float | None, Key("pass rate over cases", "share", null="no case, or errors leave it open")
    ]
    rate_least: Annotated[
        float | None, Key("what it is if all errors failed", "share", null="no case")
    ]
    rate_most: Annotated[
        float | None, Key("what it is if all errors passed", "share", null="no case")
    ]
    low: Annotated[float | None, Key("lower end of its 95 % interval", "share", null="no case")]
    high: Annotated[float | None, Key("upper end", "share", null="no case")]
    cost_usd: Annotated[
        float | None,
        Key(
            "what was paid for its trials, not what the cache saved",
            "US dollars",
            null="a price is not known",
        ),
    ]
    latency_s: Annotated[float | None, Key("mean over cases", "seconds", null="no model was asked")]
    latency_low_s: Annotated[
        float | None, Key("lower end of its 95 % interval", "seconds", null="it is not known")
    ]
    latency_high_s: Annotated[float | None, Key("upper end", "seconds", null="it is not known")]


class HistoryRunRow(Record, frozen=True, kw_only=True):
    """What `evenhand.history/1` says of a run."""

    run: Annotated[str, Key("its id")]
    file: Annotated[str, Key("its file")]
    title: Annotated[str, Key("what it is called")]
    started_at: Annotated[float, Key("", "seconds since 1970")]
    status: Annotated[
        str, Key("as in [`evenhand.run/1`](run-1.md); `interrupted` if it was killed")
    ]
    finished: Annotated[bool, Key("whether all its trials are settled")]
    trials: Annotated[int, Key("that are settled", "trials")]
    planned: Annotated[int, Key("that there are", "trials")]
    offline: Annotated[bool, Key("whether its replies came from a script")]
    cost_usd: Annotated[
        float | None, Key("what all its calls cost", "US dollars", null="a price is not known")
    ]
    tags: Annotated[list[str], Key("those of its config, and those that people gave it")]
    changes: Annotated[
        list[HistoryChange],
        Key("what is different from the run before it in this list; at most one of each kind"),
    ]
    columns: Annotated[
        list[HistoryColumnRow], Key("what it came to; empty for a run that didn't finish")
    ]
    canaries: Annotated[
        list[CanaryJudge] | None,
        Key(
            "what its judges said of canaries, without `history`",
            null="they weren't asked about any",
        ),
    ]


class HistoryLine(Record, frozen=True, kw_only=True):
    """What `evenhand.history/1` says of a line."""

    source: Annotated[
        str,
        Key(
            "the file or folder that the runs were made from; empty for plans made in code, which belong "
            "together by title"
        ),
    ]
    title: Annotated[str, Key("of the newest run")]
    earlier: Annotated[int, Key("older ones that `--last` left out", "runs")]
    runs: Annotated[list[HistoryRunRow], Key("oldest first")]


class HistoryFile(Record, frozen=True, kw_only=True):
    """What `evenhand.history/1` says of a file."""

    file: str
    problem: Annotated[str, Key("why it can't be read")]


class HistoryDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.history/1`."""

    schema: Annotated[str, Key("`evenhand.history/1`")]
    lines: Annotated[
        list[HistoryLine], Key("one for each config or set, the one with the newest run first")
    ]
    unreadable: Annotated[list[HistoryFile], Key("run files that can't be read")]


def lines(history: History, ink: Ink, width: int = UNBOUND) -> list[str]:
    """The history as text: each config or set with its runs, the oldest first."""
    text: list[str] = []
    for line in history.lines:
        text += [*([""] if text else []), *_of_line(line, ink, width)]
    for path, problem in history.unreadable:
        text += folded(f"! {safe(near(path))}: {safe(problem)}", width, "", "  ")
    return text


class _Layout(Record, frozen=True):
    """How a config's runs are set out.

    Attributes:
        labels: What its columns are called, by name.
        bar: How long the line from 0 to 1 is; 0 for none.
        beside: Whether time and id stand beside the numbers, and not in a line above them.
    """

    labels: Mapping[str, str]
    bar: int
    beside: bool

    @property
    def named(self) -> int:
        """Columns of a terminal that the columns' names take."""
        return max(map(columns, self.labels.values()), default=0)

    def row(self, head: tuple[str, str], name: str, cells: tuple[str, ...]) -> str:
        """A line for a column of a run, or the one above them all."""
        bar, rate, reach, cost, latency = cells
        started = f"{head[0]:<16}  {head[1]:<10}  " if self.beside else "  "
        named = f"{padded(name, self.named)}  " if self.named else ""
        drawn = f"{bar}  " if self.bar else ""
        row = f"{started}{named}{drawn}{rate:>7}  {reach:>9}  {cost:>8}  {latency:>8}"
        return row.rstrip()

    @property
    def heads(self) -> str:
        """The line above."""
        scale = "0 %" + "100 %".rjust(self.bar - 3)
        return self.row(("started", "run"), "", (scale, "rate", "95 %", "spent", "latency"))


def _layout(line: RunLine, width: int) -> _Layout:
    names = list(dict.fromkeys(column.in_full for run in line.runs for column in run.columns))
    labels = names
    if any(columns(name) > NAME for name in names):
        # A run with a single column has no name for it.
        numbers = iter(range(1, len(names) + 1))
        labels = [name and f"#{next(numbers)}" for name in names]
    called = dict(zip(names, labels, strict=True))
    least = _Layout(called, 0, beside=True)
    room = width - NUMBERS - (least.named + 2 if least.named else 0) - 2
    marks = max((columns(_marks(run)) for run in line.runs), default=0)
    for start, beside in ((HEAD + marks, True), (HEAD, True), (2, False)):
        if room - start >= SHORTEST:
            return _Layout(called, min(BAR, room - start), beside)
    return _Layout(called, 0, beside=False)


def _marks(run: HistoryRun) -> str:
    # Of a finished run, what it cost says so, unless that is known: a model may be its own.
    scripted = run.offline and not (run.finished and run.cost_usd is None)
    marks = ("scripted" * scripted, *(f"#{safe(tag)}" for tag in run.tags))
    return "".join(f"  {mark}" for mark in marks if mark)


def _of_line(line: RunLine, ink: Ink, width: int) -> Iterator[str]:
    title = safe(line.title)
    source = safe(near(line.source)) if line.source else ""
    where = f"  {source}" if source not in ("", ".") else ""
    if columns(title) + columns(where) <= width:
        yield f"{ink(title, 'bold')}{ink(where, 'dim')}"
    else:
        yield from (ink(part, "bold") for part in folded(title, width))
        yield from (ink(part, "dim") for part in folded(where, width, "", "  ", whole=True))
    if line.earlier:
        yield ink(f"… {count(line.earlier, 'earlier run')}", "dim")
    layout = _layout(line, width)
    for name, label in layout.labels.items():
        if label != name:
            yield from folded(f"{label} = {name}", width, "  ", "    ")
    yield ink(layout.heads, "dim")
    for run in line.runs:
        for one in run.changes:
            text = folded(f"┄ {one.kind}: {one.text}", width, "", "  ")
            yield from (ink(part, "yellow") for part in text)
        yield from _of_run(run, layout, width)
        if run.canaries is not None:
            yield from _of_canaries(run.canaries, ink, width)


def _of_canaries(report: CanaryReport, ink: Ink, width: int) -> Iterator[str]:
    """What each judge is right on, and who changed since the first check."""
    for key, text in zip(report.check.answers, canary_sentences(report), strict=True):
        drift = report.drift(key)
        alarming = drift is not None and drift.word in ("judge", "system")
        for part in folded(f"┄ {text}", width, "", "  "):
            yield ink(part, "yellow" if alarming else "dim")


def _of_run(run: HistoryRun, layout: _Layout, width: int) -> Iterator[str]:
    started = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.at))
    marks = _marks(run)
    head = (started, short_id(run.id))
    if not run.finished:
        word = "sample" if run.sample else run.status.replace("_", " ")
        status = "unfinished" if run.status == "finished" else word
        what = f"{status}: {run.trials:,} of {count(run.planned, 'trial')}"
        yield from folded(f"{head[0]}  {head[1]}  {what}{marks}", width, "", "  ")
        return
    if not layout.beside:
        yield from folded(f"{head[0]}  {head[1]}{marks}", width, "", "  ")
    for place, column in enumerate(run.columns):
        cost = paid(run.cost_usd, scripted=run.offline, calls=run.calls) if place == 0 else ""
        latency = seconds(column.latency and column.latency.value)
        row = layout.row(
            head if place == 0 else ("", ""),
            layout.labels[column.in_full],
            (*_cells(column, layout.bar), cost, latency),
        )
        if place or not layout.beside:
            yield row
        elif columns(row) + columns(marks) <= width:
            yield row + marks
        else:
            yield from (row, *folded(marks.strip(), width, "  "))


def _cells(column: HistoryColumn, bar: int) -> tuple[str, str, str]:
    share = column.share
    if share is None:
        return "·" * bar, "–", "–"
    return (
        _bar(share, bar) if bar else "",
        share_within(*share),
        interval(share.low, share.high),
    )


def _bar(share: Share, length: int) -> str:
    """The interval as a line from 0 to 1, and the rate on it; where errors leave it open, from end to end.

    >>> _bar(Share(0.5, 0.5, 0.25, 0.75), 26)
    '······┝━━━━━●━━━━━━┥······'
    """
    low, least, most, high = (
        min(length - 1, max(0, round(end * (length - 1))))
        for end in (share.low, share.least, share.most, share.high)
    )
    marks = ["·"] * length
    # In this order, so that the rate is what shows where the three meet.
    marks[low : high + 1] = "━" * (high + 1 - low)
    marks[low], marks[high] = "┝", "┥"
    marks[least : most + 1] = "●" * (most + 1 - least)
    return "".join(marks)


def document(history: History) -> dict[str, Any]:
    """The history as a JSON-ready dict, `evenhand.history/1`: what `evenhand runs history --json` prints."""
    return as_object(
        HistoryDocument(
            schema=SCHEMA,
            lines=[
                filled(HistoryLine, line, runs=[_run(run) for run in line.runs])
                for line in history.lines
            ],
            unreadable=[
                HistoryFile(file=str(path), problem=problem) for path, problem in history.unreadable
            ],
        )
    )


def _run(run: HistoryRun) -> HistoryRunRow:
    return filled(
        HistoryRunRow,
        run,
        run=run.id,
        file=str(run.path),
        started_at=run.at,
        tags=list(run.tags),
        changes=[filled(HistoryChange, one) for one in run.changes],
        columns=[_column(column) for column in run.columns],
        canaries=None if run.canaries is None else run.canaries.rows(),
    )


def _column(column: HistoryColumn) -> HistoryColumnRow:
    latency = column.latency
    low = latency.low if latency else None
    return HistoryColumnRow(
        name=column.name,
        cases=column.cases,
        **share_row(column.share),
        cost_usd=column.cost_usd,
        latency_s=latency and latency.value,
        # The interval of a mean can reach below 0, and no latency does.
        latency_low_s=None if low is None else max(0.0, low),
        latency_high_s=latency and latency.high,
    )
