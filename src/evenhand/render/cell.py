"""One cell of a run, whole: what was asked, what came back, what was expected of it, and what it took."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice

from evenhand.analysis.summaries.column_names import full_names
from evenhand.analysis.summaries.grid import Grid, numbered
from evenhand.analysis.trust.beside_people import every_label
from evenhand.core.errors import UsageError
from evenhand.core.names import nearest
from evenhand.core.run import CallRecord, TrialResult
from evenhand.core.scripted import came_from
from evenhand.core.wording.ink import UNBOUND, Ink
from evenhand.core.wording.words import clip, folded, money, number, safe, seconds, short_id, tokens
from evenhand.render.outcome import label_lines, outcome_lines, titled, wrapped
from evenhand.render.step_lines import step_lines
from evenhand.render.trial_steps import steps_of, text_lines
from evenhand.store.encoding import written_case
from evenhand.store.labels.label import standing
from evenhand.store.runfile import RunFile

LINES = 40
COLUMNS_SHOWN = 10

_DIGITS = 18
"""Of a number that counts trials or columns: Python reads no longer ones than 4,300, and SQLite none above 2^63."""


def find_cells(run: RunFile, grid: Grid, ref: str) -> list[TrialResult]:
    """The trials that a reference means, in the plan's order; more than one where cases are repeated.

    Args:
        ref: `column:case` (the column by its name in the table, its prompt or its model; the case by its number or its
            id or description), or a case alone for all of its columns: `:3`, `3`, its id or its description.

    Raises:
        UsageError: There is none.
    """
    what = f"run {short_id(run.meta.id)}"
    # A case's id can be a number, too, and then it is meant before the case of this number.
    written = f":{ref}" if ref.isdecimal() and ref not in grid.numbers else ref
    # From the right, because names of models have colons in them.
    column, colon, case = written.rpartition(":")
    variants = _variants(run, grid, column) if colon else []
    places: list[int] = []
    if written_case(ref) in grid.numbers:
        places = _places(run, {written_case(ref)})
    elif variants:
        by_number = {name for name, number in grid.numbers.items() if str(number) == case}
        places = _places(run, {written_case(case), *by_number}, variants)
    # Descriptions are read last: they stand with the results.
    places = places or _places(run, cases_called(run, grid, ref))
    if not places and variants:
        places = _places(run, cases_called(run, grid, case), variants)
    if places:
        return [trial for trial in map(run.trial, places) if trial is not None]
    if not colon:
        raise _no_case(what, run, grid, ref)
    if not variants:
        near = nearest(column or ref, grid.names)
        hint = f"Did you mean '{clip(near, 60)}'? " if near else ""
        raise UsageError(f"{what} has no variant {column or ref!r}", hint=hint + _columns(grid))
    place = f"variant {column!r} of {what}" if column else what
    raise UsageError(
        f"{place} has no result of case {clip(case, 60)!r}",
        hint=f"Cases are counted from 1 to {len(grid.numbers)}, in the order of the tests; "
        f"there is '{_first_of(run, grid, column)}'.",
    )


def cases_called(run: RunFile, grid: Grid, name: str) -> set[str]:
    """The cases with this id, else all with this description, with or without the number before it."""
    if written_case(name) in grid.numbers:
        return {written_case(name)}
    return {
        case
        for case, description in run.descriptions()
        if name
        and name
        in (description, safe(description), numbered(grid.numbers[case], safe(description)))
    }


def _places(run: RunFile, cases: set[str], variants: Sequence[int] | None = None) -> list[int]:
    """Where the trials of these cases are in the plan, in these columns or in all."""
    return [
        row.index
        for row in (run.outcomes() if cases else ())
        if row.case in cases and (variants is None or row.variant in variants)
    ]


def _no_case(what: str, run: RunFile, grid: Grid, name: str) -> UsageError:
    """That a run has no case of this name: a word without a colon names one."""
    names = {case: safe(description) or safe(case) for case, description in run.descriptions()}
    near = nearest(name, [*grid.numbers, *names.values()])
    listed = [
        numbered(grid.numbers[case], clip(text, 40))
        for case, text in islice(names.items(), COLUMNS_SHOWN)
    ]
    more = len(names) - len(listed)
    hint = f"Its cases: {', '.join(listed)}{f' and {more} more' if more else ''}."
    if name in grid.names:
        hint = f"It is a variant: name one of its cases, as '{_first_of(run, grid, name)}'. {hint}"
    elif near:
        hint = f"Did you mean '{clip(near, 60)}'? {hint}"
    return UsageError(f"{what} has no case {clip(name, 60)!r}", hint=f"{hint} {_columns(grid)}")


def _first_of(run: RunFile, grid: Grid, column: str) -> str:
    """The first cell in which this column has a result; not every column has one of every case."""
    variants = _variants(run, grid, column)
    numbers = (grid.numbers[row.case] for row in run.outcomes() if row.variant in variants)
    return f"{column}:{next(numbers, 1)}"


def _variants(run: RunFile, grid: Grid, column: str) -> list[int]:
    """The columns that a name means: by its name in the table, else by prompt or model, else by a part of it.

    Reports number columns with long names: `#2` is the second. "" means all.
    """
    every = list(enumerate(zip(grid.names, run.meta.variants, strict=True)))
    if not column:
        return [i for i, _ in every]
    for exactly in (True, False):
        for chosen in (
            [i for i, (name, _) in every if (name == column if exactly else column in name)],
            [i for i, (_, v) in every if exactly and column in (v.prompt, v.model)],
        ):
            if chosen:
                return chosen
    number = column.removeprefix("#")
    return (
        [int(number) - 1]
        if number.isdecimal() and len(number) <= _DIGITS and 0 < int(number) <= len(every)
        else []
    )


def cell_lines(
    run: RunFile, grid: Grid, trial: TrialResult, width: int, ink: Ink, *, calls: bool = False
) -> list[str]:
    """The lines of one cell."""
    variant = run.meta.variants[trial.variant]
    score = "" if trial.score is None else f", score {number(trial.score)}"
    state = trial.outcome.replace("_", " ")
    name = full_names(run.meta.variants)[trial.variant]
    title = f"{name} · {grid.case_name(trial, UNBOUND)}"
    lines = titled(ink.mark(trial.outcome), title, f"{state}{score}", width, ink)
    origin = f"case {safe(trial.case)} · {safe(str(variant))}"
    lines += [ink(line, "dim") for line in folded(origin, width, "  ")]
    if trial.input is not None and "input" not in trial.vars:
        lines += _section("input", _text(trial.input), width, ink)
    lines += _variables(trial.vars, width, ink)
    if trial.expected is not None:
        lines += _section("right answer", _text(trial.expected), width, ink)
    lines += _section("prompt", trial.prompt, width, ink)
    if trial.output is not None:
        lines += _section("output", _text(trial.output), width, ink)
    if trial.error is not None:
        lines += ["", f"  {ink('error', 'yellow')}  {trial.error.slug}"]
        lines += wrapped(trial.error.message, width, "    ", LINES)
        lines += wrapped(trial.error.where, width, "    ", 4) if trial.error.where else []
    if trial.outcomes:
        lines += ["", f"  {ink('expected', 'dim')}"]
    for outcome in trial.outcomes:
        lines += outcome_lines(outcome, width, ink)
    if labels := standing(every_label(run)).get(trial.index, ()):
        lines += ["", f"  {ink('labels by people', 'dim')}", *label_lines(labels, width, "    ")]
    steps = steps_of(run, trial)
    # Steps that are all calls of models are shown below, as calls.
    if len(steps) > 1 and any(step.kind != "model" for step in steps):
        lines += step_lines(steps, trial, width, ink)
    lines += call_lines(run, trial, width, ink, whole=calls)
    return lines + _section("printed by your code", trial.log, width, ink)


def call_lines(run: RunFile, trial: TrialResult, width: int, ink: Ink, *, whole: bool) -> list[str]:
    """A trial's calls; `whole`: with what was asked and what came back."""
    calls = run.calls_of(trial)
    lines = ["", f"  {ink('calls', 'dim')}"] if calls else []
    for call in calls:
        lines += _call(call, width, scripted=run.meta.is_scripted)
        lines += text_lines(call, width, ink) if whole else ()
    return lines


def _variables(variables: Mapping[str, object], width: int, ink: Ink) -> list[str]:
    if not variables:
        return []
    most = min(24, max(len(safe(name)) for name in variables))
    return ["", f"  {ink('variables', 'dim')}"] + [
        # A line shows no more than its width, so a long text is cut before it is made safe.
        clip(f"    {clip(safe(name), most):<{most}}  {safe(_text(value)[: 4 * width])}", width)
        for name, value in variables.items()
    ]


def _call(call: CallRecord, width: int, *, scripted: bool) -> list[str]:
    end = call.end
    if end is None:
        result = "in doubt: no answer, as the process was killed or the caller gave up"
    elif end.error:
        result = end.error
    else:
        origin = came_from(end.origin, call.start.identity, scripted=scripted)
        result = f"{origin} · {seconds(end.latency_s)}"
        if end.cost_usd is not None:
            result += f" · {money(end.cost_usd)}"
        elif not scripted:
            result += " · price unknown"
        if end.tokens_in is not None and end.tokens_out is not None:
            result += f" · {tokens(end.tokens_in, end.tokens_out)}"
        if end.attempts > 1:
            result += f" · {end.attempts} attempts"
    lines = [f"    {call.start.role:<9} {safe(call.start.provider)}   {result}"]
    if end is not None and end.message:
        lines += wrapped(end.message, width, "             ", 3)
    return lines


def _section(title: str, text: str, width: int, ink: Ink) -> list[str]:
    return ["", f"  {ink(title, 'dim')}", *wrapped(text, width, "    ", LINES)] if text else []


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False)


def _columns(grid: Grid) -> str:
    names = ", ".join(clip(name, 40) for name in grid.names[:COLUMNS_SHOWN])
    left = len(grid.names) - COLUMNS_SHOWN
    return f"Its variants: {names}" + (f" and {left} more" if left > 0 else "")
