"""Prompts: where they come from, and how each becomes what is sent.

A prompt is text with tags, a chat written as JSON (its strings are filled in one by one, so that no value can end one),
or a Python function. What a function returns is sent as it is: data that it put there is never looked at for tags.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evenhand.core.errors import CodeError
from evenhand.core.expect import Trial
from evenhand.core.message import Message, Prompt
from evenhand.promptfoo.assertions import file_problems, fill_json
from evenhand.promptfoo.config import Config, env_filled
from evenhand.promptfoo.findings import Findings, Place, did_you_mean, matching
from evenhand.promptfoo.template import Render, check, compiled, left_open
from evenhand.promptfoo.tree import read_document, read_text
from evenhand.providers.prompt_text import parse_prompt

ENDINGS = frozenset(
    ".cjs .cts .j2 .js .json .jsonl .md .mjs .mts .py .ts .txt .yml .yaml .csv".split()
)
_FOREIGN = frozenset(".cjs .cts .js .mjs .mts .ts .sh .bash .rb .pl .ps1 .exe .bat .cmd".split())
_SEPARATOR = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)
_KEYS = frozenset({"id", "label", "raw", "config", "display", "function", "prefix", "suffix"})


@dataclass(slots=True)
class TextPrompt:
    """Text with tags, or a chat in JSON."""

    label: str
    raw: str
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    place: Place = field(default_factory=lambda: Place(Path()))

    def filled(self, prefix: str, suffix: str) -> Callable[[Mapping[str, Any]], Prompt]:
        """A function from the variables to the prompt, for this text between `prefix` and `suffix`."""
        raw = f"{prefix}{self.raw}{suffix}"
        config, label = self.config, self.label
        if _is_chat(raw):
            template = raw

            def chat(variables: Mapping[str, Any]) -> Prompt:
                text = fill_json(template, variables)
                return Prompt(parse_prompt(text), text, config, variables, label)

            return chat
        render: Render = compiled(raw)
        start = raw.lstrip()[:1]

        def text(variables: Mapping[str, Any]) -> Prompt:
            said = render(variables)
            # Only what is written as a chat is read as one; a text that merely begins with a variable is no YAML.
            chat = start in ("[", "-") or (start == "{" and said.lstrip()[:1] == "[")
            messages = parse_prompt(said) if chat else (Message("user", said),)
            return Prompt(messages, said, config, variables, label)

        return text


@dataclass(slots=True)
class FunctionPrompt:
    """A Python function that returns the prompt.

    How it is called: parameters are bound by name to the case's variables. A function of one parameter called `context`
    or `ctx`, or of names that no variable has, is called as promptfoo does, with one dict of vars, provider and config;
    with `strict`, every function is.
    """

    label: str
    path: Path
    function: str
    strict: bool = False
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    place: Place = field(default_factory=lambda: Place(Path()))
    _parameters: Sequence[inspect.Parameter] | None = field(default=None, repr=False)

    @property
    def raw(self) -> str:
        """Its source, for the record."""
        return function_source(self.path, self.function)

    async def asked(
        self, trial: Trial, variables: Mapping[str, Any], provider: Mapping[str, str]
    ) -> Prompt:
        """The prompt that it returns for these variables.

        Raises:
            CodeError: It raised, took too long, asked for what is not there, or returned no prompt.
        """
        function = await trial.load(self.path, self.function)
        name = f"{self.path.name}:{self.function}"
        if self._parameters is None:
            self._parameters = _parameters_of(function)
        named = None if self.strict else bound_by_name(self._parameters, variables, name)
        if named is None:
            context = {
                "vars": dict(variables),
                "provider": dict(provider),
                "config": dict(self.config),
            }
            result = await trial.call(function, context, name=name)
        else:
            result = await trial.call(_with_names(function, named), name=name)
        config: Mapping[str, Any] = self.config
        if isinstance(result, Mapping) and "prompt" in result:
            fields = cast("Mapping[str, Any]", result)
            config = {**config, **(fields.get("config") or {})}
            result = cast("object", fields["prompt"])
        if isinstance(result, str):
            # Only strict parity has tags in the result filled in: data that the function put there is not a template.
            text = compiled(result)(variables) if self.strict else result
        elif isinstance(result, (list, dict)):
            text = json.dumps(result, ensure_ascii=False)
        else:
            raise CodeError(
                f"{name} returned {'nothing' if result is None else f'a {type(result).__name__}'}, not a prompt",
                hint="Return text, a list of messages, or a dict with 'prompt'.",
            )
        return Prompt(parse_prompt(text), text, config, variables, self.label)


AnyPrompt = TextPrompt | FunctionPrompt


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
        and (positional[0].name in ("context", "ctx") or positional[0].name[:1] == "_")
    ):
        return None
    missing = [p.name for p in required if p.name not in variables]
    if not missing:
        if any(p.kind is p.VAR_KEYWORD for p in parameters):
            return dict(variables)
        if not named:
            return None if parameters else {}
        return {p.name: variables[p.name] for p in named if p.name in variables}
    near = did_you_mean(missing[0], variables)
    if len(required) == 1 and required[0] in positional and not near:
        return None
    raise CodeError(
        f"{name} wants {', '.join(map(repr, missing))}, which the test has no variable for",
        hint=near or f"The test has: {', '.join(variables) or 'no variables'}.",
    )


def read_prompts(config: Config, findings: Findings) -> list[AnyPrompt]:
    """The prompts of a config, in their order."""
    given = config.value.get("prompts")
    if given is None:
        findings.hint(
            config.at(),
            "there are no prompts: the variable 'prompt' is sent as it is",
            "Name some under prompts.",
        )
        given = ["{{prompt}}"]
    entries: list[tuple[object, str, Mapping[str, Any], Place]] = []
    if isinstance(given, str):
        entries.append((given, "", {}, config.at("prompts")))
    elif isinstance(given, Mapping):
        for raw, label in cast("Mapping[str, object]", given).items():
            entries.append((raw, str(label), {}, config.at("prompts", raw)))
    elif isinstance(given, list):
        for i, item in enumerate(cast("list[object]", given)):
            entries.append(_entry(item, config, i, findings))
    else:
        findings.problem(config.at("prompts"), f"prompts is {given!r}, not a list")
    found: list[AnyPrompt] = []
    for raw, label, settings, place in entries:
        if isinstance(raw, str) and raw.strip():
            found += _read(raw, label, settings, place, config, findings)
        elif raw is not None:
            findings.problem(
                place,
                f"a prompt is {raw!r}, not text",
                "Write text, file://prompt.txt or prompts.py:function.",
            )
    if not found and not findings.problems:
        findings.problem(config.at("prompts"), "there are no prompts")
    _look_at_texts(found, findings)
    return found


def _look_at_texts(prompts: Sequence[AnyPrompt], findings: Findings) -> None:
    """Notes texts that cannot be filled in, and those with a tag that is never closed."""
    for prompt in prompts:
        if not isinstance(prompt, TextPrompt) or _is_chat(prompt.raw):
            continue
        wrong = check(prompt.raw)
        if wrong:
            findings.problem(prompt.place, f"prompt '{_clipped(prompt.label)}': {wrong}")
        line = left_open(prompt.raw)
        if line:
            findings.hint(
                prompt.place,
                f"prompt '{_clipped(prompt.label)}': a tag is opened and not closed, so the line is sent as it is: "
                f"{_clipped(line)}",
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


def _entry(
    item: object, config: Config, i: int, findings: Findings
) -> tuple[object, str, Mapping[str, Any], Place]:
    place = config.at("prompts", i)
    if not isinstance(item, Mapping):
        return item, "", {}, place
    fields = cast("Mapping[str, Any]", item)
    for key in fields:
        if key not in _KEYS:
            findings.hint(
                config.at("prompts", i, key),
                f"unknown key '{key}' is not used",
                did_you_mean(key, _KEYS),
            )
    raw = fields.get("raw", fields.get("id"))
    if raw is None:
        findings.problem(
            place,
            "a prompt has neither 'raw' nor 'id'",
            "Write raw: <text>, or id: file://prompt.txt",
        )
    return raw, str(fields.get("label") or ""), fields.get("config") or {}, place


def _read(
    raw: str,
    label: str,
    settings: Mapping[str, Any],
    place: Place,
    config: Config,
    findings: Findings,
) -> list[AnyPrompt]:
    """The prompts that one entry stands for: itself, or those in the files that it names."""
    if not _may_be_path(raw):
        return [TextPrompt(label or raw, raw, settings, place)]
    text = raw.removeprefix("file://")
    name, function = _split_function(text)
    pattern = config.base / name
    paths = [
        p
        for path in matching(pattern)
        for p in (sorted(path.iterdir()) if path.is_dir() else [path])
        if p.is_file()
    ]
    if not paths:
        if raw.startswith("file://") or Path(name).suffix in ENDINGS:
            folder = pattern.parent
            names = [p.name for p in folder.glob("*")] if folder.is_dir() else []
            hint = did_you_mean(Path(name).name, names) or f"Looked in {folder}."
            findings.problem(place, f"prompt file {name} does not exist", hint)
            return []
        return [TextPrompt(label or raw, raw, settings, place)]
    found: list[AnyPrompt] = []
    for path in paths:
        shown = raw.removeprefix("file://") if len(paths) == 1 else path.name
        found += _from_file(
            path, function, label or shown, settings, place, config, findings, labelled=bool(label)
        )
    return found


def _from_file(
    path: Path,
    function: str,
    label: str,
    settings: Mapping[str, Any],
    place: Place,
    config: Config,
    findings: Findings,
    *,
    labelled: bool,
) -> list[AnyPrompt]:
    if path.suffix == ".py":
        if not function:
            findings.problem(
                place,
                f"{path.name}: which function is the prompt?",
                f"Name one: {path.name}:function_name",
            )
            return []
        for what, hint in file_problems(f"file://{path.name}:{function}", path.parent, function):
            findings.problem(place, what, hint)
        return [FunctionPrompt(label, path, function, config.strict_prompts, settings, place)]
    if path.suffix in _FOREIGN:
        findings.problem(
            place,
            f"{path.name}: prompts in {path.suffix} files are not supported yet",
            "Write a Python function: prompts.py:name",
        )
        return []
    here = Place(path)
    if path.suffix in (".yaml", ".yml", ".json"):
        document = read_document(path, findings, place)
        if document is None:
            return []
        value = env_filled(document.value, config.env)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return [TextPrompt(label, text, settings, here)]
    text = read_text(path, findings, place)
    if text is None:
        return []
    text = str(env_filled(text, config.env))
    if path.suffix == ".txt":
        pieces = [piece.strip("\r\n") for piece in _SEPARATOR.split(text)]
    elif path.suffix == ".jsonl":
        pieces = text.split("\n")
    elif path.suffix == ".csv":
        return _from_csv(text, label, settings, here)
    else:
        pieces = [text]
    pieces = [piece for piece in pieces if piece.strip()]
    if not pieces:
        findings.problem(place, f"prompt file {path.name} is empty")
    many = len(pieces) > 1
    return [
        TextPrompt(
            f"{label} #{i}"
            if many and labelled
            else f"{label}: {_clipped(piece)}"
            if many
            else label,
            piece.rstrip("\r\n") if path.suffix == ".txt" else piece,
            settings,
            here,
        )
        for i, piece in enumerate(pieces, 1)
    ]


def _from_csv(text: str, label: str, settings: Mapping[str, Any], here: Place) -> list[AnyPrompt]:
    import csv  # noqa: PLC0415 (prompts are seldom kept in CSV files)
    import io  # noqa: PLC0415 (see above)

    rows = list(csv.DictReader(io.StringIO(text)))
    found: list[AnyPrompt] = []
    for i, row in enumerate(rows, 1):
        raw = row.get("prompt") or next(iter(row.values()), "")
        if raw:
            found.append(TextPrompt(row.get("label") or f"{label} (row {i})", raw, settings, here))
    return found


def _may_be_path(text: str) -> bool:
    if "\n" in text:
        return False
    if text.startswith("file://"):
        return True
    if "{{" in text or len(text) > 400:
        return False
    name, _ = _split_function(text)
    return Path(name).suffix in ENDINGS or (
        " " not in text and any(char in text for char in "*/\\")
    )


def _split_function(text: str) -> tuple[str, str]:
    path, colon, name = text.rpartition(":")
    return (path, name) if colon and path.endswith(tuple(ENDINGS)) else (text, "")


def _is_chat(raw: str) -> bool:
    if raw.lstrip()[:1] not in ("[", "{"):
        return False
    try:
        return isinstance(json.loads(raw), (list, dict))
    except ValueError:
        return False


def _parameters_of(function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return ()


def _with_names(function: Callable[..., Any], named: Mapping[str, Any]) -> Callable[[], Any]:
    if inspect.iscoroutinefunction(function):

        async def later() -> object:
            return await function(**named)

        return later
    return lambda: function(**named)


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:39] + "…"
