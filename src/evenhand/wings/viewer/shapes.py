"""What the page is sent: `just formats` makes `page/src/data/shapes.generated.ts` from these and other records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import field

from evenhand.analysis.history.run_changes import RunChange
from evenhand.core.document import Key
from evenhand.core.message import CallRole
from evenhand.core.record import Record
from evenhand.core.run import RunStatus, Totals, VerdictWord
from evenhand.core.score import GateVerdict, Scale
from evenhand.core.scripted import ReplySource
from evenhand.store.counted import ModelUsage


class Interval(Record, frozen=True):
    """A number with the ends of its 95 % interval; null where an end is not known."""

    value: float
    low: float | None
    high: float | None
    n: Annotated[int, Key("Of how many cases.")]


class MeanShape(Record, frozen=True):
    """A mean over `n` cases with the ends of its 95 % interval; null where an end is not known.

    Trials in error leave it between `least` and `most`: null where they may have had any value.
    """

    least: float | None
    most: float | None
    low: float | None
    high: float | None
    n: int


class RateShape(Record, frozen=True):  # by place: `least` to `high` are a `Share`, unpacked
    """A pass rate over `n` cases, each of which counts once, with its 95 % interval.

    Trials in error may have passed or failed: they leave it between `least` and `most`, and `value` is null where the
    two differ.
    """

    value: float | None
    least: float
    most: float
    low: float
    high: float
    n: int


class RunSummary(Record, frozen=True, kw_only=True):
    """A run in the list."""

    id: str
    title: str = ""
    source: str = ""
    eval_set: Annotated[
        str, Key("The only one that its evals are of; empty for configs and several sets.")
    ] = ""
    status: RunStatus = "interrupted"
    alive: Annotated[bool, Key("A process is writing it now.")] = False
    created_at: Annotated[float, Key("Seconds since 1970.")] = 0.0
    finished_at: float | None = None
    took_s: Annotated[
        float | None, Key("Seconds at work, without those before it was resumed.")
    ] = None
    planned: int = 0
    cases: int = 0
    variants: int = 0
    repeats: int = 1
    verdict: VerdictWord = "undecided"
    totals: Totals = field(default_factory=Totals)
    rate: RateShape | None = None
    fingerprint: Annotated[str, Key("Same plan, same fingerprint.")] = ""
    tags: Annotated[Sequence[str], Key("Those of its config, and those that people gave it.")] = ()
    note: str = ""
    said_by: Annotated[str, Key("Who was signed in and said the last of it; empty for nobody.")] = (
        ""
    )
    of_judges: Annotated[
        bool, Key("It asked about judges (a probe, a check of canaries), and not about a system.")
    ] = False
    of_gate: Annotated[bool, Key("A gate ran it, and says itself what it comes to.")] = False
    gate_verdict: Annotated[
        GateVerdict | None, Key("What the gate came to; null of other runs, and before its end.")
    ] = None
    edited: Annotated[bool, Key("It is one cell of another run, edited and asked again.")] = False
    scripted: Annotated[bool, Key("A script answered in place of models: `--offline`.")] = False
    sample: Annotated[bool, Key("It ended after cases that were drawn beforehand.")] = False
    problem: Annotated[
        str, Key("Why the file cannot be read; empty for one that can, and then the rest counts.")
    ] = ""


class ColumnShape(Record, frozen=True, kw_only=True):
    """One column of the matrix."""

    index: int
    name: Annotated[str, Key("The shortest name that tells it from the others.")]
    prompt: str
    prompt_raw: str
    model: str
    provider_id: str
    axes: Mapping[str, Any]
    eval: str
    where: str
    totals: Totals
    rate: RateShape | None = None
    score: Interval | None = None
    latency: Annotated[Interval | None, Key("Seconds.")] = None
    scales: Annotated[
        Mapping[str, Scale],
        Key(
            "By metric the lowest and the highest value there can be, as far as scorers say; of the score, "
            'under "", what is known.'
        ),
    ] = field(default_factory=dict[str, Scale])


class JudgedShape(Record, frozen=True, kw_only=True):
    """The pass rate of a judged metric in one column."""

    metric: str
    column: int
    raw: Annotated[Interval, Key("As the judge has it; `n` counts its verdicts.")]
    corrected: Annotated[Interval | None, Key("As people would have found it; `n` counts labels.")]
    status: Literal["fresh", "stale", "missing"]
    trusted: Annotated[
        bool, Key("It is corrected, and the calibration says that the judge may be used.")
    ]
    state: Annotated[str, Key("Where it stands, in two or three words: `not checked`.")]
    words: Annotated[
        str, Key("Where it stands, in words: corrected beside raw, or not checked against people.")
    ]


class PlaceShape(Record, frozen=True):
    """One variant's place in a ranking: its chance to beat the average variant, ties aside."""

    column: int
    chance: Annotated[RateShape, Key("By the judge.")]
    corrected: Annotated[
        RateShape | None, Key("As people would have found it; null where that is not known.")
    ]


class StandingsShape(Record, frozen=True):
    """A ranking, best first; nothing is ranked where `why` says why it cannot be."""

    name: str
    ranked: Sequence[PlaceShape]
    why: str
    notes: Annotated[Sequence[str], Key("How sure it is, and what it rests on.")]


class Notes(Record, frozen=True, kw_only=True):
    """What takes a look at every trial of a run.

    It is put into a partial head, key by key, once that is painted.
    """

    rate: RateShape | None
    columns: Sequence[ColumnShape]
    usage: Sequence[ModelUsage]
    findings: Sequence[str]
    warnings: Sequence[str]
    judged: Sequence[JudgedShape]
    rankings: Sequence[str]
    standings: Sequence[StandingsShape]


class ReviewShape(Record, frozen=True):
    """A dataset that was drawn from the run, and is reviewed."""

    file: Annotated[str, Key("The name of its file.")]
    places: Annotated[Sequence[int], Key("The drawn trials' places in the plan.")]


class Head(RunSummary, frozen=True, kw_only=True):
    """A run as a whole: enough for the first paint."""

    seq: Annotated[int, Key("Grows whenever the run file does.")] = 0
    message: str = ""
    pass_rate: float = 1.0
    version: str = ""
    columns: Sequence[ColumnShape] = ()
    usage: Sequence[ModelUsage] = ()
    findings: Annotated[Sequence[str], Key("What the run's data can say, in sentences.")] = ()
    warnings: Sequence[str] = ()
    judged: Annotated[
        Sequence[JudgedShape], Key("The pass rates that judges gave; none while the run goes on.")
    ] = ()
    rankings: Annotated[Sequence[str], Key("Rankings whose pairs can be labelled.")] = ()
    standings: Sequence[StandingsShape] = ()
    config: Annotated[
        Any, Key("The configuration as read, and how the run was started; secrets removed.")
    ] = None
    settings: Any = None
    partial: Annotated[
        bool,
        Key(
            "The run is so large that intervals, usage, findings and warnings are not in here, but asked "
            "for afterwards: `Notes`."
        ),
    ] = False
    narrowed: Annotated[bool, Key("Trials were left out of it: a report of some of a run's.")] = (
        False
    )
    review: ReviewShape | None = None
    may_ask: Annotated[bool, Key("Whether its cells can be asked again from this page.")] = False


class CaseRow(Record, frozen=True):
    """A case."""

    id: str
    description: str
    tags: Sequence[str]
    metadata: Annotated[
        Mapping[str, str], Key("Simple values only, as text, clipped: what a filter can ask for.")
    ]
    number: Annotated[int, Key("From 1, in the plan: also where cases before it were left out.")]


class Block(Record, frozen=True, kw_only=True):
    """Cells as parallel arrays, one entry for each settled trial, in the plan's order.

    Rows are cases; a block brings the rows that its cells are the first to name. `row` counts over all blocks, from 0.
    """

    rows: Sequence[CaseRow]
    index: Annotated[Sequence[int], Key("The trial's place in the plan.")]
    row: Sequence[int]
    variant: Sequence[int]
    repeat: Sequence[int]
    outcome: Annotated[str, Key("One letter each: p, f, e, n.")]
    score: Sequence[float | None]
    latency: Annotated[Sequence[float | None], Key("Seconds.")]
    cost: Sequence[float | None]
    tokens_in: Sequence[int | None]
    tokens_out: Sequence[int | None]
    calls: Sequence[int]
    cached: Sequence[int]
    met: Annotated[
        Sequence[int],
        Key("Expectations that passed, and those with a verdict; a place in a ranking is none."),
    ]
    asked: Sequence[int]
    error: Annotated[Sequence[str], Key("The error's slug; empty for none.")]
    failing: Annotated[
        Sequence[Sequence[str]], Key("What did not pass: labels of expectations, for each cell.")
    ]
    cluster: Annotated[
        Sequence[int],
        Key(
            "What the case belongs to in this column, from 1; 0 where it stands alone. Empty where every "
            "case of the run does."
        ),
    ]
    output: Annotated[
        Sequence[int],
        Key(
            "A number that is the same for the same output of the same row: outputs differ where these do."
        ),
    ]
    metrics: Annotated[
        Mapping[str, Sequence[float | None]],
        Key("Scores by metric, and null where a cell has none."),
    ]
    open: Annotated[
        Mapping[str, Sequence[int]],
        Key(
            "By metric the cells of the block that lack it because of an error, although they have a verdict."
        ),
    ]


class Preview(Record, frozen=True, kw_only=True):
    """What a matrix cell shows of a trial."""

    index: int
    output: Annotated[
        str, Key("The first part of the output: text as it is, everything else as JSON.")
    ]
    json: bool
    clipped: Annotated[bool, Key("There is more of it than this.")]
    reason: str
    vars: Annotated[Mapping[str, str], Key("The case's variables as text, clipped.")]
    expected: str


class Call(Record, frozen=True, kw_only=True):
    """One model call of a trial, from the journal."""

    role: CallRole
    provider: Annotated[str, Key("As asked for, and as the answer named it.")]
    model: str
    request: Annotated[Any, Key("The request as sent, secrets removed: JSON.")]
    response: Annotated[str, Key("The answer as it came: text.")]
    origin: Annotated[
        ReplySource | None, Key("Who gave the answer; null: in flight, or in doubt after a kill.")
    ]
    latency_s: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    attempts: int
    wasted: Annotated[int, Key("Failed attempts that may have been charged for.")]
    error: str
    message: str
    sizes: Annotated[
        tuple[int, int] | None,
        Key(
            "Bytes of request and reply where they are so long that only the first part of each is here, "
            "as text."
        ),
    ] = None


class ComparedWords(Record, frozen=True, kw_only=True):
    """The numbers of a comparison as `evenhand compare` writes them.

    They have as many digits as say something; differences are in points for rates.
    """

    first: str
    second: str
    difference: str
    low: Annotated[str, Key("The ends of its interval; empty where nothing can be said of it.")]
    high: str
    p: Annotated[
        str,
        Key(
            "`p = 0.016`; empty where nothing can be concluded, and for fewer than five cases or clusters."
        ),
    ]


class ComparedRow(Record, frozen=True, kw_only=True):
    """One metric of one pair of columns, compared over the cases that both have."""

    metric: str
    rates: Annotated[
        bool, Key("The numbers are shares, and differences are told in percentage points.")
    ]
    lower: Annotated[bool, Key("Less of it is better.")]
    before: str
    after: str
    verdict: str
    because: Annotated[
        str,
        Key(
            "What the verdict rests on where no difference was shown: how few cases, or the smallest "
            "difference that could have been."
        ),
    ]
    n: int
    first: Annotated[
        float | None,
        Key(
            "Means, and their difference. Each is null where trials in error leave it open, between its "
            "`least` and its `most`."
        ),
    ]
    first_least: float | None
    first_most: float | None
    second: float | None
    second_least: float | None
    second_most: float | None
    difference: float | None
    difference_least: float | None
    difference_most: float | None
    trials_in_error: int
    low: float | None
    high: float | None
    p: Annotated[float | None, Key("Corrected for as many comparisons as the question has.")]
    words: Annotated[ComparedWords | None, Key("Null where there was no case to compare.")]


class Question(Record, frozen=True, kw_only=True):
    """What can be asked of two runs: one metric in all columns, or everything at once.

    Its comparisons are corrected together.
    """

    metric: Annotated[str, Key("Empty for all metrics.")]
    command: Annotated[str, Key("What asks the same on the command line.")]
    results: Sequence[ComparedRow]
    lines: Annotated[
        Sequence[str], Key("All that is to be said, a line each: verdicts, dropped cases, hints.")
    ]


class EditedPrompt(Record, frozen=True):
    """A prompt that two runs have, and that says something else in each."""

    name: str
    before: str
    after: str


class ComparisonShape(Record, frozen=True, kw_only=True):
    """Two runs compared."""

    baseline: RunSummary
    changes: Annotated[
        Sequence[RunChange],
        Key("What differs between them: judge, data, expectations, prompts, models."),
    ]
    edited: Annotated[
        Sequence[EditedPrompt], Key("The prompts that say something else in each, with both texts.")
    ]
    pairs: Annotated[
        Sequence[tuple[int, int]],
        Key(
            "Which column of the baseline stands against which of the run; by index, [baseline, run]."
        ),
    ]
    renamed: Annotated[
        Mapping[str, str],
        Key(
            "By id of the run's cases what the baseline calls them, where their input tells that they are "
            "the same."
        ),
    ]
    unlike: Annotated[
        Mapping[int, Sequence[str]],
        Key("By column of the run its cases that the baseline asked or judged otherwise."),
    ]
    questions: Annotated[
        Sequence[Question], Key("Each metric, `passed` first, and in the end all of them together.")
    ]


class RequirementWords(Record, frozen=True):
    """The numbers of a requirement as the command line writes them; `why` is empty for a sure verdict."""

    value: str
    interval: str
    wanted: str
    why: str


class RequirementRow(Record, frozen=True, kw_only=True):
    """What is required of one column, held against what it came to."""

    metric: Annotated[str, Key("Empty for the share of trials that pass.")]
    column: Annotated[str | None, Key("Null where no column measured it.")]
    state: Literal["kept", "missed", "open"]
    shares: bool
    least: Annotated[
        float | None,
        Key("The mean, between the ends where errors leave it; null where nothing is known."),
    ]
    most: float | None
    low: float | None
    high: float | None
    at_least: float | None
    at_most: float | None
    words: RequirementWords


class ColumnRate(Record, frozen=True, kw_only=True):
    """What the cases of a tag came to in one column."""

    column: str
    passed: int
    trials: int
    rate: RateShape | None
    pooled: Annotated[
        RateShape | None,
        Key("The rate drawn towards those of all tags of the column; null for fewer than 4 tags."),
    ]


class TagRows(Record, frozen=True):
    """A tag, column by column."""

    tag: str
    columns: Sequence[ColumnRate]


class LabelRow(Record, frozen=True):
    """A label that was expected."""

    label: str
    answered: Annotated[
        Sequence[int], Key("How many of its trials were answered with each of the answers.")
    ]
    elsewhere: Annotated[int, Key("And with one that is not listed.")]
    precision: RateShape | None
    recall: RateShape | None


class ConfusionMatrix(Record, frozen=True, kw_only=True):
    """What one column made of the labels; `answers` has null for what is no label."""

    column: str
    errors: int
    answers: Sequence[str | None]
    labels: Sequence[LabelRow]
    more: Annotated[int, Key("Labels that are left out.")]


class SummaryShape(Record, frozen=True, kw_only=True):
    """What a run had to reach, and what its tags and labels came to: of the whole run."""

    requirements: Sequence[RequirementRow]
    failures_allowed: Annotated[
        bool, Key("Something is required, and not a share of trials that pass.")
    ]
    pass_rate: Annotated[
        float | None,
        Key(
            "The share of trials that has to pass where nothing is required of columns; null otherwise."
        ),
    ]
    tags: Sequence[TagRows]
    more_tags: int
    labels: Sequence[ConfusionMatrix]
    without: Annotated[str, Key("Why something is left out; empty where nothing is.")]


class AskModel(Record, frozen=True):
    """A model that a cell can be asked again with: the first variant that has it, its label and its id."""

    variant: int
    label: str
    id: str


class AskShape(Record, frozen=True, kw_only=True):
    """What of a cell can be edited, to ask it again."""

    prompt: Annotated[str | None, Key("A template; null where it can't be edited.")]
    values: Annotated[Mapping[str, Any], Key("The variables, as the cell had them.")]
    models: Sequence[AskModel]
    model: Annotated[
        int | None, Key("The variant among these whose model answered; null: none can be chosen.")
    ]
    notes: Annotated[Sequence[str], Key("What can't be edited and why, and what is left out.")]
    max_cost_usd: Annotated[float | None, Key("What its run could spend.")]


class EstimatedCalls(Record, frozen=True):
    """Calls of one model in one role; `role` is empty where they are of all."""

    provider: str
    role: str
    calls: int
    tokens_in: int | None
    tokens_out: Annotated[int | None, Key("At most; null where that is not known.")]
    cost_usd: Annotated[float | None, Key("At most; null where a price is not known.")]


class AskEstimate(Record, frozen=True, kw_only=True):
    """What asking again would take."""

    calls: Sequence[EstimatedCalls]
    bounded: Annotated[bool, Key("Of the plan, and bounds; else what the cell took before.")]
