"""Extensions: functions of the user's that are called before and after all tests, and before and after each trial."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from evenhand.core.errors import CodeError, EvenhandError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_mapping, is_number
from evenhand.core.provider import Host
from evenhand.core.record import Record
from evenhand.core.score import Outcome, Verdict
from evenhand.core.variant import Variant
from evenhand.doors.assertions.assertion import response_of
from evenhand.doors.assertions.code_files import called_in_file, file_problems
from evenhand.doors.assertions.transform import split_reference
from evenhand.doors.promptfoo.config import Config
from evenhand.doors.promptfoo.generated_tests import outside_of_trials
from evenhand.doors.promptfoo.models import FolderModels
from evenhand.doors.promptfoo.overrides import Overrides
from evenhand.doors.promptfoo.prompts import AnyPrompt, TextPrompt
from evenhand.doors.promptfoo.reader import TestReader
from evenhand.doors.promptfoo.sources import ListedTests
from evenhand.doors.promptfoo.tests import Test, TestSource, WrittenTest
from evenhand.languages.documents.findings import Findings
from evenhand.languages.javascript import running as javascript
from evenhand.languages.javascript.references import is_reference
from evenhand.languages.javascript.references import split_reference as split_javascript

Moment = Literal["beforeAll", "beforeEach", "afterEach", "afterAll"]
MOMENTS: tuple[Moment, ...] = ("beforeAll", "beforeEach", "afterEach", "afterAll")
_MAY_CHANGE = ("tests", "defaultTest", "prompts", "derivedMetrics")


class Hook(Record, frozen=True):
    """One function. One that is called like a moment is called at that moment; any other name, at all four."""

    path: Path
    name: str

    def meets(self, moment: Moment) -> bool:
        """Whether the hook is called at this moment."""
        return self.name == moment or self.name not in MOMENTS


class Hooks(Record, frozen=True):
    """The extensions of a config, in their order."""

    hooks: tuple[Hook, ...] = ()

    def at(self, moment: Moment) -> bool:
        """Whether any of them is called at this moment."""
        return any(hook.meets(moment) for hook in self.hooks)

    @property
    def files(self) -> set[Path]:
        """The files of the extensions."""
        return {hook.path for hook in self.hooks}

    def around_trials(self, config: Config, models: FolderModels) -> TrialHooks | None:
        """What calls them for each trial; None where there are none."""
        return TrialHooks(self, config, models) if self.hooks else None

    async def called(self, host: Host, moment: Moment, context: dict[str, Any]) -> dict[str, Any]:
        """The context as they leave it, one after the other.

        Raises:
            CodeError: One raised, took too long, or has a `yield`.
        """
        for hook in self.hooks:
            if not hook.meets(moment):
                continue
            # Each hook has a copy, so that only what it returns changes the context.
            copied = json.loads(json.dumps(context, default=str))
            second: object = {"hookName": moment}
            # promptfoo passes the context first to a hook named after a moment, and the moment first to any other.
            args = (copied, second) if hook.name in MOMENTS else (moment, copied)
            changed = await called_in_file(host, hook.path, hook.name, *args)
            if isinstance(changed, (Generator, AsyncGenerator)):
                raise CodeError(
                    f"{hook.path.name}:{hook.name} has a `yield`, so nothing of it has run",
                    hint="Return the context. What is to be done afterwards belongs into a hook of its own.",
                )
            if is_mapping(changed):
                context = {**context, **changed, **_result_of(context, changed)}
        return context


def _result_of(context: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """What `afterEach` makes of a result: as in promptfoo, its scores and metadata go over those that are there."""
    before, now = context.get("result"), changed.get("result")
    if not is_mapping(before):
        return {}
    merged = {
        key: {**as_mapping(before.get(key)), **as_mapping(as_mapping(now).get(key))}
        for key in ("namedScores", "metadata")
    }
    return {"result": {**before, **merged}}


def read_hooks(config: Config, findings: Findings) -> Hooks:
    """The extensions that a config names."""
    extensions = config.value.get("extensions") or []
    items = extensions if is_array(extensions) else [extensions]
    hooks: list[Hook] = []
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
        hooks.append(Hook(config.base / path, name))
    return Hooks(tuple(hooks))


def before_all(
    hooks: Hooks,
    config: Config,
    prompts: Sequence[AnyPrompt],
    sources: list[TestSource],
    findings: Findings,
) -> tuple[Config, Sequence[AnyPrompt], list[TestSource]]:
    """The config, its prompts and the sources of its tests, as the extensions leave them.

    Of the config, `defaultTest` and `derivedMetrics` may be changed.
    """
    tests = [dict(row.value) for source in sources for row in source.rows(findings)]
    default = config.value.get("defaultTest") or {}
    if is_mapping(default):  # with what a hook may append to, whether or not it is written
        default = {"vars": {}, "assert": [], "options": {}, **default}
    suite = {
        **config.value,
        "tests": tests,
        "prompts": [_prompt_document(prompt) for prompt in prompts],
        "defaultTest": default,
    }
    try:
        limit_s = config.options.time_limit_s
        context = outside_of_trials(
            lambda host: hooks.called(host, "beforeAll", {"suite": suite}), limit_s
        )
        changed_suite = context["suite"]
    except EvenhandError as error:
        findings.problem(config.at("extensions"), error.message, error.hint)
        return config, prompts, sources
    if not is_mapping(changed_suite):
        findings.problem(config.at("extensions"), "beforeAll left no suite")
        return config, prompts, sources
    for key in sorted(suite.keys() | changed_suite.keys()):
        if key not in _MAY_CHANGE and changed_suite.get(key) != suite.get(key):
            findings.hint(
                config.at("extensions"),
                f"beforeAll changed {key} of the suite, which has no effect",
                f"It may change {', '.join(_MAY_CHANGE[:-1])} and {_MAY_CHANGE[-1]}.",
            )
    for key in ("defaultTest", "derivedMetrics"):
        if changed_suite.get(key) != suite.get(key):
            config = replace(config, value={**config.value, key: changed_suite.get(key)})
    if changed_suite.get("prompts") != suite["prompts"]:
        prompts = _changed_prompts(changed_suite.get("prompts"), prompts, config, findings)
    # Untouched tests keep their sources, and with them their lines and their files.
    if changed_suite.get("tests") != tests:
        items = cast("list[object]", changed_suite.get("tests") or [])
        sources = [
            ListedTests(document=config.document, items=items, prefix=("tests",), home=config.base)
        ]
    return config, prompts, sources


def _prompt_document(prompt: AnyPrompt) -> dict[str, Any]:
    return {"raw": prompt.raw, "label": prompt.label, "config": dict(prompt.config)}


def _changed_prompts(
    changed: object, prompts: Sequence[AnyPrompt], config: Config, findings: Findings
) -> list[AnyPrompt]:
    """The prompts that a hook left. One with another text is text, even where it was a function; the others stay."""
    place, before = config.at("extensions"), {prompt.label: prompt for prompt in prompts}
    after: list[AnyPrompt] = []
    for item in as_array(changed):
        fields = as_mapping(item)
        raw = fields.get("raw")
        if not isinstance(raw, str):
            findings.problem(
                place, f"beforeAll left a prompt {item!r:.60}", "Write {'raw': …, 'label': …}."
            )
            continue
        label = str(fields.get("label") or raw)
        same = before.get(label)
        if same is not None and _prompt_document(same) == {**_prompt_document(same), **fields}:
            after.append(same)
            continue
        after.append(
            TextPrompt(
                label=label,
                raw=raw,
                config=as_mapping(fields.get("config")),
                place=place,
                id="" if same is None else same.id,
                by_path="" if same is None else same.by_path,
                templates=config.templates,
            )
        )
    if not after and not findings.problems:
        findings.problem(place, "beforeAll left no prompts")
    return after


def finished(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
    """The results of a run, its prompts with their metrics, and its id: what promptfoo's file of results has.

    Nothing is left out of the results, and their variables are filled in, with what `beforeEach` made of them.
    """
    from evenhand.render.promptfoo.row import Stripped  # noqa: PLC0415 (only where there are such hooks)
    from evenhand.render.promptfoo.writing import Results  # noqa: PLC0415 (the same)
    from evenhand.store.runfile import RunFile  # noqa: PLC0415 (the same)

    with RunFile.open(path) as run:
        results, variants = Results(run, Stripped()), run.meta.variants
        rows = [
            {
                **row,
                "vars": dict(trial.vars),
                "testCase": {**row["testCase"], "vars": dict(trial.vars)},
                "provider": _provider(variants[trial.variant]),
            }
            for trial, row in zip(run.trials(), results.rows(), strict=True)
        ]
        return rows, results.prompts(), run.meta.id


def _provider(variant: Variant) -> dict[str, str]:
    return {"id": variant.provider_id, "label": variant.model}


def _verdict(settled: Verdict) -> dict[str, Any]:
    """A verdict in the words of promptfoo."""
    return {
        "success": settled.outcome in ("pass", "not_applicable"),
        "score": settled.score or 0.0,
        # promptfoo's numbers: 0 for none, 1 for an assertion, 2 for an error.
        "failureReason": {"fail": 1, "error": 2}.get(settled.outcome, 0),
        "namedScores": dict(settled.named_scores),
    }


class TrialHooks:
    """The hooks of each trial."""

    def __init__(self, hooks: Hooks, config: Config, models: FolderModels) -> None:
        self.hooks = hooks
        self._models = models
        # The document of a test includes the defaults already: read with the config's, they would count twice.
        value = {k: v for k, v in config.value.items() if k not in ("defaultTest", "metadata")}
        self._config = replace(config, value=value, overrides=Overrides())

    async def before(
        self,
        trial: Trial,
        test: Test,
        variables: Mapping[str, Any],
        test_document: Mapping[str, Any],
    ) -> tuple[Test, Mapping[str, Any], Mapping[str, Any]]:
        """The test as the hooks leave it, its variables, and the test as a config would write it then.

        Args:
            test_document: The test with its defaults, as a config would write it.

        Raises:
            CodeError: One of them raised, or left something that is no test.
        """
        if not self.hooks.at("beforeEach"):
            return test, variables, test_document
        before = {**test_document, "vars": dict(variables)}
        context = await self.hooks.called(trial, "beforeEach", {"test": before})
        after = cast("dict[str, Any]", context["test"])
        values = after.get("vars")
        if not is_mapping(values):
            raise CodeError("beforeEach left a test without vars")
        if any(
            after.get(key) != before.get(key) for key in (after.keys() | before.keys()) - {"vars"}
        ):
            findings = Findings()
            reader = TestReader.of(self._config, self._models, findings)
            written = WrittenTest({**after, "vars": {}}, lambda *_: self._config.at("tests"))
            changed = reader.read(written)
            problems = findings.problems + findings.broken_parts
            if changed is None or problems:
                raise CodeError(f"beforeEach left a test that cannot be run: {problems[0].what}")
            test = replace(
                changed,
                stores=test.stores,
                alone=test.alone,
                files=test.files,
                tagged=test.tagged,
                subject=test.subject,
            )
        names = frozenset(values)
        # A hook may have taken variables away; these would be looked up by name later.
        test = replace(test, files=test.files & names, tagged=test.tagged & names)
        return test, values, {key: value for key, value in after.items() if key != "vars"}

    async def after(
        self,
        trial: Trial,
        test_document: Mapping[str, Any],
        metadata: Mapping[str, Any],
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
        from evenhand.render.promptfoo.row import components  # noqa: PLC0415 (only where there are such hooks)

        test = {**test_document, "vars": dict(trial.vars)}
        response = {"output": output, "metadata": {}}
        if trial.reply is not None:
            response = response_of(trial.reply, output)
        # As in promptfoo, tokens that are not known count as 0.
        tokens = {key: n or 0 for key, n in as_mapping(response.get("tokenUsage")).items()}
        response["tokenUsage"] = {"prompt": 0, "completion": 0, "total": 0, **tokens}
        settled = _verdict(verdict)
        result: dict[str, Any] = {
            **settled,
            "metadata": {**metadata, **as_mapping(response["metadata"])},
            "vars": dict(trial.vars),
            "testCase": test,
            "prompt": {"raw": trial.prompt_text, "label": trial.variant.prompt},
            "promptIdx": trial.variant.index,
            "provider": _provider(trial.variant),
            "response": response,
            **{key: response.get(key) for key in ("cost", "latencyMs", "tokenUsage")},
            **({} if settled["success"] else {"error": verdict.reason}),
            "gradingResult": {
                "pass": settled["success"],
                "score": settled["score"],
                "reason": verdict.reason,
                "namedScores": dict(verdict.named_scores),
                "componentResults": components(outcomes, test_document),
            },
        }
        context = await self.hooks.called(trial, "afterEach", {"test": test, "result": result})
        changed = cast("Mapping[str, Any]", context.get("result") or {})
        scores = _numbers(changed.get("namedScores"), "afterEach")
        marks = changed.get("metadata")
        if is_mapping(marks):
            before = as_mapping(result["metadata"])
            trial.mark({k: v for k, v in marks.items() if k not in before or before[k] != v})
        return replace(verdict, named_scores={**verdict.named_scores, **scores})


def _numbers(scores: object, name: str) -> dict[str, float]:
    """Named scores that a hook set: finite numbers."""
    numbers: dict[str, float] = {}
    for key, value in cast("Mapping[str, object]", scores or {}).items():
        # Only infinity and NaN, minus themselves, do not come to 0.
        if not is_number(value) or value - value != 0:
            raise CodeError(f"{name} set the score '{key}' to {value!r}, which is not a number")
        numbers[key] = float(value)
    return numbers
