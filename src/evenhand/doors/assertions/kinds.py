"""All assertion types: those that run here, family by family, and those that promptfoo has besides.

A family is imported when one of its types is used: a config that asks for `contains` reads no SQL and no XML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from msgspec.structs import replace

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.names import nearest
from evenhand.core.plugins import ASSERTIONS, Plugin, plugin, plugins
from evenhand.doors.assertions.assertion import Kind, split
from evenhand.scorers.code_languages import CODE_LANGUAGES

FAMILIES: Mapping[str, str] = {
    "text": "equals contains icontains contains-any contains-all icontains-any icontains-all starts-with regex",
    "structured": "is-json contains-json",
    "markup": "is-html contains-html is-xml contains-xml",
    "sql": "is-sql contains-sql",
    "overlap": "levenshtein rouge-n bleu gleu meteor",
    "answers": "word-count is-refusal finish-reason perplexity perplexity-score guardrails",
    "calls": "tool-call-f1 is-valid-function-call is-valid-openai-function-call is-valid-openai-tools-call skill-used",
    "user_code": " ".join(("python", "javascript", *(one.type for one in CODE_LANGUAGES))),
    "webhook": "webhook",
    "judged": "llm-rubric g-eval factuality model-graded-factuality model-graded-closedqa conversation-relevance "
    "avoids",
    "retrieval": "context-recall context-relevance context-faithfulness answer-relevance",
    "embedded": "similar similar:cosine similar:dot similar:euclidean classifier moderation",
    "traces": "trace-span-count trace-span-duration trace-error-spans",
    "trajectory": "trajectory:tool-used trajectory:tool-sequence trajectory:tool-args-match trajectory:step-count "
    "trajectory:goal-success",
    "agent_steps": "steps:calls steps:only-calls steps:succeeds steps:never-succeeds steps:never-fails "
    "steps:recovers steps:never-repeats steps:never-loops steps:count steps:tokens steps:cost steps:duration "
    "steps:leaves-state steps:achieves-goal steps:passes",
    "bounds": "latency first-token cost",
    "sets": "assert-set",
    "contests": "select-best max-score",
}
"""The modules of this room that hold types, and which, in the order in which they are listed."""

_HOMES = {name: family for family, names in FAMILIES.items() for name in names.split()}

SUPPORTED: frozenset[str] = frozenset(_HOMES)

INSTEAD: Mapping[str, str] = {
    "agent-rubric": "llm-rubric judges the answer itself; a Python assertion can call an agent: value: file://grader.py.",
    "human": "People label outputs in the viewer; llm-rubric asks a model.",
    "pi": "llm-rubric asks the same of a model that you name.",
    "search-rubric": "llm-rubric asks the same; name a provider that searches the web, with its tools in its config.",
}
"""The types that promptfoo has and that are not run here, each with the way round."""

RED_TEAM = "promptfoo:redteam:"
"""How the types begin that promptfoo writes into red-team configs, one for each of its plugins."""
_RED_TEAM_INSTEAD = (
    "llm-rubric asks whether an answer is safe, in words of yours; is-refusal looks for a refusal."
)

KNOWN: frozenset[str] = SUPPORTED | frozenset(INSTEAD)


def kinds() -> Iterator[Kind]:
    """All types that run here, family by family."""
    for family in FAMILIES:
        yield from _family(family).values()


def kind_of(type_: str) -> Kind:
    """What this type is.

    Raises:
        ScoreError: It is not one of ours, nor of an installed package.
        UsageError: It is a package's, and cannot be used.
    """
    family = _HOMES.get(type_)
    if family is not None:
        return _family(family)[type_]
    added = plugin(ASSERTIONS, type_)
    if added is not None:
        return _added(added)
    what, hint = unknown_type(type_)
    raise ScoreError(what, hint=hint)


def type_problem(written: str) -> tuple[str, str] | None:
    """Why a type, as written, cannot be run, and what to do; None for one that can."""
    name, negated = split(written)
    try:
        # A type of ours is known by its name. Only `not-` depends on what the family says, and imports it.
        kind = None if name in SUPPORTED and not negated else kind_of(name)
    except ScoreError:
        return unknown_type(written)
    except UsageError as error:  # a package's, and the package is at fault
        return error.message, error.hint
    if negated and kind is not None and kind.negation == "refused":
        hint = f"Write {name}, or a Python assertion that says the opposite."
        return f"assertion type '{written}' is not known", hint
    return None


@cache
def _family(name: str) -> Mapping[str, Kind]:
    module = import_module(f"evenhand.doors.assertions.{name}")
    return {kind.name: replace(kind, group=module.GROUP) for kind in module.KINDS}


@cache
def _added(added: Plugin) -> Kind:
    from evenhand.doors.assertions.plugin_types import kind_from  # noqa: PLC0415 (few packages add any)

    return kind_from(added)


def unknown_type(type_: str) -> tuple[str, str]:
    """What to say of a type that cannot be run: what is wrong, and what to do."""
    name, _ = split(type_)
    if name in INSTEAD:
        return f"assertion type '{type_}' is not run here", INSTEAD[name]
    if name.startswith(RED_TEAM):
        return (
            f"assertion type '{type_}' is of a red team, which is not run here",
            _RED_TEAM_INSTEAD,
        )
    known = {*KNOWN, *plugins(ASSERTIONS)}
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])|_", "-", type_).lower()  # not_contains, llmRubric
    if split(plain)[0] in known:
        return (
            f"assertion type '{type_}' is not known",
            f"Did you mean '{plain}'? `evenhand info scorers` lists all of them.",
        )
    near = nearest(name, known)
    guess = f"Did you mean '{'not-' if type_ != name else ''}{near}'? " if near else ""
    return (
        f"assertion type '{type_}' is not known",
        f"{guess}`evenhand info scorers` lists all of them.",
    )
