"""The settings in a request: what it asks for beside the question, such as its model, its temperature and its tools."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.core.encoding import decode, digest, encode
from evenhand.core.json_shapes import as_mapping, is_object

ASKED = frozenset(
    "messages input inputs instances content contents prompt system instructions systemInstruction"
    " system_instruction state questions vars".split()
)
"""Keys of a request that hold what is asked; the others are settings. A decision names its question by the output."""


def settings_in(identity: bytes, *, with_code: bool = False) -> str:
    """A digest of the settings in a request, by its identity.

    What a calibrated number, or the limits of a cascade, hold for: other settings are another system, or another judge.

    Args:
        identity: The request's.
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
    # Of our own requests alone: an application's system prompt may have the question in it.
    configured = _of_config(body) if "version" in request else set[str]()
    return digest(
        encode({key: value for key, value in body.items() if key in configured or key not in ASKED})
    )


def _of_config(body: Mapping[str, object]) -> set[str]:
    """The keys that hold a system prompt of a model's config, as far as they tell: OpenAI's and Gemini's do.

    OpenAI has another place for system messages. In Gemini's, what a config says has a role. Anthropic's one place
    doesn't tell a config's words from a message's.
    """
    gemini = as_mapping(body.get("systemInstruction"))
    return {"instructions", *(["systemInstruction"] if "role" in gemini else [])}
