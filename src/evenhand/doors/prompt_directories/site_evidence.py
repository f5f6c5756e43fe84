"""The evidence on a prompt's page: the last run by case, and the rows of evals, uses and promotions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evenhand.core.errors import StoreError
from evenhand.core.json_shapes import as_mapping, is_array
from evenhand.core.run import TrialResult
from evenhand.core.wording.words import count
from evenhand.doors.prompt_directories.evidence import Row, number
from evenhand.doors.prompt_directories.evidence_rules import Evidence, not_an_eval, uses
from evenhand.doors.prompt_directories.prompt import PromptFolder
from evenhand.doors.prompt_directories.runs import KeptRuns
from evenhand.doors.prompt_directories.site_page import cell, table, text
from evenhand.providers.addresses import shown_host
from evenhand.store.runfile import RunFile

SHOWN = 50
"""Rows of a log: the latest."""
LONGEST = 20_000
"""Characters of an output."""
_WORDS = {"pass": "passed", "fail": "failed", "error": "error", "not_applicable": "not applicable"}
_KINDS = {"pass": "good", "fail": "bad", "error": "warn"}


def last_results(evidence: Evidence, runs: KeptRuns) -> Iterator[str]:
    """The last eval, case by case: of its run where that is here, else what its row says of those that failed."""
    if not evidence.evals.rows:
        return
    row = evidence.evals.rows[-1]
    yield f"<h2>The last run, {text(str(row.get('ts') or '')[:10])}</h2>"
    marks = [word for word in ("partial", "offline") if row.get(word)]
    summary = f"{row.get('passed')} of {row.get('total')} cases passed"
    yield f"<p>{text(', '.join([summary, *marks]))}</p>"
    path = runs.path(str(row.get("run") or ""))
    cases = _cases(path, str(row.get("content"))) if path else {}
    if cases:
        rows = [_case(name, trials) for name, trials in cases.items()]
        yield table(("Case", "Outcome", "Why, and what was answered"), rows)
        return
    failed, reasons = row.get("failed_cases"), row.get("reasons")
    why = as_mapping(reasons)
    if is_array(failed) and failed:
        rows = [
            [cell(name), cell("not passed", "bad n"), cell(why.get(str(name), ""), "wide")]
            for name in failed
        ]
        yield table(("Case", "Outcome", "Why"), rows)
    yield "<p><small>Its run is not on the machine that wrote this page: answers are not shown.</small></p>"


def _cases(path: Path, content: str) -> dict[str, list[TrialResult]]:
    """The trials of this content, by the names of their cases, in the run's order."""
    by_case: dict[str, list[TrialResult]] = {}
    try:
        with RunFile.open(path) as run:
            prompts = run.meta.config.get("prompts")
            ours = prompts if isinstance(prompts, list) else []
            columns = {
                index
                for one in ours
                if isinstance(one, Mapping) and one.get("content") == content
                for index in one.get("columns") or ()
            }
            for trial in run.trials():
                if trial.variant in columns:
                    by_case.setdefault(trial.description or trial.case, []).append(trial)
    except StoreError:
        return {}
    return by_case


def _case(name: str, trials: Sequence[TrialResult]) -> list[str]:
    worst = min(trials, key=lambda t: ("error", "fail", "pass", "not_applicable").index(t.outcome))
    passed = sum(trial.outcome == "pass" for trial in trials)
    word = _WORDS[worst.outcome] if len(trials) == 1 else f"{passed} of {len(trials)} passed"
    why = worst.error.message if worst.error else worst.reason
    answers = "".join(_answer(trial, len(trials)) for trial in trials if trial.output is not None)
    reason = text(why) if worst.outcome != "pass" else ""
    return [
        cell(name, "wide"),
        cell(word, f"n {_KINDS.get(worst.outcome, '')}"),
        f'<td class="wide">{reason}{answers}</td>',
    ]


def _answer(trial: TrialResult, of: int) -> str:
    output = trial.output if isinstance(trial.output, str) else str(trial.output)
    cut = output[:LONGEST] + ("…" if len(output) > LONGEST else "")
    name = "answer" if of == 1 else f"answer {trial.repeat + 1}"
    expected = "".join(
        f"<li class='{_KINDS.get(o.outcome, '')}'>{text(o.name)}: {text(o.reason or _WORDS[o.outcome])}</li>"
        for o in trial.outcomes
    )
    listed = f'<ul class="plain">{expected}</ul>' if expected else ""
    return f"<details><summary>{name}</summary><pre>{text(cut)}</pre>{listed}</details>"


def eval_table(evidence: Evidence) -> Iterator[str]:
    """The log of evals, the latest first."""
    rows = evidence.evals.rows
    if not rows:
        return
    yield "<h2>Evals</h2>"
    heads = ("When", "Passed", "Answered by", "Judged by", "Counts")
    yield table(heads, (_eval_row(row, evidence) for row in reversed(rows[-SHOWN:])))
    yield _older(len(rows))


def _eval_row(row: Row, evidence: Evidence) -> list[str]:
    why = " and ".join(not_an_eval(row, evidence))
    green = row.get("all_passed") is True
    n, passed = number(row, "total"), number(row, "passed")
    share = f"{passed:g} of {n:g}" if n is not None and passed is not None else "not known"
    return [
        cell(row.get("ts") or "", "n"),
        cell(share, f"n {'good' if green else 'bad'}"),
        cell(_listed(row.get("models"))),
        cell(_listed(row.get("judges"))),
        cell(why or "yes", "wide" if why else "good"),
    ]


def use_table(prompt: PromptFolder, evidence: Evidence) -> Iterator[str]:
    """The log of uses, the latest first."""
    rows = evidence.usage.rows
    if not rows:
        return
    target = "ready" if prompt.meta.status != "draft" else "tested"
    only = target == "ready" and prompt.meta.promotion.require_verified
    reasons = uses(evidence, verified_only=only).reasons
    yield "<h2>Uses</h2>"
    heads = ("When", "Case", "Sent to", "Verified", "Counts")
    yield table(heads, (_use_row(row, reasons) for row in reversed(rows[-SHOWN:])))
    yield _older(len(rows))


def _use_row(row: Row, reasons: Mapping[int, str]) -> list[str]:
    word, kind = "not looked at", ""
    if row.get("verified") is not None:
        word, kind = ("yes", "good") if row.get("verified") is True else ("no", "bad")
    address = row.get("address")
    place = f" at {shown_host(address)}" if isinstance(address, str) and address else ""
    to = f"{row.get('model') or 'not known'}{place}" if row.get("sent") is True else "not sent"
    dry = "a copy" if row.get("sent") is True else "not sent"
    why = reasons.get(id(row), dry)
    return [
        cell(row.get("ts") or "", "n"),
        cell(row.get("case") or ""),
        cell(to),
        cell(word, f"n {kind}"),
        cell(why or "yes", "wide" if why else "good"),
    ]


def promotion_table(evidence: Evidence) -> Iterator[str]:
    """The log of promotions, the latest first."""
    rows = evidence.promotions.rows
    if not rows:
        return
    yield "<h2>Promotions</h2>"
    heads = ("When", "From", "To", "Version", "By", "")
    yield table(
        heads,
        (
            [
                cell(row.get("ts") or "", "n"),
                cell(row.get("from") or ""),
                cell(row.get("to") or ""),
                cell(row.get("version") or ""),
                cell(row.get("by") or ""),
                cell(f"forced: {row.get('reason')}" if row.get("forced") else "", "warn"),
            ]
            for row in reversed(rows[-SHOWN:])
        ),
    )


def _listed(value: object) -> str:
    if not is_array(value):
        return "not known"
    return ", ".join(map(str, value)) or "nobody"


def _older(rows: int) -> str:
    return (
        f"<p><small>… and {count(rows - SHOWN, 'earlier row')}</small></p>" if rows > SHOWN else ""
    )
