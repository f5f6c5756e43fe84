"""An OpenID Connect provider: the authorization code flow with PKCE, and ID tokens that are checked to the letter.

How this works: the provider's document says where it signs people in, gives tokens, and has its keys. A person is sent
there with a state, a nonce and the hash of a verifier, and comes back with a code. The code and the verifier are
exchanged for an ID token, from this machine to the provider. What the token says counts only if one of the provider's
keys signed it, for us, for this sign-in, and lately.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from evenhand.core.encoding import decode
from evenhand.core.errors import ProviderError, UsageError
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.providers.addresses import is_this_machine
from evenhand.providers.http import transport
from evenhand.wings.viewer.team_settings import OidcSettings, is_secure

ALGORITHMS: Mapping[str, str] = {
    "RS256": "RSA",
    "RS384": "RSA",
    "RS512": "RSA",
    "PS256": "RSA",
    "PS384": "RSA",
    "PS512": "RSA",
    "ES256": "EC",
    "ES384": "EC",
    "ES512": "EC",
    "EdDSA": "OKP",
}
"""How ID tokens may be signed, and the kind of key that it takes: never `none`, and never with a shared secret."""
LARGEST = 1 << 20
TIMEOUT_S = 10.0
LEEWAY_S = 60
KEYS_FOR_S = 3600.0
KEYS_AGAIN_S = 60.0
"""Seconds between two looks for a key that isn't known: who makes up tokens can't have us ask all the time."""


class SignInFailed(Exception):
    """Somebody could not be signed in.

    `reason` is for the one who runs the viewer; `message` is for the page.
    """

    def __init__(self, reason: str, message: str = "The sign-in failed.") -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = message


class OidcProvider:
    """A provider, as its own document describes it.

    Args:
        settings: Which one, and what it knows us as.
        redirect: Where people come back to.
        secret: The client's secret; empty for a client without one.
    """

    def __init__(self, settings: OidcSettings, redirect: str, secret: str) -> None:
        self._settings = settings
        self._redirect = redirect
        self._secret = secret
        self._about: Mapping[str, Any] = {}
        self._keys: list[Mapping[str, Any]] = []
        self._keys_at = 0.0

    async def discover(self) -> None:
        """Reads the provider's document.

        Raises:
            UsageError: There is none, or it is another provider's.
        """
        _jwt()
        issuer = self._settings.issuer
        address = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
        try:
            about = await _json(address)
        except SignInFailed as failed:
            raise UsageError(
                f"oidc.issuer: the provider's document cannot be read: {failed.reason}",
                hint=f"It is looked for at {address}.",
            ) from None
        if about.get("issuer") != issuer:
            raise UsageError(
                f"oidc.issuer is {issuer!r}, and the provider's document says {about.get('issuer')!r:.300}",
                hint="Write it as the document does, down to the slash at its end.",
            )
        plain = is_this_machine(urlsplit(issuer).hostname or "")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"):
            there = about.get(name)
            if there is None and name == "userinfo_endpoint":
                continue
            if not (
                isinstance(there, str)
                and is_secure(there)
                and (plain or there.startswith("https:"))
            ):
                raise UsageError(
                    f"oidc.issuer: the provider's {name} is {there!r:.300}, not an https:// address"
                )
        self._about = about

    def start(self, state: str, nonce: str, verifier: str, *, anew: bool) -> str:
        """The provider's address at which a person signs in.

        Args:
            state: Comes back with the person.
            nonce: Comes back in the token.
            verifier: Its hash goes with the person; it is itself needed to get the token.
            anew: Whether to ask who it is even of somebody who is signed in there.
        """
        digest = hashlib.sha256(verifier.encode()).digest()
        values = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": self._redirect,
            "scope": " ".join(dict.fromkeys(("openid", *self._settings.scopes))),
            "state": state,
            "nonce": nonce,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            **({"prompt": "login"} if anew else {}),
        }
        there = str(self._about["authorization_endpoint"])
        return f"{there}{'&' if '?' in there else '?'}{urlencode(values)}"

    async def person(self, code: str, verifier: str, nonce: str) -> tuple[str, list[str]]:
        """The name and the groups of whoever came back with a code.

        Raises:
            SignInFailed: The code gives no token, or the token doesn't hold.
        """
        tokens = await self._tokens(code, verifier)
        claims = await self._claims(str(tokens["id_token"]), nonce)
        if self._settings.name not in claims and "userinfo_endpoint" in self._about:
            claims = {**await self._user_info(tokens, claims["sub"]), **claims}
        name = claims.get(self._settings.name)
        if not isinstance(name, str):
            raise SignInFailed(f"the provider gives no claim {self._settings.name!r}")
        if self._settings.name == "email" and claims.get("email_verified") is not True:
            raise SignInFailed(
                f"the provider doesn't say that the address {name!r} is verified",
                "The provider doesn't say that your e-mail address is verified.",
            )
        groups = claims.get(self._settings.groups)
        return name, [one for one in groups if isinstance(one, str)] if is_array(groups) else []

    async def _user_info(self, tokens: Mapping[str, Any], sub: str) -> Mapping[str, Any]:
        """What a provider says elsewhere of the person of an ID token: some keep names out of tokens."""
        headers = {"Authorization": f"Bearer {tokens.get('access_token')}"}
        claims = await _json(str(self._about["userinfo_endpoint"]), headers=headers)
        if claims.get("sub") != sub:
            raise SignInFailed("the provider's user info is of somebody else")
        return claims

    async def _tokens(self, code: str, verifier: str) -> Mapping[str, Any]:
        """The tokens for a code."""
        settings = self._settings
        values = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect,
            "code_verifier": verifier,
        }
        headers: dict[str, str] = {}
        methods = self._about.get("token_endpoint_auth_methods_supported")
        basic = not is_array(methods) or "client_secret_basic" in methods
        if self._secret and basic:
            pair = f"{quote(settings.client_id, safe='')}:{quote(self._secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            values["client_id"] = settings.client_id
            if self._secret:
                values["client_secret"] = self._secret
        answer = await _json(str(self._about["token_endpoint"]), values, headers)
        if not isinstance(answer.get("id_token"), str):
            raise SignInFailed("the provider gave no ID token")
        return answer

    async def _claims(self, token: str, nonce: str) -> Mapping[str, Any]:
        """What an ID token says, if it holds."""
        jwt = _jwt()
        settings = self._settings
        try:
            header = jwt.get_unverified_header(token)
            alg = header.get("alg")
            if alg not in ALGORITHMS:
                raise SignInFailed(f"the ID token is signed by {alg!r:.40}")
            key = await self._key(header.get("kid"), str(alg))
            claims: dict[str, Any] = jwt.decode(
                token,
                key=jwt.PyJWK(dict(key), algorithm=alg),
                algorithms=[alg],
                audience=settings.client_id,
                issuer=settings.issuer,
                leeway=LEEWAY_S,
                options={"require": ["iss", "sub", "aud", "exp", "iat"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, KeyError) as error:
            raise SignInFailed(f"the ID token doesn't hold: {error}") from None
        audience = claims["aud"]
        party = claims.get("azp")
        if party != settings.client_id and (
            party is not None or (is_array(audience) and len(audience) > 1)
        ):
            raise SignInFailed("the ID token is for another client, too")
        sent = claims.get("nonce")
        if not isinstance(sent, str) or not hmac.compare_digest(
            sent.encode("utf-8", "replace"), nonce.encode()
        ):
            raise SignInFailed("the ID token is of another sign-in: its nonce differs")
        return claims

    async def _key(self, kid: object, alg: str) -> Mapping[str, Any]:
        """The provider's key of this id; looked for anew where it isn't known."""
        now = time.monotonic()
        age = now - self._keys_at
        if (
            not self._keys
            or age > KEYS_FOR_S
            or (age > KEYS_AGAIN_S and not self._fitting(kid, alg))
        ):
            answer = await _json(str(self._about["jwks_uri"]))
            keys = answer.get("keys")
            self._keys = [key for key in keys if is_mapping(key)] if is_array(keys) else []
            self._keys_at = now
        fitting = self._fitting(kid, alg)
        if len(fitting) != 1:
            raise SignInFailed(
                f"the provider has {len(fitting)} keys that may have signed the ID token"
            )
        return fitting[0]

    def _fitting(self, kid: object, alg: str) -> list[Mapping[str, Any]]:
        """The keys that may have signed a token. One for encryption, or for another algorithm, hasn't."""
        return [
            key
            for key in self._keys
            if (kid is None or key.get("kid") == kid)
            and key.get("kty") == ALGORITHMS[alg]
            and key.get("use", "sig") == "sig"
            and key.get("alg", alg) == alg
        ]


async def _json(
    address: str, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
) -> Mapping[str, Any]:
    """A JSON object of the provider's; never after a redirect, which could lead anywhere."""
    sent = {"Accept": "application/json", **(headers or {})}
    if form is not None:
        sent["Content-Type"] = "application/x-www-form-urlencoded"
    try:
        answer = await transport().post(
            address,
            sent,
            None if form is None else urlencode(form).encode(),
            TIMEOUT_S,
            "GET" if form is None else "POST",
            largest=LARGEST,
        )
        value = decode(answer.body)
    except ProviderError as error:
        raise SignInFailed(f"{address}: {error.message}") from None
    except ValueError:
        value = None
    else:
        if answer.status != 200:
            # The body may repeat the code, or a secret: only the error's name is of use.
            error = value.get("error") if is_mapping(value) else ""
            raise SignInFailed(f"{address} answered {answer.status} {error!r:.60}")
    if not is_mapping(value):
        raise SignInFailed(f"{address} didn't answer with a JSON object")
    return value


def _jwt() -> Any:
    try:
        import cryptography  # noqa: F401, PLC0415  # pyright: ignore[reportUnusedImport] (PyJWT needs it to check signatures)
        import jwt  # noqa: PLC0415 (on use: most viewers sign nobody in)
    except ImportError:
        raise UsageError(
            "signing in needs PyJWT", hint="Install it: pip install 'evenhand[team]'"
        ) from None
    return jwt
