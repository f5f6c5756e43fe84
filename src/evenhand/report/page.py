"""A run as one page of HTML to be looked at and passed on: no scripts, nothing loaded from anywhere.

Whatever somebody else wrote is escaped, and the page itself forbids scripts: an answer that is HTML is shown as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import TextIO

from evenhand.core.run import TrialResult, verdict
from evenhand.core.score import Outcome
from evenhand.report.document import writer
from evenhand.report.grid import column_names
from evenhand.report.promptfoo_table import tests_of
from evenhand.report.rates import HEADS, rate_cells
from evenhand.report.words import count, money, number, safe, seconds, short_id
from evenhand.store.runfile import RunFile

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --pass: #1a7f37; --fail: #c93c37; --error: #9a6700; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 110rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; }
.facts { margin: .25rem 0 1.5rem; opacity: .8; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin-bottom: 2rem; }
th, td { border: 1px solid var(--line); padding: .4rem .6rem; text-align: left; vertical-align: top; }
th { position: sticky; top: 0; background: Canvas; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { font: inherit; margin: 0; max-width: 45rem; overflow-wrap: anywhere; white-space: pre-wrap; }
.long { max-height: 12rem; overflow-y: auto; }
.pass { color: var(--pass); } .fail { color: var(--fail); } .error { color: var(--error); }
details { margin-top: .3rem; } summary { cursor: pointer; } ul { margin: .2rem 0; padding-left: 1.2rem; }
"""
_MARKS = {"pass": "✓", "fail": "✗", "error": "!", "not_applicable": "–"}
_LONG = 600


def write_html(run: RunFile, out: TextIO) -> int:
    """Writes the run, a test at a time; how many trials there were."""
    meta, totals = run.meta, run.totals()
    line = writer(out)
    word = verdict(totals, meta.planned, meta.pass_rate)
    title = _text(meta.title or "evenhand")
    line('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n')
    line(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    )
    line('<meta name="viewport" content="width=device-width">\n')
    line(f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n")
    facts = [word, f"{totals.passed:,} of {totals.passed + totals.failed:,} passed"]
    facts += [count(totals.errors, "error")] if totals.errors else []
    facts += [f"{meta.planned - totals.trials:,} not run"] if meta.planned > totals.trials else []
    facts.append(f"run {short_id(meta.id)}")
    line(f'<p class="facts">{_text(" · ".join(facts))}</p>\n')
    names = [name or meta.title for name in column_names(meta.variants)]
    for text in _summary(run, names):
        line(text)
    variables: dict[str, None] = {}
    for trial in run.trials():
        variables.update(dict.fromkeys(trial.vars))
    heads = "".join(f"<th>{_text(name)}</th>" for name in ("test", *variables, *names))
    line(f'<div class="scroll"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n')
    written = 0
    for trials in tests_of(run):
        line(_row(trials, list(variables), len(names), repeated=meta.repeats > 1))
        written += len(trials)
    line("</tbody>\n</table></div>\n</body>\n</html>\n")
    return written


def _summary(run: RunFile, names: Sequence[str]) -> Iterator[str]:
    yield "<table>\n<thead><tr>" + "".join(f"<th>{head}</th>" for head in HEADS) + "</tr></thead>\n"
    for name, *cells in rate_cells(run, names):
        numbers = "".join(f'<td class="number">{_text(cell)}</td>' for cell in cells)
        yield f"<tr><th>{_text(name)}</th>{numbers}</tr>\n"
    yield "</table>\n"


def _row(
    trials: Sequence[TrialResult], variables: Sequence[str], columns: int, *, repeated: bool
) -> str:
    first = trials[0]
    name = first.description or first.case
    if repeated:
        name += f" (repeat {first.repeat + 1})"
    cells = {trial.variant: trial for trial in trials}
    parts = [f"<td>{_text(name)}</td>"]
    parts += [f"<td>{_value(first.vars.get(variable))}</td>" for variable in variables]
    parts += [_cell(cells.get(column)) for column in range(columns)]
    return f"<tr>{''.join(parts)}</tr>\n"


def _cell(trial: TrialResult | None) -> str:
    if trial is None:
        return "<td>not run</td>"
    score = "" if trial.score is None else f" {number(trial.score)}"
    said = (
        f'<strong class="{trial.outcome}">{_MARKS[trial.outcome]} {trial.outcome}{score}</strong>'
    )
    reason = trial.error.message if trial.error else trial.reason
    why = f"<pre>{_text(reason)}</pre>" if reason and trial.outcome != "pass" else ""
    asked = "".join(_outcome(outcome) for outcome in trial.outcomes)
    more = f"<ul>{asked}</ul>" if asked else ""
    prompt = f"<p>prompt</p><pre>{_text(trial.prompt)}</pre>" if trial.prompt else ""
    spent = " · ".join(filter(None, [seconds(trial.latency_s), money(trial.cost_usd)]))
    details = f"<details><summary>{_text(spent)}</summary>{more}{prompt}</details>"
    return f"<td>{said}{why}{_value(trial.output)}{details}</td>"


def _outcome(outcome: Outcome) -> str:
    score = "" if outcome.score is None else f" {number(outcome.score)}"
    why = f": {outcome.reason}" if outcome.reason else ""
    mark = f'<span class="{outcome.outcome}">{_MARKS[outcome.outcome]}</span>'
    return f"<li>{mark} {_text(outcome.name + score + why)}</li>"


def _value(value: object) -> str:
    if value is None or value == "":
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    kind = ' class="long"' if len(text) > _LONG else ""
    return f"<pre{kind}>{_text(text)}</pre>"


def _text(text: str) -> str:
    return escape(safe(text, multiline=True))
