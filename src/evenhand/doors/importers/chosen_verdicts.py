"""Numbers of an import that the user knows to be verdicts: 1 is a pass, 0 is a fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from msgspec.structs import replace as replaced

from evenhand.core.encoding import digest
from evenhand.core.errors import UsageError
from evenhand.core.names import did_you_mean
from evenhand.core.score import Outcome
from evenhand.doors.importers.foreign_scores import measured_note
from evenhand.doors.importers.imported import Imported, ImportedTrial
from evenhand.doors.importers.recorded import Recordings

_SHOWN = 5


def with_verdicts(recordings: Recordings, names: Sequence[str]) -> Recordings:
    """The runs, with the numbers of these scores as verdicts. They are other runs than without, and have other ids.

    Args:
        names: The scores, as the runs call them.

    Raises:
        UsageError: A run has no number of such a name, or one that is neither 0 nor 1.
    """
    if not names:
        return recordings
    chosen = frozenset(names)
    measured: dict[str, None] = {}
    wrong: list[str] = []
    runs: list[Imported] = []
    for one in recordings.runs:
        if not isinstance(one, Imported):
            raise UsageError("--verdict: what these files hold says itself what passed")
        trials: list[ImportedTrial] = []
        for trial in one.run.trials:
            for name, number in _numbers(trial.outcomes):
                measured[name] = None
                if name in chosen and number not in (0, 1):
                    wrong.append(f"{name} is {number:g} in case {trial.case!r}")
            outcomes = [_decided(outcome, chosen) for outcome in trial.outcomes]
            settled = trial.outcome
            if settled == "not_applicable" and any(o.outcome in ("pass", "fail") for o in outcomes):
                # None lets the outcomes decide, now that one of them is a verdict.
                settled = None
            trials.append(replace(trial, outcomes=outcomes, outcome=settled))
        id_ = digest(one.run.id, *sorted(chosen))[:24]
        runs.append(Imported(replace(one.run, id=id_, trials=trials), one.path, one.importer))
    missing = next((name for name in names if name not in measured), None)
    if missing is not None:
        there = f"There are: {', '.join(measured)}." if measured else "None of its scores is one."
        hint = did_you_mean(missing, measured) or there
        raise UsageError(f"--verdict {missing}: there are no numbers of this name", hint=hint)
    if wrong:
        more = f", and {len(wrong) - _SHOWN:,} more" * (len(wrong) > _SHOWN)
        raise UsageError(
            f"--verdict: {'; '.join(wrong[:_SHOWN])}{more}",
            hint="A verdict is 1 for a pass and 0 for a fail. Leave it out, and the number is measured.",
        )
    decided = {measured_note(name) for name in chosen}
    notes = [note for note in recordings.notes if note.text not in decided]
    return replace(recordings, runs=runs, notes=notes)


def _numbers(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, float]]:
    """The numbers among the outcomes of a trial that decide nothing."""
    for one in outcomes:
        if one.outcome == "not_applicable" and one.name in one.named:
            yield one.name, one.named[one.name]


def _decided(one: Outcome, chosen: AbstractSet[str]) -> Outcome:
    numbers = dict(_numbers([one]))
    if one.name not in chosen or one.name not in numbers:
        return one
    number = numbers[one.name]
    reason = "" if one.reason == f"measured: {number:g}" else one.reason
    state = "pass" if number == 1 else "fail"
    return replaced(one, outcome=state, score=number, reason=reason, metric=one.name, named={})
