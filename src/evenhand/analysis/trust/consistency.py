"""How firm a judge's verdicts are: asked the same question again, and shown two texts in the other order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from evenhand.analysis.summaries.share_rows import percent_within
from evenhand.analysis.trust.audit import Audit, not_applicable
from evenhand.analysis.trust.judgements.judged import (
    JudgedMetric,
    instrument_of,
    judge_of,
    members_of,
    metric_of,
)
from evenhand.core.encoding import digest, encode
from evenhand.core.run import TrialResult
from evenhand.core.score import with_parts
from evenhand.core.wording.words import count
from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.correction import Estimate
from evenhand.stats.interval import clopper_pearson
from evenhand.stats.paired_rates import mcnemar
from evenhand.store.runfile import RunFile

Key = tuple[str, str]
"""A metric and its judge."""
Votes = dict[tuple[str, str, str], list[bool]]
"""The verdicts on each question: by case, question, and the member of the jury that is asked more than once."""

FEWEST_PAIRS = 6
"""Pairs that go by the place below which no test can show a preference for one."""


def questions(trial: TrialResult) -> dict[Key, str]:
    """What each judge of a trial was asked, as a digest, by metric and judge: the same for the same question.

    The call's own key says it. Where no call is known, as in imported runs, it is the output and the judge's prompt.
    """
    parts: dict[Key, list[object]] = {}
    output = None
    for outcome in with_parts(trial.outcomes):
        if model := judge_of(outcome):
            # Only where a judge was asked: encoding outputs takes time.
            output = output or digest(encode(trial.output))
            call = outcome.rests_on[0][0] if outcome.rests_on else ""
            part = [outcome.name, instrument_of(outcome), call, output]
            parts.setdefault((metric_of(outcome), model), []).append(part)
    return {key: digest(encode(part)) for key, part in parts.items()}


def repeat_audits(run: RunFile, metrics: Mapping[Key, JudgedMetric]) -> dict[Key, Audit]:
    """How often each judge gives the same verdict when it is asked the same question again.

    That is where repeats of a case have the same output, and where a jury has the same judge more than once. Verdicts
    only: what ended in an error is left out.
    """
    votes = _votes(run, metrics)
    return {key: _repeats(votes.get(key, {})) for key in metrics}


def order_audits(metric: JudgedMetric) -> tuple[Audit, Audit]:
    """How often the order of two texts does not change a preference; and whether it goes to one place where it does."""
    orders = metric.orders
    pairs, consistent = orders.total(), orders["consistent"]
    if not pairs:
        why = "the judge was asked for no preferences"
        return not_applicable("orders", why), not_applicable("position", why)
    share = Estimate(consistent / pairs, *clopper_pearson(consistent, pairs))
    words = (
        f"the same preference in both orders for {percent_within(share)} of {count(pairs, 'pair')}"
    )
    same = Audit(
        name="orders", result="measured", words=words, measure="share", estimate=share, items=pairs
    )
    return same, _position(orders["first"], orders["second"])


def _position(first: int, second: int) -> Audit:
    n = first + second
    if n < FEWEST_PAIRS:
        return not_applicable(
            "position",
            f"{count(n, 'preference')} depended on position, and it takes {FEWEST_PAIRS}",
        )
    share = Estimate(first / n, *clopper_pearson(first, n))
    words = f"of {count(n, 'pair')} whose verdict depends on position, {percent_within(share)} go to the first text"
    return Audit(
        name="position",
        result="not shown",
        words=words,
        measure="share",
        estimate=share,
        p=mcnemar(first, second),
        items=n,
    )


def _votes(run: RunFile, metrics: Mapping[Key, JudgedMetric]) -> dict[Key, Votes]:
    """The verdicts by question, of what may have been asked more than once."""
    verdicts = {
        key: {item.index: item.passed for item in metric.items} for key, metric in metrics.items()
    }
    votes: dict[Key, Votes] = {key: defaultdict(list) for key in metrics}
    for trial in _asked_again(run, metrics):
        for key, question in questions(trial).items():
            passed = verdicts.get(key, {}).get(trial.index)
            if passed is None:
                continue
            # The variants of a run may ask the same: repeats are those of one.
            question_here = f"{trial.variant} {question}"
            members = _members(trial, key)
            for member, verdict in members or [("", passed)]:
                votes[key][trial.case, question_here, member].append(verdict)
    return votes


def _asked_again(run: RunFile, metrics: Mapping[Key, JudgedMetric]) -> Iterable[TrialResult]:
    """The trials in which a question may be one that was asked before, in the plan's order."""
    for metric in metrics.values():
        cells = Counter((item.case, item.variant) for item in metric.items)
        if any(n > 1 for n in cells.values()):
            return run.trials()
    return run.measuring("jury")


def _members(trial: TrialResult, key: Key) -> list[tuple[str, bool]]:
    """The verdicts of the members that are in a trial's jury more than once, by their names."""
    verdicts: list[tuple[str, bool]] = []
    for place, outcome in enumerate(with_parts(trial.outcomes)):
        if (metric_of(outcome), judge_of(outcome)) == key:
            members = [
                (str(row.get("judge", "")), passed)
                for row in members_of(outcome)
                if isinstance(passed := row.get("passed"), bool)
            ]
            often = Counter(name for name, _ in members)
            verdicts += [(f"{place} {name}", passed) for name, passed in members if often[name] > 1]
    return verdicts


def _repeats(votes: Votes) -> Audit:
    by_case: defaultdict[str, list[float]] = defaultdict(list)
    for (case, *_), verdicts in votes.items():
        if len(verdicts) > 1:
            by_case[case].append(_agreement(verdicts))
    again = [share for shares in by_case.values() for share in shares]
    mean = mean_on_scale([(sum(s), len(s)) for s in by_case.values()], (0.0, 1.0))
    if mean is None:
        return not_applicable("repeats", "the judge was asked no question twice")
    share = Estimate(*mean)
    both = sum(one < 1 for one in again)
    words = (
        f"the same verdict for {percent_within(share)} of pairs of answers to the same question; "
        f"{both:,} of {count(len(again), 'question')} asked more than once got both verdicts"
    )
    return Audit(
        name="repeats",
        result="measured",
        words=words,
        measure="share",
        estimate=share,
        items=len(again),
    )


def _agreement(verdicts: Sequence[bool]) -> float:
    """The share of pairs of verdicts that are the same."""
    n, passed = len(verdicts), sum(verdicts)
    return 1 - 2 * passed * (n - passed) / (n * (n - 1))
