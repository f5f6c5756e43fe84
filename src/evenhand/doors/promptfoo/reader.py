"""Reads the tests of a config: as written, merged with `defaultTest`, and checked on the first walk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import field
from msgspec.structs import replace

from evenhand.core.errors import Problem
from evenhand.core.json_shapes import (
    as_mapping,
    is_array,
    is_mapping,
    is_object,
    with_whole_numbers,
)
from evenhand.core.ranges import REPEATS
from evenhand.core.record import Record
from evenhand.doors.assertions.reading import AssertionReader, Expected
from evenhand.doors.promptfoo.case_variables import circle
from evenhand.doors.promptfoo.checking import OPTIONS, TestChecks, names_of
from evenhand.doors.promptfoo.config import Config
from evenhand.doors.promptfoo.defaults import BESIDE, Defaults, read_defaults, shown
from evenhand.doors.promptfoo.environment import switched_on
from evenhand.doors.promptfoo.models import FolderModels, Subject, read_settings
from evenhand.doors.promptfoo.simulated_users import TestUser, TestUsers, is_simulated_user
from evenhand.doors.promptfoo.sources import Scenario
from evenhand.doors.promptfoo.tests import Test, TestSource, WrittenTest
from evenhand.doors.promptfoo.variables import VariableReader
from evenhand.languages.documents.findings import Findings
from evenhand.languages.documents.tree import read_document
from evenhand.languages.templates.rendering import has_tags

_NONE = frozenset[str]()
MOST_KEPT = 20_000
"""Tests that are kept in memory. Of more than these none is, and each walk reads them."""
MOST_TEXT = 16_000_000
"""Characters of the tests that are kept in memory. Of longer ones none is."""
_BARE = frozenset({"vars", "description"})
_OTHER = 32
"""What a value that is no text counts for."""


class TestReader(Record, frozen=True, kw_only=True):
    """Reads single tests of one config.

    Attributes:
        findings: Are told what is wrong.
        files: Is told which files the tests name, beside those of their assertions.
        checks: Look for all that may be wrong; None where that was done.
        users: Read their simulated users.
        models: Makes the models that they ask.
        bare: A test of a dataset that says nothing but its variables and what it is called, once one was read and has
            no problem. All others of the kind differ from it in these alone.
    """

    __test__ = False  # for pytest: a reader of tests, not a test

    config: Config
    defaults: Defaults
    variables: VariableReader
    asserts: AssertionReader
    findings: Findings
    files: set[Path]
    checks: TestChecks | None
    users: TestUsers
    models: FolderModels
    bare: list[Test] = field(default_factory=list[Test])

    @classmethod
    def of(
        cls,
        config: Config,
        models: FolderModels,
        findings: Findings,
        known: Mapping[str, Sequence[str]] | None = None,
    ) -> TestReader:
        """The reader of a config's tests, which checks them.

        Args:
            models: Who judges.
            known: What prompts and providers are called, by the key under which tests name some.
        """
        files = set[Path]()
        checks = TestChecks(config, findings, files, known or {})
        variables = VariableReader(
            base=config.base,
            env=config.env,
            findings=findings,
            templates=config.templates,
            files=files,
        )
        asserts = AssertionReader(config.base, models, findings, config.templates)
        defaults = read_defaults(config, variables, asserts, checks, files, findings)
        users = TestUsers(config, models, findings)
        return TestReader(
            config=config,
            defaults=defaults,
            variables=variables,
            asserts=asserts,
            findings=findings,
            files=files,
            checks=checks,
            users=users,
            models=models,
        )

    def unchecked(self) -> TestReader:
        """A reader of the same config for tests that were checked, which checks nothing again."""
        variables = replace(self.variables, checking=False)
        return replace(self, variables=variables, checks=None, bare=[])

    def read(self, written: WrittenTest) -> Test | None:
        """A test, with what is wrong with it: that is an error of it alone. None where it cannot be told for one."""
        bare = _is_bare(written)
        if bare and self.bare:
            return self._like(self.bare[0], written)
        unread: Sequence[Problem] = ()
        if isinstance(written.value.get("assert"), str):
            with self.findings.apart() as unread:
                written = self._with_asserts(written)
        if self.checks is not None and not self.checks.is_test(written):
            return None
        with self.findings.apart() as problems:
            test = self._test(written)
            if self.checks is not None:
                self.checks.texts(test, written.at)
        if self.checks is not None and not self.checks.can_be_run(test, written.at):
            return None
        hopeless = test.expected.hopeless(test.threshold, scored=bool(test.scoring))
        if hopeless is None and test.user is not None and test.provider_output is None:
            hopeless = test.user.problem
        problem = next(iter((*unread, *problems)), hopeless)
        if problem is not None:
            return replace(test, problem=problem)
        # What a model of its own, a user or settings come to may have to be said of each test.
        if bare and test.subject is None and test.user is None and not test.settings:
            self.bare.append(test)
        return test

    def _like(self, test: Test, written: WrittenTest) -> Test | None:
        """The test, with the variables and the name of another one; see `bare`."""
        variables, files, tagged = self._variables(written)
        raw = written.value
        names_itself = "description" in raw
        test = replace(
            test,
            description=str(raw.get("description") or written.name),
            variables=variables,
            files=files,
            tagged=tagged,
            raw=raw,
            shown=self.defaults.shown_as(raw["description"])
            if names_itself
            else self.defaults.shown,
        )
        if self.checks is not None and not self.checks.can_be_run(test, written.at):
            return None
        return test

    def document_of(self, test: Test) -> dict[str, Any]:
        """A test with its defaults, as a config would write it; for hooks."""
        raw, defaults = test.raw, self.defaults
        options = {**defaults.options, **as_mapping(raw.get("options"))}
        own = cast("list[object]", raw.get("assert") or [])
        shared = cast("list[object]", defaults.raw.get("assert") or [])
        written: dict[str, Any] = {
            **{k: v for k, v in raw.items() if k != "vars"},
            "assert": own if options.get("disableDefaultAsserts") else [*shared, *own],
            "options": options,
            "metadata": dict(test.metadata),
        }
        if test.threshold is not None:
            written["threshold"] = test.threshold
        if test.description:
            written["description"] = test.description
        return written

    def _with_asserts(self, written: WrittenTest) -> WrittenTest:
        """The test with the list that `assert: file://…` names in its place, as its file's own lines."""
        reference = written.value.get("assert")
        if not isinstance(reference, str) or not reference.startswith("file://"):
            return written
        path, at = self.config.base / reference.removeprefix("file://"), written.at
        self.files.add(path)
        document = read_document(path, self.findings, at("assert"))
        if document is None:
            return replace(written, value={**written.value, "assert": None})
        inside = document.at
        return replace(
            written,
            value={**written.value, "assert": document.value},
            at=lambda *p: inside(*p[1:]) if p[:1] == ("assert",) else at(*p),
        )

    def _test(self, written: WrittenTest) -> Test:
        raw, at, defaults, env = written.value, written.at, self.defaults, self.config.env
        # Most rows of data have variables and nothing else, where no key can be wrong;
        # `assert` among the variables is a slip that is looked for.
        alone = len(raw) == 1 and "assert" not in as_mapping(raw.get("vars", {"assert": ""}))
        if self.checks is not None and not alone:
            self.checks.keys(raw, at)
            self.checks.references(raw, at)
        variables, files, tagged = self._variables(written)
        options = defaults.options
        if raw.get("options"):
            if self.checks is not None:
                self.checks.options(raw["options"], at)
            options = {**options, **as_mapping(raw["options"])}
        switched = switched_on(env, "PROMPTFOO_DISABLE_VAR_EXPANSION")
        spread = not options.get("disableVarExpansion") and not switched
        if not spread and self.checks is not None and not written.data:
            both = {**as_mapping(defaults.raw.get("vars")), **as_mapping(raw.get("vars"))}
            self.variables.look_at_unspread(both, at)
        threshold = raw.get("threshold")
        if threshold is not None:
            threshold = self.findings.number(threshold, at("threshold"), "threshold")
        metadata = as_mapping(raw.get("metadata"))
        # An empty one, as a CSV column has them, leaves the default one there.
        prefix = str(options.get("prefix") or defaults.options.get("prefix") or "")
        suffix = str(options.get("suffix") or defaults.options.get("suffix") or "")
        return Test(
            description=str(raw.get("description") or written.name),
            variables=variables,
            files=files,
            tagged=tagged,
            expected=self._expected(written, options),
            threshold=defaults.threshold if threshold is None else threshold,
            prefix=prefix,
            suffix=suffix,
            transform=str(options.get("transform") or options.get("postprocess") or ""),
            spread=spread,
            metadata={**defaults.metadata, **metadata} if metadata else defaults.metadata,
            provider_output=self._own("providerOutput", raw) or None,
            providers=names_of(self._own("providers", raw)),
            prompts=names_of(self._own("prompts", raw)),
            raw=raw,
            stores=str(options.get("storeOutputAs") or ""),
            listens=not options.get("disableConversationVar")
            and not switched_on(env, "PROMPTFOO_DISABLE_CONVERSATION_VAR"),
            alone=bool(options.get("runSerially")),
            scoring=str(
                raw.get("assertScoringFunction") or defaults.raw.get("assertScoringFunction") or ""
            ),
            repeats=_repeats(options["repeat"]) if "repeat" in options else None,
            transform_vars=str(options.get("transformVars") or ""),
            user=self._user(written),
            subject=self._subject(written),
            literal=written.data
            and bool(prefix or suffix)
            and has_tags(prefix + suffix)
            and "options" in raw,
            settings=self._settings(options, written),
            shown=defaults.shown
            if raw.keys() <= BESIDE
            else shown(raw, options, defaults.raw, defaults.threshold),
        )

    def _user(self, written: WrittenTest) -> TestUser | None:
        named = self._own("provider", written.value)
        if not named:
            return None
        return self.users.read(
            named, written.at if "provider" in written.value else self.defaults.place_of
        )

    def _subject(self, written: WrittenTest) -> Subject | None:
        """The model that a test asks in place of the config's: its own `provider`, or that of `defaultTest`."""
        named = written.value.get("provider")
        if named and not is_simulated_user(named):
            place, has_id = written.at("provider"), not isinstance(named, Mapping) or "id" in named
            if written.home is not None and has_id:
                subject = self.models.of_test(named, place, written.home)
                self.findings.also(() if subject is None else subject.problems)
                return subject
            if self.checks is not None:
                why = "" if not has_id else " where a function or a scenario's config names it"
                what = f"provider {_name_of(named)} of a test is not asked{why}, as in promptfoo"
                self.findings.hint(place, what, "List it under providers, or write its id.")
            return None
        shared = self.defaults.raw.get("provider")
        if named or not is_mapping(shared) or is_simulated_user(shared):
            return None  # as text, it only judges
        if not isinstance(shared.get("id"), str):
            return None
        subject = self.models.of_test(shared, self.defaults.place_of("provider"), self.config.base)
        self.findings.also(() if subject is None else subject.problems)
        return subject

    def _own(self, key: str, raw: Mapping[str, Any]) -> Any:
        """What a test says under a key, or `defaultTest` where it says nothing."""
        return raw.get(key, self.defaults.raw.get(key))

    def _variables(
        self, written: WrittenTest
    ) -> tuple[Mapping[str, Any], frozenset[str], frozenset[str]]:
        """The variables of a test; those that name files; those with tags to fill in."""
        written_vars, defaults = written.value.get("vars"), self.defaults
        variables: Mapping[str, Any]
        if written.data and is_object(written_vars):
            variables, files, tagged = written_vars, _NONE, _NONE
            if self.checks is not None:
                self.variables.look_at_data(variables, written.at)
        else:
            variables = self.variables.read(written_vars, written.at)
            files, tagged = self.variables.kinds(variables, written.at)
        if defaults.variables:
            files |= defaults.files - variables.keys()
            tagged |= defaults.tagged - variables.keys()
            variables = {**defaults.variables, **variables}
        if self.checks is not None and tagged and (ring := circle(variables, tagged)):
            listed = ", ".join(f"'{name}'" for name in ring)
            what = f"variables {listed} name each other: each is filled in once, and some tags stay"
            self.findings.hint(written.at("vars"), what, "Take one of the tags away.")
        return as_mapping(with_whole_numbers(variables)), files, tagged

    def _expected(self, written: WrittenTest, options: Mapping[str, Any]) -> Expected:
        expected = Expected()
        if not options.get("disableDefaultAsserts"):
            expected = self.defaults.expected(options)
        assertions = written.value.get("assert")
        if not assertions:
            return expected
        check = self.checks is not None
        return expected.and_then(
            self.asserts.expected(assertions, options, written.at, check=check)
        )

    def _settings(self, options: Mapping[str, Any], written: WrittenTest) -> Mapping[str, Any]:
        """The options that are none of a test: settings of the model."""
        if options.keys() <= OPTIONS.keys():
            return {}
        settings = {key: value for key, value in options.items() if key not in OPTIONS}
        place, base = written.at("options"), self.config.base
        return read_settings(
            settings,
            "options",
            self.config,
            base,
            place=place,
            findings=self.findings,
            files=self.files,
        )


class Tests(Record, frozen=True):
    """The tests of a config, as often as they are walked, in their order.

    Attributes:
        sources: Where they come from.
        problems: What was wrong with some on the first walk, by their place among all that is written.
        memory: Them, as the first walk read them; None where each walk reads them again.
    """

    sources: Sequence[TestSource]
    reader: TestReader
    problems: Mapping[int, Problem]
    memory: KeptTests | None = None

    def __iter__(self) -> Iterator[Test]:
        stored = self.memory.tests() if self.memory is not None else None
        if stored is not None:
            yield from stored
            return
        for place, test in numbered(self.sources, self.reader, Findings()):
            if self.problems:
                # A later walk checks nothing again, so that what the first one found is put back in.
                problem = self.problems.get(place)
                yield test if test.problem is problem else replace(test, problem=problem)
            else:
                yield test

    @property
    def files(self) -> set[Path]:
        """Files that the tests name: variables, graders, rubrics."""
        return self.reader.files | self.reader.asserts.files


class KeptTests:
    """The tests of a config, as long as they are few and short, and nobody writes to their files.

    Args:
        sources: Where they come from, before any of them is read.
    """

    def __init__(self, sources: Sequence[TestSource]) -> None:
        self._files = [source.path for source in sources if source.path is not None]
        self._stamps = list(map(_stamp, self._files))
        # A scenario has files in it that cannot be watched here.
        nested = any(isinstance(source, Scenario) for source in sources)
        self._tests: list[Test] | None = None if nested else []
        self._text = 0

    def add(self, test: Test) -> None:
        """One more."""
        if self._tests is None:
            return
        self._text += _length(test.raw)
        if self._text > MOST_TEXT or len(self._tests) >= MOST_KEPT:
            self._tests = None
        else:
            self._tests.append(test)

    def tests(self) -> Sequence[Test] | None:
        """All that were added; None where they have to be read again."""
        if self._tests is not None and list(map(_stamp, self._files)) != self._stamps:
            self._tests = None
        return self._tests


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes when a file is written; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _length(value: object) -> int:
    """Characters of text in it, and something for each of the other values."""
    if isinstance(value, str):
        return len(value)
    items = value.values() if is_mapping(value) else value if is_array(value) else None
    if items is None:
        return _OTHER
    length = 0
    for item in items:
        # Most are texts: a call for each of them would cost more than all else here.
        length += len(item) if isinstance(item, str) else _length(item)
    return length


def numbered(
    sources: Sequence[TestSource], reader: TestReader, findings: Findings
) -> Iterator[tuple[int, Test]]:
    """The tests, each with its place among all that is written.

    Args:
        findings: Are told what is wrong with the files that they are in.
    """
    place = 0
    for source in sources:
        for written in source.rows(findings):
            # Counted before the test is read, so that places are the same on each walk, even where an entry is no test.
            place += 1
            test = reader.read(written)
            if test is not None:
                yield place, test


def _is_bare(written: WrittenTest) -> bool:
    """Whether a test comes from a dataset and says nothing but its variables and what it is called."""
    value = written.value
    if not written.data or not value.keys() <= _BARE:
        return False
    variables = value.get("vars")
    # `assert` among the variables is a slip that is looked for.
    return is_object(variables) and "assert" not in variables


def _name_of(provider: object) -> str:
    """What to call a provider in a message."""
    if is_mapping(provider):
        return str(provider.get("id", "without an id"))
    return str(provider)


def _repeats(value: object) -> int | None:
    return int(value) if value in REPEATS and isinstance(value, (int, float)) else None
