"""Audits in words, for terminals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from evenhand.core.wording.words import clip, count, folded, in_one_line, interval, percents, safe
from evenhand.wings.audit.finding import MEND, TITLES, Finding
from evenhand.wings.audit.report import AuditReport, AuditScore, Group, grouped
from evenhand.wings.audit.subjects import KINDS

WIDTH = 100
LONGEST_NAME = 40
NAMED = 3
"""Cases that are named of each group of findings."""
FEW = 10
"""The score of fewer cases says little of cases like them."""


def audit_lines(report: AuditReport) -> Iterator[str]:
    """The report as lines: the score, what to mend, and what was left out."""
    cases = count(len(report.audits), "case")
    yield f"{safe(report.source)} · {cases}, {report.examined:,} examined"
    score = report.score
    yield f"score  {_rate(score)}"
    if report.examined and report.examined < FEW:
        few = count(report.examined, "case")
        yield f"       only {few}: the score says little of others like these"
    if report.scores:
        yield ""
        yield "  subject                                killed  survived"
        for one in report.scores:
            yield _row(one)
    if report.findings:
        yield ""
        yield "to mend, by how many verdicts hang on it"
        for group in grouped(report.findings):
            yield from _group(report, group)
    yield from _rest(report, score)


def _rate(score: AuditScore) -> str:
    if score.least is None or score.most is None or score.interval is None:
        return "unknown: no answer was decided"
    count_made = score.killed + score.survived + score.errors
    return (
        f"{percents(score.least, score.most)} [{interval(*score.interval)}]:"
        f" {score.killed:,} of {count(count_made, 'made answer')} killed"
    )


def _row(one: AuditScore) -> str:
    notes = [count(one.errors, "error")] if one.errors else []
    notes += [f"{one.not_asked:,} not asked"] if one.not_asked else []
    name = KINDS[one.subject]  # pyright: ignore[reportArgumentType] (a kind, as `scores` has them)
    return f"  {name:<38} {one.killed:>6,}  {one.survived:>8,}  {', '.join(notes)}".rstrip()


def _group(report: AuditReport, group: Group) -> Iterator[str]:
    """Cases with the same faults: their names, what the first one does, and what to do about it."""
    first = group.findings[0]
    names = [report.audits[each[0].case].name for each in group.findings]
    named = ", ".join(clip(in_one_line(safe(name)), LONGEST_NAME) for name in names[:NAMED])
    if len(names) > NAMED:
        named += f" and {len(names) - NAMED:,} more"
    yield ""
    yield clip(f"  {count(group.verdicts, 'verdict')} · {named}", WIDTH)
    for one in first:
        yield clip(f"    {in_one_line(safe(_sentence(one)))}", WIDTH)
    for mend in dict.fromkeys(MEND[one.kind] for one in first):
        yield f"    → {mend}"


def _sentence(one: Finding) -> str:
    """One finding in a line: what does what, and what shows it."""
    what = TITLES[one.kind]
    if one.kind in ("passes", "fails_good", "style"):
        what += f" {KINDS[one.subject]}"  # pyright: ignore[reportArgumentType] (of these kinds there is a subject)
    subject = f"{one.expectation} {what}" if one.expectation and one.kind != "fails_good" else what
    if one.kind in ("passes", "fails_good", "style"):
        return f"{subject}: {one.answer or '(nothing)'}"
    if one.kind == "in_prompt" and one.expectation:
        return subject
    return f"{subject}: {one.detail}"


def _rest(report: AuditReport, score: AuditScore) -> Iterator[str]:
    """What was left out, and why."""
    lines: list[str] = []
    if score.not_asked:
        lines.append(
            f"{count(score.not_asked, 'made answer')} not asked: judges decide; --judges asks them, within --max-cost"
        )
    if report.only_forbids:
        say = "says" if report.only_forbids == 1 else "say"
        lines.append(
            f"{count(report.only_forbids, 'case')} only {say} what must not be: an empty answer may pass"
        )
    if report.pass_nothing:
        lines.append(
            f"{count(report.pass_nothing, 'case')} passed nothing, not even the reference: is it a whole answer?"
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
