"""Runs before one that others are compared with: further repeats of it, or other systems that show how hard cases are.

How this works: an earlier run that was asked the same of the same system by the same judges is another draw of the
newest. It is the same system if its prompts are written alike, its models and settings are the same, and the requests
of the cases that both have are the same, as far as a trial makes one. Answers from the cache are no new draw. A run of
another system, or with other judges, is compared with nothing; what it scored predicts cases that a later run leaves
out. At the first run whose test differs, the history ends: what was asked before that is another question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from evenhand.analysis.comparison.case_values import PASSED, CaseIds, Scales, Seen, read_trials
from evenhand.analysis.comparison.comparison_sides import matched_variants
from evenhand.analysis.comparison.same_test import Likeness, chosen_by, other_evals
from evenhand.core.json_shapes import is_mapping, is_sequence
from evenhand.core.record import Record
from evenhand.core.score import Outcome, with_parts
from evenhand.core.scripted import journaled_name
from evenhand.core.wording.words import count, safe, short_id
from evenhand.engine.replay.summary import replayed
from evenhand.store.runfile import RunFile

_OF_JUDGE = ("judge", "prompt", "instrument")
MOST_SYSTEMS = 10
"""Of so many other systems what they scored is kept."""

Scores = Mapping[tuple[int, str], Mapping[str, float]]
"""By the newest run's variant and the case what a system scored on average, by metric."""


_Place = tuple[int, str, int]
"""A variant of the newest, a case and a repeat."""


class EarlierRun(Record, frozen=True, kw_only=True):
    """A run before the newest.

    Attributes:
        run: It, open.
        repeats: Whether it is another draw of the newest.
        copies: Places of its trials that are no draw of their own: the cache answered.
        variants: By its variants those of the newest that they match.
        scores: What it scored.
    """

    run: RunFile
    repeats: bool
    copies: frozenset[int]
    variants: Mapping[int, int]
    scores: Scores


def earlier_runs(
    newest: RunFile,
    earlier: Iterable[RunFile],
    basis: Callable[[RunFile], Mapping[str, str]],
    tell: Callable[[str], None],
) -> Iterator[EarlierRun]:
    """The runs that say something of the newest, one at a time.

    Args:
        earlier: Runs before it, the newest first.
        basis: What makes two runs runs of one system, whatever their cases are.
        tell: Told what is left out, and why, a line each.
    """
    ids = CaseIds()
    own, asked_now = basis(newest), _asked(newest, {v.index: v.index for v in newest.meta.variants})
    # What the cache gave the newest is a draw of an earlier run, whose trial would count it twice.
    borrowed = {place: one for place, one in asked_now.items() if one.cached}
    mine = _read(newest, ids)
    repeats = systems = 0
    drawn = _drawn_in(newest)
    for run in earlier:
        name = f"run {short_id(run.meta.id)}"
        if drawn & _drawn_in(run):
            tell(
                f"{name} is left out: another of these runs has its trials, so they are no new draws"
            )
            continue
        drawn |= _drawn_in(run)
        if why := _why_not(run):
            tell(f"{name} is left out: {why}")
            continue
        pairs, _, _ = matched_variants(newest.meta.variants, run.meta.variants)
        theirs = _read(run, ids)
        changed = _changed(newest, run, pairs, mine, theirs)
        if changed is None:
            tell(f"{name} is left out: it has no case in common with the newest")
            continue
        if changed:
            tell(
                f"the pool ends at {name}, as the test was another one then: {changed}; it and the runs before it are"
                " left out"
            )
            break
        variants = {j: i for i, j in pairs}
        asked_then = _asked(run, variants)
        same = basis(run) == own and _asked_alike(asked_now, asked_then)
        copies = frozenset(_copies(asked_then, borrowed))
        if same and len(copies) == len(asked_then):
            tell(f"{name} is left out: its answers went through the cache, and are not new draws")
            continue
        systems += not same
        if not same and systems > MOST_SYSTEMS:
            continue
        if same:
            repeats += 1
            if files := _other_code(newest, run):
                tell(
                    f"{name} ran other code, and is taken for the same system all the same: {files} changed since"
                )
            missing = {
                number
                for i, j in pairs
                for number in mine[i].cases
                if number not in theirs[j].cases
            }
            if missing:
                tell(f"{name} lacks {count(len(missing), 'case')}: these have fewer repeats")
            if copies:
                tell(
                    f"{name}: {count(len(copies), 'trial')} left out: answers that went through the cache"
                )
        scores = _scores(theirs, variants)
        yield EarlierRun(run=run, repeats=same, copies=copies, variants=variants, scores=scores)
    if repeats and not newest.last_call():
        tell(
            "no call of these runs was recorded: that the application was the same in all of them is taken for granted"
        )
    if repeats and not systems:
        tell(
            "no runs of earlier systems are included; they would show better how hard each case is"
        )


def _drawn_in(run: RunFile) -> set[str]:
    """The runs that its trials were drawn in: itself, or the shards that it was merged from."""
    merged = run.meta.settings.get("merged")
    return {run.meta.id, *(map(str, merged) if is_sequence(merged) else ())}


def _other_code(newest: RunFile, run: RunFile) -> str:
    """The files of the sets' own code that changed, in words; empty where recorded calls say what was asked."""
    now, then = (one.meta.config.get("files") for one in (newest, run))
    if newest.last_call() or not (is_mapping(now) and is_mapping(then)):
        return ""
    changed = [name for name in now if str(name).endswith(".py") and now[name] != then.get(name)]
    more = f" and {len(changed) - 3:,} more" if len(changed) > 3 else ""
    return safe(", ".join(map(str, changed[:3])) + more)


class _Asked(Record, frozen=True):
    """What a trial asked.

    Attributes:
        place: The trial's, in its run.
        request: Its request to the model under evaluation; empty where it made none, or several.
        judges: Who judged each expectation, and by which instrument.
        cached: Whether the cache answered all that it asked of the model.
        output: A hash of what came of it.
    """

    place: int
    request: str
    judges: tuple[tuple[str, ...], ...]
    cached: bool
    output: int


def _copies(then: Mapping[_Place, _Asked], borrowed: dict[_Place, _Asked]) -> Iterator[int]:
    """Places of trials that are no draws of their own.

    Args:
        then: An earlier run's.
        borrowed: What the newest had from the cache; what is found here is taken out.
    """
    for place, one in then.items():
        mine = borrowed.get(place)
        source = mine is not None and (mine.request, mine.output) == (one.request, one.output)
        if one.cached or source:
            yield one.place
        if source and not one.cached:
            del borrowed[place]


def _asked(run: RunFile, variants: Mapping[int, int]) -> dict[_Place, _Asked]:
    """What each trial of these variants asked, by the variant that they stand for, the case and the repeat."""
    requests: dict[int, list[tuple[str, bool]]] = {}
    scripted = run.meta.is_scripted
    for call in run.calls():
        if call.end is not None and call.start.role == "subject":
            name = journaled_name(call.start.key, call.start.identity, scripted=scripted)
            requests.setdefault(call.start.trial, []).append((name, call.end.origin == "cache"))
    trials: dict[_Place, _Asked] = {}
    for trial in run.trials():
        if trial.variant in variants:
            of_trial = requests.get(trial.index, [])
            trials[variants[trial.variant], trial.case, trial.repeat] = _Asked(
                trial.index,
                of_trial[0][0] if len(of_trial) == 1 else "",
                tuple(_judges_of(outcome) for outcome in with_parts(trial.outcomes)),
                bool(of_trial) and all(cached for _, cached in of_trial),
                hash(str(trial.output)),
            )
    return trials


def _judges_of(outcome: Outcome) -> tuple[str, ...]:
    """Who judged, and by which instrument: those of all members of a jury."""
    jury = outcome.metadata.get("jury")
    members = jury if is_sequence(jury) else [outcome.metadata]
    return tuple(
        str(member.get(key)) for member in members if is_mapping(member) for key in _OF_JUDGE
    )


def _asked_alike(now: Mapping[_Place, _Asked], then: Mapping[_Place, _Asked]) -> bool:
    """Whether the cases of both were asked the same, and judged by the same judges, as far as that is known."""
    for place, one in now.items():
        other = then.get(place)
        if other is None:
            continue
        if one.request and other.request and one.request != other.request:
            return False
        # Of a trial in error some judge wasn't asked.
        if len(one.judges) == len(other.judges) and any(
            a != b and "None" not in (*a, *b) for a, b in zip(one.judges, other.judges, strict=True)
        ):
            return False
    return True


def _why_not(run: RunFile) -> str:
    """Why a run says nothing of another; empty where it does."""
    meta, totals = run.meta, run.totals()
    if meta.is_judge_check:
        return "it asked about judges"
    if meta.is_edited:
        return "it is one cell, asked again"
    if replayed(meta) is not None:
        return "its answers are those of another run (--replay, regrade)"
    if totals.trials < meta.planned and meta.status != "finished":
        return "it did not finish"
    if chosen := chosen_by(meta, narrowed=run.by_outcome):
        return f"its cases {chosen}"
    if not totals.passed + totals.failed:
        return "it has no verdict"
    if any(trial.taken for trial in run.trials()):
        return "it took trials from a baseline"
    return ""


def _read(run: RunFile, ids: CaseIds) -> dict[int, Seen]:
    columns = {variant.index for variant in run.meta.variants}
    scales: Scales = run.scales()
    return read_trials(run.trials(), columns, ids=ids, scales=scales)


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


def _scores(columns: Mapping[int, Seen], variants: Mapping[int, int]) -> Scores:
    scores: dict[tuple[int, str], dict[str, float]] = {}
    for column, of in variants.items():
        side = columns[column]
        for metric, values in side.metrics.items():
            for number in side.cases:
                if known := values.of(side.cases.place_of(number)).values:
                    of_case = scores.setdefault((of, side.cases.ids[number]), {})
                    of_case[metric] = round(fmean(known), 6)
    return scores
