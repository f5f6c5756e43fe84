"""A comparison as HTML, for notebooks."""

from __future__ import annotations

from html import escape

from evenhand.analysis.comparison.comparison_results import ComparedRuns
from evenhand.core.wording.words import safe
from evenhand.render.comparison import (
    amount,
    difference,
    level,
    lines,
    metric_name,
    p_value,
    pair_name,
)

COLORS = {"better": "#1a7f37", "worse": "#cf222e", "undecided": "#9a6700"}


def html(comparison: ComparedRuns) -> str:
    """The comparison as a `div`, for a notebook; no script, no style sheet, all text escaped."""
    parts = [f"<div><p><b>{_text(comparison.first)} → {_text(comparison.second)}</b>: "]
    parts.append(f"{_colored(comparison.verdict)}</p><table><thead><tr>")
    heads = ("", "first", "second", "difference", "95 %", "cases", "p", "verdict")
    parts += [f"<th>{head}</th>" for head in heads]
    parts.append("</tr></thead><tbody>")
    pairs = {result.columns: pair_name(result.columns) for result in comparison.results}
    for result in comparison.results:
        cells = ["–"] * 4
        if result.first_range and result.second_range and result.difference_range:
            unit = " points" if result.data.rates else ""
            cells = [level(result, result.first_range), level(result, result.second_range)]
            cells.append(difference(result, result.difference_range) + unit)
            cells.append(f"{amount(result, result.low)} to {amount(result, result.high)}")
        cells += [f"{result.n:,}", p_value(result.p).removeprefix("p = ").removeprefix("p ")]
        parts.append(f'<tr><th style="text-align:left">{_text(metric_name(result, pairs))}</th>')
        parts += [f"<td>{_text(cell)}</td>" for cell in cells]
        parts.append(f"<td>{_colored(result.verdict)}</td></tr>")
    details = _text("\n".join(lines(comparison)))
    return (
        "".join(parts) + f'</tbody></table><pre style="white-space:pre-wrap">{details}</pre></div>'
    )


def _colored(word: str) -> str:
    color = COLORS.get(word)
    return f'<b style="color:{color}">{word}</b>' if color else f"<b>{word}</b>"


def _text(text: str) -> str:
    return escape(safe(text, multiline=True))
