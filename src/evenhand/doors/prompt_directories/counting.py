"""How long a text is: in words, and in tokens where somebody here can count them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from evenhand.core.message import Reply

_SWAPPING = threading.Lock()


def words(text: str) -> int:
    """How many words: pieces between white space."""
    return len(text.split())


def tokens(text: str, model: str, reply: Reply | None) -> tuple[int | None, str]:
    """How many tokens, and who counted; None where nobody could.

    A tokenizer is asked that is installed, fits the model and has its table on this machine; nothing is fetched. Else
    the vendor's own count of the answer is taken, hidden reasoning included.
    """
    encoding = _encoding(model.rpartition(":")[2])
    if encoding is not None:
        # An answer may spell out a special token, which tiktoken would refuse.
        return len(encoding.encode(text, disallowed_special=())), f"tiktoken {encoding.name}"
    if reply is not None and reply.usage.tokens_out is not None:
        return reply.usage.tokens_out, "the vendor"
    return None, ""


@lru_cache(maxsize=64)
def _encoding(model: str) -> Any:
    """How a model's tokens are made; None where that is not known on this machine."""
    try:
        import tiktoken  # noqa: PLC0415 # pyright: ignore[reportMissingImports] (a library that need not be there)
        import tiktoken.load as tables  # noqa: PLC0415 # pyright: ignore[reportMissingImports] (the same library)

        with _nothing_fetched(tables):
            return tiktoken.encoding_for_model(model)
    except (ImportError, AttributeError, KeyError, OSError, ValueError):
        return None


@contextlib.contextmanager
def _nothing_fetched(tables: Any) -> Iterator[None]:
    """Keeps tiktoken from fetching a table that is not here, or is damaged: it would do so unasked."""
    # The module has one function for all threads, so that they swap it one after the other.
    with _SWAPPING:
        read_file = tables.read_file

        def local(path: str) -> bytes:
            if "://" in path:
                raise FileNotFoundError(path)
            return read_file(path)

        tables.read_file = local
        try:
            yield
        finally:
            tables.read_file = read_file
