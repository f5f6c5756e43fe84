"""Takes out of text what looks like a secret: for files that are meant to be committed.

What a run file stores is cleaned by `secrets.known`. This goes further, as `secrets` keeps to what is surely one: here
a password that somebody mentions in a sentence counts, too. What was hidden once is not hidden a second time, so that
the result stays the same.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

from evenhand.core.encoding import decode, decoded, encode
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.secrets import HIDDEN, is_secret_name, is_telling, known, redacted

_NAME = (
    r"[\w.-]*(?:api[-_ ]?key|access[-_ ]?key|secret|token|passw(?:or)?d|passphrase|pwd|credential|auth(?:orization)?"
    r"|cookie|session(?:[-_ ]?id)?|private[-_ ]?key|account[-_ ]?key|signature|\bpin)[\w.-]*"
)
_ASSIGNED = re.compile(
    rf"(?i)({_NAME}[\"'`\])]*\s*(?:[:=]|:=|=>|\bis\b|\bwas\b)\s*(?:basic\s+|bearer\s+)?[\"'`(\[]*)([^\s\"'`,;<>{{}}()&]{{4,}})"
)
_SHAPED = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)"
    r"|\b(?:ASIA|AROA|AIDA)[A-Z0-9]{16}\b|\bglpat-[\w-]{16,}|\bnpm_\w{20,}|\bpypi-[\w-]{20,}|\bya29\.[\w-]{16,}"
    r"|\bSG\.[\w-]{10,}\.[\w-]{10,}|\b[rp]k_(?:live|test)_\w{10,}|\bwhsec_\w{16,}|\bdop_v1_\w{20,}|\bxapp-[\w-]{10,}"
    r"|\bshp(?:at|ss|ca|pa)_\w{20,}|\b(?:AC|SK)[0-9a-f]{32}\b|\blin_api_\w{16,}|\bdapi[0-9a-f]{32}\b"
    r"|(?i:\bbasic\s+[A-Za-z0-9+/]{12,}={0,2})",
    re.DOTALL,
)
_SHORTEST = 6


def scrubbed(value: Any) -> Any:
    """A JSON value without what looks like a secret, in texts, under names such as `password`, and in JSON in texts.

    >>> scrubbed({"text": "my password is hunter2", "password": "x9!kfjw", "token": "Hello"})
    {'text': 'my password is [redacted]', 'password': '[redacted]', 'token': 'Hello'}
    """
    if isinstance(value, str):
        return scrubbed_text(value)
    if is_mapping(value):
        items = value
        return {key: _named(key, item) for key, item in items.items()}
    if is_array(value):
        return [scrubbed(item) for item in value]
    return value


def scrubbed_text(text: str) -> str:
    """A text without what looks like a secret, also where it is JSON itself."""
    if text[:1] in ("{", "["):
        inner = _inner(text)
        if inner is not None:
            return inner
    text = known.text(text)
    text = _SHAPED.sub(HIDDEN, text)
    text = str(redacted(text))
    return _ASSIGNED.sub(_assigned, text)


def named_secrets(value: Any) -> Iterator[str]:
    """The texts in a JSON value that `scrubbed` hides for their names, in JSON in texts, too.

    >>> list(named_secrets({"user": "ann", "password": "x9!kfjw", "body": '{"api_key": "k-77aa"}'}))
    ['x9!kfjw', 'k-77aa']
    """
    if is_mapping(value):
        for name, item in value.items():
            if isinstance(item, str) and is_secret_name(name) and _looks_secret(item):
                yield item
            else:
                yield from named_secrets(item)
    elif is_array(value):
        for item in value:
            yield from named_secrets(item)
    elif isinstance(value, str) and value[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            yield from named_secrets(decode(value))


def _named(name: str, value: Any) -> Any:
    if isinstance(value, str) and is_secret_name(name) and _looks_secret(value):
        return HIDDEN
    return scrubbed(value)


def _inner(text: str) -> str | None:
    """Text that is JSON, such as the arguments of a tool; None where it is none."""
    try:
        value = decode(text)
    except ValueError:
        return None
    clean = scrubbed(value)
    if clean == value:
        return text
    # In place, so that the layout stays: what is made of an answer without secrets has to look the same.
    changed = text
    for old, new in _changes(value, clean):
        # Whoever wrote the text may or may not have escaped what is not ASCII.
        for ascii_only in (True, False):
            form = json.dumps(old, ensure_ascii=ascii_only)
            changed = changed.replace(form, json.dumps(new, ensure_ascii=ascii_only))
    same = decoded(changed) == clean
    return changed if same else encode(clean, ordered=False).decode("utf-8", "replace")


def _changes(value: Any, clean: Any) -> Iterator[tuple[str, str]]:
    """The texts of a value that are others in its clean form, each with that."""
    if isinstance(value, str):
        if value != clean:
            yield value, clean
    elif is_mapping(value):
        for key, item in value.items():
            yield from _changes(item, clean[key])
    elif is_array(value):
        for item, other in zip(value, clean, strict=True):
            yield from _changes(item, other)


def _assigned(match: re.Match[str]) -> str:
    name, value = match.groups()
    # What ends the sentence is no part of the secret.
    end = value.rstrip(".:!?]")
    if not _looks_secret(end):
        return match.group()
    return f"{name}{HIDDEN}{value[len(end) :]}"


def _looks_secret(value: str) -> bool:
    """Whether this, under the name of a secret, seems to be one: no word, no number of tokens, no placeholder."""
    # A placeholder: $TOKEN, %TOKEN% or <token>.
    if HIDDEN in value or value.startswith(("$", "%", "<")):
        return False
    if is_telling(value) and not value.isalpha():
        return True
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    signs = any(not char.isalnum() and char not in "._-" for char in value)
    return len(value) >= _SHORTEST and ((letters and digits) or (letters and signs))
