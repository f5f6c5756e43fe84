"""Answers a run's calls from recordings: those of an earlier run, or of a cassette. Nothing is sent.

How this works: a call is answered by the first of these recordings.

1. The same trial's (case, variant, repeat) n-th answer to the very same request.
2. Any trial's, where the draw is the same: trials share the answer to a draw, as they do through the cache.
3. That of a trial which this plan does not have (its case or variant has another name now), for the same repeat and
   number. It is given to one trial only: two trials never share what was drawn for each of them.

What is left is an error that names the nearest recording; or it is asked, where that is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.core.encoding import decode, digest, encode
from evenhand.core.errors import NotRecorded, ProviderError
from evenhand.core.message import CallRole, Reply
from evenhand.core.plan import Plan
from evenhand.core.provider import Provider, Request
from evenhand.core.run import CallEnd, CallStart, ToolRecord
from evenhand.core.scripted import request_name, without_port
from evenhand.core.scrubbing import scrubbed
from evenhand.core.secrets import shown
from evenhand.core.variant import Variant
from evenhand.engine.nearest import difference, likeness
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
CANDIDATES = 40
"""Requests of other trials that a miss is compared with: those of about its size."""


class Replay:
    """Recordings, for the trials of one plan.

    Args:
        recordings: What was recorded.
        variants: The plan's variants.
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
        self._hint = hint or "Record it anew, or ask for what is missing: --replay-or-ask."
        self.asks = asks
        names = variant_ids(variants)
        self._variants = {one.index: name for one, name in zip(variants, names, strict=True)}
        self._owned = owned
        self._owned_places: frozenset[int] | None = None
        self._claims: dict[int, int] = {}

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
        """What was answered, or the error that it ended in where nothing may be asked; None for neither.

        Args:
            trial: Who asks.
            start: The call.
            request: What is asked.

        """
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
        nearest = self._nearest(trial, provider, request)
        return NotRecorded(f"{source} has no such request to {whom}{nearest}", hint=self._hint)

    def tool(
        self, trial: LiveTrial, name: str, arguments: bytes, key: str, nth: int
    ) -> ToolRecord | None:
        """What a tool returned, or raised; None where that is not recorded.

        Args:
            trial: Whose application calls it.
            name: The tool.
            arguments: By name, as canonical JSON.
            key: The hash of both.
            nth: Its number among the identical calls of the trial.
        """
        place = self.place(trial)
        if place is not None and not self.recordings.tools_of(place):
            place = None
        found = self.recordings.tool(place, key, nth)
        if found is None and self.recordings.header.cassette:
            hidden = encode(scrubbed(decode(arguments)))
            found = self.recordings.tool(place, digest("tool", name, hidden), nth)
        return found

    def missed_tool(self, trial: LiveTrial, name: str, arguments: bytes) -> NotRecorded:
        """What to say of a tool's call that was not recorded."""
        source = self.recordings.header.name
        place = self.place(trial)
        calls = [
            c for c in self.recordings.tools_of(-1 if place is None else place) if c.name == name
        ]
        best = max(calls, key=lambda call: likeness(call.arguments, arguments), default=None)
        unlike = difference(best.arguments, arguments) if best else None
        rest = f": {shown(str(unlike))}" if unlike else ""
        return NotRecorded(
            f"{source} has no such call of the tool {name}{rest}",
            hint=self._hint,
        )

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
        if self._owned_places is None:
            self._owned_places = frozenset(self._owned())
        number = f"{trial.repeat}.{start.nth}."
        for call in calls:
            if call.trial in self._owned_places or not f"{call.draw}.".startswith(number):
                continue
            if self._claims.setdefault(call.id, start.trial) == start.trial:
                return call
        return None

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
        return digest(encode(scrubbed(decode(identity))))
    except ValueError:
        return digest(identity)


def recorded_error(end: CallEnd) -> ProviderError:
    """The error that a recorded call ended in. It ends its trial only, whatever it was: nothing was asked now."""
    kind = _ERRORS.get(end.error, ProviderError)
    return kind(f"{end.message} (recorded)", hint="It was an error when it was recorded, too.")


def _errors(kind: type[ProviderError]) -> dict[str, type[ProviderError]]:
    """The errors below one by their slugs, those left out that would end the run."""
    found = {} if kind.fatal else {kind.slug: kind}
    for below in kind.__subclasses__():
        found = {**_errors(below), **found}
    return found


_ERRORS = _errors(ProviderError)
