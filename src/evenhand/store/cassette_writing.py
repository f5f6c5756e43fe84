"""Makes a cassette of a run: each trial's calls and tools, without what looks like a secret, in an order that stays."""

from __future__ import annotations

import os
from base64 import b64encode
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from evenhand.core.document import as_object
from evenhand.core.encoding import decode, decoded, digest, digest_of, encode
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_array, is_mapping, texts_in
from evenhand.core.run import SHORT_ID, CallRecord, ToolRecord
from evenhand.core.scripted import journaled_name, without_port
from evenhand.core.scrubbing import named_secrets, scrubbed, scrubbed_text
from evenhand.core.secrets import HIDDEN, Secrets, known
from evenhand.core.step import record_of
from evenhand.core.variant import Variant
from evenhand.store.cassette import (
    PART,
    SCHEMA,
    CassetteCall,
    CassetteHeader,
    CassettePart,
    CassetteTool,
    CassetteVariant,
    Place,
    is_cassette,
)
from evenhand.store.recordings import NEVER_SENT, seconds_of_tools, variant_ids
from evenhand.store.replacing import replace_file
from evenhand.store.runfile import RunFile

SHARED = 120
"""Characters: a text of a request that is as long, and stands in several, is written once."""


def cassette_of(
    run: RunFile, *, variants: frozenset[int] | None = None, max_age_s: int | None = None
) -> tuple[bytes, CassetteHeader]:
    """The cassette of a run, as its file has it. The same run gives the same bytes.

    Args:
        run: It, or as far as it has come.
        variants: Of these variants only, by their indexes; None for all.
        max_age_s: How old it may become, in seconds; None for any age.

    Raises:
        UsageError: It asked nothing that could be replayed.
    """
    # Recorded texts can repeat secrets of the environment, under no name that gives them away.
    known.learn_environment(os.environ)
    meta = run.meta
    chosen = [v for v in meta.variants if variants is None or v.index in variants]
    names = dict(zip((one.index for one in chosen), _names(chosen), strict=True))
    places = {
        result.index: (result.case, names[result.variant], result.repeat)
        for result in run.trials()
        if result.variant in names
    }
    scripted = meta.is_scripted
    requests, used = _final(run, places), _final_tools(run, places)
    # What is hidden for its name in one place may be repeated in another, under no name.
    hidden = Secrets()
    hidden.learn(secret for value in _recorded(requests, used) for secret in named_secrets(value))
    calls = [
        _call(record, key, places[record.start.trial], hidden, scripted=scripted)
        for key, record in requests
    ]
    seconds = {
        place: seconds_of_tools(run.kept_steps(place) or ()) for place in {t.trial for t in used}
    }
    tools = [
        _tool(
            record,
            places[record.trial],
            hidden,
            seconds[record.trial].get(record_of("tool", record.key, record.nth)),
        )
        for record in used
    ]
    if not calls and not tools:
        raise UsageError(
            f"run {meta.id[:SHORT_ID]} asked nothing that a cassette could answer",
            hint="Trials taken from a baseline, and models that cost nothing (echo), leave no calls.",
        )
    order = {place: number for number, place in enumerate(sorted(set(places.values())))}
    calls.sort(
        key=lambda call: (order[_place(call)], call.role == "judge")
    )  # stable: as they were begun
    tools.sort(key=lambda tool: order[_place(tool)])
    parts, calls = _sharing(calls)
    rows = [as_object(row) for row in (*parts, *calls, *tools)]
    ids = dict(zip((v.index for v in meta.variants), variant_ids(meta.variants), strict=True))
    header = CassetteHeader(
        schema=SCHEMA,
        title=scrubbed_text(meta.title),
        run=meta.id,
        recorded_at=int(meta.created_at),
        evenhand=meta.version,
        variants=[CassetteVariant(names[one.index], ids[one.index]) for one in chosen],
        calls=len(calls),
        tools=len(tools),
        hidden=sum(encode(row).count(HIDDEN.encode()) for row in rows),
        digest=digest_of(map(encode, rows)),
        offline=scripted,
        max_age_s=max_age_s,
    )
    lines = (as_object(header), *rows)
    return b"".join(encode(line, ordered=False) + b"\n" for line in lines), header


def write_cassette(data: bytes, path: Path) -> None:
    """Writes a cassette in the place of an earlier one: whole or not at all.

    Raises:
        UsageError: It cannot be written, or the file that is there is something else.
    """
    replace_file(data, path, is_cassette, "cassette")


def _names(variants: Sequence[Variant]) -> Iterator[str]:
    """What people call the variants, without secrets, and each something else."""
    counts: Counter[str] = Counter()
    for one in variants:
        parts = (one.eval, one.prompt[:60], one.model, *(str(v)[:40] for v in one.axes.values()))
        name = scrubbed_text(" · ".join(filter(None, map(str, parts))))
        counts[name] += 1
        yield name if counts[name] == 1 else f"{name} #{counts[name]}"


def _place(row: CassetteCall | CassetteTool) -> Place:
    return row.case, row.variant, row.repeat


def _final(run: RunFile, places: Mapping[int, Place]) -> Collection[tuple[str, CallRecord]]:
    """Of each request of a settled trial what it was answered at last, with its key."""
    scripted = run.meta.is_scripted
    final: dict[tuple[int, str, int], tuple[str, CallRecord]] = {}
    for record in run.calls():
        start, end = record.start, record.end
        if start.trial not in places or end is None or end.error in NEVER_SENT:
            continue
        key = journaled_name(start.key, start.identity, scripted=scripted)
        before = final.get((start.trial, key, start.nth))
        # An error never takes the place of an answer; anything takes the place of an error.
        if before is None or not end.error or (before[1].end and before[1].end.error):
            final[start.trial, key, start.nth] = key, record
    return final.values()


def _final_tools(run: RunFile, places: Mapping[int, Place]) -> Collection[ToolRecord]:
    final = {(t.trial, t.key, t.nth): t for t in run.tools() if t.trial in places}
    return final.values()


def _recorded(
    calls: Collection[tuple[str, CallRecord]], tools: Collection[ToolRecord]
) -> Iterator[Any]:
    """All that was recorded, as JSON has it, or as text."""
    for _, call in calls:
        yield _value(call.start.identity)
        if call.end is not None and call.end.body:
            yield _value(call.end.body)
    for tool in tools:
        yield from (_value(data) for data in (tool.arguments, tool.result) if data)


def _call(
    record: CallRecord, key: str, place: Place, hidden: Secrets, *, scripted: bool
) -> CassetteCall:
    start, end = record.start, record.end
    assert end is not None  # noqa: S101 (only those that ended come here)
    request = _value(without_port(start.identity) if scripted else start.identity)
    clean = hidden.inside(scrubbed(request))
    return CassetteCall(
        *place,
        role=start.role,
        provider=scrubbed_text(start.provider),
        key=key,
        nth=start.nth,
        draw=start.draw,
        request=clean,
        **hidden.inside(_body(end.body)),
        error=end.error,
        message=hidden.text(scrubbed_text(end.message)) if end.error else "",
        latency_s=end.latency_s,
        first_byte_s=end.first_byte_s,
        tokens_in=end.tokens_in,
        tokens_out=end.tokens_out,
        cost_usd=end.cost_usd,
        model=end.model,
        scrubbed=clean != request,
    )


def _tool(record: ToolRecord, place: Place, hidden: Secrets, seconds: float | None) -> CassetteTool:
    arguments = cast("dict[str, Any]", decode(record.arguments))
    clean = cast("dict[str, Any]", hidden.inside(scrubbed(arguments)))
    outcome = {"error": hidden.inside(scrubbed(decode(record.error)))} if record.error else {}
    value = {} if record.error else {"result": hidden.inside(scrubbed(decode(record.result)))}
    return CassetteTool(
        *place,
        name=record.name,
        key=record.key,
        nth=record.nth,
        arguments=clean,
        duration_s=None if seconds is None else round(seconds, 6),
        scrubbed=clean != arguments,
        **value,
        **outcome,
    )


def _value(data: bytes) -> Any:
    return decoded(data, data.decode("utf-8", "replace"))


def _body(body: bytes) -> dict[str, Any]:
    """An answer, as readable as it can be: JSON, or text, or anything else in base64."""
    if not body:
        return {}
    try:
        return {"reply": scrubbed(decode(body))}
    except ValueError:
        pass
    try:
        return {"text": _stream(body.decode())}
    except UnicodeDecodeError:
        return {"base64": b64encode(body).decode()}


def _stream(text: str) -> str:
    """A stream without secrets: what looks like one in a piece of it."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if line.startswith("data: "):
            lines[i] = f"data: {scrubbed_text(line[6:])}"
        else:
            lines[i] = scrubbed_text(line)
    return "\n".join(lines)


def _sharing(calls: Sequence[CassetteCall]) -> tuple[list[CassettePart], list[CassetteCall]]:
    """The long texts that several requests have, and the calls with references to them."""
    counts = Counter(
        text for call in calls for text in texts_in(call.request) if len(text) >= SHARED
    )
    shared = {text: digest(text) for text, times in counts.items() if times > 1}
    parts = [CassettePart(name, text) for text, name in shared.items()]
    parts.sort(key=lambda part: part.id)
    if not parts:
        return [], list(calls)
    return parts, [replace(call, request=_referring(call.request, shared)) for call in calls]


def _referring(value: Any, shared: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return {PART: shared[value]} if value in shared else value
    if is_mapping(value):
        items = value
        return {key: _referring(item, shared) for key, item in items.items()}
    if is_array(value):
        return [_referring(item, shared) for item in value]
    return value
