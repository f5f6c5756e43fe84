"""Reads what Phoenix' API gives: examples of datasets, and the runs of experiments with their annotations.

Formats: `GET /v1/datasets/{id}/examples`, `/v1/experiments/{id}/json` and `/v1/experiments/{id}`, as in
https://github.com/Arize-ai/phoenix (`server/api/routers/v1`). The JSON of an experiment does not say which it is: its
file does, or an experiment object beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from pathlib import Path

from evenhand.core.case import Case, case_id
from evenhand.core.encoding import digest, encode
from evenhand.doors.importers.foreign_cases import alone, fields_of, line_of, tell_unread
from evenhand.doors.importers.foreign_files import Found, began_at, find
from evenhand.doors.importers.foreign_scores import ForeignScore, outcome_of, state_of
from evenhand.doors.importers.imported import ImportedRun, ImportedTrial
from evenhand.doors.importers.recorded import (
    RecordedDataset,
    Recordings,
    only_variant,
    recorded_dataset,
    recordings,
)
from evenhand.languages.documents.foreign import Notes, Part, shown

_HINT = (
    "Save /v1/datasets/ID/examples and /v1/experiments/ID/json from Phoenix, and name the files."
)
_RUN = (
    "example_id", "repetition_number", "input", "reference_output", "output", "error",
    "annotations", "latency_ms", "start_time", "end_time", "prompt_token_count",
    "completion_token_count",
)  # fmt: skip
_FIELDS = ("input", "output", "metadata")
_AROUND = frozenset({"dataset_id", "version_id", "filtered_splits"})
_ANNOTATION = ("name", "label", "score", "explanation", "error")


def read(paths: Sequence[Path]) -> Recordings:
    """The experiments and datasets of these files.

    Raises:
        UsageError: A file cannot be read, or holds nothing of Phoenix'.
    """
    notes = Notes()
    what = "examples or runs of Phoenix'"
    parts = find(paths, _kind, notes, what=what, hint=_HINT, around=_AROUND)
    named = [one.part for one in parts if one.kind == "dataset"]
    for part in named:
        tell_unread(part, "example_count", "created_at", "updated_at")
    examples: dict[Path, list[Part]] = {}
    runs: dict[Path, list[Part]] = {}
    for one in parts:
        if one.kind == "example":
            examples.setdefault(one.path, []).append(one.part)
        elif one.kind == "run":
            runs.setdefault(one.path, []).append(one.part)
    experiments = [one for one in parts if one.kind == "experiment"]
    recorded = [
        (path, _run(path, rows, _about(path, experiments, len(runs)), named))
        for path, rows in runs.items()
    ]
    if not runs:
        for one in experiments:
            notes.left_out(
                one.part.where,
                "experiments whose runs are not in the files (/v1/experiments/ID/json)",
            )
    return recordings("phoenix", recorded, _datasets(examples, named), notes)


def _kind(value: Mapping[str, object]) -> str:
    if "example_id" in value and ("repetition_number" in value or "annotations" in value):
        return "run"
    if "dataset_version_id" in value and "repetitions" in value:
        return "experiment"
    if {"id", "input", "output"} <= value.keys():
        return "example"
    if "example_id" in value and any(key.startswith("input_") for key in value):
        return "example"
    return "dataset" if "name" in value and "example_count" in value else ""


def _about(path: Path, experiments: Sequence[Found], files: int) -> Part | None:
    """The experiment that a file of runs is of: one whose id the name has, or the only one."""
    for one in experiments:
        if one.path == path or one.part.text("id") in path.stem:
            return one.part
    return experiments[0].part if len(experiments) == 1 and files == 1 else None


def _datasets(
    examples: Mapping[Path, Sequence[Part]], named: Sequence[Part]
) -> Iterator[RecordedDataset]:
    for path, parts in examples.items():
        name = named[0].text("name") if len(named) == 1 and len(examples) == 1 else path.stem
        yield recorded_dataset(name, parts, _case, "example")


def _case(example: Part) -> Case:
    """An example, also one of a CSV file, with columns such as `input_question` and `output_answer`."""
    inputs, outputs, metadata = (_fields(example, key) for key in _FIELDS)
    id_ = example.text("id") or example.text("example_id") or case_id([inputs, outputs])
    more = {
        key: one
        for key, one in example.without("id", "example_id", "updated_at", *_FIELDS).items()
        if not key.startswith(tuple(f"{name}_" for name in _FIELDS))
    }
    return Case(
        id=id_,
        vars=fields_of(inputs),
        input=alone(inputs),
        expected=alone(outputs),
        description=line_of(inputs) or id_,
        metadata={**fields_of(metadata), **({"phoenix": more} if more else {})},
    )


def _fields(example: Part, key: str) -> object:
    if key in example.value:
        return example.value[key]
    start = f"{key}_"
    return {k.removeprefix(start): v for k, v in example.value.items() if k.startswith(start)}


def _run(
    path: Path, rows: Sequence[Part], about: Part | None, datasets: Sequence[Part]
) -> ImportedRun:
    notes = rows[0].notes
    id_ = about.text("id") if about else digest(*(encode(dict(one.value)) for one in rows))[:24]
    metadata = about.part("metadata") if about else None
    name = (about.text("name") or about.text("project_name") if about else "") or path.stem
    trials = list(_trials(rows))
    notes.translated(rows[0].where, f"experiment {shown(name)}, runs: {len(trials):,}")
    own = about.text("created_at") if about else ""
    created = began_at(rows[0].where, notes, own, (one.text("start_time") for one in rows))
    dataset = about.text("dataset_id") if about else ""
    titles = (one.text("name") for one in datasets if dataset and one.text("id") == dataset)
    model = metadata.value.get("model") if metadata else None
    model = " ".join(model.split()) if isinstance(model, str) else ""
    return ImportedRun(
        id=id_,
        # Experiments on one dataset are runs of one thing.
        title=next(titles, "") or name,
        created_at=created,
        variants=[only_variant(model, name)],
        trials=trials,
        settings={"experiment": about.without()} if about else {},
    )


def _trials(rows: Sequence[Part]) -> Iterator[ImportedTrial]:
    annotations = [row.parts("annotations") for row in rows]
    verdicts = _verdicts(chain.from_iterable(annotations))
    scores = [[_score(one, verdicts) for one in each] for each in annotations]
    places: set[tuple[str, int]] = set()
    for row, measured in zip(rows, scores, strict=True):
        case = row.text("example_id") or case_id(
            [row.value.get("input"), row.value.get("reference_output")]
        )
        repeat = max(0, (row.whole("repetition_number") or 1) - 1)
        if (case, repeat) in places:
            text = f"example {shown(case)}, repetition {repeat + 1}, appears twice: the first one counts"
            row.notes.left_out(row.where, text)
            continue
        places.add((case, repeat))
        inputs = row.value.get("input")
        error = row.said("error")
        outcomes = [outcome_of(one, row.notes) for one in measured]
        milliseconds = row.amount("latency_ms")
        yield ImportedTrial(
            case=case,
            repeat=repeat,
            outcome=state_of(outcomes, failed=bool(error)),
            output=alone(row.value.get("output")),
            error=error,
            outcomes=outcomes,
            input=alone(inputs),
            expected=alone(row.value.get("reference_output")),
            vars=fields_of(inputs),
            latency_s=milliseconds / 1000 if milliseconds is not None else None,
            tokens_in=row.whole("prompt_token_count"),
            tokens_out=row.whole("completion_token_count"),
            metadata={"phoenix": row.without(*_RUN)},
            description=line_of(inputs) or case,
        )


_TRUTHS = {"True": True, "False": False, "true": True, "false": False}


def _truth(annotation: Part) -> bool | None:
    label = annotation.value.get("label")
    return _TRUTHS.get(label) if isinstance(label, str) else None


def _verdicts(annotations: Iterable[Part]) -> frozenset[str]:
    """The annotations that are truth values: Phoenix writes one as a label, and the same as a score of 1 or 0.

    Where a score says something else than the label, the label is a word for it, such as `hallucinated: true` at 0.
    """
    alike: dict[str, bool] = {}
    for one in annotations:
        truth, score, name = _truth(one), one.value.get("score"), one.text("name")
        if truth is not None:
            alike[name] = alike.get(name, True) and (score is None or score == truth)
    return frozenset(name for name, is_truth in alike.items() if is_truth)


def _score(annotation: Part, verdicts: AbstractSet[str]) -> ForeignScore:
    score, label = annotation.value.get("score"), annotation.value.get("label")
    more = annotation.without(*_ANNOTATION)
    value = _truth(annotation) if annotation.text("name") in verdicts else None
    if value is None:
        value = label if score is None else score
    return ForeignScore(
        name=annotation.text("name") or "annotation",
        value=value,
        where=annotation.where,
        reason=annotation.text("explanation"),
        error=annotation.said("error"),
        metadata={**more, **({"label": label} if label is not None else {})},
    )
