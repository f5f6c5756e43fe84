"""Which object of Langfuse's API is which: by the keys that it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import field

from evenhand.core.case import case_id
from evenhand.core.record import MutableRecord
from evenhand.doors.importers.foreign_files import Found
from evenhand.languages.documents.foreign import Notes, Part, shown

ITEM, RUN, LINK, TRACE, SCORE, OBSERVATION = (
    "item", "run", "run item", "trace", "score", "observation",
)  # fmt: skip
_OBSERVED = frozenset({"SPAN", "EVENT", "GENERATION", "AGENT", "TOOL", "CHAIN", "RETRIEVER"}) | {
    "EMBEDDING", "EVALUATOR", "GUARDRAIL",
}  # fmt: skip


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


class Export(MutableRecord):
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
    export = Export(notes)
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
