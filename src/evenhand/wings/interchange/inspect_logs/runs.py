"""A log of Inspect's as a run: each sample and epoch is a trial, each score an outcome. Nothing is scored again."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_number, is_object
from evenhand.core.score import Outcome
from evenhand.doors.importers.foreign_files import began_at, moment_of
from evenhand.doors.importers.foreign_scores import finite, measured_note, state_of
from evenhand.doors.importers.imported import ImportedRun, ImportedTrial
from evenhand.doors.importers.recorded import Recordings, only_variant, recordings
from evenhand.languages.documents.foreign import Notes, Part, shown
from evenhand.wings.interchange.inspect_logs.log import InspectLog, read_log
from evenhand.wings.interchange.inspect_logs.transcript import resolved

_LETTERS: Mapping[str, float] = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""What Inspect counts its letters as: correct, incorrect, partially correct, no answer."""
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Texts that Inspect's value_to_float counts."""

_READ = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
"""What a model read: Inspect counts cached tokens apart."""
_PLACED = (
    "id", "epoch", "input", "target", "messages", "output", "scores", "score", "model_usage", "error",
    "working_time", "metadata", "attachments", "choices",
)  # fmt: skip


def read(paths: Sequence[Path]) -> Recordings:
    """The runs in these logs, oldest first.

    Raises:
        UsageError: One cannot be read, or is no log of Inspect's.
    """
    notes = Notes()
    runs = [(path, run) for path in paths if (run := run_of(read_log(path, notes)))]
    return recordings("inspect", runs, notes=notes)


def run_of(log: InspectLog) -> ImportedRun | None:
    """The run; None, with a note, for a log without samples."""
    header, notes = log.header, log.header.notes
    about = header.part("eval") or Part({}, f"{header.where}.eval", notes)
    task = about.text("task_display_name") or about.text("task") or "Inspect"
    if not log.samples:
        notes.left_out(
            header.where, f"log of {shown(task)}: it has no samples, so nothing is imported"
        )
        return None
    status = header.text("status")
    if status not in ("", "success", "started"):
        error = header.part("error")
        why = f" ({' '.join(error.text('message').split())})" if error else ""
        notes.changed(
            f"{header.where}.status", f"is {shown(status)}{why}: what there is is imported"
        )
    created = began_at(f"{about.where}.created", notes, about.text("created"))
    trials = list(_trials(log, about.text("model")))
    notes.translated(header.where, f"log of {shown(task)}, samples and epochs: {len(trials):,}")
    stats = header.part("stats")
    ended = moment_of(stats.text("completed_at")) if stats else None
    took = ended - created if ended is not None and created else None
    model = " ".join(about.text("model").split()) or "unknown"
    return ImportedRun(
        id=about.text("eval_id") or about.text("run_id") or log.header.where,
        title=task,
        created_at=created,
        variants=[only_variant(model, model)],
        trials=trials,
        took_s=took if took is not None and took >= 0 else None,
        settings=header.without(),
    )


def _trials(log: InspectLog, model: str) -> Iterator[ImportedTrial]:
    repeats: Counter[tuple[str, int]] = Counter()
    for sample, steps in zip(log.samples, log.steps, strict=True):
        id_ = sample.value.get("id")
        case = id_ if isinstance(id_, str) else str(id_) if isinstance(id_, int) else ""
        if not case or isinstance(id_, bool):
            sample.notes.left_out(sample.where, "this sample has no id")
            continue
        epoch = sample.whole("epoch") or 1
        repeats[case, epoch] += 1
        if repeats[case, epoch] > 1:
            text = f"sample {shown(id_)}, epoch {epoch}, is in the log twice: the first one counts"
            sample.notes.left_out(sample.where, text)
            continue
        yield replace(_trial(sample, case, epoch - 1, model), steps=steps)


def _trial(sample: Part, case: str, repeat: int, model: str) -> ImportedTrial:
    output = sample.part("output") or Part({}, f"{sample.where}.output", sample.notes)
    outcomes = tuple(outcomes_of(sample))
    error = sample.part("error")
    failure = " ".join(error.text("message").split()) if error else ""
    usage = sample.part("model_usage")
    used = [one for name in usage.value if (one := usage.part(name))] if usage else []
    attached = sample.value.get("attachments")
    texts = as_mapping(attached)
    metadata: dict[str, object] = {"inspect": sample.without(*_PLACED)}
    if usage:
        metadata["model_usage"] = dict(usage.value)
    own = sample.part("metadata")
    messages = resolved(sample.value.get("messages"), texts)
    choices = output.parts("choices")
    return ImportedTrial(
        case=case,
        repeat=repeat,
        outcome=state_of(outcomes, failed=error is not None),
        output=resolved(output.value.get("completion"), texts) or ("" if choices else None),
        error=failure or ("Inspect recorded an error, and no message" if error else ""),
        outcomes=outcomes,
        input=resolved(sample.value.get("input"), texts),
        expected=sample.value.get("target"),
        prompt=_asked(messages),
        vars={"choices": sample.value["choices"]} if sample.value.get("choices") else {},
        latency_s=sample.amount("working_time"),
        tokens_in=_sum(used, *_READ),
        tokens_out=_sum(used, "output_tokens"),
        cost_usd=_cost(used),
        metadata={**(own.value if own else {}), **metadata, "messages": messages},
        description=case,
        finish_reason=choices[0].text("stop_reason") if choices else "",
        model=output.text("model") or model,
    )


def _sum(used: Sequence[Part], *keys: str) -> int | None:
    counts = [count for one in used for key in keys if (count := one.whole(key)) is not None]
    return sum(counts) if counts else None


def _cost(used: Sequence[Part]) -> float | None:
    """Dollars, if they are known of each model that was used."""
    costs = [one.amount("total_cost") for one in used]
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if known and len(known) == len(costs) else None


def _asked(messages: object) -> str:
    """The conversation up to the first answer, as JSON."""
    rows = as_array(messages)
    question: list[Mapping[str, object]] = []
    for row in rows:
        message = as_mapping(row)
        if message.get("role") == "assistant":
            break
        question.append({key: message.get(key) for key in ("role", "content")})
    return json.dumps(question, ensure_ascii=False) if question else ""


def values_of(sample: Part) -> Iterator[tuple[str, object, Part]]:
    """The values of a sample's scores by name, and the score that each is of."""
    scores = sample.part("scores")
    named = [(name, scores.part(name)) for name in scores.value] if scores else []
    if scores is None:  # logs of before there were several
        named = [("score", sample.part("score"))]
    for name, score in named:
        if score is None:
            continue
        value = score.value.get("value")
        if is_object(value):
            for key, inner in value.items():
                yield f"{name}/{key}", inner, score
        elif is_array(value):
            for i, inner in enumerate(value, 1):
                yield f"{name}/{i}", inner, score
        else:
            yield name, value, score


def outcomes_of(sample: Part) -> Iterator[Outcome]:
    """An outcome for each value of a sample's scores."""
    for name, value, score in values_of(sample):
        reason = score.value.get("explanation")
        metadata = {"value": value, **score.without("value", "explanation")}
        yield _outcome(name, value, reason if isinstance(reason, str) else "", metadata, score)


def _outcome(
    name: str, value: object, reason: str, metadata: Mapping[str, object], score: Part
) -> Outcome:
    number = _counted(value)
    if number is None:
        if value is not None:
            score.notes.changed(f"{score.where}.value", f"is {shown(value)}, which is not a score")
        why = reason or "Inspect recorded no score"
        return Outcome(name, "not_applicable", None, why, metric=name, metadata=metadata)
    if is_number(value):
        score.notes.changed(
            f"{score.where}.value",
            measured_note(name),
        )
        why = reason or f"measured: {number:g}"
        return Outcome(name, "not_applicable", None, why, named={name: number}, metadata=metadata)
    state = "pass" if number == 1 else "fail"
    return Outcome(name, state, number, reason, metric=name, metadata=metadata)


def _counted(value: object) -> float | None:
    if isinstance(value, str):
        return _LETTERS.get(value, _WORDS.get(value.casefold()))
    return finite(value)
