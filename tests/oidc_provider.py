"""A small OpenID Connect provider on a loopback port: document, keys, codes with PKCE, tokens right and wrong."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

CLIENT, SECRET = "evenhand", "the secret of the client: 7Wq2"


@cache
def key() -> RSAPrivateKey:
    """The provider's key: one for all tests, since making it takes a while."""
    return generate_private_key(65537, 2048)


def public(of: RSAPrivateKey, kid: str = "one") -> dict[str, Any]:
    """A key as the provider publishes it."""
    return {
        **jwt.algorithms.RSAAlgorithm.to_jwk(of.public_key(), as_dict=True),
        "kid": kid,
        "use": "sig",
    }


def signed(claims: dict[str, Any]) -> str:
    """An ID token, as it should be."""
    return jwt.encode(claims, key(), algorithm="RS256", headers={"kid": "one"})


class Provider:
    """What it knows, and what it says. Tests change its attributes.

    Attributes:
        people: By user name, the claims about each.
        user: Who is signed in there; empty: a page asks.
        change: Changes the claims of a token.
        sign: Makes a token of claims.
        replayed: Whether it takes a code again.
        info: What it says of whoever has an access token.
        asked: The values of all requests for a sign-in.
    """

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.people: dict[str, dict[str, Any]] = {
            name: {"email": f"{name}@example.com", "email_verified": True, "groups": groups}
            for name, groups in (("ann", ["evals"]), ("bob", ["evals"]), ("eve", []))
        }
        self.user = "ann"
        self.change: Callable[[dict[str, Any]], object] = lambda claims: None
        self.sign: Callable[[dict[str, Any]], str] = signed
        self.replayed = False
        self.keys = [public(key())]
        self.document: dict[str, Any] = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/keys",
        }
        self.info: dict[str, Any] = {}
        self.asked: list[dict[str, str]] = []
        self.tokens = 0
        self._codes: dict[str, tuple[str, dict[str, str]]] = {}

    def authorize(self, query: dict[str, str]) -> tuple[str, str]:
        """Where the browser is sent, or the page that asks who it is."""
        user = query.pop("user", "") or self.user
        if not user:
            links = "".join(
                f'<a href="/authorize?{urlencode({**query, "user": name})}">{name}</a> '
                for name in self.people
            ).replace("&", "&amp;")
            return "", f"<!doctype html><title>Who are you?</title>{links}"
        self.asked.append(query)
        assert query["response_type"] == "code"
        assert query["client_id"] == CLIENT
        assert query["code_challenge_method"] == "S256"
        assert "openid" in query["scope"].split()
        code = secrets.token_urlsafe(16)
        self._codes[code] = user, query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}", ""

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """A token for a code."""
        self.tokens += 1
        pair = base64.b64decode(authorization.removeprefix("Basic ")).decode().split(":")
        if [unquote(part) for part in pair] != [CLIENT, SECRET]:
            return 401, {"error": "invalid_client"}
        code = form.get("code", "")
        user, query = (
            self._codes.get(code, ("", {})) if self.replayed else self._codes.pop(code, ("", {}))
        )
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            not user
            or challenge != query["code_challenge"]
            or form["redirect_uri"] != query["redirect_uri"]
        ):
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": self.issuer,
            "sub": user,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": query["nonce"],
            **self.people[user],
        }
        self.change(claims)
        return 200, {"access_token": "x", "token_type": "Bearer", "id_token": self.sign(claims)}


@contextmanager
def provider() -> Iterator[Provider]:
    """A provider, as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if parts.path == "/.well-known/openid-configuration":
                self._answer(200, json.dumps(there.document))
            elif parts.path == "/keys":
                self._answer(200, json.dumps({"keys": there.keys}))
            elif parts.path == "/info" and self.headers["Authorization"] == "Bearer x":
                self._answer(200, json.dumps(there.info))
            elif parts.path == "/authorize":
                to, page = there.authorize(query)
                if to:
                    self._answer(303, "", Location=to)
                else:
                    self._answer(200, page, Content_Type="text/html")
            else:
                self._answer(404, "{}")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            status, answer = there.token(form, self.headers.get("Authorization", ""))
            self._answer(status, json.dumps(answer))

        def _answer(self, status: int, text: str, **headers: str) -> None:
            self.send_response(status)
            for name, value in {"Content_Type": "application/json", **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name there)
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        there = Provider(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield there
        finally:
            server.shutdown()
            thread.join()
