"""Pass rates of the cases of each tag, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from evenhand.core.run import RunMeta
from evenhand.report.clusters import Groups, clusters_among
from evenhand.report.rates import Rate, share_in, share_row
from evenhand.report.words import clip, columns, padded, safe
from evenhand.stats.tallies import Tally, counted
from evenhand.store.decoding import MeasuredTrial
from evenhand.store.encoding import written_case
from evenhand.store.measured import measured_trials
from evenhand.store.runfile import RunFile

MOST_TRIALS = 200_000
MOST_SHOWN = 24
NAME = 24
_SIGN = b'"tags":'
"""What stands in the JSON of a trial whose case has tags."""


def slices(run: RunFile) -> dict[str, list[Rate]]:
    """For each tag the pass rate of its cases in each column that has some. Each case counts once in each of its tags.

    Tags that all cases have say nothing, and are left out; so is everything of a run too large to look through.
    """
    if run.by_outcome or run.settled() > MOST_TRIALS:
        return {}
    if not any(_SIGN in result for result in run.results()):
        return {}  # and nothing is decoded
    tallies: dict[str, dict[int, dict[str, Tally]]] = {}
    cases: dict[str, set[str]] = {}
    every: set[str] = set()
    for trial in measured_trials(run):
        every.add(trial.case)
        for tag in _tags(trial):
            cases.setdefault(tag, set()).add(trial.case)
            column = tallies.setdefault(tag, {}).setdefault(trial.variant, {})
            column[trial.case] = counted(column.get(trial.case, Tally()), trial.outcome)
    groups = run.groups()
    return {
        tag: [
            _rate(run.meta, variant, by_case, groups[variant])
            for variant, by_case in sorted(tallies[tag].items())
        ]
        for tag in sorted(tallies)
        if len(cases[tag]) < len(every)
    }


def _rate(meta: RunMeta, variant: int, by_case: dict[str, Tally], groups: Groups) -> Rate:
    tallies = {written_case(case): tally for case, tally in by_case.items() if tally.n}
    return Rate(
        variant=variant,
        passed=sum(tally.passed for tally in tallies.values()),
        trials=sum(tally.n for tally in tallies.values()),
        errors=sum(tally.errors for tally in tallies.values()),
        cases=len(tallies),
        share=share_in(meta, tallies, groups),
        clusters=clusters_among(tallies, groups),
    )


def slice_rows(run: RunFile) -> list[dict[str, Any]]:
    """The same for programs: a row for each tag and column."""
    variants = run.meta.variants
    return [
        {
            "tag": tag,
            "variant": {
                "prompt": variants[rate.variant].prompt,
                "model": variants[rate.variant].model,
            },
            "passed": rate.passed,
            "trials": rate.trials,
            "errors": rate.errors,
            "cases": rate.cases,
            **share_row(rate.share),
        }
        for tag, rates in slices(run).items()
        for rate in rates
    ]


def slice_lines(run: RunFile, names: Sequence[str], width: int) -> list[str]:
    """A line for each tag and column: how many of its trials passed, and how sure that is."""
    rows = [
        [
            clip(safe(tag), NAME),
            names[rate.variant] if len(names) > 1 else "",
            f"{rate.passed:,}/{rate.trials:,}",
            str(rate),
            f"[{rate.reach}]",
        ]
        for tag, rates in slices(run).items()
        for rate in rates
    ]
    if not rows:
        return []
    shown = rows[:MOST_SHOWN]
    wide = [max(columns(row[i]) for row in shown) for i in range(len(shown[0]))]
    lines = ["  by tag"]
    for row in shown:
        cells = [padded(cell, wide[i]) for i, cell in enumerate(row) if wide[i]]
        lines.append(clip("  " + "   ".join(cells).rstrip(), width))
    if len(rows) > len(shown):
        lines.append(f"  … and {len(rows) - len(shown):,} more, in --json")
    return lines


def _tags(trial: MeasuredTrial) -> list[str]:
    tags = trial.metadata.get("tags")
    if not isinstance(tags, list):
        return []
    return [tag for tag in dict.fromkeys(cast("list[object]", tags)) if isinstance(tag, str)]
