"""What a trial is given and what is asked of its output, as digests: two trials with the same ones are the same test.

How this works: a scorer is known by its class and its arguments, one by one, so that it can be said which of them
changed. Of a function, and of a class that is none of ours, the code counts as well: what it does, and not its comments
or its layout.

Of code, what counts is what it does, with the functions and constants of its module that it names; comments, layout and
docstrings don't. Of a scorer, so do the functions and classes that it names in other modules, also in those that it
imports only when it is called, except in installed ones: a check that has become lenient there is another check. Source
is the same in every version of Python. What has none, as it was made while something ran, is known by its compiled
code, which differs: digests of two versions say nothing of each other. Each begins with its form.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cached_property, lru_cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, field

from evenhand.core.case import Case
from evenhand.core.encoding import digest, encode
from evenhand.core.json_shapes import is_mapping
from evenhand.core.later_imports import LaterCode
from evenhand.core.record import Record
from evenhand.core.source_code import FORM, fields_in, functions_of, text_of_code
from evenhand.core.traits import Traits
from evenhand.core.users_code import is_users, users_file

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


CODE = "code"
VALUES = "values"
"""What a function was given when it was made: by the function around it, by `partial`, or as defaults."""
RIVALS = "other variants' outputs"
"""What an output was compared with, of an expectation that compares the outputs of a case with each other."""
_OWN = "evenhand."
_CACHED = type(lru_cache(len))
_DECORATED = (
    (staticmethod, "__func__"),
    (classmethod, "__func__"),
    (property, "fget"),
    (cached_property, "func"),
    (_CACHED, "__wrapped__"),
)
"""What decorators make of a method, and where they keep it."""
_FEW = 1_000
"""A table with more in it isn't read for each trial again, where a function was given it."""
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_WHOLE = 150
"""A pattern of so many characters is shown whole by its `repr`."""
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
    settings: Mapping[str, str] = field(default_factory=dict)
    exact: bool = False


UNKNOWN = Definition()
USER = "user"
"""The part of what a case says that is who plays the user in its conversation; of code, before Python's version."""

TALK = "talk "
"""Before the number of a conversation of the trial: the part that says what it goes by, whoever plays the user."""


def content_of(
    case: Case,
    variables: Mapping[str, Any],
    test: Mapping[str, Any] | None = None,
    scored_by: str = "",
) -> dict[str, str]:
    """A digest of each part of what a case says; parts that say nothing are left out, but for the variables.

    Args:
        case: As it was planned.
        variables: As they were filled in. Those that the case itself doesn't have came about on the way.
        test: What a config wrote of it: what its score has to reach, and what is looked at, are its `rule`.
        scored_by: A digest of the code that the rule consists of, too.
    """
    own = case.vars
    if variables is not own:
        own = {name: variables.get(name, value) for name, value in own.items()}
    content = {"vars": brief(own)}
    for name in _CASE_PARTS:
        value = getattr(case, name)
        if value is not None and not (isinstance(value, tuple) and not value):
            content[name] = brief(value)
    rule: list[object] = _NO_RULE
    if test:
        options = cast("Mapping[str, Any]", test.get("options") or {})
        rule = [test.get("threshold"), test.get("assertScoringFunction"), options.get("transform")]
    if rule != _NO_RULE or scored_by:
        content["rule"] = brief([*rule, scored_by] if scored_by else rule)
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
        settings[CODE] = code_digest(function, everywhere=True)
        values = values_of(function)
        if values:
            settings[VALUES] = brief(values)
    elif not kind.__module__.startswith(_OWN):
        settings[CODE] = _class_digest(kind)
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
    if isinstance(scorer, Struct) or is_dataclass(scorer):
        return _terms_of_class(type(scorer), terms)
    return _asking(getattr(scorer, "__dict__", ()), terms)


@lru_cache(maxsize=_REMEMBERED)
def _terms_of_class(
    kind: type[Struct | DataclassInstance], terms: tuple[str, ...] | None
) -> tuple[str, ...]:
    if issubclass(
        kind, Struct
    ):  # a record: its fields as a dataclass has them would have to be made
        return _asking(kind.__struct_fields__, terms)
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
        return _written(cast("object", value))
    # A scorer that can be called is known by its arguments, not by its code.
    if callable(value) and not hasattr(value, "score"):
        return code_digest(value)
    definition = definition_of(value)
    return f"{definition.kind}{sorted(definition.settings.items())}"


LETTERS = 8
"""Of a digest: enough to tell two from each other, and short where there are many."""
_COMPILED = f"python {sys.version_info[0]}.{sys.version_info[1]}"
"""Before each digest of compiled code. Those of earlier versions of ours begin with the number alone."""


def code_digest(function: Callable[..., object], *, everywhere: bool = False) -> str:
    """A digest of what a function's code does, after the form that it was read in; empty where there is no code.

    Args:
        function: The function, or whatever can be called.
        everywhere: Whether what it names in other modules of the user's counts, too.
    """
    plain = _function_in(function)
    return "" if plain is None else _digest_of_code(plain.__code__, _Globals(plain), everywhere)


class _Globals:
    """A function's module, for a cache: equal to that of another function of the same module."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function

    def __hash__(self) -> int:
        return id(self.function.__globals__)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Globals) and other.function.__globals__ is self.function.__globals__
        )


@lru_cache(maxsize=256)
def _digest_of_code(code: CodeType, module: _Globals, everywhere: bool) -> str:
    del code  # the function's own
    parts = _CodeParts(everywhere=everywhere)
    return parts.digest(parts.of_function(module.function))


def _function_in(target: object) -> FunctionType | None:
    """The function of Python's behind whatever can be called; None where there is none."""
    # A chain of wrappers could lead back to its beginning.
    for _ in range(10):
        if isinstance(target, FunctionType):
            wrapped = getattr(target, "__wrapped__", None)
            if not isinstance(wrapped, FunctionType):
                return target
            target = wrapped
            continue
        target = (
            getattr(target, "func", None)
            or getattr(target, "__func__", None)
            or getattr(type(target), "__call__", None)  # noqa: B004 (its code is wanted)
        )
    return None


def values_of(target: object) -> list[str]:
    """What a function was given when it was made: constants, tables of them and functions, around it or as defaults."""
    return [text for value in _values_in(target) if (text := _given(value, (target,)))]


def _values_in(target: object) -> Iterator[object]:
    if not isinstance(target, FunctionType):
        yield from (*getattr(target, "args", ()), *getattr(target, "keywords", {}).values())
    plain = _function_in(target)
    if plain is not None:
        yield from (*(plain.__defaults__ or ()), *(plain.__kwdefaults__ or {}).values())
        for cell in plain.__closure__ or ():
            with contextlib.suppress(ValueError):  # not filled yet
                yield cell.cell_contents


def _given(value: Any, around: tuple[object, ...]) -> str:
    """The text of a value that a function was given; empty for what can't be told from one run to the next.

    Args:
        around: What it lies in: a function that calls itself was given itself.
    """
    if value is None or any(value is one for one in around):
        return ""
    if type(value) in (dict, list, tuple, set, frozenset) and len(value) > _FEW:
        return ""
    if _is_table(value):
        return _written(value)
    if type(value) in (list, tuple):
        parts = [_given(part, (*around, value)) for part in value]
        return f"[{', '.join(parts)}]" if all(parts) else ""
    if not isinstance(value, FunctionType):
        return ""
    within = (_given(one, (*around, value)) for one in _values_in(value))
    return f"{code_digest(value, everywhere=True)}({', '.join(within)})"


def _class_digest(kind: type) -> str:
    """A digest of what a class does, without what it inherits; empty for one without code or constants."""
    parts = _CodeParts(everywhere=True)
    return parts.digest(parts.of_class(kind))


class _CodeParts:
    """What code is made of, each function and class once.

    Args:
        everywhere: Whether what is named in other modules of the user's counts, too.
    """

    def __init__(self, *, everywhere: bool) -> None:
        self._everywhere = everywhere
        self._known = set[CodeType | type]()
        self._later = LaterCode()
        self._form = FORM

    def digest(self, parts: Iterable[str]) -> str:
        """A digest of such parts, after the form that they were read in; empty where there are none."""
        texts = [*parts]
        return f"{self._form}:{digest(*texts)[:LETTERS]}" if texts else ""

    def of_function(self, function: FunctionType) -> Iterator[str]:
        """A function's code, and what it names."""
        code = function.__code__
        if code in self._known:
            return
        self._known.add(code)
        if text := text_of_code(code):
            yield text
        else:
            self._form = _COMPILED
            yield from _of_code(code, function.__doc__)
        names = _names_in(code)
        for name in sorted(names):
            yield from self._named(name, function.__globals__.get(name), function.__module__, names)
        if self._everywhere:
            package = str(function.__globals__.get("__package__") or "")
            for node in functions_of(code):
                yield from self._later.of(code.co_filename, package, node, names)

    def of_class(self, kind: type) -> Iterator[str]:
        """A class's fields, methods and constants, without what it inherits."""
        self._known.add(kind)
        fields = fields_in(_file_of(kind), kind.__qualname__)
        if fields is None and (annotations := _annotations_of(kind)):
            self._form = _COMPILED
            yield f"{annotations}"
        yield from fields or ()
        for name, member in sorted(vars(kind).items()):
            if name.startswith("__") and name != "__init__":
                continue
            function = _method(member)
            if function is not None:
                # What a decorator made of the fields says nothing more than they do.
                if name != "__init__" or fields is None or text_of_code(function.__code__):
                    yield name
                    yield from self.of_function(function)
            elif member is not None and _is_table(member):
                yield name
                yield _written(member)

    def _named(
        self, name: str, value: object, module: str, names: AbstractSet[str]
    ) -> Iterator[str]:
        """What a name stands for in the code of a module that has these names in it."""
        if self._everywhere and type(value) is _CACHED:
            value = _method(value)
        if isinstance(value, FunctionType):
            if value.__module__ == module or self._is_looked_at(value.__module__):
                yield name
                yield from self.of_function(value)
        elif isinstance(value, ModuleType):
            if self._is_looked_at(value.__name__):
                # By its names alone, it isn't known which of them is meant: each is.
                for inner in sorted({*names} & vars(value).keys()):
                    yield from self._named(
                        inner, vars(value)[inner], value.__name__, names - {name}
                    )
        elif isinstance(value, type):
            for kind in value.__mro__:
                if kind not in self._known and self._is_looked_at(kind.__module__):
                    yield name
                    yield from self.of_class(kind)
        elif self._counts(name, value):
            yield f"{name}={_written(value)}"

    def _counts(self, name: str, value: object) -> bool:
        """Whether a value is a part of the code: what is written in capitals, and what nothing can be added to."""
        if not self._everywhere:
            return name.isupper() and _is_constant(value)
        fixed = _is_table(value) if name.isupper() else _is_constant(value)
        return fixed and not name.startswith("__") and not _is_place(value)

    def _is_looked_at(self, module: str) -> bool:
        return self._everywhere and bool(users_file(sys.modules.get(module)))


def _method(member: Any) -> FunctionType | None:
    """The function of a method, whatever its decorator made of it; None for what is no method."""
    # By their types: any other object may do anything when it is asked for an attribute.
    for kind, name in _DECORATED:
        if type(member) is kind:
            member = getattr(member, name)
    return member if isinstance(member, FunctionType) else None


def _file_of(kind: type) -> str:
    """The file that a class of the user's is written in; empty where that isn't known."""
    methods = (function for member in vars(kind).values() if (function := _method(member)))
    files = (function.__code__.co_filename for function in methods)
    return users_file(sys.modules.get(kind.__module__)) or next(filter(is_users, files), "")


def _annotations_of(kind: type) -> list[str]:
    """The annotated fields of a class that was made while something ran."""
    annotations: Mapping[str, object] = vars(kind).get("__annotations__", {})
    return [
        f"{name}: {value.__qualname__ if isinstance(value, type) else _ADDRESS.sub('', str(value))}"
        for name, value in annotations.items()
    ]


def _of_code(code: CodeType, doc: str | None) -> Iterator[str]:
    yield code.co_code.hex()
    yield " ".join(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = constant.co_consts[0] if constant.co_consts else None
            yield from _of_code(constant, inner if isinstance(inner, str) else None)
        elif constant is not None and (doc is None or constant != doc):
            yield _written(constant)


def _names_in(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_in(constant)
    return names


def _is_constant(value: object) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(map(_is_constant, cast("tuple[object, ...]", value)))
    return isinstance(value, str | int | float | bool | re.Pattern)


def _is_table(value: Any, depth: int = 6) -> bool:
    """Whether a value is a constant, or a list, a set or a dict of such: one of Python's own, which only lies there."""
    if type(value) in (dict, list, tuple, set, frozenset):
        parts = [*value, *value.values()] if type(value) is dict else value
        return depth > 0 and all(_is_table(part, depth - 1) for part in parts)
    return value is None or isinstance(value, bytes | Decimal | Enum) or _is_constant(value)


def _is_place(value: object) -> bool:
    """Whether a value is a path of this machine, which is another one elsewhere."""
    if not isinstance(value, str):
        return False
    return os.path.isabs(value) and os.path.exists(value)  # noqa: PTH110, PTH117 (a Path can't be of any text)


def _written(value: object) -> str:
    """The text of a constant, or of a table of such: the same in every run."""
    if isinstance(value, set | frozenset):
        # A set's own order changes from run to run, with the hashes of texts.
        return repr(sorted(map(_written, cast("frozenset[object]", value))))
    if isinstance(value, list | tuple):
        parts = [_written(part) for part in cast("list[object]", value)]
        if isinstance(value, list):
            return f"[{', '.join(parts)}]"
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    if is_mapping(value):
        pairs = (f"{_written(key)}: {_written(part)}" for key, part in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, re.Pattern) and len(value.pattern) > _WHOLE:
        # Python shows the beginning only.
        return f"{value!r} {value.pattern!r}"
    return repr(value)
