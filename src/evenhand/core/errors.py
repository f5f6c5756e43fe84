"""Everything that can go wrong, cut first by whose fault it is.

    EvenhandError
    ├── UsageError              yours: how it was called
    │   ├── ConfigError         a config file: every problem in it at once, each with file:line:column
    │   ├── NothingSelected     the selection left no trial to run
    │   └── BudgetStop          the next call could pass --max-cost
    ├── ProviderError           theirs: one attempt at a model call failed
    │   ├── AuthError           the key is missing, wrong or not allowed          fatal
    │   ├── UnknownModel        the model or address does not exist               fatal
    │   ├── QuotaExhausted      the account is out of money or over a hard limit  fatal
    │   ├── Unreachable         nothing has come through for a while                  fatal
    │   ├── RateLimited         asked too often                                   retried, gates the account
    │   ├── Overloaded          500, 502, 503, 504, 529                           retried
    │   ├── ConnectionFailed    refused, reset, cut off, name not found           retried
    │   ├── TimedOut            no answer in time                                 retried
    │   ├── BadReply            an answer that is not what the API promises       retried
    │   ├── NotRecorded         a replayed run has no answer to this request      not retried
    │   ├── BatchGone           a batch's results are no longer kept              not retried
    │   ├── InfrastructureError an agent's program or server could not do its work not retried
    │   └── BadRequest          the vendor will not take this request             not retried
    │       ├── NoOutput        your function or web service answered without an output
    │       └── FailedCode      your function or program that stands for a model failed
    ├── TemplateError           a template cannot be read, or cannot be filled in
    ├── CodeError               your function raised, hung, or returned what it may not
    ├── OutOfTime               a trial, or its run, took longer than its config allows
    ├── SimulatorError          a simulated user said what it may not, twice: never the agent's failure
    ├── ScoreError              what an expectation looks at is not there, or not of the right kind
    ├── JudgeError              a judge answered, but with no usable verdict
    │   └── Undecided           no judge of a cascade is sure enough
    └── StoreError              the run file or the cache cannot be read or written

A message reads **where: what is wrong**, then an indented line with what to do. Each class has a `slug`, and
`docs/errors.md` has a section under each slug with the causes and the cures.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from evenhand.core.record import Record


class EvenhandError(Exception):
    """Anything that Evenhand raises on purpose.

    Args:
        hint: What to do about it; empty where there is nothing to say.
    """

    slug: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        # What follows a colon is often what somebody else said, and that may be nothing.
        message = message.rstrip(": \n")
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message

    def _render_traceback_(self) -> list[str]:
        """How notebooks show it, by IPython's name for that: the user's own line and the message, no traceback."""
        return [*_own_line(self), f"{type(self).__name__}: {self}"]


def first_line(error: BaseException) -> str:
    """What is wrong, without the advice: of an error that isn't Evenhand's, its class and what it says."""
    if isinstance(error, EvenhandError):
        return error.message
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 (a user's exception may not even be able to say what it is)
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _own_line(error: BaseException) -> Iterator[str]:
    """The line of the cell, or of the user's file, that called what raised."""
    import linecache  # noqa: PLC0415 (in notebooks only)
    import traceback  # noqa: PLC0415 (the same)

    frames = traceback.walk_tb(error.__traceback__)
    ours = str(Path(__file__).parent.parent)
    own = list(itertools.takewhile(lambda f: not f[0].f_code.co_filename.startswith(ours), frames))
    if own:
        frame, line = own[-1]
        file = frame.f_code.co_filename
        place = f"{file}:{line}" if Path(file).is_file() else f"line {line}"  # a cell has no file
        yield f"{place}: {linecache.getline(file, line).strip()}"


class UsageError(EvenhandError):
    """A command or function was called in a way that cannot work."""

    slug = "usage"


class Problem(Record, frozen=True):
    """One thing that is wrong, or worth a hint, in a user's file. Lines and columns count from 1; 0 is unknown."""

    file: str
    line: int
    column: int
    what: str
    hint: str = ""
    slug: str = "config"

    def __lt__(self, other: Problem) -> bool:
        return (self.file, self.line, self.column) < (other.file, other.line, other.column)

    def __str__(self) -> str:
        return self.summary + (f"\n  {self.hint}" if self.hint else "")

    @property
    def summary(self) -> str:
        """Where, and what is wrong, without the advice."""
        place = self.file
        with contextlib.suppress(OSError):  # the folder one stands in may be gone
            place = place.removeprefix(f"{Path.cwd()}{os.sep}")
        if self.line:
            place += f":{self.line}"
            if self.column:
                place += f":{self.column}"
        return f"{place}: {self.what}".rstrip(": \n")


class ConfigError(UsageError):
    """A config file, or a file that it names, is wrong. Holds every problem that was found, in file order.

    Attributes:
        more: How many more problems there are.
        spared: What was not done because of it, in words.
    """

    slug = "config"

    def __init__(
        self,
        problems: Sequence[Problem],
        hints: Sequence[Problem] = (),
        more: int = 0,
        *,
        spared: str = "nothing was sent",
    ) -> None:
        self.spared = spared
        self.problems = tuple(sorted(problems))
        self.hints = tuple(hints)
        self.more = more
        rest = [f"… and {more:,} more problem{'s' * (more != 1)}"] * bool(more)
        super().__init__("\n".join([*map(str, self.problems), *rest]))


class NothingSelected(UsageError):
    """The filters left no trial to run."""

    slug = "nothing-selected"

    def unwritten(self, files: Sequence[str]) -> NothingSelected:
        """An error that also names the files for results that stay as they are: old results may be in them."""
        if not files:
            return self
        hint = f"{self.hint} Nothing is written to {', '.join(map(os.path.relpath, files))}."
        return NothingSelected(self.message, hint=hint.lstrip())


class BudgetStop(UsageError):
    """The next call could take the run past its budget."""

    slug = "budget"


class ProviderError(EvenhandError):
    """One attempt at a model call failed.

    Attributes:
        status: The HTTP status, or None where there was no HTTP answer.
        retry_after_s: How long the vendor asks us to wait, in seconds.
        billed: Whether the vendor may have charged for it: True, False, or None for unknown.
        body: The start of what came back, for the record; never shown without escaping.
        answer: The HTTP answer whole (status, headers, body), for an application that asked by itself; None for none.
    """

    slug = "provider"
    retryable: ClassVar[bool] = False
    fatal: ClassVar[bool] = False
    answer: tuple[int, Mapping[str, str], bytes] | None = None

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        status: int | None = None,
        retry_after_s: float | None = None,
        billed: bool | None = False,
        body: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.retry_after_s = retry_after_s
        self.billed = billed
        self.body = body


class AuthError(ProviderError):
    """The key is missing, wrong, or not allowed to do this. The trials that need it are left."""

    slug = "auth"
    fatal = True


class UnknownModel(ProviderError):
    """The model, or the address, does not exist. The trials that need it are left."""

    slug = "unknown-model"
    fatal = True


class QuotaExhausted(ProviderError):
    """The account has no credit left, or is over a limit that waiting will not lift. Its trials are left."""

    slug = "quota"
    fatal = True


class Unreachable(ProviderError):
    """Nothing has come through for a while, however often it was tried. Its trials are left.

    Attributes:
        for_good: Nothing more is sent there; False where other trials are still tried.
    """

    slug = "unreachable"
    fatal = True
    for_good: bool = True


class RateLimited(ProviderError):
    """Asked too often; asked again later."""

    slug = "rate-limited"
    retryable = True


class Overloaded(ProviderError):
    """The vendor had a fault of its own (a 5xx); asked again later."""

    slug = "overloaded"
    retryable = True


class ConnectionFailed(ProviderError):
    """The connection was refused, reset or cut off; tried again."""

    slug = "connection"
    retryable = True


class TimedOut(ProviderError):
    """No answer in time; tried again, though the vendor may have charged for it."""

    slug = "timed-out"
    retryable = True


class BadReply(ProviderError):
    """An answer that is not what the API promises: half a JSON document, an HTML page, no text; tried again."""

    slug = "bad-reply"
    retryable = True


class NotRecorded(ProviderError):
    """Nothing is sent while a run is replayed, and it has no answer to this request."""

    slug = "not-recorded"


class BadRequest(ProviderError):
    """The vendor will not take this request, and would not take it a second time."""

    slug = "bad-request"


class InfrastructureError(ProviderError):
    """What an agent runs on or in failed it: its program, a sandbox, a server of tools. Says nothing of the agent."""

    slug = "infrastructure"


class BatchGone(ProviderError):
    """A batch was answered and paid for, and its results are no longer kept."""

    slug = "batch-gone"


class NoOutput(BadRequest):
    """A function or a web service of yours answered, and there is no output in what it answered."""

    slug = "no-output"


class MissedAssert(Record, frozen=True):
    """An assert that did not hold.

    Attributes:
        text: It, as written.
        message: What it said; empty for nothing.
    """

    file: str
    line: int
    text: str
    message: str


class CodeError(EvenhandError):
    """A function of yours raised, took too long, or returned what it may not.

    Attributes:
        missed: The assert that did not hold, where that is what it raised; None for anything else.
        key: The key or attribute that was not there, where that is what it raised; empty for anything else.
    """

    slug = "code"
    missed: MissedAssert | None = None
    key: str = ""


class FailedCode(BadRequest):
    """A function or a program of yours that stands for a model raised, hung, or returned what it may not."""

    slug = CodeError.slug  # whoever wrote the code has one section of docs/errors.md to read


class TemplateError(EvenhandError):
    """A template cannot be read, or cannot be filled in."""

    slug = "template"


class OutOfTime(EvenhandError):
    """A trial took longer than its config allows, or its run had already when it came to it."""

    slug = "out-of-time"


class SimulatorError(EvenhandError):
    """A simulated user made a mistake, and made one again when it was asked once more. Says nothing of the agent."""

    slug = "simulator"


class ScoreError(EvenhandError):
    """What an expectation looks at is not there, or not of the right kind: it can be neither met nor missed.

    Attributes:
        metadata: What is known of its parts, for the outcome.
    """

    slug = "score"

    def __init__(
        self, message: str, *, hint: str = "", metadata: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.metadata = metadata or {}


class JudgeError(EvenhandError):
    """A judge answered, but its answer holds no verdict that can be used. Never a score."""

    slug = "judge"


class Undecided(JudgeError):
    """No judge of a cascade is sure enough of its verdict: the output is for a person.

    Attributes:
        metadata: What the judges said, for the outcome.
    """

    slug = "undecided"

    def __init__(self, message: str, metadata: Mapping[str, object], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.metadata = metadata


class StoreError(EvenhandError):
    """A run file or the cache cannot be read or written."""

    slug = "store"
