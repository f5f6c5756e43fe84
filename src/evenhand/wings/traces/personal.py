"""Takes what identifies people out of texts that are going to be committed: addresses, numbers of phones and cards.

Patterns find what has a form. They don't find names: read what came out.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from evenhand.core.json_shapes import is_array, is_object
from evenhand.core.scrubbing import scrubbed
from evenhand.core.secrets import HIDDEN

_EMAIL = re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}\b")
_CARD = re.compile(r"(?<![\w.])\d(?:[ -]?\d){12,18}(?![\w])")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")
_PHONE = re.compile(
    r"(?<![\w.-])(?:"
    r"\+\d{1,3}[ .-]?(?:\(?\d{1,5}\)?[ .-]?){1,5}\d{2,5}"  # +44 20 7946 0958
    r"|\(\d{2,5}\)[ .-]?\d{2,5}(?:[ .-]\d{2,5}){1,3}"  # (030) 1234-5678
    r"|0\d{1,4}(?:[ .-]\d{2,5}){1,4}"  # 020 7946 0958
    r"|\d{3}[ .-]\d{3}[ .-]\d{4}"  # 212-555-0134
    r")(?![\w-])"
)


class Redaction:
    """Hides secrets and personal data.

    Attributes:
        hidden: How many of each kind were hidden.
    """

    def __init__(self) -> None:
        self.hidden: Counter[str] = Counter()

    def of(self, value: Any) -> Any:
        """A JSON value without them.

        >>> redaction = Redaction()
        >>> redaction.of({"said": "I am ann@example.com, call +44 20 7946 0958", "order": 1042})
        {'said': 'I am [email], call [phone]', 'order': 1042}
        >>> dict(redaction.hidden)
        {'email': 1, 'phone': 1}
        """
        clean = scrubbed(value)
        if clean != value:
            self.hidden["secret"] += 1
        return self._personal(clean)

    def _personal(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if is_object(value):
            return {key: self._personal(one) for key, one in value.items()}
        if is_array(value):
            return [self._personal(one) for one in value]
        return value

    def _text(self, text: str) -> str:
        if HIDDEN in text and len(text) == len(HIDDEN):
            return text
        text = self._replaced(_EMAIL, "email", text)
        text = _CARD.sub(self._card, text)
        text = self._replaced(_IBAN, "account", text)
        return self._replaced(_PHONE, "phone", text)

    def _replaced(self, pattern: re.Pattern[str], kind: str, text: str) -> str:
        text, many = pattern.subn(f"[{kind}]", text)
        if many:
            self.hidden[kind] += many
        return text

    def _card(self, match: re.Match[str]) -> str:
        digits = [int(char) for char in match.group() if char.isdigit()]
        doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
        if (sum(digits[::-2]) + sum(doubled)) % 10:  # Luhn's check digit, ISO/IEC 7812-1
            return match.group()
        self.hidden["card"] += 1
        return "[card]"
