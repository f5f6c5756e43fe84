"""The document of a run, `evenhand.run/1`, but for its trials, which have a module of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import UNSET, UnsetType

from evenhand.analysis.summaries.classification import RunClassification
from evenhand.analysis.summaries.decisions import RunDecisions
from evenhand.analysis.summaries.metrics import RunMetric
from evenhand.analysis.summaries.share_rows import (
    High,
    Low,
    PassRate,
    PassRateLeast,
    PassRateMost,
    Rate,
    RateLeast,
    RateMost,
    ShareRow,
)
from evenhand.analysis.summaries.slices import RunSlice
from evenhand.analysis.trust.canary_document import CanaryJudge
from evenhand.analysis.trust.judged_document import RunJudged
from evenhand.analysis.trust.requirements import RunRequirement
from evenhand.core.document import Key
from evenhand.core.record import Record
from evenhand.core.run import Decided, RunStatus, Totals, VerdictWord
from evenhand.core.variant import RunVariant, Variant
from evenhand.engine.replay.summary import RunReplay
from evenhand.render.standings import RunRanking
from evenhand.render.trial_document import RunTrial
from evenhand.store.counted import ModelUsage
from evenhand.store.labels.label import LabelField, LabelValue

SCHEMA = "evenhand.run/1"


class RunIdentity(Record, frozen=True, kw_only=True):
    """Which run it is, and how it ended."""

    id: Annotated[str, Key("a ULID: ids sort by the time at which the runs began")]
    file: Annotated[str, Key("the path of the [run file](run-file.md)")]
    status: Annotated[
        RunStatus,
        Key(
            "`finished`, `decided` (it stopped as soon as its trials decided what they were for), "
            "`running` (or killed), `interrupted` by a signal, `stopped` by a fatal error, "
            "`out_of_budget`, or `waiting` for batches"
        ),
    ]
    title: Annotated[str, Key("of the plan")]
    source: Annotated[str, Key("the config, file or folder; empty for a plan made in code")]
    planned: Annotated[int, Key("that the plan has", "trials")]
    created_at: Annotated[float, Key("when it began", "s since 1970")]
    finished_at: Annotated[
        float | None, Key("when it ended", "s since 1970", null="while it runs, or was cut off")
    ]
    message: Annotated[str, Key("why it stopped; empty where it finished")]
    decided: Annotated[
        Decided | None, Key("what the trials decided", null="it was not to stop early")
    ]
    replay: Annotated[
        RunReplay | None, Key("whose recordings answered its calls", null="it asked models")
    ]


class RunConfiguration(Record, frozen=True, kw_only=True):
    """What was run."""

    evenhand: Annotated[str, Key("the version that began the run")]
    fingerprint: Annotated[str, Key("of the plan: `resume` refuses another one")]
    cases: Annotated[int, Key("", "cases")]
    repeats: Annotated[int, Key("trials of each case for each variant")]
    pass_rate: Annotated[
        float | None,
        Key(
            "the share of trials that had to pass",
            "0 to 1",
            null="none had to, or not the same everywhere: see `requirements`",
        ),
    ]
    variants: Annotated[Sequence[Variant], Key("the variants")]
    settings: Annotated[
        Mapping[str, Any], Key("how it was started; not for programs, may change at any time")
    ]
    config: Annotated[Mapping[str, Any], Key("the configuration as read, secrets removed")]


class RunMean(Record, frozen=True, kw_only=True):
    """A mean over cases."""

    mean: Annotated[
        float | None, Key("over the cases", "the number's", null="errors leave it open")
    ]
    least: Annotated[
        float | None,
        Key("the lowest that errors leave possible", "the number's", null="any number"),
    ]
    most: Annotated[float | None, Key("the highest", "the number's", null="any number")]
    low: Annotated[
        float | None, Key("the lower end of the 95 % interval", "the number's", null="not known")
    ]
    high: Annotated[float | None, Key("the upper end", "the number's", null="not known")]


class RunTries(Record, frozen=True, kw_only=True):
    """What so many tries come to."""

    k: Annotated[int, Key("", "tries")]
    cases: Annotated[int, Key("", "cases")]
    at_least_once: Annotated[ShareRow, Key("pass@k")]
    every_time: Annotated[ShareRow, Key("pass^k")]


class RunFlaky(Record, frozen=True, kw_only=True):
    """A case that passed now and then."""

    case: Annotated[str | int, Key("its id; a number is the place in the plan of its first trial")]
    passed: Annotated[int, Key("", "trials")]
    trials: Annotated[int, Key("", "trials")]
    errors: Annotated[int, Key("in error", "trials")]


class RunRates(Record, frozen=True, kw_only=True):
    """What a variant came to."""

    variant: Annotated[RunVariant, Key("the variant")]
    passed: Annotated[int, Key("", "trials")]
    trials: Annotated[int, Key("that count", "trials")]
    errors: Annotated[int, Key("in error", "trials")]
    cases: Annotated[int, Key("", "cases")]
    rate: PassRate
    rate_least: PassRateLeast
    rate_most: PassRateMost
    low: Low
    high: High
    score: Annotated[RunMean | None, Key("", "the scores'", null="no trial has a score")]
    latency_s: Annotated[RunMean | None, Key("", "s", null="no trial has a latency")]
    tries: Annotated[list[RunTries], Key("pass@k and pass^k; empty without repeats")]
    flaky: Annotated[list[RunFlaky], Key("cases that passed now and then")]


class RunTriggers(Record, frozen=True, kw_only=True):
    """How well a variant decides when to use a skill."""

    variant: Annotated[RunVariant, Key("the variant")]
    precision: Annotated[
        RunDecisions,
        Key("of the decisions to use the skill, those that were right; each decision counts once"),
    ]
    recall: Annotated[RunDecisions, Key("of the queries that should lead to it, those that did")]


class RunSide(Record, frozen=True, kw_only=True):
    """How often a preference came out one way."""

    count: Annotated[int, Key("", "pairs")]
    n: Annotated[int, Key("that were decided", "pairs")]
    errors: Annotated[int, Key("without a decision", "trials")]
    rate: Rate
    rate_least: RateLeast
    rate_most: RateMost
    low: Low
    high: High


class RunPreference(Record, frozen=True, kw_only=True):
    """How often a variant's outputs were preferred to others."""

    variant: Annotated[RunVariant, Key("the variant")]
    name: Annotated[str, Key("the expectation")]
    won: Annotated[RunSide, Key("the output was preferred")]
    lost: Annotated[RunSide, Key("the other one was")]
    tied: Annotated[RunSide, Key("neither was")]


class RunLabel(Record, frozen=True, kw_only=True):
    """What somebody said of a trial."""

    seq: Annotated[
        int,
        Key("counts the run's labels, from 1; below 0 for those of judged metrics and of pairs"),
    ]
    at: Annotated[float, Key("", "s since 1970")]
    author: Annotated[str, Key("empty where nobody gave a name")]
    index: Annotated[int, Key("the trial's place in the plan")]
    field: Annotated[
        LabelField,
        Key(
            "`verdict`, `score`, `note`, `star`, `code` or `dataset`; `preference` of a drawn pair"
        ),
    ]
    value: Annotated[LabelValue, Key(null="withdraws the label", type="any")]
    blind: Annotated[bool, Key("whether the variant and the verdicts were hidden")]
    metric: Annotated[
        str | UnsetType,
        Key("the judged metric or the ranking that it is about; absent for the trial as a whole"),
    ] = UNSET


class RunHead(Record, frozen=True, kw_only=True):
    """All of the document but the trials."""

    schema: Annotated[str, Key("`evenhand.run/1`")] = SCHEMA
    run: Annotated[RunIdentity, Key("which run this is, and how it ended")]
    verdict: Annotated[VerdictWord, Key("`passed`, `failed` or `undecided`")]
    requirements: Annotated[
        list[RunRequirement],
        Key(
            "what each variant had to reach; empty where only all trials together had to reach `pass_rate`"
        ),
    ]
    totals: Annotated[Totals, Key("counts over all trials")]
    configuration: Annotated[RunConfiguration, Key("what was run")]
    usage: Annotated[list[ModelUsage], Key("what each model was asked in each role")]
    rates: Annotated[list[RunRates], Key("one for each variant")]
    metrics: Annotated[
        list[RunMetric] | UnsetType,
        Key(
            "the numbers of each metric",
            null="never; left out but for runs of `score` and `score_batch`",
        ),
    ]
    judged: Annotated[
        list[RunJudged],
        Key("pass rates of judged metrics, as the judge has them and corrected, by variant"),
    ]
    canaries: Annotated[
        list[CanaryJudge] | None,
        Key(
            "what its judges said of canaries",
            null="the run was made without [`--canaries`](../judge-trust.md#watch-for-drift), or its "
            "judges weren't asked yet",
            type="list of [judge](canary-1.md#judge), without `history`",
        ),
    ]
    slices: Annotated[list[RunSlice], Key("pass rates by tag and variant")]
    classification: Annotated[
        list[RunClassification], Key("confusion matrices of labels, by variant")
    ]
    triggers: Annotated[list[RunTriggers], Key("precision and recall of triggers, by variant")]
    preferences: Annotated[list[RunPreference], Key("how often outputs were preferred to others")]
    rankings: Annotated[
        list[RunRanking], Key("the variants in the order in which judges prefer their outputs")
    ]
    empty_answers: Annotated[
        int,
        Key(
            "replies of subjects without text, including replayed ones and earlier attempts",
            "answers",
        ),
    ]
    low_confidence: Annotated[int, Key("with low confidence of the judge", "judgements")]
    warnings: Annotated[Sequence[str], Key("what may limit the meaning of the numbers")]
    labels: Annotated[list[RunLabel], Key("the labels that people gave to trials, in order")]


class RunDocument(RunHead, frozen=True, kw_only=True):
    """A run; its trials are written one at a time."""

    trials: Annotated[list[RunTrial], Key("in the plan's order")]
