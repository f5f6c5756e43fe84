"""CSV columns and cells that say something about the test: `__expected`, `__threshold`, `__metadata:…`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from evenhand.core.names import did_you_mean, nearest
from evenhand.doors.assertions.kinds import KNOWN
from evenhand.languages.documents.findings import Findings, Place

_EXPECTED = re.compile(r"__expected(\d*)")
_ALIAS = {"__expected": "__expected1", "__expected1": "__expected"}
"""Two names of the first assertion of a row: one stands for the other where only one is a column."""
_CONFIG = re.compile(r"__config:(__expected\d*):(\w+)")
_TYPED = re.compile(
    # The longest first: some types begin with the whole name of another.
    f"((?:not-)?({'|'.join(re.escape(name) for name in sorted(KNOWN, key=len, reverse=True))}))"
    r"(?:\((\d*\.?\d+)\))?(?::(.*))?",
    re.DOTALL,
)
_DEFAULT_THRESHOLD = {"similar": 0.8, **dict.fromkeys(
    ("answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance", "levenshtein",
     "perplexity", "perplexity-score", "rouge-n"), 0.75)}  # fmt: skip
"""promptfoo's own; its 0.75 for `latency` and `cost` is left out, since nobody means 0.75 ms."""
_NAMED = {
    "__description": "description",
    "__metric": "metric",
    "__prefix": "prefix",
    "__providerOutput": "providerOutput",
    "__suffix": "suffix",
    "__threshold": "threshold",
}
_OPTIONS = frozenset({"__prefix", "__suffix"})
_BEGINS = re.compile(r"(?:not-)?([a-z][a-z-]{3,30})(?:\([^)]*\))?:(?! )")
_MAGIC = (*_NAMED, "__expected")
_COMMA = re.compile(r"(?<!\\),")


def assertion_from_cell(text: str) -> dict[str, Any]:
    """The assertion that a cell stands for, as a config would write it.

    `contains:text`, `not-regex:a+`, `latency(500)`, `python:…`; other text is what the output must equal.
    """
    kind, colon, rest = text.partition(":")
    if colon and kind in ("javascript", "fn", "eval"):
        return {"type": "javascript", "value": rest.strip()}
    if colon and kind in ("grade", "llm-rubric"):
        return {"type": "llm-rubric", "value": rest.strip()}
    if colon and kind in ("python", "ruby"):
        return {"type": kind, "value": rest.strip()}
    if text.startswith("file://"):
        name = text.rpartition("/")[2]
        kind = "python" if ".py" in name else "ruby" if ".rb" in name else "javascript"
        return {"type": kind, "value": text.strip()}
    match = _TYPED.fullmatch(text)
    if match is None:
        return {"type": "equals", "value": text}
    written, type_, threshold, value = match.groups()
    assertion: dict[str, Any] = {"type": written}
    if value is not None:
        assertion["value"] = value.strip()
    if threshold is None:
        threshold = _DEFAULT_THRESHOLD.get(type_)
    if threshold is not None:
        assertion["threshold"] = float(threshold)
    return assertion


class _Test:
    """A test being put together from the cells of a row."""

    __slots__ = (
        "asserts",
        "columns",
        "metadata",
        "metric",
        "options",
        "test",
        "thresholds",
        "variables",
    )

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.options: dict[str, Any] = {}
        self.test: dict[str, Any] = {"vars": self.variables}
        self.asserts: dict[str, dict[str, Any]] = {}
        self.thresholds: dict[str, str] = {}
        self.metric = ""
        self.columns: set[str] = set()

    def finished(self) -> dict[str, Any]:
        """The test, with what other columns say of its assertions."""
        for name, assertion in self.asserts.items():
            threshold = self.thresholds.get(name)
            if threshold is None and _ALIAS.get(name, name) not in self.columns:
                threshold = self.thresholds.get(_ALIAS.get(name, name))
            if threshold is not None:
                assertion["threshold"] = threshold
            if self.metric:
                assertion["metric"] = self.metric
        for key, value in (
            ("assert", [*self.asserts.values()]),
            ("metadata", self.metadata),
            ("options", self.options),
        ):
            if value:
                self.test[key] = value
        return self.test


def test_from_row(
    row: Mapping[str, str], number: int, place: Place, findings: Findings
) -> dict[str, Any]:
    """The test that a CSV row stands for, in the shape that a config writes it.

    Args:
        number: The row's, from 1, for its description.
    """
    test = _Test()
    test.test["description"] = f"Row #{number}"
    for name, cell in row.items():
        # Most columns are plain variables, and are spared the look-up.
        if name[:1] != "_":
            test.variables[name] = cell
        # An empty cell in a column about the test says nothing.
        elif cell or name not in _NAMED:
            put, key, hint = _column(name)
            if hint:
                findings.hint(
                    Place(place.file, 1), f"column '{name}' is taken for a variable", hint.strip()
                )
            put(test, key, cell)
            if put is _expect and (slip := _slip(cell)):
                findings.hint(place, f"the output must equal {cell[:60]!r}, word for word", slip)
    return test.finished()


def _slip(cell: str) -> str:
    """The type that a cell probably means, where it begins like an assertion and is taken for plain text."""
    begins = _BEGINS.match(cell)
    if begins is None or assertion_from_cell(cell)["type"] != "equals" or begins[1] == "equals":
        return ""
    if begins[1] in KNOWN:
        return f"Write {begins[1]}(0.8): …, if that is meant: the threshold is a number."
    return did_you_mean(begins[1], KNOWN)


_Put = Callable[[_Test, str, str], None]


@lru_cache(maxsize=1024)
def _column(name: str) -> tuple[_Put, str, str]:
    """Where the cells of a column belong, under which key, and a hint where the name looks misspelt."""
    if _EXPECTED.fullmatch(name):
        return _expect, name, ""
    if name in _NAMED:
        return (_option if name in _OPTIONS else _say), _NAMED[name], ""
    if name.startswith("__metadata:"):
        key = name.removeprefix("__metadata:")
        return (_list, key[:-2], "") if key.endswith("[]") else (_tell, key, "")
    config = _CONFIG.fullmatch(name)
    if config is not None:
        return _bound, config[1], ""
    near = did_you_mean(name if name.startswith("__") else f"_{name}", _MAGIC)
    return _vary, name, near or " "


def wrong_columns(header: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The columns that can mean nothing: (what is wrong, what to do)."""
    expects = any(map(_EXPECTED.fullmatch, header))
    for name in header:
        config = _CONFIG.fullmatch(name)
        if config is None:
            # With one underscore, it may be a variable.
            slip = name[:2] == "__" and _column(name)[0] is _vary
            if slip and not expects and nearest(name, _MAGIC) == "__expected":
                what = f"column '{name}' is a variable, and no column says what is expected"
                yield what, "Did you mean '__expected'?"
            continue
        column = config[1]
        if column not in header:
            column = _ALIAS.get(column, column)
        if config[2] != "threshold":
            yield f"column '{name}': only 'threshold' can be set for an assertion", ""
        elif column not in header:
            yield f"column '{name}': there is no column '{column}'", did_you_mean(column, header)


def _vary(test: _Test, key: str, cell: str) -> None:
    test.variables[key] = cell


def _expect(test: _Test, key: str, cell: str) -> None:
    test.columns.add(key)
    if cell and not cell.isspace():
        test.asserts[key] = assertion_from_cell(cell.strip())


def _say(test: _Test, key: str, cell: str) -> None:
    if key == "metric":
        test.metric = cell
    elif cell.strip():
        test.test[key] = cell


def _option(test: _Test, key: str, cell: str) -> None:
    test.options[key] = cell


def _bound(test: _Test, key: str, cell: str) -> None:
    if cell.strip():
        test.thresholds[key] = cell
        with suppress(ValueError):  # promptfoo tells it there as well
            test.metadata["threshold"] = float(cell)


def _tell(test: _Test, key: str, cell: str) -> None:
    if cell:
        test.metadata[key] = cell


def _list(test: _Test, key: str, cell: str) -> None:
    if not cell:
        return
    parts = (part.strip() for part in _COMMA.split(cell))
    test.metadata[key] = [part.replace("\\,", ",") for part in parts if part]
