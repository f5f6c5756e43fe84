"""What a gate came to: its words, a result for each metric and variant, and the verdict on all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import field

from evenhand.analysis.comparison.comparison_results import Compared
from evenhand.analysis.summaries.variance_shares import PartShare
from evenhand.core.document import Key
from evenhand.core.record import Record
from evenhand.core.run import RunStatus
from evenhand.core.score import GateVerdict

GRAVEST: tuple[GateVerdict, ...] = ("worse", "nothing", "undecided", "not worse", "better")
"""From the gravest on."""
CHANGES = 100
"""So many changed cases of each result are listed."""


class Advice(Record, frozen=True, kw_only=True):
    """What would decide an undecided result at the least cost, as surely as `more_cases` do."""

    cases: Annotated[int, Key("more, for the baseline as well", "cases")]
    baseline_repeats: Annotated[int, Key("more of each case in the baseline", "repeats")] = 0
    run_repeats: Annotated[int, Key("more of each case in the run", "repeats")] = 0
    calls: Annotated[
        int, Key("about how many that takes, judges among them; 0 if none was asked", "calls")
    ]
    cost_usd: Annotated[
        float | None, Key("about what they cost", "US dollars", null="a price is not known")
    ]
    repeated: Annotated[
        bool, Key("whether some case has several repeats; if not, what repeats save isn't known")
    ] = False
    clusters: Annotated[
        bool, Key("whether cases belong together: then more cases means more clusters of them")
    ] = False
    of_sample: Annotated[
        bool,
        Key(
            "whether these are cases that a run of a sample left out: the baseline has them, and only the run asks"
        ),
    ] = False
    parts: Annotated[
        Sequence[PartShare], Key("what the uncertainty comes from; empty for fewer than 5 cases")
    ] = ()


class GateResult(Record, frozen=True, kw_only=True):
    """One metric of one variant.

    Attributes:
        variant: The variant, as the run's table names it.
        compared: What that rests on; None where there was nothing to compare.
        why: Why there was nothing, or why it is decided without a test; empty otherwise.
        more: About how many more cases, or clusters, would decide it; None where that is no advice.
        advice: What would decide it at the least cost; None where more cases are no advice.
        at_worst: How much worse it may be, at the level of the test: more than the margin unless it is not worse.
            None where nothing was tested.
        judged: Whether a judge gives it, so that it has pass rates beside its mean score.
        where: The file and line that its eval stands in, `path:line`; empty where that is not known.
        places: By case the place in the plan of its first trial that failed, or else of its first error, or else of
            its first trial.
        failed: By case the expectation that this trial failed, where the pass rate is worse.
    """

    metric: str
    variant: str
    verdict: GateVerdict
    compared: Compared | None = None
    why: str = ""
    more: int | None = None
    advice: Advice | None = None
    at_worst: float | None = None
    judged: bool = False
    where: str = ""
    places: Mapping[str, int] = field(default_factory=dict[str, int])
    failed: Mapping[str, str] = field(default_factory=dict[str, str])


class Stopping(Record, frozen=True, kw_only=True):
    """What became of a gate that was to run a part of its cases, or to stop as soon as it is decided."""

    stopped: Annotated[bool, Key("as above")]
    cases: Annotated[int, Key("that were looked at, one after the other", "cases")]
    of: Annotated[int, Key("that there are", "cases")]
    seed: Annotated[int, Key("of their order")] = 0
    open: Annotated[
        Sequence[str], Key("metrics that only all cases can decide: their scale isn't known")
    ] = ()
    sampled: Annotated[
        bool, Key("whether only a part of the cases was to be run (`--sample`, `--budget`)")
    ] = False
    looks: Annotated[
        int,
        Key(
            "how often it was to be looked at, which the intervals allow for; 0 without `--stop-when-decided`"
        ),
    ] = 0


class Gate(Record, frozen=True, kw_only=True):
    """What a gate came to.

    Attributes:
        results: One for each metric and variant.
        margin: How much worse is accepted.
        asked: Trials that were run.
        taken: Trials whose result was taken from the baseline.
        of: Trials that there are.
        cost_usd: What was spent; None where a price is not known.
        notes: What else there is to know, a line each.
        because: Why there is nothing to compare at all; empty where there is something.
        stopping: What became of it where it was to stop early; None where it was not.
        title: The run's; empty where there was no run.
        run: The run's id; empty where there was none.
        baseline: The baseline's file, as it was named; empty where that is not known.
        in_full: The names of the run's columns in full, in their order, by what the results call them.
    """

    results: tuple[GateResult, ...]
    margin: float
    asked: int = 0
    taken: int = 0
    of: int = 0
    cost_usd: float | None = 0.0
    status: RunStatus = "finished"
    notes: tuple[str, ...] = ()
    because: str = ""
    stopping: Stopping | None = None
    title: str = ""
    run: str = ""
    baseline: str = ""
    in_full: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> GateVerdict:
        """The gravest of its results. That of a run that did not finish is *undecided* at best."""
        words: set[GateVerdict] = {result.verdict for result in self.results}
        if self.because or not words or words == {"nothing"}:
            return "nothing"
        if self.status not in ("finished", "decided"):
            return "undecided"
        return next(word for word in GRAVEST if word in words)

    @property
    def never_passes(self) -> str:
        """Why an undecided gate can't count as a pass, in words; empty where too few cases are the only reason."""
        if self.status not in ("finished", "decided"):
            return "the run did not finish"
        undecided = [
            one.compared
            for one in self.results
            if one.verdict == "undecided" and one.compared is not None
        ]
        if any(one.open for one in undecided):
            return "errors could turn it"
        return "another judge judged it" if any(one.other_judge for one in undecided) else ""


def nothing(why: str, margin: float, baseline: str = "") -> Gate:
    """A gate that had nothing to compare."""
    return Gate(results=(), margin=margin, because=why, baseline=baseline)
