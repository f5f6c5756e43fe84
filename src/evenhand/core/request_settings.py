"""The settings in a request: what it asks for beside the question, such as its model, its temperature and its tools."""

from __future__ import annotations

from evenhand.core.encoding import decode, digest, encode
from evenhand.core.json_shapes import as_array, as_mapping, is_object

ASKED = frozenset(
    "messages input inputs instances content contents prompt system instructions systemInstruction"
    " system_instruction state questions vars cell".split()
)
"""Keys of a request that hold what is asked; the others are settings. A decision names its question by the output."""
CONFIGURED = "configured"
"""The key of an identity that lists those of these keys that a model's config wrote, and no prompt."""


def settings_in(identity: bytes, *, with_code: bool = False) -> str:
    """A digest of the settings in a request, by its identity.

    What a calibrated number, or the limits of a cascade, hold for: other settings are another system, or another judge.

    Args:
        with_code: Whether the code of a function or a program is one of them. `RunMeta.code` knows it without files
            that have no part in it.
    """
    request = decode(identity)
    if not is_object(request):
        return digest(b"")
    body = request.get("body")
    if not is_object(body):  # of a program or a function
        left_out = ASKED if with_code else ASKED | {"code"}
        return digest(encode({key: value for key, value in request.items() if key not in left_out}))
    # An application's request doesn't say so: its system prompt may have the question in it.
    configured = as_array(request.get(CONFIGURED))
    settings = {key: value for key, value in body.items() if key in configured or key not in ASKED}
    headers = as_mapping(request.get("headers"))
    return digest(encode([settings, headers] if headers else settings))
