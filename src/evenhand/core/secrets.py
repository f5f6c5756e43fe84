"""What is a secret in a config: it is used, and written nowhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

HIDDEN = "[redacted]"
_HIDDEN = HIDDEN.encode()
_SECRET = re.compile(
    r"(api[-_]?key|(access|private|secret)[-_]?key|secret|token|pass(word|wd|phrase)?|pwd|auth(orization)?|"
    r"credential|cookie)s?$",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"\b(?:sk-[\w-]{16,}|AIza[\w-]{30,}|(?:gsk|hf|xai|gh[opsu]|sk_live|sk_test|github_pat)[_-]\w{20,}"
    r"|xox[abps]-[\w-]{10,}|AKIA[A-Z0-9]{16}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*|Bearer\s+[\w.~+/-]{8,})"
    r"|(?<=://)[^/@\s:]+:[^/@\s]+(?=@)"  # who asks, in an address
    r"|(?<=[?&])(?i:[\w-]*(?:key|token|secret|password|sig|signature))=[^&#\s]+"
)
_VARIABLE = re.compile(r"[A-Z0-9_]*(KEY|PAT)")  # of an environment
_FOLDERS = frozenset({"PWD", "OLDPWD"})  # where the shell stands and stood: no password
_ANYWHERE = re.compile(
    r"key|secret|token|pass(word|wd|phrase|code)|pass$|pwd|auth|credential|cookie|session|signature|private|\bpat\b|_pat_?|dsn",
    re.IGNORECASE,
)
_PIECE = re.compile(r"[!#-\[\]-~]{16,}")  # in JSON the same as outside: no quotes, no backslashes
_LOOKS_DRAWN = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])[\w+/=]{24,}")
"""Letters and digits in one long piece, as they are drawn for keys."""


def redacted(value: object) -> object:
    """A value without its secrets: text under a key such as apiKey or authorization, and what looks like a key.

    What an `env` sets is looked at more closely: any name with such a word in it, and any value that seems drawn.
    """
    if isinstance(value, str):
        return _KEY.sub(HIDDEN, value)
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value)
        return {
            k: HIDDEN
            if isinstance(v, str) and (_SECRET.search(k) or _VARIABLE.fullmatch(k))
            else _environment(cast("Mapping[str, object]", v))
            if k == "env" and isinstance(v, Mapping)
            else redacted(v)
            for k, v in items.items()
        }
    if isinstance(value, list):
        return [redacted(item) for item in cast("list[object]", value)]
    return value


class Secrets:
    """The secrets of some environments, to be taken out of all that is written, whoever repeats them there.

    A variable whose name says that it is a key, a token or a password has one, if it is in one piece and has 16
    characters or more: shorter ones could be words.

    Args:
        environments: Variables by name.
    """

    def __init__(self, *environments: Mapping[str, str]) -> None:
        found = {
            value
            for variables in environments
            for name, value in variables.items()
            if (_SECRET.search(name) or _VARIABLE.fullmatch(name))
            and name not in _FOLDERS
            and _PIECE.fullmatch(value)
        }
        found |= {value.replace("/", "\\/") for value in found}  # as some programs write it in JSON
        longest = sorted(found, key=lambda value: (-len(value), value))
        self._values = tuple(value.encode() for value in longest)

    def __len__(self) -> int:
        return len(self._values)

    def without(self, data: bytes) -> bytes:
        """The data with HIDDEN in their place; itself where they are not in it."""
        for (
            value
        ) in self._values:  # several times as fast as one regular expression for all of them
            if value in data:
                data = data.replace(value, _HIDDEN)
        return data


def _environment(variables: Mapping[str, object]) -> dict[str, object]:
    return {
        name: HIDDEN
        if value not in (None, "")
        and (_ANYWHERE.search(name) or _LOOKS_DRAWN.fullmatch(str(value)))
        else redacted(value)
        for name, value in variables.items()
    }
