"""Reads what Braintrust's API gives: rows of datasets, and events of experiments.

Formats: `GET /v1/experiment/{id}/fetch`, `/v1/dataset/{id}/fetch` and the objects themselves, as in
https://www.braintrust.dev/docs/api-reference. The root event of a trace is a row of the experiment; the others are its
spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evenhand.core.case import Case, case_id
from evenhand.core.json_shapes import as_mapping
from evenhand.core.score import Outcome
from evenhand.doors.importers.foreign_cases import fields_of, line_of, tell_unread
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

_HINT = "Save experiments and datasets from Braintrust's API, and name the files."
_ROW = ("id", "input", "expected", "metadata", "tags", "created", "dataset_id", "_xact_id")
_EVENT = (
    "id", "input", "output", "expected", "error", "scores", "tags", "metrics", "span_id", "is_root",
    "root_span_id", "span_parents", "experiment_id", "project_id", "_xact_id", "_pagination_key",
)  # fmt: skip


def read(paths: Sequence[Path]) -> Recordings:
    """The experiments and datasets of these files.

    Raises:
        UsageError: A file cannot be read, or holds nothing of Braintrust's.
    """
    notes = Notes()
    objects = find(paths, _kind, notes, what="rows or events of Braintrust's", hint=_HINT)
    named = {one.part.text("id"): one.part for one in objects if one.kind == "named"}
    rows: dict[str, list[Part]] = {}
    experiments = {one.part.text("experiment_id") for one in objects if one.kind == "event"}
    for id_, part in named.items():
        if id_ not in experiments:
            tell_unread(part, "project_id", "created", "user_id", "url_slug")
    events: dict[str, list[Found]] = {}
    read_already: set[tuple[str, str]] = set()
    for one in objects:
        event = one.part.text("experiment_id"), one.part.text("id")
        if one.kind == "event" and event[1]:
            if event in read_already:
                notes.left_out(one.part.where, "events that are there again: the first one counts")
                continue
            read_already.add(event)
        if one.kind == "row":
            rows.setdefault(one.part.text("dataset_id"), []).append(one.part)
        elif one.kind == "event":
            events.setdefault(one.part.text("experiment_id"), []).append(one)
    runs = [
        (parts[0].path, run)
        for id_, parts in events.items()
        if (run := _run(id_, [one.part for one in parts], named))
    ]
    return recordings("braintrust", runs, _datasets(rows, named), notes)


def _kind(value: Mapping[str, object]) -> str:
    if value.get("experiment_id") and ("span_id" in value or "scores" in value):
        return "event"
    if value.get("dataset_id") and ("input" in value or "expected" in value):
        return "row"
    return "named" if "project_id" in value and "name" in value else ""


def _datasets(
    rows: Mapping[str, Sequence[Part]], named: Mapping[str, Part]
) -> Iterator[RecordedDataset]:
    for id_, parts in rows.items():
        name = named[id_].text("name") if id_ in named else id_
        yield recorded_dataset(name, parts, _case, "row")


def _case(row: Part) -> Case:
    more = row.without(*_ROW, "expected", "project_id", "span_id", "root_span_id")
    return Case(
        id=row.text("id") or case_id([row.value.get("input"), row.value.get("expected")]),
        input=row.value.get("input"),
        expected=row.value.get("expected"),
        description=line_of(row.value.get("input")) or row.text("id"),
        tags=tuple(row.texts("tags")),
        metadata={**fields_of(row.value.get("metadata")), **({"braintrust": more} if more else {})},
    )


def _run(id_: str, events: Sequence[Part], named: Mapping[str, Part]) -> ImportedRun | None:
    notes, about = events[0].notes, named.get(id_)
    roots = [one for one in events if _is_root(one)]
    if not roots:
        notes.left_out(
            events[0].where, f"experiment {shown(id_)}: its events have no root among them"
        )
        return None
    spans: dict[str, list[Part]] = {}
    for one in events:
        if not _is_root(one):
            spans.setdefault(one.text("root_span_id"), []).append(one)
    trials = list(numbered(_trials(roots, spans)))
    name = about.text("name") if about else ""
    if about is None:
        notes.changed(
            roots[0].where, f"experiment {shown(id_)} itself is not in the files: no name"
        )
    notes.translated(roots[0].where, f"experiment {shown(name or id_)}, rows: {len(trials):,}")
    own = about.text("created") if about else ""
    dataset = named.get(about.text("dataset_id")) if about else None
    created = began_at(roots[0].where, notes, own, (one.text("created") for one in roots))
    return ImportedRun(
        id=id_,
        # Experiments on one dataset are runs of one thing.
        title=(dataset.text("name") if dataset else "") or name or id_,
        created_at=created,
        variants=[only_variant(commonest_model(trials), name or "recorded outputs")],
        trials=trials,
        settings={"name": name, **({"experiment": about.without()} if about else {})},
    )


def _is_root(event: Part) -> bool:
    if isinstance(event.value.get("is_root"), bool):
        return bool(event.value["is_root"])
    return event.value.get("span_id") == event.value.get("root_span_id")


def _trials(roots: Sequence[Part], spans: Mapping[str, Sequence[Part]]) -> Iterator[ImportedTrial]:
    below = [_Spans(spans.get(one.text("root_span_id"), ())) for one in roots]
    scores = [_scores(one, its) for one, its in zip(roots, below, strict=True)]
    for root, measured, its in zip(roots, scores, below, strict=True):
        outcomes = [outcome_of(one, root.notes) for one in measured]
        yield _trial(root, outcomes, its)


class _Spans:
    """The spans below a root: what its task asked models, and what its scorers did."""

    def __init__(self, spans: Sequence[Part]) -> None:
        self._by_id = {one.text("span_id"): one for one in spans}
        asking = [one for one in spans if _type(one) == "llm"]
        self.calls = [one for one in asking if self._scorer_of(one) is None]
        self.judges: dict[str, dict[str, None]] = {}
        """The models that scorers asked, by the name of what they score."""
        for one in asking:
            scorer = self._scorer_of(one)
            if scorer is not None and (model := _model(one)):
                for name in _scored_by(scorer):
                    self.judges.setdefault(name, {})[model] = None

    def _scorer_of(self, span: Part) -> Part | None:
        """The scorer's span that a span is or is below; None for one of the task."""
        passed: set[str] = set()
        one: Part | None = span
        outermost: Part | None = None
        while one is not None and one.text("span_id") not in passed:
            passed.add(one.text("span_id"))
            about = one.part("span_attributes")
            # Spans below a scorer's say that they are a scorer's, too. The outermost one has the name of the score.
            if about and (about.text("type") == "score" or about.text("purpose") == "scorer"):
                outermost = one
            one = next(
                (self._by_id[id_] for id_ in one.texts("span_parents") if id_ in self._by_id), None
            )
        return outermost


def _scored_by(scorer: Part) -> Iterator[str]:
    """The scores that a scorer's span holds, or its name."""
    scores, about = scorer.value.get("scores"), scorer.part("span_attributes")
    yield from as_mapping(scores) or ([about.text("name")] if about else [])


def _id(root: Part) -> str:
    """The row of the dataset that it is of, or a hash of what it asks and expects."""
    origin = root.part("origin")
    known = (origin.text("id") if origin else "") or root.text("dataset_record_id")
    return known or case_id([root.value.get("input"), root.value.get("expected")])


def _scores(root: Part, spans: _Spans) -> list[ForeignScore]:
    """A score of null is what Braintrust writes where a scorer gave none.

    Scorers that raised are in the metadata. Their scores, and those of a task that did, are missing, or 0 where an
    `error_score_handler` filled them in.
    """
    scores = root.part("scores")
    written = dict(scores.value) if scores else {}
    raised = as_mapping(as_mapping(root.value.get("metadata")).get("scorer_errors"))
    failure = root.said("error")
    measured: list[ForeignScore] = []
    for name in {**written, **raised}:
        value = written.get(name)
        error = _last_line(raised[name]) if name in raised else ""
        if failure and not error and value == 0:
            error = failure
        judges = ", ".join(sorted(spans.judges.get(name, ())))
        measured.append(
            ForeignScore(
                name=name,
                value=None if error else value,
                where=f"{root.where}.scores.{name}",
                error=error,
                metadata={"judge": judges} if judges else {},
            )
        )
    return measured


def _last_line(traceback: object) -> str:
    lines = [line.strip() for line in str(traceback).splitlines() if line.strip()]
    return lines[-1] if lines else "Braintrust recorded an error of the scorer"


def _trial(root: Part, outcomes: Sequence[Outcome], spans: _Spans) -> ImportedTrial:
    case = _id(root)
    calls = spans.calls
    metadata = root.value.get("metadata")
    known = dict(fields_of(metadata))
    error = root.said("error")
    model = next((m for one in (root, *calls) if (m := _model(one))), "")
    return ImportedTrial(
        case=case,
        outcome=state_of(outcomes, failed=bool(error)),
        output=root.value.get("output"),
        error=error,
        outcomes=outcomes,
        input=root.value.get("input"),
        expected=root.value.get("expected"),
        latency_s=_seconds(root),
        cost_usd=_metric(root, "estimated_cost"),
        tokens_in=_tokens(root, calls, "prompt_tokens"),
        tokens_out=_tokens(root, calls, "completion_tokens"),
        metadata={
            **known,
            "braintrust": {"event": root.value.get("id"), **root.without(*_EVENT, "metadata")},
        },
        description=line_of(root.value.get("input")) or case,
        model=model,
    )


def _type(event: Part) -> str:
    about = event.part("span_attributes")
    return about.text("type") if about else ""


def _model(event: Part) -> str:
    metadata = event.value.get("metadata")
    value = metadata.get("model") if isinstance(metadata, dict) else None
    return " ".join(value.split()) if isinstance(value, str) else ""


def _metric(event: Part, key: str) -> float | None:
    metrics = event.part("metrics")
    return metrics.amount(key) if metrics else None


def _seconds(root: Part) -> float | None:
    began, ended = _metric(root, "start"), _metric(root, "end")
    return root.took(began, ended, "metrics.end")


def _tokens(root: Part, calls: Sequence[Part], key: str) -> int | None:
    """What its model spans used; the root's own sum where there are none. Unknown where one of them doesn't say."""
    counts = [_metric(one, key) for one in calls or (root,)]
    known = [count for count in counts if count is not None]
    return int(sum(known)) if known and len(known) == len(counts) else None
