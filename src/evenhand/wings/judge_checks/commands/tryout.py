"""`evenhand calibrate --try`: variants of a run's judges on its labelled outputs."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evenhand.cli.session import Session
from evenhand.cli.streams import printing, say_json, tell
from evenhand.cli.study import Study, as_asked, ended, judges_asked, study_settings
from evenhand.cli.trusting import look_at_origin

if TYPE_CHECKING:
    from evenhand.core.run import RunMeta
    from evenhand.engine.door import Settings
    from evenhand.wings.judge_checks.commands.tryout_request import TryoutRequest


def try_variants(request: TryoutRequest, session: Session, *, dry_run: bool) -> int:
    """Asks variants of a run's judges about its labelled outputs, and prints what that came to.

    Args:
        dry_run: Only says what would be asked.
    """
    settings = study_settings(request.run.parent.parent, session, request.record())
    return _tried(request, settings, None, session, dry_run=dry_run)


def continue_tryout(meta: RunMeta, file: Path, session: Session) -> int:
    """Goes on with a tryout that is not finished, and prints what it came to.

    Args:
        meta: The tryout's own run.
        file: Its file.
    """
    from evenhand.wings.judge_checks.commands.tryout_request import TryoutRequest

    if meta.status == "finished":
        return report_tryout(file, as_json=session.as_json)
    look_at_origin(meta, trust=session.trust)
    settings = replace(study_settings(file.parent.parent, session, {}), record=meta.settings)
    return _tried(TryoutRequest.again(meta, file), settings, file, session)


def _tried(
    request: TryoutRequest,
    settings: Settings,
    file: Path | None,
    session: Session,
    *,
    dry_run: bool = False,
) -> int:
    with as_asked(request):
        plan = request.plan()
        if dry_run or (file is None and not request.offline):
            _estimate(request, quiet=not dry_run)
        if dry_run:
            return 0
        _refuse_keyless(request)
        finished = judges_asked(request, plan, settings, file, session)
    return ended(finished, report_tryout(finished.path, as_json=session.as_json), "tryout")


def _refuse_keyless(request: TryoutRequest) -> None:
    """Says which keys are missing, before anything is paid for."""
    from evenhand.core.errors import UsageError
    from evenhand.providers.catalog import key_missing
    from evenhand.providers.missing_keys import NO_KEY, set_key

    for variant, models in request.lineup():
        for model in models:
            if key := key_missing(model):
                raise UsageError(
                    f"--try: {variant.name}: {NO_KEY.format(model.id)}", hint=set_key(key)
                )


def _estimate(request: TryoutRequest, *, quiet: bool) -> None:
    """Prints about how much each variant asks, and what that costs.

    Args:
        quiet: Only the sum, to stderr.
    """
    from evenhand.core.wording.words import count, money, padded, safe
    from evenhand.store.runfile import RunFile
    from evenhand.wings.judge_checks.estimate import tryout_estimate
    from evenhand.wings.judge_checks.tryout_plan import labelled_judges

    calls, costs = 0, list[float | None]()
    lines: list[str] = []
    with RunFile.open(request.run) as run_file:
        for judge in labelled_judges(run_file, request.options.seed, request.options.metrics):
            lines.append(f"{safe(judge.metric)}: {count(len(judge.items), 'labelled output')}")
            for variant, models in request.lineup():
                number, cost = tryout_estimate(run_file, judge, variant, models)
                price = "price not known" if cost is None else f"about {money(cost)}"
                name = padded(safe(variant.name), 28)
                lines.append(f"  {name}  about {count(number, 'call')}, {price}")
                calls += number
                costs.append(cost)
    known = [cost for cost in costs if cost is not None]
    whole = money(sum(known)) if len(known) == len(costs) else "price not known"
    line = f"about {count(calls, 'call')} to judges, {whole}"
    if quiet:
        tell(line)
        return
    with printing():
        click.echo("\n".join([*lines, line]))


def report_tryout(file: Path, *, as_json: bool) -> int:
    """Prints what a tryout came to. It is no gate: whatever that is, the exit code is 0."""
    from evenhand.core.wording.words import count, money, put
    from evenhand.store.catalogue import called
    from evenhand.store.runfile import RunFile
    from evenhand.wings.judge_checks.tryout import tryout_of
    from evenhand.wings.judge_checks.tryout_lines import tryout_lines

    with RunFile.open(file) as run_file:
        tryout = tryout_of(run_file)
    if as_json:
        say_json(tryout.document())
    else:
        with printing():
            put(sys.stdout, "".join(f"{line}\n" for line in tryout_lines(tryout)))
            verdicts = {judge.verdict for judge in tryout.judges}
            following = f"evenhand view {called(Path.cwd(), file)}"
            if "no verdict" in verdicts and all(judge.complete for judge in tryout.judges):
                following = f"evenhand label {tryout.run} --draw 60"
            elif "confirmed" in verdicts:
                following = "name the winner as your judge, then evenhand run, label and calibrate"
            elif "not confirmed" in verdicts:
                following = f"evenhand label {tryout.run} --draw 60, and try again with more labels"
            tell(f"{count(tryout.calls, 'call')}, cost {money(tryout.cost_usd)}; next: {following}")
    return 0


def study(meta: RunMeta, file: Path) -> Study:
    """The tryout that an earlier session started."""
    from evenhand.wings.judge_checks.commands.tryout_request import TryoutRequest

    def came_to(file: Path, session: Session) -> int:
        return report_tryout(file, as_json=session.as_json)

    return Study("tryout", TryoutRequest.again(meta, file), came_to)
