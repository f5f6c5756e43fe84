"""Prompts that a program prints: `exec:command`, scripts, and Python files that are run as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.core.encoding import encode
from evenhand.core.errors import CodeError, ProviderError
from evenhand.core.expect import Trial
from evenhand.core.message import Prompt
from evenhand.documents.findings import Place
from evenhand.providers.process import printed_by
from evenhand.providers.prompt_text import parse_prompt

LIMIT_S = 60.0


@dataclass(slots=True)
class ProgramPrompt:
    """A program whose last argument is a JSON object of vars, provider and config, and which prints the prompt.

    Attributes:
        command: The program, and arguments that come before.
        folder: Where it is run.
        path: Its file; the folder where it has none of the user's.
    """

    label: str
    command: str
    folder: Path
    path: Path
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    place: Place = field(default_factory=lambda: Place(Path()))
    id: str = ""

    @property
    def raw(self) -> str:
        """Its source, for the record; its command where that cannot be read."""
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
            out = await printed_by(self.command, (argument,), self.folder, LIMIT_S)
        except (ProviderError, TypeError) as error:
            raise CodeError(str(error)) from None
        text = out.decode("utf-8", "replace").strip()
        if not text:
            raise CodeError(f"{self.command} printed nothing", hint="It should print the prompt.")
        return Prompt(parse_prompt(text), text, self.config, variables, self.label)
