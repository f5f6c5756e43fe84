"""Whether two columns, or runs, were given the same test: what differs in words, and where nothing can be concluded.

Three things can make a difference mean nothing: cases that were chosen by what came of them, as they come out better
the next time by chance; another eval under the same ids; and the same outputs on both sides, where only the judging can
differ. Then nothing is said of any case. Where single cases, or what is expected of them, differ, these are left out.

The variants of one run are looked at too: bounds and scorers may hang on what is varied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import ValidationError, convert

from evenhand.analysis.comparison.case_judges import JudgeChanges
from evenhand.analysis.comparison.case_values import PASSED, CaseIds, Seen, read_trials
from evenhand.analysis.comparison.changed_tests import Change, TestChanges
from evenhand.analysis.comparison.comparison_sides import Side
from evenhand.analysis.comparison.regraded_outputs import RegradedOutputs
from evenhand.core.definition import USER
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_mapping, is_sequence
from evenhand.core.plan import Selection
from evenhand.core.run import RunMeta
from evenhand.core.score import Scale
from evenhand.core.selecting import Selector
from evenhand.core.variant import Variant
from evenhand.core.wording.words import clip, count, safe, short_id
from evenhand.engine.replay.summary import outputs_of
from evenhand.store.measured import LOWER
from evenhand.store.runfile import RunFile

_EVERY_OUTCOME = frozenset({"fail", "error", "pass", "not_applicable"})
_CHOSEN = {
    frozenset({"fail", "error"}): "failed or ended in an error",
    frozenset({"fail"}): "failed",
    frozenset({"error"}): "ended in an error",
}
_BY_VERDICT = (PASSED, "score")
NAME = 40
"""Characters of what an expectation is called."""
DOUBTS = 5
_OF_SET = ": "
"""Stands between the names of a set and an eval."""


def chosen_by(meta: RunMeta, *, narrowed: bool = False) -> str:
    """By what of their outcomes a run's cases were chosen, in words; empty where they weren't.

    Args:
        meta: What the run's file says of it.
        narrowed: Whether only trials are looked at that were chosen by what came of them.
    """
    if narrowed:
        return "were chosen by their outcomes"
    request = meta.settings.get("asked")
    failing = request.get("failing") if is_mapping(request) else None
    if not is_mapping(failing):
        return ""
    listed = failing.get("outcomes")
    outcomes = frozenset(map(str, listed if is_sequence(listed) else ()))
    # `regrade` selects by an earlier run as well, and takes all of it: that is no choice.
    if outcomes >= _EVERY_OUTCOME:
        return ""
    path = Path(str(failing.get("path") or "an earlier run"))
    name = f"run {short_id(path.stem)}" if path.suffix == ".db" else path.name
    return f"were chosen because they {_CHOSEN.get(outcomes, 'came out so')} in {safe(name)}"


def selection_words(meta: RunMeta) -> str:
    """The options that chose a run's cases, as they were asked for; empty for all cases, and where nobody knows."""
    request = meta.settings.get("asked")
    if not is_mapping(request):
        return ""
    try:
        selector = Selector(convert(request.get("selection"), Selection))
    except (ValidationError, UsageError):  # of a version that chose otherwise
        return ""
    return safe(selector.words) if selector.narrows else ""


def chosen_note(cases: str, chosen: str) -> str:
    """That nothing can be concluded from cases that were chosen so, in words.

    Args:
        cases: What they are called: `the cases of this run`.
        chosen: What `chosen_by` says.
    """
    return f"{cases} {chosen}: cases chosen by their outcome come out differently the next time by chance alone"


def withheld_of(first: Side, second: Side, outputs: RegradedOutputs | None) -> str:
    """Why nothing can be concluded from any difference of two runs, in words; empty where something can.

    Args:
        outputs: How far their outputs are the same; None where neither judges those of the other again.
    """
    chosen = {
        side.beside(other): words
        for side, other in ((first, second), (second, first))
        if (words := chosen_by(side.run.meta, narrowed=side.run.by_outcome))
    }
    if chosen:
        return "; ".join(
            chosen_note(f"the cases of {name}", words) for name, words in chosen.items()
        )
    if outputs is None:
        return ""
    if outputs.unknown:
        return "one run judges the other's outputs again, and some outputs are not recorded"
    return "the outputs are the same ones: what differs is how they were judged"


def judged_again(first: RunMeta, second: RunMeta) -> bool:
    """Whether one run was to judge the outputs of the other again, or both those of a third one.

    Code of the application runs again all the same: `regraded_outputs` says whether the outputs are the same ones.
    """
    # Two columns of one run: each has outputs of its own.
    if first.id == second.id:
        return False
    return outputs_of(first) == outputs_of(second)


def other_evals(first: Variant, second: Variant) -> str:
    """That two variants are of different evals of sets, in words; empty where they aren't.

    A pipeline that is scored, and a prompt directory, are what differs: they may be called otherwise.
    """
    if first.eval == second.eval or not (_OF_SET in first.eval and _OF_SET in second.eval):
        return ""
    return f"{safe(first.eval)!r} and {safe(second.eval)!r} are different evals"


class Likeness:
    """How the tests of two columns that are compared differ.

    Args:
        withheld: Why nothing can be concluded from any difference between the two; empty where something can.
        others: One judges the outputs of the other again: cases that are judged otherwise are what is looked for, and
            stay, but for those with another output, by id. None where neither does.
        one_run: Both are of one run, so that a case says the same in both.
    """

    def __init__(
        self,
        mine: Seen,
        theirs: Seen,
        *,
        withheld: str = "",
        others: Collection[str] | None = None,
        one_run: bool = False,
    ) -> None:
        self.withheld = withheld
        self._mine, self._theirs = mine, theirs
        self._others = others
        self._changes = TestChanges(mine.tests, theirs.tests, self._places(), one_run=one_run)
        self._judges = JudgeChanges(mine.judged_by, theirs.judged_by, self._places())

    def _places(self) -> Iterator[tuple[int, int]]:
        """The places of the cases that both have."""
        for number in self._mine.cases:
            if number in self._theirs.cases:
                yield self._mine.cases.place_of(number), self._theirs.cases.place_of(number)

    def why_not(self, metric: str, number: int) -> str:
        """Why a case that both have can't be compared in a metric, in words; empty where it can."""
        if self._others is not None:
            return "with another output" if self._mine.cases.ids[number] in self._others else ""
        one, two = self._mine.cases.place_of(number), self._theirs.cases.place_of(number)
        if parts := self._changes.of_case(one, two):
            return f"with {part_words(parts)}"
        changes = self._changes.of_checks(one, two)
        # Time and money don't hang on what is expected.
        if not changes or metric in LOWER:
            return ""
        if metric == PASSED:
            changes = [one for one in changes if one.decides]
        elif metric not in _BY_VERDICT:
            # What is no expectation's own is made by several together, and hangs on all of them.
            own = metric in self._changes.names
            changes = [one for one in changes if one.scored and (not own or metric in one.names)]
        return f"asked differently ({change_words(changes)})" if changes else ""

    def other_judge(self, metric: str, number: int) -> str:
        """That a case that both have was judged by different judges in a metric, in words; empty where it wasn't."""
        if self._others is not None:
            return ""
        one, two = self._mine.cases.place_of(number), self._theirs.cases.place_of(number)
        return self._judges.of_case(metric, one, two)

    def notes(self) -> Iterator[str]:
        """What differs and decides nothing."""
        if recorders := self._changes.recorders:
            one, two = map(safe, recorders)
            yield f"! recorded by {one} and by {two}: what has one name in both may be measured in two ways"
        if by_id := sum(self._by_id_alone(*places) for places in self._places()):
            yield f"! nothing but the id says that {count(by_id, 'case')} of both runs are the same"
        if others := self._changes.other_references(self._places()):
            with_other = count(others, "case")
            yield f"! {with_other} with another expected value: compared, as their input is the same"
        for text, cases in list(self._changes.doubts.items())[:DOUBTS]:
            yield (
                f"! {safe(text)} in {count(cases, 'case')}, one of its own for each: they are compared, as it may come"
                " from what the application answered"
            )

        unread = [
            (f"{safe(slot)}: nobody can tell whether its code", f" ({count(cases, 'case')})")
            for slot, cases in list(self._changes.unread.items())[:DOUBTS]
        ]
        users = [
            {part for part in side.tests.parts if part.startswith(f"{USER} ")}
            for side in (self._mine, self._theirs)
        ]
        if all(users) and users[0].isdisjoint(users[1]):
            unread.append(("nobody can tell whether the code of who plays the user", ""))
        for what, where in unread:
            yield (
                f"! {what} was edited{where}: another version of Python or of Evenhand recorded it, or its file was"
                " edited during a run"
            )

    def _by_id_alone(self, one: int, two: int) -> bool:
        """Whether a case of an imported run is paired by its id, without an input in both or the same variables."""
        mine, theirs = self._mine.tests, self._theirs.tests
        if not (mine.imported or theirs.imported):
            return False
        inputs, variables = (
            (mine.part(part, one), theirs.part(part, two)) for part in ("input", "vars")
        )
        return not all(inputs) and (not all(variables) or variables[0] != variables[1])


def part_words(parts: Sequence[str]) -> str:
    """What a case says otherwise, in words: `another input and other tags`."""
    words = list(dict.fromkeys(_WORDS[part.partition(" ")[0]] for part in parts))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


_WORDS = {
    "input": "another input",
    "expected": "another expected value",
    "vars": "other variables",
    "context": "another context",
    "tags": "other tags",
    USER: "another user",
    "rule": "another rule",
}


def change_words(changes: Iterable[Change]) -> str:
    """What is asked otherwise, in words; of many the first."""
    texts = list(
        dict.fromkeys(
            f"{clip(safe(one.slot), NAME)}: {one.text}" if one.slot else one.text for one in changes
        )
    )
    more = f" and {count(len(texts) - 3, 'other change')}" if len(texts) > 3 else ""
    return "; ".join(texts[:3]) + more


LOOKED_AT = 10_000
"""So many trials, the first ones, are looked at: what is asked is seldom asked of later cases alone."""


class VariantTests:
    """What each variant of a run is asked, read when it is first needed."""

    def __init__(self, run: RunFile) -> None:
        self._run = run

    @cached_property
    def _columns(self) -> dict[int, Seen]:
        columns = {variant.index for variant in self._run.meta.variants}
        trials = self._run.trials(limit=LOOKED_AT)
        return read_trials(trials, columns, (PASSED,), ids=CaseIds(), scales={})

    def mixed_scales(self) -> Iterator[str]:
        """The metrics whose means are over scores on several scales, in words: in one variant, or side by side."""
        scales: dict[str, set[Scale]] = {}
        for column in self._columns.values():
            for metric, each in column.tests.scales().items():
                scales.setdefault(metric, set()).update(each)
        for metric, each in scales.items():
            if len(each) > 1:
                listed = ", ".join(f"{low:g}–{high:g}" for low, high in sorted(each))
                yield f"{safe(metric)}: its scores are on several scales ({listed}), so that its means say little"

    def differ(self, first: int, second: int) -> str:
        """How two variants are asked otherwise, in words; empty where they are asked the same."""
        mine, theirs = self._columns[first], self._columns[second]
        likeness = Likeness(mine, theirs, one_run=True)
        reasons = (
            likeness.why_not(PASSED, number) for number in mine.cases if number in theirs.cases
        )
        # One reason is enough, and the first costs least.
        if why := next(filter(None, reasons), ""):
            return why
        # A fallback that judged some of the cases leaves the others.
        judges = [
            likeness.other_judge(PASSED, number) for number in mine.cases if number in theirs.cases
        ]
        apart = [*filter(None, judges)]
        return apart[0] if len(apart) * 2 >= len(judges) > 0 and apart else ""
