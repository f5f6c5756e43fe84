"""A plan: what will happen. Every front door builds one of sheets; nothing in it has run.

A plan is walked, not held: `trials()` may read its cases from a file as it goes, so a million fit in flat memory.
It can be walked again, and says the same things each time.

A sheet is a block of cases × variants × repeats. It yields rows; a row has slots, one for each variant that takes it;
a slot becomes a `PlannedTrial` for each case and repeat.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from msgspec import field
from msgspec import field as record_field

from evenhand.core.application_code import ApplicationCode
from evenhand.core.case import Case
from evenhand.core.contest import Contest, Referee
from evenhand.core.errors import ConfigError, Problem, UsageError
from evenhand.core.expect import Trial, VerdictRule, all_pass
from evenhand.core.gate_terms import GateTerms
from evenhand.core.provider import Provider
from evenhand.core.record import MutableRecord, Record
from evenhand.core.requirement import Requirement
from evenhand.core.score import Outcome, Verdict
from evenhand.core.variant import Variant

Body = Callable[[Trial], Awaitable[object]]
"""Asks models and records expectations. What it returns is the trial's output, as shown and stored."""

Review = Callable[[Trial, Sequence[Outcome], Verdict], Awaitable[Verdict]]
"""A second look at a trial that is settled, by the user's own code: the verdict that stands."""


class PlannedTrial(Record, frozen=True, kw_only=True):
    """One trial before it happens.

    Attributes:
        index: Its place in the plan, from 0: results are stored and shown in this order.
        repeat: Which repeat, from 0.
        rule: How the outcomes become a verdict.
        judge: Who judges, for scorers that name nobody.
        models: Makes a provider of an id, the same one each time, for scorers that name a model in words; raises a
            UsageError for an id that nobody knows. None where no model can be named so.
        review: May overrule the rule's verdict; None for nobody.
        after: The places of earlier trials that have to be settled before this one begins: what their trials kept, it
            may read.
        alone: Nothing else is under way while it is. Such trials come before all others; see `RunOptions.some_alone`.
        contest: What is expected of it and the other trials of its case at once; None for nothing.
        test: What a config wrote of it, kept with the result; see `TrialResult.test`.
        scored_by: A digest of the code that decides what its outcomes come to, beside what `test` says; empty for none.
        problem: Why it cannot come to a verdict, as far as its files say; None where it may. It is an error, and
            nothing is asked for it.
        checks: Works out a digest of what is expected of its answer, with judges and code. Two trials with the same
            one, and the same variables, decide alike about the same answer. Empty, or None, where that can't be known.
        shows_thoughts: Whether what a model thought in its text is a part of its answer, where its own settings don't
            say.
        code: See `Plan.code`.
    """

    index: int
    case: Case
    variant: Variant
    repeat: int
    body: Body
    rule: VerdictRule = all_pass
    judge: Provider | None = None
    models: Callable[[str | Mapping[str, Any]], Provider] | None = None
    review: Review | None = None
    after: tuple[int, ...] = ()
    alone: bool = False
    contest: Contest | None = None
    test: Mapping[str, Any] = record_field(default_factory=dict)
    scored_by: str = ""
    problem: Problem | None = None
    checks: Callable[[], str] | None = None
    shows_thoughts: bool = False
    code: Callable[[], ApplicationCode] = dict


class CallEstimate(Record, frozen=True):
    """What one provider will be asked, before anything is asked.

    `cost_usd` and `tokens_out` are upper bounds; None where a price, or the longest answer, is not known.
    """

    provider: str
    role: str
    calls: int
    tokens_in: int
    cost_usd: float | None
    tokens_out: int | None = None


CALL_LIMIT_S = 60.0
"""Seconds for one call of a user's function, where nobody says how many."""


class CassetteUse(Record, frozen=True):
    """A cassette of a plan: replayed where the file is there, and otherwise recorded.

    Attributes:
        variants: The indexes of the variants that it belongs to.
        whole: All of what it is for is run; only then is it recorded.
    """

    path: Path
    variants: frozenset[int]
    whole: bool = True


class RunOptions(Record, frozen=True, kw_only=True):
    """How a plan wants to be run, where the command line says nothing else.

    Attributes:
        concurrency: Trials in flight; None leaves it to the engine.
        cache: Whether replies may come from the cache, and go to it.
        max_cost_usd: Spend no more than this.
        time_limit_s: For one call of a user's function.
        retries: How often a call that failed is tried again, rate limits not counted; None leaves it to the engine.
        trial_limit_s: For one trial, its model and its judges; None for as long as it takes. One that takes longer is
            an error.
        run_limit_s: For all trials: those that are not settled by then are errors.
        pass_rate: The share of trials that must pass for the run to pass, 0 to 1.
        requirements: What variants have to reach for the run to pass; where there are any, `pass_rate` does not count.
        delay_s: Seconds to wait before each call.
        closing: Called with the run's file once all its trials are settled.
        outputs: Files to which the results are written at the end.
        some_alone: Some trials say `alone`. The plan is walked for them first.
        gates: What a gate goes by, in the words of each eval set or config that says so.
        cassettes: What answers the calls of some variants.
        around: Entered while trials run, in each process that runs some: what has to be in place; None for nothing.
        set_up_once: Where its files say that what a trial sets up cannot be set up again: with batches it would be.
    """

    concurrency: int | None = None
    cache: bool = True
    max_cost_usd: float | None = None
    time_limit_s: float = CALL_LIMIT_S
    retries: int | None = None
    trial_limit_s: float | None = None
    run_limit_s: float | None = None
    pass_rate: float = 1.0
    requirements: tuple[Requirement, ...] = ()
    delay_s: float = 0.0
    closing: Callable[[Path], None] | None = None
    outputs: tuple[str, ...] = ()
    some_alone: bool = False
    gates: tuple[GateTerms, ...] = ()
    cassettes: tuple[CassetteUse, ...] = ()
    around: Callable[[], AbstractContextManager[object]] | None = None
    set_up_once: tuple[Problem, ...] = ()


MOST_TRIALS = 10_000_000
"""More than this no plan may come to: a run file of them could be neither written nor read in any sensible time."""


class Slot(Record, frozen=True, kw_only=True):
    """What happens where a row meets a variant: one trial, for each repeat. The fields are those of `PlannedTrial`."""

    variant: Variant
    body: Body
    review: Review | None = None
    after: tuple[int, ...] = ()
    test: Mapping[str, Any] = record_field(default_factory=dict)
    scored_by: str = ""
    problem: Problem | None = None
    checks: Callable[[], str] | None = None


class Row(Record, frozen=True, kw_only=True):
    """Cases that the same variants take, under the same rule: one case, or a test spread over lists of variables.

    Attributes:
        cases: The cases, in their order.
        slots: What happens in each variant that takes them, given a case and the place in the plan of its first slot.
        repeats: How often each case is repeated, one after the other.
        judge: Who judges, for scorers that name nobody.
        models: See `PlannedTrial.models`.
        referees: What is expected of all trials of a case at once.
        alone: See `PlannedTrial.alone`.
        shows_thoughts: See `PlannedTrial.shows_thoughts`.
    """

    cases: Sequence[Case]
    slots: Callable[[Case, int], Sequence[Slot]]
    repeats: int = 1
    rule: VerdictRule = all_pass
    judge: Provider | None = None
    models: Callable[[str | Mapping[str, Any]], Provider] | None = None
    referees: Sequence[Referee] = ()
    alone: bool = False
    shows_thoughts: bool = False


class Sheet(Record, frozen=True, kw_only=True):
    """A block of a plan, counted before it is walked: cases × variants × repeats.

    An eval set, a prompt directory and a promptfoo config are a sheet each.

    Attributes:
        rows: Walks its rows; each walk says the same.
        repeats: The most that any case is repeated.
        providers: Everything that may be asked so far, judges too; scorers may name more as they run.
        estimate: The calls that it will make, priced as far as prices are known.
    """

    variants: Sequence[Variant]
    rows: Callable[[], Iterator[Row]]
    case_count: int
    size: int
    repeats: int = 1
    providers: Callable[[], Sequence[Provider]] = tuple
    estimate: Callable[[], Sequence[CallEstimate]] = tuple


class Plan(MutableRecord, kw_only=True):
    """What will happen, sheet by sheet, and what is expected of each trial.

    Attributes:
        identify: Computes the `fingerprint`, which may have to read files.
        record: The configuration as read, for the record, secrets removed.
        code: Reads the application's code, as far as it is imported by then; see `RunMeta.code`.
        source: The file or folder that it was read from; empty for a plan made in code.
        options: How it wants to be run.
        hints: What was tolerated in the files, and is worth a look.
        broken: What keeps parts of it from a verdict: these are errors, and all else is run.
        notes: Once it has run: lines about it, for people.
        differences: Of files of another tool: sentences that say what comes out otherwise here than there.
        editor: How a trial of it is asked again with some of it edited; None where nothing can be.
    """

    title: str
    sheets: Sequence[Sheet]
    identify: Callable[[], str]
    record: Callable[[], Mapping[str, Any]] = dict
    code: Callable[[], ApplicationCode] = dict
    source: str = ""
    options: RunOptions = field(default_factory=RunOptions)
    hints: Sequence[Problem] = ()
    broken: Sequence[Problem] = ()
    notes: list[str] = field(default_factory=list[str])
    differences: Callable[[], Sequence[str]] = tuple
    editor: Editor | None = None
    _fingerprint: str = ""

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides what its trials do. A run resumes only under the same one."""
        if not self._fingerprint:
            self._fingerprint = self.identify()
        return self._fingerprint

    @property
    def config(self) -> Mapping[str, Any]:
        """The configuration as read, for the record, secrets removed."""
        return self.record()

    @property
    def size(self) -> int:
        """How many trials."""
        return sum(sheet.size for sheet in self.sheets)

    @property
    def case_count(self) -> int:
        """How many cases."""
        return sum(sheet.case_count for sheet in self.sheets)

    @property
    def repeats(self) -> int:
        """The most that any case is repeated."""
        return max((sheet.repeats for sheet in self.sheets), default=1)

    @property
    def variants(self) -> Sequence[Variant]:
        """The variants."""
        return tuple(variant for sheet in self.sheets for variant in sheet.variants)

    @property
    def providers(self) -> Sequence[Provider]:
        """Everything that may be asked, judges too, each once."""
        return list({id(one): one for sheet in self.sheets for one in sheet.providers()}.values())

    def trials(self) -> Iterator[PlannedTrial]:
        """The trials: row by row, repeat by repeat, case by case, variant by variant.

        Raises:
            UsageError: There are more or fewer than were counted.
        """
        index = 0
        for sheet in self.sheets:
            for row in sheet.rows():
                for repeat in range(row.repeats):
                    for case in row.cases:
                        slots = row.slots(case, index)
                        contest = None
                        if row.referees:
                            contest = Contest(index, len(slots), row.referees)
                        for slot in slots:
                            yield PlannedTrial(
                                index=index,
                                case=case,
                                variant=slot.variant,
                                repeat=repeat,
                                body=slot.body,
                                rule=row.rule,
                                judge=row.judge,
                                models=row.models,
                                review=slot.review,
                                after=slot.after,
                                alone=row.alone,
                                contest=contest,
                                test=slot.test,
                                scored_by=slot.scored_by,
                                problem=slot.problem,
                                checks=slot.checks,
                                shows_thoughts=row.shows_thoughts,
                                code=self.code,
                            )
                            index += 1
        if index != self.size:
            raise UsageError(
                f"the tests of {self.title} changed while they were read: there were {self.size} trials, now {index}",
                hint="Start the run again.",
            )

    def estimate(self) -> Sequence[CallEstimate]:
        """The calls that it will make, priced as far as prices are known: a row for each provider and role."""
        return summed(row for sheet in self.sheets for row in sheet.estimate())


class Editor(Protocol):
    """How the trials of one plan are asked again."""

    def editable(self, trial: PlannedTrial) -> Editable:
        """What of a trial can be edited.

        Raises:
            UsageError: It can't be asked again: why.
        """
        ...

    def edited(self, trial: PlannedTrial, edit: Edit) -> Plan:
        """The plan of this trial alone, edited, once. What may be edited in it was looked at before.

        Raises:
            UsageError: It can't be asked so: why.
        """
        ...


def summed(estimates: Iterable[CallEstimate]) -> list[CallEstimate]:
    """Estimates of the same provider and role as one. Where one of them has no price, the sum has none."""
    by_role: dict[tuple[str, str], CallEstimate] = {}
    for one in estimates:
        before = by_role.get((one.provider, one.role))
        if before is not None:
            costs = (before.cost_usd, one.cost_usd)
            longest = (before.tokens_out, one.tokens_out)
            one = CallEstimate(  # noqa: PLW2901 (both together)
                one.provider,
                one.role,
                before.calls + one.calls,
                before.tokens_in + one.tokens_in,
                None if None in costs else sum(filter(None, costs)),
                None if None in longest else sum(filter(None, longest)),
            )
        by_role[one.provider, one.role] = one
    return list(by_role.values())


def look_at_size(plan: Plan) -> None:
    """Refuses a plan of more trials than can be run. It is counted, and not walked.

    Raises:
        UsageError: It comes to too many.
    """
    if plan.size > MOST_TRIALS:
        cases, variants, repeats = plan.case_count, len(plan.variants), plan.repeats
        raise UsageError(
            f"{plan.title}: {counted(plan.size)} trials, and no more than {MOST_TRIALS:,} can be run:"
            f" {counted(cases)} cases, {counted(variants)} variants, {counted(repeats)} repeats",
            hint="Take fewer with --first, --sample or --repeat, or split the data.",
        )


def counted(number: int) -> str:
    """A count that may be of any size."""
    # Python refuses to write numbers of more than 4,300 digits; a bit is about 0.3 digits.
    return f"{number:,}" if number < _READABLE else f"about 10^{number.bit_length() * 3 // 10}"


_READABLE = 10**18


def refuse_if_nothing_is_left(plan: Plan) -> None:
    """Lets a plan pass of which something can be run, whatever is wrong with the rest.

    Raises:
        ConfigError: No trial of it can come to a verdict.
    """
    if plan.broken and all(planned.problem for planned in plan.trials()):
        raise ConfigError(plan.broken, plan.hints)


def refuse_hints(plan: Plan) -> None:
    """Lets a plan pass that nothing is noted of: what `--strict` asks for.

    Raises:
        ConfigError: There are hints; with all that is wrong beside them.
    """
    if plan.hints:
        raise ConfigError([*plan.broken, *plan.hints])


class Selection(Record, frozen=True, kw_only=True):
    """Which part of a plan to run. Applied by the front door in the order of the attributes.

    Attributes:
        metadata: `key=value`: cases whose metadata says so; all of them have to hold. Part of a text is enough, and one
            item of a list.
        only: Cases with these ids; None for all.
        filter: A regular expression: cases whose description or variables match.
        pattern: A regular expression: cases whose description matches.
        range: From this place to before that one, from 0; None for no bound.
        first: So many.
        sample: So many, drawn at random.
        seed: For the sample.
        repeats: How often each is repeated; None for as often as the files say.
        prompts: A regular expression: variants whose prompt is called so.
        models: A regular expression: variants whose model is called so, by id or label.
    """

    metadata: tuple[str, ...] = ()
    only: frozenset[str] | None = None
    filter: str = ""
    pattern: str = ""
    range: tuple[int | None, int | None] | None = None
    first: int | None = None
    sample: int | None = None
    seed: int = 0
    repeats: int | None = None
    prompts: str = ""
    models: str = ""

    def as_list(self) -> list[Any]:
        """The whole selection as a JSON-ready list, for fingerprints."""
        only = None if self.only is None else sorted(self.only)
        return [
            self.metadata, only, self.filter, self.pattern, self.range, self.first, self.sample, self.seed,
            self.repeats, self.prompts, self.models,
        ]  # fmt: skip


class Edit(Record, frozen=True, kw_only=True):
    """What is otherwise when a trial is asked again.

    Attributes:
        run: The id of the trial's run.
        trial: The trial's place in that run's plan.
        fingerprint: That plan's.
        prompt: The prompt, in the template language of the original; None for the original.
        values: The variables that are otherwise, by name.
        variant: The index of the variant whose model is asked; None for the trial's own.
        model: The id of a model that is asked in its place; empty for none.
    """

    run: str
    trial: int
    fingerprint: str
    prompt: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    variant: int | None = None
    model: str = ""


class Editable(Record, frozen=True, kw_only=True):
    """What of a trial can be edited.

    Attributes:
        prompt: The prompt as a template; None where that can't be edited.
        values: The variables by name, as they are written.
        models: The models of its run: the index of the first variant that has each, and its label.
        model: The index among these of the one that answered; None where its model can't be chosen.
        notes: What can't be edited, and what is left out, in sentences.
    """

    prompt: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[int, str] = field(default_factory=dict)
    model: int | None = None
    notes: tuple[str, ...] = ()
