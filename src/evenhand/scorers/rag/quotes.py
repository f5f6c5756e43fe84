"""Whether a passage says what a judge quotes from it."""

from __future__ import annotations

import re
import unicodedata

WINDOW = 8
"""Letters that are compared at a time, where a quote is not word for word."""
ENOUGH = 0.9
LONGEST = 2000
_LEFT_OUT = re.compile(r"\[?(?:\.{3,}|…)\]?")
_NUMBER = re.compile(r"\[\d+\]")


def plain(text: str) -> str:
    """A text as quotes are compared: its letters and digits, in one form and in lower case."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(filter(str.isalnum, folded))


def found_in(quote: str, passage: str) -> bool:
    """Whether the words of the quote stand in the passage.

    Case, space, punctuation and width do not count; `…` leaves words out; a slip or two in a long quote is forgiven.

    Args:
        quote: As a judge gave it. One without a letter or digit is nowhere.
        passage: Made `plain`.

    >>> found_in("the moon … made of cheese", plain("The Moon is, they say, made of cheese."))
    True
    """
    # Sentences are shown with their numbers in brackets, which a judge may copy along.
    pieces = [plain(piece) for piece in _LEFT_OUT.split(_NUMBER.sub(" ", quote[:LONGEST]))]
    pieces = [piece for piece in pieces if piece]
    return bool(pieces) and all(piece in passage or _nearly(piece, passage) for piece in pieces)


def _nearly(piece: str, passage: str) -> bool:
    if len(piece) < 4 * WINDOW:
        return False
    windows = [piece[at : at + WINDOW] for at in range(len(piece) - WINDOW + 1)]
    # One wrong letter spoils up to WINDOW windows, so that only a long quote can tolerate a slip.
    missing = round(len(windows) * (1 - ENOUGH))
    for window in windows:
        if window not in passage:
            missing -= 1
            if missing < 0:
                return False
    return True
