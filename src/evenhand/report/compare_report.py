"""A comparison for people and for programs: a line for each metric, what changed, and what was left out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from evenhand.report.compared import Compared, ComparedRuns
from evenhand.report.comparison import could_show, points
from evenhand.report.words import clip, count, percent, safe
from evenhand.stats.paired import FEWEST

SCHEMA = "evenhand.compare/1"
CHANGES = 5
NAMED = 5
NAME = 44
COLORS = {"better": "#1a7f37", "worse": "#cf222e", "undecided": "#9a6700"}


def lines(comparison: ComparedRuns) -> list[str]:
    """The comparison as text: each metric's line, and what there is to know of it below, indented."""
    found: list[str] = []
    for result in comparison.results:
        found.append(
            f"{headline(result, comparison)}: {result.verdict}{because(result, comparison)}"
        )
        found += [f"  {line}" for line in _below(result)]
    if len(comparison.results) > 1:
        found.append(f"p-values are corrected for {len(comparison.results)} comparisons (Holm)")
    return found + list(comparison.notes)


def headline(result: Compared, comparison: ComparedRuns) -> str:
    """The metric, the difference with its interval, and over what."""
    unit = " points" if result.data.rates else ""
    if result.difference is None:
        return f"{_metric(result)}: nothing to compare"
    low, high = (amount(result, end) for end in (result.low, result.high))
    over = count(result.n, "case")
    if comparison.cluster:
        over += f" in {count(len(result.data.clusters), 'cluster')}"
    return (
        f"{_metric(result)}: {amount(result, result.difference)}{unit} [{low}, {high}] "
        f"over {over} (paired), {p_value(result.p)}"
    )


def amount(result: Compared, value: float) -> str:
    """A difference with its sign: in points for rates, otherwise in as many digits as the interval can tell apart."""
    if math.isinf(value):
        return "-∞" if value < 0 else "+∞"
    if result.data.rates:
        return f"{value * 100:+.1f}" if _narrow(result) else points(value)
    reach = (result.high - result.low) / 2
    scale = reach if 0 < reach < math.inf else abs(result.difference or 0) or 1
    digits = max(0 if scale >= 10 else 2, 1 - math.floor(math.log10(scale * 2)))
    text = f"{value:+,.{digits}f}"
    return text if text.strip("+-0.") else text[1:]  # nothing has no sign


def _narrow(result: Compared) -> bool:
    """Whether so much is known of a rate that tenths of a point say something."""
    return result.high - result.low < 0.05


def p_value(p: float) -> str:
    """A p-value for people.

    >>> p_value(0.00641), p_value(0.00001), p_value(1)
    ('p = 0.006', 'p < 0.001', 'p = 1')
    """
    return "p < 0.001" if p < 0.001 else "p = 1" if p == 1 else f"p = {p:.3f}"


def _metric(result: Compared) -> str:
    name = safe(result.metric)
    if not result.several:
        return name
    first, second = result.columns
    return f"{first if first == second else f'{first} → {second}'} · {name}"


def _plain(result: Compared, size: float) -> str:
    """A size without its sign, with its unit."""
    return amount(result, size).lstrip("+-") + (" points" if result.data.rates else "")


def because(result: Compared, comparison: ComparedRuns) -> str:
    """What the verdict rests on, in brackets after a space; empty where a difference was shown."""
    n, margin = result.n, comparison.margin
    if result.open:
        return f" ({count(len(result.errors), 'case')} in error could turn it)"
    if result.verdict == "undecided" and not n:
        return " (no case has a value in both)"
    groups = len(result.data.clusters)
    unknown = margin is None or math.isinf(
        result.low
    )  # of a rate an interval is known, and can decide
    if result.verdict == "undecided" and (n < FEWEST or (unknown and groups < FEWEST)):
        few = count(n, "case") if n < FEWEST else count(groups, "cluster")
        return f" ({few}: too few to say anything, it takes {FEWEST} and more)"
    if margin is not None:
        low, high = result.data.interval(0.9)
        least = high if result.lower else -low
        accepted = f"the margin is {_plain(result, margin)}"
        if result.verdict == "undecided":
            return f" (it may be {_plain(result, least)} worse, or not; {accepted})"
        if result.verdict == "non-inferior":
            most = "no worse at all" if least <= 0 else f"at most {_plain(result, least)} worse"
            return f" ({most}; {accepted})"
        return f" ({accepted})"
    if result.verdict in ("better", "worse"):
        return ""
    if result.smallest is None or result.data.rates:
        return f" ({could_show(n, result.smallest)})"
    if not result.smallest:
        return " (all cases scored the same in both)"
    return f" ({count(n, 'case')} could show {_plain(result, result.smallest)} or more)"


def _below(result: Compared) -> Iterator[str]:
    if result.first is not None and result.second is not None:
        gains = sum((change.difference > 0) != result.lower for change in result.changed)
        less = ", less is better" if result.lower else ""
        yield (
            f"{level(result, result.first)} → {level(result, result.second)}{less} · "
            f"{gains:,} better, {len(result.changed) - gains:,} worse, {result.alike:,} the same"
        )
    width = max((len(_short(c.name)) for c in result.changed[:CHANGES]), default=0)
    for change in result.changed[:CHANGES]:
        mark = "✓" if (change.difference > 0) != result.lower else "✗"
        yield (
            f"{mark} {_short(change.name):<{width}}  "
            f"{level(result, change.first)} → {level(result, change.second)}"
        )
    if len(result.changed) > CHANGES:
        yield f"  … and {len(result.changed) - CHANGES:,} more"
    for names, what in (
        (result.only_first, "in the first alone"),
        (result.only_second, "in the second alone"),
        (result.errors, "in error"),
        (result.other, "that it does not apply to, or that lack it"),
    ):
        if names:
            yield f"left out: {count(len(names), 'case')} {what}: {_list(names)}"
    if result.partial:
        yield f"{count(result.partial, 'trial')} in error left out of cases that have others"
    if result.judges is not None:
        told = (", ".join(side) or "nobody" for side in result.judges)
        yield "! not judged alike: {} in the first, {} in the second".format(*told)


def level(result: Compared, value: float) -> str:
    """A mean of one side."""
    if not result.data.rates:
        return f"{value:,.4g}"
    return f"{value * 100:.1f} %" if _narrow(result) and 0 < value < 1 else percent(value)


def _short(name: str) -> str:
    return clip(safe(name), NAME)


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(map(_short, names[:NAMED])) + more


def document(comparison: ComparedRuns) -> dict[str, Any]:
    """All of it as plain values; see `Comparison.document`."""
    return {
        "schema": SCHEMA,
        "first": comparison.first,
        "second": comparison.second,
        "verdict": comparison.verdict,
        "margin": comparison.margin,
        "cluster": comparison.cluster or None,
        "results": [_row(result, comparison) for result in comparison.results],
        "notes": list(comparison.notes),
    }


def _row(result: Compared, comparison: ComparedRuns) -> dict[str, Any]:
    return {
        "metric": result.metric,
        "columns": list(result.columns),
        "verdict": result.verdict,
        "because": because(result, comparison).strip(" ()") or None,
        "kind": "rate" if result.data.rates else "score",
        "better": "lower" if result.lower else "higher",
        "n": result.n,
        "clusters": len(result.data.clusters),
        "first": result.first,
        "second": result.second,
        "difference": result.difference,
        "low": _finite(result.low),
        "high": _finite(result.high),
        "p": result.p,
        "p_alone": result.p_alone,
        "smallest": result.smallest,
        "changed": [
            {
                "case": change.case,
                "name": change.name,
                "first": change.first,
                "second": change.second,
                "difference": change.difference,
            }
            for change in result.changed
        ],
        "same": result.alike,
        "left_out": {
            "only_first": list(result.only_first),
            "only_second": list(result.only_second),
            "errors": list(result.errors),
            "not_applicable": list(result.other),
        },
        "trials_in_error_of_cases_counted": result.partial,
        "open": result.open,
        "judges": None if result.judges is None else [list(side) for side in result.judges],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def html(comparison: ComparedRuns) -> str:
    """The comparison as a `div`, for a notebook; no script, no style sheet, all text escaped."""
    parts = [f"<div><p><b>{_text(comparison.first)} → {_text(comparison.second)}</b>: "]
    parts.append(f"{_colored(comparison.verdict)}</p><table><thead><tr>")
    heads = ("", "first", "second", "difference", "95 %", "cases", "p", "verdict")
    parts += [f"<th>{head}</th>" for head in heads]
    parts.append("</tr></thead><tbody>")
    for result in comparison.results:
        cells = ["–"] * 4
        if result.first is not None and result.second is not None:
            unit = " points" if result.data.rates else ""
            cells = [level(result, result.first), level(result, result.second)]
            cells.append(amount(result, result.second - result.first) + unit)
            cells.append(f"{amount(result, result.low)} to {amount(result, result.high)}")
        cells += [f"{result.n:,}", p_value(result.p).removeprefix("p = ").removeprefix("p ")]
        parts.append(f'<tr><th style="text-align:left">{_text(_metric(result))}</th>')
        parts += [f"<td>{_text(cell)}</td>" for cell in cells]
        parts.append(f"<td>{_colored(result.verdict)}</td></tr>")
    told = _text("\n".join(lines(comparison)))
    return "".join(parts) + f'</tbody></table><pre style="white-space:pre-wrap">{told}</pre></div>'


def _colored(word: str) -> str:
    color = COLORS.get(word)
    return f'<b style="color:{color}">{word}</b>' if color else f"<b>{word}</b>"


def _text(text: str) -> str:
    return escape(safe(text, multiline=True))
