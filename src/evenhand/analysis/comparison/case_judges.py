"""Who judged each case of a column, so that another judge isn't taken for another application.

How this works: a verdict names its judge as the answer does, which a vendor may change behind the name that is asked.
So the journal is asked what stands behind a name: the ids that were asked, and the settings. Two judges are the same if
one id, or one name, was asked with the same settings; where the journal isn't known, if their names are alike but for
a date. Where a trial doesn't say what asked, as an imported one, a judge whom nobody knows may have scored it.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import field

from evenhand.core.application_code import judges_code
from evenhand.core.cascade import JOINS
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.record import MutableRecord, Record
from evenhand.core.request_settings import settings_in
from evenhand.core.run import TrialResult
from evenhand.core.score import COMPONENTS, Outcome, with_parts
from evenhand.core.wording.words import clip, safe
from evenhand.store.measured import LOWER
from evenhand.store.runfile import RunFile

_BY_VERDICT = ("passed", "score")
_READ = 20_000
"""So many calls to judges, from all over a run, are looked at."""
_NAME = 60
_WITH = "+"
UNKNOWN_JUDGE = "an unknown judge or scorer"
_SEVERAL = re.compile(rf"{re.escape(JOINS)}|, ")
"""Between the judges of a cascade, and those that answered parts of one question."""
_DATED = re.compile(r"[-@](?:\d{4}.*|latest)$")
"""The end of a name that says which snapshot of a model answered."""

Member = tuple[str, str] | None
"""A judge as its answers name it, and the version of its prompt; None for a member of a jury that gave no answer."""
Panel = tuple[Member, ...]
"""All who judged together: one judge, or the members of a jury or a cascade."""
Slot = tuple[str, int]
"""What an expectation is known by in its trial: its metric or its name, and which of several under it."""


class AskedJudge(Record, frozen=True):
    """What was asked of a judge under one of the names that it answers by.

    Attributes:
        settings: Digests of the settings, each with that of the judge's own code where it is a program: `1a2b+3c4d`.
            Empty where nothing is known of them.
    """

    ids: frozenset[str]
    settings: frozenset[str]


AskedJudges = Mapping[str, AskedJudge]
"""By the name in the answers; by an empty one what judges were asked whose answers name none."""


def judges_asked(run: RunFile, most: int = _READ) -> dict[str, AskedJudge]:
    """What the judges of a run were asked by.

    Args:
        most: About so many of their calls, from all over the run, are looked at.
    """
    ids: dict[str, set[str]] = {}
    settings: dict[str, list[str]] = {}
    for asked_id, name, identity in run.judge_requests(most):
        ids.setdefault(name, set()).add(asked_id)
        code = judges_code(run.meta.code, asked_id)
        settings.setdefault(name, []).append(f"{settings_in(identity)[:16]}{code and _WITH}{code}")
    judges: dict[str, AskedJudge] = {}
    for name, digests in settings.items():
        distinct = frozenset(digests)
        # Where each request has settings of its own, as an application's may, these hold what is judged.
        own = len(distinct) * 2 > len(digests) > 1
        judges[name] = AskedJudge(frozenset(ids[name]), frozenset() if own else distinct)
    return judges


def other_settings(first: AskedJudge, second: AskedJudge) -> str:
    """What two runs never had the same of when they asked a judge: its `settings`, or its `code`; empty for neither.

    What is not known of one of them is taken to be the same.
    """
    if not first.settings or not second.settings or first.settings & second.settings:
        return ""
    ours, theirs = _code_by_settings(first), _code_by_settings(second)
    both = ours.keys() & theirs.keys()
    if not both:
        return "settings"
    return "code" if all("" not in ours[one] | theirs[one] for one in both) else ""


def _code_by_settings(judge: AskedJudge) -> Mapping[str, set[str]]:
    """By the digest of the settings, those of the judge's code; an empty one where it isn't known."""
    by_settings: dict[str, set[str]] = {}
    for one in judge.settings:
        settings, _, code = one.partition(_WITH)
        by_settings.setdefault(settings, set()).add(code)
    return by_settings


class _Judged(Record, frozen=True):
    """A judged expectation of a case.

    Attributes:
        names: All numbers that are its own: its metric, its name, and further ones.
        counts: Whether the verdict hangs on it.
    """

    slot: Slot
    names: frozenset[str]
    counts: bool
    panel: Panel


class CaseJudges:
    """Who judged the cases of a column, by their place in it.

    Args:
        asked: What its judges were asked by, as far as that is known.
    """

    def __init__(self, asked: AskedJudges | None = None) -> None:
        self.asked = asked or {}
        self.unjudged: set[str] = set()
        """The numbers that expectations without a judge have."""
        self._numbers = array("I")
        """By place the number of what was judged in it; 0 for nothing."""
        self._every: dict[frozenset[_Judged], int] = {frozenset(): 0}
        self._by_number: list[frozenset[_Judged]] = [frozenset()]

    def add(self, place: int, trial: TrialResult) -> None:
        """Adds a trial of the case at this place. Repeats may have other judges."""
        if place >= len(self._numbers):
            self._numbers.frombytes(bytes(4 * (place + 1 - len(self._numbers))))
        judged: list[_Judged] = []
        places: dict[str, int] = {}
        for outcome in trial.outcomes:
            known_by = outcome.metric or outcome.name
            nth = places[known_by] = places.get(known_by, -1) + 1
            panel = _panel(outcome)
            if not panel and not trial.definitions and _measures(outcome):
                panel = ((UNKNOWN_JUDGE, ""),)
            if panel:
                names = frozenset((outcome.metric, outcome.name, *outcome.named)) - {""}
                judged.append(_Judged((known_by, nth), names, bool(outcome.weight), panel))
            else:
                self.unjudged.update((outcome.metric, outcome.name, *outcome.named))
        if judged:
            every = self._by_number[self._numbers[place]].union(judged)
            number = self._every.setdefault(every, len(self._by_number))
            if number == len(self._by_number):
                self._by_number.append(every)
            self._numbers[place] = number

    def number(self, place: int) -> int:
        """The number of what was judged in the case at this place; 0 for nothing."""
        return self._numbers[place] if place < len(self._numbers) else 0

    def of(self, number: int) -> frozenset[_Judged]:
        """What was judged, and by whom, by its number."""
        return self._by_number[number]


class JudgeChanges:
    """Where the cases of two columns were judged by different judges.

    Args:
        places: The places of the cases that both have.
    """

    def __init__(
        self, first: CaseJudges, second: CaseJudges, places: Iterable[tuple[int, int]]
    ) -> None:
        self._first, self._second = first, second
        self._own = first.unjudged | second.unjudged
        self._found: dict[tuple[int, int], list[_Other]] = {}
        alike: set[Slot] = set()
        pairs = {(first.number(one), second.number(two)) for one, two in places} - {(0, 0)}
        for pair in pairs:
            self._found[pair] = [*self._of_pair(*pair)]
            for one in self._found[pair]:
                self._own |= one.names
                if one.both and not one.text:
                    alike.add(one.slot)
        apart = {one.slot: one.text for every in self._found.values() for one in every if one.text}
        for every in self._found.values():
            for one in every:
                # A verdict that is missing on a side would have been the other judge's, too.
                if not one.both and one.slot not in alike:
                    one.text = apart.get(one.slot, "")
        self._known: dict[tuple[int, int, str], str] = {}

    def of_case(self, metric: str, one: int, two: int) -> str:
        """That a case was judged by different judges in a metric, in words; empty where it wasn't."""
        pair = self._first.number(one), self._second.number(two)
        if pair not in self._found or metric in LOWER:
            return ""
        if (key := (*pair, metric)) not in self._known:
            texts = (one.text for one in self._found[pair] if self._hangs_on(metric, one))
            self._known[key] = "; ".join(dict.fromkeys(filter(None, texts)))
        return self._known[key]

    def _hangs_on(self, metric: str, one: _Other) -> bool:
        if metric in _BY_VERDICT:
            return one.counts
        # What is no expectation's own is made by several together.
        return metric in one.names or metric not in self._own

    def _of_pair(self, first: int, second: int) -> Iterable[_Other]:
        sides: list[dict[Slot, list[_Judged]]] = [{}, {}]
        for by_slot, every in zip(
            sides, (self._first.of(first), self._second.of(second)), strict=True
        ):
            for one in every:
                by_slot.setdefault(one.slot, []).append(one)
        for slot in dict.fromkeys(sorted([*sides[0], *sides[1]])):
            mine, theirs = (side.get(slot, []) for side in sides)
            yield _Other(
                slot=slot,
                names=frozenset(name for one in (*mine, *theirs) for name in one.names),
                counts=any(one.counts for one in (*mine, *theirs)),
                both=bool(mine and theirs),
                text=self._text([x.panel for x in mine], [x.panel for x in theirs]),
            )

    def _text(self, mine: Sequence[Panel], theirs: Sequence[Panel]) -> str:
        """That two sides were judged by different judges, in words; empty where they weren't, or a side is missing."""
        if not mine or not theirs:
            return ""
        alike = all(any(self._alike(one, two) for two in theirs) for one in mine) and all(
            any(self._alike(one, two) for one in mine) for two in theirs
        )
        return "" if alike else _words(mine, theirs, self._other(mine, theirs))

    def _other(self, mine: Sequence[Panel], theirs: Sequence[Panel]) -> str:
        """What of judges with the same names is another: `code` if nothing else is."""
        names = {member[0] for panel in (*mine, *theirs) for member in panel if member}
        pairs = (self._asked(name, name) for name in names)
        others = {other_settings(*pair) for pair in pairs if pair is not None} - {""}
        return "code" if others == {"code"} else "settings"

    def _asked(self, name: str, other_name: str) -> tuple[AskedJudge, AskedJudge] | None:
        """What was asked of judges with these names on both sides; None where one side doesn't know."""
        first = self._first.asked.get(name) or self._first.asked.get("")
        second = self._second.asked.get(other_name) or self._second.asked.get("")
        return None if first is None or second is None else (first, second)

    def _alike(self, one: Panel, two: Panel) -> bool:
        """Whether two panels have the same judges, whoever of them gave no answer."""
        if len(one) != len(two):
            return False
        remaining = [member for member in two if member is not None]
        silent = len(two) - len(remaining)
        for member in one:
            if member is None:
                continue
            same = next((x for x in remaining if self._is_same(member, x)), None)
            if same is not None:
                remaining.remove(same)
            elif silent:
                silent -= 1
            else:
                return False
        return True

    def _is_same(self, one: tuple[str, str], two: tuple[str, str]) -> bool:
        (name, version), (other_name, other_version) = one, two
        if version != other_version:
            return False
        pair = self._asked(name, other_name)
        if pair is None:
            return _DATED.sub("", name) == _DATED.sub("", other_name)
        if other_settings(*pair):
            return False
        return name == other_name or not pair[0].ids.isdisjoint(pair[1].ids)


class _Other(MutableRecord, kw_only=True):
    """A judged expectation of two cases.

    Attributes:
        names: All numbers that are its own.
        counts: Whether the verdict hangs on it.
        both: Whether it was judged on both sides.
        text: That its judges are different, in words; empty where they aren't.
    """

    slot: Slot
    names: frozenset[str]
    counts: bool
    both: bool
    text: str = field(default="")


def judges_of(outcome: Outcome) -> Iterator[str]:
    """Who judged an expectation, of a jury each, with the version of what they were told; nothing for nobody."""
    for row in judge_rows(outcome):
        if judge := row.get("judge"):
            version = row.get("prompt")
            yield f"{judge} ({version})" if version else str(judge)


def _measures(outcome: Outcome) -> bool:
    return outcome.score is not None or bool(outcome.named)


def _panel(outcome: Outcome) -> Panel:
    """Who judged an expectation; empty for nobody."""
    if not outcome.metadata:
        return ()
    panel = [one for row in judge_rows(outcome) for one in _members(row) or (None,)]
    return tuple(panel) if any(panel) else ()


def judge_rows(outcome: Outcome) -> Iterator[Mapping[str, object]]:
    """What each judge of an expectation says: one, the members of a jury, or those of the parts that it consists of."""
    for one in with_parts([outcome]):
        members = one.metadata.get("jury")
        if is_array(members):
            yield from filter(is_mapping, members)
        elif one is not outcome or COMPONENTS not in one.metadata:
            yield one.metadata


def _members(row: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    judge, version = row.get("judge"), row.get("prompt")
    if not isinstance(judge, str) or not judge:
        return ()
    version = version if isinstance(version, str) else ""
    return tuple((name, version) for name in _SEVERAL.split(judge))


def _words(mine: Sequence[Panel], theirs: Sequence[Panel], other: str) -> str:
    """That different judges judged, in words. Of the same ones with the same prompts, `other` is different."""
    first, second = _named(mine), _named(theirs)
    if first != second:
        return f"judged by {second} instead of {first}"
    versions = [
        sorted({member[1] for panel in side for member in panel if member})
        for side in (mine, theirs)
    ]
    if versions[0] != versions[1]:
        before, now = (safe(", ".join(filter(None, each))) or "an unknown one" for each in versions)
        return f"judged by {first} with the prompt {now} instead of {before}"
    return f"judged by {first} with other {other}"


def _named(panels: Sequence[Panel]) -> str:
    names = dict.fromkeys("+".join(sorted(one[0] for one in panel if one)) for panel in panels)
    return clip(safe(", ".join(sorted(names))), _NAME)
