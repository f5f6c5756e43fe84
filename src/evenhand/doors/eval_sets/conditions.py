"""The code of conditions: what an eval's `expect(…)` says in Python, so that another condition is another test.

A condition is known by its label. Of `expect(polite, "is polite")`, what counts is the condition as it is written, what
the eval assigns to its names, and the functions and constants of the file that these name. What answers doesn't count:
what the eval returns, what comes of `await`, of a fixture, of a model or of a module of the application, what calls
these, and a function of the file that is given the case and nothing else, as in `bot(case.input)`. So an edit of the
application is no edit of the test. Labels that are put together as the eval runs aren't known.
"""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from pathlib import Path
from types import FunctionType, MethodType
from typing import ClassVar

from evenhand.core.definition import LETTERS
from evenhand.core.encoding import digest
from evenhand.core.record import Record
from evenhand.doors.eval_sets.evalset import Eval
from evenhand.doors.eval_sets.project_files import (
    bound_names,
    names_not_theirs,
    root_name,
    text_of,
)

FORM = "ast"
"""Before each digest, as the version of Python is before those of compiled code."""
ASSERTS = ""
"""Instead of a label: what the plain `assert` statements are known by together."""
_EXPECT = "expect"
_THAT = "that"
_CASE = "case"
_GIVEN = frozenset({_EXPECT, _CASE, "repeat"})
"""Parameters of an eval that answer nothing."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class TestLines(Record, frozen=True):
    """Where a test of pytest's stands."""

    __test__: ClassVar = False  # for pytest

    path: Path
    first: int
    last: int


def lines_of(test: Callable[..., object]) -> TestLines:
    """Where the code of a test stands; of one without code of Python's, nowhere."""
    plain = inspect.unwrap(test)
    if not isinstance(plain, FunctionType | MethodType):
        return TestLines(Path(), 0, 0)
    code = plain.__code__
    lines = [line for *_, line in code.co_lines() if line]
    return TestLines(Path(code.co_filename), code.co_firstlineno, max(lines))


@lru_cache(maxsize=256)
def conditions_of(eval_: Eval | TestLines) -> Mapping[str, str]:
    """A digest of each condition and each number of an eval, by its label; empty where its file can't be read.

    The file is read once for an eval that was loaded, so that an edit in the middle of a run makes no difference.
    """
    try:
        source = _Source(ast.parse(eval_.path.read_bytes()))
        return source.conditions(eval_.first, eval_.last)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}


class _Source:
    """A file of evals."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self.statements: defaultdict[str, list[ast.stmt]] = defaultdict(list)
        self.application = set[str]()
        """Names from modules that are neither ours nor Python's, and those of the file that call them."""
        for statement in tree.body:
            names = [*bound_names(statement)]
            if isinstance(statement, ast.Import | ast.ImportFrom):
                if not names_not_theirs(statement):
                    self.application |= {*names}
                continue
            for name in names:
                self.statements[name].append(statement)
        calling = self._calling()
        while calling - self.application:
            self.application |= calling
            calling = self._calling()

    def _calling(self) -> set[str]:
        return {
            name
            for name, statements in self.statements.items()
            if any(_answers(one, self.application) for one in statements)
        }

    def conditions(self, first: int, last: int) -> dict[str, str]:
        """What is expected in these lines, and in the functions of the file that these call."""
        waiting: list[ast.stmt] = [
            one for one in self._tree.body if one.lineno <= last and first <= (one.end_lineno or 0)
        ]
        known = set[int]()
        parts: defaultdict[str, list[str]] = defaultdict(list)
        while waiting:
            statement = waiting.pop()
            if id(statement) in known or not isinstance(statement, _Function | ast.ClassDef):
                continue
            known.add(id(statement))
            for function in ast.walk(statement):
                if isinstance(function, _Function):
                    code = _Code(self, function)
                    for label, nodes in (*_expected(function), *_asserted(function)):
                        parts[label].append(code.text(nodes))
            for name in _names([statement]):
                waiting += [one for one in self.statements.get(name, ()) if _expects(one)]
        return {
            label: f"{FORM}:{digest(*sorted(set(texts)))[:LETTERS]}"
            for label, texts in parts.items()
        }


class _Code:
    """The code of one function that expects something."""

    def __init__(self, source: _Source, function: _Function) -> None:
        self._source = source
        parameters = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
        self._application = source.application | parameters - _GIVEN
        self._values: defaultdict[str, list[ast.AST]] = defaultdict(list)
        """By name, what the function makes of it."""
        self._closed = parameters
        """Names that aren't looked into: they come from outside, or are the output."""
        for node in ast.walk(function):
            for name, value in _assigned(node):
                self._values[name].append(value)
            if isinstance(node, ast.Return) and node.value is not None:
                self._closed |= _names([node.value])
        cases = {_CASE, *_parametrized(function)}
        for node in ast.walk(function):
            # A function of the file that is given a case, and nothing that came of one, is what is tested.
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                arguments = _names([*node.args, *node.keywords])
                if (
                    arguments & cases
                    and not arguments & self._values.keys()
                    and node.func.id != _EXPECT
                ):
                    self._application.add(node.func.id)

    def text(self, nodes: Sequence[ast.AST]) -> str:
        """What these consist of."""
        texts, known = [*map(text_of, nodes)], set[str]()
        waiting = _names(nodes)
        while waiting:
            name = waiting.pop()
            if name in known or name in self._closed or name in self._application:
                continue
            known.add(name)
            values = self._values.get(name) or self._source.statements.get(name, ())
            if not any(_answers(value, self._application) for value in values):
                texts += sorted(map(text_of, values))
                waiting |= _names(values)
        return "\n".join([*texts[: len(nodes)], *sorted(texts[len(nodes) :])])


def _parametrized(test: _Function) -> Iterator[str]:
    """The parameters of a test of pytest's that `parametrize` fills in."""
    for one in test.decorator_list:
        if isinstance(one, ast.Call) and one.args and ast.unparse(one.func).endswith("parametrize"):
            names = [part for part in ast.walk(one.args[0]) if isinstance(part, ast.expr)]
            for text in map(_literal, names):
                yield from text.replace(",", " ").split()


def _answers(node: ast.AST, application: AbstractSet[str]) -> bool:
    """Whether code asks the application: it awaits something, or calls what has one of these names."""
    return any(
        isinstance(one, ast.Await) or (isinstance(one, ast.Call) and root_name(one) in application)
        for one in ast.walk(node)
    )


def _expected(function: _Function) -> Iterator[tuple[str, Sequence[ast.AST]]]:
    """What a function expects, each with its label: conditions, numbers, and blocks of `expect.that`."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == _EXPECT and node.args and (label := _label(node)):
                yield label, node.args[:1]
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                call = item.context_expr
                if (
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Attribute)
                    and (call.func.attr, root_name(call)) == (_THAT, _EXPECT)
                    and call.args
                    and (label := _literal(call.args[0]))
                ):
                    yield label, node.body


def _asserted(function: _Function) -> Iterator[tuple[str, Sequence[ast.AST]]]:
    """What a function asserts by itself, outside of blocks of `expect.that`."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Assert):
            yield ASSERTS, [node.test]
        elif not isinstance(node, _Function | ast.Lambda) and not (
            isinstance(node, ast.With | ast.AsyncWith)
            and any(root_name(item.context_expr) == _EXPECT for item in node.items)
        ):
            waiting += ast.iter_child_nodes(node)


def _label(call: ast.Call) -> str:
    """The label of a condition or a number; empty for what has a scorer, or a label that isn't written out."""
    if len(call.args) > 1:
        return _literal(call.args[1])
    return next((_literal(one.value) for one in call.keywords if one.arg == "label"), "")


def _literal(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _expects(statement: ast.stmt) -> bool:
    """Whether a function has expectations or asserts in it."""
    return isinstance(statement, _Function) and any(
        isinstance(node, ast.Assert) or (isinstance(node, ast.Name) and node.id == _EXPECT)
        for node in ast.walk(statement)
    )


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The names that a node gives a value, each with that, and those that it adds something to."""
    targets: list[ast.expr] = []
    value: ast.AST | None = None
    if isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        targets, value = [node.target], node.value
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        targets, value = [node.target], node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        targets, value = [node.optional_vars], node.context_expr
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        # `found.append(…)`: what a list consists of.
        if (name := root_name(node.value)) and name != _EXPECT:
            yield name, node.value
    elif isinstance(node, _Function):
        yield node.name, node
    if value is not None:
        for target in targets:
            for one in ast.walk(target):
                if isinstance(one, ast.Name):
                    yield one.id, value


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {
        one.id
        for node in nodes
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
    }
