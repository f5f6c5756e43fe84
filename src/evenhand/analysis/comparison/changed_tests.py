"""How the tests of two columns differ, case by case.

How this works: where a config says what is asked, whatever differs counts. The arguments of an eval's scorers may come
from the application's answer instead: those count that several cases share in each run, and that the other run doesn't
have at all. The others are told, and decide nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import field

from evenhand.analysis.comparison.case_content import compared_parts
from evenhand.analysis.comparison.case_tests import (
    ANY,
    JUDGE_PROMPT,
    LIMITS,
    Asked,
    Bounds,
    CaseTests,
    Counts,
    Signature,
    Slot,
)
from evenhand.core.definition import CODE, RIVALS
from evenhand.core.record import MutableRecord, Record
from evenhand.core.score import Scale

_CONDITION = "Stated"
"""The scorer of a condition that an eval's own code found."""
_IN_BOTH = frozenset({JUDGE_PROMPT, RIVALS})
"""What differs only where both say it."""
_OF_CASCADE = "limits or prompt of the judges' cascade"

Side = Literal["first", "second"]
"""One of the two runs."""


class Argument(Record, frozen=True):
    """An argument that differs: the expectations, its name, and its digests in both; empty where there is none."""

    slots: tuple[Slot, Slot]
    name: str
    values: tuple[str, str]


class Change(Record, frozen=True, kw_only=True):
    """How an expectation differs between two runs.

    Attributes:
        slot: Its metric or name; empty for the whole trial.
        text: What differs, in words.
        scored: Whether its score means something else, and not its verdict alone.
        of_argument: Whether it is an argument of the scorer, or the judge's prompt, that is another one.
        decides: Whether a trial's verdict may hang on it.
        argument: Of an eval's scorer which argument, with both digests, as it may be what the application answered.
        known: Whether it is known to differ. Digests of compiled code of two versions of Python say nothing of each
            other.
        only: The run that has it at all; None for both.
    """

    slot: str
    names: tuple[str, ...]
    text: str
    scored: bool = True
    of_argument: bool = False
    decides: bool = True
    argument: Argument | None = None
    known: bool = True
    only: Side | None = None


class TestChanges:
    """How the tests of two columns differ, case by case.

    Args:
        places: The places of the cases that both have.
        one_run: Whether both are of one run, so that a case says the same in both.
    """

    __test__ = False  # for pytest

    def __init__(
        self,
        first: CaseTests,
        second: CaseTests,
        places: Iterable[tuple[int, int]],
        *,
        one_run: bool = False,
    ) -> None:
        self._first, self._second = first, second
        self._compared = [] if one_run else list(compared_parts(first, second))
        self._imported = bool(first.imported or second.imported)
        self._known: dict[tuple[int, int], list[Change]] = {}
        passed: dict[tuple[int, int], list[int]] = {}
        for one, two in places:
            pair = first.signature_number(one), second.signature_number(two)
            if all(pair):
                counts = passed.setdefault(pair, [0, 0, 0])
                counts[0] += first.passed(one)
                counts[1] += second.passed(two)
                # Of those that are left out anyway there is no doubt.
                counts[2] += not self.of_case(one, two)
        mine, theirs = first.signatures(), second.signatures()
        self.names = {
            name for one in (*mine, *theirs) for expectation in one for name in expectation.names
        }
        """What expectations are called, by metric and by name."""
        alone = _Alone(
            first=first, second=second, passed=passed, mine=mine, theirs=theirs, one_run=one_run
        )
        # Two passes: whether an argument was edited is known once all of its changes are.
        raw = {
            pair: list(_changes(mine[pair[0] - 1], theirs[pair[1] - 1], alone)) for pair in passed
        }
        for changes in raw.values():
            for one in changes:
                if one.argument is not None:
                    alone.add(one.argument)
        self.doubts: Counter[str] = Counter()
        """What differs and may be what the application answered, and in how many cases."""
        self.unread: Counter[str] = Counter()
        """The expectations of which it isn't known whether their code was edited, and in how many cases."""
        for pair, changes in raw.items():
            self._known[pair] = []
            for one in changes:
                if not one.known:
                    if passed[pair][2]:
                        self.unread[one.slot] += passed[pair][2]
                elif one.argument is None or alone.edited(one.argument):
                    self._known[pair].append(one)
                elif passed[pair][2]:
                    self.doubts[f"{one.slot}: {one.text}"] += passed[pair][2]

    def of_case(self, one: int, two: int) -> list[str]:
        """The parts in which a case says something else, but for its rule."""
        return [
            part
            for part in self._compared
            if part not in ("rule", self._imported and "expected")
            and self._first.part(part, one) != self._second.part(part, two)
        ]

    def other_references(self, places: Iterable[tuple[int, int]]) -> int:
        """How many cases of imported runs have another expected value, and are compared."""
        if not self._imported or "expected" not in self._compared:
            return 0
        pairs = (
            (self._first.part("expected", a), self._second.part("expected", b)) for a, b in places
        )
        return sum(one != two for one, two in pairs)

    @property
    def recorders(self) -> tuple[str, str] | None:
        """The programs that recorded the two, where they are different ones."""
        names = self._first.imported or "Evenhand", self._second.imported or "Evenhand"
        return names if names[0] != names[1] else None

    def of_checks(self, one: int, two: int) -> Sequence[Change]:
        """How a case is asked something else."""
        changes = self._known.get(
            (self._first.signature_number(one), self._second.signature_number(two)), ()
        )
        of_rule = self._first.part("rule", one), self._second.part("rule", two)
        if "rule" in self._compared and of_rule[0] != of_rule[1]:
            return [*changes, _RULE]
        return changes


_RULE = Change(
    slot="",
    names=(),
    text="another threshold, assert, scoring function, transform or hook",
    scored=False,
)


class _Alone(MutableRecord, kw_only=True):
    """What only one of two columns has."""

    first: CaseTests
    second: CaseTests
    passed: Mapping[tuple[int, int], Sequence[int]]
    mine: Sequence[Signature]
    theirs: Sequence[Signature]
    one_run: bool
    _counts: list[tuple[Counts, int]] = field(default_factory=list)
    _expected: dict[tuple[Slot, bool], bool] = field(default_factory=dict)
    _became: dict[tuple[tuple[Slot, Slot], str, int, str], set[str]] = field(default_factory=dict)

    def counts(self, side: int) -> tuple[Counts, int]:
        """See `CaseTests.sums`."""
        if not self._counts:
            self._counts = [self.first.sums(), self.second.sums()]
        return self._counts[side]

    def add(self, one: Argument) -> None:
        """Takes in an argument that differs."""
        first, second = one.values
        self._became.setdefault((one.slots, one.name, 0, first), set()).add(second)
        self._became.setdefault((one.slots, one.name, 1, second), set()).add(first)

    def edited(self, one: Argument) -> bool:
        """Whether an argument was written otherwise: it became the same other one for all cases that shared it.

        What an application answers is another text for each case, or became the same for cases that differed.
        """
        for side, value in enumerate(one.values):
            (own, cases), (other, _) = self.counts(side), self.counts(1 - side)
            # One case alone can't show a pattern, unless there are hardly any more.
            if _having(own, one.slots[side], one.name, value) < 2 < cases:
                return False
            # What was written otherwise is gone on the other side; an answer can come up there again.
            if _having(other, one.slots[1 - side], one.name, value):
                return False
            # An edit makes one value of one; answers that were alike by chance become different ones.
            if len(self._became[one.slots, one.name, side, value]) > 1:
                return False
        return True

    def lost(self, mine: Slot, theirs: Slot) -> bool:
        """Whether an expectation failed in some trial of either."""
        return mine in self.first.failing or theirs in self.second.failing

    def is_new(self, one: Asked, side: int) -> bool:
        """Whether an expectation is one of this side alone: where it stands, trials of the other pass without it.

        Where they don't, the eval may have come to an end before it. One that never holds, in place of others, may be
        what an eval says where it comes to an end itself.
        """
        key = one.slot, bool(side)
        # What it is isn't known of an imported run, which may hold numbers that decide nothing.
        if not one.kind and one.slot not in (self.first, self.second)[side].deciding:
            return False
        if key not in self._expected:
            (own, cases), (other, _) = self.counts(side), self.counts(1 - side)
            # Of a single case among many it may be a branch that the answer took.
            shared = own[one.slot, "", ""] >= 2 or cases < 3
            self._expected[key] = (
                shared and not other[one.slot, "", ""] and any(self._stands_beside(one, side))
            )
        return self._expected[key]

    def _stands_beside(self, one: Asked, side: int) -> Iterator[bool]:
        """For each pair of what was asked with the expectation on this side whether it is one more than the other's."""
        holds = one.slot in (self.first, self.second)[side].holding
        for pair, counts in self.passed.items():
            both = self.mine[pair[0] - 1], self.theirs[pair[1] - 1]
            if counts[1 - side] and any(each.slot == one.slot for each in both[side]):
                more = len(both[side]) - len(both[1 - side])
                yield holds or more > 0 or (more == 0 and one.kind != _CONDITION)


def _having(counts: Counts, slot: Slot, name: str, value: str) -> int:
    """How many cases have an argument with this value; without a value, how many lack the argument."""
    if value:
        return counts[slot, name, value]
    return counts[slot, "", ""] - counts[slot, name, ANY]


def _changes(first: Signature, second: Signature, alone: _Alone) -> Iterator[Change]:
    if first == second:
        return
    left = {one.slot: one for one in first}
    right = {one.slot: one for one in second}
    # A copy of the keys: `left` loses some on the way.
    pairs = [(left.pop(slot), right.pop(slot)) for slot in [*left] if slot in right]
    # One that is counted under another metric is known by its name.
    by_name = {one.name: one for one in right.values()}
    for one in list(left.values()):
        if one.name in by_name:
            two = by_name.pop(one.name)
            pairs.append((left.pop(one.slot), right.pop(two.slot)))
    for one, two in pairs:
        if one is not two and one != two:
            yield from _between(one, two, alone)
    sides: tuple[tuple[dict[Slot, Asked], Side], ...] = ((left, "first"), (right, "second"))
    for side, (rest, where) in enumerate(sides):
        for one in rest.values():
            if one.weight and (one.exact or alone.is_new(one, side)):
                text = f"only in the {where}"
                yield Change(slot=one.slot[0], names=one.names, text=text, only=where)


def _between(one: Asked, two: Asked, alone: _Alone) -> Iterator[Change]:
    """How two expectations differ that are known by the same name."""
    slot, names = one.slot[0], tuple(dict.fromkeys((*one.names, *two.names)))
    if any(map(_differ, one.bounds, two.bounds)):
        words = f"{_bounds(one.bounds)}, now {_bounds(two.bounds)}"
        yield Change(slot=slot, names=names, text=words, scored=False)
    if one.weight != two.weight:
        yield Change(slot=slot, names=names, text=f"weight {one.weight:g}, now {two.weight:g}")
    if one.scale and two.scale and one.scale != two.scale:
        yield Change(
            slot=slot, names=names, text=f"scale {_scale(one.scale)}, now {_scale(two.scale)}"
        )
    # Runs of earlier versions say neither kind nor settings: nothing differs for that.
    known = bool(one.kind and two.kind)
    if known and one.kind != two.kind:
        yield Change(slot=slot, names=names, text=f"{one.kind}, now {two.kind}")
        return
    mine, theirs = dict(one.settings), dict(two.settings)
    different = [
        name
        for name in dict.fromkeys((*mine, *theirs))
        if mine.get(name, "") != theirs.get(name, "")
        and (known if name not in _IN_BOTH else name in mine and name in theirs)
    ]
    forms = [side.get(JUDGE_PROMPT, "").rpartition(" ")[0] for side in (mine, theirs)]
    by_limits = LIMITS in forms
    if JUDGE_PROMPT in different and not by_limits and forms[0] != forms[1]:
        # Another judge, a fallback say, and what it is asked is put into the words of its kind.
        different.remove(JUDGE_PROMPT)
    # The judge's prompt has all of its arguments in it.
    if len(different) > 1 and JUDGE_PROMPT in different:
        different.remove(JUDGE_PROMPT)
    for name in different:
        values = mine.get(name, ""), theirs.get(name, "")
        if name == CODE and _other_form(*values):
            yield Change(slot=slot, names=names, text="code", known=False)
            continue
        # The variants of a run are compared with each other: each has other rivals.
        if name == RIVALS and alone.one_run:
            continue
        argument = None
        if not (one.exact and two.exact):
            argument = Argument((one.slot, two.slot), name, values)
        yield Change(
            slot=slot,
            names=names,
            text=f"{_OF_CASCADE if by_limits and name == JUDGE_PROMPT else name} changed",
            of_argument=name not in (CODE, RIVALS),
            # In a ranking nobody loses, and its score alone hangs on the others.
            decides=name != RIVALS or alone.lost(one.slot, two.slot),
            argument=argument,
        )


def _differ(first: object, second: object) -> bool:
    """Whether two bounds, or thresholds of a judge, differ. One that gave no verdict may not say its own."""
    return first is not None and second is not None and first != second


def _other_form(first: str, second: str) -> bool:
    """Whether two digests of code say nothing of each other: of source and compiled code, or of two versions of it."""
    return first.partition(":")[0] != second.partition(":")[0]


def _bounds(bounds: tuple[Bounds | None, float | None]) -> str:
    words = ("at least", "at most", "threshold")
    values = (*(bounds[0] or (None, None)), bounds[1])
    text = " and ".join(
        f"{word} {bound:g}" for word, bound in zip(words, values, strict=True) if bound is not None
    )
    return text or "no bound"


def _scale(scale: Scale) -> str:
    return f"{scale[0]:g}–{scale[1]:g}"
