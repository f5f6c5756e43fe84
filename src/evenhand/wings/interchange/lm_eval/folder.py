"""Writes an eval set for each task of some logged samples of the LM Evaluation Harness."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evenhand.core.case import Case
from evenhand.core.json_shapes import as_array, as_mapping, as_text, is_array, is_object, is_whole
from evenhand.doors.importers.moved_in import MovedIn
from evenhand.doors.promptfoo.porting.literal import flat, laid, led, literal
from evenhand.languages.documents.foreign import Notes, Part, shown
from evenhand.wings.interchange.lm_eval.reading import LoggedTask, logged_tasks
from evenhand.wings.interchange.recorded_eval import Check, RecordedEval, asked_model, write_evals

METRICS = "lm_eval_metrics"
_FILTERS = frozenset({"regex", "take_first", "remove_whitespace", "lowercase", "uppercase"})
_OPTIONS = ("ignore_case", "ignore_punctuation", "ignore_numbers", "regexes_to_ignore")
_OF_METRIC = frozenset({"metric", "aggregation", "higher_is_better", *_OPTIONS})
_MOST_STOPS = 4
"""Most vendors take no more."""


def move_in(paths: Sequence[Path], folder: Path) -> MovedIn:
    """Writes an eval set for each task.

    Args:
        paths: `samples_*.jsonl`, with `results_*.json` beside them. Of several files of a task, the newest counts.
        folder: Where to write; it is made where it is not there.

    Raises:
        UsageError: A file cannot be read, there are no samples, or one of the files to write already exists.
    """
    notes = Notes()
    newest: dict[str, LoggedTask] = {}
    for one in logged_tasks(paths, notes):
        if (other := newest.get(one.task)) is not None:
            newer = max(other, one, key=lambda logged: logged.created)
            text = f"of the files of task {shown(one.task)} the newest counts: {newer.path.name}"
            notes.changed((one if newer is other else other).samples[0].where, text)
            newest[one.task] = newer
        else:
            newest[one.task] = one
    evals = {task: _eval(logged, notes) for task, logged in newest.items()}
    scorers = Path(__file__).with_name(f"{METRICS}.py.txt")
    return write_evals(evals, folder, "lm-eval", scorers=scorers, notes=tuple(notes))


def _eval(logged: LoggedTask, notes: Notes) -> RecordedEval:
    first = logged.samples[0]
    asks = all(_prompt(one) and not _is_choice(one) for one in logged.samples)
    if not asks:
        text = (
            "asks how likely each choice is, which models behind an API do not say: the cases are written with the"
            " right choice, for an application that answers in words"
        )
        notes.left_out(f"{first.where}.arguments", f"task {shown(logged.task)} {text}")
    cases: dict[str, Case] = {}
    replies: list[tuple[Sequence[str], str]] = []
    for sample in logged.samples:
        case = _case(sample, asks=asks)
        # A document is logged once for each filter, and the case is the same each time.
        if case.id not in cases:
            cases[case.id] = case
            answer = _first_text(sample.value.get("resps"))
            if asks and answer is not None:
                replies.append(([str(one["content"]) for one in _prompt(sample)], answer))
    notes.translated(first.where, f"task {shown(logged.task)}, cases: {len(cases):,}")
    checks = list(_checks(logged, notes)) if asks else [_right_choice()]
    model = asked_model(logged.model, first.where, notes) if asks else ""
    return RecordedEval(
        title=logged.task,
        about=f"{logged.task}: a task of the LM Evaluation Harness, as an eval set.",
        cases=list(cases.values()),
        checks=checks,
        asks=asks,
        model=model,
        settings=_settings(first) if asks else {},
        replies=replies,
    )


def _right_choice() -> Check:
    line = "expect(output, Equals(case.expected))"
    return Check((line,), {"evenhand.scorers": ("Equals",)})


def _checks(logged: LoggedTask, notes: Notes) -> Iterator[Check]:
    """An expectation for each metric of each filter that has an equal here."""
    names: set[tuple[str, str]] = set()
    for sample in logged.samples:
        filter_ = sample.text("filter") or "none"
        # Logs of older versions do not list the metrics of a sample.
        for metric in sample.texts("metrics") or logged.metrics(sample):
            if (filter_, metric) in names:
                continue
            names.add((filter_, metric))
            where = f"{sample.where}.{metric}"
            if metric != "exact_match":
                text = f"metric {shown(metric)} has no equal here: write it as a function, and expect what it returns"
                notes.left_out(where, text)
                continue
            if (steps := _steps(logged, filter_, where, notes)) is not None:
                notes.translated(where, f"metric {shown(metric)}, filter {shown(filter_)}")
                yield _exact_match(filter_, steps, _options(logged, notes))


def _steps(
    logged: LoggedTask, filter_: str, where: str, notes: Notes
) -> list[Mapping[str, object]] | None:
    """What a filter does; None, with a note, for one that cannot be written out."""
    listed = logged.config.parts("filter_list") if logged.config else []
    config = next((one for one in listed if one.text("name") == filter_), None)
    if config is None:
        # The harness logs "none" for a task without filters: its answers are scored as they are.
        if filter_ == "none":
            return []
        text = (
            f"the task's configuration does not say what filter {shown(filter_)} does"
            if logged.config
            else f"what filter {shown(filter_)} does is in results_*.json, which is not among the files"
        )
        notes.left_out(where, text)
        return None
    steps: list[Mapping[str, object]] = []
    for step in config.parts("filter"):
        name = step.text("function")
        if name not in _FILTERS:
            text = f"filter {shown(filter_)} has a step {shown(name)} that has no equal here"
            notes.left_out(step.where, text)
            return None
        if name != "take_first":
            steps.append(step.without())
    return steps


def _options(logged: LoggedTask, notes: Notes) -> dict[str, object]:
    listed = logged.config.parts("metric_list") if logged.config else []
    for one in listed:
        if one.text("metric") == "exact_match":
            for key in one.value.keys() - _OF_METRIC:
                notes.left_out(
                    f"{one.where}.{key}", "is not an option of exact_match that is known here"
                )
            return {key: one.value[key] for key in _OPTIONS if one.value.get(key)}
    return {}


def _exact_match(
    filter_: str, steps: Sequence[Mapping[str, object]], options: Mapping[str, object]
) -> Check:
    label = "exact_match" if filter_ == "none" else f"exact_match,{filter_}"
    lines: list[str] = []
    text = "output"
    if steps:
        laid_out = laid(led("", literal([dict(one) for one in steps])), indent=4).splitlines()
        lines = [f"text = filtered(output, {laid_out[0]}", *(one[4:] for one in laid_out[1:])]
        lines[-1] += ")"
        text = "text"
    more = "".join(f", {key}={flat(literal(value))}" for key, value in options.items())
    name = flat(literal(label))
    lines.append(f"expect(exact_match({text}, case.expected{more}), {name}, metric={name})")
    names = ("exact_match", "filtered") if steps else ("exact_match",)
    return Check(lines, {METRICS: names})


def _case(sample: Part, *, asks: bool) -> Case:
    doc = sample.value.get("doc")
    fields = doc if is_object(doc) else {"doc": doc}
    id_ = str(sample.value.get("doc_id"))
    expected = sample.value.get("target")
    if not asks:
        expected = _choice(sample, expected)
    messages = {"messages": _prompt(sample)} if asks else {}
    prompt = None if asks else _context(sample)
    return Case(id_, {**fields, **messages}, prompt, expected, description=id_)


def _requests(sample: Part) -> list[list[object]]:
    """The arguments of each request: a context, and what is continued with or how it is generated."""
    arguments = sample.value.get("arguments")
    rows = list(arguments.values()) if is_object(arguments) else arguments
    requests: list[list[object]] = []
    for row in as_array(rows):
        items = list(row.values()) if is_object(row) else row
        requests.append(items if is_array(items) else [items])
    return requests


def _context(sample: Part) -> str:
    requests = _requests(sample)
    context = requests[0][0] if requests and requests[0] else ""
    return as_text(context)


def _is_choice(sample: Part) -> bool:
    """Whether likelihoods were asked for: a request has a continuation in place of settings."""
    requests = _requests(sample)
    return not requests or any(len(one) < 2 or not isinstance(one[1], dict) for one in requests)


def _choice(sample: Part, target: object) -> object:
    """The text of the right choice, if the target is its place."""
    requests = _requests(sample)
    if isinstance(target, str) and target.isdecimal():
        target = int(target)
    # Python counts booleans as integers, but a target of true or false is no place in a list.
    if is_whole(target) and 0 <= target < len(requests):
        continuation = requests[target][1] if len(requests[target]) > 1 else None
        return continuation.strip() if isinstance(continuation, str) else target
    return target


def _prompt(sample: Part) -> list[dict[str, object]]:
    """What was asked: a text, or the messages that a chat template made of it, which are logged as JSON."""
    context = _context(sample)
    if context.startswith("[{"):
        # An ordinary prompt can begin with these characters, too, and need not be JSON.
        try:
            rows = json.loads(context)
        except ValueError:
            rows = []
        listed = [one for one in rows if is_object(one)]
        messages: list[dict[str, object]] = [
            {"role": one.get("role"), "content": one.get("content")} for one in listed
        ]
        if messages and all(isinstance(v, str) for one in messages for v in one.values()):
            return messages
    return [{"role": "user", "content": context}] if context.strip() else []


def _settings(sample: Part) -> dict[str, object]:
    requests = _requests(sample)
    second = requests[0][1] if requests and len(requests[0]) > 1 else None
    options = as_mapping(second)
    settings: dict[str, object] = {}
    for key, value in options.items():
        where = f"{sample.where}.arguments.{key}"
        if key == "until":
            stops = [one for one in value if one] if is_array(value) else [value]
            settings["stop"] = stops[:_MOST_STOPS]
            if len(stops) > _MOST_STOPS:
                sample.notes.changed(where, f"the first {_MOST_STOPS} of {len(stops)} are kept")
        elif key in ("max_gen_toks", "max_tokens"):
            settings["max_tokens"] = value
        elif key == "temperature":
            settings["temperature"] = value
        elif key != "do_sample":
            sample.notes.left_out(where, "is not a setting of a model that is set here")
    return settings


def _first_text(value: object) -> str | None:
    """The first answer, which may be empty; None where there is none."""
    while is_array(value) and value:
        value = value[0]
    return value if isinstance(value, str) else None
