"""Which headers of a model's config are part of what is asked, such as those by which a gateway chooses a model.

All are, but for those that only say who asks, or follow a request on its way. As a gateway may read a secret from any
header, of all values no more than a digest is written anywhere, and of those that are called so only a few digits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from evenhand.core.definition import brief
from evenhand.core.secrets import may_be_secret, secrets_mark

_OF_THE_SENDER = frozenset(
    "accept accept-encoding baggage connection content-type host http-referer idempotency-key openai-organization"
    " openai-project referer traceparent tracestate user-agent x-client-request-id x-correlation-id x-request-id"
    " x-title".split()
)

_WHO_ASKS = re.compile("auth|api-?key")


def headers_mark(headers: Mapping[object, object]) -> str:
    """A mark of the headers that hold a secret and may change the answer, such as the virtual key of a gateway.

    >>> headers_mark({"X-Virtual-Key": "of-azure"}) == headers_mark({"X-Virtual-Key": "of-openai"})
    False
    >>> headers_mark({"Authorization": "Bearer k", "X-Route": "large"})
    ''
    """
    named = {str(name).lower(): str(value) for name, value in headers.items()}
    return secrets_mark(
        [
            {"secret": f"{name}: {value}"}
            for name, value in sorted(named.items())
            if may_be_secret(name) and not _WHO_ASKS.search(name)
        ]
    )


def meant_headers(headers: Mapping[object, object]) -> dict[str, str]:
    """A digest of each header that may change the answer, by its name in lower case.

    >>> meant_headers({"X-Route": "large", "Authorization": "Bearer k", "User-Agent": "evals"})
    {'x-route': 'fa76bcf7'}
    """
    named = {str(name).lower(): str(value) for name, value in headers.items()}
    return {
        name: brief(value)
        for name, value in sorted(named.items())
        if name not in _OF_THE_SENDER and not may_be_secret(name)
    }
