"""Runs that ask about judges and not about a system: probes, checks of canaries, tryouts, and audits."""

from __future__ import annotations

from evenhand.core.errors import UsageError
from evenhand.core.run import PREPARES, RunMeta

WITH_CANARIES = "with_canaries"
"""The setting of a run whose judges are asked about canaries once it is over; `most` of it is how many of a metric."""


def is_probe(meta: RunMeta) -> bool:
    """Whether a run is a probe of another one."""
    return "probe" in meta.settings


def is_canary_check(meta: RunMeta) -> bool:
    """Whether a run asked judges about canaries."""
    return "canaries" in meta.settings


def is_tryout(meta: RunMeta) -> bool:
    """Whether a run tried variants of another one's judges."""
    return "tryout" in meta.settings


def is_audit(meta: RunMeta) -> bool:
    """Whether a run asked judges about the made answers of an audit."""
    return "audit" in meta.settings


def is_of_kinds(meta: RunMeta) -> bool:
    """Whether a model proposed kinds of failure in a run, or coded other runs' outputs by them."""
    return "failure_kinds" in meta.settings or "failure_proposal" in meta.settings


def refuse_judge_check(meta: RunMeta) -> None:
    """Raises an error for a run that asked about judges: none of its outputs is a system's answer.

    Raises:
        UsageError: The run is one of these.
    """
    if is_canary_check(meta):
        raise UsageError(f"run {meta.id} asked judges about canaries", hint="Name a run of evals.")
    if is_audit(meta):
        raise UsageError(
            f"run {meta.id} is of an audit, whose outputs are made", hint="Name a run of evals."
        )
    if PREPARES in meta.settings:
        raise UsageError(
            f"run {meta.id} found facts or wrote cases for a dataset", hint="Name a run of evals."
        )
    if is_of_kinds(meta):
        raise UsageError(
            f"run {meta.id} names or counts kinds of failure of other runs",
            hint="Name a run of evals.",
        )
    if is_tryout(meta):
        run = (meta.config.get("tryout") or {}).get("run")
        raise UsageError(
            f"run {meta.id} tried variants of the judges of run {run}",
            hint=f"Name the run itself: {run}",
        )
    if is_probe(meta):
        probed = (meta.config.get("probe") or {}).get("run")
        raise UsageError(
            f"run {meta.id} is a probe of run {probed}, whose outputs are attacks",
            hint=f"Name the run itself: {probed}",
        )
