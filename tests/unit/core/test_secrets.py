"""What a secret is, and that it is found however it is written."""

from __future__ import annotations

import base64
import json
import urllib.parse
from typing import Any

import pytest

from evenhand.core.secrets import HIDDEN, Secrets, is_telling, redacted


@pytest.mark.parametrize(
    "value",
    ["test", "1234", "k", "true", "localhost", "", "two words", "0" * 40, "12345678901", "gpt-5-mini", "production"],
)  # fmt: skip
def test_a_short_or_common_value_is_not_telling(value: str) -> None:
    """It would be found in ordinary text."""
    assert not is_telling(value)


@pytest.mark.parametrize(
    "value",
    ["Tr0ub4dor", "sk-0123456789abcdef", "correct-horse-battery", "pä$$W0rd", "hdrsecret998877"],
)
def test_a_long_or_mixed_value_is_telling(value: str) -> None:
    """16 characters, or 12 of two kinds, or 8 of three."""
    assert is_telling(value)


@pytest.mark.parametrize(
    ("settings", "secret"),
    [
        ({"apiKey": "abcdef0123456789"}, "abcdef0123456789"),
        ({"headers": {"X-Api-Secret": "abcdef0123456789"}}, "abcdef0123456789"),
        ({"headers": {"Ocp-Apim-Subscription-Key": "abcdef0123456789"}}, "abcdef0123456789"),
        ({"headers": {"Authorization": "Basic abcdef0123456789=="}}, "abcdef0123456789"),
        ({"headers": {"Cookie": "a=b; sid=abcdef0123456789"}}, "abcdef0123456789"),
        ({"auth": {"type": "basic", "password": "Passw0rd!"}}, "Passw0rd!"),
        ({"auth": {"type": "api_key", "value": "abcdef0123456789"}}, "abcdef0123456789"),
        ({"url": "https://x/y?z=1&sig=abcdef0123456789"}, "abcdef0123456789"),
        ({"url": "https://ada:abcdef0123456789@x/"}, "abcdef0123456789"),
        ({"url": "https://ada:p%40ss%2Fw0rd-ABCDEF@x/"}, "p@ss/w0rd-ABCDEF"),
        ({"deep": [{"api_keys": ["abcdef0123456789"]}]}, "abcdef0123456789"),
        (["https://ada:abcdef0123456789@x/"], "abcdef0123456789"),
    ],
)
def test_a_secret_of_settings_is_found_wherever_it_stands(settings: Any, secret: str) -> None:
    """Under its name, in headers, in addresses."""
    secrets = Secrets()
    secrets.learn_settings(settings)
    assert secrets.text(f"<{secret}>") == f"<{HIDDEN}>"


@pytest.mark.parametrize(
    "settings",
    [
        {"headers": {"Content-Type": "application/json;charset=utf-8"}},
        {"max_tokens": "10000000000000000", "temperature": 0.1, "model": "gpt-5-mini-2025-08-07"},
        {"apiBaseUrl": "https://api.example.com/v1?version=2024-01-01-preview"},
        {"system": "Answer as a friendly assistant."},
    ],
)
def test_ordinary_settings_hold_no_secret(settings: Any) -> None:
    """Nothing is taken out of replies for them."""
    secrets = Secrets()
    secrets.learn_settings(settings)
    assert not secrets


def test_a_secret_is_found_in_json_in_an_address_and_in_base64() -> None:
    """In the forms that programs write it in."""
    secret = 'ä/"quoted"\\and=more+0123456789'
    secrets = Secrets({"SHOP_KEY": secret})
    for form in (
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        urllib.parse.quote(secret, safe=""),
        base64.b64encode(secret.encode()).decode().rstrip("="),
    ):
        assert secrets.text(f"<{form}>") == f"<{HIDDEN}>", form


def test_a_secret_is_found_in_both_kinds_of_base64() -> None:
    """Ordinary base64 and that of addresses differ where a secret has such signs in it."""
    secret = "Passw0rd?>~?>~?>~"
    ordinary = base64.b64encode(secret.encode()).decode()
    of_addresses = base64.urlsafe_b64encode(secret.encode()).decode()
    assert ordinary != of_addresses
    secrets = Secrets({"SHOP_TOKEN": secret})
    for written in (ordinary, of_addresses):
        assert secrets.text(f"Basic {written}") == f"Basic {HIDDEN}" + "=" * written.count("=")


def test_a_password_in_an_address_of_the_environment_is_a_secret() -> None:
    """Whatever the variable is called."""
    secrets = Secrets({"DATABASE_URL": "postgres://ada:abcdef0123456789@db/shop"})
    assert secrets.text("abcdef0123456789 at db/shop") == f"{HIDDEN} at db/shop"


def test_in_what_an_environment_sets_any_name_with_such_a_word_is_hidden() -> None:
    """More than elsewhere; what is empty hides nothing."""
    env = {"SESSION_OF_ANN": "abc", "LANG": "C", "SHOP_AUTH_MODE": "", "N": "a1b2c3d4" * 4}
    assert redacted({"env": env, "session": "abc"}) == {
        "env": {"SESSION_OF_ANN": HIDDEN, "LANG": "C", "SHOP_AUTH_MODE": "", "N": HIDDEN},
        "session": "abc",
    }
