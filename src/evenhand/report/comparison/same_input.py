"""Cases of imported results that are called otherwise in two runs, found by their input.

Most tools give results no ids, so a case is known by what it asks and what is expected: a reworded reference makes it
another one. What it asks tells it all the same, where no other case of either run asks that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evenhand.core.encoding import digest, encode
from evenhand.report.words import count
from evenhand.store.runfile import RunFile


def same_input(first: RunFile, second: RunFile) -> Mapping[str, str]:
    """By the second's id of a case what the first calls it, where their input alone tells that it is the same one.

    Empty where neither was imported.
    """
    if not any("imported" in run.meta.settings for run in (first, second)):
        return {}
    mine, theirs = _inputs(first), _inputs(second)
    left, right = (_unique(own, other) for own, other in ((mine, theirs), (theirs, mine)))
    return {right[key]: left[key] for key in right.keys() & left.keys()}


def pairing_notes(pairs: Mapping[str, str], common: int) -> Iterator[str]:
    """How cases were paired, where that was not by their ids alone.

    Args:
        pairs: Those that were paired by input.
        common: How many cases both have, those among them.
    """
    if pairs:
        by_id = max(0, common - len(pairs))
        yield f"paired: {count(by_id, 'case')} by id, {len(pairs):,} by the input, as that is unique in both"


def _inputs(run: RunFile) -> dict[str, str]:
    """By case a digest of what it asks."""
    inputs: dict[str, str] = {}
    for trial in run.trials():
        asked = trial.vars if trial.input is None else trial.input
        if trial.case not in inputs and asked not in (None, {}, ""):
            inputs[trial.case] = digest(encode(asked))
    return inputs


def _unique(own: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """By its input each case that the other lacks; without those whose input another case of its run has."""
    cases: dict[str, list[str]] = {}
    for case, key in own.items():
        cases.setdefault(key, []).append(case)
    return {
        key: those[0] for key, those in cases.items() if len(those) == 1 and those[0] not in other
    }
