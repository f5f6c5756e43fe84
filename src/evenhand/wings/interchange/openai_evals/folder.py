"""Writes a folder of eval sets from an export of OpenAI's Evals. Nothing that is there is overwritten.

Recorded outputs are graded again, by what OpenAI's graders become here, where these ask nobody and run no code of
anybody's: string_check and text_similarity. OpenAI does not publish how it computes similarity, so this is how somebody
learns whether a bound still means what it meant.

What OpenAI recorded becomes a script of replies, so that `evenhand run --offline` grades it without asking anybody:
the eval set can be tried before any money is spent, and its verdicts are compared with those of the import.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from evenhand.core.errors import TemplateError, UsageError
from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_number, is_object
from evenhand.core.record import MutableRecord
from evenhand.doors.eval_sets.rowcase import row_of
from evenhand.doors.importers.moved_in import MovedIn, lines, written
from evenhand.doors.importers.naming import slug, unlike
from evenhand.doors.promptfoo.porting.literal import laid, led, literal
from evenhand.languages.documents.foreign import Notes, Part, shown
from evenhand.languages.templates.plain import render
from evenhand.scorers.metrics.similarity import SIMILARITIES
from evenhand.wings.interchange.openai_evals.criteria import Check, check_of
from evenhand.wings.interchange.openai_evals.definition import (
    Criterion,
    Definition,
    definition_of,
    field_named,
    item_of,
    parts_of_output,
    pieces,
    problem_of,
    sample_of,
)
from evenhand.wings.interchange.openai_evals.export import Export, read_export
from evenhand.wings.interchange.openai_evals.source import Messages, Source, messages_in, source_of
from evenhand.wings.interchange.openai_evals.trials import texts_in

TEMPLATES = "openai_templates"
_OURS = ("evenhand",)


def move_in(paths: Sequence[Path], folder: Path) -> MovedIn:
    """Writes an eval set for each eval of these files, with its dataset and graders.

    Args:
        paths: What was saved from OpenAI's API.
        folder: Where to write; it is made where it is not there.

    Raises:
        UsageError: A file cannot be read, holds no eval, or one of the files to write already exists.
    """
    export = read_export(paths)
    if not export.evals:
        raise UsageError(
            f"{paths[0]} holds no eval: runs and output items alone do not say how they were graded",
            hint="Save the eval, too: client.evals.retrieve(EVAL_ID).",
        )
    texts: dict[str, str] = {}
    sets: list[str] = []
    rules: list[Mapping[str, object]] = []
    names: set[str] = set()
    for id_, part in export.evals.items():
        definition = definition_of(id_, part)
        if recorded := _one(definition, export, names, rules):
            texts |= recorded
            sets.append(next(iter(recorded)))
    if not sets:
        why = [f"{one.where}: {one.text}" for one in export.notes if one.kind == "left_out"]
        raise UsageError("\n".join(["no eval could be written as an eval set", *why[:10]]))
    texts[f"{TEMPLATES}.py"] = (Path(__file__).parent / f"{TEMPLATES}.py.txt").read_text("utf-8")
    if rules:
        texts["offline.jsonl"] = lines(rules)
    files = written({folder / name: text for name, text in texts.items()}, folder, "openai-evals")
    return MovedIn(files, [folder / one for one in sets], bool(rules), tuple(export.notes))


def _one(
    definition: Definition, export: Export, names: set[str], rules: list[Mapping[str, object]]
) -> dict[str, str]:
    """The files of an eval, the eval set first; none where it cannot be run."""
    source = source_of(definition, export)
    if source is None:
        return {}
    name = unlike(names, slug(definition.name, "eval")).replace(" ", "_")
    taken: set[str] = set()
    checks: list[Check] = []
    for criterion in definition.criteria:
        check = check_of(criterion, taken, name)
        if check:
            checks.append(check)
    tell_agreement(definition, export)
    rules += script_of(definition, source, export)
    texts = {
        f"evals/{name}_evals.py": eval_file(definition, source, checks, name),
        f"evals/{name}.jsonl": lines([row_of(case) for case in source.cases]),
    }
    for check in checks:
        texts |= check.files
    return texts


def eval_file(definition: Definition, source: Source, checks: Sequence[Check], name: str) -> str:
    """The text of the file.

    Args:
        name: What the files of this eval are called.
    """
    imports: dict[str, set[str]] = {"evenhand": {"Case", "Dataset", "EvalSet", "Expect"}}
    for check in checks:
        for module, names in check.imports.items():
            imports.setdefault(module, set()).update(names)
    body = "".join(check.lines for check in checks) or "    del expect, output\n"
    classes = "".join(f"{check.classes}\n\n" for check in checks if check.classes)
    start, question = _asking(source, definition.part), _asked(source)
    for word in ("filled", "values_of", "chat", "judging", "recorded"):
        if f"{word}(" in body + classes + start:
            imports.setdefault(TEMPLATES, set()).add(word)
    if source.model:
        imports["evenhand"].add("Model")
    if "values)" in body:
        body = f"    values = values_of(case, output)\n{body}"
        imports.setdefault(TEMPLATES, set()).add("values_of")
    model = f", model={_flat(source.model)}" if source.model else ""
    title = f"{definition.name}: an eval of OpenAI's ({definition.id}), as an eval set."
    return (
        f"{laid(literal(title))}\n\n{_imports(imports)}\n"
        f"evals = EvalSet({_flat(definition.name)}, data=Dataset.read({_flat(name + '.jsonl')}){model})\n"
        f"{question}\n\n{classes}@evals.eval\n{start}{body}    return output\n"
    )


def _asked(source: Source) -> str:
    """The prompt and the settings, as constants."""
    if not source.model:
        return ""
    settings = laid(led("SETTINGS = ", literal(dict(source.settings))))
    if source.reference:
        return f"\n{settings}\n"
    messages = [tuple(one) for one in source.messages]
    return f"\n{laid(led('PROMPT = ', literal(messages)), broken=True)}\n{settings}\n"


def _asking(source: Source, part: Part) -> str:
    if source.model:
        prompt = (
            f"recorded(case.vars[{_flat(source.reference)}], SETTINGS)"
            if source.reference
            else "chat(PROMPT, values_of(case), SETTINGS)"
        )
        return (
            "async def answers(case: Case, model: Model, expect: Expect) -> str:\n"
            f"    reply = await model.generate({prompt})\n"
            "    output = reply.text\n"
        )
    inputs = [
        text
        for one in part.parts("testing_criteria")
        if isinstance(text := one.value.get("input"), str)
    ]
    graded = field_named(inputs)
    output = (
        f"str(case.vars[{_flat(graded)}])"
        if graded
        else 'str(case.metadata.get("sample", {}).get("output_text") or "")'
    )
    return f"def grades(case: Case, expect: Expect) -> str:\n    output = {output}\n"


def _imports(imports: Mapping[str, set[str]]) -> str:
    """Import lines in the order of formatters: the library's, ours, then the folder's own."""

    def group(module: str) -> int:
        top = module.partition(".")[0]
        return 0 if top == "typing" else 1 if top in _OURS else 2

    lines: list[str] = []
    before = -1
    for module in sorted(imports, key=lambda one: (group(one), one)):
        if before not in (-1, group(module)):
            lines.append("")
        before = group(module)
        lines.append(f"from {module} import {', '.join(sorted(imports[module]))}")
    return "\n".join(lines) + "\n"


def _flat(text: str) -> str:
    return laid(literal(text))


EPSILON = 1e-6
"""Scores that differ by less are the same."""
_CHECKS: Mapping[str, Callable[[str, str], bool]] = {
    "eq": lambda text, reference: text == reference,
    "ne": lambda text, reference: text != reference,
    "like": lambda text, reference: reference in text,
    "ilike": lambda text, reference: reference.lower() in text.lower(),
}


class _Tally(MutableRecord):
    outputs: int = 0
    verdicts: int = 0
    scores: int = 0
    example: str = ""


def tell_agreement(definition: Definition, export: Export) -> None:
    """Adds a note for each grader that can be asked again: whether its verdicts are those that were recorded."""
    for criterion in definition.criteria:
        tally = _Tally()
        for item, result in _results(definition, criterion, export):
            _compare(criterion, item, result, tally)
        notes, where, name = export.notes, criterion.part.where, shown(criterion.name)
        if not tally.outputs:
            continue
        outputs = f"{tally.outputs:,} recorded outputs"
        if tally.verdicts:
            text = (
                f"another verdict than OpenAI's on {tally.verdicts:,} of {outputs}, {tally.example}"
            )
            notes.changed(where, f"grader {name}: {text}")
        elif tally.scores:
            text = f"OpenAI's verdicts on all {outputs}, and another score on {tally.scores:,}, {tally.example}"
            notes.changed(where, f"grader {name}: {text}")
        else:
            notes.translated(where, f"grader {name}: OpenAI's verdict and score on all {outputs}")


def _results(
    definition: Definition, criterion: Criterion, export: Export
) -> Iterator[tuple[Part, Mapping[str, object]]]:
    for by_id in export.items.values():
        for item in by_id.values():
            results = item.value.get("results")
            if item.value.get("eval_id") != definition.id or not is_array(results):
                continue
            for result in results:
                fields = as_mapping(result)
                name = fields.get("name")
                if isinstance(name, str) and definition.criterion(name) is criterion:
                    yield item, fields


def _compare(criterion: Criterion, item: Part, result: Mapping[str, object], tally: _Tally) -> None:
    passed, recorded = result.get("passed"), result.get("score")
    mine = _graded(criterion, item)
    if mine is None or not isinstance(passed, bool):
        return
    score, verdict = mine
    known = None
    if isinstance(recorded, (int, float)) and abs(recorded) < 1 << 53:
        known = float(recorded)  # a larger integer may be no float
    unlike = known is not None and abs(score - known) > EPSILON
    tally.outputs += 1
    tally.verdicts += verdict is not passed
    tally.scores += unlike
    if (verdict is not passed or unlike) and not tally.example:
        there = "no score" if known is None else f"{known:g}"
        tally.example = f"e.g. {shown(item.value.get('id'))}: {score:g} here and {there} there"


def _graded(criterion: Criterion, item: Part) -> tuple[float, bool] | None:
    """Score and verdict of an output; None for a grader that cannot be asked, or without its material."""
    part = criterion.part.value
    templates = part.get("input"), part.get("reference")
    sample = item.value.get("sample")
    own = as_mapping(sample)
    row = item.value.get("datasource_item")
    values = {
        "item": item_of(row) if is_object(row) else {},
        "sample": sample_of(texts_in(own.get("output"))),
    }
    texts: list[str] = []
    for template in templates:
        if not isinstance(template, str) or problem_of(template):
            return None
        try:
            texts.append(render(template, values, "a template"))
        except TemplateError:
            return None
    return _verdict(criterion, *texts)


def _verdict(criterion: Criterion, text: str, reference: str) -> tuple[float, bool] | None:
    part = criterion.part.value
    check = _CHECKS.get(str(part.get("operation")))
    if criterion.type == "string_check" and check:
        ok = check(text, reference)
        return float(ok), ok
    similarity = SIMILARITIES.get(str(part.get("evaluation_metric")))
    threshold = part.get("pass_threshold")
    if criterion.type != "text_similarity" or not similarity:
        return None
    if not is_number(threshold):
        return None
    score = similarity(text, reference)
    return score, score >= threshold


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
        verdict = _recorded_verdict(criterion, result, passed=passed)
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


def _recorded_verdict(
    criterion: Criterion, result: Part, *, passed: bool
) -> Mapping[str, object] | None:
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
