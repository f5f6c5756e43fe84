"""People's codes become labels of the `avoids` metrics of a run, so that `calibrate` holds its judge against them.

How this works: a code is of an output. It counts in another run, too, where the same case, variant and repeat came to
the same output: one whose answers came from the cache, or that was regraded. What could be drawn in the reviewed run
becomes a draw of the other one, with the same strata. The label is `fail` where people say that an output has the kind.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from evenhand.analysis.reviews.drawing import nothing_drawn, review_draws
from evenhand.analysis.reviews.reviewed import reviews_of
from evenhand.analysis.trust.judgements.judged import metric_of
from evenhand.core.errors import UsageError
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.score import with_parts
from evenhand.core.wording.spreadsheet_cells import as_text
from evenhand.core.wording.words import count, safe
from evenhand.languages.documents.failures_yml import Codebook, Kind
from evenhand.scorers.avoids import KIND, RULE_ID
from evenhand.store.labels.draw import LabelledVerdict, Stratum
from evenhand.store.labels.stored_draws import add_draw, add_metric_labels, standing_labels
from evenhand.store.runfile import RunFile
from evenhand.wings.failures.shares import peoples_code


class KindLabels(Record, frozen=True):
    """What became of a metric's labels.

    Attributes:
        kind: The kind that it watches for.
        labels: How many outputs are labelled.
        problem: Why none is; otherwise empty.
    """

    metric: str
    kind: str
    labels: int
    problem: str = ""


def label_kinds(run: RunFile, reviewed: RunFile, book: Codebook) -> list[KindLabels]:
    """Labels the outputs of a run under each `avoids` metric by what people say of them under its kind.

    Args:
        run: The run whose judge is to be calibrated.
        reviewed: The run whose outputs people reviewed; it may be the same.

    Raises:
        UsageError: The run has no `avoids` metric, nothing is drawn, or no reviewed output is in the run.
        StoreError: The run file cannot be written.
    """
    metrics = _metrics_of(run)
    if not metrics:
        raise UsageError(
            "this run has no metric of the type avoids",
            hint="Add one for each kind (type: avoids, value: the kind), and run the evals again.",
        )
    draws = review_draws(reviewed)
    if not draws:
        raise nothing_drawn([reviewed])
    places = _same_outputs(run, reviewed)
    reviews = [one for one in reviews_of(reviewed) if one.note.index in places]
    drawn = {place for draw in draws for place in draw.places}
    reviews = [one for one in reviews if one.note.index in drawn]
    if not reviews:
        raise UsageError(
            "no reviewed output is in this run",
            hint="Name the run that people reviewed: --reviewed RUN. The same cases must have the same outputs.",
        )
    known = {kind.name: kind for kind in book.kinds}
    results: list[KindLabels] = []
    ready: dict[str, Kind] = {}
    for metric, questions in metrics.items():
        problem = _problem(questions, known)
        kind = known.get(next(iter(questions))[0])
        if kind is not None and not problem:
            code = peoples_code(book, kind)
            uncoded = sum(code(review) is None for review in reviews)
            # Without these, labelled outputs would be no random draw.
            problem = (
                f"no labels: {count(uncoded, 'reviewed failure')} not coded yet" if uncoded else ""
            )
        if kind is None or problem:
            results.append(
                KindLabels(metric, " · ".join(name for name, _ in questions), 0, problem)
            )
        else:
            ready[metric] = kind
    earlier = {(d.seed, d.metrics) for d in run.draws()}
    for draw in draws:
        metric_names = tuple(sorted(ready))
        if not ready or (draw.seed, metric_names) in earlier:
            continue
        strata = [
            Stratum(one.name, sum(p in places for p in set(one.places) & drawn), one.inclusion, own)
            for one in draw.strata
            if (own := tuple(places[place] for place in one.places if place in places))
        ]
        add_draw(
            run.path,
            draw.seed,
            metrics=metric_names,
            population=sum(len(one.places) for one in strata),
            places=[places[place] for place in draw.places if place in places],
            design=draw.design,
            by=draw.by,
            strata=strata,
        )
    standing = standing_labels(run.metric_labels())
    for metric, kind in ready.items():
        code, author = peoples_code(book, kind), kind.ratified.by if kind.ratified else ""
        rows: list[tuple[int, str, LabelledVerdict | None]] = []
        for review in reviews:
            index = places[review.note.index]
            before = standing.get((index, metric), {}).get(author)
            verdict: LabelledVerdict = "fail" if code(review) else "pass"
            if before is None or before.verdict != verdict:
                rows.append((index, metric, verdict))
        if rows:
            add_metric_labels(run.path, author, rows)
        results.append(KindLabels(metric, kind.name, len(reviews)))
    return results


def label_lines(results: Sequence[KindLabels]) -> Iterator[str]:
    """What was labelled, a line for each metric."""
    for one in results:
        what = one.problem or f"{count(one.labels, 'label')} by people's codes of {safe(one.kind)}"
        yield f"  {safe(one.metric)}: {what}"


def _metrics_of(run: RunFile) -> Mapping[str, Counter[tuple[str, str]]]:
    """By `avoids` metric, the kinds and the rules that its judge was asked about."""
    metrics: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for trial in run.trials():
        for outcome in with_parts(trial.outcomes):
            kind, rule = outcome.metadata.get(KIND), outcome.metadata.get(RULE_ID)
            if isinstance(kind, str) and isinstance(rule, str):
                metrics[metric_of(outcome)][kind, rule] += 1
    return metrics


def _problem(questions: Mapping[tuple[str, str], int], known: Mapping[str, Kind]) -> str:
    """Why people's codes say nothing of what the judge was asked; empty where they do."""
    if len(questions) > 1:
        return "no labels: it asks about several kinds, or by several rules"
    ((name, rule),) = questions
    kind = known.get(name)
    if kind is None:
        return f"no labels: the file has no kind {safe(name)}"
    if not kind.is_ratified:
        return f"no labels: {safe(name)} isn't ratified as it is"
    return "" if kind.rule_id == rule else f"no labels: the rule of {safe(name)} is another one now"


def _same_outputs(run: RunFile, reviewed: RunFile) -> Mapping[int, int]:
    """By place in the reviewed run, the place of the same output in the other one."""
    if run.meta.id == reviewed.meta.id:
        return {trial.index: trial.index for trial in run.trials() if trial.output is not None}

    def key(of: RunFile, trial: TrialResult) -> tuple[str, str, str, int, str]:
        variant = of.meta.variants[trial.variant]
        return trial.case, variant.prompt, variant.model, trial.repeat, as_text(trial.output)

    there = {key(run, trial): trial.index for trial in run.trials() if trial.output is not None}
    pairs = (
        (t.index, there.get(key(reviewed, t))) for t in reviewed.trials() if t.output is not None
    )
    return {place: other for place, other in pairs if other is not None}
