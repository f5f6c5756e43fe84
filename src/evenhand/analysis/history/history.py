"""The runs of a folder over time: what each came to, and what is otherwise in it than in the one before.

Runs that ask about judges (probes, checks of canaries) are no runs of a system, and are left out. What a check of
canaries came to is said of the run whose judges it asked. A run that did not finish is listed without numbers: a rate
over the part that happened to be settled is none of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

from evenhand.analysis.history.run_changes import (
    Evidence,
    RunChange,
    changes,
    evidence_of,
    finished,
    listed,
)
from evenhand.analysis.summaries.column_names import column_names, full_names
from evenhand.analysis.summaries.rates import Mean, latencies, rates
from evenhand.analysis.trust.canaries import (
    CanaryCheck,
    CanaryReport,
    beside_earlier,
    finished_checks,
)
from evenhand.core.errors import StoreError
from evenhand.core.json_shapes import is_mapping, is_sequence
from evenhand.core.judge_checks import is_canary_check
from evenhand.core.record import Record
from evenhand.core.run import RunMeta, RunStatus
from evenhand.core.variant import eval_sets, only_set
from evenhand.stats.tallies import Share
from evenhand.store.runfile import RunFile


class HistoryColumn(Record, frozen=True, kw_only=True):
    """One column of a run.

    Attributes:
        name: As the run's table has it; empty for the only one.
        in_full: The same, however long.
        cases: Cases with a verdict or an error.
        share: The pass rate over cases; None for no cases.
        latency: The mean over cases, in seconds; None where nothing was asked.
        cost_usd: What its trials cost; None where a price is not known.
    """

    name: str
    in_full: str
    cases: int
    share: Share | None
    latency: Mean | None
    cost_usd: float | None


class HistoryRun(Record, frozen=True, kw_only=True):
    """One run.

    Attributes:
        at: When it began, in seconds since 1970.
        status: How it ended; `interrupted` for one that was killed.
        finished: Whether all its trials are settled.
        trials: How many are.
        offline: Whether its replies came from a script.
        calls: How many calls of its settled trials are recorded.
        cost_usd: What all its calls cost; None where a price is not known.
        columns: What it came to; empty for one that did not finish.
        changes: What is otherwise than in the run before.
        canaries: What its judges said of canaries, beside earlier checks; None where they were not asked.
        sample: Whether it ended after cases that were drawn beforehand.
    """

    path: Path
    id: str
    title: str
    at: float
    status: RunStatus
    finished: bool
    trials: int
    planned: int
    offline: bool
    calls: int
    cost_usd: float | None
    columns: tuple[HistoryColumn, ...]
    changes: tuple[RunChange, ...] = ()
    tags: tuple[str, ...] = ()
    canaries: CanaryReport | None = None
    sample: bool = False


class RunLine(Record, frozen=True):
    """The runs of one config or set.

    Attributes:
        source: The file or folder that they were made from; empty for those made in code.
        title: That of the newest.
        runs: The oldest first.
        earlier: How many older ones were left out.
    """

    source: str
    title: str
    runs: tuple[HistoryRun, ...]
    earlier: int = 0


class History(Record, frozen=True):
    """The runs of a folder.

    Attributes:
        lines: One for each config or set, the one with the newest run first.
        unreadable: Files that cannot be read, with why.
    """

    lines: tuple[RunLine, ...]
    unreadable: tuple[tuple[Path, str], ...] = ()


def history(files: Iterable[Path], within: Path | None = None, last: int | None = None) -> History:
    """Reads the history of these run files, one at a time.

    Args:
        files: Run files, in any order.
        within: Only runs made from this file or folder, or from what is below it.
        last: At most so many runs of each config or set, the newest.
    """
    groups: dict[tuple[str, str], list[tuple[float, Path]]] = {}
    titles: dict[tuple[str, str], tuple[float, str]] = {}
    sets: dict[tuple[str, str], tuple[float, frozenset[str]]] = {}
    ours: set[tuple[str, str]] = set()
    unreadable: list[tuple[Path, str]] = []
    checks: list[Path] = []
    ids: set[str] = set()
    for path in files:
        try:
            with RunFile.open(path) as run:
                meta, title = run.meta, run.plan_title
        except StoreError as error:
            unreadable.append((path, error.message))
            continue
        if is_canary_check(meta):
            checks.append(path)
        # A run can be in two homes: pulled from elsewhere, say.
        if meta.id in ids or not _belongs(meta, within):
            continue
        ids.add(meta.id)
        # A folder may hold several sets. Runs made in code have no file: their title is all that tells them apart.
        key = (meta.source, only_set(meta.variants) if meta.source else title)
        groups.setdefault(key, []).append((meta.created_at, path))
        if "imported" not in meta.settings:
            ours.add(key)
        # The newest run's title: people rename configs.
        titles[key] = max(titles.get(key, (0.0, "")), (meta.created_at, title))
        if key not in sets or meta.created_at < sets[key][0]:
            sets[key] = meta.created_at, eval_sets(meta.variants)
    _join_imported(groups, titles, ours)
    lines: list[RunLine] = []
    canaries = finished_checks(checks)
    for key, every in groups.items():
        every.sort()
        latest = every if last is None else every[-last:]
        runs = _with_canaries(_read([path for _, path in latest], unreadable), canaries)
        if runs and len(latest) == len(every):
            runs = _since(runs, _alone_before(key, sets))
        if runs:
            lines.append(RunLine(key[0], titles[key][1], runs, len(every) - len(latest)))
    lines.sort(key=lambda line: line.runs[-1].at, reverse=True)
    return History(tuple(lines), tuple(unreadable))


def _alone_before(
    key: tuple[str, str], sets: Mapping[tuple[str, str], tuple[float, frozenset[str]]]
) -> list[str]:
    """Of several sets that run together, those that ran alone before: each has a line of its own."""
    began, together = sets[key]
    alone = [
        name
        for (source, name), (at, _) in sets.items()
        if source == key[0] and name in together and at < began
    ]
    return sorted(alone) if key[0] and len(together) > 1 else []


def _since(runs: tuple[HistoryRun, ...], alone: Sequence[str]) -> tuple[HistoryRun, ...]:
    """The runs, the first of which says where its sets' earlier runs are."""
    if not alone:
        return runs
    text = f"{listed(alone)} ran alone before: earlier runs are in a history of their own"
    first = replace(runs[0], changes=(*runs[0].changes, RunChange("eval", text)))
    return (first, *runs[1:])


def _join_imported(
    groups: dict[tuple[str, str], list[tuple[float, Path]]],
    titles: Mapping[tuple[str, str], tuple[float, str]],
    ours: AbstractSet[tuple[str, str]],
) -> None:
    """Puts imported runs beside those of the only config or set that has their title.

    So the history of an evaluation goes on where it was moved to.
    """
    for key in [key for key in groups if not key[0] and key not in ours]:
        heirs = [other for other in groups if other[0] and titles[other][1] == key[1]]
        if len(heirs) == 1:
            groups[heirs[0]] += groups.pop(key)


def _belongs(meta: RunMeta, within: Path | None) -> bool:
    if not meta.is_of_evals:
        return False
    if within is None or (meta.source and Path(meta.source).is_relative_to(within)):
        return True
    request = meta.settings.get("asked")
    paths = request.get("paths") if is_mapping(request) else None
    if not is_sequence(paths) or not paths:
        return False
    # The evals of a folder are run from the folder above: what was named lies in it all the same.
    return all(isinstance(one, str) and Path(one).is_relative_to(within) for one in paths)


def _read(paths: Sequence[Path], unreadable: list[tuple[Path, str]]) -> tuple[HistoryRun, ...]:
    """What these runs came to, the oldest first, each beside the one before."""
    runs: list[HistoryRun] = []
    before: Evidence | None = None
    for path in paths:
        try:
            with RunFile.open(path) as run:
                evidence = evidence_of(run)
                one = history_run(run)
        except StoreError as error:
            unreadable.append((path, error.message))
            continue
        # A run without a trial says nothing: the next one is held against the one before it.
        if before is not None and one.trials:
            one = replace(one, changes=tuple(changes(before, evidence)))
        if one.trials:
            before = evidence
        runs.append(one)
    return tuple(runs)


def _with_canaries(
    runs: Sequence[HistoryRun], checks: Sequence[CanaryCheck]
) -> tuple[HistoryRun, ...]:
    """Each run with the last check that asked its judges."""
    of_run = {check.run: check for check in sorted(checks, key=lambda one: one.check)}
    return tuple(
        replace(run, canaries=beside_earlier(of_run[run.id], checks)) if run.id in of_run else run
        for run in runs
    )


def history_run(run: RunFile) -> HistoryRun:
    """What a run came to, from its totals.

    Raises:
        StoreError: The file cannot be read.
    """
    meta, totals = run.meta, run.totals()
    whole = finished(run)
    columns: list[HistoryColumn] = []
    if whole:
        several = len(meta.variants) > 1
        names = column_names(meta.variants) if several else [""]
        whole_names = full_names(meta.variants) if several else [""]
        each = zip(names, whole_names, rates(run), latencies(run), run.by_variant(), strict=True)
        columns = [
            HistoryColumn(
                name=name,
                in_full=in_full,
                cases=rate.cases,
                share=rate.share,
                latency=latency,
                cost_usd=of.cost_usd,
            )
            for name, in_full, rate, latency, of in each
        ]
    # A killed process could not write that it ended.
    killed = meta.status == "running" and not run.alive
    return HistoryRun(
        path=run.path,
        id=meta.id,
        title=run.remarks.title or meta.title,
        at=meta.created_at,
        status="interrupted" if killed else meta.status,
        finished=whole,
        trials=totals.trials,
        planned=meta.planned,
        offline=meta.is_scripted,
        calls=totals.calls,
        cost_usd=run.spend().cost_usd,
        columns=tuple(columns),
        tags=tuple(run.remarks.tags),
        sample=meta.is_sample,
    )
