"""Makes one baseline of several runs: those of one system are further repeats, those of others say how hard cases are.

How this works: the newest run is the baseline. Each earlier run that was asked the same of the same system by the same
judges adds its trials to it as repeats, so that each case has a mean, and a variance. A run of another system, or with
other judges, adds one number for each case and metric: what it scored. That predicts the cases that a later gate does
not run, and is compared with nothing. At the first run whose test differs, the pool ends: what was asked before that
is another question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from msgspec import UNSET
from msgspec.structs import replace

from evenhand.analysis.comparison.case_values import PASSED, CaseIds, Seen, read_trials
from evenhand.analysis.comparison.comparison_sides import matched_variants
from evenhand.analysis.comparison.same_test import Likeness, chosen_by, other_evals
from evenhand.analysis.gates.baseline import BaselineRun, BaselineTrial
from evenhand.analysis.gates.baseline_file import written
from evenhand.analysis.gates.baseline_making import baseline_parts, baseline_trials, bound_to
from evenhand.core.record import Record
from evenhand.core.wording.words import count, short_id
from evenhand.store.runfile import RunFile

MOST_SYSTEMS = 10
"""Of so many other systems a baseline keeps what they scored."""


class Pool(Record, frozen=True, kw_only=True):
    """A baseline of several runs, and what there is to know of it.

    Attributes:
        data: The baseline, as its file has it.
        pooled: How many earlier runs are repeats in it.
        systems: How many other systems it knows the scores of.
        notes: What was left out, and why, a line each.
    """

    data: bytes
    pooled: int
    systems: int
    notes: tuple[str, ...]


def pooled_baseline(newest: RunFile, earlier: Iterable[RunFile], *, outputs: bool = False) -> Pool:
    """A baseline of a run and of runs before it.

    Args:
        newest: The run that later ones are compared with.
        earlier: Runs before it, the newest first. Each is read once, one at a time.
        outputs: With the outputs of the newest run's trials.

    Raises:
        UsageError: Nothing can be compared with the newest run.
    """
    header, trials = baseline_parts(newest, outputs=outputs)
    bound = _system(header.bound)
    ids = CaseIds()
    mine = _read(newest, ids)
    repeats = 1 + max(trial.repeat for trial in trials)
    pooled: list[BaselineRun] = []
    systems: list[tuple[BaselineRun, Mapping[tuple[str, str], Mapping[str, float]]]] = []
    notes: list[str] = []
    unseen = not newest.last_call()
    for run in earlier:
        name = f"run {short_id(run.meta.id)}"
        if why := _why_not(run):
            notes.append(f"{name} is left out: {why}")
            continue
        pairs, _, _ = matched_variants(newest.meta.variants, run.meta.variants)
        theirs = _read(run, ids)
        changed = _changed(newest, run, pairs, mine, theirs)
        if changed is None:
            notes.append(f"{name} is left out: it has no case in common with the newest")
            continue
        if changed:
            notes.append(
                f"the pool ends at {name}, as the test was another one then: {changed}; it and the runs before it are"
                " left out"
            )
            break
        names = {j: header.variants[i].name for i, j in pairs}
        at = BaselineRun(run.meta.id, round(run.meta.created_at, 3))
        if _system(bound_to(run)) == bound:
            missing = sum(
                number not in theirs[j].cases for i, j in pairs for number in mine[i].cases
            )
            if missing:
                notes.append(f"{name} lacks {count(missing, 'case')}: these have fewer repeats")
            trials += _as_repeats(run, names, repeats)
            repeats = 1 + max(trial.repeat for trial in trials)
            pooled.append(at)
        elif len(systems) < MOST_SYSTEMS:
            systems.append((at, _scores(theirs, names)))
    if pooled and unseen:
        notes.append(
            "no call of these runs was recorded: that the application was the same in all of them is taken for granted"
        )
    if not systems and pooled:
        notes.append(
            "all runs are of one system: earlier systems would say more of how hard each case is"
        )
    header = replace(header, pooled=pooled, systems=[at for at, _ in systems])
    return Pool(
        data=written(header, list(_with_scores(trials, [scores for _, scores in systems]))),
        pooled=len(pooled),
        systems=len(systems),
        notes=tuple(notes),
    )


def _system(bound: Mapping[str, str]) -> dict[str, str]:
    """What makes two runs runs of one system, judged alike."""
    return {
        name: digest
        for name, digest in bound.items()
        if name in ("system", "script") or name.startswith("judge ")
    }


def _why_not(run: RunFile) -> str:
    """Why a run can't be in a pool; empty where it can."""
    meta, totals = run.meta, run.totals()
    if meta.is_judge_check:
        return "it asked about judges"
    if totals.trials < meta.planned and meta.status != "finished":
        return "it did not finish"
    if chosen_by(meta, narrowed=run.by_outcome):
        return f"its cases {chosen_by(meta, narrowed=run.by_outcome)}"
    if not totals.passed + totals.failed:
        return "it has no verdict"
    if any(trial.taken for trial in run.trials()):
        return "it took trials from a baseline"
    return ""


def _read(run: RunFile, ids: CaseIds) -> dict[int, Seen]:
    columns = {variant.index for variant in run.meta.variants}
    return read_trials(run.trials(), columns, ids=ids, scales=run.scales())


def _changed(
    newest: RunFile,
    run: RunFile,
    pairs: Sequence[tuple[int, int]],
    mine: Mapping[int, Seen],
    theirs: Mapping[int, Seen],
) -> str | None:
    """What is otherwise in an earlier run's test, in words; empty for nothing, None where no case is in both."""
    common = 0
    changes: dict[str, int] = {}
    for i, j in pairs:
        if other := other_evals(newest.meta.variants[i], run.meta.variants[j]):
            return other
        likeness = Likeness(mine[i], theirs[j])
        for number in mine[i].cases:
            if number in theirs[j].cases:
                common += 1
                if why := likeness.why_not(PASSED, number):
                    changes[why] = changes.get(why, 0) + 1
    if not common:
        return None
    return "; ".join(f"{count(n, 'case')} {why}" for why, n in list(changes.items())[:3])


def _as_repeats(run: RunFile, names: Mapping[int, str], first: int) -> Iterator[BaselineTrial]:
    """A run's trials as further repeats. Nothing is taken from them later: they say nothing of what they sent."""
    for trial in baseline_trials(run, names):
        yield replace(
            trial, repeat=first + trial.repeat, subject=[], judge=[], checks="", output=UNSET
        )


def _scores(
    columns: Mapping[int, Seen], names: Mapping[int, str]
) -> Mapping[tuple[str, str], Mapping[str, float]]:
    """What each case of a run's variants scored on average, by variant and case, then by metric."""
    scores: dict[tuple[str, str], dict[str, float]] = {}
    for column, name in names.items():
        side = columns[column]
        for metric, values in side.metrics.items():
            for number in side.cases:
                known = values.of(side.cases.place_of(number)).values
                if known:
                    of_case = scores.setdefault((name, side.cases.ids[number]), {})
                    of_case[metric] = round(fmean(known), 6)
    return scores


def _with_scores(
    trials: Iterable[BaselineTrial],
    systems: Sequence[Mapping[tuple[str, str], Mapping[str, float]]],
) -> Iterator[BaselineTrial]:
    """The trials, the first of each case with what other systems scored on it."""
    firsts: set[tuple[str, str]] = set()
    for trial in sorted(trials, key=lambda one: one.repeat):
        key = trial.variant, trial.case
        if not systems or key in firsts:
            yield trial
            continue
        firsts.add(key)
        scores = [system.get(key, {}) for system in systems]
        metrics = sorted({metric for score in scores for metric in score})
        yield replace(
            trial, earlier={metric: [score.get(metric) for score in scores] for metric in metrics}
        )
