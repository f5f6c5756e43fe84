"""Web services that stand for models: what is sent, what is made of the answer, and who asks."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import (
    AuthError,
    BadRequest,
    Overloaded,
    ProviderError,
    RateLimited,
    UnknownModel,
    UsageError,
)
from evenhand.core.message import Prompt, Reply
from evenhand.core.secrets import known
from evenhand.engine.code import CodeHost
from evenhand.languages.templates.rendering import NO_CONFIG
from evenhand.providers.catalog import create

render = NO_CONFIG.render


@dataclass
class Service:
    """A web service that answers with what it is told to, and remembers what came in."""

    url: str = ""
    status: int = 200
    answer: str = '{"said": {"text": "hi"}, "n": 1}'
    headers: dict[str, str] = field(default_factory=dict)
    token: str = "t"
    lasts_s: float = 3600
    seen: list[tuple[str, str, dict[str, str], str]] = field(default_factory=list)


@pytest.fixture
def service() -> Iterator[Service]:
    """On loopback, in a thread."""
    told = Service()

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length).decode()
            sent = {k.lower(): v for k, v in self.headers.items()}
            told.seen.append((self.command, self.path, sent, body))
            token = {"access_token": f"{told.token}{len(told.seen)}", "expires_in": told.lasts_s}
            text = json.dumps(token) if self.path == "/token" else told.answer
            self.send_response(200 if self.path == "/token" else told.status)
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_PUT = _any  # noqa: N815 (the names that the library calls)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield told
    server.shutdown()
    thread.join()
    server.server_close()


async def asked(
    service: Service, config: dict[str, Any], prompt: str = "hi", path: str = "/chat", **vars_: Any
) -> Reply:
    """The reply of a web provider with this config."""
    provider = create(f"{service.url}{path}", config=config, env={}, base=Path.cwd(), fill=render)
    host = CodeHost()
    with host.open():
        try:
            request = provider.request(Prompt((), prompt, vars=vars_))
            return provider.reply((await provider.send(request, host)).body)
        finally:
            await provider.close()


POST = {"method": "POST", "body": {"q": "{{prompt}}", "who": "{{name}}", "deep": ["{{prompt}}"]}}


async def test_an_object_is_sent_as_json_with_its_texts_filled_in(service):
    """Quotes and line ends in values break nothing, and the type of the content is said."""
    await asked(service, POST, 'say "hi"\nnow', name="Ann")
    method, path, headers, body = service.seen[0]
    assert (method, path, headers["content-type"]) == ("POST", "/chat", "application/json")
    said = 'say "hi"\nnow'
    assert json.loads(body) == {"q": said, "who": "Ann", "deep": [said]}


async def test_a_body_is_sent_where_no_method_is_named(service):
    """By POST: a GET would leave it out, and the service would never see the prompt."""
    await asked(service, {"body": {"q": "{{prompt}}"}}, "how many?")
    method, _, _, body = service.seen[0]
    assert (method, json.loads(body)) == ("POST", {"q": "how many?"})


async def test_an_address_that_holds_the_prompt_is_asked_by_get_where_no_method_is_named(service):
    """As in promptfoo: such a folder works there, and its body is never sent."""
    await asked(service, {"queryParams": {"q": "{{prompt}}"}, "body": {"q": "x"}}, "how many?")
    method, path, _, body = service.seen[0]
    assert (method, body) == ("GET", "")
    assert path == "/chat?q=how+many%3F"


async def test_a_text_that_is_json_goes_into_the_body_as_what_it_is(service):
    """A chat prompt becomes a list of messages."""
    chat = '[{"role": "user", "content": "x"}]'
    await asked(service, {"method": "POST", "body": {"messages": "{{prompt}}"}}, chat)
    assert json.loads(service.seen[0][3]) == {"messages": [{"role": "user", "content": "x"}]}


async def test_a_template_of_json_is_filled_in_so_that_it_stays_json(service):
    """Values are escaped where they would break it."""
    config = {
        "method": "POST",
        "headers": {"Content-Type": "application/json"},
        "body": '{"q": "{{prompt}}", "n": {{n}}}',
    }
    await asked(service, config, 'a "b"', n=5)
    assert json.loads(service.seen[0][3]) == {"q": 'a "b"', "n": 5}


async def test_a_text_is_sent_as_a_form_unless_its_type_is_said(service):
    """As it is, filled in."""
    await asked(service, {"method": "PUT", "body": "q={{ prompt | urlencode }}"}, "a b")
    method, _, headers, body = service.seen[0]
    assert (method, body) == ("PUT", "q=a%20b")
    assert headers["content-type"] == "application/x-www-form-urlencoded"


async def test_address_headers_and_query_are_templates(service):
    """A GET has no body."""
    config = {"method": "GET", "headers": {"X-Who": "{{name}}"}, "queryParams": {"q": "{{prompt}}"}}
    await asked(service, config, "a&b", "/{{name}}?v=1", name="ann")
    method, path, headers, body = service.seen[0]
    assert (method, path, headers["x-who"], body) == ("GET", "/ann?v=1&q=a%26b", "ann", "")


async def test_a_request_can_be_written_out(service):
    """First line, headers, body; `{%` is text, and the length is counted for it."""
    host = service.url.removeprefix("http://")
    raw = (
        f"POST /v2/{{{{name}}}} HTTP/1.1\nHost: {host}\nContent-Type: application/json\n"
        'Content-Length: 3\n\n{"q": "{{prompt}}", "t": "{% x %}"}\n'
    )
    await asked(service, {"request": raw}, 'a "b"', name="ann")
    _, path, headers, body = service.seen[0]
    assert path == "/v2/ann"
    assert json.loads(body) == {"q": 'a "b"', "t": "{% x %}"}
    assert headers["content-length"] == str(len(body))


@pytest.mark.parametrize(
    ("code", "output"),
    [
        (None, {"said": {"text": "hi"}, "n": 1}),
        ("json.said.text", "hi"),
        ("(json, text) => json.said.text.toUpperCase()", "HI"),
        ("{ output: json.said.text, tokenUsage: { total: 3, prompt: 2, completion: 1 } }", "hi"),
        ("text.length", 32),
        ("context.response.status", 200),
        ("file://made.py", "py hi"),
        ("file://made.py:other", "other"),
        ("file://made.js", "js hi"),
        ("file://made.js:named", "named"),
    ],
)
async def test_the_output_is_what_the_code_makes_of_the_answer(
    service, tmp_path, monkeypatch, code, output
):
    """JavaScript or Python, inline or in a file; without any, all of the JSON."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made.py").write_text(
        "def transform_response(json, text, context): return 'py ' + json['said']['text']\n"
        "def other(json, text, context): return 'other'\n"
    )
    (tmp_path / "made.js").write_text(
        "module.exports = (json) => `js ${json.said.text}`; module.exports.named = () => 'named';"
    )
    reply = await asked(service, {**POST, **({"transformResponse": code} if code else {})})
    assert reply.output == output
    if isinstance(code, str) and "tokenUsage" in code:
        assert (reply.usage.tokens_in, reply.usage.tokens_out) == (2, 1)


@pytest.mark.parametrize(
    ("parser", "session"),
    [
        ("data.headers['content-length']", "27"),
        ("data.body.said.text", "hello"),
        ("({ body }) => body.said.text + '!'", "hello!"),
        ("file://made.js", "js hello"),
        ("data.body.nothing", None),
    ],
)
async def test_a_session_is_what_the_code_finds_in_headers_or_body(
    service, tmp_path, monkeypatch, parser, session
):
    """It stands in the metadata, where a simulated user and promptfoo's results have it; without one, nothing does."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made.js").write_text("module.exports = (data) => `js ${data.body.said.text}`;")
    service.answer = '{"said": {"text": "hello"}}'
    reply = await asked(service, {**POST, "sessionParser": parser})
    assert reply.output == {"said": {"text": "hello"}}
    assert reply.metadata.get("sessionId") == session


async def test_an_answer_that_is_not_json_is_its_text(service):
    """And the status stands in the metadata."""
    service.answer = "plain words"
    reply = await asked(service, POST)
    assert (reply.output, reply.metadata) == ("plain words", {"http": {"status": 200}})


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("({ text: prompt })", {"text": "hi", "fixed": 1}),
        ("const x = prompt + '!'; return { text: x };", {"text": "hi!", "fixed": 1}),
        ("(prompt, vars) => ({ text: vars.name })", {"text": "ann", "fixed": 1}),
        ("prompt + '?'", {"text": "hi?", "fixed": 1}),
    ],
)
async def test_the_prompt_can_be_changed_before_it_is_sent(service, code, body):
    """An object's fields go over those of the body; a text takes the prompt's place in it."""
    config = {
        "method": "POST",
        "body": {"text": "{{prompt}}", "fixed": 1},
        "transformRequest": code,
    }
    await asked(service, config, name="ann")
    assert json.loads(service.seen[0][3]) == body


@pytest.mark.parametrize(
    ("auth", "header", "value", "path"),
    [
        ({"type": "bearer", "token": "{{t}}"}, "authorization", "Bearer secret-1", "/chat"),
        (
            {"type": "basic", "username": "ann", "password": "{{t}}"},
            "authorization",
            "Basic YW5uOnNlY3JldC0x",
            "/chat",
        ),
        (
            {"type": "api_key", "placement": "header", "keyName": "X-Key", "value": "{{t}}"},
            "x-key",
            "secret-1",
            "/chat",
        ),
        (
            {"type": "api_key", "placement": "query", "keyName": "k", "value": "{{t}}"},
            "k",
            None,
            "/chat?k=secret-1",
        ),
    ],
)
async def test_it_says_who_asks(service, auth, header, value, path):
    """As a header, or in the address; templates are filled in there, too."""
    await asked(service, {**POST, "auth": auth}, t="secret-1")
    assert service.seen[0][2].get(header) == value
    assert service.seen[0][1] == path


async def test_an_oauth_token_is_fetched_once_and_kept(service, tmp_path):
    """By the client's credentials; all calls at once share one."""
    auth = {
        "type": "oauth",
        "grantType": "client_credentials",
        "clientId": "me",
        "clientSecret": "s3",
        "tokenUrl": f"{service.url}/token",
        "scopes": ["a", "b"],
    }
    config = {**POST, "auth": auth}
    provider = create(service.url, config=config, env={}, base=tmp_path, fill=render)
    host = CodeHost()
    with host.open():
        for text in "one", "two":
            await provider.send(provider.request(Prompt.of(text)), host)
    await provider.close()
    fetched, first, second = service.seen
    assert fetched[1] == "/token"
    assert fetched[3] == "grant_type=client_credentials&client_id=me&client_secret=s3&scope=a+b"
    assert first[2]["authorization"] == second[2]["authorization"] == "Bearer t1"


async def test_an_oauth_token_that_is_about_to_end_is_fetched_anew(service, tmp_path):
    """It would end while the call is under way; what was fetched is a secret from then on."""
    service.token, service.lasts_s = "fetched-for-an-hour-98765-", 30
    auth = {"type": "oauth", "clientId": "me", "tokenUrl": f"{service.url}/token"}
    provider = create(service.url, config={**POST, "auth": auth}, env={}, base=tmp_path)
    host = CodeHost()
    with host.open():
        for text in "one", "two":
            await provider.send(provider.request(Prompt.of(text)), host)
    await provider.close()
    sent = [headers["authorization"] for _, path, headers, _ in service.seen if path != "/token"]
    assert len(set(sent)) == 2
    for header in sent:
        assert header.removeprefix("Bearer ") not in known.text(f"it said {header}")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, AuthError),
        (403, AuthError),
        (404, UnknownModel),
        (501, UnknownModel),
        (429, RateLimited),
        (500, Overloaded),
        (503, Overloaded),
    ],
)
async def test_a_status_that_says_out_of_order_is_an_error(service, status, kind):
    """Some end the run, others are tried again; the wait that is asked for is kept."""
    service.status, service.headers = status, {"retry-after": "7"}
    with pytest.raises(kind) as caught:
        await asked(service, POST)
    error: ProviderError = caught.value
    assert error.status == status
    assert error.fatal == (status in (401, 403, 404, 501))
    if status in (429, 503):
        assert error.retry_after_s == 7


async def test_another_status_is_an_answer_unless_it_is_said_what_counts(service):
    """A guard that answers 400 may be what is being looked at."""
    service.status = 400
    assert (await asked(service, POST)).metadata["http"]["status"] == 400
    for code in ("status < 400", "(status) => status >= 200 && status < 300"):
        with pytest.raises(BadRequest, match="answered 400"):
            await asked(service, {**POST, "validateStatus": code})
    service.status = 500
    assert (await asked(service, {**POST, "validateStatus": "status <= 500"})).output


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({**POST, "transformResponse": "json.no.such"}, "transformResponse"),
        ({**POST, "transformResponse": "json.nothing"}, "found no output"),
        ({**POST, "transformResponse": "({ error: 'sorry' })"}, "error: sorry"),
        ({**POST, "transformRequest": "prompt +"}, "transformRequest"),
        ({**POST, "transformResponse": "file://no.txt"}, "neither JavaScript nor Python"),
        ({**POST, "headers": {"content-type": "text/plain"}}, "the body is an object"),
        ({"request": "nonsense"}, "cannot be read"),
        ({"method": "GET", "queryParams": {"q": "{{ prompt | nothing }}"}}, "nothing"),
    ],
)
async def test_settings_that_fail_are_an_error_of_the_trial(service, config, says):
    """It is said whose they are; nothing is sent again."""
    with pytest.raises(BadRequest, match=says) as caught:
        await asked(service, config)
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("id_", "config", "says"),
    [
        ("http", {}, "has no address"),
        ("https://x.y", {"method": "POST"}, "has no body to send"),
        ("https://x.y", {"auth": {"type": "magic"}}, "wants auth of type 'magic'"),
        ("https://x.y", {"signatureAuth": {"type": "pem"}}, "has 'signatureAuth'"),
        ("https://x.y", {"request": "file://no.txt"}, "no.txt, which cannot be read"),
    ],
)
def test_settings_that_cannot_work_are_told_at_once(tmp_path, id_, config, says):
    """When the provider is made."""
    with pytest.raises(UsageError, match=says):
        create(id_, config=config, env={}, base=tmp_path)


async def test_no_secret_is_in_a_request_or_a_message(service, tmp_path):
    """Not in the identity, which is kept, nor in what is said of a failure, whatever the service repeats."""
    secret = "sk-abcdefghijklmnopqrstuvwx"
    config = {**POST, "headers": {"x-api-key": secret}, "auth": {"type": "bearer", "token": secret}}
    provider = create(f"{service.url}/?key={secret}", config=config, env={}, base=tmp_path)
    request = provider.request(Prompt.of("hi"))
    assert secret.encode() not in request.identity
    assert secret not in repr(provider)
    service.status, service.answer = 401, f"wrong key: {secret}"
    with pytest.raises(AuthError) as caught:
        await provider.send(request, CodeHost())
    await provider.close()
    assert secret not in str(caught.value)


async def test_a_webhook_is_posted_the_prompt(service):
    """With its settings, and answers with an output."""
    service.answer = '{"output": "yes"}'
    provider = create(f"webhook:{service.url}/hook", config={"a": 1}, env={}, base=Path())
    answer = await provider.send(provider.request(Prompt.of("hi")), CodeHost())
    await provider.close()
    assert provider.reply(answer.body).text == "yes"
    assert json.loads(service.seen[0][3]) == {"prompt": "hi", "config": {"a": 1}}


@pytest.mark.parametrize("change", [{"body": {"q": "no"}}, {"transformResponse": "text"}])
def test_another_template_or_other_code_is_another_request(change):
    """What is cached for the old one does not stand for the new one."""
    one = create("http://x.y", config=POST, env={}, base=Path())
    two = create("http://x.y", config={**POST, **change}, env={}, base=Path())
    prompt = Prompt.of("hi")
    assert one.request(prompt).key != two.request(prompt).key
    assert one.request(prompt).key == one.request(prompt).key
