"""A run as a piece of HTML, for a notebook: the verdict, the table, what failed and why, what the data can say.

It stands alone: no script, no style sheet, no address. All text is escaped, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from evenhand.analysis.summaries.grid import Grid
from evenhand.analysis.summaries.rates import HEADS, rate_cells, unknown_notes
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.core.wording.ink import Ink
from evenhand.core.wording.words import (
    calls_of,
    outcomes_of,
    safe,
    seconds,
    short_id,
    spent,
    tokens,
)
from evenhand.render.failures import failure_lines
from evenhand.render.findings import findings
from evenhand.render.heading import heading_of
from evenhand.render.judged_rates import judged_or_damaged
from evenhand.render.requirements import requirement_lines
from evenhand.render.run_warnings import usage_line, warnings
from evenhand.render.tag_tables import classification_lines, slice_lines
from evenhand.store.runfile import RunFile

WIDTH = 110
_COLORS = {"passed": "#1a7f37", "failed": "#cf222e", "undecided": "#9a6700"}


def html(run: RunFile) -> str:
    """The run as a `div`."""
    return "".join(_parts(run))


def _parts(run: RunFile) -> Iterator[str]:
    meta, totals = run.meta, run.totals()
    word = verdict_of(run, totals)
    facts = outcomes_of(totals, meta.planned)
    if totals.calls:
        facts.append(calls_of(totals.calls, totals.cached))
        if totals.tokens_in or totals.tokens_out:
            facts.append(tokens(totals.tokens_in, totals.tokens_out))
        cost = run.spend().cost_usd
        facts.append(spent(cost, scripted=meta.is_scripted))
    # How long the whole run took says nothing of some of its trials.
    if meta.took_s is not None and not run.narrowed:
        facts.append(seconds(meta.took_s))
    size = (meta.variants, meta.case_count, meta.repeats, meta.planned)
    title = heading_of(meta.title, *size, 1_000)
    yield f'<div><p><b>{_text(title)}</b>: <b style="color:{_COLORS[word]}">{word}</b> · '
    yield f"{_text(' · '.join(facts))} · run <code>{short_id(meta.id)}</code></p>"
    if totals.trials:
        grid = Grid(run)
        yield from _table(run, grid)
        used = usage_line(run)
        lines = [] if run.by_outcome else requirement_lines(run, grid.names)
        lines += judged_or_damaged(run, grid.names, WIDTH)
        lines += slice_lines(run, grid.names, WIDTH)
        lines += classification_lines(run, grid.names, WIDTH)
        lines += failure_lines(run, grid, WIDTH, Ink(False)) + findings(run, grid)
        lines += [used] if used else []
        yield from _block(lines + [f"! {text}" for text in warnings(run)])
    yield "</div>"


def _table(run: RunFile, grid: Grid) -> Iterator[str]:
    yield "<table><thead><tr>"
    yield from (f"<th>{head}</th>" for head in HEADS)
    yield "</tr></thead><tbody>"
    rows = list(rate_cells(run, grid.names))
    for name, *cells in rows:
        yield f'<tr><th style="text-align:left">{_text(name)}</th>'
        yield from (f"<td>{_text(cell)}</td>" for cell in cells)
        yield "</tr>"
    yield "</tbody></table>"
    for note in unknown_notes(cell for _, *cells in rows for cell in cells):
        yield f"<p>{_text(note)}</p>"


def _block(lines: list[str]) -> Iterator[str]:
    if lines:
        text = "\n".join(line.removeprefix("  ") for line in lines)
        yield f'<pre style="white-space:pre-wrap">{_text(text)}</pre>'


def _text(text: str) -> str:
    return escape(safe(text, multiline=True))
