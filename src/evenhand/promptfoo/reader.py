"""Reads the tests of a config: rows as written, merged with `defaultTest`, and checked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from evenhand.assertions.code_files import transform_problems
from evenhand.assertions.reading import AssertionReader, Expected
from evenhand.assertions.transform import split_reference
from evenhand.core.encoding import encode
from evenhand.core.errors import Problem
from evenhand.core.names import did_you_mean
from evenhand.core.plan import counted
from evenhand.core.ranges import REPEATS
from evenhand.core.secrets import redacted
from evenhand.documents.findings import At, Findings, Place
from evenhand.documents.numbers import number
from evenhand.documents.tree import read_document
from evenhand.promptfoo.cases import Test, named
from evenhand.promptfoo.config import Config
from evenhand.promptfoo.models import Models
from evenhand.promptfoo.row import Row, Source
from evenhand.promptfoo.scoring import scoring_problems
from evenhand.promptfoo.settings import read_settings
from evenhand.promptfoo.variables import VariableReader
from evenhand.templates.rendering import has_tags

_KEYS = frozenset(
    """
    description vars assert options threshold metadata provider providers prompts providerOutput id
    assertScoringFunction
    """.split()
)
_NEEDED = frozenset(
    {"vars", "assert", "options", "metadata", "provider", "providerOutput", "threshold"}
)
_TOLD_APART = frozenset({"vars", "metadata"})
"""Keys of a test that its results have beside it."""
_OPTIONS = frozenset(
    """
    prefix suffix transform postprocess transformVars storeOutputAs rubricPrompt provider factuality disableVarExpansion
    disableConversationVar disableDefaultAsserts runSerially repeat
    """.split()
)

"""What the results say of a test in places of its own."""


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


MOST_COMBINATIONS = 100_000
"""Of the lists among one test's variables."""


class TestReader:
    """Reads the tests of one config. Walking is repeatable; only the first walk looks for problems."""

    __test__ = False  # for pytest: a reader of tests, not a test

    def __init__(
        self, config: Config, sources: Sequence[Source], models: Models, findings: Findings
    ) -> None:
        self._config = config
        self._sources = sources
        self._findings = findings
        self._checking = True
        self._variables = VariableReader(config.base, config.env, findings, config.templates)
        self._asserts = AssertionReader(config.base, models, findings, config.templates)
        self._files: set[Path] = set()
        self._defaults = Defaults()
        self._assert_at: At = lambda *path: config.at("defaultTest", *path)
        self._of_defaults: Expected | None = None
        self._problems: dict[int, Problem] = {}
        self._shared: dict[str, Expected] = {}
        self._shown_of_defaults: Mapping[str, Any] | None = None
        self.known: Mapping[str, Sequence[str]] = {}
        """What prompts and providers are called, for tests that name some."""
        self._read_defaults()

    @property
    def files(self) -> set[Path]:
        """Files that the tests name: variables, graders, rubrics."""
        return self._files | self._variables.files | self._asserts.files

    def tests(self, *, checking: bool = False) -> Iterator[Test]:
        """The tests, in their order."""
        self._checking = self._variables.checking = checking
        findings = self._findings if checking else Findings()
        number = 0
        for source in self._sources:
            for row in source.rows(findings):
                number += 1
                test = self._found(row)
                if test is None:
                    continue
                if checking and test.problem is not None:
                    self._problems[number] = test.problem
                elif self._problems:
                    test.problem = self._problems.get(number)
                yield test

    def one(self, row: Row) -> Test | None:
        """A single test, checked."""
        self._checking = self._variables.checking = True
        return self._found(row)

    def _found(self, row: Row) -> Test | None:
        """A test, with what is wrong with it: that is an error of it alone. None where it cannot be told for one."""
        with self._findings.apart() as unread:
            self._read_asserts(row)
        if self._checking and not self._acceptable(row):
            return None
        with self._findings.apart() as problems:
            test = self._test(row)
            if self._checking:
                self._look_at_texts(test, row.at)
        if self._checking and not (
            self._can_be_kept(test.variables, row.at) and self._few_enough(test, row.at)
        ):
            return None
        hopeless = test.expected.hopeless(test.threshold, scored=bool(test.scoring))
        test.problem = next(iter((*unread, *problems)), hopeless)
        return test

    def _look_at_texts(self, test: Test, at: At) -> None:
        """Notes what cannot be filled in around a prompt."""
        for name, text in (("prefix", test.prefix), ("suffix", test.suffix)):
            wrong = self._config.templates.problem(text) if text and not test.literal else None
            if wrong:
                self._findings.problem(at("options", name), f"{name}: {wrong}")

    def told(self, test: Test) -> dict[str, Any]:
        """A test with its defaults, as a config would write it; for hooks."""
        raw, defaults = test.raw, self._defaults
        options = {**defaults.options, **_mapping(raw.get("options"))}
        own = cast("list[object]", raw.get("assert") or [])
        shared = cast("list[object]", defaults.raw.get("assert") or [])
        found: dict[str, Any] = {
            **{k: v for k, v in raw.items() if k != "vars"},
            "assert": own if options.get("disableDefaultAsserts") else [*shared, *own],
            "options": options,
            "metadata": dict(test.metadata),
        }
        if test.threshold is not None:
            found["threshold"] = test.threshold
        if test.description:
            found["description"] = test.description
        return found

    def _read_defaults(self) -> None:
        given = self._config.value.get("defaultTest")
        at: At = lambda *path: self._config.at("defaultTest", *path)  # noqa: E731
        if isinstance(given, str) and given.startswith("file://"):
            document = read_document(self._path(given), self._findings, at())
            self._files.add(self._path(given))
            given, at = (None, at) if document is None else (document.value, document.at)
        if given is None:
            given = {}
        if not isinstance(given, Mapping):
            self._findings.problem(at(), f"defaultTest is {given!r}, not an object")
            given = {}
        raw = self._overridden(cast("Mapping[str, Any]", given))
        self._look_at_keys(raw, at)
        variables = self._variables.read(raw.get("vars"), at)
        options = self._options(raw.get("options"), at)
        if raw.get("provider") is not None and "provider" not in options:
            options = {**options, "provider": raw["provider"]}
        metadata = _mapping(raw.get("metadata") or self._config.value.get("metadata"))
        files, tagged = self._variables.kinds(variables, at)
        threshold = number(raw.get("threshold"), at("threshold"), "threshold", self._findings)
        self._defaults = Defaults(variables, files, tagged, options, metadata, raw, threshold)
        self._assert_at = at
        self._asserts_of_defaults(options)

    def _overridden(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        """`defaultTest` with what is said beside the config."""
        said = self._config.overrides
        options: dict[str, Any] = {}
        if said.prefix:
            options["prefix"] = said.prefix
        if said.suffix:
            options["suffix"] = said.suffix
        before = _mapping(raw.get("options"))
        if said.grader and not before.get("provider") and not raw.get("provider"):
            options["provider"] = said.grader
        found = dict(raw)
        if options:
            found["options"] = {**before, **options}
        if said.variables:
            found["vars"] = {**_mapping(raw.get("vars")), **said.variables}
        return found

    def _asserts_of_defaults(self, options: Mapping[str, Any]) -> Expected:
        """The default assertions under these options: the judge and the rubric prompt are the test's to choose."""
        if options is self._defaults.options and self._of_defaults is not None:
            return self._of_defaults
        name = json.dumps(
            [options.get("provider"), options.get("rubricPrompt")], sort_keys=True, default=str
        )
        found = self._shared.get(name)
        if found is None:
            with self._findings.apart() as problems:
                found = self._asserts.expected(
                    self._defaults.raw.get("assert"), options, self._assert_at, check=self._checking
                )
            found = replace(found, problem=found.problem or next(iter(problems), None))
            self._shared[name] = found
        if options is self._defaults.options:
            self._of_defaults = found
        return found

    def _test(self, row: Row) -> Test:
        self._read_asserts(row)
        raw, defaults = row.value, self._defaults
        if self._checking and (len(raw) > 1 or "vars" not in raw):
            self._look_at_keys(raw, row.at)
            self._look_at_references(raw, row.at)
        given = raw.get("vars")
        if row.data and isinstance(given, dict):
            variables, files, tagged = (
                cast("Mapping[str, Any]", given),
                frozenset[str](),
                frozenset[str](),
            )
            if self._checking:
                self._variables.look_at_data(variables, row.at)
        else:
            variables = self._variables.read(given, row.at)
            files, tagged = self._variables.kinds(variables, row.at)
        if defaults.variables:
            files = files | (defaults.files - variables.keys())
            tagged = tagged | (defaults.tagged - variables.keys())
            variables = {**defaults.variables, **variables}
        options = defaults.options
        if raw.get("options"):
            options = {**options, **self._options(raw["options"], row.at)}
        expected = Expected()
        if not options.get("disableDefaultAsserts"):
            expected = self._asserts_of_defaults(options)
        if raw.get("assert"):
            own = self._asserts.expected(raw["assert"], options, row.at, check=self._checking)
            expected = expected.and_then(own)
        threshold = raw.get("threshold")
        if threshold is not None:
            threshold = number(threshold, row.at("threshold"), "threshold", self._findings)
        metadata = _mapping(raw.get("metadata"))
        # An empty one, as a CSV column has them, leaves the default one there.
        prefix, suffix = (
            str(options.get(name) or defaults.options.get(name) or "")
            for name in ("prefix", "suffix")
        )
        return Test(
            description=str(raw.get("description") or row.name),
            variables=variables,
            files=files,
            tagged=tagged,
            expected=expected,
            threshold=defaults.threshold if threshold is None else threshold,
            prefix=prefix,
            suffix=suffix,
            transform=str(options.get("transform") or options.get("postprocess") or ""),
            spread=not options.get("disableVarExpansion")
            and not self._config.env.get("PROMPTFOO_DISABLE_VAR_EXPANSION"),
            metadata={**defaults.metadata, **metadata} if metadata else defaults.metadata,
            provider_output=raw.get("providerOutput", defaults.raw.get("providerOutput")) or None,
            providers=_names(raw.get("providers", defaults.raw.get("providers"))),
            prompts=_names(raw.get("prompts", defaults.raw.get("prompts"))),
            raw=raw,
            stores=str(options.get("storeOutputAs") or ""),
            listens=not options.get("disableConversationVar")
            and not self._config.env.get("PROMPTFOO_DISABLE_CONVERSATION_VAR"),
            alone=bool(options.get("runSerially")),
            scoring=str(
                raw.get("assertScoringFunction") or defaults.raw.get("assertScoringFunction") or ""
            ),
            repeats=_repeats(options.get("repeat")),
            transform_vars=str(options.get("transformVars") or ""),
            literal=row.data
            and bool(prefix or suffix)
            and has_tags(prefix + suffix)
            and "options" in raw,
            settings=self._settings(options, row.at("options")),
            shown=self._shown(raw, options),
        )

    def _few_enough(self, test: Test, at: At) -> bool:
        """Whether the lists among a test's variables come to no more tests than can be run."""
        if test.count() <= MOST_COMBINATIONS:
            return True
        lists = " × ".join(f"{len(v):,} of {k}" for k, v in test.spreading().items())
        self._findings.problem(
            at("vars"),
            f"the lists of variables come to {counted(test.count())} combinations ({lists}),"
            f" and no more than {MOST_COMBINATIONS:,} can be run of one test",
            "Shorten them, or write options: {disableVarExpansion: true} to keep lists as they are.",
        )
        return False

    def _can_be_kept(self, variables: Mapping[str, Any], at: At) -> bool:
        """Whether the variables of a test can be written down: no NaN, nothing endless, no object of Python's."""
        try:
            encode(variables)
        except (TypeError, ValueError) as error:
            self._findings.problem(
                at("vars"), f"the variables cannot be kept: {error}", "Write it in quotes, as text."
            )
            return False
        return True

    def _read_asserts(self, row: Row) -> None:
        """Puts the list that `assert: file://…` names in its place, as its file's own lines."""
        given = row.value.get("assert")
        if not isinstance(given, str) or not given.startswith("file://"):
            return
        path, at = self._path(given), row.at
        self._files.add(path)
        document = read_document(path, self._findings, at("assert"))
        found: object = document.value if document is not None else None
        row.value = {**row.value, "assert": found}
        if document is not None:
            inside = document.at
            row.at = lambda *p: inside(*p[1:]) if p[:1] == ("assert",) else at(*p)

    def _shown(self, raw: Mapping[str, Any], options: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the results tell of a test beside its variables and its metadata."""
        plain = raw.keys() <= _TOLD_APART
        if plain and self._shown_of_defaults is not None:
            return self._shown_of_defaults
        defaults = {} if options.get("disableDefaultAsserts") else self._defaults.raw
        asserts = [*_list(defaults.get("assert")), *_list(raw.get("assert"))]
        told = {key: value for key, value in raw.items() if key not in _TOLD_APART}
        if self._defaults.threshold is not None:
            told = {"threshold": self._defaults.threshold, **told}
        found = cast(
            "Mapping[str, Any]", redacted({**told, "assert": asserts, "options": dict(options)})
        )
        if plain:
            self._shown_of_defaults = found
        return found

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
        scoring = raw.get("assertScoringFunction")
        if scoring:
            for what, hint in scoring_problems(scoring, self._config.base):
                self._findings.problem(at("assertScoringFunction"), what, hint)
            self._files.add(self._path(split_reference(str(scoring), "")[0]))
        if raw.get("metadata") is not None and not isinstance(raw["metadata"], Mapping):
            self._findings.problem(
                at("metadata"), f"metadata is {raw['metadata']!r}, not an object"
            )

    def _look_at_references(self, raw: Mapping[str, Any], at: At) -> None:
        for key, names in self.known.items():
            for name in _names(raw.get(key)) or ():
                if not named((name,), tuple(names)):
                    there = sorted({known for known in names if known})
                    hint = did_you_mean(name, there) or f"There are: {', '.join(there[:10])}."
                    what = f"no {key.removesuffix('s')} is called '{name}'"
                    self._findings.problem(at(key), what, hint)

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
            if key == "repeat":
                number(value, place, "repeat", self._findings, REPEATS)
            elif key not in _OPTIONS:
                near = did_you_mean(key, _OPTIONS)
                if near:
                    self._findings.hint(place, f"option '{key}' is sent to the model", near)
            elif (
                key in ("transform", "postprocess", "transformVars")
                and isinstance(value, str)
                and value
            ):
                for what, hint in transform_problems(value, self._config.base):
                    self._findings.problem(place, what, hint)
                if value.startswith("file://"):
                    self._files.add(self._path(value))
        return options

    def _settings(self, options: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
        """The options that are none of a test: settings of the model."""
        if options.keys() <= _OPTIONS:
            return {}
        given = {key: value for key, value in options.items() if key not in _OPTIONS}
        return read_settings(
            given, "options", self._config.base, place, self._findings, self._files
        )

    def _path(self, reference: str) -> Path:
        return self._config.base / reference.removeprefix("file://")


def _list(value: object) -> Sequence[object]:
    return cast("list[object]", value) if isinstance(value, list) else ()


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _repeats(given: object) -> int | None:
    return int(given) if given in REPEATS and isinstance(given, (int, float)) else None


def _names(given: object) -> tuple[str, ...] | None:
    if given is None:
        return None
    return (
        tuple(map(str, cast("list[object]", given))) if isinstance(given, list) else (str(given),)
    )
