"""Jinja2, taught where Nunjucks differs. Imported for the few templates that need an engine.

The sandbox keeps templates to plain data: no attribute of a Python object is ever reached.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from jinja2 import ChainableUndefined, TemplateSyntaxError, Undefined, nodes
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

from evenhand.core.errors import TemplateError
from evenhand.promptfoo.printing import as_json, member, printed

_STRICT_EQUALS = re.compile(r"(===|!==)")
_TAGS = re.compile(r"(\{\{.*?\}\}|\{%.*?%\})", re.DOTALL)
_QUOTED = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""")


def compile_template(source: str) -> Callable[[Mapping[str, Any]], str]:
    """The template as a function of its variables.

    Raises:
        TemplateError: It cannot be read.
    """
    try:
        template = _environment.from_string(_respelt(source))
    except TemplateSyntaxError as error:
        raise TemplateError(
            f"template, line {error.lineno}: {error.message}",
            hint="Set text that only looks like a tag between {% raw %} and {% endraw %}.",
        ) from None

    def run(variables: Mapping[str, Any]) -> str:
        try:
            return template.render(variables)
        except Exception as error:
            line = _line_of(error)
            where = f"template, line {line}" if line else "template"
            raise TemplateError(f"{where}: could not be filled in: {error}") from error

    return run


def _line_of(error: BaseException) -> int:
    """The template's line that an error came from; 0 where that is not known."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _respelt(source: str) -> str:
    """JavaScript's `===` as Jinja's `==`, inside tags and outside quotes."""
    if "==" not in source:
        return source
    parts = _TAGS.split(source)
    for i in range(1, len(parts), 2):
        pieces = _QUOTED.split(parts[i])
        pieces[::2] = [_STRICT_EQUALS.sub(lambda m: m.group()[:2], piece) for piece in pieces[::2]]
        parts[i] = "".join(pieces)
    return "".join(parts)


def _split(text: str, separator: str = "") -> list[str]:
    return text.split(separator) if separator else list(text)


def _slice(value: Any, start: int = 0, end: int | None = None) -> Any:
    return value[start:end]


_TEXT_METHODS: Mapping[str, Callable[..., object]] = {
    "toUpperCase": str.upper,
    "toLowerCase": str.lower,
    "toString": str,
    "trim": str.strip,
    "trimStart": str.lstrip,
    "trimEnd": str.rstrip,
    "split": _split,
    "includes": str.__contains__,
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "indexOf": str.find,
    "replace": lambda text, old, new: text.replace(old, new, 1),
    "replaceAll": str.replace,
    "slice": _slice,
    "substring": _slice,
    "charAt": lambda text, index=0: text[index : index + 1],
    "repeat": lambda text, times: text * min(int(times), 10_000),
}
_LIST_METHODS: Mapping[str, Callable[..., object]] = {
    "join": lambda items, separator=",": separator.join(printed(item) for item in items),
    "includes": lambda items, item: item in items,
    "indexOf": lambda items, item: items.index(item) if item in items else -1,
    "slice": _slice,
    "concat": lambda items, more: [*items, *more],
    "toString": printed,
}


_NUMBER_METHODS: Mapping[str, Callable[..., object]] = {
    "toFixed": lambda number, digits=0: f"{number:.{min(int(digits), 100)}f}",
    "toString": printed,
}


class _Nunjucks(SandboxedEnvironment):
    intercepted_binops = frozenset({"+"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """`+` puts text together where either side is text."""
        if isinstance(left, str) or isinstance(right, str):
            return _finalize(left) + _finalize(right)
        return super().call_binop(context, operator, left, right)

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if not isinstance(argument, str):
            return super().getitem(obj, argument)
        if isinstance(obj, Mapping) and argument in obj:
            return cast("Mapping[str, object]", obj)[argument]
        if argument == "length" and isinstance(obj, (str, list, tuple)):
            return len(cast("list[object]", obj))
        method = _methods_of(obj).get(argument)
        if method is not None:
            return lambda *args: method(obj, *args)  # pyright: ignore[reportUnknownVariableType] (any value)
        if (
            type(obj).__module__ == "jinja2.runtime"
        ):  # Jinja's own (`loop.index`) has attributes; plain values have none
            return super().getattr(obj, argument)
        return self.undefined(obj=obj, name=argument)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            if isinstance(loop.target, nodes.Tuple):
                loop.iter = nodes.Filter(loop.iter, "pairs", [], [], None, None, lineno=loop.lineno)
        return tree


def _methods_of(value: object) -> Mapping[str, Callable[..., object]]:
    if isinstance(value, str):
        return _TEXT_METHODS
    if isinstance(value, (list, tuple)):
        return _LIST_METHODS
    return _NUMBER_METHODS if isinstance(value, (int, float)) else {}


def _finalize(value: object) -> str:
    return (
        "" if isinstance(value, Undefined) else value if isinstance(value, str) else printed(value)
    )


def _pairs(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return list(cast("Mapping[str, object]", value).items())
    return cast("Iterable[object]", value)


def _dump(value: object, indent: int | None = None) -> str:
    if isinstance(value, Undefined):
        return ""
    return (
        json.dumps(value, indent=indent, ensure_ascii=False, default=str)
        if indent
        else as_json(value)
    )


def _load(value: str) -> object:
    return json.loads(value)


def _nl2br(value: object) -> str:
    return _finalize(value).replace("\n", "<br />\n")


def _escape(value: object) -> str:
    text = _finalize(value)
    for char, name in (
        ("&", "&amp;"),
        ('"', "&quot;"),
        ("'", "&#39;"),
        ("<", "&lt;"),
        (">", "&gt;"),
    ):
        text = text.replace(char, name)
    return text


def _join(values: object, separator: str = "", attribute: str | None = None) -> str:
    items: Iterable[object] = (
        () if isinstance(values, Undefined) else cast("Iterable[object]", values)
    )
    if attribute is not None:
        items = [member(item, attribute) for item in items]
    return separator.join(_finalize(item) for item in items)


def _replace(value: object, old: object, new: object = "", count: int = -1) -> str:
    return _finalize(value).replace(_finalize(old), _finalize(new), count)


def _title(value: object) -> str:
    return " ".join(word[:1].upper() + word[1:].lower() for word in _finalize(value).split(" "))


def _truncate(value: object, length: int = 255, whole: object = None, end: str = "...") -> str:
    text = _finalize(value)
    if len(text) <= length:
        return text
    space = -1 if whole else text.rfind(" ", 0, length + 1)
    return text[: space if space > 0 else length] + end


def _text_filter(change: Callable[[str], str]) -> Callable[[object], str]:
    return lambda value: change(_finalize(value))


_FILTERS: Mapping[str, Callable[..., object]] = {
    "dump": _dump,
    "tojson": _dump,
    "load": _load,
    "pairs": _pairs,
    "nl2br": _nl2br,
    "safe": lambda value: value,
    "escape": _escape,
    "e": _escape,
    "forceescape": _escape,
    "string": _finalize,
    "join": _join,
    "replace": _replace,
    "lower": _text_filter(str.lower),
    "upper": _text_filter(str.upper),
    "trim": _text_filter(str.strip),
    "capitalize": _text_filter(str.capitalize),
    "title": _title,
    "truncate": _truncate,
}
"""Filters that Jinja lacks, or that would print `True` or `None` or escape where Nunjucks does not."""


def _made() -> _Nunjucks:
    environment = _Nunjucks(
        autoescape=False,
        undefined=ChainableUndefined,
        finalize=_finalize,
        keep_trailing_newline=True,
    )
    # Jinja's types leave functions of our own, and None, out of both.
    cast("dict[str, object]", environment.filters).update(_FILTERS)
    cast("dict[str, object]", environment.globals).update({"null": None, "undefined": None})
    return environment


_environment = _made()
