"""A run as promptfoo's results, version 3, for tools that read those: JSON, and the same in YAML, XML, CSV and lines.

Trials are written one at a time, so a run of any size passes through in flat memory; what is summed over all of them
comes last. Keys of an object have no order, so its readers do not mind.
"""

from __future__ import annotations

import csv
import itertools
import platform
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, TextIO, cast
from xml.sax.saxutils import escape, quoteattr

from evenhand.analysis.trust.beside_people import every_label
from evenhand.core.json_shapes import is_array, is_mapping, is_object
from evenhand.core.run import Judged, TrialResult
from evenhand.core.variant import Variant
from evenhand.core.wording.json_text import json_text, writer
from evenhand.core.wording.spreadsheet_cells import cell
from evenhand.core.wording.words import safe
from evenhand.render.promptfoo.derived import Derived
from evenhand.render.promptfoo.row import (
    GradedTrial,
    RowWriter,
    Stripped,
    comment,
    graded,
    prompt_id,
    prompt_label,
    subject_cost,
    tokens,
    tokens_of,
    without_reason,
)
from evenhand.store.labels.label import newest, standing
from evenhand.store.runfile import RunFile

VERSION = 3
# In a quoted text, JSON takes these as they are, and YAML does not.
_NOT_PLAIN = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_XML_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)


class _ColumnTotals:
    """What promptfoo sums up for each column."""

    def __init__(self, variant: Variant, derived: Derived) -> None:
        self.variant = variant
        self._derived = derived
        self.score = 0.0
        self.tests = {"pass": 0, "fail": 0, "error": 0}
        self.asserts = {"pass": 0, "fail": 0}
        self.latency_ms = 0.0
        self.cost = 0.0
        self.subject = Judged()
        self.cached = 0
        self.judged = Judged()
        self.named: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self.weights: dict[str, float] = {}

    def add(self, trial: TrialResult, row: GradedTrial) -> None:
        self.score += row.score
        # A row without output has no reason to fail, and does not pass.
        outcome = "pass" if row.passed else "error" if row.failure == 2 else "fail"
        self.tests[outcome] += 1
        for component in row.components:
            self.asserts["pass" if component["pass"] else "fail"] += 1
        self.latency_ms += (trial.latency_s or 0.0) * 1000
        self.cost += subject_cost(trial) or 0.0
        spent = tokens(trial)
        self.subject = _sum(
            self.subject, Judged(spent["numRequests"], spent["prompt"], spent["completion"])
        )
        self.cached += spent["cached"]
        if trial.judged:
            self.judged = _sum(self.judged, trial.judged)
        for name, value in row.named.items():
            weight = row.weights.get(name, 1.0)
            self.named[name] = self.named.get(name, 0.0) + value * weight
            self.counts[name] = self.counts.get(name, 0) + row.counts.get(name, 1)
            self.weights[name] = self.weights.get(name, 0.0) + weight

    def row(self) -> dict[str, Any]:
        variant = self.variant
        return {
            "id": prompt_id(variant),
            "raw": variant.prompt_raw,
            "label": prompt_label(variant),
            "provider": variant.model,
            "metrics": {
                "score": self.score,
                "testPassCount": self.tests["pass"],
                "testFailCount": self.tests["fail"],
                "testErrorCount": self.tests["error"],
                "assertPassCount": self.asserts["pass"],
                "assertFailCount": self.asserts["fail"],
                "totalLatencyMs": round(self.latency_ms),
                "tokenUsage": {
                    **tokens_of(self.subject, self.cached),
                    "assertions": tokens_of(self.judged),
                },
                "namedScores": {
                    **self.named,
                    **self._derived.of(self.named, sum(self.tests.values())),
                },
                "namedScoresCount": self.counts,
                "namedScoreWeights": self.weights,
                "cost": self.cost,
            },
        }


class Results:
    """A run in promptfoo's keys: what stands before the rows, the rows, and what is known once they have been read.

    Args:
        stripped: What is left out of the rows; by default, what `PROMPTFOO_STRIP_…` says.
    """

    def __init__(self, run: RunFile, stripped: Stripped | None = None) -> None:
        meta = run.meta
        self._run = run
        self._rows = RowWriter(meta.id, meta.variants, standing(every_label(run)), stripped)
        derived = Derived(meta.config.get("derivedMetrics"))
        self.columns = [_ColumnTotals(variant, derived) for variant in meta.variants]
        self.vars: dict[str, None] = {}
        imported = cast("Mapping[str, Any]", meta.settings.get("imported") or {})
        self.id = str(imported.get("id") or f"eval-{meta.id}")
        self.started = _utc(meta.created_at)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One for each trial, in the plan's order."""
        for trial in self._run.trials():
            row = graded(trial)
            self.columns[trial.variant].add(trial, row)
            self.vars.update(dict.fromkeys(trial.vars))
            yield self._rows.row(trial, row)

    def prompts(self) -> list[dict[str, Any]]:
        """The columns, once the rows have been read."""
        return [column.row() for column in self.columns]

    def stats(self) -> dict[str, Any]:
        """The sums over all columns, once the rows have been read."""
        meta, columns = self._run.meta, self.columns
        took = round((meta.took_s or 0.0) * 1000)
        subject, judged = Judged(), Judged()
        for column in columns:
            subject, judged = _sum(subject, column.subject), _sum(judged, column.judged)
        spent = tokens_of(subject, sum(column.cached for column in columns))
        return {
            "successes": sum(column.tests["pass"] for column in columns),
            "failures": sum(column.tests["fail"] for column in columns),
            "errors": sum(column.tests["error"] for column in columns),
            "tokenUsage": {**spent, "assertions": tokens_of(judged)},
            "durationMs": took,
            "evaluationDurationMs": took,
        }

    def rest(self) -> dict[str, Any]:
        """What stands beside the results, once the rows have been read."""
        meta = self._run.meta
        settings = meta.settings
        return {
            "config": {**meta.config, "description": meta.title},  # --description names the run
            "shareableUrl": None,
            "metadata": {
                "evenhandVersion": meta.version,
                "platform": platform.system().lower(),
                "arch": platform.machine(),
                "exportedAt": _utc(time.time()),
                "evaluationCreatedAt": self.started,
            },
            "vars": sorted(self.vars),
            "runtimeOptions": {
                "repeat": meta.repeats,
                **({"maxConcurrency": n} if (n := settings.get("concurrency")) else {}),
                **({"cache": settings["cache"]} if "cache" in settings else {}),
            },
        }


def write_promptfoo(run: RunFile, out: TextIO) -> int:
    """Writes the run as JSON; how many trials there were."""
    line, results = writer(out), Results(run)
    line(f'{{"evalId":{_quoted(results.id)},"results":{{"version":{VERSION},')
    line(f'"timestamp":{_quoted(results.started)},"results":[')
    count = 0
    for row in results.rows():
        line(("," if count else "") + "\n" + json_text(row))
        count += 1
    line('\n],"prompts":[' + ",\n".join(json_text(row) for row in results.prompts()))
    line('],"stats":' + json_text(results.stats()) + "},")
    line(json_text(results.rest())[1:] + "\n")
    return count


def write_promptfoo_lines(run: RunFile, out: TextIO) -> int:
    """Writes the run's rows, one a line; how many there were."""
    line, count = writer(out), 0
    for row in Results(run).rows():
        line(json_text(row) + "\n")
        count += 1
    return count


def write_promptfoo_yaml(run: RunFile, out: TextIO) -> int:
    """Writes the run as YAML; how many trials there were."""
    line, results = writer(out), Results(run)
    started = _quoted(results.started)
    line(f"evalId: {_quoted(results.id)}\nresults:\n  version: {VERSION}\n  timestamp: {started}\n")
    line("  results:")
    count = 0
    for row in results.rows():
        line("\n    -" + _yaml(row, 6).removeprefix("\n     "))
        count += 1
    line((" []" if not count else "") + "\n  prompts:" + _yaml(results.prompts(), 4))
    line("\n  stats:" + _yaml(results.stats(), 4))
    line(_yaml(results.rest(), 0) + "\n")
    return count


def write_promptfoo_xml(run: RunFile, out: TextIO) -> int:
    """Writes the run as XML, an element for each key and one for each item of a list; how many trials there were."""
    line, results = writer(out), Results(run)
    line(
        f'<?xml version="1.0" encoding="UTF-8"?>\n<promptfoo>\n<evalId>{escape(results.id)}</evalId>'
    )
    line(f"\n<results>\n<version>{VERSION}</version>\n<timestamp>{results.started}</timestamp>\n")
    count = 0
    for row in results.rows():
        _xml("results", row, line)
        count += 1
    _xml("prompts", results.prompts(), line)
    _xml("stats", results.stats(), line)
    line("</results>\n")
    for name, value in results.rest().items():
        _xml(name, value, line)
    line("</promptfoo>\n")
    return count


def _yaml(value: object, indent: int) -> str:
    """A value in YAML's block form, each text quoted as JSON has it, which is YAML too."""
    pad = " " * indent
    if is_mapping(value) and value:
        items = value.items()
        return "".join(f"\n{pad}{_quoted(str(key))}:{_yaml(v, indent + 2)}" for key, v in items)
    if isinstance(value, (list, tuple)) and value:
        parts = value
        nested = (_yaml(part, indent + 2).removeprefix(f"\n{pad} ") for part in parts)
        return "".join(f"\n{pad}-{part}" for part in nested)
    return f" {_quoted(value)}"


def _quoted(value: object) -> str:
    text = json_text(cast("Mapping[str, Any]", value))
    return _NOT_PLAIN.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _xml(name: str, value: object, line: Callable[[str], object]) -> None:
    if isinstance(value, (list, tuple)):
        for item in value:
            _xml(name, item, line)
        return
    good = _XML_NAME.fullmatch(name)
    start = name if good else f"entry name={quoteattr(safe(name))}"
    end = name if good else "entry"
    if is_mapping(value):
        line(f"<{start}>\n")
        for key, item in value.items():
            _xml(str(key), item, line)
        line(f"</{end}>\n")
        return
    text = "" if value is None else value if isinstance(value, str) else _quoted(value)
    clean = re.sub("[\ufffe\uffff]", "\ufffd", safe(text, multiline=True))
    line(f"<{start}>{escape(clean)}</{end}>\n")


def _sum(one: Judged, other: Judged) -> Judged:
    known = one.cost_usd is not None and other.cost_usd is not None
    return Judged(
        one.calls + other.calls,
        one.tokens_in + other.tokens_in,
        one.tokens_out + other.tokens_out,
        (one.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
    )


def _utc(moment: float) -> str:
    return (
        datetime.fromtimestamp(moment, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )


_STATUS = ("PASS", "FAIL", "ERROR")


def write_promptfoo_csv(run: RunFile, out: TextIO) -> int:
    """Writes the run; how many trials there were. It is read twice: the first time for the names of columns."""
    names: dict[str, None] = {}
    metrics: dict[str, None] = {}
    described = False
    for trial in run.trials():
        names.update(dict.fromkeys(trial.vars))
        metrics.update(dict.fromkeys(trial.named_scores))
        described = described or bool(_description(trial))
    measures = sorted(metrics)
    inside = ["Status", "Score", "Named Scores", *(f"Metric: {name}" for name in measures)]
    inside += ["Grader Reason", "Comment"]
    variants = run.meta.variants
    head = [*(["Description"] if described else []), *names]
    for variant in variants:
        head += [f"[{variant.model}] {prompt_label(variant)}", *inside]
    table = csv.writer(_Escaping(out))
    table.writerow([cell(text) for text in head])
    labels = standing(run.labels())
    count = 0
    for trials in tests_of(run):
        first = trials[0]
        row: list[Any] = [cell(_description(first))] if described else []
        row += [_compact(first.vars.get(name)) for name in names]
        cells = {trial.variant: trial for trial in trials}
        for variant in variants:
            trial = cells.get(variant.index)
            newest_labels = newest(labels.get(trial.index, ())) if trial else {}
            row += _columns(trial, measures, comment(newest_labels))
        table.writerow(row)
        count += len(trials)
    return count


def tests_of(run: RunFile) -> Iterator[Sequence[TrialResult]]:
    """The trials of each test in turn: one for each column that it is run in."""
    for _, trials in itertools.groupby(run.trials(), key=lambda trial: (trial.case, trial.repeat)):
        yield list(trials)


def _description(trial: TrialResult) -> str:
    return str(trial.test.get("description") or "") if trial.test else trial.description


def _columns(trial: TrialResult | None, measures: Sequence[str], note: str) -> list[Any]:
    if trial is None:
        return [""] * (6 + len(measures))
    row = graded(trial)
    reason = row.reason or without_reason(trial, row)
    return [
        _compact(trial.output),
        _STATUS[row.failure],
        _two_places(row.score),
        json_text({name: _plain(value) for name, value in row.named.items()}) if row.named else "",
        *(_two_places(row.named[name]) if name in row.named else "" for name in measures),
        cell(reason),
        cell(note),
    ]


def _compact(value: object) -> object:
    """A value as a cell; lists and objects as JavaScript writes their JSON, without spaces."""
    return cell(json_text(value) if is_object(value) or is_array(value) else value)


_IN_POWERS = 1e21
"""JavaScript writes numbers from here on as `1e+21`."""


def _two_places(value: float) -> str:
    """As JavaScript writes it: halves go up."""
    if abs(value) >= _IN_POWERS:
        return repr(value)
    return str(Decimal(value).quantize(Decimal("0.01"), ROUND_HALF_UP))


def _plain(value: float) -> float:
    return int(value) if value.is_integer() else value


class _Escaping:
    """A stream that takes text of any kind, with escapes where its encoding has no such character."""

    def __init__(self, out: TextIO) -> None:
        self._write = writer(out)

    def write(self, text: str) -> object:
        """Writes it."""
        return self._write(text)
