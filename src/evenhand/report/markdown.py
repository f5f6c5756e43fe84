"""A run as Markdown, for a pull request or a CI summary: the verdict, the table, what failed and why, the comparison.

Names and texts that somebody else wrote stand in code spans and code blocks only: nothing in them is a link, a heading,
a mention or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TextIO

from evenhand.core.run import verdict
from evenhand.report.comparison import sentences
from evenhand.report.failures import failure_lines
from evenhand.report.grid import Grid
from evenhand.report.ink import Ink
from evenhand.report.words import (
    count,
    interval,
    money,
    percent,
    put,
    safe,
    seconds,
    short_id,
)
from evenhand.stats.interval import wilson_of_clusters
from evenhand.store.runfile import RunFile

WIDTH = 100
_MARKS = {"passed": "✓", "failed": "✗", "undecided": "?"}


def write_markdown(run: RunFile, out: TextIO) -> int:
    """Writes the run; how many trials there were."""
    meta, totals = run.meta, run.totals()
    word = verdict(totals, meta.planned, meta.pass_rate)
    known = totals.passed + totals.failed
    facts = [f"**{word}**", f"{totals.passed:,} of {known:,} passed"]
    if totals.errors:
        facts.append(count(totals.errors, "error"))
    if totals.not_applicable:
        facts.append(f"{totals.not_applicable:,} not applicable")
    if meta.planned > totals.trials:
        facts.append(f"{meta.planned - totals.trials:,} not run")
    if totals.calls:
        cost = run.spend().cost_usd
        facts += [
            count(totals.calls, "call"),
            "cost not known" if cost is None else money(cost),
        ]
    lines = [f"## {_MARKS[word]} {_code(meta.title)}", "", " · ".join(facts)]
    if totals.trials:
        grid = Grid(run)
        lines += ["", *_table(run, grid)]
        failed = [line.removeprefix("  ") for line in failure_lines(run, grid, WIDTH, Ink(False))]
        for block in (failed, sentences(grid)):
            if block:
                lines += ["", *_block(block)]
    lines += ["", f"run `{short_id(meta.id)}`, {_when(meta.finished_at, meta.created_at)}"]
    put(out, "\n".join(lines) + "\n")
    return totals.trials


def _when(finished_at: float | None, created_at: float) -> str:
    return "not finished" if finished_at is None else f"in {seconds(finished_at - created_at)}"


def _table(run: RunFile, grid: Grid) -> Iterable[str]:
    heads = ["", "passed", "rate", "95 %", "score", "latency", "cost", "errors"]
    yield _row(heads)
    yield _row(["---"] + ["---:"] * (len(heads) - 1))
    for name, t, tallies, (score, latency) in zip(
        grid.names, grid.totals, grid.passed, run.means(), strict=True
    ):
        known = t.passed + t.failed
        yield _row(
            [
                _code(name).replace("|", "\\|"),
                f"{t.passed:,}/{known:,}",
                percent(t.passed / known) if known else "–",
                interval(*wilson_of_clusters(list(tallies.values()))) if known else "–",
                "–" if score is None else f"{score:.2f}",
                seconds(latency),
                money(t.cost_usd),
                f"{t.errors:,}",
            ]
        )


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    """Foreign text as a code span, in more backticks than it has in a row itself."""
    text = safe(text) or "–"
    ticks = "`" * (_longest(text) + 1)
    gap = " " if "`" in (text[0], text[-1]) else ""
    return f"{ticks}{gap}{text}{gap}{ticks}"


def _block(lines: Sequence[str]) -> list[str]:
    ticks = "`" * max(3, 1 + max(_longest(line) for line in lines))
    return [f"{ticks}text", *lines, ticks]


def _longest(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
