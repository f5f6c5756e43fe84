"""What a test expects, as Python: scorers where there are any, and `Asserts` for the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from evenhand.core.json_shapes import is_array
from evenhand.core.secrets import HIDDEN
from evenhand.doors.assertions.assertion import split
from evenhand.doors.assertions.kinds import SUPPORTED, kind_of
from evenhand.doors.assertions.values import texts
from evenhand.doors.promptfoo.porting.literal import Bracketed, Node, call, literal
from evenhand.doors.promptfoo.tests import Test
from evenhand.languages.templates.printing import printed
from evenhand.languages.templates.rendering import Templates, has_tags

Check = tuple[Node, dict[str, object]]
"""A scorer, and what is said of it beside: weight, metric."""

_OF_EXPECT = frozenset({"type", "value", "weight", "metric"})
_OF_JUDGES = ("provider", "rubricPrompt", "factuality")
_SIMPLE = {
    "equals": ("Equals", {}),
    "contains": ("Contains", {}),
    "icontains": ("Contains", {"ignore_case": True}),
    "contains-any": ("ContainsAny", {}),
    "icontains-any": ("ContainsAny", {"ignore_case": True}),
    "contains-all": ("ContainsAll", {}),
    "icontains-all": ("ContainsAll", {"ignore_case": True}),
    "starts-with": ("StartsWith", {}),
    "regex": ("Matches", {}),
    "is-json": ("IsJson", {}),
    "contains-json": ("ContainsJson", {}),
}
SCORERS = frozenset(name for name, _ in _SIMPLE.values())


def checks(
    test: Test, variables: Mapping[str, Any] | None, templates: Templates
) -> Iterator[Check]:
    """What is expected of an output, one by one; all at once where the test says how they count together.

    Args:
        variables: For tags in what is expected; None where they are not known before the trial.
    """
    written, options = _written(test)
    whole = [one for one in written if not _compares(one)]
    if not whole:
        return
    together: dict[str, object] = {}
    if test.threshold is not None:
        together["threshold"] = test.threshold
    if test.scoring:
        together["scoring"] = test.scoring
    if together or test.expected.binding or test.expected.excusing:
        judged = {"options": options} if options and any(map(_asks, whole)) else {}
        yield call("Asserts", *map(literal, whole), **together, **judged), {}
        return
    for one in whole:
        weight, metric = one.get("weight", 1), str(one.get("metric") or "")
        arguments: dict[str, object] = {"weight": float(weight)} if weight != 1 else {}
        inside = {k: v for k, v in one.items() if k != "weight"}
        if metric and (variables is not None or not has_tags(metric)):
            arguments["metric"] = templates.render(metric, variables or {})
            del inside["metric"]
        yield _scorer(one, inside, options, variables, templates), arguments


def contests(test: Test) -> Iterator[Node]:
    """What compares the outputs of all variants: of each type the first assertion."""
    written, options = _written(test)
    first = {str(one["type"]): one for one in reversed(written) if _compares(one)}
    together = test.threshold is not None or test.scoring
    for _, one in sorted(first.items(), reverse=True):  # select-best, then max-score
        named: dict[str, object] = {"options": options} if options and _asks(one) else {}
        value = one.get("value")
        if isinstance(value, Mapping) and "weights" in value:
            types = [t if isinstance(t, str) else [*t] for t in test.expected.types]
            named["types"] = [types] if together and len(types) > 1 else types
        yield call("Compare", literal(dict(one)), **named)


def _written(test: Test) -> tuple[Sequence[Mapping[str, Any]], dict[str, Any]]:
    """A test's assertions as they are written, and those of its options that judges go by."""
    asserts = cast("Sequence[Mapping[str, Any]]", test.shown.get("assert") or ())
    options = cast("Mapping[str, Any]", test.shown.get("options") or {})
    return asserts, {key: options[key] for key in _OF_JUDGES if key in options}


def secret(test: Test) -> bool:
    """Whether something that is expected holds a secret, which is not told."""
    return HIDDEN in repr(test.shown.get("assert")) or HIDDEN in repr(test.shown.get("options"))


def _scorer(
    one: Mapping[str, Any],
    inside: Mapping[str, Any],
    options: Mapping[str, Any],
    variables: Mapping[str, Any] | None,
    templates: Templates,
) -> Bracketed:
    """The scorer of one assertion.

    Args:
        inside: What of it is not said beside.
    """
    type_, value = str(one["type"]), one.get("value")
    if type_ not in _SIMPLE or not one.keys() <= _OF_EXPECT or "metric" in inside:
        judged = {"options": options} if options and _asks(one) else {}
        return call("Asserts", literal(inside), **judged)
    items = value if is_array(value) else [value]
    strings = [item for item in items if isinstance(item, str)]
    if (
        any(item.startswith("file://") for item in strings)
        or ("-json" in type_ and value is not None)
        or (variables is None and any(map(has_tags, strings)))
    ):
        return call("Asserts", literal(inside))
    name, more = _SIMPLE[type_]
    if "-json" in type_:
        return call(name)

    def filled(item: object) -> object:
        if isinstance(item, str) and has_tags(item):
            return templates.render(item, variables or {})
        return item

    value = [filled(item) for item in items] if is_array(value) else filled(value)
    if type_.endswith(("-any", "-all")):
        return call(name, literal(tuple(texts(value))), **more)
    return call(name, literal(value if type_ == "equals" else printed(value)), **more)


def _compares(one: Mapping[str, Any]) -> bool:
    name, _ = split(str(one.get("type")))
    return name in SUPPORTED and kind_of(name).compares


def _asks(one: Mapping[str, Any]) -> bool:
    """Whether an assertion, or one inside of it, asks a model."""
    name, _ = split(str(one.get("type")))
    inside = cast("Sequence[Mapping[str, Any]]", one.get("assert") or ())
    if any(map(_asks, inside)):
        return True
    return name in SUPPORTED and (kind_of(name).asks is not None or kind_of(name).embeds)
