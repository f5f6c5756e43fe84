"""A run: what happened. Plain data, read from a run file; everything that shows or compares runs reads these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol

import msgspec
from msgspec import UNSET, UnsetType, field

from evenhand.core.application_code import ApplicationCode
from evenhand.core.definition import Definition
from evenhand.core.document import Key
from evenhand.core.encoding import decode
from evenhand.core.errors import ScoreError
from evenhand.core.json_shapes import as_array, as_mapping
from evenhand.core.message import CallRole, Origin
from evenhand.core.record import Record
from evenhand.core.requirement import Requirement
from evenhand.core.score import PASSED, GateVerdict, Outcome, Scale, State, Verdict
from evenhand.core.shard import Sharded
from evenhand.core.step import Step
from evenhand.core.variant import Variant

RunStatus = Literal[
    "running", "finished", "decided", "interrupted", "stopped", "out_of_budget", "waiting"
]
"""running (or killed: its lock tells) · all settled · enough to decide · a signal · an error · --max-cost · batches."""

VerdictWord = Literal["passed", "failed", "undecided"]

SHORT_ID = 10
"""So many characters of a run's id say when it was made, to the millisecond: the least that is shown of one."""

PREPARES = "prepares"
"""The setting of a run that found facts or wrote cases for a dataset."""
JUDGE_CHECKS = frozenset(
    {"probe", "tryout", "canaries", "audit", "failure_kinds", "failure_proposal", PREPARES}
)
"""Settings of runs that asked no system, each its own: those that ask about judges, or prepare a dataset."""


class RunMeta(Record, frozen=True):
    """What a run file says of the run as a whole.

    Attributes:
        id: A ULID: sorts by time of creation.
        source: The config file or folder, absolute; empty for a plan made in code.
        planned: How many trials the plan has; of a shard, how many are its own.
        repeats: How often each is repeated.
        variants: What was compared: prompt × model × whatever else was varied.
        created_at: Seconds since 1970, UTC.
        config: The configuration as read, secrets removed.
        settings: How it was started: selection and options, so that `resume` does the same.
        pass_rate: The share of trials that must pass, where there are no requirements.
        requirements: What its variants have to reach, instead of `pass_rate`; empty for none.
        version: The Evenhand that wrote it.
        status: How it ended, or `running`.
        finished_at: Seconds since 1970; None while it runs.
        idle_s: Seconds in which nothing was at work, before it was resumed.
        message: Why it stopped, where it did not finish.
        decided: Of a run that was to end as soon as its trials decide: what they did. `verdict` is null before.
        signature: The home's that made it, over `id`, `source` and `settings`; empty of one that was made elsewhere.
        unrecorded: Calls of recording clients that belonged to no trial, and how often each was made.
        code: The application's code, as far as the run imported it, and that of judges that are programs.
        gate_verdict: What the gate came to that ran it; None before, and of other runs.
    """

    id: str
    title: str
    source: str
    fingerprint: str
    planned: int
    case_count: int
    repeats: int
    variants: tuple[Variant, ...]
    created_at: float
    config: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    pass_rate: float = 1.0
    requirements: tuple[Requirement, ...] = ()
    version: str = ""
    status: RunStatus = "running"
    finished_at: float | None = None
    message: str = ""
    decided: Mapping[str, Any] = field(default_factory=dict)
    signature: str = ""
    unrecorded: Mapping[str, int] = field(default_factory=dict)
    idle_s: float = 0.0
    code: ApplicationCode = field(default_factory=dict)
    gate_verdict: GateVerdict | None = None

    @property
    def took_s(self) -> float | None:
        """How many seconds it was at work, without those before it was resumed; None where it hasn't ended."""
        ended = self.finished_at
        return ended and max(0.0, ended - self.created_at - self.idle_s)

    @property
    def knows_all_calls(self) -> bool:
        """Whether nothing was sent that it has no record of, so that what it cost can be known."""
        return all(name.startswith(REFUSED) for name in self.unrecorded)

    @property
    def is_judge_check(self) -> bool:
        """Whether the run asked no system: a probe, an audit, a tryout, a check of canaries, or a prepared dataset."""
        return not JUDGE_CHECKS.isdisjoint(self.settings)

    @property
    def is_of_gate(self) -> bool:
        """Whether a gate ran it: what it comes to is the gate's to say, and not its pass rate's."""
        return "gate" in self.settings

    @property
    def is_sample(self) -> bool:
        """Whether the run ended after cases drawn beforehand: what came of them had no say in where it ended."""
        terms = self.settings.get("gate") or self.settings.get("drawn")
        if self.status != "decided" or not isinstance(terms, Mapping):
            return False
        return isinstance(terms.get("sample"), int) and not terms.get("stops")

    @property
    def ended_early(self) -> bool:
        """Whether outcomes had a say in which cases were run: it ended once decided, or drew more of those in doubt."""
        return self.status == "decided" and not (self.is_sample and not self.decided.get("chances"))

    @property
    def is_edited(self) -> bool:
        """Whether the run is one cell of another one, edited and asked again."""
        request = self.settings.get("asked")
        return isinstance(request, Mapping) and bool(request.get("edits"))

    @property
    def is_of_evals(self) -> bool:
        """Whether the run asked the system what its evals ask: no check of judges, and no edited cell."""
        return not (self.is_judge_check or self.is_edited)

    @property
    def is_scripted(self) -> bool:
        """Whether models and judges answered from a script: `--offline`, of the evals or of a study of them."""
        # A study keeps its own options beside those of the evals that it is about.
        parts = self.settings.values()
        return any(one.get("offline") is True for one in parts if isinstance(one, Mapping))

    @property
    def can_resume(self) -> bool:
        """Whether its file says what it was made from; of a gate's, what that goes by, too."""
        settings, terms = self.settings, self.settings.get("gate")
        if PREPARES in settings or (terms and not isinstance(terms, Mapping)):
            return False
        return "asked" in settings or isinstance(settings.get("skill"), Mapping)

    @property
    def plan_size(self) -> int:
        """How many trials the plan has; of a shard, the whole one."""
        return self.planned if self.sharded is None else self.sharded.trials

    @property
    def sharded(self) -> Sharded | None:
        """The part that it is, and of what; None for a run that is whole."""
        return Sharded.of(self.settings) if "shard" in self.settings else None


class CallStart(Record, frozen=True):
    """A model call that is about to be sent: what the journal holds before the first byte leaves.

    `nth` counts the identical requests of one trial, from 0: (trial, key, nth) names a call, in whatever order.
    `draw` says which of several answers to the same request is meant: trials may share the answer to one draw.
    """

    trial: int
    key: str
    nth: int
    role: CallRole
    provider: str
    identity: bytes
    cost_bound_usd: float | None
    draw: str = ""


EMPTY = "an empty answer"
CUT_OFF = "an empty answer: it was cut off before its first word"


class CallEnd(Record, frozen=True):
    """What became of a call: an answer, or the error that ended the last attempt.

    Attributes:
        body: The raw answer. Of an error, what an application was given, packed by `engine.call_ends`; else empty.
        attempts: How many times it was sent.
        wasted: Attempts that failed and may have been charged for all the same.
        error: The slug of the error, empty for an answer.
        message: The error in words; of an answer, EMPTY or CUT_OFF where it has no text.
        first_byte_s: Seconds until the answer began; None where it is not known.
        queued_s: Seconds that the answer was here and nobody had time for it; None where it did not come over the
            network.
    """

    body: bytes
    origin: Origin
    latency_s: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    model: str = ""
    attempts: int = 1
    wasted: int = 0
    error: str = ""
    message: str = ""
    first_byte_s: float | None = None
    queued_s: float | None = None


class CallRecord(Record, frozen=True):
    """A journaled call, as read back. `end` is None while it is in flight, or forever in doubt after a kill."""

    start: CallStart
    end: CallEnd | None

    @property
    def known(self) -> CallEnd:
        """What is known of its end: nothing while there is none, not even that it was sent."""
        return self.end or CallEnd(b"", "provider", attempts=0)


class ToolRecord(Record, frozen=True):
    """A recorded call of a tool of the application under test.

    Attributes:
        trial: The trial's place in the plan.
        key: A hash of the name and the arguments.
        nth: Its number among the identical calls of the trial, from 0.
        arguments: By name, as canonical JSON.
        result: What it returned, as JSON; `null` where it raised.
        error: What it raised, as JSON: `type`, `module`, `args`, `text`, `attributes`; empty for nothing.
        replayed: It was not run: the result is a recording.
    """

    trial: int
    name: str
    key: str
    nth: int
    arguments: bytes
    result: bytes
    error: bytes = b""
    replayed: bool = False


class TrialError(Record, frozen=True):
    """Why a trial has no verdict."""

    slug: str
    message: str
    where: str = ""


class Judged(Record, frozen=True):
    """What the judges of a trial came to: the part of its calls, tokens and cost that is theirs.

    Attributes:
        cost_usd: None where a price is not known.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = 0.0

    def plus(self, other: Judged) -> Judged:
        """Both together."""
        known = None not in (self.cost_usd, other.cost_usd)
        return Judged(
            calls=self.calls + other.calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )


class AnswerDetails(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What the subject's last reply said beside its output. What is empty or not known is not written.

    Attributes:
        id: What another program called this result.
        model: The model as the reply named it.
        finish_reason: Why it ended: `stop`, `length` or the vendor's own word.
        metadata: What a function that stands for a model returned beside its output.
        cost_usd: Of all the subject's calls, the judges' left out; None where it is not known, or nothing was charged.
        refused: The vendor marked it a refusal.
        left_out: Its text held thoughts, which were left out.
    """

    id: str = ""
    model: str = ""
    finish_reason: str = ""
    metadata: Mapping[str, Any] = msgspec.field(default_factory=dict)
    cost_usd: float | None = None
    refused: bool = False
    left_out: bool = False


NO_DETAILS = AnswerDetails()


class Costed(Protocol):
    """As much of a trial's result as says what it costs."""

    @property
    def cost_usd(self) -> float | None: ...
    @property
    def unpaid_usd(self) -> float | None: ...
    @property
    def cached(self) -> int: ...
    @property
    def taken(self) -> str: ...


def full_cost(trial: Costed) -> float | None:
    """What a trial's calls cost, whoever paid for them: an answer from the cache is no cheaper system's.

    None where a price is not known, or it is not known what was saved, as in runs of earlier versions.
    """
    if trial.cost_usd is None or not (trial.cached or trial.taken):
        return trial.cost_usd
    return None if trial.unpaid_usd is None else trial.cost_usd + trial.unpaid_usd


class TrialResult(Record, frozen=True, kw_only=True):
    """One settled trial.

    Attributes:
        index: Its place in the plan.
        case: The case's id.
        variant: The variant's index.
        repeat: From 0.
        outcome: pass, fail, error or not_applicable.
        score: The weighted mean of its outcomes' scores, by its rule; None for an error.
        output: What the body returned: text, or any JSON value.
        reason: Why, in a line.
        error: Set when the outcome is error.
        outcomes: One for each expectation, in the order in which they were recorded.
        latency_s: The subject's own answering time, summed; None where it was not asked.
        cost_usd: What was paid for its calls in this run, judges included; None where a price is not known.
        calls: Model calls that it used, replayed ones included.
        cached: Those of them that came from the cache or the journal.
        prompt: The subject's prompt as sent.
        vars: The case's variables, as rendered.
        log: What user code printed, at most 4 KB.
        kept: What it kept for later trials.
        threshold: What the score had to reach; None where it was not the score that decided.
        before: What it came to before it was compared with others of its case; None where it was not.
        compared: The part of `judged` that compared the outputs of all variants of its case, and is counted in this
            trial alone; None for none.
        judged: What its judges came to; None where none was asked.
        answer: What the subject's last reply said beside its output.
        test: The test as a config wrote it, secrets removed: its assertions and options.
        input: The case's input, where it has one.
        expected: What the case says a right answer is.
        scale: The lowest and the highest score there can be; None where some scorer does not say.
        checks: A digest of what is expected of the answer; see `evenhand.core.plan.PlannedTrial.checks`.
        copy_key: A digest of all that its case and test say, whatever the case's id: two with the same one are copies.
            Empty for a case without input and variables, and in runs of earlier versions.
        taken: The id of the run that it was taken from, as nothing that it depends on has changed since; empty for a
            trial that was run.
        steps: What is to be kept of its steps: those with a `record` without what the run file has of that. They are
            not read back with the result: `Run.steps` puts all of them together.
        content: A digest of each part of what its case says; empty where that was not recorded. It says which part
            differs between two runs, where `copy_key` finds copies within one.
        definitions: What each of its first outcomes asks, in their order; empty where that was not recorded.
        unpaid_usd: What its answers from the cache, a replay or a baseline would have cost; None for none, and where
            that is not known.
    """

    index: int
    case: str
    variant: int
    repeat: int
    outcome: State
    score: float | None
    output: Any = None
    reason: str = ""
    error: TrialError | None = None
    outcomes: tuple[Outcome, ...] = ()
    named_scores: Mapping[str, float] = field(default_factory=dict)
    latency_s: float | None = None
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    calls: int = 0
    cached: int = 0
    prompt: str = ""
    vars: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    log: str = ""
    kept: Any = None
    threshold: float | None = None
    before: Verdict | None = None
    judged: Judged | None = None
    answer: AnswerDetails = NO_DETAILS
    test: Mapping[str, Any] = field(default_factory=dict)
    input: Any = None
    expected: Any = None
    scale: Scale | None = None
    checks: str = ""
    copy_key: str = ""
    taken: str = ""
    steps: tuple[Step, ...] = ()
    content: Mapping[str, str] = field(default_factory=dict)
    definitions: tuple[Definition, ...] = ()
    compared: Judged | None = None
    unpaid_usd: float | None = None

    @property
    def full_cost_usd(self) -> float | None:
        """What all its calls cost, whoever paid for them; None where that is not known."""
        return full_cost(self)

    @property
    def passed(self) -> bool | None:
        """Whether the trial passed; None for an error, and where nothing applied."""
        return PASSED.get(self.outcome)

    @property
    def missed(self) -> list[Outcome]:
        """The expectations that it failed; those without weight, which decide nothing, only where no other failed."""
        failed = [one for one in self.outcomes if one.outcome == "fail"]
        return [one for one in failed if one.weight] or failed


class Totals(Record, frozen=True, kw_only=True):
    """Counts over a run's settled trials and its calls. `cost_usd` is null when no price was known for some call."""

    trials: Annotated[int, Key("settled", "trials")] = 0
    passed: Annotated[int, Key("", "trials")] = 0
    failed: Annotated[int, Key("", "trials")] = 0
    errors: Annotated[int, Key("without a verdict", "trials")] = 0
    not_applicable: Annotated[int, Key("to which no expectation applied", "trials")] = 0
    calls: Annotated[int, Key("of all trials, judges' and replayed ones included", "calls")] = 0
    cached: Annotated[int, Key("answered by the cache or the journal", "calls")] = 0
    cost_usd: Annotated[
        float | None, Key("of all trials", "US dollars", null="the price of a call is not known")
    ] = 0.0
    tokens_in: Annotated[
        int, Key("counted by the vendors; nothing is added where one did not say", "tokens")
    ] = 0
    tokens_out: Annotated[int, Key("the same", "tokens")] = 0


class DecidedColumn(Record, frozen=True, kw_only=True):
    """What the trials of a column decided."""

    state: Annotated[Literal["kept", "missed", "open"], Key("`kept`, `missed` or `open`")]
    variant: Annotated[int, Key("its index")]
    least: Annotated[
        float | UnsetType,
        Key(
            "the pass rate of all cases, those that were left out among them, had errors come out as low as can be",
            "0 to 1",
            null="no sample was drawn",
        ),
    ] = UNSET
    most: Annotated[
        float | UnsetType, Key("had they come out as high", "0 to 1", null="no sample was drawn")
    ] = UNSET
    low: Annotated[
        float | UnsetType,
        Key("the lower end of its interval", "0 to 1", null="no sample was drawn"),
    ] = UNSET
    high: Annotated[
        float | UnsetType, Key("the upper end", "0 to 1", null="no sample was drawn")
    ] = UNSET
    of: Annotated[
        int | UnsetType, Key("how many cases it is about", "cases", null="no sample was drawn")
    ] = UNSET
    predicted: Annotated[
        bool | UnsetType,
        Key("whether the baseline predicted those left out", null="no sample was drawn"),
    ] = UNSET
    about: Annotated[
        bool | UnsetType,
        Key("whether `of` is estimated from those that were run", null="no sample was drawn"),
    ] = UNSET


class Decided(Record, frozen=True, kw_only=True):
    """What the trials of a run decided that was to end as soon as they do; the keys as a run file has them, sorted."""

    alpha: Annotated[float, Key("the level of the test")]
    cases: Annotated[int, Key("that were looked at, one after the other", "cases")]
    chances: Annotated[
        dict[str, float] | UnsetType,
        Key(
            "how likely each case was to be drawn, by its id",
            null="all were as likely: `cases` of `of`",
        ),
    ] = UNSET
    columns: Annotated[
        list[DecidedColumn] | UnsetType, Key("for each bound; missing from a gate")
    ] = UNSET
    of: Annotated[int, Key("that there are", "cases")]
    seed: Annotated[int, Key("of their order")]
    verdict: Annotated[
        str | None,
        Key(
            "`passed` or `failed`; of a gate `worse` or `not worse`",
            null="nothing was decided before the last case that was to be run",
        ),
    ]


def verdict(totals: Totals, planned: int, pass_rate: float = 1.0) -> VerdictWord:
    """Whether a run passed, by the one rule that decides the words and the exit code.

    A trial without a verdict (an error, or one that never ran) could have gone either way. The run passed if it would
    have even had all of those failed, it failed if it would have even had all of them passed; else it is undecided.
    Trials to which nothing applied take no part.

    Args:
        totals: What the settled trials came to.
        planned: How many trials the plan has.
        pass_rate: The share that must pass, 0 to 1.
    """
    unknown = totals.errors + max(0, planned - totals.trials)
    everything = totals.passed + totals.failed + unknown
    if not everything:
        return "undecided"
    # As floats, 0.07 × 100 is slightly more than 7.
    if totals.passed >= pass_rate * everything - 1e-9:
        return "passed"
    if totals.passed + unknown < pass_rate * everything - 1e-9:
        return "failed"
    return "undecided"


PYTEST = "pytest"
"""The title of runs that are sessions of pytest."""


def is_of_pytest(title: str, variants: Sequence[Variant]) -> bool:
    """Whether a run is a session of pytest: its variants are tests, and no model is theirs."""
    return title == PYTEST and not any(v.model or v.eval or v.prompt_raw for v in variants)


class ProgressSnapshot(Record, frozen=True, kw_only=True):
    """How far a run has come, for a progress line.

    Attributes:
        settled: Trials with a result, in this session.
        planned: Trials that this session has to settle.
        under_way: Trials begun and not settled.
        calls: Model calls asked for, replayed ones included.
        cached: Those of them that were replayed.
        cost_usd: Spent in this session, as far as prices are known.
        waiting: What holds the run up, e.g. `api.openai.com paused, resumes in 7 s`; empty for nothing.
        seconds: Since the session began.
    """

    settled: int
    planned: int
    passed: int
    failed: int
    errors: int
    under_way: int
    calls: int
    cached: int
    cost_usd: float
    waiting: str
    seconds: float


REFUSED = "refused: "
"""What stands before the name of a call that belongs to no trial, and was not sent."""
UNSEEN = "unseen: "
"""What stands before the name of a call that asked a model in a way that can't be recorded."""


def unseen(calls: Sequence[str]) -> ScoreError:
    """The error of a scorer that would have to know of calls that were made and not recorded."""
    first = calls[0].removeprefix(UNSEEN)
    more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
    if first != calls[0]:
        return ScoreError(
            f"what the trial did and took is not known: it made a call that can't be recorded, {first}{more}",
            hint="In an async def eval, use an async client or asyncio.to_thread.",
        )
    return ScoreError(
        "what the trial did and took is not known: while it ran, a call was made that belongs to no trial, "
        f"{first}{more}",
        hint="Make it in the trial's own thread, in one that it starts, or through asyncio.to_thread.",
    )


def ended(record: ToolRecord) -> dict[str, Any]:
    """The fields of the step: its result and that it went well, or that it failed and why."""
    if not record.error:
        return {"result": decode(record.result), "status": "ok"}
    fields = as_mapping(decode(record.error))
    words = " ".join(map(str, as_array(fields.get("args"))))
    return {"status": "error", "error": f"{fields.get('type')}: {words}".rstrip(": ")}
