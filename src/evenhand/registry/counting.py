"""How long a text is: in words, and in tokens where somebody here can count them."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from evenhand.core.message import Reply

_BPE = {
    "o200k_base": "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
    "cl100k_base": "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken",
}


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
        return len(encoding.encode(text, disallowed_special=())), f"tiktoken {encoding.name}"
    if reply is not None and reply.usage.tokens_out is not None:
        return reply.usage.tokens_out, "the vendor"
    return None, ""


@lru_cache(maxsize=64)
def _encoding(model: str) -> Any:
    try:
        import tempfile  # noqa: PLC0415 (see below)

        import tiktoken  # noqa: PLC0415 # pyright: ignore[reportMissingImports] (a library that need not be there)

        name = tiktoken.encoding_name_for_model(model)
    except (ImportError, KeyError):
        return None
    # It would fetch a table that it has not: so it is asked only where the table is, under the name that it gives it.
    folder = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    place = Path(folder) if folder else Path(tempfile.gettempdir()) / "data-gym-cache"
    table = hashlib.sha1(_BPE.get(name, "").encode(), usedforsecurity=False).hexdigest()
    if name not in _BPE or not (place / table).is_file():
        return None
    return tiktoken.get_encoding(name)
