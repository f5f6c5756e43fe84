"""What happens in one trial of an eval: fixtures are made, the function is called by name, fixtures are torn down."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.authoring.evalset import Eval, EvalSet
from evenhand.authoring.expect import Expect, Raised
from evenhand.core.errors import BudgetStop, CodeError, ProviderError, StoreError
from evenhand.core.expect import Expectation, Trial
from evenhand.core.provider import Provider
from evenhand.engine.present import during
from evenhand.isolation.kept import one_trial

LIMIT_S = 600.0
"""For one eval: it may ask models many times."""


@dataclass(frozen=True, slots=True)
class EvalBody:
    """One eval with these values of its set's axes."""

    evals: EvalSet
    eval: Eval
    axes: Mapping[str, Any]
    model: Provider | None
    judge: Provider | None

    async def __call__(self, trial: Trial) -> object:
        with one_trial(self._waits):
            return await self._run(trial)

    def _waits(self) -> bool:
        """Whether the eval, or a fixture that it needs, is async."""
        asked, seen = [self.eval.function], set[str]()
        while asked:
            function = asked.pop()
            if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
                return True
            for name in parameters_of(function):
                if name in self.evals.fixtures and name not in seen:
                    seen.add(name)
                    asked.append(self.evals.fixtures[name])
        return False

    async def _run(self, trial: Trial) -> object:
        expect = Expect(trial)
        given: dict[str, Any] = {
            **self.axes,
            "case": trial.case,
            "expect": expect,
            "repeat": trial.repeat,
        }
        if self.model is not None:
            given["model"] = trial.model(self.model, "subject")
        if self.judge is not None:
            given["judge"] = trial.model(self.judge, "judge")
        teardowns: list[tuple[str, Any]] = []
        result: object = None
        try:
            await self._call_with(
                self.eval.function, self.eval.name, given, teardowns, trial, results := []
            )
            result = results[0] if results else None
        except (BudgetStop, StoreError):
            raise
        except ProviderError as error:
            if error.fatal:
                raise
            trial.expect(Expectation(None, Raised("the eval runs to its end", error)))
        except Exception as error:  # noqa: BLE001 (whatever the eval raises is one error among its expectations)
            trial.expect(Expectation(None, Raised("the eval runs to its end", error)))
        finally:
            with during("setup"):
                await self._tear_down_all(teardowns, trial)
        if result is None and trial.reply is not None:
            result = trial.reply.text
        return result

    async def _call_with(
        self,
        function: Callable[..., Any],
        name: str,
        given: dict[str, Any],
        teardowns: list[tuple[str, Any]],
        trial: Trial,
        results: list[object],
    ) -> None:
        names = parameters_of(function)
        for parameter in names:
            if parameter not in given and parameter in self.evals.fixtures:
                with during("setup"):
                    await self._make(parameter, given, teardowns, trial)
        wanted = {name: given[name] for name in names if name in given}
        results.append(
            await trial.call(functools.partial(function, **wanted), name=name, limit_s=LIMIT_S)
        )

    async def _make(
        self, name: str, given: dict[str, Any], teardowns: list[tuple[str, Any]], trial: Trial
    ) -> None:
        """Makes a fixture, and those that it asks for itself."""
        function = self.evals.fixtures[name]
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            names = parameters_of(function)
            for parameter in names:
                if parameter not in given and parameter in self.evals.fixtures:
                    await self._make(parameter, given, teardowns, trial)
            wanted = {name: given[name] for name in names if name in given}
            generator = function(**wanted)
            step = functools.partial(_first, generator)
            if inspect.isasyncgen(generator):
                step = functools.partial(_first_async, generator)
            made = await trial.call(step, name=f"fixture {name}", limit_s=LIMIT_S)
            if made is _NOTHING:
                raise CodeError(f"fixture {name} yields nothing")
            given[name] = made
            teardowns.append((name, generator))
            return
        results: list[object] = []
        await self._call_with(function, f"fixture {name}", given, teardowns, trial, results)
        given[name] = results[0]

    async def _tear_down_all(self, teardowns: list[tuple[str, Any]], trial: Trial) -> None:
        """Tears all fixtures down, the last one first; what ends the run waits until it is done."""
        ending: BaseException | None = None
        for name, generator in reversed(teardowns):
            try:
                await self._tear_down(name, generator, trial)
            except BaseException as error:  # noqa: BLE001 (cancelled, too; the first one is raised below)
                ending = ending or error
        if ending is not None:
            raise ending

    async def _tear_down(self, name: str, generator: Any, trial: Trial) -> None:
        """Runs what stands after a fixture's `yield`; what it raises is an error among the expectations."""
        step = functools.partial(_last, generator)
        if inspect.isasyncgen(generator):
            step = functools.partial(_last_async, generator)
        try:
            if not await trial.call(step, name=f"tear-down of {name}", limit_s=LIMIT_S):
                twice = CodeError(f"fixture {name} yields more than once")
                trial.expect(Expectation(None, Raised(f"tear-down of {name}", twice)))
        except (BudgetStop, StoreError):
            raise
        except Exception as error:  # noqa: BLE001 (see above)
            trial.expect(Expectation(None, Raised(f"tear-down of {name}", error)))


@functools.lru_cache(maxsize=4096)
def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters. Looked up once: a trial cannot afford it."""
    return tuple(inspect.signature(function).parameters)


_NOTHING = object()


def _first(generator: Any) -> Any:
    return next(generator, _NOTHING)


async def _first_async(generator: Any) -> Any:
    return await anext(generator, _NOTHING)


def _last(generator: Any) -> bool:
    """Whether that was its end. One that yields again is closed, so that what it holds is let go."""
    ended = next(generator, _NOTHING) is _NOTHING
    generator.close()
    return ended


async def _last_async(generator: Any) -> bool:
    ended = await anext(generator, _NOTHING) is _NOTHING
    await generator.aclose()
    return ended
