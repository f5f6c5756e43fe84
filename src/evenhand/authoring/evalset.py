"""EvalSets: a file's worth of evals, what they run over, and what they share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, overload

from evenhand.authoring.dataset import Dataset
from evenhand.core.case import Case
from evenhand.core.errors import Problem, UsageError

F = TypeVar("F", bound=Callable[..., Any])

GIVEN = ("case", "expect", "model", "judge", "repeat")
"""Parameters that every eval may ask for (`model` and `judge` where the set names one)."""


@dataclass(frozen=True, slots=True)
class Eval:
    """One function of a set.

    Attributes:
        name: The function's.
        function: It.
        path: The file it stands in.
        first: Its first line, decorators included.
        last: Its last line.
        tags: For selection, the set's included.
        description: The first line of its docstring.
    """

    name: str
    function: Callable[..., Any]
    path: Path
    first: int
    last: int
    tags: frozenset[str]
    description: str

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """Its parameters, by name."""
        return inspect.signature(self.function).parameters


class EvalSet:
    """Functions over a dataset.

    Args:
        name: For reports.
        data: The cases; without any, each eval is run once.
        model: The model that evals are given as `model`: an id such as `openai:chat:gpt-5-mini`, or a provider.
        judge: The model that judges: an id or a provider.
        over: Axes to run over, each a list; every combination is a column. `model` may be one of them.
        repeats: How often each case is run.
        tags: For selection.
        files: The folder that `file` reads from; `files` beside the set's own file by default.
    """

    def __init__(
        self,
        name: str,
        *,
        data: Dataset | Iterable[Case | Mapping[str, Any]] | None = None,
        model: object = None,
        judge: object = None,
        over: Mapping[str, Sequence[Any]] | None = None,
        repeats: int = 1,
        tags: Iterable[str] = (),
        files: str | Path | None = None,
    ) -> None:
        if repeats < 1:
            raise UsageError(f"EvalSet {name!r}: repeats is {repeats}, less than 1")
        for axis, values in (over or {}).items():
            if isinstance(values, str) or not list(values):
                raise UsageError(
                    f"EvalSet {name!r}: the axis '{axis}' is {values!r}, not a list of values"
                )
        frame = inspect.currentframe()
        caller = frame.f_back if frame else None
        self.name = name
        self.path = Path(caller.f_code.co_filename) if caller else Path()
        self.line = caller.f_lineno if caller else 0
        self.data = data if data is None or isinstance(data, Dataset) else Dataset(data)
        self.model = model
        self.judge = judge
        self.over = {axis: list(values) for axis, values in (over or {}).items()}
        self.repeats = repeats
        self.tags = frozenset(tags)
        self.evals: list[Eval] = []
        self.fixtures: dict[str, Callable[..., Any]] = {}
        self._files = Path(files) if files else self.path.parent / "files"

    @overload
    def eval(self, function: F, /) -> F: ...
    @overload
    def eval(self, /, *, tags: Iterable[str] = ...) -> Callable[[F], F]: ...

    def eval(
        self, function: F | None = None, /, *, tags: Iterable[str] = ()
    ) -> F | Callable[[F], F]:
        """Adds a function, plain or async, to the set. Its parameters are given by name."""

        def add(function: F) -> F:
            code = function.__code__
            try:
                lines, first = inspect.getsourcelines(function)
            except OSError:  # typed at a prompt, or made by exec: there is no file
                first = code.co_firstlineno
                lines = range(max(line or first for _, _, line in code.co_lines()) - first + 1)
            text = (inspect.getdoc(function) or "").partition("\n")[0]
            self.evals.append(
                Eval(
                    function.__name__,
                    function,
                    Path(code.co_filename),
                    first,
                    first + len(lines) - 1,
                    self.tags | frozenset(tags),
                    text,
                )
            )
            return function

        return add if function is None else add(function)

    def fixture(self, function: F) -> F:
        """Adds a fixture: what it returns, or yields, is given to evals that ask for it by its name.

        It is made for each trial; what stands after the `yield` is run afterwards, whatever happened.
        """
        self.fixtures[function.__name__] = function
        return function

    def file(self, name: str) -> Path:
        """A file below the set's `files` folder.

        Raises:
            UsageError: It is not there, or lies outside.
        """
        folder = self._files.resolve()
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            raise UsageError(f"file {name!r} lies outside of {folder}")
        if not path.is_file():
            raise UsageError(f"file {name!r} does not exist", hint=f"Looked in {folder}.")
        return path

    def names(self) -> frozenset[str]:
        """All that an eval of this set may ask for."""
        given = {"case", "expect", "repeat", *self.over, *self.fixtures}
        if self.model is not None:
            given.add("model")
        if self.judge is not None:
            given.add("judge")
        return frozenset(given)

    def problems(self) -> list[Problem]:
        """What is wrong with the set, as far as can be seen before anything runs."""
        import difflib  # noqa: PLC0415 (only for a mistake)

        found: list[Problem] = []
        there = self.names()
        if not self.evals:
            found.append(
                Problem(str(self.path), self.line, 0, f"EvalSet {self.name!r} has no evals")
            )
        asked: list[tuple[str, Callable[..., Any], Path, int]] = [
            (e.name, e.function, e.path, e.first) for e in self.evals
        ]
        asked += [
            (name, f, Path(f.__code__.co_filename), f.__code__.co_firstlineno)
            for name, f in self.fixtures.items()
        ]
        for name, function, path, line in asked:
            for parameter in inspect.signature(function).parameters.values():
                if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                    continue
                if parameter.name in there or parameter.default is not parameter.empty:
                    continue
                near = difflib.get_close_matches(parameter.name, sorted(there), n=1)
                hint = f"Did you mean '{near[0]}'? " if near else ""
                if parameter.name in ("model", "judge"):
                    hint = f"Name one: EvalSet(…, {parameter.name}='openai:chat:gpt-5-mini'). "
                found.append(
                    Problem(
                        str(path),
                        line,
                        0,
                        f"{name} asks for '{parameter.name}', which nothing provides",
                        f"{hint}There are: {', '.join(sorted(there))}.",
                    )
                )
        return found

    def __repr__(self) -> str:
        return f"<EvalSet {self.name}: {len(self.evals)} evals>"
