r"""Keys, tokens and passwords: they are used, and written nowhere.

How this works: two rules share one idea of what a secret is called. `redacted` looks at a configuration: what stands
under a name such as `apiKey`, or looks like a vendor's key, is left out of the record. `known` remembers the secrets
that this process has been given (environment, `.env` files, settings of providers, headers, addresses), and takes them
out of everything that somebody repeats: a model's reply, a vendor's error, a log line. Replies are cleaned as they
arrive, before anything is scored, so what is scored is what is stored, and a resumed run sees the same text.

How one is found: JSON and addresses leave letters and digits as they are, and write only the others otherwise:
`"` as `\"` or `%5C%22`, `ä` as `\u00e4` or `%C3%A4`. So a secret with such characters is found by one expression that
allows for each of them any number of escapes. Base64 changes all characters, and which ones they become depends on what
stands before the secret. So base64 isn't made but undone: each long run of its letters is decoded, from each of the
four places at which its first group may begin, and hidden as a whole if there is a secret in it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from evenhand.core.encoding import encode
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.record import Record

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
    r"|-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.{,20000}?)-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----"
    r"|(?<=://)[^/@\s:]+:[^/@\s]+(?=@)"  # who asks, in an address
    r"|(?<=[?&])(?i:[\w-]*(?:key|token|secret|password|sig|signature))=[^&#\s]+"
)
_VARIABLE = re.compile(r"[A-Z0-9_]*(KEY|PAT)|([A-Z0-9_]*_)?[A-Z]*(KEY|PAT)S?\d*(_[A-Z0-9_]*)?")
"""A name of an environment's variable that isn't spelt like any other setting's."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORD = re.compile(
    r"\b((api|access|private|secret|signing|encryption|subscription)-?keys?|secrets?|tokens?"
    r"|pass(word|wd|phrase|code)s?|pwd|auth|authorization|credentials?|cookies?)\b"
)
_ABOUT_SECRETS = re.compile(
    r"-(url|uri|path|file|dir|folder|sock|socket|name|type|mode|env|envar|variable|placement|location|endpoint|host"
    r"|port|required|count|limit|scopes?|hint|policy|prefix|header|ttl|expiry|expires(-in|-at)?)$"
    r"|^(max|min|total|prompt|completion|input|output|cached|reasoning)-([a-z]+-)*tokens?\b"
)
"""Where something is said of a secret: `tokenUrl`, `private_key_path`, `max_tokens_field`."""
_FOLDERS = frozenset({"PWD", "OLDPWD"})  # where the shell stands and stood: no password
_ANYWHERE = re.compile(
    r"key|secret|token|pass(word|wd|phrase|code)|pass$|pwd|auth|credential|cookie|session|signature|private|\bpat\b|_pat_?|dsn",
    re.IGNORECASE,
)
_QUERY = re.compile(r"key|token|secret|password|sig|signature", re.IGNORECASE)
_HEADERS = frozenset({"headers", "header"})
_LOOKS_DRAWN = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])[\w+/=]{24,}")
"""Letters and digits in one long piece, as they are drawn for keys."""

LONG = 16
MIDDLING = 12
SHORT = 8
_WORDS_OF_A_SCHEME = 2
"""`Bearer …`: the first word is no part of the secret."""
_DIFFERENT = 6
_CLASSES = (
    re.compile(r"[a-z]"),
    re.compile(r"[A-Z]"),
    re.compile(r"[0-9]"),
    re.compile(r"[^\w./:-]"),
)


def redacted(value: object) -> object:
    """A value without its secrets: text under a key such as apiKey or authorization, and what looks like a key.

    What an `env` sets is looked at more closely: any name with such a word in it, and any value that seems drawn.
    """
    if isinstance(value, str):
        return _KEY.sub(HIDDEN, value)
    if value is None or isinstance(value, (int, float)):
        return value
    if is_mapping(value):
        items = value
        return {
            k: HIDDEN
            if isinstance(v, str) and is_secret_name(k)
            else _environment(v)
            if k == "env" and is_mapping(v)
            else redacted(v)
            for k, v in items.items()
        }
    if is_array(value):
        return [redacted(item) for item in value]
    return value


def secrets_mark(value: object) -> str:
    """A mark that differs where the secrets differ that `redacted` takes out of a value; empty where it takes none.

    It is for what answers differently to whoever asks. Its four digits are too few to find out a password by.

    >>> secrets_mark({"token": "Bearer of-ann", "n": 1}) == secrets_mark({"token": "Bearer of-bob", "n": 1})
    False
    >>> secrets_mark({"n": 1})
    ''
    """
    written = encode(value)
    return "" if encode(redacted(value)) == written else hashlib.sha256(written).hexdigest()[:4]


@lru_cache(maxsize=4096)  # tests and requests have the same few names again and again
def is_secret_name(name: str) -> bool:
    """Whether a setting or a variable of this name holds a secret: `apiKey`, `X-Api-Secret`, `SHOP_TOKEN_2`.

    The word may stand anywhere in the name, unless the rest says that this is only about a secret (`tokenUrl`).
    """
    if name in _FOLDERS:
        return False
    if _SECRET.search(name):
        return True
    words = "-".join(_WORD.findall(name)).lower()
    if _ABOUT_SECRETS.search(words):
        return False
    return bool(_SECRET_WORD.search(words) or _VARIABLE.fullmatch(name))


def may_be_secret(name: str) -> bool:
    """Whether what stands under a name may be a secret: more names than those of which it is sure."""
    return bool(_ANYWHERE.search(name))


def is_telling(value: str) -> bool:
    """Whether a secret's value can be told from ordinary text, so that it can be taken out of it.

    It is in one piece and has 16 characters or more, six of them different; or 12 or more that mix two kinds (small
    letters, capitals, digits, signs other than `-_./:`); or 8 or more that mix three. `test`, `1234` and `localhost`
    are not.
    """
    if len(value) < SHORT or any(char.isspace() for char in value):
        return False
    if len(value) >= LONG:
        return len(set(value)) >= _DIFFERENT
    kinds = sum(bool(kind.search(value)) for kind in _CLASSES)
    return kinds >= (2 if len(value) >= MIDDLING else 3)


class Secrets:
    """Secrets, to be taken out of all that is written, whoever repeats them there.

    Args:
        environments: Variables by name.
    """

    def __init__(self, *environments: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._plain: frozenset[str] = frozenset()
        self._finder = Finder()
        for variables in environments:
            self.learn_environment(variables)

    def __len__(self) -> int:
        return len(self._plain)

    def learn_environment(self, variables: Mapping[str, str]) -> None:
        """Takes in the variables whose names say that they hold a secret, and the passwords in addresses."""
        self.learn(
            secret
            for name, value in variables.items()
            for secret in ((value,) if is_secret_name(name) else _in_address(value))
        )

    def learn_settings(self, settings: object) -> None:
        """Takes in what the settings of a provider hold: under secret names, in headers, and in addresses.

        In headers any name counts that has a word such as *key*, *auth* or *session* in it.
        """
        self.learn(_in_settings(settings, named=False, headers=False))

    def learn(self, values: Iterable[str]) -> None:
        """Takes in secrets themselves; of those with spaces in them (`Bearer …`) each piece that is telling."""
        new = {piece for value in values for piece in _pieces(value)} - self._plain
        if not new:
            return
        # The finder is replaced as a whole, so reading needs no lock.
        with self._lock:
            self._plain |= new
            self._finder = Finder(self._plain)

    def forget(self) -> None:
        """Forgets all of them."""
        with self._lock:
            self._plain, self._finder = frozenset(), Finder()

    def without(self, data: bytes) -> bytes:
        """The data with HIDDEN in their place; itself where they are not in it."""
        return self._finder.without(data, _HIDDEN) if self._plain else data

    def text(self, text: str) -> str:
        """The text with HIDDEN in place of the secrets; itself where they are not in it."""
        if not self._plain:
            return text
        data = text.encode("utf-8", "surrogatepass")
        clean = self.without(data)
        return text if clean is data else clean.decode("utf-8", "surrogatepass")

    def inside(self, value: Any) -> Any:
        """The value with HIDDEN in place of the secrets in all of its texts."""
        if isinstance(value, str):
            return self.text(value)
        if not self._plain:
            return value
        if is_mapping(value):
            return {k: self.inside(v) for k, v in value.items()}
        if is_array(value):
            return [self.inside(item) for item in value]
        return value


def shown(text: str) -> str:
    """Text of somebody else's, fit for a message: without known secrets, and without what looks like a key."""
    return str(redacted(known.text(text)))


def _environment(variables: Mapping[str, object]) -> dict[str, object]:
    return {
        name: HIDDEN
        if value not in (None, "")
        and (_ANYWHERE.search(name) or _LOOKS_DRAWN.fullmatch(str(value)))
        else redacted(value)
        for name, value in variables.items()
    }


def _pieces(value: str) -> Iterator[str]:
    """What is looked for: a text of several lines, or of many words, as a whole; each telling piece; secrets within."""
    words = value.split()
    if (len(words) > _WORDS_OF_A_SCHEME or "\n" in value.strip()) and is_telling("".join(words)):
        yield " ".join(words)
    if value.lstrip().startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            for within in _in_settings(json.loads(value), named=False, headers=False):
                yield from _pieces(within)
    for word in words:
        for piece in (word.rstrip("="), *(word.split(";") if ";" in word else ())):
            if is_telling(piece):
                yield piece
            name, equals, rest = piece.partition("=")  # a cookie: sid=…
            if name and equals and rest.strip("=") and is_telling(rest):
                yield rest


def _in_settings(value: object, *, named: bool, headers: bool) -> Iterator[str]:
    if isinstance(value, str):
        if named:
            yield value
        yield from _in_address(value)
    elif is_mapping(value):
        for key, item in value.items():
            name = str(key)
            secret = is_secret_name(name) or (headers and bool(_ANYWHERE.search(name)))
            within = name.lower() in _HEADERS
            # `auth: {type: bearer, …}` has names of its own; a list of keys has none.
            yield from _in_settings(
                item,
                named=secret and not isinstance(item, Mapping),
                headers=within or (headers and isinstance(item, Mapping)),
            )
        if value.get("type") == "api_key" and isinstance(value.get("value"), str):
            yield value["value"]
    elif is_array(value):
        for item in value:
            yield from _in_settings(item, named=named, headers=headers)


def _in_address(text: str) -> Iterator[str]:
    """The password in an address, and the values in its query whose names are those of secrets."""
    start = text.find("://")
    if start < 0 or ("@" not in text and "?" not in text):
        return
    try:
        parts = urlsplit(text[text.rfind(" ", 0, start) + 1 :].split(maxsplit=1)[0])
        password = parts.password
    except ValueError:
        return
    if password:
        yield password
        # It is sent unquoted, so either form can come back.
        yield unquote(password)
    for name, value in parse_qsl(parts.query):
        if _QUERY.search(name):
            yield value


_REMEMBERED = 1024
_SHORT_DATA = 4096
"""Bytes: so many pieces of data that hold no secret are remembered, if they are no longer."""
DEPTH = 3
"""Base64 within base64 is undone this many times."""
WRAPPED = 40
"""Letters of base64's in a line from which on it may go on in the next: mail has 76, PEM 64."""
_AS_IT_IS = re.compile(r"[A-Za-z0-9_.~-]+")
"""What neither JSON nor an address writes otherwise."""
_ESCAPE = rb"(?:\\|%(?:25)*5[Cc])"
_ESCAPES = rb"(?>" + _ESCAPE + rb"+)"
_SOME_ESCAPES = rb"(?>" + _ESCAPE + rb"*)"
"""An atomic group, not `*+`: before Python 3.11.5, that loses its place in what begins with `%` and is no escape."""
_AT_FIRST_ESCAPE = rb"(?<!\\)(?<!%5[Cc])(?<!255[Cc])"
"""Not within a run of escapes, which would be gone through again from each of them."""
_SPACE = rb"(?:[ \t\r\n+]|u00(?:20|0[9aAdD])|%(?:25)*(?:20|0[9aAdD]))"
_SPACES = rb"(?>(?:" + _ESCAPES + rb"[nrt]|" + _SOME_ESCAPES + _SPACE + rb")+)"
_ESCAPED_SIGN = re.compile(_ESCAPES + rb"(?:/|u002([bBfF]))|%(?>(?:25)*)2([BbFf])")
"""`+` and `/` of base64, escaped."""
_BETWEEN = re.compile(
    _ESCAPED_SIGN.pattern
    + rb"|((?>(?:"
    + _ESCAPES
    + rb"[nrt]?|%(?:25)*[0-9A-Fa-f]{2}|[\\%\r\n])+))"
)
"""An escaped sign of base64, or in the last group what stands between its pieces: other escapes, ends of lines."""
_BREAK = re.compile(rb"[\\%\r\n]")
"""What begins each of these."""
_NEWLINE = re.compile(rb"\r?\n")
_MASK = bytes(
    b"a"[0]
    if byte in b"%+-/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ\\_abcdefghijklmnopqrstuvwxyz"
    else b" "[0]
    for byte in range(256)
)
_OF_ADDRESSES = bytes.maketrans(b"-_", b"+/")


class Finder:
    """Finds secrets in data, however they are written there.

    Args:
        secrets: The secrets. In those of several words or lines, any spaces stand between these.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # The longest come first, because one secret can be a part of another.
        ordered = sorted(set(secrets), key=lambda secret: (-len(secret), secret))
        self._forms = tuple(map(_form, ordered))
        shortest = min((len(secret.encode("utf-8", "replace")) for secret in ordered), default=0)
        # Base64 writes 3 bytes as 4 letters, so a shorter run holds no secret.
        self._fewest = b"a" * min(shortest * 4 // 3, WRAPPED)
        self._letters = tuple({core for part, _ in self._forms for core in _letters_of(part)})
        self._clean: set[bytes] = set()

    def without(self, data: bytes, hidden: bytes) -> bytes:
        """The data with `hidden` in place of each secret; the same object where there is none."""
        if not self._forms or data in self._clean:
            return data
        clean = self._without(data, hidden)
        # An answer is looked through when it comes and when it is written, and names come again and again.
        if clean is data and len(data) <= _SHORT_DATA:
            if len(self._clean) >= _REMEMBERED:
                self._clean.clear()
            self._clean.add(data)
        return clean

    def _without(self, data: bytes, hidden: bytes) -> bytes:
        for part, form in self._forms:
            if data.find(part) >= 0 and form.may_be_in(data):
                data = form.hidden_in(data, hidden)
        spans = [span for run in self._runs(data) for span in self._encoded(data, run, DEPTH)]
        if not spans:
            return data
        pieces: list[bytes] = []
        end = 0
        for start, stop in spans:
            pieces += (data[end:start], hidden)
            end = stop
        return b"".join((*pieces, data[end:]))

    def _among(self, data: bytes, depth: int) -> bool:
        for part, form in self._forms:
            if data.find(part) >= 0 and form.may_be_in(data) and form.is_in(data):
                return True
        if depth <= 0 or data.translate(_MASK).find(self._fewest) < 0:
            return False
        return any(self._encoded(data, run, depth) for run in self._runs(data))

    def _runs(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Where base64 of a secret may stand: enough of its signs, also escaped, in one line or wrapped."""
        mask = data.translate(_MASK)  # several times as fast as a regular expression
        start = mask.find(self._fewest)
        while start >= 0:
            line = start
            end = _end(mask, start)
            while end - line >= WRAPPED and (newline := _NEWLINE.match(data, end)):
                line = newline.end()
                end = _end(mask, line)
            yield start, end
            start = mask.find(self._fewest, end)

    def _encoded(self, data: bytes, run: tuple[int, int], depth: int) -> list[tuple[int, int]]:
        """Where in a run base64 has a secret in it: in one of its pieces, or else in all of them together."""
        piece = data[slice(*run)]
        if not _BREAK.search(piece):  # nearly all are in one piece
            return [run] if self._within(piece, depth) else []
        spans = [span for span in _parts(data, run) if span[0] < span[1]]
        long = [span for span in spans if span[1] - span[0] >= len(self._fewest)]
        single = [span for span in long if self._within(_signs(data, span), depth)]
        if single or len(spans) < 2:
            return single
        return [run] if self._within(b"".join(_signs(data, s) for s in spans), depth) else []

    def _within(self, text: bytes, depth: int) -> bool:
        letters = text.translate(_OF_ADDRESSES)
        # What they stand for is looked at if they are long enough for base64 within base64, or have a secret's letters.
        nested = depth > 1 and len(letters) * 3 // 4 >= len(self._fewest)
        if not nested and not any(letters.find(core) >= 0 for core in self._letters):
            return False
        return any(self._among(_decoded(letters[start:]), depth - 1) for start in range(4))


class _Form(Record, frozen=True):
    """One secret: the parts of it that stand unchanged wherever it is written, and what finds all of it."""

    parts: tuple[bytes, ...]
    pattern: re.Pattern[bytes] | None

    def may_be_in(self, data: bytes) -> bool:
        return all(part in data for part in self.parts)

    def is_in(self, data: bytes) -> bool:
        return self.pattern is None or self.pattern.search(data) is not None

    def hidden_in(self, data: bytes, hidden: bytes) -> bytes:
        if self.pattern is None:
            return data.replace(self.parts[0], hidden)
        return self.pattern.sub(lambda _: hidden, data)


def _end(mask: bytes, start: int) -> int:
    end = mask.find(b" ", start)
    return len(mask) if end < 0 else end


def _parts(data: bytes, run: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """The parts of a run between its ends of lines and other escapes that are no sign of base64's."""
    start, end = run
    for between in _BETWEEN.finditer(data, start, end):
        if between.group(3):
            yield start, between.start()
            start = between.end()
    yield start, end


def _signs(data: bytes, span: tuple[int, int]) -> bytes:
    return _ESCAPED_SIGN.sub(_sign, data[span[0] : span[1]])


def _sign(escaped: re.Match[bytes]) -> bytes:
    digit = escaped.group(1) or escaped.group(2)
    return b"+" if digit in {b"b", b"B"} else b"/"


def _letters_of(part: bytes) -> Iterator[bytes]:
    """The letters of base64 that a part of a secret has to itself, at each of the three places where it may begin."""
    for before in range(3):
        letters = base64.b64encode(bytes(before) + part).rstrip(b"=")
        # The first and the last ones may have bits of what stands around it.
        last = (before + len(part)) * 8 // 6
        yield letters[-(-before * 8 // 6) : last]


def _decoded(letters: bytes) -> bytes:
    """What letters of base64's stand for; a last group of one letter is nothing."""
    whole = len(letters) - (len(letters) % 4 == 1)
    return binascii.a2b_base64(letters[:whole] + b"=" * (-whole % 4))


def _form(secret: str) -> tuple[bytes, _Form]:
    """A secret, after the longest of its parts that stand unchanged wherever it is written."""
    parts = tuple(
        part.encode() for part in sorted(set(_AS_IT_IS.findall(secret)), key=lambda p: (-len(p), p))
    )
    if parts and parts[0] == secret.encode("utf-8", "surrogatepass"):
        return parts[0], _Form(parts=parts, pattern=None)
    words = _SPACES.join(
        b"".join(map(_characters, re.findall(r"\\+|[^\\]", word))) for word in secret.split()
    )
    start = b"" if _AS_IT_IS.match(secret) else _AT_FIRST_ESCAPE
    first = parts[0] if parts else b""
    return first, _Form(parts=parts, pattern=re.compile(start + words))


def _characters(text: str) -> bytes:
    """What a character, or a run of backslashes, may look like in JSON texts and addresses within each other."""
    if _AS_IT_IS.fullmatch(text):
        return re.escape(text.encode())
    if text[0] == "\\":
        return _ESCAPES + rb"(?>(?:u005[cC]" + _SOME_ESCAPES + rb")*)"
    raw = text.encode("utf-8", "surrogatepass")
    units = text.encode("utf-16-be", "surrogatepass")
    hexadecimal = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    escaped = _SOME_ESCAPES.join(b"u" + _either_case(digits) for digits in hexadecimal)
    quoted = b"".join(rb"%(?:25)*" + _either_case(f"{byte:02x}") for byte in raw)
    return _SOME_ESCAPES + rb"(?:" + b"|".join((re.escape(raw), escaped, quoted)) + rb")"


def _either_case(digits: str) -> bytes:
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits).encode()


known = Secrets()
"""The secrets that this process has been given so far."""
