"""What the page is sent, shape by shape: the keys of `page/src/data/source.ts`, where each is explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenhand.core.run import RunStatus, Totals, VerdictWord
from evenhand.core.score import Scale


@dataclass(frozen=True, slots=True)
class Interval:
    """A number with the ends of its 95 % interval; None where an end is not known. `n` counts cases."""

    value: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)  # by place: `least` to `high` are a `Share`, unpacked
class RateShape:
    """A pass rate over `n` cases: from `least` to `most` as errors leave it, with its 95 % interval.

    `value` is None where the two differ.
    """

    value: float | None
    least: float
    most: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in the list; with a `problem` it cannot be read, and nothing else counts."""

    id: str
    title: str = ""
    source: str = ""
    status: RunStatus = "interrupted"
    alive: bool = False
    created_at: float = 0.0
    finished_at: float | None = None
    planned: int = 0
    cases: int = 0
    variants: int = 0
    repeats: int = 1
    verdict: VerdictWord = "undecided"
    totals: Totals = field(default_factory=Totals)
    rate: RateShape | None = None
    fingerprint: str = ""
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    marks: Sequence[str] = ()
    note: str = ""
    of_judges: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnShape:
    """One column of the matrix: `Variant` there."""

    index: int
    name: str
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
    latency: Interval | None = None
    scales: Mapping[str, Scale] = field(default_factory=dict[str, Scale])


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """What one model was asked in one role: `Usage` there."""

    role: str
    model: str
    answered: Sequence[str]
    calls: int
    cached: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedShape:
    """A judged pass rate: as the judge has it, as people would have found it, and where it stands, in words."""

    metric: str
    column: int
    raw: Interval
    corrected: Interval | None
    status: str
    trusted: bool
    words: str


@dataclass(frozen=True, slots=True)
class PlaceShape:
    """One variant's place in a ranking: its chance to beat the average variant, as the judge and as people have it."""

    column: int
    chance: RateShape
    corrected: RateShape | None


@dataclass(frozen=True, slots=True)
class StandingsShape:
    """A ranking, best first; nothing is ranked where `why` says why it cannot be."""

    name: str
    ranked: Sequence[PlaceShape]
    why: str
    notes: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """What takes a look at every trial of a run. Of `rankings`, pairs can be labelled."""

    rate: RateShape | None
    columns: Sequence[ColumnShape]
    usage: Sequence[UsageRow]
    findings: Sequence[str]
    warnings: Sequence[str]
    judged: Sequence[JudgedShape]
    rankings: Sequence[str]
    standings: Sequence[StandingsShape]


@dataclass(frozen=True, slots=True)
class ReviewShape:
    """A dataset that was drawn from the run, and is reviewed: the name of its file, and the drawn trials' places."""

    file: str
    places: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head(RunSummary):
    """A run as a whole. Where it is `partial`, intervals, usage, findings and warnings are to be asked for: `Notes`."""

    seq: int = 0
    message: str = ""
    pass_rate: float = 1.0
    version: str = ""
    columns: Sequence[ColumnShape] = ()
    usage: Sequence[UsageRow] = ()
    findings: Sequence[str] = ()
    warnings: Sequence[str] = ()
    judged: Sequence[JudgedShape] = ()
    rankings: Sequence[str] = ()
    standings: Sequence[StandingsShape] = ()
    config: Any = None
    settings: Any = None
    partial: bool = False
    narrowed: bool = False
    review: ReviewShape | None = None


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case."""

    id: str
    description: str
    tags: Sequence[str]
    metadata: Mapping[str, str]
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Cells as parallel arrays, and the rows that they are the first to name.

    `cluster` is empty where every case of the run stands alone.
    """

    rows: Sequence[CaseRow]
    index: Sequence[int]
    row: Sequence[int]
    variant: Sequence[int]
    repeat: Sequence[int]
    outcome: str
    score: Sequence[float | None]
    latency: Sequence[float | None]
    cost: Sequence[float | None]
    tokens_in: Sequence[int | None]
    tokens_out: Sequence[int | None]
    calls: Sequence[int]
    cached: Sequence[int]
    met: Sequence[int]
    asked: Sequence[int]
    error: Sequence[str]
    failing: Sequence[Sequence[str]]
    cluster: Sequence[int]
    output: Sequence[int]
    metrics: Mapping[str, Sequence[float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a matrix cell shows of a trial."""

    index: int
    output: str
    json: bool
    clipped: bool
    reason: str
    vars: Mapping[str, str]
    expected: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One model call of a trial. `origin` is None for one in flight, or in doubt.

    With `sizes`, the bytes of request and reply, only the first part of each is here, as text.
    """

    role: str
    provider: str
    model: str
    request: Any
    response: str
    origin: str | None
    latency_s: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    attempts: int
    wasted: int
    error: str
    message: str
    sizes: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedWords:
    """The numbers of a comparison as `evenhand compare` writes them: `ComparedWords` there."""

    first: str
    second: str
    difference: str
    low: str
    high: str
    p: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """One metric of one pair of columns: `Compared` there."""

    metric: str
    rates: bool
    lower: bool
    before: str
    after: str
    verdict: str
    because: str
    n: int
    first: float | None
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
    p: float | None
    words: ComparedWords | None


@dataclass(frozen=True, slots=True)
class Question:
    """One metric of all columns, or with an empty name all of them together: `Question` there."""

    metric: str
    command: str
    results: Sequence[ComparedRow]
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class ComparisonShape:
    """Two runs compared: `Comparison` there. `renamed` says by id what the baseline calls a case of the run."""

    baseline: RunSummary
    pairs: Sequence[tuple[int, int]]
    renamed: Mapping[str, str]
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class RequirementWords:
    """A requirement's numbers as the console writes them: `RequirementWords` there."""

    value: str
    interval: str
    wanted: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementRow:
    """What is required of one column, or of all where nothing measured it: `Requirement` there."""

    metric: str
    column: str | None
    state: str
    shares: bool
    least: float | None
    most: float | None
    low: float | None
    high: float | None
    at_least: float | None
    at_most: float | None
    words: RequirementWords


@dataclass(frozen=True, slots=True)
class ColumnRate:
    """What the cases of a tag came to in one column: `ColumnRate` there."""

    column: str
    passed: int
    trials: int
    rate: RateShape | None


@dataclass(frozen=True, slots=True)
class TagRows:
    """A tag, column by column: `TagRates` there."""

    tag: str
    columns: Sequence[ColumnRate]


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A label: what its trials were answered with, by the answers of its column: `LabelRow` there."""

    label: str
    answered: Sequence[int]
    elsewhere: int
    precision: RateShape | None
    recall: RateShape | None


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """What one column made of the labels: `Confusion` there."""

    column: str
    errors: int
    answers: Sequence[str | None]
    labels: Sequence[LabelRow]
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryShape:
    """What a run had to reach, and what its tags and labels came to: `Summary` there."""

    requirements: Sequence[RequirementRow]
    failures_allowed: bool
    pass_rate: float | None
    tags: Sequence[TagRows]
    more_tags: int
    labels: Sequence[ConfusionMatrix]
    without: str
