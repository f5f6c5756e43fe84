"""The judges of a cascade, lent to one trial."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Protocol

from evenhand.core.application_code import ApplicationCode, changed_code
from evenhand.core.cascade import CascadeLimits
from evenhand.core.case import Case
from evenhand.core.decision import Decision, DecisionQuestion
from evenhand.core.encoding import digest
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import texts_in
from evenhand.core.message import CallRole, Messages, Model, Prompt, Reply
from evenhand.core.provider import Provider
from evenhand.core.request_settings import settings_in
from evenhand.core.variant import Variant
from evenhand.engine.call_context import LentModel
from evenhand.providers.cascade import CascadeJudge


class _SeveralModels:
    """Several models, of which one answers what isn't a judge's question."""

    __slots__ = ()

    @property
    def _stand_in(self) -> Model:
        raise NotImplementedError

    async def generate(self, prompt: Prompt | str | Messages) -> Reply:
        return await self._stand_in.generate(prompt)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return await self._stand_in.embed(texts)

    async def classify(self, text: str) -> dict[str, float]:
        return await self._stand_in.classify(text)

    async def moderate(self, text: str) -> dict[str, float]:
        return await self._stand_in.moderate(text)


class CascadeModel(_SeveralModels):
    """A cheap judge and a dearer one. Who asks a judge's question asks them in turn."""

    __slots__ = ("_cheap", "_code", "_eval", "_judge", "_system", "first", "then")

    def __init__(
        self,
        judge: CascadeJudge,
        lend: Callable[[Provider], LentModel],
        role: CallRole,
        trial: Judged,
        code: Callable[[], ApplicationCode],
    ) -> None:
        if role == "subject":
            raise UsageError(
                "a model under evaluation can't be a cascade of judges",
                hint="Name one model; a cascade is for `judge`.",
            )
        self._judge = judge
        self._cheap = lend(judge.first)
        self._system = functools.partial(system_of, trial)
        self._eval, self._code = trial.variant.eval, code
        self.first: Model = self._cheap
        self.then: Model = lend(judge.then)

    @property
    def name(self) -> str:
        return self._judge.label

    @property
    def cascade(self) -> str:
        return self._judge.key

    @property
    def risk(self) -> float:
        return self._judge.risk

    @property
    def people(self) -> float:
        return self._judge.people

    @property
    def system(self) -> str:
        return self._system()

    def limits(self, metric: str, question: str) -> CascadeLimits | None:
        limits = self._judge.limits(metric, question, self._system())
        if limits is None or changed_code(limits.code, self._code(), [self._eval]):
            return None
        return limits

    @property
    def decides(self) -> bool:
        return False  # what can't be asked of both in turn is asked of the one that writes

    async def decide(self, questions: Sequence[DecisionQuestion]) -> list[tuple[Decision, Reply]]:
        return await self._cheap.decide(questions)

    @property
    def _stand_in(self) -> Model:
        return self.then


class Judged(Protocol):
    """The trial that is judged."""

    prompt_text: str
    reply: Reply | None
    identities: list[bytes]

    @property
    def case(self) -> Case:
        """The case."""
        ...

    @property
    def variant(self) -> Variant:
        """The variant."""
        ...


def system_of(trial: Judged) -> str:
    """A digest of what answered a trial, whatever its case: its prompt as written, its model, its axes, its settings.

    Where code made the prompt, it is what was sent, without the case's own texts. What says which cases belong together
    is part of it: at which risk verdicts stand goes by clusters.
    """
    variant = trial.variant
    axes = [
        f"{name}: {variant.contents.get(name, value)}"
        for name, value in sorted(variant.axes.items())
        if name not in ("prompt", "model")
    ]
    sent = trial.prompt_text
    for text in sorted(set(texts_in([trial.case.input, trial.case.vars])), key=len, reverse=True):
        sent = sent.replace(text, "\0") if text else sent
    prompt = variant.prompt_raw or sent or variant.eval or variant.prompt
    model = (trial.reply.model if trial.reply is not None else "") or variant.model
    # As a judge's calibration goes by them: without settings nothing is added, so that earlier digests hold.
    settings = {settings_in(identity) for identity in trial.identities}
    clusters = [f"cluster: {variant.cluster}"] if variant.cluster else []
    return digest(prompt, model, *axes, *sorted(settings), *clusters)[:16]


class FallbackModel(_SeveralModels):
    """Several models, lent to one trial. Who asks a judge's question asks the next one where one is out of reach.

    Attributes:
        models: In the order in which they are asked.
    """

    __slots__ = ("_role", "models")

    def __init__(self, models: Sequence[LentModel], role: CallRole) -> None:
        if role == "subject":
            raise UsageError(
                "a model under evaluation has no fallback: its answers would be another model's",
                hint="Name one model; a list of judges is for `judge`.",
            )
        self.models: Sequence[LentModel] = models
        self._role = role

    @property
    def name(self) -> str:
        return self.models[0].name

    @property
    def decides(self) -> bool:
        return self.models[0].decides

    async def decide(self, questions: Sequence[DecisionQuestion]) -> list[tuple[Decision, Reply]]:
        return await self.models[0].decide(questions)

    @property
    def _stand_in(self) -> Model:
        return self.models[0]
