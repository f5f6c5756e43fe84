"""Prompts, and how each becomes what is sent.

A prompt is text with tags, a chat written as JSON (its strings are filled in one by one, so that no value can end one),
or a function of Python or JavaScript. What a function returns is sent as it is: data that it put there is never looked
at for tags.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import field
from msgspec.structs import replace

from evenhand.core.encoding import encode
from evenhand.core.errors import CodeError, Problem, ProviderError, TemplateError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import as_array, is_mapping, with_whole_numbers
from evenhand.core.message import Message, Prompt
from evenhand.core.names import did_you_mean
from evenhand.core.provider import Provider
from evenhand.core.record import MutableRecord
from evenhand.languages.documents.findings import At, Place, problem_at
from evenhand.languages.javascript.references import CONFIG
from evenhand.languages.javascript.references import ENDINGS as JAVASCRIPT
from evenhand.languages.templates.printing import as_json
from evenhand.languages.templates.rendering import NO_CONFIG, Render, Templates
from evenhand.providers.configured import takes_chats, untold
from evenhand.providers.process import printed_by
from evenhand.providers.prompt_text import (
    fill_json,
    is_written_chat,
    parse_prompt,
    read_chat,
    unfillable,
)

PRINTED_WITHIN_S = 60.0
"""How long a program may take to print a prompt."""
_CHAT = re.compile(
    r'\s*(\[\s*\{|\{\s*"(contents|messages|input)"\s*:\s*\[|\{\s*"parts"\s*:|\{\s*"role"\s*:\s*"(user|system)")'
)
_YAML_CHAT = re.compile(r"\s*(?:\{%.*?%\}\s*)*-\s*role:", re.DOTALL)
_ALONE = re.compile(r"\s*\{\{\s*([A-Za-z_]\w*)\s*\}\}\s*")


class _Written(MutableRecord, kw_only=True):
    """What every prompt has that a config writes.

    Attributes:
        by_path: Its label with the absolute path of its file, if that is how the config names the file.
    """

    label: str
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    place: Place = field(default_factory=lambda: Place(Path()))
    id: str = ""
    by_path: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What the prompt is called wherever a config names it."""
        return self.label, *filter(None, (self.id, *self.paths))

    @property
    def paths(self) -> tuple[str, ...]:
        """The label with the absolute path, as such and as a reference; none where the config has no such path."""
        return (self.by_path, f"file://{self.by_path}") if self.by_path else ()


class TextPrompt(_Written, kw_only=True):
    """Text with tags, or a chat in JSON."""

    raw: str
    templates: Templates = NO_CONFIG
    at: At | None = None
    """Where the parts of a chat are written; None where only the whole has a place."""

    def refused_by(self, provider: Provider) -> Problem | None:
        """Why a model can't be sent the chat that this is written as; None where it can, or for other text."""
        messages = parse_prompt(self.raw)
        if messages == (Message("user", self.raw),):  # other text
            return None
        error = untold(provider, messages) if takes_chats(provider) else None
        if error is None:
            return None
        place = self.at(*error.path) if self.at is not None else self.place
        return problem_at(place, f"{provider.id}: {error.message}", error.hint)

    @property
    def is_bare_object(self) -> bool:
        """Whether the text is a JSON object that neither is nor has a message: a chat model is sent its text."""
        is_object = self.raw.lstrip()[:1] == "{" and is_chat(self.raw)
        return is_object and parse_prompt(self.raw) == (Message("user", self.raw),)

    @property
    def problem(self) -> Problem | None:
        """Why it can never be filled in; None where it may be."""
        wrong = unfillable(self.raw, self.templates)
        return (
            problem_at(self.place, f"prompt '{_line(self.label):.60}': {wrong}") if wrong else None
        )

    def located(self, error: TemplateError) -> TemplateError:
        """The error with the place of this prompt, in its file or in the config, before its message."""
        if self.place.file == Path():  # made by an eval in Python, which stands in no file
            return error
        what = error.message.removeprefix("template: ")
        return TemplateError(f"{self.place}: {what}", hint=error.hint)

    def filled(
        self, prefix: str, suffix: str
    ) -> Callable[[Mapping[str, Any], Mapping[str, Any]], Prompt]:
        """A function from the variables to the prompt, for this text between `prefix` and `suffix`.

        It takes them twice: as a chat has them, and as text has them, where all tags in them are filled in.
        """
        raw = f"{prefix}{self.raw}{suffix}"
        config, label, templates = self.config, self.label, self.templates
        if is_chat(raw):

            def chat(variables: Mapping[str, Any], _: Mapping[str, Any]) -> Prompt:
                try:
                    text = fill_json(raw, variables, templates)
                except TemplateError as error:
                    raise self.located(error) from None
                return Prompt(parse_prompt(text), text, config, variables, label, template=raw)

            return chat
        render: Render = _printing_chats(raw, templates) or templates.compiled(raw)
        start, written = raw.lstrip()[:1], is_written_chat(raw)
        # A `{%` tag at the start may write out a chat in YAML; a dash that `{{ name }}` puts there belongs to a value.
        begins = ("[", "-") if raw.lstrip().startswith("{%") else ("[",)

        def text(variables: Mapping[str, Any], filled: Mapping[str, Any]) -> Prompt:
            try:
                content = render(filled)
            except TemplateError as error:
                raise self.located(error) from None
            # Only what is written as a chat is read as one; a text that merely begins with a variable is no YAML.
            chat = start == "-" or written or (start == "{" and content.lstrip()[:1] in begins)
            messages = parse_prompt(content) if chat else (Message("user", content),)
            return Prompt(messages, content, config, variables, label, template=raw)

        return text


def half_a_chat(prompt: Prompt) -> TemplateError | None:
    """Why a text that is written as a chat is none once it is filled in; None where nothing is wrong with it.

    Sent as the words of a user, it would be an answer to something else.
    """
    in_json = _CHAT.match(prompt.template) and _CHAT.match(prompt.text)
    in_yaml = _YAML_CHAT.match(prompt.template) and prompt.text.lstrip().startswith("- role:")
    if not in_json and not in_yaml:
        return None
    try:
        json.loads(prompt.text) if in_json else read_chat(prompt.text)
    except ValueError as error:
        language = "JSON" if in_json else "YAML"
        return TemplateError(
            f"prompt '{_line(prompt.label):.60}' begins as a chat, and is not {language} once it is filled in: {error}",
            hint="Write {{ name | dump }}, without quotes around it: a quote or a line break in a value ends a string.",
        )
    return None


def between(prefix: str, prompt: Prompt, suffix: str, *, conversations: bool = False) -> Prompt:
    """A prompt with something before and after its text. Messages are left as they are: around them it would be lost.

    Args:
        conversations: They are made one text, too, as promptfoo has it where the prompt is text that was filled in.
    """
    spoken = (Message("user", prompt.text),)
    if not (prefix or suffix) or (prompt.messages != spoken and not conversations):
        return prompt
    text = f"{prefix}{prompt.text}{suffix}"
    return replace(prompt, messages=(Message("user", text),), text=text, template="")


def _line(text: str) -> str:
    return " ".join(text.split())


def _printing_chats(raw: str, templates: Templates) -> Render | None:
    """A prompt that is one variable and nothing else passes a list of messages on whole; None for any other prompt."""
    alone = _ALONE.fullmatch(raw)
    if alone is None:
        return None
    name, render = alone[1], templates.compiled(raw)

    def filled(variables: Mapping[str, Any]) -> str:
        value = variables.get(name)
        return as_json(value) if _is_messages(value) else render(variables)

    return filled


def _is_messages(value: object) -> bool:
    items = as_array(value)
    return bool(items) and all(isinstance(item, Mapping) and "role" in item for item in items)


class FunctionPrompt(_Written, kw_only=True):
    """A function of Python or JavaScript that returns the prompt.

    How it is called: JavaScript with one object of vars, provider and config. In Python, parameters are bound by name
    to the case's variables. A function of one parameter called `context` or `ctx`, or of names that no variable has, is
    called as promptfoo does, with one dict of vars, provider and config; with `strict`, every function is.
    """

    path: Path
    function: str
    strict: bool = False
    templates: Templates = NO_CONFIG
    _parameters: Sequence[inspect.Parameter] | None = None

    @property
    def raw(self) -> str:
        """The function's source, for the record; of a function in a config, its place there."""
        if self.function.startswith(CONFIG):
            return f"{self.path.name}:{self.function}"
        return function_source(self.path, self.function)

    async def asked(
        self, trial: Trial, variables: Mapping[str, Any], provider: Mapping[str, str]
    ) -> Prompt:
        """The prompt that it returns for these variables.

        Raises:
            CodeError: It raised, took too long, asked for what is not there, or returned no prompt.
        """
        name = f"{self.path.name}:{self.function}".removesuffix(":")
        result = await self._returned(trial, variables, provider, name)
        config: Mapping[str, Any] = self.config
        if is_mapping(result) and "prompt" in result:
            config = {**config, **(result.get("config") or {})}
            result = cast("object", result["prompt"])
        if isinstance(result, str):
            # Only strict parity has tags in the result filled in: data that the function put there is not a template.
            text = self.templates.render(result, variables) if self.strict else result
        elif isinstance(result, (list, dict)):
            text = json.dumps(
                with_whole_numbers(result), indent=2, ensure_ascii=False
            )  # as promptfoo sends it
        else:
            raise CodeError(
                f"{name} returned {'nothing' if result is None else f'a {type(result).__name__}'}, not a prompt",
                hint="Return text, a list of messages, or a dict with 'prompt'.",
            )
        return Prompt(parse_prompt(text), text, config, variables, self.label)

    async def _returned(
        self, trial: Trial, variables: Mapping[str, Any], provider: Mapping[str, str], name: str
    ) -> object:
        about = {"vars": variables, "provider": provider, "config": self.config}
        context = {name: dict(part) for name, part in about.items()}
        if self.path.suffix in JAVASCRIPT:
            from evenhand.languages.javascript import running as javascript  # noqa: PLC0415 (only for configs with code)

            script = javascript.function(self.path, self.function)
            return (await javascript.call(trial, script, context)).value
        function = await trial.load(self.path, self.function)
        if self._parameters is None:
            self._parameters = _parameters_of(function)
        named = None if self.strict else bound_by_name(self._parameters, variables, name)
        if named is None:
            return await trial.call(function, context, name=name)
        return await trial.call(_with_names(function, named), name=name)


class ProgramPrompt(_Written, kw_only=True):
    """A program whose last argument is a JSON object of vars, provider and config, and which prints the prompt.

    Attributes:
        command: The program, and arguments that come before.
        path: Its file; the folder where it has none of the user's.
    """

    command: str
    folder: Path
    path: Path

    @property
    def raw(self) -> str:
        """The program's source, for the record; its command where that cannot be read."""
        try:
            return self.path.read_text("utf-8") if self.path.is_file() else self.command
        except (OSError, UnicodeDecodeError):
            return self.command

    async def asked(
        self, trial: Trial, variables: Mapping[str, Any], provider: Mapping[str, str]
    ) -> Prompt:
        """The prompt that it prints for these variables.

        Raises:
            CodeError: It cannot be run, ended with an error, took too long, or printed nothing.
        """
        del trial
        context = {"vars": variables, "provider": provider, "config": self.config}
        try:
            argument = encode(context, ordered=False).decode()
            out = await printed_by(self.command, (argument,), self.folder, PRINTED_WITHIN_S)
        except (ProviderError, TypeError) as error:
            raise CodeError(str(error)) from None
        text = out.decode("utf-8", "replace").strip()
        if not text:
            raise CodeError(f"{self.command} printed nothing", hint="It should print the prompt.")
        return Prompt(parse_prompt(text), text, self.config, variables, self.label)


AnyPrompt = TextPrompt | FunctionPrompt | ProgramPrompt


def bound_by_name(
    parameters: Sequence[inspect.Parameter], variables: Mapping[str, Any], name: str
) -> dict[str, Any] | None:
    """The arguments for a function whose parameters are variables; None where it wants promptfoo's one dict.

    Raises:
        CodeError: It wants several parameters, and some of them are no variables.
    """
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    required = [p for p in named if p.default is p.empty]
    if (
        len(required) <= 1
        and positional
        # An underscore marks a parameter that the function ignores, so no variable is meant by it.
        and (positional[0].name in ("context", "ctx") or positional[0].name[:1] == "_")
    ):
        return None
    missing = [p.name for p in required if p.name not in variables]
    if not missing:
        if any(p.kind is p.VAR_KEYWORD for p in parameters):
            return dict(variables)
        if not named:
            # `*args` alone takes promptfoo's dict; a function without parameters is given nothing.
            return None if parameters else {}
        return {p.name: variables[p.name] for p in named if p.name in variables}
    near = did_you_mean(missing[0], variables)
    # A single unknown name takes promptfoo's dict, unless it is nearly that of a variable: then it is a misspelling.
    if len(required) == 1 and required[0] in positional and not near:
        return None
    raise CodeError(
        f"{name} wants {', '.join(map(repr, missing))}, which the test has no variable for",
        hint=near or f"The test has: {', '.join(variables) or 'no variables'}.",
    )


def function_source(path: Path, name: str) -> str:
    """The source of one function of a file; the whole file where it cannot be made out."""
    text = path.read_text("utf-8", "replace") if path.is_file() else ""
    try:
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                and node.name == name.rsplit(".", maxsplit=1)[-1]
            ):
                return ast.get_source_segment(text, node) or text
    except (SyntaxError, ValueError):
        pass
    return text


def is_chat(raw: str) -> bool:
    """Whether a text is a chat, or other JSON, in which strings are filled in one by one."""
    if raw.lstrip()[:1] not in ("[", "{"):
        return False
    try:
        return isinstance(json.loads(raw), (list, dict))
    except ValueError:
        return False


def _parameters_of(function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    try:
        return tuple(inspect.signature(function).parameters.values())
    # Some functions that are written in C have no signature to look at.
    except (TypeError, ValueError):
        return ()


def _with_names(function: Callable[..., Any], named: Mapping[str, Any]) -> Callable[[], Any]:
    # The caller looks at the kind of the function, which a lambda around it would hide.
    if inspect.iscoroutinefunction(function):

        async def later() -> object:
            return await function(**named)

        return later
    return lambda: function(**named)
