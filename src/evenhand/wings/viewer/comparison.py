"""A comparison of two runs, in the shape that the page reads."""

from __future__ import annotations

import asyncio
import gc
import shlex
import sys
from pathlib import Path
from typing import cast

from evenhand.analysis.comparison.asked_otherwise import asked_otherwise
from evenhand.analysis.comparison.compared_runs import same_input
from evenhand.analysis.comparison.comparison_results import Compared, ends
from evenhand.analysis.comparison.comparison_sides import Side, matched
from evenhand.core.encoding import decode, encode
from evenhand.core.errors import EvenhandError, StoreError, UsageError
from evenhand.core.json_shapes import finite
from evenhand.core.wording.words import p_value, short_id
from evenhand.render.comparing import Comparison, compare
from evenhand.render.comparison import (
    amount,
    because,
    difference,
    is_tested,
    level,
    lines,
    says_interval,
)
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.history import changes_since
from evenhand.wings.viewer.listing import summary_of
from evenhand.wings.viewer.over_runs import edited_prompts
from evenhand.wings.viewer.shapes import ComparedRow, ComparedWords, ComparisonShape, Question

_REFUSALS: dict[int, type[EvenhandError]] = {3: UsageError, 4: StoreError}
"""What a process that compares ends with, and what it means."""


def comparison(run: RunFile, baseline: RunFile) -> ComparisonShape:
    """The run against a baseline: how much better or worse it is than that.

    Raises:
        UsageError: They cannot be compared.
        StoreError: One of them cannot be read.
    """
    compared = compare(baseline, run)
    pairs, _ = matched(Side(baseline), Side(run))
    command = f"evenhand compare {short_id(baseline.meta.id)} {short_id(run.meta.id)}"
    renamed = same_input(baseline, run)
    metrics = list(dict.fromkeys(result.metric for result in compared.results))
    return ComparisonShape(
        baseline=summary_of(baseline, baseline.totals()),
        changes=changes_since(run, baseline),
        edited=edited_prompts(baseline.meta.variants, run.meta.variants),
        pairs=pairs,
        renamed=renamed,
        unlike=asked_otherwise(baseline, run, renamed),
        questions=[
            *(
                _question(compared.of(metric), metric, f"{command} --metric {shlex.quote(metric)}")
                for metric in metrics
            ),
            _question(compared, "", command),
        ],
    )


def _question(whole: Comparison, metric: str, command: str) -> Question:
    rows = [_row(result, whole) for result in whole.results]
    return Question(metric=metric, command=command, results=rows, lines=lines(whole))


def _row(result: Compared, whole: Comparison) -> ComparedRow:
    words = None
    if result.first_range and result.second_range and result.difference_range:
        words = ComparedWords(
            first=level(result, result.first_range),
            second=level(result, result.second_range),
            difference=difference(result, result.difference_range),
            low=amount(result, result.low) if says_interval(result) else "",
            high=amount(result, result.high) if says_interval(result) else "",
            p=p_value(result.p) if is_tested(result) and not result.withheld else "",
        )
    return ComparedRow(
        metric=result.metric,
        rates=result.data.rates,
        lower=result.lower,
        before=result.columns[0],
        after=result.columns[1],
        verdict=result.verdict,
        because=because(result, whole).removeprefix(" (").removesuffix(")"),
        n=result.n,
        **ends("first", result.first_range),
        **ends("second", result.second_range),
        **ends("difference", result.difference_range),
        trials_in_error=result.trials_in_error,
        low=finite(result.low),
        high=finite(result.high),
        p=finite(result.p),
        words=words,
    )


async def compared_elsewhere(run: Path, baseline: Path) -> bytes:
    """The comparison of two large runs as JSON, made in a process of its own, whose memory ends with it.

    Raises:
        UsageError: They cannot be compared.
        StoreError: One of them cannot be read.
    """
    command = (
        sys.executable,
        "-P",
        "-m",
        "evenhand.wings.viewer.comparison",
        str(run),
        str(baseline),
    )
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:  # whoever asked has gone
            process.kill()
            await process.wait()
    if process.returncode == 0:
        return output
    if process.returncode not in _REFUSALS:
        raise StoreError(f"the process that compared the runs ended with {process.returncode}")
    refusal = cast("dict[str, str]", decode(output))
    raise _REFUSALS[process.returncode](refusal["message"], hint=refusal["hint"])


def main(run: str, baseline: str) -> int:
    """Writes the comparison of two run files, or why there is none, to stdout.

    Returns:
        The exit code: 0, or one of `_REFUSALS`.
    """
    gc.disable()  # millions of objects that last, and no cycles: looking for them takes half of the time
    code = 0
    try:
        with RunFile.open(Path(run)) as after, RunFile.open(Path(baseline)) as before:
            output = encode(comparison(after, before), ordered=False)
    except (UsageError, StoreError) as error:
        code = next(code for code, kind in _REFUSALS.items() if isinstance(error, kind))
        output = encode({"message": error.message, "hint": error.hint})
    sys.stdout.buffer.write(output)
    return code


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
