"""Reads what Langfuse's public API gives: items of datasets, runs over them, their traces and scores.

Formats: `GET /api/public/dataset-items`, `/datasets/{name}/runs/{run}`, `/traces/{id}` and `/v2/scores`, as in
https://api.reference.langfuse.com. A run names items and traces; outputs and scores are in the traces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import field

from evenhand.core.case import Case, case_id
from evenhand.core.json_shapes import is_number
from evenhand.core.record import MutableRecord
from evenhand.doors.importers.foreign_cases import fields_of, line_of
from evenhand.doors.importers.foreign_files import Found, began_at, find
from evenhand.doors.importers.foreign_scores import ForeignScore, outcome_of, state_of
from evenhand.doors.importers.imported import ImportedRun, ImportedTrial
from evenhand.doors.importers.recorded import (
    RecordedDataset,
    Recordings,
    commonest_model,
    numbered,
    only_variant,
    recorded_dataset,
    recordings,
)
from evenhand.languages.documents.foreign import Notes, Part, shown

ITEM, RUN, LINK, TRACE, SCORE, OBSERVATION = (
    "item", "run", "run item", "trace", "score", "observation",
)  # fmt: skip
_OBSERVED = frozenset({"SPAN", "EVENT", "GENERATION", "AGENT", "TOOL", "CHAIN", "RETRIEVER"}) | {
    "EMBEDDING", "EVALUATOR", "GUARDRAIL",
}  # fmt: skip

_HINT = "Save dataset items, dataset runs and their traces from Langfuse's API, and name the files."
_ITEM = ("id", "input", "expectedOutput", "metadata", "datasetId", "datasetName", "status")
_LINK = (
    "id",
    "datasetRunId",
    "datasetRunName",
    "datasetItemId",
    "traceId",
    "createdAt",
    "updatedAt",
)
_TEXTS = ("CATEGORICAL", "TEXT", "CORRECTION")
"""Types of scores that are texts."""
_SCORE = ("id", "name", "value", "stringValue", "comment", "traceId")


def read(paths: Sequence[Path]) -> Recordings:
    """The runs and datasets of these files.

    Raises:
        UsageError: A file cannot be read, or holds nothing of Langfuse's.
    """
    notes = Notes()
    objects = find(paths, kind_of, notes, what="items, runs or traces of Langfuse's", hint=_HINT)
    export = export_of(objects, notes)
    for id_, links in export.links.items():
        if id_ not in export.runs:
            notes.left_out(
                links[0].where, f"the run of these items ({shown(id_)}) is not in the files"
            )
    runs = [
        (one.path, run) for id_, one in export.runs.items() if (run := _run(id_, one.part, export))
    ]
    linked = {link.text("traceId") for links in export.links.values() for link in links}
    for id_, trace in export.traces.items():
        if id_ not in linked:
            notes.left_out(trace.where, "traces that belong to no run over a dataset")
    return recordings("langfuse", runs, _datasets(export), notes)


def _datasets(export: Export) -> Iterator[RecordedDataset]:
    by_name: dict[str, list[Part]] = {}
    for item in export.items.values():
        name = item.text("datasetName") or item.text("datasetId")
        if item.value.get("status") == "ARCHIVED":
            item.notes.left_out(item.where, "archived items")
        else:
            by_name.setdefault(name, []).append(item)
    ids = {id(item): id_ for id_, item in export.items.items()}
    for name, items in by_name.items():
        yield recorded_dataset(name, items, lambda item: _case(item, ids[id(item)]), "item")


def _case(item: Part, id_: str) -> Case:
    metadata = item.value.get("metadata")
    known = fields_of(metadata)
    rest = item.without(*_ITEM, "createdAt", "updatedAt")
    if metadata is not None and not isinstance(metadata, dict):
        rest["metadata"] = metadata
    return Case(
        id=id_,
        input=item.value.get("input"),
        expected=item.value.get("expectedOutput"),
        description=line_of(item.value.get("input")) or id_,
        metadata={**known, **({"langfuse": rest} if rest else {})},
    )


def _run(id_: str, run: Part, export: Export) -> ImportedRun | None:
    links = export.links.get(id_, [])
    name, title = run.text("name") or id_, run.text("datasetName") or run.text("datasetId")
    with_trace = [one for one in links if one.text("traceId") in export.traces]
    if missing := len(links) - len(with_trace):
        text = f"run {shown(name)}, items whose trace is not in the files: {missing:,} (fetch /api/public/traces/ID)"
        run.notes.left_out(run.where, text)
    if not with_trace:
        if not links:
            run.notes.left_out(run.where, f"run {shown(name)} has no items in the files")
        return None
    trials = list(numbered(_trials(with_trace, export)))
    run.notes.translated(run.where, f"run {shown(name)}, items: {len(trials):,}")
    return ImportedRun(
        id=id_ or name,
        title=title,
        created_at=began_at(f"{run.where}.createdAt", run.notes, run.text("createdAt")),
        variants=[only_variant(commonest_model(trials), name)],
        trials=trials,
        settings={"name": name, "run": run.without("datasetRunItems")},
    )


def _trials(links: Sequence[Part], export: Export) -> Iterator[ImportedTrial]:
    scores = [
        [_score(one) for one in export.scores.get(link.text("traceId"), ())] for link in links
    ]
    for link, row in zip(links, scores, strict=True):
        yield _trial(link, link.text("datasetItemId"), row, export)


def _score(score: Part) -> ForeignScore:
    value = score.value.get("value")
    if score.value.get("dataType") == "BOOLEAN" and value in (0, 1):
        value = bool(value)
    elif score.value.get("dataType") in _TEXTS:  # their number, 0 for a correction, says nothing
        text = score.value.get("stringValue")
        value = text if text is not None or is_number(value) else value
    return ForeignScore(
        name=score.text("name") or "score",
        value=value,
        where=score.where,
        reason=score.text("comment"),
        metadata=score.without(*_SCORE),
    )


def _trial(link: Part, case: str, scores: Sequence[ForeignScore], export: Export) -> ImportedTrial:
    trace = export.traces[link.text("traceId")]
    item = export.items.get(case)
    observed = export.observations.get(trace.text("id"), [])
    calls = [one for one in observed if one.value.get("type") == "GENERATION"]
    if observed:
        text = "observations are read for models, tokens and errors; their inputs and outputs are not imported"
        trace.notes.left_out(f"{trace.where}.observations", text)
    failed = next((one for one in observed if _is_root_error(one)), None)
    outcomes = [outcome_of(one, trace.notes) for one in _unlike(scores, trace.notes)]
    error = ""
    if failed is not None and trace.value.get("output") is None:
        error = failed.text("statusMessage") or "Langfuse recorded an error, and no message"
    own = ("id", "input", "output", "scores", "observations", "latency", "totalCost", "timestamp")
    return ImportedTrial(
        case=case,
        outcome=state_of(outcomes, failed=bool(error)),
        output=trace.value.get("output"),
        error=error,
        outcomes=outcomes,
        input=item.value.get("input") if item else trace.value.get("input"),
        expected=item.value.get("expectedOutput") if item else None,
        # Langfuse writes 0 where no observation says its time, and sums costs that nobody knows as 0.
        latency_s=trace.amount("latency") or None,
        cost_usd=trace.amount("totalCost") or None,
        tokens_in=_tokens(calls, "input", "promptTokens"),
        tokens_out=_tokens(calls, "output", "completionTokens"),
        metadata={
            "langfuse": {
                "trace": trace.value.get("id"),
                **link.without(*_LINK),
                **trace.without(*own),
            }
        },
        description=line_of(item.value.get("input") if item else trace.value.get("input")) or case,
        model=next((model for one in calls if (model := one.text("model"))), ""),
    )


def _is_root_error(observation: Part) -> bool:
    return observation.value.get("level") == "ERROR" and not observation.value.get(
        "parentObservationId"
    )


def _unlike(scores: Sequence[ForeignScore], notes: Notes) -> list[ForeignScore]:
    """One score of each name: the last, as an evaluator that runs again writes another."""
    last = {one.name: one for one in scores}
    for one in scores:
        if last[one.name] is not one:
            notes.left_out(
                one.where, f"score {shown(one.name)} is there again: the last one counts"
            )
    return list(last.values())


def _tokens(calls: Sequence[Part], key: str, older: str) -> int | None:
    """What the generations used together; unknown where one of them doesn't say."""
    total = 0
    for one in calls:
        usage = one.part("usageDetails") or one.part("usage")
        number = usage.whole(key) if usage else None
        number = one.whole(older) if number is None else number
        if number is None:
            return None
        total += number
    return total if calls else None


def kind_of(value: Mapping[str, object]) -> str:
    """What an object is; empty for what is around objects."""
    if "datasetRunId" in value and "datasetItemId" in value:
        return LINK
    if "datasetId" in value and ("expectedOutput" in value or "sourceTraceId" in value):
        return ITEM
    if "datasetRunItems" in value or {"datasetId", "datasetName", "name"} <= value.keys():
        return RUN
    if value.get("type") in _OBSERVED and "traceId" in value:
        return OBSERVATION
    if "dataType" in value and "name" in value and "traceId" in value:
        return SCORE
    if "timestamp" in value and value.keys() & {"observations", "sessionId", "htmlPath", "scores"}:
        return TRACE
    return ""


class Export(MutableRecord, kw_only=True):
    """What was found, by id.

    Attributes:
        items: Items of datasets, by id.
        runs: Runs over datasets, by id.
        links: What ties an item to the trace of a run, by run.
        traces: By id.
        observations: By trace.
        scores: By trace.
    """

    notes: Notes
    items: dict[str, Part] = field(default_factory=dict[str, Part])
    runs: dict[str, Found] = field(default_factory=dict[str, Found])
    links: dict[str, list[Part]] = field(default_factory=dict[str, "list[Part]"])
    traces: dict[str, Part] = field(default_factory=dict[str, Part])
    observations: dict[str, list[Part]] = field(default_factory=dict[str, "list[Part]"])
    scores: dict[str, list[Part]] = field(default_factory=dict[str, "list[Part]"])


def export_of(objects: Sequence[Found], notes: Notes) -> Export:
    """The objects by their ids; what stands inside others is taken out of them."""
    export = Export(notes=notes)
    for one in objects:
        id_ = one.part.text("id")
        if one.kind == ITEM:
            content = [one.part.value.get("input"), one.part.value.get("expectedOutput")]
            id_ = id_ or case_id(content)
            _tell_again(export.items.get(id_), one.part, f"item {shown(id_)}")
            export.items[id_] = one.part
        elif one.kind == RUN:
            export.runs[id_] = one
            for link in one.part.parts("datasetRunItems"):
                _link(export, link)
        elif one.kind == LINK:
            _link(export, one.part)
        elif one.kind == TRACE:
            _tell_again(export.traces.get(id_), one.part, f"trace {shown(id_)}")
            export.traces[id_] = one.part
            _of_trace(export.observations, id_, one.part, "observations")
            _of_trace(export.scores, id_, one.part, "scores")
        else:
            into = export.scores if one.kind == SCORE else export.observations
            into.setdefault(one.part.text("traceId"), []).append(one.part)
    return export


def _tell_again(earlier: Part | None, one: Part, what: str) -> None:
    if earlier is not None and earlier.value != one.value:
        one.notes.left_out(
            earlier.where, f"{what} is there again, and differs: the last one counts"
        )


def _link(export: Export, link: Part) -> None:
    if not link.text("datasetItemId"):
        link.notes.left_out(link.where, "a row of a run that names no item")
        return
    links = export.links.setdefault(link.text("datasetRunId"), [])
    if all(one.value.get("id") != link.value.get("id") for one in links):
        links.append(link)


def _of_trace(into: dict[str, list[Part]], trace: str, part: Part, key: str) -> None:
    """The objects inside a trace; a trace of a list has their ids alone, which say nothing."""
    inside = part.value.get(key)
    if isinstance(inside, list) and any(isinstance(one, dict) for one in inside):
        into.setdefault(trace, []).extend(part.parts(key))
