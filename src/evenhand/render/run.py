"""A run as its user holds it: what `evenhand.run` returns, in a script, in a test or in a notebook."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from evenhand.analysis.summaries.frames import Framed, Kinds, Table
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_number
from evenhand.core.remark import Remarks
from evenhand.core.run import RunMeta, TrialResult, VerdictWord
from evenhand.core.score import Outcome, unknown
from evenhand.core.variant import Variant
from evenhand.core.wording.words import passed_of, short_id
from evenhand.render.outcome import unsure
from evenhand.render.settled_trials import Trials
from evenhand.store.calls import JournaledCalls
from evenhand.store.counts import Counts
from evenhand.store.runfile import RunFile
from evenhand.store.settled import SettledTrials

if TYPE_CHECKING:
    from evenhand.analysis.comparison.comparison_sides import Column
    from evenhand.analysis.trust.calibration import Calibration
    from evenhand.core.step import Step

P = ParamSpec("P")
T = TypeVar("T")


def _of_file(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Run, P], T]:
    """A method of `Run` that is its file's method of this name."""

    @functools.wraps(method)
    def of_file(run: Run, *args: P.args, **kwargs: P.kwargs) -> T:
        return getattr(run.file, method.__name__)(*args, **kwargs)

    return of_file


class Run(Framed):
    """What happened: printed, it is the report that the command line shows; in a notebook, a table.

    `trials()` are its trials, `steps()` what an agent did in one, `totals()` the counts. `to_pandas()` and
    `to_polars()` make data frames of what `rows()` and `outcome_rows()` have. It reads its file as it is asked; close
    it, or use it in a `with` block.

    Attributes:
        file: The run file that it holds.
    """

    def __init__(self, file: RunFile) -> None:
        if not isinstance(file, RunFile):  # pyright: ignore[reportUnnecessaryIsInstance] (a mistake)
            raise UsageError(f"{file!r} is not an open run", hint="Write Run.open(…).")
        self.file = file

    at = _of_file(SettledTrials.at)
    matching = _of_file(SettledTrials.matching)
    cases = _of_file(SettledTrials.cases)
    labels = _of_file(SettledTrials.labels)
    settled = _of_file(Counts.settled)
    totals = _of_file(Counts.totals)
    by_variant = _of_file(Counts.by_variant)
    outcomes = _of_file(Counts.outcomes)
    tallies = _of_file(Counts.tallies)
    scales = _of_file(Counts.scales)
    refused = _of_file(Counts.refused)
    without_thoughts = _of_file(Counts.without_thoughts)
    judge_calls = _of_file(Counts.judge_calls)
    calls = _of_file(JournaledCalls.calls)
    calls_of = _of_file(JournaledCalls.calls_of)
    call = _of_file(JournaledCalls.call)
    usage = _of_file(JournaledCalls.usage)
    spend = _of_file(JournaledCalls.spend)
    in_doubt = _of_file(JournaledCalls.in_doubt)
    empty_answers = _of_file(JournaledCalls.empty_answers)

    @classmethod
    def open(cls, run: Path | str) -> Self:
        """Opens a run.

        Args:
            run: The path of its file; or a text as on the command line: a path, an id or the start of one, `latest`.

        Raises:
            StoreError: It does not exist, is not a run file, is damaged, or a newer Evenhand wrote it.
            UsageError: No run is called so, or several are.
        """
        if isinstance(run, str):
            from evenhand.store.run_lookup import find  # noqa: PLC0415 (when it is asked for)

            run = find(Path.cwd(), run)
        return cls(RunFile.open(run))

    @property
    def path(self) -> Path:
        """The run's file."""
        return self.file.path

    @property
    def meta(self) -> RunMeta:
        """What its file says of it as a whole: title, columns, settings, how it ended."""
        return self.file.meta

    @property
    def remarks(self) -> Remarks:
        """What people said of it: title, tags, note."""
        return self.file.remarks

    @property
    def alive(self) -> bool:
        """Whether a process is writing it."""
        return self.file.alive

    def close(self) -> None:
        """Lets go of its file."""
        self.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def verdict(self) -> VerdictWord:
        """What its trials come to: passed, failed, or undecided where errors leave it open."""
        from evenhand.analysis.trust.run_verdict import verdict_of  # noqa: PLC0415 (when it is asked for)

        return verdict_of(self.file)

    @property
    def passed(self) -> bool | None:
        """Whether the run passed; None where errors, or trials that didn't run, leave that open."""
        return {"passed": True, "failed": False}.get(self.verdict)

    def trials(self, first: int = 0, limit: int | None = None) -> Trials:
        """The settled trials in the plan's order, a sequence: each is read from the file when it is asked for.

        Args:
            first: Leaves out those whose place in the plan is before this.
            limit: At most so many; None for all.
        """
        for name, number in (("first", first), ("limit", limit or 0)):
            if not isinstance(number, int) or number < 0:  # pyright: ignore[reportUnnecessaryIsInstance] (a mistake)
                raise UsageError(f"trials: {name} is {number!r}, not a number from 0 up")
        return Trials(self.file, self.file.indices(first, limit))

    def trial(self, index: int) -> TrialResult | None:
        """The trial at this place in the plan, from 0; None while it is not settled.

        Raises:
            UsageError: It is not a number, but a case's id, say.
        """
        if not hasattr(index, "__index__"):
            raise UsageError(
                f"trial: {index!r} is not the number of a trial",
                hint="Those of a case are [trial for trial in run.trials() if trial.case == '…'].",
            )
        return self.file.trial(int(index))

    def steps(self, trial: TrialResult | int) -> list[Step]:
        """What a trial's agent did, in the order in which it began: `evenhand show RUN CELL` prints the same.

        Args:
            trial: One of `trials()`, or its index.

        Returns:
            Model calls, tool calls, agents and messages, whole. Times are in seconds since the first of them. Empty
            for a trial that asked no model and reported nothing, or whose result was taken from an earlier run.

        Raises:
            StoreError: The file cannot be read.
            UsageError: There is no such trial, or it isn't settled.
        """
        from evenhand.render.trial_steps import steps_of  # noqa: PLC0415 (when it is asked for)

        if not isinstance(trial, TrialResult):
            settled = self.trial(trial)
            if settled is None:
                raise UsageError(f"there is no result of trial {trial!r}")
            trial = settled
        return steps_of(self.file, trial)

    def calibrate(self) -> Calibration:
        """Whether its judges can be trusted, by the labels in it; `evenhand calibrate` prints the same."""
        from evenhand.analysis.trust.calibration import calibrate  # noqa: PLC0415 (when it is asked for)

        return calibrate(self.file)

    def column(self, name: str) -> Column:
        """One of its columns, to be compared: `compare(run.column("plain"), run.column("strict"))`.

        Args:
            name: The column's name in the table, its prompt or model, or its number from 1.

        Raises:
            UsageError: There is no such column.
        """
        from evenhand.analysis.comparison.comparison_sides import Column, column_index  # noqa: PLC0415 (when it is asked for)

        return Column(self.file, column_index(self.file, name))

    def rows(self) -> list[dict[str, Any]]:
        """A flat dict for each trial, in the plan's order, the same keys in all. `to_pandas()` makes a frame of them.

        Every value is a text, a number, a boolean or None. `score:NAME`, `var:NAME` and `axis:NAME` are columns for the
        named scores, the case's variables and the set's axes; lists and dicts in them are JSON, and so is an output
        that isn't text. `passed` is None for an error and for what did not apply, and a score where a part of it is in
        error.
        """
        return trial_rows(self.trials(), self.meta.variants)

    def outcome_rows(self) -> list[dict[str, Any]]:
        """A flat dict for each expectation of each trial, joined to `rows()` by `trial`.

        `meta:NAME` are columns for what the eval and the scorer attached; `judge`, `judge_prompt` (its version) and
        `confidence` have theirs.
        """
        return outcome_rows(self.trials(), self.meta.variants)

    def _tables(self) -> Mapping[str, Table]:

        return {"trials": Table(self.rows, TRIALS), "outcomes": Table(self.outcome_rows, OUTCOMES)}

    def __bool__(self) -> bool:
        """Raises: `assert run(evals)` would hold whatever became of it."""
        raise TypeError(
            "a run is neither true nor false: ask run.passed, or run.verdict == 'passed'"
        )

    def __repr__(self) -> str:
        totals = self.totals()
        errors = f", {totals.errors} in error" if totals.errors else ""
        return f"<Run {short_id(self.meta.id)}: {self.verdict}, {passed_of(totals)}{errors}>"

    def __str__(self) -> str:
        from evenhand.render.console import show  # noqa: PLC0415 (when it is asked for)

        out = io.StringIO()
        show(self.file, out)
        return out.getvalue().rstrip("\n")

    def _repr_html_(self) -> str:
        """How notebooks show it."""
        from evenhand.render.notebook import html  # noqa: PLC0415 (when it is asked for)

        return html(self.file)


Row = dict[str, Any]

_PLACE: Kinds = {
    "trial": "whole",
    "case": "text",
    "eval": "text",
    "prompt": "text",
    "model": "text",
    "repeat": "whole",
}
TRIALS: Kinds = {
    **_PLACE,
    "description": "text",
    "input": "text",
    "expected": "text",
    "outcome": "text",
    "passed": "boolean",
    "score": "number",
    "output": "text",
    "reason": "text",
    "error": "text",
    "latency_s": "number",
    "cost_usd": "number",
    "tokens_in": "whole",
    "tokens_out": "whole",
    "calls": "whole",
    "cached": "whole",
}
"""The columns that rows of trials always have."""
OUTCOMES: Kinds = {
    **_PLACE,
    "name": "text",
    "outcome": "text",
    "passed": "boolean",
    "score": "number",
    "at_least": "number",
    "at_most": "number",
    "weight": "number",
    "metric": "text",
    "reason": "text",
    "error": "text",
    "judge": "text",
    "judge_prompt": "text",
    "confidence": "number",
    "low_confidence": "boolean",
}
"""The columns that rows of expectations always have."""


def trial_rows(
    trials: Iterable[TrialResult], variants: Sequence[Variant], metrics: Iterable[str] = ()
) -> list[Row]:
    """A row for each trial. Named scores, variables and axes have columns of their own; what one lacks is None.

    Args:
        metrics: Named scores that have a column even if no trial has one.
    """
    rows, none = list[Row](), dict.fromkeys(metrics)
    for trial in trials:
        row = _place(trial, variants)
        row |= {
            "description": trial.description,
            "input": _text(trial.input),
            "expected": _text(trial.expected),
            "outcome": trial.outcome,
            "passed": trial.passed,
            "score": trial.score,
            "output": _text(trial.output),
            "reason": trial.reason or None,
            "error": trial.error.slug if trial.error else None,
            "latency_s": trial.latency_s,
            "cost_usd": trial.cost_usd,
            "tokens_in": trial.tokens_in,
            "tokens_out": trial.tokens_out,
            "calls": trial.calls,
            "cached": trial.cached,
        }
        row |= {f"score:{name}": value for name, value in (none | _scores(trial)).items()}
        row |= {f"var:{name}": value for name, value in trial.vars.items()}
        rows.append(row)
    return _alike(rows)


def outcome_rows(trials: Iterable[TrialResult], variants: Sequence[Variant]) -> list[Row]:
    """A row for each expectation of each trial. What was attached to it has columns of its own."""
    return _alike(
        [
            _place(trial, variants) | _outcome(outcome)
            for trial in trials
            for outcome in trial.outcomes
        ]
    )


def _scores(trial: TrialResult) -> dict[str, float | None]:
    """A trial's named scores. One with a part in error is None: the rest would be the mean of other questions."""
    errors = {
        one.metric for one in trial.outcomes if one.metric and unknown(one.outcome, one.score)
    }
    scores: dict[str, float | None] = {name: float(n) for name, n in trial.named_scores.items()}
    return scores | dict.fromkeys(errors)


def _place(trial: TrialResult, variants: Sequence[Variant]) -> Row:
    """Which trial it is: what both kinds of rows begin with, and can be joined by."""
    variant = variants[trial.variant]
    axes = dict(variant.axes)
    axes.pop("model", None)  # it has a column of its own
    row: Row = {
        "trial": trial.index,
        "case": trial.case,
        "eval": variant.eval or None,
        "prompt": _text(axes.pop("prompt", variant.prompt)),
        "model": variant.model or None,
        "repeat": trial.repeat,
    }
    return row | {f"axis:{name}": value for name, value in axes.items()}


def _outcome(outcome: Outcome) -> Row:
    metadata = dict(outcome.metadata)
    confidence = metadata.get("confidence")
    if not is_number(confidence):
        confidence = None  # a user's own word for it stays with the metadata
    else:
        del metadata["confidence"]
    row: Row = {
        "name": outcome.name,
        "outcome": outcome.outcome,
        "passed": outcome.passed,
        "score": outcome.score,
        "at_least": outcome.at_least,
        "at_most": outcome.at_most,
        "weight": outcome.weight,
        "metric": outcome.metric or None,
        "reason": outcome.reason or None,
        "error": outcome.error or None,
        "judge": _text(metadata.pop("judge", None)),
        "judge_prompt": _text(metadata.pop("prompt", None)),
        "confidence": confidence,
        "low_confidence": unsure(outcome),
    }
    return row | {f"meta:{name}": value for name, value in metadata.items()}


def _alike(rows: list[Row]) -> list[Row]:
    """The rows with all keys in each, in one order, and in each column values of one kind."""
    names = dict.fromkeys(name for row in rows for name in row)
    plain = {name: _column([row.get(name) for row in rows]) for name in names}
    return [{name: plain[name][i] for name in names} for i in range(len(rows))]


def _column(values: list[Any]) -> list[Any]:
    """A column's values: booleans, whole numbers, numbers or texts; of several kinds, texts. None stays None."""
    # By their exact types, because a boolean is also an int.
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool} or kinds <= {int} or kinds <= {str}:
        return values
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else _text(value) for value in values]


def _text(value: object) -> str | None:
    """A text as it is, anything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
