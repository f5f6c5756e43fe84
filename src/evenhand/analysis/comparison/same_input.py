"""Cases of imported results, and of stored answers, that are called otherwise in two runs, found by their input.

Most tools give results no ids, so a case is known by what it asks and what is expected, or by its number: a reworded
reference, or a row in front, makes it another one. A stored answer without an id is known by all of its row, so that
another answer makes it another one. What it asks tells it all the same, where no other case of either run asks that.
"""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.core.definition import brief
from evenhand.core.encoding import digest, encode
from evenhand.store.runfile import RunFile


def same_input(first: RunFile, second: RunFile) -> Mapping[str, str]:
    """By the second's id of a case what the first calls it, where their input alone tells that it is the same one.

    A case of the second whose id another one is called by now has an id of its own. Empty where neither was imported,
    or measured stored answers.
    """
    answers = any(run.meta.config.get("answers") == "stored" for run in (first, second))
    if not answers and not any("imported" in run.meta.settings for run in (first, second)):
        return {}
    mine, theirs = (_inputs(run, content=answers) for run in (first, second))
    left, right = (_unique(own, other) for own, other in ((mine, theirs), (theirs, mine)))
    pairs = {right[key]: left[key] for key in right.keys() & left.keys()}
    for case in pairs.keys() ^ {*pairs.values()}:
        if case in theirs and case not in pairs:
            other = f"{case} (second)"
            # A dataset may hold anything, such a name too.
            while other in mine or other in theirs:
                other += "′"
            pairs[case] = other
    return pairs


def _inputs(run: RunFile, *, content: bool) -> dict[str, str]:
    """By case a digest of what it asks.

    Args:
        run: It.
        content: As its content has it, of which an answer that the row held is no part, where what is shown has it.
    """
    inputs: dict[str, str] = {}
    for trial in run.trials():
        question = trial.vars if trial.input is None else trial.input
        # Of repeats the first; and an empty input tells no case from another.
        if trial.case in inputs or question in (None, {}, ""):
            continue
        part = "vars" if trial.input is None else "input"
        own = trial.content.get(part, "") if content else ""
        inputs[trial.case] = own or (brief(question) if content else digest(encode(question)))
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
