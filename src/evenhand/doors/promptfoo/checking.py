"""What may be wrong with a test, as far as can be seen before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import field

from evenhand.core.encoding import encode
from evenhand.core.json_schema import ANY, NUMBER, SWITCH, TABLE, TEXT, TEXTS, either, one_or_more
from evenhand.core.json_shapes import as_array, is_array, is_mapping
from evenhand.core.names import did_you_mean, nearest
from evenhand.core.plan import counted
from evenhand.core.ranges import REPEATS
from evenhand.core.record import Record
from evenhand.core.table import TableKey, own
from evenhand.doors.assertions.code_files import transform_problems
from evenhand.doors.assertions.transform import split_reference
from evenhand.doors.promptfoo.config import Config
from evenhand.doors.promptfoo.tests import ONLY_TEXT, Test, WrittenTest, named
from evenhand.languages.documents.findings import At, Findings

MOST_COMBINATIONS = 100_000
"""Of the lists among one test's variables."""

KEYS: Mapping[str, TableKey] = {
    "description": TableKey("The test in a line.", own(TEXT)),
    "vars": TableKey("The variables that fill in the prompt.", own(either(TABLE, TEXT, TEXTS))),
    "assert": TableKey("What is expected of the output.", own(ANY)),
    "options": TableKey("Settings of this test.", own(ANY)),
    "threshold": TableKey(
        "What the test's score must reach; by default all assertions must pass.", own(NUMBER)
    ),
    "metadata": TableKey("Names and values to filter by.", own(TABLE)),
    "provider": TableKey(
        "The model that this test asks, or who talks with the models: evenhand:user.", own(ANY)
    ),
    "providers": TableKey("Only for these providers.", own(one_or_more(TEXT))),
    "prompts": TableKey("Only for these prompts.", own(one_or_more(TEXT))),
    "providerOutput": TableKey("The answer, where it is known already: nobody is asked.", own(ANY)),
    "assertScoringFunction": TableKey(
        "Computes the test's score: file://score.py:function.", own(TEXT)
    ),
}
_NEEDED = frozenset(
    {"vars", "assert", "options", "metadata", "provider", "providerOutput", "threshold"}
)
OPTIONS: Mapping[str, TableKey] = {
    "prefix": TableKey("Before the prompt.", own(TEXT)),
    "suffix": TableKey("After the prompt.", own(TEXT)),
    "transform": TableKey("Changes the output: code, or file://transform.py.", own(TEXT)),
    "postprocess": TableKey("The former name of transform.", own(TEXT)),
    "transformVars": TableKey("Changes the variables before the prompt is filled in.", own(TEXT)),
    "storeOutputAs": TableKey("Later tests have the output under this name.", own(TEXT)),
    "rubricPrompt": TableKey("Your own prompt for judges.", own(ANY)),
    "provider": TableKey("Who judges.", own(ANY)),
    "factuality": TableKey("What each category of factuality scores.", own(TABLE)),
    "disableVarExpansion": TableKey(
        "A list is one value, and not one test for each item.", own(SWITCH)
    ),
    "disableConversationVar": TableKey("No _conversation.", own(SWITCH)),
    "disableDefaultAsserts": TableKey("Without the assertions of defaultTest.", own(SWITCH)),
    "runSerially": TableKey("Nothing else runs meanwhile.", own(SWITCH)),
    "repeat": TableKey("How often this test is repeated.", own(NUMBER)),
}
"""The options that are the test's own. All others are settings of the model."""
TRANSFORMS = ("transform", "postprocess", "transformVars")


class TestChecks(Record, frozen=True):
    """Looks at the tests of one config, and notes what is wrong with them.

    Attributes:
        known: What prompts and providers are called, by the key under which tests name some.
        files: Is told which files of code the tests name.
    """

    __test__ = False  # for pytest: checks of tests, not a test

    config: Config
    findings: Findings
    files: set[Path]
    known: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def is_test(self, written: WrittenTest) -> bool:
        """Whether an entry of `tests` says anything that a test says."""
        if not _NEEDED.isdisjoint(written.value):
            return True
        keys = ", ".join(map(repr, written.value)) or "nothing"
        near = did_you_mean(next(iter(written.value), ""), _NEEDED)
        self.findings.problem(
            written.at(),
            f"a test has {keys}, and neither 'vars' nor 'assert'",
            near or "Put its variables under 'vars'.",
        )
        return False

    def keys(self, raw: Mapping[str, Any], at: At) -> None:
        """Notes keys that no test has, and what is wrong under those that are no reader's."""
        for key in raw:
            if key not in KEYS:
                near = _CALLED.get(key) or nearest(key, KEYS)
                if near not in raw and _is_meant(near, raw[key]):
                    what = f"'{key}' is not a key of a test, and '{near}' is missing"
                    self.findings.problem(at(key), what, f"Did you mean '{near}'?")
                    continue
                what = f"unknown key '{key}' of a test is not used"
                near = near and f"Did you mean '{near}'?"
                self.findings.hint(
                    at(key),
                    what,
                    "It belongs below options of the test." if key in OPTIONS else near,
                )
        variables = raw.get("vars")
        if (
            isinstance(variables, Mapping)
            and "assert" not in raw
            and _is_assert(variables.get("assert"))
        ):
            what = "'assert' stands below 'vars', where it is a variable"
            self.findings.hint(at("vars", "assert"), what, "Indent it like 'vars', beside it.")
        scoring = raw.get("assertScoringFunction")
        if scoring:
            from evenhand.doors.promptfoo.scoring import scoring_problems  # noqa: PLC0415 (few tests have one)

            for what, hint in scoring_problems(scoring, self.config.base):
                self.findings.problem(at("assertScoringFunction"), what, hint)
            self.files.add(self._path(split_reference(str(scoring), "")[0]))
        metadata = raw.get("metadata")
        if metadata is not None and not isinstance(metadata, Mapping):
            self.findings.problem(at("metadata"), f"metadata is {metadata!r}, not an object")

    def references(self, raw: Mapping[str, Any], at: At) -> None:
        """Notes prompts and providers that it names and that are not there."""
        for key, names in self.known.items():
            for name in names_of(raw.get(key)) or ():
                if not named((name,), tuple(names)):
                    there = sorted({one for one in names if one})
                    hint = did_you_mean(name, there) or f"There are: {', '.join(there[:10])}."
                    what = f"no {key.removesuffix('s')} is called '{name}'"
                    self.findings.problem(at(key), what, hint)

    def options(self, value: object, at: At) -> None:
        """Notes what is wrong with `options`."""
        if value is None:
            return
        if not is_mapping(value):
            self.findings.problem(at("options"), f"options is {value!r}, not an object")
            return
        for key, option in value.items():
            place = at("options", key)
            if key == "repeat":
                self.findings.number(option, place, "repeat", REPEATS)
            elif key not in OPTIONS:
                near = did_you_mean(key, OPTIONS)
                # Any other name may be a setting of the vendor's, which nobody here can check.
                if near:
                    self.findings.hint(place, f"option '{key}' is sent to the model", near)
            elif key in TRANSFORMS and isinstance(option, str) and option:
                for what, hint in transform_problems(option, self.config.base):
                    self.findings.problem(place, what, hint)
                if option.startswith("file://"):
                    self.files.add(self._path(option))

    def texts(self, test: Test, at: At) -> None:
        """Notes what cannot be filled in around a prompt."""
        for name, text in (("prefix", test.prefix), ("suffix", test.suffix)):
            wrong = self.config.templates.problem(text) if text and not test.literal else None
            if wrong:
                self.findings.problem(at("options", name), f"{name}: {wrong}")

    def can_be_run(self, test: Test, at: At) -> bool:
        """Whether its variables can be written down, and their lists come to no more tests than can be run."""
        # Texts can always be kept, and no list of them is among those that are nothing else.
        if ONLY_TEXT.issuperset(map(type, test.variables.values())):
            return True
        try:
            encode(test.variables)  # no NaN, nothing endless, no object of Python's
        except (TypeError, ValueError) as error:
            what = f"the variables cannot be kept: {error}"
            self.findings.problem(at("vars"), what, "Write it in quotes, as text.")
            return False
        if test.count() <= MOST_COMBINATIONS:
            return True
        lists = " × ".join(f"{len(v):,} of {k}" for k, v in test.spreading().items())
        self.findings.problem(
            at("vars"),
            f"the lists of variables come to {counted(test.count())} combinations ({lists}),"
            f" and no more than {MOST_COMBINATIONS:,} can be run of one test",
            "Shorten them, or write options: {disableVarExpansion: true} to keep lists as they are.",
        )
        return False

    def _path(self, reference: str) -> Path:
        return self.config.base / reference.removeprefix("file://")


_CALLED: Mapping[str, str] = {
    "assertion": "assert",
    "assertions": "assert",
    "expect": "assert",
    "expected": "assert",
    "inputs": "vars",
    "variables": "vars",
}


def _is_meant(key: str, value: object) -> bool:
    """Whether a value is what stands under `vars` or `assert`."""
    return is_mapping(value) if key == "vars" else key == "assert" and _is_assert(value)


def _is_assert(value: object) -> bool:
    return any(isinstance(item, Mapping) and "type" in item for item in as_array(value))


def names_of(value: object) -> tuple[str, ...] | None:
    """The names under `prompts` or `providers`; None for all."""
    if value is None:
        return None
    items = value if is_array(value) else [value]
    return tuple(map(str, items))
