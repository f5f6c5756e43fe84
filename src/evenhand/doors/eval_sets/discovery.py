"""Finds eval sets: files called `*_evals.py`, below the folder `evals` or wherever the user points."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import shlex
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import field

from evenhand.core.errors import ConfigError, EvenhandError, Problem, UsageError
from evenhand.core.record import MutableRecord
from evenhand.core.traits import NamedModel, reading
from evenhand.core.users_code import is_users
from evenhand.core.wording.words import near
from evenhand.doors.eval_sets.eval_paths import PATTERN, eval_files, split_line
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.foreign_names import instead_of
from evenhand.doors.eval_sets.prechecks import KnownValues, plain, unprovided
from evenhand.doors.eval_sets.project_files import project_of
from evenhand.engine.guardian import running
from evenhand.engine.importing import fresh_spec, look_first_in, within_limit
from evenhand.languages.documents.findings import unreadable
from evenhand.providers.catalog import create
from evenhand.providers.missing_keys import ON_IMPORT

SETUP = "setup.py"


class Discovered(MutableRecord):
    """The sets that were found, the lines that were named, and the files that could not be read."""

    sets: list[EvalSet] = field(default_factory=list[EvalSet])
    lines: list[tuple[Path, int]] = field(default_factory=list["tuple[Path, int]"])
    problems: list[Problem] = field(default_factory=list[Problem])


def find(paths: Sequence[str]) -> Discovered:
    """The sets in these files and folders. What cannot be read is a problem, and keeps nothing else from running.

    Raises:
        ConfigError: There is no set at all: every problem.
    """
    discovered = Discovered()
    read: dict[Path, bool] = {}
    whole: set[Path] = set()
    for argument in paths:
        name, line = split_line(argument)
        path = Path(name).resolve()
        if not path.is_dir() and not path.is_file():
            what, hint = unreadable(path) or ("does not exist", f"Looked in {path.parent}.")
            discovered.problems.append(Problem(name, 0, 0, what, hint))
            continue
        files = eval_files(path) if path.is_dir() else [path]
        if not files:
            what = f"holds no {PATTERN}"
            discovered.problems.append(Problem(name, 0, 0, what, "Eval files end in _evals.py."))
        for file in files:
            if file not in read:
                read[file] = _read(file, discovered, read)
        if line is None:
            whole.update(files)
        else:
            discovered.lines.append((path, line))
            if read[path]:
                _check_line(path, line, discovered)
    # A file that is also named as a whole is run as a whole.
    discovered.lines = [(path, line) for path, line in discovered.lines if path not in whole]
    if not discovered.sets:
        raise ConfigError(discovered.problems)
    return discovered


def _read(file: Path, discovered: Discovered, read: dict[Path, bool]) -> bool:
    """Reads a file, after the setup of its folder, and says whether it could. A setup that fails is said once."""
    setup = next((p / SETUP for p in file.parents if p.name == "evals"), None)
    if setup is not None and setup not in read:
        read[setup] = (
            not os.path.lexists(setup) or _imported(setup, discovered.problems) is not None
        )
    if setup is not None and not read[setup]:
        return False
    if setup is not None and _name(setup) in sys.modules:
        # `from setup import …`, without loading it twice.
        sys.modules["setup"] = sys.modules[_name(setup)]
    module = _imported(file, discovered.problems)
    if module is None:
        return False
    sets = [v for v in vars(module).values() if isinstance(v, EvalSet) and _stands_in(v, file)]
    if not sets:
        hint = "Write evals = EvalSet('…') at its top."
        discovered.problems.append(Problem(str(file), 0, 0, "defines no EvalSet", hint))
    discovered.sets += list(dict.fromkeys(sets))
    return bool(sets)


def _stands_in(evals: EvalSet, file: Path) -> bool:
    """Whether a set is this file's own, rather than one that it imports."""
    return any(path.resolve() == file for path in (evals.path, *(e.path for e in evals.evals)))


def _name(file: Path) -> str:
    """What its module is called: files of one name in two folders are two."""
    return f"evenhand_evals_{blake2b(str(file).encode(), digest_size=6).hexdigest()}_{file.stem}"


def _imported(file: Path, problems: list[Problem]) -> ModuleType | None:
    if not file.is_file() and (refusal := unreadable(file)) is not None:
        problems.append(Problem(str(file), 0, 0, *refusal))
        return None
    name = _name(file)
    if name in sys.modules:
        return sys.modules[name]
    spec = fresh_spec(name, file)
    if spec is None or spec.loader is None:
        problems.append(Problem(str(file), 0, 0, "cannot be imported"))
        return None
    module = importlib.util.module_from_spec(spec)
    # Before its code is run: dataclasses and pickle look their module up by its name.
    sys.modules[name] = module
    look_first_in(project_of(file), file.parent, then=Path.cwd())
    try:
        with reading(file) as named, within_limit(), running(f"the import of {file.name}"):
            spec.loader.exec_module(module)
        wrong = list(_unknown(file, named))
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 (a user's file may raise anything)
        wrong = _import_problems(file, error)
        wrong += problems_beside(file, vars(module), _line_in(file, error))
    if wrong:
        del sys.modules[name]
        problems += wrong
        return None
    return module


def _unknown(file: Path, named: Sequence[NamedModel]) -> Iterator[Problem]:
    """The models that scorers of a file name, and that nobody knows."""
    for model in dict.fromkeys(named):
        try:
            create(model.id, env=os.environ, base=file.parent)
        except UsageError as error:
            yield Problem(str(file), model.line, 0, error.message, error.hint)


def _where_else(project: Path, name: str) -> str:
    """What to do about a module that was not found: in the project's `src`, where tests are told of it, it may be."""
    source = project / "src"
    if name and ((source / name).is_dir() or (source / f"{name}.py").is_file()):
        there = near(source)
        return f"It is in {there}: install the project (pip install -e .), or set PYTHONPATH={shlex.quote(there)}."
    return f"Looked in {project} as well. If it is a package, install it."


def _import_problems(file: Path, error: BaseException) -> list[Problem]:
    """What is wrong with a file that raised this while it was imported."""
    line = _line_in(file, error)
    if isinstance(error, ConfigError):  # of another file, with lines of its own
        return [*error.problems]
    if isinstance(error, EvenhandError):
        return [Problem(str(file), line, 0, error.message, error.hint)]
    hint = ""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, ModuleNotFoundError):
        hint = _where_else(project_of(file), (error.name or "").partition(".")[0])
    elif isinstance(error, SyntaxError):
        hint = f"It is read by Python {sys.version_info[0]}.{sys.version_info[1]}, which Evenhand runs on here."
    elif frames and frames[-1].filename != str(file):
        # The user's own line says more than one of the library that it calls.
        own = [frame for frame in frames if is_users(frame.filename)]
        last = own[-1] if own and own[-1].filename != str(file) else frames[-1]
        hint = f"It was raised in {near(Path(last.filename))}:{last.lineno}."
    if _KEY.search(str(error)):
        hint = f"{hint} {ON_IMPORT}"
    instead = instead_of(str(error))
    hint = instead or hint
    # A SyntaxError's text names the file and line again, and an ImportError's where our own package is.
    message = error.msg if isinstance(error, SyntaxError) and line else str(error)
    if instead and isinstance(error, ImportError):
        message = message.partition(" (")[0]
    what = f"cannot be imported: {type(error).__name__}: {message}"
    return [Problem(str(file), line, 0, what, hint)]


_KEY = re.compile(r"\bAPI_KEY\b|_API_KEY\b|\bapi_key\b")
"""How a vendor's client says that it has no key."""


def _line_in(file: Path, error: BaseException) -> int:
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return error.lineno or 0
    frames = traceback.extract_tb(error.__traceback__)
    return next((f.lineno or 0 for f in reversed(frames) if f.filename == str(file)), 0)


def _check_line(path: Path, line: int, discovered: Discovered) -> None:
    evals = [e for s in discovered.sets for e in s.evals if e.path.resolve() == path]
    if not any(e.first <= line <= e.last for e in evals):
        there = ", ".join(f"{e.name} ({e.first}–{e.last})" for e in evals)
        hint = f"There are: {there or 'none'}."
        discovered.problems.append(Problem(str(path), line, 0, "no eval is on this line", hint))


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign)


def problems_beside(file: Path, names: Mapping[str, Any], line: int) -> Iterator[Problem]:
    """What is plainly wrong with the lines of a file that could not be imported, beside what ended the import.

    They are read, not run: what its sets provide is what `EvalSet(…)` says in words, and the fixtures of the file.

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
