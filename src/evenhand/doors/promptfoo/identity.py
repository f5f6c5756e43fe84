"""What is expected of a test's answers, as a digest for each variant; see `evenhand.core.plan.PlannedTrial.checks`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from msgspec import field

from evenhand.core.encoding import digest, encode
from evenhand.core.record import MutableRecord, Record
from evenhand.core.secrets import redacted
from evenhand.doors.assertions.identity import asks_code, assertions_digest
from evenhand.doors.assertions.reading import Expected
from evenhand.doors.promptfoo.tests import Test
from evenhand.doors.promptfoo.variants import Combination

_READ = frozenset({"assert", "options", "vars", "metadata"})
"""What is in the digest by what it comes to."""
_IN_DATA = frozenset({"vars", "description"})
"""What a test has that is a row of data. How it is called is told to code alone."""
_TOOLS = ("tools", "functions", "mcp")
"""What a provider's config declares and assertions look at."""


class SharedExpectations(MutableRecord):
    """Remembers what the assertions come to that tests share: most have those of the config and no others."""

    _expected: Expected | None = None
    _code: bool = False
    _digest: str = ""
    _checks: dict[tuple[int, float | None], str] = field(
        default_factory=dict[tuple[int, float | None], str]
    )

    def asks_code(self, expected: Expected) -> bool:
        """Whether the user's code is among the assertions."""
        self._look_at(expected)
        return self._code

    def digest(self, expected: Expected) -> str:
        """The digest of the assertions; empty where that can't be known."""
        self._look_at(expected)
        return self._digest

    def _look_at(self, expected: Expected) -> None:
        if expected is not self._expected:
            self._expected = expected
            self._code = asks_code(expected.assertions)
            self._digest = assertions_digest(expected.assertions)
            self._checks = {}

    def checks(self, test: Test, pair: Combination, make: Callable[[Combination], str]) -> str:
        """What `make` makes of a test that has nothing of its own but variables: as of the one before it."""
        self._look_at(test.expected)
        key = pair.variant.index, test.threshold
        known = self._checks.get(key)
        if known is None:
            known = self._checks[key] = make(pair)
        return known


class TestIdentity(Record, frozen=True, dict=True):
    """What one test expects. It is worked out when a model is about to be asked, and once for all variants.

    Attributes:
        base: The folder that paths start from.
        shared: Remembers what other tests expect as well.
    """

    __test__ = False  # for pytest

    test: Test
    base: Path
    shared: SharedExpectations

    def checks(self, pair: Combination) -> str:
        """A digest of what is expected of the answer in a variant; empty where that can't be known."""
        mcp = pair.asked(self.test).mcp
        if mcp is not None and mcp.calls:  # what tools return is more than a first request
            return ""
        test = self.test
        plain = test.raw.keys() <= _IN_DATA and not test.metadata and test.provider_output is None
        if plain and not (test.scoring or test.transform or self.shared.asks_code(test.expected)):
            return self.shared.checks(test, pair, self._checks)
        return self._checks(pair)

    def _checks(self, pair: Combination) -> str:
        of_pair = self._of_pair(pair) if self._of_test else ""
        return digest(self._of_test, of_pair) if of_pair else ""

    @cached_property
    def _code(self) -> bool:
        """Whether code of the user's looks at the answers: it is told more of a test, and who answered."""
        test = self.test
        return bool(test.scoring or test.transform) or self.shared.asks_code(test.expected)

    @cached_property
    def _of_test(self) -> str:
        test, expected = self.test, self.test.expected
        if test.provider_output is not None or expected.contests:
            return ""
        codes = [(test.transform, "get_transform"), (test.scoring, "get_score")]
        known = [_code_digest(text, self.base, name) for text, name in codes]
        assertions = self.shared.digest(expected)
        if not assertions or not all(known):
            return ""
        rule = [test.threshold, sorted(expected.binding), sorted(expected.excusing)]
        context: list[object] = []
        if self._code:
            beside = {key: value for key, value in test.raw.items() if key not in _READ}
            context = [test.description, redacted(beside), test.metadata]
        trace = test.metadata.get("trace")
        try:
            return digest(assertions, *known, encode([rule, context, trace]))
        except (TypeError, ValueError):
            return ""

    def _of_pair(self, pair: Combination) -> str:
        subject = pair.subject
        transform, provider = subject.transform, subject.provider
        known = _code_digest(transform, pair.base, "get_transform")
        context = [provider.id, provider.label] if self._code else []
        context += [pair.prompt.label] if transform else []
        declared = {name: subject.config[name] for name in _TOOLS if name in subject.config}
        try:
            return digest(known, encode([context, declared])) if known else ""
        except (TypeError, ValueError):
            return ""


def _code_digest(code: str, base: Path, name: str) -> str:
    """A digest of code of the user's; `none` where there is none, and empty where it can't be known."""
    if not code:
        return "none"
    from evenhand.doors.assertions.closed_code import code_digest  # noqa: PLC0415 (only for configs with code)

    return code_digest(code, base, name)
