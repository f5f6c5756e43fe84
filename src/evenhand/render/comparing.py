"""`compare(a, b)`: whether the second of two runs, or columns, is better than the first, on the cases of both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from evenhand.analysis.comparison.compared_runs import Circumstances, RunState, compared_runs
from evenhand.analysis.comparison.comparison_results import (
    CASES,
    METRICS,
    ComparedRuns,
    case_rows,
    metric_rows,
)
from evenhand.analysis.comparison.comparison_sides import LISTED, RunSource
from evenhand.analysis.comparison.pairing import with_verdicts
from evenhand.analysis.comparison.regraded_outputs import RegradedOutputs
from evenhand.analysis.summaries.clusters import copies_note
from evenhand.analysis.summaries.frames import Framed, Table
from evenhand.core.arguments import checked
from evenhand.core.errors import UsageError
from evenhand.core.requirement import Bound
from evenhand.core.run import RunMeta
from evenhand.core.wording.words import count, safe
from evenhand.engine.replay.summary import replay_note
from evenhand.store.run_lookup import called

NAMED = 3
"""So many variants without a counterpart are named."""


class Comparison(ComparedRuns, Framed):
    """Two runs, or columns of runs, on the cases of both: printed, a line for each metric and what changed."""

    def __bool__(self) -> bool:
        """Raises: `assert compare(a, b)` would hold whatever the difference."""
        raise TypeError("a comparison is neither true nor false: ask comparison.verdict")

    def __repr__(self) -> str:
        return f"<Comparison {self.first} → {self.second}: {self.verdict}>"

    def __str__(self) -> str:
        from evenhand.render.comparison import lines  # noqa: PLC0415 (when it is asked for)

        return "\n".join(lines(self))

    def _repr_html_(self) -> str:
        """How notebooks show it."""
        from evenhand.render.comparison import html  # noqa: PLC0415 (when it is asked for)

        return html(self)

    def rows(self) -> list[dict[str, Any]]:
        """A flat dict for each case that changed in a metric, the worst change first, the same keys in all."""
        return case_rows(self)

    def summary_rows(self) -> list[dict[str, Any]]:
        """A flat dict for each metric of each pair of columns: means, difference, interval, p-value and verdict."""
        return metric_rows(self)

    def _tables(self) -> Mapping[str, Table]:
        return {"cases": Table(self.rows, CASES), "summary": Table(self.summary_rows, METRICS)}

    def of(self, metric: str) -> Comparison:
        """The comparison, had this metric alone been asked for: p-values are corrected for its columns only."""
        results = [result for result in self.results if result.metric == metric]
        judged = tuple(each for each in self.judged if each.metric == metric)
        return replace(self, results=tuple(with_verdicts(results, self.margin)), judged=judged)

    def document(self) -> dict[str, Any]:
        """The comparison as a JSON-ready dict, `evenhand.compare/1`: what `evenhand compare --json` prints."""
        from evenhand.render.comparison_document import document  # noqa: PLC0415 (when it is asked for)

        return document(self)


@checked
def compare(
    a: RunSource,
    b: RunSource,
    *,
    metric: str | Sequence[str] = (),
    margin: float | None = None,
    cluster: str = "",
    lower: str | Sequence[str] = (),
    earlier: RunSource | Sequence[RunSource] = (),
) -> Comparison:
    """Says whether the second is better than the first, on the cases that both have.

    Pairs go by case id, never by position. A case with repeats counts once, with its mean. A trial in error may have
    had any value: means and differences are ranges then, and where errors could turn the verdict it is *undecided*.

    Args:
        a: What to compare with: a run, `run.column("name")`, the path of a run file, or a text as on the command line:
            `RUN`, `RUN:COLUMN`, or `:COLUMN` of the latest run.
        b: What is judged.
        metric: The metrics: `passed`, `score`, `latency`, `cost`, the name of a metric or the label of an expectation.
            Without any, `passed` and every metric that both have. With several, p-values are corrected (Holm).
        margin: How much worse the second may be and still be accepted, in the metric's unit: 0.05 is 5 points of a pass
            rate. The verdict is then *non-inferior*, *better*, *worse* or *undecided*.
        cluster: The variable of the cases, or the key of their metadata, that says which belong together, such as the
            document that they ask about; without it, that of the eval set or config. Each cluster counts once. A case
            without it stands alone; copies of a case belong together.
        lower: The metrics of which less is better. Latency, cost, what has only upper bounds, and those of
            `score_batch`, are known to be.
        earlier: Runs before `a`. Those of the same system are further repeats of it; those of others say how hard each
            case is, which predicts the cases of `a` that `b`, a run of a sample, left out. The history ends at the
            first run whose cases or expectations were others.

    Raises:
        UsageError: Something that is named is not there, or the two have no case in common.
        StoreError: A run cannot be read.
    """
    chosen = [metric] if isinstance(metric, str) else list(dict.fromkeys(metric))
    less = [lower] if isinstance(lower, str) else list(lower)
    if margin is not None and not (math.isfinite(margin) and margin >= 0):
        raise UsageError(
            f"the margin is {margin!r}, not a number from 0 up",
            hint="It says how much worse is accepted: 0.05 is 5 points of a pass rate.",
        )
    before = (
        [*earlier] if isinstance(earlier, Sequence) and not isinstance(earlier, str) else [earlier]
    )
    compared, around = compared_runs(
        a, b, metrics=chosen, margin=margin, cluster=cluster, lower=less, earlier=before
    )
    notes = [*_judge_again(compared, around), *_notes(around, compared.outputs)]
    return replace(Comparison(**vars(compared)), notes=tuple(notes))


def _judge_again(compared: ComparedRuns, around: Circumstances) -> Iterator[str]:
    """What to do where two runs were judged by different judges."""
    first, second = (run.meta.id for run in around.runs)
    if first != second and any(one.other_judge for one in compared.results):
        names = [quote(called(Path.cwd(), run.path)) for run in around.runs]
        yield (
            "to compare the application, regrade the first run with the new judge:"
            f" evenhand regrade {names[0]} --with PATH, then evenhand compare latest {names[1]}"
        )


def _notes(around: Circumstances, outputs: RegradedOutputs | None) -> Iterator[str]:
    """What else there is to know of a comparison."""
    first, second = around.runs
    yield from filter(None, map(_unfinished, around.runs))
    yield from filter(None, (replay_note(run.meta) for run in around.runs))
    if outputs is not None:
        yield from outputs.notes()
    if second.cached and first.meta.id != second.meta.id and not replay_note(second.meta):
        yield (
            f"{second.name} took {second.cached:,} of {count(second.calls, 'answer')} from the cache:"
            " where the first has the same ones, nothing can differ"
        )
    if alone := around.without_counterpart:
        more = f" and {len(alone) - NAMED} more" if len(alone) > NAMED else ""
        yield f"without a counterpart: {', '.join(alone[:NAMED])}{more}"
    before, now = _to_reach(first.meta), _to_reach(second.meta)
    if before != now:
        yield f"bounds of the run: {before} in the first, {now} in the second; comparisons ignore that"
    for run in around.runs:
        if run.unrecorded:
            yield (
                f"{run.side} has no full record of its cases and expectations: a changed test"
                " may go unnoticed"
            )
    if around.by_input:
        by_id = count(max(0, around.common - around.by_input), "case")
        yield f"paired: {by_id} by id, {around.by_input:,} by the input, as that is unique in both"
    if around.copies:
        yield copies_note(around.copies)
    yield from around.earlier
    for pair in around.pairs:
        prefix = f"{pair.columns[1]}: " if len(around.pairs) > 1 else ""
        for which, alone in (("first", pair.first_alone), ("second", pair.second_alone)):
            if alone:
                listed = ", ".join(map(safe, alone[:LISTED]))
                yield f"{prefix}measured only in the {which}: {listed}"
        yield from (f"{prefix}{note}" for note in pair.notes)


def _unfinished(run: RunState) -> str:
    """That a run stopped before its last trial; empty where it didn't."""
    meta, so_far = run.meta, f"{run.settled:,} of {run.meta.planned:,} trials"
    if meta.is_sample:
        return f"{run.name} ran a sample of its cases: {so_far}"
    if meta.status == "decided":
        return (
            f"{run.name} stopped as soon as it was decided, after {so_far}:"
            " the intervals and p-values here do not allow for that"
        )
    if run.settled >= meta.planned:
        return ""
    resumed = f"; `evenhand resume {quote(called(Path.cwd(), run.path))}` continues it"
    return f"{run.name} did not finish: {so_far}{resumed if 'asked' in meta.settings else ''}"


def _to_reach(meta: RunMeta) -> str:
    """What a run has to reach, in words."""
    each = [f"{safe(one.metric) or 'trials passed'} {one.bound}" for one in meta.requirements or ()]
    return ", ".join(dict.fromkeys(each)) or f"trials passed {Bound(meta.pass_rate)}"
