"""Which trials a filter chooses: `--where` of the command line, and the same words as on the viewer's page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from msgspec import field

from evenhand.analysis.comparison.asked_otherwise import asked_otherwise
from evenhand.analysis.comparison.compared_runs import same_input
from evenhand.analysis.comparison.comparison_sides import Side, matched
from evenhand.analysis.filters.query import (
    Measure,
    Names,
    NumberTerm,
    Operator,
    QueryProblem,
    Term,
    TextTerm,
    WordTerm,
    by_outcome,
    parse,
)
from evenhand.analysis.filters.vocabulary import Vocabulary, tags_of
from evenhand.analysis.summaries.column_names import column_names
from evenhand.analysis.summaries.grid import Grid
from evenhand.analysis.trust.beside_people import (
    beside_people,
    every_label,
    judged_verdicts,
    labelled_places,
)
from evenhand.core.encoding import digest, encode
from evenhand.core.errors import UsageError
from evenhand.core.record import MutableRecord
from evenhand.core.run import TrialResult
from evenhand.core.score import State
from evenhand.core.variant import Variant
from evenhand.core.wording.ink import Ink
from evenhand.core.wording.words import clip, columns, count, number, padded, safe
from evenhand.store.labels.label import JUDGEMENTS, Label, standing
from evenhand.store.runfile import RunFile

Before = Mapping[tuple[str, int, int], tuple[State | None, float | None]]
"""What a baseline's trials came to, by case, column of the run that is looked at, and repeat; None of another test."""

LISTED, PLACE = 40, 32
_WRITTEN = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_SAME = 1e-9
"""As far apart as two numbers may be and pass for the same: means of equal numbers differ in their last digits."""
_TESTS: Mapping[Operator, Callable[[float], bool]] = {
    ":": lambda d: abs(d) <= _SAME,
    "=": lambda d: abs(d) <= _SAME,
    "!=": lambda d: abs(d) > _SAME,
    "<": lambda d: d < -_SAME,
    "<=": lambda d: d <= _SAME,
    ">": lambda d: d > _SAME,
    ">=": lambda d: d >= -_SAME,
}
_STATUS: Mapping[State, str] = {"not_applicable": "na"}


def narrow(
    run: RunFile,
    query: str,
    baseline: RunFile | None = None,
    *,
    hidden: Collection[int] = (),
    say: Callable[[QueryProblem], object] = lambda _: None,
) -> RunFile:
    """The trials of a run that a filter chooses, as a view of it: what reads that sees no others.

    Args:
        baseline: The run that `changed:` and `change` hold it against.
        hidden: Columns, by index, whose trials are left out besides.
        say: Told what the filter names and the run does not have.

    Raises:
        UsageError: Something is wrong with the filter; all of it is said.
    """
    variants = run.meta.variants
    terms, problems = parse(query, Names.of(variants, baseline=baseline is not None))
    if problems:  # perhaps they are metrics: it takes a look at all trials to know those
        metrics = dict.fromkeys(name for trial in run.trials() for name in trial.named_scores)
        known = Names.of(variants, list(metrics), baseline=baseline is not None)
        terms, problems = parse(query, known)
    if problems:
        raise UsageError("\n".join(map(str, problems)))
    before = None if baseline is None else outcomes_before(run, baseline)
    names = column_names(variants)
    vocabulary = Vocabulary(names, variants, terms)
    labels = standing(every_label(run))
    judged: dict[int, dict[str, Sequence[bool]]] = {}
    if any(isinstance(term, WordTerm) and term.field == "judge" for term in terms):
        for one in judged_verdicts(run, labelled_places(labels)):
            judged.setdefault(one.index, {})[one.metric] = one.passed
    places = list(
        select(
            run.trials,
            variants,
            terms,
            labels=labels,
            judged=judged,
            before=before,
            vocabulary=vocabulary,
        )
    )
    if hidden:
        left = {trial.index for trial in run.outcomes() if trial.variant in hidden}
        places = [place for place in places if place not in left]
    for note in vocabulary.notes():
        say(note)
    why = [f"where {' '.join(query.split())}"] if query.strip() else []
    why += [f"without {', '.join(name for i, name in enumerate(names) if i in hidden)}"] * bool(
        hidden
    )
    return run.only(places, ", ".join(why), by_outcome=by_outcome(terms))


def cell_rows(run: RunFile, grid: Grid, width: int, ink: Ink, most: int = LISTED) -> Iterator[str]:
    """The trials of a run, a line each: outcome, score, cell and the start of its output.

    Args:
        run: The run, narrowed as a rule.
        ink: For the marks.
        most: So many lines at most, and one that says how many more there are.
    """
    total = run.meta.planned
    if not total:
        yield "  no trial is chosen"
    for trial in run.trials(limit=most):
        score = "" if trial.score is None else number(trial.score)
        repeat = f" · repeat {trial.repeat + 1}" if run.meta.repeats > 1 else ""
        place = clip(grid.place(trial).removesuffix(repeat), PLACE - len(repeat)) + repeat
        content = trial.error.message if trial.error else trial.output
        line = f"{padded(word_of(trial), 14)} {score:>6}  {padded(place, PLACE)}  "
        room = max(10, width - columns(line) - 4)
        text = "" if content is None else clip(safe(_text(content)), room)
        yield f"  {ink.mark(trial.outcome)} {line}{text}".rstrip()
    if total > most:
        yield f"  … and {count(total - most, 'more trial')}; -v prints all of them whole"


def word_of(trial: TrialResult) -> str:
    """The trial's outcome in words."""
    return trial.outcome.replace("_", " ")


def outcomes_before(run: RunFile, baseline: RunFile) -> Before:
    """What each trial of the baseline came to, its columns and cases paired as `evenhand compare` does."""
    pairs, _ = matched(Side(baseline), Side(run))
    columns = dict(pairs)
    renamed = same_input(baseline, run)
    own = {before: case for case, before in renamed.items()}
    unlike = {
        (case, j) for j, cases in asked_otherwise(baseline, run, renamed).items() for case in cases
    }
    before: dict[tuple[str, int, int], tuple[State | None, float | None]] = {}
    for trial in baseline.trials():
        if (j := columns.get(trial.variant)) is not None:
            case = own.get(trial.case, trial.case)
            outcome = None if (case, j) in unlike else trial.outcome
            before[case, j, trial.repeat] = outcome, trial.score
    return before


def select(
    trials: Callable[[], Iterable[TrialResult]],
    variants: Sequence[Variant],
    terms: Sequence[Term],
    *,
    labels: Mapping[int, Sequence[Label]] | None = None,
    judged: Mapping[int, Mapping[str, Sequence[bool]]] | None = None,
    before: Before | None = None,
    vocabulary: Vocabulary | None = None,
) -> Iterator[int]:
    """The places in the plan of the trials of which all terms of an alternative hold, in the plan's order.

    Args:
        trials: Reads the trials, in the plan's order; twice where a term asks for more than the trial itself.
        terms: Of the filter; with none, all trials.
        labels: What people say of trials, by place.
        judged: By place and metric whether the metric's judges pass the trial, for trials that people labelled.
        before: What the baseline's trials came to.
        vocabulary: Takes note of the names that the trials have.
    """
    others = _OtherTrials(
        names=column_names(variants),
        variants=variants,
        labels=labels or {},
        judged=judged or {},
        before=before or {},
    )
    measures = [m for t in terms if isinstance(t, NumberTerm) for m in (t.left, *t.right)]
    means = {m for m in measures if isinstance(m, Measure) and m.column is not None}
    kinds = {v for t in terms if isinstance(t, WordTerm) and t.field == "is" for v in t.values}
    # Only these terms need a first pass over all trials.
    if means or kinds & {"flaky", "different"}:
        for trial in trials():
            others.look(trial, means)
    groups: dict[int, list[Term]] = {}
    for term in terms:
        groups.setdefault(term.place.group, []).append(term)
    # No term at all: one alternative, of which everything holds.
    either = list(groups.values()) or [[]]
    for trial in trials():
        if vocabulary is not None:
            vocabulary.look(trial)
        if any(all(_holds(others, trial, t) != t.negated for t in group) for group in either):
            yield trial.index


def texts_of(trial: TrialResult) -> Iterator[str]:
    """Everything in which a text is searched for."""
    yield trial.case
    yield trial.description
    yield from map(_text, trial.vars.values())
    yield "" if trial.output is None else _text(trial.output)
    yield trial.reason
    yield from (outcome.reason for outcome in trial.outcomes)
    if trial.error is not None:
        yield trial.error.message


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _holds(others: _OtherTrials, trial: TrialResult, term: Term) -> bool:
    if isinstance(term, TextTerm):
        if term.pattern is not None:
            return any(term.pattern.search(each.lower()) for each in texts_of(trial))
        text = term.text.lower()
        return any(text in each.lower() for each in texts_of(trial))
    if isinstance(term, WordTerm):
        return any(_says(others, trial, term, value) for value in term.values)
    left = others.number(trial, term.left)
    if left is None:
        return False
    for each in term.right:
        right = others.number(trial, each) if isinstance(each, Measure) else each
        if right is not None and _TESTS[term.operator](left - right):
            return True
    return False


def _says(others: _OtherTrials, trial: TrialResult, term: WordTerm, value: str) -> bool:
    variant = others.variants[trial.variant]
    match term.field:
        case "status":
            return _STATUS.get(trial.outcome, trial.outcome) == value
        case "variant":
            return value in others.names[trial.variant].lower()
        case "prompt":
            return value in variant.prompt.lower()
        case "model":
            return value in variant.model.lower() or value in variant.provider_id.lower()
        case "case":
            return value in trial.case.lower() or value in trial.description.lower()
        case "failing":
            failing = (o.name for o in trial.outcomes if o.outcome in ("fail", "error"))
            return any(value in name.lower() for name in failing)
        case "tag":
            return value in (tag.lower() for tag in tags_of(trial))
        case "metadata":
            actual = trial.metadata.get(term.key)
            return isinstance(actual, str | int | float) and _text(actual).lower() == value
        case "error":
            return trial.error is not None and trial.error.slug.lower() == value
        case "changed":
            return others.changed(trial) == value
        case "label":
            labels = others.labels.get(trial.index, ())
            return any(
                one.field == "verdict"
                and one.value == value
                and term.key in ("", one.metric.lower())
                for one in labels
            )
        case "judge":
            beside = beside_people(
                trial.outcome,
                others.labels.get(trial.index, ()),
                others.judged.get(trial.index, {}),
            )
            return any(
                kind == value and term.key in ("", metric.lower()) for metric, kind in beside
            )
        case "has":
            return _has(others, trial, value)
        case _:
            return others.kind(trial, value)


def _has(others: _OtherTrials, trial: TrialResult, value: str) -> bool:
    if value == "score":
        return trial.score is not None
    if value == "error":
        return trial.outcome == "error"
    fields = JUDGEMENTS if value == "label" else {value}
    labels = others.labels.get(trial.index, ())
    return any(one.field in fields and one.value not in (None, False) for one in labels)


def number_in(value: object) -> float | None:
    """The number that a value of metadata is, also where it is written as text; None for any other."""
    text = _text(value) if isinstance(value, str | int | float) else ""
    return float(text) if _WRITTEN.fullmatch(text) else None


class _OtherTrials(MutableRecord, kw_only=True):
    """What has to be known of other trials to judge one."""

    names: Sequence[str]
    variants: Sequence[Variant]
    labels: Mapping[int, Sequence[Label]]
    judged: Mapping[int, Mapping[str, Sequence[bool]]]
    before: Before
    sums: dict[tuple[Measure, str], tuple[float, int]] = field(default_factory=dict)
    verdicts: dict[tuple[str, int], set[State]] = field(default_factory=dict)
    outputs: dict[tuple[str, int], str] = field(default_factory=dict)
    differ: set[str] = field(default_factory=set)

    def look(self, trial: TrialResult, means: Iterable[Measure]) -> None:
        """Takes note of a trial."""
        for measure in means:
            own = self._own(trial, measure) if measure.column == trial.variant else None
            if own is not None:
                total, n = self.sums.get((measure, trial.case), (0.0, 0))
                self.sums[measure, trial.case] = total + own, n + 1
        if trial.outcome in ("pass", "fail"):
            self.verdicts.setdefault((trial.case, trial.variant), set()).add(trial.outcome)
        if trial.outcome != "error":
            output = digest(encode(trial.output))
            # Digests, as outputs of a large run don't fit in memory.
            if self.outputs.setdefault((trial.case, trial.repeat), output) != output:
                self.differ.add(trial.case)

    def number(self, trial: TrialResult, measure: Measure) -> float | None:
        """A number of a trial, or of its case in a column; None for none: no comparison holds of it."""
        if measure.column is None:
            return self._own(trial, measure)
        total, n = self.sums.get((measure, trial.case), (0.0, 0))
        return total / n if n else None

    def kind(self, trial: TrialResult, value: str) -> bool:
        """What `is:` says."""
        if value == "cached":
            return 0 < trial.calls == trial.cached
        if value == "flaky":
            return len(self.verdicts.get((trial.case, trial.variant), ())) > 1
        return trial.case in self.differ

    def changed(self, trial: TrialResult) -> str:
        """By what it came to, held against the baseline: regressed is passed before and failed now."""
        before = self.before.get((trial.case, trial.variant, trial.repeat))
        if before is None:
            return "new"
        # An error may have gone either way, and another test says nothing of this one.
        if not {before[0], trial.outcome} <= {"pass", "fail"}:
            return "undecided"
        if before[0] == trial.outcome:
            return "unchanged"
        return "regressed" if trial.outcome == "fail" else "improved"

    def _own(self, trial: TrialResult, measure: Measure) -> float | None:
        if measure.metric:
            return trial.named_scores.get(measure.name)
        match measure.name:
            case "metadata":
                return number_in(trial.metadata.get(measure.key))
            case "score":
                return trial.score
            case "passed":
                return {"pass": 1.0, "fail": 0.0}.get(trial.outcome)
            case "latency":
                return trial.latency_s
            case "cost":
                return trial.full_cost_usd
            case "tokens":
                known = trial.tokens_in is not None and trial.tokens_out is not None
                return (trial.tokens_in or 0) + (trial.tokens_out or 0) if known else None
            case "repeat":
                return trial.repeat + 1
            case "change":
                _, score = self.before.get((trial.case, trial.variant, trial.repeat), (None, None))
                known = trial.score is not None and score is not None
                return (trial.score or 0) - (score or 0) if known else None
            case _:
                labels = self.labels.get(trial.index, ())
                scores = [
                    float(one.value)
                    for one in labels
                    if one.field == "score" and isinstance(one.value, int | float)
                ]
                return fmean(scores) if scores else None
