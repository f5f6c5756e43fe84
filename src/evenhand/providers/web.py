"""A web service that stands for a model. Its config says what is sent to it, and what to make of its answer.

Templates are filled in by what the front door has for it; see `evenhand.providers.wanted`.
What the code made of an answer is what is journaled: code that has changed is another model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from msgspec import to_builtins

from evenhand.core.encoding import decode, decoded, digest, encode
from evenhand.core.errors import (
    BadReply,
    BadRequest,
    CodeError,
    FailedCode,
    NoOutput,
    Overloaded,
    TemplateError,
    UnknownModel,
)
from evenhand.core.json_shapes import as_mapping
from evenhand.core.message import CHATS, Prompt, Reply, Task
from evenhand.core.provider import Answer, Host, Request
from evenhand.core.secrets import redacted, secrets_mark
from evenhand.languages.javascript import running as javascript
from evenhand.languages.javascript.references import is_reference, split_reference
from evenhand.languages.javascript.source import function_text
from evenhand.providers import http
from evenhand.providers.agent_servers import served_answer
from evenhand.providers.answer_text import NoAnswer
from evenhand.providers.chat import seconds
from evenhand.providers.faults import fault
from evenhand.providers.http_answer import answered
from evenhand.providers.local_code import code_digest, replied
from evenhand.providers.prices import call_bound
from evenhand.providers.wanted import Fill, Wanted
from evenhand.providers.web_request import (
    Credentials,
    WebRequest,
    credentials,
    filled_in,
    method_of,
    raw,
    with_query,
)

_TRANSFORMS = (
    "transformRequest", "transformResponse", "responseParser", "validateStatus", "sessionParser",
)  # fmt: skip
_OFF = (401, 403, 404, 501)
"""Statuses after which nothing better will come: they end the run."""


def make(wanted: Wanted) -> WebProvider:
    """A web service at the address of the id, or of `config.url`."""
    config = wanted.config
    url = str(config.get("url") or (f"{wanted.kind}:{wanted.rest}" if wanted.rest else ""))
    request = config.get("request")
    if not url and not request:
        raise wanted.refused("has no address", "Set config.url, or config.request.")
    if not request and config.get("body") is None and method_of(config, url).upper() != "GET":
        raise wanted.refused("has no body to send", "Set config.body, or config.method: GET.")
    if isinstance(request, str) and request.startswith("file://"):
        path = wanted.base / request.removeprefix("file://")
        try:
            config = {**config, "request": path.read_text("utf-8")}
        except (OSError, UnicodeDecodeError) as error:
            raise wanted.refused(f"names {path.name}, which cannot be read: {error}") from None
    return WebProvider(
        id=wanted.id,
        label=wanted.label or wanted.id,
        url=url,
        config=config,
        folder=wanted.base,
        fill=wanted.fill,
        credentials=credentials(wanted),
        timeout_s=seconds(config, wanted.id),
    )


@dataclass(slots=True, kw_only=True)
class WebProvider:
    """A web service. Implements `evenhand.core.provider.Provider`."""

    id: str
    label: str
    url: str = field(repr=False)
    config: Mapping[str, Any] = field(repr=False)
    folder: Path
    fill: Fill = field(repr=False)
    credentials: Credentials
    timeout_s: float
    remote: ClassVar[bool] = True
    account: str = field(init=False)
    paid: bool = field(init=False, default=True)
    tasks: frozenset[Task] = field(init=False, default=CHATS)
    files: tuple[Path, ...] = field(init=False, repr=False)
    _code: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            host = urlsplit(self.url).netloc.rpartition("@")[2]
        except ValueError:
            host = ""
        who = encode({"auth": self.credentials.auth, "headers": self.config.get("headers")})
        self.account = f"{host or self.id} #{digest(who)[:8]}"
        code = [str(self.config.get(name) or "") for name in _TRANSFORMS]
        self.files = tuple(path for text in code for path in files_in(text, self.folder))
        self._code = code_digest(*self.files) if self.files else ""

    def request(self, prompt: Prompt) -> Request:
        config = {**self.config, **prompt.config}
        meant = {k: v for k, v in config.items() if k not in ("auth", "timeoutMs")}
        parts = {
            "code": self._code,
            "config": redacted(meant),
            "prompt": prompt.text,
            "url": redacted(self.url),
            "vars": prompt.vars,
        }
        identity = encode(parts)
        return Request(
            identity=identity,
            key=digest(identity),
            payload=(config, prompt.text, {**prompt.vars, "prompt": prompt.text}),
            tokens_in=len(prompt.text) // 4,
            cost_bound_usd=call_bound(config),
            unsent=secrets_mark([config.get("auth"), meant, self.url]),
        )

    async def send(self, request: Request, host: Host) -> Answer:
        config, text, variables = request.payload
        try:
            built = await self._built(config, text, variables, host)
            answer = await http.transport().post(
                built.url, built.headers, built.body, self.timeout_s, built.method
            )
            await self._accept(answer, host)
            result = await self._made(answer, host)
        except (CodeError, TemplateError) as error:
            kind = FailedCode if isinstance(error, CodeError) else BadRequest
            raise kind(f"{self.id}: {error.message}", hint=error.hint) from error
        return replace(answered(answer), body=result)

    def reply(self, body: bytes) -> Reply:
        row = as_mapping(decode(body))
        if "output" not in row:
            raise BadReply("what the web service answered cannot be read", billed=None)
        return replied(row, row["output"])

    async def close(self) -> None:
        await http.close()

    async def _built(
        self, config: Mapping[str, Any], text: str, variables: dict[str, Any], host: Host
    ) -> WebRequest:
        """The request, filled in, with what says who asks."""
        token = await self.credentials.token(variables)
        if token:
            variables = {**variables, "token": token}
        prompt: object = text
        if config.get("transformRequest"):
            arguments = {"prompt": text, "vars": variables, "context": {"vars": variables}}
            code = str(config["transformRequest"])
            prompt = await run(code, arguments, self.folder, host, name="transformRequest")
        fill = self.fill
        if config.get("request"):
            https = self.url.startswith("https") or bool(config.get("useHttps"))
            built = raw(config["request"], prompt, variables, fill, https=https)
        else:
            built = filled_in(config, self.url, prompt, variables, fill)
        return replace(
            built,
            url=with_query(built.url, self.credentials.query(variables)),
            headers={**built.headers, **self.credentials.headers(token, variables)},
        )

    async def _accept(self, answer: http.HttpAnswer, host: Host) -> None:
        """Lets an answer pass, or says which way the call failed.

        Without `validateStatus` an answer with another status than 200 is an answer too, unless it says that the
        service is out of order or wants to be left alone.

        Raises:
            ProviderError: It does not pass.
        """
        status, rule = answer.status, self.config.get("validateStatus")
        if rule:
            arguments = {"status": status}
            if await run(str(rule), arguments, self.folder, host, name="validateStatus"):
                return
        elif status < 500 and status not in (*_OFF, 429):
            return
        where = self.account.partition(" #")[0]
        problem = fault(answer, host=where, key_hint="Look at auth and headers in its config.")
        if status == 501:
            raise UnknownModel(problem.message, hint="Look at the address.", status=501)
        if isinstance(problem, (BadReply, Overloaded)) and rule and status < 500:
            problem = BadRequest(problem.message, status=status, body=problem.body)
        raise problem

    async def _made(self, answer: http.HttpAnswer, host: Host) -> bytes:
        """What is kept of an answer: what the config's code makes of it, or else its JSON, or else its text."""
        text = answer.body.decode("utf-8", "replace")
        parsed = decoded(text)
        code = self.config.get("transformResponse") or self.config.get("responseParser")
        if not code and text.strip() in ("", "null"):
            raise NoAnswer(f"{self.id} answered {answer.status} with nothing", billed=None)
        try:
            served = served_answer(answer.body)
        except NoAnswer:
            if not code:
                raise
            served = None  # what the answer comes to is for the config's code to say
        words = text if served is None else served.text
        result: object = {"output": parsed or words}
        headers = {k.lower(): v for k, v in answer.headers.items()}
        if code:
            context = {
                "data": text,
                "status": answer.status,
                "headers": headers,
                "latencyMs": round(answer.latency_s * 1000),
            }
            arguments = {"json": parsed or None, "text": text, "context": {"response": context}}
            result = await run(str(code), arguments, self.folder, host, name="transformResponse")
            if not isinstance(result, Mapping) or not ({"output", "error"} & result.keys()):
                result = {"output": result}
        row = {**as_mapping(result)}
        if row.get("error"):
            raise BadRequest(f"{self.id} answered with an error: {row['error']}", billed=None)
        if row.get("output") is None:
            raise NoOutput(
                f"{self.id}: transformResponse found no output in: {text[:200]}", billed=None
            )
        if served is not None:
            row = {**_served(served), **row}
        if "tokenUsage" not in row:
            row["tokenUsage"] = as_mapping(parsed).get("tokenUsage") or self._estimate(text, row)
        row["metadata"] = {**as_mapping(row.get("metadata")), "http": {"status": answer.status}}
        if self.config.get("sessionParser"):
            data = {"data": {"headers": headers, "body": parsed or text}}
            parser = str(self.config["sessionParser"])
            row["sessionId"] = await run(parser, data, self.folder, host, name="sessionParser")
        try:
            return encode(row, ordered=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise FailedCode(f"{self.id} answered with what cannot be kept: {error}") from error

    def _estimate(self, text: str, row: Mapping[str, Any]) -> dict[str, int]:
        """Tokens by the word, where the config wants them guessed."""
        estimate = as_mapping(self.config.get("tokenEstimation"))
        if not estimate.get("enabled"):
            return {}
        factor = float(estimate.get("multiplier") or 1.3)
        output = row["output"]
        written = output if isinstance(output, str) else text
        return {"completion": math.ceil(len(written.split()) * factor)}


def _served(reply: Reply) -> dict[str, Any]:
    """What the answer of an agent says beside its text, where `transformResponse` says nothing else."""
    usage = {"prompt": reply.usage.tokens_in, "completion": reply.usage.tokens_out}
    usd = {} if reply.cost_usd is None else {"cost": reply.cost_usd}
    counts = {} if None in usage.values() else {"tokenUsage": usage}
    return {"steps": to_builtins(reply.steps), **counts, **usd}


_FUNCTION = re.compile(r"(?:async\s*)?(?:\([^)]*\)\s*=>|[\w$]+\s*=>|function\b)")
_RETURNS = re.compile(r"\breturn\b")


async def run(
    code: str, arguments: Mapping[str, object], folder: Path, host: Host, *, name: str
) -> object:
    """What the code makes of these arguments.

    Args:
        code: `file://x.js[:name]`, `file://x.py[:name]`, or JavaScript: a function, an expression, or lines with a
            `return`.
        arguments: By the names under which an expression finds them, in the order in which a function gets them.
        folder: Where paths start from.
        name: What to call it when it fails; a Python file's function is called so, too, where none is named, in
            Python's way of writing: `transform_response`.

    Raises:
        CodeError: It is not that, raised, or took too long.
    """
    if code.startswith("file://") and not is_reference(code):
        path, function = _python(code, name)
        target = await host.load(folder / path, function)
        return await host.call(target, *arguments.values(), name=f"{Path(path).name}:{function}")
    if is_reference(code):
        path, export = split_reference(code)
        script = javascript.function(folder / path, export)
    else:
        script = javascript.JavaScriptCode(
            name, function_text(_body(code, tuple(arguments)), tuple(arguments))
        )
    return (await javascript.call(host, script, *arguments.values())).value


def files_in(code: str, folder: Path) -> list[Path]:
    """The file that the code is in, if it is in one."""
    if not code.startswith("file://"):
        return []
    return [folder / (split_reference(code) if is_reference(code) else _split(code))[0]]


def _body(code: str, parameters: tuple[str, ...]) -> str:
    text = code.strip().rstrip(";")
    if _FUNCTION.match(text):
        return f"return ({text})({', '.join(parameters)});"
    return code if _RETURNS.search(text) else f"return ({text});"


def _python(code: str, name: str) -> tuple[str, str]:
    path, function = _split(code)
    if not path.endswith(".py"):
        raise CodeError(
            f"{name} is in {path}, which is neither JavaScript nor Python",
            hint="Write file://transform.js or file://transform.py:<function>.",
        )
    return path, function or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _split(code: str) -> tuple[str, str]:
    text = code.removeprefix("file://")
    path, colon, function = text.rpartition(":")
    return (path, function) if colon and path.endswith(".py") else (text, "")
