"""Grades recorded outputs again, by what OpenAI's graders become here, and says where the verdicts are not the same.

For the graders that ask nobody and run no code of anybody's: string_check and text_similarity. OpenAI does not publish
how it computes similarity, so this is how somebody learns whether a bound still means what it meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from evenhand.core.errors import TemplateError
from evenhand.core.json_shapes import as_mapping, is_array, is_number, is_object
from evenhand.core.record import MutableRecord
from evenhand.languages.documents.foreign import Part, shown
from evenhand.languages.templates.plain import render
from evenhand.scorers.metrics.similarity import SIMILARITIES
from evenhand.wings.interchange.openai_evals.definition import Criterion, Definition, item_of
from evenhand.wings.interchange.openai_evals.export import Export
from evenhand.wings.interchange.openai_evals.outcomes import texts_in
from evenhand.wings.interchange.openai_evals.tags import problem_of, sample_of

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
