"""Whether a run became worse than its baseline: a verdict for each metric and variant, and one for all of them.

How this works: the trials of both are paired by case id, and each metric of each variant is compared as `compare` does
it, corrected for how many they are; a case whose trials are in error may have come out either way. What cannot be
compared is *nothing*, and never passes: a metric that the baseline has and the run does not measure, or one of which no
trial has a value. The gravest verdict is that of the gate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from evenhand.analysis.comparison.case_judges import judges_asked
from evenhand.analysis.comparison.case_values import PASSED, Seen
from evenhand.analysis.comparison.comparison_sides import LISTED
from evenhand.analysis.comparison.pairing import once
from evenhand.analysis.comparison.same_test import chosen_by, chosen_note
from evenhand.analysis.gates.advice import with_advice
from evenhand.analysis.gates.baseline import Baseline, BaselineTrial
from evenhand.analysis.gates.gate_comparison import (
    NO_VALUE,
    GateSides,
    judged,
    of_a_rate,
)
from evenhand.analysis.gates.gate_results import CHANGES, Gate, GateResult
from evenhand.analysis.summaries.clusters import copies_note
from evenhand.analysis.summaries.column_names import column_names, full_names
from evenhand.analysis.trust.calibrated import JudgedRate, judged_rates
from evenhand.analysis.trust.run_basis import basis_of
from evenhand.analysis.trust.trust_rules import NOT_CHECKED, stale_words
from evenhand.core.errors import UsageError
from evenhand.core.names import did_you_mean
from evenhand.core.scripted import SCRIPTED
from evenhand.core.variant import identity
from evenhand.core.wording.words import count, in_one_line, safe, short_id
from evenhand.store.runfile import RunFile

if TYPE_CHECKING:
    from evenhand.analysis.gates.early_stopping import GateDecider


def gate(
    baseline: Baseline,
    run: RunFile,
    margin: float,
    *,
    metrics: Sequence[str] = (),
    lower: Collection[str] = (),
    decider: GateDecider | None = None,
) -> Gate:
    """Says whether a run is worse than its baseline.

    Args:
        margin: How much worse is accepted, in the metric's unit: 0.05 is 5 points of a rate.
        metrics: Which; with none, `passed` and every metric that the baseline has.
        lower: The metrics of which less is better, where their bounds do not say so.
        decider: What was to end the run as soon as it is decided, or after a part of its cases; None for nobody.

    Raises:
        UsageError: The baseline lacks a metric that is named, or the margin of a rate is above 1.
    """
    look_at(baseline, margin, metrics, lower)
    meta, totals = run.meta, run.totals()
    stopped = decider if meta.status == "decided" else None
    sides = GateSides(baseline, meta.variants, metrics=metrics, lower=lower)
    trials = (one for one in run.trials() if stopped is None or stopped.counts(one.case))
    theirs = sides.read(trials, run.scales(), judges_asked(run))
    names = column_names(meta.variants)
    notes = [SCRIPTED] if meta.is_scripted else []
    notes += [f"not in the run: variant {safe(str(one))}" for one in sides.gone]
    notes += [f"not in the baseline: variant {safe(str(one))}" for one in sides.added]
    if len(sides.pairs) > 1:  # of a single one there is nothing else to compare it with
        before = baseline.variants
        named = [one.name for one in baseline.header.variants]
        # A table's names are as short as its other columns allow: another name is no other variant.
        notes += [
            f"{safe(names[j])} is compared with the baseline's {safe(named[i])}"
            for i, j in sides.pairs
            if named[i] != names[j] and identity(before[i]) != identity(meta.variants[j])
        ]
    both = [(sides.mine[i], theirs[j]) for i, j in sides.pairs]
    notes += list(_case_notes(both, stopped))
    copies = max((now.copies for _, now in both), default=0)
    notes += [copies_note(copies)] if copies else []
    notes += list(_changes(baseline, run))
    taken = {(trial.variant, trial.case) for trial in run.trials() if trial.taken}
    taken -= {(trial.variant, trial.case) for trial in run.trials() if not trial.taken}
    places = _places(run)
    chosen = chosen_by(meta, narrowed=run.by_outcome)
    notes += _unrecorded(sides.mine.values(), theirs.values())
    compared = sides.compared(
        theirs,
        names,
        withheld=chosen_note("the cases of the run", chosen) if chosen else "",
        taken=taken,
        drawn=stopped.drawn if stopped is not None else None,
        tell=notes.append,
    )
    results = [
        replace(one, where=meta.variants[j].where, places=places.get(j, {})) for j, one in compared
    ]
    columns = {names[j]: (sides.mine[i], theirs[j]) for i, j in sides.pairs}
    notes += _left_out(results, columns)
    notes += _judge_again(baseline, results)
    if decider is None:
        results = list(judged(results, margin))
    else:
        level = decider.level(run_whole=stopped is None)
        results = list(judged(results, margin, level, decider.level_of))
    notes += _first_error(run, results, names)
    reused = sum(bool(trial.taken) for trial in run.trials())
    if cached := totals.cached - run.read_again():
        where, anew = "came from the cache", "; --all --no-cache asks for all of them again"
        if "replay" in meta.settings:
            where, anew = "were replayed", ""
        notes.append(
            f"{cached:,} of {count(totals.calls, 'answer')} {where}:"
            f" where the baseline has the same ones, nothing can differ{anew}"
        )
    judges, damage = _judged_rates(run)
    notes = [*damage, *_judge_notes(judges, {one.metric for one in results}), *notes]
    by_judges = {rate.metric for rate in judges}
    results = [replace(one, judged=one.metric in by_judges) for one in results]
    results = list(with_advice(results, columns, run))
    results = [_explained(one, run) for one in results]
    if not metrics:
        results = list(_once(results))
    return Gate(
        results=tuple(results),
        margin=margin,
        asked=totals.trials - reused,
        taken=reused,
        of=meta.planned,
        cost_usd=totals.cost_usd,
        status=meta.status,
        notes=tuple(notes),
        because=_nothing_asked(run, both, bool(taken)),
        stopping=decider and decider.stopping(stopped=stopped is not None),
        title=meta.title,
        run=meta.id,
        in_full=dict(zip(names, full_names(meta.variants), strict=True)),
    )


def _once(results: Sequence[GateResult]) -> Iterator[GateResult]:
    """The results, of which those that are another's, too, say so, unless there is more to say of them."""
    advice = {(one.variant, one.metric): one.advice for one in results}
    marked = once(one.compared for one in results if one.compared is not None)
    for result in results:
        compared = None if result.compared is None else next(marked)
        same = (
            compared is not None and advice.get((result.variant, compared.same_as)) == result.advice
        )
        yield replace(result, compared=compared) if same else result


def _left_out(
    results: Iterable[GateResult], columns: Mapping[str, tuple[Seen, Seen]]
) -> Iterator[str]:
    """Which cases are another test now, or have no value any more, and why, where the others are compared."""
    metrics: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}
    for result in results:
        if result.compared is not None and result.compared.n:
            left = {**result.compared.unlike, _NO_MORE: _no_more(result, *columns[result.variant])}
            for why, cases in left.items():
                if cases:
                    metrics.setdefault((why, tuple(cases)), {})[safe(result.metric)] = None
    for (why, cases), names in metrics.items():
        listed = ", ".join(map(safe, cases[:3])) + (
            f" and {len(cases) - 3:,} more" if len(cases) > 3 else ""
        )
        yield f"left out of {', '.join(names)}: {count(len(cases), 'case')} {why}: {listed}"


_NO_MORE = "measured in the baseline and not in the run"


def _no_more(result: GateResult, mine: Seen, theirs: Seen) -> Sequence[str]:
    """The cases that have a value in the baseline and neither a value nor an error in the run."""
    if result.compared is None or not result.compared.other:
        return ()
    return [
        mine.cases.name(number)
        for number in mine.cases
        if number in theirs.cases
        and mine.value(result.metric, number).values
        and not theirs.value(result.metric, number).n
    ]


def _first_error(
    run: RunFile, results: Iterable[GateResult], names: Sequence[str]
) -> Iterator[str]:
    """Why the first trial is in error of those that left a variant without a value, or a result undecided."""
    silent = {
        r.variant
        for r in results
        if r.why.startswith(NO_VALUE) or (r.compared is not None and r.compared.open)
    }
    columns = {index for index, name in enumerate(names) if name in silent}
    if not columns:
        return
    for trial in run.trials():
        if trial.variant in columns and trial.outcome == "error":
            error = trial.error
            text = f"{error.slug}: {error.message}\n{error.where}" if error else trial.reason
            yield f"the first error, of case {safe(trial.case)}: {safe(in_one_line(text))}"
            return


def _judge_again(baseline: Baseline, results: Iterable[GateResult]) -> Iterator[str]:
    """What to do where another judge judged the baseline."""
    if any(one.compared is not None and one.compared.other_judge for one in results):
        run = short_id(baseline.header.run)
        yield (
            "to gate the application with the new judge, regrade the baseline's run and make the baseline again:"
            f" evenhand regrade {run} --with PATH, then evenhand baseline latest --to FILE"
        )


def _unrecorded(baseline: Iterable[Seen], run: Iterable[Seen]) -> Iterator[str]:
    """That the baseline does not say what was asked for it, as those of earlier versions and of imported runs."""
    silent = [column.tests for column in baseline if not column.tests.recorded]
    if silent and any(column.tests.says_something for column in run):
        if recorder := silent[0].imported:
            yield f"{safe(recorder)} keeps no record of its expectations, so a changed test may go unnoticed"
            return
        yield (
            "the baseline has no record of its cases and expectations, so a changed test may go unnoticed."
            " Make it again: evenhand baseline RUN --to FILE"
        )


def _places(run: RunFile) -> dict[int, dict[str, int]]:
    """By variant and case, the place in the plan of the trial to look at first."""
    places: dict[int, dict[str, int]] = {}
    ranks: dict[tuple[int, str], int] = {}
    for trial in run.outcomes():
        key, rank = (trial.variant, trial.case), _LOOKED_AT.get(trial.outcome, len(_LOOKED_AT))
        if key not in ranks or rank < ranks[key]:
            places.setdefault(trial.variant, {})[trial.case] = trial.index
            ranks[key] = rank
    return places


_LOOKED_AT = {"fail": 0, "error": 1, "not_applicable": 2}
"""Which of a case's trials people want to look at first; passed ones last."""


def _explained(result: GateResult, run: RunFile) -> GateResult:
    """The result; that of a pass rate with the expectation that each worse case failed, as far as they are listed."""
    if result.metric != PASSED or result.compared is None:
        return result
    failed: dict[str, str] = {}
    for change in result.compared.changed[:CHANGES]:
        place = result.places.get(change.case)
        if change.difference_range.least > 0:  # better, whatever errors would have come to
            continue
        trial = None if place is None else run.trial(place)
        if trial is not None and trial.missed:
            failed[change.case] = trial.missed[0].name
    return replace(result, failed=failed)


def _nothing_asked(run: RunFile, pairs: Sequence[tuple[Seen, Seen]], taken: bool) -> str:
    """Why nothing can be concluded from a run as a whole; empty where something can."""
    totals = run.totals()
    if not totals.trials:
        return run.meta.message or "no trial was run"
    if not any(mine.cases.meets(theirs.cases) for mine, theirs in pairs):
        if run.meta.status not in ("finished", "decided"):
            return "the run did not finish, and so far has no case in common with the baseline"
        return (
            "the baseline is for something else: it has no case and variant in common with the run"
        )
    if totals.errors == totals.trials:
        return f"all {count(totals.trials, 'trial')} ended in an error"
    # `echo` and stored outputs have no record; an eval set may call an application that asks its models by itself.
    if not run.last_call() and not taken and not any(variant.eval for variant in run.meta.variants):
        return "no model was asked"
    return ""


def look_at(
    baseline: Baseline, margin: float, metrics: Sequence[str] = (), lower: Collection[str] = ()
) -> None:
    """That a baseline has what is to be compared, before anything is paid for.

    Args:
        margin: How much worse is accepted.
        metrics: What is to be compared; with none, all that it has.
        lower: The metrics of which less is better.

    Raises:
        UsageError: It lacks a metric that is named, or the margin of a pass rate is above 1.
    """
    names = {name: None for trial in baseline.trials for name in _names(trial)}
    known = [PASSED, "score", "cost", *names]
    listed = f"It has: {', '.join(map(safe, known[:LISTED]))}."
    wrong = [
        f"the baseline has no metric {name!r}\n  {did_you_mean(name, known, listed)}"
        for name in dict.fromkeys((*metrics, *lower))
        if name not in known
    ]
    if wrong:
        raise UsageError("\n".join(wrong))
    # A margin in points, 3 for 0.03, would let anything pass.
    if margin > 1 and (not metrics or PASSED in metrics):
        raise of_a_rate(margin, PASSED)


def _names(trial: BaselineTrial) -> Iterator[str]:
    yield from trial.metrics
    for one in trial.expectations:
        yield from filter(None, (one.metric, one.name))


def _case_notes(pairs: Iterable[tuple[Seen, Seen]], stopped: GateDecider | None) -> Iterator[str]:
    """Which cases are in one of the two only, and are not just left out of the run."""
    gone: dict[int, str] = {}
    added: dict[int, str] = {}
    for mine, theirs in pairs:
        gone |= {
            n: mine.cases.name(n)
            for n in mine.cases
            if n not in theirs.cases
            and not (stopped is not None and stopped.drawn.leaves_out(mine.cases.ids[n]))
        }
        added |= {n: theirs.cases.name(n) for n in theirs.cases if n not in mine.cases}
    for cases, where in ((gone, "baseline"), (added, "run")):
        if cases:
            names = ", ".join(safe(name) for name in list(cases.values())[:3])
            more = f" and {len(cases) - 3:,} more" if len(cases) > 3 else ""
            yield f"{count(len(cases), 'case')} only in the {where}: {names}{more}"


def _changes(baseline: Baseline, run: RunFile) -> Iterator[str]:
    """What the numbers depend on and is otherwise now, apart from what is compared: judges and their calibration."""
    if not run.asks_judges():
        return  # what was taken was judged as the baseline was
    before, now = baseline.header.bound, basis_of(run)
    # A case's own words may stand in what its judge is asked: of other cases, the comparison of each says more.
    same_cases = before.get("data") == now["data"]

    def differs(name: str) -> bool:
        both, other = name in now and name in before, before.get(name) != now.get(name)
        if name.startswith("judge of "):
            return not both or (same_cases and other)
        if name.startswith("judge settings "):  # a baseline of an earlier version doesn't have them
            return both and other
        return name == "calibration" and name in now and other

    changed = [
        safe(name)
        + ("" if name in now and name in before else " now" if name in now else " before")
        for name in dict.fromkeys((*now, *before))
        if differs(name)
    ]
    if changed:
        yield f"! judging has changed since the baseline: {'; '.join(changed)}"


_OF_ALL = frozenset({PASSED, "score"})
"""What every expectation of a trial is part of."""
_NAMED = 3


def _judged_rates(run: RunFile) -> tuple[list[JudgedRate], list[str]]:
    """What judges passed, and a line that says why it is not known."""
    try:
        return list(judged_rates(run)), []
    except UsageError as error:  # a damaged calibration
        return [], [f"! {safe(in_one_line(str(error)))}"]


def _judge_notes(rates: Iterable[JudgedRate], metrics: Collection[str]) -> Iterator[str]:
    """A line for each judge and lack, as `run` and `compare` report them."""
    lacks: dict[tuple[str, str], dict[str, None]] = {}
    for rate in rates:
        lack = _lack(rate)
        if lack and (rate.metric in metrics or not _OF_ALL.isdisjoint(metrics)):
            lacks.setdefault((rate.model, lack), {})[rate.metric] = None
    for (model, lack), names in lacks.items():
        listed = ", ".join(map(safe, [*names][:_NAMED]))
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        yield f"! {listed}{more}, judged by {safe(model)}: {lack}"


def _lack(rate: JudgedRate) -> str:
    """Why a judge's verdicts may not be relied on, in words; empty where they may."""
    if rate.status == "missing":
        return NOT_CHECKED
    if rate.status == "stale":
        return f"calibration is stale: {stale_words([*map(safe, rate.changed)])}"
    return f"{rate.doubt}: see `evenhand calibrate`" if rate.doubt else ""
