from __future__ import annotations

import pytest

from evenhand.providers.addresses import home, homes, is_vendors, origin, shown_host
from evenhand.providers.catalog import KEYS
from evenhand.providers.vendor_hosts import may_ask_a_model


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("https://api.openai.com/v1/chat/completions?x=1", "https://api.openai.com"),
        ("https://user:secret@api.openai.com:8443/v1", "https://api.openai.com:8443"),
        ("http://[::1]:80/v1", "http://[::1]:80"),
        ("HTTPS://API.OpenAI.com/", "https://api.openai.com"),
        ("ftp://x.com/", ""),
        ("https://x.com:port/", ""),
        ("", ""),
        ("echo", ""),
    ],
)
def test_an_address_is_kept_without_who_asks(url, wanted):
    """Scheme, host and port; nothing that could be a secret."""
    assert origin(url) == wanted


@pytest.mark.parametrize(
    ("model", "address", "wanted"),
    [
        ("anthropic:claude-haiku-4-5", "https://api.anthropic.com", True),
        ("anthropic:claude-haiku-4-5", "http://api.anthropic.com", False),
        ("anthropic:claude-haiku-4-5", "https://api.anthropic.com:444", False),
        ("anthropic:claude-haiku-4-5", "https://api.anthropic.com.evil.example", False),
        ("openai:gpt-5-mini", "https://api.openai.com", True),
        ("openai:gpt-5-mini", "http://127.0.0.1:8080", False),
        ("openrouter:x/y", "https://openrouter.ai", True),
        ("google:gemini", "https://generativelanguage.googleapis.com", True),
        ("huggingface:chat:x", "https://router.huggingface.co", True),
        ("ollama:llama3", "http://localhost:11434", True),
        ("azure:gpt", "https://mine.openai.azure.com", True),
        ("azure:gpt", "https://openai.azure.com.evil.example", False),
        ("https://my.service/answer", "https://my.service", True),
        ("https://my.service/answer", "https://other.service", False),
        ("litellm:x/y", "http://127.0.0.1:4000", False),
        ("nobody:x", "https://x", False),
    ],
)
def test_only_the_vendors_own_server_is_the_vendors(model, address, wanted):
    """Or, of an id that is an address, the one that it says."""
    assert is_vendors(model, address) is wanted
    assert shown_host(address) in address


def test_each_vendor_with_a_key_has_an_address_at_which_its_requests_are_recorded():
    """All but those whose address is another one for each customer."""
    elsewhere = {"azure", "vertex"}
    vendors = {kind for kind, key in KEYS.items() if key and kind not in elsewhere}
    missing = sorted(kind for kind in vendors if not home(kind))
    assert not missing, f"`providers/addresses.py` has to say where {missing} answer"
    assert {home(kind) for kind in elsewhere} == {""}
    assert [url for url in homes() if url.startswith("https:") and not may_ask_a_model(url)] == []
