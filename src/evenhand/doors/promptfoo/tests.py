"""A test: as it is written, and as it is run, with the cases that it stands for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from evenhand.core.case import case_id
from evenhand.core.errors import Problem
from evenhand.core.json_shapes import is_array
from evenhand.core.record import MutableRecord, Record
from evenhand.core.selecting import Selector
from evenhand.doors.assertions.reading import Expected
from evenhand.doors.promptfoo.models import Subject
from evenhand.doors.promptfoo.simulated_users import TestUser
from evenhand.languages.documents.findings import At, Findings, Place


class WrittenTest(Record, frozen=True):
    """A test as written.

    Attributes:
        at: Where its parts are written.
        data: It comes from a dataset: its variables are data, in which nothing is filled in and no file is named.
        name: Its description where it has none.
        home: The folder that paths in its own `provider` start from; None where that is not asked.
    """

    value: Mapping[str, Any]
    at: At
    data: bool = False
    name: str = ""
    home: Path | None = None


class TestSource(Protocol):
    """Some tests. `path` is None for those in the config itself."""

    __test__ = False  # for pytest

    @property
    def path(self) -> Path | None: ...

    def rows(self, findings: Findings) -> Iterator[WrittenTest]:
        """The tests, in their order; problems with the file itself are noted, and the rows concerned left out."""
        ...


class Line(Record, frozen=True):
    """Where the parts of a row in a data file are: all on its line."""

    path: Path
    number: int

    def __call__(self, *path: str | int) -> Place:
        del path
        return Place(self.path, self.number)


ONLY_TEXT = frozenset({str})
"""The types of variables that are texts and nothing else."""


class Test(MutableRecord, kw_only=True):
    """One test, ready to be run.

    Attributes:
        variables: As written, lists not yet spread.
        files: The variables whose value names a file.
        tagged: The variables in which tags are filled in: written in the config, with tags in them.
        expected: What makes its expectations, and who judges.
        raw: As written, for graders.
        stores: The variable that its output becomes for later tests; empty for none.
        listens: It is told what was said before, where its prompt asks for that.
        alone: It is run before all others, with nothing else under way.
        scoring: The file of the function that says what its assertions come to; empty for none.
        repeats: How often it is repeated; None for as often as all.
        transform_vars: Changes its variables before anything is filled in.
        literal: `prefix` and `suffix` are data: no tag in them is filled in.
        problem: Why it cannot come to a verdict in any variant, as far as its files say; None where it may.
        settings: What its options say to the model: they go over those of the prompt and of the provider.
        user: Who talks with the model; None where the prompt is all that it is asked.
        subject: The model that it asks in place of its variants' own; None where it names none.
        shown: As the results show it: assertions and options with those of `defaultTest`, secrets removed.
    """

    description: str
    variables: Mapping[str, Any]
    files: frozenset[str]
    tagged: frozenset[str]
    expected: Expected
    threshold: float | None
    prefix: str
    suffix: str
    transform: str
    spread: bool
    metadata: Mapping[str, Any]
    provider_output: Any
    providers: tuple[str, ...] | None
    prompts: tuple[str, ...] | None
    raw: Mapping[str, Any]
    literal: bool = False
    stores: str = ""
    listens: bool = True
    alone: bool = False
    scoring: str = ""
    repeats: int | None = None
    transform_vars: str = ""
    settings: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    shown: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    problem: Problem | None = None
    user: TestUser | None = None
    subject: Subject | None = None

    def cases(self) -> Iterator[Mapping[str, Any]]:
        """The variables of each case: every combination of the lists of text among them, the last varying fastest."""
        lists = self.spreading()
        if not lists:
            yield self.variables
            return
        for values in itertools.product(*lists.values()):
            yield {**self.variables, **dict(zip(lists, values, strict=True))}

    def count(self) -> int:
        """How many cases."""
        return math.prod(map(len, self.spreading().values()))

    def spreading(self) -> Mapping[str, list[Any]]:
        """The lists of text among its variables, every combination of which is a case."""
        if not self.spread or ONLY_TEXT.issuperset(map(type, self.variables.values())):
            return {}
        return {
            k: v for k, v in self.variables.items() if is_array(v) and v and isinstance(v[0], str)
        }


def named(patterns: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Whether one of these is wanted: by its name, by what comes before a colon in it, or by a pattern with a star."""
    return any(
        name == pattern
        or name.startswith(f"{pattern}:")
        or (pattern.endswith("*") and name.startswith(pattern[:-1]))
        for pattern in patterns
        for name in names
        if name
    )


def takes(selector: Selector, test: Test) -> bool:
    """Whether what a test says is what is looked for."""
    return selector.takes(
        lambda: map(case_id, test.cases()), test.description, test.variables.values(), test.metadata
    )
