"""Draws pairs of outputs that a judge compared, for people to compare."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from evenhand.analysis.trust.judgements.compared_pairs import ComparedPairs, compared_pairs
from evenhand.analysis.trust.labels.drawing import (
    all_drawn,
    judged_metrics,
    judged_places,
    material_of,
    not_again,
)
from evenhand.core.errors import UsageError
from evenhand.core.judge_checks import refuse_judge_check
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.wording.spreadsheet_cells import as_text
from evenhand.core.wording.words import count
from evenhand.store.labels.draw import Pair, PairDraw, PairLabel, unordered
from evenhand.store.labels.stored_draws import add_pair_draw
from evenhand.store.runfile import RunFile


class DrawnPair(Record, frozen=True):
    """Two outputs of a case, to be compared.

    Attributes:
        first: The trial whose output is shown first.
        inclusion: How likely the pair was to be drawn, from 0 to 1.
    """

    first: TrialResult
    second: TrialResult
    metric: str
    inclusion: float

    @property
    def pair(self) -> Pair:
        """The places of the two outputs in the plan."""
        return self.first.index, self.second.index

    @property
    def key(self) -> tuple[Pair, str]:
        """What labels of it are kept under."""
        return unordered(self.pair), self.metric

    @property
    def material(self) -> str:
        """What the outputs are answers to: see `material_of`."""
        return material_of(self.first)

    @property
    def outputs(self) -> tuple[str, str]:
        """The two outputs, as text, in the order in which they are shown."""
        return as_text(self.first.output), as_text(self.second.output)


def ranking_to_label(run: RunFile, metrics: Sequence[str]) -> ComparedPairs | None:
    """The ranking whose pairs are to be labelled; None where verdicts on single outputs are.

    A run that has both is labelled output by output, unless a ranking is named.

    Args:
        metrics: What is named; may be empty.

    Raises:
        UsageError: Rankings are named together with something else, or there are several and none is named; or no
            judge gave a verdict under one of these names.
    """
    refuse_judge_check(run.meta)
    rankings = {pairs.name: pairs for pairs in compared_pairs(run) if pairs.judged}
    named = [metric for metric in dict.fromkeys(metrics) if metric in rankings]
    if len(named) == 1 and len(set(metrics)) == 1:
        return rankings[named[0]]
    if named:
        raise UsageError(
            f"--metric: the ranking {named[0]!r} is labelled on its own",
            hint="Its pairs are compared; other metrics take verdicts on single outputs.",
        )
    if not rankings or any(judged_metrics(trial) for trial in run.trials()):
        if metrics:
            judged_places(run, metrics, rankings)
        return None
    if metrics:
        raise UsageError(
            f"--metric: no judge gave a verdict on {metrics[0]!r}",
            hint=did_you_mean(metrics[0], rankings) or f"There are: {', '.join(rankings)}.",
        )
    if len(rankings) > 1:
        raise UsageError(
            "the run has several rankings", hint=f"Name one with --metric: {', '.join(rankings)}."
        )
    return next(iter(rankings.values()))


def draw_pairs(run: RunFile, pairs: ComparedPairs, size: int, seed: int) -> PairDraw:
    """Draws pairs at random, each with the same probability, and keeps the draw in the run file.

    Which output is shown first is drawn, too. The same draw twice is one draw. A later one is from the pairs that were
    not drawn before.

    Raises:
        UsageError: Nothing is left to draw from.
        StoreError: The run file cannot be written.
    """
    known_draws = len(run.pair_draws())  # first: what is drawn while this reads is noticed
    every = compared_places(run, pairs)
    before = [known for known in run.pair_draws() if known.metric == pairs.name]
    for known in before:
        if (known.seed, len(known.pairs)) == (seed, min(size, len(every))):
            return known
    taken = {unordered(pair) for known in before for pair in known.pairs}
    left = [pair for pair in every if pair not in taken]
    if not left:
        raise all_drawn(count(len(every), "compared pair"))
    rng = random.Random(seed)  # noqa: S311 (a draw that can be repeated)
    chosen = rng.sample(left, min(size, len(left)))
    # People prefer what they see first, as judges do: a draw of the order cancels that out.
    orders = [(a, b) if rng.random() < 0.5 else (b, a) for a, b in chosen]
    add_pair_draw(run.path, seed, pairs.name, len(every), orders, known=known_draws)
    with RunFile.open(run.path) as again:
        return again.pair_draws()[-1]


def drawn_pairs(run: RunFile, metric: str, draws: Sequence[PairDraw]) -> Iterator[DrawnPair]:
    """The pairs of draws, in the order in which they were drawn."""
    every = {one.number: one for one in [*run.pair_draws(), *draws] if one.metric == metric}
    drawn = sum(len(one.pairs) for one in every.values())
    inclusion = drawn / max(1, drawn, *(one.population for one in every.values()))
    for draw in draws:
        places = {place for pair in draw.pairs for place in pair}
        trials = {trial.index: trial for trial in run.at(sorted(places))}
        for first, second in draw.pairs:
            if first in trials and second in trials:
                yield DrawnPair(trials[first], trials[second], metric, inclusion)


def pairs_for(
    author: str,
    pairs: Sequence[DrawnPair],
    labels: Mapping[tuple[Pair, str], Mapping[str, PairLabel]],
) -> list[DrawnPair]:
    """What a person has to compare of the pairs of draws, in their order, and what they have compared: see `not_again`.

    Args:
        labels: The labels that count, by pair, ranking and person.
    """
    skipped = not_again(author, {one.key: labels.get(one.key, {}).keys() for one in pairs})
    return [one for one in pairs if one.key not in skipped]


def compared_places(run: RunFile, pairs: ComparedPairs) -> list[Pair]:
    """The places in the plan of the pairs that have an answer, lower ones first, in the plan's order."""
    at = {(trial.case, trial.repeat, trial.variant): trial.index for trial in run.trials()}
    return sorted(
        unordered((at[one.case, one.repeat, one.one], at[one.case, one.repeat, one.two]))
        for one in pairs.judged
    )
