"""One settled expectation for people, whole: what was expected, the number and its bounds, why, and what was kept."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.analysis.summaries.marks import UNSURE
from evenhand.core.score import Outcome
from evenhand.core.wording.bounds import as_written, beside
from evenhand.core.wording.ink import Ink
from evenhand.core.wording.words import clip, columns, folded, number, safe
from evenhand.store.labels.label import Label

REASON_LINES = 12
KEPT_LINES = 3
EMPTY = '""'
"""What stands beside a name that an empty text was kept under."""

_WORDS = {"error": "error", "not_applicable": "not applicable"}
_OF_JUDGES = ("judge", "prompt", "confidence")
_SHOWN_ELSEWHERE = frozenset(
    {*_OF_JUDGES, "instrument", "threshold", "warning", "suspect"}
    | {"reasoning", "passed", "score", "components", "ranked"}
)


def outcome_lines(outcome: Outcome, width: int, ink: Ink, indent: str = "  ") -> list[str]:
    """The lines of one expectation.

    Args:
        ink: For the marks.
        indent: Before each line.
    """
    inner = indent + "    "
    head = wrapped(_head(outcome), width - 2, indent, KEPT_LINES)
    lines = [f"{indent}{ink.mark(outcome.outcome)} {head[0].removeprefix(indent)}"]
    lines += [f"  {line}" for line in head[1:]]
    if outcome.reason:
        lines += wrapped(outcome.reason, width, inner, REASON_LINES)
    if outcome.hint:
        lines += wrapped(outcome.hint, width, inner, KEPT_LINES)
    lines += _components(outcome, width, ink, inner)
    metadata = outcome.metadata
    for name in ("warning", "suspect"):
        if metadata.get(name):
            notice = ("worth a look: " if name == "suspect" else "") + text_of(metadata[name])
            lines += [
                ink(line, "yellow") for line in wrapped(f"! {notice}", width, inner, KEPT_LINES)
            ]
    judged = " · ".join(
        f"{name} {text_of(metadata[name])}" for name in _OF_JUDGES if name in metadata
    )
    if judged:
        lines += [ink(line, "dim") for line in wrapped(judged, width, inner, KEPT_LINES)]
    for name, value in _kept(outcome):
        lines += [
            ink(line, "dim")
            for line in wrapped(
                f"{safe(str(name))}  {text_of(value) or EMPTY}", width, inner, KEPT_LINES
            )
        ]
    return lines


def titled(mark: str, name: str, details: str, width: int, ink: Ink, color: str = "") -> list[str]:
    """The heading of a trial: its mark, its name in as many lines as it takes, and the details beside or below it.

    Args:
        mark: Its mark, with what it is indented by.
        name: In full.
        details: What is told beside it, if there is room.
        ink: For the name, and the details.
        color: The details' colour.
    """
    indent = " " * (len(mark) - len(mark.lstrip()) + 2)
    parts = folded(name, width, indent)
    if len(parts) > REASON_LINES:
        parts = [*parts[: REASON_LINES - 1], clip("".join(parts[REASON_LINES - 1 :]), width)]
    lines = [ink(part.strip(), "bold") for part in parts]
    lines = [f"{mark} {lines[0]}", *(f"{indent}{line}" for line in lines[1:])]
    if not details:
        return lines
    if columns(indent) + columns(name) + 3 + columns(details) <= width:
        return [f"{lines[0]}   {ink(details, color)}"]
    return [*lines, *(ink(line, color) for line in folded(details, width, indent + "  "))]


def label_lines(labels: Sequence[Label], width: int, indent: str) -> list[str]:
    """What people say of a trial, each with whose it is; `labels` are those that count."""
    lines: list[str] = []
    for label in labels:
        value = label.value
        wording = {
            "verdict": f"labelled {value}",
            "score": f"rated {value:g} of 5" if isinstance(value, float | int) else "",
            "note": f"note: {value}",
            "star": "starred",
            "code": f"failure code: {value}",
            "dataset": f"dataset: {value}",
            "preference": f"{value}",
        }[label.field]
        if label.metric:
            wording = f"{label.metric}: {wording}"
        by = f" ({label.author})" if label.author else ""
        lines += wrapped(wording + by, width, indent, REASON_LINES)
    return lines


def unsure(outcome: Outcome) -> bool:
    """Whether a judge said that it is not sure; of a jury, any of them."""
    answers: list[Any] = [outcome.metadata]
    jury = outcome.metadata.get("jury")
    if isinstance(jury, list):
        answers += jury
    return any(
        isinstance(answer, Mapping) and str(answer.get("warning", "")).startswith(UNSURE)
        for answer in answers
    )


CUT = "characters in all)"
"""How the line ends that stands for what was cut."""


def wrapped(text: str, width: int, indent: str, most: int) -> list[str]:
    """Foreign text in lines of this width, its own line breaks kept; cut, and its length told, where there are more."""
    start = text[: 4 * (most + 1) * width]  # a line takes no more of a text that isn't all spaces
    lines: list[str] = []
    for line in safe(start, multiline=True).split("\n"):
        # A tab counts as one character, and takes up to eight columns.
        lines += folded(line.expandtabs(), width, indent) if line.strip() else [""]
        if len(lines) > most:
            break
    if len(lines) > most or len(start) < len(text):
        return [*lines[:most], f"{indent}… ({len(text):,} {CUT}"]
    return lines


def text_of(value: object) -> str:
    """A value as one text for people: text as it is, names and values of a dict, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        items = sorted(value.items(), key=lambda item: item[0] == "reasoning")  # the longest last
        return " · ".join(f"{name} {text_of(item)}" for name, item in items)
    return json.dumps(value, ensure_ascii=False, default=str)


def _head(outcome: Outcome) -> str:
    """The label, the number, and what decides."""
    text = safe(outcome.name) or "(no label)"
    score = outcome.score
    bounded = outcome.at_least is not None or outcome.at_most is not None
    if score is not None and (bounded or score != (outcome.outcome == "pass")):
        text += f"  {beside(score, outcome.at_least, outcome.at_most, digits=4)}"
    if outcome.outcome in _WORDS:
        text += f"  {_WORDS[outcome.outcome]}"
    by: list[str] = []
    if outcome.at_least is not None:
        by.append(f"at least {as_written(outcome.at_least)}")
    if outcome.at_most is not None:
        by.append(f"at most {as_written(outcome.at_most)}")
    if outcome.weight != 1:
        by.append(f"weight {number(outcome.weight)}")
    return text + (f"  ({', '.join(by)})" if by else "")


def _components(outcome: Outcome, width: int, ink: Ink, indent: str) -> Iterator[str]:
    parts = outcome.metadata.get("components")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, Mapping):
            mark = ink.mark("pass" if part.get("pass") else "fail")
            yield f"{indent}{mark} {clip(safe(str(part.get('reason') or '')), width - 10)}"


def _kept(outcome: Outcome) -> Iterator[tuple[str, object]]:
    """What the user and the scorer attached, without what stands elsewhere already; what is nested in several lines."""
    for name, value in outcome.metadata.items():
        if name in _SHOWN_ELSEWHERE and (
            name != "reasoning" or not value or str(value) in outcome.reason
        ):
            continue
        if name == "why" and isinstance(value, str) and value in outcome.reason:
            continue
        if name in ("step", "steps") and outcome.reason:
            continue  # places for programs; people are told with the reason
        if isinstance(value, Mapping):  # what the user attached may be called like one of its parts
            yield from (
                (f"{name}.{part}" if part in outcome.metadata else part, of)
                for part, of in value.items()
            )
        elif isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value):
            yield from ((f"{name} {i}", v) for i, v in enumerate(value, 1))
        else:
            yield name, value
