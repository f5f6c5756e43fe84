"""Sets of assertions: several that count as one, with a threshold, a weight and a metric of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import asdict

from evenhand.core.definition import definition_of
from evenhand.core.errors import ScoreError
from evenhand.core.expect import Expectation, Scorer, Trial, named_weights
from evenhand.core.score import COMPONENTS, DEFINITION, Outcome, Score
from evenhand.doors.assertions.aggregate import verdict_rule
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind

GROUP = "sets"


@dataclass(frozen=True, slots=True)
class AssertSet:
    """A set of assertions that pass together: all or, with a threshold, by the weighted mean of scores.

    One in error leaves the set without a verdict, unless the others have decided.
    """

    expectations: tuple[Expectation, ...] = field(repr=False)
    threshold: float | None = None
    excusing: frozenset[int] = frozenset()

    async def score(self, output: Any, trial: Trial) -> Score:
        del output
        if not self.expectations:  # it has nothing to show: no score, and no threshold is reached
            return Score(0.0, not self.threshold, "an assert-set without assertions has score 0")
        outcomes = await trial.settled(self.expectations)
        verdict = verdict_rule(self.threshold, excusing=self.excusing)(outcomes)
        if verdict.outcome == "error":
            raise ScoreError(
                f"one of the set could not be settled: {verdict.reason}",
                metadata=_components(outcomes, self.expectations),
            )
        # One without assertions passes with nothing to show for it.
        score = verdict.score if outcomes else 0.0
        weights = named_weights(outcomes)
        equal = all(weight == 1 for weight in weights.values())
        return Score(
            score if verdict.outcome != "not_applicable" else None,
            verdict.outcome == "pass",
            verdict.reason,
            _components(outcomes, self.expectations),
            verdict.named_scores,
            named_weights={} if equal else weights,
        )

    def __str__(self) -> str:
        return f"assert-set of {len(self.expectations)}"


def parts_of(outcomes: Sequence[Outcome], expectations: Sequence[Expectation]) -> Mapping[str, Any]:
    """What is kept of outcomes that count as one: each of them; of a single one, what it keeps itself."""
    return outcomes[0].metadata if len(outcomes) == 1 else _components(outcomes, expectations)


def _components(
    outcomes: Sequence[Outcome], expectations: Sequence[Expectation]
) -> Mapping[str, Any]:
    return {COMPONENTS: [*map(_component, outcomes, expectations)]}


def _component(outcome: Outcome, expectation: Expectation) -> Mapping[str, Any]:
    whole: dict[str, Any] = {}
    if outcome.error or not outcome.metadata.keys().isdisjoint(("judge", "jury")):
        # A judge's verdict is one by itself, too.
        definition = expectation.definition or definition_of(expectation.scorer)
        whole = {
            "metadata": {**outcome.metadata, DEFINITION: asdict(definition)},
            "at_least": outcome.at_least,
            "at_most": outcome.at_most,
            "scale": outcome.scale,
            "rests_on": outcome.rests_on,
        }
    return {
        "name": outcome.name,
        "pass": outcome.outcome in ("pass", "not_applicable") or outcome.weight == 0,
        "outcome": outcome.outcome,
        "score": outcome.score,
        "reason": outcome.reason,
        "metric": outcome.metric,
        **({"weight": outcome.weight} if outcome.weight != 1 else {}),
        **({"error": outcome.error} if outcome.error else {}),
        **({"named": dict(outcome.named)} if outcome.named else {}),
        **{name: value for name, value in whole.items() if value not in (None, ())},
    }


def _set(assertion: Assertion, cell: Cell, _value: Any) -> Scorer:
    scorers = tuple(make(cell) for make in assertion.makes)
    return AssertSet(scorers, assertion.threshold, assertion.excusing)


KINDS = (
    Kind(
        "assert-set",
        "the assertions under its own assert: count as one, by threshold where there is one",
        _set,
        optional=True,
        of_each_cell=True,
        negation="refused",
    ),
)
