"""What is plainly wrong with an eval file that could not be imported, beside what ended the import.

Its lines are read, not run: what its sets provide is what `EvalSet(…)` says in words, and the fixtures of the file.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evenhand.core.errors import Problem
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.prechecks import KnownValues, plain, unprovided

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign)


def problems_beside(file: Path, names: Mapping[str, Any], line: int) -> Iterator[Problem]:
    """What is plainly wrong with the lines of a file that could not be imported, beside what ended the import.

    Args:
        names: What the file had made by then.
        line: Where it ended.
    """
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    # Names that lines from the failure on set: their values are missing, or are not the final ones.
    made_later = {
        name.id
        for statement in tree.body
        if (statement.end_lineno or 0) >= line and not isinstance(statement, _FUNCTIONS)
        for name in ast.walk(statement)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    yield from _unprovided(tree, file, names)
    for statement in tree.body:
        own = set(made_later)
        if isinstance(statement, _FUNCTIONS):
            if not any(_adds(decorator, "eval") for decorator in statement.decorator_list):
                continue
            own |= {node.arg for node in ast.walk(statement) if isinstance(node, ast.arg)}
            own |= {
                node.id
                for node in ast.walk(statement)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
        elif statement.lineno <= line or not isinstance(statement, _SIMPLE):
            continue
        yield from plain(statement, KnownValues(own, names), None, str(file), 1)


def _unprovided(tree: ast.Module, file: Path, names: Mapping[str, Any]) -> Iterator[Problem]:
    """What evals and fixtures ask for and nobody provides, for the sets of which it is known what they provide."""
    functions = [one for one in tree.body if isinstance(one, _FUNCTIONS)]
    for called, provided in _sets(tree, names).items():
        fixtures = {one.name for one in functions if _added(one, called, "fixture")}
        there = provided | fixtures
        for one in functions:
            if _added(one, called, "eval") or one.name in fixtures:
                line = one.decorator_list[0].lineno
                yield from unprovided(there, one.name, _parameters(one.args), str(file), line)


def _sets(tree: ast.Module, names: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """What sets provide beside fixtures, by the name that the file has for them; a judge may be named elsewhere."""
    sets = {name: one.names(judged=True) for name, one in names.items() if isinstance(one, EvalSet)}
    for statement in tree.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        call, target = statement.value, statement.targets[0]
        if not isinstance(target, ast.Name) or ast.unparse(call.func).split(".")[-1] != "EvalSet":
            continue
        arguments = {keyword.arg: keyword.value for keyword in call.keywords}
        over = arguments.get("over", ast.Dict([], []))
        # `**` or a variable may hold axes that cannot be seen here.
        if None in arguments or not isinstance(over, ast.Dict):
            continue
        axes = {key.value for key in over.keys if isinstance(key, ast.Constant)}
        if len(axes) == len(over.keys):
            model = {"model"} if "model" in arguments else set[str]()
            talk = {"talk"} if "subject" in arguments else set[str]()
            provided = {"case", "expect", "repeat", "judge", *map(str, axes), *model, *talk}
            sets.setdefault(target.id, frozenset(provided))
    return sets


def _added(function: ast.FunctionDef | ast.AsyncFunctionDef, called: str, what: str) -> bool:
    """Whether a function is added to the set that is called so, and is its own: nothing else decorates it."""
    decorators = function.decorator_list
    return len(decorators) == 1 and _adds(decorators[0], what, called)


def _adds(decorator: ast.expr, what: str, called: str = "") -> bool:
    """Whether a decorator adds an eval, or a fixture, to a set; to the one that is called so, where it is named."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (
        isinstance(function, ast.Attribute)
        and function.attr == what
        and (not called or ast.unparse(function.value) == called)
    )


def _parameters(arguments: ast.arguments) -> Iterator[inspect.Parameter]:
    """The parameters of a function, those that take any number left out."""
    missing = inspect.Parameter.empty
    placed = [*arguments.posonlyargs, *arguments.args]
    for place, arg in enumerate(placed):
        by_place = place < len(arguments.posonlyargs)
        kind = (
            inspect.Parameter.POSITIONAL_ONLY
            if by_place
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        has_default = place >= len(placed) - len(arguments.defaults)
        yield inspect.Parameter(arg.arg, kind, default=None if has_default else missing)
    for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        kind = inspect.Parameter.KEYWORD_ONLY
        yield inspect.Parameter(arg.arg, kind, default=missing if default is None else None)
