"""A prompt as an axis of a matrix: a name, and a text with tags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand.core import message
from evenhand.core.arguments import checked_class
from evenhand.languages.templates.plain import render


@checked_class
@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt to be filled in: `Prompt("plain", "How many legs has a {{animal}}?")`."""

    name: str
    text: str

    def render(self, **variables: Any) -> message.Prompt:
        """The prompt with its tags filled in; what is filled in is never looked at for tags.

        `{{ name }}` is a variable, `{{ name.part }}` a part of one. Text is filled in as it is, nothing as no text,
        `true` and `false`, lists and dicts as JSON.

        Raises:
            TemplateError: Tags have no variable: all of them, with their lines. Or a tag is more than a name.
        """
        text = render(self.text, variables, f"prompt '{self.name}'")
        return message.Prompt(
            (message.Message("user", text),),
            text,
            vars=variables,
            label=self.name,
            template=self.text,
        )

    def __str__(self) -> str:
        return self.name
