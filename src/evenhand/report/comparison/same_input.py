"""Cases of imported results that are called otherwise in two runs, found by their input.

Most tools give results no ids, so a case is known by what it asks and what is expected, or by its number: a reworded
reference, or a row in front, makes it another one. What it asks tells it all the same, where no other case of either
run asks that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evenhand.core.encoding import digest, encode
from evenhand.report.words import count
from evenhand.store.runfile import RunFile


def same_input(first: RunFile, second: RunFile) -> Mapping[str, str]:
    """By the second's id of a case what the first calls it, where their input alone tells that it is the same one.

    A case of the second whose id another one is called by now has an id of its own. Empty where neither was imported.
    """
    if not any("imported" in run.meta.settings for run in (first, second)):
        return {}
    mine, theirs = _inputs(first), _inputs(second)
    left, right = (_unique(own, other) for own, other in ((mine, theirs), (theirs, mine)))
    pairs = {right[key]: left[key] for key in right.keys() & left.keys()}
    for case in pairs.keys() ^ {*pairs.values()}:
        if case in theirs and case not in pairs:
            other = f"{case} (second)"
            while other in mine or other in theirs:
                other += "′"
            pairs[case] = other
    return pairs


def pairing_notes(by_input: int, common: int) -> Iterator[str]:
    """How cases were paired, where that was not by their ids alone.

    Args:
        by_input: How many were paired by their input.
        common: How many cases both have, those among them.
    """
    if by_input:
        by_id = max(0, common - by_input)
        yield f"paired: {count(by_id, 'case')} by id, {by_input:,} by the input, as that is unique in both"


def _inputs(run: RunFile) -> dict[str, str]:
    """By case a digest of what it asks."""
    inputs: dict[str, str] = {}
    for trial in run.trials():
        asked = trial.vars if trial.input is None else trial.input
        if trial.case not in inputs and asked not in (None, {}, ""):
            inputs[trial.case] = digest(encode(asked))
    return inputs


def _unique(own: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """By its input each case whose id the other lacks, or has for another input; without those that ask the same."""
    cases: dict[str, list[str]] = {}
    for case, key in own.items():
        cases.setdefault(key, []).append(case)
    return {
        key: those[0]
        for key, those in cases.items()
        if len(those) == 1 and other.get(those[0]) != key
    }
