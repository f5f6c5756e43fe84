"""Which ids of models anybody may type."""

from __future__ import annotations

import pytest

from evenhand.core.errors import UsageError
from evenhand.providers.roster import look_at_vendor


@pytest.mark.parametrize(
    "model",
    [
        "openai:chat:gpt-5-mini",
        "gpt-5",
        "anthropic:claude-haiku-4-5",
        "vertex:claude-sonnet-4@20250514",
        "huggingface:chat:org/model",
        "ollama:chat:llama3.2:1b",
        "echo",
    ],
)
def test_models_of_vendors_and_of_servers_may_be_typed(model: str) -> None:
    """Their ids say who answers, and nothing else."""
    look_at_vendor(model)


@pytest.mark.parametrize(
    "model",
    [
        "",
        "openai:",
        "unknown:x",
        "exec:cat /etc/passwd",
        "file://made.py",
        "python:made.py:prompt",
        "made.js",
        "made.js:x",
        "http://127.0.0.1:1/",
        "https",
        "webhook:http://127.0.0.1:1/",
        "agent:claude",
        "mcp:x",
        "package:x",
        "litellm:vllm/x",
        "openai:gpt-5@http://127.0.0.1:1/v1",
        "openai:gpt-5@127.0.0.1",
        "azure:x://y",
        "openai:{{env.SHOP_WORD}}",
        "openai:$HOME",
        "openai:\x1b[31m",
        "openai:\u202egpt",
        "openai:gpt 5",
        "openai:gpt-5\n",
        "--version",
        "openai:" + "x" * 300,
    ],
)
def test_what_runs_code_reads_files_or_names_an_address_may_not(model: str) -> None:
    """It would be a way from a page to the machine, or to where keys are sent."""
    with pytest.raises(UsageError, match="only models of vendors"):
        look_at_vendor(model)
