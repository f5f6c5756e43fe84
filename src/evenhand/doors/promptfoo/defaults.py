"""`defaultTest`: what every test has that does not say otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from msgspec import field
from msgspec.structs import replace

from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.core.record import Record
from evenhand.core.secrets import redacted
from evenhand.doors.assertions.reading import AssertionReader, Expected
from evenhand.doors.promptfoo.checking import TestChecks
from evenhand.doors.promptfoo.config import Config
from evenhand.doors.promptfoo.overrides import Overrides
from evenhand.doors.promptfoo.simulated_users import is_simulated_user
from evenhand.doors.promptfoo.variables import VariableReader
from evenhand.languages.documents.findings import At, Findings
from evenhand.languages.documents.tree import read_document


class Defaults(Record, frozen=True, kw_only=True):
    """What `defaultTest` says, read once.

    Attributes:
        files: Those that name files.
        tagged: Those with tags to fill in.
        options: Its options, with the judge that it names.
        raw: It, as written, with what goes over it.
        threshold: What the mean of a test's scores has to reach; None for nothing.
        shown: What the results tell of a test that says nothing else.
    """

    variables: Mapping[str, Any]
    files: frozenset[str]
    tagged: frozenset[str]
    options: Mapping[str, Any]
    metadata: Mapping[str, Any]
    raw: Mapping[str, Any]
    threshold: float | None
    shown: Mapping[str, Any]
    _judged_by: str
    place_of: At
    _asserts: AssertionReader
    _findings: Findings
    _expected: dict[str, Expected] = field(default_factory=dict[str, Expected])

    def expected(self, options: Mapping[str, Any]) -> Expected:
        """The default assertions under a test's options, which may choose judge and rubric prompt; each read once."""
        key = self._judged_by if options is self.options else _judged_by(options)
        expected = self._expected.get(key)
        if expected is None:
            expected = self._expected[key] = self._expected_by(options)
        return expected

    def shown_as(self, description: object) -> Mapping[str, Any]:
        """What the results tell of a test that says what it is called and nothing else."""
        named = {"description": redacted(description)}
        if "threshold" in self.shown:  # which comes first
            named = {"threshold": self.shown["threshold"], **named}
        return {**named, **self.shown}

    def _expected_by(self, options: Mapping[str, Any]) -> Expected:
        with self._findings.apart() as problems:
            expected = self._asserts.expected(
                self.raw.get("assert"), options, self.place_of, check=True
            )
        return replace(expected, problem=expected.problem or next(iter(problems), None))


def read_defaults(
    config: Config,
    variables: VariableReader,
    asserts: AssertionReader,
    checks: TestChecks,
    files: set[Path],
    findings: Findings,
) -> Defaults:
    """What every test of a config has.

    Args:
        files: Is told which file it is in, if it is in one.
    """
    value, at = _written(config, files, findings)
    raw = _overridden(value, config.overrides)
    checks.keys(raw, at)
    options = options_of(raw)
    checks.options(raw.get("options"), at)
    named = raw.get("provider")
    if named is not None and "provider" not in options and not is_simulated_user(named):
        options = {**options, "provider": named}
    own = variables.read(raw.get("vars"), at)
    named, tagged = variables.kinds(own, at)
    threshold = findings.number(raw.get("threshold"), at("threshold"), "threshold")
    defaults = Defaults(
        variables=own,
        files=named,
        tagged=tagged,
        options=options,
        metadata=as_mapping(raw.get("metadata") or config.value.get("metadata")),
        raw=raw,
        threshold=threshold,
        shown=shown({}, options, raw, threshold),
        _judged_by=_judged_by(options),
        place_of=at,
        _asserts=asserts,
        _findings=findings,
    )
    defaults.expected(options)  # what is wrong with them is told once, whatever the tests choose
    return defaults


def shown(
    raw: Mapping[str, Any],
    options: Mapping[str, Any],
    defaults: Mapping[str, Any],
    threshold: float | None,
) -> Mapping[str, Any]:
    """What the results tell of a test, without what they have beside it, secrets removed.

    Args:
        options: The test's, with those of `defaultTest`.
        defaults: `defaultTest`.
    """
    shared = {} if options.get("disableDefaultAsserts") else defaults
    asserts = [*as_array(shared.get("assert")), *as_array(raw.get("assert"))]
    own = {key: value for key, value in raw.items() if key not in BESIDE}
    if threshold is not None:
        own = {"threshold": threshold, **own}
    return cast("Mapping[str, Any]", redacted({**own, "assert": asserts, "options": dict(options)}))


BESIDE = frozenset({"vars", "metadata"})
"""Keys of a test that its results have in places of their own."""


def options_of(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options of a test, as written."""
    return as_mapping(raw.get("options"))


def _written(config: Config, files: set[Path], findings: Findings) -> tuple[Mapping[str, Any], At]:
    """`defaultTest` as written, in the config or in a file of its own, and where its parts stand."""
    value = config.value.get("defaultTest")
    at: At = lambda *path: config.at("defaultTest", *path)  # noqa: E731
    if isinstance(value, str) and value.startswith("file://"):
        path = config.base / value.removeprefix("file://")
        document = read_document(path, findings, at())
        files.add(path)
        value, at = (None, at) if document is None else (document.value, document.at)
    if value is not None and not isinstance(value, Mapping):
        findings.problem(at(), f"defaultTest is {value!r}, not an object")
    return as_mapping(value), at


def _overridden(raw: Mapping[str, Any], overrides: Overrides) -> Mapping[str, Any]:
    """`defaultTest` with what is said beside the config."""
    ends = {"prefix": overrides.prefix, "suffix": overrides.suffix}
    options: dict[str, Any] = {name: text for name, text in ends.items() if text}
    before = options_of(raw)
    named = raw.get("provider")
    own = named and not is_simulated_user(named)
    if overrides.grader and not before.get("provider") and not own:
        options["provider"] = overrides.grader
    over: dict[str, Any] = {}
    if options:
        over["options"] = {**before, **options}
    if overrides.variables:
        over["vars"] = {**as_mapping(raw.get("vars")), **overrides.variables}
    return {**raw, **over} if over else raw


def _judged_by(options: Mapping[str, Any]) -> str:
    chosen = [options.get("provider"), options.get("rubricPrompt")]
    return json.dumps(chosen, sort_keys=True, default=str)
