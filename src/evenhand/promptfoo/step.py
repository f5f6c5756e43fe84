"""One cell of the matrix: fills the prompt in, asks the model, and records what is expected of the answer."""

from __future__ import annotations

import base64
import json
import mimetypes
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evenhand.core.errors import CodeError
from evenhand.core.expect import Trial
from evenhand.core.message import Message, Prompt, Reply
from evenhand.core.variant import Variant
from evenhand.promptfoo.assertions.assertion import Cell
from evenhand.promptfoo.cases import Test
from evenhand.promptfoo.findings import Findings
from evenhand.promptfoo.models import Column
from evenhand.promptfoo.prompts import AnyPrompt, TextPrompt
from evenhand.promptfoo.template import names_in, render
from evenhand.promptfoo.transform import transformed
from evenhand.promptfoo.tree import read_document
from evenhand.promptfoo.variables import PICTURES

FILLS_KEPT = 256
"""Prefixes and suffixes for which the filled-in template is kept: a column of them may have a new one in each row."""

_TAG = re.compile(r"\{[{%].*?[}%]\}", re.DOTALL)

Fill = Callable[[Mapping[str, Any]], Prompt]


@dataclass(slots=True)
class Pair:
    """A prompt and a model: one column."""

    variant: Variant
    prompt: AnyPrompt
    column: Column
    base: Path
    _fills: dict[tuple[str, str], Fill] = field(
        default_factory=dict[tuple[str, str], Fill], repr=False
    )
    _names: frozenset[str] | None = field(default=None, repr=False)

    @property
    def names(self) -> frozenset[str]:
        """The variables that its text names plainly; `env` and `loop` are nobody's to set."""
        if self._names is None:
            text = self.prompt.raw if isinstance(self.prompt, TextPrompt) else ""
            self._names = names_in(text) - {"env", "loop", "_conversation"}
        return self._names

    def fill(self, prefix: str, suffix: str) -> Fill | None:
        """The function that fills a text prompt in, between these; None for a prompt that is a function."""
        if not isinstance(self.prompt, TextPrompt):
            return None
        found = self._fills.get((prefix, suffix))
        if found is None:
            found = self.prompt.filled(prefix, suffix)
            if len(self._fills) < FILLS_KEPT:
                self._fills[prefix, suffix] = found
        return found

    def takes(self, test: Test) -> bool:
        """Whether a test is run in this column."""
        provider = self.column.provider
        return (test.prompts is None or _named(test.prompts, (self.prompt.label,))) and (
            test.providers is None or _named(test.providers, (provider.id, provider.label))
        )


@dataclass(slots=True)
class CellBody:
    """What happens in one cell."""

    pair: Pair
    test: Test
    variables: Mapping[str, Any]

    async def __call__(self, trial: Trial) -> object:
        test, pair = self.test, self.pair
        variables = resolved(self.variables, test.files, test.tagged, pair.base)
        if variables is not self.variables:
            trial.show(variables)
        fill = pair.fill("", "") if test.literal else pair.fill(test.prefix, test.suffix)
        provider = pair.column.provider
        prompt: Prompt | None = None
        if fill is not None:
            prompt = fill(variables)
        elif not isinstance(pair.prompt, TextPrompt):
            about = {"id": provider.id, "label": provider.label}
            prompt = await pair.prompt.asked(trial, variables, about)
            if (test.prefix or test.suffix) and not test.literal:
                prompt = _between(
                    render(test.prefix, variables), prompt, render(test.suffix, variables)
                )
        if test.literal and prompt is not None:
            prompt = _between(test.prefix, prompt, test.suffix)
        assert prompt is not None  # noqa: S101 (a prompt is text or a function)
        reply: Reply | None = None
        if test.provider_output is not None:
            output = test.provider_output
        else:
            reply = await trial.model(provider, "subject").generate(prompt)
            output = reply.text if reply.output is None else reply.output
        cell = Cell(
            output,
            prompt.text,
            variables,
            test.raw,
            provider.id,
            provider.label,
            reply,
            test.metadata,
        )
        for code in (pair.column.transform, test.transform):
            if code:
                output = await self._transformed(code, cell, trial)
                cell.output = output
        for make in test.expected.makes:
            trial.expect(make(cell))
        return output

    async def _transformed(self, code: str, cell: Cell, trial: Trial) -> object:
        context = {
            "vars": dict(cell.variables),
            "prompt": {"raw": cell.prompt, "label": self.pair.prompt.label},
            "metadata": dict(cell.metadata),
        }
        return await transformed(code, cell.output, context, self.pair.base, trial)


def _between(prefix: str, prompt: Prompt, suffix: str) -> Prompt:
    text = f"{prefix}{prompt.text}{suffix}"
    return Prompt((Message("user", text),), text, prompt.config, prompt.vars, prompt.label)


def resolved(
    variables: Mapping[str, Any], files: frozenset[str], tagged: frozenset[str], base: Path
) -> Mapping[str, Any]:
    """The variables with files read in and, where the config has tags in them, those filled in.

    Raises:
        CodeError: A file cannot be read any more.
    """
    if not files and not tagged:
        return variables
    found = dict(variables)
    for name in files:
        value = found[name]
        if isinstance(value, str) and value.startswith("file://"):
            found[name] = file_value(base / value.removeprefix("file://"))
            tagged -= {name}  # what a file says is data
    # What names something that is not there stays as it is written, as in promptfoo.
    tagged = frozenset(
        name
        for name in tagged
        if isinstance(found[name], str) and names_in(found[name]) <= found.keys()
    )
    return {**found, **_Filled(found, tagged).all()} if tagged else found


class _Filled:
    """Variables filled into variables: each text as it is written, once, after those that it names.

    So what is filled in is never looked at again. Where two name each other, one of them takes the other as written.
    """

    def __init__(self, written: Mapping[str, Any], tagged: frozenset[str]) -> None:
        self._written = written
        self._named = {
            name: [other for other in tagged if other != name and _names(written[name], other)]
            for name in tagged
        }
        self._done: dict[str, str] = {}

    def all(self) -> Mapping[str, str]:
        """Those with tags, filled in."""
        return {name: self._filled(name, ())[0] for name in self._named}

    def _filled(self, name: str, above: tuple[str, ...]) -> tuple[str, bool]:
        """One of them, and whether it is whole, whoever asks: nothing in it was cut short at one of those above."""
        if name in self._done:
            return self._done[name], True
        values = {k: v for k, v in self._written.items() if k != name}
        whole = True
        for other in self._named[name]:
            if other in above:
                whole = False
            else:
                values[other], settled = self._filled(other, (*above, name))
                whole = whole and settled
        text = render(str(self._written[name]), values)
        if whole:
            self._done[name] = text
        return text, whole


def file_value(path: Path) -> object:
    """What a variable that names a file stands for: its text, trimmed; JSON text of YAML; a data URL of a picture."""
    suffix = path.suffix.lower()
    try:
        if suffix in (".yaml", ".yml"):
            findings = Findings()
            document = read_document(path, findings)
            if document is None:
                raise CodeError(str(findings.problems[0]))
            return json.dumps(document.value, ensure_ascii=False)
        if suffix in PICTURES:
            kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
        return path.read_text("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CodeError(f"{path.name} cannot be read: {error}") from None


def _names(text: str, name: str) -> bool:
    """Whether a tag of this text may name this variable."""
    return any(re.search(rf"\b{re.escape(name)}\b", tag) for tag in _TAG.findall(text))


def _named(wanted: tuple[str, ...], names: tuple[str, ...]) -> bool:
    return any(
        name == want
        or name.startswith(f"{want}:")
        or (want.endswith("*") and name.startswith(want[:-1]))
        for want in wanted
        for name in names
    )


def described(variables: Mapping[str, Any]) -> str:
    """A line for a case that has no description: its first short variable."""
    for value in variables.values():
        text = cast("object", value)
        if isinstance(text, str) and text.startswith("file://"):
            return Path(text).stem
        if isinstance(text, (str, int, float)):
            line = " ".join(str(text).split())
            return line if len(line) <= 60 else line[:59] + "…"
    return ""
