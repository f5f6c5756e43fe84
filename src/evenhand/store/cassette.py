"""A cassette: what a run was answered, in one text file that lives with the code, as a source of recordings.

How this works: the first line is the header, and each line after it is one JSON object: a text that several requests
share, a call, or a tool's call, sorted. The header counts them and has a digest of them, so that a file which was cut
off, merged badly or edited by hand is refused. What looked like a secret is left out, but a call's key is that of the
request as it was sent, so it is still found.
"""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType, ValidationError, convert, field

from evenhand.core.document import Key
from evenhand.core.encoding import decode_once, digest, digest_of, encode
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_array, is_object
from evenhand.core.message import CallRole
from evenhand.core.record import MutableRecord
from evenhand.core.run import CallEnd, CallRecord, CallStart, ToolRecord, TrialResult
from evenhand.core.step import Step
from evenhand.core.wording.words import age_in_words
from evenhand.store.calls import EndedCall
from evenhand.store.encoding import written_case
from evenhand.store.recordings import RecordedFrom, RecordedPlace, Recordings, RunSource
from evenhand.store.run_lookup import SUFFIX, find

SCHEMA = "evenhand.cassette/1"
PART = "$part"
"""The only key of an object that stands for a text which several requests share."""
AGAIN = "Record it again: evenhand runs cassette RUN --to FILE."


class CassetteVariant(Struct, frozen=True, omit_defaults=True):
    """A variant: its name for people, and a digest of which it is."""

    name: Annotated[str, Key("for people; lines refer to it")]
    id: Annotated[str, Key("a hash of its eval, prompt, model and axes")]


class CassetteHeader(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The first line."""

    schema: Annotated[str, Key("`evenhand.cassette/1`")]
    title: Annotated[str, Key("the run's title")]
    run: Annotated[str, Key("the run's id")]
    recorded_at: Annotated[int, Key("when the run began", "s since 1970")]
    evenhand: Annotated[str, Key("the version that ran it")]
    variants: list[CassetteVariant]
    calls: Annotated[int, Key("", "calls")]
    tools: Annotated[int, Key("calls of tools", "calls")]
    hidden: Annotated[int, Key("how many looked like a secret", "texts")]
    digest: Annotated[str, Key("of the lines that follow")]
    offline: Annotated[
        bool, Key("whether the replies were scripted (`--offline`)", null="false")
    ] = False
    max_age_s: Annotated[
        int | None, Key("how old it may become", "s", null="it may be of any age")
    ] = None


class CassettePart(Struct, frozen=True, tag="part", tag_field="kind"):
    """A text that several requests share."""

    id: Annotated[str, Key("a hash of the text")]
    text: Annotated[str, Key('what stands in requests where they say `{"$part": id}`')]


class CassetteCall(Struct, frozen=True, omit_defaults=True, tag="call", tag_field="kind"):
    """A call of a trial, and its answer or the error that it ended in."""

    case: Annotated[str, Key("the case's id")]
    variant: Annotated[str, Key("its name")]
    repeat: Annotated[int, Key("from 0")]
    role: Annotated[CallRole, Key("`subject`, `judge`, `setup` or `simulator`")]
    provider: Annotated[str, Key("as asked for")]
    key: Annotated[str, Key("the hash of the canonical request")]
    nth: Annotated[int, Key("among the identical requests of the trial, from 0")]
    draw: Annotated[str, Key("which of several answers to the request")]
    request: Annotated[Any, Key("the canonical request")]
    reply: Annotated[
        Any | UnsetType,
        Key(
            "the answer; of an error, what the application was given",
            null="it is not JSON, or there was none",
        ),
    ] = UNSET
    text: Annotated[str | UnsetType, Key("the answer, as of a stream", null="it is JSON")] = UNSET
    base64: Annotated[str | UnsetType, Key("the answer", null="it is text")] = UNSET
    error: Annotated[
        str, Key("the [error](../errors.md) that it ended in", null="it was answered")
    ] = ""
    message: Annotated[str, Key("that in words", null="it was answered")] = ""
    latency_s: Annotated[float | None, Key("", "s", null="not known")] = None
    first_byte_s: Annotated[float | None, Key("until the answer began", "s", null="not known")] = (
        None
    )
    tokens_in: Annotated[int | None, Key("", "tokens", null="not known")] = None
    tokens_out: Annotated[int | None, Key("", "tokens", null="not known")] = None
    cost_usd: Annotated[
        float | None, Key("what it cost when it was recorded", "US dollars", null="not known")
    ] = None
    model: Annotated[str, Key("as the answer names it", null="the answer does not say")] = ""
    scrubbed: Annotated[
        bool, Key("whether something in the request was left out", null="false")
    ] = False

    @property
    def body(self) -> bytes:
        """The answer as bytes; see `CallEnd.body`."""
        if self.reply is not UNSET:
            return encode(self.reply, ordered=False)
        if isinstance(self.text, str):
            return self.text.encode("utf-8", "surrogatepass")
        return b64decode(self.base64) if isinstance(self.base64, str) else b""


class CassetteTool(Struct, frozen=True, omit_defaults=True, tag="tool", tag_field="kind"):
    """A call of a tool of the application, and what it returned or raised."""

    case: Annotated[str, Key("the case's id")]
    variant: Annotated[str, Key("its name")]
    repeat: Annotated[int, Key("from 0")]
    name: Annotated[str, Key("of the tool")]
    key: Annotated[str, Key("the hash of its name and arguments")]
    nth: Annotated[int, Key("among the identical calls of the trial, from 0")]
    arguments: Annotated[dict[str, Any], Key("by name")]
    result: Annotated[Any | UnsetType, Key("what it returned", null="it raised")] = UNSET
    error: Annotated[
        dict[str, Any] | UnsetType,
        Key(
            "what it raised: `type`, `module`, `args`, `text` and `attributes`", null="it returned"
        ),
    ] = UNSET
    duration_s: Annotated[float | None, Key("that it took", "s", null="not known")] = None
    scrubbed: Annotated[
        bool, Key("whether something in the arguments was left out", null="false")
    ] = False


CassetteRow = CassettePart | CassetteCall | CassetteTool
Place = tuple[str, str, int]


class CassetteSource(MutableRecord, kw_only=True):
    """A cassette as a source of recordings. Implements `evenhand.store.recordings.RecordingSource`."""

    header: RecordedFrom
    _calls: Sequence[CassetteCall]
    _tools: Sequence[CassetteTool]
    _parts: Mapping[str, str]
    _ids: Mapping[str, str]
    _places: dict[Place, int] = field(default_factory=dict[Place, int])
    _seconds: dict[tuple[int, str, int], float | None] = field(
        default_factory=dict[tuple[int, str, int], float | None]
    )

    @classmethod
    def read(cls, path: Path, max_age_s: float | None = None) -> CassetteSource:
        """Reads a cassette, and looks whether it is whole and not too old.

        Args:
            path: The file.
            max_age_s: How old it may be, in seconds; None for what it says itself.

        Raises:
            UsageError: There is no such file, it is no cassette, it was cut off, merged or edited, or is too old.
        """
        header, rows = read_cassette(path)
        allowed = header.max_age_s if max_age_s is None else max_age_s
        whose = "" if max_age_s is None else ", as --max-age says"
        why = _too_old(header.recorded_at, allowed)
        if why:
            hint = "Record it again, or allow more: --max-age 365d."
            raise UsageError(f"{path} was recorded {why}{whose}", hint=hint)
        recorded = RecordedFrom(
            run=header.run,
            file=path.absolute(),
            title=header.title,
            recorded_at=header.recorded_at,
            scripted=header.offline,
            cassette=True,
        )
        source = cls(
            header=recorded,
            _calls=[row for row in rows if isinstance(row, CassetteCall)],
            _tools=[row for row in rows if isinstance(row, CassetteTool)],
            _parts={row.id: row.text for row in rows if isinstance(row, CassettePart)},
            _ids={one.name: one.id for one in header.variants},
        )
        for row in (*source._calls, *source._tools):
            source._places.setdefault((row.case, row.variant, row.repeat), len(source._places))
        return source

    def places(self) -> Iterable[RecordedPlace]:
        """The trials that asked anything."""
        for (case, variant, repeat), place in self._places.items():
            yield RecordedPlace(place, written_case(case), self._ids.get(variant, ""), repeat)

    def ended(self) -> Iterable[EndedCall]:
        """The calls. One with a secret is found by what is left of it, too: what it had is hidden in what follows."""
        for number, call in enumerate(self._calls):
            place = self._place(call)
            identity = self._identity(call)
            one = EndedCall(
                id=number,
                trial=place,
                key=call.key,
                nth=call.nth,
                role=call.role,
                draw=call.draw,
                provider=call.provider,
                size=len(identity),
                error=call.error,
            )
            yield one
            if call.scrubbed:
                yield one._replace(key=digest(identity))

    def call(self, number: int) -> CallRecord | None:
        """The call with this number."""
        call = self._calls[number]
        identity = self._identity(call)
        start = CallStart(
            trial=self._place(call),
            key=call.key,
            nth=call.nth,
            role=call.role,
            provider=call.provider,
            identity=identity,
            cost_bound_usd=None,
            draw=call.draw,
        )
        end = CallEnd(
            body=call.body,
            origin="provider",
            latency_s=call.latency_s,
            first_byte_s=call.first_byte_s,
            tokens_in=call.tokens_in,
            tokens_out=call.tokens_out,
            cost_usd=call.cost_usd,
            model=call.model,
            error=call.error,
            message=call.message,
        )
        return CallRecord(start, end)

    def tools(self) -> Iterable[ToolRecord]:
        """The calls of tools."""
        for tool in self._tools:
            arguments = encode(tool.arguments)
            result = b"null" if tool.result is UNSET else encode(tool.result, ordered=False)
            error = b"" if tool.error is UNSET else encode(tool.error)
            record = ToolRecord(
                trial=self._place(tool),
                name=tool.name,
                key=tool.key,
                nth=tool.nth,
                arguments=arguments,
                result=result,
                error=error,
            )
            self._seconds[record.trial, record.key, record.nth] = tool.duration_s
            yield record
            if tool.scrubbed:
                key = digest("tool", tool.name, arguments)
                self._seconds[record.trial, key, record.nth] = tool.duration_s
                yield ToolRecord(
                    trial=record.trial,
                    name=tool.name,
                    key=key,
                    nth=tool.nth,
                    arguments=arguments,
                    result=result,
                    error=error,
                )

    def tool_seconds(self, record: ToolRecord) -> float | None:
        """How long a recorded call of a tool took."""
        return self._seconds.get((record.trial, record.key, record.nth))

    def trial(self, place: int) -> TrialResult | None:
        """Nothing: a cassette has no results."""
        del place

    def steps(self, place: int) -> Sequence[Step]:
        """Nothing: the steps of a replay are those that its calls make."""
        del place
        return ()

    def close(self) -> None:
        """Holds nothing."""

    def _place(self, row: CassetteCall | CassetteTool) -> int:
        return self._places[row.case, row.variant, row.repeat]

    def _identity(self, call: CassetteCall) -> bytes:
        return encode(_whole(call.request, self._parts))


def _whole(value: Any, parts: Mapping[str, str]) -> Any:
    """A request with the texts that it shares with others."""
    if is_object(value):
        items = value
        if len(items) == 1 and PART in items:
            return parts.get(str(items[PART]), "")
        return {key: _whole(item, parts) for key, item in items.items()}
    if is_array(value):
        return [_whole(item, parts) for item in value]
    return value


_YEAR_10000 = 253_402_300_800
"""In seconds since 1970: no date is written for later ones."""


def is_cassette(path: Path) -> bool:
    """Whether a file looks like one, damaged or not."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(4096)
    # A blank file counts, too: nothing is lost when a cassette is written over it.
    return not start.strip() or b"evenhand.cassette/" in start


def is_of_models(path: Path) -> bool:
    """Whether a cassette is there that was recorded from models, and is whole."""
    try:
        return not read_cassette(path)[0].offline
    except UsageError:
        return False


def scripted_over_models(path: Path) -> UsageError:
    """That scripted replies would take the place of a model's."""
    return UsageError(
        f"{path} holds replies of models, and scripted ones would replace them",
        hint="Leave --offline out, or move the cassette away first.",
    )


def read_cassette(path: Path) -> tuple[CassetteHeader, list[CassetteRow]]:
    """Reads a cassette, and looks whether it is whole.

    Raises:
        UsageError: There is no such file, it is no cassette, or it was cut off, merged or edited.
    """
    try:
        lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}", hint=AGAIN) from None
    rows = list(_rows(path, lines))
    if not rows:
        raise UsageError(f"{path} is empty", hint=AGAIN)
    header = _header(path, rows[0])
    # Of what the lines say, not of their bytes: line endings that Git changes do no harm.
    if digest_of(map(encode, rows[1:])) != header.digest:
        raise UsageError(
            f"{path} is not as Evenhand wrote it: it was cut off, merged or edited", hint=AGAIN
        )
    try:
        return header, [convert(row, CassetteRow) for row in rows[1:]]
    except ValidationError as error:
        raise _no_cassette(path, str(error)) from None


def _rows(path: Path, lines: Sequence[bytes]) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(lines, 1):
        if line.startswith((b"<<<<<<< ", b"=======", b">>>>>>> ", b"||||||| ")):
            raise UsageError(
                f"{path}:{number}: there is an open merge conflict in the cassette", hint=AGAIN
            )
        try:
            row = decode_once(line)
        except ValueError as error:
            raise _no_cassette(path, f"line {number}: {error}") from None
        if not is_object(row):
            raise _no_cassette(path, f"line {number} is not a JSON object")
        yield row


def _header(path: Path, row: Mapping[str, Any]) -> CassetteHeader:
    schema = row.get("schema")
    if schema != SCHEMA:
        newer = isinstance(schema, str) and schema.startswith("evenhand.cassette/")
        what = f"its schema is {str(schema)[:40]!r}, and this Evenhand reads {SCHEMA}"
        raise UsageError(f"{path}: {what}", hint=AGAIN) if newer else _no_cassette(path, what)
    try:
        header = convert(row, CassetteHeader)
    except ValidationError as error:
        raise _no_cassette(path, str(error)) from None
    if not 0 <= header.recorded_at < _YEAR_10000:
        raise _no_cassette(path, "`recorded_at` is no time, in seconds since 1970")
    return header


def _no_cassette(path: Path, why: str) -> UsageError:
    return UsageError(f"{path} is not a cassette: {why}", hint=AGAIN)


def recordings_of(start: Path, ref: str, max_age_s: float | None = None) -> Recordings:
    """The recordings of a run or a cassette.

    Args:
        start: Where somebody stands: runs are looked for from there.
        ref: A run's id, the start of one, `latest`, its file; or the file of a cassette.
        max_age_s: How old it may be, in seconds; None for any age, or for what a cassette says itself.

    Raises:
        UsageError: There is none, more than one, or it is too old.
        StoreError: It cannot be read.
    """
    file = Path(ref)
    if file.is_file() and file.suffix != SUFFIX:
        if not is_cassette(file):
            raise UsageError(
                f"{ref} is neither a run nor a cassette",
                hint="`evenhand runs cassette RUN --to FILE` makes one.",
            )
        return Recordings(CassetteSource.read(file, max_age_s))
    try:
        source = RunSource(find(start, ref))
    except UsageError as error:
        # A dot or a slash says that a file was meant, and not the id of a run.
        if ref.endswith(SUFFIX) or not ({".", "/"} & set(ref)):
            raise
        raise UsageError(
            f"there is no cassette {ref}",
            hint="`evenhand runs cassette RUN --to FILE` makes one of a run.",
        ) from error
    why = _too_old(source.header.recorded_at, max_age_s)
    if why:
        source.close()
        raise UsageError(
            f"{source.header.name} was recorded {why}, as --max-age says",
            hint="Run it again, or allow more.",
        )
    return Recordings(source)


_CLOCKS_S = 86_400
"""Clocks of two machines may differ by so many seconds."""


def _too_old(recorded_at: float, most_s: float | None) -> str:
    """When something was recorded, and how old it may be, where it is older, or its clock was wrong; else empty."""
    age = time.time() - recorded_at
    if most_s is None or -_CLOCKS_S <= age <= most_s:
        return ""
    may_be = f"and may be {age_in_words(most_s)} old"
    if age < 0:
        return f"{age_in_words(-age)} in the future by the clock of this machine, {may_be}"
    return f"{age_in_words(age)} ago, {may_be}"
