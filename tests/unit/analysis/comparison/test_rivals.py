"""What compares the outputs of a case with each other says something of an output only beside the same others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.runs import baseline_of

from evenhand import Case, EvalSet, compare, run
from evenhand.analysis.gates.baseline_file import read_baseline, write_baseline
from evenhand.analysis.gates.gate_verdict import gate
from evenhand.core.contest import COMPARED
from evenhand.core.expect import Trial
from evenhand.core.run import TrialResult
from evenhand.core.score import Score, check
from evenhand.render.run import Run

CASES = 60


class Longest:
    """The longest output wins: the others fail, or score less."""

    def __init__(self, *, fails: bool, by_number: bool = False) -> None:
        self.fails = fails
        self.by_number = by_number

    async def compare(self, contestants: Sequence[TrialResult], trial: Trial) -> Sequence[Score]:
        """Compares lengths."""
        del trial
        lengths = [len(str(one.output)) for one in contestants]
        more = [{COMPARED: length // 2} if self.by_number else {} for length in lengths]
        if self.fails:
            best = max(lengths)
            return [check(n == best, "", **beside) for n, beside in zip(lengths, more, strict=True)]
        return [Score(n / sum(lengths), True, scale=(0, 1)) for n in lengths]

    def __str__(self) -> str:
        return "longest"


def ran(home: Path, lengths: dict[str, int | tuple[int, ...]], **longest: bool) -> Run:
    """A run of variants that answer with so many letters: the same in each repeat, or in each its own."""
    data = [{"id": f"c{i}", "input": f"question {i}"} for i in range(CASES)]
    each = {style: n if isinstance(n, tuple) else (n,) for style, n in lengths.items()}
    evals = EvalSet(
        "desk",
        data=data,
        over={"style": list(lengths)},
        compare=[Longest(**longest)],
        repeats=max(map(len, each.values())),
    )

    @evals.eval
    def answers(case: Case, style: str, repeat: int) -> str:
        del case
        return "x" * each[style][repeat % len(each[style])]

    return run(evals, home=home)


def verdict(first: Run, second: Run, style: str, metric: str) -> str:
    """What a comparison of one variant in two runs comes to."""
    return compare(first.column(style), second.column(style), metric=metric).verdict


@pytest.mark.parametrize("metric", ["passed", "score", "longest"])
def test_an_output_that_loses_to_better_ones_than_before_is_no_worse(tmp_path: Path, metric: str):
    """What it is compared with became better."""
    before = ran(tmp_path, {"plain": 3, "warm": 2}, fails=True)
    after = ran(tmp_path, {"plain": 3, "warm": 9}, fails=True)
    assert verdict(before, after, "plain", metric) == "undecided"
    assert verdict(before, after, "warm", metric) == "better"  # `plain` is what it was
    text = str(compare(before.column("plain"), after.column("plain"), metric=metric))
    assert "other variants' outputs changed" in text


@pytest.mark.parametrize("metric", ["score", "longest"])
def test_an_output_that_beats_worse_ones_than_before_is_no_better(tmp_path: Path, metric: str):
    """What it is compared with became worse."""
    before = ran(tmp_path, {"plain": 30, "warm": 20}, fails=False)
    after = ran(tmp_path, {"plain": 30, "warm": 1}, fails=False)
    assert verdict(before, after, "plain", metric) == "undecided"
    assert verdict(before, after, "warm", metric) == "worse"


def test_what_passes_is_compared_where_nobody_fails_for_losing(tmp_path: Path):
    """The score alone hangs on the others."""
    before = ran(tmp_path, {"plain": 30, "warm": 20}, fails=False)
    after = ran(tmp_path, {"plain": 30, "warm": 1}, fails=False)
    assert verdict(before, after, "plain", "passed") == "no detectable difference"


def test_outputs_whose_numbers_are_compared_may_be_others_with_the_same_numbers(tmp_path: Path):
    """As in `max-score`, where 2 and 3 letters are 1 here."""
    before = ran(tmp_path, {"plain": 4, "warm": 2}, fails=True, by_number=True)
    after = ran(tmp_path, {"plain": 4, "warm": 3}, fails=True, by_number=True)
    assert verdict(before, after, "plain", "passed") == "no detectable difference"
    other = ran(tmp_path, {"plain": 4, "warm": 9}, fails=True, by_number=True)
    assert verdict(before, other, "plain", "passed") == "undecided"


def test_the_variants_of_one_run_are_compared_though_each_has_other_rivals(tmp_path: Path):
    """They are compared with each other."""
    one = ran(tmp_path, {"plain": 3, "warm": 9, "terse": 1}, fails=True)
    comparison = compare(one.column("plain"), one.column("warm"), metric="passed")
    assert comparison.verdict == "better"


def test_another_way_to_compare_is_another_test(tmp_path: Path):
    """A referee is known by its arguments, as a scorer is."""
    before = ran(tmp_path, {"plain": 3, "warm": 2}, fails=True)
    after = ran(tmp_path, {"plain": 3, "warm": 2}, fails=False)
    text = str(compare(before.column("warm"), after.column("warm"), metric="passed"))
    assert "longest: fails changed" in text


def test_a_gate_takes_the_same_contest_for_the_same_and_another_for_another(tmp_path: Path):
    """A gate knows from the baseline what each output was compared with."""
    first = ran(tmp_path, {"plain": 3, "warm": 2}, fails=True)
    file = tmp_path / "base.evn"
    write_baseline(baseline_of(first.file), file)
    base = read_baseline(file)
    same = gate(base, ran(tmp_path, {"plain": 3, "warm": 2}, fails=True).file, 0.1)
    assert same.verdict == "not worse"
    other = gate(base, ran(tmp_path, {"plain": 3, "warm": 9}, fails=True).file, 0.1)
    assert other.verdict == "nothing"


@pytest.mark.parametrize(
    ("warm", "now", "word"),
    [
        ((2, 2), (2, 9), "undecided"),
        ((2, 2), (9, 2), "undecided"),
        ((2, 2, 2), (2, 2, 9), "undecided"),
        ((2, 9), (2, 9), "no detectable difference"),
        # In which order the same others came makes no difference to a mean over repeats.
        ((2, 9), (9, 2), "no detectable difference"),
        ((2, 9, 9), (2, 2, 9), "undecided"),
        ((2, 2), (2, 2, 2), "no detectable difference"),
        ((2, 9), (2, 9, 9), "undecided"),
    ],
)
def test_the_others_of_every_repeat_have_to_be_the_same(
    tmp_path: Path, warm: tuple[int, ...], now: tuple[int, ...], word: str
):
    """The mean over repeats hangs on all of them, and not on those of the first one."""
    before = ran(tmp_path, {"plain": 3, "warm": warm}, fails=True)
    after = ran(tmp_path, {"plain": 3, "warm": now}, fails=True)
    assert verdict(before, after, "plain", "passed") == word
