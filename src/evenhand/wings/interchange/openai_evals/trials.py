"""An output item of OpenAI's as a trial: what it answered, what its graders recorded, and what it used."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from evenhand.core.case import case_id
from evenhand.core.json_shapes import is_array, is_object
from evenhand.core.record import Record
from evenhand.core.run import Judged
from evenhand.core.score import Outcome, State
from evenhand.core.wording.bounds import beside_least
from evenhand.doors.importers.imported import ImportedTrial
from evenhand.doors.importers.naming import unlike
from evenhand.doors.importers.recorded import numbered
from evenhand.languages.documents.foreign import Part, shown
from evenhand.wings.interchange.openai_evals.definition import (
    Criterion,
    Definition,
    field_named,
    item_of,
    line_of,
    plain_name,
)

STATES: Mapping[str, State] = {
    "pass": "pass",
    "passed": "pass",
    "fail": "fail",
    "failed": "fail",
    "error": "error",
    "errored": "error",
}
_SETTLED = frozenset({"", "completed"})
"""Words of an item's status that leave the verdict to its graders."""
_NO_REASON = "OpenAI recorded an error, and no reason"
_ITEM = frozenset(
    {"id", "object", "run_id", "eval_id", "status", "datasource_item", "results", "sample"}
)
_SAMPLE = frozenset({"input", "output", "model", "finish_reason", "usage", "error"})


class Compared(Record, frozen=True):
    """What the graders of an eval compare.

    Attributes:
        expected: The field of the item that they compare with; empty where that is not one field.
        graded: The field that they grade, where that is not a model's answer.
    """

    expected: str = ""
    graded: str = ""


def compared_by(definition: Definition | None) -> Compared:
    """What the graders compare, as far as all of them agree."""
    parts = [one.part.value for one in definition.criteria] if definition else []
    expected, graded = (
        field_named([text for one in parts if isinstance(text := one.get(key), str)])
        for key in ("reference", "input")
    )
    return Compared(expected, graded)


def trials_of(items: Iterable[Part], definition: Definition | None) -> Iterator[ImportedTrial]:
    """A trial for each output item. A row that was there before is repeated."""
    compared = compared_by(definition)
    return numbered(_trial(one, definition, compared) for one in items)


def _trial(one: Part, definition: Definition | None, compared: Compared) -> ImportedTrial:
    row = one.part("datasource_item")
    item = item_of(row.value) if row else {}
    sample = one.part("sample") or Part({}, f"{one.where}.sample", one.notes)
    usage = sample.part("usage")
    outcomes = tuple(outcomes_of(one, definition))
    state, error = _state(one, outcomes, error_of(sample))
    output = _output(sample)
    return ImportedTrial(
        case=case_id(item) if item else one.text("id"),
        outcome=state,
        output=item.get(compared.graded) if output is None and compared.graded else output,
        error=error,
        outcomes=outcomes,
        expected=item.get(compared.expected) if compared.expected else None,
        prompt=_prompt(sample),
        vars=item,
        tokens_in=usage.whole("prompt_tokens") if usage else None,
        tokens_out=usage.whole("completion_tokens") if usage else None,
        metadata=_metadata(one, sample, usage),
        description=line_of(item),
        finish_reason=sample.text("finish_reason"),
        model=sample.text("model"),
        judged=judged_of(one),
    )


def _state(one: Part, outcomes: Sequence[Outcome], failure: str) -> tuple[State | None, str]:
    """What OpenAI says that it came to, and why where that is an error; None leaves it to the outcomes."""
    status = one.text("status").casefold()
    broken = next((o.reason for o in outcomes if o.outcome == "error"), "")
    state = STATES.get(status)
    if state is None:
        if status not in _SETTLED:
            one.notes.changed(
                f"{one.where}.status",
                f"is {shown(status)}, which is not a verdict: the graders' results decide",
            )
        # A failure counts only where no grader has a result, since results decide without a status.
        if failure and not outcomes:
            return "error", failure
        return ("error", "OpenAI recorded no verdict") if not outcomes else (None, "")
    if state == "error":
        return state, failure or broken or _NO_REASON
    if broken:
        one.notes.changed(
            f"{one.where}.results",
            f"a grader has no verdict, and OpenAI counted the item as {state!r}: it is an error here",
        )
        return None, ""
    if outcomes and (state == "pass") != all(o.outcome == "pass" for o in outcomes):
        one.notes.changed(
            f"{one.where}.status",
            f"is {shown(status)}, unlike what its results come to: the status counts",
        )
    return state, ""


def _output(sample: Part) -> object:
    """The answer: its text, or its messages where there is more to it than text; None where nothing answered."""
    messages = sample.value.get("output")
    if messages is None:
        return sample.value.get("output_text")
    if not is_array(messages):
        return messages
    rows = filter(is_object, messages)
    # Keys that are null would make a plain text answer look like more than text.
    present = [{k: v for k, v in row.items() if v is not None} for row in rows]
    if not present:
        return None
    last = present[-1]
    if len(present) == 1 and last.keys() <= {"role", "content"}:
        return last.get("content")
    return present


def _prompt(sample: Part) -> str:
    messages = sample.value.get("input")
    if not is_array(messages) or not messages:
        return ""
    rows = [{k: v for k, v in m.items() if v is not None} if is_object(m) else m for m in messages]
    return json.dumps(rows, ensure_ascii=False)


def _metadata(one: Part, sample: Part, usage: Part | None) -> dict[str, object]:
    """All that has no place of its own, so that nothing is lost."""
    more: dict[str, object] = {"output_item": one.value.get("id")}
    more |= one.without(*_ITEM)
    if settings := sample.without(*_SAMPLE):
        more["sample"] = settings
    if usage and (rest := usage.without("prompt_tokens", "completion_tokens", "total_tokens")):
        more["usage"] = rest
    return {"openai": more}


_READ = ("name", "passed", "score", "sample", "type")
_JUDGES = ("label_model", "score_model")


def outcomes_of(item: Part, definition: Definition | None) -> Iterator[Outcome]:
    """One outcome for each grader's result of an output item, in their order."""
    taken: set[str] = set()
    for number, result in enumerate(item.parts("results"), 1):
        written = result.text("name")
        criterion = definition.criterion(written) if definition else None
        name = criterion.name if criterion else plain_name(written) or f"grader {number}"
        yield _outcome(result, criterion, unlike(taken, name))


def _outcome(result: Part, criterion: Criterion | None, name: str) -> Outcome:
    passed, score = result.truth("passed"), result.number("score")
    sample = result.part("sample")
    metadata = _outcome_metadata(result, sample, criterion)
    failure = error_of(sample)
    bound = criterion.threshold if criterion else result.number("threshold")
    # A grader that failed is recorded as one that did not pass.
    if passed is None or (failure and not passed):
        why = failure or "OpenAI recorded no verdict of this grader"
        return Outcome(name, "error", None, why, metric=name, metadata=metadata, error="judge")
    return Outcome(
        name,
        "pass" if passed else "fail",
        score,
        _reason(result, sample, failure) or ("" if passed else _missed(score, bound)),
        metric=name,
        metadata=metadata,
        at_least=bound,
    )


def _missed(score: float | None, bound: float | None) -> str:
    """Why a grader that gives no reasons failed an output, as our own bounds say it; empty for a verdict alone."""
    if score is None or bound is None or score >= bound:
        return ""
    return beside_least(score, bound)


def error_of(sample: Part | None) -> str:
    """What a sample says went wrong, in a line; empty where nothing did."""
    error = sample.part("error") if sample else None
    if error is None:
        return ""
    code, message = error.text("code"), " ".join(error.text("message").split())
    return f"{code}: {message}" if code and message else code or message


def judged_of(item: Part) -> Judged | None:
    """The tokens of all graders of an output item; None where none says its usage."""
    used = [
        usage
        for result in item.parts("results")
        if (sample := _quiet(result, "sample")) and (usage := _quiet(sample, "usage"))
    ]
    if not used:
        return None
    tokens_in = sum(one.whole("prompt_tokens") or 0 for one in used)
    tokens_out = sum(one.whole("completion_tokens") or 0 for one in used)
    return Judged(len(used), tokens_in, tokens_out, None)


def _quiet(part: Part, key: str) -> Part | None:
    """An object that is looked at for the second time: what is wrong with it was noted before."""
    value = part.value.get(key)
    if not is_object(value):
        return None
    return Part(value, f"{part.where}.{key}", part.notes)


def _outcome_metadata(
    result: Part, sample: Part | None, criterion: Criterion | None
) -> Mapping[str, object]:
    type_ = criterion.type if criterion else ""
    metadata: dict[str, object] = {"grader": type_ or result.text("type") or "unknown"}
    if sample is not None:
        model = sample.text("model")
        if model and type_ in _JUDGES:
            metadata["judge"] = model
        if questions := texts_in(sample.value.get("input")):
            metadata["asked"] = questions
        metadata["sample"] = sample.without("input", "output", "error", "model")
    return metadata | result.without(*_READ)


def _reason(result: Part, sample: Part | None, failure: str) -> str:
    reason = result.value.get("reason")
    if isinstance(reason, str) and reason.strip():
        return reason.strip()
    return failure or (texts_in(sample.value.get("output")) if sample else "")


def texts_in(output: object) -> str:
    """The texts of messages, one after the other; empty where there are none."""
    if isinstance(output, str):
        return output
    if not is_array(output):
        return ""
    contents = [one.get("content") for one in output if is_object(one)]
    return "\n".join(text for text in contents if isinstance(text, str))
