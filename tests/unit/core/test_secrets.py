"""What a secret is, and that it is found however it is written."""

from __future__ import annotations

import base64
import json
import math
import random
import re
import string
import time
import urllib.parse
from collections.abc import Callable
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


def nested(draw: random.Random, text: str, *names: str) -> str:
    """A text as programs pass it on, one encoding about the other, and something beside it."""
    for name in names:
        text = ENCODINGS[name](draw, text)
    return text


ENCODINGS: dict[str, Callable[[random.Random, str], str]] = {
    "JSON in ASCII": lambda draw, text: json.dumps({"v" * draw.randint(1, 3): text}),
    "JSON": lambda draw, text: json.dumps(["x" * draw.randint(0, 2), text], ensure_ascii=False),
    "JSON of PHP": lambda _, text: json.dumps(text).replace("/", "\\/"),
    "address": lambda draw, text: "u=" + urllib.parse.quote(text, safe=draw.choice(["", "/"])),
    "form": lambda _, text: urllib.parse.urlencode({"a": text}),
    "base64": lambda draw, text: (
        "k:"[: draw.randint(0, 2)] + base64.b64encode(("user:"[draw.randint(0, 5) :] + text).encode()).decode()
    ),
    "base64 of addresses": lambda _, text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 of mail": lambda _, text: base64.encodebytes(text.encode()).decode(),
}  # fmt: skip
LETTERS = string.ascii_letters + string.digits
ALPHABETS = (
    LETTERS,
    LETTERS + '"\\/+-_',
    LETTERS + "äÖß漢é",
    LETTERS + "!$&?#%;:,<>@^'",
    LETTERS + "😀",
)


def secret(draw: random.Random) -> str:
    """A made-up secret: letters, signs, letters beyond ASCII, or a key of several lines."""
    if draw.random() < 0.2:
        lines = ("".join(draw.choices(LETTERS + "+/", k=64)) for _ in range(3))
        last = "".join(draw.choices(LETTERS, k=draw.randint(1, 40)))
        kind = "PRIVATE KEY-----"
        return "\n".join((f"-----BEGIN {kind}", *lines, f"{last}==", f"-----END {kind}", ""))
    return "".join(draw.choices(draw.choice(ALPHABETS), k=draw.randint(16, 40)))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_a_secret_is_found_in_up_to_three_encodings_within_each_other(depth: int) -> None:
    """JSON, addresses and base64 in any order, with something before the secret and after it."""
    seed = 20261128 + depth
    draw = random.Random(seed)
    for _ in range(500):
        value = secret(draw)
        names = draw.choices(list(ENCODINGS), k=depth)
        written = nested(draw, value, *names)
        clean = Secrets({"SHOP_SECRET": value}).text(f"It is {written}, as I said.")
        assert HIDDEN in clean, (seed, value, names)
        assert clean.startswith("It is "), (seed, value, names)
        for piece in re.findall(r"[A-Za-z0-9]{8,}", value):
            assert piece not in clean, (seed, value, names)


def test_a_secret_is_found_wherever_in_base64_it_begins_and_ends() -> None:
    """Whatever stands around it, in either alphabet, beside one that is much longer, and one with signs in it."""
    rng = random.Random(7)
    for secret in ("Tr0ub4dor&3", "a+b/c%d=e&f9G", "x8Qp2LmZ0vRt", "sk-proj-" + "aB3dE6gH9jK2" * 6):
        secrets = Secrets({"A_TOKEN": "zQ1" * 20, "B_PASSWORD": secret})
        for _ in range(200):
            before, after = (rng.randbytes(rng.randrange(9)) for _ in range(2))
            encode = rng.choice([base64.b64encode, base64.urlsafe_b64encode])
            data = encode(before + secret.encode() + after)
            for _ in range(rng.randrange(3)):
                data = encode(rng.randbytes(rng.randrange(5)) + data)
            clean = secrets.without(b'{"a": "' + data + b'"}')
            assert clean.replace(b"=", b"") == b'{"a": "%b"}' % HIDDEN.encode(), (secret, data)


def test_what_was_clean_is_looked_through_again_once_there_is_another_secret() -> None:
    """A key that is learned while a run is under way is hidden in what was seen before, too."""
    secrets = Secrets({"A_TOKEN": "zQ1xw8Lm20TyUi"})
    data = b"the password is Tr0ub4dor&3, and nobody knows"
    assert secrets.without(data) is data
    assert secrets.without(data) is data
    secrets.learn(["Tr0ub4dor&3"])
    assert b"Tr0ub4dor" not in secrets.without(data)


def test_text_without_a_secret_is_left_as_it_is() -> None:
    """Long words, numbers, addresses and base64 of something else."""
    seed = 20261128
    draw = random.Random(seed)
    secrets = Secrets({f"SHOP_SECRET_{n}": secret(draw) for n in range(20)})
    for _ in range(200):
        other = nested(draw, secret(draw), *draw.choices(list(ENCODINGS), k=draw.randint(0, 3)))
        assert secrets.text(other) is other, (seed, other)


def test_a_secret_within_a_secret_is_one_of_its_own() -> None:
    """A service account's key stands in JSON, in which its line breaks are escaped."""
    key = "-----BEGIN PRIVATE KEY-----\nfva1P31Etjqgg4phjFrIIhuDpkKI\nAb1\n-----END PRIVATE KEY-----\n"
    account = json.dumps({"type": "service_account", "private_key": key, "project_id": "shop"})
    secrets = Secrets({"GOOGLE_CREDENTIALS": account})
    for written in (key, account, json.dumps(key), json.dumps({"credentials": account})):
        clean = secrets.text(f"<{written}>")
        assert "fva1P31" not in clean
        assert "Ab1" not in clean
    assert secrets.text("the project is called shop") == "the project is called shop"


@pytest.mark.thorough
@pytest.mark.parametrize("size", [50_000])
@pytest.mark.parametrize(
    "unit", [b"\\", b"%25", b"%", b"\\n", b"A" * 50 + b"\n", b"\\u002b", b"a/", b"%5C"]
)
def test_looking_for_secrets_takes_linear_time(unit: bytes, size: int) -> None:
    """Whatever a model repeats for ever."""
    secrets = Secrets(
        {"SHOP_SECRET": 'a"quoted\\secret/with+0123456789', "SHOP_PASSWORD": "n" * 7 + "Passw0rd!x"}
    )

    def took(length: int) -> float:
        data = unit * (length // len(unit)) + b"quoted secret with 0123456789"
        best = math.inf
        for _ in range(3):
            start = time.process_time()
            secrets.without(data)
            best = min(best, time.process_time() - start)
        return best

    assert took(size * 8) < 40 * max(took(size), 0.001)


@pytest.mark.parametrize(
    "name",
    ["SHOP_TOKEN_2", "SECRET_OF_SHOP", "apiKeyProd", "password1", "DB_PASSWORD_RO", "KEY_FOR_SHOP", "X-Auth-Value",
     "tokenV2", "SHOP_KEYS", "credentials_json", "OPENAI_API_KEY_BACKUP", "cookieValue", "myApiKey"],
)  # fmt: skip
def test_a_secrets_word_anywhere_in_a_name_makes_it_one(name: str) -> None:
    """In settings and in variables, as in headers."""
    value = "abcdef0123456789"
    secrets = Secrets({name: value})
    assert secrets.text(value) == HIDDEN
    assert redacted({name: value}) == {name: HIDDEN}


@pytest.mark.parametrize(
    "name",
    ["tokenUrl", "azureTokenScope", "azureAuthorityHost", "SSH_AUTH_SOCK", "private_key_path", "author", "secretary",
     "GIT_AUTHOR_NAME", "max_tokens_field", "tokenizer", "KEYBOARD_LAYOUT", "passage", "api_key_envar", "TOKEN_TYPE",
     "monkey", "authType", "PWD"],
)  # fmt: skip
def test_what_is_only_about_a_secret_is_none(name: str) -> None:
    """Where it is, what it is called, and words that only look alike."""
    value = "/etc/somewhere/0123456789"
    assert not Secrets({name: value})
    assert redacted({name: value}) == {name: value}
