"""The variants of a config: every model with each prompt that it gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import field

from evenhand.core.errors import NothingSelected, Problem
from evenhand.core.message import Prompt
from evenhand.core.plan import Selection
from evenhand.core.record import MutableRecord
from evenhand.core.selecting import Selector
from evenhand.core.variant import Variant
from evenhand.doors.promptfoo.config import Config
from evenhand.doors.promptfoo.memory import CONVERSATION
from evenhand.doors.promptfoo.models import Subject
from evenhand.doors.promptfoo.prompts import AnyPrompt, TextPrompt
from evenhand.doors.promptfoo.tests import Test, named
from evenhand.languages.documents.findings import Findings
from evenhand.languages.templates.rendering import Templates, names_in
from evenhand.providers.configured import takes_chats

FILLS_KEPT = 256
"""Prefixes and suffixes for which the filled-in template is kept: a variant of them may have a new one in each row."""

Fill = Callable[[Mapping[str, Any], Mapping[str, Any]], Prompt]
"""Makes a prompt of the variables, and of the same with all tags in them filled in: see `resolved`."""


class Combination(MutableRecord, kw_only=True):
    """A prompt and a model: one variant."""

    variant: Variant
    prompt: AnyPrompt
    subject: Subject
    base: Path
    templates: Templates
    _fills: dict[tuple[str, str], Fill] = field(default_factory=dict[tuple[str, str], Fill])
    _names: frozenset[str] | None = None
    _conversation: str | None = None
    problem: Problem | None = None
    """Why none of its trials can come to a verdict; None where they may."""
    lacking: Problem | None = None
    """Why its model cannot be asked; None where it can."""

    def __post_init__(self) -> None:
        self.problem = self.subject.problem
        if self.problem is None and isinstance(self.prompt, TextPrompt):
            self.problem = self.prompt.problem
        if self.problem is None and isinstance(self.prompt, TextPrompt):
            self.problem = self.prompt.refused_by(self.subject.provider)
        self.lacking = self.subject.lacking

    def refuses(self, test: Test) -> Problem | None:
        """Why no test like this one can have an output in this variant; None where it may."""
        if test.subject is None:
            return self.problem or (self.lacking if test.provider_output is None else None)
        own = test.subject.lacking if test.provider_output is None else None
        return self.problem or test.subject.problem or own

    def asked(self, test: Test) -> Subject:
        """The model that a test asks in this variant: its own, where it names one."""
        return test.subject or self.subject

    @property
    def conversation(self) -> str:
        """What tells its conversations from those of other variants; empty where its prompt asks for none."""
        if self._conversation is None:
            raw = self.prompt.raw
            spoken = f"{self.subject.provider.label}:{self.prompt.label}:{raw}"
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
        fill = self._fills.get((prefix, suffix))
        if fill is None:
            fill = self.prompt.filled(prefix, suffix)
            if len(self._fills) < FILLS_KEPT:
                self._fills[prefix, suffix] = fill
        return fill

    def takes(self, test: Test) -> bool:
        """Whether a test is run in this variant."""
        provider = self.subject.provider
        return (test.prompts is None or named(test.prompts, self.prompt.names)) and (
            test.providers is None or named(test.providers, (provider.id, provider.label))
        )


def selected_subjects(
    prompts: Sequence[AnyPrompt], subjects: Sequence[Subject], selection: Selection
) -> tuple[list[AnyPrompt], list[Subject]]:
    """The prompts and models that a selection takes.

    Raises:
        NothingSelected: It takes none.
        UsageError: It is no regular expression.
    """
    selector = Selector(selection)
    some = [p for p in prompts if any(map(selector.takes_prompt, (p.label, *p.paths)))]
    models = [c for c in subjects if selector.takes_model(c.provider.id, c.provider.label)]
    # Whose own prompts are left out has nothing to answer; who takes none of all of them is a mistake, and stays.
    models = [c for c in models if _taken(c, some) or not _taken(c, prompts)]
    if prompts and not some:
        there = ", ".join(p.label for p in prompts[:10])
        raise NothingSelected(
            f"--filter-prompts {selection.prompts!r} leaves no prompt", hint=f"There are: {there}."
        )
    if subjects and not models:
        there = ", ".join(c.provider.label for c in subjects[:10])
        filters = {"--filter-prompts": selection.prompts, "--filter-providers": selection.models}
        option = " with ".join(f"{name} {regex!r}" for name, regex in filters.items() if regex)
        raise NothingSelected(
            f"{option} leaves no provider",
            hint=f"There are: {there}.",
        )
    return some, models


def _taken(subject: Subject, prompts: Sequence[AnyPrompt]) -> list[AnyPrompt]:
    return [prompt for prompt in prompts if any(map(subject.takes, prompt.names))]


def paired(
    prompts: Sequence[AnyPrompt], subjects: Sequence[Subject], config: Config, findings: Findings
) -> list[Combination]:
    """The variants: each model with the prompts that it takes."""
    combinations: list[Combination] = []
    labels = [prompt.label for prompt in prompts]
    for subject in subjects:
        taken = _taken(subject, prompts)
        if prompts and not taken:
            findings.problem(
                subject.place,
                f"provider {subject.provider.label} takes none of the prompts: {', '.join(subject.prompts or ())}",
                f"There are: {', '.join(labels)}.",
            )
        for prompt in taken:
            if (
                isinstance(prompt, TextPrompt)
                and prompt.is_bare_object
                and takes_chats(subject.provider)
            ):
                findings.hint(
                    prompt.place if prompt.at is None else prompt.at(),
                    f"prompt '{' '.join(prompt.label.split()):.60}' is a JSON object without messages: "
                    "its text is sent as what the user says",
                    "Write a list of messages with role and content, or name the prompts one by one.",
                )
            variant = Variant(
                len(combinations),
                " ".join(prompt.label.split()),
                subject.provider.label,
                prompt.raw,
                subject.provider.id,
                cluster=config.cluster,
            )
            combinations.append(
                Combination(
                    variant=variant,
                    prompt=prompt,
                    subject=subject,
                    base=config.base,
                    templates=config.templates,
                )
            )
    return combinations
