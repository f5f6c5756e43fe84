"""Bounds on what an answer took: seconds and money."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Trial
from evenhand.core.run import unseen
from evenhand.core.score import Score, check
from evenhand.core.scripted import SCRIPT_HAS_NO_PRICE, script_answers
from evenhand.core.traits import Traits
from evenhand.core.wording.bounds import as_written, beside
from evenhand.scorers.constructor_checks import need_number
from evenhand.scorers.opposite import Question


def _need_all_calls(trial: Trial) -> None:
    """Refuses a trial that made calls which nobody recorded."""
    if trial.unrecorded:
        raise unseen(trial.unrecorded)


def _unmeasured(what: str) -> ScoreError:
    return ScoreError(
        f"{what} was not measured, as in a batch",
        hint="Leave out the bound, or ask without --batch (batch = true).",
    )


@dataclass(frozen=True, slots=True)
class Latency(Question):
    """The model answered within so many milliseconds. For a reply from the cache, the original call counts.

    An answer whose time nobody measured, such as one that came in a batch, is an error.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")
    at_most_ms: float

    def __post_init__(self) -> None:
        need_number("Latency", "the bound, in milliseconds,", self.at_most_ms)

    def score(self, output: Any, trial: Trial) -> Score:  # noqa: ARG002
        _need_all_calls(trial)
        if trial.reply is None:
            raise ScoreError("how long the answer took is not known")
        seconds = trial.reply.latency_s
        if seconds is None:
            raise _unmeasured("how long the answer took")
        took = seconds * 1000
        return check(
            took <= self.at_most_ms,
            f"took {beside(took, self.at_most_ms, digits=0, form='f')} ms,"
            f" at most {as_written(self.at_most_ms)} ms are allowed",
        )

    def __str__(self) -> str:
        return f"latency ≤ {self.at_most_ms:g} ms"


@dataclass(frozen=True, slots=True)
class FirstToken(Question):
    """Seconds until the model's answer began: the time to first token of a stream, to the first byte of another one.

    A reply from the cache counts as its original call. Where nobody measured it, as in a batch, that is an error.
    """

    traits: ClassVar[Traits] = Traits(gives="number", lower_is_better=True, counted=False)

    def score(self, output: Any, trial: Trial) -> Score:  # noqa: ARG002
        _need_all_calls(trial)
        if trial.reply is None:
            raise ScoreError("when the answer began is not known")
        seconds = trial.reply.first_byte_s
        if seconds is None:
            raise _unmeasured("when the answer began")
        return Score(seconds, None, f"began after {seconds * 1000:.0f} ms")

    def __str__(self) -> str:
        return "seconds to first token"


@dataclass(frozen=True, slots=True)
class Cost(Question):
    """The model's answer cost at most so many US dollars. For a reply from the cache, the original call counts.

    It is not applicable to a scripted reply (`--offline`).
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")
    at_most_usd: float

    def __post_init__(self) -> None:
        need_number("Cost", "the bound, in US dollars,", self.at_most_usd)

    def score(self, output: Any, trial: Trial) -> Score:  # noqa: ARG002
        _need_all_calls(trial)
        cost = trial.reply.cost_usd if trial.reply else None
        if cost is None:
            if script_answers():
                return Score(None, reason=SCRIPT_HAS_NO_PRICE)
            price = "Give the price in the provider's config: cost: <US dollars per token>."
            raise ScoreError("what the answer cost is not known", hint=price)
        return check(
            cost <= self.at_most_usd,
            f"cost ${beside(cost, self.at_most_usd, form='f')}, at most ${as_written(self.at_most_usd)} is allowed",
        )

    def __str__(self) -> str:
        return f"cost ≤ ${self.at_most_usd:g}"
