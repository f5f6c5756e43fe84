"""Reads Ragas' datasets and results: JSONL, CSV or JSON with a row for each sample.

Formats: `EvaluationDataset.to_jsonl` and `EvaluationResult.to_pandas` in https://github.com/vibrantlabsai/ragas, and
the names of columns before version 0.2 (`question`, `answer`, `contexts`, `ground_truth`). A column of numbers that is
no field of a sample is a metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from evenhand.core.case import Case, case_id
from evenhand.core.encoding import digest, encode
from evenhand.core.json_shapes import as_mapping, is_array
from evenhand.core.variant import Variant
from evenhand.doors.importers.foreign_files import columns_of, dated, find
from evenhand.doors.importers.foreign_scores import ForeignScore, outcome_of
from evenhand.doors.importers.imported import ImportedRun, ImportedTrial
from evenhand.doors.importers.recorded import (
    RecordedDataset,
    Recordings,
    numbered,
    recorded_dataset,
    recordings,
)
from evenhand.languages.documents.foreign import Notes, Part, shown

_OLD = {
    "question": "user_input",
    "answer": "response",
    "contexts": "retrieved_contexts",
    "ground_truth": "reference",
    "ground_truths": "reference",
}
_SAMPLE = (
    "user_input", "retrieved_contexts", "reference_contexts", "retrieved_context_ids",
    "reference_context_ids", "response", "multi_responses", "reference", "rubrics", "rubric",
    "persona_name", "query_style", "query_length", "synthesizer_name", "reference_tool_calls",
    "reference_topics", "id", "episode_done", "evolution_type", "metadata",
)  # fmt: skip
_HINT = "Save a dataset with to_jsonl(…) or to_csv(…), and results with to_pandas().to_json(…)."


def read(paths: Sequence[Path]) -> Recordings:
    """A run of each file with metrics, a dataset of each file without.

    Raises:
        UsageError: A file cannot be read, or holds no samples.
    """
    notes = Notes()
    runs: list[tuple[Path, ImportedRun]] = []
    datasets: list[RecordedDataset] = []
    for path in paths:
        parts = find([path], _kind, notes, what="samples of Ragas'", hint=_HINT)
        rows = [Part(_named(one.part.value), one.part.where, notes) for one in parts]
        metrics = _metrics(rows)
        columns = dict.fromkeys(
            [*(key for one in parts for key in one.part.value), *columns_of(path)]
        )
        for name in _empty(columns, rows):
            notes.left_out(rows[0].where, f"{shown(name)}: no row has a value")
        for name in _mixed(rows, metrics):
            text = f"{shown(name)} has numbers and other values: it is not a metric, and kept as a variable"
            notes.changed(rows[0].where, text)
        if metrics:
            runs.append((path, _run(path, rows, metrics)))
            continue
        datasets.append(recorded_dataset(path.stem, rows, _case, "sample"))
    return recordings("ragas", runs, datasets, notes)


def _kind(value: Mapping[str, object]) -> str:
    return "sample" if value.keys() & {"user_input", "question"} else ""


def _named(value: Mapping[str, object]) -> dict[str, object]:
    """The row with the names of today."""
    row = {_OLD.get(key, key): one for key, one in value.items() if one is not None}
    reference = row.get("reference")
    if is_array(reference):
        row["reference"] = reference[0] if len(reference) == 1 else reference
    return row


def _metrics(rows: Sequence[Part]) -> list[str]:
    """The columns that hold numbers, and are no field of a sample."""
    names = dict.fromkeys(key for row in rows for key in row.value if key not in _SAMPLE)
    return [
        name
        for name in names
        if all(row.value.get(name) is None or _number(row.value[name]) is not None for row in rows)
    ]


def _mixed(rows: Sequence[Part], metrics: Sequence[str]) -> list[str]:
    """The columns that may have been metrics: numbers in most rows that have a value."""
    names = dict.fromkeys(key for row in rows for key in row.value if key not in _SAMPLE)
    mixed: list[str] = []
    for name in names:
        values = [row.value[name] for row in rows if row.value.get(name) is not None]
        if name not in metrics and 2 * sum(_number(one) is not None for one in values) >= len(
            values
        ):
            mixed.append(name)
    return mixed


def _empty(columns: Iterable[str], rows: Sequence[Part]) -> list[str]:
    """The columns that are no field of a sample, and hold nothing: mostly metrics that failed everywhere."""
    return [
        name
        for name in columns
        if name not in _SAMPLE
        and name not in _OLD
        and all(row.value.get(name) in (None, "") for row in rows)
    ]


def _number(value: object) -> float | bool | None:
    """A number or truth value, also one that a cell of a CSV file says; None for anything else."""
    if isinstance(value, (bool, int, float)):
        return value
    if value in ("True", "False"):  # as pandas writes them
        return value == "True"
    try:
        return float(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _id(row: Part) -> str:
    """What the row calls itself, or a hash of what it asks and expects."""
    id_ = row.value.get("id")
    if isinstance(id_, (str, int)) and str(id_):
        return str(id_)
    return case_id([row.value.get("user_input"), row.value.get("reference")])


def _case(row: Part) -> Case:
    contexts = row.value.get("reference_contexts")
    own = ("id", "user_input", "reference", "reference_contexts", "metadata")
    if row.value.get("response") is not None:
        row.notes.changed(
            f"{row.where}.response", "is an answer, not a case: it is kept as a variable"
        )
    metadata = row.value.get("metadata")
    return Case(
        id=_id(row),
        vars=row.without(*own) | ({"metadata": metadata} if isinstance(metadata, str) else {}),
        input=row.value.get("user_input"),
        expected=row.value.get("reference"),
        context=tuple(map(str, contexts)) if is_array(contexts) else (),
        description=_line(row),
        metadata=as_mapping(metadata),
    )


def _line(row: Part) -> str:
    question = row.value.get("user_input")
    text = " ".join(question.split()) if isinstance(question, str) else _id(row)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _run(path: Path, rows: Sequence[Part], metrics: Sequence[str]) -> ImportedRun:
    notes = rows[0].notes
    trials = list(numbered(_trials(rows, metrics)))
    notes.translated(
        rows[0].where,
        f"results {path.stem}, samples: {len(trials):,}, metrics: {', '.join(metrics)}",
    )
    return ImportedRun(
        id=digest(*(encode(dict(row.value)) for row in rows))[:24],
        title=path.stem,
        created_at=dated(path, rows[0].where, notes),
        variants=[Variant(0, "", "recorded outputs")],
        trials=trials,
    )


def _trials(rows: Sequence[Part], metrics: Sequence[str]) -> Iterator[ImportedTrial]:
    scores = [[_score(row, name) for name in metrics] for row in rows]
    for row, measured in zip(rows, scores, strict=True):
        case = _id(row)
        rest = row.without("id", "user_input", "reference", "response", *metrics)
        yield ImportedTrial(
            case=case,
            output=row.value.get("response"),
            outcomes=[outcome_of(one, row.notes) for one in measured],
            input=row.value.get("user_input"),
            expected=row.value.get("reference"),
            vars=rest,
            description=_line(row),
        )


def _score(row: Part, name: str) -> ForeignScore:
    """NaN and an empty cell are what Ragas writes where a metric failed."""
    value = _number(row.value.get(name))
    missing = value is None or value != value  # noqa: PLR0124 (NaN is not itself)
    error = "Ragas recorded no number: the metric failed on this sample" if missing else ""
    return ForeignScore(
        name=name, value=None if missing else value, where=f"{row.where}.{name}", error=error
    )
