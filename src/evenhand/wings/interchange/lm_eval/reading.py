"""Reads what the LM evaluation harness logs: `samples_TASK_TIME.jsonl`, and `results_TIME.json` beside it.

Format: `EvaluationTracker` in https://github.com/EleutherAI/lm-evaluation-harness (`lm_eval/loggers`). A document is a
case and is logged once for each filter; a metric is called `exact_match,strict-match`, as in the results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from evenhand.core.encoding import digest
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_text, is_array, is_number, is_object
from evenhand.core.record import Record
from evenhand.doors.importers.foreign_files import Found, dated, find, moment_of
from evenhand.doors.importers.foreign_scores import ForeignScore, outcome_of, state_of
from evenhand.doors.importers.imported import ImportedRun, ImportedTrial
from evenhand.doors.importers.recorded import Recordings, only_variant, recordings
from evenhand.languages.documents.foreign import Notes, Part, shown

_TIME = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_SAMPLES = re.compile(rf"samples_(?P<task>.+?)_(?P<time>{_TIME})")
_RESULTS = re.compile(rf"(?:.*_)?(?P<time>{_TIME})")
_LOGGED = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
    | {"doc_hash", "prompt_hash", "target_hash"}
)
_VERDICTS = frozenset({"acc", "acc_norm", "acc_mutual_info", "exact_match"})
"""The harness's metrics that are 1 for a right answer and 0 for a wrong one, by their definition."""
_HINT = "Run the harness with --log_samples --output_path DIR, and name the files in DIR."


class LoggedTask(Record, frozen=True, kw_only=True):
    """The samples of a file, and what the results beside it say of their task.

    Attributes:
        path: The file of samples.
        samples: At least one.
        model: The model's name; empty where nothing says it.
        config: The task's own configuration; None where the results are not there.
        created: When it ran, in seconds since 1970; 0 where nothing says so.
    """

    task: str
    path: Path
    samples: Sequence[Part]
    model: str
    config: Part | None
    created: float

    def metrics(self, sample: Part) -> list[str]:
        """The metrics of a sample, in logs of older versions, too."""
        return _metric_names(sample)


def logged_tasks(paths: Sequence[Path], notes: Notes) -> list[LoggedTask]:
    """The tasks whose samples are in these files.

    Raises:
        UsageError: A file cannot be read, or there are no samples among them.
    """
    by_file, results = _files(paths, notes)
    tasks: list[LoggedTask] = []
    for path, samples in by_file.items():
        about = _about(path, results)
        part = about.part if about else None
        configs = part.part("configs") if part else None
        named = _SAMPLES.fullmatch(path.stem)
        created = (part.moment("date") if part else None) or (
            _moment(named["time"]) if named else 0
        )
        task = _task(path)
        config = configs.part(task) if configs else None
        tasks.append(
            LoggedTask(
                task=task,
                path=path,
                samples=samples,
                model=_model(part),
                config=config,
                created=created or 0.0,
            )
        )
    return tasks


def read(paths: Sequence[Path]) -> Recordings:
    """A run of each file of samples.

    Raises:
        UsageError: A file cannot be read, or there are no samples among them.
    """
    notes = Notes()
    by_file, results = _files(paths, notes)
    used: dict[Path, set[str]] = {}
    runs: list[tuple[Path, ImportedRun]] = []
    for path, samples in by_file.items():
        about = _about(path, results)
        if about:
            used.setdefault(about.path, set()).add(_task(path))
        runs.append((path, _run(path, samples, about.part if about else None)))
    for one in results:
        if one.path not in used:
            notes.left_out(
                one.part.where, "no file of samples is of the same time: means are not trials"
            )
            continue
        for task in _tasks(one.part):
            if task in used[one.path]:
                continue
            text = f"no file of samples is named after the task {shown(task)}: means are not trials"
            notes.left_out(f"{one.part.where}.results.{task}", text)
    return recordings("lm-eval", runs, [], notes)


def _files(paths: Sequence[Path], notes: Notes) -> tuple[Mapping[Path, list[Part]], list[Found]]:
    """The samples by file, and the results."""
    parts = find(paths, _kind, notes, what="samples and no results of the harness", hint=_HINT)
    by_file: dict[Path, list[Part]] = {}
    for one in parts:
        if one.kind == "sample":
            by_file.setdefault(one.path, []).append(one.part)
    if not by_file:
        raise UsageError(f"{paths[0]} holds no samples: results alone are means", hint=_HINT)
    return by_file, [one for one in parts if one.kind == "results"]


def _kind(value: Mapping[str, object]) -> str:
    if "doc_id" in value and "resps" in value:
        return "sample"
    return "results" if "results" in value and "configs" in value else ""


def _about(path: Path, results: Sequence[Found]) -> Found | None:
    """The results of a file of samples: those of the same time, in the same folder where there are several."""
    named = _SAMPLES.fullmatch(path.stem)
    if named is None:
        # A renamed file has no time to match by, but a single file of results leaves no doubt.
        return results[0] if len(results) == 1 else None
    same = [
        one
        for one in results
        if (match := _RESULTS.fullmatch(one.path.stem)) and match["time"] == named["time"]
    ]
    near = [one for one in same if one.path.parent == path.parent]
    return next(iter(near or same), None)


def _task(path: Path) -> str:
    """The task that a file of samples is named after."""
    named = _SAMPLES.fullmatch(path.stem)
    return named["task"] if named else path.stem.removeprefix("samples_")


def _tasks(results: Part) -> list[str]:
    """The tasks that there are means of; groups of tasks have no samples of their own."""
    means, groups, below = map(results.part, ("results", "groups", "group_subtasks"))
    return [
        task
        for task in (means.value if means else ())
        if not (groups and task in groups.value) and not (below and below.value.get(task))
    ]


def _run(path: Path, samples: Sequence[Part], about: Part | None) -> ImportedRun:
    notes = samples[0].notes
    named = _SAMPLES.fullmatch(path.stem)
    task = _task(path)
    if about is None:
        text = "the results beside it are not among the files: model and settings are not known"
        notes.changed(samples[0].where, text)
    model = _model(about)
    created = about.moment("date") if about else None
    if created is None and named:
        created = _moment(named["time"])
    trials = list(_trials(samples))
    notes.translated(
        samples[0].where,
        f"task {shown(task)}, documents: {len(trials):,}, model: {model or 'unknown'}",
    )
    return ImportedRun(
        id=digest(task, model, str(created or path.stem))[:24],
        title=task,
        created_at=dated(path, samples[0].where, notes) if created is None else created,
        variants=[only_variant(model, "unknown")],
        trials=trials,
        took_s=_seconds(about),
        settings=_settings(about, task),
    )


def _moment(text: str) -> float | None:
    day, _, clock = text.partition("T")
    return moment_of(f"{day}T{clock.replace('-', ':')}")


def _model(about: Part | None) -> str:
    if about is None:
        return ""
    config = about.part("config")
    name = about.text("model_name") or (config.text("model") if config else "")
    return " ".join(name.split())


def _seconds(about: Part | None) -> float | None:
    written = about.value.get("total_evaluation_time_seconds") if about else None
    try:
        seconds = float(cast("str | float", written))
    except (TypeError, ValueError):
        return None
    return seconds if 0 <= seconds < 1e10 else None


def _settings(about: Part | None, task: str) -> dict[str, object]:
    """What the results say of this task, and of the run as a whole."""
    if about is None:
        return {}
    by_task = ("results", "configs", "versions", "n-shot", "n-samples", "higher_is_better")
    own: dict[str, object] = {}
    for key in by_task:
        part = about.part(key)
        if part and task in part.value:
            own[key] = part.value[task]
    return {"task": own, "lm_eval": about.without(*by_task, "groups", "group_subtasks")}


def _trials(samples: Sequence[Part]) -> Iterator[ImportedTrial]:
    """A trial for each document, with the metrics of all its filters."""
    documents: dict[str, list[Part]] = {}
    for one in samples:
        documents.setdefault(str(one.value.get("doc_id")), []).append(one)
    scores = {
        case: [score for part in parts for score in _scores(part)]
        for case, parts in documents.items()
    }
    for case, parts in documents.items():
        first = parts[0]
        names: set[str] = set()
        once: list[ForeignScore] = []
        for one in scores[case]:
            if one.name in names:
                text = f"document {shown(case)} is logged twice with a filter: the first one counts"
                first.notes.left_out(one.where, text)
            else:
                names.add(one.name)
                once.append(one)
        doc = first.value.get("doc")
        outcomes = [outcome_of(one, first.notes) for one in once]
        yield ImportedTrial(
            case=case,
            outcome=state_of(outcomes),
            output=_output(first),
            outcomes=outcomes,
            expected=first.value.get("target"),
            prompt=_prompt(first),
            vars=doc if is_object(doc) else {"doc": doc},
            metadata={
                "resps": first.value.get("resps"),
                "filtered_resps": {_filter(one): one.value.get("filtered_resps") for one in parts},
                **first.without(*_LOGGED, *_metric_names(first)),
                **{
                    key: first.value[key]
                    for key in ("doc_hash", "prompt_hash")
                    if key in first.value
                },
            },
            description=case,
        )


def _filter(sample: Part) -> str:
    name = sample.value.get("filter")
    return name if isinstance(name, str) and name else "none"


def _metric_names(sample: Part) -> list[str]:
    """The keys of a sample's metrics: named since 0.4.3, and all that is not of the log before."""
    named = sample.value.get("metrics")
    if is_array(named):
        return [str(name) for name in named]
    return [
        key
        for key, one in sample.value.items()
        if key not in _LOGGED and isinstance(one, (int, float))
    ]


def _scores(sample: Part) -> Iterator[ForeignScore]:
    for name in _metric_names(sample):
        called = name if _filter(sample) == "none" else f"{name},{_filter(sample)}"
        value = sample.value.get(name)
        where = f"{sample.where}.{name}"
        if isinstance(value, list):  # what a corpus metric is computed of
            text = f"{shown(called)} is computed over all documents: its parts are not scores"
            sample.notes.left_out(where, text)
        else:
            verdict = name in _VERDICTS
            right = value == 1 if verdict and is_number(value) else None
            broken = verdict and (value is None or value == "NaN")
            error = f"the harness recorded no {name} of this document" if broken else ""
            yield ForeignScore(name=called, value=value, where=where, passed=right, error=error)


def _output(sample: Part) -> object:
    """The answer as filtered; of a choice by likelihood, all that was logged."""
    value = sample.value.get("filtered_resps")
    while is_array(value) and len(value) == 1:
        value = value[0]
    return value


def _prompt(sample: Part) -> str:
    """The first request's context; older logs have lists in place of `gen_args_0`."""
    request: object = sample.value.get("arguments")
    for key in ("gen_args_0", "arg_0"):
        if is_object(request):
            request = request.get(key)
        elif is_array(request) and request:
            request = request[0]
    return as_text(request)
