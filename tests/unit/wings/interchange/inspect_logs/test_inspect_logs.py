"""Inspect's logs: what each of their parts becomes, in both formats and both compressions."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.unit.wings.interchange.inspect_logs.conftest import (
    a_header,
    a_sample,
    deflated,
    members,
    zstandard,
)

from evenhand.core.errors import UsageError
from evenhand.core.run import TrialResult
from evenhand.doors.importers.registry import Recordings, read_runs
from evenhand.wings.interchange.inspect_logs import log


def read(*paths: Path) -> Recordings:
    """What these logs come to."""
    return read_runs(paths, "inspect")


def trials(recordings: Recordings) -> list[TrialResult]:
    """The trials of the only run."""
    (run,) = recordings.runs
    return list(run.trials())


def texts(recordings: Recordings, kind: str) -> list[str]:
    """The notes of a kind, with their places."""
    return [f"{one.where}: {one.text}" for one in recordings.notes if one.kind == kind]


def test_a_sample_and_epoch_becomes_a_trial_with_an_outcome_for_each_score(tmp_path: Path):
    """Input, target, output, usage of all models, time, model and the rest are those of the log."""
    samples = [a_sample(), a_sample(epoch=2, scores={"includes": {"value": "I"}})]
    recordings = read(deflated(tmp_path / "a.eval", members(*samples)))
    first, second = trials(recordings)
    assert (first.case, first.repeat, first.outcome, first.score) == ("1", 0, "pass", 1.0)
    assert (second.case, second.repeat, second.outcome, second.score) == ("1", 1, "fail", 0.0)
    assert (first.input, first.expected, first.output) == ("2+2?", "4", "The answer is 4")
    assert (first.tokens_in, first.tokens_out, first.latency_s) == (107, 15, 1.25)
    assert (first.answer.model, first.answer.finish_reason) == ("gpt-4o-mini-2024-07-18", "stop")
    assert json.loads(first.prompt) == [{"role": "user", "content": "2+2?"}]
    (outcome,) = first.outcomes
    assert (outcome.name, outcome.reason) == ("includes", "it has 4")
    assert outcome.metadata == {"value": "C", "answer": "4"}
    assert first.metadata["kind"] == "add"
    assert first.metadata["model_usage"]["openai/gpt-4.1"]["input_tokens"] == 100
    assert first.metadata["inspect"]["uuid"] == "S6B5"
    meta = recordings.runs[0].meta
    assert (meta.title, meta.variants[0].model, meta.repeats) == ("sums", "openai/gpt-4o-mini", 2)
    assert meta.finished_at == meta.created_at + 10
    assert meta.config["eval"]["config"] == {"epochs": 2}
    assert texts(recordings, "left_out") == []


def test_both_compressions_and_the_json_format_are_the_same_run(tmp_path: Path):
    """Deflate, Zstandard, and one document."""
    samples = [a_sample(), a_sample("two", scores={"f1": {"value": 0.5}})]
    paths = [
        deflated(tmp_path / "a.eval", members(*samples)),
        zstandard(tmp_path / "b.eval", members(*samples)),
        tmp_path / "c.json",
    ]
    paths[2].write_text(json.dumps({**a_header(), "samples": samples}), "utf-8")
    one, two, three = (trials(read(path)) for path in paths)
    assert one == two == three
    assert len(one) == 2


@pytest.mark.parametrize(
    ("value", "outcome", "score", "named"),
    [
        ("C", "pass", 1.0, None),
        ("I", "fail", 0.0, None),
        ("P", "fail", 0.5, None),
        ("N", "fail", 0.0, None),
        (True, "pass", 1.0, None),
        (False, "fail", 0.0, None),
        ("yes", "pass", 1.0, None),
        (1, "not_applicable", None, 1.0),
        (0.0, "not_applicable", None, 0.0),
        (0.7, "not_applicable", None, 0.7),
        (float("nan"), "not_applicable", None, None),
        (None, "not_applicable", None, None),
        ("maybe", "not_applicable", None, None),
        (10**400, "not_applicable", None, None),
    ],
)
def test_a_score_is_a_verdict_or_a_measure_and_what_is_missing_is_neither(
    tmp_path: Path, value: object, outcome: str, score: float | None, named: float | None
):
    """A number decides nothing, whatever it is; NaN is a score that is not there."""
    sample = a_sample(scores={"s": {"value": value}})
    (one,) = trials(read(deflated(tmp_path / "a.eval", members(sample))))
    (only,) = one.outcomes
    assert (only.outcome, only.score) == (outcome, score)
    assert one.outcome == outcome
    assert one.named_scores.get("s") == (score if named is None else named)


def test_a_number_is_measured_whichever_others_its_scorer_gave(tmp_path: Path):
    """A log of ones and zeros says no more of what they are than one with a half."""
    samples = [a_sample(i, scores={"s": {"value": v}}) for i, v in enumerate((1, 0))]
    recordings = read(deflated(tmp_path / "a.eval", members(*samples)))
    assert [t.outcome for t in trials(recordings)] == ["not_applicable"] * 2
    (note,) = texts(recordings, "changed")
    assert "'s' is a number without a bound" in note


def test_several_values_of_a_score_are_outcomes_by_their_names(tmp_path: Path):
    """Objects and lists of values."""
    scores = {"several": {"value": {"short": 0.5, "polite": "C"}}, "both": {"value": ["C", "I"]}}
    (one,) = trials(read(deflated(tmp_path / "a.eval", members(a_sample(scores=scores)))))
    assert [(o.name, o.outcome) for o in one.outcomes] == [
        ("several/short", "not_applicable"),
        ("several/polite", "pass"),
        ("both/1", "pass"),
        ("both/2", "fail"),
    ]


def test_an_error_is_an_error_whatever_was_scored_before_it(tmp_path: Path):
    """With its message, and never with a score."""
    error = {"message": "ValueError('boom')", "traceback": "…"}
    (one,) = trials(read(deflated(tmp_path / "a.eval", members(a_sample(error=error)))))
    assert (one.outcome, one.score, one.reason) == ("error", None, "ValueError('boom')")


def test_attachments_stand_where_they_are_named(tmp_path: Path):
    """Long texts are kept once in a log."""
    sample = a_sample(
        input="attachment://abc",
        messages=[{"role": "user", "content": "attachment://abc"}],
        attachments={"abc": "a long text"},
    )
    (one,) = trials(read(deflated(tmp_path / "a.eval", members(sample))))
    assert one.input == "a long text"
    assert json.loads(one.prompt)[0]["content"] == "a long text"


def test_a_run_that_did_not_end_is_imported_as_far_as_it_came_and_that_is_said(tmp_path: Path):
    """Without a header, and with a status that is none of success."""
    one = read(deflated(tmp_path / "a.eval", members(a_sample(), start=True)))
    assert len(trials(one)) == 1
    assert "the run did not end" in texts(one, "changed")[0]
    header = a_header(status="error", error={"message": "out of\nmoney"})
    two = read(deflated(tmp_path / "b.eval", members(a_sample(), header=header)))
    assert "is 'error' (out of money)" in texts(two, "changed")[0]


def test_doubles_and_samples_without_an_id_are_said_and_the_rest_is_read(tmp_path: Path):
    """The number 1 and the text "1" are one id, as ids are texts here."""
    log = {**a_header(), "samples": [a_sample(), a_sample("1"), a_sample(None), a_sample(True), 7]}
    path = tmp_path / "a.json"
    path.write_text(json.dumps(log), "utf-8")
    recordings = read(path)
    assert len(trials(recordings)) == 1
    left = texts(recordings, "left_out")
    assert any("sample '1', epoch 1, is in the log twice" in one for one in left)
    assert any("this sample has no id" in one for one in left)
    assert any("$.samples[4]: is 7, not an object" in one for one in left)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("scores", "C"),
        ("scores", {"s": 3}),
        ("output", [1]),
        ("output", {"choices": "none", "completion": 5}),
        ("model_usage", {"m": {"input_tokens": 10**30, "output_tokens": -1}}),
        ("error", "boom"),
        ("working_time", "long"),
        ("epoch", "x"),
        ("messages", "hello"),
        ("attachments", [1]),
        ("metadata", "none"),
    ],
)
def test_a_part_of_the_wrong_kind_does_not_end_the_import(tmp_path: Path, part: str, value: object):
    """And never becomes a number."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**a_header(), "samples": [a_sample(**{part: value})]}), "utf-8")
    recordings = read(path)
    (one,) = trials(recordings)
    assert one.tokens_in in (None, 107)
    if part not in ("messages", "attachments"):
        assert any(f".{part}" in text for text in texts(recordings, "left_out")), part


def test_without_what_reads_zstandard_the_message_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """And how to convert the log."""
    if sys.version_info >= (3, 14):
        pytest.skip("Python reads Zstandard from 3.14 on")
    path = zstandard(tmp_path / "a.eval", members(a_sample()))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError) as refused:
        read(path)
    assert "compressed with Zstandard" in refused.value.message
    assert "pip install 'evenhand[parquet]'" in refused.value.hint
    assert "inspect log convert" in refused.value.hint


LONG = json.dumps(a_header()).encode()


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def _scrambled(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[60:90] = bytes(30)
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: p.write_bytes(b""), "is not a log of Inspect's"),
        (lambda p: p.write_bytes(b"PK\x03\x04 nonsense"), "is not a log of Inspect's"),
        (lambda p: (deflated(p, members(a_sample())), _cut(p)), "is not a log of Inspect's"),
        (lambda p: (deflated(p, {"header.json": LONG}), _scrambled(p)), "damaged"),
        (lambda p: zstandard(p, members(a_sample()), crc=1), "is damaged"),
        (lambda p: zstandard(p, members(a_sample()), size=-5), "is damaged"),
        (lambda p: zstandard(p, members(a_sample()), size=5), "is damaged"),
        (lambda p: deflated(p, {"other.json": b"{}"}), "it has no header.json"),
        (lambda p: deflated(p, {"header.json": b"[]"}), "it is not an object"),
        (lambda p: deflated(p, {"header.json": b"{"}), "is not JSON"),
        (lambda p: deflated(p, {"header.json": b"[" * 10**6}), "deep"),
        (lambda p: deflated(p, {"header.json": b'{"a":' * 99 + b"1" + b"}" * 99}), "levels deep"),
        (lambda p: deflated(p, {"header.json": b'{"a": 1e999}'}), "too large"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_log_is_refused_with_one_message(tmp_path: Path, make: Any, says: str):
    """Never with a traceback."""
    path = tmp_path / "a.eval"
    make(path)
    with pytest.raises(UsageError) as refused:
        read(path)
    assert says in refused.value.message
    assert str(path) in refused.value.message


def test_a_member_that_says_it_is_huge_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A small archive can hold very much."""
    monkeypatch.setattr(log, "LARGEST_MEMBER", 100)
    path = deflated(tmp_path / "a.eval", members(a_sample()))
    with pytest.raises(UsageError, match="more than is read"):
        read(path)
    with zipfile.ZipFile(path) as readable:
        assert readable.testzip() is None


def test_a_log_without_samples_says_so(tmp_path: Path):
    """It was written without them, or none was run."""
    recordings = read(deflated(tmp_path / "a.eval", members()))
    assert recordings.runs == []
    assert "it has no samples" in texts(recordings, "left_out")[0]
