"""A trial that needs no run: it answers judges from a list and runs user code on the spot."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.case import Case
from evenhand.core.errors import CodeError
from evenhand.core.expect import Expectation
from evenhand.core.message import Prompt, Reply
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted


@dataclass
class FakeModel:
    """Gives its replies in order, and keeps what it was asked."""

    replies: list[Any]
    asked: list[Prompt] = field(default_factory=list)
    name: str = "the judge"

    async def generate(self, prompt: Prompt | str) -> Reply:
        assert isinstance(prompt, Prompt)
        self.asked.append(prompt)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Reply) else Reply(reply, model="judge-1")


@dataclass
class FakeTrial:
    """What a scorer may ask of a run."""

    judge: FakeModel = field(default_factory=lambda: FakeModel([]))
    reply: Reply | None = None
    case: Case = field(default_factory=lambda: Case("1"))
    variant: Variant = field(default_factory=lambda: Variant(0, "p", "m"))
    repeat: int = 0
    unrecorded: list[str] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)

    def model(self, provider: object, role: str) -> FakeModel:
        self.roles.append(role)
        return self.judge

    def expect(self, expectation: Expectation) -> None:
        raise NotImplementedError

    def show(self, variables: object, description: str = "", test: object = None) -> None:
        raise NotImplementedError

    async def load(self, path: Path, name: str) -> Callable[..., Any]:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found: Any = module
        for part in name.split("."):
            found = getattr(found, part)
        return found

    async def call(
        self, function: Callable[..., Any], *args: object, name: str, limit_s: float | None = None
    ) -> Any:
        self.ran.append(name)
        try:
            result = function(*args)
            return await result if inspect.isawaitable(result) else result
        except CodeError:
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}: …" if trace else ""
            raise CodeError(f"{name} raised {type(error).__name__}: {error}", hint=where) from error


@pytest.fixture
def trial() -> FakeTrial:
    """A trial without a run."""
    return FakeTrial()


@pytest.fixture
def judged(tmp_path: Path) -> Callable[..., Awaitable[Outcome]]:
    """The outcome of one expectation, run as an eval set whose judge answers in turn, or as a function says."""

    async def judged(
        scorer: Any, *replies: Any, output: Any = "the output", **expected: Any
    ) -> Outcome:
        judge = Scripted(replies[0] if replies and callable(replies[0]) else replies)
        evals = EvalSet("judged", judge=judge if replies else None)

        @evals.eval
        def only(expect: Any) -> None:
            expect(output, scorer, **expected)

        settings = Settings(home=tmp_path, cache=False)
        finished = await door.settle(plan_of([evals], env={}), settings)
        with RunFile.open(finished.path) as run:
            (trial,) = run.trials()
        return trial.outcomes[0]

    return judged
