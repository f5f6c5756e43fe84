"""A case: one row of a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import field

from evenhand.core.arguments import CheckedRecord
from evenhand.core.encoding import LastEncoded, digest, encode
from evenhand.core.record import Record


class Case(Record, frozen=True, metaclass=CheckedRecord):
    """One row: what goes in, and what should come out.

    Everything pairs by `id`, never by position: comparison, resume, repeats. Give your own where rows can move.

    Attributes:
        id: Unique in its dataset.
        vars: What templates and functions are given by name.
        input: The question, where the case has just one.
        expected: What a right answer is.
        context: Passages that go with it, for RAG.
        description: A line for people.
        tags: For selection and slices.
        metadata: Whatever else should travel with it.
    """

    id: str
    vars: Mapping[str, Any] = field(default_factory=dict)
    input: Any = None
    expected: Any = None
    context: tuple[str, ...] = ()
    description: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.description or self.id


def case_id(content: object) -> str:
    """An id made of what the case says: 12 hex digits, the same in every run until the content changes."""
    return digest(encode(content))[:12]


def copy_key_of(case: Case, test: Mapping[str, Any]) -> str:
    """A digest of all that a case says, whatever its id: two with the same one are copies of each other.

    Args:
        test: What a config wrote of it. Its description is a name for people, like the id.

    Returns:
        An empty text for a case without input and variables, or with something that cannot be written down: what tells
        such cases apart stands elsewhere.
    """
    if case.input is None and not case.vars:
        return ""
    options = test
    if "description" in test:
        options = {name: value for name, value in test.items() if name != "description"}
    parts = [case.input, case.vars, case.expected, case.context, case.tags, case.metadata]
    try:
        # The list of all of these and the options.
        return digest(b"%b,%b]" % (encode(parts)[:-1], _options.encode(options)))[:20]
    except (TypeError, ValueError):
        return ""


_options = LastEncoded()
