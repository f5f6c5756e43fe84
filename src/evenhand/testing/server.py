"""A provider that answers from a script, over real HTTP, in a thread of its own.

It speaks OpenAI's chat completions and embeddings and Anthropic's messages well enough for the vendors' own SDKs, and
the other APIs that are spoken to here well enough for us; it fails as it is told to, and keeps the bill.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import formatdate
from functools import partial
from pathlib import Path
from typing import Any, Self

from evenhand.core.encoding import decoded
from evenhand.core.json_shapes import is_object
from evenhand.core.record import Record
from evenhand.providers.leading import leading_to
from evenhand.testing import decisions, shapes
from evenhand.testing.anthropic_batches import AnthropicBatches
from evenhand.testing.batch_files import BatchFiles
from evenhand.testing.batch_queue import BatchLine, BatchQueue, BatchRules
from evenhand.testing.connection import Connection, HttpRequest, response
from evenhand.testing.decisions import requests_in
from evenhand.testing.dialects import answered
from evenhand.testing.event_streams import streamed
from evenhand.testing.google_batches import GoogleBatches
from evenhand.testing.ledger import Ledger, request_key
from evenhand.testing.openai_batches import MistralBatches, OpenAIBatches
from evenhand.testing.script import Rule, Script, ScriptedRequest

LOGGED = 50_000
SLOW_S = 1.0
_MOMENT = re.compile(r"\{(date|time)\+(\d+(?:\.\d+)?)\}")
_KEY_HEADERS = ("x-api-key", "api-key", "x-goog-api-key")
_MAKES = ("/batches", "/batch/jobs", ":batchGenerateContent")
_UNHEARD = ("drop", "lose", "hang")  # faults without a status


class ReceivedRequest(Record, frozen=True):
    """A request that came in.

    Attributes:
        at: Monotonic seconds when it was read.
        key: The name of the request, as in the ledger.
        api_key: The key that it was sent with.
        status: The status it was answered with; 0 for a fault without one.
        fault: What went wrong on purpose.
        schema: The JSON Schema that the answer was to fit, keys in their order; None for none.
    """

    at: float
    path: str
    model: str
    key: str
    api_key: str
    status: int
    fault: str
    schema: Mapping[str, Any] | None = None


class FakeProvider:
    """A server to point `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL` at.

        with FakeProvider(Script([Rule(("capital of France",), "Paris")])) as fake:
            os.environ.update(fake.env())
            ...
            assert fake.ledger.repeated == 0

    Args:
        script: What it answers.
        api_key: The only key that is let in; empty lets everybody in.
        latency_ms: Before each answer, beside what a rule says. May be changed while it runs.
        ledger: A file to append each completion to.
        headers: Sent with every answer.
        port: Where to listen on 127.0.0.1; 0 for any free port.
        schemas: Whether a JSON Schema for the answer is taken. If not, a request with one is refused, as many servers
            do that otherwise speak a vendor's language.
        batches: How the batches of all vendors go.

    Attributes:
        url: Its address, once it has started.
        ledger: The bill.
        requests: What came in, the first 50,000.
        most_at_once: The most requests that ever waited for their answer at the same time.
        openai_batches: OpenAI's batches.
        anthropic_batches: Anthropic's message batches.
        google_batches: Gemini's batches.
        mistral_batches: Mistral's batch jobs.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        api_key: str = "",
        latency_ms: float = 0.0,
        ledger: Path | None = None,
        headers: Mapping[str, str] | None = None,
        port: int = 0,
        schemas: bool = True,
        batches: BatchRules | None = None,
    ) -> None:
        self.script = script or Script()
        self.ledger = Ledger(ledger)
        self.latency_ms = latency_ms
        self.requests: list[ReceivedRequest] = []
        self.most_at_once = 0
        self.url = ""
        self._api_key = api_key
        self._headers = headers or {}
        self._port = port
        self._schemas = schemas
        rules = batches or BatchRules()
        self.openai_batches = BatchQueue("batch_", self._in_batch, rules)
        self.anthropic_batches = BatchQueue("msgbatch_", self._in_batch, rules)
        self.google_batches = BatchQueue("gemini-", self._in_batch, rules, whole=True)
        self.mistral_batches = BatchQueue("mistral-", self._in_batch, rules)
        files = BatchFiles(self.openai_batches)
        self._batches = (
            GoogleBatches(self.google_batches),
            MistralBatches(self.mistral_batches, files),
            OpenAIBatches(self.openai_batches, files),
            AnthropicBatches(self.anthropic_batches),
        )
        self._waiting = 0
        self._number = 0
        self._attempts: dict[str, int] = {}
        self._models: dict[str, None] = {}
        self._connections: set[Connection] = set()
        # Not uvloop, even where a library has made it the default: its transports are of another class.
        self._loop = asyncio.SelectorEventLoop()
        self._thread = threading.Thread(target=self._serve, name="fake-provider", daemon=True)
        self._ready = threading.Event()
        self._trouble: BaseException | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Self:
        """Begins to listen.

        Raises:
            OSError: The port is taken.
        """
        self._thread.start()
        self._ready.wait()
        if self._trouble is not None:
            self.ledger.close()
            raise self._trouble
        return self

    def stop(self) -> None:
        """Stops listening and closes all connections. What waits for its latency gets no answer."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        elif not self._loop.is_closed():
            self._loop.close()
        self.ledger.close()

    def env(self) -> dict[str, str]:
        """The environment that leads the vendors' SDKs, and ours, here."""
        return leading_to(self.url, self._api_key or "scripted")

    def _serve(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        try:
            server = loop.run_until_complete(
                loop.create_server(lambda: Connection(self), "127.0.0.1", self._port, backlog=1024)
            )
        except OSError as error:
            self._trouble = error
            loop.close()
            self._ready.set()
            return
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        try:
            loop.run_forever()
        finally:
            server.close()
            for connection in list(self._connections):
                connection.abort()
            loop.run_until_complete(asyncio.sleep(0.01))  # lets the connections go
            loop.close()

    # Connections. From here on, all runs in the server's thread.

    def opened(self, connection: Connection) -> None:
        """Remembers a connection, to close it at the end."""
        self._connections.add(connection)

    def closed(self, connection: Connection) -> None:
        """Forgets a connection."""
        self._connections.discard(connection)

    def handle(self, connection: Connection, request: HttpRequest) -> None:
        """Answers a request, now or after its latency."""
        kind = shapes.kind_of(request.path) or self._own(request.path)
        batches = next((one for one in self._batches if one.handles(request)), None)
        if batches is not None and not kind:
            self._batch(connection, request, batches)
            return
        if request.method == "GET" or not kind:
            connection.answer(self._page(request))
            return
        body = decoded(request.body)
        if not is_object(body):
            connection.answer(self._refusal(kind, 400, "the body is not a JSON object"))
            return
        questions = requests_in(body, request.path) if kind in shapes.DECIDING else []
        prompt = questions[0] if questions else shapes.asked(body, request.path)
        api_key = _key_of(request)
        key = request_key(kind, body)
        attempt = self._attempts[key] = self._attempts.get(key, 0) + 1
        self._models[prompt.model] = None
        if self._api_key and api_key != self._api_key:
            self._log(prompt, key, api_key, 401)
            connection.answer(self._refusal(kind, 401, "invalid api key"))
            return
        if prompt.schema is not None and not self._schemas:
            self._log(prompt, key, api_key, 400)
            connection.answer(self._refusal(kind, 400, "a schema for the answer is not supported"))
            return
        measured = kind in shapes.MEASURED
        rule = (
            self._decided(questions)
            if questions
            else self.script.rule_for(prompt, by_path=measured)
        )
        if rule is None and measured:
            rule = Rule()
        if rule is None:
            self._log(prompt, key, api_key, 400)
            connection.answer(self._refusal(kind, 400, self.script.lacks(prompt)))
            return
        fault = rule.fault or self.script.fault_for(key, attempt)
        status = int(fault) if fault.isdigit() else 0 if fault in _UNHEARD else 200
        self._log(prompt, key, api_key, status, fault)
        self._waiting += 1
        self.most_at_once = max(self.most_at_once, self._waiting)
        delay = (self.latency_ms + rule.latency_ms) / 1000
        finish = partial(self._finish, connection, kind, body, prompt, rule, fault=fault, key=key)
        if delay:
            self._loop.call_later(delay, finish)
        else:
            finish()

    def _batch(
        self,
        connection: Connection,
        request: HttpRequest,
        batches: OpenAIBatches | AnthropicBatches | GoogleBatches | MistralBatches,
    ) -> None:
        """Answers what is asked of batches and of their files."""
        kind = shapes.MESSAGES if isinstance(batches, AnthropicBatches) else ""
        if self._api_key and _key_of(request) != self._api_key:
            connection.answer(self._refusal(kind, 401, "invalid api key"))
            return
        try:
            status, answer = batches.answer(request)
        except Exception as error:  # noqa: BLE001 (a reply that is a function may raise anything)
            why = f"the script's reply raised {type(error).__name__}: {error}"
            connection.answer(self._refusal(kind, 500, why))
            return
        data = answer if isinstance(answer, bytes) else shapes.written(answer)
        content = "application/octet-stream" if "/files/" in request.path else "application/json"
        whole = response(status, data, self._head(kind, None), content)
        makes = request.method == "POST" and request.path.endswith(_MAKES)
        if makes and batches.queue.rules.create_ms:
            delay_s = batches.queue.rules.create_ms / 1000
            self._loop.call_later(delay_s, connection.answer, whole)
        else:
            connection.answer(whole)

    def _in_batch(self, line: BatchLine) -> tuple[int, Any]:
        """The answer to one line of a batch, billed at half its price."""
        kind, body = shapes.kind_of(line.path), line.body
        prompt = shapes.asked(body, line.path)
        key = request_key(kind, body)
        attempt = self._attempts[key] = self._attempts.get(key, 0) + 1
        self._models[prompt.model] = None
        measured = kind in shapes.MEASURED
        rule = self.script.rule_for(prompt, by_path=measured)
        if rule is None and not measured:
            return 400, shapes.error(kind, 400, self.script.lacks(prompt))
        rule = rule or Rule()
        fault = rule.fault or self.script.fault_for(key, attempt)
        if fault:
            status = int(fault) if fault.isdigit() else 500
            return status, shapes.error(kind, status, f"scripted fault {fault}")
        self._number += 1
        answer = answered(kind, body, prompt, rule, self._number)
        self.ledger.bill(key, batched=True)
        self.ledger.deliver(key)
        return 200, answer

    def _decided(self, questions: Sequence[ScriptedRequest]) -> Rule | None:
        """One rule for all questions of a request, its reply a list of theirs; None where one has no rule."""
        rules = [self.script.rule_for(question) for question in questions]
        known = [rule for rule in rules if rule is not None]
        if len(known) < len(rules):
            return None
        first = next((rule for rule in known if rule.fault or rule.latency_ms), known[0])
        return replace(first, reply=[rule.reply for rule in known])

    def _own(self, path: str) -> str:
        """A path that is no vendor's, but that a rule names."""
        named = any(rule.path and re.search(rule.path, path) for rule in self.script.rules)
        return shapes.OWN if named else ""

    def _finish(
        self,
        connection: Connection,
        kind: str,
        body: Mapping[str, Any],
        prompt: ScriptedRequest,
        rule: Rule,
        fault: str,
        key: str,
    ) -> None:
        self._waiting -= 1
        if fault.isdigit():
            connection.answer(self._refusal(kind, int(fault), f"scripted fault {fault}", rule))
            return
        if fault == "drop":
            connection.abort()
            return
        if fault == "hang" or connection.gone:  # nobody waits: the vendor stops generating
            return
        try:
            data, content = self._generated(kind, body, prompt, rule, fault)
        except Exception as error:  # noqa: BLE001 (a reply that is a function may raise anything)
            why = f"the script's reply raised {type(error).__name__}: {error}"
            connection.answer(self._refusal(kind, 500, why))
            return
        self.ledger.bill(key)
        self._send(connection, fault, data, self._head(kind, rule), content, key)

    def _generated(
        self, kind: str, body: Mapping[str, Any], prompt: ScriptedRequest, rule: Rule, fault: str
    ) -> tuple[bytes, str]:
        """A completion as bytes, and what kind of content they are."""
        self._number += 1
        if kind in shapes.DECIDING:
            return shapes.written(decisions.answered(body, rule.reply, fault)), "application/json"
        answer = answered(kind, body, prompt, rule, self._number)
        stream = streamed(kind, answer, body, prompt.path)
        return stream or (shapes.written(answer), "application/json")

    def _send(
        self, connection: Connection, fault: str, data: bytes, head: str, content: str, key: str
    ) -> None:
        whole = response(200, data, head, content)
        if fault == "lose":
            connection.abort()
        elif fault == "truncate":
            connection.answer(whole[: -len(data) // 2], close=True)
        elif fault == "reset":
            connection.reset(whole[: -len(data) // 2])
        elif fault == "malformed":
            connection.answer(response(200, data[: len(data) // 2], head, content))
        elif fault == "html":
            page = b"<html><body><h1>Sign in to the network</h1></body></html>"
            connection.answer(response(200, page, head, "text/html"))
        elif fault == "empty":
            connection.answer(response(200, b"", head, content))
        elif fault == "silent":
            silent = response(200, shapes.silenced(data, content), head, content)
            connection.answer(silent, delivered=lambda: self.ledger.deliver(key))
        elif fault == "slow":
            connection.trickle(whole, SLOW_S, lambda: self.ledger.deliver(key))
        else:
            connection.answer(whole, delivered=lambda: self.ledger.deliver(key))

    def _page(self, request: HttpRequest) -> bytes:
        """What is not a completion: the bill, the models, and that there is nothing else."""
        path = request.path.partition("?")[0]
        if request.method == "GET" and path == "/ledger":
            return response(200, self.ledger.as_json().encode(), "")
        if request.method == "GET" and path.endswith("/models"):
            named = {rule.model: None for rule in self.script.rules if rule.model}
            return response(200, shapes.written(shapes.models([*named, *self._models])), "")
        return self._refusal("", 404, f"there is nothing at {request.method} {path}")

    def _refusal(self, kind: str, status: int, message: str, rule: Rule | None = None) -> bytes:
        return response(
            status, shapes.written(shapes.error(kind, status, message)), self._head(kind, rule)
        )

    def _head(self, kind: str, rule: Rule | None) -> str:
        """The lines of an answer's headers."""
        now = time.time()
        name = "request-id" if kind == shapes.MESSAGES else "x-request-id"
        lines = {"date": formatdate(now, usegmt=True), name: f"req_{self._number}", **self._headers}
        if rule is not None:
            lines.update(rule.headers)
            if rule.retry_after:
                lines["retry-after"] = rule.retry_after
        return "".join(f"{key}: {_timed(value, now)}\r\n" for key, value in lines.items())

    def _log(
        self, prompt: ScriptedRequest, key: str, api_key: str, status: int, fault: str = ""
    ) -> None:
        if len(self.requests) < LOGGED:
            at = time.monotonic()
            self.requests.append(
                ReceivedRequest(
                    at=at,
                    path=prompt.path,
                    model=prompt.model,
                    key=key,
                    api_key=api_key,
                    status=status,
                    fault=fault,
                    schema=prompt.schema,
                )
            )


def _key_of(request: HttpRequest) -> str:
    sent = request.headers
    named = next((sent[name] for name in _KEY_HEADERS if sent.get(name)), "")
    return named or sent.get("authorization", "").removeprefix("Bearer ")


def _timed(value: str, now: float) -> str:
    """A header's value with the moments in it written out."""
    if "{" not in value:
        return value

    def moment(match: re.Match[str]) -> str:
        then = now + float(match[2])
        if match[1] == "date":
            return formatdate(then, usegmt=True)
        return datetime.fromtimestamp(then, UTC).isoformat().replace("+00:00", "Z")

    return _MOMENT.sub(moment, value)
