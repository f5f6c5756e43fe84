"""What evals in Python take over from promptfoo's dialect: its assertions, its templates and its providers.

For eval sets that were promptfoo configs once: `evenhand init --from promptfooconfig.yaml` writes them. Paths start
from the folder of the file that names them.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.message import Prompt
from evenhand.core.provider import Provider
from evenhand.core.score import Score
from evenhand.documents.findings import Findings, Place
from evenhand.documents.tree import Document
from evenhand.promptfoo.aggregate import verdict_rule
from evenhand.promptfoo.assertions.assertion import Cell
from evenhand.promptfoo.assertions.reading import AssertionReader
from evenhand.promptfoo.config import Config
from evenhand.promptfoo.environment import env_filled
from evenhand.promptfoo.models import Models
from evenhand.promptfoo.prompts import TextPrompt


class Asserts:
    """Assertions as a promptfoo config writes them, as one question: `Asserts({"type": "bleu", "value": "Hello"})`.

    Args:
        *assertions: Each with its type, and whatever else it takes.
        threshold: What the weighted mean of their scores has to reach; by default each of them has to pass.

    Raises:
        UsageError: There is none.
        ConfigError: One of them is no assertion.
    """

    def __init__(self, *assertions: Mapping[str, Any], threshold: float | None = None) -> None:
        if not assertions:
            raise UsageError(
                "Asserts: there are no assertions", hint='Write {"type": "contains", "value": "…"}.'
            )
        at = _caller()
        findings = Findings()
        reader = AssertionReader(_config(at.parent), _models(at.parent), findings)
        found = reader.expected([*assertions], {}, lambda *_: Place(at), check=True)
        if findings.problems:
            raise findings.error()
        self._makes = found.makes
        self._rule = verdict_rule(threshold, found.binding, found.excusing)
        self._assertions = assertions

    async def score(self, output: Any, trial: Trial) -> Score:
        reply = trial.reply
        cell = Cell(
            output,
            str(getattr(trial, "prompt_text", "")),
            trial.case.vars,
            {"vars": dict(trial.case.vars), "assert": [*self._assertions]},
            trial.variant.model,
            trial.variant.model,
            reply,
            trial.case.metadata,
        )
        outcomes = await trial.settled([make(cell) for make in self._makes])
        verdict = self._rule(outcomes)
        if verdict.outcome == "error":
            raise ScoreError(verdict.reason)
        value = None if verdict.outcome == "not_applicable" else verdict.score
        return Score(value, verdict.outcome == "pass", verdict.reason, named=verdict.named_scores)

    def __str__(self) -> str:
        types = ", ".join(str(assertion.get("type")) for assertion in self._assertions)
        value = self._assertions[0].get("value")
        if len(self._assertions) > 1 or not isinstance(value, str):
            return types
        return f"{types} {' '.join(value.split())[:60]}"


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt that is a Nunjucks template, or a conversation in JSON: `Template("loud", "{{ text | upper }}")`."""

    name: str
    text: str

    def render(self, /, **variables: Any) -> Prompt:
        """The prompt, filled in."""
        return TextPrompt(self.name, self.text).filled("", "")(variables, variables)

    def __str__(self) -> str:
        return self.name


def provider(
    id: str,  # noqa: A002 (the word that users write)
    *,
    label: str = "",
    config: Mapping[str, Any] | None = None,
) -> Provider:
    """A model with settings, as a promptfoo config names it: `provider("openai:chat:x", config={"temperature": 0})`.

    Raises:
        ConfigError: There is no such provider.
    """
    at = _caller()
    settings = env_filled(dict(config or {}), os.environ)
    wanted = {"id": id, "config": settings, **({"label": label} if label else {})}
    findings = Findings()
    models = Models(_config(at.parent, {"providers": [wanted]}), findings)
    columns = models.subjects()
    if findings.problems:
        raise findings.error()
    return columns[0].provider


def _caller() -> Path:
    """The file that asks for something here: relative paths start from its folder."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return Path(frame.f_code.co_filename if frame else "").absolute()


def _config(base: Path, value: dict[str, Any] | None = None) -> Config:
    document = Document(base / "promptfooconfig.yaml", cast("Any", value or {}))
    return Config(document, value or {}, os.environ)


@cache
def _models(base: Path) -> Models:
    """The judges of one folder's assertions, each made once."""
    return Models(_config(base), Findings())
