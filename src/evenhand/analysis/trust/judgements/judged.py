"""What judges said in a run, item by item, and what they were asked."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, repeat
from statistics import fmean

from msgspec import convert, field

from evenhand.analysis.trust.judgements.judged_basis import CaseSample, Parts
from evenhand.core.definition import UNKNOWN, Definition
from evenhand.core.encoding import digest, encode
from evenhand.core.json_shapes import as_mapping, is_array, is_mapping, is_number
from evenhand.core.record import MutableRecord, Record
from evenhand.core.run import TrialResult
from evenhand.core.score import DEFINITION, Outcome, Scale, with_parts
from evenhand.core.variant import Variant
from evenhand.stats.correction import Verdicts
from evenhand.store.groups import named_cluster
from evenhand.store.runfile import RunFile


class CascadeStages(Record, frozen=True, kw_only=True):
    """What the judges of a cascade said of one output.

    Attributes:
        risk: The share of verdicts that stand which may be wrong.
        stage: Whose verdict stands: `first` or `then`.
        first_passed: Whether the first judge passes it; None where it gave no verdict.
        first: How sure it is, from 0 to 1; None where it gave no verdict.
        then: How sure the second one is; None where it wasn't asked.
        question: A digest of what was asked.
        system: A digest of what was judged.
        judges: Both, as they answered; empty where one didn't.
    """

    id: str
    risk: float
    stage: str
    first_passed: bool | None
    first: float | None
    then: float | None
    question: str
    system: str
    judges: tuple[str, str]


class Item(Record, frozen=True, kw_only=True):
    """A judge's verdict on one output.

    Attributes:
        index: The trial's place in the plan.
        case: The case's id.
        variant: The variant's index.
        passed: Whether the judge passes it.
        certainty: How sure the judge seems, from 0 to 1; see `certainty_of`.
        score: The judge's score, the mean of several under one metric; None where it gave none.
        probability: How likely a pass is, as a decision model says; None where the judge says only a verdict.
        stages: What the judges of a cascade said; None for one judge.
        cluster: A name of what the case belongs to, the same in every run; empty where it stands alone.
    """

    index: int
    case: str
    variant: int
    passed: bool
    certainty: float = 1.0
    score: float | None = None
    probability: float | None = None
    stages: CascadeStages | None = None
    cluster: str = ""

    @property
    def unit(self) -> str:
        """What is independent of others: the cluster, or the case alone."""
        return self.cluster or self.case


class Questions(MutableRecord, kw_only=True):
    """What a judge was asked in one eval.

    Attributes:
        instruments: Digests of what it was asked, apart from what it was to judge.
        criteria: Digests of the expectations: their names and bounds.
        cases: What it was asked about some of the cases, and what was expected of them; empty where only verdicts were
            read.
    """

    instruments: set[str] = field(default_factory=set[str])
    criteria: set[str] = field(default_factory=set[str])
    cases: CaseSample = field(default_factory=CaseSample)


class JudgedMetric(MutableRecord, kw_only=True):
    """All that one judge said under one metric.

    Attributes:
        metric: The metric, or the expectation's name where it has none.
        model: The judge, as its answers named it; members of a jury joined by `+`.
        items: Its verdicts, in the plan's order.
        errors: How many outputs it gave no verdict on, by variant.
        orders: Of preferences asked in both orders: how many were `consistent`, how many went to the `first` or to the
            `second` text in both orders, and in how many only one order named a text (`half`).
        scale: The lowest and the highest score that its scorers say there can be; None where none does.
        questions: What it was asked, by the eval that it was asked in.
        fallback: Whether it was asked in place of another judge that was out of reach.
        undecided: Of a cascade, the trials of which no judge was sure enough, as places in the plan.
    """

    metric: str
    model: str
    items: list[Item] = field(default_factory=list[Item])
    errors: Counter[int] = field(default_factory=Counter[int])
    orders: Counter[str] = field(default_factory=Counter[str])
    scale: Scale | None = None
    questions: dict[str, Questions] = field(default_factory=dict[str, Questions])
    fallback: bool = False
    undecided: list[int] = field(default_factory=list[int])

    @property
    def evals(self) -> set[str]:
        """The evals that it was asked in."""
        return set(self.questions)

    @property
    def instruments(self) -> set[str]:
        """Digests of what it was asked in all of them; see `Questions`."""
        return {one for questions in self.questions.values() for one in questions.instruments}

    @property
    def criteria(self) -> set[str]:
        """Digests of the expectations of all of them."""
        return {one for questions in self.questions.values() for one in questions.criteria}

    @property
    def cases(self) -> CaseSample:
        """Digests of some of the cases of all evals, with what the judge was asked about them."""
        return CaseSample.joined(questions.cases for questions in self.questions.values())

    def within(self, evals: Collection[str], variants: Sequence[Variant]) -> JudgedMetric:
        """The metric in some evals of a run with these variants."""
        return replace(
            self,
            items=[item for item in self.items if variants[item.variant].eval in evals],
            questions={
                name: questions for name, questions in self.questions.items() if name in evals
            },
        )

    def by_eval(self, variants: Sequence[Variant]) -> dict[str, JudgedMetric]:
        """The metric in each eval alone, by name, found in one pass: a run may have many."""
        items: defaultdict[str, list[Item]] = defaultdict(list)
        for item in self.items:
            items[variants[item.variant].eval].append(item)
        return {
            name: replace(self, items=items[name], questions={name: questions})
            for name, questions in self.questions.items()
        }

    def add_question(self, outcome: Outcome, definition: Definition, eval_: str, case: str) -> bool:
        """Adds what it was asked. False where a jury lacks a member, whose question is not known.

        Args:
            definition: What the expectation says.
            eval_: The eval that it was asked in.
            case: The digest of the case; empty where it is not to be kept.
        """
        questions = self.questions.setdefault(eval_, Questions())
        criteria = criteria_of(outcome, definition)
        questions.criteria.add(criteria)
        whole = all(member.get("judge") for member in members_of(outcome))
        instrument = instrument_of(outcome) if whole else ""
        if whole:
            questions.instruments.add(instrument)
        if case:
            questions.cases.add(case, "criteria", criteria)
            if whole:
                questions.cases.add(case, "judge prompt", instrument)
        return whole

    @property
    def variants(self) -> list[int]:
        """The variants that it has a verdict on, by index."""
        return sorted({item.variant for item in self.items})

    def of_variant(self, variant: int) -> list[Item]:
        """The verdicts on the outputs of one variant."""
        return [item for item in self.items if item.variant == variant]

    @property
    def passed(self) -> int:
        """How many outputs it passes."""
        return sum(item.passed for item in self.items)


class Judgements(Record, frozen=True):
    """What judges said in a run.

    Attributes:
        metrics: By metric and judge, in the order in which they were first met.
        parts: What the evals of the run consist of; without anything where only verdicts were read.
    """

    metrics: Mapping[tuple[str, str], JudgedMetric]
    parts: Parts

    def names(self) -> list[str]:
        """The judged metrics, each once."""
        return list(dict.fromkeys(metric for metric, _ in self.metrics))


def judge_of(outcome: Outcome) -> str:
    """Who judged, as the answers named it; empty for an expectation that asks no judge."""
    judge = outcome.metadata.get("judge")
    if isinstance(judge, str):
        return judge
    names = {str(member.get("judge", "")) for member in members_of(outcome)}
    return "+".join(sorted(filter(None, names)))


def members_of(outcome: Outcome) -> list[Mapping[str, object]]:
    """What the members of a jury said; empty for what no jury judged. One that gave an error has no `judge`."""
    members = outcome.metadata.get("jury")
    if not is_array(members):
        return []
    return [member for member in members if is_mapping(member)]


def metric_of(outcome: Outcome) -> str:
    """What a judged expectation is counted under."""
    return outcome.metric or outcome.name


def certainty_of(outcome: Outcome) -> float:
    """How sure a judge seems of its verdict, from 0 to 1: the mean of what there is to go by; 1 where there is nothing.

    That is its stated confidence, how far a jury agrees (0 for an even split), whether both orders of a preference name
    the same text, and how far a score from 0 to 1 is from the middle.
    """
    answers: list[Mapping[str, object]] = [outcome.metadata, *members_of(outcome)]
    signals = [
        float(confidence)
        for answer in answers
        if isinstance(confidence := answer.get("confidence"), int | float)
    ]
    agreement = outcome.metadata.get("agreement")
    if isinstance(agreement, int | float):
        signals.append(2 * agreement - 1)
    consistent = outcome.metadata.get("consistent")
    if isinstance(consistent, bool):
        signals.append(float(consistent))
    if outcome.score is not None and 0 < outcome.score < 1:
        signals.append(abs(2 * outcome.score - 1))
    return min(1.0, max(0.0, sum(signals) / len(signals))) if signals else 1.0


def pass_probability_of(outcome: Outcome) -> float | None:
    """How likely it is that an output passes, as a decision model says; None where the judge says only a verdict.

    Of levels, that is the probability of those within the expectation's bounds.
    """
    levels = outcome.metadata.get("probabilities")
    probability = outcome.metadata.get("probability")
    if levels is None:
        if not is_number(probability) or not 0 <= probability <= 1:
            return None
        return 1 - probability if outcome.metadata.get("negated") else float(probability)
    if not is_mapping(levels) or (outcome.at_least is None and outcome.at_most is None):
        return None
    try:
        within = [float(p) for level, p in levels.items() if _is_within(outcome, float(level))]
    except (TypeError, ValueError):
        return None
    return min(1.0, math.fsum(within))


def _is_within(outcome: Outcome, level: float) -> bool:
    """Whether a level is within an expectation's bounds."""
    least = -math.inf if outcome.at_least is None else outcome.at_least
    most = math.inf if outcome.at_most is None else outcome.at_most
    return least <= level <= most


def stages_of(outcome: Outcome) -> CascadeStages | None:
    """What the judges of a cascade said; None for one judge."""
    cascade = outcome.metadata.get("cascade")
    if not is_mapping(cascade):
        return None
    first, then = as_mapping(cascade.get("first")), as_mapping(cascade.get("then"))
    sure, then_sure = first.get("certainty"), then.get("certainty")
    passed = _first_passed(outcome, first)
    return CascadeStages(
        id=str(cascade.get("id", "")),
        risk=float(cascade.get("risk", 0.1)),
        stage=str(cascade.get("stage", "")),
        first_passed=passed,
        first=float(sure) if is_number(sure) and passed is not None else None,
        then=float(then_sure) if is_number(then_sure) else None,
        question=str(cascade.get("question", "")),
        system=str(cascade.get("system", "")),
        judges=(str(first.get("judge", "")), str(then.get("judge", ""))),
    )


def _first_passed(outcome: Outcome, first: Mapping[str, object]) -> bool | None:
    """Whether the first judge of a cascade passes an output, as it would if its verdict stood; None for no verdict."""
    probability, levels = first.get("probability"), first.get("probabilities")
    if not is_number(probability):
        return None
    if levels is None:
        threshold = outcome.metadata.get("threshold")
        yes = probability > 0.5
        if first.get("graded") and is_number(threshold):
            yes = yes and probability >= threshold
        return yes is not bool(outcome.metadata.get("negated"))
    if not is_mapping(levels) or (outcome.at_least is None and outcome.at_most is None):
        return None
    try:
        return _is_within(outcome, float(max(levels, key=lambda level: levels[level])))
    except (TypeError, ValueError):
        return None


def verdicts_of(items: Sequence[Item], people: Mapping[Item, bool]) -> Verdicts:
    """The counts of a judge's verdicts on items, beside people's on some of them."""
    pairs = [(passed, item.passed) for item, passed in people.items()]
    return verdicts_beside(pairs, [item.passed for item in items])


def verdicts_beside(pairs: Sequence[tuple[bool, bool]], judged: Sequence[bool]) -> Verdicts:
    """The counts of verdicts.

    Args:
        pairs: People's verdict and the judge's on each labelled output.
        judged: The judge's on each output, labelled or not.
    """
    return Verdicts(
        pairs.count((True, True)),
        pairs.count((True, False)),
        pairs.count((False, True)),
        pairs.count((False, False)),
        sum(judged),
        len(judged),
    )


def certainties(items: Sequence[Item]) -> dict[Item, float]:
    """How sure the judge is of each: what it shows itself, and whether it says the same of the case's other repeats."""
    cells: dict[tuple[str, int], list[Item]] = defaultdict(list)
    for item in items:
        cells[item.case, item.variant].append(item)
    sure: dict[Item, float] = {}
    for item in items:
        cell = cells[item.case, item.variant]
        alike = sum(other.passed is item.passed for other in cell) / len(cell)
        repeated = max(0.0, 2 * alike - 1)
        sure[item] = item.certainty if len(cell) == 1 else (item.certainty + repeated) / 2
    return sure


def judgements(run: RunFile, *, verdicts_only: bool = False, cluster: str = "") -> Judgements:
    """Reads what judges said. The whole run is read once; it is empty where no judge was asked.

    Of two expectations of one trial under the same metric, both must pass.

    Args:
        verdicts_only: Leaves out the digests, which take as long again.
        cluster: What says which cases belong together, instead of the run's own; empty for these.
    """
    metrics: dict[tuple[str, str], JudgedMetric] = {}
    variants = [replace(one, cluster=cluster or one.cluster) for one in run.meta.variants]
    parts = Parts(run.meta.title, variants)
    keys = {variant.index: variant.cluster for variant in variants}
    in_error: list[tuple[str, int]] = []
    whole: set[tuple[str, str]] = set()
    for trial in run.trials():
        verdicts: dict[tuple[str, str], tuple[bool, float, float | None]] = {}
        scores: dict[tuple[str, str], list[float]] = {}
        stages: dict[tuple[str, str], CascadeStages | None] = {}
        case = "" if verdicts_only else parts.add(trial)
        for outcome, definition in _defined(trial):
            model = judge_of(outcome)
            if not model:
                # Its judge is not known: the error is given to the metric's judge below.
                if outcome.outcome == "error":
                    in_error.append((metric_of(outcome), trial.variant))
                continue
            key = metric_of(outcome), model
            judge = metrics.setdefault(key, JudgedMetric(metric=key[0], model=key[1]))
            judge.fallback = judge.fallback or bool(outcome.metadata.get("fallback"))
            if judge.add_question(outcome, definition, parts.eval_of(trial), case):
                whole.add(key)
            if outcome.error == "undecided":
                judge.undecided.append(trial.index)
                judge.errors[trial.variant] += 1
            if (order := _order_effect(outcome)) is not None:
                judge.orders[order] += 1
            if outcome.outcome in ("pass", "fail"):
                passed, certainty, probability = verdicts.get(key, (True, 1.0, 1.0))
                # Of several expectations under one metric, it isn't known which judge decided.
                stages[key] = None if key in stages else stages_of(outcome)
                own = None if stages[key] is not None else pass_probability_of(outcome)
                verdicts[key] = (
                    passed and outcome.outcome == "pass",
                    min(certainty, certainty_of(outcome)),
                    None if own is None or probability is None else min(own, probability),
                )
                if outcome.score is not None:
                    scores.setdefault(key, []).append(outcome.score)
                    judge.scale = _wider(judge.scale, outcome.scale)
        for key, (passed, certainty, probability) in verdicts.items():
            metrics[key].items.append(
                Item(
                    index=trial.index,
                    case=trial.case,
                    variant=trial.variant,
                    passed=passed,
                    certainty=certainty,
                    score=fmean(scores[key]) if key in scores else None,
                    probability=probability,
                    stages=stages.get(key),
                    cluster=named_cluster(keys.get(trial.variant, ""), trial.vars, trial.metadata),
                )
            )
    _join_juries(metrics, whole)
    # Reversed, so that of several judges of a metric the first one keeps the place.
    by_metric = {metric: judge for (metric, _), judge in reversed(metrics.items())}
    for metric, variant in in_error:
        if metric in by_metric:
            by_metric[metric].errors[variant] += 1
    if not verdicts_only:
        parts.add_calls(run)
    return Judgements(metrics, parts)


def _defined(trial: TrialResult) -> Iterator[tuple[Outcome, Definition]]:
    """The outcomes of a trial and their parts, with what each asks."""
    definitions = chain(trial.definitions, repeat(UNKNOWN))
    for outcome, definition in zip(trial.outcomes, definitions, strict=False):
        whole, *parts = with_parts([outcome])
        yield whole, definition
        for part in parts:
            own = part.metadata.get(DEFINITION)
            yield part, convert(own, Definition) if is_mapping(own) else UNKNOWN


def _join_juries(
    metrics: dict[tuple[str, str], JudgedMetric], whole: Collection[tuple[str, str]]
) -> None:
    """Counts the verdicts of juries that lacked a member, which gave an error, as those of the jury that they are."""
    for key in [key for key in metrics if key not in whole]:
        metric, model = key
        members = set(model.split("+"))
        juries = [k for k in whole if k[0] == metric and members < set(k[1].split("+"))]
        # Of several juries that it may be a part of, nobody knows which it is.
        if len(juries) == 1:
            part, jury = metrics.pop(key), metrics[juries[0]]
            jury.items = sorted([*jury.items, *part.items], key=lambda item: item.index)
            for name, questions in part.questions.items():
                jury.questions.setdefault(name, Questions()).criteria |= questions.criteria
            jury.orders += part.orders
            jury.scale = _wider(jury.scale, part.scale)


def _wider(first: Scale | None, second: Scale | None) -> Scale | None:
    if first is None or second is None:
        return first or second
    return min(first[0], second[0]), max(first[1], second[1])


def _order_effect(outcome: Outcome) -> str | None:
    """How a preference depends on the order in which two texts were shown; None for what is none."""
    orders = outcome.metadata.get("orders")
    if not is_array(orders) or not isinstance(outcome.metadata.get("consistent"), bool):
        return None
    if outcome.metadata["consistent"]:
        return "consistent"
    places = [
        "first" if order.get("winner") == order.get("first") else "second"
        for order in orders
        if is_mapping(order) and order.get("winner") in ("output", "other")
    ]
    return places[0] if len(places) == 2 and places[0] == places[1] else "half"


def criteria_of(outcome: Outcome, definition: Definition = UNKNOWN) -> str:
    """A digest of an expectation: its name and its bounds, a config's threshold and scores of categories among them.

    So are a config's transforms of what the judge reads.
    """
    settings = [outcome.metadata.get(name) for name in ("threshold", "category_scores")]
    bounds = [outcome.at_least, outcome.at_most, *(one for one in settings if one is not None)]
    reads = [definition.settings.get(name) for name in _READ] if definition.exact else []
    return digest(encode([outcome.name, *bounds, *filter(None, reads)]))


_READ = ("transform", "context")
"""The settings of an assertion that change what its judge is shown of an output."""


def instrument_of(outcome: Outcome) -> str:
    """What is known of the judge's prompt: a digest, or its version where the judge keeps no digest."""
    each = members_of(outcome) or [outcome.metadata]
    return digest(*(str(one.get("instrument") or one.get("prompt") or "") for one in each))
