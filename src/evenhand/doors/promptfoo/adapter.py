"""What evals in Python take over from promptfoo's dialect: its assertions, its templates and its providers.

For eval sets that were promptfoo configs once: `evenhand init --from promptfooconfig.yaml` writes them. Paths start
from the folder of the file that names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from evenhand.core.contest import Unsettled
from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.provider import Provider
from evenhand.core.run import TrialResult
from evenhand.core.score import Score
from evenhand.doors.assertions.aggregate import verdict_rule
from evenhand.doors.assertions.assertion import Cell
from evenhand.doors.assertions.contests import referee
from evenhand.doors.assertions.reading import AssertionReader
from evenhand.doors.assertions.sets import parts_of
from evenhand.doors.promptfoo.adapter_steps import (
    PromptFile,
    Template,
    Transform,
    Variables,
    caller,
    config_of,
    environment_of,
    lend_templates,
    lent,
    stored,
    templates_of,
)
from evenhand.doors.promptfoo.environment import declared, env_filled
from evenhand.doors.promptfoo.models import FolderModels
from evenhand.doors.promptfoo.scoring import scored, scoring_problems
from evenhand.languages.documents.findings import At, Findings, Place
from evenhand.languages.templates.rendering import Templates, add_filters

__all__ = [
    "Asserts",
    "Compare",
    "PromptFile",
    "Template",
    "Transform",
    "Variables",
    "lend",
    "provider",
    "stored",
]

_settings: dict[tuple[Path, str], Mapping[str, Any]] = {}
"""The config of each folder's providers, by label: the functions that they declare are there."""


class Asserts:
    """Assertions as a promptfoo config writes them, as one question: `Asserts({"type": "bleu", "value": "Hello"})`.

    Args:
        *assertions: Each with its type, and whatever else it takes.
        threshold: What the weighted mean of their scores has to reach; by default each of them has to pass.
        options: What a test says under `options` that assertions go by: `provider`, `rubricPrompt`, `factuality`.
        scoring: The function that says what they come to: `file://score.py[:name]`, as `assertScoringFunction` has it.

    Raises:
        UsageError: There is none.
        ConfigError: One of them is no assertion.
    """

    def __init__(
        self,
        *assertions: Mapping[str, Any],
        threshold: float | None = None,
        options: Mapping[str, Any] | None = None,
        scoring: str = "",
    ) -> None:
        if not assertions:
            raise UsageError(
                "Asserts: there are no assertions", hint='Write {"type": "contains", "value": "…"}.'
            )
        at = caller()
        findings = Findings()
        reader = AssertionReader(at.parent, _models(at.parent), findings, templates_of(at.parent))
        expected = reader.expected([*assertions], options or {}, lambda *_: Place(at), check=True)
        for what, hint in scoring_problems(scoring, at.parent) if scoring else ():
            findings.problem(Place(at), what, hint)
        if findings.problems:
            raise findings.error()
        self._makes = expected.makes
        self._rule = verdict_rule(threshold, expected.binding, expected.excusing)
        self._assertions = assertions
        self._shown: Mapping[str, Any] = {"assert": [*assertions], "options": dict(options or {})}
        self._scoring = scoring
        self._base = at.parent

    async def score(self, output: Any, trial: Trial) -> Score:
        variables = trial.vars
        test = {**self._shown, "vars": dict(variables)}
        if trial.case.description:
            test["description"] = trial.case.description
        cell = Cell(
            output=output,
            prompt=trial.prompt_text,
            variables=variables,
            test=test,
            provider_id=trial.variant.provider_id or trial.variant.model,
            provider_label=trial.variant.model,
            reply=trial.reply,
            metadata=trial.case.metadata,
            provider_config=_settings.get((self._base, trial.variant.model), {}),
            steps=lambda: trial.steps,
        )
        expectations = [make(cell) for make in self._makes]
        outcomes = await trial.settled(expectations)
        verdict = self._rule(outcomes)
        if self._scoring:
            verdict = await scored(self._scoring, self._base, trial, self._shown, outcomes, verdict)
        if verdict.outcome == "error":
            raise ScoreError(verdict.reason)
        value = None if verdict.outcome == "not_applicable" else verdict.score
        if value is None and verdict.outcome != "not_applicable":
            value = float(verdict.outcome == "pass")  # whatever the one in error would have come to
        return Score(
            value,
            verdict.outcome == "pass",
            verdict.reason,
            parts_of(outcomes, expectations),
            verdict.named_scores,
        )

    def __str__(self) -> str:
        types = ", ".join(str(assertion.get("type")) for assertion in self._assertions)
        value = self._assertions[0].get("value")
        if len(self._assertions) > 1 or not isinstance(value, str):
            return types
        return f"{types} {' '.join(value.split())[:60]}"


class Compare:
    """An assertion that compares the outputs of all variants: `Compare({"type": "select-best", "value": "kindest"})`.

    For `EvalSet(compare=[…])`. Who is not the winner fails.

    Args:
        assertion: Of type `select-best` or `max-score`.
        options: As for `Asserts`.
        types: For a `max-score` with `weights`: the types of what is expected beside it, in their order.

    Raises:
        ConfigError: It is no such assertion.
    """

    def __init__(
        self,
        assertion: Mapping[str, Any],
        *,
        options: Mapping[str, Any] | None = None,
        types: Sequence[str | Sequence[str]] = (),
    ) -> None:
        at = caller()
        findings = Findings()
        reader = AssertionReader(at.parent, _models(at.parent), findings, templates_of(at.parent))
        expected = reader.expected([assertion], options or {}, lambda *_: Place(at), check=True)
        if not expected.contests and not findings.problems:
            what = f"'{assertion.get('type')}' does not compare outputs"
            findings.problem(Place(at), what, "select-best and max-score do.")
        if findings.problems:
            raise findings.error()
        self._assertion = expected.contests[0]
        self._types = types

    async def compare(
        self, contestants: Sequence[TrialResult], trial: Trial
    ) -> Sequence[Score | Unsettled]:
        types = self._types or [""] * len(contestants[0].outcomes)
        return await referee(self._assertion, types).compare(contestants, trial)

    def __str__(self) -> str:
        return str(referee(self._assertion, ()))


def provider(
    id: str,  # noqa: A002 (the word that users write)
    *,
    label: str = "",
    config: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    delay: float = 0,
) -> Provider:
    """A model with settings, as a promptfoo config names it: `provider("openai:chat:x", config={"temperature": 0})`.

    Args:
        label: Its name in reports; the id by default.
        config: Its settings.
        env: Variables of the environment that are its own.
        delay: Milliseconds that it rests before each call.

    Raises:
        ConfigError: There is no such provider.
    """
    base = caller().parent
    key = {"id": id, "label": label, "config": config, "env": env, "delay": delay}
    fields = {name: value for name, value in key.items() if value}
    filled = env_filled(fields, environment_of(base))
    findings = Findings()
    models = FolderModels(config_of(base, {"providers": [filled]}), findings)
    subject = next(iter(models.subjects()), None)
    if subject is None or subject.problems:
        raise findings.error()
    _settings[base, subject.provider.label] = subject.config
    return subject.provider


def lend(
    *, env: Mapping[str, object] | None = None, filters: Mapping[str, str] | None = None
) -> None:
    """Lends the providers, judges and templates of this folder what a config has under `env` and `nunjucksFilters`.

    Args:
        env: Variables of the environment; those of the process go under them. Numbers and booleans are text there.
        filters: Filters for templates, by name: the file of JavaScript that exports each.

    Raises:
        ConfigError: A filter is none.
    """
    base = caller().parent
    lent[base] = {**lent.get(base, {}), **declared({"env": env or {}}, {})}
    findings = Findings()
    at: At = lambda *_: Place(base)  # noqa: E731
    templates = Templates(lent[base])
    if filters:
        add_filters(templates, filters, base, at, findings)
    if findings.problems:
        raise findings.error()
    lend_templates(base, templates)


@cache
def _models(base: Path) -> FolderModels:
    """The judges of one folder's assertions, each made once."""
    return FolderModels(config_of(base, {}), Findings())
