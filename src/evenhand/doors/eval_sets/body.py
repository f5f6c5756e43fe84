"""What happens in one trial of an eval: fixtures are made, the function is called by name, fixtures are torn down."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evenhand.core.case import Case
from evenhand.core.errors import BudgetStop, CodeError, ProviderError, StoreError
from evenhand.core.expect import Expectation, Trial
from evenhand.core.names import nearest
from evenhand.core.provider import Provider
from evenhand.core.record import Record
from evenhand.core.users_code import users_files
from evenhand.doors.eval_sets.conditions import conditions_of
from evenhand.doors.eval_sets.evalset import TALK, Eval, EvalSet
from evenhand.doors.eval_sets.expect import Expect, Stated
from evenhand.doors.eval_sets.foreign_names import instead_of
from evenhand.doors.eval_sets.near_columns import near_fields
from evenhand.doors.eval_sets.rowcase import FIELDS
from evenhand.doors.eval_sets.thresholds import Thresholds
from evenhand.doors.isolation.trial_resources import one_trial
from evenhand.doors.isolation.turns import Crossed
from evenhand.engine.call_context import during
from evenhand.scorers.known_outcomes import Raised


class EvalBody(Record, frozen=True, kw_only=True):
    """One eval with these values of its set's axes."""

    evals: EvalSet
    eval: Eval
    axes: Mapping[str, Any]
    model: Provider | None
    judge: Provider | None
    thresholds: Thresholds | None = None

    async def __call__(self, trial: Trial) -> object:
        with one_trial(self._waits):
            return await self._run(trial)

    def _waits(self) -> bool:
        """Whether the eval, or a fixture that it needs, is async."""
        # A conversation is always awaited.
        if self.evals.subject is not None:
            return True
        functions = [self.eval.function, *map(self.evals.fixtures.__getitem__, self._needed())]
        return any(
            inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f) for f in functions
        )

    def _needed(self) -> list[str]:
        """The fixtures that the eval needs, each after those that it asks for itself.

        All evals of a set have them in one order, that of the file: as far as they hold what others wait for, they do
        not wait for each other.
        """
        fixtures = self.evals.fixtures
        needed = set[str]()
        subject = self.evals.subject
        first = [self.eval.function, *([subject] if callable(subject) else [])]
        names = [name for one in first for name in parameters_of(one) if name in fixtures]
        while names:
            name = names.pop()
            if name not in needed:
                needed.add(name)
                names += [other for other in parameters_of(fixtures[name]) if other in fixtures]
        order: dict[str, None] = {}
        for name in fixtures if needed else ():
            _add(name, fixtures, order)
        return [name for name in order if name in needed]

    @property
    def asserts(self) -> str:
        """A digest of what the eval asserts by itself; empty where that is nothing, or can't be known."""
        path = str(self.eval.path)
        with contextlib.suppress(OSError):  # it was typed at a prompt
            modules = users_files()
            has_helpers = any(file != path and name != "__main__" for name, file in modules)
            if has_helpers or b"assert" in self.eval.path.read_bytes():
                return conditions_of(self.eval).asserts
        return ""

    async def _run(self, trial: Trial) -> object:
        expect = Expect(trial, self.thresholds)
        arguments: dict[str, Any] = {
            **self.axes,
            "case": trial.case,
            "expect": expect,
            "repeat": trial.repeat,
        }
        if self.model is not None:
            arguments["model"] = trial.model(self.model, "subject")
        if self.judge is not None:
            arguments["judge"] = trial.model(self.judge, "judge")
        teardowns: list[tuple[str, Any]] = []
        result: object = None
        try:
            with during("setup"):
                await self._prepare(arguments, teardowns, trial)
            if self.evals.subject is not None:
                arguments[TALK] = await self._talk(arguments, trial)
            result = await trial.call(
                self._called(self.eval.function, arguments), name=self.eval.name
            )
        # These end the run, and are no outcome of the trial.
        except (BudgetStop, StoreError):
            raise
        except ProviderError as error:
            # The next trial would fail in the same way: no such model, or no credit.
            if error.fatal:
                raise
            trial.expect(Expectation(None, Raised("the eval runs to its end", error)))
        except Exception as error:
            trial.expect(broken_off(self.eval.path, trial.case, error))
        finally:
            with during("setup"):
                await self._tear_down_all(teardowns, trial)
            expect.finish()
        # Where an eval returns nothing, its output is what the model answered last.
        if result is None and trial.reply is not None:
            result = trial.reply.text
        return result

    async def _talk(self, arguments: Mapping[str, Any], trial: Trial) -> object:
        """Has the conversation that is the set's subject."""
        subject = self.evals.subject
        if callable(subject):
            name = getattr(subject, "__name__", "the subject")
            with during("setup"):
                subject = await trial.call(self._called(subject, arguments), name=name)
            if not hasattr(subject, "run"):
                raise CodeError(
                    f"{name} made {subject!r:.60}, which is not a conversation",
                    hint="Return Conversation(agent, user).",
                )
        conversation: Any = subject
        return await conversation.run()

    async def _prepare(
        self, arguments: dict[str, Any], teardowns: list[tuple[str, Any]], trial: Trial
    ) -> None:
        """Makes the fixtures. Where another trial waits for what they hold, and they for it, they are made anew."""
        values: dict[str, Any] = {}
        names = self._needed()
        while len(values) < len(names):
            name = names[len(values)]
            try:
                values[name] = await self._made(name, {**arguments, **values}, teardowns, trial)
            except Crossed:
                values.clear()
                await self._tear_down_all(teardowns, trial)
        arguments.update(values)

    async def _made(
        self,
        name: str,
        arguments: Mapping[str, Any],
        teardowns: list[tuple[str, Any]],
        trial: Trial,
    ) -> Any:
        """Makes a fixture."""
        step = self._called(self.evals.fixtures[name], arguments)
        if not (inspect.isgeneratorfunction(step.func) or inspect.isasyncgenfunction(step.func)):
            return await trial.call(step, name=f"fixture {name}")
        generator = step()
        first = _first_async if inspect.isasyncgen(generator) else next
        step = functools.partial(first, generator, _NOTHING)
        value = await trial.call(step, name=f"fixture {name}")
        if value is _NOTHING:
            raise CodeError(f"fixture {name} yields nothing")
        teardowns.append((name, generator))
        return value

    def _called(
        self, function: Callable[..., Any], arguments: Mapping[str, Any]
    ) -> functools.partial[Any]:
        names = parameters_of(function)
        return functools.partial(
            function, **{name: arguments[name] for name in names if name in arguments}
        )

    async def _tear_down_all(self, teardowns: list[tuple[str, Any]], trial: Trial) -> None:
        """Tears all fixtures down, the last one first; what ends the run waits until it is done."""
        ending: BaseException | None = None
        while teardowns:
            name, generator = teardowns.pop()
            try:
                await self._tear_down(name, generator, trial)
            # Also when the trial is cancelled: the fixtures that are left may hold files or servers.
            except BaseException as error:
                ending = ending or error
        if ending is not None:
            raise ending

    async def _tear_down(self, name: str, generator: Any, trial: Trial) -> None:
        """Runs what stands after a fixture's `yield`; what it raises is an error among the expectations."""
        last = _last_async if inspect.isasyncgen(generator) else _last
        try:
            if not await trial.call(
                functools.partial(last, generator), name=f"tear-down of {name}"
            ):
                twice = CodeError(f"fixture {name} yields more than once")
                trial.expect(Expectation(None, Raised(f"tear-down of {name}", twice)))
        except (BudgetStop, StoreError):
            raise
        except Exception as error:
            trial.expect(Expectation(None, Raised(f"tear-down of {name}", error)))


@functools.lru_cache(maxsize=4096)
def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters. Looked up once: a trial cannot afford it."""
    return tuple(inspect.signature(function).parameters)


_NOTHING = object()


async def _first_async(generator: Any, otherwise: object) -> Any:
    return await anext(generator, otherwise)


def _last(generator: Any) -> bool:
    """Whether that was its end. One that yields again is closed, so that what it holds is let go."""
    ended = next(generator, _NOTHING) is _NOTHING
    generator.close()
    return ended


async def _last_async(generator: Any) -> bool:
    ended = await anext(generator, _NOTHING) is _NOTHING
    await generator.aclose()
    return ended


SHOWN = 30


def broken_off(path: Path, case: Case, error: Exception) -> Expectation:
    """The expectation that stands for what an eval raised.

    An `assert` of the eval, or of what stands beside it in a folder `evals`, is what the author expects: a failure.
    One of the application's is a fault of its own, and an error, as is everything else that is raised.

    Args:
        path: The eval's file.
        error: What it raised.
    """
    if isinstance(error, CodeError) and error.missed and _of_the_evals(error.missed.file, path):
        missed = error.missed
        place = f"{Path(missed.file).name}:{missed.line}"
        reason = missed.message or "the assert did not hold"
        stated = Stated(missed.text, f"{reason}; nothing after it was run")
        return Expectation(False, stated, metadata={"assert": place})
    if isinstance(error, CodeError):
        there = (
            (_there(case, error) if error.key else "")
            or _lacking(case, error)
            or instead_of(error.message, error.hint)
        )
        if there:
            error = CodeError(error.message, hint=f"{there} {error.hint}")
    return Expectation(None, Raised("the eval runs to its end", error))


def _of_the_evals(file: str, path: Path) -> bool:
    """Whether a file is an eval's own, or one below the folder `evals` that it stands in."""
    if Path(file) == path:
        return True
    folder = next((folder for folder in path.parents if folder.name == "evals"), None)
    return folder is not None and Path(file).is_relative_to(folder)


def _lacking(case: Case, error: CodeError) -> str:
    """What to write where the line that raised looks for a field that the case lacks; empty where it does not."""
    line = error.hint
    if error.key in case.vars and f".{error.key}" in line:
        return f"Write case.vars[{error.key!r}]: it is a variable."
    known = ", ".join(map(str, list(case.vars)[:SHOWN])) or "none"
    if "'Case' object is not subscriptable" in error.message:
        key = re.search(r"\[\s*(['\"])(\w+)\1\s*\]", line)
        field = key is not None and key[2] in FIELDS
        return (
            f"Write case.{key[2]}."
            if key is not None and field
            else f"Write case.vars[…]; its variables are: {known}."
        )
    if missing := re.search(r"'Case' object has no attribute '(\w+)'", error.message):
        near = nearest(missing[1], FIELDS)
        variable = "" if near else nearest(missing[1], map(str, case.vars))
        meant = repr(near) if near else f"case.vars[{variable!r}]" if variable else ""
        hint = f"Did you mean {meant}? " if meant else ""
        return f"{hint}A case has {', '.join(FIELDS)}; case {case.id!r} has the variables: {known}."
    for field in ("expected", "input", "context") if "None" in error.message else ():
        if re.search(rf"\.{field}\b", line) and getattr(case, field) in (None, ()):
            near = next((n for n, f in near_fields([case]).items() if f == field), "")
            meant = f" Did you mean case.vars[{near!r}]?" if near else ""
            return f"case {case.id!r} has no `{field}`; its variables are: {known}.{meant}"
    return ""


def _there(case: Case, error: CodeError) -> str:
    """What a case has, where the line that raised a KeyError looks into it; empty where it does not."""
    for what in ("vars", "metadata"):
        names = getattr(case, what)
        if f"{what}[" in error.hint and error.key not in names:
            known = ", ".join(map(str, list(names)[:SHOWN])) or "nothing"
            own = [name for name in ("input", "expected", "context") if getattr(case, name)]
            if error.key in own:
                return f"Write case.{error.key}: it is a field of its own."
            fields = f"; besides, case.{', case.'.join(own)}" if own else ""
            return f"case.{what} of {case.id!r} has: {known}{fields}."
    return ""


def _add(name: str, fixtures: Mapping[str, Callable[..., Any]], order: dict[str, None]) -> None:
    """Adds a fixture after those that it asks for."""
    if name not in order:
        for other in parameters_of(fixtures[name]):
            if other in fixtures:
                _add(other, fixtures, order)
        order[name] = None
