"""Writes a run as a log that Inspect reads: an `.eval` file, deflated, version 2.

Source of the format: `EvalLog` and its recorder in inspect-ai, https://inspect.aisi.org.uk/eval-logs.html. Inspect
versions it, and reads what older versions wrote: deflated archives are among them.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Sequence
from typing import Any, BinaryIO
from urllib.parse import quote

from evenhand.analysis.summaries.column_names import column_names
from evenhand.core.errors import UsageError
from evenhand.core.run import RunMeta
from evenhand.core.variant import Variant
from evenhand.core.version import __version__
from evenhand.render.inspect_log.events import iso
from evenhand.render.inspect_log.sample import sample_of
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
