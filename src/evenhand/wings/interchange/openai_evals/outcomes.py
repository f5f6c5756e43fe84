"""The results of OpenAI's graders, as outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evenhand.core.json_shapes import is_array, is_object
from evenhand.core.run import Judged
from evenhand.core.score import Outcome
from evenhand.doors.importers.naming import unlike
from evenhand.languages.documents.foreign import Part
from evenhand.wings.interchange.openai_evals.definition import Criterion, Definition, plain_name

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
    metadata = _metadata(result, sample, criterion)
    failure = error_of(sample)
    bound = criterion.threshold if criterion else result.number("threshold")
    if passed is None:
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
    return f"{score:g}, wanted at least {bound:g}"


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


def _metadata(
    result: Part, sample: Part | None, criterion: Criterion | None
) -> Mapping[str, object]:
    type_ = criterion.type if criterion else ""
    metadata: dict[str, object] = {"grader": type_ or result.text("type") or "unknown"}
    if sample is not None:
        model = sample.text("model")
        if model and type_ in _JUDGES:
            metadata["judge"] = model
        questions = texts_in(sample.value.get("input"))
        if questions:
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
