"""What variants of a judge came to: which agrees with people more often than today's judge, and whether it holds.

One half of the labelled outputs chooses a variant, the other half compares it once with today's judge (see
`stats.multiple`). A judge that gave no verdict is an error, which is no disagreement: rates and differences leave it
out, their intervals and what is confirmed hold for whatever it would have been.

The record of a tryout is kept in the tryout's own file, so that labels which come later change nothing in it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import field

from evenhand.analysis.trust.agreement import share_of
from evenhand.analysis.trust.calibration import estimate_row
from evenhand.core.document import Key, as_object, filled
from evenhand.core.record import MutableRecord, Record
from evenhand.core.run import RunMeta
from evenhand.stats.correction import Estimate, replaced_share
from evenhand.stats.design_effect import share_effect
from evenhand.stats.extremes import certain
from evenhand.stats.interval import z_of
from evenhand.stats.multiple import Half, confirmed, corrected, holm, winner
from evenhand.stats.paired_difference import Differences, Word, verdict

SCHEMA = "evenhand.tryout/1"
FEWEST = 60
"""Labels below which there is no verdict: a half of fewer than 30 decides nothing."""

TryoutVerdict = Literal["confirmed", "not confirmed", "no variant is better", "no verdict"]
Verdicts = Mapping[int, bool | None]
"""Of each labelled output, by its place in the run, whether the judge passes it; None for an error."""


class TryoutSetting(Record, frozen=True, kw_only=True):
    """What `evenhand.tryout/1` says of a setting."""

    name: Annotated[str, Key("the variant's name")]
    models: Annotated[list[str], Key("the ids of its models; empty for today's")]
    repeats: Annotated[int, Key("how many votes each has", "votes")]
    prompt: Annotated[str, Key("its prompt; empty for today's")]
    criteria: Annotated[str, Key("its criteria; empty for today's")]


class TryoutComparison(Record, frozen=True, kw_only=True):
    """What `evenhand.tryout/1` says of a comparison."""

    difference: Annotated[
        dict[str, Any] | None,
        Key(
            "how much more often it agrees with people than today's judge",
            "−1 to 1",
            null="no verdicts",
        ),
    ]
    p: Annotated[float, Key("how likely such a difference is if there is none", "0 to 1")]
    verdict: Annotated[str, Key("`better`, `worse`, `no detectable difference` or `undecided`")]
    smallest: Annotated[
        float | None,
        Key(
            "the smallest true difference that so many outputs show four times in five",
            "0 to 1",
            null="so many outputs can show none",
        ),
    ]


class TriedCascade(Record, frozen=True, kw_only=True):
    """How a cascade shared out the labelled outputs, by limits that the half that chooses says."""

    risk: Annotated[float, Key("the share of verdicts that stand which may be wrong", "0 to 1")]
    first: Annotated[
        float | None,
        Key("how sure the first judge has to be", "0 to 1", null="it decides nothing"),
    ]
    then: Annotated[
        float | None, Key("how sure the second one has to be", "0 to 1", null="it decides nothing")
    ]
    decided_first: Annotated[int, Key("that the first judge decides", "outputs")]
    decided_then: Annotated[int, Key("that the second one decides", "outputs")]
    people: Annotated[int, Key("that are left for people: it gives no verdict on them", "outputs")]


class TryoutToday(Record, frozen=True, kw_only=True):
    """What `evenhand.tryout/1` says of the judge as it is."""

    name: Annotated[str, Key("its name; `today` is the judge as it is")]
    agrees: Annotated[
        dict[str, Any] | None,
        Key("the share of its verdicts that are people's", "0 to 1", null="no verdicts"),
    ]
    tpr: Annotated[
        dict[str, Any] | None,
        Key(
            "of the outputs that people pass, the share that it passes",
            "0 to 1",
            null="people passed none",
        ),
    ]
    tnr: Annotated[
        dict[str, Any] | None,
        Key(
            "of the outputs that people fail, the share that it fails",
            "0 to 1",
            null="people failed none",
        ),
    ]
    half_width: Annotated[
        float | None,
        Key(
            "about how far a corrected rate can be off with these labels if it judged many outputs",
            "0 to 1",
            null="its verdicts or people's are all alike",
        ),
    ]
    errors: Annotated[int, Key("outputs that it gave no verdict on", "outputs")]
    per_verdict_usd: Annotated[
        float | None,
        Key(
            "what one verdict cost",
            "US dollars",
            null="a price isn't known; of a variant also where the cache had all answers of a model",
        ),
    ]


class TryoutVariant(TryoutToday, frozen=True, kw_only=True):
    """What `evenhand.tryout/1` says of a variant: the numbers of the judge as it is, and how they compare."""

    cascade: Annotated[
        TriedCascade | None,
        Key(
            "how its judges share out the outputs",
            null="it is no cascade, or labels choose no limits: its second judge decides all",
        ),
    ]
    choosing: Annotated[
        TryoutComparison,
        Key(
            "it beside today's judge on the half that chooses; `p` is corrected for the number of variants"
        ),
    ]


class TryoutJudge(Record, frozen=True, kw_only=True):
    """What `evenhand.tryout/1` says of a judge."""

    metric: Annotated[str, Key("the metric, or the expectation where it has none")]
    model: Annotated[
        str, Key("the judge, as its answers in the run named it; members of a jury joined by `+`")
    ]
    labels: Annotated[int, Key("labelled outputs that count", "outputs")]
    choosing: Annotated[int, Key("how many of them choose the winner", "outputs")]
    confirming: Annotated[int, Key("how many of them confirm it", "outputs")]
    verdict: Annotated[
        str, Key("`confirmed`, `not confirmed`, `no variant is better` or `no verdict`")
    ]
    winner: Annotated[
        str | None, Key("the variant that is ahead on the half that chooses", null="none is ahead")
    ]
    confirmation: Annotated[
        TryoutComparison | None, Key("the winner on the half that confirms", null="none is ahead")
    ]
    today: Annotated[TryoutToday, Key("the judge as it is, by its verdicts in the run")]
    variants: Annotated[
        list[TryoutVariant],
        Key("its variants; panels once more with their votes weighted by labels"),
    ]


class TryoutDocument(Record, frozen=True, kw_only=True):
    """The document, `evenhand.tryout/1`."""

    schema: Annotated[str, Key("`evenhand.tryout/1`")]
    run: Annotated[str, Key("the id of the run whose labels are used")]
    tryout: Annotated[str, Key("the id of the tryout, which is a run of its own")]
    seed: Annotated[int, Key("divides the labelled outputs into halves")]
    tried: Annotated[list[TryoutSetting], Key("what each variant changes")]
    judges: Annotated[list[TryoutJudge], Key("one for each judged metric and judge with labels")]
    calls: Annotated[int, Key("calls to judges, including answers from the cache", "calls")]
    cost_usd: Annotated[
        float | None,
        Key(
            "what they cost; answers from the cache cost nothing",
            "US dollars",
            null="a price isn't known",
        ),
    ]


class Tried(Record, frozen=True):
    """One variant of a judge beside people, or today's judge.

    Attributes:
        items: The labelled outputs.
        verdicts: What it made of them. An output that it wasn't asked about yet is not in it.
        per_verdict_usd: What one verdict cost; None where that is not known.
        cascade: How the judges of a cascade share out the outputs; None for one judge, and without limits.
    """

    name: str
    items: tuple[TriedItem, ...]
    verdicts: Verdicts
    per_verdict_usd: float | None
    cascade: TriedCascade | None = None

    @property
    def errors(self) -> int:
        """How many outputs it gave no verdict on."""
        return sum(verdict is None for verdict in self.verdicts.values())

    @property
    def agrees(self) -> Estimate | None:
        """The share of its verdicts that are people's; None for no verdict."""
        return self.share(self.items)

    @property
    def tpr(self) -> Estimate | None:
        """Of the outputs that people pass, the share that it passes; None where they pass none."""
        return self.share([item for item in self.items if item.people])

    @property
    def tnr(self) -> Estimate | None:
        """Of the outputs that people fail, the share that it fails; None where they fail none."""
        return self.share([item for item in self.items if not item.people])

    @property
    def half_width(self) -> float | None:
        """About how far a corrected rate can be off with these labels if it judged many outputs, from 0 to 1.

        None where its verdicts or people's are all alike. Source: the variance of PPI++ with its best λ,
        arXiv:2311.01453, for many more outputs than labels.
        """
        judged = [item for item in self.items if self.verdicts.get(item.index) is not None]
        pairs = [(float(item.people), float(self.verdicts[item.index] or False)) for item in judged]
        rho2 = replaced_share(pairs)
        if rho2 is None:
            return None
        people = (sum(passed for passed, _ in pairs) + 1) / (len(pairs) + 2)  # never 0 or 1
        effect = share_effect([(item.unit, item.people) for item in judged])
        return z_of() * math.sqrt(people * (1 - people) / len(pairs) * (1 - rho2) * effect)

    def share(self, items: Sequence[TriedItem]) -> Estimate | None:
        """The share of its verdicts on these that are people's, with its exact interval whatever errors could be.

        Outputs of a case or cluster go together.
        """
        answered = [item for item in items if item.index in self.verdicts]
        judged = [item for item in answered if self.verdicts[item.index] is not None]
        if not judged:
            return None
        right = sum(self.verdicts[item.index] is item.people for item in judged)
        # An error counts as a disagreement in the lower bound and as an agreement in the upper one.
        at_worst = share_of([(i.unit, self.verdicts[i.index] is i.people) for i in answered])
        at_best = share_of([(i.unit, self.verdicts[i.index] in (i.people, None)) for i in answered])
        return Estimate(right / len(judged), at_worst.low, at_best.high)

    def against(self, today: Tried, half: str) -> Half:
        """How much more often it agrees with people than today's judge, on one half of the outputs."""
        spreads: defaultdict[str, list[float]] = defaultdict(list)
        at_worst: defaultdict[str, list[float]] = defaultdict(list)
        for item in self.items:
            if item.half != half or item.index not in self.verdicts:
                continue
            mine, before = self.verdicts[item.index], today.verdicts[item.index] is item.people
            if mine is not None:
                spreads[item.unit].append(float(mine is item.people) - before)
            # An error counts as a disagreement here, so that errors cannot make a variant look better.
            at_worst[item.unit].append(float(mine is item.people) - before)
        return Half(
            Differences(list(spreads.values()), rates=True),
            Differences(list(at_worst.values()), rates=True),
        )

    def silent(self, half: str) -> int:
        """On how many outputs of a half it gave no verdict."""
        return sum(
            item.half == half and item.index in self.verdicts and self.verdicts[item.index] is None
            for item in self.items
        )

    def could_be_ahead(self, today: Tried, half: str) -> bool:
        """Whether missing verdicts, had they been people's, would put the variant ahead of today's judge on a half."""
        units: defaultdict[str, list[float]] = defaultdict(list)
        for item in self.items:
            if item.half == half and item.index in self.verdicts:
                agrees = self.verdicts[item.index] in (item.people, None)
                units[item.unit].append(float(agrees) - (today.verdicts[item.index] is item.people))
        return math.fsum(map(fmean, units.values())) > 0


class Comparison(Record, frozen=True):
    """A variant compared with today's judge on one half.

    Attributes:
        difference: How much more often it agrees with people, a share; None for no verdicts.
        p: The p-value that there is no difference, corrected for the number of comparisons.
        smallest: The smallest true difference that so many outputs show four times in five; None where they show none.
    """

    difference: Estimate | None
    p: float
    word: Word
    smallest: float | None

    def row(self) -> TryoutComparison:
        """The comparison in the keys of `evenhand.tryout/1`."""
        return TryoutComparison(
            difference=estimate_row(self.difference),
            p=self.p,
            verdict=self.word,
            smallest=self.smallest,
        )


class JudgeTryout(MutableRecord, kw_only=True):
    """What the variants of one judge under one metric came to.

    Attributes:
        judge: The judge, with its labelled outputs.
        variants: Its variants, panels weighted by labels among them.
        choosing: Each of them on the half that chooses.
        best: The place of the winner among the variants; None where none is ahead.
        confirmation: The winner on the half that confirms; None without one.
        confirmed: Whether it is better there, too.
    """

    judge: TriedJudge
    today: Tried
    variants: list[Tried]
    choosing: list[Comparison] = field(default_factory=list[Comparison])
    best: int | None = None
    confirmation: Comparison | None = None
    confirmed: bool = False

    @property
    def labels(self) -> int:
        """How many labelled outputs there are."""
        return len(self.judge.items)

    @property
    def enough(self) -> bool:
        """Whether there are enough labels for a verdict."""
        return self.labels >= FEWEST

    @property
    def complete(self) -> bool:
        """Whether all variants were asked about all outputs."""
        return all(len(one.verdicts) == self.labels for one in self.variants)

    @property
    def open(self) -> list[Tried]:
        """Where none is ahead on the half that chooses, those that could be: they gave no verdict on some of it."""
        if self.best is not None:
            return []
        return [
            one
            for one in self.variants
            if one.silent(CHOOSING) and one.could_be_ahead(self.today, CHOOSING)
        ]

    def size(self, half: str) -> int:
        """How many outputs a half has."""
        return sum(item.half == half for item in self.judge.items)

    @property
    def winner(self) -> Tried | None:
        """The variant that is ahead on the half that chooses."""
        return None if self.best is None else self.variants[self.best]

    @property
    def verdict(self) -> TryoutVerdict:
        """The verdict on the judge's variants."""
        if not self.enough or not self.complete or self.open:
            return "no verdict"
        if self.best is None:
            return "no variant is better"
        return "confirmed" if self.confirmed else "not confirmed"

    def row(self) -> TryoutJudge:
        """The judge's tryout in the keys of `evenhand.tryout/1`."""
        return TryoutJudge(
            metric=self.judge.metric,
            model=self.judge.model,
            labels=self.labels,
            choosing=self.size(CHOOSING),
            confirming=self.size(CONFIRMING),
            verdict=self.verdict,
            winner=self.winner and self.winner.name,
            confirmation=self.confirmation and self.confirmation.row(),
            today=filled(TryoutToday, self.today, **_rates(self.today)),
            variants=[
                filled(TryoutVariant, one, **_rates(one), choosing=comparison.row())
                for one, comparison in zip(self.variants, self.choosing, strict=True)
            ],
        )


class Tryout(Record, frozen=True, kw_only=True):
    """What a tryout came to.

    Attributes:
        run: The id of the run whose judges were tried.
        tryout: The id of the tryout's own run.
        seed: Divided the outputs into halves.
        variants: What each variant changes.
        judges: One for each judged metric and judge with labels.
        calls: Calls to judges, answers from the cache included.
        cost_usd: What they cost; None where a price is not known.
    """

    run: str
    tryout: str
    seed: int
    variants: tuple[Mapping[str, Any], ...]
    judges: tuple[JudgeTryout, ...]
    calls: int
    cost_usd: float | None

    def document(self) -> dict[str, Any]:
        """The tryout as a JSON-ready dict, `evenhand.tryout/1`."""
        return as_object(
            filled(
                TryoutDocument,
                self,
                schema=SCHEMA,
                tried=[TryoutSetting(**variant) for variant in self.variants],
                judges=[judge.row() for judge in self.judges],
            )
        )


def decide(judges: Sequence[JudgeTryout]) -> None:
    """Chooses a winner for each judge, and compares it with today's. P-values are corrected over all judges."""
    halves = [[one.against(judge.today, CHOOSING) for one in judge.variants] for judge in judges]
    p = iter(corrected([half for of_judge in halves for half in of_judge]))
    for judge, of_judge in zip(judges, halves, strict=True):
        judge.choosing = [_comparison(half, next(p)) for half in of_judge]
        judge.best = winner(of_judge)
    won = [
        (judge, judge.winner.against(judge.today, CONFIRMING)) for judge in judges if judge.winner
    ]
    levels = holm([half.differences.p() for _, half in won])
    at_worst = holm([half.at_worst.p() for _, half in won])
    for (judge, half), p_seen, p_at_worst in zip(won, levels, at_worst, strict=True):
        judge.confirmation = _comparison(half, p_seen)
        judge.confirmed = confirmed(half, p_seen, p_at_worst)


def _comparison(half: Half, p: float) -> Comparison:
    differences = half.differences
    mean = differences.mean
    word = verdict(differences, p)
    low, high, p = certain(differences).agreeing(p)
    difference = None if mean is None else Estimate(mean, low, high)
    return Comparison(difference, p, word, differences.smallest())


def _rates(one: Tried) -> dict[str, Any]:
    return {name: estimate_row(getattr(one, name)) for name in ("agrees", "tpr", "tnr")}


CHOOSING, CONFIRMING = "choosing", "confirming"
KEY = "tryout"
TODAY = "today"
"""The judge as it is: no variant has this name."""
WEIGHTED = ", weighted by labels"
"""What the name of a panel whose votes are weighted ends with: no variant's own name does."""


class TriedItem(Record, frozen=True, kw_only=True):
    """A labelled output.

    Attributes:
        index: The trial's place in the run's plan.
        case: The case's id.
        cluster: A name of what the case belongs to; empty where it stands alone.
        half: Whether it chooses or confirms.
        people: Whether most people pass it.
        today: Whether today's judge passes it.
        votes: Of today's judge, if it is a jury: what its members voted; see `Ballot`.
    """

    index: int
    case: str
    cluster: str = ""
    half: str
    people: bool
    today: bool
    votes: Mapping[str, float]

    @property
    def unit(self) -> str:
        """What is independent of others: the cluster, or the case alone."""
        return self.cluster or self.case

    @property
    def name(self) -> str:
        """What the output is called as a case of the tryout."""
        return f"{self.case}@{self.index}"


class TriedJudge(Record, frozen=True):
    """A judge under a metric, whose variants are tried.

    Attributes:
        model: The judge, as its answers in the run named it.
        per_verdict_usd: What one verdict of it cost; None where that is not known.
        items: The labelled outputs, in the run's order.
    """

    metric: str
    model: str
    per_verdict_usd: float | None
    items: tuple[TriedItem, ...]


class TryoutRecord(Record, frozen=True):
    """What a tryout is of.

    Attributes:
        run: The id of the run whose labels are used.
        seed: Divides the outputs into halves.
        variants: What each variant changes; see `JudgeVariant.summary`.
    """

    run: str
    seed: int
    variants: tuple[Mapping[str, Any], ...]
    judges: tuple[TriedJudge, ...]

    @property
    def names(self) -> Sequence[str]:
        """The names of the variants, in their order."""
        return [str(variant["name"]) for variant in self.variants]

    def row(self) -> dict[str, Any]:
        """The record as the plan of a tryout keeps it."""
        return {KEY: cast("dict[str, Any]", msgspec.to_builtins(asdict(self)))}


def record_of(meta: RunMeta) -> TryoutRecord:
    """The record in a tryout's own file."""
    return msgspec.convert(meta.config[KEY], TryoutRecord)
