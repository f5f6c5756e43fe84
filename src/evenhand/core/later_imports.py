"""The code that names stand for in modules which a function imports while it runs: read, and never imported for it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from evenhand.core.source_code import statements_in
from evenhand.core.users_code import (
    absolute_name,
    file_of_module,
    imported_names,
    package_of,
    text_of_node,
)

_ALL = "*"


class LaterCode:
    """What names stand for in modules that a function imports: the source of each, once."""

    def __init__(self) -> None:
        self._known = set[tuple[str, str]]()

    def of(self, file: str, package: str, node: ast.AST, names: Iterable[str]) -> Iterator[str]:
        """What the imports of some code bring into it.

        Args:
            file: Where the code is written.
            package: The package of its module; empty for none.
            node: The code.
            names: What it names.
        """
        for module, level, parts in imported_names(node):
            name = absolute_name(module, level, package)
            outer = file_of_module(name)
            for part in parts or (_ALL,):
                inner = file_of_module(f"{name}.{part}") if part != _ALL else ""
                if inner:
                    yield from self._named(f"{name}.{part}", inner, names)
                elif outer and outer != file:
                    yield from self._named(name, outer, names if part == _ALL else (part,))

    def _named(self, module: str, file: str, names: Iterable[str]) -> Iterator[str]:
        statements = statements_in(file)
        for name in sorted({*names} & statements.keys()):
            if (file, name) in self._known:
                continue
            self._known.add((file, name))
            for one in statements[name]:
                theirs = {*names} if isinstance(one, ast.Import | ast.ImportFrom) else _names(one)
                if not isinstance(one, ast.Import | ast.ImportFrom):
                    yield f"{name} {text_of_node(one)}"
                    yield from self._named(module, file, theirs)
                yield from self.of(file, package_of(module, file), one, theirs)


def _names(node: ast.AST) -> set[str]:
    return {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Name | ast.Attribute)
    }
