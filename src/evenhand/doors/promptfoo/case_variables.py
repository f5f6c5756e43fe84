"""The variables of a case: computed by code, files read in, tags filled in.

`file://value.js` and `file://value.py` are computed: JavaScript exports a function of (name, prompt, variables,
provider), Python has `get_var(name, prompt, variables)`; either returns an object with `output`, or with `error`.

As in promptfoo, tags in variables are filled in twice over: plain names (`{{ name }}`) for all who see a variable, and
everything else (`{{ name | upper }}`, `{{ a.b }}`, `{% if %}`) only where a prompt that is text is made of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from evenhand.core.errors import CodeError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import as_mapping
from evenhand.doors.assertions.code_files import called_in_file
from evenhand.doors.assertions.transform import split_reference
from evenhand.doors.promptfoo.variable_files import file_value, is_bytes, sent_whole
from evenhand.languages.javascript.references import is_reference
from evenhand.languages.templates.printing import in_template
from evenhand.languages.templates.rendering import Templates, has_tags

_TAG = re.compile(r"\{[{%].*?[}%]\}", re.DOTALL)
_COMMENT = r"(?s)\{#.*?#\}"
_ASKED = r"\{\{\s*([^{}\s|]+)\s*(?:\|[^}]+)?\}\}|\{%\s*(?:if|for)\s+([^{}\s]+)\s*.*?%\}"
_LOOP = r"\{%\s*for\s+(\w+)\s+in\s+(\w+)\s*%\}"
_ROOT = re.compile(r"[A-Za-z_]\w*")
_PLAIN = re.compile(r"\{\{\s*(\w+)\s*\}\}")

_Fill = Callable[[str, Mapping[str, Any]], str]


async def worked_out(
    variables: Mapping[str, Any],
    files: frozenset[str],
    tagged: frozenset[str],
    prompt: str,
    provider: Mapping[str, str],
    base: Path,
    templates: Templates,
    trial: Trial,
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The variables, computed by code first and then `resolved`.

    Args:
        files: Those whose value names a file, of text or of code.
        tagged: Those in which tags are filled in.
        prompt: The prompt's text, its tags not yet filled in.
        provider: The `id` and `label` of the model that is asked.

    Raises:
        CodeError: The code raised, took too long, or answered without an output; or a file cannot be read.
    """
    code = frozenset(name for name in files if is_code(variables.get(name)))
    if code:
        named = [name for name in variables if name in files]
        variables = await computed(variables, named, prompt, provider, base, trial)
    # What code returned is data: no file is read for it, and no tags in it are filled in.
    return resolved(variables, files - code, tagged - code, base, templates, prompt)


def resolved(
    variables: Mapping[str, Any],
    files: frozenset[str],
    tagged: frozenset[str],
    base: Path,
    templates: Templates,
    prompt: str = "",
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The variables with files read in and, where the config has tags in them, those filled in.

    Returns:
        Them with plain names filled in, as assertions, chats and results have them; and with all tags filled in, for
        prompts that are text. What names something that is not there stays as it is written.

    Raises:
        CodeError: A file cannot be read any more.
    """
    if not files and not tagged:
        return variables, variables
    values = dict(variables)
    whole = sent_whole(prompt) if files else frozenset[str]()
    for name in files:
        value = values[name]
        if isinstance(value, str) and value.startswith("file://"):
            path = base / value.removeprefix("file://")
            values[name] = text = file_value(path, whole=name in whole)
            # Its tags are filled in as if they stood in the config; text that is no template is data.
            fills = isinstance(text, str) and not is_bytes(path) and has_tags(text)
            tagged = (
                tagged | {name} if fills and not templates.problem(str(text)) else tagged - {name}
            )
    tagged = frozenset(name for name in tagged if isinstance(values[name], str))
    if not tagged:
        return values, values
    plain = {**values, **_Filled(values, tagged, _plainly).all()}
    if not any(has_tags(_PLAIN.sub("", values[name])) for name in tagged):
        # Nothing but plain names: no template has to be run.
        return plain, plain
    return plain, {**values, **_Filled(values, tagged, _wholly_by(templates)).all()}


def _plainly(text: str, values: Mapping[str, Any]) -> str:
    """With plain names filled in up to the first that is no variable, where promptfoo stops."""
    parts: list[str] = []
    end = 0
    for tag in _PLAIN.finditer(text):
        if tag[1] not in values:
            break
        value = values[tag[1]]
        parts += [text[end : tag.start()], "null" if value is None else in_template(value)]
        end = tag.end()
    return "".join(parts) + text[end:]


def _wholly_by(templates: Templates) -> _Fill:
    def filled(text: str, values: Mapping[str, Any]) -> str:
        if asks_for_absent(text, values):
            return _plainly(text, values)
        return templates.render(_PLAIN.sub(lambda tag: _null(tag, values), text), values)

    return filled


def _null(tag: re.Match[str], values: Mapping[str, Any]) -> str:
    """`null` for the name of a variable that is null: promptfoo writes it so into variables, not into prompts."""
    return "null" if values.get(tag[1], tag) is None else tag[0]


def asks_for_absent(text: str, values: Container[str]) -> bool:
    """Whether promptfoo finds a name in this text that is no variable: it then fills in plain names at most.

    As it looks for them: at what a tag, `if` or `for` begins with, so that `{% if true %}` names `true`.
    """
    text = re.sub(_COMMENT, "", text)
    names = {a or b for a, b in re.findall(_ASKED, text)}
    for name, items in re.findall(_LOOP, text):
        names = {*names - {name}, items}
    roots = {root[0] for root in map(_ROOT.match, names) if root}
    return any(root not in values for root in roots - {"env"})


def circle(variables: Mapping[str, Any], tagged: frozenset[str]) -> tuple[str, ...]:
    """The variables that name each other in a ring, so that none can be filled in first; empty for none.

    One that names itself alone is none of them: its tag is text.
    """
    if len(tagged) < 2:
        return ()
    texts = frozenset(name for name in tagged if isinstance(variables.get(name), str))
    ring = _named_in(variables, texts)
    while ends := [
        name
        for name, named in ring.items()
        if ring.keys().isdisjoint(named) or not any(name in others for others in ring.values())
    ]:
        for name in ends:
            del ring[name]
    return tuple(sorted(ring))


def _named_in(variables: Mapping[str, Any], tagged: frozenset[str]) -> dict[str, list[str]]:
    """By variable, the others that its text names."""
    return {
        name: [other for other in tagged if other != name and _names(variables[name], other)]
        for name in tagged
    }


class _Filled:
    """Variables filled into variables: each text as it is written, once, after those that it names.

    So what is filled in is never looked at again. Where two name each other, one of them takes the other as written.
    """

    def __init__(self, written: Mapping[str, Any], tagged: frozenset[str], fill: _Fill) -> None:
        self._written = written
        self._fill = fill
        self._named = _named_in(written, tagged)
        self._done: dict[str, str] = {}

    def all(self) -> Mapping[str, str]:
        """The variables with tags, filled in."""
        return {name: self._filled(name, ())[0] for name in self._named}

    def _filled(self, name: str, above: tuple[str, ...]) -> tuple[str, bool]:
        """A variable filled in, and whether it is whole: nothing in it was cut short at one of those above."""
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
        text = self._fill(str(self._written[name]), values)
        if whole:
            self._done[name] = text
        return text, whole


def _names(text: str, name: str) -> bool:
    """Whether a tag of this text may name this variable."""
    return any(re.search(rf"\b{re.escape(name)}\b", tag) for tag in _TAG.findall(text))


def is_code(reference: object) -> bool:
    """Whether a variable's value names a file of code."""
    if not isinstance(reference, str) or not reference.startswith("file://"):
        return False
    return is_reference(reference) or split_reference(reference, "")[0].endswith(".py")


async def computed(
    variables: Mapping[str, Any],
    names: Iterable[str],
    prompt: str,
    provider: Mapping[str, str],
    base: Path,
    trial: Trial,
) -> Mapping[str, Any]:
    """The variables, with those of these names that are code computed, one after the other.

    As in promptfoo, code sees what the files hold that stand before it.

    Args:
        names: Those whose value names a file, of text or of code, in their order.
        prompt: The prompt's text, its tags not yet filled in.
        provider: The `id` and `label` of the model that is asked.
        base: The folder that paths start from.

    Raises:
        CodeError: It raised, took too long, answered with an error, or without an output.
    """
    # Code sees the contents of files; `values` keeps their names, for `resolved` to read them once.
    values, visible = dict(variables), dict(variables)
    whole = sent_whole(prompt)
    for name in names:
        if not is_code(values[name]):
            visible[name] = _read(values[name], base, whole=name in whole)
            continue
        path, function = split_reference(values[name], "get_var")
        label = f"{Path(path).name}:{function}".removesuffix(":")
        from evenhand.scorers.python_code import plain_copy  # noqa: PLC0415 (only for configs with code)

        # Code may change what it is given, and the next one must not see that.
        copied = plain_copy(dict(visible))
        args: tuple[object, ...] = (name, prompt, copied)
        if not path.endswith(".py"):
            args = (*args, dict(provider))
        returned = await called_in_file(trial, base / path, function, *args)
        values[name] = visible[name] = _output(returned, label)
    return values


def _read(value: object, base: Path, *, whole: bool) -> object:
    if not isinstance(value, str) or not value.startswith("file://"):
        return value
    return file_value(base / value.removeprefix("file://"), whole=whole)


def _output(result: object, label: str) -> object:
    fields = as_mapping(result)
    if fields.get("error"):
        raise CodeError(f"{label} answered with an error: {fields['error']}")
    output = fields.get("output")
    if output is None:
        raise CodeError(
            f"{label} answered without an output",
            hint="Return an object: {output: …}, or {error: …}.",
        )
    return output.strip() if isinstance(output, str) else output
