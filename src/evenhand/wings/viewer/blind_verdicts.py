"""Labelling and reviewing draws on the page, an output or a pair at a time, without what judges and others said."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

from evenhand.analysis.reviews.drawing import draw_outputs, drawn_notes, review_draws
from evenhand.analysis.reviews.reviewed import keep_review, reviews_of, to_review
from evenhand.analysis.summaries.share_rows import percent_within
from evenhand.analysis.trust.calibration import calibrations
from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs, compared_pairs
from evenhand.analysis.trust.judgements.judged import judgements
from evenhand.analysis.trust.labels.drawing import (
    draw,
    drawn_items,
    draws_to_label,
    items_for,
    judged_metrics,
    judged_places,
    material_of,
)
from evenhand.analysis.trust.labels.failure_codes import FailureCode, failure_codes
from evenhand.analysis.trust.labels.pair_drawing import (
    DrawnPair,
    compared_places,
    draw_pairs,
    drawn_pairs,
    pairs_for,
)
from evenhand.analysis.trust.labels.ranking_labels import ranking_labels
from evenhand.analysis.trust.labels.uneven_drawing import draw_by_stratum, draw_unsure
from evenhand.core.document import Key
from evenhand.core.errors import UsageError
from evenhand.core.judge_checks import refuse_judge_check
from evenhand.core.record import Record
from evenhand.core.wording.spreadsheet_cells import as_text
from evenhand.render.calibration_text import labels_line, worth_line
from evenhand.store.labels.draw import LabelledVerdict, PairAnswer, PairLabel, unordered
from evenhand.store.labels.label import LONGEST_AUTHOR, LONGEST_NOTE, newest, standing
from evenhand.store.labels.stored_draws import (
    add_metric_labels,
    add_pair_labels,
    drawn_meanwhile,
    set_rule,
    standing_labels,
    standing_pair_labels,
)
from evenhand.store.runfile import RunFile

MOST = 2000
"""Items that are drawn at once on the page."""
LONGEST_RULE = 10_000
DESIGNS = ("uniform", "active", "stratum")
LOOKED_AT = 50
"""So many trials say which columns there are."""


class DrawnShape(Record, frozen=True, kw_only=True):
    """One drawn output under one metric, and what this person said of it; nothing of what the judge said."""

    index: int
    metric: str
    criterion: Annotated[
        str, Key("What the judge was asked; empty where the metric's name says it.")
    ]
    material: Annotated[str, Key("What it is an answer to.")]
    output: str
    verdict: LabelledVerdict | None
    score: Annotated[float | None, Key("From 1 to 5.")]
    code: str
    note: str


class DrawShape(Record, frozen=True, kw_only=True):
    """What a person has to label, in the order of the draw; no items before something is drawn."""

    judged: Annotated[int, Key("Outputs that a judge judged.")]
    metrics: Sequence[str]
    rules: Annotated[Mapping[str, str], Key("What makes an output pass, by metric.")]
    items: Sequence[DrawnShape]
    codes: Annotated[Sequence[str], Key("Failure codes that were given, the most frequent first.")]
    counted: Annotated[
        Sequence[str], Key("The same with their shares of all outputs, a line for each.")
    ]
    worth: Annotated[Sequence[str], Key("What the labels are worth so far, a line for each judge.")]
    columns: Annotated[
        Sequence[str], Key("Columns of the cases that can be drawn from value by value.")
    ]
    left: Annotated[int, Key("Judged outputs that are not drawn yet.")]
    draws: Annotated[int, Key("How often was drawn: a draw that is asked for sends it back.")]


def drawn(run: RunFile, author: str) -> DrawShape:
    """What this person has to label, in the order of the draw.

    Raises:
        UsageError: No judge gave a verdict.
    """
    places, metrics = judged_places(run)
    codes = failure_codes(run)
    labels = standing_labels(run.metric_labels())
    remarks = standing(run.labels())
    items: list[DrawnShape] = []
    for item in items_for(author, list(drawn_items(run, run.draws())), labels):
        index = item.trial.index
        mine = newest(one for one in remarks.get(index, ()) if one.author == author)
        label = labels.get((index, item.metric), {}).get(author)
        items.append(
            DrawnShape(
                index=index,
                metric=item.metric,
                criterion=item.criterion,
                material=item.material,
                output=item.output,
                verdict=label and label.verdict,
                score=score if isinstance(score := mine.get("score"), float) else None,
                code=str(mine.get("code") or ""),
                note=str(mine.get("note") or ""),
            )
        )
    return DrawShape(
        judged=len(places),
        metrics=metrics,
        rules=run.rules(),
        items=items,
        codes=[code.name for code in codes],
        counted=[_counted(code) for code in codes],
        worth=[worth_line(judge) for judge in calibrations(run, judgements(run))] if labels else [],
        columns=_columns(run, places),
        left=len(set(places) - {place for one in draws_to_label(run) for place in one.places}),
        draws=len(run.draws()),
    )


def _counted(code: FailureCode) -> str:
    """A failure code, and its share of all outputs that could be drawn."""
    if code.share is None or not code.drawn:
        return f"{code.name}: none of the labelled outputs of the draw"
    share = percent_within(code.share)
    return f"{code.name}: {share}, {code.drawn} of {code.labelled} labelled outputs"


def _columns(run: RunFile, places: Sequence[int]) -> list[str]:
    """The columns of the cases that strata can be of, as the first judged trials have them."""
    names: dict[str, None] = {}
    for trial in run.at(places[:LOOKED_AT]):
        names |= dict.fromkeys([*trial.metadata, *trial.vars])
    if len(run.meta.variants) > 1:
        names["variant"] = None
    return list(names)


def draw_more(path: Path, request: Mapping[str, Any]) -> None:
    """Draws `size` outputs at random.

    With `design` `active`, outputs are likelier that the judge seems unsure of; with `stratum`, it draws from each
    value of `column`, with `equal` as many of each. `draws` is how often had been drawn when the request was made.

    Raises:
        UsageError: That is no number of outputs, no design or no column, nothing is left to draw, or somebody else drew
            meanwhile.
        StoreError: The run file cannot be written.
    """
    size = request.get("size")
    if type(size) is not int or not 0 < size <= MOST:
        raise UsageError(f"size: a number of outputs from 1 to {MOST:,}")
    design, column = request.get("design", "uniform"), request.get("column", "")
    if design not in DESIGNS:
        raise UsageError(f"design: one of {', '.join(DESIGNS)}")
    if not isinstance(column, str) or (design == "stratum" and not column):
        raise UsageError("column: the name of a column")
    seed = secrets.randbelow(2**31)
    with RunFile.open(path) as run:
        _refuse_unseen(len(run.draws()), request)
        if design == "active":
            draw_unsure(run, size, seed)
        elif design == "stratum":
            draw_by_stratum(run, size, seed, column, equal=request.get("equal") is True)
        else:
            draw(run, size, seed)


def _refuse_unseen(draws: int, request: Mapping[str, Any]) -> None:
    """Raises UsageError if there is a draw that whoever asks for one more hasn't seen: it may be all they need."""
    if request.get("draws", draws) != draws:
        raise drawn_meanwhile()


def keep_rule(path: Path, request: Mapping[str, Any]) -> None:
    """Keeps the written `rule` of a `metric`.

    Raises:
        UsageError: It is no text, no judge gave a verdict on the metric, or somebody else wrote a rule first.
        StoreError: The run file cannot be written.
    """
    metric, rule = str(request.get("metric")), rule_in(request)
    with RunFile.open(path) as run:
        judged_places(run, [metric])
    set_rule(path, metric, rule, first=True)


def rule_in(request: Mapping[str, Any]) -> str:
    """The written `rule` of a request.

    Raises:
        UsageError: It is no text, or too long.
    """
    rule = request.get("rule")
    if not isinstance(rule, str) or not 0 < len(rule.strip()) <= LONGEST_RULE:
        raise UsageError(f"rule: a text of at most {LONGEST_RULE:,} characters")
    return rule.strip()


def author_in(request: Mapping[str, Any]) -> str:
    """The `author` of a request.

    Raises:
        UsageError: It is no name, or too long.
    """
    author = request.get("author")
    if not isinstance(author, str) or not 0 < len(author) <= LONGEST_AUTHOR:
        raise UsageError(f"author: a name of at most {LONGEST_AUTHOR} characters")
    return author


def keep_verdict(path: Path, request: Mapping[str, Any]) -> None:
    """Keeps the `verdict` of an `author` on the trial at `index` under a `metric`; null takes it back.

    `rule` is what they labelled by, null for no rule.

    Raises:
        UsageError: Something of it is missing, there is no such output, or it is no system's answer.
        StoreError: The run file cannot be written.
    """
    index, metric = request.get("index"), str(request.get("metric"))
    verdict, author = request.get("verdict"), author_in(request)
    if verdict not in ("pass", "fail", None):
        raise UsageError("verdict: pass, fail or null")
    with RunFile.open(path) as run:
        refuse_judge_check(run.meta)
        trial = run.trial(index) if type(index) is int and 0 <= index < 1 << 53 else None
        if trial is None or metric not in judged_metrics(trial):
            raise UsageError(f"trial {index!r:.40} has no verdict of a judge on {metric!r:.100}")
        _refuse_other_rule(run, metric, request)
    add_metric_labels(path, author, [(trial.index, metric, verdict)])


def _refuse_other_rule(run: RunFile, metric: str, request: Mapping[str, Any]) -> None:
    """Raises UsageError if a label was given by another rule than the one that it would count for."""
    rule = run.rules().get(metric)
    if request.get("rule", rule) != rule:
        raise UsageError(
            f"the rule has changed meanwhile: {rule}", hint="Read it, and label again."
        )


class ReviewedShape(Record, frozen=True, kw_only=True):
    """One drawn output, and what this person said of it."""

    index: int
    material: Annotated[str, Key("What it is an answer to.")]
    output: str
    verdict: LabelledVerdict | None
    note: str


class ReviewDrawShape(Record, frozen=True, kw_only=True):
    """What a person has to review, in the order of the draw; no items before something is drawn."""

    items: Sequence[ReviewedShape]
    draws: Annotated[int, Key("How often was drawn: a draw that is asked for sends it back.")]
    disputed: Annotated[
        Sequence[str],
        Key("What people disagree about, a line each; empty before this person has said all."),
    ]


def review_draw(run: RunFile, author: str) -> ReviewDrawShape:
    """What this person has to review, with what they said; the others' words once they are through."""
    drawn, reviews = drawn_notes([run]), reviews_of(run)
    left = set(to_review(author, drawn, reviews))
    mine = {r.note: one for r in reviews for one in r.reviews if one.author == author}
    notes = [note for note in drawn if note in left or note in mine]
    trials = {trial.index: trial for trial in run.at(sorted(note.index for note in notes))}
    items = [
        ReviewedShape(
            index=note.index,
            material=material_of(trials[note.index]),
            output=as_text(trials[note.index].output),
            verdict=mine[note].verdict if note in mine else None,
            note=mine[note].note if note in mine else "",
        )
        for note in notes
        if note.index in trials
    ]
    disputed = [
        f"{one.case}: "
        + " · ".join(f"{o.author} {o.verdict} {o.note}".strip() for o in one.reviews)
        for one in reviews
        if one.is_disputed and not left
    ]
    return ReviewDrawShape(items=items, draws=len(run.draws()), disputed=disputed)


def draw_reviews(path: Path, request: Mapping[str, Any]) -> None:
    """Draws `size` outputs to be reviewed.

    Raises:
        UsageError: That is no number of outputs, or nothing is left to draw.
        StoreError: The run file cannot be written.
    """
    size = request.get("size")
    if type(size) is not int or not 0 < size <= MOST:
        raise UsageError(f"size: a number of outputs from 1 to {MOST:,}")
    with RunFile.open(path) as run:
        _refuse_unseen(len(run.draws()), request)
        draw_outputs([run], size, secrets.randbelow(2**31))


def keep_reviewed(path: Path, request: Mapping[str, Any]) -> None:
    """Keeps the `verdict` of an `author` on the drawn output at `index`, with a `note`; null takes both back.

    Raises:
        UsageError: Something of it is missing, or that output isn't drawn.
        StoreError: The run file cannot be written.
    """
    index, verdict, note = request.get("index"), request.get("verdict"), request.get("note", "")
    author = author_in(request)
    if verdict not in ("pass", "fail", None):
        raise UsageError("verdict: pass, fail or null")
    if not isinstance(note, str) or len(note) > LONGEST_NOTE:
        raise UsageError(f"note: a text of at most {LONGEST_NOTE:,} characters")
    with RunFile.open(path) as run:
        refuse_judge_check(run.meta)
        drawn = {place for draw in review_draws(run) for place in draw.places}
    if type(index) is not int or index not in drawn:
        raise UsageError(f"output {index!r:.40} isn't drawn to be reviewed")
    keep_review(path, index, author, verdict, note.strip())


ANSWERS: tuple[PairAnswer, ...] = get_args(PairAnswer)
_TURNED: Mapping[PairAnswer, PairAnswer] = {"first": "second", "second": "first", "tie": "tie"}


class DrawnPairShape(Record, frozen=True):
    """Two outputs of a case in the order of the draw, and which of them this person prefers.

    There is nothing of what the judge said.
    """

    first: Annotated[int, Key("Places in the plan.")]
    second: int
    material: Annotated[str, Key("What they are answers to.")]
    outputs: tuple[str, str]
    answer: PairAnswer | None


class PairDrawShape(Record, frozen=True, kw_only=True):
    """What a person has to compare of a ranking; no items before something is drawn."""

    ranking: str
    judged: Annotated[int, Key("Pairs that the judge compared.")]
    rule: Annotated[
        str | None, Key("What makes an output better; null before somebody wrote it down.")
    ]
    items: Sequence[DrawnPairShape]
    worth: Annotated[str, Key("How many labels there are, and how many it takes.")]
    left: Annotated[int, Key("Pairs that are not drawn yet.")]
    draws: Annotated[int, Key("How often was drawn: a draw that is asked for sends it back.")]


def rankings_of(run: RunFile) -> list[ComparedPairs]:
    """The rankings whose pairs can be labelled; none of a run that asks about judges."""
    if run.meta.is_judge_check:
        return []
    return [pairs for pairs in compared_pairs(run) if pairs.judged]


def pair_draws(run: RunFile, author: str) -> list[PairDrawShape]:
    """What this person has to compare, ranking by ranking; none where nothing was compared."""
    labels = standing_pair_labels(run.pair_labels())
    rules, shapes = run.rules(), list[PairDrawShape]()
    for pairs in rankings_of(run):
        draws = [draw for draw in run.pair_draws() if draw.metric == pairs.name]
        items = pairs_for(author, list(drawn_pairs(run, pairs.name, draws)), labels)
        shapes.append(
            PairDrawShape(
                ranking=pairs.name,
                judged=len(pairs.judged),
                rule=rules.get(pairs.name),
                items=[_shape(item, labels.get(item.key, {}), author) for item in items],
                worth=labels_line(pairs.name, len(ranking_labels(run, pairs).pairs))
                if draws
                else "",
                left=len(pairs.judged) - sum(len(draw.pairs) for draw in draws),
                draws=len(run.pair_draws()),
            )
        )
    return shapes


def _shape(item: DrawnPair, labels: Mapping[str, PairLabel], author: str) -> DrawnPairShape:
    """A pair with this person's answer, turned round where they saw the pair the other way round."""
    label = labels.get(author)
    answer = None if label is None else label.answer
    if label is not None and answer is not None and label.pair != item.pair:
        answer = _TURNED[answer]
    return DrawnPairShape(*item.pair, item.material, item.outputs, answer)


def draw_more_pairs(path: Path, request: Mapping[str, Any]) -> None:
    """Draws `size` pairs of a `ranking` at random.

    Raises:
        UsageError: That is no number of pairs, there is no such ranking, or nothing is left to draw.
        StoreError: The run file cannot be written.
    """
    size = request.get("size")
    if type(size) is not int or not 0 < size <= MOST:
        raise UsageError(f"size: a number of pairs from 1 to {MOST:,}")
    with RunFile.open(path) as run:
        _refuse_unseen(len(run.pair_draws()), request)
        draw_pairs(run, _ranking_in(run, request), size, secrets.randbelow(2**31))


def keep_pair_rule(path: Path, request: Mapping[str, Any]) -> None:
    """Keeps the written `rule` of a `ranking`.

    Raises:
        UsageError: It is no text, there is no such ranking, or somebody else wrote a rule first.
        StoreError: The run file cannot be written.
    """
    rule = rule_in(request)
    with RunFile.open(path) as run:
        name = _ranking_in(run, request).name
    set_rule(path, name, rule, first=True)


def keep_preference(path: Path, request: Mapping[str, Any]) -> None:
    """Keeps which output an `author` prefers of the pair `first` and `second`; a null `answer` takes it back.

    Raises:
        UsageError: Something of it is missing, or the judge of the `ranking` compared no such pair.
        StoreError: The run file cannot be written.
    """
    first, second = request.get("first"), request.get("second")
    author, answer = author_in(request), request.get("answer")
    if answer is not None and answer not in ANSWERS:
        raise UsageError(f"answer: {', '.join(ANSWERS)} or null")
    if type(first) is not int or type(second) is not int:
        raise UsageError("first and second: the trials' places in the plan")
    with RunFile.open(path) as run:
        pairs = _ranking_in(run, request)
        if unordered((first, second)) not in compared_places(run, pairs):
            raise UsageError(
                f"the judge of {pairs.name!r:.100} didn't compare {first} and {second}"
            )
        _refuse_other_rule(run, pairs.name, request)
    add_pair_labels(path, author, [((first, second), pairs.name, answer)])


def _ranking_in(run: RunFile, request: Mapping[str, Any]) -> ComparedPairs:
    refuse_judge_check(run.meta)
    name = request.get("ranking")
    for pairs in rankings_of(run):
        if pairs.name == name:
            return pairs
    raise UsageError(f"the run has no ranking {name!r:.100}")
