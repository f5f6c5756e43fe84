"""The extensions that are called around each trial: they may change its test before, and its scores after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from evenhand.core.errors import CodeError
from evenhand.core.expect import Trial
from evenhand.core.score import Outcome, Verdict
from evenhand.documents.findings import Findings
from evenhand.promptfoo.config import Config
from evenhand.promptfoo.hooks import Hooks
from evenhand.promptfoo.models import Models
from evenhand.promptfoo.overrides import Overrides
from evenhand.promptfoo.reader import TestReader
from evenhand.promptfoo.tests import Test, WrittenTest


class TrialHooks:
    """The hooks of each trial."""

    def __init__(self, hooks: Hooks, config: Config, models: Models) -> None:
        self.hooks = hooks
        self._models = models
        value = {k: v for k, v in config.value.items() if k not in ("defaultTest", "metadata")}
        self._config = replace(config, value=value, overrides=Overrides())

    async def before(
        self, trial: Trial, test: Test, variables: Mapping[str, Any], told: Mapping[str, Any]
    ) -> tuple[Test, Mapping[str, Any]]:
        """The test as the hooks leave it, and its variables.

        Args:
            told: The test with its defaults, as a config would write it.

        Raises:
            CodeError: One of them raised, or left something that is no test.
        """
        if not self.hooks.at("beforeEach"):
            return test, variables
        given = {**told, "vars": dict(variables)}
        context = await self.hooks.called(trial, "beforeEach", {"test": given})
        found = cast("dict[str, Any]", context["test"])
        values = found.get("vars")
        if not isinstance(values, Mapping):
            raise CodeError("beforeEach left a test without vars")
        if any(found.get(key) != given.get(key) for key in found.keys() | given.keys() - {"vars"}):
            findings = Findings()
            reader = TestReader.of(self._config, self._models, findings)
            written = WrittenTest({**found, "vars": {}}, lambda *_: self._config.at("tests"))
            changed = reader.read(written)
            problems = findings.problems + findings.broken_parts
            if changed is None or problems:
                raise CodeError(f"beforeEach left a test that cannot be run: {problems[0].what}")
            test = replace(
                changed, stores=test.stores, alone=test.alone, files=test.files, tagged=test.tagged
            )
        kept = frozenset(values)
        test = replace(test, files=test.files & kept, tagged=test.tagged & kept)
        return test, cast("Mapping[str, Any]", values)

    async def after(
        self,
        trial: Trial,
        told: Mapping[str, Any],
        output: object,
        outcomes: Sequence[Outcome],
        verdict: Verdict,
    ) -> Verdict:
        """The verdict with the named scores that the hooks set; metadata that they set is kept with the result.

        Raises:
            CodeError: One of them raised, or set a score that is no number.
        """
        if not self.hooks.at("afterEach"):
            return verdict
        reply = trial.reply
        metadata = {} if reply is None else dict(reply.metadata)
        result: dict[str, Any] = {
            "success": verdict.outcome == "pass",
            "score": verdict.score or 0.0,
            "failureReason": {"fail": 1, "error": 2}.get(verdict.outcome, 0),
            "namedScores": dict(verdict.named_scores),
            "metadata": dict(trial.case.metadata),
            "vars": dict(trial.case.vars),
            "testCase": dict(told),
            "provider": {"id": trial.variant.provider_id, "label": trial.variant.model},
            "response": {"output": output, "metadata": metadata},
            "gradingResult": {
                "pass": verdict.outcome == "pass",
                "score": verdict.score or 0.0,
                "reason": verdict.reason,
                "componentResults": [
                    {"pass": o.outcome == "pass", "score": o.score or 0.0, "reason": o.reason}
                    for o in outcomes
                ],
            },
        }
        context = await self.hooks.called(
            trial, "afterEach", {"test": dict(told), "result": result}
        )
        found = cast("Mapping[str, Any]", context.get("result") or {})
        scores = _numbers(found.get("namedScores"), "afterEach")
        said = found.get("metadata")
        if isinstance(said, Mapping) and said != result["metadata"]:
            trial.mark(cast("Mapping[str, Any]", said))
        return replace(verdict, named_scores={**verdict.named_scores, **scores})


def _numbers(given: object, name: str) -> dict[str, float]:
    """Named scores that a hook set: finite numbers.

    Raises:
        CodeError: One of them is no number.
    """
    found: dict[str, float] = {}
    for key, value in cast("Mapping[str, object]", given or {}).items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value - value != 0:
            raise CodeError(f"{name} set the score '{key}' to {value!r}, which is not a number")
        found[key] = float(value)
    return found
