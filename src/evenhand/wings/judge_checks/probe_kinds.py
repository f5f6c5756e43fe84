"""The kinds of attack on a judge, and what people call them."""

from __future__ import annotations

from collections.abc import Mapping

NONE = "none"
"""The kind that is no attack: bad answers as they are."""

WORDS: Mapping[str, str] = {
    "constant": "paragraphs that say nothing",
    "instructions": "instructions to the judge",
    "reference": "invented references",
    "authority": "claims of authority",
    "length": "padding",
    "empty": "empty answers",
    "praise": "self-praise",
    "markup": "markup",
    "echo": "an echo of the criteria",
    "language": "another language",
    "paraphrase": "a paraphrase",
    "truncated": "answers that break off",
}
"""What each kind is, for the sentence that says what fools the judge."""
