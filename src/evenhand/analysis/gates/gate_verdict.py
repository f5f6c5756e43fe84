"""Whether a run became worse than its baseline: a verdict for each metric and variant, and one for all of them.

How this works: the trials of both are paired by case id, and each metric of each variant is compared as `compare` does
it, corrected for how many they are; a case whose trials are in error may have come out either way. What cannot be
compared is *nothing*, and never passes: a metric that the baseline has and the run does not measure, or one of which no
trial has a value. The gravest verdict is that of the gate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from evenhand.analysis.comparison.case_values import PASSED, CaseIds, Scales, Seen, read_trials
from evenhand.analysis.comparison.comparison_results import unlike_words
from evenhand.analysis.comparison.comparison_sides import LISTED, matched_variants
from evenhand.analysis.comparison.pairing import paired
from evenhand.analysis.comparison.same_test import Likeness, chosen_by, chosen_note, other_evals
from evenhand.analysis.gates.advice import with_advice
from evenhand.analysis.gates.baseline import Baseline, BaselineTrial
from evenhand.analysis.gates.baseline_making import bound_to
from evenhand.analysis.gates.early_stopping import LAST, GateDecider, expecting
from evenhand.analysis.gates.gate_results import Gate, GateResult, GateVerdict
from evenhand.analysis.gates.gate_rule import gate_rule, more_cases
from evenhand.analysis.summaries.clusters import copies_note
from evenhand.analysis.summaries.column_names import column_names, full_names
from evenhand.core.errors import UsageError
from evenhand.core.names import did_you_mean
from evenhand.core.run import TrialResult
from evenhand.core.scripted import SCRIPTED
from evenhand.core.wording.words import count, in_one_line, safe
from evenhand.stats.multiple import holm
from evenhand.stats.paired_difference import LEVEL, Word
from evenhand.store.runfile import RunFile

UNCHANGED = "nothing that is asked or checked has changed"
NO_VALUE = "the run has no value"
_VERDICTS: dict[Word, GateVerdict] = {
    "better": "better",
    "worse": "worse",
    "non-inferior": "not worse",
    "undecided": "undecided",
}


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
        baseline: What is compared with.
        run: What is judged.
        margin: How much worse is accepted, in the metric's unit: 0.05 is 5 points of a rate.
        metrics: Which; with none, `passed` and every metric that the baseline has.
        lower: The metrics of which less is better, where their bounds do not say so.
        decider: What was to end the run as soon as it is decided; None for nobody.

    Raises:
        UsageError: The baseline lacks a metric that is named, or the margin of a rate is above 1.
    """
    look_at(baseline, margin, metrics, lower)
    meta, totals = run.meta, run.totals()
    pairs, gone, added = matched_variants(baseline.variants, meta.variants)
    stopped = decider if meta.status == "decided" else None

    def read(trials: Iterable[TrialResult], columns: set[int], scales: Scales) -> dict[int, Seen]:
        counted = (one for one in trials if stopped is None or stopped.counts(one.case))
        return read_trials(
            map(expecting, counted), columns, metrics, clusters, ids=ids, scales=scales
        )

    ids = CaseIds()
    # What belongs together, the run says of the cases of both.
    clusters = {variant.index: variant.cluster for variant in meta.variants}
    mine = read(baseline.results(), {i for i, _ in pairs}, baseline.scales)
    theirs = read(run.trials(), {j for _, j in pairs}, run.scales())
    names = column_names(meta.variants)
    notes = [SCRIPTED] if meta.is_scripted else []
    notes += [f"not in the run: variant {safe(str(one))}" for one in gone]
    notes += [f"not in the baseline: variant {safe(str(one))}" for one in added]
    notes += list(_case_notes([(mine[i], theirs[j]) for i, j in pairs]))
    copies = max((theirs[j].copies for _, j in pairs), default=0)
    notes += [copies_note(copies)] if copies else []
    notes += list(_changes(baseline, run))
    run_anew = {(trial.variant, trial.case) for trial in run.trials() if not trial.taken}
    taken = sum(bool(trial.taken) for trial in run.trials())
    places = _places(run)
    results: list[GateResult] = []
    chosen = chosen_by(meta, narrowed=run.by_outcome)
    notes += _unrecorded(mine.values(), theirs.values())
    for i, j in pairs:
        other = other_evals(baseline.variants[i], meta.variants[j])
        likeness = Likeness(
            mine[i],
            theirs[j],
            withheld=chosen_note("the cases of the run", chosen) if chosen else other,
        )
        notes += likeness.notes()
        common = [ids[n] for n in mine[i].cases if n in theirs[j].cases]
        # All of them were taken from the baseline.
        unchanged = bool(common) and not any((j, case) in run_anew for case in common)
        where = meta.variants[j].where
        for metric in _metrics(mine[i], theirs[j], metrics):
            result = _compared(
                metric,
                names[j],
                (mine[i], theirs[j]),
                likeness,
                metric in lower,
                unchanged=unchanged,
            )
            result = replace(result, where=where, places=places.get(j, {}))
            if stopped is not None and result.verdict != "nothing":
                result = stopped.judged(result, i, j)
            results.append(result)
    notes += _left_out(results)
    notes += _first_error(run, results, names)
    if stopped is None:
        results = list(_judged(results, margin, LAST if decider is not None else LEVEL))
    sides = {names[j]: (mine[i], theirs[j]) for i, j in pairs}
    results = list(with_advice(results, sides, run, totals.trials - taken))
    return Gate(
        results=tuple(results),
        margin=margin,
        asked=totals.trials - taken,
        taken=taken,
        of=meta.planned,
        cost_usd=totals.cost_usd,
        status=meta.status,
        notes=tuple(notes),
        because=_nothing_asked(run, [(mine[i], theirs[j]) for i, j in pairs], taken),
        stopping=decider and decider.stopping(stopped=stopped is not None),
        title=meta.title,
        run=meta.id,
        in_full=dict(zip(names, full_names(meta.variants), strict=True)),
    )


def _left_out(results: Iterable[GateResult]) -> Iterator[str]:
    """Which cases are another test now, and why, where the others are compared."""
    metrics: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}
    for result in results:
        if result.compared is not None and result.compared.n:
            for why, cases in result.compared.unlike.items():
                metrics.setdefault((why, tuple(cases)), {})[safe(result.metric)] = None
    for (why, cases), names in metrics.items():
        listed = ", ".join(map(safe, cases[:3])) + (
            f" and {len(cases) - 3:,} more" if len(cases) > 3 else ""
        )
        yield f"left out of {', '.join(names)}: {count(len(cases), 'case')} {why}: {listed}"


def _first_error(
    run: RunFile, results: Iterable[GateResult], names: Sequence[str]
) -> Iterator[str]:
    """Why the first trial is in error of those that left a variant without a value, or the run without any."""
    silent = {r.variant for r in results if r.why.startswith(NO_VALUE)}
    columns = {index for index, name in enumerate(names) if name in silent}
    if not columns:
        return
    for trial in run.trials():
        if trial.variant in columns and trial.error is not None:
            error = trial.error
            why = in_one_line(f"{error.slug}: {error.message}\n{error.where}")
            yield f"the first error, of case {safe(trial.case)}: {safe(why)}"
            return


def _unrecorded(baseline: Iterable[Seen], run: Iterable[Seen]) -> Iterator[str]:
    """That the baseline does not say what was asked for it, as those of earlier versions."""
    silent = not all(column.tests.recorded for column in baseline)
    if silent and any(column.tests.says_something for column in run):
        yield (
            "the baseline does not say what its cases and expectations were: whether the test has changed since is"
            " not known. Make it anew: evenhand baseline RUN --to FILE"
        )


def _places(run: RunFile) -> dict[int, dict[str, int]]:
    """By variant and case the place in the plan of the first trial that did not pass, or else of the first."""
    places: dict[int, dict[str, int]] = {}
    passed: set[tuple[int, str]] = set()
    for trial in run.outcomes():
        cases, key = places.setdefault(trial.variant, {}), (trial.variant, trial.case)
        if trial.case not in cases:
            cases[trial.case] = trial.index
            if trial.outcome == "pass":
                passed.add(key)
        # The first that did not pass is what people want to look at.
        elif key in passed and trial.outcome != "pass":
            cases[trial.case] = trial.index
            passed.remove(key)
    return places


def _nothing_asked(run: RunFile, pairs: Sequence[tuple[Seen, Seen]], taken: int) -> str:
    """Why nothing can be concluded from a run as a whole; empty where something can."""
    totals = run.totals()
    if not totals.trials:
        return run.meta.message or "no trial was run"
    if not any(mine.cases.meets(theirs.cases) for mine, theirs in pairs):
        if run.meta.status not in ("finished", "decided"):
            return "the run did not finish, and so far has no case in common with the baseline"
        return (
            "the baseline is of something else: it has no case and variant in common with the run"
        )
    if totals.errors == totals.trials:
        return f"all {count(totals.trials, 'trial')} ended in an error"
    # `echo` and stored outputs have no record; an eval set may call an application that asks its models by itself.
    if not run.last_call() and not taken and not any(variant.eval for variant in run.meta.variants):
        return "no model was asked"
    return ""


def _metrics(mine: Seen, theirs: Seen, names: Sequence[str]) -> list[str]:
    """What is compared: what is named, or else all that the baseline has of the cases of both."""
    if names:
        return [name for name in names if name in mine.metrics or name in theirs.metrics]
    return [
        name
        for name in mine.metrics
        if any(mine.value(name, case).n for case in mine.cases if case in theirs.cases)
    ]


def _compared(
    metric: str,
    variant: str,
    sides: tuple[Seen, Seen],
    likeness: Likeness,
    less: bool,
    *,
    unchanged: bool,
) -> GateResult:
    """A metric of two columns; nothing is judged yet, but where there is nothing to judge.

    Args:
        metric: Which.
        variant: What the run's table calls it.
        sides: The baseline's and the run's.
        likeness: How their tests differ.
        less: Whether less is better.
        unchanged: All of its trials were taken from the baseline: there is no difference to look for.
    """
    mine, theirs = sides
    for side, who in ((mine, "baseline"), (theirs, "run")):
        if metric not in side.metrics:
            return GateResult(
                metric=metric,
                variant=variant,
                verdict="nothing",
                why=f"the {who} does not measure it",
            )
    compared = paired(
        metric, (variant, variant), mine, theirs, less, several=False, likeness=likeness
    )
    known = [
        case for case in mine.cases if case in theirs.cases and theirs.value(metric, case).values
    ]
    why = compared.withheld
    if why:
        pass
    elif not compared.n and compared.unlike:
        why = f"the test has changed: {unlike_words(compared)}"
    elif not compared.n:
        why = "no case has a value in both"
    elif not known:
        why = f"{NO_VALUE}: {count(compared.n, 'case')} in error"
    elif not any(mine.value(metric, case).values for case in known):
        why = "the baseline has no value: its trials are in error"
    if not why and unchanged:
        same = replace(compared, low=0.0, high=0.0)  # by what is known, and not by what was drawn
        return GateResult(
            metric=metric, variant=variant, verdict="not worse", compared=same, why=UNCHANGED
        )
    return GateResult(
        metric=metric,
        variant=variant,
        verdict="nothing" if why else "undecided",
        compared=compared,
        why=why,
    )


def _judged(
    results: Sequence[GateResult], margin: float, level: float = LEVEL
) -> Iterator[GateResult]:
    """The results with their verdicts, each in the light of how many they are.

    Args:
        results: All of them.
        margin: How much worse is accepted.
        level: Of each test.
    """
    rule = partial(gate_rule, level=level)
    tests = [r.compared for r in results if r.compared is not None and r.verdict == "undecided"]
    alone = [compared.p_alone for compared in tests]
    place = 0
    for result in results:
        compared = result.compared
        if compared is not None and compared.data.rates and margin > 1:
            raise _of_a_rate(margin, result.metric)
        if compared is None or result.verdict != "undecided":
            yield result
            continue

        def corrected(own: float, i: int = place) -> float:
            return holm([*alone[:i], own, *alone[i + 1 :]])[i]

        word, open_ = compared.data.verdict(
            corrected, lower=compared.lower, of=len(tests), margin=margin, rule=rule
        )
        place += 1
        more = None
        if word == "undecided":
            more = more_cases(compared.data, margin, lower=compared.lower)
        low, high = compared.data.interval(1 - level)
        least, most = compared.data.interval(1 - 2 * level)
        yield replace(
            result,
            verdict=_VERDICTS[word],
            compared=replace(
                compared,
                verdict=word,
                open=open_,
                low=low,
                high=high,
                p=corrected(compared.p_alone),
            ),
            more=more,
            at_worst=most if compared.lower else -least,
        )


def look_at(
    baseline: Baseline, margin: float, metrics: Sequence[str] = (), lower: Collection[str] = ()
) -> None:
    """That a baseline has what is to be compared, before anything is paid for.

    Args:
        baseline: It.
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
        raise _of_a_rate(margin, PASSED)


def _names(trial: BaselineTrial) -> Iterator[str]:
    yield from trial.metrics
    for one in trial.expectations:
        yield from filter(None, (one.metric, one.name))


def _of_a_rate(margin: float, metric: str) -> UsageError:
    return UsageError(
        f"the margin is {margin:g}, and {metric} is a rate between 0 and 1",
        hint=f"{margin:g} points are {margin / 100:g}.",
    )


def _case_notes(pairs: Iterable[tuple[Seen, Seen]]) -> Iterator[str]:
    """Which cases are in one of the two only."""
    gone: dict[int, str] = {}
    added: dict[int, str] = {}
    for mine, theirs in pairs:
        gone |= {n: mine.cases.name(n) for n in mine.cases if n not in theirs.cases}
        added |= {n: theirs.cases.name(n) for n in theirs.cases if n not in mine.cases}
    for cases, where in ((gone, "baseline"), (added, "run")):
        if cases:
            names = ", ".join(safe(name) for name in list(cases.values())[:3])
            more = f" and {len(cases) - 3:,} more" if len(cases) > 3 else ""
            yield f"{count(len(cases), 'case')} only in the {where}: {names}{more}"


def _changes(baseline: Baseline, run: RunFile) -> Iterator[str]:
    """What the numbers depend on and is otherwise now, apart from what is compared: judges and their calibration."""
    if not sum(run.judge_calls()):
        return  # what was taken was judged as the baseline was
    before, now = baseline.header.bound, bound_to(run)
    changed = [
        name
        for name in now
        if name.startswith(("judge ", "calibration")) and before.get(name) != now[name]
    ]
    changed += [name for name in before if name.startswith("judge ") and name not in now]
    if changed:
        yield f"! judging has changed since the baseline: {', '.join(map(safe, changed))}"
