"""Contests: trials of one case are held back until the last of them is done, compared, and then stored.

How this works: the runner opens a contest with those of its trials that are to be settled in this session, and enters
each when it is done. The last one to enter holds the contest, and gets back what is to be stored. Whoever has no output
is no contestant. Trials that an earlier session settled take part with their stored results, and are stored once more
where the contest now says something else of them.

Its calls belong to the last, in the plan's order, of the trials that this session settles, and this one is stored last.
So whatever moment a run is killed at: as long as that trial is not stored, the contest is held again on resume, with
the answers of its judges found in the journal under the same trial; once it is stored, so is all the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from evenhand.core.contest import COMPARED, Contest, Referee, RefereeOfAll, Unsettled
from evenhand.core.definition import RIVALS, Definition, brief, written_definition
from evenhand.core.errors import CodeError, ScoreError
from evenhand.core.expect import Expectation
from evenhand.core.plan import PlannedTrial
from evenhand.core.record import MutableRecord, Record
from evenhand.core.run import Judged, TrialResult
from evenhand.core.score import Outcome, Score, Verdict
from evenhand.core.traits import label_of
from evenhand.engine.backing import RunJournal
from evenhand.engine.capture import current
from evenhand.engine.outcome import (
    ANYTHING,
    checked_outcome,
    error_outcome,
    problem_of,
    raise_if_final,
)
from evenhand.engine.trial import LiveTrial


class _Open(MutableRecord):
    """A contest whose trials are not all done yet."""

    missing: int
    live: dict[int, tuple[LiveTrial, TrialResult]] = msgspec.field(
        default_factory=dict[int, tuple[LiveTrial, TrialResult]]
    )


class Contests:
    """The contests of one run that are under way."""

    def __init__(self, journal: RunJournal) -> None:
        self._journal = journal
        self._open: dict[int, _Open] = {}

    def open(self, contest: Contest, planned_trials: Sequence[PlannedTrial]) -> None:
        """Waits for these of its trials; the others have been settled before."""
        self._open[contest.first] = _Open(len(planned_trials))

    def give_up(self, contest: Contest) -> range:
        """The trials of a contest that isn't held, as one of them was left."""
        self._open.pop(contest.first, None)
        return range(contest.first, contest.first + contest.size)

    async def entered(self, trial: LiveTrial, result: TrialResult) -> Sequence[TrialResult]:
        """What is to be stored now, in this order: nothing, while others of its contest are not done.

        Raises:
            ProviderError: A fatal one: the contest is left.
            BudgetStop: The budget is spent: the run has to stop.
            StoreError: Nothing can be written or read any more: the run has to stop.
        """
        contest = trial.planned.contest
        if contest is None:
            return (result,)
        waiting = self._open.get(contest.first)
        if waiting is None:
            return ()
        waiting.live[result.index] = (trial, result)
        if len(waiting.live) < waiting.missing:
            return ()
        del self._open[contest.first]
        return await self._held(contest, waiting.live)

    async def _held(
        self, contest: Contest, live: dict[int, tuple[LiveTrial, TrialResult]]
    ) -> Sequence[TrialResult]:
        carrier = live[max(live)][0]
        results = {index: result for index, (_, result) in live.items()}
        if all(result.output is None for result in results.values()):
            return [
                results[index] for index in sorted(results)
            ]  # it changes nothing for the others
        earlier: dict[int, TrialResult] = {}
        for index in range(contest.first, contest.first + contest.size):
            stored = None if index in live else self._journal.result(index)
            if stored is not None:
                earlier[index] = stored
        entrants = [
            result
            for _, result in sorted({**earlier, **results}.items())
            if result.output is not None
        ]
        contestants = [_as_before(result, contest) for result in entrants]
        missing = sum(
            one.output is None and one.outcome == "error" for one in (earlier | results).values()
        )
        current.set(carrier.log)
        carrier.compared = range(contest.first, contest.first + contest.size)
        spent = carrier.spending.judged or Judged()
        variants = await asyncio.gather(
            *(
                _compared(referee, contestants, contest, carrier, missing)
                for referee in contest.referees
            )
        )
        terms = [
            [_definition(referee, i, contestants, outcomes) for i in range(len(contestants))]
            for referee, outcomes in zip(contest.referees, variants, strict=True)
        ]
        for i, contestant in enumerate(contestants):
            outcomes = [variant[i] for variant in variants]
            definitions = [each[i] for each in terms]
            results[contestant.index] = _settled(contestant, contest, outcomes, definitions)
        results[carrier.planned.index] = replace(
            carrier.summed(results[carrier.planned.index]),
            compared=_since(spent, carrier.spending.judged),
        )
        changed = [results[i] for i in earlier if i in results and results[i] != earlier[i]]
        for result in changed:
            self._journal.again(result.index)
        return [*changed, *(results[index] for index in sorted(live))]


def _since(before: Judged, now: Judged | None) -> Judged | None:
    """What judges came to since; None where they were not asked."""
    if now is None or now.calls == before.calls:
        return None
    cost_usd = None
    if now.cost_usd is not None and before.cost_usd is not None:
        cost_usd = now.cost_usd - before.cost_usd
    return Judged(
        calls=now.calls - before.calls,
        tokens_in=now.tokens_in - before.tokens_in,
        tokens_out=now.tokens_out - before.tokens_out,
        cost_usd=cost_usd,
    )


def _as_before(result: TrialResult, contest: Contest) -> TrialResult:
    """A trial as it was before its contest."""
    before = result.before
    if before is None:
        return result
    own = result.outcomes[: len(result.outcomes) - len(contest.referees)]
    return _come_to(replace(result, definitions=result.definitions[: len(own)]), before, own)


def _settled(
    result: TrialResult,
    contest: Contest,
    outcomes: Sequence[Outcome],
    definitions: Sequence[Definition],
) -> TrialResult:
    """A contestant, with what its contest came to."""
    if len(result.definitions) == len(result.outcomes):  # otherwise it was not recorded
        result = replace(result, definitions=(*result.definitions, *definitions))
    before = Verdict(
        result.outcome,
        result.score,
        result.reason,
        result.named_scores,
        result.threshold,
        result.scale,
    )
    verdict = contest.rule(before, outcomes)
    return replace(_come_to(result, verdict, (*result.outcomes, *outcomes)), before=before)


def _definition(
    referee: Referee, place: int, contestants: Sequence[TrialResult], outcomes: Sequence[Outcome]
) -> Definition:
    """What a referee asks of the contestant at a place, and what that was compared with."""
    own = written_definition(referee)
    rivals = sorted(
        brief(outcome.metadata.get(COMPARED, contestant.output))
        for i, (contestant, outcome) in enumerate(zip(contestants, outcomes, strict=True))
        if i != place
    )
    return replace(own, settings={**own.settings, RIVALS: brief(rivals)})


def _come_to(result: TrialResult, verdict: Verdict, outcomes: tuple[Outcome, ...]) -> TrialResult:
    same = result.error is not None and result.outcome == verdict.outcome == "error"
    return replace(
        result,
        outcome=verdict.outcome,
        score=verdict.score,
        reason=verdict.reason,
        named_scores=verdict.named_scores,
        threshold=verdict.threshold,
        scale=verdict.scale,
        outcomes=outcomes,
        error=result.error if same else problem_of(verdict, outcomes),
        before=None,
    )


async def _compared(
    referee: Referee,
    contestants: Sequence[TrialResult],
    contest: Contest,
    trial: LiveTrial,
    missing: int,
) -> Sequence[Outcome]:
    """The outcome of each contestant by one referee. What goes wrong is an error for all of them."""
    expected = Expectation(None, _RefereeName(label_of(referee)))
    try:
        if len(contestants) < 2:
            raise _alone(referee, contest)
        scores = await referee.compare(contestants, trial)
        if len(scores) != len(contestants):
            raise CodeError(
                f"{label_of(referee)} gave {len(scores)} scores for {len(contestants)} outputs",
                hint="Return one for each, in their order.",
            )
        if missing and isinstance(referee, RefereeOfAll):
            scores = [
                score if isinstance(score, Unsettled) else referee.beside_some(score, missing)
                for score in scores
            ]
        return [_outcome(expected, score) for score in scores]
    except ANYTHING as error:
        raise_if_final(error)
        return [error_outcome(expected, error)] * len(contestants)


def _outcome(expected: Expectation, score: Score | Unsettled) -> Outcome:
    if isinstance(score, Unsettled):
        return error_outcome(replace(expected, metadata=score.metadata), score.error)
    return checked_outcome(expected, score)


def _alone(referee: Referee, contest: Contest) -> ScoreError:
    if contest.size == 1:
        return ScoreError(
            f"{label_of(referee)} compares the outputs of several variants, and there is one",
            hint="Add a prompt or a provider.",
        )
    return ScoreError(
        f"{label_of(referee)} has nothing to compare: the other variants have no output"
    )


class _RefereeName(Record, frozen=True):
    """Stands for a referee in an outcome."""

    name: str

    def score(self, output: object, trial: object) -> Score:
        """Nobody asks: the referee has compared."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.name
