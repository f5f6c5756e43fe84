"""Prompts for judges: text files with a version, filled in once, with what is judged between marks.

How this works: a file in `prompts/` has a head that says its version, what the system says, and what the user says,
each after a line `---`. Lines between `{#word}` and `{/word}` stay where the word is given and not empty, those between
`{^word}` and `{/word}` where it is not. Then each `{word}` is filled in, in one pass: what is filled in is never looked
at again. The mark is a hash of all that is filled in, so no text can hold the mark that stands around it, and the same
question is the same request.

A file may have a fourth part: the question as a decision model is asked it. `{word}` is filled in there, too; `{@word}`
names the text, which goes apart from the question. The head says how the decision is read: `key` is the verdict's key
in a judge's answer, `kind` is choice or level where it is no yes or no, and `option` lines are what there is to choose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import field

from evenhand.core.decision import DecisionQuestion, place_of, words_only
from evenhand.core.encoding import digest
from evenhand.core.message import Message, Prompt
from evenhand.core.record import Record

_PLACE = re.compile(r"\{(@?[a-z_]+)\}")
_OF_QUESTION = frozenset({"context", "examples"})
_BLOCK = re.compile(r"^\{([#^])([a-z_]+)\}\n(.*?)^\{/\2\}\n", re.DOTALL | re.MULTILINE)


class DecisionForm(Record, frozen=True, kw_only=True):
    """A judge's question as a decision model is asked it, and what its decision is in a judge's answer.

    Attributes:
        instrument: A digest of what is asked, apart from what is judged.
        graded: The key under which the probability is given as a score; empty for none.
    """

    question: DecisionQuestion
    instrument: str
    version: str
    key: str
    graded: str = ""


class JudgePrompt(Prompt, frozen=True):
    """A prompt for a judge, which can be asked of a decision model as well where it has `decision`."""

    decision: DecisionForm | None = None


class Template(Record, frozen=True):
    """A judge prompt of ours.

    Attributes:
        decision: What a decision model is asked; empty where none can be.
        head: What the file says of itself, by key; a key that is there several times has several values.
    """

    version: str
    system: str
    user: str
    decision: str = ""
    head: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])


def judge_prompt(
    name: str, values: Mapping[str, str], options: Sequence[tuple[str, str]] = ()
) -> tuple[str, JudgePrompt]:
    """The version of a prompt of ours, and the prompt with these values in it.

    A value called `mark` is the mark; without one it is made of all the values.

    Args:
        options: What a decision model can choose from, or the levels from the lowest to the highest: each a name and
            what it stands for; none for those that the prompt names.
    """
    source = template(name)
    filled = {"mark": mark_of(*values.values()), **values}
    system, user = _filled(source.system, filled), _filled(source.user, filled)
    plain = conversation((Message("system", system), Message("user", user)))
    form = _decision(source, filled, options) if source.decision else None
    return source.version, JudgePrompt(plain.messages, plain.text, decision=form)


def _filled(part: str, values: Mapping[str, str]) -> str:
    def chosen(match: re.Match[str]) -> str:
        return match[3] if bool(values.get(match[2])) is (match[1] == "#") else ""

    return _PLACE.sub(lambda m: values[m[1]], _BLOCK.sub(chosen, part)).strip()


def _decision(
    source: Template, values: Mapping[str, str], options: Sequence[tuple[str, str]]
) -> DecisionForm | None:
    """The question for a decision model; None where there is nothing to choose from."""
    kind = source.head.get("kind", ("yes_no",))[0]
    lines = (line.partition(" | ") for line in source.head.get("option", ()))
    options = tuple(options) or tuple((option, words) for option, _, words in lines)
    if kind not in ("choice", "level"):
        kind, options = "yes_no", ()
    elif not options:
        return None
    named = {key.removeprefix("@") for key in _PLACE.findall(source.decision) if key[0] == "@"}
    words = {key: words_only(text) for key, text in values.items()}
    places = {f"@{key}": place_of(key) for key in named}
    wording = _filled(source.decision, {**words, **places})
    question = DecisionQuestion(
        kind="level" if kind == "level" else "choice" if kind == "choice" else "yes_no",
        words=wording,
        about={key: values[key] for key in named if place_of(key) in wording},
        options=tuple(options),
    )
    head = source.head
    # Examples and a context are of the question, and no text that is judged. Marks are made of that, too.
    parts = [
        (key, values[key].replace(values["mark"], ""))
        for key in _OF_QUESTION & question.about.keys()
    ]
    return DecisionForm(
        question=question,
        instrument=digest(question.instrument, *map(str, sorted(parts)))[:16]
        if parts
        else question.instrument,
        version=head["decision"][0],
        key=head["key"][0],
        graded=head.get("graded", ("",))[0],
    )


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
def template(name: str) -> Template:
    """A judge prompt of ours."""
    source = (Path(__file__).parent / "prompts" / f"{name}.md").read_text("utf-8")
    _, top, *parts = re.split(r"^---\n", source, maxsplit=4, flags=re.MULTILINE)
    head: dict[str, list[str]] = {}
    for line in top.splitlines():
        key, _, value = line.partition(":")
        head.setdefault(key, []).append(value.strip())
    system, user, *decision = (part.strip() + "\n" for part in parts)
    return Template(head["version"][0], system, user, "".join(decision), head)
