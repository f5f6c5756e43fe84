"""Questions about what became of an agent's steps: did a call succeed, did it recover, does it go round in circles.

How this works: each looks at the steps of the output, where it has some (a list of steps, a conversation), or else at
all steps of the trial. A step whose end nobody knows might have failed or not. Where the verdict hangs on it, it is an
error, never a pass. Each names the steps that its verdict hangs on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand.core.encoding import encode
from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.score import Score
from evenhand.core.step import Step
from evenhand.core.traits import Traits
from evenhand.core.wording.words import count
from evenhand.scorers.agents.tool_calls import HOW_CALLS, Arguments, CallsTool
from evenhand.scorers.agents.trial_steps import (
    Failed,
    check_failed,
    invocation,
    named_steps,
    status_of,
    steps_in,
    tool_calls,
    unsaid,
    verdict,
)
from evenhand.scorers.constructor_checks import need_text
from evenhand.scorers.opposite import Question

LONGEST = 8
"""Calls in the longest cycle that counts as a loop."""


@dataclass(frozen=True, slots=True)
class _OfCalls(Question):
    """A question about the calls of a tool, with certain arguments."""

    traits: ClassVar[Traits] = Traits(gives="verdict")
    _forbidden: ClassVar[bool] = False
    name: str
    arguments: Arguments | None = None
    exact: bool = False
    failed: Failed | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.call()  # which refuses what is no call
        check_failed(type(self).__name__, self.failed)

    def call(self) -> CallsTool:
        """The calls that are meant."""
        return CallsTool(self.name, self.arguments, self.exact)

    def score(self, output: Any, trial: Trial | None = None) -> Score:
        call, forbidden = self.call(), self._forbidden
        steps = steps_in(output, trial)
        calls = [(i, s) for i, s in tool_calls(steps) if call.matches(invocation(s), doubt=True)]
        ended = [(i, s, status_of(s, self.failed)) for i, s in calls]
        succeeded = [(i, s) for i, s, end in ended if end == "ok"]
        sure = [(i, s) for i, s in succeeded if call.matches(invocation(s), doubt=False)]
        # A call that nobody knows the end of may have succeeded: it is neither sure nor a failure.
        open_ = [(i, s) for i, s, end in ended if end != "error" and (i, s) not in sure]
        if not sure and open_:
            raise unsaid(self, open_)
        if sure:
            reason = f"{named_steps(sure)} succeeded"
            return verdict(not forbidden, reason, [i for i, _ in sure], steps, trial)
        reason = f"{named_steps(calls)} failed" if calls else f"{call.name} was not called"
        return verdict(forbidden, reason, [i for i, _ in calls], steps, trial)


@dataclass(frozen=True, slots=True)
class Succeeds(_OfCalls):
    """A call of this tool succeeded, with these arguments. `~Succeeds(…)`: none did; also written `NeverSucceeds`.

    Attributes:
        name: The tool's.
        arguments: What is wanted of the arguments, as for `CallsTool`. None: whatever they are.
        exact: There may be no other arguments.
        failed: Says of a step whether it failed, where its status doesn't, or not rightly.
    """

    def __invert__(self) -> NeverSucceeds:
        return NeverSucceeds(self.name, self.arguments, self.exact, failed=self.failed)

    def __str__(self) -> str:
        return f"{self.call().wanted()} succeeds"


@dataclass(frozen=True, slots=True)
class NeverSucceeds(_OfCalls):
    """No call of this tool succeeded, with these arguments: it may have been tried, and refused.

    Attributes:
        name: The tool's.
        arguments: What is forbidden of the arguments, as for `CallsTool`. None: whatever they are.
        exact: There may be no other arguments.
        failed: Says of a step whether it failed, where its status doesn't, or not rightly.
    """

    _forbidden: ClassVar[bool] = True

    def __invert__(self) -> Succeeds:
        return Succeeds(self.name, self.arguments, self.exact, failed=self.failed)

    def __str__(self) -> str:
        return f"{self.call().wanted()} never succeeds"


@dataclass(frozen=True, slots=True)
class _OfTool(Question):
    """A question about the steps of one tool, or of all."""

    traits: ClassVar[Traits] = Traits(gives="verdict")
    name: str = ""
    failed: Failed | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        who = type(self).__name__
        need_text(who, "the tool's name", self.name)
        check_failed(who, self.failed)


@dataclass(frozen=True, slots=True)
class NeverFails(_OfTool):
    """No step failed; or none of this tool's.

    Attributes:
        name: The tool; empty for every step.
        failed: Says of a tool's call whether it failed, where its status doesn't, or not rightly.
    """

    def score(self, output: Any, trial: Trial | None = None) -> Score:
        steps = steps_in(output, trial)
        ends = [
            (i, s, status_of(s, self.failed if s.kind == "tool" else None))
            for i, s in enumerate(steps)
            if (s.name == self.name and s.kind == "tool" if self.name else True)
        ]
        bad = [(i, s) for i, s, end in ends if end == "error"]
        if bad:
            return verdict(False, f"{named_steps(bad)} failed", [i for i, _ in bad], steps, trial)
        # Only a tool's call has to say how it ended; messages and model calls often say nothing.
        unknown = [(i, s) for i, s, end in ends if end == "unknown" and s.kind == "tool"]
        if unknown:
            raise unsaid(self, unknown)
        return verdict(True, f"none of {count(len(ends), 'step')} failed", [], steps, trial)

    def __str__(self) -> str:
        return f"{self.name} never fails" if self.name else "no step fails"


@dataclass(frozen=True, slots=True)
class Recovers(_OfTool):
    """Each call of a tool that failed is followed by one that succeeds. Where none failed, it does not apply.

    Attributes:
        name: The tool whose failures are looked at; empty for all tools.
        by: The tools that make up for it; by default, the one that failed.
        failed: Says of a tool's call whether it failed, where its status doesn't, or not rightly.
    """

    by: Sequence[str] = ()

    def __post_init__(self) -> None:
        _OfTool.__post_init__(self)
        if isinstance(self.by, str):
            raise UsageError("Recovers: by= takes a list of tools", hint=f"Write [{self.by!r}].")

    def score(self, output: Any, trial: Trial | None = None) -> Score:
        steps = steps_in(output, trial)
        calls = [(i, s, status_of(s, self.failed)) for i, s in tool_calls(steps)]
        mine = [(i, s, end) for i, s, end in calls if not self.name or s.name == self.name]
        bad = [(i, s) for i, s, end in mine if end == "error"]
        left: list[tuple[int, Step]] = []
        open_: list[tuple[int, Step]] = []
        for place, step, end in mine:
            able = self.by or (step.name,)
            later = [(i, s, end) for i, s, end in calls if i > place and s.name in able]
            if end == "ok" or any(end == "ok" for _, _, end in later):
                continue
            unknown = [(i, s) for i, s, end in later if end == "unknown"]
            # Whether it failed, or whether what came after it did, is not known.
            if end == "unknown":
                open_.append((place, step))
            elif unknown:
                open_ += unknown
            else:
                left.append((place, step))
        if open_ and not left:
            raise unsaid(self, open_)
        if not bad:
            unknown = [(i, s) for i, s, end in mine if end == "unknown"]
            if unknown:
                raise unsaid(self, unknown)
            return Score(None, None, "no call failed")
        if left:
            reason = f"nothing made up for {named_steps(left)}"
            return verdict(False, reason, [i for i, _ in left], steps, trial)
        return verdict(True, f"made up for {named_steps(bad)}", [i for i, _ in bad], steps, trial)

    def __str__(self) -> str:
        what = f"recovers from a failed {self.name}" if self.name else "recovers from failures"
        return f"{what} by {' or '.join(self.by)}" if self.by else what


@dataclass(frozen=True, slots=True)
class NeverRepeats(_OfTool):
    """No tool is called twice with the same arguments. Trying a failed call again is no repetition.

    Attributes:
        name: The tool; empty for all tools.
        failed: Says of a tool's call whether it failed, where its status doesn't, or not rightly.
    """

    def score(self, output: Any, trial: Trial | None = None) -> Score:
        steps = steps_in(output, trial)
        calls = [(i, s) for i, s in tool_calls(steps) if not self.name or s.name == self.name]
        earlier: dict[bytes, tuple[int, Step, bool]] = {}
        again: list[tuple[int, Step]] = []
        open_: list[tuple[int, Step]] = []
        for place, step in calls:
            key, end = _key(step), status_of(step, self.failed)
            first, one, sure = earlier.get(key, (place, step, False))
            if sure:
                again += [each for each in ((first, one), (place, step)) if each not in again]
            elif key in earlier:  # perhaps a second attempt
                open_.append((first, one))
            # A call that failed is not remembered, so that trying it again is no repetition.
            if end == "ok" and not sure and step.arguments is not None:
                earlier[key] = place, step, True
            elif end != "error" and key not in earlier:
                earlier[key] = place, step, False
        if not again:
            names = Counter(step.name for _, step in calls)
            _need_arguments(self, (step for _, step in calls if names[step.name] > 1))
            if open_:
                raise unsaid(self, open_)
        if again:
            reason = f"the same call more than once: {named_steps(again)}"
            return verdict(False, reason, [i for i, _ in again], steps, trial)
        return verdict(True, "no call was made twice", [], steps, trial)

    def __str__(self) -> str:
        return f"never repeats {self.name or 'a call'}"


@dataclass(frozen=True, slots=True)
class NeverLoops(Question):
    """No cycle of calls, with equal arguments, comes so many times in direct succession.

    A cycle may have up to 8 calls: `search, read, search, read, search, read` is one of two calls, three times.

    Attributes:
        times: From so many on it is a loop; at least 2.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")
    times: int = 3

    def __post_init__(self) -> None:
        if type(self.times) is not int or self.times < 2:
            raise UsageError(
                f"NeverLoops: times is {self.times!r}", hint="Write a whole number from 2 on."
            )

    def score(self, output: Any, trial: Trial | None = None) -> Score:
        steps = steps_in(output, trial)
        calls = tool_calls(steps)
        keys = [_key(step) for _, step in calls]
        silent = [step.arguments is None for _, step in calls]
        if loop := self._loop(lambda a, b: keys[a] == keys[b] and not silent[a], len(calls)):
            cycle = ", ".join(calls[at][1].name for at in loop[: len(loop) // self.times])
            reason = (
                f"{cycle} {self.times} times, from step {calls[loop[0]][0] + 1} "
                f"to step {calls[loop[-1]][0] + 1}"
            )
            return verdict(False, reason, [calls[at][0] for at in loop], steps, trial)

        def maybe(a: int, b: int) -> bool:
            return keys[a] == keys[b] or (
                calls[a][1].name == calls[b][1].name and (silent[a] or silent[b])
            )

        _need_arguments(self, (calls[at][1] for at in self._loop(maybe, len(calls))))
        return verdict(True, "no cycle among the calls", [], steps, trial)

    def _loop(self, same: Callable[[int, int], bool], calls: int) -> range:
        """The calls of the first loop, by their places among so many; empty for none."""
        for length in range(1, LONGEST + 1):
            run = 0  # so many calls are what the one a cycle before was
            for at in range(length, calls):
                run = run + 1 if same(at, at - length) else 0
                # The first cycle has nothing before it to be compared with, so it does not count in the run.
                if run == length * (self.times - 1):
                    return range(at + 1 - length * self.times, at + 1)
        return range(0)

    def __str__(self) -> str:
        return f"never loops {self.times} times"


@dataclass(frozen=True, slots=True)
class OnlyCalls(Question):
    """No other tools than these are called; none of them needs to be.

    Attributes:
        allowed: Names, or `CallsTool` where the arguments matter.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")
    allowed: Sequence[str | CallsTool]

    def __post_init__(self) -> None:
        if isinstance(self.allowed, (str, CallsTool)):
            raise UsageError("OnlyCalls: it takes a list", hint="Write ['one', 'another'].")
        for one in self.allowed:
            if not isinstance(one, CallsTool):
                need_text("OnlyCalls", "a tool's name", one, HOW_CALLS)

    def score(self, output: Any, trial: Trial | None = None) -> Score:
        steps = steps_in(output, trial)
        allowed = [CallsTool(one) if isinstance(one, str) else one for one in self.allowed]
        calls = tool_calls(steps)
        # A call whose arguments cannot be read may be allowed: it passes here, and is an error below.
        others = [
            (i, s)
            for i, s in calls
            if not any(one.matches(invocation(s), doubt=True) for one in allowed)
        ]
        if others:
            return verdict(False, named_steps(others), [i for i, _ in others], steps, trial)
        doubtful = [
            s
            for _, s in calls
            if not any(one.matches(invocation(s), doubt=False) for one in allowed)
        ]
        if doubtful:
            raise ScoreError(f"{self}: the arguments of {doubtful[0].name} are not known")
        return verdict(
            True,
            f"{len(calls)} call{'s'[: len(calls) != 1]}, all of them allowed",
            [],
            steps,
            trial,
        )

    def __str__(self) -> str:
        listed = [one if isinstance(one, str) else one.wanted() for one in self.allowed]
        return f"calls only {', '.join(listed) or 'no tools'}"


def _need_arguments(question: object, steps: Iterable[Step]) -> None:
    """Refuses calls whose arguments nobody says: they may be those of another call, or not."""
    silent = next((step for step in steps if step.arguments is None), None)
    if silent is not None:
        raise ScoreError(
            f"{question}: the arguments of {silent.name} are not known",
            hint="Record the tool with @recording.tool, or have the trace hold arguments; {} is none.",
        )


def _key(step: Step) -> bytes:
    """A call's name and arguments, as equal calls have them."""
    try:
        return encode([step.name, step.arguments])
    except (TypeError, ValueError):
        # Arguments may hold objects of the application's own, for which JSON has no form.
        return repr((step.name, step.arguments)).encode("utf-8", "replace")
