"""What is wrong with an assertion, as far as can be seen before anything runs."""

from __future__ import annotations

from evenhand.core.errors import EvenhandError
from evenhand.promptfoo.assertions.assertion import Assertion
from evenhand.promptfoo.assertions.kind import Kind
from evenhand.promptfoo.assertions.kinds import KINDS
from evenhand.promptfoo.assertions.preparing import fixed_scorer, items_of
from evenhand.promptfoo.code_files import file_problems, transform_problems
from evenhand.promptfoo.template import check as check_template
from evenhand.promptfoo.template import has_tags

TAKES_EMPTY = frozenset({"equals"})
"""What an empty text is a value for."""


def problems(assertion: Assertion) -> list[tuple[str, str]]:
    """What is wrong with an assertion, as far as can be seen before anything runs: (what, what to do)."""
    kind, value = KINDS[assertion.type], assertion.value
    found: list[tuple[str, str]] = []
    missing = not kind.optional and (
        value is None or (value == "" and assertion.type not in TAKES_EMPTY)
    )
    if missing:
        found.append((f"'{assertion.written}' has no value", "Say what to look for: value: …"))
    if kind.needs_threshold and assertion.threshold is None:
        found.append(
            (
                f"'{assertion.written}' has no threshold",
                f"Say what is allowed, in {kind.needs_threshold}: threshold: …",
            )
        )
    if kind.asks and assertion.judge is None:
        found.append(no_judge(assertion, kind))
    written = [assertion.metric]
    if kind.tags:
        written += [v for v in (value, *items_of(value)) if isinstance(v, str)]
    found += [(wrong, "") for wrong in map(check_template, written) if wrong]
    if not missing and not (kind.needs_threshold and assertion.threshold is None):
        try:
            fixed_scorer(assertion)
        except EvenhandError as error:
            found.append((error.message, error.hint))
        found += kind.check(assertion)
    if assertion.transform:
        found += transform_problems(assertion.transform, assertion.base)
    if isinstance(value, str) and value.startswith("file://") and not has_tags(value):
        found += file_problems(value, assertion.base, "get_assert")
    return found


def no_judge(assertion: Assertion, kind: Kind) -> tuple[str, str]:
    """What to say where nobody is named to judge."""
    if kind.asks == "text":
        return (
            f"'{assertion.type}' has no model to judge",
            "Name one in defaultTest.options.provider, or set OPENAI_API_KEY or ANTHROPIC_API_KEY.",
        )
    return (
        f"'{assertion.type}' has no model for {kind.asks}",
        f"Name one: provider: {{{kind.asks}: …}}, in the assertion or in defaultTest.options.",
    )
