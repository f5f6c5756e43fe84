"""A prompt as an axis of a matrix: a name, and a text with tags."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from evenhand.core import message
from evenhand.core.errors import UsageError

_TAG = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt to be filled in: `Prompt("plain", "How many legs has a {{animal}}?")`."""

    name: str
    text: str

    def render(self, **variables: Any) -> message.Prompt:
        """The prompt with its tags filled in; what is filled in is never looked at for tags.

        Raises:
            UsageError: It has a tag that no variable is given for.
        """
        missing = [name for name in _TAG.findall(self.text) if name not in variables]
        if missing:
            raise UsageError(
                f"prompt '{self.name}' has {{{{{missing[0]}}}}}, and no such variable is given"
            )
        said = _TAG.sub(lambda match: str(variables[match[1]]), self.text)
        return message.Prompt(
            (message.Message("user", said),),
            said,
            vars=variables,
            label=self.name,
            template=self.text,
        )

    def __str__(self) -> str:
        return self.name
