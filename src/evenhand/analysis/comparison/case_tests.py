"""What each case of a column says and is asked, so that two columns can be told apart where their tests differ.

How this works: digests come from the run file (`evenhand.core.definition`), so nothing is looked up in the files of
today. `changed_tests.py` holds two columns against each other.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import gcd

from msgspec.structs import replace

from evenhand.analysis.comparison.case_content import derived_content
from evenhand.core.cascade import JOINS
from evenhand.core.definition import RIVALS, UNKNOWN, Definition, brief
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome, Scale, State

_BROKEN_OFF = "Raised"
"""The scorer of what could not be asked."""
JUDGE_PROMPT = "judge's prompt"
LIMITS = "limits"
"""Before the digest of a judge's prompt: that of a cascade by limits."""
_DECIDED = "-decision/"
"""In the versions of the words that decision models are asked."""
ANY = "any"
"""In place of a digest: all values of an argument."""

Bounds = tuple[float | None, float | None]
"""At least, and at most."""
Slot = tuple[str, int]
"""What an expectation is known by in its trial: its metric or its name, and which of several under it."""
Counts = Counter[tuple[Slot, str, str]]
"""How many cases have an expectation, an argument of it, and a value of that."""


class Asked(Record, frozen=True, gc=False, kw_only=True):
    """One expectation of a trial, as far as it is the test's and not the output's.

    Attributes:
        kind: What asks; empty where that was not recorded.
        settings: Its arguments by name, as digests, and the judge's prompt.
        bounds: What its score has to reach, and the judge's threshold; both None where that isn't known.
        scale: The lowest and the highest score there can be.
        exact: Whether no argument can be what the application answered.
    """

    slot: Slot
    name: str
    kind: str
    settings: tuple[tuple[str, str], ...]
    bounds: tuple[Bounds | None, float | None]
    weight: float
    scale: Scale | None
    exact: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The test's metric, where it has one, and its name."""
        return tuple(dict.fromkeys((self.slot[0], self.name)))


Rivals = dict[Slot, list[str]]
"""What expectations were compared with, a digest for each repeat."""
Signature = tuple[Asked, ...]
"""What a trial was asked, in the order in which it was."""


class CaseTests:
    """What the cases of a column say and are asked, by their place in it.

    Args:
        imported: The program that recorded the trials; empty for ours. Of another one's the references are told and
            decide nothing, and what goes by the name of a variable may be what was answered.
    """

    def __init__(self, *, imported: str = "") -> None:
        self.imported = imported
        self._parts: dict[str, array[int]] = {}
        self._signatures: dict[Signature, int] = {}
        self._numbers = array("I")
        """By place one more than the number of what it was asked; 0 where that isn't known."""
        self._rivals: dict[int, tuple[Signature, Rivals]] = {}
        """By place what was asked first, and what it was compared with in each of the repeats."""
        self._passed = bytearray()
        self._last = _Last((), ())
        self.recorded = True
        """Whether all trials say what they were given and asked."""
        self.holding: set[Slot] = set()
        """The expectations that held in some trial."""
        self.deciding: set[Slot] = set()
        """The expectations that held or failed in some trial. A number without a bound decides nothing."""
        self.failing: set[Slot] = set()
        """The expectations that failed in some trial."""
        self.says_something = False
        """Whether some trial says what it was given."""

    def add(self, place: int, trial: TrialResult) -> None:
        """One trial of the case at this place."""
        content: Mapping[str, str] = trial.content
        if not content:
            self.recorded = False
            content = derived_content(trial, imported=bool(self.imported))
        self.says_something = self.says_something or bool(content)
        for part, letters in content.items():
            numbers = self._parts.get(part)
            if numbers is None:
                numbers = self._parts[part] = array("I")
            _reach(numbers, place)
            # 0 stands for nothing; of repeats, the first says what the case says.
            numbers[place] = numbers[place] or int(letters, 16) or 1
        _reach(self._numbers, place)
        while len(self._passed) <= place:
            self._passed.append(0)
        if trial.outcome == "pass":
            self._passed[place] = 1
        terms = tuple(map(_terms, trial.outcomes))
        last = self._last
        # Trials come in the plan's order, so that neighbours are asked the same as a rule.
        if terms != last.terms or trial.definitions != last.definitions:
            last = self._last = _Last(terms, trial.definitions)
        holding = set(last.with_outcomes(trial.outcomes, "pass"))
        self.holding |= holding
        failing = set(last.with_outcomes(trial.outcomes, "fail"))
        self.failing |= failing
        self.deciding |= failing | holding
        if last.signature and not self._numbers[place]:
            self._number(place, last.signature)
        if last.rivals:
            own, known = self._rivals.setdefault(place, (last.signature, {}))
            for slot, rivals in last.rivals:
                known.setdefault(slot, []).append(rivals)
            if any(len(set(each)) > 1 for each in known.values()):
                self._number(place, tuple(_beside(one, known) for one in own))

    def _number(self, place: int, signature: Signature) -> None:
        # A dict as an ordered set: its length is the next number.
        number = self._signatures.setdefault(signature, len(self._signatures))
        self._numbers[place] = number + 1

    def part(self, name: str, place: int) -> int:
        """A number for what the case at this place says in a part; 0 for nothing."""
        numbers = self._parts.get(name)
        return numbers[place] if numbers is not None and place < len(numbers) else 0

    @property
    def parts(self) -> Collection[str]:
        """The parts in which some case says something."""
        return self._parts.keys()

    def signature_number(self, place: int) -> int:
        """A number for what the case at this place was asked; 0 where that isn't known."""
        return self._numbers[place] if place < len(self._numbers) else 0

    def passed(self, place: int) -> bool:
        """Whether a trial of the case at this place passed."""
        return place < len(self._passed) and bool(self._passed[place])

    def signatures(self) -> list[Signature]:
        """What was asked, by number less one."""
        return list(self._signatures)

    def scales(self) -> Mapping[str, set[Scale]]:
        """The scales that the scorers of each metric say."""
        scales: dict[str, set[Scale]] = {}
        for signature in self._signatures:
            for one in signature:
                if one.scale is not None:
                    scales.setdefault(one.slot[0], set()).add(one.scale)
        return scales

    def signature(self, number: int) -> Signature:
        """What was asked, by its number."""
        return self.signatures()[number - 1]

    def sums(self) -> tuple[Counts, int]:
        """For each expectation, argument and value how many cases have it; and how many cases were asked anything."""
        cases = Counter(number for number in self._numbers if number)
        values: Counts = Counter()
        for number, signature in enumerate(self._signatures, 1):
            for one in signature:
                values[one.slot, "", ""] += cases[number]
                for name, value in one.settings:
                    values[one.slot, name, value] += cases[number]
                    # So that how many lack an argument is a difference of two sums.
                    values[one.slot, name, ANY] += cases[number]
        return values, cases.total()


_Terms = tuple[str, str, Bounds | None, float, Scale | None, str, int | float | None]
"""Of an outcome what says how it was asked for: its name, metric, bounds, weight, scale, judge's prompt, threshold."""


def _terms(outcome: Outcome) -> _Terms:
    prompt, threshold = "", None
    if outcome.metadata:
        prompt, threshold = _prompt_of(outcome.metadata), outcome.metadata.get("threshold")
    bounds = outcome.at_least, outcome.at_most
    return (
        outcome.name,
        outcome.metric,
        # Earlier run files don't say the bounds of an expectation that is in error.
        None if outcome.outcome == "error" and bounds == (None, None) else bounds,
        outcome.weight,
        outcome.scale,
        prompt,
        threshold if isinstance(threshold, int | float) else None,
    )


class _Last:
    """What the last trial was asked. Most are asked the same as the one before, which is seen at a glance.

    Args:
        terms: How each of its outcomes was asked for.
        definitions: What asked, where that is known.
    """

    def __init__(self, terms: Sequence[_Terms], definitions: Sequence[Definition]) -> None:
        self.terms = terms
        self.definitions = definitions
        self._slots: list[Slot | None] = []
        places: dict[str, int] = {}
        expectations: list[Asked] = []
        for place, one in enumerate(terms):
            definition = definitions[place] if place < len(definitions) else UNKNOWN
            if definition.kind == _BROKEN_OFF or (definitions and definition is UNKNOWN):
                self._slots.append(None)
                continue
            known_by = one[1] or one[0]
            slot = known_by, places.get(known_by, 0)
            expectations.append(_expectation(slot, one, definition))
            self._slots.append(slot)
            places[known_by] = slot[1] + 1
        self.signature = tuple(expectations)
        self.rivals = [
            (one.slot, value)
            for one in expectations
            for name, value in one.settings
            if name == RIVALS
        ]

    def with_outcomes(self, outcomes: Sequence[Outcome], *states: State) -> Iterator[Slot]:
        """The expectations that came to one of these states, of a trial that was asked so."""
        for slot, outcome in zip(self._slots, outcomes, strict=True):
            if slot is not None and outcome.outcome in states:
                yield slot


def _beside(one: Asked, known: Rivals) -> Asked:
    """An expectation with what it was compared with in all repeats of its case, in whichever order.

    Twice as many repeats beside the same outputs are the same test.
    """
    if one.slot not in known:
        return one
    times = Counter(known[one.slot])
    share = gcd(*times.values())
    rivals = brief(sorted((value, n // share) for value, n in times.items()))
    others = [setting for setting in one.settings if setting[0] != RIVALS]
    return replace(one, settings=tuple(sorted([*others, (RIVALS, rivals)])))


def _expectation(slot: Slot, terms: _Terms, definition: Definition) -> Asked:
    name, _, bounds, weight, scale, prompt, threshold = terms
    settings = tuple(sorted(definition.settings.items()))
    return Asked(
        slot=slot,
        name=name,
        kind=definition.kind,
        settings=(*settings, (JUDGE_PROMPT, prompt)) if prompt else settings,
        bounds=(bounds, threshold),
        weight=weight,
        scale=scale,
        exact=definition.exact,
    )


def _prompt_of(metadata: Mapping[str, object]) -> str:
    """What the judge was asked, apart from what it was to judge; empty where nobody knows, or no judge was asked."""
    members = metadata.get("jury")
    if not is_array(members):
        prompt = str(metadata.get("instrument") or "")
        # Of a cascade it is a digest of how sure its judges have to be as well.
        form = ""
        if JOINS in str(metadata.get("judge")):
            form = LIMITS
        elif _DECIDED in str(metadata.get("prompt")):
            form = "decision"
        return f"{form} {prompt}" if form and prompt else prompt
    prompts = [str(one.get("instrument") or "") for one in members if is_mapping(one)]
    return brief(prompts) if all(prompts) and prompts else ""


def _reach(numbers: array[int], place: int) -> None:
    if place >= len(numbers):
        numbers.frombytes(bytes(numbers.itemsize * (place + 1 - len(numbers))))


def case_digest(trial: TrialResult) -> str:
    """What a trial's case is called and says, as a short digest: the same one in all runs that have the case so."""
    content = trial.content or derived_content(trial, imported=False)
    texts = {part: letters for part, letters in content.items() if part != "rule"}
    return brief([trial.case, texts])
