"""A report of pydantic-evals as a run: each case is a trial, each assertion, score and label an outcome.

Format: `EvaluationReportAdapter.dump_json` in https://ai.pydantic.dev/evals/. A score has no bound there, so it decides
nothing unless all of its name are 0 or 1; an assertion is a verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from evenhand.core.case import case_id
from evenhand.core.encoding import digest, encode
from evenhand.core.variant import Variant
from evenhand.doors.importers.foreign_cases import fields_of, line_of
from evenhand.doors.importers.foreign_files import dated
from evenhand.doors.importers.foreign_scores import ForeignScore, outcome_of
from evenhand.doors.importers.imported import ImportedRun, ImportedTrial
from evenhand.languages.documents.foreign import Part, shown

_CASE = frozenset(
    {"name", "inputs", "metadata", "expected_output", "output", "scores", "labels", "assertions"}
    | {"task_duration", "evaluator_failures", "source_case_name", "error_message", "metrics"}
)


def run_of(report: Part, path: Path) -> ImportedRun | None:
    """The run; None, with a note, for a report without cases."""
    cases, failures = report.parts("cases"), report.parts("failures")
    name = report.text("name") or path.stem
    if not cases and not failures:
        report.notes.left_out(report.where, f"report {shown(name)} has no cases")
        return None
    if report.value.get("analyses"):
        text = "analyses over all cases: `evenhand show` makes its own"
        report.notes.left_out(f"{report.where}.analyses", text)
    trials = list(_trials([*cases, *failures]))
    report.notes.translated(report.where, f"report {shown(name)}, cases: {len(trials):,}")
    return ImportedRun(
        id=report.text("trace_id") or digest(encode(dict(report.value)))[:24],
        title=report.text("dataset_name") or name,
        created_at=dated(path, report.where, report.notes),
        variants=[Variant(0, "", name)],
        trials=trials,
        settings={"name": name, **report.without("cases", "failures", "analyses")},
    )


def _trials(cases: Sequence[Part]) -> Iterator[ImportedTrial]:
    scores = [list(_scores(one)) for one in cases]
    seen: Counter[str] = Counter()
    for one, measured in zip(cases, scores, strict=True):
        case = one.text("source_case_name") or one.text("name") or _unnamed(one)
        error = one.said("error_message")
        metrics = one.part("metrics")
        yield ImportedTrial(
            case=case,
            repeat=seen[case],
            outcome="error" if error else None if measured else "not_applicable",
            output=one.value.get("output"),
            error=error,
            outcomes=[outcome_of(score, one.notes) for score in measured],
            input=one.value.get("inputs"),
            expected=one.value.get("expected_output"),
            latency_s=one.amount("task_duration"),
            cost_usd=metrics.amount("cost") if metrics else None,
            tokens_in=metrics.whole("input_tokens") if metrics else None,
            tokens_out=metrics.whole("output_tokens") if metrics else None,
            metadata={
                **fields_of(one.value.get("metadata")),
                "report": {
                    **one.without(*_CASE),
                    **({"metrics": metrics.value} if metrics else {}),
                },
            },
            description=line_of(one.value.get("inputs")) or case,
        )
        seen[case] += 1


def _unnamed(case: Part) -> str:
    return case_id([case.value.get("inputs"), case.value.get("expected_output")])


def _scores(case: Part) -> Iterator[ForeignScore]:
    for key in ("assertions", "scores", "labels"):
        part = case.part(key)
        for name in part.value if part else ():
            one = part.part(name) if part else None
            if one is not None:
                more = one.without("name", "value", "reason")
                value = one.value.get("value")
                yield ForeignScore(
                    name=name,
                    value=value,
                    where=one.where,
                    reason=one.text("reason"),
                    metadata=more,
                )
    for one in case.parts("evaluator_failures"):
        why = one.said("error_message") or "the evaluator failed"
        yield ForeignScore(
            name=one.text("name") or "evaluator", value=None, where=one.where, error=why
        )
