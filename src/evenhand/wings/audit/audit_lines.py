"""Audits in words, for terminals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from evenhand.core.wording.words import clip, count, folded, in_one_line, interval, percents, safe
from evenhand.wings.audit.finding import MEND, TITLES, Finding
from evenhand.wings.audit.report import AuditReport, AuditScore, grouped
from evenhand.wings.audit.subjects import KINDS

WIDTH = 100
NAMED = 3
"""Cases that are named of each group of findings."""
FEW = 10
"""The score of fewer cases says little of cases like them."""


def audit_lines(report: AuditReport) -> Iterator[str]:
    """The report as lines: the score, what to mend, and what was left out."""
    cases = count(len(report.audits), "case")
    yield f"{safe(report.source)} · {cases}, {report.examined:,} examined"
    score = report.score()
    yield f"score  {_rate(score)}"
    if report.examined and report.examined < FEW:
        yield f"       {report.examined} cases are few: the score says little of others like them"
    if report.scores:
        yield ""
        yield "  subject                                killed  survived"
        for one in report.scores:
            yield _row(one)
    if report.findings:
        yield ""
        yield "to mend, by how many verdicts hang on it"
        hopeless = {
            one.case for one in report.findings if one.kind == "cant_fail" and not one.expectation
        }
        # What can't fail passes every subject: to say so once is enough.
        each = [one for one in report.findings if one.kind != "passes" or one.case not in hopeless]
        for group in grouped(each):
            yield from _group(report, group)
    yield from _rest(report, score)


def _rate(score: AuditScore) -> str:
    if score.least is None or score.most is None or score.interval is None:
        return "unknown: no answer was decided"
    count_made = score.killed + score.survived + score.errors
    return (
        f"{percents(score.least, score.most)} {interval(*score.interval)}:"
        f" {score.killed:,} of {count(count_made, 'made answer')} killed"
    )


def _row(one: AuditScore) -> str:
    notes = [count(one.errors, "error")] if one.errors else []
    notes += [f"{one.not_asked:,} not asked"] if one.not_asked else []
    name = KINDS[one.subject]  # pyright: ignore[reportArgumentType] (a kind, as `scores` has them)
    return f"  {name:<38} {one.killed:>6,}  {one.survived:>8,}  {', '.join(notes)}".rstrip()


def _group(report: AuditReport, group: Sequence[Finding]) -> Iterator[str]:
    first = group[0]
    verdicts = sum(one.verdicts for one in group)
    about = KINDS.get(first.subject, "") if first.kind in ("passes", "fails_good") else ""  # pyright: ignore[reportCallIssue, reportArgumentType] (empty for none)
    what = f"{TITLES[first.kind]}: {about}" if about else TITLES[first.kind]
    if first.kind == "cant_fail" and first.expectation:
        what = "an expectation can't fail"
    yield ""
    yield f"  {count(verdicts, 'verdict')} · {count(len(group), 'case')} · {what}"
    for one in group[:NAMED]:
        audit = report.audits[one.case]
        named = f"{audit.name}" + (f": {one.expectation}" if one.expectation else "")
        yield f"    {clip(in_one_line(safe(named)), WIDTH - 4)}"
        if one.answer is not None:
            verb = "failed" if first.kind in ("fails_good", "cant_pass") else "got through"
            answer = in_one_line(safe(one.answer)) or "(nothing)"
            text = f"      {verb}: {answer}" if first.kind != "twin" else f"      asks: {answer}"
            yield clip(text, WIDTH)
        if one.detail and first.kind not in ("passes", "style"):
            yield from folded(in_one_line(safe(one.detail)), WIDTH, "      ", "      ")
    if len(group) > NAMED:
        yield f"    … and {count(len(group) - NAMED, 'more case', 'more cases')}"
    yield f"    → {MEND[first.kind]}"


def _rest(report: AuditReport, score: AuditScore) -> Iterator[str]:
    """What was left out, and why."""
    lines: list[str] = []
    if score.not_asked:
        lines.append(
            f"{count(score.not_asked, 'made answer')} not asked: judges decide; --judges asks them, within --max-cost"
        )
    if report.only_forbids:
        lines.append(
            f"{count(report.only_forbids, 'case')} only say what must not be said: an empty answer may pass them"
        )
    if report.allowed:
        reasons = Counter(one.allowed for one in report.allowed)
        lines.append(f"{count(len(report.allowed), 'finding')} allowed by their authors:")
        lines += [f"  {number:,} × {reason}" for reason, number in reasons.most_common(NAMED)]
    problems = Counter(audit.problem for audit in report.audits if audit.problem)
    for problem, number in problems.most_common(NAMED):
        lines.append(f"{count(number, 'case')} not examined: {problem}")
    if len(problems) > NAMED:
        rest = sum(problems.values()) - sum(n for _, n in problems.most_common(NAMED))
        lines.append(
            f"{count(rest, 'more case', 'more cases')} not examined for other reasons; --json has them"
        )
    if lines:
        yield ""
    for line in lines:
        yield from folded(in_one_line(safe(line)), WIDTH, "", "  ")
