"""`evenhand audit`: gives cases made answers that must fail, and says which get through."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from evenhand.cli.batching import batch_options, batch_record, foresee, policy_of
from evenhand.cli.completing import complete_paths
from evenhand.cli.options import flag, number_option, repeatable, text_option
from evenhand.cli.session import Session, study_settings
from evenhand.cli.streams import say_json, say_lines, tell
from evenhand.cli.study import Study, ended, judges_asked, study_options
from evenhand.core.ranges import ROWS, Range
from evenhand.core.wording.words import (
    clip,
    count,
    folded,
    in_one_line,
    safe,
    share_words,
)
from evenhand.wings.audit.case_audit import MEND, TITLES, Finding
from evenhand.wings.audit.report import AuditReport, AuditScore, Group, grouped
from evenhand.wings.audit.subjects import KINDS

if TYPE_CHECKING:
    from evenhand.core.run import RunMeta
    from evenhand.wings.audit.commands.audit_request import AuditRequest

SHARE = Range(0, 1)


@click.command(short_help="Say which cases can't fail, with made answers.")
@click.argument("paths", nargs=-1, metavar="[PATH[:LINE]]...", shell_complete=complete_paths)
@number_option(
    "--at-least",
    within=SHARE,
    metavar="SHARE",
    help="Exit with 1 if fewer of the answers that must fail are killed, from 0 to 1.",
)
@number_option(
    "-n",
    "--first",
    within=ROWS,
    metavar="N",
    help="Audit only the first N cases of each eval set, prompt or config.",
)
@text_option(
    "--filter",
    "filter_",
    metavar="REGEX",
    help="Audit only cases whose description or variables match REGEX.",
)
@text_option(
    "-k", "names", metavar="NAME", help="Audit only evals whose name contains NAME (eval sets)."
)
@flag(
    "--judges",
    help="Ask judges, too; --max-cost, --batch and --offline mean that as well.  [default: judges aren't asked]",
)
@repeatable(
    "--against",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Look for twins of the cases in this dataset: the other part of a split. May be repeated.",
)
@flag("--offline", help="Answer judges from the folder's offline.jsonl.")
@flag("--batch", help="Ask judges in batches, at half price: answers may take a day.")
@batch_options
@study_options
def audit(
    paths: tuple[str, ...],
    at_least: float | None,
    first: float | None,
    filter_: str,
    names: str,
    judges: bool,
    against: tuple[Path, ...],
    offline: bool,
    batch: bool,
    **options: Any,
) -> int:
    """Give the cases of PATH made answers that must fail, and say which get through.

    No answer, a refusal, an echo of the question, another case's answer and so on answer in place of the application;
    the real expectations score them. Answers that must pass, such as the reference, are tried as well. Nothing is sent
    unless judges are asked. PATH is what `evenhand run` takes. Default: the current folder.

    Exits with 0, or, with --at-least, with 1 if the score is lower, and with 3 if errors or judges leave that open.
    """
    from evenhand.core.plan import Selection
    from evenhand.wings.audit.commands.audit_request import AuditRequest

    policy = policy_of(options, batch=batch)
    session = Session.of({**options, "no_table": True})
    request = AuditRequest.of(
        paths,
        at_least,
        tuple(str(one.absolute()) for one in against),
        offline=offline,
        cases=Selection(first=None if first is None else int(first), filter=filter_),
        names=names,
    )
    judges = judges or offline or batch or session.max_cost is not None
    with request.ready(judges=judges):
        if not judges:
            return _with_problems(printed(request.report(), session), request)
        plan = request.plan()
        if not plan.size:
            return _with_problems(printed(request.report(), session), request)
        from evenhand.store.run_lookup import home_for

        if not offline:
            tell(f"{count(plan.size, 'made answer')} for judges to look at")
        record = request.record()
        if policy is not None:
            record = {**record, "batch": batch_record(policy)}
        settings = study_settings(home_for(request.folder), session, record)
        if policy is not None:
            settings = foresee(plan, replace(settings, batch=policy))
        finished = judges_asked(request, plan, settings, None, session)
        code = ended(finished, printed(request.report(finished.path), session), "audit")
        return _with_problems(code, request)


def _with_problems(code: int, request: AuditRequest) -> int:
    """The exit code, once it is said what is wrong with files that were left out."""
    from evenhand.cli.exits import USAGE
    from evenhand.cli.run_and_report import safe_text

    problems = request.audited.broken if request.audited is not None else ()
    for problem in problems:
        tell(safe_text(str(problem)))
    return code or (USAGE if problems else code)


def printed(report: AuditReport, session: Session) -> int:
    """Prints a report, and returns the exit code."""
    from evenhand.cli.exits import FAILED, NO_VERDICT, PASSED
    from evenhand.core.secrets import known

    # Prompts, errors and answers repeat what the environment put into them; a run's file is written without it, too.
    known.learn_environment(os.environ)
    if session.as_json:
        say_json(known.inside(report.document()))
    else:
        say_lines(map(known.text, audit_lines(report)))
    verdict = report.verdict
    if verdict is None:
        return PASSED if report.examined else NO_VERDICT
    return {"held": PASSED, "missed": FAILED, "undecided": NO_VERDICT}[verdict]


def study(meta: RunMeta, file: Path) -> Study:
    """The audit that an earlier session started."""
    from evenhand.wings.audit.commands.audit_request import AuditRequest

    del file
    request = AuditRequest.again(meta)

    def came_to(file: Path, session: Session) -> int:
        with request.ready(judges=True):
            return printed(request.report(file), session)

    return Study("audit", request, came_to)


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
        yield "to fix, by how many verdicts depend on it"
        for group in grouped(report.findings):
            yield from _group(report, group)
    yield from _rest(report, score)


def _rate(score: AuditScore) -> str:
    if score.least is None or score.most is None or score.interval is None:
        return "unknown: no answer was decided"
    count_made = score.killed + score.survived + score.errors + score.open
    return (
        f"{share_words(score.least, score.most, *score.interval)}:"
        f" {score.killed:,} of {count(count_made, 'made answer')} killed"
    )


def _row(one: AuditScore) -> str:
    notes = [count(one.errors, "error")] if one.errors else []
    notes += [f"{one.not_asked:,} not asked"] if one.not_asked else []
    name = KINDS[one.subject]  # pyright: ignore[reportArgumentType] (a kind, as `scores` has them)
    notes += [f"{one.open:,} open"] if one.open else []
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
    if score.open:
        lines.append(
            f"{count(score.open, 'made answer')} open: a condition decides, and it was computed from the eval's own"
            " output; a scorer in its place can be given others"
        )
    if report.only_forbids:
        forbid = "forbids" if report.only_forbids == 1 else "forbid"
        lines.append(
            f"{count(report.only_forbids, 'case')} only {forbid} something: an empty answer may pass"
        )
    if report.pass_nothing:
        lines.append(
            f"{count(report.pass_nothing, 'case')} failed all answers, even the reference: is it a complete answer?"
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
