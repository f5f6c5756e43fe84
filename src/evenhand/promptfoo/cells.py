"""CSV columns and cells that say something about the test: `__expected`, `__threshold`, `__metadata:…`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evenhand.promptfoo.assertions import KNOWN
from evenhand.promptfoo.findings import Findings, Place, did_you_mean

_EXPECTED = re.compile(r"__expected(\d*)")
_CONFIG = re.compile(r"__config:(__expected\d*):(\w+)")
_TYPED = re.compile(
    f"((?:not-)?({'|'.join(re.escape(name) for name in sorted(KNOWN, key=len, reverse=True))}))"
    r"(?:\((\d*\.?\d+)\))?(?::(.*))?",
    re.DOTALL,
)
_DEFAULT_THRESHOLD = {"similar": 0.8, **dict.fromkeys(
    ("answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance", "levenshtein",
     "perplexity", "perplexity-score", "rouge-n"), 0.75)}  # fmt: skip
"""promptfoo's own; its 0.75 for `latency` and `cost` is left out, since nobody means 0.75 ms."""
_NAMED = {"__description": "description", "__prefix": "prefix", "__suffix": "suffix", "__providerOutput": "providerOutput"}
_MAGIC = (*_NAMED, "__expected", "__metric", "__threshold")


def assertion_from_cell(text: str) -> dict[str, Any]:
    """The assertion that a cell stands for: `contains:text`, `not-regex:a+`, `latency(500)`, `python:…`, or, when it is
    none of these, that the output equals it."""
    kind, colon, rest = text.partition(":")
    if colon and kind in ("javascript", "fn", "eval"):
        return {"type": "javascript", "value": rest.strip()}
    if colon and kind in ("grade", "llm-rubric"):
        return {"type": "llm-rubric", "value": rest.strip()}
    if colon and kind == "python":
        return {"type": "python", "value": rest.strip()}
    if text.startswith("file://"):
        is_python = ".py" in text.rpartition("/")[2]
        return {"type": "python" if is_python else "javascript", "value": text.strip()}
    match = _TYPED.fullmatch(text)
    if match is None:
        return {"type": "equals", "value": text}
    written, type_, threshold, value = match.groups()
    found: dict[str, Any] = {"type": written}
    if value is not None:
        found["value"] = value.strip()
    if threshold is None:
        threshold = _DEFAULT_THRESHOLD.get(type_)
    if threshold is not None:
        found["threshold"] = float(threshold)
    return found


def test_from_row(row: Mapping[str, str], number: int, place: Place, findings: Findings) -> dict[str, Any]:
    """The test that a CSV row stands for, in the shape that a config writes it.

    Args:
        number: The row's, from 1, for its description.
    """
    variables: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    cells: dict[str, str] = {}
    thresholds: dict[str, str] = {}
    options: dict[str, Any] = {}
    test: dict[str, Any] = {"vars": variables, "description": f"Row #{number}"}
    metric = ""
    for name, cell in row.items():
        if not name.startswith("_"):
            variables[name] = cell
        elif _EXPECTED.fullmatch(name):
            if cell.strip():
                cells[name] = cell.strip()
        elif name in _NAMED:
            if cell:
                (options if name in ("__prefix", "__suffix") else test)[_NAMED[name]] = cell
        elif name == "__metric":
            metric = cell
        elif name == "__threshold":
            if cell.strip():
                test["threshold"] = cell
        elif name.startswith("__metadata:"):
            _metadata(name.removeprefix("__metadata:"), cell, metadata)
        elif (match := _CONFIG.fullmatch(name)) is not None:
            if match[2] != "threshold":
                findings.problem(place, f"column '{name}': only 'threshold' can be set for an assertion")
            elif cell.strip():
                thresholds[match[1]] = cell
        else:
            variables[name] = cell
            near = did_you_mean(name if name.startswith("__") else f"_{name}", _MAGIC)
            findings.hint(Place(place.file, 1), f"column '{name}' is taken for a variable", near)
    asserts: list[dict[str, Any]] = []
    for name, cell in cells.items():
        assertion = assertion_from_cell(cell)
        threshold = thresholds.get(name) or (thresholds.get("__expected1") if name == "__expected" else None)
        if threshold is not None:
            assertion["threshold"] = threshold
        if metric:
            assertion["metric"] = metric
        asserts.append(assertion)
    if asserts:
        test["assert"] = asserts
    if metadata:
        test["metadata"] = metadata
    if options:
        test["options"] = options
    return test


def _metadata(key: str, cell: str, metadata: dict[str, Any]) -> None:
    if key.endswith("[]"):
        parts = re.split(r"(?<!\\),", cell)
        metadata[key[:-2]] = [part.strip().replace("\\,", ",") for part in parts if part.strip()]
    elif cell:
        metadata[key] = cell
