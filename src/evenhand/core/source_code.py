"""What code says, as text that is the same in every version of Python, without comments, layout and docstrings.

Python compiles code to something else in each of its versions, so a check is known by its source: a baseline that was
made with Python 3.11 tells an edited check from an unedited one where the gate runs on 3.13, too.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING

from evenhand.core.users_code import bound_names, kept_text, text_of, text_of_node, texts

if TYPE_CHECKING:
    from typing_extensions import TypeIs

FORM = "ast"
"""Before each digest of source, as the version of Python is before those of compiled code."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def text_of_code(code: CodeType) -> str:
    """What a function takes and does, without its name and its decorators; empty where its source can't be read.

    Args:
        code: That of a function that was imported, or typed in a notebook. Where its file was edited since, it isn't
            known what it says.
    """
    nodes = functions_of(code)
    return " ".join(f"{text_of_node(node.args)} {text_of_node(node.body)}" for node in nodes)


def functions_of(code: CodeType) -> Sequence[_Function]:
    """The source of a function, as several of one line may have been compiled to it; empty where it can't be read."""
    source = _read(imported_text(code))
    if not _holds(source, code):
        return ()
    nodes = source.functions[code.co_name, code.co_firstlineno]
    return _innermost(nodes, code) if len(nodes) > 1 else nodes


def statements_in(file: str) -> Mapping[str, Sequence[ast.stmt]]:
    """By each name that is bound at the top of a file, the statements that bind it; empty where it can't be read."""
    source = _read(kept_text(file))
    return source.statements if source is not None else {}


def imported_text(code: CodeType) -> str:
    """The file of a function as it was when this was imported, as far as that is known; empty where nothing is.

    Of code that no text of the file is compiled to, as pytest's, it is the text that is kept.
    """
    before = texts.get(code.co_filename, "")
    if _holds(_read(before), code):
        return before
    # A file that was edited is read again, as it is imported again by `watch` and notebooks.
    text = text_of(code.co_filename)
    return text if not before or _holds(_read(text), code) else before


def fields_in(file: str, class_name: str) -> list[str] | None:
    """The annotated fields of a class, with their types and defaults; None where its source can't be read.

    Args:
        file: Where the class is defined.
        class_name: Its qualified name.
    """
    source = _source_of(file)
    classes = source.classes[class_name] if source else ()
    return (
        [
            f"{text_of_node(one)} {text_of_node(one.annotation)}"
            for node in classes
            for one in node.body
            if isinstance(one, ast.AnnAssign)
        ]
        if classes
        else None
    )


class _Source:
    """A file's functions, with what they are compiled to, by name and first line; its classes by qualified name.

    Attributes:
        statements: What stands at its top, by each name that is bound there.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.functions: defaultdict[tuple[str, int], list[_Function]] = defaultdict(list)
        self.classes: defaultdict[str, list[ast.ClassDef]] = defaultdict(list)
        self.compiled: defaultdict[tuple[str, int], list[CodeType]] = defaultdict(list)
        codes = [compile(tree, "", "exec", dont_inherit=True)]
        while codes:
            code = codes.pop()
            self.compiled[code.co_name, code.co_firstlineno].append(code)
            codes += [one for one in code.co_consts if isinstance(one, CodeType)]
        waiting: list[tuple[str, ast.AST]] = [("", tree)]
        while waiting:
            around, node = waiting.pop()
            if isinstance(node, _Documented) and ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
            if isinstance(node, ast.Lambda):
                self.functions["<lambda>", node.lineno].append(node)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min((node.lineno, *(one.lineno for one in node.decorator_list)))
                self.functions[node.name, first].append(node)
                around = f"{around}{node.name}.<locals>."
            elif isinstance(node, ast.ClassDef):
                self.classes[f"{around}{node.name}"].append(node)
                around = f"{around}{node.name}."
            waiting += [(around, child) for child in ast.iter_child_nodes(node)]
        self.statements: defaultdict[str, list[ast.stmt]] = defaultdict(list)
        for statement in tree.body:
            for name in bound_names(statement):
                self.statements[name].append(statement)


def _source_of(file: str) -> _Source | None:
    return _read(text_of(file))


def _holds(source: _Source | None, code: CodeType) -> TypeIs[_Source]:
    """Whether some function of a file is compiled to this code."""
    place = code.co_name, code.co_firstlineno
    return source is not None and any(_is_like(code, one) for one in source.compiled[place])


@lru_cache(maxsize=64)
def _read(text: str) -> _Source | None:
    try:
        return _Source(ast.parse(text)) if text else None
    except (SyntaxError, ValueError, RecursionError):
        return None


def _is_like(one: CodeType, two: CodeType) -> bool:
    """Whether two codes do the same: compared by parts, as Python keeps notes in the code that runs."""
    if (one.co_code, one.co_names) != (two.co_code, two.co_names):
        return False
    if len(one.co_consts) != len(two.co_consts):
        return False
    return all(
        _is_like(mine, theirs)
        if isinstance(mine, CodeType) and isinstance(theirs, CodeType)
        else type(mine) is type(theirs) and mine == theirs
        for mine, theirs in zip(one.co_consts, two.co_consts, strict=True)
    )


def _innermost(nodes: Sequence[_Function], code: CodeType) -> Sequence[_Function]:
    """That of several lambdas of one line which has been compiled to this code; all of them, if that isn't known."""
    places = [
        (line, column, last, end)
        for line, last, column, end in code.co_positions()
        if line
        and last
        and column is not None
        and end  # of what stands nowhere, or of Python without columns
    ]
    around = [
        node
        for node in nodes
        if isinstance(node, ast.Lambda)
        and places
        and _begin(node.body) <= min(place[:2] for place in places)
        and max(place[2:] for place in places) <= _end(node.body)
    ]
    # A lambda within another one begins after it.
    return [max(around, key=_begin)] if around else nodes


def _begin(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0
