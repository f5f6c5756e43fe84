"""A run as Markdown, for a pull request or a CI summary: the verdict, the table, what failed and why, the comparison.

Names and texts that somebody else wrote stand in code spans and code blocks only: nothing in them is a link, a heading,
a mention or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TextIO

from evenhand.analysis.summaries.grid import Grid
from evenhand.analysis.summaries.rates import HEADS, rate_cells, unknown_notes
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.core.run import RunMeta, Totals
from evenhand.core.wording.ink import Ink
from evenhand.core.wording.words import (
    calls_of,
    count,
    outcomes_of,
    put,
    safe,
    seconds,
    short_id,
    spent,
    tokens,
)
from evenhand.render.failures import failure_lines
from evenhand.render.findings import findings
from evenhand.render.judged_rates import judged_or_damaged
from evenhand.render.requirements import requirement_lines
from evenhand.render.run_warnings import usage_line, warnings
from evenhand.render.verbose import Verbose
from evenhand.store.labels.label import standing
from evenhand.store.runfile import RunFile

WIDTH = 100
IN_FULL = 20
_MARKS = {"passed": "✓", "failed": "✗", "undecided": "?"}


def write_markdown(run: RunFile, out: TextIO) -> int:
    """Writes the run; how many trials there were."""
    meta, totals = run.meta, run.totals()
    word = verdict_of(run, totals)
    facts = [f"**{word}**", *outcomes_of(totals, meta.planned)]
    if totals.calls:
        cost = run.spend().cost_usd
        facts += [
            calls_of(totals.calls, totals.cached),
            *([tokens(*both)] if any(both := (totals.tokens_in, totals.tokens_out)) else []),
            spent(cost, scripted=meta.is_scripted),
        ]
    lines = [f"## {_MARKS[word]} {code(meta.title)}", "", " · ".join(facts)]
    if totals.trials:
        grid = Grid(run)
        lines += ["", *_table(run, grid)]
        failed = [line.removeprefix("  ") for line in failure_lines(run, grid, WIDTH, Ink(False))]
        used = usage_line(run)
        required = [] if run.by_outcome else requirement_lines(run, grid.names)
        judged = [line.strip() for line in judged_or_damaged(run, grid.names, 10 * WIDTH)]
        for block in (
            judged,
            required,
            failed,
            findings(run, grid),
            [used] if used else [],
            warnings(run),
        ):
            if block:
                lines += ["", *_block(block)]
        lines += _in_full(run, totals)
    took = "" if run.narrowed else _when(meta)
    lines += ["", f"run `{short_id(meta.id)}`{took}"]
    put(out, "\n".join(lines) + "\n")
    return totals.trials


def _when(meta: RunMeta) -> str:
    """How long it took, which is not known of every run that another tool recorded."""
    if meta.took_s is not None:
        return f", in {seconds(meta.took_s)}"
    return "" if meta.status == "finished" else ", not finished"


def _table(run: RunFile, grid: Grid) -> Iterator[str]:
    yield row(HEADS)
    yield row(["---"] + ["---:"] * (len(HEADS) - 1))
    rows = list(rate_cells(run, grid.names))
    for name, *cells in rows:
        # GitHub divides cells at a bar even within a code span.
        yield row([code(name).replace("|", "\\|"), *cells])
    for note in unknown_notes(cell for _, *cells in rows for cell in cells):
        yield from ("", note)


def _in_full(run: RunFile, totals: Totals) -> Iterator[str]:
    """The first trials that failed or are in error, each with all of its expectations, folded away."""
    labels = standing(run.labels())
    verbose = Verbose(run.meta.variants, run.meta.repeats, WIDTH, Ink(False), labels)
    trials = [*run.matching("fail", IN_FULL), *run.matching("error", IN_FULL)]
    lines = [line.removeprefix("  ") for trial in trials for line in [*verbose.lines(trial), ""]]
    if lines:
        every = totals.failed + totals.errors
        what = (
            f"{'the first ' if every > len(trials) else ''}{len(trials)} of {count(every, 'trial')}"
        )
        yield from ("", "<details>", f"<summary>{what} that did not pass</summary>", "")
        yield from _block(lines[:-1])
        yield from ("", "</details>")


def row(cells: Sequence[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


def code(text: str) -> str:
    """Foreign text as a code span, in more backticks than it has in a row itself."""
    text = safe(text) or "–"
    ticks = "`" * (_longest(text) + 1)
    # A backtick at an end would join the fence; Markdown takes one space away on each side.
    gap = " " if "`" in (text[0], text[-1]) else ""
    return f"{ticks}{gap}{text}{gap}{ticks}"


def _block(lines: Sequence[str]) -> list[str]:
    ticks = "`" * max(3, 1 + max(_longest(line) for line in lines))
    return [f"{ticks}text", *lines, ticks]


def _longest(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
