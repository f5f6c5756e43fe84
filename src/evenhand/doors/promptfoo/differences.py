"""Which of the deviations from promptfoo a folder would meet: what `evenhand check` lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from evenhand.core.json_shapes import as_array, as_mapping, is_mapping
from evenhand.core.record import MutableRecord
from evenhand.doors.assertions.assertion import split
from evenhand.doors.assertions.deviations import DEVIATIONS
from evenhand.doors.assertions.kinds import SUPPORTED, kind_of
from evenhand.doors.promptfoo.case_variables import circle
from evenhand.doors.promptfoo.models import CALLBACKS
from evenhand.doors.promptfoo.plan import Folder
from evenhand.doors.promptfoo.prompts import FunctionPrompt, ProgramPrompt, TextPrompt
from evenhand.doors.promptfoo.tests import Test
from evenhand.languages.templates.rendering import has_tags
from evenhand.providers.wrapped import Paused

_CODE = frozenset({"python", "javascript", "webhook"})
_BOUNDS = frozenset({"latency", "cost"})
_TABLES = (".csv", ".tsv", ".xlsx", ".xls")
_DATA = (*_TABLES, ".json", ".jsonl")
_UNCLOSED = r"(?m)\{%[^%]*$|\{\{[^}]*$|\{#[^#]*$"
"""A tag that is not closed on its line."""
_OBEYED = frozenset(
    "repeat maxConcurrency delay cache filterRange filterSample filterSampleSeed tags envPath".split()
)
"""The `commandLineOptions` that promptfoo itself obeys, as far as they decide what is run."""


_IN_TESTS: Mapping[str, Callable[[Test], bool]] = {
    "simulated users": lambda test: test.user is not None and test.user.own is None,
    "evenhand:user": lambda test: test.user is not None and test.user.own is not None,
    "scoring functions": lambda test: bool(test.scoring),
    "prefixes of code": lambda test: bool(test.prefix or test.suffix),
    "providers of tests": lambda test: test.subject is not None,
    "transformVars": lambda test: bool(test.transform_vars),
    "circular variables": lambda test: bool(circle(test.variables, test.tagged)),
}
_IN_DATA: Mapping[str, Callable[[Test], bool]] = {
    "tags in data": lambda test: any(map(has_tags, _texts_beside(test, test.tagged))),
    "files in data": lambda test: any(
        text.startswith("file://") for text in _texts_beside(test, test.files)
    ),
}
"""Deviations that a test meets, wherever it stands; and those that one in a folder with files of data does."""


class FolderUses(MutableRecord, kw_only=True):
    """What a folder uses of promptfoo's dialect, as far as it decides what differs.

    Attributes:
        types: Assertion types, those in sets too, without `not-`.
        judged: Some of them ask a model for a verdict.
        filled: Some of those that are code have tags.
        tabled: Some tests come from tables.
        cells: The types of the assertions that such a test has beside those of `defaultTest`; `file:` for a file.
        tests: The deviations of `_IN_TESTS` and `_IN_DATA` that some tests meet.
        listed: Variables that hold lists of objects.
    """

    folder: Folder
    types: set[str] = msgspec.field(default_factory=set[str])
    judged: bool = False
    filled: bool = False
    tabled: bool = False
    cells: set[str] = msgspec.field(default_factory=set[str])
    tests: set[str] = msgspec.field(default_factory=set[str])
    listed: set[str] = msgspec.field(default_factory=set[str])

    @classmethod
    def of(cls, folder: Folder) -> FolderUses:
        """Walks the tests once more."""
        uses = cls(folder=folder)
        for test in folder.tests:
            uses._look_at(test)
        return uses

    def _look_at(self, test: Test) -> None:
        names = [one.path.name.lower() for one in self.folder.tests.sources if one.path is not None]
        self.tabled = self.tabled or any(name.endswith(_TABLES) for name in names)
        in_data = any(name.endswith(_DATA) for name in names)
        met = {**_IN_TESTS, **_IN_DATA} if in_data else _IN_TESTS
        self.tests.update(name for name, meets in met.items() if meets(test))
        self.listed.update(name for name, value in test.variables.items() if _are_objects(value))
        for one in _flat(test.raw.get("assert")) if self.tabled else ():
            type_ = split(str(one.get("type")))[0]
            in_file = type_ in _CODE and str(one.get("value")).startswith("file://")
            self.cells.add("file:" if in_file else type_)
        for one in _flat(test.shown.get("assert")):
            type_ = split(str(one.get("type")))[0]
            value = one.get("value")
            self.types.add(type_)
            self.judged = self.judged or (type_ in SUPPORTED and kind_of(type_).asks == "generate")
            self.filled = self.filled or (
                type_ in _CODE and isinstance(value, str) and has_tags(value)
            )


def _texts_beside(test: Test, names: frozenset[str]) -> Iterator[str]:
    """The texts among a test's variables, without those of these names."""
    for name, value in test.variables.items():
        if isinstance(value, str) and name not in names:
            yield value


def differences(folder: Folder) -> list[str]:
    """What would come out otherwise in promptfoo, and why: a sentence each, only what applies."""
    uses = FolderUses.of(folder)
    return [DEVIATIONS[subject] for subject, applies in APPLIES.items() if applies(uses)]


def _written(uses: FolderUses) -> Mapping[str, Any]:
    return uses.folder.record


def _same_ids(uses: FolderUses) -> bool:
    own = [p.subject.provider.id for p in uses.folder.pairs if p.subject.prompts is not None]
    subjects = {(p.subject.provider.id, p.subject.place) for p in uses.folder.pairs}
    return any(sum(id_ == one for one, _ in subjects) > 1 for id_ in own)


def _are_objects(value: object) -> bool:
    items = as_array(value)
    return bool(items) and isinstance(items[0], Mapping)


def _asks(uses: FolderUses, *vendors: str) -> bool:
    """Whether any of the models is of one of these vendors."""
    ids = (pair.subject.provider.id for pair in uses.folder.pairs)
    return any(id_.partition(":")[0] in vendors for id_ in ids)


def _flat(assertions: object) -> Iterator[Mapping[str, Any]]:
    for item in as_array(assertions):
        if is_mapping(item):
            yield item
            yield from _flat(item.get("assert"))


def _by_name(uses: FolderUses) -> bool:
    prompts = (pair.prompt for pair in uses.folder.pairs)
    return not uses.folder.config.strict_prompts and any(
        isinstance(p, FunctionPrompt) for p in prompts
    )


def _programs(uses: FolderUses) -> bool:
    return any(isinstance(pair.prompt, ProgramPrompt) for pair in uses.folder.pairs)


APPLIES: Mapping[str, Callable[[FolderUses], bool]] = {
    "errors": lambda uses: uses.judged or bool(uses.types & _CODE),
    "judges": lambda uses: uses.judged,
    "judge replies": lambda uses: uses.judged,
    "data in code": lambda uses: uses.filled,
    "simulated users": lambda uses: "simulated users" in uses.tests,
    "evenhand:user": lambda uses: "evenhand:user" in uses.tests,
    "MCP servers": lambda uses: any(
        pair.subject.mcp is not None and not pair.subject.mcp.calls for pair in uses.folder.pairs
    ),
    "callbacks": lambda uses: any(CALLBACKS in pair.subject.config for pair in uses.folder.pairs),
    "meteor": lambda uses: "meteor" in uses.types,
    "file:// in CSV": lambda uses: "file:" in uses.cells,
    "traces": lambda uses: any(name.startswith(("trace-", "trajectory:")) for name in uses.types),
    "webhooks": lambda uses: "webhook" in uses.types,
    "answers of web services": lambda uses: any(
        pair.subject.provider.id.partition(":")[0] in ("http", "https")
        and "validateStatus" not in pair.subject.config
        for pair in uses.folder.pairs
    ),
    "cached latency": lambda uses: "latency" in uses.types and uses.folder.config.options.cache,
    "contests": lambda uses: bool(uses.types & {"select-best", "max-score"}),
    "scoring functions": lambda uses: "scoring functions" in uses.tests,
    "tags in data": lambda uses: "tags in data" in uses.tests,
    "thresholds in CSV": lambda uses: bool(uses.cells & _BOUNDS),
    "Python prompts": _by_name,
    "braces of functions": lambda uses: _by_name(uses) or _programs(uses),
    "unclosed tags": lambda uses: any(
        isinstance(pair.prompt, TextPrompt) and re.search(_UNCLOSED, pair.prompt.raw)
        for pair in uses.folder.pairs
    ),
    "commandLineOptions": lambda uses: bool(
        as_mapping(_written(uses).get("commandLineOptions")).keys() - _OBEYED
    ),
    "scripts as prompts": _programs,
    "files in data": lambda uses: "files in data" in uses.tests,
    "prefixes of code": lambda uses: (
        "prefixes of code" in uses.tests
        and any(not isinstance(pair.prompt, TextPrompt) for pair in uses.folder.pairs)
    ),
    "prompt prefixes": lambda uses: bool(
        uses.folder.prefixed and _written(uses).get("defaultTest")
    ),
    "prompts of providers": _same_ids,
    "providers of tests": lambda uses: "providers of tests" in uses.tests,
    "messages in variables": lambda uses: any(
        pair.prompt.raw.strip(" {}\n") in uses.listed
        for pair in uses.folder.pairs
        if isinstance(pair.prompt, TextPrompt)
    ),
    "finish reasons": lambda uses: (
        "finish-reason" in uses.types and _asks(uses, "mistral", "localai")
    ),
    "calls without output": lambda uses: (
        _asks(uses, "mistral", "localai")
        and any("tools" in pair.subject.config for pair in uses.folder.pairs)
    ),
    "absent providers": lambda uses: any(
        pair.subject.problem is not None for pair in uses.folder.pairs
    ),
    "blank lines of prompts": lambda uses: any(
        pair.subject.provider.id.startswith("anthropic:") and "\n\n" in pair.prompt.raw
        for pair in uses.folder.pairs
    ),
    "delay": lambda uses: (
        uses.folder.config.options.delay_s > 0
        or any(isinstance(pair.subject.provider, Paused) for pair in uses.folder.pairs)
    ),
    "transformVars": lambda uses: "transformVars" in uses.tests,
    "circular variables": lambda uses: "circular variables" in uses.tests,
    "afterEach": lambda uses: bool(
        uses.folder.trial_hooks and uses.folder.trial_hooks.hooks.at("afterEach")
    ),
    "derived metrics": lambda uses: bool(_written(uses).get("derivedMetrics")),
    "objects in CSV": lambda uses: any(
        path.lower().endswith(".csv") for path in uses.folder.config.options.outputs
    ),
    "cached code": lambda uses: (
        uses.folder.config.options.cache
        and any(
            ".py" in p.subject.provider.id or ".js" in p.subject.provider.id
            for p in uses.folder.pairs
        )
    ),
}
"""When a deviation is met. Those that are not here hold for every folder, and are not repeated for each."""
