"""What a test's assertions are, as a digest: two tests with the same one decide alike about the same answer.

All that decides counts: types, values with the files that they name, bounds, weights, judges with their settings, and
code. How files are called does not. Where something can't be known (code that reaches out, a web hook, a package's own
type, a model that is the user's code), there is no digest.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from evenhand.core.encoding import digest_of, encode
from evenhand.core.message import Message, Prompt, Task
from evenhand.core.provider import Provider, judging_task, says
from evenhand.core.scripted import without_address
from evenhand.doors.assertions.assertion import Assertion
from evenhand.doors.assertions.kinds import SUPPORTED, kind_of
from evenhand.languages.templates.rendering import has_tags
from evenhand.scorers.code_languages import TYPES

_UNKNOWN = frozenset({"webhook", "select-best", "max-score"}) | TYPES
_CODE = frozenset({"python", "javascript"})
_HELD_ELSEWHERE = frozenset(
    "type value threshold weight metric provider rubricPrompt transform contextTransform config assert".split()
)


class CannotBeKnownError(Exception):
    """What an assertion depends on can't be known without running it."""


_NOTHING = (None, "", {}, [])


def assertions_digest(assertions: Iterable[Assertion | None]) -> str:
    """A digest of these assertions; empty where what they depend on can't be known.

    Args:
        assertions: In their order; those in a set come after it. None for one that can't be settled.
    """
    try:
        return digest_of(_identity(assertion) for assertion in assertions)
    except (CannotBeKnownError, TypeError, ValueError):
        return ""


def asks_code(assertions: Iterable[Assertion | None]) -> bool:
    """Whether the user's code is among them: it is told more of a test than others."""
    return any(
        one is None
        or one.type in _CODE
        or bool(one.transform or one.context_transform)
        or (isinstance(one.value, str) and one.value.startswith("file://"))
        for one in assertions
    )


def model_identity(provider: Provider | None, task: Task = "generate") -> bytes:
    """What a model is and how it is asked; empty for nobody.

    Raises:
        CannotBeKnownError: It is code of the user's, or more than the request decides.
    """
    if provider is None:
        return b""
    judges_by = judging_task(provider, task)
    if not says(provider, "answers_by_request_alone") or judges_by is None:
        raise CannotBeKnownError
    request = provider.request(Prompt((Message("user", ""),), "", task=judges_by))
    if request.unsent:  # a secret may choose who answers
        raise CannotBeKnownError
    return without_address(request.identity)


def _identity(assertion: Assertion | None) -> bytes:
    if assertion is None or assertion.type not in SUPPORTED or assertion.type in _UNKNOWN:
        raise CannotBeKnownError
    kind, base = kind_of(assertion.type), assertion.base
    parts = {
        "type": assertion.written,
        "value": _value(assertion),
        "threshold": assertion.threshold,
        "weight": assertion.weight,
        "metric": assertion.metric,
        "rubric": assertion.rubric_prompt if kind.asks else "",
        "config": assertion.config,
        "transform": _code(assertion.transform, base, "get_transform"),
        "context": _code(assertion.context_transform, base, "get_transform"),
        "options": assertion.options.get("factuality"),
        "excusing": sorted(assertion.excusing),
        "more": {k: v for k, v in assertion.more.items() if k not in _HELD_ELSEWHERE},
    }
    written = encode({name: part for name, part in parts.items() if part not in _NOTHING})
    if b"env" in written and has_tags(written.decode("utf-8", "replace")):
        raise CannotBeKnownError  # the environment is filled in
    judge = model_identity(assertion.judge, kind.asks or "generate")
    embedder = model_identity(assertion.embedder, "embed") if kind.embeds else b""
    return b"\0".join((written, judge, embedder))


def _value(assertion: Assertion) -> object:
    """An assertion's value; of code, a digest."""
    value = assertion.value
    if not isinstance(value, str):
        return value
    if value.startswith("file://"):
        if has_tags(value):
            raise CannotBeKnownError
        return _code(value, assertion.base, "get_assert")
    if assertion.type == "python":
        from evenhand.doors.assertions.closed_code import python_digest  # noqa: PLC0415 (only for configs with code)

        return _known(python_digest(value))
    if assertion.type == "javascript":
        return _code(value, assertion.base, "")
    return value


def _code(text: str, base: Path, default: str) -> str:
    if not text:
        return ""
    from evenhand.doors.assertions.closed_code import code_digest  # noqa: PLC0415 (only for configs with code)

    return _known(code_digest(text, base, default))


def _known(code: str) -> str:
    if not code:
        raise CannotBeKnownError
    return code
