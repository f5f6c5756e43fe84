"""`--batch`: asking in vendors' batches, at half price; on `run`, and on `resume` for a run that was started so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenhand.cli.grouped import OptionSet
from evenhand.cli.options import flag, number_option
from evenhand.cli.replaying import AGE
from evenhand.cli.streams import tell
from evenhand.core.errors import UsageError
from evenhand.core.ranges import BATCH_SIZE, SECONDS, WAVES

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.engine.batches.lane import BatchPolicy
    from evenhand.engine.door import Settings

batch_options = OptionSet(
    flag(
        "--detach",
        help="With --batch: end as soon as the batches are submitted (exit 6); `evenhand resume` collects them.",
    ),
    click.option(
        "--batch-until",
        type=AGE,
        metavar="AGE",
        help="Ask live what a batch has not answered after AGE, e.g. 6h.  [default: never]",
    ),
    number_option(
        "--batch-waves",
        within=WAVES,
        metavar="N",
        help="Stop when a trial would take more than N waves of batches.  [default: 8]",
    ),
    number_option(
        "--batch-size",
        within=BATCH_SIZE,
        metavar="N",
        help="Requests in a batch, at most.  [default: 2000]",
    ),
    number_option(
        "--batch-poll",
        within=SECONDS,
        metavar="SECONDS",
        help="Look at the batches every SECONDS.  [default: 5, and up to 60 with time]",
    ),
)
"""How batches are used; `policy_of` understands them."""

BATCHING = {
    "detach": "detach",
    "batch_until": "until_s",
    "batch_waves": "waves",
    "batch_size": "size",
    "batch_poll": "poll_s",
}
"""The parameters of these options, each with the field of a BatchPolicy that it sets."""


def policy_of(options: Mapping[str, Any], *, batch: bool) -> BatchPolicy | None:
    """How a new run uses batches; None where it does not.

    Raises:
        UsageError: It doesn't, and an option says how.
    """
    if not batch:
        for name in BATCHING:
            if options.get(name):
                raise UsageError(
                    f"--{name.replace('_', '-')} has no effect here",
                    hint="It goes with --batch, or with batch: true in a model's config.",
                )
        return None
    from evenhand.engine.batches.lane import BatchPolicy

    return BatchPolicy(**_chosen(options))


def _chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a BatchPolicy that a command's options set."""
    return {field: options[name] for name, field in BATCHING.items() if options.get(name)}


def with_marked(
    plan: Plan, settings: Settings, options: Mapping[str, Any], refusals: Mapping[str, object]
) -> Settings:
    """Settings of a run without `--batch`: models whose config says `batch: true` are asked in batches all the same.

    Args:
        plan: The plan, with the models that it names.
        settings: Without batches.
        options: The command's, which may say how batches are used.
        refusals: As `refuse_with_batches` takes them.

    Raises:
        UsageError: There is none, and an option says how; or there is one, and an option forbids it.
    """
    from evenhand.providers.chat import asks_for_batches

    marked = any(map(asks_for_batches, plan.providers))
    policy = policy_of(options, batch=marked)
    if policy is None:
        return settings
    refuse_with_batches(**refusals)
    # `resume` then knows that only marked models go in batches.
    policy = replace(policy, marked=True)
    record = {**settings.record, "batch": batch_record(policy)}
    return foresee(plan, replace(settings, batch=policy, record=record))


def refuse_with_batches(*, no_write: object, decides: object, replays: object) -> None:
    """Refuses what does not go together with batches.

    Args:
        no_write: Whether the run isn't saved.
        decides: The option that ends it early, if there is one.
        replays: What is replayed, if something is.

    Raises:
        UsageError: One of these is true.
    """
    for option, why in (
        ("--no-write" if no_write else "", "what batches answer is collected into the run's file"),
        (str(decides or ""), "all of a wave is asked at once"),
        ("--replay" if replays else "", "a replayed run asks nothing"),
    ):
        if option:
            raise UsageError(
                f"--batch and {option} don't go together: {why}",
                hint=f"Leave out {option}; or, if a file has batch = true or batch: true, add --no-batch.",
            )


def policy_again(options: Mapping[str, Any], record: object) -> BatchPolicy | None:
    """How a run that is gone on with uses batches: as it did, but for what is said now.

    Raises:
        UsageError: It doesn't, and an option says how.
    """
    if not isinstance(record, dict):
        return policy_of(options, batch=False)
    import msgspec

    from evenhand.engine.batches.lane import BatchPolicy

    return replace(msgspec.convert(record, BatchPolicy), **_chosen(options))


def foresee(plan: Plan, settings: Settings) -> Settings:
    """Says about how many waves a run will take, before anything is sent.

    Raises:
        UsageError: More than it may; or what its trials set up can be set up only once.
    """
    from evenhand.analysis.estimates.earlier_run import precedent_of, waves_in_words
    from evenhand.analysis.estimates.half_price import batch_shares, foreseen_waves
    from evenhand.core.wording.words import short_id
    from evenhand.engine.door import look_at_set_up
    from evenhand.store.run_lookup import home_for

    assert settings.batch is not None  # noqa: S101 (called for these alone)
    look_at_set_up(plan)
    estimates = plan.estimate()
    home = settings.home or home_for(Path(plan.source))
    precedent = None if estimates else precedent_of(plan, home)
    shares = batch_shares(plan, marked=settings.batch.marked)
    waves = foreseen_waves(plan, estimates, precedent, shares)
    by_run = f", going by run {short_id(precedent.run)}" if precedent is not None else ""
    if waves > settings.batch.waves:
        raise UsageError(
            f"with --batch, it would take {waves_in_words(waves)}{by_run}; {settings.batch.waves} may be taken",
            hint="An agent of many turns is faster without --batch. "
            f"To ask in batches all the same: --batch-waves {waves}.",
        )
    if waves:
        tell(f"{waves_in_words(waves)}{by_run}")
    return settings


def batch_record(policy: BatchPolicy) -> dict[str, object]:
    """What the run's file keeps of that, as `batch`."""
    # Not `detach`: who resumes says anew whether to wait.
    return {**asdict(policy), "detach": False}
