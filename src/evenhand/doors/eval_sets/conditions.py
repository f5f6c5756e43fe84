"""The code of conditions: what an eval's `expect(…)` says in Python, so that another condition is another test.

A condition is known by its label. Of `expect(polite, "is polite")`, what counts is the condition as it is written, what
the eval assigns to its names, and the functions and constants of the file that these name, with the data files that
constants are read from (`GOLD = json.loads(…)`); of other modules of the user's, such data, numbers, lists, sets and
dicts that it names. What answers doesn't count: what the eval returns, what comes of `await`, of a fixture, of a model
or of a module of the application, what calls these, and a function of the file that is given the case and nothing else,
as in `bot(case.input)`. So an edit of the application is no edit of the test.

Of a label that is put together, what is written of it has to fit: `f"has {word}"` is `has refund`. A function that
lies elsewhere, and is given `expect`, is looked at where it lies when it expects something. One that is only called,
and asserts something, is a plain assert.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import NamedTuple

from msgspec import field

from evenhand.core.definition import LETTERS, file_digest
from evenhand.core.encoding import digest
from evenhand.core.record import Record
from evenhand.core.source_code import FORM, imported_text
from evenhand.core.users_code import (
    bound_names,
    file_of_module,
    is_own,
    kept_text,
    text_of_node,
    users_frame,
)
from evenhand.doors.eval_sets.evalset import Eval
from evenhand.doors.eval_sets.project_files import (
    called_name,
    names_not_theirs,
    root_name,
)

ASSERTS = ""
"""Instead of a label: what the plain `assert` statements are known by together."""
_ANY = ".*"
_EXPECT = "expect"
_THAT = "that"
_CASE = "case"
_GIVEN = frozenset({_EXPECT, _CASE, "repeat"})
"""Parameters of an eval that answer nothing."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_TABLES = frozenset("dict float frozenset int list set tuple".split())
_DATA = re.compile(r"\.(?:jsonl?|csv|tsv|ya?ml|toml|parquet|xlsx)=")
"""A file of data and its digest: a text of another module's may be a prompt."""
_WRITTEN = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.List, ast.Tuple, ast.Set, ast.Dict)
"""Expressions that are a number or a table as they are written."""


class Conditions(Record, frozen=True):
    """Digests of the conditions, the numbers and the plain asserts of an eval."""

    by_label: dict[str, str] = field(default_factory=dict)
    patterns: tuple[tuple[str, str], ...] = ()
    """Of labels that are put together: patterns of what is written of them, each with its digest."""
    whole: str = ""
    """A digest of code that states conditions by another name than `expect`; empty for any other."""

    @property
    def asserts(self) -> str:
        """What the plain asserts are known by together; empty where there are none."""
        return self.by_label.get(ASSERTS, "")

    def digest(self, label: str) -> str:
        """The digest of the conditions that may have this label; empty where none is known."""
        if (code := self.by_label.get(label)) is not None:
            return code
        fitting = [one for one in self.patterns if re.fullmatch(one[0], label, re.DOTALL)]
        # A label of which nothing is written fits everything.
        codes = [code for pattern, code in fitting if pattern != _ANY] or [c for _, c in fitting]
        return _digest(codes) if codes else self.whole


@lru_cache(maxsize=256)
def conditions_of(eval_: Eval) -> Conditions:
    """The conditions of an eval, and of the functions of its file that it calls; none where that can't be read.

    The file is read once for an eval that was loaded, so that an edit in the middle of a run makes no difference.
    """
    function = inspect.unwrap(eval_.function)
    code = function.__code__ if isinstance(function, FunctionType) else None
    here = code is not None and Path(code.co_filename) == eval_.path
    text = imported_text(code) if code is not None and here else kept_text(str(eval_.path))
    return _read_conditions(text, eval_.path, eval_.first, eval_.last)


def conditions_in(test: Callable[..., object]) -> Conditions:
    """The conditions of a test of pytest's; none of one without code of Python's."""
    plain = inspect.unwrap(test)
    is_python = isinstance(plain, FunctionType | MethodType)
    return _conditions_in(_Loaded(plain.__code__)) if is_python else Conditions()


def digest_here(label: str) -> str:
    """The digest of the condition that the user's code is stating as this is called; empty where it can't be known."""
    frame = users_frame()
    return "" if frame is None else _conditions_in(_Loaded(frame.f_code)).digest(label)


class _Loaded:
    """Code as it was imported: the same lines of an edited file, imported once more, are other code."""

    __slots__ = ("code",)

    def __init__(self, code: CodeType) -> None:
        self.code = code

    def __hash__(self) -> int:
        return id(self.code)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Loaded) and other.code is self.code


@lru_cache(maxsize=1024)
def _conditions_in(loaded: _Loaded) -> Conditions:
    return _read_conditions(imported_text(loaded.code), *_lines(loaded.code))


def _lines(code: CodeType) -> tuple[Path, int, int]:
    """The file of some code, its first line and its last."""
    last = max((line for *_, line in code.co_lines() if line), default=code.co_firstlineno)
    return Path(code.co_filename), code.co_firstlineno, last


def _read_conditions(text: str, path: Path, first: int, last: int) -> Conditions:
    try:
        return _source(path, text).conditions(first, last)
    except (SyntaxError, ValueError, RecursionError):
        return Conditions()


@lru_cache(maxsize=16)  # a file may have many evals
def _source(path: Path, text: str) -> _Source:
    return _Source(ast.parse(text), path)


_within: ContextVar[tuple[_Function, ...]] = ContextVar("evenhand_asserting", default=())
"""The functions of other modules that are being looked into: each may call one that leads back to it."""


class _Source:
    """A file of evals."""

    def __init__(self, tree: ast.Module, path: Path) -> None:
        self._tree, self._path = tree, path
        self.statements: defaultdict[str, list[ast.stmt]] = defaultdict(list)
        self.application = set[str]()
        """Names from modules that are neither ours nor Python's, and those of the file that call them."""
        self.imported: dict[str, tuple[str, int, str]] = {}
        """Of each of these names: the module, the dots before it, and the name there; empty for the module itself."""
        for node in ast.walk(tree):  # a function may import what it needs
            if isinstance(node, ast.Import | ast.ImportFrom) and not names_not_theirs(node):
                self.application |= {*bound_names(node)}
                self.imported |= {**_imports(node), **self.imported}
        for statement in tree.body:
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                for name in bound_names(statement):
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

    def data(self, statements: Iterable[ast.AST]) -> list[str]:
        """Digests of the files that are read as the module is imported, where a name is given what is in them.

        What a function reads may be what the application wrote.
        """
        names = {
            "/".join(parts)
            for statement in statements
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value
            for node in ast.walk(statement.value)
            if (parts := _path_parts(node))
        }
        paths = [self._path.parent / name for name in sorted(names) if "." in name]
        return [f"{path.name}={file_digest(path)}" for path in paths if path.is_file()]

    def constant(self, node: ast.AST) -> str:
        """A number, list, set or dict that this names in another module of the user's, as written there, or data.

        Its value may change while the application runs. Empty for anything else: a text may be the prompt.
        """
        source, name = self._place(node)
        if source is None:
            return ""
        if name in source.imported:
            return source.constant(ast.Name(name, ast.Load()))
        statements = source.statements.get(name, ())
        values = [_table(one) for one in statements]
        tables = [] if None in values else map(text_of_node, values)
        return " ".join([*tables, *filter(_DATA.search, source.data(statements))])

    def asserted_elsewhere(self, node: ast.AST) -> str:
        """A digest of what a function of another module asserts, if this is a statement that only calls it."""
        called = _called_alone(node)
        return "" if called is None else self.asserted_in(called)

    def _leads_to_asserts(self, statement: ast.stmt, around: frozenset[str] = frozenset()) -> bool:
        """Whether a function expects or asserts something, or has others that are only called do so."""
        if not isinstance(statement, _Function) or statement.name in around:
            return False
        around |= {statement.name}
        return (
            _expects(statement)
            or any(
                self._leads_to_asserts(one, around)
                for node in ast.walk(statement)
                if isinstance(called := _called_alone(node), ast.Name)
                for one in self.statements.get(called.id, ())
            )
            or any(map(self.asserted_elsewhere, ast.walk(statement)))
        )

    def asserted_in(self, node: ast.AST) -> str:
        """A digest of what the function of another module asserts that this names."""
        source, name = self._place(node)
        if source is None:
            return ""
        if name in source.imported:
            return source.asserted_in(ast.Name(name, ast.Load()))
        functions = [one for one in source.statements.get(name, ()) if isinstance(one, _Function)]
        if not functions:
            return ""
        function, around = functions[-1], _within.get()
        if function in around:
            return ""
        token = _within.set((*around, function))
        try:
            last = function.end_lineno or function.lineno
            return source.conditions(function.lineno, last).asserts
        finally:
            _within.reset(token)

    def _place(self, node: ast.AST) -> tuple[_Source | None, str]:
        """The module of the user's that this names something in, and its name there; None for what isn't imported."""
        root, part = node, ""
        if isinstance(node, ast.Attribute):
            root, part = node.value, node.attr
        if not isinstance(root, ast.Name) or root.id not in self.imported:
            return None, ""
        module, dots, name = self.imported[root.id]
        if name and part:  # `from package import module`
            module = f"{module}.{name}".strip(".")
        file = Path(self._beside(module, dots) if dots else file_of_module(module))
        try:
            return _source(file, kept_text(str(file))), part or name
        except (OSError, SyntaxError, ValueError, RecursionError):
            return None, ""

    def _beside(self, module: str, dots: int) -> str:
        """The file of the module that `from .module import` means in this file; empty where there is none."""
        above = self._path.parents[min(dots, len(self._path.parents)) - 1]
        path = above.joinpath(*filter(None, module.split(".")))
        files = (str(path.with_suffix(".py")), str(path / "__init__.py"))
        return next((file for file in files if Path(file).is_file() and is_own(file)), "")

    def conditions(self, first: int, last: int) -> Conditions:
        """What is expected in these lines, and in the functions of the file that these call."""
        waiting: list[ast.stmt] = [
            one for one in self._tree.body if one.lineno <= last and first <= (one.end_lineno or 0)
        ]
        known, own = set[int](), [*waiting]
        parts: defaultdict[_Label, list[str]] = defaultdict(list)
        while waiting:
            statement = waiting.pop()
            if id(statement) in known or not isinstance(statement, _Function | ast.ClassDef):
                continue
            known.add(id(statement))
            for function in ast.walk(statement):
                if isinstance(function, _Function):
                    code = _Code(self, function)
                    for label, nodes in (*_expected(function), *_asserted(function, self)):
                        parts[label].append(code.text(nodes, label.names))
            for name in _names([statement]):
                waiting += filter(self._leads_to_asserts, self.statements.get(name, ()))
        digests = {label: _digest(sorted(set(texts))) for label, texts in parts.items()}
        # What is given `expect` under another name has none of these: any of it may be the condition.
        there = [f for one in own for f in ast.walk(one) if isinstance(f, _Function)]
        there = [f for f in there if f.lineno <= last <= (f.end_lineno or 0)]
        inner = max(there, key=lambda function: function.lineno, default=None)
        is_unnamed = inner is not None and _EXPECT not in _names([inner])
        return Conditions(
            {one.text: code for one, code in digests.items() if not one.is_pattern},
            tuple((one.text, code) for one, code in digests.items() if one.is_pattern),
            _digest([text_of_node(inner)]) if is_unnamed else "",
        )


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

    def text(self, nodes: Sequence[ast.AST], told: AbstractSet[str]) -> str:
        """What these consist of.

        Args:
            nodes: The condition, or the statements of a block.
            told: Names whose values the label tells.
        """
        texts, known = [*map(text_of_node, nodes), *self._constants(nodes)], set[str](told)
        waiting = _names(nodes)
        while waiting:
            name = waiting.pop()
            if name in known or name in self._closed or name in self._application:
                continue
            known.add(name)
            own = self._values.get(name)
            values = own or self._source.statements.get(name, ())
            if not any(_answers(value, self._application) for value in values):
                texts += sorted([*map(text_of_node, values), *self._constants(values)])
                texts += [] if own else self._source.data(values)
                waiting |= _names(values)
        return "\n".join([*texts[: len(nodes)], *sorted(texts[len(nodes) :])])

    def _constants(self, nodes: Iterable[ast.AST]) -> Iterator[str]:
        """What is known of other modules of the user's: constants, and what functions assert that are only called."""
        for node in nodes:
            for one in ast.walk(node):
                if text := self._source.constant(one) or self._source.asserted_elsewhere(one):
                    yield f"{text_of_node(one)}={text}"


def _table(statement: ast.stmt) -> ast.expr | None:
    """The number or the table that a statement gives a name; None for anything else."""
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    is_made = isinstance(value, ast.Call) and root_name(value) in _TABLES
    if isinstance(value, ast.Constant | ast.BinOp) and any(map(_is_text, ast.walk(value))):
        return None
    return value if is_made or isinstance(value, _WRITTEN) else None


def _path_parts(node: ast.AST) -> list[str]:
    """The texts that a path is put together of: of `HERE / "data" / "gold.json"` two, of a text itself."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return [*_path_parts(node.left), *_path_parts(node.right)]
    text = node.value if isinstance(node, ast.Constant) else None
    return [text] if isinstance(text, str) and len(text) < 250 else []


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes | None)
    )


def _digest(texts: Iterable[str]) -> str:
    return f"{FORM}:{digest(*texts)[:LETTERS]}"


def _imports(statement: ast.Import | ast.ImportFrom) -> dict[str, tuple[str, int, str]]:
    """By each name that an import binds: the module, the dots before it, and the name there."""
    if isinstance(statement, ast.ImportFrom):
        module, dots = statement.module or "", statement.level
        return {one.asname or one.name: (module, dots, one.name) for one in statement.names}
    return {
        one.asname or one.name: (one.name, 0, "")
        for one in statement.names
        if one.asname or "." not in one.name
    }


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


class _Label(NamedTuple):
    """A label as it is written."""

    text: str
    is_pattern: bool = False
    """Whether the text is a pattern, as some of the label is put together while the eval runs."""
    names: frozenset[str] = frozenset()
    """The names that it is put together of."""


def _expected(function: _Function) -> Iterator[tuple[_Label, Sequence[ast.AST]]]:
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
                    and (label := _read_label(call.args[0]))
                ):
                    yield label, node.body


def _asserted(function: _Function, source: _Source) -> Iterator[tuple[_Label, Sequence[ast.AST]]]:
    """What a function asserts by itself, outside of blocks of `expect.that`, and has others assert."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Assert):
            yield _Label(ASSERTS), [node.test]
        elif source.asserted_elsewhere(node):
            yield _Label(ASSERTS), [node]
        elif not isinstance(node, _Function | ast.Lambda) and not (
            isinstance(node, ast.With | ast.AsyncWith)
            and any(root_name(item.context_expr) == _EXPECT for item in node.items)
        ):
            waiting += ast.iter_child_nodes(node)


def _label(call: ast.Call) -> _Label | None:
    """The label of a condition or a number; None for what has none, as it has a scorer."""
    if len(call.args) > 1:
        return _read_label(call.args[1])
    return next((_read_label(one.value) for one in call.keywords if one.arg == "label"), None)


def _read_label(node: ast.expr) -> _Label | None:
    if text := _literal(node):
        return _Label(text)
    is_scorer = isinstance(node, ast.Call) and called_name(node)[:1].isupper()
    if is_scorer or isinstance(node, ast.Constant | ast.Lambda):
        return None
    parts = node.values if isinstance(node, ast.JoinedStr) else ()
    pattern = "".join(re.escape(_literal(part)) or _ANY for part in parts) or _ANY
    return _Label(pattern, is_pattern=True, names=frozenset(_names([node])))


def _literal(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _called_alone(node: ast.AST) -> ast.expr | None:
    """What a statement calls that does nothing else; None for any other."""
    if not isinstance(node, ast.Expr):
        return None
    called = node.value.value if isinstance(node.value, ast.Await) else node.value
    return called.func if isinstance(called, ast.Call) else None


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
