"""Ids of models that anybody may type: those of vendors' APIs and model servers, which run no code and read no file."""

from __future__ import annotations

import re

from evenhand.core.errors import UsageError
from evenhand.providers.catalog import KEYS
from evenhand.providers.roster import model_id
from evenhand.providers.servers import SERVERS

_KINDS = frozenset({*KEYS, "azureopenai", "echo", "hf", "llama", "ollama", "palm"})
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@:+-]{0,199}")


def look_at_vendor(name: str) -> None:
    """Lets the id of a model pass that a vendor or a server of models has.

    An address in an id (`openai:llama3@http://…`) would say where prompts and keys are sent to, so it is refused, too.

    Raises:
        UsageError: It is anything else: a program, a file, a function, a web service, a package's provider.
    """
    kind, colon, rest = model_id(name).partition(":")
    known = kind in _KINDS and (bool(colon and rest) or kind in ("echo", "llama"))
    addressed = "//" in name or (kind in SERVERS and "@" in rest)
    if not known or addressed or not _PLAIN.fullmatch(name):
        raise UsageError(
            f"{name!r:.60} can't be asked from here: only models of vendors and of model servers can be typed",
            hint="Write an id such as openai:chat:gpt-5-mini. `evenhand info providers` lists the vendors.",
        )
