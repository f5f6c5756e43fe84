"""Requests and replies of model calls, where they are asked for."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenhand import EvalSet, Run, run
from evenhand.core.errors import UsageError
from evenhand.render.console import cells_json, show_trial
from evenhand.render.document import write_document
from evenhand.render.export import export
from evenhand.testing import FakeProvider, Rule, Script

pytestmark = pytest.mark.usefixtures("home_of_its_own")

SECRET = "sk-test-0123456789abcdef0123"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """A run whose only trial asks a model over HTTP."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with FakeProvider(Script([Rule(reply=f"Four, says {SECRET}.")])) as fake:
        evals = EvalSet("legs", model=f"openai:chat:gpt-5-mini@{fake.url}/v1")

        @evals.eval
        async def counts(model, expect) -> None:
            expect("Four" in (await model.generate("How many legs?")).text, "says four")

        with run(evals) as found:
            yield found


def test_the_document_has_requests_and_replies_where_asked_for(asked: Run, tmp_path: Path) -> None:
    """In JSON and JSON lines, of runs and cells, without the key; and in nothing that did not ask."""
    whole, plain = io.StringIO(), io.StringIO()
    write_document(asked.file, whole, calls=True)
    write_document(asked.file, plain)
    (call,) = json.loads(whole.getvalue())["trials"][0]["calls"]
    assert "How many legs?" in json.dumps(call["request"])
    assert "Four" in json.dumps(call["reply"])
    assert (call["role"], call["origin"]) == ("subject", "provider")
    assert "calls" not in json.loads(plain.getvalue())["trials"][0]
    export(asked.file, tmp_path / "r.jsonl", calls=True)
    assert json.loads((tmp_path / "r.jsonl").read_text())["calls"] == [call]
    (line,) = cells_json(asked.file, "1", calls=True)
    assert json.loads(line)["calls"] == [call]
    for text in (whole.getvalue(), (tmp_path / "r.jsonl").read_text(), line):
        assert SECRET not in text


def test_a_cell_shows_requests_and_replies_where_asked_for(asked: Run) -> None:
    """For people, below the call."""
    out = io.StringIO()
    show_trial(asked.file, "1", out, calls=True)
    assert "request" in out.getvalue()
    assert "How many legs?" in out.getvalue()
    assert SECRET not in out.getvalue()


def test_formats_without_room_for_calls_say_so(asked: Run, tmp_path: Path) -> None:
    """An option is never dropped."""
    with pytest.raises(UsageError, match="--calls has no effect in the format csv"):
        export(asked.file, tmp_path / "r.csv", calls=True)
