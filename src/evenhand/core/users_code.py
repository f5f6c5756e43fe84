"""Which code is the user's own, not Python's, an installed package's or ours; its running line, and its syntax.

Modules that a function imports while it runs count from the beginning, whether or not a trial gets that far: they are
looked for where Python would look, and nothing is imported for it.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import FrameType, ModuleType

OURS = f"{Path(__file__).parent.parent}{os.sep}"
"""How the paths of our own code begin."""
_PYTHONS = f"{Path(os.__file__).parent}{os.sep}"
_NOT_THEIRS = (OURS, _PYTHONS, "<frozen", "<string>")  # <string>: what dataclasses write
_RESOLVED = tuple(f"{Path(path).resolve()}{os.sep}" for path in (OURS, _PYTHONS))
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]")


def is_users(file: str) -> bool:
    """Whether a code object's file is the user's: neither Python's, nor an installed package's, nor ours.

    Code that was typed in a notebook, or that stands in a config, is the user's.
    """
    return not file.startswith(_NOT_THEIRS) and not is_installed(file)


def is_installed(file: str) -> bool:
    """Whether a code object's file is an installed package's."""
    return "-packages" in file and _INSTALLED.search(file) is not None


def users_file(module: ModuleType | None) -> str:
    """The file of a module that is the user's own, wherever links lead; empty for any other, and for none."""
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) and is_own(file) else ""


@lru_cache(maxsize=4096)
def is_own(file: str) -> bool:
    """Whether a module's file is the user's own, wherever links lead."""
    return is_users(file) and not str(Path(file).resolve()).startswith(_RESOLVED)


_UNSAID = frozenset({"annotation", "returns", "type_comment", "kind", "ctx", "type_params"})
_Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_INDENTED = rb"(?m)^[ \t]+(?:from[ \t]+([.\w]+)|import[ \t]+([^#\n]+))"
_PACKAGE = "__init__.py"
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_others: dict[str, ModuleType] = {}
"""Imported modules that are not the user's own. A process has thousands, which are gone through for each run."""


def users_files() -> Iterator[tuple[str, str]]:
    """The name and the file of each imported module that is the user's own."""
    for name, module in list(sys.modules.items()):
        if _others.get(name) is module:
            continue
        if file := users_file(module):
            yield name, file
        else:
            _others[name] = module


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
            name = absolute_name(module, level, package_of(importer, file))
            for each in (*_above(name), *(f"{name}.{part}" for part in parts)):
                if each in known:
                    continue
                known.add(each)
                if path := file_of_module(each):
                    yield each, path
                    waiting.append((each, path, False))


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
    for source, modules in re.findall(_INDENTED, content):
        for one in (source or modules).decode("utf-8", "replace").split(","):
            top = one.strip().partition(" ")[0].partition(".")[0]
            loaded = sys.modules.get(top)
            if top not in sys.stdlib_module_names and (loaded is None or users_file(loaded)):
                return True
    return False


def package_of(name: str, file: str) -> str:
    """The package whose names a module may import by dots."""
    return name if Path(file).name == _PACKAGE else name.rpartition(".")[0]


def absolute_name(module: str, level: int, package: str) -> str:
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


def imported_names(tree: ast.AST) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Of each import in code: the module, how many dots stand before it, and what is imported from it by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, 0, ()
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.level, tuple(alias.name for alias in node.names)


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a file binds."""
    if isinstance(statement, _Defined):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0]
    else:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, _Defined | ast.Import | ast.ImportFrom):
                yield from bound_names(node)


def text_of_node(node: object) -> str:
    """A node as text: the same in every version of Python, and without what says nothing."""
    if isinstance(node, ast.AST):
        fields = (
            f"{name}={text_of_node(value)}"
            for name, value in ast.iter_fields(_joined(node))
            if name not in _UNSAID and value is not None and value != []
        )
        return f"{type(node).__name__}({' '.join(fields)})"
    if isinstance(node, list):
        return f"[{' '.join(map(text_of_node, node))}]"
    return repr(node)


def _joined(node: ast.AST) -> ast.AST:
    """An f-string whose texts are one where they adjoin: some versions of Python cut them, and keep empty ones."""
    if not isinstance(node, ast.JoinedStr):
        return node
    values: list[ast.expr] = []
    for one in node.values:
        if not isinstance(one, ast.Constant):
            values.append(one)
        elif values and isinstance(values[-1], ast.Constant):
            values[-1] = ast.Constant(f"{values[-1].value}{one.value}")
        elif one.value:
            values.append(one)
    return ast.JoinedStr(values)


texts: dict[str, str] = {}
"""Files as they were when the run began, by their names."""


def keep_text(file: str) -> None:
    """Keeps a file that was imported as it is now: an edit in the middle of a run makes no difference."""
    texts[file] = text_of(file)


def kept_text(file: str) -> str:
    """A file as it was when the run began, or is now, if it wasn't imported then; empty where it can't be read."""
    return texts[file] if file in texts else text_of(file)


def text_of(file: str) -> str:
    """A file as it is now; empty where it can't be read."""
    linecache.checkcache(file)
    return "".join(linecache.getlines(file))


def is_out(frame: FrameType | None) -> bool:
    """Whether a frame is one of ours, or of what we called, and none of the user's code or of what that called."""
    while frame is not None and not is_users(frame.f_code.co_filename):
        if frame.f_code.co_filename.startswith(OURS):
            return True
        frame = frame.f_back
    return frame is None


def users_frame() -> FrameType | None:
    """The innermost frame of the user's code that led here; None where there is none."""
    frame = inspect.currentframe()
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def users_line() -> str:
    """The innermost line of the user's code that led here, as `file:line`; empty where there is none."""
    frame = users_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
