"""Extensions: functions of the user's that are called before and after all tests, and before and after each trial."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from evenhand.assertions.code_files import file_problems
from evenhand.assertions.transform import split_reference
from evenhand.core.errors import EvenhandError
from evenhand.core.provider import Host
from evenhand.documents.findings import Findings
from evenhand.javascript import running as javascript
from evenhand.javascript.source import is_reference
from evenhand.javascript.source import split_reference as split_javascript
from evenhand.promptfoo.config import Config
from evenhand.promptfoo.prompts import AnyPrompt
from evenhand.promptfoo.sources import ListedTests
from evenhand.promptfoo.tests import TestSource

Moment = Literal["beforeAll", "beforeEach", "afterEach", "afterAll"]
MOMENTS: tuple[Moment, ...] = ("beforeAll", "beforeEach", "afterEach", "afterAll")


@dataclass(frozen=True, slots=True)
class Hook:
    """One function. One that is called like a moment is called at that moment; any other name, at all four."""

    path: Path
    name: str

    def meets(self, moment: Moment) -> bool:
        """Whether it is called at this moment."""
        return self.name == moment or self.name not in MOMENTS


@dataclass(frozen=True, slots=True)
class Hooks:
    """The extensions of a config, in their order."""

    hooks: tuple[Hook, ...] = ()

    def at(self, moment: Moment) -> bool:
        """Whether any of them is called at this moment."""
        return any(hook.meets(moment) for hook in self.hooks)

    @property
    def files(self) -> set[Path]:
        """Their files."""
        return {hook.path for hook in self.hooks}

    async def called(self, host: Host, moment: Moment, context: dict[str, Any]) -> dict[str, Any]:
        """The context as they leave it, one after the other.

        Raises:
            CodeError: One raised, or took too long.
        """
        for hook in self.hooks:
            if not hook.meets(moment):
                continue
            given = json.loads(json.dumps(context, default=str))
            second: object = {"hookName": moment}
            args = (given, second) if hook.name in MOMENTS else (moment, given)
            found = await _returned(host, hook, args)
            if isinstance(found, Mapping):
                context = {**context, **cast("Mapping[str, Any]", found)}
        return context


async def _returned(host: Host, hook: Hook, args: Sequence[object]) -> object:
    if hook.path.suffix == ".py":
        function = await host.load(hook.path, hook.name)
        return await host.call(function, *args, name=f"{hook.path.name}:{hook.name}")
    script = javascript.function(hook.path, hook.name)
    return (await javascript.call(host, script, *args)).value


def read_hooks(config: Config, findings: Findings) -> Hooks:
    """The extensions that a config names."""
    given = config.value.get("extensions") or []
    items = cast("list[object]", given) if isinstance(given, list) else [given]
    found: list[Hook] = []
    for i, item in enumerate(items):
        place = config.at("extensions", i)
        if not isinstance(item, str) or not item.startswith("file://") or ":" not in item[7:]:
            findings.problem(
                place, f"an extension is {item!r}", "Write file://hooks.py:beforeEach, say."
            )
            continue
        if is_reference(item):
            path, name = split_javascript(item)
            wrong = javascript.problems(javascript.function(config.base / path, name))
        else:
            path, name = split_reference(item, "")
            wrong = file_problems(item, config.base, name)
        for what, hint in wrong:
            findings.problem(place, what, hint)
        found.append(Hook(config.base / path, name))
    return Hooks(tuple(found))


def said_once(hooks: Hooks, moment: Moment, context: dict[str, Any]) -> dict[str, Any]:
    """What the hooks of a moment outside of any trial make of its context.

    Raises:
        CodeError: One raised, or took too long.
    """
    from evenhand.engine.code import CodeHost  # noqa: PLC0415 (only where there are such hooks)
    from evenhand.engine.door import waited_for  # noqa: PLC0415 (see above)

    async def call() -> dict[str, Any]:
        host = CodeHost()
        with host.open():
            return await hooks.called(host, moment, context)

    return waited_for(call())


def before_all(
    hooks: Hooks,
    config: Config,
    prompts: Sequence[AnyPrompt],
    sources: list[TestSource],
    findings: Findings,
) -> tuple[Config, list[TestSource]]:
    """The config, whose `defaultTest` may be changed, and the sources of its tests, as the extensions leave them."""
    tests = [dict(row.value) for source in sources for row in source.rows(findings)]
    default = config.value.get("defaultTest") or {}
    if isinstance(default, Mapping):  # with what a hook may append to, whether or not it is written
        default = {"vars": {}, "assert": [], "options": {}, **cast("Mapping[str, Any]", default)}
    suite = {
        **config.value,
        "tests": tests,
        "prompts": [{"raw": prompt.raw, "label": prompt.label} for prompt in prompts],
        "defaultTest": default,
    }
    try:
        found = said_once(hooks, "beforeAll", {"suite": suite})["suite"]
    except EvenhandError as error:
        findings.problem(config.at("extensions"), error.message, error.hint)
        return config, sources
    if not isinstance(found, Mapping):
        findings.problem(config.at("extensions"), "beforeAll left no suite")
        return config, sources
    changed = cast("Mapping[str, Any]", found)
    if changed.get("defaultTest") != suite["defaultTest"]:
        value = {**config.value, "defaultTest": changed.get("defaultTest")}
        config = replace(config, value=value)
    if changed.get("tests") == tests:
        return config, sources
    items = cast("list[object]", changed.get("tests") or [])
    return config, [ListedTests(config.document, items, ("tests",))]


def finished(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
    """The results of a run, its prompts, and its id, in the words of promptfoo."""
    from evenhand.store.runfile import RunFile  # noqa: PLC0415 (only where there are such hooks)

    with RunFile.open(path) as run:
        variants = run.meta.variants
        results = [
            {
                "success": trial.outcome == "pass",
                "score": trial.score or 0.0,
                "failureReason": {"fail": 1, "error": 2}.get(trial.outcome, 0),
                "namedScores": dict(trial.named_scores),
                "metadata": dict(trial.metadata),
                "vars": dict(trial.vars),
                "response": {"output": trial.output},
                "promptIdx": trial.variant,
                "provider": {
                    "id": variants[trial.variant].provider_id,
                    "label": variants[trial.variant].model,
                },
                "error": trial.error.message if trial.error else None,
            }
            for trial in run.trials()
        ]
        prompts = [{"raw": v.prompt_raw, "label": v.prompt, "provider": v.model} for v in variants]
        return results, prompts, run.meta.id
