"""What earlier runs have of the cases under examination: outputs, what became of each expectation, and labels."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import field

from evenhand.core.errors import StoreError
from evenhand.core.record import Record
from evenhand.core.score import State
from evenhand.core.step import Step
from evenhand.store.labels.label import Label, by_name, standing
from evenhand.store.run_lookup import paths
from evenhand.store.runfile import RunFile

MOST_RUNS = 30
"""The newest runs are read, and no more of them than this."""
MOST_TRIALS = 20_000
Key = tuple[str, str]
"""An eval, empty for configs and prompts; and a case's id."""


class Stored(Record, frozen=True, kw_only=True):
    """One trial of an earlier run.

    Attributes:
        run: The run's id.
        system: The run and the variant: what answered.
        case: The case's id.
        output: The output as text; None where it is none.
        expectations: What became of each expectation, by its name and number, with a digest of what it asked.
        label: What people said of it: True for a pass; None for nothing.
        steps: What was done on the way.
    """

    run: str
    system: str
    case: str
    output: str | None
    state: State
    expectations: Mapping[str, tuple[State, str]]
    label: bool | None = None
    steps: tuple[Step, ...] = ()


class Earlier(Record, frozen=True, kw_only=True):
    """What there is of earlier runs.

    Attributes:
        runs: How many were read.
        trials: Their trials by eval and case.
    """

    runs: int = 0
    trials: Mapping[Key, Sequence[Stored]] = field(default_factory=dict[Key, Sequence[Stored]])

    def outputs(self, evals: Iterable[str]) -> list[tuple[str, str]]:
        """The outputs of these evals, each after its case's id."""
        names = set(evals)
        return [
            (one.case, one.output)
            for (eval_, _), stored in self.trials.items()
            if eval_ in names
            for one in stored
            if one.output is not None
        ]


def earlier_runs(home: Path, keys: Iterable[Key], before: float | None = None) -> Earlier:
    """What the runs of a folder have of these cases; the newest runs are read first.

    Args:
        home: Where the folder's runs are kept.
        before: Seconds since 1970: what was run or labelled later doesn't count; None for all of it.
    """
    end = math.inf if before is None else before
    cases = set(keys)
    trials: dict[Key, list[Stored]] = defaultdict(list)
    runs = count = 0
    for path in paths(home):
        if runs >= MOST_RUNS or count >= MOST_TRIALS:
            break
        try:
            with RunFile.open(path) as run:
                meta = run.meta
                if not meta.is_of_evals or meta.created_at > end:
                    continue
                labels = standing(one for one in run.labels() if one.at <= end)
                read = list(_trials(run, labels, cases, MOST_TRIALS - count))
        except StoreError:
            continue
        runs += bool(read)
        count += len(read)
        for key, stored in read:
            trials[key].append(stored)
    return Earlier(runs=runs, trials=dict(trials))


def _trials(
    run: RunFile, labels: Mapping[int, tuple[Label, ...]], cases: set[Key], most: int
) -> Iterable[tuple[Key, Stored]]:
    meta = run.meta
    evals = {variant.index: variant.eval for variant in meta.variants}
    for result in run.trials(limit=most):
        key = (evals.get(result.variant, ""), result.case)
        if key not in cases:
            continue
        verdict = by_name(labels.get(result.index, ())).get("verdict")
        expectations: dict[str, tuple[State, str]] = {}
        for number, outcome in enumerate(result.outcomes):
            definition = ""
            if number < len(result.definitions):
                one = result.definitions[number]
                definition = f"{one.kind} {sorted(one.settings.items())}"
            expectations[f"{number} {outcome.name}"] = (outcome.outcome, definition)
        yield (
            key,
            Stored(
                run=meta.id,
                system=f"{meta.id} {result.variant}",
                case=result.case,
                output=result.output if isinstance(result.output, str) else None,
                state=result.outcome,
                expectations=expectations,
                label=None if verdict is None else verdict == "pass",
                steps=tuple(run.kept_steps(result.index) or ()) if result.steps else (),
            ),
        )
