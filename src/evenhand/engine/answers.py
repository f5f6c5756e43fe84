"""What the answer is where a model's thoughts stand in its text: without them, unless somebody says otherwise."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Mapping
from inspect import isawaitable
from typing import Any, Protocol, cast

from msgspec.structs import replace

from evenhand.core.encoding import decode
from evenhand.core.errors import CodeError, ScoreError
from evenhand.core.expect import Expectation, Trial
from evenhand.core.message import Reply
from evenhand.core.plan import PlannedTrial
from evenhand.core.provider import Provider
from evenhand.core.score import Score
from evenhand.core.thoughts import without_thoughts
from evenhand.engine.guardian import running
from evenhand.engine.python_names import Watched, users_call
from evenhand.providers.answer_text import CutShort
from evenhand.providers.paused import Paused

MORE_TOKENS = "The model ran out of tokens: give it more in its config, max_tokens: …"
_NOT_ALL = "it ends in the middle of a thought, or holds nothing else: there is no answer"


class Thinker(Protocol):
    """A trial, as far as its thoughts go.

    Attributes:
        shows_thoughts: Whether thoughts are a part of what is scored.
        left_out: Whether there were any that aren't.
    """

    shows_thoughts: bool
    left_out: bool


class Scored(Thinker, Trial, Protocol):
    """A trial whose expectations are settled.

    Attributes:
        planned: What it is of.
    """

    planned: PlannedTrial

    def blame(self, problem: CodeError) -> None:
        """Keeps it from passing."""
        ...


def answer_in(trial: Thinker, provider: Provider, reply: Reply) -> Reply:
    """A subject's reply, with the text that is its answer. The journal keeps all of it.

    Raises:
        CutShort: There are only thoughts in it.
    """
    if _shows(trial, provider):
        trial.shows_thoughts = True
        return reply
    if reply.spoken is not None and not reply.tool_calls:
        reply = _with_text(provider, reply, reply.spoken)
    if not isinstance(reply.output, str) or reply.output != reply.text:
        return reply
    text = without_thoughts(reply.text)
    if text == reply.text:
        return reply
    trial.left_out = True
    if text is not None:
        return _with_text(provider, reply, text)
    if hasattr(reply, "unanswered"):  # an application has been given it, and may ask again
        return replace(cast("Any", reply), text="", output=None, unanswered=_NOT_ALL)
    raise CutShort(f"the reply is none: {_NOT_ALL}", hint=MORE_TOKENS, billed=None)


def score_of(trial: Scored, expectation: Expectation) -> Awaitable[Score] | Score:
    """What a scorer says; one of the user's is noted, as it runs on the loop and may end the process.

    Raises:
        ScoreError: There is no answer to score.
    """
    scorer, value = expectation.scorer, scored(trial, expectation.value)
    if type(scorer).__module__.startswith("evenhand."):
        return scorer.score(value, trial)
    name = type(scorer).__name__
    with running(f"{name} {trial.planned.case.id}", trial.planned.index), users_call(name, trial):
        score = scorer.score(value, trial)
    return (
        score if isinstance(score, Score) or not isawaitable(score) else Watched(score, name, trial)
    )


def give_up(score: Awaitable[Score]) -> None:
    """Closes what a scorer returned, and nobody awaits any more."""
    if isinstance(score, (Coroutine, Watched)):
        score.close()


def scored(trial: Thinker, value: object) -> object:
    """What a scorer is given of a value: a text without its thoughts, wherever it is from.

    Raises:
        ScoreError: There are only thoughts in it.
    """
    if trial.shows_thoughts or not isinstance(value, str):
        return value
    text = without_thoughts(value)
    if text is None:
        raise ScoreError(f"the output is no answer: {_NOT_ALL}", hint=MORE_TOKENS)
    if text != value:
        trial.left_out = True
    return text


def _shows(trial: Thinker, provider: Provider) -> bool:
    """Whether thoughts are a part of a model's answers: what is said of this model goes before what holds for all."""
    asked = provider.provider if isinstance(provider, Paused) else provider
    config = getattr(asked, "config", None)
    setting = cast("Mapping[str, Any]", config).get("showThinking") if config else None
    if setting is None:
        setting = getattr(asked, "shows_thoughts", False) or trial.shows_thoughts
    return bool(setting)


def _with_text(provider: Provider, reply: Reply, text: str) -> Reply:
    output: object = text
    if getattr(provider, "parses", False):
        try:
            output = decode(text)
        except ValueError:
            output = text
    return replace(reply, text=text, output=output, spoken=None)
