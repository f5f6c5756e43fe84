"""Answers a run's calls from recordings: those of an earlier run, or of a cassette. Nothing is sent.

How this works: a call is answered by the first of these recordings.

1. The same trial's (case, variant, repeat) n-th answer to the very same request.
2. Any trial's, where the draw is the same: trials share the answer to a draw, as they do through the cache.
3. That of a trial which this plan does not have (its case or variant has another name now), for the same repeat and
   number. It is given to one trial only: two trials never share what was drawn for each of them.

What is left is an error that names the nearest recording (see `likeness`); or it is asked, where that is wanted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.core.encoding import decode, decoded, digest, encode
from evenhand.core.errors import NotRecorded, ProviderError
from evenhand.core.json_shapes import is_array, is_object
from evenhand.core.message import CallRole, Reply
from evenhand.core.plan import Plan
from evenhand.core.provider import Provider, Request
from evenhand.core.record import Record
from evenhand.core.run import CallEnd, CallStart, ToolRecord
from evenhand.core.scripted import request_name, script_answers, without_port
from evenhand.core.secrets import shown
from evenhand.core.variant import Variant
from evenhand.engine.call_ends import answer_of
from evenhand.store.calls import EndedCall
from evenhand.store.encoding import written_case
from evenhand.store.recordings import RecordedFrom, Recordings, variant_ids

if TYPE_CHECKING:
    from evenhand.engine.trial import LiveTrial


_WHOM: Mapping[CallRole, str] = {
    "judge": "judge ",
    "setup": "set-up ",
    "simulator": "simulated user ",
}
_MARK = re.compile(rb"<[\w-]+ ([0-9a-f]{12})>")
"""What begins a text in a judge's prompt."""
CANDIDATES = 40
"""Requests of other trials that a miss is compared with: those of about its size."""


class Replay:
    """Recordings, for the trials of one plan.

    Args:
        owned: The places of the recorded trials that the plan has, too. Called when it is first needed.
        asks: What is not recorded is asked.
        hint: What to do about what is not recorded.
    """

    def __init__(
        self,
        recordings: Recordings,
        variants: Sequence[Variant],
        owned: Callable[[], Iterable[int]],
        *,
        asks: bool = False,
        hint: str = "",
    ) -> None:
        self.recordings = recordings
        self._record = hint
        self._hint = hint or "Record it again, or ask for what is missing: --replay-or-ask."
        self.asks = asks
        names = variant_ids(variants)
        self._variants = {one.index: name for one, name in zip(variants, names, strict=True)}
        self._owned = owned
        self._owned_places: frozenset[int] | None = None
        self._claims: dict[int, int] = {}
        self._places_claimed: dict[int, set[int]] = {}
        """Of trials that have another name now: the recorded trials whose answers they were given."""

    @staticmethod
    def of(recordings: Recordings, plan: Plan, *, asks: bool = False, hint: str = "") -> Replay:
        """Recordings for the trials of this plan."""
        variants = plan.variants
        names = {one.index: name for one, name in zip(variants, variant_ids(variants), strict=True)}

        def owned() -> Iterable[int]:
            for planned in plan.trials():
                place = recordings.place(
                    planned.case.id, names[planned.variant.index], planned.repeat
                )
                if place is not None:
                    yield place

        return Replay(recordings, variants, owned, asks=asks, hint=hint)

    def record(self, others: Sequence[Replay] = ()) -> dict[str, Any]:
        """What the run's file says of it, and of others for further variants."""
        headers = [one.recordings.header for one in (self, *others)]
        return replay_record(headers, asks=self.asks)

    def place(self, trial: LiveTrial) -> int | None:
        """The place of the recorded trial that this one is; None where there is none."""
        variant = self._variants.get(trial.variant.index, "")
        return self.recordings.place(trial.case.id, variant, trial.repeat)

    def answer(self, trial: LiveTrial, start: CallStart, request: Request) -> CallEnd | None:
        """What was answered, or the error that it ended in where nothing may be asked; None for neither."""
        call = self._found(trial, request_name(request), start)
        if call is None and self.recordings.header.cassette:
            # A secret that an answer had is hidden in it now, and so in what is made of it.
            call = self._found(trial, scrubbed_name(request.identity), start)
        if call is None or (call.error and self.asks):
            return None
        record = self.recordings.read(call.id)
        return record.end if record else None

    def _found(self, trial: LiveTrial, key: str, start: CallStart) -> EndedCall | None:
        return (
            self._own(trial, key, start.nth)
            or self._drawn(key, start.draw)
            or self._claimed(trial, key, start)
        )

    def may_ask(self, role: CallRole) -> bool:
        """Whether what is not recorded, and asked in this role, is asked."""
        del role
        return self.asks

    def stored(self, trial: LiveTrial, provider: Provider, start: CallStart) -> Reply | None:
        """What a trial came to, in the place of a call that was never recorded; None, but where outputs are graded."""
        del trial, provider, start
        return None

    def missed(
        self, trial: LiveTrial, role: CallRole, provider: str, request: Request
    ) -> NotRecorded:
        """What to say of a request that nothing was recorded for."""
        source = self.recordings.header.name
        whom = _WHOM.get(role, "") + provider
        times = len(self.recordings.asked(request_name(request)))
        if times:
            answers = "1 answer" if times == 1 else f"{times:,} answers"
            belong = "it belongs" if times == 1 else "each belongs"
            return NotRecorded(
                f"{source} has {answers} to this request to {whom}, and {belong} to another trial",
                hint=self._hint,
            )
        if self.recordings.header.scripted and not script_answers():
            hint = f"Add --offline, or record it from a model. {self._record}".rstrip()
            return NotRecorded(
                f"{source} holds scripted replies (--offline), and none of a model", hint=hint
            )
        if script_answers() and not self.recordings.header.scripted:
            return NotRecorded(
                f"{source} holds replies of models, and this run is answered from a script",
                hint="Leave --offline out.",
            )
        nearest = self._nearest(trial, provider, request)
        return NotRecorded(f"{source} has no such request to {whom}{nearest}", hint=self._hint)

    def tool(
        self, trial: LiveTrial, name: str, arguments: bytes, key: str, nth: int
    ) -> ToolRecord | None:
        """What a tool returned, or raised; None where that is not recorded.

        Args:
            arguments: By name, as canonical JSON.
            key: The hash of both.
            nth: Its number among the identical calls of the trial.
        """
        record = self._tool(trial, key, nth)
        if record is None and self.recordings.header.cassette:
            hidden = encode(_scrubbed(arguments))
            record = self._tool(trial, digest("tool", name, hidden), nth)
        return record

    def _tool(self, trial: LiveTrial, key: str, nth: int) -> ToolRecord | None:
        place = self.place(trial)
        if place is not None:
            return self.recordings.tool(place, key, nth)
        records = self._unclaimed_tools(trial, key, nth)
        # A tool's result hangs on more than its arguments, so it is given only where all say the same.
        results = {(record.result, record.error) for record in records}
        return records[-1] if len(results) == 1 else None

    def _unclaimed_tools(self, trial: LiveTrial, key: str, nth: int) -> list[ToolRecord]:
        """The calls of a tool in recorded trials that may be this one under another name."""
        records = self.recordings.calls_of_tool(key, nth)
        places = self._places_claimed.get(trial.planned.index)
        if places:
            return [record for record in records if record.trial in places]
        owned, which = self._owned_by_plan(), self.recordings.which
        return [
            record
            for record in records
            if record.trial not in owned
            and (known := which.get(record.trial)) is not None
            and known.repeat == trial.repeat
        ]

    def missed_tool(self, trial: LiveTrial, name: str, arguments: bytes) -> NotRecorded:
        """What to say of a tool's call that was not recorded."""
        source = self.recordings.header.name
        place = self.place(trial)
        if place is None and self.recordings.calls_of_tool(digest("tool", name, arguments), 0):
            return NotRecorded(
                f"{source} has such calls of the tool {name} in other trials, and nothing says which is this one's",
                hint=self._hint,
            )
        calls = [
            c for c in self.recordings.tools_of(-1 if place is None else place) if c.name == name
        ]
        best = max(calls, key=lambda call: likeness(call.arguments, arguments), default=None)
        unlike = difference(best.arguments, arguments) if best else None
        rest = f": {shown(str(unlike))}" if unlike else ""
        return NotRecorded(f"{source} has no such call of the tool {name}{rest}", hint=self._hint)

    def _own(self, trial: LiveTrial, key: str, nth: int) -> EndedCall | None:
        place = self.place(trial)
        places = [] if place is None else [place]
        if trial.compared:  # what is asked of a contest is asked in the name of any of its trials
            places += self.recordings.places_of(trial.case.id, trial.repeat)
        answers = (self.recordings.answer(place, key, nth) for place in places)
        return next(filter(None, answers), None)

    def _drawn(self, key: str, draw: str) -> EndedCall | None:
        same = (c for c in self.recordings.asked(key) if c.draw == draw and not c.error)
        return next(same, None)

    def _claimed(self, trial: LiveTrial, key: str, start: CallStart) -> EndedCall | None:
        calls = [call for call in self.recordings.asked(key) if not call.error]
        if not calls:
            return None
        owned = self._owned_by_plan()
        number = f"{trial.repeat}.{start.nth}."
        for call in calls:
            if call.trial in owned or not f"{call.draw}.".startswith(number):
                continue
            if self._claims.setdefault(call.id, start.trial) == start.trial:
                self._places_claimed.setdefault(start.trial, set()).add(call.trial)
                return call
        return None

    def _owned_by_plan(self) -> frozenset[int]:
        """The places of the recorded trials that the plan has, too."""
        if self._owned_places is None:
            self._owned_places = frozenset(self._owned())
        return self._owned_places

    def _nearest(self, trial: LiveTrial, provider: str, request: Request) -> str:
        place = self.place(trial)
        own = self.recordings.of_trial(place) if place is not None else ()
        same_case = (
            call
            for place in self.recordings.places_of(trial.case.id)
            for call in self.recordings.of_trial(place)
        )
        calls = own or list(same_case)
        calls = calls or self.recordings.of_size(len(request.identity), CANDIDATES)
        alike = [call for call in calls if call.provider == provider] or calls
        now = self._comparable(request.identity)
        best: tuple[float, EndedCall, bytes] | None = None
        for call in alike[:CANDIDATES]:
            record = self.recordings.read(call.id)
            if record is None:
                continue
            recorded = self._comparable(record.start.identity)
            score = likeness(recorded, now)
            if best is None or score > best[0]:
                best = score, call, recorded
        if best is None:
            return ""
        where = _called(self.recordings, best[1], trial)
        unlike = difference(best[2], now)
        if unlike is None:
            return f"; the nearest is {where}"
        return f": {shown(str(unlike))} (the nearest is {where})"

    def _comparable(self, identity: bytes) -> bytes:
        return without_port(identity) if self.recordings.header.scripted else identity


def _called(recordings: Recordings, call: EndedCall, trial: LiveTrial) -> str:
    """A recorded call, by its number in its trial."""
    number = 1 + [one.id for one in recordings.of_trial(call.trial)].index(call.id)
    which = recordings.which.get(call.trial)
    if which is None:
        return f"call {number}"
    if (which.case, which.repeat) == (written_case(trial.case.id), trial.repeat):
        return f"call {number} of this case"
    repeat = f", repeat {which.repeat}" if which.repeat else ""
    return f"call {number} of case '{which.case}'{repeat}"


def record_of(replays: Mapping[int, Replay]) -> dict[str, Any]:
    """What a run's file says of what it replays; empty for nothing."""
    each = list({id(replay): replay for replay in replays.values()}.values())
    return each[0].record(each[1:]) if each else {}


def replay_record(headers: Sequence[RecordedFrom], *, asks: bool) -> dict[str, Any]:
    """What a run's file says of what it replays; empty for nothing.

    Args:
        headers: Where the recordings come from.
        asks: What is not recorded is asked.
    """
    if not headers:
        return {}
    header = headers[0]
    replay: dict[str, Any] = {
        "run": header.run,
        "file": str(header.file),
        "cassette": header.cassette,
        "recorded_at": header.recorded_at,
        "asks": asks,
    }
    if headers[1:]:
        replay["more"] = [str(one.file) for one in headers[1:]]
    return {"replay": replay}


def scrubbed_name(identity: bytes) -> str:
    """The name of a request without what looks like a secret in it."""
    try:
        return digest(encode(_scrubbed(identity)))
    except ValueError:
        return digest(identity)


def _scrubbed(data: bytes) -> object:
    """The value that this JSON says, without what looks like a secret in it; raises ValueError."""
    from evenhand.core.scrubbing import scrubbed  # noqa: PLC0415 (for recordings only)

    return scrubbed(decode(data))


def recorded_error(end: CallEnd) -> ProviderError:
    """The error that a recorded call ended in. It ends its trial only, whatever it was: nothing was asked now."""
    kind = _ERRORS.get(end.error, ProviderError)
    error = kind(f"{end.message} (recorded)", hint="It was an error when it was recorded, too.")
    error.answer = answer_of(end)
    return error


def _errors(kind: type[ProviderError]) -> dict[str, type[ProviderError]]:
    """The errors below one by their slugs, those left out that would end the run."""
    kinds = {} if kind.fatal else {kind.slug: kind}
    for below in kind.__subclasses__():
        kinds = {**_errors(below), **kinds}
    return kinds


_ERRORS = _errors(ProviderError)


CONTEXT = 16
SHOWN = 48
_BODY = "body."
_MISSING = object()


def likeness(one: bytes, other: bytes) -> float:
    """How much of two requests is the same at their beginnings and ends, from 0 to 1; 1 for two empty ones."""
    longest = max(len(one), len(other))
    if not longest:
        return 1.0
    start = common_start(one, other)
    end = common_start(one[start:][::-1], other[start:][::-1])
    return (start + end) / longest


def common_start(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with alike. Slices are compared, which is a hundred times as fast as bytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class Difference(Record, frozen=True):
    """Where two requests differ.

    Attributes:
        path: The value: `messages[1].content`.
        character: The first one that differs, from 1; 0 where they are no texts.
        recorded: What was recorded there, as JSON; empty where there was nothing.
        now: What there is now; the same.
        more: How many other values differ.
    """

    path: str
    character: int
    recorded: str
    now: str
    more: int = 0

    def __str__(self) -> str:
        where = f"{self.path}, character {self.character:,}" if self.character else self.path
        recorded = self.recorded or "nothing"
        rest = f"; {self.more:,} more {'value differs' if self.more == 1 else 'values differ'}"
        return f"{where}: {recorded} recorded, {self.now or 'nothing'} now" + rest * bool(self.more)


def difference(recorded: bytes, now: bytes) -> Difference | None:
    """The first difference of two canonical requests; None where there is none.

    Texts of the conversation come before settings, as they stand in the body.
    """
    before, after = dict(_values(recorded)), dict(_values(_marked_as(recorded, now)))
    if before == after:
        after = dict(_values(now))
    paths = [
        path
        for path in dict.fromkeys((*after, *before))
        if before.get(path, _MISSING) != after.get(path, _MISSING)
    ]
    if not paths:
        return None
    paths.sort(key=lambda path: not path.startswith(_BODY))  # stable: the body's own order stays
    first = paths[0]
    old, new = before.get(first, _MISSING), after.get(first, _MISSING)
    name = first.removeprefix(_BODY) or "the request"
    more = len(paths) - 1
    if isinstance(old, str) and isinstance(new, str):
        at = _first_unlike(old, new)
        return Difference(name, at + 1, _around(old, new, at), _around(new, old, at), more)
    return Difference(name, 0, _whole(old), _whole(new), more)


def _marked_as(recorded: bytes, now: bytes) -> bytes:
    """A request with the marks of a recorded one: they come of a judge prompt's texts, and change with them."""
    marks = (dict.fromkeys(_MARK.findall(one)) for one in (recorded, now))
    for before, after in zip(*marks, strict=False):
        now = now.replace(after, before)
    return now


def _values(identity: bytes) -> Iterator[tuple[str, object]]:
    value = decoded(identity, identity.decode("utf-8", "replace"))
    return _leaves(value, "")


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    if is_object(value) and value:
        items: Iterable[tuple[str, object]] = value.items()
        for key, item in items:
            yield from _leaves(item, f"{path}.{key}" if path else key)
    elif is_array(value) and value:
        for i, item in enumerate(value):
            yield from _leaves(item, f"{path}[{i}]")
    else:
        yield path, value


def _first_unlike(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    shorter = min(len(one), len(other))
    return next((i for i, (a, b) in enumerate(pairs) if a != b), shorter)


def _around(text: str, other: str, at: int) -> str:
    """The part of a text that differs from another's, with a few characters before it."""
    alike = _first_unlike(text[at:][::-1], other[at:][::-1])
    end = max(at + 1, len(text) - alike)
    start = max(0, at - CONTEXT)
    cut = text[start : min(end + CONTEXT, start + SHOWN)]
    left = "…" if start else ""
    right = "…" if start + len(cut) < len(text) else ""
    return json.dumps(f"{left}{cut}{right}", ensure_ascii=False)


def _whole(value: object) -> str:
    if value is _MISSING:
        return ""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
