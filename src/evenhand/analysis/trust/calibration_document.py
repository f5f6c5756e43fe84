"""`evenhand.calibration/1`: what `evenhand calibrate --json` prints, and what `calibration.json` holds.

The same records are written and read back. What later runs need has to be in a file, and within its bounds; every other
key has a default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from evenhand.analysis.summaries.share_rows import Chance
from evenhand.analysis.trust.audit import CalibrationAudit
from evenhand.analysis.trust.trust_rules import UNLIKELY, Evidence
from evenhand.core.document import Key, as_object
from evenhand.core.record import Record
from evenhand.stats.paired_scores import PairedScores, Spread
from evenhand.stats.weighted import UniformLabels

SCHEMA = "evenhand.calibration/1"

RateRow = dict[str, float]
"""A rate: its `value`, and the ends of its 95 % interval, `low` and `high`."""
_Count = Annotated[int, Meta(ge=0, le=10**9)]
_Amount = Annotated[float, Meta(ge=0, le=1e9)]
_Spread = Annotated[float, Meta(ge=0)]

_VERDICT = Key("`usable`, `usable with labels`, `do not use` or `no verdict`")
_RANDOM_DRAW = Key(
    "`p`: how likely a random draw looks like the labels; `ok`: whether that is at least 0.01",
    null="no labels",
)
_KAPPA = Key("Cohen's κ", "−1 to 1", null="not defined")
_AC1 = Key("Gwet's AC1", "−1 to 1", null="no labels")
_RHO2 = Key("the share of labels that the judge replaces", "0 to 1", null="not defined")
_MODEL = Key("the judge, as its answers named it")


class CalibrationUniform(Record, frozen=True, kw_only=True):
    """The labels of a uniform draw that say as much as those of a variant that were weighted."""

    both_pass: Annotated[_Amount, Key("both pass them", "outputs")]
    missed: Annotated[_Amount, Key("people pass them, the judge doesn't", "outputs")]
    excused: Annotated[_Amount, Key("the judge passes them, people don't", "outputs")]
    both_fail: Annotated[_Amount, Key("both fail them", "outputs")]
    rate: Annotated[float, Meta(ge=0, le=1), Key("people's pass rate, without the judge", "0 to 1")]
    size: Annotated[_Amount, Key("how many such labels `rate` is worth", "outputs")]

    def labels(self) -> UniformLabels:
        """The labels as they were computed when the calibration was made."""
        return UniformLabels(**as_object(self))


class CalibrationMeans(Record, frozen=True, kw_only=True):
    """People's scores of a variant beside the judge's: what later runs need to correct the mean."""

    labels: Annotated[_Count, Key("outputs that people scored", "outputs")]
    free: Annotated[
        int, Meta(ge=1, le=10**9), Key("how many of them are left to tell the spread from")
    ]
    people: Annotated[float, Key("the mean of people's scores", "the metric's")]
    judge: Annotated[float, Key("the mean of the judge's scores of the same", "the metric's")]
    labelled: Annotated[
        list[str],
        Key(
            "a line for each of them: a digest of the case, people's score, the judge's, and for how "
            "many outputs it stands"
        ),
    ]
    spread_people: Annotated[_Spread, Key("the variance of people's mean")]
    spread_together: Annotated[float, Key("the covariance of the two means")]
    spread_judge: Annotated[_Spread, Key("the variance of the judge's mean")]

    def paired(self) -> PairedScores:
        """The paired scores as they were computed, as far as other outputs need them."""
        drawn = Spread(self.spread_people, self.spread_together, self.spread_judge)
        none = Spread(0.0, 0.0, 0.0)
        return PairedScores(
            labels=self.labels,
            free=self.free,
            people=self.people,
            judge=self.judge,
            drawn=drawn,
            known=none,
            people_spread=0.0,
            rho2=None,
        )


class CalibrationVotes(Record, frozen=True, kw_only=True):
    """The weighted votes on labelled outputs of one variant beside people's verdicts, as counts."""

    both_pass: Annotated[_Count, Key("people and the votes pass them", "outputs")]
    missed: Annotated[_Count, Key("people pass them, the votes don't", "outputs")]
    excused: Annotated[_Count, Key("the votes pass them, people don't", "outputs")]
    both_fail: Annotated[_Count, Key("both fail them", "outputs")]
    labelled: Annotated[
        list[str],
        Key(
            "a line for each label, as for the [variant](#variant), with the weighted votes in place of "
            "the judge's verdict"
        ),
    ]

    @property
    def cells(self) -> tuple[int, int, int, int]:
        """How many labelled outputs both pass, only people pass, only the votes pass, both fail."""
        return self.both_pass, self.missed, self.excused, self.both_fail


class CalibrationSplit(Record, frozen=True, kw_only=True):
    """Labelled outputs on which people are split."""

    items: Annotated[int, Key("labelled ones", "outputs")]
    share: Annotated[float, Key("their share of all outputs", "0 to 1")]
    most: Annotated[float, Key("the upper end of its 95 % interval", "0 to 1")]


class CalibrationVariant(Record, frozen=True, kw_only=True):
    """A variant whose outputs are labelled: what later runs of it are corrected with."""

    prompt: Annotated[str, Key("the prompt's label")]
    model: Annotated[str, Key("the model's label")]
    eval: Annotated[str, Key("its eval; empty for a config")] = ""
    system: Annotated[
        str, Key("a digest of what it sent and what answered, by which later runs find it")
    ]
    both_pass: Annotated[_Count, Key("labelled outputs that people and the judge pass", "outputs")]
    missed: Annotated[_Count, Key("people pass them, the judge doesn't", "outputs")]
    excused: Annotated[_Count, Key("the judge passes them, people don't", "outputs")]
    both_fail: Annotated[_Count, Key("both fail them", "outputs")]
    passed: Annotated[int, Key("that the judge passes, of all", "outputs")] = 0
    items: Annotated[_Count, Key("that it judged", "outputs")] = 0
    weighted: Annotated[
        CalibrationUniform | None,
        Key(
            "the counts of a uniform draw that would say the same of later runs, whose strata hold other "
            "shares of the outputs: they aren't whole numbers",
            null="labels aren't weighted",
        ),
    ] = None
    scores: Annotated[
        CalibrationMeans | None,
        Key(
            "what later runs need to correct the mean",
            null="fewer than two outputs have two scores",
        ),
    ] = None
    split: Annotated[
        CalibrationSplit | None,
        Key("labelled outputs on which people are split", null="there are none"),
    ] = None
    votes: Annotated[
        CalibrationVotes | None, Key("the same counts for a jury's weighted votes", null="no jury")
    ] = None
    labelled: Annotated[
        list[str],
        Key(
            "a line for each label: a digest of the case, what people say, what the judge says, for how "
            "many outputs it stands beside the others, and the probability of a pass where the judge gives one"
        ),
    ]

    @property
    def cells(self) -> tuple[int, int, int, int]:
        """How many labelled outputs both pass, only people pass, only the judge passes, both fail."""
        return self.both_pass, self.missed, self.excused, self.both_fail


class CalibrationMember(Record, frozen=True, kw_only=True):
    """A judge of a jury."""

    model: Annotated[str, _MODEL]
    weight: Annotated[
        float, Key("what one vote is worth: added for a pass, subtracted for a fail", "log-odds")
    ]
    agrees: Annotated[
        RateRow | None,
        Key(
            "the share of outputs on which its vote is people's verdict",
            "0 to 1",
            null="it never voted",
        ),
    ] = None


class CalibrationJury(Record, frozen=True, kw_only=True):
    """What the votes of a jury are worth."""

    labels: Annotated[int, Key("labelled outputs that it rests on", "outputs")] = 0
    majority: Annotated[
        RateRow, Key("the share of them on which the jury's own verdict is people's", "0 to 1")
    ] = field(default_factory=dict[str, float])
    weighted: Annotated[
        RateRow,
        Key(
            "the same for the weighted votes, with weights that were fitted to other cases",
            "0 to 1",
        ),
    ] = field(default_factory=dict[str, float])
    difference: Annotated[RateRow, Key("weighted minus majority, paired by output", "−1 to 1")] = (
        field(default_factory=dict[str, float])
    )
    p: Annotated[float, Key("how likely such a difference is if there is none", "0 to 1")] = 1.0
    verdict: Annotated[str, Key("`better`, `worse`, `no detectable difference` or `undecided`")]
    intercept: Annotated[
        float, Key("that people pass an output on which the weighted votes cancel out", "log-odds")
    ]
    members: Annotated[list[CalibrationMember], Key("the judges, in the order of their names")]

    @property
    def better(self) -> bool:
        """Whether its votes agree with people more often if they are weighted."""
        return self.verdict == "better"


class CalibrationScores(Record, frozen=True, kw_only=True):
    """A judge's scores beside people's."""

    scale: Annotated[tuple[float, float], Key("the lowest and the highest score there can be")]
    labels: Annotated[int, Key("outputs that have people's scores", "outputs")] = 0
    kappa: Annotated[
        float | None, Key("Cohen's κ with quadratic weights", "−1 to 1", null="not defined")
    ] = None
    tau_b: Annotated[float | None, Key("Kendall's τ_b", "−1 to 1", null="not defined")] = None
    rho2: Annotated[float | None, _RHO2] = None
    raw: Annotated[RateRow, Key("the judge's own mean", "the metric's")] = field(
        default_factory=dict[str, float]
    )
    corrected: Annotated[
        RateRow | None,
        Key(
            "the mean that people would have given",
            "the metric's",
            null="the scored outputs are not a random draw, or of too few cases",
        ),
    ] = None
    random_draw: Annotated[
        dict[str, Any],
        Key("`p`: how likely a random draw looks like the scored outputs; `ok`, as for labels"),
    ] = field(default_factory=dict[str, Any])


class CalibrationSelective(Record, frozen=True, kw_only=True):
    """Which verdicts of a judge can stand without a person."""

    risk: Annotated[float, Key("the share of accepted verdicts that may be wrong", "0 to 1")]
    confidence: Annotated[float, Key("how sure that is", "0 to 1")]
    accepted: Annotated[int, Key("that can stand", "verdicts")]
    items: Annotated[int, Key("that there are", "verdicts")]
    threshold: Annotated[
        float | None, Key("how sure the judge has to be", "0 to 1", null="none is accepted")
    ]
    labelled: Annotated[int, Key("that have a label, of the accepted ones", "verdicts")]
    wrong: Annotated[int, Key("that people disagree with or are split on, of those", "verdicts")]


class CalibrationReliability(Record, frozen=True, kw_only=True):
    """A point of a reliability curve: labelled outputs that the judge holds for about equally likely to pass."""

    probability: Annotated[float, Key("the mean of the judge's probabilities", "0 to 1")]
    passed: Annotated[RateRow, Key("the share that people pass", "0 to 1")]
    labels: Annotated[int, Key("labelled outputs", "outputs")]


class CalibrationProbabilities(Record, frozen=True, kw_only=True):
    """What a decision model's probabilities are worth, by the labels."""

    intercept: Annotated[
        float,
        Key(
            "of Platt's line over the log odds; 0 for a judge that is neither too kind nor too hard"
        ),
    ]
    slope: Annotated[
        float,
        Key("of that line; 1 where probabilities mean what they say, less where it is too sure"),
    ]
    brier: Annotated[
        RateRow,
        Key("the mean squared distance of the probabilities from people's verdicts", "0 to 1"),
    ]
    recalibrated: Annotated[
        RateRow,
        Key("the same of recalibrated ones, each by a line that its case had no part in", "0 to 1"),
    ]
    explained: Annotated[
        float,
        Key(
            "the share of the error of `corrected` that they take away beside verdicts alone",
            "0 to 1",
        ),
    ]
    curve: Annotated[
        list[CalibrationReliability], Key("the reliability curve, from the least likely on")
    ]


class CalibrationCascade(Record, frozen=True, kw_only=True):
    """How sure the judges of a cascade have to be for their verdicts to stand in later runs."""

    metric: Annotated[str, Key("the metric")]
    cascade: Annotated[str, Key("the cascade: its judges and its risk, as JSON")]
    risk: Annotated[float, Key("the share of verdicts that stand which may be wrong", "0 to 1")]
    confidence: Annotated[float, Key("how sure that is", "0 to 1")]
    first: Annotated[
        float | None,
        Key("how sure the first judge has to be", "0 to 1", null="it may decide nothing"),
    ]
    then: Annotated[
        float | None,
        Key("how sure the second one has to be", "0 to 1", null="it may decide nothing"),
    ]
    decided_first: Annotated[int, Key("that the first judge would decide", "outputs")]
    decided_then: Annotated[int, Key("that the second one would decide of the rest", "outputs")]
    items: Annotated[int, Key("that both judged", "outputs")]
    labels: Annotated[int, Key("that were labelled, one of each case or cluster", "outputs")]
    questions: Annotated[
        list[str], Key("digests of what they were asked; other questions go by no limits")
    ]
    systems: Annotated[list[str], Key("digests of what was judged; other systems go by no limits")]
    judges: Annotated[list[str], Key("both, as they answered; others go by no limits")]
    run: Annotated[str, Key("the run that it is of")] = ""


class CalibrationEval(Record, frozen=True, kw_only=True):
    """What a judge's calibration holds for in one of several evals."""

    eval: Annotated[str, Key("the eval")]
    bound: Annotated[dict[str, str], Key("digests of what it holds for, by name")]
    seen: Annotated[Evidence, Key("what tells an edited case from an edited prompt")]


class CalibrationJudge(Record, frozen=True, kw_only=True):
    """A judge under a metric."""

    metric: Annotated[str, Key("the metric, or the expectation where it has none")]
    model: Annotated[
        str, Key("the judge, as its answers named it; members of a jury joined by `+`")
    ]
    labels: Annotated[int, Key("labelled outputs that count", "outputs")] = 0
    split: Annotated[
        _Count,
        Key(
            "labelled ones on which people are split: they are in no number but the interval of `corrected`",
            "outputs",
        ),
    ] = 0
    weighted: Annotated[
        bool,
        Key(
            "whether some outputs were [likelier to be drawn](../judge-trust.md#draw-more-of-what-matters) "
            "than others. Then all numbers are weighted, and `people` and `alternative` are null"
        ),
    ] = False
    verdict: Annotated[str, _VERDICT]
    why: Annotated[str, Key("the reason in words")] = ""
    tpr: Annotated[
        RateRow | None,
        Key(
            "of what people pass, the share that the judge passes",
            "0 to 1",
            null="people passed none",
        ),
    ] = None
    tnr: Annotated[
        RateRow | None,
        Key(
            "of what people fail, the share that the judge fails",
            "0 to 1",
            null="people failed none",
        ),
    ] = None
    kappa: Annotated[float | None, _KAPPA] = None
    ac1: Annotated[float | None, _AC1] = None
    rho2: Annotated[float | None, _RHO2] = None
    raw: Annotated[RateRow, Key("the judge's own pass rate; each case counts once", "0 to 1")] = (
        field(default_factory=dict[str, float])
    )
    corrected: Annotated[
        RateRow | None,
        Key(
            "the pass rate that people would have found",
            "0 to 1",
            null="no labels, no random draw, labels of fewer than 10 cases that are repeated, or a judge "
            "no better than chance",
        ),
    ] = None
    random_draw: Annotated[dict[str, Any] | None, _RANDOM_DRAW] = None
    people: Annotated[
        float | None,
        Key("Krippendorff's α among people", "−1 to 1", null="fewer than two people, or weighted"),
    ] = None
    alternative: Annotated[
        dict[str, float] | None,
        Key(
            "the alternative-annotator test: `people`, how many of them the judge can stand in for "
            "(`replaced`), and on what share of outputs it agrees with the others at least as much "
            "(`advantage`)",
            null="fewer than two people share 30 outputs of 10 cases, or weighted",
        ),
    ] = None
    orders: Annotated[
        dict[str, Any] | None,
        Key(
            "of `pairs` asked in both orders, the share that is `consistent`, and of those that went by "
            "the place, the share that went to the first text (`first_place`, null for none)",
            null="it gave no preferences",
        ),
    ] = None
    jury: Annotated[
        CalibrationJury | None,
        Key(
            "what the votes of a jury are worth",
            null="it is one judge, or fewer than 30 outputs are labelled",
        ),
    ] = None
    probabilities: Annotated[
        CalibrationProbabilities | None,
        Key(
            "what a decision model's probabilities are worth",
            null="it gives none, nothing is labelled, or labels are weighted",
        ),
    ] = None
    scores: Annotated[
        CalibrationScores | None,
        Key("the judge's scores beside people's", null="the judge or people gave no scores"),
    ] = None
    warnings: Annotated[Sequence[str], Key("what to keep in mind")] = ()
    variants: Annotated[
        list[CalibrationVariant], Key("the variants whose outputs it judged, in the run's order")
    ]
    labelled_at: Annotated[
        float | None, Key("the newest label", "seconds since 1970", null="no labels")
    ] = None
    bound: Annotated[dict[str, str], Key("digests of what it holds for, by name")]
    seen: Annotated[Evidence, Key("what tells an edited case from an edited prompt")]
    evals: Annotated[
        Sequence[CalibrationEval],
        Key("what it holds for in each eval alone; empty for one eval"),
    ] = ()
    audits: Annotated[
        Sequence[CalibrationAudit],
        Key(
            "whether its verdicts depend on what they shouldn't depend on; always the same six, in the "
            "same order"
        ),
    ] = ()
    selective: Annotated[
        CalibrationSelective | UnsetType | None,
        Key(
            "which verdicts can stand; only in what is printed",
            null="`--accept-risk` was not given",
        ),
    ] = UNSET
    run: Annotated[str | UnsetType, Key("the run that it is of, if another")] = UNSET

    @property
    def of_evals(self) -> set[str]:
        """The evals that it is of; one with an empty name for a config."""
        return {one.eval for one in self.variants}


class CalibrationRanked(Record, frozen=True, kw_only=True):
    """A variant of a ranking."""

    prompt: Annotated[str, Key("the prompt's label")]
    model: Annotated[str, Key("the model's label")]
    system: Annotated[str, Key("a digest of what it is, whatever it is called")]
    raw: Annotated[
        Chance | None,
        Key(
            "the chance that its output is preferred to that of the average variant, by the judge",
            null="the judge can't rank it",
        ),
    ] = None
    corrected: Annotated[
        Chance | None, Key("the same, as people would have found it", null="not corrected")
    ] = None


class CalibrationRanking(Record, frozen=True, kw_only=True):
    """The judge of a ranking."""

    name: Annotated[str, Key("the ranking")]
    model: Annotated[str, _MODEL]
    pairs: Annotated[int, Key("pairs that it compared")] = 0
    labels: Annotated[int, Key("labelled pairs that count", "pairs")] = 0
    split: Annotated[_Count, Key("drawn ones that don't, as people are split on them", "pairs")] = 0
    verdict: Annotated[str, _VERDICT]
    why: Annotated[str, Key("the reason in words")] = ""
    agreement: Annotated[
        RateRow | None,
        Key(
            "the share of labelled pairs of which the judge says what people say, ties included",
            "0 to 1",
            null="no labels",
        ),
    ] = None
    kappa: Annotated[float | None, _KAPPA] = None
    ac1: Annotated[float | None, _AC1] = None
    rho2: Annotated[float | None, _RHO2] = None
    first_wins: Annotated[
        Chance | None,
        Key(
            "the chance that it prefers the output shown first where both are equally good",
            null="the judge can't rank",
        ),
    ] = None
    people_first_wins: Annotated[Chance | None, Key("the same of people", null="not corrected")] = (
        None
    )
    weight: Annotated[
        float | None,
        Key("λ, the weight of the judge's answers beside people's", "0 to 1", null="not corrected"),
    ] = None
    random_draw: Annotated[dict[str, Any] | None, _RANDOM_DRAW] = None
    people: Annotated[
        float | None,
        Key("Krippendorff's α between people", "−1 to 1", null="no pair has two labels"),
    ] = None
    warnings: Annotated[Sequence[str], Key("what to keep in mind")] = ()
    variants: Annotated[list[CalibrationRanked], Key("the variants, in the run's order")]
    answers: Annotated[
        list[str],
        Key(
            "a line for each label: a digest of the case, the numbers in `variants` of the output shown "
            "first and of the other, people's answer, and the shares of the judge's answers that prefer "
            "the one and the other"
        ),
    ]
    labelled_at: Annotated[
        float | None, Key("when the last label was given", "seconds since 1970", null="no labels")
    ] = None
    bound: Annotated[dict[str, str], Key("digests of what it holds for, as for [judges](#judge)")]
    seen: Annotated[Evidence, Key("what tells an edited case from an edited prompt")]
    run: Annotated[str | UnsetType, Key("the run that it is of, if another")] = UNSET


class CalibrationDocument(Record, frozen=True, kw_only=True):
    """The judges of a run beside people."""

    schema: Annotated[str, Key("`evenhand.calibration/1`")]
    run: Annotated[str, Key("the run's id")] = ""
    made_at: Annotated[float, Key("when it was made", "seconds since 1970")] = 0.0
    code: Annotated[
        dict[str, dict[str, str]],
        Key(
            "for each run that is labelled, digests of the application's code: of modules by their files, and of"
            " evals by their names, such as `eval shop: answers`"
        ),
    ] = field(default_factory=dict[str, dict[str, str]])
    judges: Annotated[
        list[CalibrationJudge],
        Key("one for each judged metric and judge; in a file, several if they are of other evals"),
    ]
    rankings: Annotated[list[CalibrationRanking], Key("one for each ranking")] = field(
        default_factory=list[CalibrationRanking]
    )
    cascades: Annotated[
        list[CalibrationCascade],
        Key("one for each metric and cascade whose labels let verdicts stand"),
    ] = field(default_factory=list[CalibrationCascade])

    def code_of(self, row: CalibrationJudge | CalibrationRanking) -> Mapping[str, str]:
        """The application's code that a judge's labels are of; empty where it isn't known."""
        return self.code.get(self.run if row.run is UNSET else row.run, {})


def random_draw_row(p: float) -> dict[str, Any]:
    """How likely a random draw is to look like the labels, and whether they are taken for one."""
    return {"p": p, "ok": p >= UNLIKELY}
