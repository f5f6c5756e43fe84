"""One cell of the matrix: fills the prompt in, asks the model, and records what is expected of the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from evenhand.assertions.assertion import Cell
from evenhand.assertions.transform import transformed, transformed_vars
from evenhand.core.errors import ConfigError, Problem
from evenhand.core.expect import Trial
from evenhand.core.message import Message, Prompt, Reply, Usage
from evenhand.core.score import Outcome, Verdict
from evenhand.core.variant import Variant
from evenhand.promptfoo.around import Around
from evenhand.promptfoo.cases import Test, named
from evenhand.promptfoo.earlier import CONVERSATION, Earlier
from evenhand.promptfoo.models import Column
from evenhand.promptfoo.prompts import AnyPrompt, TextPrompt, half_a_chat
from evenhand.promptfoo.resolved import resolved
from evenhand.promptfoo.scoring import scored
from evenhand.promptfoo.variable_code import computed, is_code
from evenhand.providers.configured import takes_chats
from evenhand.templates.rendering import Templates, names_in

FILLS_KEPT = 256
"""Prefixes and suffixes for which the filled-in template is kept: a column of them may have a new one in each row."""

NOTHING = Usage(0, 0)

Fill = Callable[[Mapping[str, Any], Mapping[str, Any]], Prompt]
"""Makes a prompt of the variables, and of the same with all tags in them filled in: see `resolved`."""


@dataclass(slots=True)
class Pair:
    """A prompt and a model: one column."""

    variant: Variant
    prompt: AnyPrompt
    column: Column
    base: Path
    templates: Templates
    _fills: dict[tuple[str, str], Fill] = field(
        default_factory=dict[tuple[str, str], Fill], repr=False
    )
    _names: frozenset[str] | None = field(default=None, repr=False)
    _conversation: str | None = field(default=None, repr=False)
    problem: Problem | None = None
    """Why none of its trials can come to a verdict; None where they may."""
    lacking: Problem | None = None
    """Why its model cannot be asked; None where it can."""

    def __post_init__(self) -> None:
        self.problem = self.column.problem
        if self.problem is None and isinstance(self.prompt, TextPrompt):
            self.problem = self.prompt.problem
        self.lacking = self.column.lacking

    def refuses(self, test: Test) -> Problem | None:
        """Why no test like this one can have an output in this column; None where it may."""
        return self.problem or (self.lacking if test.provider_output is None else None)

    @property
    def conversation(self) -> str:
        """What tells its conversations from those of other columns; empty where its prompt asks for none."""
        if self._conversation is None:
            raw = self.prompt.raw
            spoken = f"{self.column.provider.label}:{self.prompt.label}:{raw}"
            self._conversation = spoken if CONVERSATION in raw else ""
        return self._conversation

    @property
    def names(self) -> frozenset[str]:
        """The variables that its text names plainly; `env` and `loop` are nobody's to set."""
        if self._names is None:
            text = self.prompt.raw if isinstance(self.prompt, TextPrompt) else ""
            self._names = names_in(text) - {"env", "loop", CONVERSATION}
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
        return (
            test.prompts is None or named(test.prompts, (self.prompt.label, self.prompt.id))
        ) and (test.providers is None or named(test.providers, (provider.id, provider.label)))


@dataclass(slots=True)
class CellBody:
    """What happens in one cell."""

    pair: Pair
    test: Test
    variables: Mapping[str, Any]
    earlier: Earlier | None = None
    around: Around | None = None
    told: Mapping[str, Any] = field(default_factory=dict[str, Any])
    output: object = None
    problem: Problem | None = None
    """It is asked for the sake of those that go on from its answer, and comes to no verdict itself."""

    async def __call__(self, trial: Trial) -> object:
        if self.around is not None:
            before = self.around.before(trial, self.test, self.variables, self.told)
            self.test, self.variables = await before
            trial.show(self.variables)
        test, pair, earlier = self.test, self.pair, self.earlier
        variables, filled = await self._variables(trial)
        provider = pair.column.provider
        prompt = await self._prompt(trial, variables, filled)
        if earlier is not None:
            earlier.asked(trial, prompt)
        if test.provider_output is not None:
            output = test.provider_output
            reply = Reply(output if isinstance(output, str) else "", output, NOTHING, 0.0, 0.0)
            trial.answered(prompt, reply)
        else:
            reply = await trial.model(provider, "subject").generate(prompt)
            output = reply.text if reply.output is None else reply.output
        if earlier is not None:
            earlier.answered(trial, output, reply.metadata)
        cell = Cell(
            output,
            prompt.text,
            variables,
            test.shown,
            provider.id,
            provider.label,
            reply,
            test.metadata,
            pair.column.config,
        )
        for code in (pair.column.transform, test.transform):
            if code:
                output = await self._transformed(code, cell, trial)
                cell.output = output
        if earlier is not None:
            earlier.finished(trial, output)
        self.output = output
        if self.problem is not None:
            raise ConfigError([self.problem])
        for make in test.expected.makes:
            trial.expect(make(cell))
        return output

    async def _prompt(
        self, trial: Trial, variables: Mapping[str, Any], filled: Mapping[str, Any]
    ) -> Prompt:
        """What is sent.

        Raises:
            EvenhandError: It cannot be filled in, or its function failed.
        """
        test, pair = self.test, self.pair
        fill = pair.fill("", "") if test.literal else pair.fill(test.prefix, test.suffix)
        provider = pair.column.provider
        prompt: Prompt | None = None
        if fill is not None:
            prompt = fill(variables, filled)
            broken = half_a_chat(prompt) if takes_chats(provider) else None
            if broken is not None:
                raise broken
        elif not isinstance(pair.prompt, TextPrompt):
            about = {"id": provider.id, "label": provider.label}
            prompt = await pair.prompt.asked(trial, variables, about)
            if (test.prefix or test.suffix) and not test.literal:
                prompt = _between(
                    pair.templates.render(test.prefix, filled),
                    prompt,
                    pair.templates.render(test.suffix, filled),
                )
        assert prompt is not None  # noqa: S101 (a prompt is text or a function)
        if test.literal:
            prompt = _between(test.prefix, prompt, test.suffix)
        return with_settings(prompt, test)

    async def reviewed(
        self, trial: Trial, outcomes: Sequence[Outcome], verdict: Verdict
    ) -> Verdict:
        """The verdict, once the test's own scoring and the hooks have seen it."""
        test = self.test
        if test.scoring and (outcomes or test.expected.contests):
            verdict = await scored(
                test.scoring, self.pair.base, trial, test.shown, outcomes, verdict
            )
        if self.around is None:
            return verdict
        return await self.around.after(trial, self.told, self.output, outcomes, verdict)

    async def _variables(self, trial: Trial) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The variables as all get them, and as a prompt does that is text: see `resolved`."""
        test, pair, earlier = self.test, self.pair, self.earlier
        variables, files, tagged = self.variables, test.files, test.tagged
        if test.transform_vars:
            context = {
                "prompt": {"label": pair.prompt.label},
                "uuid": f"{trial.case.id}-{trial.repeat}",
            }
            found = await transformed_vars(
                test.transform_vars, variables, context, pair.base, trial
            )
            variables = {**variables, **found}
        if earlier is not None:
            outputs = earlier.outputs(trial)  # text of models: data, whatever it looks like
            variables, files, tagged = (
                {**variables, **outputs},
                files - outputs.keys(),
                tagged - outputs.keys(),
            )
        code = frozenset(name for name in files if is_code(variables[name]))
        if code:
            raw = pair.prompt.raw
            about = {"id": pair.column.provider.id, "label": pair.column.provider.label}
            variables = await computed(variables, sorted(code), raw, about, pair.base, trial)
            files, tagged = files - code, tagged - code
        variables, filled = resolved(variables, files, tagged, pair.base, pair.templates)
        if variables is not self.variables:
            trial.show(variables)
        if earlier is not None and earlier.listens:
            said = {CONVERSATION: earlier.said(trial)}
            variables, filled = {**variables, **said}, {**filled, **said}
        return variables, filled

    async def _transformed(self, code: str, cell: Cell, trial: Trial) -> object:
        context = {
            "vars": dict(cell.variables),
            "prompt": {"raw": cell.prompt, "label": self.pair.prompt.label},
            "metadata": cell.said(),
        }
        return await transformed(code, cell.output, context, self.pair.base, trial)


def with_settings(prompt: Prompt, test: Test) -> Prompt:
    """A prompt with what the test's options say to the model."""
    if not test.settings:
        return prompt
    return replace(prompt, config={**prompt.config, **test.settings})


def _between(prefix: str, prompt: Prompt, suffix: str) -> Prompt:
    text = f"{prefix}{prompt.text}{suffix}"
    return Prompt((Message("user", text),), text, prompt.config, prompt.vars, prompt.label)


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
