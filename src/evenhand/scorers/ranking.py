"""A ranking of variants: a judge compares the outputs of each case in pairs.

How this works: of every case, some or all pairs of outputs are shown to a judge, as `Preferred` shows them, in both
orders or in one that is drawn. Nobody fails for being worse. What the answers say of the variants is worked out by the
report, over all cases (`stats.bradley_terry`): so a pair's answers are kept, with the output of it that comes first in
the plan, and not only who won.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from evenhand.core.contest import MISSING, Unsettled
from evenhand.core.encoding import digest
from evenhand.core.errors import EvenhandError, JudgeError, ProviderError, ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.message import Model
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.score import SHARES, Score
from evenhand.scorers.judging import UNSURE, AsksJudge, check_judge, lent_judge, side_by_side
from evenhand.scorers.preferred import PreferenceQuestion, check_comparison
from evenhand.scorers.text import quoted, text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking(AsksJudge):
    """A judge compares the outputs of a case's variants in pairs: `EvalSet(compare=[Ranking(criteria="is clearer")])`.

    The report ranks the variants by all answers of a run. An output's own score is the mean of its pairs: 1 for one
    that it wins, 0 for one that it loses, 0.5 for a tie and where the two orders disagree. It passes whatever its
    score; where an answer of its pairs is missing, it is an error. Where another variant's trial is in error, and
    its output is missing, the score alone is unknown.

    Args:
        criteria: By what they are compared.
        pairs: How many pairs of each case are compared, drawn at random; None for all of them. The draw follows from
            the case, so it is the same in every run.
        both_orders: Each pair is shown in both orders. Otherwise in one of them, drawn at random: half the calls, and
            the report still tells what the place did.
        ties: Whether the judge may prefer neither.
        context: What else the judge should know.
        judge: Who judges; the set's judge by default.
        unsure_below: A confidence below this is warned of.

    Raises:
        UsageError: There are no criteria, there is no such number of pairs, or the judge isn't a model.
    """

    criteria: str
    pairs: int | None = None
    both_orders: bool = True
    ties: bool = True
    context: str = ""
    unsure_below: float = UNSURE

    def __post_init__(self) -> None:
        check_judge(self.judge)
        check_comparison("Ranking", self.criteria, self.context, self.unsure_below)
        pairs: object = self.pairs
        if pairs is not None and (type(pairs) is not int or pairs < 1):
            raise UsageError(
                f"Ranking: pairs={pairs!r}",
                hint="It is how many pairs of each case to compare, from 1; leave it out for all.",
            )

    async def compare(
        self, contestants: Sequence[TrialResult], trial: Trial
    ) -> Sequence[Score | Unsettled]:
        """Compares the outputs in pairs. A judge that gives no answer leaves the two outputs without a score."""
        model = lent_judge(self.judge, trial)
        drawn = self._drawn(contestants)
        answers = await side_by_side(
            [
                self._asked(model, contestants[i], contestants[j])
                for pair in drawn
                for i, j in self._orders(contestants, *pair)
            ]
        )
        size = 2 if self.both_orders else 1
        orders = [answers[n : n + size] for n in range(0, len(answers), size)]
        pairs = [
            _Pair(i, j, (contestants[i].variant, contestants[j].variant), each)
            for (i, j), each in zip(drawn, orders, strict=True)
        ]
        return [_score(place, pairs) for place in range(len(contestants))]

    def beside_some(self, score: Score, missing: int) -> Score | Unsettled:
        """Nobody knows whether an output would have won or lost against the missing ones; it passes all the same."""
        others = "1 other output is" if missing == 1 else f"{missing} other outputs are"
        error = ScoreError(f"{others} missing; of the others, it {score.reason}")
        return Unsettled(error, {**score.metadata, MISSING: missing})

    def _drawn(self, contestants: Sequence[TrialResult]) -> Sequence[tuple[int, int]]:
        every = list(combinations(range(len(contestants)), 2))
        if self.pairs is None or self.pairs >= len(every):
            return every
        chance = {pair: _chance("pair", contestants, *pair) for pair in every}
        return sorted(sorted(every, key=chance.__getitem__)[: self.pairs])

    def _orders(
        self, contestants: Sequence[TrialResult], i: int, j: int
    ) -> Sequence[tuple[int, int]]:
        if self.both_orders:
            return (i, j), (j, i)
        # The first hexadecimal digit of a digest is below 8 half of the time.
        return ((i, j) if _chance("order", contestants, i, j) < "8" else (j, i),)

    async def _asked(self, model: Model, one: TrialResult, two: TrialResult) -> _Answer:
        """What the judge says where the first one's output is shown first, or why it says nothing."""
        question = PreferenceQuestion(
            criteria=self.criteria,
            context=self.context,
            ties=self.ties,
            unsure_below=self.unsure_below,
        )
        try:
            answer = await question.asked_of(model, text_of(one.output), text_of(two.output))
        except (JudgeError, ProviderError) as error:
            if isinstance(error, ProviderError) and error.fatal:
                raise
            row = {"first": one.variant, "error": error.slug, "reason": error.message}
            return _Answer(row, error)
        return _Answer({"first": one.variant, **answer})

    def __str__(self) -> str:
        return f"ranking by {quoted(self.criteria.strip())}"


class _Answer(Record, frozen=True):
    """What is kept of one answer; and why it is missing, where it is."""

    row: Mapping[str, Any]
    error: EvenhandError | None = None


class _Pair(Record, frozen=True):
    """Two outputs, by place and variant, and what was said of them."""

    one: int
    two: int
    variants: tuple[int, int]
    answers: Sequence[_Answer]

    @property
    def error(self) -> EvenhandError | None:
        """Why an answer is missing; None where none is."""
        return next((answer.error for answer in self.answers if answer.error is not None), None)

    @property
    def winner(self) -> int | None:
        """The place of the output that all answers name; None for a tie."""
        winners = {self._named(answer.row) for answer in self.answers}
        return winners.pop() if len(winners) == 1 else None

    def _named(self, row: Mapping[str, Any]) -> int | None:
        if row["said"] == "tie":
            return None
        one_first = row["first"] == self.variants[0]
        return self.one if (row["said"] == "first") is one_first else self.two

    def row(self) -> dict[str, Any]:
        """For the metadata of the first one."""
        rows = [answer.row for answer in self.answers]
        winner: str | None = None
        consistent: bool | None = None
        if self.error is None:
            winner = {self.one: "output", self.two: "other", None: "tie"}[self.winner]
            consistent = len({self._named(row) for row in rows}) == 1
        return {
            "variant": self.variants[1],
            "winner": winner,
            "consistent": consistent,
            "orders": rows,
        }


def _score(place: int, pairs: Sequence[_Pair]) -> Score | Unsettled:
    mine = [pair for pair in pairs if place in (pair.one, pair.two)]
    own = [pair for pair in mine if pair.one == place]
    metadata: dict[str, Any] = {"ranked": [pair.row() for pair in own]}
    for name in ("warning", "suspect"):
        notes = [answer.row.get(name) for pair in own for answer in pair.answers]
        notes = [note for note in notes if note]
        if notes:
            metadata[name] = notes[0]
    error = next((pair.error for pair in mine if pair.error is not None), None)
    if error is not None:
        return Unsettled(error, metadata)
    if not mine:
        return Score(None, None, "in none of the pairs that were drawn", metadata)
    won = sum(pair.winner == place for pair in mine)
    tied = sum(pair.winner is None for pair in mine)
    lost = len(mine) - won - tied
    pairs_ = "1 pair" if len(mine) == 1 else f"{len(mine)} pairs"
    reason = f"won {won}, lost {lost}, tied {tied} of {pairs_}"
    return Score((won + tied / 2) / len(mine), True, reason, metadata, scale=SHARES)


def _chance(what: str, contestants: Sequence[TrialResult], i: int, j: int) -> str:
    """Sixteenths at random, always the same ones for two variants in a case."""
    one, two = contestants[i], contestants[j]
    return digest(what, one.case, str(one.repeat), str(one.variant), str(two.variant))
