"""Reads promptfoo's results, version 3, as a run: what it recorded can be shown and exported like any other.

A large file is read in two passes over the same bytes: rows are found first and decoded one at a time, so what is held
is the file itself and never all of its objects.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict, cast

import msgspec
from msgspec import field

from evenhand.core.case import case_id
from evenhand.core.encoding import decode, digest
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import as_mapping, as_text, is_mapping, is_number
from evenhand.core.malformed import document_fault, shape_fault
from evenhand.core.record import MutableRecord
from evenhand.core.run import AnswerDetails, Judged, RunMeta, TrialError, TrialResult
from evenhand.core.score import Outcome, State
from evenhand.core.secrets import redacted
from evenhand.core.variant import Variant
from evenhand.core.version import __version__
from evenhand.doors.assertions.aggregate import verdict_rule
from evenhand.doors.importers.imported import UNNAMED
from evenhand.doors.importers.recorded import OtherToolError, Recordings
from evenhand.render.promptfoo.row import HIGHLIGHT, HUMAN, MARKS
from evenhand.store.labels.label import LONGEST_NOTE, NewLabel
from evenhand.store.run_lookup import id_at

VERSION = 3
_OURS = re.compile(r"eval-([0-9A-HJKMNP-TV-Z]{26})")


class _Head(msgspec.Struct, rename="camel"):
    """The results, their rows not yet looked at."""

    version: int | None = None
    timestamp: str = ""
    prompts: list[dict[str, Any]] | None = None
    results: list[msgspec.Raw] | None = None
    stats: dict[str, Any] = {}


class _File(msgspec.Struct, rename="camel"):
    results: msgspec.Raw
    eval_id: str | None = None
    config: dict[str, Any] = {}
    runtime_options: dict[str, Any] = {}


class _Place(msgspec.Struct, rename="camel"):
    """As much of a row as says where it belongs."""

    test_idx: int
    prompt_idx: int
    vars: dict[str, Any] | None = None
    provider: dict[str, Any] | None = None


class Recorded(MutableRecord):
    """A run that promptfoo recorded.

    Attributes:
        meta: What is said of the run as a whole; its own id is in `settings`, under `imported`.
        path: The file that it was read from.
        rows: The rows, undecoded, in the order of tests and columns, each with its number in the file.
        cases: The case and the repeat of each test.
    """

    meta: RunMeta
    path: Path
    rows: Sequence[tuple[int, msgspec.Raw]]
    cases: Mapping[int, tuple[str, int]] = field(default_factory=dict[int, tuple[str, int]])

    def trials(self) -> Iterator[TrialResult]:
        """The trials, one at a time.

        Raises:
            UsageError: A row is not one of promptfoo's.
        """
        for index, (number, raw) in enumerate(self.rows):
            row = self._row(number, raw)
            case, repeat = self.cases[row["testIdx"]]
            yield _trial(row, index, case, repeat)

    def labels(self) -> Iterator[NewLabel]:
        """What people said of the trials, by their place among the rows; read after `trials`."""
        for index, (number, raw) in enumerate(self.rows):
            data = bytes(raw)
            if b'"human"' in data or b'"comment"' in data:
                yield from labels_in(self._row(number, raw).get("gradingResult") or {}, index)

    def _row(self, number: int, raw: msgspec.Raw) -> dict[str, Any]:
        """A row, whose parts are of the kinds that promptfoo writes.

        Raises:
            UsageError: They aren't.
        """
        try:
            row = decode(bytes(raw))
            check_row(row)
        except ValueError as error:
            raise _bad_row(self.path, number, shape_fault(error)) from error
        return cast("dict[str, Any]", row)


WRITE_SOME = "Write some with: promptfoo export eval latest -o results.json"


def _bad_row(path: Path, number: int, why: str) -> UsageError:
    return UsageError(f"{path}: row {number} of the results cannot be read: {why}", hint=WRITE_SOME)


def read(paths: Sequence[Path]) -> Recordings:
    """The runs in files of promptfoo's results, one each.

    Raises:
        UsageError: One cannot be read.
    """
    return Recordings([read_results(path) for path in paths])


def read_results(path: Path) -> Recorded:
    """The run in a file of promptfoo's results.

    Raises:
        UsageError: It cannot be read, is something else, or is of a version that is not known.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    if not data.strip():
        raise UsageError(f"{path} is empty", hint=WRITE_SOME)
    inside = ""
    try:
        file = msgspec.json.decode(data, type=_File)
        inside = "in 'results', "
        head = msgspec.json.decode(file.results, type=_Head)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise _not_results(path, inside + document_fault(data, error)) from error
    _look_at_version(path, head.version)
    if head.prompts is None or head.results is None:
        name = "prompts" if head.prompts is None else "results"
        raise _not_results(path, f"in 'results', `{name}` is missing")
    places = [
        _place(path, number, raw, len(head.prompts)) for number, raw in enumerate(head.results, 1)
    ]
    order = sorted(range(len(places)), key=lambda i: (places[i].test_idx, places[i].prompt_idx))
    rows = [(i + 1, head.results[i]) for i in order]
    repeats = file.runtime_options.get("repeat")
    if repeats is None:
        repeats = as_mapping(file.config.get("evaluateOptions")).get("repeat")
    repeats = repeats if isinstance(repeats, int) and repeats > 0 else 1
    cases = _cases([places[i] for i in order], repeats)
    models = {place.prompt_idx: str((place.provider or {}).get("id") or "") for place in places}
    meta = _meta(path, file, head=head, data=data, cases=cases, repeats=repeats, models=models)
    return Recorded(meta, path, rows, cases)


def _not_results(path: Path, why: str) -> OtherToolError:
    return OtherToolError(f"{path} holds no results of promptfoo's: {why}", hint=WRITE_SOME)


def _look_at_version(path: Path, version: int | None) -> None:
    if version == VERSION:
        return
    if version is None:
        raise UsageError(
            f"{path} does not say of which version its results are",
            hint=f"What is read is version {VERSION}, as promptfoo writes it since 0.95.",
        )
    newer = version > VERSION
    raise UsageError(
        f"{path} holds results of version {version}; what is read is version {VERSION}",
        hint="Upgrade Evenhand, in the way that you installed it."
        if newer
        else "Import it into a newer promptfoo and export it from there: promptfoo import, promptfoo export eval.",
    )


def _place(path: Path, number: int, raw: msgspec.Raw, columns: int) -> _Place:
    try:
        place = msgspec.json.decode(raw, type=_Place)
    except (msgspec.DecodeError, UnicodeError):
        try:  # a lone surrogate, as a rule
            place = msgspec.convert(decode(bytes(raw)), _Place)
        except ValueError as error:
            raise _bad_row(path, number, shape_fault(error)) from error
    if place.prompt_idx not in range(columns):
        what = f"`promptIdx` is {place.prompt_idx}, and in 'results', `prompts` has {columns:,}"
        raise _bad_row(path, number, f"{what}, counted from 0")
    return place


def _cases(places: Sequence[_Place], repeats: int) -> dict[int, tuple[str, int]]:
    """The case and the repeat of each test. A test that is repeated has a number of its own each time."""
    cases: dict[int, tuple[str, int]] = {}
    repeats_of: dict[str, int] = {}
    for place in places:
        if place.test_idx in cases:
            continue
        id_ = case_id(place.vars) if place.vars else case_id("")
        earlier = repeats_of[id_] = repeats_of.get(id_, -1) + 1
        again, repeat = divmod(earlier, repeats)
        cases[place.test_idx] = (f"{id_}#{again + 1}" if again else id_, repeat)
    return cases


def _meta(
    path: Path,
    file: _File,
    head: _Head,
    data: bytes,
    cases: Mapping[int, tuple[str, int]],
    repeats: int,
    models: Mapping[int, str],
) -> RunMeta:
    created = _moment(head.timestamp)
    took = head.stats.get("durationMs")
    name = file.eval_id or f"eval-{hashlib.sha256(data).hexdigest()[:12]}"
    ours = _OURS.fullmatch(name)
    config = cast("Mapping[str, Any]", redacted(file.config))
    title = str(file.config.get("description") or path.stem)
    return RunMeta(
        id=ours[1] if ours else id_at(created, digest(name)),
        title=title,
        source="",
        fingerprint=digest(name, title),
        planned=len(head.results or ()),
        case_count=len({case for case, _ in cases.values()}),
        repeats=repeats,
        variants=tuple(
            _variant(i, prompt, models.get(i, "")) for i, prompt in enumerate(head.prompts or ())
        ),
        created_at=created,
        config={key: value for key, value in config.items() if key != "tests"},
        settings={
            "imported": {
                "id": name,
                "file": path.name,
                "from": "Evenhand" if ours else "promptfoo",
            }
        },
        version=__version__,
        status="finished",
        finished_at=created + took / 1000 if isinstance(took, (int, float)) else created,
    )


def _variant(index: int, prompt: Mapping[str, Any], model: str) -> Variant:
    label = str(prompt.get("label") or prompt.get("raw") or "")
    provider = str(prompt.get("provider") or ("" if label.strip() else UNNAMED))
    return Variant(
        index, " ".join(label.split()), provider, str(prompt.get("raw") or ""), model or provider
    )


def _trial(row: Mapping[str, Any], index: int, case: str, repeat: int) -> TrialResult:
    response: Mapping[str, Any] = row.get("response") or {}
    test: Mapping[str, Any] = row.get("testCase") or {}
    grading: Mapping[str, Any] = row.get("gradingResult") or {}
    failure = row.get("failureReason")
    # "No output" is a failure without a reason: what did not succeed never passes.
    state: State = "pass" if row.get("success") else "error" if _is_error(row, failure) else "fail"
    if _marked(grading) == "not_applicable":  # one of ours, of which a pass says too much
        state = "not_applicable"
    outcomes, threshold = tuple(_outcomes(grading)), _number(test.get("threshold"))
    if state == "fail" and _is_open(outcomes, threshold):
        state = "error"
    reason = str(row.get("error") or grading.get("reason") or "")
    used: Mapping[str, Any] = row.get("tokenUsage") or {}
    judged = _judged(used.get("assertions") or {})
    requests = _whole(used.get("numRequests"))
    calls = requests + (judged.calls if judged else 0)
    cost = _cost(row, response)
    return TrialResult(
        index=index,
        case=case,
        variant=int(row["promptIdx"]),
        repeat=repeat,
        outcome=state,
        score=None
        if state in ("error", "not_applicable") or _lacks_score(outcomes)
        else _number(row.get("score")),
        output=response.get("output"),
        reason=reason,
        error=TrialError("imported", reason or "promptfoo recorded an error")
        if state == "error"
        else None,
        outcomes=outcomes,
        named_scores=_known(row, _without_number(outcomes)),
        latency_s=_latency(row, response),
        cost_usd=cost,
        tokens_in=_tokens(used, "prompt", judged and judged.tokens_in),
        tokens_out=_tokens(used, "completion", judged and judged.tokens_out),
        calls=calls,
        cached=calls if response.get("cached") else 0,
        prompt=str((row.get("prompt") or {}).get("raw") or ""),
        vars=row.get("vars") or {},
        description=str(test.get("description") or ""),
        metadata=test.get("metadata") or {},
        threshold=threshold,
        judged=judged,
        answer=AnswerDetails(
            finish_reason=as_text(response.get("finishReason")),
            metadata=as_mapping(response.get("metadata")),
            cost_usd=cost,
        ),
        test=cast(
            "Mapping[str, Any]",
            redacted({k: v for k, v in test.items() if k not in ("vars", "metadata")}),
        ),
    )


def _is_error(row: Mapping[str, Any], failure: object) -> bool:
    """Whether a row that did not succeed ended in an error, also where it says no kind of failure, as earlier ones."""
    if failure is None:
        return bool(row.get("error")) and not row.get("gradingResult")
    return failure not in (0, 1)


def _cost(row: Mapping[str, Any], response: Mapping[str, Any]) -> float | None:
    """What the answer cost: promptfoo writes 0 where nobody said it, unless the provider or the cache did."""
    cost = _number(row.get("cost"))
    return cost if cost or response.get("cached") else _number(response.get("cost"))


def _latency(row: Mapping[str, Any], response: Mapping[str, Any]) -> float | None:
    """Seconds until the answer. Of one from the cache promptfoo may say how long it looked there."""
    latency = response.get("latencyMs") if response.get("cached") else row.get("latencyMs")
    return None if (number := _number(latency)) is None else number / 1000


def _tokens(used: Mapping[str, Any], key: str, judged: int | None) -> int | None:
    """The tokens of answer and judges: promptfoo writes 0 for both sorts where nobody counted the answer's."""
    if not (_whole(used.get("prompt")) or _whole(used.get("completion"))):
        return judged or None
    return _whole(used.get(key)) + (judged or 0)


def _judged(used: Mapping[str, Any]) -> Judged | None:
    calls = _whole(used.get("numRequests"))
    tokens = _whole(used.get("prompt")), _whole(used.get("completion"))
    return Judged(calls, *tokens, None) if calls or any(tokens) else None


def _lacks_score(outcomes: Sequence[Outcome]) -> bool:
    """Whether the score depends on a grader that failed."""
    return any(
        one.weight > 0 and one.score is None and one.outcome != "not_applicable" for one in outcomes
    )


def _without_number(outcomes: Sequence[Outcome]) -> set[str]:
    """The metrics that promptfoo writes as 0 although nothing measures them: of failed graders, or without weight."""
    weighted = {name for one in outcomes if one.weight for name in (one.metric, *one.named)}
    return {one.metric for one in outcomes if one.score is None or one.metric not in weighted}


def _is_open(outcomes: Sequence[Outcome], threshold: float | None) -> bool:
    """Whether a failure is that of a grader alone: no other assertion decides what the answer comes to."""
    failed = any(outcome.outcome == "error" for outcome in outcomes)
    return failed and verdict_rule(threshold)(outcomes).outcome == "error"


def _outcomes(grading: Mapping[str, Any]) -> Iterator[Outcome]:
    """One for each assertion. What follows a set repeats its parts, and is left out."""
    skip = 0
    results: Sequence[Mapping[str, Any]] = grading.get("componentResults") or ()
    for part in results:
        if skip or is_human(part):  # what people said is no outcome, but a label
            skip -= bool(skip)
            continue
        metadata: dict[str, Any] = dict(part.get("metadata") or {})
        about: Mapping[str, Any] = metadata.pop("assertionSet", None) or {}
        parts: Sequence[Mapping[str, Any]] = part.get("componentResults") or ()
        assertion: Mapping[str, Any] = part.get("assertion") or {}
        name = _name(assertion)
        if about:
            skip = len(parts)
            name, assertion = f"assert-set of {len(parts)}", about
        if parts:
            metadata["components"] = [_component(inner) for inner in parts]
        state = _marked(part) or ("pass" if part.get("pass") else "fail")
        for mark in MARKS.values():
            metadata.pop(mark, None)
        has_number = state in ("pass", "fail") and not any(map(_counts_as_zero, parts))
        reason = str(part.get("reason") or "")
        weight = _number(assertion.get("weight"))
        yield Outcome(
            name=name,
            outcome=state,
            score=_number(part.get("score")) if has_number else None,
            reason="" if reason == "Assertion passed" else reason,
            weight=1.0 if weight is None else weight,
            metric=str(assertion.get("metric") or ""),
            named={} if state == "error" else _known(part),
            metadata=metadata,
            error="judge" if state == "error" else "",
        )


def _known(result: Mapping[str, Any], lacking: Collection[str] = ()) -> dict[str, float]:
    """The named scores without those that a grader failed to give: promptfoo counts it as 0."""
    parts = as_mapping(result.get("gradingResult", result)).get("componentResults") or ()
    broken = {as_mapping(part.get("assertion")).get("metric") for part in parts if _is_broken(part)}
    scores = _numbers(result.get("namedScores"))
    return {name: score for name, score in scores.items() if name not in {*lacking, *broken}}


def _counts_as_zero(part: Mapping[str, Any]) -> bool:
    """Whether a grader failed whose score promptfoo counts as 0."""
    return _is_broken(part) and as_mapping(part.get("assertion")).get("weight") != 0


def _is_broken(part: Mapping[str, Any]) -> bool:
    return _marked(part) == "error"


def _marked(part: Mapping[str, Any]) -> State | None:
    """What a component or a row came to, where its format has no word for it; None for a pass or a failure."""
    metadata = as_mapping(part.get("metadata"))
    return next((state for state, mark in MARKS.items() if metadata.get(mark)), None)


def _component(part: Mapping[str, Any]) -> dict[str, Any]:
    passed = bool(part.get("pass"))
    state = _marked(part) or ("pass" if passed else "fail")
    named = {} if state == "error" else _known(part)
    return {
        "name": _name(part.get("assertion") or {}),
        "pass": passed,
        "outcome": state,
        "score": _number(part.get("score")) if state in ("pass", "fail") else None,
        "reason": str(part.get("reason") or ""),
        "metric": str((part.get("assertion") or {}).get("metric") or ""),
        **({"named": named} if named else {}),
    }


def _name(assertion: Mapping[str, Any]) -> str:
    type_, value = str(assertion.get("type") or "assertion"), assertion.get("value")
    if not isinstance(value, str) or not value:
        return type_
    line = " ".join(value.split())
    return f'{type_} "{line if len(line) <= 60 else line[:59] + "…"}"'


def _number(value: object) -> float | None:
    return float(value) if is_number(value) else None


def _numbers(value: object) -> dict[str, float]:
    items = value.items() if is_mapping(value) else ()
    numbers = {str(name): _number(number) for name, number in items}
    return {name: number for name, number in numbers.items() if number is not None}


def _whole(value: object) -> int:
    number = _number(value)
    return 0 if number is None else int(number)


def _moment(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def labels_in(grading: Mapping[str, Any], index: int) -> Iterator[NewLabel]:
    """The labels of one trial.

    A part with a metric is about that metric, and says whose it is, as `evenhand export` writes them; promptfoo itself
    has one verdict for the whole row.

    Args:
        grading: The row's `gradingResult`.
        index: The trial's place.
    """
    parts: Sequence[Mapping[str, Any]] = grading.get("componentResults") or ()
    for part in filter(is_human, parts):
        about: Mapping[str, Any] = part.get("metadata") or {}
        verdict = "pass" if part.get("pass") else "fail"
        metric, author = part["assertion"].get("metric"), about.get("author")
        yield NewLabel(
            index=index,
            field="verdict",
            value=verdict,
            author=author if isinstance(author, str) else "",
            metric=metric if isinstance(metric, str) else "",
        )
        rating = about.get("rating")
        if _is_rating(rating) and not metric:
            yield NewLabel(index, "score", rating)
    comment = grading.get("comment")
    note = comment if isinstance(comment, str) else ""
    if note.startswith(HIGHLIGHT):
        note = note.removeprefix(HIGHLIGHT).strip()
        yield NewLabel(index, "star", True)
    if note:
        yield NewLabel(index, "note", note[:LONGEST_NOTE])


def is_human(part: Mapping[str, Any] | None) -> bool:
    """Whether a part of a row is what a person said, and not what was measured."""
    assertion: Mapping[str, Any] = (part or {}).get("assertion") or {}
    return assertion.get("type") == HUMAN


def _is_rating(value: object) -> bool:
    return isinstance(value, (int, float)) and value is not True and 1 <= value <= 5


class _Object(TypedDict, total=False):
    """An object of which any part may be anything."""


class _Part(TypedDict, total=False):
    assertion: _Object | None
    metadata: _PartMetadata | None
    componentResults: list[_Part] | None


class _PartMetadata(TypedDict, total=False):
    assertionSet: _Object | None


class _Grading(TypedDict, total=False):
    componentResults: list[_Part] | None


class _Test(TypedDict, total=False):
    metadata: _Object | None


class _Tokens(TypedDict, total=False):
    assertions: _Object | None


class _Row(TypedDict, total=False):
    vars: _Object | None
    prompt: _Object | None
    response: _Object | None
    testCase: _Test | None
    gradingResult: _Grading | None
    tokenUsage: _Tokens | None
    latencyMs: float | None


def check_row(row: Any) -> None:
    """That each part of a row is of the kind that promptfoo writes; what isn't there, or null, is nothing.

    Raises:
        ValueError: One is of another kind. `core.malformed.shape_fault` says which.
    """
    msgspec.convert(row, _Row)
