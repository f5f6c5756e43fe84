"""Modules of the user's that functions import while they run: known from the source, as nobody has imported them yet.

How this works: nothing is imported. A module is looked for where Python would look, and only the user's own count. So
code in `def answer(): import prices` is part of a run from its beginning, whether or not a trial gets that far.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path

from evenhand.core.source_code import statements_in
from evenhand.core.users_code import imported_names, is_own, text_of_node, users_file

_INDENTED = re.compile(rb"^[ \t]+(?:from[ \t]+([.\w]+)|import[ \t]+([^#\n]+))", re.MULTILINE)
_PACKAGE = "__init__.py"
_ALL = "*"
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def imported_later(modules: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The name and the file of each module of the user's that functions of these import, and of what those import.

    Args:
        modules: The name and the file of each module that is imported.
    """
    waiting = [(name, file, True) for name, file in modules]
    known = {name for name, _, _ in waiting}
    while waiting:
        importer, file, is_loaded = waiting.pop()
        for module, level, parts in _imports(file, is_loaded):
            name = _absolute(module, level, _package_of(importer, file))
            for each in (*_above(name), *(f"{name}.{part}" for part in parts)):
                if each in known:
                    continue
                known.add(each)
                if path := file_of_module(each):
                    yield each, path
                    waiting.append((each, path, False))


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
            name = _absolute(module, level, package)
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
                yield from self.of(file, _package_of(module, file), one, theirs)


def _names(node: ast.AST) -> set[str]:
    return {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Name | ast.Attribute)
    }


def file_of_module(name: str) -> str:
    """The file of a module that is the user's own; empty for any other, and for none."""
    if name in sys.modules:
        return users_file(sys.modules[name])
    spec = _spec_of(name)
    file = spec.origin if spec is not None and spec.has_location else None
    return file if file is not None and file.endswith(".py") and is_own(file) else ""


def _spec_of(name: str) -> ModuleSpec | None:
    """Where a module would be imported from. Nothing is imported."""
    above = name.rpartition(".")[0]
    try:
        if not above:
            return None if name in sys.stdlib_module_names else find_spec(name)
        places = _places_of(above)
        return PathFinder.find_spec(name, places) if places else None
    except (
        ImportError,
        AttributeError,
        ValueError,
    ):  # such as of a module that was put there by hand
        return None


def _places_of(package: str) -> Sequence[str]:
    loaded = sys.modules.get(package)
    if loaded is not None:
        return list(getattr(loaded, "__path__", ()))
    spec = _spec_of(package)
    return list(spec.submodule_search_locations or ()) if spec is not None else ()


def _imports(file: str, is_loaded: bool) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
    """What a file imports; of one that is loaded, within functions alone."""
    try:
        status = Path(file).stat()
        return _imports_of(file, is_loaded, (status.st_mtime_ns, status.st_size))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()


@lru_cache(maxsize=4096)
def _imports_of(
    file: str, is_loaded: bool, stamp: tuple[int, int]
) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
    del stamp  # so that a file that was written is read again
    content = Path(file).read_bytes()
    if is_loaded and not _may_import_own(content):  # most files, which needn't be parsed
        return ()
    tree = ast.parse(content)
    roots = [one for one in ast.walk(tree) if isinstance(one, _Function)] if is_loaded else [tree]
    return tuple(dict.fromkeys(one for root in roots for one in imported_names(root)))


def _may_import_own(content: bytes) -> bool:
    """Whether something in a block is imported that isn't known to be Python's or an installed package's."""
    for source, modules in _INDENTED.findall(content):
        for one in (source or modules).decode("utf-8", "replace").split(","):
            top = one.strip().partition(" ")[0].partition(".")[0]
            loaded = sys.modules.get(top)
            if top not in sys.stdlib_module_names and (loaded is None or users_file(loaded)):
                return True
    return False


def _package_of(name: str, file: str) -> str:
    return name if Path(file).name == _PACKAGE else name.rpartition(".")[0]


def _absolute(module: str, level: int, package: str) -> str:
    """The whole name of a module, as an import of a package writes it."""
    if not level:
        return module
    base = package.rsplit(".", level - 1)[0]
    return f"{base}.{module}".strip(".")


def _above(name: str) -> Iterator[str]:
    """A module's name, and those of the packages that it is in: their own code is run as well."""
    while name:
        yield name
        name = name.rpartition(".")[0]
