"""Where a request of the application's goes while a script answers for models."""

from __future__ import annotations

from typing import cast

import pytest

from evenhand.core.case import Case
from evenhand.core.plan import PlannedTrial
from evenhand.core.scripted import scripted_at
from evenhand.core.variant import Variant
from evenhand.doors.recording.outgoing import Outgoing, exchange_for
from evenhand.engine.trial import Asker, Host, LiveTrial

SCRIPT = "http://127.0.0.1:9"
CHAT = b'{"model": "gpt-5-mini", "messages": [{"role": "user", "content": "Hi"}]}'


async def nothing(trial: object) -> None:
    """A body that does nothing."""


def url_of(url: str, body: bytes) -> str:
    """Where a request is sent in the end."""
    planned = PlannedTrial(
        index=0, case=Case("a"), variant=Variant(0, "p", "m"), repeat=0, body=nothing
    )
    trial = LiveTrial(planned, cast("Asker", None), cast("Host", None))
    request = Outgoing("POST", url, {"content-type": "application/json"})
    exchange = exchange_for(trial, request, body, None, role=None, prices={})
    return vars(exchange)["_call"].url


@pytest.mark.parametrize(
    ("url", "body", "scripted"),
    [
        ("https://api.openai.com/v1/chat/completions", CHAT, f"{SCRIPT}/v1/chat/completions"),
        ("https://shop.example/orders", b'{"id": 7}', "https://shop.example/orders"),
        (f"{SCRIPT}/v1/chat/completions", CHAT, f"{SCRIPT}/v1/chat/completions"),
    ],
)
async def test_a_script_answers_for_models_and_for_no_other_service(
    url: str, body: bytes, scripted: str
):
    """Without one, everything goes where it was to go."""
    assert url_of(url, body) == url
    with scripted_at(SCRIPT):
        assert url_of(url, body) == scripted
