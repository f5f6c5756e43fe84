"""The project's own files: the code and the data that decide what its trials do, beside the eval files themselves.

Labels of one run say nothing of what other code answers, but a check that is added changes no answer. So of an eval
file these are left out: expectations and assertions, but not the application's calls in them; blocks that only check;
sets, but for their `subject`; comments, layout, docstrings and annotations. What an eval names in its file counts, and
nothing else that is there.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from evenhand.core.application_code import EVAL
from evenhand.core.definition import LETTERS, brief, file_digest
from evenhand.core.encoding import decode, digest, digest_of, encode
from evenhand.core.provider import Provider
from evenhand.core.users_code import (
    bound_names,
    imported_later,
    keep_text,
    text_of_node,
    users_files,
)
from evenhand.doors.eval_sets.eval_paths import eval_files, split_line
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.prompt import Prompt
from evenhand.providers.local_code import code_files, named_texts

LONGEST = 200
"""Characters of what may name a file; what is longer is a text."""


def project_of(file: Path) -> Path:
    """The folder that holds `evals`, where the application under test is as a rule; or the file's own."""
    return next((parent.parent for parent in file.parents if parent.name == "evals"), file.parent)


def files_of(sets: Iterable[Path]) -> dict[str, str]:
    """A digest of each file of the projects of these eval files that is imported, by its path in its project.

    Application, judges, setup and eval files are; installed packages are not, nor what is read as data.
    """
    paths: dict[str, Path] = {}
    below = cache(lambda folder: list(_imported_below(folder)))
    for file in dict.fromkeys(sets):
        if file.is_file():  # otherwise it was typed at a prompt
            folder = project_of(file.resolve())
            for path in (str(file.resolve()), *below(folder)):
                paths[path] = folder
    digests: dict[str, str] = {}
    for path, folder in paths.items():
        with contextlib.suppress(OSError):  # gone since, or in an archive
            digests[os.path.relpath(path, folder)] = digest(Path(path).read_bytes())
    return dict(sorted(digests.items()))


def files_elsewhere(sets: Iterable[Path]) -> dict[str, str]:
    """A digest of each file that is imported from outside of these projects, by its path from the first of them.

    A run's fingerprint is none of these: where they lie is another place on another machine.
    """
    projects = [project_of(file.resolve()) for file in dict.fromkeys(sets) if file.is_file()]
    files = {os.path.abspath(file) for _, file in _modules()}  # noqa: PTH100 (a link stays as it is)
    digests: dict[str, str] = {}
    for path in sorted(files):
        if projects and not any(Path(path).is_relative_to(one) for one in projects):
            with contextlib.suppress(OSError, ValueError):  # gone since, or on another drive
                digests[os.path.relpath(path, projects[0])] = digest(Path(path).read_bytes())
    return digests


def files_of_models(evals: Path, providers: Iterable[Provider]) -> dict[str, str]:
    """A digest of each file of the models that are programs or functions, with what these import and name beside them.

    Args:
        providers: Its models, and who judges.
    """
    folder = project_of(evals.resolve())
    files = {file for provider in providers for file in code_files(provider)}
    if files:
        files |= named_texts(files).keys()
    digests: dict[str, str] = {}
    for file in sorted(files):
        with contextlib.suppress(OSError):  # gone since
            digests[os.path.relpath(file.resolve(), folder)] = digest(file.read_bytes())
    return digests


def texts_of_models(evals: Path, providers: Iterable[Provider]) -> dict[str, str]:
    """A short digest of each text, such as a prompt, that the code of these models names.

    Args:
        evals: The file of the eval set.
        providers: Its models, and who judges.
    """
    folder = project_of(evals.resolve())
    files = [file for provider in providers for file in code_files(provider)]
    texts = named_texts(files) if files else {}
    return {
        Path(os.path.relpath(path, folder)).as_posix(): digest(content)[:LETTERS]
        for path, content in texts.items()
    }


def code_of(sets: Iterable[EvalSet]) -> dict[str, str]:
    """The code of the evals of these sets: of each, what decides about its output. See `RunMeta.code`."""
    code, source = dict[str, str](), cache(_read_source)
    for evals in sets:
        for one in evals.evals:
            if (file := source(one.path)) is not None:
                code[f"{EVAL}{evals.name}: {one.name}"] = file.digest(one.first, one.last)
    return code


def session_code(root: Path, tests: Iterable[str]) -> dict[str, str]:
    """The application's code as a session of pytest imported it.

    Args:
        root: Pytest's root folder.
        tests: The ids of its tests, without their parameters.
    """
    code, source = imported_code(), cache(_read_source)
    for test in tests:
        path, *names = test.split("::")
        file = source(root / path)
        if file is not None and (lines := file.lines_of(names)) is not None:
            code[f"{EVAL}{test}"] = file.digest(*lines)
    return code


_OF_EVALS = "evenhand_evals_"


def imported_code() -> dict[str, str]:
    """A digest of each module of the user's own, wherever it lies; eval files, tests and `_version.py` left out.

    So do modules that functions import only when they are called. A module is called by its dotted name, so that
    folders, links and package folders make no difference.
    """
    modules: dict[str, str] = {}
    for name, file in _modules():
        if name in sys.modules:
            keep_text(file)
        last = name.rpartition(".")[2]
        if last in ("__main__", "_version") or last.startswith("test_") or last.endswith("_test"):
            continue
        if name.startswith(_OF_EVALS) or not file.endswith(".py"):
            continue
        with contextlib.suppress(OSError):  # gone since, or in an archive
            content = Path(file).read_bytes()
            # A checkout on Windows has other line ends.
            text = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
            modules[f"{name.replace('.', '/')}.py"] = digest(text)[:LETTERS]
    return dict(sorted(modules.items()))


def data_of(sets: Iterable[EvalSet]) -> dict[str, str]:
    """A digest of each dataset, each prompt and each folder of files of these sets, by what people call them.

    A folder that holds the eval file as well is no folder of data: it is left out.
    """
    digests: dict[str, str] = {}
    for evals in sets:
        project = project_of(evals.path.resolve())
        if evals.data is not None:
            file = evals.data.file
            name = _below(file, project) if file is not None else f"the data of {evals.name!r}"
            digests[name] = evals.data.fingerprint
        for prompt in (value for values in evals.over.values() for value in values):
            if isinstance(prompt, Prompt):
                digests[f"the prompt {prompt.name!r} of {evals.name!r}"] = digest(prompt.text)
        folder = evals.files.resolve()
        if folder.is_dir() and not evals.path.resolve().is_relative_to(folder):
            digests[f"{_below(folder, project)}{os.sep}"] = digest_of(_contents(folder))
    return digests


def changed_files(paths: Iterable[str], digests: Mapping[str, str]) -> list[str]:
    """The files that these digests are of, by their names there, and that are no longer as they were.

    Nothing is imported. What the digests have that is no file, such as a dataset, is left out.

    Args:
        paths: What was run: eval files, with a line or without, and folders of them.
        digests: As `files_of` made them.
    """
    files = [
        file
        for path in (Path(split_line(path)[0]).resolve() for path in paths)
        for file in (eval_files(path) if path.is_dir() else [path])
        if file.is_file()
    ]
    changed: set[str] = set()
    for folder in {project_of(file) for file in files}:
        for name, before in digests.items():
            path = folder / name
            if path.suffix == ".py" and path.is_file() and digest(path.read_bytes()) != before:
                changed.add(name)
    names = {os.path.relpath(file, project_of(file)) for file in files}
    if names and digests and names.isdisjoint(digests):  # those of another folder
        changed |= names
    return sorted(changed)


def named_content(folder: Path, name: str | Path) -> str:
    """A short digest of the file or folder that this names; empty where there is none."""
    if len(str(name)) > LONGEST or "\n" in str(name):
        return ""
    path = folder / name
    with contextlib.suppress(OSError, ValueError):
        if path.is_file():
            return file_digest(path)
        if str(name) and path.is_dir() and not folder.is_relative_to(path.resolve()):
            return digest_of(_contents(path))[:LETTERS]
    return ""


def axis_contents(axes: Mapping[str, object], folder: Path) -> dict[str, str]:
    """A digest of what each axis' value says, where that is more than its label and can be known.

    Args:
        axes: The values by name.
        folder: Where files are looked for that a value names.
    """
    contents: dict[str, str] = {}
    for name, value in axes.items():
        if isinstance(value, Prompt):
            contents[name] = brief(value.text)
        elif isinstance(value, str | Path):
            contents[name] = named_content(folder, value)
        elif not isinstance(value, int | float | None):
            # An object that holds a client, say, has no form in JSON: it is known by its label.
            with contextlib.suppress(TypeError, ValueError):
                contents[name] = brief(decode(encode(value)))
    return {name: content for name, content in contents.items() if content}


def _modules() -> list[tuple[str, str]]:
    """The name and the file of each module of the user's own that is imported, or that functions of these import."""
    imported = list(users_files())
    return [*imported, *imported_later(imported)]


def _imported_below(folder: Path) -> Iterator[str]:
    below = f"{folder}{os.sep}"
    installed = tuple(
        f"{prefix}{os.sep}"
        for prefix in {os.path.realpath(p) for p in (sys.prefix, sys.base_prefix)}
        if prefix.startswith(below)
    )
    for _, file in _modules():
        path = os.path.abspath(file)  # noqa: PTH100 (a link stays as it is)
        if path.startswith(below) and not path.startswith(installed):
            yield path


def _below(path: Path, project: Path) -> str:
    return os.path.relpath(path.resolve(), project)


def _contents(folder: Path) -> Iterator[bytes | str]:
    """All files below a folder, hidden ones left out: name and content."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            yield str(name)
            # Evals cannot read it either.
            with contextlib.suppress(OSError), path.open("rb") as file:
                while chunk := file.read(1 << 20):
                    yield chunk


# What decides about an eval's output, of all that its file says

_CHECK = "expect"
_SET = "EvalSet"
_SUBJECT = "subject"
_GIVEN = frozenset({_CHECK, "case", "repeat"})
"""Parameters of an eval that are no application."""
_Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class _EvalSource:
    """A file of evals, or of tests.

    Raises:
        SyntaxError: It isn't Python.
        ValueError: Nor text.
    """

    def __init__(self, content: bytes) -> None:
        self._tree = ast.parse(content)
        self._statements: dict[str, list[ast.stmt]] = {}
        imported = set[str]()
        for statement in self._tree.body:
            for name in bound_names(statement):
                self._statements.setdefault(name, []).append(statement)
            imported |= names_not_theirs(statement)
        # A function of the file's own may be called as one of Python's.
        self._application = self._statements.keys() - imported
        self._neutral = set(dir(builtins)) - self._application | imported

    def lines_of(self, names: Sequence[str]) -> tuple[int, int] | None:
        """The first and the last line of a function or a method; None where it has none of these names."""
        body: Sequence[ast.stmt] = self._tree.body
        node: ast.stmt | None = None
        for name in names:
            node = next((o for o in body if isinstance(o, _Defined) and o.name == name), None)
            body = node.body if isinstance(node, _Defined) else ()
        return None if node is None else (node.lineno, node.end_lineno or node.lineno)

    def digest(self, first: int, last: int) -> str:
        """A short digest of what decides about the output of the eval in these lines; empty where there is none."""
        own = [
            one for one in self._tree.body if one.lineno <= last and first <= (one.end_lineno or 0)
        ]
        waiting, texts, known = [*own], dict[int, str](), set[str]()
        # What happens on import may configure the application, whoever names it.
        waiting += [one for one in self._tree.body if isinstance(one, ast.Expr)]
        while waiting:
            statement = waiting.pop()
            if statement.lineno in texts:
                continue
            parts = list(self._left(statement, self._application | _parameters(statement)))
            texts[statement.lineno] = " ".join(map(text_of_node, parts))
            for name in _names(parts) - known - self._neutral:
                known.add(name)
                waiting += self._statements.get(name, ())
        whole = "\n".join(sorted(text for text in texts.values() if text))
        return digest(whole)[:LETTERS] if own else ""

    def _left(self, node: ast.stmt, theirs: set[str]) -> Iterator[ast.AST | str]:
        """What is left of a statement without its checks: nodes, and the names of what they stand in.

        Args:
            theirs: The names whose calls are the application's.
        """
        match node:
            case ast.Expr(value=ast.Constant()):
                return
            case ast.Import() | ast.ImportFrom() if names_not_theirs(node):
                return
            case ast.Assert() | ast.Expr() | ast.Assign() if _only_checks(node):
                yield from _calls(node, theirs)
            case ast.Assign(value=ast.Call() as call) if called_name(call) == _SET:
                yield from (one.value for one in call.keywords if one.arg == _SUBJECT)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
                yield from (one for one in node.decorator_list if not _is_eval(one))
                # The set may have a subject of its own.
                yield from (_set_of(one) for one in node.decorator_list if _is_eval(one))
                if isinstance(node, ast.ClassDef):
                    yield from (*node.bases, *node.keywords)
                else:
                    yield node.args
                for one in node.body:
                    yield from self._left(one, theirs)
            case ast.With() | ast.AsyncWith() | ast.For() | ast.AsyncFor() | ast.If() | ast.While():
                yield from self._left_of_block(node, theirs)
            case ast.Try():
                for one in (*node.body, *node.orelse, *node.finalbody):
                    yield from self._left(one, theirs)
                for handler in node.handlers:
                    yield from () if handler.type is None else (handler.type,)
                    for one in handler.body:
                        yield from self._left(one, theirs)
            case _:
                yield node

    def _left_of_block(
        self,
        node: ast.With | ast.AsyncWith | ast.For | ast.AsyncFor | ast.If | ast.While,
        theirs: set[str],
    ) -> Iterator[ast.AST | str]:
        header: list[ast.expr]
        if isinstance(node, ast.With | ast.AsyncWith):
            header, bodies = [item.context_expr for item in node.items], [*node.body]
            checks = all(root_name(one) == _CHECK for one in header)
        else:
            header = (
                [node.target, node.iter]
                if isinstance(node, ast.For | ast.AsyncFor)
                else [node.test]
            )
            bodies, checks = [*node.body, *node.orelse], False
        parts = [part for one in bodies for part in self._left(one, theirs)]
        if checks or not parts:
            yield from (call for one in header for call in _calls(one, theirs))
        else:
            yield from (type(node).__name__, *header)
        yield from parts


def names_not_theirs(statement: ast.stmt) -> set[str]:
    """The names that an import binds of Evenhand's and of the standard library's; empty for anything else."""
    if isinstance(statement, ast.ImportFrom) and not statement.level:
        modules = [statement.module or ""]
    elif isinstance(statement, ast.Import):
        modules = [alias.name for alias in statement.names]
    else:
        return set()
    tops = {module.partition(".")[0] for module in modules}
    ours = all(top in ("evenhand", "pytest") or top in sys.stdlib_module_names for top in tops)
    return set(bound_names(statement)) if ours else set()


def _parameters(statement: ast.stmt) -> set[str]:
    """The parameters of a function through which it may reach the application: models and fixtures."""
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return set()
    return {one.arg for one in ast.walk(statement.args) if isinstance(one, ast.arg)} - _GIVEN


def _only_checks(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assert) or (
        isinstance(node, ast.Expr | ast.Assign) and root_name(node.value) == _CHECK
    )


def _calls(node: ast.AST, theirs: set[str]) -> Iterator[ast.AST]:
    """The application's calls in what only checks."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and root_name(one) in theirs:
            yield one


def _names(parts: Iterable[ast.AST | str]) -> set[str]:
    """The names that these read, and those of the parameters, which fixtures fill in."""
    nodes = [node for part in parts if isinstance(part, ast.AST) for node in ast.walk(part)]
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.arg for node in nodes if isinstance(node, ast.arg)
    }


def _is_eval(decorator: ast.expr) -> bool:
    """Whether this is a set's `eval`, which says nothing of the output."""
    written = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(written, ast.Attribute) and written.attr == "eval"


def _set_of(decorator: ast.expr) -> ast.AST:
    return ast.Name(root_name(decorator), ast.Load())


def root_name(node: ast.AST) -> str:
    """The name that a chain of calls and attributes begins with: `expect` for `await expect.now(reply)`."""
    while isinstance(node, ast.Await | ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def called_name(call: ast.Call) -> str:
    """The last name of what is called: `EvalSet` for `evenhand.EvalSet(…)`."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _read_source(path: Path) -> _EvalSource | None:
    """The code of a file; None where it is gone or can't be read."""
    try:
        return _EvalSource(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
