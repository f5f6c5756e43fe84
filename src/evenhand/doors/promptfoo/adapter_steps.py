"""What an eval in Python does itself that a promptfoo config only names: prompts, variables, transforms.

Each is made at the top of a file, with paths from that file's folder, and used in an eval, whose trial it finds.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from evenhand.core.errors import UsageError
from evenhand.core.message import Prompt, Reply, Usage
from evenhand.doors.assertions.code_files import transform_problems
from evenhand.doors.assertions.transform import transformed, transformed_vars
from evenhand.doors.promptfoo.case_variables import worked_out
from evenhand.doors.promptfoo.config import Config
from evenhand.doors.promptfoo.prompts import AnyPrompt, TextPrompt, between, is_chat
from evenhand.engine.trial import LiveTrial, present
from evenhand.languages.documents.findings import Findings
from evenhand.languages.documents.tree import Document
from evenhand.languages.templates.rendering import Templates

# adapter.py and adapter_steps.py both begin like this: a caller is the first frame outside of the two.
_HERE = str(Path(__file__).parent / "adapter")

lent: dict[Path, Mapping[str, str]] = {}
"""What each folder's config has under `env`."""

_templates: dict[Path, Templates] = {}
"""The templates of each folder: they see its environment, and have its filters."""


class Template:
    """A prompt that is a Nunjucks template, or a conversation in JSON: `Template("loud", "{{ text | upper }}")`.

    Args:
        name: For reports.
        text: With tags.
        config: Settings that go over the model's own.
    """

    __slots__ = ("_base", "_config", "name", "text")

    def __init__(self, name: str, text: str, *, config: Mapping[str, Any] | None = None) -> None:
        self.name = name
        self.text = text
        self._config = config or {}
        self._base = caller().parent

    def render(self, /, **variables: Any) -> Prompt:
        """The prompt, filled in."""
        templates = templates_of(self._base)
        text = TextPrompt(label=self.name, raw=self.text, config=self._config, templates=templates)
        return text.filled("", "")(variables, variables)

    async def filled(self, variables: Mapping[str, Any]) -> Prompt:
        """The prompt, filled in with a dict of variables, for evals whose prompts are not all text."""
        return self.render(**variables)

    def between(self, prefix: str, suffix: str) -> Template:
        """The prompt with something before and after it, which may have tags as well."""
        other = Template(self.name, f"{prefix}{self.text}{suffix}", config=self._config)
        # Paths start from the file that made the prompt, not from the one that calls this.
        other._base = self._base
        return other

    def __str__(self) -> str:
        return self.name


class PromptFile:
    """A prompt that code makes: `PromptFile("prompts.py:greeting")`, `PromptFile("exec:sh prompt.sh")`.

    Args:
        reference: A function of a file of Python or JavaScript, a script, or `exec:` and a command.
        name: For reports; the reference by default.
        config: Settings that the code is told, and that go over the model's own.
        strict: A Python function is called with promptfoo's one dict, whatever its parameters are called.

    Raises:
        ConfigError: There is no such file, or no such function in it.
    """

    __slots__ = ("_base", "_between", "_prompt", "name")

    def __init__(
        self,
        reference: str,
        *,
        name: str = "",
        config: Mapping[str, Any] | None = None,
        strict: bool = False,
    ) -> None:
        from evenhand.doors.promptfoo.prompt_files import read_prompts  # noqa: PLC0415 (only for prompts that are code)

        findings = Findings()
        written = {"raw": reference, "label": name, "config": config or {}}
        self._base = caller().parent
        folder = config_of(self._base, {"prompts": [written]}, strict_prompts=strict)
        prompts = read_prompts(folder, findings, set())
        if findings.problems:
            raise findings.error()
        self._prompt: AnyPrompt = prompts[0]
        self._between = ("", "")
        self.name = name or reference

    async def filled(self, variables: Mapping[str, Any]) -> Prompt:
        """The prompt that the code makes of these.

        Raises:
            CodeError: It raised, took too long, or made no prompt.
        """
        trial = running(self.name)
        if isinstance(self._prompt, TextPrompt):
            return self._prompt.filled(*self._between)(variables, variables)
        about = {"id": trial.variant.provider_id, "label": trial.variant.model}
        prompt = await self._prompt.asked(trial, variables, about)
        if self._between == ("", ""):
            return prompt
        prefix, suffix = (
            templates_of(self._base).render(text, variables) for text in self._between
        )
        return between(prefix, prompt, suffix)

    def between(self, prefix: str, suffix: str) -> PromptFile:
        """The prompt with something before and after it, which may have tags."""
        # Not by its constructor, which would read and check the file again.
        other = object.__new__(PromptFile)
        other.name, other._prompt, other._between = self.name, self._prompt, (prefix, suffix)
        other._base = self._base
        return other

    def __str__(self) -> str:
        return self.name


class Transform:
    """Code that changes an output before anything looks at it: `output = await Transform("output.trim()")(output)`.

    Args:
        code: `file://transform.py[:get_transform]`, `file://transform.js[:name]`, or inline JavaScript or Python that
            uses `output` and `context`.

    Raises:
        UsageError: There is no such file or function, or the code cannot be read.
    """

    __slots__ = ("_base", "code")

    def __init__(self, code: str) -> None:
        self.code = code
        self._base = caller().parent
        for what, hint in transform_problems(code, self._base):
            raise UsageError(f"Transform: {what}", hint=hint)

    async def __call__(self, output: object) -> object:
        """What the code makes of the output. It is told the variables, the prompt and the reply's metadata.

        Raises:
            CodeError: It raised, took too long, or returned nothing.
        """
        trial = running("Transform")
        reply = trial.reply
        context = {
            "vars": dict(trial.vars),
            "prompt": {
                "raw": trial.prompt_text,
                "label": str(trial.variant.axes.get("prompt", "")),
            },
            "metadata": {} if reply is None else dict(reply.metadata),
        }
        return await transformed(self.code, output, context, self._base, trial)


class Variables:
    """Variables that are made anew for each trial: read from files, computed by code, filled into each other.

    Args:
        transform: Code that changes them first: as for `Transform`, but it uses `vars`.
        files: Those whose value names a file, of text or of code.
        tagged: Those in which tags are filled in.
    """

    __slots__ = ("_base", "_files", "_tagged", "transform")

    def __init__(
        self, transform: str = "", *, files: Sequence[str] = (), tagged: Sequence[str] = ()
    ) -> None:
        self.transform = transform
        self._files = frozenset(files)
        self._tagged = frozenset(tagged)
        self._base = caller().parent

    async def __call__(
        self, variables: Mapping[str, Any], prompt: object = None
    ) -> Mapping[str, Any]:
        """The variables as the prompt has them. The assertions of the trial see them, too.

        Raises:
            CodeError: The code raised, took too long, or returned something else.
        """
        trial = running("Variables")
        name, raw = str(prompt or ""), str(getattr(prompt, "text", ""))
        if self.transform:
            context = {"prompt": {"label": name}, "uuid": f"{trial.case.id}-{trial.repeat}"}
            changed = await transformed_vars(self.transform, variables, context, self._base, trial)
            variables = {**variables, **changed}
        plain, filled = await worked_out(
            variables,
            self._files,
            tagged=self._tagged,
            prompt=raw,
            provider={"id": trial.variant.provider_id, "label": trial.variant.model},
            base=self._base,
            templates=templates_of(self._base),
            trial=trial,
        )
        trial.show(plain)
        # As in promptfoo, a chat has only plain names filled into its variables.
        return plain if is_chat(raw) else filled


def stored(prompt: Prompt, output: Any) -> Reply:
    """An output that already exists, taken for the model's answer to this prompt. Nobody is asked."""
    reply = Reply(output if isinstance(output, str) else "", output, Usage(0, 0), 0.0, 0.0)
    running("stored").answered(prompt, reply)
    return reply


def running(what: str) -> LiveTrial:
    """The trial for which code is running.

    Raises:
        UsageError: There is none.
    """
    trial = present.get()
    if trial is None:
        raise UsageError(f"{what} is used outside of a trial", hint="Use it in an eval.")
    return trial


def caller() -> Path:
    """The file that asks for something of the adapter: relative paths start from its folder."""
    return next((path for path in _callers() if not str(path).startswith(_HERE)), Path().absolute())


def _callers() -> Iterator[Path]:
    frame = inspect.currentframe()
    while frame is not None:
        yield Path(frame.f_code.co_filename).absolute()
        frame = frame.f_back


def config_of(base: Path, value: Mapping[str, Any], *, strict_prompts: bool = False) -> Config:
    """A config that would stand in this folder."""
    document = Document(base / "promptfooconfig.yaml", cast("Any", value))
    return Config(
        document=document,
        value=value,
        env=environment_of(base),
        strict_prompts=strict_prompts,
        templates=templates_of(base),
    )


def environment_of(base: Path) -> Mapping[str, str]:
    """The environment of the files in a folder."""
    return {**os.environ, **lent.get(base, {})}


def templates_of(base: Path) -> Templates:
    """The templates of the files in a folder."""
    return _templates.setdefault(base, Templates(lent.get(base)))


def lend_templates(base: Path, templates: Templates) -> None:
    """Has the files in a folder use these templates."""
    _templates[base] = templates
