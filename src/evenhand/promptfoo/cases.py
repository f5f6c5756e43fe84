"""Tests: rows as written, merged with `defaultTest`, checked, and spread over their lists of variables."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evenhand.promptfoo.assertions import (
    SUPPORTED,
    Assertion,
    Make,
    prepared,
    problems,
    split,
    transform_problems,
    unknown_type,
)
from evenhand.promptfoo.cells import test_from_row
from evenhand.promptfoo.config import Config, number
from evenhand.promptfoo.findings import Findings, did_you_mean, matching
from evenhand.promptfoo.models import Models
from evenhand.promptfoo.sources import At, Csv, Row, Source
from evenhand.promptfoo.template import has_tags
from evenhand.promptfoo.tree import read_document, read_text

_KEYS = frozenset(
    """
    description vars assert options threshold metadata provider providers prompts providerOutput id
    assertScoringFunction
    """.split()
)
_NEEDED = frozenset(
    {"vars", "assert", "options", "metadata", "provider", "providerOutput", "threshold"}
)
_OPTIONS = frozenset(
    """
    prefix suffix transform postprocess transformVars storeOutputAs rubricPrompt provider factuality disableVarExpansion
    disableConversationVar disableDefaultAsserts runSerially repeat
    """.split()
)
_ASSERT_KEYS = frozenset(
    "type value threshold weight metric provider rubricPrompt transform contextTransform config assert".split()
)
PICTURES = frozenset(".png .jpg .jpeg .gif .webp .bmp .svg".split())
_OPTIONS_NOT_YET = {
    "transformVars": "Work the variables out beforehand.",
    "storeOutputAs": "Tests that use another test's output cannot be run yet.",
}


@dataclass(slots=True)
class Test:
    """One test, ready to be run.

    Attributes:
        variables: As written, lists not yet spread.
        files: The variables whose value names a file.
        tagged: The variables in which tags are filled in: written in the config, with tags in them.
        asserts: What makes its expectations.
        raw: As written, for graders.
        literal: `prefix` and `suffix` are data: no tag in them is filled in.
        judged: The judges that it asks, once for each assertion.
    """

    description: str
    variables: Mapping[str, Any]
    files: frozenset[str]
    tagged: frozenset[str]
    asserts: Sequence[Make]
    threshold: float | None
    prefix: str
    suffix: str
    transform: str
    spread: bool
    metadata: Mapping[str, Any]
    provider_output: Any
    providers: tuple[str, ...] | None
    prompts: tuple[str, ...] | None
    raw: Mapping[str, Any]
    judged: tuple[str, ...]
    literal: bool = False

    def cases(self) -> Iterator[Mapping[str, Any]]:
        """The variables of each case: every combination of the lists of text among them, the last varying fastest."""
        lists = [k for k, v in self.variables.items() if _spreads(v)] if self.spread else []
        if not lists:
            yield self.variables
            return
        for values in itertools.product(*(self.variables[name] for name in lists)):
            yield {**self.variables, **dict(zip(lists, values, strict=True))}

    def count(self) -> int:
        """How many cases."""
        found = 1
        if self.spread:
            for value in self.variables.values():
                if _spreads(value):
                    found *= len(value)
        return found


@dataclass(slots=True)
class Defaults:
    """What `defaultTest` says, read once."""

    variables: Mapping[str, Any] = field(default_factory=dict[str, Any])
    files: frozenset[str] = frozenset()
    tagged: frozenset[str] = frozenset()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any])
    threshold: float | None = None


class TestReader:
    """Reads the tests of one config. Walking is repeatable; only the first walk looks for problems."""

    __test__ = False  # for pytest: a reader of tests, not a test

    def __init__(
        self, config: Config, sources: Sequence[Source], models: Models, findings: Findings
    ) -> None:
        self._config = config
        self._sources = sources
        self._models = models
        self._findings = findings
        self._checking = True
        self.files: set[Path] = set()
        """Files that the tests name: variables, graders, rubrics."""
        self._defaults = Defaults()
        self._assert_at: At = lambda *path: config.at("defaultTest", *path)
        self._of_defaults: tuple[tuple[Make, ...], tuple[str, ...]] | None = None
        self._shared: dict[str, tuple[tuple[Make, ...], tuple[str, ...]]] = {}
        self._read_defaults()

    def tests(self, *, checking: bool = False) -> Iterator[Test]:
        """The tests, in their order."""
        self._checking = checking
        findings = self._findings if checking else Findings()
        for source in self._sources:
            is_csv = isinstance(source, Csv)
            for i, row in enumerate(source.rows(findings), 1):
                if is_csv:
                    place = row.at()
                    row = Row(test_from_row(row.value, i, place, findings), row.at, data=True)  # noqa: PLW2901 (as a test)
                test = self._test(row)
                if test is not None:
                    yield test

    def _read_defaults(self) -> None:
        given = self._config.value.get("defaultTest")
        at: At = lambda *path: self._config.at("defaultTest", *path)  # noqa: E731
        if isinstance(given, str) and given.startswith("file://"):
            document = read_document(self._path(given), self._findings, at())
            self.files.add(self._path(given))
            given, at = (None, at) if document is None else (document.value, document.at)
        if given is None:
            given = {}
        if not isinstance(given, Mapping):
            self._findings.problem(at(), f"defaultTest is {given!r}, not an object")
            given = {}
        raw = cast("Mapping[str, Any]", given)
        self._look_at_keys(raw, at)
        variables = self._variables(raw.get("vars"), at)
        options = self._options(raw.get("options"), at)
        if raw.get("provider") is not None and "provider" not in options:
            options = {**options, "provider": raw["provider"]}
        metadata = {**_mapping(self._config.value.get("metadata")), **_mapping(raw.get("metadata"))}
        files, tagged = self._kinds(variables, at)
        threshold = number(raw.get("threshold"), at("threshold"), "threshold", self._findings)
        self._defaults = Defaults(variables, files, tagged, options, metadata, raw, threshold)
        self._assert_at = at
        self._asserts_of_defaults(options)

    def _asserts_of_defaults(
        self, options: Mapping[str, Any]
    ) -> tuple[tuple[Make, ...], tuple[str, ...]]:
        """The default assertions under these options: the judge and the rubric prompt are the test's to choose."""
        if options is self._defaults.options and self._of_defaults is not None:
            return self._of_defaults
        name = json.dumps(
            [options.get("provider"), options.get("rubricPrompt")], sort_keys=True, default=str
        )
        found = self._shared.get(name)
        if found is None:
            found = self._shared[name] = self._asserts(
                self._defaults.raw.get("assert"), options, self._assert_at
            )
        if options is self._defaults.options:
            self._of_defaults = found
        return found

    def _test(self, row: Row) -> Test | None:
        raw, defaults = row.value, self._defaults
        if self._checking:
            if not self._acceptable(row):
                return None
            if len(raw) > 1 or "vars" not in raw:
                self._look_at_keys(raw, row.at)
        given = raw.get("vars")
        if row.data and isinstance(given, dict):
            variables, files, tagged = (
                cast("Mapping[str, Any]", given),
                frozenset[str](),
                frozenset[str](),
            )
            if self._checking:
                self._look_at_data(variables, row.at)
        else:
            variables = self._variables(given, row.at)
            files, tagged = self._kinds(variables, row.at)
        if defaults.variables:
            files = files | (defaults.files - variables.keys())
            tagged = tagged | (defaults.tagged - variables.keys())
            variables = {**defaults.variables, **variables}
        options = defaults.options
        if raw.get("options"):
            options = {**options, **self._options(raw["options"], row.at)}
        asserts, judged = (), ()
        if not options.get("disableDefaultAsserts"):
            asserts, judged = self._asserts_of_defaults(options)
        if raw.get("assert"):
            own, own_judged = self._asserts(raw["assert"], options, row.at)
            asserts, judged = (*asserts, *own), (*judged, *own_judged)
        threshold = raw.get("threshold")
        if threshold is not None:
            threshold = number(threshold, row.at("threshold"), "threshold", self._findings)
        metadata = _mapping(raw.get("metadata"))
        prefix, suffix = str(options.get("prefix") or ""), str(options.get("suffix") or "")
        return Test(
            description=str(raw.get("description") or ""),
            variables=variables,
            files=files,
            tagged=tagged,
            asserts=asserts,
            threshold=defaults.threshold if threshold is None else threshold,
            prefix=prefix,
            suffix=suffix,
            transform=str(options.get("transform") or options.get("postprocess") or ""),
            spread=not options.get("disableVarExpansion"),
            metadata={**defaults.metadata, **metadata} if metadata else defaults.metadata,
            provider_output=raw.get("providerOutput", defaults.raw.get("providerOutput")) or None,
            providers=_names(raw.get("providers", defaults.raw.get("providers"))),
            prompts=_names(raw.get("prompts", defaults.raw.get("prompts"))),
            raw=raw,
            judged=judged,
            literal=row.data
            and bool(prefix or suffix)
            and has_tags(prefix + suffix)
            and "options" in raw,
        )

    def _acceptable(self, row: Row) -> bool:
        if _NEEDED.isdisjoint(row.value):
            keys = ", ".join(map(repr, row.value)) or "nothing"
            hint = (
                did_you_mean(next(iter(row.value), ""), _NEEDED)
                or "Put its variables under 'vars'."
            )
            self._findings.problem(
                row.at(), f"a test has {keys}, and neither 'vars' nor 'assert'", hint
            )
            return False
        return True

    def _look_at_keys(self, raw: Mapping[str, Any], at: At) -> None:
        for key in raw:
            if key not in _KEYS:
                self._findings.hint(
                    at(key), f"unknown key '{key}' of a test is not used", did_you_mean(key, _KEYS)
                )
        if raw.get("assertScoringFunction"):
            self._findings.problem(
                at("assertScoringFunction"), "'assertScoringFunction' is not supported yet"
            )
        if raw.get("metadata") is not None and not isinstance(raw["metadata"], Mapping):
            self._findings.problem(
                at("metadata"), f"metadata is {raw['metadata']!r}, not an object"
            )

    def _options(self, given: object, at: At) -> dict[str, Any]:
        if given is None:
            return {}
        if not isinstance(given, Mapping):
            self._findings.problem(at("options"), f"options is {given!r}, not an object")
            return {}
        options = dict(cast("Mapping[str, Any]", given))
        if not self._checking:
            return options
        for key, value in options.items():
            place = at("options", key)
            if key in _OPTIONS_NOT_YET and value:
                self._findings.problem(
                    place, f"option '{key}' is not supported yet", _OPTIONS_NOT_YET[key]
                )
            elif key == "repeat" and value not in (None, 1):
                self._findings.problem(
                    place,
                    "'repeat' for one test is not supported yet",
                    "Use evaluateOptions.repeat.",
                )
            elif key not in _OPTIONS:
                self._findings.hint(
                    place, f"unknown option '{key}' is not used", did_you_mean(key, _OPTIONS)
                )
            elif key in ("transform", "postprocess") and isinstance(value, str) and value:
                for what, hint in transform_problems(value, self._config.base):
                    self._findings.problem(place, what, hint)
                if value.startswith("file://"):
                    self.files.add(self._path(value))
        return options

    # Variables

    def _variables(self, given: object, at: At) -> dict[str, Any]:
        if given is None:
            return {}
        if isinstance(given, Mapping):
            return {
                str(k): self._globbed(v.removesuffix("\n") if isinstance(v, str) else v, k, at)
                for k, v in cast("Mapping[str, Any]", given).items()
            }
        found: dict[str, Any] = {}
        for reference in cast("list[object]", given) if isinstance(given, list) else [given]:
            if not isinstance(reference, str):
                self._findings.problem(at("vars"), f"vars is {given!r}, not an object")
                return {}
            path = self._path(reference)
            for file in matching(path) or [path]:
                document = read_document(file, self._findings, at("vars"))
                self.files.add(file)
                if document is not None and isinstance(document.value, Mapping):
                    found.update(cast("Mapping[str, Any]", document.value))
        return found

    def _globbed(self, value: object, name: str, at: At) -> object:
        if not (
            isinstance(value, str)
            and value.startswith("file://")
            and any(c in value for c in "*?[")
        ):
            return value
        found = matching(self._path(value))
        if not found and self._checking:
            self._findings.problem(
                at("vars", name), f"no file matches {value.removeprefix('file://')}"
            )
        return [f"file://{path}" for path in found]

    def _kinds(self, variables: Mapping[str, Any], at: At) -> tuple[frozenset[str], frozenset[str]]:
        """The variables that name files, and those with tags to fill in."""
        files: set[str] = set()
        tagged: set[str] = set()
        for name, value in variables.items():
            for text in cast("list[object]", value) if isinstance(value, list) else (value,):
                if not isinstance(text, str):
                    continue
                if text.startswith("file://"):
                    files.add(name)
                    if self._checking:
                        self._look_at_file(text, name, at)
                elif has_tags(text):
                    tagged.add(name)
        return frozenset(files), frozenset(tagged)

    def _look_at_data(self, variables: Mapping[str, Any], at: At) -> None:
        for name, value in variables.items():
            if type(value) is str and value.startswith("file://"):
                self._findings.hint(
                    at(),
                    f"'{name}' is taken as it is: no file is read for a value in a data file",
                    "Name files in the config itself, or in a YAML file of tests.",
                )

    def _look_at_file(self, reference: str, name: str, at: At) -> None:
        path = self._path(reference)
        if path.suffix in (".js", ".ts", ".mjs", ".cjs", ".py", ".pdf"):
            self._findings.problem(
                at("vars", name), f"variables from '{path.suffix}' files are not supported yet"
            )
        elif not path.is_file():
            folder = path.parent
            near = (
                did_you_mean(path.name, [p.name for p in folder.glob("*")])
                if folder.is_dir()
                else ""
            )
            shown = reference.removeprefix("file://")
            self._findings.problem(
                at("vars", name), f"{shown} does not exist", near or f"Looked in {folder}."
            )
        elif path not in self.files:
            self.files.add(path)
            if path.suffix.lower() not in PICTURES:
                read_text(path, self._findings, at("vars", name))

    # Assertions

    def _asserts(
        self, given: object, options: Mapping[str, Any], at: At
    ) -> tuple[tuple[Make, ...], tuple[str, ...]]:
        if given is None:
            return (), ()
        if not isinstance(given, list):
            self._findings.problem(
                at("assert"),
                f"assert is {given!r}, not a list",
                "Begin each assertion with '- type: …'.",
            )
            return (), ()
        makes: list[Make] = []
        judged: list[str] = []
        for i, item in enumerate(cast("list[object]", given)):
            assertion = self._assertion(item, i, options, at)
            if assertion is not None:
                makes.append(prepared(assertion))
                if assertion.type == "llm-rubric" and assertion.judge is not None:
                    judged.append(assertion.judge.id)
        return tuple(makes), tuple(judged)

    def _assertion(
        self, item: object, i: int, options: Mapping[str, Any], at: At
    ) -> Assertion | None:
        findings = self._findings
        if not isinstance(item, Mapping):
            findings.problem(
                at("assert", i),
                f"an assertion is {item!r}, not an object",
                "Write - type: contains, value: …",
            )
            return None
        raw = cast("Mapping[str, Any]", item)
        written = raw.get("type")
        if not isinstance(written, str):
            near = did_you_mean(next(iter(raw), ""), {"type"})
            findings.problem(
                at("assert", i),
                "an assertion has no type",
                near or "Write - type: contains, value: …",
            )
            return None
        type_, negated = split(written)
        if type_ not in SUPPORTED:
            what, hint = unknown_type(written)
            findings.problem(at("assert", i, "type"), what, hint)
            return None
        if self._checking:
            for key in raw:
                if key not in _ASSERT_KEYS:
                    findings.hint(
                        at("assert", i, key),
                        f"unknown key '{key}' of an assertion is not used",
                        did_you_mean(key, _ASSERT_KEYS),
                    )
        judge = None
        if type_ == "llm-rubric":
            spec = raw.get("provider") or options.get("provider")
            place = at("assert", i)
            judge = self._models.judge(spec, place) if spec else self._models.default_judge(place)
        value = self._value(raw.get("value"), i, at)
        weight, threshold = raw.get("weight"), raw.get("threshold")
        if weight is not None:
            weight = number(weight, at("assert", i, "weight"), "weight", findings, 0)
        if threshold is not None:
            threshold = number(threshold, at("assert", i, "threshold"), "threshold", findings)
        transform = raw.get("transform")
        assertion = Assertion(
            type=type_,
            negated=negated,
            value=value,
            threshold=threshold,
            weight=1.0 if weight is None else weight,
            metric=str(raw.get("metric") or ""),
            judge=judge,
            rubric_prompt=self._rubric_prompt(
                raw.get("rubricPrompt") or options.get("rubricPrompt"), at
            ),
            transform=transform if isinstance(transform, str) else "",
            config=raw.get("config") or {},
            base=self._config.base,
            place=str(at("assert", i)) if type_ == "python" else "",
        )
        wrong = problems(assertion) if self._checking else []
        for what, hint in wrong:
            findings.problem(
                at("assert", i, "value") if "value" in raw else at("assert", i), what, hint
            )
        return None if wrong else assertion

    def _value(self, value: object, i: int, at: At) -> object:
        """An assertion's value, with the file of data that it names read in."""
        if not isinstance(value, str) or not value.startswith("file://") or has_tags(value):
            return value
        path = self._path(value)
        if path.suffix in (".json", ".yaml", ".yml"):
            document = read_document(path, self._findings, at("assert", i, "value"))
            self.files.add(path)
            return None if document is None else document.value
        if path.suffix in (".txt", ".md"):
            text = read_text(path, self._findings, at("assert", i, "value"))
            self.files.add(path)
            return None if text is None else text.strip()
        self.files.add(self._path(value.rpartition(":")[0] if ".py:" in value else value))
        return value

    def _rubric_prompt(self, given: object, at: At) -> str:
        if not given:
            return ""
        if isinstance(given, (list, Mapping)):
            return json.dumps(given, ensure_ascii=False)
        text = str(given)
        if text.startswith("file://"):
            path = self._path(text)
            self.files.add(path)
            return read_text(path, self._findings, at("options", "rubricPrompt")) or ""
        return text

    def _path(self, reference: str) -> Path:
        return self._config.base / reference.removeprefix("file://")


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _spreads(value: object) -> bool:
    return (
        isinstance(value, list) and bool(value) and isinstance(cast("list[object]", value)[0], str)
    )


def _names(given: object) -> tuple[str, ...] | None:
    if given is None:
        return None
    return (
        tuple(map(str, cast("list[object]", given))) if isinstance(given, list) else (str(given),)
    )
