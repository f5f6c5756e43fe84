"""Writes a run to MLflow: rates with intervals as metrics, what was compared as parameters, the report as artifacts.

A run with one variant is one MLflow run; with several, each variant is a run below it. What is not known is not logged:
an error is no score, and a missing value is not 0. Pushed again, a run takes the place of what was there of it.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evenhand.analysis.comparison.case_values import CaseIds, Seen, read
from evenhand.analysis.summaries.rates import mean_in, mean_of
from evenhand.core.json_shapes import is_number
from evenhand.core.record import Record
from evenhand.core.run import RunMeta
from evenhand.core.secrets import shown
from evenhand.core.variant import Variant
from evenhand.core.wording.words import clip, safe
from evenhand.render.document import document_head, write_document
from evenhand.render.notebook import html
from evenhand.store.runfile import RunFile
from evenhand.wings.remotes.mlflow.server import MlflowRun, MlflowServer

TAG = "evenhand.run"
MOST_BYTES = 64 * 1024 * 1024
"""Of the JSON document; a larger run's is not sent."""
_PARENT = "mlflow.parentRunId"
_LONGEST_NAME = 200
_LONGEST_VALUE = 500  # what all stores take
_NOT_IN_NAMES = re.compile(r"[^\w.\- /]", re.ASCII)
_STATUS = {"finished": "FINISHED", "decided": "FINISHED", "interrupted": "KILLED"}


class PushedToMlflow(Record, frozen=True, kw_only=True):
    """What was written.

    Attributes:
        experiment: The id of the experiment.
        run: The id of the MLflow run.
        below: The ids of the runs of its variants; empty where there is one variant.
        replaced: How many runs of an earlier push were deleted.
        left_out: What was not sent, and why, a line each.
        url: Where the run can be looked at.
    """

    experiment: str
    run: str
    below: tuple[str, ...]
    replaced: int
    left_out: tuple[str, ...]
    url: str


async def push_to_mlflow(
    file: Path,
    server: MlflowServer,
    *,
    experiment: str = "",
    page: Callable[[RunFile], str] | None = None,
) -> PushedToMlflow:
    """Writes a run to a tracking server.

    Args:
        experiment: The name of the experiment; by default the run's title.
        page: Makes the report that is kept as report.html; by default a short one, without scripts.

    Raises:
        AuthError: The server does not accept the credentials.
        ProviderError: The server does not take it.
        StoreError: The file cannot be read.
    """
    with RunFile.open(file) as run:
        meta = run.meta
        head = document_head(run)
        place = await server.experiment(experiment or _text(meta.title) or "evenhand")
        before = await server.known(place, TAG, meta.id)
        tags = _tags(meta, str(head["verdict"]))
        ended = meta.finished_at or meta.created_at
        whole = await server.start(
            place, _text(meta.title) or meta.id, {**tags, TAG: meta.id}, meta.created_at
        )
        status = _STATUS.get(meta.status, "FAILED")
        below: list[MlflowRun] = []
        several = len(meta.variants) > 1
        columns = read(run, [variant.index for variant in meta.variants], (), "", CaseIds())
        for variant, rate in zip(meta.variants, head["rates"], strict=True):
            metrics = _metrics(meta, rate, columns.get(variant.index))
            params = _params(variant)
            if not several:
                await server.log(whole, metrics, {**_shared(meta), **params}, ended)
                continue
            own = {**tags, TAG: meta.id, _PARENT: whole.id}
            one = await server.start(place, _name(variant), own, meta.created_at)
            await server.log(one, metrics, params, ended)
            await server.finish(one, status, ended)
            below.append(one)
        totals = _numbers(head["totals"])
        await server.log(whole, totals, _shared(meta) if several else {}, ended)
        left_out = await _artifacts(server, whole, run, page or _page)
        await server.finish(whole, status, ended)
        # Only now, so that a push that stops in its middle takes nothing away.
        await server.delete(before)
    url = f"{server.root}/#/experiments/{place}/runs/{whole.id}"
    return PushedToMlflow(
        experiment=place,
        run=whole.id,
        below=tuple(one.id for one in below),
        replaced=len(before),
        left_out=tuple(left_out),
        url=url,
    )


async def _artifacts(
    server: MlflowServer, to: MlflowRun, run: RunFile, page: Callable[[RunFile], str]
) -> list[str]:
    if not server.takes_artifacts(to):
        return [
            "report.html and run.json: this server has its artifacts in a store of its own, which is not written to"
        ]
    left_out: list[str] = []
    await server.upload(to, "report.html", page(run).encode("utf-8", "replace"), "text/html")
    out = io.StringIO()
    write_document(run, out)
    data = out.getvalue().encode("utf-8", "replace")
    if len(data) > MOST_BYTES:
        left_out.append(f"run.json: it has {len(data) / 1e6:,.0f} MB")
    else:
        await server.upload(to, "run.json", data, "application/json")
    return left_out


def _page(run: RunFile) -> str:
    return f'<!doctype html><html lang="en"><meta charset="utf-8">{html(run)}</html>'


def _metrics(meta: RunMeta, rate: Mapping[str, Any], sample: Seen | None) -> dict[str, float]:
    """The numbers of one variant: pass rate, score and latency with their intervals, and the means of named metrics."""
    metrics = {
        **{
            f"pass_rate{end}": rate.get(key)
            for end, key in (("", "rate"), ("_low", "low"), ("_high", "high"))
        },
        **{key: rate.get(key) for key in ("passed", "trials", "errors", "cases")},
    }
    for name in ("score", "latency_s"):
        mean = rate.get(name) or {}
        metrics |= {
            f"{name}{end}": mean.get(key)
            for end, key in (("", "mean"), ("_low", "low"), ("_high", "high"))
        }
    numbers = _numbers(metrics)
    for name, value in _named(meta, sample) if sample is not None else ():
        key = _key(name)
        while key in numbers:
            key += "_"
        numbers[key] = value
    return numbers


def _named(meta: RunMeta, sample: Seen) -> Iterator[tuple[str, float]]:
    """The means of what trials counted under a name, each with the ends of its interval."""
    for name in sample.metrics:
        if name == "passed":
            continue
        cases = (sample.value(name, number) for number in sample.cases)
        sums = [(math.fsum(one.values), len(one.values), one.errors) for one in cases if one.n]
        mean = mean_in(meta, mean_of(sums, sample.scales.get(name)))
        if mean is None:
            continue
        if mean.known is not None:
            yield name, mean.known
        for end, value in (("low", mean.low), ("high", mean.high)):
            if value is not None:
                yield f"{name}_{end}", value


def _numbers(values: Mapping[str, object]) -> dict[str, float]:
    """The values that are numbers, and known."""
    return {
        name: float(value)
        for name, value in values.items()
        if is_number(value) and math.isfinite(value)
    }


def _params(variant: Variant) -> dict[str, str]:
    params = {"prompt": variant.prompt, "model": variant.model}
    params |= {f"axis.{name}": str(value) for name, value in variant.axes.items()}
    return {_key(name): _text(value) for name, value in params.items() if value}


def _shared(meta: RunMeta) -> dict[str, str]:
    tags = {
        "cases": str(meta.case_count),
        "repeats": str(meta.repeats),
        "variants": str(len(meta.variants)),
        "fingerprint": meta.fingerprint,
        "evenhand": meta.version,
    }
    return {name: value for name, value in tags.items() if value}


def _tags(meta: RunMeta, verdict: str) -> dict[str, str]:
    return {"evenhand.verdict": verdict, "evenhand.status": meta.status}


def _name(variant: Variant) -> str:
    return clip(_text(" · ".join(filter(None, (variant.prompt, variant.model)))), _LONGEST_NAME)


def _key(name: str) -> str:
    """A name as MLflow takes it: `nDCG@10` becomes `nDCG_at_10`."""
    return clip(_NOT_IN_NAMES.sub("_", name.replace("@", "_at_")), _LONGEST_NAME) or "_"


def _text(text: str) -> str:
    return clip(safe(shown(text)), _LONGEST_VALUE)
