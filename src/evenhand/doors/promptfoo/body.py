"""One cell of the matrix: fills the prompt in, asks the model, and records what is expected of the answer."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec.structs import replace

from evenhand.core.errors import ConfigError, Problem
from evenhand.core.expect import Trial
from evenhand.core.message import Model, Prompt, Reply, Usage
from evenhand.core.record import MutableRecord
from evenhand.core.score import Outcome, Verdict
from evenhand.doors.assertions.aggregate import verdict_rule
from evenhand.doors.assertions.assertion import Cell
from evenhand.doors.assertions.transform import transformed, transformed_vars
from evenhand.doors.promptfoo.case_variables import worked_out
from evenhand.doors.promptfoo.memory import CONVERSATION, Memory
from evenhand.doors.promptfoo.prompts import TextPrompt, between, half_a_chat
from evenhand.doors.promptfoo.simulated_users import no_tools_in_talks
from evenhand.doors.promptfoo.tests import Test
from evenhand.doors.promptfoo.variants import Combination
from evenhand.providers.configured import takes_chats

if TYPE_CHECKING:
    from evenhand.doors.conversations.tool_calls import CallingModel
    from evenhand.doors.promptfoo.hooks import TrialHooks

NOTHING = Usage(0, 0)
REPEAT = "__repeatIndex"
"""A variable that prompts have and nobody else sees, as in promptfoo: which repeat it is, counted from 0."""


class CellBody(MutableRecord, kw_only=True):
    """What happens in one cell."""

    pair: Combination
    test: Test
    variables: Mapping[str, Any]
    earlier: Memory | None = None
    trial_hooks: TrialHooks | None = None
    test_document: Mapping[str, Any] = msgspec.field(default_factory=dict)
    output: object = None
    changed: bool = False
    """A hook has made another test of it, with its own rule."""
    problem: Problem | None = None
    """It is asked for the sake of those that go on from its answer, and comes to no verdict itself."""

    async def __call__(self, trial: Trial) -> object:
        if self.trial_hooks is not None:
            await self._hooked(self.trial_hooks, trial)
        test, pair, earlier = self.test, self.pair, self.earlier
        variables, filled = await self._variables(trial)
        provider, request = pair.subject.provider, pair.asked(test)
        prompt = await self._prompt(trial, variables, filled)
        config = pair.subject.config
        if request.mcp is not None and test.provider_output is None:
            if test.user is not None and not request.mcp.calls:
                raise ConfigError([no_tools_in_talks(test.user, request.provider.id)])
            prompt = await request.mcp.added(trial, prompt, request.config)
            config = {**config, "tools": prompt.config["tools"]}
        if earlier is not None:
            earlier.asked(trial, prompt)
        if test.provider_output is not None:
            output = test.provider_output
            reply = Reply(output if isinstance(output, str) else "", output, NOTHING, 0.0, 0.0)
            trial.answered(prompt, reply)
        else:
            model = trial.model(request.provider, "subject")
            calls_tools = request.mcp is not None and request.mcp.calls
            if test.user is None and not calls_tools:
                reply = await model.generate(prompt)
            else:
                reply = await self._talked(model, prompt, variables, filled)
            output = reply.text if reply.output is None else reply.output
        if earlier is not None:
            earlier.answered(trial, output, reply.metadata)
        cell = Cell(
            output=output,
            prompt=prompt.text,
            variables=variables,
            test=test.shown,
            provider_id=provider.id,
            provider_label=provider.label,
            reply=reply,
            metadata=test.metadata,
            provider_config=config,
            steps=lambda: trial.steps,
        )
        for code in (pair.subject.transform, test.transform):
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

    async def _hooked(self, hooks: TrialHooks, trial: Trial) -> None:
        """Has the hooks change the test before anything is asked, and the results show what they made of it."""
        planned = self.test
        self.test, self.variables, document = await hooks.before(
            trial, planned, self.variables, self.test_document
        )
        before = {key: value for key, value in self.test_document.items() if key != "vars"}
        if document == before:
            trial.show(self.variables)
            return
        self.test_document, self.changed = document, True
        trial.show(self.variables, description=self.test.description, test=self.test.shown)
        trial.mark(self.test.metadata)

    async def _talked(
        self,
        model: Model,
        prompt: Prompt,
        variables: Mapping[str, Any],
        filled: Mapping[str, Any],
    ) -> Reply:
        """What a model comes to that calls tools, or that a user talks with."""
        test, pair, mcp = self.test, self.pair, self.pair.asked(self.test).mcp
        async with contextlib.AsyncExitStack() as opened:
            speaker: Model | CallingModel = model
            if mcp is not None and mcp.calls:
                speaker = (await opened.enter_async_context(mcp.opened())).asking(model)
            if test.user is None:
                return await speaker.generate(prompt)
            from evenhand.doors.promptfoo.talking import talked  # noqa: PLC0415 (for conversations only)

            fill = partial(pair.templates.render, variables=filled)
            return await talked(test.user, speaker, prompt, variables, fill)

    async def _prompt(
        self, trial: Trial, variables: Mapping[str, Any], filled: Mapping[str, Any]
    ) -> Prompt:
        """What is sent.

        Raises:
            EvenhandError: It cannot be filled in, or its function failed.
        """
        test, pair = self.test, self.pair
        fill = pair.fill("", "") if test.literal else pair.fill(test.prefix, test.suffix)
        provider = pair.subject.provider
        prompt: Prompt | None = None
        if REPEAT in pair.prompt.raw:
            repeat = {REPEAT: trial.repeat}
            variables, filled = {**variables, **repeat}, {**filled, **repeat}
        if fill is not None:
            prompt = fill(variables, filled)
            broken = half_a_chat(prompt)
            if broken is not None and takes_chats(pair.asked(test).provider):
                raise pair.prompt.located(broken) if isinstance(pair.prompt, TextPrompt) else broken
        elif not isinstance(pair.prompt, TextPrompt):
            about = {"id": provider.id, "label": provider.label}
            prompt = await pair.prompt.asked(trial, variables, about)
            prefix, suffix = test.prefix, test.suffix
            if (prefix or suffix) and not test.literal:
                prefix, suffix = (pair.templates.render(t, filled) for t in (prefix, suffix))
            prompt = between(prefix, prompt, suffix)
        assert prompt is not None  # noqa: S101 (a prompt is text or a function)
        if test.literal and isinstance(pair.prompt, TextPrompt):
            prompt = between(test.prefix, prompt, test.suffix, conversations=True)
        return with_settings(prompt, test, trial.repeat)

    async def reviewed(
        self, trial: Trial, outcomes: Sequence[Outcome], verdict: Verdict
    ) -> Verdict:
        """The verdict, once the test's own scoring and the hooks have seen it."""
        test = self.test
        if self.changed:
            expected = test.expected
            verdict = verdict_rule(test.threshold, expected.binding, expected.excusing)(outcomes)
        if test.scoring and (outcomes or test.expected.contests):
            from evenhand.doors.promptfoo.scoring import scored  # noqa: PLC0415 (few tests have one)

            verdict = await scored(
                test.scoring, self.pair.base, trial, test.shown, outcomes, verdict
            )
        if self.trial_hooks is None:
            return verdict
        metadata = test.metadata if self.changed else trial.case.metadata
        return await self.trial_hooks.after(
            trial,
            self.test_document,
            metadata=metadata,
            output=self.output,
            outcomes=outcomes,
            verdict=verdict,
        )

    async def _variables(self, trial: Trial) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The variables as all get them, and as a prompt does that is text: see `resolved`."""
        test, pair, earlier = self.test, self.pair, self.earlier
        variables, files, tagged = self.variables, test.files, test.tagged
        if test.transform_vars:
            context = {
                "prompt": {"label": pair.prompt.label},
                "uuid": f"{trial.case.id}-{trial.repeat}",
            }
            changed = await transformed_vars(
                test.transform_vars, variables, context, pair.base, trial
            )
            variables = {**variables, **changed}
        if earlier is not None:
            outputs = earlier.outputs(trial)  # text of models: data, whatever it looks like
            variables = {**variables, **outputs}
            files, tagged = files - outputs.keys(), tagged - outputs.keys()
        filled = variables
        if files or tagged:
            provider = pair.subject.provider
            variables, filled = await worked_out(
                variables,
                files,
                tagged=tagged,
                prompt=pair.prompt.raw,
                provider={"id": provider.id, "label": provider.label},
                base=pair.base,
                templates=pair.templates,
                trial=trial,
            )
        if variables is not self.variables:
            trial.show(variables)
        if earlier is not None and earlier.listens:
            conversation = {CONVERSATION: earlier.turns(trial)}
            variables, filled = {**variables, **conversation}, {**filled, **conversation}
        return variables, filled

    async def _transformed(self, code: str, cell: Cell, trial: Trial) -> object:
        context = {
            "vars": dict(cell.variables),
            "prompt": {"raw": cell.prompt, "label": self.pair.prompt.label},
            "metadata": cell.reply_metadata(),
        }
        return await transformed(code, cell.output, context, self.pair.base, trial)


def with_settings(prompt: Prompt, test: Test, repeat: int = 0) -> Prompt:
    """A prompt with what the test's options say to the model, and what code is told of the cell."""
    about = {key: value for key, value in test.shown.items() if key != "assert"}
    cell = {"test": {**about, "metadata": test.metadata}, "repeatIndex": repeat}
    if not test.settings:
        return replace(prompt, cell=cell)
    return replace(prompt, config={**prompt.config, **test.settings}, cell=cell)


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
