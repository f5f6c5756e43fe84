"""What several runs say of a judge that is asked again about the same outputs, and of other wordings of a prompt.

How this works: beside the first run, each other one either judged the same outputs again, by the same judge and words:
then their verdicts on an output say how much the judge varies. Or its prompt or judge prompt is worded otherwise: then
the means of the cases that all of them have say how much the wording does. What differs in anything else is refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from msgspec.structs import replace

from evenhand.analysis.comparison.comparison_sides import matched_variants
from evenhand.analysis.comparison.regraded_outputs import regraded_outputs
from evenhand.analysis.comparison.same_test import judged_again, other_evals
from evenhand.analysis.trust.judgements.judged import Judgements, judgements
from evenhand.analysis.trust.power import Pilot, pilot_of
from evenhand.analysis.trust.power_document import PowerJudge, PowerWording
from evenhand.core.errors import UsageError
from evenhand.core.run import RunMeta
from evenhand.core.wording.words import safe, short_id
from evenhand.stats.bounded import mean_on_scale
from evenhand.stats.variance_parts import FEWEST_UNITS, judge_part, wording_part
from evenhand.store.runfile import RunFile


def pilot_of_runs(runs: Sequence[RunFile]) -> Pilot:
    """What a run says before another one is planned, and what runs beside it say of its judge and of its wording.

    Args:
        runs: The first, and those beside it, if there are any.

    Raises:
        UsageError: No trial of the first passed or failed; a run differs from it in nothing, or in more than wording;
            the judge's answers are old ones; too few cases are in all runs.
        StoreError: A run cannot be read.
    """
    first, *others = runs
    pilot = pilot_of(first)
    if not pilot.cases:
        raise UsageError(
            f"no trial of run {short_id(first.meta.id)} passed or failed",
            hint="Name another run, or say what pass rate you expect: --rate 0.8.",
        )
    if not others:
        return pilot
    judged = [judgements(run) for run in runs]
    again, worded = [judged[0]], [first]
    for run, judges in zip(others, judged[1:], strict=True):
        same_words = _words_of_judge(judges) == _words_of_judge(judged[0])
        if judged_again(first.meta, run.meta) and same_words:
            _look_at_outputs(first, run)
            _look_at_answers(run)
            again.append(judges)
        else:
            _look_at_wording(first.meta, run.meta, same_words=same_words)
            worded.append(run)
    if len(again) > 1:
        pilot = replace(pilot, again=_judged_again(again))
    return replace(pilot, wording=_worded(worded)) if len(worded) > 1 else pilot


def _words_of_judge(judged: Judgements) -> Mapping[str, set[str]]:
    """By metric the digests of what its judges were asked."""
    words: dict[str, set[str]] = {}
    for (metric, _), one in judged.metrics.items():
        words.setdefault(metric, set()).update(one.instruments)
    return words


def _look_at_outputs(first: RunFile, run: RunFile) -> None:
    """That a run judged the outputs of the first, and none that today's code made of the same replies."""
    pairs, *_ = matched_variants(first.meta.variants, run.meta.variants)
    outputs, _ = regraded_outputs(first, run, pairs, {})
    if outputs.others:
        raise UsageError(
            f"run {short_id(run.meta.id)} has other outputs than run {short_id(first.meta.id)}: {outputs.title}",
            hint="Judge the outputs again with the application's code as it was.",
        )


def _look_at_answers(run: RunFile) -> None:
    """That a run's judges answered anew: an answer of the cache is no second answer."""
    if any(one.role == "judge" and one.cached for one in run.usage()):
        raise UsageError(
            f"run {short_id(run.meta.id)} has old answers of its judge, from the cache",
            hint="Judge the outputs again with `evenhand regrade --no-cache`.",
        )


def _look_at_wording(first: RunMeta, second: RunMeta, *, same_words: bool) -> None:
    """That two runs' first variants differ in their wording, and in nothing else that is known."""
    name = f"runs {short_id(first.id)} and {short_id(second.id)}"
    if not first.variants or not second.variants:
        raise UsageError(f"{name}: one of them has no variant")
    one, two = first.variants[0], second.variants[0]
    more = other_evals(one, two)
    if not more and (one.provider_id or one.model) != (two.provider_id or two.model):
        more = f"the models differ: {safe(one.model)} and {safe(two.model)}"
    if more:
        raise UsageError(
            f"{name} differ in more than wording: {more}", hint="Name runs of the same model."
        )
    if same_words and (one.prompt_raw, one.prompt) == (two.prompt_raw, two.prompt):
        raise UsageError(
            f"{name} have the same wording",
            hint="Name runs whose prompt or judge prompt differs, or whose outputs were judged again.",
        )


def _judged_again(judged: Sequence[Judgements]) -> list[PowerJudge]:
    """For each judge that several runs have, how its verdicts on the same output vary."""
    first, *others = judged
    rows: list[PowerJudge] = []
    for (metric, model), one in first.metrics.items():
        verdicts = {(item.case, item.variant, item.index): [item.passed] for item in one.items}
        for other in others:
            again = other.metrics.get((metric, model))
            for item in again.items if again is not None else ():
                key = (item.case, item.variant, item.index)
                if key in verdicts:
                    verdicts[key].append(item.passed)
        by_case: defaultdict[str, list[float]] = defaultdict(list)
        for (case, _, _), answers in verdicts.items():
            n, passed = len(answers), sum(answers)
            if n > 1:
                by_case[case].append(1 - 2 * passed * (n - passed) / (n * (n - 1)))
        # A case counts once, however many of its outputs were judged again.
        agreement = mean_on_scale(((fmean(each), 1) for each in by_case.values()), (0.0, 1.0))
        if agreement is not None:
            outputs = sum(map(len, by_case.values()))
            value, low, high = judge_part(agreement)
            rows.append(
                PowerJudge(
                    metric=metric, model=model, variance=value, low=low, high=high, outputs=outputs
                )
            )
    return rows


def _worded(runs: Sequence[RunFile]) -> PowerWording:
    """How much the pass rates of runs with other wordings differ, beyond what chance makes of them."""
    columns: list[dict[str, list[float]]] = []
    broken: set[str] = set()
    for run in runs:
        column: dict[str, list[float]] = {}
        for trial in run.outcomes():
            if trial.variant:
                continue
            if trial.outcome == "error":
                broken.add(trial.case)
            elif trial.outcome in ("pass", "fail"):
                column.setdefault(trial.case, []).append(float(trial.outcome == "pass"))
        columns.append(column)
    every = set[str]().union(*columns) | broken
    common = sorted(set(columns[0]).intersection(*columns[1:]) - broken)
    if len(common) < FEWEST_UNITS:
        raise UsageError(
            f"the runs have {len(common)} cases in common that are not in error",
            hint=f"It takes {FEWEST_UNITS} to tell wording from chance.",
        )
    part, _ = wording_part([[fmean(column[case]) for case in common] for column in columns])
    prompts = {run.meta.variants[0].prompt_raw or run.meta.variants[0].prompt for run in runs}
    return PowerWording(
        of="prompt" if len(prompts) > 1 else "judge",
        variance=part.value,
        low=part.low,
        high=part.high,
        wordings=len(runs),
        cases=len(common),
        left_out=len(every) - len(common),
    )
