"""Labelling pairs on the page: the drawn outputs two by two, without what the judge said and whose they are."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs, compared_pairs
from evenhand.analysis.trust.labels.pair_drawing import (
    DrawnPair,
    compared_places,
    draw_pairs,
    drawn_pairs,
    pairs_for,
)
from evenhand.analysis.trust.labels.ranking_labels import ranking_labels
from evenhand.core.document import Key
from evenhand.core.errors import UsageError
from evenhand.core.judge_checks import refuse_judge_check
from evenhand.core.record import Record
from evenhand.render.ranking_calibration import labels_line
from evenhand.store.labels.draw import PairAnswer, PairLabel, unordered
from evenhand.store.labels.stored_draws import add_pair_labels, set_rule, standing_pair_labels
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.drawn import MOST, author_in, rule_in

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
        draw_pairs(run, _ranking_in(run, request), size, secrets.randbelow(2**31))


def keep_pair_rule(path: Path, request: Mapping[str, Any]) -> None:
    """Keeps the written `rule` of a `ranking`.

    Raises:
        UsageError: It is no text, or there is no such ranking.
        StoreError: The run file cannot be written.
    """
    rule = rule_in(request)
    with RunFile.open(path) as run:
        name = _ranking_in(run, request).name
    set_rule(path, name, rule)


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
    add_pair_labels(path, author, [((first, second), pairs.name, answer)])


def _ranking_in(run: RunFile, request: Mapping[str, Any]) -> ComparedPairs:
    refuse_judge_check(run.meta)
    name = request.get("ranking")
    for pairs in rankings_of(run):
        if pairs.name == name:
            return pairs
    raise UsageError(f"the run has no ranking {name!r:.100}")
