"""Nunjucks templates, by Nunjucks itself, in an embedded engine of its own.

How this works: the library's text comes with this package. It is loaded once, when the first template needs it, into a
world that has no files, no network and no Python in it. Templates are compiled once; variables go in as JSON, and text
comes out. An engine serves one config, one template at a time: filling one in takes microseconds.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from evenhand.core.built_parts import part
from evenhand.core.errors import CodeError, TemplateError, UsageError
from evenhand.languages.javascript import source
from evenhand.languages.javascript.references import TYPESCRIPT
from evenhand.languages.javascript.wire import as_json

LIMIT_S = 5.0
MEMORY_BYTES = 256 * 1024 * 1024

_PLACE = re.compile(r"\[Line (\d+), Column \d+\]")
_PREAMBLE = re.compile(
    r"^\s*(?:Template render error: )?(?:\(unknown path\).*|\[Line .*|at .*)$", re.MULTILINE
)


class Nunjucks:
    """Nunjucks, ready to read templates.

    Args:
        environment: What templates see as `env.NAME`, beside the process's own variables; None for neither.
    """

    def __init__(self, environment: Mapping[str, str] | None) -> None:
        import quickjs  # noqa: PLC0415 (only for templates that need an engine)

        self._failure = (quickjs.JSException, quickjs.StackOverflow)
        self._lock = threading.RLock()
        self._context = quickjs.Context()
        self._context.set_memory_limit(MEMORY_BYTES)
        self._context.set_max_stack_size(256 * 1024)
        self._context.set_time_limit(LIMIT_S)
        room = "evenhand.languages.javascript"
        try:
            library = part("Nunjucks", room, "libraries", "nunjucks.js").decode()
        except UsageError as error:  # of the one place that has such a template
            raise TemplateError(
                f"a template with more than names: {error.message}", hint=error.hint
            ) from None
        exported = (
            "(function () { const module = { exports: {} }; (function (module, exports) {"
            f"{library}\n}}).call({{}}, module, module.exports); return module.exports; }})()"
        )
        setup = self._context.eval(files(room).joinpath("nunjucks_setup.js").read_text("utf-8"))
        kit = self._context.eval(files(room).joinpath("kit.js").read_text("utf-8"))
        visible = json.dumps({} if environment is None else {**os.environ, **environment})
        self._world: Any = setup(self._context.eval(exported), kit, visible)

    def compiled(self, template: str) -> Callable[[Mapping[str, Any]], str]:
        """The template as a function of its variables.

        Raises:
            TemplateError: It cannot be read.
        """
        with self._lock:
            try:
                render = self._world("template", json.dumps(template))
            except self._failure as error:
                message = _message(str(error))
                raise TemplateError(
                    message,
                    hint="Set text that only looks like a tag between {% raw %} and {% endraw %}.",
                ) from None

        def filled(variables: Mapping[str, Any]) -> str:
            with self._lock:
                try:
                    return json.loads(render(as_json(variables)))
                except self._failure as error:
                    raise TemplateError(_message(str(error), "could not be filled in: ")) from None

        return filled

    def add_filter(self, name: str, path: Path) -> None:
        """A filter of the user's: the function that a file of JavaScript exports.

        Raises:
            CodeError: It cannot be read, exports no function, or needs Node.
        """
        try:
            code = path.read_text("utf-8", "replace")
        except FileNotFoundError:
            hint = f"Looked in {path.parent}."
            raise CodeError(f"{path.name} does not exist", hint=hint) from None
        except OSError as error:
            raise CodeError(f"{path.name} cannot be read: {error.strerror}") from None
        reason = source.wants_node(code)
        if reason or path.suffix in TYPESCRIPT:
            raise CodeError(
                f"{path.name} uses {reason or 'TypeScript'}, which a filter cannot",
                hint="A filter is plain JavaScript, without packages.",
            )
        with self._lock:
            try:
                self._world("filter", name, self._context.eval(source.module_text(code)))
            except self._failure as error:
                message = str(error).strip().partition("\n")[0].removeprefix("Export: ")
                raise CodeError(f"{path.name}: {message}") from None


def _message(error: str, what: str = "") -> str:
    """Nunjucks's message: in which line, and what is wrong."""
    if "InternalError: interrupted" in error:
        return f"template: {what}it took longer than {LIMIT_S:g} s"
    place = _PLACE.findall(error)
    lines = [line.strip() for line in _PREAMBLE.sub("", error).splitlines() if line.strip()]
    message = lines[-1] if lines else error.strip().partition("\n")[0]
    message = re.sub(r"^(?:\w*Error|Template render error): ", "", message)
    where = f"template, line {place[-1]}" if place else "template"
    return f"{where}: {what}{message}"
