"""Traces that are not as they should be: a sensible result or one clear message, and nothing hostile gets through."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.languages.documents.foreign import Note
from evenhand.wings.traces.otlp_protobuf import spans_of
from evenhand.wings.traces.run import run_of
from evenhand.wings.traces.wire import Malformed

T = "0af7651916cd43dd8448eb211c80319c"
S = 1_764_000_000_000_000_000


def span(
    own: str, parent: str = "", *, trace: str = T, at: int = 0, took: int = 1, **more: Any
) -> dict[str, Any]:
    """A call of a model, or whatever `attributes` say it is."""
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        **more.pop("attributes", {}),
    }
    return {
        "traceId": trace,
        "spanId": own,
        "parentSpanId": parent,
        "name": own,
        "startTimeUnixNano": str(S + at * 10**9),
        "endTimeUnixNano": str(S + (at + took) * 10**9),
        "attributes": [{"key": key, "value": _value(value)} for key, value in about.items()],
        **more,
    }


def tool(own: str, parent: str = "", **more: Any) -> dict[str, Any]:
    """A call of a tool."""
    about = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": own,
        "gen_ai.request.model": None,
    }
    return span(own, parent, attributes={**about, **more.pop("attributes", {})}, **more)


def _value(value: Any) -> Any:
    return value if value is None or isinstance(value, dict) else {"stringValue": value}


def request(*spans: Any, service: str = "shop") -> dict[str, Any]:
    """A request with these."""
    about = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resourceSpans": [{"resource": about, "scopeSpans": [{"spans": list(spans)}]}]}


def imported(folder: Path, *values: Any) -> tuple[list[TrialResult], Sequence[Note]]:
    """The trials of some requests, one a line, and the notes."""
    path = folder / "t.jsonl"
    path.write_text("\n".join(json.dumps(value) for value in values))
    run, notes = run_of([path])
    trials = list(run.trials())
    return trials, list(notes)


def said(notes: Sequence[Note], kind: str) -> Mapping[str, int]:
    """The texts of the notes of a kind, with how many places each has."""
    return {note.text: note.more + 1 for note in notes if note.kind == kind}


def test_interleaved_traces_are_never_merged(tmp_path: Path):
    """Though their spans have the same ids and names, come in turns, and the last ones come late."""
    ids = [f"{n:032x}" for n in range(1, 6)]
    rows = [
        request(tool(f"s{i}", "s0" if i else "", trace=one, at=i)) for i in range(4) for one in ids
    ]
    trials, _ = imported(tmp_path, *reversed(rows))
    assert sorted(trial.case for trial in trials) == ids
    for trial in trials:
        assert [step.started_s for step in trial.steps] == [0.0, 1.0, 2.0, 3.0]


def test_late_spans_are_taken_in_from_another_file(tmp_path: Path):
    """The root comes last, in a file of its own, packed."""
    (tmp_path / "a.jsonl").write_text(json.dumps(request(tool("b", "a", at=1))))
    late = gzip.compress(json.dumps(request(span("a", took=5))).encode())
    (tmp_path / "b.json.gz").write_bytes(late)
    run, _ = run_of([tmp_path / "a.jsonl", tmp_path / "b.json.gz"])
    (trial,) = run.trials()
    assert [(step.kind, step.parent) for step in trial.steps] == [("model", None), ("tool", 0)]
    assert trial.latency_s == 5


def test_a_span_without_its_parent_stands_at_the_top(tmp_path: Path):
    """The parent is in a program that sends no traces."""
    (trial,), notes = imported(tmp_path, request(span("a", "gone"), tool("b", "a", at=1)))
    assert [step.parent for step in trial.steps] == [None, 0]
    assert any("it stands at the top" in text for text in said(notes, "changed"))


def test_pieces_whose_parents_are_gone_take_as_long_as_all_of_them(tmp_path: Path):
    """And not as long as the first of them; the pieces of a trace whose root is there take as long as that."""
    pieces = [span("a", "gone", took=2), span("b", "lost", at=5, took=1)]
    (trial,), _ = imported(tmp_path, request(*pieces))
    assert trial.latency_s == 6
    (trial,), _ = imported(tmp_path, request(*pieces, tool("root", took=9)))
    assert trial.latency_s == 9


def test_an_error_type_is_an_error_whatever_the_status_says_that_nobody_set(tmp_path: Path):
    """A status that is ok was set: then it isn't one."""
    limited = {"error.type": "429"}
    (trial,), _ = imported(tmp_path, request(span("a", attributes=limited)))
    assert (trial.outcome, trial.reason) == ("error", "429")
    assert [(step.status, step.error) for step in trial.steps] == [("error", "429")]
    (trial,), _ = imported(tmp_path, request(span("a", attributes=limited, status={"code": 1})))
    assert trial.outcome == "not_applicable"


def test_circles_are_cut(tmp_path: Path):
    """A span is part of itself, and two of each other."""
    rows = [tool("a", "a"), tool("b", "c", at=1), tool("c", "b", at=2), tool("d", "c", at=3)]
    (trial,), notes = imported(tmp_path, request(*rows))
    assert sorted(step.name for step in trial.steps) == ["a", "b", "c", "d"]
    assert all(step.parent is None or step.parent < i for i, step in enumerate(trial.steps))
    assert any("circle" in text for text in said(notes, "changed"))


def test_a_clock_that_runs_back_leaves_durations_unknown(tmp_path: Path):
    """And a child that begins before its parent begins with it."""
    (trial,), notes = imported(tmp_path, request(tool("a", took=-3, at=5), tool("b", "a", at=1)))
    assert [(step.name, step.started_s, step.duration_s) for step in trial.steps] == [
        ("a", 0.0, None),
        ("b", 0.0, 1.0),
    ]
    assert any("ended before it began" in text for text in said(notes, "changed"))


def test_a_trace_that_only_runs_back_took_an_unknown_time(tmp_path: Path):
    """And not 0 s, which would count in the mean latency."""
    (trial,), _ = imported(tmp_path, request(tool("a", took=-3, at=5)))
    assert trial.latency_s is None


@pytest.mark.parametrize("per_s", [1, 10**3, 10**6])
def test_times_of_another_unit_are_left_out_and_told(tmp_path: Path, per_s: int):
    """2.5 s in milliseconds would be 2.5 µs; in protobuf, which has no names to tell, they are left out too."""
    own = span("a")
    own |= {
        "startTimeUnixNano": str(S // 10**9 * per_s),
        "endTimeUnixNano": S // 10**9 * per_s + 5 * per_s // 2,
    }
    (trial,), notes = imported(tmp_path, request(own))
    assert (trial.latency_s, trial.steps[0].duration_s) == (None, None)
    assert any("not a time in nanoseconds since 1970" in note.text for note in notes)
    encoded = b"".join(
        bytes([number << 3 | 1]) + int(own[key]).to_bytes(8, "little")
        for number, key in ((7, "startTimeUnixNano"), (8, "endTimeUnixNano"))
    )
    for number in (2, 2, 1):  # of a scope, of a resource, of a request
        encoded = bytes([number << 3 | 2, len(encoded)]) + encoded
    (read,) = spans_of(encoded)
    assert (read.start, read.end) == (None, None)


def test_a_span_that_comes_twice_counts_once(tmp_path: Path):
    """Sent again, it is the same; another one with its id is left out, and said."""
    first = tool("a")
    (trial,), notes = imported(tmp_path, request(first), request(first))
    assert len(trial.steps) == 1
    assert not said(notes, "changed")
    (trial,), notes = imported(tmp_path, request(first), request(tool("a", at=7)))
    assert [step.started_s for step in trial.steps] == [0.0]
    assert any("the first one counts" in text for text in said(notes, "changed"))


def test_one_span_is_counted_in_the_singular(tmp_path: Path):
    """The report of what was read says `1 span`."""
    _, notes = imported(tmp_path, request(tool("a")))
    assert [text.rpartition(": ")[2] for text in said(notes, "translated")] == ["1 span"]


def test_a_span_that_is_told_at_its_beginning_and_its_end_is_told_once(tmp_path: Path):
    """Without its end at first; what it came to counts, and nothing is left out."""
    begun = {key: one for key, one in span("a").items() if key != "endTimeUnixNano"}
    for spans in ([begun, span("a", took=3)], [span("a", took=3), begun]):
        (found,), notes = imported(tmp_path, request(spans[0]), request(spans[1]))
        assert [step.duration_s for step in found.steps] == [3]
    (found,), notes = imported(tmp_path, request(begun), request(span("a", took=3)))
    assert not said(notes, "changed")


def test_several_spans_at_the_top_took_from_the_first_beginning_to_the_last_end(tmp_path: Path):
    """And not as long as the first of them."""
    (found,), _ = imported(tmp_path, request(span("a"), span("b", at=5, took=2)))
    assert found.latency_s == 7


def talk(own: str, asked: Sequence[Any], answer: Any, at: int) -> dict[str, Any]:
    """A call of a model with what was said."""
    about = {
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps([answer]),
    }
    return span(own, at=at, attributes=about)


def test_the_result_of_a_call_is_what_was_said_of_it_first(tmp_path: Path):
    """Later requests may have shortened what they repeat."""
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    user, asks = {"role": "user", "content": "?"}, {"role": "assistant", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "lost"}
    answer = {"role": "assistant", "content": "It is lost."}
    cleared = {**result, "content": "[cleared]"}
    (found,), _ = imported(
        tmp_path,
        request(
            talk("a", [user], asks, 0),
            talk("b", [user, asks, result], answer, 2),
            talk("c", [user, asks, cleared, answer, user], answer, 4),
        ),
    )
    assert [(one.name, one.result) for one in found.steps if one.kind == "tool"] == [
        ("find", "lost")
    ]


def test_one_span_of_a_tool_stands_for_one_call_of_it(tmp_path: Path):
    """An answer asked for two; the other one was made as well, and no span tells of it."""
    calls = [
        {
            "id": f"c{i}",
            "type": "function",
            "function": {"name": "find", "arguments": f'{{"n": {i}}}'},
        }
        for i in (1, 2)
    ]
    model = talk("a", [{"role": "user"}], {"role": "assistant", "tool_calls": calls}, 0)
    own = tool("find", at=2, attributes={"gen_ai.tool.call.arguments": '{"n": 1}'})
    (found,), _ = imported(tmp_path, request(model, own))
    calls_told = sorted((one.call, one.arguments["n"]) for one in found.steps if one.kind == "tool")
    assert calls_told == [("c1", 1), ("c2", 2)]


def test_attributes_that_a_program_dropped_are_said(tmp_path: Path):
    """What is missing may be what was said."""
    _, notes = imported(tmp_path, request(span("a", droppedAttributesCount=3)))
    assert any("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in text for text in said(notes, "left_out"))


MESSAGES = '[{"role": "assistant", "parts": [{"type": "text", "content": "It is late."}]}]'


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.output.messages": MESSAGES[:40]},
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.output.messages": MESSAGES[:40]},
        {
            "gen_ai.operation.name": None,
            "gen_ai.request.model": None,
            "openinference.span.kind": "AGENT",
            "output.value": '{"messages": [{"role": "assist',
            "output.mime_type": "application/json",
        },
    ],
    ids=["model", "agent", "openinference"],
)
def test_an_answer_of_which_a_program_kept_the_beginning_is_not_known(
    tmp_path: Path, attributes: dict[str, Any]
):
    """A piece of JSON is no text that anybody said, and nothing to be judged."""
    (trial,), notes = imported(tmp_path, request(span("a", attributes=attributes)))
    assert trial.output is None
    assert any("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT" in text for text in said(notes, "left_out"))


def test_variants_beyond_fifty_are_told_apart_no_more(tmp_path: Path):
    """A service that is named anew for each request would make a column of each."""
    path = tmp_path / "t.jsonl"
    requests = [request(span("a", trace=f"{i:032x}"), service=f"s{i}") for i in range(1, 61)]
    path.write_text("\n".join(map(json.dumps, requests)))
    run, _ = run_of([path])
    assert len(run.meta.variants) == 51
    assert run.meta.variants[-1].prompt == "others"
    assert [trial.variant for trial in run.trials()] == [*range(50), *[50] * 10]


def test_a_call_that_two_instrumentations_tell_counts_once(tmp_path: Path):
    """The framework's span has no tokens, the client's within it has."""
    usage = {"gen_ai.usage.input_tokens": {"intValue": "7"}}
    rows = [span("outer", took=3), span("inner", "outer", at=1, attributes=usage)]
    (trial,), notes = imported(tmp_path, request(*rows))
    assert [(step.kind, step.tokens_in) for step in trial.steps] == [("model", 7)]
    assert trial.tokens_in == 7
    assert any("two instrumentations" in text for text in said(notes, "changed"))


def test_megabytes_in_an_attribute_are_cut(tmp_path: Path):
    """And it says how much is missing."""
    (trial,), _ = imported(
        tmp_path, request(tool("a", attributes={"gen_ai.tool.call.result": "x" * 3_000_000}))
    )
    assert len(trial.steps[0].result) < 1_100_000
    assert trial.steps[0].result.endswith("(1,951,424 characters more)")


@pytest.mark.parametrize(
    "wrong",
    [
        {"attributes": 7},
        {"attributes": [{"value": {"stringValue": "x"}}, 3, None]},
        {"startTimeUnixNano": "yesterday"},
        {"endTimeUnixNano": -4},
        {"startTimeUnixNano": 1e300},
        {"name": ["x"]},
        {"parentSpanId": 12},
        {"status": "bad"},
        {"status": {"code": 99, "message": {}}},
        {"events": [{"name": 3, "attributes": "x"}, 4]},
    ],
)
def test_what_is_of_a_wrong_type_is_left_out_and_the_rest_is_read(
    wrong: dict[str, Any], tmp_path: Path
):
    """The neighbours are as they were."""
    trials, _ = imported(tmp_path, request({**tool("a"), **wrong}, tool("b", at=1)))
    (trial,) = trials
    assert "b" in [step.name for step in trial.steps]


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.input.messages": "{not json"},
        {"gen_ai.input.messages": '[1, null, [[]], {"role": 7}]'},
        {"gen_ai.output.messages": '[{"parts": {"type": 3}}]'},
        {"gen_ai.output.messages": "[" * 5_000},
        {
            "gen_ai.usage.input_tokens": {"stringValue": "many"},
            "gen_ai.usage.output_tokens": {"doubleValue": -1.5},
        },
        {"gen_ai.response.finish_reasons": {"kvlistValue": {"values": [{"key": None}]}}},
        {"gen_ai.request.model": {"arrayValue": {"values": "x"}}},
        {"gen_ai.input.messages": "\ud800 half a character"},
    ],
)
def test_strange_attributes_of_a_model_are_no_obstacle(attributes: dict[str, Any], tmp_path: Path):
    """Tokens that are no count are not known, and what is no list of messages is text."""
    (trial,), _ = imported(tmp_path, request(span("a", attributes=attributes)))
    assert trial.steps[0].kind == "model"
    assert trial.tokens_in is None
    assert trial.tokens_out is None


def test_a_trace_whose_root_failed_is_an_error_and_no_failure(tmp_path: Path):
    """Nothing judged the others: not applicable."""
    failed = span("a", status={"code": 2, "message": "rate limited"})
    trials, _ = imported(tmp_path, request(failed, span("b", trace="f" * 32, at=1)))
    assert [(trial.outcome, trial.score) for trial in trials] == [
        ("error", None),
        ("not_applicable", None),
    ]
    assert trials[0].error is not None
    assert trials[0].error.message == "rate limited"


def test_a_dialect_that_is_not_read_is_named_by_what_was_seen(tmp_path: Path):
    """Beside others it is a note, alone an error."""
    other = span("h", trace="e" * 32)
    other["attributes"] = [{"key": "ai.model.id", "value": {"stringValue": "m"}}]
    _, notes = imported(tmp_path, request(span("a"), other))
    assert "spans of an unnamed library with ai.model: 1, in no dialect that is read" in said(
        notes, "left_out"
    )
    with pytest.raises(UsageError, match="no span tells of a model") as raised:
        imported(tmp_path, request(other))
    assert "ai.model" in raised.value.message
    assert "OpenInference" in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"{}", "an empty object"),
        (b'{"hello": 1}', "an object with 'hello'"),
        (b"[]", "list values"),
        (b'[{"a": 1}]', "an object with 'a'"),
        (b'{\n "hello": 1\n}', "an object with 'hello'"),
        (b'{\n "resourceSpans": []\n}{\n "hello": 1\n}', "an object with 'hello'"),
        (b'{"resourceSpans": [', "is not JSON: it was cut off"),
        (b'{"resourceSpans": [\n{"sco', "is not JSON: it was cut off"),
        (b'{"resourceSpans": [\n{"a": 1,}]}', "is not JSON: line 2, column "),
        (b"resourceSpans:\n  - a: 1\n", "protobuf: it is text of another kind"),
        (b"PK\x03\x04\x00\xff", "is a zip archive"),
        (b"\x0a\x80", "neither JSON nor a whole OTLP protobuf"),
        (b"\x00\x00\x01\x00abc", "in the middle of a request"),
        (b"hello", "neither JSON nor a whole OTLP protobuf"),
        (gzip.compress(b"{}" * 100, mtime=0)[:18], "is a damaged gzip file: it was cut off"),
    ],
)
def test_a_file_that_is_none_is_one_message(content: bytes, message: str, tmp_path: Path):
    """Which says what it has instead."""
    path = tmp_path / "t.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        run_of([path])


def test_half_a_line_at_the_end_is_left_out_and_said(tmp_path: Path):
    """Whoever wrote it was killed; what came before is read."""
    whole = json.dumps(request(span("a")))
    path = tmp_path / "t.jsonl"
    path.write_text(f"{whole}\n{whole[:50]}")
    run, notes = run_of([path])
    assert len(list(run.trials())) == 1
    assert any("is not JSON" in text for text in said(list(notes), "left_out"))


def test_each_beginning_of_a_request_is_read_or_refused_in_words():
    """No byte of it ends in anything but Malformed."""
    from tests.oracle.test_trace_dialects import SHOP
    from tests.oracle.trace_writers import genai, protobuf, written

    data = protobuf(written([SHOP], genai))
    refused = 0
    for end in range(0, len(data), 7):
        try:
            list(spans_of(data[:end]))
        except Malformed:
            refused += 1
    assert refused > len(data) // 8
    for at in range(0, len(data), 11):
        broken = data[:at] + bytes([data[at] ^ 0x5A]) + data[at + 1 :]
        try:
            list(spans_of(broken))
        except Malformed:
            continue


def test_the_same_traces_have_the_same_run_whatever_order_they_come_in(tmp_path: Path):
    """So they are not imported twice."""
    rows = [request(span("a", trace=f"{n:032x}", at=n)) for n in range(1, 9)]
    made = []
    for order in (rows, rows[::-1]):
        (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, order)))
        run, _ = run_of([tmp_path / "t.jsonl"])
        made.append((run.meta.id, [trial.case for trial in run.trials()]))
    assert made[0] == made[1]


def test_a_case_that_the_application_names_pairs_its_traces(tmp_path: Path):
    """Two traces of a case are its repeats; of two models, two variants."""
    case = {"evenhand.case.id": "refund-7"}
    other = {**case, "gen_ai.request.model": "n"}
    rows = [span("a", trace=f"{n:032x}", at=n, attributes=case) for n in (1, 2)]
    trials, _ = imported(
        tmp_path, request(*rows, span("a", trace="d" * 32, at=3, attributes=other))
    )
    assert [(trial.case, trial.variant, trial.repeat) for trial in trials] == [
        ("refund-7", 0, 0),
        ("refund-7", 0, 1),
        ("refund-7", 1, 0),
    ]
