"""A run on a terminal: what passed, how sure that is, what failed and why, what the data can say, what to type next."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, TextIO

from evenhand.analysis.summaries.column_names import column_names, short_names
from evenhand.analysis.summaries.grid import Grid
from evenhand.analysis.summaries.rates import share_in
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.core.document import as_object
from evenhand.core.errors import StoreError
from evenhand.core.remark import LONGEST_TITLE
from evenhand.core.run import SHORT_ID, Totals, TrialResult
from evenhand.core.wording.ink import NARROWEST, UNBOUND, Ink, width_of
from evenhand.core.wording.words import (
    calls_of,
    clip,
    count,
    counting,
    folded,
    interval,
    money,
    near,
    outcomes_of,
    padded,
    put,
    safe,
    seconds,
    share_within,
    short_id,
    spent,
    tokens,
)
from evenhand.render.heading import heading_of
from evenhand.render.outcome import CUT
from evenhand.stats.tallies import Share, Tally, rate_of_trials
from evenhand.store.labels.label import standing
from evenhand.store.run_lookup import SUFFIX, ListedRun, called, names
from evenhand.store.runfile import RunFile

VIEW = "evenhand view"


def show(
    run: RunFile,
    out: TextIO,
    *,
    table: bool = True,
    width: int | None = None,
    color: bool = False,
    with_heading: bool = True,
) -> None:
    """Prints a run for people.

    Args:
        run: The run, as far as it has come.
        table: With the table of columns, the failures and the comparison; otherwise the summary alone, which takes
            milliseconds whatever the size of the run.
        width: Columns that there are; by default those of the terminal, the file or the pipe.
        color: Whether escapes for colours may be used.
        with_heading: With the line that says what the plan is; without it where the progress line has just said so.
    """
    ink, meta = Ink(color), run.meta
    width = max(NARROWEST, width or width_of(out))
    totals = run.totals()
    lines: list[str] = []
    if with_heading:
        text = heading_of(
            meta.title, meta.variants, meta.case_count, meta.repeats, meta.planned, width
        )
        lines += [*(ink(line, "bold") for line in folded(text, width, "", "  ")), ""]
    grid: Grid | None = None
    if table and totals.trials:
        from evenhand.analysis.summaries.marks import marked  # noqa: PLC0415 (imported on use)
        from evenhand.render.console_table import table_lines  # noqa: PLC0415 (imported on use)
        from evenhand.render.findings import findings  # noqa: PLC0415 (imported on use)

        grid = Grid(run, short_names(meta.variants, width))
        places = marked(run)
        sentences = [
            line
            for text in findings(run, grid, places)
            for line in folded(text, width, "  ", names=grid.names)
        ]
        for block in (
            table_lines(run, grid, width, ink),
            _judged_lines(run, grid.names, width),
            # Tags are read with every trial, so only where some trial has any.
            _tag_lines(run, grid.names, width) if places.tagged else (),
            _label_lines(run, grid.names, width) if any(grid.evals) else (),
            _failure_lines(run, grid, width, ink),
            sentences,
        ):
            if block:
                lines += [*block, ""]
    elif totals.trials and meta.settings.get("calibrated") == "required":
        # Why there is no verdict, where there is none.
        lines += [*_judged_lines(run, column_names(meta.variants), width), ""]
    lines += _summary(run, totals, grid, width, ink)
    put(out, "\n".join(lines) + "\n")


def _tag_lines(run: RunFile, names: Sequence[str], width: int) -> list[str]:
    from evenhand.render.tag_tables import slice_lines  # noqa: PLC0415 (imported on use)

    return slice_lines(run, names, width)


def _label_lines(run: RunFile, names: Sequence[str], width: int) -> list[str]:
    from evenhand.render.tag_tables import classification_lines  # noqa: PLC0415 (imported on use)

    return classification_lines(run, names, width)


def _failure_lines(run: RunFile, grid: Grid, width: int, ink: Ink) -> list[str]:
    if not (any(grid.failed) or any(grid.errors)):
        return []
    from evenhand.render.failures import failure_lines  # noqa: PLC0415 (imported on use)

    return failure_lines(run, grid, width, ink)


def _judged_lines(run: RunFile, names: Sequence[str], width: int) -> list[str]:
    """What judges said, and what it is worth; nothing where none was asked."""
    if not (run.asks_judges() or "imported" in run.meta.settings):
        return []
    from evenhand.render.judged_rates import judged_or_damaged  # noqa: PLC0415 (imported on use)

    return judged_or_damaged(run, names, width)


def show_trial(
    run: RunFile,
    ref: str,
    out: TextIO,
    *,
    width: int | None = None,
    color: bool = False,
    calls: bool = False,
) -> None:
    """Prints one cell whole: its prompt, its output, every outcome and every call.

    Args:
        ref: `column:case`, e.g. `better:3`, the case by its number or its id; the place in the plan; a case's id.
        width: Columns that there are; by default those of the terminal, the file or the pipe.
        color: Whether escapes for colours may be used.
        calls: With what each call asked and was answered.

    Raises:
        UsageError: There is no such cell.
    """
    from evenhand.render.cell import cell_lines, find_cells  # noqa: PLC0415 (only when one is asked for)

    grid, ink = Grid(run), Ink(color)
    width = max(NARROWEST, width or width_of(out))
    for i, trial in enumerate(find_cells(run, grid, ref)):
        lines = cell_lines(run, grid, trial, width, ink, calls=calls)
        if any(line.endswith(CUT) for line in lines):
            name = f"{short_id(run.meta.id)} {cell_name(grid, trial)}"
            hint = f"in full: evenhand show {name} --json"
            lines += ["", *folded(hint, width, "  ")]
        put(out, ("\n" if i else "") + "\n".join(lines) + "\n")


def list_lines(runs: Iterable[ListedRun], width: int = UNBOUND) -> list[str]:
    """A line for each run, or as many as it takes; the newest first."""
    order = sorted(runs, key=lambda item: item.id, reverse=True)
    known = names(listed.path for listed in order)
    # A path, which stands for an id that several have, may be longer than all ids.
    name_width = max(map(len, known.values()), default=0)
    rows = [_listed_cells(listed) for listed in order]
    passed, errors, status = (
        max((len(row[place]) for row in rows if not isinstance(row, str)), default=0)
        for place in (1, 2, 3)
    )
    lines: list[str] = []
    for listed, row in zip(order, rows, strict=True):
        if isinstance(row, str):
            cells = [row]
        else:
            cells = [
                row[0],
                row[1].rjust(passed),
                row[2].rjust(errors),
                row[3].ljust(status),
                row[4],
            ]
        name = padded(safe(known[listed.path] or near(listed.path)), name_width)
        lines += folded("  ".join(filter(None, (name, *cells))), width, "", "  ")
    return lines or ["there are no runs yet: `evenhand run` makes one"]


def _listed_cells(listed: ListedRun) -> tuple[str, str, str, str, str] | str:
    """When a run began, what passed, its errors, its status, and what it is called; or why it cannot be read."""
    meta = listed.meta
    if meta is None:
        return safe(listed.problem)
    try:
        with RunFile.open(listed.path) as run:
            totals, tags = run.totals(), run.remarks.tags
    except StoreError as error:
        return safe(error.message)
    word = "sample" if meta.is_sample else meta.status
    status = "running" if listed.alive else "killed" if meta.status == "running" else word
    kind = "gate · " if meta.is_of_gate else ""
    return (
        time.strftime("%Y-%m-%d %H:%M", time.localtime(meta.created_at)),
        f"{totals.passed:,}/{counting(totals):,} passed",
        count(totals.errors, "error").ljust(len("1 errors")) if totals.errors else "",
        status,
        f"{kind}{clip(safe(meta.title), LONGEST_TITLE)}{''.join(f'  #{safe(tag)}' for tag in tags)}",
    )


def cells_json(run: RunFile, ref: str, *, calls: bool = False) -> Iterator[str]:
    """The cells that a reference means, each a line of JSON in the keys of the document; see `show_trial`."""
    from evenhand.analysis.trust.beside_people import every_label  # noqa: PLC0415 (imported on use)
    from evenhand.core.wording.json_text import json_text  # noqa: PLC0415 (imported on use)
    from evenhand.render.cell import find_cells  # noqa: PLC0415 (imported on use)
    from evenhand.render.document import trial_row  # noqa: PLC0415 (imported on use)
    from evenhand.render.trial_steps import call_rows, step_rows  # noqa: PLC0415 (imported on use)

    labels = standing(every_label(run))
    for trial in find_cells(run, Grid(run), ref):
        parts: dict[str, Any] = {"steps": step_rows(run, trial)}
        if calls:
            parts["calls"] = call_rows(run, trial)
        yield json_text(trial_row(trial, run.meta.variants, labels.get(trial.index, ()), **parts))


def listed_json(runs: Iterable[ListedRun]) -> Iterator[str]:
    """A line of JSON for each run, the newest first."""
    from evenhand.core.wording.json_text import json_text  # noqa: PLC0415 (only when it is asked for)

    for listed in sorted(runs, key=lambda item: item.id, reverse=True):
        row: dict[str, Any] = {"id": listed.id, "file": str(listed.path)}
        if listed.meta is None:
            row["problem"] = listed.problem
        else:
            with RunFile.open(listed.path) as run:
                row |= {"title": listed.meta.title, "tags": run.remarks.tags}
                row |= {"status": listed.meta.status}
                row |= {"alive": listed.alive, "totals": as_object(run.totals())}
                row |= {"created_at": listed.meta.created_at}
        yield json_text(row)


def _summary(run: RunFile, totals: Totals, grid: Grid | None, width: int, ink: Ink) -> list[str]:
    from evenhand.render.run_warnings import usage_line, warnings  # noqa: PLC0415 (not for a heading)

    meta = run.meta
    word = verdict_of(run, totals)
    color = {"passed": "green", "failed": "red", "undecided": "yellow"}[word]
    parts = outcomes_of(totals, meta.planned)
    if (share := _share(run, totals, grid)) is not None:
        parts[0] += f" ({share_within(*share)}, {interval(share.low, share.high)})"
    parts += _calls(run, totals)
    if run.narrowed:
        pass  # how long the whole run took says nothing of these trials
    elif meta.took_s is not None:
        parts.append(seconds(meta.took_s))
    elif meta.status == "running":
        parts.append("still running" if run.alive else "cut off")
    names = grid.names if grid else ()  # without a table, few lines have any
    lines = folded(" · ".join(parts), width, f"  {word} · ", "  ")
    # Coloured after folding, where escapes would count as columns.
    lines[0] = lines[0].replace(word, ink(word, color), 1)
    if meta.requirements and not run.by_outcome:
        from evenhand.render.requirements import requirement_lines  # noqa: PLC0415 (imported on use)

        names = names or column_names(meta.variants)
        for text in requirement_lines(run, names):
            lines += folded(text, width, "  ", names=names)
    sentences = (_replay_line(run), usage_line(run) if grid else "")
    lines += [line for text in filter(None, sentences) for line in folded(text, width, "  ")]
    for text in warnings(run):
        lines += [ink(line, "yellow") for line in folded(text, width, "  ! ", "  ", names=names)]
    if meta.status not in ("finished", "running") and meta.message:
        for text in safe(meta.message, multiline=True).splitlines():
            colour = "dim" if meta.status == "decided" else "yellow"
            lines += [ink(line, colour) for line in folded(text, width, "  ")]
    if meta.settings.get("no_write"):
        return [*lines, "  not saved (--no-write)"]
    # The next one that is imported may be of the same moment: what is printed now has to find this one then, too.
    least = SHORT_ID + 4 if "imported" in meta.settings else SHORT_ID
    name = called(Path.cwd(), run.path, least)
    saved = f"saved as {short_id(meta.id) if name.endswith(SUFFIX) else name} in {near(run.path.parent)}"
    return [
        *lines,
        *_ending(
            saved,
            f"next: {_next(run, totals, grid, meta.planned - totals.trials, quote(name))}",
            width,
        ),
    ]


def _ending(saved: str, following: str, width: int) -> list[str]:
    """Where the run is and what to type next: to be copied, so that no word of it is cut."""
    if len(saved) + len(following) + 5 <= width:
        return [f"  {saved} · {following}"]
    if len(following) + 2 > width:  # the command that is about this run
        following = following.replace(f"{VIEW}, or ", "")
    return [
        *folded(saved, width, "  ", whole=True),
        *folded(following, width, "  ", "    ", whole=True),
    ]


def _replay_line(run: RunFile) -> str:
    """What a run replays; empty for nothing."""
    if "replay" not in run.meta.settings:
        return ""
    from evenhand.engine.replay.summary import replay_line  # noqa: PLC0415 (few runs replay one)

    return replay_line(run)


def _share(run: RunFile, totals: Totals, grid: Grid | None) -> Share | None:
    """The pass rate of a run with one column; None of more, and where it takes a look at every case."""
    if len(run.meta.variants) != 1:
        return None
    if grid is not None:
        return share_in(run.meta, grid.tallies[0], run.groups()[0])
    if run.meta.repeats == 1 and not run.meta.ended_early:
        return rate_of_trials(Tally(totals.passed, totals.failed, totals.errors))
    return None


def _calls(run: RunFile, totals: Totals) -> list[str]:
    """Calls, what they cost over all sessions, and what may come on top."""
    spend = run.spend()
    parts: list[str] = []
    if totals.calls:
        parts.append(calls_of(totals.calls, totals.cached))
        if totals.tokens_in or totals.tokens_out:
            parts.append(tokens(totals.tokens_in, totals.tokens_out))
    if run.meta.finished_at is not None or not run.alive:
        parts += _other_calls(run, totals)
    if totals.calls or spend.calls:
        saved = _saved(run, totals)
        without = f", {money(saved)} saved" if saved else ""
        parts.append(spent(spend.cost_usd, scripted=run.meta.is_scripted) + without)
    if spend.wasted:
        parts.append(f"{count(spend.wasted, 'failed attempt')} may have been charged too")
    if spend.in_doubt and not run.alive:
        most = "" if spend.in_doubt_usd is None else f" ({money(spend.in_doubt_usd)} at most)"
        parts.append(f"{count(spend.in_doubt, 'call')} in doubt{most}")
    return parts


def _saved(run: RunFile, totals: Totals) -> float:
    """What replayed calls would have cost: by so much the columns' costs are more than what was spent."""
    if not totals.cached or totals.cost_usd is None or "replay" in run.meta.settings:
        return 0.0  # of a replay, a line of its own says it
    costs = [cost for cost in run.full_costs() if cost is not None]
    whole = len(costs) == len(run.meta.variants)
    return max(0.0, round(sum(costs) - totals.cost_usd, 10)) if whole else 0.0


def _other_calls(run: RunFile, totals: Totals) -> Iterator[str]:
    """The calls that a run made beyond those of its trials' results: earlier ones, and those without an answer."""
    settled = totals.trials >= run.meta.planned
    usage = run.usage(range(len(run.meta.variants)) if settled else None)
    # Trials that were broken off have answers, too, which are paid for and kept.
    beyond = sum(used.calls for used in usage if used.role != "setup") - totals.calls
    if beyond > 0:
        yield (
            f"{count(beyond, 'earlier call')} of trials that were run again"
            if settled
            else f"{count(beyond, 'call')} of unfinished trials"
        )
    if unanswered := sum(used.unanswered for used in usage):
        yield f"{count(unanswered, 'call')} without an answer"


def _next(run: RunFile, totals: Totals, grid: Grid | None, missing: int, name: str) -> str:
    """The command that most people want now, with this for the run."""
    unfinished = missing > 0 and run.meta.status != "decided"
    if totals.errors and not unfinished and "replay" in run.meta.settings:
        return _first_error(run, grid, name)
    if run.meta.can_resume and (unfinished or totals.errors) and not run.alive:
        from evenhand.render.failures import remedy  # noqa: PLC0415 (imported on use)

        instead = "" if unfinished or grid is None else remedy(run, grid, name)
        return instead or f"evenhand resume {name}"
    if totals.trials and totals.not_applicable == totals.trials:  # which says nothing of why
        return f"{VIEW}, or evenhand show {name} 1"
    if not totals.failed:
        return f"{VIEW}, or evenhand export {name} --to report.html"
    if grid is None:
        return f"{VIEW}, or evenhand show {name}"
    # A column that fails now and then is more instructive than one that always fails.
    failing = [v for v, places in enumerate(grid.failed) if places]
    variant = next(
        (v for v in failing if any(tally.passed for tally in grid.tallies[v].values())), failing[0]
    )
    trial = run.trial(grid.failed[variant][0])
    return f"{VIEW}, or evenhand show {name}{f' {cell_name(grid, trial)}' if trial else ''}"


def _first_error(run: RunFile, grid: Grid | None, name: str) -> str:
    """The command that shows the errors of a run; where only chosen trials are seen, the first of them."""
    if not run.narrowed:
        return f"evenhand show {name} --where status:error"
    places = (place for column in grid.errors for place in column) if grid is not None else ()
    trial = run.trial(next(iter(places), 0))
    return f"evenhand show {name}{f' {cell_name(grid, trial)}' if grid and trial else ''}"


def cell_name(grid: Grid, trial: TrialResult) -> str:
    """A cell as somebody types it; its case alone where the column's name would have to be quoted in a shell."""
    column = grid.names[trial.variant]
    plain = column.replace("_", "").replace("-", "").isalnum()
    return f"{column}:{grid.number(trial)}" if plain else str(grid.number(trial))
