"""Nunjucks templates, as promptfoo's files have them.

How this works: nearly all templates are text with plain `{{ name }}` tags. Those are split once and joined by hand, far
faster than by an engine. All others go to Nunjucks itself, in the embedded JavaScript engine: nothing is escaped or
included, what is undefined is empty all the way down, values print and have methods as in JavaScript.

What is filled in is data: tags in a value are never looked at. Each config has `Templates` of its own: another one in
the same process sees neither its environment nor its filters.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import CodeError, TemplateError
from evenhand.core.json_shapes import is_mapping
from evenhand.languages.documents.findings import At, Findings
from evenhand.languages.templates.printing import in_template, member

if TYPE_CHECKING:
    from evenhand.languages.javascript.nunjucks import Nunjucks


Render = Callable[[Mapping[str, Any]], str]

KEPT = 4096
"""Templates of one config that are kept compiled."""

_TAG = re.compile(r"\{\{\s*([A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*)\s*\}\}")
_ANY_TAG = re.compile(r"\{\{|\{%|\{#")
_WHOLE_TAG = re.compile(r"\{[{%].*?(?:[}%]\}|$)", re.DOTALL)
_ENVIRONMENT = re.compile(r"\benv\b")
_CLOSER = {"{{": "}}", "{%": "%}", "{#": "#}"}
_WORDS = frozenset(
    "true false none null not and or in is if else loop env range cycler joiner undefined".split()
)


def has_tags(text: str) -> bool:
    """Whether there is anything in it to fill in."""
    return "{{" in text or "{%" in text or "{#" in text


def left_open(template: str) -> str:
    """The first line that opens a tag and never closes it: it is sent as it is; empty for none."""
    for line in template.split("\n"):
        if any(line.count(opener) > line.count(closer) for opener, closer in _CLOSER.items()):
            return line.strip()
    return ""


def names_in(template: str) -> frozenset[str]:
    """The variables that plain tags of a template name; for hints, so what is more complicated is left out."""
    if "{%" in template:  # what a block sets or asks for cannot be told
        return frozenset()
    return frozenset(match.group(1).split(".")[0] for match in _TAG.finditer(template)) - _WORDS


def reads_environment(template: str) -> bool:
    """Whether a tag of a template names `env`: what it prints may be a secret."""
    return any(_ENVIRONMENT.search(tag) for tag in _WHOLE_TAG.findall(template))


class Templates:
    """The templates of one config.

    Args:
        environment: What they see as `env.NAME`, beside the process's own variables.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment: Mapping[str, str] | None = environment or {}
        self._filters: list[tuple[str, Path]] = []
        self._engine: Nunjucks | None = None
        self._making = threading.Lock()
        self._compiled: dict[str, Render] = {}

    def render(self, template: str, variables: Mapping[str, Any]) -> str:
        """The template with its tags filled in.

        Args:
            variables: By name. What is not there prints as nothing.

        Raises:
            TemplateError: It cannot be read, or what it calls fails.
        """
        return self.compiled(template)(variables)

    def problem(self, template: str) -> str | None:
        """What is wrong with a template, in words; None for nothing."""
        try:
            self.compiled(template)
        except TemplateError as error:
            return error.message
        return None

    def compiled(self, template: str) -> Render:
        """The template as a function of its variables.

        Raises:
            TemplateError: It cannot be read.
        """
        render = self._compiled.get(template)
        if render is None:
            render = _of_names(template) or self._by_engine(template)
            if len(self._compiled) >= KEPT:
                self._compiled.clear()
            self._compiled[template] = render
        return render

    def sealed(self) -> Templates:
        """Templates with the same filters that see nothing of the environment."""
        other = Templates()
        other._environment = None
        for name, path in self._filters:
            other.add_filter(name, path)
        return other

    def add_filter(self, name: str, path: Path) -> None:
        """A filter of the config's own: the function that a file of JavaScript exports.

        Raises:
            CodeError: It cannot be read, exports no function, or needs Node.
        """
        self._nunjucks.add_filter(name, path)
        self._filters.append((name, path))

    @property
    def _nunjucks(self) -> Nunjucks:
        from evenhand.languages.javascript.nunjucks import Nunjucks  # noqa: PLC0415 (the engine takes some milliseconds to load)

        with self._making:
            if self._engine is None:
                self._engine = Nunjucks(self._environment)
            return self._engine

    def _by_engine(self, template: str) -> Render:
        try:
            return self._nunjucks.compiled(template)
        except TemplateError:
            text = _protected(template)
            if text == template:
                raise
            return self._nunjucks.compiled(text)


NO_CONFIG = Templates()
"""For templates that belong to no config: they see the process's environment, and have no filters of their own."""


def _of_names(template: str) -> Render | None:
    """A template of text and plain names as a function of its variables; None for one that needs the engine."""
    if not has_tags(template):
        return lambda _: template
    pieces = _TAG.split(template)
    texts, names = pieces[::2], pieces[1::2]
    if (
        # `{{{` begins an object, which only the engine can read.
        "{{{" in template
        or any(_ANY_TAG.search(text) for text in texts)
        or not _WORDS.isdisjoint(name.split(".", 1)[0] for name in names)
    ):
        return None
    if any("." in name for name in names):
        return _joined(texts, [tuple(name.split(".")) for name in names])
    return _joined_plain(texts, names)


def _joined_plain(texts: Sequence[str], names: Sequence[str]) -> Render:
    if len(names) == 1:
        before, after = texts
        name = names[0]

        def one(variables: Mapping[str, Any]) -> str:
            value = variables.get(name)
            return before + (value if type(value) is str else in_template(value)) + after

        return one

    def several(variables: Mapping[str, Any]) -> str:
        parts = [texts[0]]
        for name, text in zip(names, texts[1:], strict=True):
            value = variables.get(name)
            parts.append(value if type(value) is str else in_template(value))
            parts.append(text)
        return "".join(parts)

    return several


def _joined(texts: Sequence[str], paths: Sequence[tuple[str, ...]]) -> Render:
    def render_paths(variables: Mapping[str, Any]) -> str:
        parts = [texts[0]]
        for path, text in zip(paths, texts[1:], strict=True):
            value: object = variables
            for name in path:
                value = member(value, name)
            parts.append(in_template(value))
            parts.append(text)
        return "".join(parts)

    return render_paths


def _protected(template: str) -> str:
    """The template with every line that opens a tag and never closes it set in `raw`: prompts quote code."""
    if all(template.count(opener) <= template.count(closer) for opener, closer in _CLOSER.items()):
        return template
    lines = template.split("\n")
    for i, line in enumerate(lines):
        if any(line.count(opener) > line.count(closer) for opener, closer in _CLOSER.items()):
            lines[i] = "{% raw %}" + line + "{% endraw %}"
    return "\n".join(lines)


def add_filters(
    templates: Templates, filters: object, base: Path, at: At, findings: Findings
) -> list[Path]:
    """Has templates know a config's filters; notes what is wrong with them.

    Args:
        filters: `nunjucksFilters`, as written.
        base: The folder that paths start from.
        at: Where the parts of the config stand.

    Returns:
        The files of the filters.
    """
    if not is_mapping(filters):
        findings.problem(
            at("nunjucksFilters"),
            f"nunjucksFilters is {filters!r}, not an object",
            "Write a name and its file for each: shout: file://shout.js",
        )
        return []
    files: list[Path] = []
    for name, reference in filters.items():
        path = base / str(reference).removeprefix("file://")
        files.append(path)
        try:
            templates.add_filter(name, path)
        except CodeError as error:
            findings.problem(
                at("nunjucksFilters", name), f"filter '{name}': {error.message}", error.hint
            )
    return files
