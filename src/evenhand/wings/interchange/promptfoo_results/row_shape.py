"""Of which kinds the parts of a row in promptfoo's results are, as far as they are read."""

from __future__ import annotations

from typing import Any, TypedDict

import msgspec


class _Object(TypedDict, total=False):
    """An object of which any part may be anything."""


class _Part(TypedDict, total=False):
    assertion: _Object | None
    metadata: _PartMetadata | None
    componentResults: list[_Part] | None


class _PartMetadata(TypedDict, total=False):
    assertionSet: _Object | None


class _Grading(TypedDict, total=False):
    componentResults: list[_Part] | None


class _Test(TypedDict, total=False):
    metadata: _Object | None


class _Tokens(TypedDict, total=False):
    assertions: _Object | None


class _Row(TypedDict, total=False):
    vars: _Object | None
    prompt: _Object | None
    response: _Object | None
    testCase: _Test | None
    gradingResult: _Grading | None
    tokenUsage: _Tokens | None
    latencyMs: float | None


def check_row(row: Any) -> None:
    """That each part of a row is of the kind that promptfoo writes; what isn't there, or null, is nothing.

    Raises:
        ValueError: One is of another kind. `core.malformed.shape_fault` says which.
    """
    msgspec.convert(row, _Row)
