"""An application's own clients, of the vendors' real SDKs, in the trials of eval sets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from evenhand import EvalSet, Score, run
from evenhand.doors import recording
from evenhand.render.run import Run
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script

KEY = "sk-very-secret-key-0123456789"
PRICES = {"gpt-x": (1.0, 2.0), "claude-x": (3.0, 15.0)}
GPT: dict[str, Any] = {"model": "gpt-x", "max_tokens": 50}
CLAUDE: dict[str, Any] = {"model": "claude-x", "max_tokens": 50}
RULES = [
    Rule(("busy",), "at last", fault="429", times=1, retry_after="0.01"),
    Rule(("busy",), "at last"),
    Rule(("refused",), fault="400"),
    Rule(("no key",), fault="401"),
    Rule(("in pieces",), "one two three four five six seven eight", fault="slow"),
    Rule(("cut",), "one two three four five six seven eight", fault="reset"),
    Rule((), lambda said: f"an answer to {said}", latency_ms=5),
]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """Found through the environment alone, as in a user's own code."""
    with FakeProvider(Script(RULES), api_key=KEY) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def plain(fake: FakeProvider) -> Iterator[Callable[..., openai.OpenAI]]:
    """Makes plain clients, and closes them."""
    made: list[openai.OpenAI] = []

    def make(**more: Any) -> openai.OpenAI:
        client = recording.http_client(prices=PRICES, **more)
        made.append(openai.OpenAI(http_client=client))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(fake: FakeProvider) -> openai.AsyncOpenAI:
    """OpenAI's async client. Nothing of it has to be closed that was used in trials alone."""
    return openai.AsyncOpenAI(http_client=recording.async_http_client(prices=PRICES))


@pytest.fixture
def settle(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Runs sets in a folder of the test's own."""
    found: list[Run] = []

    def go(*sets: EvalSet, **more: Any) -> Run:
        found.append(run(*sets, home=tmp_path / "home", progress=False, **more))
        return found[-1]

    yield go
    for each in found:
        each.close()


def user(text: str) -> Any:
    """A conversation of one message."""
    return [{"role": "user", "content": text}]


def said(answer: Any) -> str:
    """The text of a completion."""
    return answer.choices[0].message.content


def roles(found: Run) -> list[str]:
    """The roles of a run's calls."""
    return [call.start.role for call in found.calls()]


def test_async_clients_are_recorded_with_tokens_cost_and_time(
    fake: FakeProvider, client: openai.AsyncOpenAI, settle: Callable[..., Run]
):
    """Both vendors, whole and streamed, and embeddings: in the results as if the run had asked; no key is kept."""
    claude = anthropic.AsyncAnthropic(http_client=recording.async_http_client(prices=PRICES))
    evals = EvalSet("app")

    @evals.eval
    async def asks(expect):
        whole = await client.chat.completions.create(messages=user("a"), **GPT)
        usage = {"stream_options": {"include_usage": True}}
        stream = await client.chat.completions.create(
            messages=user("a"), stream=True, **usage, **GPT
        )
        pieces = [c.choices[0].delta.content or "" async for c in stream if c.choices]
        message = await claude.messages.create(messages=user("a"), **CLAUDE)
        async with claude.messages.stream(messages=user("a"), **CLAUDE) as events:
            final = await events.get_final_message()
        await client.embeddings.create(model="gpt-x", input=["a", "b"])
        texts = {said(whole), "".join(pieces), message.content[0].text, final.content[0].text}
        expect(texts == {"an answer to a"}, "all say the same", texts=sorted(texts))

    found = settle(evals)
    (trial,) = found.trials()
    assert (trial.outcome, trial.calls, trial.cached) == ("pass", 5, 0), trial
    assert (trial.tokens_in, trial.tokens_out) == (6, 12)
    assert trial.cost_usd == pytest.approx((2 * (1 + 3 * 2) + 2 * (3 + 3 * 15) + 2) / 1e6)
    assert trial.latency_s is not None
    assert trial.latency_s >= 0.02
    assert (trial.prompt, trial.output) == ("a", "an answer to a")
    host = fake.url.removeprefix("http://")
    assert [call.start.provider for call in found.calls()] == [
        f"openai:chat:gpt-x@{host}",
        f"openai:chat:gpt-x@{host}",
        f"anthropic:messages:claude-x@{host}",
        f"anthropic:messages:claude-x@{host}",
        f"openai:embeddings:gpt-x@{host}",
    ]
    assert roles(found) == ["subject"] * 5
    assert fake.ledger.total == 5
    kept = b"".join(path.read_bytes() for path in found.path.parent.parent.rglob("*.db*"))
    assert b"an answer to a" in kept
    assert KEY.encode() not in kept


def test_roles_follow_where_a_call_is_made_or_what_is_said(
    plain: Callable[..., openai.OpenAI], settle: Callable[..., Run]
):
    """Set-up in fixtures, judge in scorers, subject elsewhere; `role(…)` and a client with a role say otherwise."""
    client, grader = plain(), plain(role="judge")

    def ask(text: str, asked: openai.OpenAI = client) -> str:
        return said(asked.chat.completions.create(messages=user(text), **GPT))

    class Asks:
        def score(self, output, trial):
            return trial.call(self.ask, name="asks")

        def ask(self):
            return Score(1.0, reason=ask("scorer"))

    evals = EvalSet("roles")

    @evals.fixture
    def corpus():
        yield ask("made")
        ask("torn down")

    @evals.eval
    def every_role(corpus, expect):
        ask("subject")
        with recording.role("setup"):
            ask("said so")
        ask("by its client", grader)
        expect(corpus, Asks(), at_least=1)

    found = settle(evals)
    (trial,) = found.trials()
    assert (trial.outcome, trial.calls) == ("pass", 6), trial
    assert trial.output == "an answer to subject"
    told = [(call.start.role, call.start.identity.decode()) for call in found.calls()]
    expected = {
        "made": "setup",
        "subject": "subject",
        "said so": "setup",
        "by its client": "judge",
        "torn down": "setup",
        "scorer": "judge",
    }
    assert {text: role for role, body in told for text in expected if f'"{text}"' in body} == (
        expected
    )


def test_a_second_run_is_answered_from_the_cache_byte_for_byte(
    fake: FakeProvider, settle: Callable[..., Run]
):
    """Streams too: what comes back is what came the first time, and costs nothing."""
    came: list[bytes] = []
    body = {**GPT, "messages": user("a"), "stream": True}
    headers = {"authorization": f"Bearer {KEY}"}
    evals = EvalSet("again")

    @evals.eval
    def streams(expect):
        with httpx2.Client(transport=recording.Transport(prices=PRICES)) as client:
            answer = client.post(f"{fake.url}/v1/chat/completions", json=body, headers=headers)
        came.append(answer.content)
        expect(answer.headers["content-type"].startswith("text/event-stream"), "is a stream")

    first, second = settle(evals), settle(evals)
    assert came[0] == came[1]
    assert came[0].endswith(b"data: [DONE]\n\n")
    assert fake.ledger.total == 1
    assert [t.cached for t in (*first.trials(), *second.trials())] == [0, 1]
    assert [t.outcome for t in (*first.trials(), *second.trials())] == ["pass", "pass"]


def test_calls_of_many_trials_keep_to_the_runs_concurrency_and_to_their_own_trial(
    fake: FakeProvider, client: openai.AsyncOpenAI, settle: Callable[..., Run]
):
    """Ten trials that ask five things at once each: never more than four under way, each counted where it belongs."""
    evals = EvalSet("many", data=[{"id": f"c{i}"} for i in range(10)])

    @evals.eval
    async def asks_at_once(case, expect):
        asked = [
            client.chat.completions.create(messages=user(f"{case.id} {i}"), **GPT) for i in range(5)
        ]
        texts = [said(answer) for answer in await asyncio.gather(*asked)]
        expect(texts == [f"an answer to {case.id} {i}" for i in range(5)], "its own answers")

    found = settle(evals, concurrency=4)
    assert [(t.outcome, t.calls) for t in found.trials()] == [("pass", 5)] * 10
    assert fake.most_at_once <= 4
    assert fake.ledger.total == 50


def test_a_plain_eval_may_have_a_loop_of_its_own_and_threads(
    client: openai.AsyncOpenAI, plain: Callable[..., openai.OpenAI], settle: Callable[..., Run]
):
    """The calls find their way to the run from both."""
    blocking = plain()
    evals = EvalSet("elsewhere")

    async def through(text: str) -> str:
        whole = await client.chat.completions.create(messages=user(text), **GPT)
        stream = await client.chat.completions.create(messages=user(text), stream=True, **GPT)
        pieces = [c.choices[0].delta.content or "" async for c in stream if c.choices]
        assert "".join(pieces) == said(whole)
        return said(whole)

    @evals.eval
    def own_loop(expect):
        expect(asyncio.run(through("a")) == "an answer to a", "answers")

    @evals.eval
    async def own_thread(expect):
        answer = await asyncio.to_thread(
            blocking.chat.completions.create, messages=user("b"), **GPT
        )
        expect(said(answer) == "an answer to b", "answers")

    found = settle(evals)
    assert [(t.outcome, t.calls) for t in found.trials()] == [("pass", 2), ("pass", 1)]


def test_a_plain_client_on_the_event_loop_is_refused_and_said_so(
    fake: FakeProvider, plain: Callable[..., openai.OpenAI], settle: Callable[..., Run]
):
    """It would wait forever: the trial is an error that says what to do, whatever the application makes of it."""
    blocking = plain()
    evals = EvalSet("blocking")

    @evals.eval
    async def blocks(expect):
        with expect.that("it answers"):
            blocking.chat.completions.create(messages=user("a"), **GPT)

    (trial,) = settle(evals).trials()
    assert trial.outcome == "error"
    assert trial.error is not None
    assert trial.error.slug == "usage"
    assert "not async" in trial.error.message
    assert "AsyncOpenAI" in trial.error.where
    assert fake.requests == []


def test_a_budget_stops_the_run_even_where_the_application_hides_errors(
    fake: FakeProvider, plain: Callable[..., openai.OpenAI], settle: Callable[..., Run]
):
    """No call is sent that could pass it; the SDK sees an error, and does not try again."""
    client = plain()
    evals = EvalSet("dear", data=[{"id": f"c{i}"} for i in range(20)])
    seen: list[str] = []

    @evals.eval
    def asks(case, expect):
        try:
            client.chat.completions.create(messages=user(case.id), **GPT)
        except openai.BadRequestError as error:
            seen.append(error.message)
        expect(True, "goes on")

    found = settle(evals, max_cost_usd=0.00025, concurrency=1)
    assert found.meta.status == "out_of_budget"
    assert 0 < fake.ledger.total < 20
    assert len(list(found.trials())) == fake.ledger.total
    (told,) = seen
    assert "the budget of $0.00025" in told


def test_a_model_without_a_price_is_not_asked_under_a_budget(
    fake: FakeProvider, client: openai.AsyncOpenAI, settle: Callable[..., Run]
):
    """The message says where to give one."""
    evals = EvalSet("unknown")

    @evals.eval
    async def asks(expect):
        await client.chat.completions.create(model="strange", messages=user("a"))

    found = settle(evals, max_cost_usd=1)
    assert found.meta.status == "out_of_budget"
    assert "recording.http_client(prices=" in found.meta.message
    assert fake.ledger.total == 0


def test_a_rate_limit_is_waited_out_by_the_run_alone(
    fake: FakeProvider, plain: Callable[..., openai.OpenAI], settle: Callable[..., Run]
):
    """The SDK hears nothing of it: one call, two attempts, paid once."""
    client = plain()
    evals = EvalSet("busy")

    @evals.eval
    def asks(expect):
        expect(
            said(client.chat.completions.create(messages=user("busy?"), **GPT)) == "at last", "said"
        )

    found = settle(evals)
    (trial,), (call,) = found.trials(), found.calls()
    assert (trial.outcome, trial.calls) == ("pass", 1)
    assert call.end is not None
    assert (call.end.attempts, call.end.wasted) == (2, 0)
    assert [seen.status for seen in fake.requests] == [429, 200]


def test_the_vendors_refusals_are_the_errors_that_the_application_knows(
    fake: FakeProvider, client: openai.AsyncOpenAI, settle: Callable[..., Run]
):
    """With the vendor's words and headers; not even a bad key ends the run: there may be something to fall back on."""
    evals = EvalSet("refused")

    @evals.eval
    async def falls_back(expect):
        with pytest.raises(openai.BadRequestError, match="scripted fault 400") as refused:
            await client.chat.completions.create(messages=user("refused"), **GPT)
        assert refused.value.request_id == "req_0"
        with pytest.raises(openai.AuthenticationError):
            await client.chat.completions.create(messages=user("no key"), **GPT)
        answer = await client.chat.completions.create(messages=user("then"), **GPT)
        expect(said(answer) == "an answer to then", "falls back")

    found = settle(evals)
    (trial,) = found.trials()
    assert (found.meta.status, trial.outcome, trial.calls) == ("finished", "pass", 1), trial
    assert [seen.status for seen in fake.requests] == [400, 401, 200]
    ends = [call.end.error for call in found.calls() if call.end is not None]
    assert ends == ["bad-request", "bad-request", ""]


@pytest.mark.parametrize("how", ["plain", "async"])
def test_a_stream_that_is_left_half_way_stays_in_doubt(
    how: str,
    fake: FakeProvider,
    client: openai.AsyncOpenAI,
    plain: Callable[..., openai.OpenAI],
    settle: Callable[..., Run],
):
    """Pieces arrive as they come; what the rest would have cost is not known, and counts at its worst price."""
    blocking = plain()
    evals = EvalSet("left")
    ask = {"messages": user("in pieces"), "stream": True, **GPT}

    async def leaves_it(expect):
        stream = await client.chat.completions.create(**ask)
        first = await anext(aiter(stream))
        await stream.close()
        expect(first.id != "", "began")

    def leaves_it_plain(expect):
        with blocking.chat.completions.create(**ask) as stream:
            first = next(iter(stream))
        expect(first.id != "", "began")

    evals.eval(leaves_it if how == "async" else leaves_it_plain)
    found = settle(evals)
    (trial,), (call,) = found.trials(), found.calls()
    assert (trial.outcome, trial.calls, trial.cost_usd) == ("pass", 1, None), trial
    assert call.end is None
    assert call.start.cost_bound_usd is not None
    with RunFile.open(found.path) as kept:
        assert kept.most_spent() == call.start.cost_bound_usd > 0
    assert len(fake.requests) == 1


def test_a_stream_that_breaks_off_is_not_asked_for_again(
    fake: FakeProvider, client: openai.AsyncOpenAI, settle: Callable[..., Run]
):
    """The application has read a part of it: it gets the error that a broken connection is, and the call says so."""
    evals = EvalSet("cut")

    @evals.eval
    async def reads(expect):
        stream = await client.chat.completions.create(messages=user("cut"), stream=True, **GPT)
        with pytest.raises((openai.APIConnectionError, httpx2.ReadError)):
            async for _ in stream:
                pass
        expect(True, "raised")

    found = settle(evals)
    (trial,), (call,) = found.trials(), found.calls()
    assert (trial.outcome, trial.cost_usd) == ("pass", None), trial
    assert call.end is not None
    assert (call.end.error, call.end.attempts, call.end.wasted) == ("connection", 1, 1)
    assert len(fake.requests) == 1


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "in pieces"])
def test_a_reply_without_an_answer_is_handed_on_once_and_never_scored(
    client: openai.AsyncOpenAI, fake: FakeProvider, settle: Callable[..., Run], streams: bool
):
    """The application may ask again, as it does without a run. Else the trial is an error that says so."""
    evals = EvalSet("silent", data=[{"id": n, "input": n} for n in ("never", "once", "again")])
    fake.script = Script(
        [
            Rule(("once",), "Hello", fault="silent"),
            Rule(("again",), "Hello", fault="silent", times=1),
        ]
    )

    @evals.eval
    async def answers(case: Any, expect: Any) -> None:
        text = await ask(case)
        if case.id == "again":
            assert not text
            text = await ask(case)
        expect("sorry" not in (text or ""), "does not apologise")

    async def ask(case: Any) -> str | None:
        if streams:
            pieces = await client.chat.completions.create(
                messages=user(case.input), stream=True, **GPT
            )
            return "".join([piece.choices[0].delta.content or "" async for piece in pieces])
        return said(await client.chat.completions.create(messages=user(case.input), **GPT))

    result = settle(evals, cache=False)
    assert [trial.outcome for trial in result.trials()] == ["pass", "error", "pass"]
    error = result.trial(1).error
    assert error is not None
    assert error.slug == "bad-reply"
    assert "asked for no other" in error.message
    assert len(fake.requests) == 4
    assert [call.end.attempts for call in result.calls() if call.end] == [1] * 4


def test_what_the_application_leaves_running_is_waited_for_and_counted(
    fake: FakeProvider, client: openai.AsyncOpenAI, settle: Callable[..., Run]
):
    """A task that nobody awaits costs all the same."""
    evals = EvalSet("behind")
    left: list[asyncio.Task[Any]] = []

    @evals.eval
    async def leaves_a_task(expect):
        create = client.chat.completions.create(messages=user("later"), **GPT)
        left.append(asyncio.create_task(create))
        while not fake.requests:
            await asyncio.sleep(0.001)
        expect(True, "is done")

    (trial,) = settle(evals).trials()
    assert (trial.outcome, trial.calls, fake.ledger.total) == ("pass", 1, 1)


def test_calls_outlive_a_fixture_that_is_rolled_back_or_breaks(
    plain: Callable[..., openai.OpenAI], settle: Callable[..., Run]
):
    """They are the run's, not the trial's database's."""
    client = plain()
    evals = EvalSet("rolled back")

    @evals.fixture
    def session():
        client.chat.completions.create(messages=user("before"), **GPT)
        yield "session"
        raise RuntimeError("could not roll back")

    @evals.eval
    def asks(session, expect):
        client.chat.completions.create(messages=user("during"), **GPT)
        expect(True, "asked")

    found = settle(evals)
    (trial,) = found.trials()
    assert (trial.outcome, trial.calls) == ("error", 2)
    assert roles(found) == ["setup", "subject"]
    assert all(call.end is not None and not call.end.error for call in found.calls())


def test_outside_a_trial_clients_are_ordinary_ones(fake: FakeProvider):
    """Nothing is kept, and the SDK's own retries are its own."""
    with openai.OpenAI(http_client=recording.http_client()) as client:
        assert said(client.chat.completions.create(messages=user("busy?"), **GPT)) == "at last"
        stream = client.chat.completions.create(messages=user("a"), stream=True, **GPT)
        assert "".join(c.choices[0].delta.content or "" for c in stream) == "an answer to a"
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(messages=user("refused"), **GPT)
    assert [seen.status for seen in fake.requests] == [429, 200, 200, 400]


async def test_outside_a_trial_async_clients_are_ordinary_ones(fake: FakeProvider):
    """The same on an event loop."""
    http = recording.async_http_client()
    async with anthropic.AsyncAnthropic(http_client=http) as client:
        answer = await client.messages.create(messages=user("a"), **CLAUDE)
    assert answer.content[0].text == "an answer to a"
    assert http.is_closed


def test_what_asks_no_model_passes_through_a_trial(
    fake: FakeProvider, plain: Callable[..., openai.OpenAI], settle: Callable[..., Run]
):
    """Lists of models, for one, are nobody's call."""
    client = plain()
    evals = EvalSet("lists")

    @evals.eval
    def lists(expect):
        client.chat.completions.create(messages=user("a"), **GPT)
        expect([model.id for model in client.models.list()] == ["gpt-x"], "lists")

    found = settle(evals)
    assert [(t.outcome, t.calls) for t in found.trials()] == [("pass", 1)]
    assert len(list(found.calls())) == 1


def test_a_function_that_stands_for_a_model_keeps_its_own_prompt_and_reply(
    tmp_path: Path, fake: FakeProvider, settle: Callable[..., Run]
):
    """What it asks in turn is recorded beside it."""
    (tmp_path / "app.py").write_text(
        "import openai\n"
        "from evenhand import recording\n"
        "def call_api(prompt, options, context):\n"
        "    with openai.OpenAI(http_client=recording.http_client()) as client:\n"
        "        messages = [{'role': 'user', 'content': 'inner'}]\n"
        "        said = client.chat.completions.create(model='gpt-x', messages=messages)\n"
        "    return {'output': said.choices[0].message.content.upper()}\n"
    )
    evals = EvalSet("function", over={"model": [f"python:{tmp_path / 'app.py'}:call_api"]})

    @evals.eval
    async def asks(model, expect):
        expect((await model.generate("outer")).text == "AN ANSWER TO INNER", "answers")

    found = settle(evals)
    (trial,) = found.trials()
    assert (trial.outcome, trial.calls) == ("pass", 2), trial
    assert (trial.prompt, trial.output) == ("outer", "AN ANSWER TO INNER")
    assert fake.ledger.total == 1
