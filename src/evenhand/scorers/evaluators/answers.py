"""What an evaluator of another library is shown of a trial: the output, and what the case says."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.record import Record


class Answer(Record, frozen=True):
    """An output with its case.

    Attributes:
        output: The output.
        question: What was asked: the case's input, or its variables where it has none.
        expected: The right answer; None where the case has none.
        contexts: The passages that were retrieved, or else the case's own.
    """

    output: Any
    question: Any
    expected: Any
    contexts: tuple[str, ...]

    @classmethod
    def of(cls, output: Any, trial: Trial, contexts: Sequence[str] | None) -> Answer:
        """The answer of a trial.

        Args:
            contexts: The passages that were retrieved; None for those of the case.
        """
        case = trial.case
        question = case.input if case.input is not None else dict(case.vars) or None
        passages = case.context if contexts is None else tuple(contexts)
        return cls(output, question, case.expected, passages)


def optional_text(value: Any) -> str | None:
    """A text as it is, JSON of anything else, and None for None."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


async def ask_evaluator(
    trial: Trial, function: Callable[..., Any], name: str, /, **arguments: Any
) -> Any:
    """What a method of an evaluator returns: awaited where it is async, off the event loop where it is not."""

    def call() -> Any:
        return function(**arguments)

    async def call_async() -> Any:
        return await function(**arguments)

    # A decorator can hide that a function is async: taken for a plain one, it would be called in a thread.
    plain = not inspect.iscoroutinefunction(inspect.unwrap(function))
    result = await trial.call(call if plain else call_async, name=name)
    return await result if inspect.isawaitable(result) else result


def library_object(module: str, kind: str, /, **fields: Any) -> Any:
    """What a library's evaluators take: an object of its class, or one with the same fields where it is not installed.

    An evaluator that somebody writes after a library's protocol needs no library.
    """
    try:
        of: Any = getattr(importlib.import_module(module), kind)
    except ImportError:
        of = SimpleNamespace
    return of(**fields)


def number_of(value: Any, name: str) -> float:
    """A number that an evaluator gave.

    Raises:
        ScoreError: It is none, or NaN, which is how some say that they failed.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ScoreError(f"{name} gave {value!r:.80}, not a number") from None
    if number != number:  # noqa: PLR0124 (NaN is not itself)
        raise ScoreError(f"{name} gave NaN: it has no score for this output")
    return number


def need_methods(kind: str, what: object, methods: Sequence[str], example: str) -> None:
    """Refuses what is no evaluator of a library.

    Raises:
        UsageError: It has none of these methods, or is a class and no object.
    """
    if isinstance(what, type):
        raise UsageError(
            f"{kind}: {what.__name__} is a class", hint=f"Write {kind}({what.__name__}(…))."
        )
    if not any(callable(getattr(what, method, None)) for method in methods):
        raise UsageError(
            f"{kind}: {what!r:.80} has no {' or '.join(methods)}", hint=f"Write {example}."
        )
