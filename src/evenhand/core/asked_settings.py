"""What a request says beside its question: the settings that a model is asked with."""

from __future__ import annotations

from evenhand.core.encoding import decode, digest, encode
from evenhand.core.json_shapes import is_object

ASKED = frozenset(
    "messages input contents prompt system instructions systemInstruction system_instruction".split()
)
"""Keys of a request that hold what is asked; the others are settings."""


def settings_in(identity: bytes) -> str:
    """A digest of the settings in a request, by its identity.

    What a calibrated number, or the limits of a cascade, hold for: other settings are another system, or another judge.
    """
    request = decode(identity)
    body = request.get("body") if is_object(request) else None
    if not is_object(body):
        return digest(b"")
    return digest(encode({key: value for key, value in body.items() if key not in ASKED}))
