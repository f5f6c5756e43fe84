"""`evenhand run`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from evenhand.cli.batching import (
    BATCHING,
    batch_options,
    batch_record,
    policy_of,
    refuse_with_batches,
    with_marked,
)
from evenhand.cli.completing import complete_paths
from evenhand.cli.drawing import DRAWING, Drawing
from evenhand.cli.fleet_options import fleet_options
from evenhand.cli.grouped import GroupedCommand
from evenhand.cli.options import flag, number_option, repeatable, text_option
from evenhand.cli.replaying import REPLAYING, ReplayRequest, replaying_options, with_replay
from evenhand.cli.run_and_report import canaries as canaries_of_run
from evenhand.cli.run_and_report import run_asked
from evenhand.cli.selecting import answering, asked_for, selecting, stop_when_decided
from evenhand.cli.session import Session, session_options, settings_for
from evenhand.cli.streams import tell
from evenhand.cli.trusting import trust_option
from evenhand.core.errors import NothingSelected, UsageError
from evenhand.core.ranges import BUDGET_USD, CANARIES, SHARE
from evenhand.core.shard import Shard

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.core.shard import Shard
    from evenhand.engine.door import Settings


@click.command(cls=GroupedCommand, short_help="Run prompts × models × tests, and say what passed.")
@click.argument("paths", nargs=-1, metavar="[PATH[:LINE]]...", shell_complete=complete_paths)
@selecting
@answering
@repeatable(
    "-o",
    "--output",
    "outputs",
    metavar="FILE",
    help="Also write the results to FILE. Its extension sets the format.",
)
@flag("--no-write", help="Don't save this run.")
@text_option(
    "--shard",
    metavar="I/N",
    help="Run part I of N of the cases, on one of N machines; `evenhand runs merge` merges the parts.",
)
@flag("--no-share", expose_value=False, hidden=True)  # promptfoo's: nothing is
@flag(
    "--fail-on-empty", help="Exit with 5 if no case is selected, even with --promptfoo-exit-codes."
)
@flag("--retry-errors", help="Retry the errors of the latest run, like `evenhand resume --errors`.")
@text_option(
    "--resume",
    "resumed",
    is_flag=False,
    flag_value="latest",
    metavar="[RUN]",
    help="Resume RUN (default: the latest), like `evenhand resume`.",
)
@number_option(
    "--at-least",
    within=SHARE,
    metavar="SHARE",
    help="Pass if this share of trials, 0 to 1, passes for each variant. Not for prompt directories."
    "  [default: as the files say, or all]",
)
@click.option(
    "--baseline",
    "predicted_from",
    metavar="FILE",
    help="With --sample or --budget: predict the cases that aren't run from FILE, as `evenhand baseline` wrote it.",
)
@number_option(
    "--budget",
    within=BUDGET_USD,
    metavar="USD",
    help="Run as many cases as cost USD by the baseline's costs, like --sample.",
)
@click.option(
    "--calibrated",
    type=click.Choice(["required", "accepted"]),
    metavar="required|accepted",
    help="required: no verdict (exit 3) while a judge has no fresh calibration. accepted: a verdict, with a note."
    "  [default: as pyproject.toml says]",
)
@number_option(
    "--canaries",
    within=CANARIES,
    metavar="N",
    help="Then ask the judges about up to N canaries for each metric.  [default: as pyproject.toml says, or none]",
)
@flag("--record", "record_anew", help="Eval sets: ask, and record their cassettes again.")
@click.option(
    "--record-calls/--no-record-calls",
    default=None,
    help="Record the model calls of all HTTP clients of your code.  [default: in eval sets]",
)
@click.option(
    "--batch/--no-batch",
    default=None,
    help="Ask in batches, at half price: answers may take a day. Only OpenAI, Anthropic, Gemini and Mistral.",
)
@batch_options
@stop_when_decided
@fleet_options
@replaying_options
@trust_option
@session_options
def run(
    paths: tuple[str, ...],
    no_write: bool,
    shard: str,
    retry_errors: bool,
    resumed: str,
    calibrated: str | None,
    canaries: float | None,
    stop_when_decided: bool,
    batch: bool | None,
    **options: Any,
) -> int:
    """Run a folder's prompts × models × tests, its eval sets, or its prompt directories.

    PATH is a folder with a promptfooconfig.yaml, or that file; an eval file (*_evals.py), one eval in it (FILE:LINE),
    or a folder of eval files; or a prompt directory (prompts/ID). Several eval files or prompt directories are run
    together. Default: the current folder.

    Every reply is saved as soon as it arrives. After Ctrl-C or a crash, `evenhand resume` continues the run without
    paying again for replies that it has.
    """
    from evenhand.languages.documents.project import project_for

    session = Session.of(options)
    replays = any(options[name] is not None for name in REPLAYING)
    request = ReplayRequest.of(options) if replays else None
    if retry_errors or resumed:
        from evenhand.cli.resume import gone_on, redone

        return (redone if retry_errors else gone_on)(resumed or None, session, batching=options)
    if session.trust:
        raise UsageError(
            "--trust has no effect here", hint="It goes with --resume and --retry-errors."
        )
    drawing = None
    if any(options[name] is not None for name in DRAWING):
        drawing = Drawing.of(options, decides=stop_when_decided, shard=shard)
    run_request = asked_for(paths, {**options, "sample": None} if drawing else options)
    project = project_for(run_request.folder)
    decides = "--sample with --baseline" if drawing else "--stop-when-decided" * stop_when_decided
    refusals = {"no_write": no_write, "decides": decides, "replays": request}
    by_models = None
    if batch is None:  # what asks nobody needs no batches, whatever the project and its models say
        asks = not request and not run_request.offline
        batch = project.batch and asks
        by_models = (
            partial(_by_models, options=options, refusals=refusals) if asks and not batch else None
        )
    policy = None
    if by_models is None and (batch or any(map(options.get, BATCHING))):
        policy = policy_of(options, batch=batch)
        refuse_with_batches(**refusals)
    calibrated = calibrated or project.calibrated
    record: dict[str, object] = {"calibrated": calibrated} if calibrated else {}
    record |= _canaries(canaries, project.canaries, replays=bool(request), saved=not no_write)
    if stop_when_decided:
        record["stop_when_decided"] = run_request.selection.seed
    record |= drawing.record() if drawing is not None else {}
    if policy is not None:
        record["batch"] = batch_record(policy)
    if no_write:
        record["no_write"] = True
    part = _part(shard, decides=stop_when_decided) if shard else None
    # The temporary home has to outlive the recordings: it is left last.
    with _home(no_write) as home, contextlib.ExitStack() as opened:
        replay = opened.enter_context(request.opened()) if request else None
        if replay is not None and request is not None:
            run_request = with_replay(run_request, replay.header, asks=request.asks)
        settings = replace(
            settings_for(run_request, session, home, **record), batch=policy, shard=part
        )
        if replay is not None and request is not None:
            settings = replace(settings, replay=replay, replay_asks=request.asks)
        try:
            return run_asked(run_request, settings, None, session, step=by_models)
        except NothingSelected as error:
            nothing = error.unwritten(session.outputs)
            if not session.promptfoo_exit_codes or session.fail_on_empty:
                raise nothing from None
            tell(str(nothing))
            return 0


def _canaries(
    count: float | None, project: int | None, *, replays: bool, saved: bool
) -> Mapping[str, object]:
    """What a run's file keeps of the canaries that its judges are asked about afterwards."""
    from evenhand.core.errors import UsageError

    if not replays:
        return canaries_of_run().record_of(count, project, saved=saved) if count or project else {}
    if count:  # a replay asks nobody
        raise UsageError("--canaries has no effect with --replay", hint="A replay asks no judge.")
    return {}


def _part(text: str, *, decides: bool) -> Shard:
    """The part of the plan that `--shard` names."""
    part = Shard.of(text)
    if decides:
        raise UsageError(
            "--shard and --stop-when-decided do not go together: a shard alone cannot decide for all",
            hint="Leave one of them out.",
        )
    return part


def _by_models(
    plan: Plan, settings: Settings, options: Mapping[str, Any], refusals: Mapping[str, object]
) -> Settings:
    """Settings of a run without `--batch`: a model's config may ask for batches, and options may say how."""
    if any(provider.paid for provider in plan.providers) or any(map(options.get, BATCHING)):
        return with_marked(plan, settings, options, refusals)
    return settings


@contextlib.contextmanager
def _home(no_write: bool) -> Iterator[Path | None]:
    """Where the run is kept: as always, or in a folder that is gone afterwards."""
    if not no_write:
        yield None
        return
    from evenhand.core.scratch import ScratchFolder

    with ScratchFolder("run") as folder:
        yield Path(folder)
