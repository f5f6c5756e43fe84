"""A web service's request, written down as a template, and filled in."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode, urljoin

from evenhand.core.encoding import decoded, encode
from evenhand.core.errors import AuthError, BadRequest
from evenhand.core.json_shapes import as_mapping, is_array, is_object
from evenhand.core.record import Record
from evenhand.core.secrets import known
from evenhand.providers import http
from evenhand.providers.faults import fault
from evenhand.providers.message_forms import bare_inside
from evenhand.providers.wanted import Fill, Wanted

_FIRST = re.compile(r"([A-Za-z]+)\s+(\S.*?)(?:\s+HTTP/\d(?:\.\d)?)?", re.ASCII)
_TAG = re.compile(r"\{\{.*?\}\}", re.DOTALL)


class WebRequest(Record, frozen=True):
    """What is sent. Names of headers are in lower case."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None


def filled_in(
    config: Mapping[str, Any], url: str, prompt: object, variables: Mapping[str, Any], fill: Fill
) -> WebRequest:
    """The request that a config describes by `url`, `method`, `headers`, `queryParams` and `body`.

    Args:
        prompt: The prompt, as `transformRequest` left it: text, or an object whose fields go over those of the body.
        variables: What templates may use; `prompt` is the prompt as it was.
    """
    body = config.get("body")
    method = fill(method_of(config, url), variables).upper()
    headers = {"content-type": _kind(body)} if body is not None and method != "GET" else {}
    headers.update({str(k).lower(): str(v) for k, v in as_mapping(config.get("headers")).items()})
    headers = {name: fill(value, variables) for name, value in headers.items()}
    is_json = "application/json" in headers.get("content-type", "")
    if isinstance(body, (dict, list)) and not is_json and method != "GET":
        raise BadRequest(
            "the body is an object, and the content type is not JSON",
            hint="Say content-type: application/json, or write the body as a text.",
        )
    query = {k: fill(str(v), variables) for k, v in as_mapping(config.get("queryParams")).items()}
    return WebRequest(
        method,
        with_query(fill(url, variables), query),
        headers,
        None if method == "GET" else _body(body, prompt, variables, fill, is_json=is_json),
    )


def method_of(config: Mapping[str, Any], url: str) -> str:
    """The method, perhaps as a template; where the config names none, POST if only a body can hold the prompt."""
    method = config.get("method")
    if method:
        return str(method)
    tagged = "{{" in f"{url}{config.get('queryParams', '')}"
    return "GET" if tagged or config.get("body") is None else "POST"


def _kind(body: object) -> str:
    return (
        "application/json"
        if isinstance(body, (dict, list))
        else "application/x-www-form-urlencoded"
    )


def with_query(url: str, query: Mapping[str, str]) -> str:
    """An address with more in its query."""
    if not query:
        return url
    start, hash_, fragment = url.partition("#")
    return f"{start}{'&' if '?' in start else '?'}{urlencode(query)}{hash_}{fragment}"


def _body(
    body: object, prompt: object, variables: Mapping[str, Any], fill: Fill, *, is_json: bool
) -> bytes | None:
    with_prompt = {**variables, "prompt": prompt}
    if is_json and isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return _from_template(body, with_prompt, fill)
    if is_json and is_object(prompt):
        return encode({**as_mapping(body), **prompt}, ordered=False)
    if body is None:
        return None
    if is_json:
        return encode(bare_inside(_deep(body, with_prompt, fill)), ordered=False)
    return fill(str(body), with_prompt).encode("utf-8", "replace")


def _deep(value: object, variables: Mapping[str, Any], fill: Fill) -> object:
    """A value whose texts are filled in; one that then is a JSON object or list becomes that."""
    if isinstance(value, str):
        text = fill(value, variables)
        if text.lstrip()[:1] in ("{", "["):
            try:
                return json.loads(text)
            except ValueError:
                return text
        return text
    if is_object(value):
        items = value.items()
        return {key: _deep(item, variables, fill) for key, item in items}
    if is_array(value):
        return [_deep(item, variables, fill) for item in value]
    return value


def _from_template(template: str, variables: Mapping[str, Any], fill: Fill) -> bytes:
    """JSON from a template of it; where values break it, they are escaped as parts of a JSON text."""
    for values in (variables, _escaped(variables)):
        try:
            return encode(bare_inside(json.loads(fill(template, values))), ordered=False)
        except ValueError:
            continue
    return fill(template, variables).encode("utf-8", "replace")


def _escaped(variables: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: json.dumps(value, ensure_ascii=False)[1:-1] if isinstance(value, str) else value
        for name, value in variables.items()
    }


def raw(
    template: str, prompt: object, variables: Mapping[str, Any], fill: Fill, *, https: bool
) -> WebRequest:
    """The request that is written out as HTTP, with its first line, headers, an empty line, and a body.

    Only `{{ … }}` is filled in: `{%` is text here. Values are escaped as parts of a JSON text.

    Raises:
        BadRequest: It cannot be read.
    """
    values = _escaped({**variables, "prompt": prompt})
    text = _TAG.sub(lambda tag: fill(tag[0], values), template.replace("\r\n", "\n").strip())
    head, _, body = text.partition("\n\n")
    first, *lines = head.split("\n")
    match = _FIRST.fullmatch(first.strip())
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise BadRequest(f"the raw request has a header without a colon: {line[:80]!r}")
        headers[name.strip().lower()] = value.strip()
    host = headers.pop("host", "")
    headers.pop("content-length", None)
    if match is None or not host:
        raise BadRequest(
            "the raw request cannot be read",
            hint="It begins with a line such as POST /chat HTTP/1.1, and has a Host header.",
        )
    path = quote(match[2], safe="/?&=#%:;,+@!$'()*~[]-._")
    url = urljoin(f"{'https' if https else 'http'}://{host}", path)
    return WebRequest(
        match[1].upper(),
        url,
        headers,
        body.strip().encode("utf-8", "replace") if body.strip() else None,
    )


KINDS = ("bearer", "basic", "api_key", "oauth")
EARLY_S = 60.0
"""A token is fetched again this long before it ends."""


@dataclass(slots=True)
class Credentials:
    """What `auth` of a config says. Nothing of it is in a request's identity, in the journal or in a message.

    Attributes:
        auth: The setting; empty for none.
    """

    auth: Mapping[str, Any] = field(repr=False)
    fill: Fill = field(repr=False)
    _token: str = field(init=False, repr=False, default="")
    _ends_at: float = field(init=False, repr=False, default=0.0)
    _fetching: asyncio.Task[None] | None = field(init=False, repr=False, default=None)

    async def token(self, variables: Mapping[str, Any]) -> str:
        """The token of an OAuth grant, fetched anew when it is about to end; empty for other kinds.

        Raises:
            ProviderError: It cannot be had.
        """
        if self.auth.get("type") != "oauth":
            return ""
        if time.monotonic() + EARLY_S >= self._ends_at:
            if self._fetching is None or self._fetching.done():  # all who wait share one request
                self._fetching = asyncio.ensure_future(self._fetch(variables))
            await asyncio.shield(self._fetching)
        return self._token

    def headers(self, token: str, variables: Mapping[str, Any]) -> dict[str, str]:
        """The headers that say who asks."""
        kind = self.auth.get("type")
        if kind == "oauth":
            return {"authorization": f"Bearer {token}"}
        if kind == "bearer":
            return {"authorization": f"Bearer {self._setting('token', variables)}"}
        if kind == "basic":
            pair = f"{self._setting('username', variables)}:{self._setting('password', variables)}"
            return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        if kind == "api_key" and self.auth.get("placement", "header") == "header":
            return {self._setting("keyName", variables).lower(): self._setting("value", variables)}
        return {}

    def query(self, variables: Mapping[str, Any]) -> dict[str, str]:
        """The part of the address that says who asks."""
        if self.auth.get("type") == "api_key" and self.auth.get("placement") == "query":
            return {self._setting("keyName", variables): self._setting("value", variables)}
        return {}

    async def _fetch(self, variables: Mapping[str, Any]) -> None:
        form = {"grant_type": str(self.auth.get("grantType") or "client_credentials")}
        for ours, theirs in _FIELDS.items():
            if self.auth.get(ours):
                form[theirs] = self._setting(ours, variables)
        scopes = self.auth.get("scopes")
        if scopes:
            form["scope"] = " ".join(self.fill(str(scope), variables) for scope in scopes)
        url = self._setting("tokenUrl", variables)
        kind = {"content-type": "application/x-www-form-urlencoded"}
        answer = await http.transport().post(url, kind, urlencode(form).encode())
        host = url.partition("//")[2].partition("/")[0]
        if answer.status != 200:
            raise fault(answer, host=host, key_hint="Look at auth in the provider's config.")
        grant = as_mapping(decoded(answer.body))
        token, lasts = grant.get("access_token"), grant.get("expires_in")
        if not isinstance(token, str) or not token:
            raise AuthError(f"{host} gave no access_token", hint="Look at auth.tokenUrl.")
        known.learn([token])
        self._token = token
        self._ends_at = time.monotonic() + (lasts if isinstance(lasts, (int, float)) else 3600)

    def _setting(self, name: str, variables: Mapping[str, Any]) -> str:
        return self.fill(str(self.auth.get(name) or ""), variables)


_FIELDS = {
    "clientId": "client_id",
    "clientSecret": "client_secret",
    "username": "username",
    "password": "password",
}


def credentials(wanted: Wanted) -> Credentials:
    """What the config's `auth` says.

    Raises:
        UsageError: It is of a kind that is not known here.
    """
    auth = as_mapping(wanted.config.get("auth"))
    if auth and auth.get("type") not in KINDS:
        raise wanted.refused(
            f"wants auth of type {auth.get('type')!r}", f"Known are: {', '.join(KINDS)}."
        )
    for name in ("signatureAuth", "tls", "session", "multipart"):
        if wanted.config.get(name):
            raise wanted.refused(
                f"has '{name}', which is not supported",
                "Put a Python function in its place: python:provider.py:call_api.",
            )
    return Credentials(auth, wanted.fill)
