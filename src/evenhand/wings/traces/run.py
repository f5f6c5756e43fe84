"""The run that traces make: one trace, one trial, whichever file or moment its spans came in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from msgspec import field

from evenhand.core.encoding import digest, digest_of
from evenhand.core.errors import UsageError
from evenhand.core.record import MutableRecord
from evenhand.core.run import AnswerDetails, RunMeta, TrialError, TrialResult
from evenhand.core.variant import Variant
from evenhand.core.version import __version__
from evenhand.core.wording.words import count
from evenhand.doors.importers.recorded import Recordings
from evenhand.doors.spans.assembling import AssembledTrace, Problems, assembled
from evenhand.doors.spans.messages import Said, as_json
from evenhand.doors.spans.span import LAST_NS, RawSpan, SpanStep, packed, unpacked
from evenhand.doors.spans.span_to_step import DIALECTS, is_cut_off, read_span, seen_in
from evenhand.languages.documents.foreign import LAST_SECOND, Notes
from evenhand.store.labels.label import NewLabel
from evenhand.store.run_lookup import id_at
from evenhand.store.spool import Group, Spool
from evenhand.wings.traces.evaluations import EVENT, evaluations_in, judged
from evenhand.wings.traces.files import spans_in

MOST_VARIANTS = 50
"""Programs and models that are told apart."""
OTHERS = "others"
_MOST_KINDS = 20
_APART = "\x1f"
_DROPPED = (
    "a span had more attributes than its program keeps, 128 by default, so some are missing: set"
    " OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT and OTEL_SPAN_EVENT_COUNT_LIMIT there"
)
_CUT = (
    "a text of JSON was cut off by its program, so what it says isn't known: raise"
    " OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT and OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT there"
)
_OF_NO_TRACE = f"evaluations ({EVENT}) that name no trace"
_OF_OTHERS = f"evaluations ({EVENT}) of traces that are not in the files"
_SAID: Mapping[str, str] = {
    "twice": "a span has the id of another one of its trace, and says something else: the first one counts",
    "orphans": "the span that this one is part of is not there: it stands at the top",
    "circles": "spans are part of each other in a circle: it is cut",
    "backwards": "a span ended before it began: how long it took is not known",
    "doubled": "a model's call is told by two instrumentations: it counts once",
    "too_many": "a trace has more than 100,000 spans: the rest is left out",
}


class Traces(MutableRecord, kw_only=True):
    """Spans on their way to a run.

    Args:
        source: Where they come from, in a word: a file's name.
        notes: What becomes of them.
        spool: Where they are put away meanwhile.
        spans: How many were taken in.
        dialects: How many of each dialect.
        unknown: How many of none, by what they look like.
        evaluations: How many evaluations of each trace.
        judgements: A sum of digests of all that they say, in whatever order they came.
    """

    source: str
    notes: Notes = field(default_factory=Notes)
    spool: Spool = field(default_factory=Spool)
    spans: int = 0
    dialects: Counter[str] = field(default_factory=Counter[str])
    unknown: Counter[str] = field(default_factory=Counter[str])
    evaluations: Counter[str] = field(default_factory=Counter[str])
    judgements: int = 0

    def read(self, paths: Iterable[Path]) -> None:
        """Takes the spans of files in.

        Raises:
            UsageError: One cannot be read, or is in no format that is.
        """
        for path in paths:
            for span in spans_in(path, self.notes):
                self.add(span, path.name)

    def add(self, span: RawSpan, where: str = "") -> None:
        """Takes a span in."""
        for data in evaluations_in(span):
            if not span.trace:
                self.notes.left_out(where or self.source, _OF_NO_TRACE)
                continue
            self.evaluations[span.trace] += 1
            self.judgements += int(digest(span.trace, data), 16)
            self.spool.add(_judging(span.trace), span.start, data)
        if not span.trace or not (span.id or not span.logged):
            if not span.logged:
                self.notes.left_out(where or self.source, "a span has no trace id")
            return
        if span.dropped:
            self.notes.left_out(where or self.source, _DROPPED)
        if is_cut_off(span):
            self.notes.left_out(where or self.source, _CUT)
        step = read_span(span)
        self.spans += 1
        mark, rank = "", 0
        if step.dialect:
            self.dialects[step.dialect] += 1
        elif not step.logged:
            self._unknown(span)
        if step.kind is not None:
            model = step.name if step.kind == "model" else ""
            # SDKs say unknown_service where nobody names the service.
            service = "" if span.service.startswith("unknown_service") else span.service
            mark = f"{service}{_APART}{model}"
            rank = (step.end or step.start or 0) if model else -LAST_NS
        self.spool.add(span.trace, step.start, packed(step), mark, rank, step.about.get("case", ""))

    def _unknown(self, span: RawSpan) -> None:
        library = seen_in(span)
        if library not in self.unknown and len(self.unknown) >= _MOST_KINDS:
            library = "spans of other libraries"
        self.unknown[library] += 1

    def close(self) -> None:
        """Lets go of what was put away."""
        self.spool.close()


class TracedRun:
    """A run made of traces. Implements `RecordedRun`.

    Raises:
        UsageError: No trace has a step, and what was seen instead.
    """

    def __init__(self, traces: Traces) -> None:
        self._traces = traces
        self._labels: list[NewLabel] = []
        self._variants: dict[str, int] = {}
        services: Counter[str] = Counter()
        cases: Counter[tuple[str, int]] = Counter()
        unnamed = planned = 0
        first: int | None = None
        for group in traces.spool.groups():
            first = group.first if not planned else first
            planned += 1
            variant = self._variant(group.mark)
            services[group.mark.partition(_APART)[0]] += 1 if len(services) < MOST_VARIANTS else 0
            if group.label:
                cases[group.label, variant] += 1
            else:
                unnamed += 1
        if not planned:
            raise self._nothing()
        name = digest_of(
            part for group in traces.spool.groups() for part in (group.name, str(group.count))
        )
        if traces.judgements:
            # Evaluations may come later than their traces: with them it is another run.
            name = digest(name, str(traces.judgements))
        self._tell()
        created = min((first or 0) / 1e9, LAST_SECOND)
        if not first:
            traces.notes.changed(
                traces.source, "the first span says no time: the run is dated 1970"
            )
        names = [one for one, _ in services.most_common(3) if one]
        self.meta = RunMeta(
            id=id_at(created, name),
            title=", ".join(names) or traces.source,
            source="",
            fingerprint=digest(name),
            planned=planned,
            case_count=unnamed + len({case for case, _ in cases}),
            repeats=max(cases.values(), default=1),
            variants=tuple(_named(i, mark) for mark, i in self._variants.items()),
            created_at=created,
            config={"name": traces.source},
            settings={"imported": {"id": name, "file": traces.source, "from": "traces"}},
            version=__version__,
            status="finished",
            finished_at=created,
        )

    def trials(self) -> Iterator[TrialResult]:
        """The trials, one at a time, by the beginnings of their traces."""
        cases: Counter[tuple[str, int]] = Counter()
        for index, group in enumerate(self._traces.spool.groups()):
            variant = self._variant(group.mark)
            case, repeat = group.label or group.name, 0
            if group.label:
                repeat = cases[case, variant]
                cases[case, variant] += 1
            trace = assembled(map(unpacked, self._traces.spool.items(group.name)))
            self._problems(group, trace.problems)
            service = group.mark.partition(_APART)[0]
            trial = trial_of(
                trace,
                group.name,
                case=case,
                index=index,
                variant=variant,
                repeat=repeat,
                service=service,
            )
            if self._traces.evaluations.pop(group.name, 0):
                items = self._traces.spool.items(_judging(group.name))
                trial, labels = judged(trial, items, self._traces.notes)
                self._labels += labels
            yield trial
        for _ in range(self._traces.evaluations.total()):
            self._traces.notes.left_out(self._traces.source, _OF_OTHERS)
        self._traces.close()

    def labels(self) -> Iterator[NewLabel]:
        """What people said of the trials; read after these."""
        return iter(self._labels)

    def _variant(self, mark: str) -> int:
        if mark not in self._variants and len(self._variants) >= MOST_VARIANTS:
            mark = OTHERS
        return self._variants.setdefault(mark, len(self._variants))

    def _problems(self, group: Group, problems: Problems) -> None:
        for one in fields(Problems):
            many = getattr(problems, one.name)
            for _ in range(min(many, 1_000)):
                self._traces.notes.changed(f"trace {group.name[:40]}", _SAID[one.name])

    def _tell(self) -> None:
        traces = self._traces
        versions = {one.name: one.version for one in DIALECTS}
        for name, many in traces.dialects.most_common():
            traces.notes.translated(
                traces.source, f"{name} ({versions[name]}): {count(many, 'span')}"
            )
        for library, many in traces.unknown.most_common():
            traces.notes.left_out(traces.source, f"{library}: {many:,}, in no dialect that is read")

    def _nothing(self) -> UsageError:
        traces = self._traces
        lines = [f"{what}: {many:,}" for what, many in traces.unknown.most_common(5)]
        if traces.dialects:
            lines = [
                f"{name}: {count(many, 'span that is no step', 'spans that are not steps')}"
                for name, many in traces.dialects.items()
            ]
        traces.close()
        return UsageError(
            "\n".join([f"{traces.source}: no span tells of a model, a tool or an agent", *lines]),
            hint=f"What is read: {', '.join(one.name for one in DIALECTS)}.",
        )


def _judging(trace: str) -> str:
    """The spool's group of what was said of a trace."""
    return f"{trace}{_APART}{EVENT}"


def _named(index: int, mark: str) -> Variant:
    service, _, model = mark.partition(_APART)
    return Variant(index, service, model or ("" if service else "unknown"), provider_id=model)


def read(paths: Sequence[Path]) -> Recordings:
    """The run that the traces in some files make. Its notes are complete once its trials were read.

    Raises:
        UsageError: A file cannot be read, or there is no trace with a step.
    """
    run, notes = run_of(paths)
    return Recordings([run], notes)


def run_of(paths: Iterable[Path]) -> tuple[TracedRun, Notes]:
    """The run that the traces in some files make, and what became of their parts: complete once the run was read.

    Raises:
        UsageError: A file cannot be read, or there is no trace with a step.
    """
    rows = list(paths)
    source = rows[0].name if len(rows) == 1 else f"{rows[0].name} and {len(rows) - 1} more"
    traces = Traces(source=source)
    try:
        traces.read(rows)
        return TracedRun(traces), traces.notes
    except BaseException:
        traces.close()
        raise


LONGEST_REASON = 2_000


def trial_of(
    trace: AssembledTrace, id_: str, case: str, index: int, variant: int, repeat: int, service: str
) -> TrialResult:
    """The trial that a trace's spans tell: its outcome is not_applicable, or error where its root failed.

    Args:
        index: Its place in the run.
        repeat: From 0.
        service: The program that it is of.
    """
    models = [one for one in trace.spans if one.kind == "model"]
    last = trace.answers[-1] if trace.answers else None
    failed = trace.root is not None and trace.root.status == "error"
    reason = _reason(trace.root) if failed else "nothing has judged this trace"
    first = next((one for one in trace.steps if one.kind == "model" and one.arguments), None)
    messages: list[Said] = first.arguments["messages"] if first is not None else []
    return TrialResult(
        index=index,
        case=case,
        variant=variant,
        repeat=repeat,
        outcome="error" if failed else "not_applicable",
        score=None,
        output=_output(trace),
        reason=reason,
        error=TrialError("imported", reason) if failed else None,
        latency_s=trace.seconds,
        cost_usd=_sum([one.cost_usd for one in models]),
        tokens_in=_count([one.tokens_in for one in models]),
        tokens_out=_count([one.tokens_out for one in models]),
        prompt=as_json(messages) if messages else "",
        metadata={"trace": _about(trace, id_, service)},
        answer=AnswerDetails(
            id=last.response if last else "",
            model=last.name if last else "",
            finish_reason=last.finish if last else "",
        ),
        input=_input(trace, messages),
        steps=trace.steps,
    )


def _reason(root: SpanStep | None) -> str:
    text = " ".join(root.error.split())[:LONGEST_REASON] if root is not None else ""
    return text or "the trace ended in an error, and does not say which"


def _input(trace: AssembledTrace, messages: Sequence[Said]) -> Any:
    """What the whole was given, else what users said in the first call."""
    if trace.root is not None and trace.root.kind != "model" and trace.root.arguments is not None:
        return trace.root.arguments
    texts = [one.get("content") for one in messages if one.get("role") == "user"]
    return None if not texts else texts[0] if len(texts) == 1 else texts


def _output(trace: AssembledTrace) -> Any:
    """What came of the whole, else the last answer with a text, else the last answer."""
    if trace.root is not None and trace.root.kind != "model" and trace.root.result is not None:
        return trace.root.result
    top = [one for one in trace.answers if one.answer]
    texts = [
        one.answer["content"] for one in top if one.answer and one.answer.get("content") is not None
    ]
    if texts:
        return texts[-1]
    return top[-1].answer if top else None


def _about(trace: AssembledTrace, id_: str, service: str) -> dict[str, Any]:
    about: dict[str, Any] = {"id": id_}
    if trace.root is not None and trace.root.id.strip():
        about["span"] = trace.root.id
    if service:
        about["service"] = service
    about["dialects"] = sorted({one.dialect for one in trace.spans if one.dialect})
    if trace.start is not None:
        about["started_at"] = trace.start / 1e9
    for one in trace.spans:
        for name, value in one.about.items():
            about.setdefault(name, value)
    about.pop("case", None)
    return about


def _sum(values: Sequence[float | None]) -> float | None:
    """The sum of the values; None where one of them is not known, or there is none."""
    known = [one for one in values if one is not None]
    return sum(known) if known and len(known) == len(values) else None


def _count(values: Sequence[int | None]) -> int | None:
    known = [one for one in values if one is not None]
    return sum(known) if known else None
