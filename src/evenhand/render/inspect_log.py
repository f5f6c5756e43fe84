"""Writes a run as a log that Inspect reads: an `.eval` file, deflated, version 2.

Source of the format: `EvalLog` and its recorder in inspect-ai, https://inspect.aisi.org.uk/eval-logs.html. Inspect
versions it, and reads what older versions wrote: deflated archives are among them.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, BinaryIO, cast
from urllib.parse import quote

from evenhand.analysis.summaries.column_names import column_names
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_array, as_mapping, is_object
from evenhand.core.run import RunMeta, TrialResult
from evenhand.core.score import Outcome, State
from evenhand.core.step import Step
from evenhand.core.variant import Variant
from evenhand.core.version import __version__
from evenhand.render.trial_steps import steps_of
from evenhand.store.runfile import RunFile

VERSION = 2
_STATUS = {"finished": "success", "decided": "success", "running": "started"}
_WORTH = {"C": 1.0, "I": 0.0}


def write_log(run: RunFile, out: BinaryIO) -> int:
    """Writes the run's trials as samples, and what they come to; how many.

    Args:
        run: The run, or a view of it.
        out: A file that can be sought in.

    Raises:
        UsageError: Its trials are of several columns: a log of Inspect's is of one model.
    """
    meta = run.meta
    variant = _variant(run)
    started, ended = iso(meta.created_at), iso(meta.finished_at or meta.created_at)
    about = _about(meta, variant, started)
    plan = {"name": "plan", "steps": [], "config": {}}
    scored: dict[str, list[float]] = {}
    summaries: list[dict[str, Any]] = []
    usage: dict[str, Counter[str]] = {}
    names: set[str] = set()
    samples = 0
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", _json({"version": 2, "eval": about, "plan": plan}))
        for trial in run.trials():
            sample = sample_of(trial, variant, meta.created_at, steps_of(run, trial))
            archive.writestr(_member(trial.case, trial.repeat + 1, names), _json(sample))
            summaries.append(_summary(sample))
            samples += 1
            for name, score in sample["scores"].items():
                scored.setdefault(name, []).append(_number(score["value"]))
            for model, used in sample["model_usage"].items():
                usage.setdefault(model, Counter()).update(used)
        errors = sum(1 for one in summaries if one["error"])
        header: dict[str, Any] = {
            "version": VERSION,
            "status": _STATUS.get(meta.status, "cancelled"),
            "eval": about,
            "plan": plan,
            "results": {
                "total_samples": samples,
                "completed_samples": samples - errors,
                "scores": [_result(name, values) for name, values in scored.items()],
            },
            "stats": {
                "started_at": started,
                "completed_at": ended,
                "model_usage": {model: dict(used) for model, used in usage.items()},
            },
        }
        # Last, when everything has been summed up: members of an archive are found by name.
        archive.writestr("summaries.json", _json(summaries))
        archive.writestr("header.json", _json(header))
    return samples


def _variant(run: RunFile) -> Variant:
    """The one column that the trials are of."""
    used = sorted({trial.variant for trial in run.outcomes()})
    if len(used) > 1:
        name = column_names(run.meta.variants)[used[0]]
        raise UsageError(
            f"a log of Inspect's is of one model, and the run has {len(used)} columns",
            hint=f"Choose one: add --where 'variant:\"{name}\"'",
        )
    return run.meta.variants[used[0] if used else 0]


def _about(meta: RunMeta, variant: Variant, started: str) -> dict[str, Any]:
    return {
        "eval_id": meta.id,
        "run_id": meta.id,
        "created": started,
        "task": meta.title,
        "task_id": meta.fingerprint,
        "task_version": 0,
        "task_args": {**variant.axes, **({"prompt": variant.prompt} if variant.prompt else {})},
        "dataset": {"name": meta.title, "samples": meta.case_count, "shuffled": False},
        "model": variant.provider_id or variant.model or "none",
        "config": {"epochs": meta.repeats},
        "packages": {"evenhand": __version__},
        "metadata": {"run": meta.id, "column": str(variant), "source": meta.source},
    }


def _member(case: str, epoch: int, taken: set[str]) -> str:
    """The name of a sample's member: Inspect finds a sample by it, unless its id would be a path."""
    id_ = quote(case, safe=" .,:;@()[]{}=+-_") if "/" in case or "\\" in case else case
    name, number = f"samples/{id_}_epoch_{epoch}.json", 2
    while name in taken:
        name, number = f"samples/{id_}_{number}_epoch_{epoch}.json", number + 1
    taken.add(name)
    return name


def _summary(sample: dict[str, Any]) -> dict[str, Any]:
    error = sample["error"]
    return {
        **{key: sample[key] for key in ("id", "epoch", "input", "target", "scores", "model_usage")},
        "error": error["message"] if error else None,
        "completed": True,
    }


def _result(name: str, values: Sequence[float]) -> dict[str, Any]:
    """The mean over the trials that have a score: Inspect's accuracy."""
    known = [value for value in values if value == value]  # noqa: PLR0124 (NaN is not itself)
    mean = sum(known) / len(known) if known else float("nan")
    return {
        "name": name,
        "scorer": name,
        "scored_samples": len(known),
        "unscored_samples": len(values) - len(known),
        "metrics": {"accuracy": {"name": "accuracy", "value": mean}},
    }


def _number(value: str | float) -> float:
    return _WORTH[value] if isinstance(value, str) else value


def _json(value: object) -> str:
    # Lone surrogates cannot be written as UTF-8, and would end the export.
    return json.dumps(value, ensure_ascii=False, allow_nan=True).encode("utf-8", "replace").decode()


_LETTERS: Mapping[State, str] = {"pass": "C", "fail": "I"}
VERDICT = "passed"
"""The score that says what a trial came to, where its outcomes alone do not."""


def sample_of(
    trial: TrialResult, variant: Variant, began: float, steps: Sequence[Step]
) -> dict[str, Any]:
    """The sample, as JSON of version 2 of the log format.

    Args:
        began: When the run began, in seconds since 1970: trials do not say when they were asked.
        steps: What it did on its way.
    """
    model = variant.provider_id or variant.model
    request = _asked(trial)
    answer = _answer(trial, model)
    error = trial.error
    scores = scores_of(trial)
    at = {"timestamp": iso(began), "working_start": 0.0}
    output: dict[str, Any] = {"model": trial.answer.model or model, "choices": [], "completion": ""}
    if trial.output is not None:
        choice = {"message": answer, "stop_reason": trial.answer.finish_reason or "stop"}
        output |= {"choices": [choice], "completion": text_of(trial.output)}
        if usage := _usage(trial):
            output["usage"] = usage
    return {
        "id": trial.case,
        "epoch": trial.repeat + 1,  # counted from 1
        "input": text_of(trial.input) if trial.input is not None else _question(trial, request),
        "target": _target(trial.expected),
        "messages": [*request, *([answer] if trial.output is not None else [])],
        "output": output,
        "scores": scores,
        "metadata": _metadata(trial),
        "store": {},
        "events": [
            *events_of(steps, began, output if output["choices"] else None, request),
            *(
                {**at, "event": "score", "score": one, "scorer": name}
                for name, one in scores.items()
            ),
            *([{**at, "event": "error", "error": _error(error.message)}] if error else []),
        ],
        "model_usage": _usages(trial, model),
        "error": None if error is None else _error(error.message),
        "total_time": trial.latency_s,
        "working_time": trial.latency_s,
        "attachments": {},
    }


def scores_of(trial: TrialResult) -> dict[str, Any]:
    """A score for each outcome by its name: C or I for a verdict, the number for a measurement, NaN for neither.

    NaN is what Inspect leaves out of its metrics: an error of ours is no score there either.
    """
    scores: dict[str, Any] = {}
    verdict = _LETTERS.get(trial.outcome)
    if verdict and trial.outcome != _summed_up(trial.outcomes):
        scores[VERDICT] = {"value": verdict, "explanation": trial.reason}
    for one in trial.outcomes:
        name, number = one.name, 2
        while name in scores:
            name, number = f"{one.name} {number}", number + 1
        scores[name] = _score(one)
    return scores


def _summed_up(outcomes: Sequence[Outcome]) -> State | None:
    states = {one.outcome for one in outcomes}
    if "error" in states:
        return "error"
    return "fail" if "fail" in states else "pass" if "pass" in states else None


def _score(one: Outcome) -> dict[str, Any]:
    value: object = _LETTERS.get(one.outcome)
    if value is None and one.outcome == "not_applicable" and len(one.named) == 1:
        value = next(iter(one.named.values()))
    more = {
        "score": one.score,
        "at_least": one.at_least,
        "at_most": one.at_most,
        "error": one.error or None,
        "metric": one.metric or None,
    }
    return {
        "value": math.nan if value is None else value,
        "explanation": one.reason or None,
        "metadata": {k: v for k, v in more.items() if v is not None} | dict(one.metadata),
    }


def _asked(trial: TrialResult) -> list[dict[str, Any]]:
    """The messages of the prompt as sent: those of a chat, or one of the user's."""
    try:
        messages: object = (
            json.loads(trial.prompt) if trial.prompt.lstrip().startswith("[") else None
        )
    except ValueError:
        messages = None
    rows = as_array(messages)
    chat = [message_of(row) for row in rows if is_object(row)]
    # A chat with anything but plain messages in it, such as a call of a tool, is kept as one text.
    if rows and len(chat) == len(rows) and all(chat):
        return [one for one in chat if one]
    text = trial.prompt or (text_of(trial.input) if trial.input is not None else "")
    return [{"role": "user", "content": text}] if text else []


def _answer(trial: TrialResult, model: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": text_of(trial.output),
        "source": "generate",
        "model": trial.answer.model or model,
    }


def _question(trial: TrialResult, request: Sequence[Mapping[str, Any]]) -> str:
    if request:
        return str(request[-1]["content"])
    return json.dumps(dict(trial.vars), ensure_ascii=False) if trial.vars else trial.description


def _target(expected: object) -> str | list[str]:
    if isinstance(expected, list) and all(isinstance(one, str) for one in expected):
        return cast("list[str]", expected)
    return "" if expected is None else text_of(expected)


def _metadata(trial: TrialResult) -> dict[str, Any]:
    ours = {
        "vars": dict(trial.vars) or None,
        "outcome": trial.outcome,
        "score": trial.score,
        "reason": trial.reason or None,
        "cost_usd": trial.cost_usd,
        "output": None if trial.output is None or isinstance(trial.output, str) else trial.output,
    }
    return {**trial.metadata, "evenhand": {k: v for k, v in ours.items() if v is not None}}


def _usage(trial: TrialResult) -> dict[str, Any] | None:
    """What the subject used, the judges left out; None where nothing is known."""
    if trial.tokens_in is None and trial.tokens_out is None:
        return None
    judged = trial.judged
    # Where the sum is not known, what the judges used would make it negative.
    tokens_in = max(0, (trial.tokens_in or 0) - (judged.tokens_in if judged else 0))
    tokens_out = max(0, (trial.tokens_out or 0) - (judged.tokens_out if judged else 0))
    return _counted(tokens_in, tokens_out)


def _usages(trial: TrialResult, model: str) -> dict[str, Any]:
    usages: dict[str, Any] = {}
    if usage := _usage(trial):
        usages[model or "unknown"] = usage
    judged = trial.judged
    if judged and (judged.tokens_in or judged.tokens_out):
        usages["judges"] = _counted(judged.tokens_in, judged.tokens_out)
    return usages


def _counted(tokens_in: int, tokens_out: int) -> dict[str, Any]:
    return {
        "input_tokens": tokens_in,
        "output_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
    }


def _error(message: str) -> dict[str, str]:
    return {"message": message, "traceback": "", "traceback_ansi": ""}


_SPOKEN = ("system", "user", "assistant")


def events_of(
    steps: Sequence[Step], began: float, answer: Mapping[str, Any] | None, request: Sequence[Any]
) -> list[dict[str, Any]]:
    """The events of some steps, in their order; of an answer alone where there are none.

    Args:
        steps: What the trial did.
        began: When the run began, in seconds since 1970: a trial does not say when it did.
        answer: Its output, as `ModelOutput` has it; None where nothing answered.
    """
    if not any(one.kind == "model" for one in steps) and answer is not None:
        return [
            *_of_steps(steps, began),
            _model(dict(answer), request, str(answer["model"]), began, {}),
        ]
    return list(_of_steps(steps, began))


def _of_steps(steps: Sequence[Step], began: float) -> Iterator[dict[str, Any]]:
    for place, step in enumerate(steps):
        around = {"span_id": f"span-{step.parent}"} if step.parent is not None else {}
        start = began + (step.started_s or 0.0)
        done = {"completed": iso(start + step.duration_s)} if step.duration_s is not None else {}
        has_parts = any(one.parent == place for one in steps)
        if step.kind == "agent" or has_parts:
            span = {
                "event": "span_begin",
                "id": f"span-{place}",
                "name": step.name,
                "type": step.kind,
            }
            parent = {"parent_id": around["span_id"]} if around else {}
            yield {**_at(start), **span, **parent, "span_id": f"span-{place}"}
        if step.kind == "tool":
            yield {
                **_at(start),
                **around,
                **done,
                "event": "tool",
                "id": step.call or f"call-{place}",
                "function": step.name,
                "arguments": step.arguments if isinstance(step.arguments, dict) else {},
                "result": "" if step.result is None else text_of(step.result),
                "error": {"type": "unknown", "message": step.error}
                if step.status == "error"
                else None,
            }
        elif step.kind == "model":
            yield _model(
                _message_of(step),
                _messages(step.arguments),
                step.name,
                start,
                {**around, **done},
                step.error,
            )
        elif step.kind == "message":
            yield {
                **_at(start),
                **around,
                "event": "info",
                "source": step.name,
                "data": step.result,
            }


def _model(
    output: dict[str, Any],
    request: Sequence[Any],
    model: str,
    start: float,
    more: Mapping[str, Any],
    error: str = "",
) -> dict[str, Any]:
    return {
        **_at(start),
        **more,
        "event": "model",
        "model": model,
        "input": list(request),
        "tools": [],
        "tool_choice": "none",
        "config": {},
        "output": output,
        "error": error or None,
    }


def _message_of(step: Step) -> dict[str, Any]:
    text = "" if step.result is None else text_of(step.result)
    message = {"role": "assistant", "content": text, "source": "generate", "model": step.name}
    usage = {
        "input_tokens": step.tokens_in or 0,
        "output_tokens": step.tokens_out or 0,
        "total_tokens": (step.tokens_in or 0) + (step.tokens_out or 0),
    }
    known = step.tokens_in is not None or step.tokens_out is not None
    return {
        "model": step.name,
        "choices": [{"message": message, "stop_reason": "stop"}],
        "completion": text,
        **({"usage": usage} if known else {}),
    }


def _messages(arguments: object) -> list[dict[str, Any]]:
    """What a model was asked, as messages that Inspect reads: those of tools as what a user says."""
    fields = as_mapping(arguments)
    rows = fields.get("messages")
    messages: list[dict[str, Any]] = []
    for one in as_array(rows):
        row = one if is_object(one) else {"content": one}
        message = message_of(row)
        messages.append(message or {"role": "user", "content": json.dumps(row, ensure_ascii=False)})
    return messages or ([{"role": "user", "content": text_of(arguments)}] if arguments else [])


def message_of(row: Mapping[str, object]) -> dict[str, Any] | None:
    """A message of a chat; None for one that is not text of somebody that speaks."""
    role, content = row.get("role"), row.get("content")
    # OpenAI's newer name for the same role, which Inspect does not have.
    if role == "developer":
        role = "system"
    if role not in _SPOKEN or not isinstance(content, str):
        return None
    return {"role": role, "content": content}


def text_of(value: object) -> str:
    """A text as it is, and JSON of anything else."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def iso(seconds: float) -> str:
    """A moment as Inspect writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _at(start: float) -> dict[str, Any]:
    return {"timestamp": iso(start), "working_start": 0.0}
