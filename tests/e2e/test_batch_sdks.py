"""The vendors' own SDKs, asking the fake provider for batches: what it says is what they expect."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest

from evenhand.testing import BatchRules, FakeProvider, Rule, Script

HOUR_S = 3600.0


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FakeProvider]]:
    """Starts a fake whose batches stand still until its clocks are put forward."""
    running: list[FakeProvider] = []

    def start(**rules: Any) -> FakeProvider:
        script = Script([Rule(("grade",), "four"), Rule(("refused",), fault="400")])
        fake = FakeProvider(script, batches=BatchRules(**{"speed": 0.0, **rules})).start()
        running.append(fake)
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        return fake

    yield start
    for fake in running:
        fake.stop()


def asked(text: str) -> dict[str, Any]:
    """A chat that asks this."""
    return {"model": "gpt-x", "messages": [{"role": "user", "content": text}]}


def lines(*bodies: dict[str, Any], url: str = "/v1/chat/completions") -> bytes:
    """The file of a batch."""
    rows = [
        {"custom_id": f"line-{i}", "method": "POST", "url": url, "body": body}
        for i, body in enumerate(bodies)
    ]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def submitted(client: openai.OpenAI, data: bytes, url: Any = "/v1/chat/completions") -> Any:
    """A batch of OpenAI's."""
    file = client.files.create(file=("lines.jsonl", data), purpose="batch")
    assert (file.purpose, file.bytes) == ("batch", len(data))
    return client.batches.create(
        input_file_id=file.id, endpoint=url, completion_window="24h", metadata={"mine": "7"}
    )


def results(client: openai.OpenAI, name: str | None) -> dict[str, dict[str, Any]]:
    """A file of results, by the lines' names."""
    if name is None:
        return {}
    rows = [json.loads(line) for line in client.files.content(name).text.splitlines()]
    return {row["custom_id"]: row for row in rows}


def test_openai_answers_lines_in_a_file_and_refusals_in_another(serve: Callable[..., FakeProvider]):
    """An answer in a batch parses as one outside of it, and costs half."""
    fake = serve()
    with openai.OpenAI() as client:
        batch = submitted(client, lines(asked("grade this"), asked("refused")))
        assert (batch.status, batch.output_file_id) == ("in_progress", None)
        assert client.batches.list().data[0].metadata == {"mine": "7"}
        fake.openai_batches.advance(HOUR_S)
        batch = client.batches.retrieve(batch.id)
        assert batch.status == "completed"
        assert batch.request_counts is not None
        counts = batch.request_counts
        assert (counts.total, counts.completed, counts.failed) == (2, 1, 1)
        good = results(client, batch.output_file_id)["line-0"]["response"]
        bad = results(client, batch.error_file_id)["line-1"]["response"]
        said = openai.types.chat.ChatCompletion.model_validate(good["body"])
        assert (good["status_code"], said.choices[0].message.content) == (200, "four")
        assert bad["status_code"] == 400
        live = client.chat.completions.create(**asked("grade this"))
    assert live.choices[0].message.content == "four"
    assert (fake.ledger.total, fake.ledger.repeated, fake.ledger.price) == (2, 1, 1.5)


def test_openai_has_batches_of_responses_and_of_embeddings(serve: Callable[..., FakeProvider]):
    """The answers have the shapes that the SDK knows."""
    fake = serve()
    with openai.OpenAI() as client:
        url = "/v1/responses"
        first = submitted(client, lines({"model": "gpt-x", "input": "grade"}, url=url), url)
        url = "/v1/embeddings"
        second = submitted(client, lines({"model": "e", "input": "grade"}, url=url), url)
        fake.openai_batches.advance(HOUR_S)
        bodies = [
            results(client, client.batches.retrieve(one.id).output_file_id)["line-0"]["response"]
            for one in (first, second)
        ]
    vectors = openai.types.CreateEmbeddingResponse.model_validate(bodies[1]["body"])
    assert bodies[0]["body"]["output"][0]["content"][0]["text"] == "four"
    assert len(vectors.data[0].embedding) > 1


def test_openai_refuses_a_file_as_it_is_documented(serve: Callable[..., FakeProvider]):
    """A batch that failed has errors, and no results."""
    fake = serve(most_requests=2, most_queued_tokens=100)
    one = asked("grade")
    wrong = {
        "too_many_tasks": lines(one, one, one),
        "mismatched_model": lines(one, {**one, "model": "other"}),
        "mismatched_endpoint": lines(one, url="/v1/responses"),
        "duplicate_custom_id": lines(one) * 2,
        "invalid_json_line": b"{}\n",
        "token_limit_exceeded": lines(asked("grade " * 100)),
    }
    with openai.OpenAI() as client:
        for code, data in wrong.items():
            batch = submitted(client, data)
            assert batch.status == "failed"
            assert batch.errors is not None
            assert batch.errors.data is not None
            assert batch.errors.data[0].code == code
    assert fake.ledger.total == 0


def test_openai_pages_through_its_batches_newest_first(serve: Callable[..., FakeProvider]):
    """The SDK's own iteration finds all of them."""
    serve()
    with openai.OpenAI() as client:
        made = [submitted(client, lines(asked(f"grade {i}"))).id for i in range(5)]
        assert [batch.id for batch in client.batches.list(limit=2)] == made[::-1]


def test_a_cancelled_batch_of_openai_keeps_what_it_had_done(serve: Callable[..., FakeProvider]):
    """Halfway through: half of the lines are answered, and charged for."""
    fake = serve()
    with openai.OpenAI() as client:
        batch = submitted(client, lines(*(asked(f"grade {i}") for i in range(10))))
        fake.openai_batches.advance(HOUR_S / 2)
        client.batches.cancel(batch.id)
        fake.openai_batches.advance(1)
        batch = client.batches.retrieve(batch.id)
        assert batch.status == "cancelled"
        assert len(results(client, batch.output_file_id)) == fake.ledger.total == 5
        codes = {row["error"]["code"] for row in results(client, batch.error_file_id).values()}
    assert codes == {"batch_cancelled"}


def test_results_of_openai_are_gone_after_29_days(serve: Callable[..., FakeProvider]):
    """A file that is no longer kept is not found."""
    fake = serve()
    with openai.OpenAI() as client:
        batch = submitted(client, lines(asked("grade")))
        fake.openai_batches.advance(HOUR_S)
        name = client.batches.retrieve(batch.id).output_file_id
        fake.openai_batches.advance(30 * 24 * HOUR_S)
        with pytest.raises(openai.NotFoundError):
            client.files.content(str(name))


def test_anthropic_hands_out_results_once_all_have_ended(serve: Callable[..., FakeProvider]):
    """Not before; errors are lines among the others."""
    fake = serve()
    params: Any = [
        {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}
        for text in ("grade this", "refused")
    ]
    requests: Any = [{"custom_id": f"c-{i}", "params": one} for i, one in enumerate(params)]
    with anthropic.Anthropic() as client:
        batch = client.messages.batches.create(requests=requests)
        assert (batch.processing_status, batch.results_url) == ("in_progress", None)
        fake.anthropic_batches.advance(HOUR_S)
        batch = client.messages.batches.retrieve(batch.id)
        counts = batch.request_counts
        assert (batch.processing_status, counts.succeeded, counts.errored) == ("ended", 1, 1)
        found = {row.custom_id: row.result for row in client.messages.batches.results(batch.id)}
        assert [one.id for one in client.messages.batches.list(limit=1)] == [batch.id]
    good, bad = found["c-0"], found["c-1"]
    assert good.type == "succeeded"
    assert good.message.content[0].type == "text"
    assert good.message.content[0].text == "four"
    assert bad.type == "errored"
    assert bad.error.error.type == "invalid_request_error"
    assert fake.ledger.price == 0.5


def test_anthropic_expires_what_takes_a_day_and_refuses_what_it_documents(
    serve: Callable[..., FakeProvider],
):
    """Two days of work: half is done."""
    fake = serve(takes_s=48 * HOUR_S, most_requests=10)
    ask: Any = {"model": "x", "max_tokens": 9, "messages": [{"role": "user", "content": "grade"}]}
    requests: Any = [{"custom_id": f"c{i}", "params": ask} for i in range(10)]
    with anthropic.Anthropic() as client:
        batch = client.messages.batches.create(requests=requests)
        for wrong in (requests * 2, [{"custom_id": "a b", "params": ask}]):
            with pytest.raises(anthropic.BadRequestError):
                client.messages.batches.create(requests=wrong)
        more: Any = [*requests, {"custom_id": "more", "params": ask}]
        with pytest.raises(anthropic.APIStatusError) as refused:
            client.messages.batches.create(requests=more)
        assert refused.value.status_code == 413
        fake.anthropic_batches.advance(25 * HOUR_S)
        kinds = Counter(row.result.type for row in client.messages.batches.results(batch.id))
        assert kinds == {"succeeded": 5, "expired": 5}
        client.messages.batches.delete(batch.id)
        with pytest.raises(anthropic.NotFoundError):
            client.messages.batches.retrieve(batch.id)


def test_lines_fail_as_often_as_the_rules_say(serve: Callable[..., FakeProvider]):
    """Shares of 1,000 lines; what is lost, late or failed is not charged for, and the totals lie."""
    fake = serve(
        errored=0.02, expired=0.05, silent=0.03, missing=0.04, duplicated=0.1, lying=True, seed=7
    )
    with openai.OpenAI() as client:
        batch = submitted(client, lines(*(asked(f"grade {i}") for i in range(1000))))
        fake.openai_batches.advance(HOUR_S)
        batch = client.batches.retrieve(batch.id)
        names = (batch.output_file_id, batch.error_file_id)
        rows = [
            json.loads(line)
            for n in names
            for line in client.files.content(str(n)).text.split("\n")
            if line
        ]
        good = [row for row in rows if row["response"] and row["response"]["status_code"] == 200]
    unique = {row["custom_id"] for row in good}
    assert batch.request_counts is not None
    assert batch.request_counts.completed == 1000
    assert len(unique) == fake.ledger.total
    assert 820 < len(unique) < 900 < len({row["custom_id"] for row in rows}) < 1000 < len(rows)
    assert [row["custom_id"] for row in rows] != sorted(row["custom_id"] for row in rows)
    assert fake.ledger.repeated == 0


def test_a_line_that_is_sent_again_draws_another_fate(serve: Callable[..., FakeProvider]):
    """Half of them fail, a quarter twice."""
    fake = serve(errored=0.5, takes_s=0.0)
    data = lines(*(asked(f"grade {i}") for i in range(200)))
    with openai.OpenAI() as client:
        names = [submitted(client, data).id for _ in range(2)]
        outputs = [client.batches.retrieve(name).output_file_id for name in names]
        first, second = (set(results(client, output)) for output in outputs)
    assert fake.ledger.total == len(first) + len(second)
    assert 20 < len(first & second) < 80
    assert 60 < len(first) < 140
