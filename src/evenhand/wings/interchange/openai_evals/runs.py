"""OpenAI's runs as runs of ours: each output item is a trial, each grader's result an outcome.

Nothing is scored again: a verdict is what OpenAI recorded. A row is a case, known by what it says, so that imported
runs pair with each other and with later runs of the same rows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.core.json_shapes import as_mapping, is_object
from evenhand.core.variant import Variant
from evenhand.doors.importers.imported import Imported, ImportedRun, ImportedTrial
from evenhand.doors.importers.naming import one_line
from evenhand.doors.importers.recorded import Recordings
from evenhand.languages.documents.foreign import Part, shown
from evenhand.wings.interchange.openai_evals.definition import Definition, definition_of
from evenhand.wings.interchange.openai_evals.export import Export, read_export
from evenhand.wings.interchange.openai_evals.trials import error_of, trials_of

RECORDED = "recorded outputs"
"""What a run without a model is called: its outputs were in its data."""


def read(paths: Sequence[Path]) -> Recordings:
    """The runs in what was saved from OpenAI's API.

    Raises:
        UsageError: A file cannot be read, or holds nothing of OpenAI's.
    """
    export = read_export(paths)
    runs = [Imported(run, paths[0], "openai-evals") for run in runs_of(export)]
    return Recordings(runs, tuple(export.notes))


def runs_of(export: Export) -> list[ImportedRun]:
    """The runs of an export, oldest first. What is not carried over is among its notes."""
    notes = export.notes
    definitions = {id_: definition_of(id_, part) for id_, part in export.evals.items()}
    for definition in definitions.values():
        kinds = Counter(one.type or "no type" for one in definition.criteria)
        listed = ", ".join(f"{many} {one_line(kind)[:40]}" for kind, many in sorted(kinds.items()))
        notes.translated(
            definition.part.where, f"eval {shown(definition.name)}, graders: {listed or 'none'}"
        )
    runs: list[ImportedRun] = []
    for id_, run in export.runs.items():
        items = list(export.items.get(id_, {}).values())
        if items:
            runs.append(_run(id_, run, items, definitions.get(run.text("eval_id"))))
        else:
            notes.left_out(run.where, _why_empty(run))
    for id_, by_id in export.items.items():
        if id_ not in export.runs:
            items = list(by_id.values())
            text = "the run itself is not in the files: its name and data source are not known"
            notes.changed(items[0].where, text)
            bare = Part({}, items[0].where, notes)
            runs.append(_run(id_, bare, items, definitions.get(items[0].text("eval_id"))))
    for stem, rows in export.rows.items():
        text = f"the rows of {shown(stem)} are not results; `evenhand init --from openai-evals` takes them"
        notes.left_out(rows[0].where, text)
    return sorted(runs, key=lambda one: (one.created_at, one.id))


def asked_id(source: Part, model: str) -> str:
    """The model as it is named here, so that runs of before and after the move are of one model; empty for none."""
    apis = {"completions": "chat", "responses": "responses"}
    api = apis.get(str(source.value.get("type")))
    return f"openai:{api}:{model}" if api and model else model


def _why_empty(run: Part) -> str:
    error = error_of(run)
    status = run.text("status") or "unknown"
    return (
        f"run {shown(run.text('id'))} has no output items in the files, so nothing of it is imported"
        f" (status {shown(status)}{f'; {error}' if error else ''})"
    )


def _run(id_: str, run: Part, items: Sequence[Part], definition: Definition | None) -> ImportedRun:
    source = run.part("data_source") or Part({}, f"{run.where}.data_source", run.notes)
    trials = list(trials_of(sorted(items, key=_place), definition))
    answered = Counter(trial.model for trial in trials if trial.model)
    model = run.text("model") or source.text("model")
    model = model or (answered.most_common(1)[0][0] if answered else "")
    created = run.moment("created_at")
    if created is None:
        created = min((t for one in items if (t := one.moment("created_at"))), default=0.0)
    _compare_counts(run, trials)
    name = one_line(run.text("name"))
    run.notes.translated(run.where, f"run {shown(name or id_)}, output items: {len(trials):,}")
    model_id = asked_id(source, one_line(model))
    variant = Variant(0, "", model_id or RECORDED, _template(source), model_id)
    return ImportedRun(
        id=id_,
        title=definition.name if definition else one_line(items[0].text("eval_id")) or id_,
        created_at=created,
        variants=[variant],
        trials=trials,
        settings={
            "name": name,
            "run": _slim(run.value),
            "eval": dict(definition.part.value) if definition else {},
        },
    )


def _place(item: Part) -> tuple[int, str]:
    number = item.value.get("datasource_item_id")
    return (number if isinstance(number, int) else 1 << 62, item.where)


def _compare_counts(run: Part, trials: Sequence[ImportedTrial]) -> None:
    """Says where the run counted more output items than there are, or did not complete."""
    counts = run.part("result_counts")
    total = counts.whole("total") if counts else None
    if total is not None and total > len(trials):
        run.notes.left_out(
            run.where,
            f"the run has {total:,} output items, and the files {len(trials):,}: fetch the other pages, too",
        )
    status = run.text("status")
    if status and status != "completed":
        error = error_of(run)
        run.notes.changed(
            f"{run.where}.status",
            f"is {shown(status)}{f' ({error})' if error else ''}: what there is of the run is imported",
        )


def _template(source: Part) -> str:
    """The prompt as it was written, before it was filled in."""
    messages = source.value.get("input_messages")
    template = as_mapping(messages)
    written = template.get("template") or template.get("item_reference")
    return written if isinstance(written, str) else json.dumps(written) if written else ""


def _slim(run: Mapping[str, object]) -> dict[str, object]:
    """A run without its rows, which its trials have."""
    source = run.get("data_source")
    if not is_object(source):
        return dict(run)
    inner = source.get("source")
    if not is_object(inner) or "content" not in inner:
        return dict(run)
    slim = {k: v for k, v in inner.items() if k != "content"}
    return {**run, "data_source": {**source, "source": slim}}
