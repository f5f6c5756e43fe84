"""What to say of a model that lacks its key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace

from evenhand.core.errors import Problem

NO_KEY = "there is no API key for {}"
"""What to say of a provider that lacks its key; `catalog.key_missing` says which."""
_BEFORE_MODEL = NO_KEY.partition("{")[0]
_NOBODY = ("has no model ", "no model plays the user")
"""What is said where no model is named, and the keys that are set give none."""
ON_IMPORT = "Set the key, or run with --offline, which needs none."
"""What to do where a file that is imported wants a key: whose key it is, its own message says."""
PLACEHOLDER = "replayed"
"""The key of a model that is not asked."""
only_judges_asked: ContextVar[bool] = ContextVar("evenhand_only_judges_asked", default=False)
"""Whether the models under evaluation are answered from recordings, so that judges alone need keys of their own."""
_WHERE_SET = " in the environment"
_HOW = {"GOOGLE_ACCESS_TOKEN": "to what `gcloud auth print-access-token` prints"}
"""How to come by a key that lasts an hour. Application-default credentials are not read."""


def model_without_key(problem: Problem) -> str:
    """The model that lacks its key, where this is what is wrong; empty for any other problem."""
    return problem.what.rpartition(_BEFORE_MODEL)[2] if _BEFORE_MODEL in problem.what else ""


def key_on_import(problem: Problem) -> bool:
    """Whether a file of the user's can't be imported for want of a key, as it makes its client there."""
    return problem.hint.endswith(ON_IMPORT)


def nobody_named(problem: Problem) -> bool:
    """Whether a model is wanted that no file names: a key may give one by default."""
    return any(words in problem.what for words in _NOBODY)


def each_key_once(problems: Iterable[Problem]) -> list[Problem]:
    """The problems, of those that one key or one judge's name mends only the first: it says how many places need it."""
    groups: dict[object, list[Problem]] = {}
    for place, problem in enumerate(problems):
        remedy: object = place
        if model_without_key(problem):
            remedy = problem.hint.partition(_WHERE_SET)[0]
        elif nobody_named(problem):
            remedy = problem.hint
        groups.setdefault(remedy, []).append(problem)
    return [
        first if not others else replace(first, hint=_for_all(first, others))
        for first, *others in groups.values()
    ]


def _for_all(first: Problem, others: Sequence[Problem]) -> str:
    """What to do about all of these; what one of them adds to it comes last."""
    longest = max((first, *others), key=lambda one: len(one.hint)).hint
    number = f"{len(others) + 1:,} places need"
    if nobody_named(first):
        return f"{longest} {number} one."
    advice, _, rest = longest.partition(". ")
    return f"{advice.removesuffix('.')}. {number} it. {rest}".rstrip()


def set_key(variable: str) -> str:
    """What to do about a key that is missing, by the environment variable that holds it."""
    how = _HOW.get(variable)
    return f"Set {variable}{_WHERE_SET}{f', {how}' if how else ''}."
