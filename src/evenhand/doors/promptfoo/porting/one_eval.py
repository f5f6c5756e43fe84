"""The eval of a printed file: what all its tests have in common, and tables for what they do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import field

from evenhand.core.case import Case
from evenhand.core.record import MutableRecord, Record
from evenhand.doors.promptfoo.porting.checks import checks, contests
from evenhand.doors.promptfoo.porting.literal import (
    WIDTH,
    Bracketed,
    Node,
    call,
    flat,
    led,
    literal,
)
from evenhand.doors.promptfoo.prompts import TextPrompt
from evenhand.doors.promptfoo.tests import Test
from evenhand.doors.promptfoo.variants import Combination
from evenhand.languages.templates.rendering import Templates, has_tags


class KeptTest(MutableRecord, kw_only=True):
    """A test that is carried over, as one case.

    Attributes:
        variables: Those of the case.
        known: What tags are filled in from; None where that is known in the trial only.
        changes: What makes the variables of a trial; None where they are those of the case.
        templates: Fill in its tags.
    """

    case: Case
    test: Test
    variables: Mapping[str, Any]
    known: Mapping[str, Any] | None
    changes: Node | None
    templates: Templates
    variants: dict[int, Combination] = field(default_factory=dict[int, Combination])
    repeats: int = 1

    @property
    def around(self) -> Node | None:
        """What stands before and after its prompt."""
        test = self.test
        if not test.prefix and not test.suffix:
            return None
        ends = (test.prefix, test.suffix)
        return literal(tuple(map(_untouched, ends)) if test.literal else ends)


class PrintedTable(Record, frozen=True):
    """Something that each key may have, or all of them alike."""

    name: str
    values: Mapping[str, Node]
    keys: int

    @property
    def shared(self) -> bool:
        """Whether all have it, and the same."""
        return len(self.values) == self.keys and len(set(map(flat, self.values.values()))) == 1

    @property
    def plural(self) -> str:
        """What the table is called."""
        return self.name if self.name.endswith("ED") else f"{self.name}S"

    @property
    def code(self) -> Node:
        """What defines it: the thing itself, or a table of them."""
        if self.shared:
            return led(f"{self.name} = ", next(iter(self.values.values())))
        items = [led(f"{flat(literal(key))}: ", value) for key, value in self.values.items()]
        return Bracketed(f"{self.plural} = {{", items, "}")

    def used(self, key: str, statement: str) -> str:
        """Lines that make use of it.

        Args:
            key: The expression by which it is looked up.
            statement: A line with `{}` in its place.
        """
        if not self.values:
            return ""
        if self.shared:
            return f"    {statement.format(self.name)}\n"
        line = statement.format(f"{self.plural}[{key}]")
        return f"    if {key} in {self.plural}:\n        {line}\n"


class PrintedEval:
    """The tables, and the eval.

    Attributes:
        tables: What is defined before it, and whether it is a table.
        text: Its code, decorators left out.
    """

    def __init__(self, tests: Sequence[KeptTest]) -> None:
        pairs = {i: pair for one in tests for i, pair in one.variants.items()}.values()
        models = {pair.variant.model: pair.subject.transform for pair in pairs}
        transforms = {k: call("Transform", literal(v)) for k, v in models.items() if v}
        self._of_models = PrintedTable("MODEL_TRANSFORM", transforms, len(models))
        self._kept = tests
        self._variables = self._table("VARIABLE", lambda one: one.changes)
        self._around = self._table("AROUND", lambda one: one.around)
        self._answers = self._table("ANSWER", _answer)
        self._transforms = self._table("TRANSFORM", _transform)
        self._with_arguments = False
        self._expected = self._table("EXPECTED", self._checks)
        self._compared = self._table("COMPARED", _contests)
        self._text = all(isinstance(pair.prompt, TextPrompt) for pair in pairs)
        self.tables: Sequence[tuple[Node, bool]] = [
            (table.code, not table.shared)
            for table in (
                self._variables,
                self._around,
                self._answers,
                self._of_models,
                self._transforms,
                self._expected,
                self._compared,
            )
            if table.values
        ]

    def _table(self, name: str, of: Callable[[KeptTest], Node | None]) -> PrintedTable:
        nodes = ((one.case.id, of(one)) for one in self._kept)
        values = {id_: node for id_, node in nodes if node is not None}
        return PrintedTable(name, values, len(self._kept))

    def _checks(self, one: KeptTest) -> Node | None:
        pairs = list(checks(one.test, one.known, one.templates))
        if not pairs:
            return None
        return Bracketed(
            "[",
            [
                Bracketed("(", [scorer, literal(arguments)], ")") if self._says else scorer
                for scorer, arguments in pairs
            ],
            "]",
        )

    @property
    def compare(self) -> str:
        """Who compares the outputs of a case, as an argument of the eval set; empty for nobody."""
        if not self._compared.values:
            return ""
        if self._compared.shared:
            return "compare=COMPARED"
        return "compare=lambda case: COMPARED.get(case.id, [])"

    @property
    def stores(self) -> bool:
        """Whether some outputs already exist."""
        return bool(self._answers.values)

    @property
    def _says(self) -> bool:
        """Whether anything is said of a scorer beside it."""
        if not self._with_arguments:
            self._with_arguments = any(
                arguments
                for one in self._kept
                for _, arguments in checks(one.test, one.known, one.templates)
            )
        return self._with_arguments

    def text(self, kinds: Sequence[str]) -> str:
        """The code of the eval, without its decorators.

        Args:
            kinds: The types of the prompts.
        """
        parameters = f"case: Case, prompt: {' | '.join(kinds)}, model: Model, expect: Expect"
        head = f"async def answers({parameters}) -> object:"
        if len(head) > WIDTH:
            head = f"async def answers(\n    {parameters}\n) -> object:"
        return (
            f"{head}\n"
            '    """Each answer meets what is expected of it."""\n'
            f"{self._asking()}"
            "    output = reply.text if reply.output is None else reply.output\n"
            f"{self._of_models.used('model.name', 'output = await {}(output)')}"
            f"{self._transforms.used('case.id', 'output = await {}(output)')}"
            f"{self._expecting()}"
            "    return output\n"
        )

    def _asking(self) -> str:
        lines = ""
        variables = "case.vars"
        if self._variables.values:
            variables = "variables"
            if not self._variables.shared:
                lines += "    variables = case.vars\n"
            lines += self._variables.used("case.id", "variables = await {}(case.vars, prompt)")
        lines += self._around.used("case.id", "prompt = prompt.between(*{})")
        filled = (
            f"prompt.render(**{variables})" if self._text else f"await prompt.filled({variables})"
        )
        if not self._answers.values:
            return f"{lines}    reply = await model.generate({filled})\n"
        lines += f"    filled = {filled}\n"
        if self._answers.shared:
            return f"{lines}    reply = stored(filled, ANSWER)\n"
        return (
            f"{lines}    if case.id in ANSWERS:\n"
            "        reply = stored(filled, ANSWERS[case.id])\n"
            "    else:\n"
            "        reply = await model.generate(filled)\n"
        )

    def _expecting(self) -> str:
        expected = self._expected
        if not expected.values:
            return ""
        where = "EXPECTED" if expected.shared else "EXPECTED[case.id]"
        if len(expected.values) < expected.keys:
            where = "EXPECTED.get(case.id, [])"
        if self._says:
            return (
                f"    for scorer, options in {where}:\n        expect(output, scorer, **options)\n"
            )
        return f"    for scorer in {where}:\n        expect(output, scorer)\n"


def _answer(one: KeptTest) -> Node | None:
    answer = one.test.provider_output
    return None if answer is None else literal(answer)


def _contests(one: KeptTest) -> Node | None:
    nodes = [*contests(one.test)]
    return Bracketed("[", nodes, "]") if nodes else None


def _transform(one: KeptTest) -> Node | None:
    return call("Transform", literal(one.test.transform)) if one.test.transform else None


def _untouched(text: str) -> str:
    """Text in which no tag is filled in."""
    return f"{{% raw %}}{text}{{% endraw %}}" if has_tags(text) else text
