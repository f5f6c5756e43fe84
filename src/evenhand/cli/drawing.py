"""`evenhand run --sample N --baseline FILE`: runs the cases that were drawn, and predicts the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from evenhand.cli.streams import tell
from evenhand.core.errors import UsageError
from evenhand.core.malformed import shape_fault
from evenhand.core.record import Record
from evenhand.core.wording.words import near

if TYPE_CHECKING:
    from evenhand.core.plan import Plan
    from evenhand.engine.door import Settings

DRAWN = "drawn"
"""Under this key a run's settings have it."""

AGAIN = "Run it again: answers that the cache has are not paid for twice."
DRAWING = ("predicted_from", "sample", "budget")
"""The parameters that say something of it."""
ALONE = (
    "--sample without --baseline: the pass rate and the verdict are about the drawn cases alone;"
    " with --baseline FILE the others are predicted, and both are about all cases"
)


class Drawing(Record, frozen=True, kw_only=True):
    """A run of a part of the cases, of which the others are predicted.

    Attributes:
        baseline: The file that predicts them, with its whole path.
        seed: Of the draw.
        sample: Run so many cases, in all; None for as many as the budget pays for.
        budget_usd: What they may cost by the baseline's costs; None where it says how many.
        digest: The baseline's, once it has been read.
    """

    baseline: str
    seed: int
    sample: int | None = None
    budget_usd: float | None = None
    digest: str = ""

    @staticmethod
    def of(options: Mapping[str, Any], *, decides: bool, shard: str) -> Drawing | None:
        """What the options ask for; None where all cases are run, or a part by itself.

        Args:
            options: Those of the command.
            decides: Whether the run stops as soon as it is decided.
            shard: The part that is run here; empty for all.

        Raises:
            UsageError: They don't go together.
        """
        file, sample, budget = options["predicted_from"], options["sample"], options["budget"]
        refuse_both(sample, budget)
        if file is None:
            if budget is not None:
                raise UsageError(
                    "--budget needs --baseline: it says what cases cost, and predicts those that aren't run",
                    hint="Name one: --baseline FILE. `evenhand baseline RUN --to FILE` makes it.",
                )
            if sample is not None and options["at_least"] is not None:
                tell(ALONE)
            return None
        if sample is None and budget is None:
            raise UsageError(
                "--baseline has no effect here: all cases are run",
                hint="Add --sample N to run a part and predict the others; `evenhand gate` compares with a baseline.",
            )
        for option, present in (("--stop-when-decided", decides), ("--shard", shard)):
            if present:
                raise UsageError(
                    f"--sample with --baseline and {option} don't go together",
                    hint="Leave one of them out.",
                )
        return Drawing(
            baseline=str(Path(file).absolute()),
            seed=int(options["seed"] or 0),
            sample=None if sample is None else int(sample),
            budget_usd=budget,
        )

    def record(self) -> Mapping[str, Any]:
        """For the run's file."""
        return {DRAWN: msgspec.to_builtins(self)}


def refuse_both(sample: object, budget: object) -> None:
    """Refuses two options that say how many cases to run."""
    if sample is not None and budget is not None:
        raise UsageError(
            "--sample and --budget both say how many cases to run", hint="Give one of them."
        )


def with_drawing(plan: Plan, settings: Settings) -> Settings:
    """Settings that end the run after the cases that were drawn.

    Raises:
        UsageError: The baseline can't be read, or has changed since the run began; there is no pass rate to reach.
        NothingSelected: The baseline has nothing in common with what is run.
    """
    from evenhand.analysis.gates.baseline_file import read_baseline
    from evenhand.analysis.gates.sampled_pass_rates import SampleDecider
    from evenhand.cli.gating import look_at_plan, sample_for
    from evenhand.engine.door import requirements

    try:
        drawing = msgspec.convert(settings.record[DRAWN], Drawing)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"the run cannot be resumed: what it was drawn by is damaged: {shape_fault(error)}",
            hint=AGAIN,
        ) from error
    baseline = read_baseline(Path(drawing.baseline))
    if drawing.digest and drawing.digest != baseline.header.digest:
        raise UsageError(
            f"the run cannot be resumed: {near(drawing.baseline)} has changed since it began",
            hint=AGAIN,
        )
    look_at_plan(baseline, drawing.baseline, plan)
    if drawing.sample is None:
        sample = sample_for(baseline, drawing.baseline, plan, drawing.budget_usd or 0.0)
        drawing = replace(drawing, sample=sample)
    decider = SampleDecider(
        baseline,
        plan,
        requirements(plan, settings),
        seed=drawing.seed,
        sample=drawing.sample or 1,
    )
    if decider.hint:
        tell(decider.hint)
    record = {**settings.record, **replace(drawing, digest=baseline.header.digest).record()}
    return replace(settings, record=record, decider=decider if decider.sampled else None)
