"""What is expected of a test's answer in a variant, as a digest; see `evenhand.core.plan.Step.checks`."""

from __future__ import annotations

from pathlib import Path

from evenhand.assertions.closed_code import code_digest
from evenhand.assertions.identity import asks_code, assertions_digest
from evenhand.core.encoding import digest, encode
from evenhand.core.secrets import redacted
from evenhand.promptfoo.tests import Test
from evenhand.promptfoo.variants import Combination

_READ = frozenset({"assert", "options", "vars", "metadata"})
"""What is in the digest by what it comes to."""
_TOOLS = ("tools", "functions")
"""What a provider's config declares and assertions look at."""


def test_digest(test: Test, base: Path) -> str:
    """A digest of what a test expects; empty where that can't be known.

    Args:
        test: It.
        base: The folder that paths start from.
    """
    expected = test.expected
    if test.provider_output is not None or expected.contests:
        return ""
    codes = [(test.transform, "get_transform"), (test.scoring, "get_score")]
    known = [code_digest(text, base, default) if text else "none" for text, default in codes]
    assertions = assertions_digest(expected.assertions)
    if not assertions or not all(known):
        return ""
    rule = [test.threshold, sorted(expected.binding), sorted(expected.excusing)]
    beside = {key: value for key, value in test.raw.items() if key not in _READ}
    told = [test.description, redacted(beside)] if _asks_code(test) else []
    try:
        return digest(assertions, *known, encode([rule, told]))
    except (TypeError, ValueError):
        return ""


def pair_digest(pair: Combination, *, code: bool) -> str:
    """A digest of what a variant adds to that; empty where it can't be known.

    Args:
        pair: The variant.
        code: Whether code of the user's looks at its answers, which is told who answered.
    """
    subject = pair.subject
    transform = subject.transform
    known = code_digest(transform, pair.base, "get_transform") if transform else "none"
    provider = subject.provider
    told = [provider.id, provider.label] if code else []
    told += [pair.prompt.label] if transform else []
    declared = {name: subject.config[name] for name in _TOOLS if name in subject.config}
    try:
        return digest(known, encode([told, declared])) if known else ""
    except (TypeError, ValueError):
        return ""


def checks_of(test: Test, of_test: str, pair: Combination) -> str:
    """A digest of what is expected of a test's answer in a variant; empty where that can't be known.

    Args:
        of_test: What `test_digest` says of the test.
    """
    if not of_test:
        return ""
    of_pair = pair_digest(pair, code=_asks_code(test))
    return digest(of_test, of_pair) if of_pair else ""


def _asks_code(test: Test) -> bool:
    return bool(test.scoring or test.transform) or asks_code(test.expected.assertions)
