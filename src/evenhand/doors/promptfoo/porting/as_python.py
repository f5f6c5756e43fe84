"""A promptfoo config as an eval set in Python: the way out of YAML.

What has a scorer of its own is written with it; other assertions, and code that a config names, stay as they are inside
`Asserts`, `Transform` and the like. What an eval set has no place for is left out, and said in a comment at the top.

How this works: the plan is walked, and each test that can be carried over is kept with the variants that it is run in.
Tests that are run in the same variants, equally often, are one eval set; all sets share one eval. What all tests have
in common stands in that eval; where they differ, it looks it up by the case's id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from evenhand.core.case import Case
from evenhand.core.errors import TemplateError, first_line
from evenhand.doors.promptfoo.body import CellBody
from evenhand.doors.promptfoo.case_variables import is_code, resolved
from evenhand.doors.promptfoo.plan import Folder
from evenhand.doors.promptfoo.porting.checks import checks, secret
from evenhand.doors.promptfoo.porting.file import PrintedFile
from evenhand.doors.promptfoo.porting.literal import call, literal
from evenhand.doors.promptfoo.porting.one_eval import KeptTest

_OF_RUNS = {
    "outputPath": "evenhand run -o results.json",
    "derivedMetrics": "compute them from the results",
    "maxConcurrency": "evenhand run -j 4",
    "delay": "provider(…, delay=100)",
    "timeoutMs": "evenhand run --time-limit 60",
    "maxEvalTimeMs": "an eval set has no bound on the whole run",
    "cache": "evenhand run --no-cache",
    "envPath": "evenhand run --env-file .env",
}
"""What says how a config is run, and how an eval set is told so."""

_TAKES = "it may use the stored output of an earlier test; ask for both in one eval"
_ASKS = "it asks a provider of its own; write an eval with that one as its model"
_TALKS = "it continues a conversation, and trials of an eval set are independent"


def as_python(folder: Folder) -> PrintedFile:
    """The config of this plan as a Python file."""
    left = dict.fromkeys(_beside(folder))
    return PrintedFile(folder, _kept(folder, left), left)


def _kept(folder: Folder, left: dict[str, None]) -> list[KeptTest]:
    """The tests that can be carried over, in their order."""
    kept_tests: dict[str, KeptTest | None] = {}
    for planned in folder.plan().trials():
        body, case = planned.body, planned.case
        if not isinstance(body, CellBody):
            continue
        test, pair, name = body.test, body.pair, case.description or case.id
        speaks = bool(pair.conversation) and test.listens
        left.update(dict.fromkeys(_of_models(body)))
        why = _TAKES if planned.after else _ASKS if test.subject is not None else ""
        if pair.subject.problem is not None:
            left[f"provider {pair.variant.model}: {pair.subject.problem.what}"] = None
            continue
        if speaks:
            left[f"prompt {pair.variant.prompt}: {_TALKS}"] = None
        elif why:
            left[f"test {name}: {why}"] = None
            kept_tests[case.id] = None
        elif case.id not in kept_tests:
            try:
                kept_tests[case.id] = one = _one(case, body)
                list(checks(test, one.known, one.templates))
            except TemplateError as error:  # such as a filter that is called with nothing
                left[f"test {name}: {first_line(error)}"] = None
                kept_tests[case.id] = None
            if secret(test):
                left[f"secrets of test {name}: set them in the environment"] = None
        portable = kept_tests.get(case.id)
        if portable is not None and not speaks:
            portable.variants[pair.variant.index] = pair
            portable.repeats = max(portable.repeats, planned.repeat + 1)
    return [portable for portable in kept_tests.values() if portable is not None]


def _of_models(body: CellBody) -> Iterator[str]:
    """Settings of models beside tests and prompts, as far as an eval set has them elsewhere."""
    settings = body.test.settings
    if settings:
        yield f"options {', '.join(sorted(settings))}: write them into the config of the model"


def _one(case: Case, body: CellBody) -> KeptTest:
    test, base, templates = body.test, body.pair.base, body.pair.templates
    inside = [literal(test.transform_vars)] if test.transform_vars else []
    named = {"files": sorted(test.files), "tagged": sorted(test.tagged)}
    named = {key: names for key, names in named.items() if names}
    one = KeptTest(
        case=case,
        test=test,
        variables=case.vars,
        known=None,
        changes=call("Variables", *inside, **named),
        templates=templates,
    )
    # What code computes, and what a transform changes, is known in the trial only.
    if not any(is_code(case.vars[name]) for name in test.files):
        plain, filled = resolved(case.vars, test.files, test.tagged, base, templates)
        if not test.transform_vars and plain == filled:
            return replace(one, variables=plain, known=plain, changes=None)
    return one


def _beside(folder: Folder) -> Iterator[str]:
    """What of the config is about the run, not about its tests."""
    hooks = folder.hooks_of_trials
    if hooks:
        yield f"extensions {', '.join(hooks)}: write what they do into the eval, or a fixture"
    written = folder.record
    for key in ("", "evaluateOptions", "commandLineOptions"):
        options = written.get(key) if key else written
        for name in options if isinstance(options, Mapping) else ():
            if name in _OF_RUNS:
                yield f"{f'{key}.' if key else ''}{name}: {_OF_RUNS[name]}"
