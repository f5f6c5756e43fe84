"""Holds every row of a prompt's evidence against the run that it names: `evenhand prompt doctor --evidence`."""

from __future__ import annotations

from evenhand.core.record import Record
from evenhand.core.wording.words import count
from evenhand.doors.prompt_directories.evidence import EvidenceRows
from evenhand.doors.prompt_directories.evidence_rules import Evidence, latest_of_runs
from evenhand.doors.prompt_directories.prompt import PromptFolder
from evenhand.doors.prompt_directories.runs import KeptRuns
from evenhand.languages.documents.findings import Findings, Place


class Audit(Record, frozen=True, kw_only=True):
    """How many rows the runs agree with, and how many not.

    Attributes:
        agree: The run says the same.
        missing: The run is not on this machine, or cannot be read.
        contradict: The run says something else.
        unbound: The row names no run: it is from before rows did, or was written by hand.
        superseded: The run was gone on with, and a later row is of it; or the row is a copy.
        rowless: Runs here of this prompt that no row is of.
    """

    agree: int = 0
    missing: int = 0
    contradict: int = 0
    unbound: int = 0
    superseded: int = 0
    rowless: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = {
            "agree with their runs": self.agree,
            "contradict them": self.contradict,
            "name runs that are not here": self.missing,
            "name no run (not known)": self.unbound,
            "are copies, or superseded by a later row of the same run": self.superseded,
        }
        rows = sum(parts.values())
        details = ", ".join(f"{n} {what}" for what, n in parts.items() if n)
        return f"{count(rows, 'row')} of evidence{': ' if details else ''}{details}"


def audited(prompt: PromptFolder, evidence: Evidence, runs: KeptRuns, findings: Findings) -> Audit:
    """Holds each row against its run. A contradiction is a problem, with its line; what cannot be said is a hint."""
    counts: dict[str, int] = dict.fromkeys(
        ("agrees", "missing", "contradicts", "unbound", "superseded"), 0
    )
    named: set[object] = set()
    for rows in (evidence.usage, evidence.evals):
        _audit(rows, runs, findings, counts)
        named.update(row.get("run") for row in rows.rows)
    rowless = tuple(run for run in runs.of(prompt.id) if run not in named)
    if rowless:
        names = ", ".join(rowless[:5]) + (" …" if len(rowless) > 5 else "")
        what = f"{count(len(rowless), 'finished run')} of it here, and no row: {names}"
        findings.hint(
            Place(prompt.path), what, "Was a row deleted, or a file put back to an earlier version?"
        )
    return Audit(
        agree=counts["agrees"],
        missing=counts["missing"],
        contradict=counts["contradicts"],
        unbound=counts["unbound"],
        superseded=counts["superseded"],
        rowless=rowless,
    )


def _audit(rows: EvidenceRows, runs: KeptRuns, findings: Findings, counts: dict[str, int]) -> None:
    counted = {id(row) for row in latest_of_runs(rows.rows)}
    missing: list[int] = []
    unbound: list[int] = []
    for row, line in zip(rows.rows, rows.lines, strict=True):
        if row.get("sent") is False:  # a dry row has no run, and opens no gate
            continue
        if id(row) not in counted:
            counts["superseded"] += 1
            continue
        checked = runs.check(row)
        counts[checked.state] += 1
        if checked.state == "contradicts":
            hint = "It opens no gate. Take the line out, and run or send it again."
            findings.problem(
                Place(rows.path, line), f"a row that its run contradicts: {checked.why}", hint
            )
        elif checked.state == "missing":
            missing.append(line)
        elif checked.state == "unbound":
            unbound.append(line)
    if missing:
        what = (
            f"{count(len(missing), 'row')} of runs that are not in {runs.home}, or cannot be read"
        )
        findings.hint(
            Place(rows.path, missing[0]), what, "They were made on another machine, or deleted."
        )
    if unbound:
        what = f"{count(len(unbound), 'row')} that name no run: what they rest on is not known"
        hint = "They are from before rows were bound to runs, or were written by hand; they open no gate."
        findings.hint(Place(rows.path, unbound[0]), what, hint)
