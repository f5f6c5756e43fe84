"""How a result lies in a run file, and how it is put together again.

Nothing is kept twice: the numbers of a result are in its row of `trial`, what many results have in common (what their
case gave, what their test says) is in `part`, and the rest, without what is empty, is in `detail`. Put together, they
are the TrialResult as JSON, which is what versions before 5 kept in `result`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import UNSET, Struct, UnsetType
from msgspec.json import Decoder

from evenhand.core.run import NO_DETAILS, AnswerDetails, Judged, TrialError, TrialResult
from evenhand.core.score import Outcome, Scale, State, Verdict

if TYPE_CHECKING:
    from evenhand.core.secrets import Secrets

REMEMBERED_PARTS = 4096
"""Cases are settled near each other in time, so few parts have to be remembered to keep each of them once."""
SHORT_PART = 500
"""Bytes: a part of no more is remembered itself, a longer one by its digest."""


class CasePart(Struct, omit_defaults=True, gc=False, kw_only=True):
    """What a case gave to its trials."""

    vars: Mapping[str, Any] = {}
    description: str = ""
    input: Any = None
    expected: Any = None
    content: Mapping[str, str] = {}
    copy_key: str = ""


class DefinitionPart(Struct, omit_defaults=True, gc=False):
    """A `Definition`, without what is empty."""

    kind: str = ""
    settings: Mapping[str, str] = {}
    exact: bool = False


class TestPart(Struct, omit_defaults=True, gc=False):
    """What a test says of its trials."""

    test: Mapping[str, Any] = {}
    definitions: tuple[DefinitionPart, ...] = ()


class OutcomeDetail(Struct, omit_defaults=True, gc=False, kw_only=True):
    """An `Outcome`, without what is empty."""

    name: str
    outcome: State
    score: float | None
    reason: str = ""
    weight: float | UnsetType = UNSET
    metric: str = ""
    named: Mapping[str, float] = {}
    metadata: Mapping[str, Any] = {}
    error: str = ""
    at_least: float | None = None
    at_most: float | None = None
    hint: str = ""
    rests_on: tuple[tuple[str, int], ...] = ()
    scale: Scale | None = None
    named_weights: Mapping[str, float] = {}


class Detail(Struct, omit_defaults=True, gc=False, kw_only=True):
    """What a TrialResult says beyond its row of `trial` and its parts."""

    case: str
    output: Any = None
    reason: str = ""
    error: TrialError | None = None
    outcomes: tuple[OutcomeDetail, ...] = ()
    named_scores: Mapping[str, float] = {}
    prompt: str = ""
    metadata: Mapping[str, Any] = {}
    log: str = ""
    kept: Any = None
    threshold: float | None = None
    before: Verdict | None = None
    compared: Judged | None = None
    judged: Judged | None = None
    answer: AnswerDetails = NO_DETAILS
    scale: Scale | None = None
    checks: str = ""
    taken: str = ""
    unpaid_usd: float | None = None


class WrittenResult(NamedTuple):
    """What is kept of a result beside its row of `trial`, each a JSON object.

    Attributes:
        of_case: A CasePart; empty for one that says nothing.
        of_test: A TestPart; empty for one that says nothing.
    """

    of_case: bytes
    of_test: bytes
    detail: bytes

    def without(self, secrets: Secrets) -> WrittenResult:
        """The result without secrets; itself, where it holds none."""
        if not secrets:
            return self
        clean = WrittenResult(*map(secrets.without, self))
        return self if clean == self else clean


def part_of_case(result: TrialResult) -> CasePart:
    """What a result has of its case."""
    return CasePart(
        vars=result.vars,
        description=result.description,
        input=result.input,
        expected=result.expected,
        content=result.content,
        copy_key=result.copy_key,
    )


def part_of_test(result: TrialResult) -> TestPart:
    """What a result has of its test."""
    return TestPart(
        result.test,
        tuple(DefinitionPart(one.kind, one.settings, one.exact) for one in result.definitions),
    )


def detail_of(result: TrialResult) -> Detail:
    """What a result says beyond its row and its parts."""
    return Detail(
        case=result.case,
        output=result.output,
        reason=result.reason,
        error=result.error,
        outcomes=tuple(map(_outcome, result.outcomes)),
        named_scores=result.named_scores,
        prompt=result.prompt,
        metadata=result.metadata,
        log=result.log,
        kept=result.kept,
        threshold=result.threshold,
        before=result.before,
        compared=result.compared,
        judged=result.judged,
        # msgspec leaves out a default only if the value is the very same object.
        answer=result.answer if result.answer != NO_DETAILS else NO_DETAILS,
        scale=result.scale,
        checks=result.checks,
        taken=result.taken,
        unpaid_usd=result.unpaid_usd,
    )


def _outcome(outcome: Outcome) -> OutcomeDetail:
    return OutcomeDetail(
        name=outcome.name,
        outcome=outcome.outcome,
        score=outcome.score,
        reason=outcome.reason,
        # UNSET, because an equal float need not be the same object, and would be written.
        weight=outcome.weight if outcome.weight != 1.0 else UNSET,
        metric=outcome.metric,
        named=outcome.named,
        metadata=outcome.metadata,
        error=outcome.error,
        at_least=outcome.at_least,
        at_most=outcome.at_most,
        hint=outcome.hint,
        rests_on=outcome.rests_on,
        scale=outcome.scale,
        named_weights=outcome.named_weights,
    )


Numbers = tuple[
    int, int, int, State, float | None, float | None, float | None, int | None, int | None, int, int
]
"""Place, variant, repeat, outcome, score, latency, cost, tokens in and out, calls and cached calls."""

WHOLE = """
    select t.idx, t.variant, t.repeat, t.outcome, t.score, t.latency_s, t.cost_usd, t.tokens_in, t.tokens_out, t.calls,
           t.cached, of_case, case_part.part, of_test, test_part.part,
           coalesce(detail, (select result from result r where r.idx = t.idx and r.take = t.take)), detail is null
    from {table} t left join {details} d on d.idx = t.idx and d.take = t.take
         left join part case_part on case_part.id = of_case
         left join part test_part on test_part.id = of_test
"""
"""Rows for `whole`. These queries are templates for `OpenRun.query`."""

DETAILS = """
    select t.variant, t.cost_usd, t.cached,
           coalesce(detail, (select result from result r where r.idx = t.idx and r.take = t.take))
    from {table} t left join {details} d on d.idx = t.idx and d.take = t.take
"""
"""A trial's variant, cost and cached calls, and what its result says beyond its parts."""

SAID = """
    select t.idx, coalesce(detail, (select result from result r where r.idx = t.idx and r.take = t.take))
    from {table} t left join detail d on d.idx = t.idx and d.take = t.take
"""
"""A trial's place, and what its result says beyond its parts, long outputs aside."""

DESCRIBED = """
    select t.case_id, min(t.idx),
           coalesce(case_part.part, (select result from result r where r.idx = t.idx and r.take = t.take))
    from {table} t left join detail d on d.idx = t.idx and d.take = t.take
         left join part case_part on case_part.id = of_case
    group by t.case_id order by min(t.idx)
"""
"""A case's id, its first place, and the text that has its description, if any."""


_CASE_PART = Decoder(CasePart)


def read_description(part: bytes | None) -> str:
    """The description in a CasePart, or in a whole result; empty for none."""
    return _CASE_PART.decode(part).description if part else ""


def whole(row: tuple[Any, ...]) -> bytes:
    """The whole TrialResult as JSON, from a row that WHOLE selects.

    Raises:
        ValueError: A piece of it is missing; the file is damaged.
    """
    *numbers, of_case, case_part, of_test, test_part, detail, whole_already = row
    if detail is None:
        raise ValueError(f"the result of trial {row[0]} is missing")
    # A version before 5 kept results whole.
    if whole_already:
        return detail
    if (of_case is not None and not case_part) or (of_test is not None and not test_part):
        raise ValueError(f"a part of the result of trial {row[0]} is missing")
    return put_together(
        cast("Numbers", tuple(numbers)), WrittenResult(case_part or b"", test_part or b"", detail)
    )


def put_together(numbers: Numbers, written: WrittenResult) -> bytes:
    """The whole TrialResult as JSON."""
    index, variant, repeat, outcome, score, latency, cost, tokens_in, tokens_out, calls, cached = (
        numbers
    )
    head = (
        f'{{"index":{index},"variant":{variant},"repeat":{repeat},"outcome":"{outcome}",'
        f'"score":{_number(score)},"latency_s":{_number(latency)},"cost_usd":{_number(cost)},'
        f'"tokens_in":{_number(tokens_in)},"tokens_out":{_number(tokens_out)},"calls":{calls},"cached":{cached},'
    ).encode()
    # The head ends in a comma: `detail` is never empty, as it always has a `case`.
    return b"".join((head, _inside(written.of_case), _inside(written.of_test), written.detail[1:]))


def numbers_of(result: TrialResult) -> Numbers:
    """The numbers of a result, which its row of `trial` holds."""
    return (
        result.index,
        result.variant,
        result.repeat,
        result.outcome,
        result.score,
        result.latency_s,
        result.cost_usd,
        result.tokens_in,
        result.tokens_out,
        result.calls,
        result.cached,
    )


def _number(value: float | None) -> str:
    return "null" if value is None else repr(value)


def _inside(part: bytes) -> bytes:
    """The fields of an object, to be followed by more."""
    return part[1:-1] + b"," if part else b""


class Parts:
    """The parts that a run file holds, as far as they are remembered.

    Args:
        next_id: The first id that no part has.
    """

    def __init__(self, next_id: int) -> None:
        self._next = next_id
        self._ids: OrderedDict[bytes, int] = OrderedDict()

    def add(self, part: bytes) -> tuple[int | None, bool]:
        """The id of a part, and whether it has to be written first; None for an empty part."""
        if not part:
            return None, False
        name = part if len(part) <= SHORT_PART else blake2b(part, digest_size=16).digest()
        known = self._ids.get(name)
        if known is not None:
            self._ids.move_to_end(name)
            return known, False
        number = self._ids[name] = self._next
        self._next += 1
        # A part that is forgotten and comes again is written once more, under a new id.
        if len(self._ids) > REMEMBERED_PARTS:
            self._ids.popitem(last=False)
        return number, True
