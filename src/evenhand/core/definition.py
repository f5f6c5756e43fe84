"""What a trial is given and what is asked of its output, as digests: two trials with the same ones are the same test.

How this works: a scorer is known by its class and its arguments, one by one, so that it can be said which of them
changed. Of a function, and of a class that is none of ours, the code counts as well: what it does, and not its comments
or its layout (`core.function_code`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import field

from evenhand.core.case import Case
from evenhand.core.encoding import digest, encode
from evenhand.core.function_code import LETTERS, class_digest, code_digest, values_of
from evenhand.core.json_shapes import is_mapping
from evenhand.core.record import Record
from evenhand.core.traits import Traits

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

CODE = "code"
VALUES = "values"
"""What a function was given when it was made: by the function around it, by `partial`, or as defaults."""
_OWN = "evenhand."
_NO_TERMS = frozenset({"label", "judge", "embedder", "unsure_below", "traits"})
"""Arguments that change nothing of what is asked: who is asked is known of the answer."""
_NO_MODELS = frozenset({str, int, float, bool, tuple, list, dict, type(None)})
_REMEMBERED = 4096
_NO_RULE: list[object] = [None, None, None]
_CASE_PARTS = ("input", "expected", "context", "tags")


class Definition(Record, frozen=True):
    """What an expectation asks, as far as it can be known without its output.

    Attributes:
        kind: What asks: the scorer's class, or the type in a config. Empty where that isn't known.
        settings: A digest of each argument by its name; under `code` that of the user's code.
        exact: Whether a file says it, so that no argument can be what the application answered.
    """

    kind: str = ""
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    exact: bool = False


UNKNOWN = Definition()


def content_of(
    case: Case, variables: Mapping[str, Any], test: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """A digest of each part of what a case says; parts that say nothing are left out, but for the variables.

    Args:
        case: As it was planned.
        variables: As they were filled in. Those that the case itself doesn't have came about on the way.
        test: What a config wrote of it: what its score has to reach, and what is looked at, are its `rule`.
    """
    own = case.vars
    if variables is not own:
        own = {name: variables.get(name, value) for name, value in own.items()}
    content = {"vars": brief(own)}
    for name in _CASE_PARTS:
        value = getattr(case, name)
        if value is not None and not (isinstance(value, tuple) and not value):
            content[name] = brief(value)
    if test:
        options = cast("Mapping[str, Any]", test.get("options") or {})
        rule = [
            test.get("threshold"),
            test.get("assertScoringFunction"),
            options.get("transform"),
        ]
        if rule != _NO_RULE:
            content["rule"] = brief(rule)
    return content


def definition_of(scorer: object) -> Definition:
    """What a scorer asks. It costs little for one that is like an earlier one."""
    if hasattr(
        scorer, "function"
    ):  # a lambda is made anew for each trial, so only its code is remembered
        return _defined(scorer)
    try:
        names = _terms(scorer)
        values = tuple([_argument(scorer, name) for name in names])
        # The types as well: 1, 1.0 and True are equal, and are not written alike.
        key = (type(scorer), names, values, tuple(map(type, values)))
        known = _known.get(key)
    except Exception:  # noqa: BLE001 (arguments that can't be hashed, or a property that raises)
        return _defined(scorer)
    if known is not None:
        return known
    definition = _defined(scorer)
    if len(_known) >= _REMEMBERED:
        _known.clear()
    _known[key] = definition
    return definition


_known: dict[object, Definition] = {}


def written_definition(scorer: object, *, but: str = "") -> Definition:
    """The definition of a scorer that a file describes.

    Args:
        but: An argument that the file doesn't say.
    """
    definition = definition_of(scorer)
    settings = {name: value for name, value in definition.settings.items() if name != but}
    return Definition(definition.kind, settings, exact=True)


def brief(value: object) -> str:
    """A short digest of a value: the same for equal ones, in every run."""
    try:
        data = encode(value)
    except (TypeError, ValueError):
        data = _described(value).encode("utf-8", "replace")
    return digest(data)[:LETTERS]


@lru_cache(maxsize=256)
def _file_digest(path: Path, stamp: tuple[int, int]) -> str:
    del stamp  # so that a file that was written is read again
    return digest(path.read_bytes())[:LETTERS]


def file_digest(path: Path) -> str:
    """A short digest of a file's content; empty where it can't be read."""
    try:
        status = path.stat()
        return _file_digest(path, (status.st_mtime_ns, status.st_size))
    except OSError:
        return ""


def _defined(scorer: object) -> Definition:
    kind = type(scorer)
    function = getattr(scorer, "function", None)
    settings = {name: brief(value) for name, value in _arguments(scorer) if value is not function}
    if callable(function):
        settings[CODE] = code_digest(function)
        values = values_of(function)
        if values:
            settings[VALUES] = brief(values)
    elif not kind.__module__.startswith(_OWN):
        settings[CODE] = class_digest(kind)
    return Definition(kind.__name__, settings)


def _arguments(scorer: object) -> Iterator[tuple[str, Any]]:
    """The arguments that say what a scorer asks."""
    for name in _terms(scorer):
        value = _argument(scorer, name)
        if value is not None:
            yield name, value


def _terms(scorer: object) -> tuple[str, ...]:
    """The names of these arguments."""
    traits = getattr(scorer, "traits", None)
    terms = traits.asks if isinstance(traits, Traits) else None
    if is_dataclass(scorer):
        return _terms_of_class(type(scorer), terms)
    return _asking(getattr(scorer, "__dict__", ()), terms)


@lru_cache(maxsize=_REMEMBERED)
def _terms_of_class(
    kind: type[DataclassInstance], terms: tuple[str, ...] | None
) -> tuple[str, ...]:
    return _asking((one.name for one in fields(kind)), terms)


def _asking(names: Iterable[str], terms: tuple[str, ...] | None) -> tuple[str, ...]:
    return tuple(
        name
        for name in names
        if not name.startswith("_") and name not in _NO_TERMS and (terms is None or name in terms)
    )


def _argument(scorer: object, name: str) -> object:
    """An argument; None for a model: who is asked is known of the answer."""
    value = getattr(scorer, name, None)
    if type(value) in _NO_MODELS or not (hasattr(value, "request") and hasattr(value, "id")):
        return value
    return None


def _described(value: object) -> str:
    """A text for a value that JSON has no form for; the same in every run."""
    if isinstance(value, Path):
        return file_digest(value) or value.name
    if is_mapping(value):
        return ",".join(sorted(f"{key}:{brief(item)}" for key, item in value.items()))
    if isinstance(value, list | tuple | set | frozenset):
        each = [brief(item) for item in value]
        # A set's own order changes from run to run.
        return ",".join(sorted(each) if isinstance(value, set | frozenset) else each)
    if isinstance(value, type):
        return value.__qualname__
    if isinstance(value, re.Pattern):
        return repr(cast("object", value))
    # A scorer that can be called is known by its arguments, not by its code.
    if callable(value) and not hasattr(value, "score"):
        return code_digest(value)
    definition = definition_of(value)
    return f"{definition.kind}{sorted(definition.settings.items())}"
