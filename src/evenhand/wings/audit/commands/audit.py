"""`evenhand audit`: gives cases made answers that must fail, and says which get through."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from evenhand.cli.batching import batch_options, batch_record, foresee, policy_of
from evenhand.cli.completing import complete_paths
from evenhand.cli.numbers import Number
from evenhand.cli.session import Session
from evenhand.cli.streams import printing, say_json, tell
from evenhand.cli.study import Study, ended, judges_asked, study_options, study_settings
from evenhand.core.ranges import ROWS, Range

if TYPE_CHECKING:
    from evenhand.core.run import RunMeta
    from evenhand.wings.audit.commands.audit_request import AuditRequest
    from evenhand.wings.audit.report import AuditReport

SHARE = Range(0, 1)


@click.command(short_help="Say which cases can't fail, with made answers.")
@click.argument("paths", nargs=-1, metavar="[PATH[:LINE]]...", shell_complete=complete_paths)
@click.option(
    "--at-least",
    type=Number(SHARE),
    metavar="SHARE",
    help="Exit with 1 if fewer of the answers that must fail are killed, from 0 to 1.",
)
@click.option(
    "-n",
    "--first",
    type=Number(ROWS),
    metavar="N",
    help="Audit only the first N cases of each eval set, prompt or config.",
)
@click.option(
    "--judges",
    is_flag=True,
    help="Ask judges, too; --max-cost, --batch and --offline mean that as well.  [default: judges aren't asked]",
)
@click.option(
    "--against",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Look for twins of the cases in this dataset: the other part of a split. May be repeated.",
)
@click.option("--offline", is_flag=True, help="Answer judges from the folder's offline.jsonl.")
@click.option(
    "--batch",
    is_flag=True,
    help="Ask judges in batches, at half price: answers may take a day.",
)
@batch_options
@study_options
def audit(
    paths: tuple[str, ...],
    at_least: float | None,
    first: float | None,
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
    from evenhand.wings.audit.commands.audit_request import AuditRequest

    policy = policy_of(options, batch=batch and not offline)
    session = Session.of({**options, "no_table": True})
    request = AuditRequest.of(
        paths,
        at_least,
        tuple(str(one.absolute()) for one in against),
        offline=offline,
        first=None if first is None else int(first),
    )
    judges = judges or offline or batch or session.max_cost is not None
    with request.ready(judges=judges):
        if not judges:
            return _with_problems(printed(request.report(), session), request)
        plan = request.plan()
        if not plan.size:
            return _with_problems(printed(request.report(), session), request)
        from evenhand.core.wording.words import count
        from evenhand.store.catalogue import home_for

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
    from evenhand.core.wording.words import put
    from evenhand.wings.audit.audit_lines import audit_lines

    # Prompts, errors and answers repeat what the environment put into them; a run's file is written without it, too.
    known.learn_environment(os.environ)
    if session.as_json:
        say_json(known.inside(report.document()))
    else:
        with printing():
            put(sys.stdout, "".join(f"{known.text(line)}\n" for line in audit_lines(report)))
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
