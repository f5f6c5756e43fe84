"""Batches of Gemini and Mistral, and `batch: true` at one model only, as a user has them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.e2e.test_batch_runs import AGENT, QUICK, Run, run, said, serve

from evenhand.core.errors import BadRequest, ConnectionFailed
from evenhand.providers.batches.control import Control
from evenhand.testing import FakeProvider

__all__ = ["run", "serve"]  # fixtures


def fill(fake: FakeProvider, model: str, number: int) -> None:
    """Makes so many batches that are others'."""
    with httpx.Client(base_url=fake.url, headers={"x-goog-api-key": "scripted"}) as client:
        if model.startswith("google"):
            row = {"request": {"contents": [{"parts": [{"text": "question"}]}]}}
            config = {"requests": {"requests": [row]}}
            path = "/v1beta/models/gemini-2.5-flash:batchGenerateContent"
            for i in range(number):
                batch = {"displayName": f"other {i}", "inputConfig": config}
                assert client.post(path, json={"batch": batch}).status_code == 200
            return
        headers = {"authorization": "Bearer scripted"}
        row = b'{"custom_id":"1","body":{"messages":[{"role":"user","content":"question"}]}}'
        form = {"purpose": "batch"}
        sent = {"file": ("rows.jsonl", row)}
        file = client.post("/v1/files", data=form, files=sent, headers=headers).json()["id"]
        job = {"input_files": [file], "endpoint": "/v1/chat/completions", "model": "mistral-x"}
        for _ in range(number):
            assert client.post("/v1/batch/jobs", json=job, headers=headers).status_code == 200


FOUR = """\
prompts: ["Answer: {{q}}"]
providers:
  - {id: google:gemini-2.5-flash, config: {maxOutputTokens: 50}}
  - {id: mistral:mistral-large-2512, config: {max_tokens: 50}}
defaultTest:
  assert:
    - {type: contains, value: question}
    - {type: similar, value: question, threshold: 0.1, provider: mistral:embedding:mistral-embed}
tests:
  - {vars: {q: question one}}
  - {vars: {q: no such thing}}
  - {vars: {q: question three}}
"""


def test_gemini_and_mistral_are_asked_in_batches_too_at_half_the_cost(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """The same verdicts as live, and half the bill; embeddings of Mistral's as well."""
    fake = serve()
    (tmp_path / "promptfooconfig.yaml").write_text(FOUR)
    live = run("run", ".", "--no-cache", code=1)
    sent, price = fake.ledger.total, fake.ledger.price
    fake.ledger.clear()
    batched = run("run", ".", "--no-cache", "--batch", *QUICK, code=1)
    assert said(batched) == said(live)
    assert fake.ledger.total == fake.ledger.batched.total() == sent
    assert fake.ledger.price == price / 2
    assert batched["totals"]["cost_usd"] == pytest.approx(live["totals"]["cost_usd"] / 2)
    assert {batch["vendor"] for batch in run("runs", "status")["batches"]} == {"google", "mistral"}
    assert (len(fake.google_batches.batches), len(fake.mistral_batches.batches)) == (1, 2)
    checked = run("check", ".", text=True)
    assert "with --batch at most" in checked


@pytest.mark.parametrize("model", ["google:gemini-2.5-flash", "mistral:mistral-large-2512"])
def test_lines_of_gemini_and_mistral_that_fail_are_sent_again_and_only_those(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path, model: str
):
    """In another order, twice, failed, late or not at all, with totals that lie: all are answered, none paid twice."""
    odd = {"errored": 0.05, "expired": 0.05, "missing": 0.05, "duplicated": 0.1, "silent": 0.02}
    fake = serve(**odd, lying=True, seed=5)
    config = FOUR[: FOUR.index("tests:")].replace("    - {type: similar", "    # - {type: similar")
    rows = "".join(f"  - {{vars: {{q: question {i}}}}}\n" for i in range(60))
    drop = "mistral:" if model.startswith("google") else "google:"
    lines = [line for line in config.splitlines() if f"id: {drop}" not in line]
    (tmp_path / "promptfooconfig.yaml").write_text("\n".join([*lines, "tests:", rows]))
    done = run("run", ".", "--no-cache", "--batch", *QUICK)
    assert done["totals"]["passed"] == 60
    assert (fake.ledger.total, fake.ledger.repeated) == (60, 0)
    assert run("runs", "status")["wave"] > 1


@pytest.mark.parametrize("model", ["google:gemini-2.5-flash", "mistral:mistral-large-2512"])
def test_a_batch_of_gemini_or_mistral_whose_answer_was_lost_is_found_by_its_name(
    serve: Callable[..., FakeProvider],
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
):
    """The vendor has it, we never heard so: it is looked up among others, and not submitted again."""
    fake = serve(speed=0.0)
    queue = fake.google_batches if model.startswith("google") else fake.mistral_batches
    fill(fake, model, 120)
    drop = "mistral:mistral-large" if model.startswith("google") else "google:"
    lines = [line for line in FOUR.splitlines() if drop not in line and "similar" not in line]
    (tmp_path / "promptfooconfig.yaml").write_text("\n".join(lines))
    send = Control._send  # pyright: ignore[reportPrivateUsage]

    async def loses(self: Control, method: str, path: str, *rest: Any) -> bytes:
        answer = await send(self, method, path, *rest)
        if method == "POST" and path.endswith(("batch/jobs", ":batchGenerateContent")):
            raise ConnectionFailed("the answer was lost", billed=None)
        return answer

    monkeypatch.setattr(Control, "_send", loses)
    run("run", ".", "--no-cache", "--batch", "--detach", *QUICK, code=6)
    made = len(queue.batches)
    assert made == 121
    monkeypatch.setattr(Control, "_send", send)
    queue.advance(3600)
    done = run("resume", *QUICK, code=1)
    assert done["totals"]["trials"] == 3
    assert (len(queue.batches), fake.ledger.repeated) == (made, 0)


TWENTY = """\
prompts: ["Answer: {{q}}"]
providers: [{id: "MODEL", config: {max_tokens: 50}}]
defaultTest: {assert: [{type: contains, value: question}]}
tests:
"""


@pytest.mark.parametrize("damage", ["in a line", "after a line", "byte order mark"])
@pytest.mark.parametrize("model", ["anthropic:claude-haiku-4-5", "mistral:mistral-large-2512"])
def test_results_that_end_early_are_had_again_and_nothing_is_paid_twice(
    serve: Callable[..., FakeProvider],
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    damage: str,
):
    """What is missing from a download was answered and charged for; a mark in front hides no line."""
    fake = serve()
    rows = "".join(f"  - {{vars: {{q: question {i}}}}}\n" for i in range(20))
    (tmp_path / "promptfooconfig.yaml").write_text(TWENTY.replace("MODEL", model) + rows)
    send = Control._send  # pyright: ignore[reportPrivateUsage]
    downloads: list[str] = []

    async def damages(self: Control, method: str, path: str, *rest: Any) -> bytes:
        answer = await send(self, method, path, *rest)
        if not path.endswith(("/results", "/content")):
            return answer
        downloads.append(path)
        if damage == "byte order mark":
            return b"\xef\xbb\xbf" + answer
        lines = answer.splitlines(keepends=True)
        half = b"".join(lines[:10]) + (lines[10][:20] if damage == "in a line" else b"")
        return half if len(downloads) == 1 else answer

    monkeypatch.setattr(Control, "_send", damages)
    done = run("run", ".", "--no-cache", "--batch", *QUICK)
    assert done["totals"]["passed"] == 20
    assert (fake.ledger.total, fake.ledger.repeated) == (20, 0)
    assert run("runs", "status")["wave"] == 1


@pytest.mark.parametrize("model", ["anthropic:claude-haiku-4-5", "mistral:mistral-large-2512"])
def test_a_young_batch_that_is_unknown_for_a_moment_is_not_given_up(
    serve: Callable[..., FakeProvider],
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
):
    """A vendor that answers 404 a few times has the batch all the same: it isn't paid for again."""
    fake = serve()
    rows = "".join(f"  - {{vars: {{q: question {i}}}}}\n" for i in range(3))
    (tmp_path / "promptfooconfig.yaml").write_text(TWENTY.replace("MODEL", model) + rows)
    send = Control._send  # pyright: ignore[reportPrivateUsage]
    unknown = 4

    async def forgets(self: Control, method: str, path: str, *rest: Any) -> bytes:
        nonlocal unknown
        if method == "GET" and unknown:
            unknown -= 1
            raise BadRequest("not found", status=404)
        return await send(self, method, path, *rest)

    monkeypatch.setattr(Control, "_send", forgets)
    done = run("run", ".", "--no-cache", "--batch", *QUICK)
    assert (done["totals"]["passed"], unknown) == (3, 0)
    assert (fake.ledger.total, fake.ledger.repeated) == (3, 0)


@pytest.mark.parametrize(("code", "sent"), [(13, 3), (14, 3), (3, 1), ([13], 1), (None, 1)])
def test_a_batch_of_gemini_that_fails_by_its_own_fault_goes_out_again(
    serve: Callable[..., FakeProvider],
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: object,
    sent: int,
):
    """An internal error is one of the vendor's; what it refuses, it would refuse again."""
    fake = serve(speed=0.0)
    config = TWENTY.replace("MODEL", "google:gemini-2.5-flash").replace(
        "max_tokens", "maxOutputTokens"
    )
    (tmp_path / "promptfooconfig.yaml").write_text(config + "  - {vars: {q: question one}}\n")
    send = Control._send  # pyright: ignore[reportPrivateUsage]

    async def fails(self: Control, method: str, path: str, *rest: Any) -> bytes:
        answer = await send(self, method, path, *rest)
        if method == "GET" and "batches/" in path:
            batch = json.loads(answer)
            batch["metadata"]["state"] = "BATCH_STATE_FAILED"
            batch |= {"done": True, "error": {"code": code, "message": "far"}}
            return json.dumps(batch).encode()
        return answer

    monkeypatch.setattr(Control, "_send", fails)
    done = run("run", ".", "--no-cache", "--batch", *QUICK, code=3)
    assert "failed: far" in done["trials"][0]["error"]["message"]
    assert len(fake.google_batches.batches) == sent


def test_batches_that_are_too_large_become_smaller(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Whatever stands before the vendor may take less than the vendor: all are answered, none is paid for twice."""
    fake = serve(most_requests=6)
    rows = "".join(f"  - {{vars: {{q: question {i}}}}}\n" for i in range(20))
    config = TWENTY.replace("MODEL", "anthropic:claude-haiku-4-5") + rows
    (tmp_path / "promptfooconfig.yaml").write_text(config)
    done = run("run", ".", "--no-cache", "--batch", *QUICK)
    assert done["totals"]["passed"] == 20
    assert (fake.ledger.total, fake.ledger.repeated) == (20, 0)


def test_a_model_that_says_so_is_asked_in_batches_and_all_others_live(
    serve: Callable[..., FakeProvider], run: Run, tmp_path: Path
):
    """Without `--batch`; `--no-batch` and replays go before it, and `check` says what it saves."""
    fake = serve()
    config = FOUR.replace("maxOutputTokens: 50", "maxOutputTokens: 50, batch: true")
    (tmp_path / "promptfooconfig.yaml").write_text(config)
    done = run("run", ".", "--no-cache", *QUICK, code=1)
    assert {batch["vendor"] for batch in run("runs", "status")["batches"]} == {"google"}
    assert fake.ledger.batched.total() == 3
    assert fake.ledger.total > 3
    assert "with batch: true, as it is, at most" in run("check", ".", text=True)
    run("run", ".", "--replay", done["run"]["id"], code=1)
    assert "don't go together" in run("run", ".", "--no-write", code=2)["error"]
    assert run("run", ".", "--no-cache", "--detach", code=6)["run"]["status"] == "waiting"
    run("resume", *QUICK, code=1)
    assert fake.ledger.batched.total() == 6
    fake.ledger.clear()
    run("run", ".", "--no-cache", "--no-batch", code=1)
    assert fake.ledger.batched.total() == 0


def test_a_late_batch_that_was_cancelled_is_not_cancelled_again_on_resume(
    serve: Callable[..., FakeProvider],
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """Each session looks, and goes away; only the first one that finds it late cancels."""
    sent: list[str] = []
    send = Control._send  # pyright: ignore[reportPrivateUsage]

    async def noted(self: Control, method: str, path: str, *rest: Any) -> bytes:
        sent.append(path)
        return await send(self, method, path, *rest)

    monkeypatch.setattr(Control, "_send", noted)
    serve(stuck=1.0)
    (tmp_path / "agent_evals.py").write_text(AGENT.replace("CASES", "2").replace("TURNS", "1"))
    words = ("--batch-until", "500s", "--detach", *QUICK)
    monkeypatch.setattr("evenhand.engine.batches.submitted_batches.time", late := Late())
    run("run", "agent_evals.py", "--no-cache", "--batch", *words, code=6)
    late.by_s = 501.0
    for _ in range(3):
        run("resume", "--detach", code=6)
        late.by_s += 10.0
    assert run("runs", "status")["batches"][0]["state"] == "cancelling"
    assert "being cancelled" in run("runs", "status", text=True)
    assert sum(path.endswith("/cancel") for path in sent) == 1
    late.by_s += 600.0  # ten minutes from the first session's cancel, not from this one's
    run("resume", code=0)
    assert run("runs", "status")["batches"][0]["state"] == "given_up"


class Late:
    """A clock that is ahead."""

    by_s = 0.0

    def time(self) -> float:
        return time.time() + self.by_s
