"""What is wrong with an assertion, as far as can be seen before anything runs."""

from __future__ import annotations

from evenhand.assertions.assertion import Assertion
from evenhand.assertions.code_files import file_problems, transform_problems
from evenhand.assertions.kinds import kind_of
from evenhand.assertions.preparing import (
    Lack,
    fixed_scorer,
    items_of,
    lacks,
    nobody_to_ask,
)
from evenhand.assertions.ruby import is_ruby
from evenhand.assertions.ruby import problems as ruby_problems
from evenhand.core.errors import EvenhandError
from evenhand.templates.chat import unfillable
from evenhand.templates.rendering import has_tags


def problems(assertion: Assertion) -> list[Lack]:
    """What keeps an assertion from a verdict, as far as can be seen before anything runs."""
    kind, value = kind_of(assertion.type), assertion.value
    lacking = lacks(assertion)
    said = nobody_to_ask(assertion) if assertion.refused else []
    found: list[Lack] = [lack for lack in lacking if lack not in said]
    written = [assertion.metric]
    if kind.tags:
        written += [v for v in (value, *items_of(value)) if isinstance(v, str)]
    found += [(wrong, "") for wrong in map(assertion.templates.problem, written) if wrong]
    wrong = (
        unfillable(assertion.rubric_prompt, assertion.templates)
        if assertion.rubric_prompt
        else None
    )
    if wrong:
        found.append((f"rubricPrompt: {wrong}", ""))
    if not lacking:
        try:
            fixed_scorer(assertion)
        except EvenhandError as error:
            found.append((error.message, error.hint))
        found += kind.check(assertion)
    for code in (assertion.transform, assertion.context_transform):
        if code:
            found += transform_problems(code, assertion.base)
    if isinstance(value, str) and value.startswith("file://") and not has_tags(value):
        if is_ruby(value):
            found += () if kind.name == "ruby" else ruby_problems(assertion)  # its check said so
        else:
            found += file_problems(value, assertion.base, "get_assert")
    return found
