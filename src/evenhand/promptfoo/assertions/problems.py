"""What is wrong with an assertion, as far as can be seen before anything runs."""

from __future__ import annotations

from evenhand.core.errors import EvenhandError
from evenhand.promptfoo.assertions.assertion import Assertion
from evenhand.promptfoo.assertions.kinds import kind_of
from evenhand.promptfoo.assertions.preparing import fixed_scorer, items_of, lacks
from evenhand.promptfoo.code_files import file_problems, transform_problems
from evenhand.promptfoo.template import check as check_template
from evenhand.promptfoo.template import has_tags


def problems(assertion: Assertion) -> list[tuple[str, str]]:
    """What is wrong with an assertion, as far as can be seen before anything runs: (what, what to do)."""
    kind, value = kind_of(assertion.type), assertion.value
    lacking = lacks(assertion)
    found = list(lacking)
    written = [assertion.metric]
    if kind.tags:
        written += [v for v in (value, *items_of(value)) if isinstance(v, str)]
    found += [(wrong, "") for wrong in map(check_template, written) if wrong]
    if not lacking:
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
