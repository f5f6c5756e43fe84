"""Labelling a draw on the page: the drawn outputs, without what the judge said, and what a person says of them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from evenhand.analysis.trust.calibration import calibrations
from evenhand.analysis.trust.judgements.judged import judgements
from evenhand.analysis.trust.labels.drawing import (
    draw,
    drawn_items,
    draws_to_label,
    items_for,
    judged_metrics,
    judged_places,
)
from evenhand.analysis.trust.labels.failure_codes import FailureCode, failure_codes
from evenhand.analysis.trust.labels.uneven_drawing import draw_by_stratum, draw_unsure
from evenhand.core.document import Key
from evenhand.core.errors import UsageError
from evenhand.core.judge_checks import refuse_judge_check
from evenhand.core.record import Record
from evenhand.core.wording.words import interval, percent
from evenhand.render.calibration_text import worth_line
from evenhand.store.labels.draw import LabelledVerdict
from evenhand.store.labels.label import LONGEST_AUTHOR, newest, standing
from evenhand.store.labels.stored_draws import add_metric_labels, set_rule, standing_labels
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
    )


def _counted(code: FailureCode) -> str:
    """A failure code, and its share of all outputs that could be drawn."""
    if code.share is None or not code.drawn:
        return f"{code.name}: none of the labelled outputs of the draw"
    share = f"{percent(code.share.value)} [{interval(code.share.low, code.share.high)}]"
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
    value of `column`, with `equal` as many of each.

    Raises:
        UsageError: That is no number of outputs, no design or no column, or nothing is left to draw.
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
        if design == "active":
            draw_unsure(run, size, seed)
        elif design == "stratum":
            draw_by_stratum(run, size, seed, column, equal=request.get("equal") is True)
        else:
            draw(run, size, seed)


def keep_rule(path: Path, request: Mapping[str, Any]) -> None:
    """Keeps the written `rule` of a `metric`.

    Raises:
        UsageError: It is no text, or no judge gave a verdict on the metric.
        StoreError: The run file cannot be written.
    """
    metric, rule = str(request.get("metric")), rule_in(request)
    with RunFile.open(path) as run:
        judged_places(run, [metric])
    set_rule(path, metric, rule)


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
    add_metric_labels(path, author, [(trial.index, metric, verdict)])
