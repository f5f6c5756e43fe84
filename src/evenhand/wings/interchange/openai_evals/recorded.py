"""What OpenAI recorded, as a script of replies: `evenhand run --offline` then grades it without asking anybody.

So the eval set can be tried before any money is spent, and its verdicts are compared with those of the import.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from evenhand.core.errors import TemplateError
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.languages.documents.foreign import Notes, Part
from evenhand.languages.templates.plain import render
from evenhand.wings.interchange.openai_evals.definition import Criterion, Definition, item_of
from evenhand.wings.interchange.openai_evals.export import Export
from evenhand.wings.interchange.openai_evals.outcomes import texts_in
from evenhand.wings.interchange.openai_evals.source import Messages, Source, messages_in
from evenhand.wings.interchange.openai_evals.tags import parts_of_output, pieces, sample_of

Rule = tuple[list[str], str]
"""The texts of a conversation, and the reply to it. Of two rules that hold, the longer one is meant."""
_SHORTEST = 3
"""Characters of a piece of a prompt that is worth looking for."""


def script_of(definition: Definition, source: Source, export: Export) -> list[Mapping[str, object]]:
    """The rules of a script, judges first: a judge's prompt may hold what the subject was asked, too."""
    items = list(export.items.get(source.run, {}).values())
    judged = [rule for item in items for rule in _judged(definition, item)]
    answered = [rule for item in items for rule in _answered(source, item)] if source.model else []
    silent = [item for item in items if not texts_in(_inside(item, "sample").value.get("output"))]
    for item in silent if source.model else []:
        export.notes.changed(
            item.where, "has no recorded answer: with --offline its trial is an error, too"
        )
    return [
        {"match": [re.escape(text) for text in match], "reply": reply}
        for rules in (judged, answered)
        for match, reply in sorted(rules, key=lambda rule: -sum(map(len, rule[0])))
    ]


def _answered(source: Source, item: Part) -> Iterator[Rule]:
    sample = _inside(item, "sample")
    output = texts_in(sample.value.get("output"))
    values = _values(item)
    if not output or not values:
        return
    messages: Messages = source.messages
    if source.reference:
        rows = cast("list[Mapping[str, object]]", values.get(source.reference) or [])
        messages = [("", text) for row in rows if isinstance(text := row.get("content"), str)]
        yield [text for _, text in messages if text], output
        return
    yield _matching(messages, values), output


def _judged(definition: Definition, item: Part) -> Iterator[Rule]:
    output = texts_in(_inside(item, "sample").value.get("output"))
    for result in item.parts("results"):
        criterion = definition.criterion(result.text("name"))
        passed = result.value.get("passed")
        if criterion is None or not isinstance(passed, bool) or not output:
            continue
        verdict = _verdict(criterion, result, passed=passed)
        if verdict is None:
            continue
        quiet = Part(criterion.part.value, criterion.part.where, Notes())
        messages, problem = messages_in(quiet, "input")
        if not problem:
            match = [*_matching(messages, _values(item)), *_seen(messages, output)]
            yield match, json.dumps(verdict, ensure_ascii=False)


def _seen(messages: Messages, output: str) -> list[str]:
    """What a judge sees of an answer: all of it, or fields of its JSON."""
    values = {"sample": sample_of(output)}
    tags = dict.fromkeys(tag for _, template in messages for tag in parts_of_output(template))
    texts: list[str] = []
    for tag in tags:
        try:
            texts.append(render(tag, values, "a template"))
        except TemplateError:  # the answer has no such field, so the judge is not asked
            continue
    return [text for text in texts if text]


def _verdict(criterion: Criterion, result: Part, *, passed: bool) -> Mapping[str, object] | None:
    """What the judge said, in the form that it is asked for here; None for a grader that asks no model."""
    reasoning = "Recorded by OpenAI."
    if criterion.type == "score_model":
        return {"reasoning": reasoning, "score": result.value.get("score")}
    if criterion.type != "label_model":
        return None
    reply = texts_in(_inside(result, "sample").value.get("output"))
    labels = _list(criterion.part.value.get("labels"))
    passing = _list(criterion.part.value.get("passing_labels"))
    fitting = [one for one in labels if (one in passing) is passed]
    labelled = [one for one in fitting if f'"{one}"' in reply] or fitting
    return {"reasoning": reasoning, "label": labelled[0]} if labelled else None


def _matching(messages: Messages, values: Mapping[str, object]) -> list[str]:
    """The pieces of a conversation that do not depend on the answer."""
    literals: list[str] = []
    for _, template in messages:
        for piece in pieces(template):
            try:
                text = render(piece, {"item": values}, "a template")
            except TemplateError:
                continue
            literals += [one for one in [text.strip()] if len(one) >= _SHORTEST]
    return literals


def _values(item: Part) -> Mapping[str, object]:
    return item_of(_inside(item, "datasource_item").value)


def _inside(part: Part, key: str) -> Part:
    value = part.value.get(key)
    fields = as_mapping(value)
    return Part(fields, f"{part.where}.{key}", Notes())


def _list(value: object) -> Sequence[str]:
    items = as_array(value)
    return [one for one in items if isinstance(one, str)]
