"""Jinja2, taught where Nunjucks differs. Imported for the few templates that need an engine.

The sandbox keeps templates to plain data: no attribute of a Python object is ever reached.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from jinja2 import ChainableUndefined, TemplateSyntaxError, nodes
from jinja2.sandbox import SandboxedEnvironment

from evenhand.core.errors import TemplateError
from evenhand.promptfoo.template import Render, as_json, printed

_STRICT_EQUALS = re.compile(r"(===|!==)")
_TAGS = re.compile(r"(\{\{.*?\}\}|\{%.*?%\})", re.DOTALL)
_QUOTED = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""")


def compile_template(source: str) -> Render:
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
            raise TemplateError(f"template could not be filled in: {type(error).__name__}: {error}") from error

    return run


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


def _slice(value: Any, start: int = 0, end: int | None = None) -> Any:  # noqa: ANN401 (text or a list)
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


class _Nunjucks(SandboxedEnvironment):
    def getattr(self, obj: Any, attribute: str) -> Any:  # noqa: ANN401 (Jinja's own signature)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:  # noqa: ANN401 (Jinja's own signature)
        if isinstance(argument, str):
            if isinstance(obj, Mapping) and argument in obj:
                return cast("Mapping[str, object]", obj)[argument]
            if argument == "length" and isinstance(obj, (str, list, tuple)):
                return len(cast("list[object]", obj))
            methods = _TEXT_METHODS if isinstance(obj, str) else _LIST_METHODS if isinstance(obj, (list, tuple)) else {}
            method = methods.get(argument)
            if method is not None:
                return lambda *args: method(obj, *args)  # type: ignore[misc]
        return super().getitem(obj, argument) if not isinstance(argument, str) else self._loop(obj, argument)

    def _loop(self, obj: Any, argument: str) -> Any:  # noqa: ANN401 (see above)
        """Jinja's own helpers (`loop.index`) have attributes; plain values have none."""
        if type(obj).__module__ == "jinja2.runtime":
            return super().getattr(obj, argument)
        return self.undefined(obj=obj, name=argument)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            if isinstance(loop.target, nodes.Tuple):
                loop.iter = nodes.Filter(loop.iter, "pairs", [], [], None, None, lineno=loop.lineno)
        return tree


def _finalize(value: object) -> object:
    return value if isinstance(value, (str, ChainableUndefined)) else printed(value)


def _pairs(value: object) -> Iterable[object]:
    return list(cast("Mapping[str, object]", value).items()) if isinstance(value, Mapping) else cast("Iterable[object]", value)


def _dump(value: object, indent: int | None = None) -> str:
    if isinstance(value, ChainableUndefined):
        return ""
    return json.dumps(value, indent=indent, ensure_ascii=False, default=str) if indent else as_json(value)


def _load(value: str) -> object:
    return json.loads(value)


def _nl2br(value: object) -> str:
    return printed(value).replace("\n", "<br />\n")


def _made() -> _Nunjucks:
    environment = _Nunjucks(
        autoescape=False, undefined=ChainableUndefined, finalize=_finalize, keep_trailing_newline=True
    )
    environment.filters.update({"dump": _dump, "load": _load, "pairs": _pairs, "nl2br": _nl2br, "safe": lambda value: value})
    environment.globals.update({"null": None, "undefined": None})  # pyright: ignore[reportArgumentType] (Jinja's types leave None out)
    return environment


_environment = _made()
