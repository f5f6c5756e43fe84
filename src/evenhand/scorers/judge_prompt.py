"""Prompts for judges: text files with a version, filled in once, with what is judged between marks.

How this works: a file in `prompts/` has a head that says its version, what the system says, and what the user says,
each after a line `---`. Lines between `{#word}` and `{/word}` stay where the word is given and not empty, those between
`{^word}` and `{/word}` where it is not. Then each `{word}` is filled in, in one pass: what is filled in is never looked
at again. The mark is a hash of all that is filled in, so no text can hold the mark that stands around it, and the same
question is the same request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from evenhand.core.encoding import digest
from evenhand.core.message import Message, Prompt

_PLACE = re.compile(r"\{([a-z_]+)\}")
_BLOCK = re.compile(r"^\{([#^])([a-z_]+)\}\n(.*?)^\{/\2\}\n", re.DOTALL | re.MULTILINE)


def judge_prompt(name: str, values: Mapping[str, str]) -> tuple[str, Prompt]:
    """The version of a prompt of ours, and the prompt with these values in it.

    A value called `mark` is the mark; without one it is made of all the values.
    """
    version, *parts = template(name)
    filled = {"mark": mark_of(*values.values()), **values}

    def chosen(match: re.Match[str]) -> str:
        return match[3] if bool(filled.get(match[2])) is (match[1] == "#") else ""

    system, user = (
        _PLACE.sub(lambda m: filled[m[1]], _BLOCK.sub(chosen, part)).strip() for part in parts
    )
    return version, conversation((Message("system", system), Message("user", user)))


def mark_of(*texts: str) -> str:
    """The mark for these texts."""
    return digest(*texts)[:12]


def fenced(tag: str, text: str, mark: str) -> str:
    """A text between lines that carry a mark."""
    return f"<{tag} {mark}>\n{text}\n</{tag} {mark}>"


def conversation(messages: tuple[Message, ...]) -> Prompt:
    """A prompt made of these messages."""
    return Prompt(messages, "\n\n".join(str(message.content) for message in messages))


@cache
def template(name: str) -> tuple[str, str, str]:
    """A judge prompt of ours: its version, what the system says, and what the user says."""
    source = (Path(__file__).parent / "prompts" / f"{name}.md").read_text("utf-8")
    _, head, system, user = re.split(r"^---\n", source, maxsplit=3, flags=re.MULTILINE)
    version = next(
        line.removeprefix("version:").strip()
        for line in head.splitlines()
        if line.startswith("version:")
    )
    return version, system.strip() + "\n", user.strip() + "\n"
