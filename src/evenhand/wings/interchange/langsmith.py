"""Reads what LangSmith's API gives: examples of datasets, experiments, their runs and feedback.

Formats: `Example`, `Run`, `Feedback` and `TracerSession` in https://github.com/langchain-ai/langsmith-sdk
(`python/langsmith/schemas.py`), as `client.list_examples`, `list_runs`, `list_feedback` and `read_project` give them. A
run that names a `reference_example_id` is a row of an experiment; the runs below it are not imported as trials.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evenhand.core.case import Case, case_id
from evenhand.core.encoding import digest, encode
from evenhand.doors.importers.foreign_cases import alone, fields_of, line_of, tell_unread
from evenhand.doors.importers.foreign_files import Found, began_at, find, moment_of
from evenhand.doors.importers.foreign_scores import ForeignScore, outcome_of, state_of
from evenhand.doors.importers.imported import ImportedRun, ImportedTrial
from evenhand.doors.importers.recorded import (
    RecordedDataset,
    Recordings,
    numbered,
    only_variant,
    recorded_dataset,
    recordings,
)
from evenhand.languages.documents.foreign import Notes, Part, shown

MOST_DOLLARS = 1e9
_HINT = "Save examples, runs, feedback and projects from LangSmith's API, and name the files."
_EXAMPLE = ("id", "dataset_id", "inputs", "outputs", "metadata", "created_at", "modified_at")
_RUN = (
    "id", "inputs", "outputs", "error", "reference_example_id", "session_id", "start_time",
    "end_time", "prompt_tokens", "completion_tokens", "total_tokens", "total_cost", "child_runs",
    "serialized", "events", "feedback_stats", "manifest_id",
)  # fmt: skip


def read(paths: Sequence[Path]) -> Recordings:
    """The experiments and datasets of these files.

    Raises:
        UsageError: A file cannot be read, or holds nothing of LangSmith's.
    """
    notes = Notes()
    objects = find(paths, _kind, notes, what="examples or runs of LangSmith's", hint=_HINT)
    by_kind: dict[str, list[Found]] = {}
    for one in objects:
        by_kind.setdefault(one.kind, []).append(one)
    projects = {one.part.text("id"): one.part for one in by_kind.get("experiment", ())}
    for one in by_kind.get("dataset", ()):
        tell_unread(one.part, "data_type", "example_count", "created_at", "modified_at")
    names = {one.part.text("id"): one.part.text("name") for one in by_kind.get("dataset", ())}
    examples = {one.part.text("id"): one.part for one in by_kind.get("example", ())}
    feedback: dict[str, list[Part]] = {}
    for one in by_kind.get("feedback", ()):
        feedback.setdefault(one.part.text("run_id"), []).append(one.part)
    rows: dict[str, list[Found]] = {}
    read_already: set[str] = set()
    for one in by_kind.get("run", ()):
        run_id = one.part.text("id")
        # Runs without an id cannot be told apart, so each of them counts.
        if run_id and run_id in read_already:
            notes.left_out(one.part.where, "runs that are there again: the first one counts")
        elif one.part.value.get("reference_example_id"):
            read_already.add(run_id)
            rows.setdefault(one.part.text("session_id"), []).append(one)
        else:
            notes.left_out(
                one.part.where, "runs that belong to no example: the steps of others, or traces"
            )
    runs = [
        (
            parts[0].path,
            _run(id_, [one.part for one in parts], projects.get(id_), examples, feedback, names),
        )
        for id_, parts in rows.items()
    ]
    for run_id, parts in feedback.items():
        if run_id not in read_already:
            text = "feedback on a run that is none of an example's in these files"
            notes.left_out(parts[0].where, text)
    for id_, project in projects.items():
        if id_ not in rows:
            name = project.text("name") or id_
            notes.left_out(project.where, f"experiment {shown(name)} has no runs in the files")
    return recordings("langsmith", runs, _datasets(by_kind.get("example", ()), names), notes)


def _kind(value: Mapping[str, object]) -> str:
    # A run has inputs and outputs as an example does, so runs are recognized first.
    if "run_type" in value and "inputs" in value:
        return "run"
    if "key" in value and "run_id" in value:
        return "feedback"
    if "reference_dataset_id" in value and "name" in value:
        return "experiment"
    if "inputs" in value and ("outputs" in value or "dataset_id" in value):
        return "example"
    return "dataset" if "name" in value and value.keys() & {"data_type", "example_count"} else ""


def _datasets(examples: Sequence[Found], names: Mapping[str, str]) -> Iterator[RecordedDataset]:
    by_name: dict[str, list[Part]] = {}
    for one in examples:
        id_ = one.part.text("dataset_id")
        by_name.setdefault(names.get(id_) or id_ or one.path.stem, []).append(one.part)
    for name, parts in by_name.items():
        yield recorded_dataset(name, parts, _case, "example")


def _case(example: Part) -> Case:
    inputs, outputs = example.value.get("inputs"), example.value.get("outputs")
    metadata = example.value.get("metadata")
    known = dict(fields_of(metadata))
    more = example.without(*_EXAMPLE)
    splits = known.get("dataset_split")
    return Case(
        id=example.text("id") or case_id([inputs, outputs]),
        vars=fields_of(inputs),
        input=alone(inputs),
        expected=alone(outputs),
        description=line_of(inputs) or example.text("id"),
        tags=tuple(str(one) for one in splits) if isinstance(splits, list) else (),
        metadata={**known, **({"langsmith": more} if more else {})},
    )


def _run(
    id_: str,
    rows: Sequence[Part],
    project: Part | None,
    examples: Mapping[str, Part],
    feedback: Mapping[str, Sequence[Part]],
    names: Mapping[str, str],
) -> ImportedRun:
    notes = rows[0].notes
    name = (project.text("name") if project else "") or rows[0].text("session_name") or id_
    name = name or "LangSmith"
    if not id_:
        notes.changed(rows[0].where, "runs that name no experiment are read as one")
    elif project is None:
        text = f"the project of experiment {shown(name)} is not in the files: its settings are not known"
        notes.changed(rows[0].where, text)
    own = project.text("start_time") if project else ""
    started = began_at(rows[0].where, notes, own, (one.text("start_time") for one in rows))
    dataset = project.text("reference_dataset_id") if project else ""
    model = _model(rows, project)
    trials = list(numbered(_trials(rows, examples, feedback)))
    notes.translated(rows[0].where, f"experiment {shown(name)}, runs: {len(trials):,}")
    return ImportedRun(
        id=id_ or digest(*(encode(dict(one.value)) for one in rows))[:24],
        title=names.get(dataset) or name,
        created_at=started,
        variants=[only_variant(model, name)],
        trials=trials,
        settings={"name": name, **({"project": project.without()} if project else {})},
    )


def _model(rows: Sequence[Part], project: Part | None) -> str:
    """The model that the metadata of the experiment or of its runs names; empty for none."""
    for part in (*([project] if project else []), *rows[:1]):
        extra = part.part("extra")
        metadata = extra.part("metadata") if extra else None
        for key in ("ls_model_name", "model", "model_name"):
            value = metadata.value.get(key) if metadata else None
            if isinstance(value, str) and value.strip():
                return " ".join(value.split())
    return ""


def _trials(
    rows: Sequence[Part], examples: Mapping[str, Part], feedback: Mapping[str, Sequence[Part]]
) -> Iterator[ImportedTrial]:
    scores = [_scores(row, feedback.get(row.text("id"), ())) for row in rows]
    for row, measured in zip(rows, scores, strict=True):
        case = row.text("reference_example_id")
        outcomes = [outcome_of(one, row.notes) for one in measured]
        error = row.said("error")
        example = examples.get(case)
        expected = example.value.get("outputs") if example else None
        if row.value.get("child_runs"):
            row.notes.left_out(f"{row.where}.child_runs", "the runs below an example's run")
        inputs = row.value.get("inputs")
        yield ImportedTrial(
            case=case,
            outcome=state_of(outcomes, failed=bool(error)),
            output=alone(row.value.get("outputs")),
            error=error,
            outcomes=outcomes,
            input=alone(inputs),
            expected=alone(expected),
            vars=fields_of(inputs),
            latency_s=_seconds(row),
            cost_usd=_dollars(row),
            tokens_in=row.whole("prompt_tokens"),
            tokens_out=row.whole("completion_tokens"),
            metadata={"langsmith": {"run": row.value.get("id"), **row.without(*_RUN)}},
            description=line_of(inputs) or case,
        )


def _seconds(row: Part) -> float | None:
    began, ended = moment_of(row.text("start_time")), moment_of(row.text("end_time"))
    return row.took(began, ended, "end_time")


def _dollars(row: Part) -> float | None:
    """A price, which LangSmith writes as a number or as a decimal's text."""
    value = row.value.get("total_cost")
    if isinstance(value, str):
        try:
            price = float(value)
        except ValueError:
            return row.amount("total_cost")
        return price if 0 <= price < MOST_DOLLARS else row.amount("total_cost")
    return row.amount("total_cost")


def _scores(row: Part, feedback: Sequence[Part]) -> list[ForeignScore]:
    """The feedback of a run: itself where it is in the files, else the means that the run carries."""
    # LangSmith lists the newest first, and a file may hold them in any order.
    newest_last = sorted(feedback, key=_written_at)
    last = {one.text("key"): _score(one) for one in newest_last}
    if len(last) < len(feedback):
        row.notes.left_out(row.where, "feedback that is there again: the last one of a key counts")
    stats = row.part("feedback_stats")
    for key in stats.value if stats else ():
        one = stats.part(key) if stats else None
        if one and key not in last:
            last[key] = _mean(key, one)
    return list(last.values())


def _written_at(feedback: Part) -> float:
    """When it was last changed; 0 where it doesn't say so, which keeps the order of the file."""
    return moment_of(feedback.text("modified_at") or feedback.text("created_at")) or 0.0


def _score(feedback: Part) -> ForeignScore:
    score, value = feedback.value.get("score"), feedback.value.get("value")
    own = ("id", "key", "score", "value", "comment", "run_id")
    return ForeignScore(
        name=feedback.text("key") or "feedback",
        value=value if score is None else score,
        where=feedback.where,
        reason=feedback.text("comment"),
        error=_failure(feedback),
        metadata={**feedback.without(*own), **({"value": value} if value is not None else {})},
    )


def _failure(feedback: Part) -> str:
    """Why an evaluator gave nothing: LangSmith marks it as an error and keeps the exception as its comment."""
    extra = feedback.value.get("extra")
    if not (feedback.value.get("error") or fields_of(extra).get("error")):
        return ""
    return feedback.said("comment") or "LangSmith recorded an error of the evaluator"


def _mean(key: str, stats: Part) -> ForeignScore:
    """The mean of a key's feedback; the label, or how often each was given, where it has no numbers."""
    value, labels = stats.value.get("avg"), fields_of(stats.value.get("values"))
    if value is None and labels:
        value = next(iter(labels)) if len(labels) == 1 else labels
    failed = value is None and stats.whole("errors")
    return ForeignScore(
        name=key,
        value=value,
        where=stats.where,
        error="LangSmith recorded an error of the evaluator" if failed else "",
        metadata=stats.without("avg"),
    )
