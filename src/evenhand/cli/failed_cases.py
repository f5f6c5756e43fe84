"""Which cases failed in an earlier run, ours or promptfoo's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from evenhand.core.case import case_id
from evenhand.core.encoding import decode
from evenhand.core.errors import UsageError
from evenhand.store.runfile import RunFile

_REASONS = {1: "fail", 2: "error"}


def failed_cases(path: Path, outcomes: tuple[str, ...]) -> frozenset[str]:
    """The ids of the cases with a trial that came to one of these outcomes.

    Args:
        path: A run file, or a JSON file of promptfoo's results.

    Raises:
        UsageError: It holds no results.
        StoreError: It is a run file that cannot be read.
    """
    if path.suffix == ".json":
        return frozenset(case_id(vars_) for vars_ in _of_promptfoo(path, outcomes))
    with RunFile.open(path) as run:
        return frozenset(
            trial.case.partition("#")[0] for trial in run.outcomes() if trial.outcome in outcomes
        )


def _of_promptfoo(path: Path, outcomes: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    try:
        document = cast("dict[str, Any]", decode(path.read_bytes()))
        for row in cast("list[dict[str, Any]]", document["results"]["results"]):
            state = "pass" if row.get("success") else _REASONS.get(row.get("failureReason", 1))
            if state in outcomes:
                yield row["vars"]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(
            f"{path} holds no results of promptfoo's: it needs results.results, a list of objects with vars",
            hint="Write some with: evenhand run -o results.json, or promptfoo eval -o results.json",
        ) from None
