"""`evenhand info mcp` as a coding agent uses it: a command that speaks on its standard input and output."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

CONFIG = """
description: support
prompts: [file://prompt.txt]
providers: [{id: file://provider.py, config: {maxCost: 0.01}}]
tests:
  - {vars: {message: Where is my parcel?}, assert: [{type: equals, value: delivery}]}
  - {vars: {message: I want my money back}, assert: [{type: equals, value: refund}]}
"""
PROVIDER = """
def call_api(prompt, options, context):
    word = "delivery" if "parcel" in prompt else "refund"
    return {"output": word if "one word" in prompt else f"This is about {word}.", "cost": 0.01}
"""

pytestmark = pytest.mark.timeout(180)


async def test_a_client_that_follows_the_answers_mends_a_prompt(tmp_path: Path):
    """In at most twelve calls, from a failed run to one that passes, by what `next` says alone."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    (tmp_path / "provider.py").write_text(PROVIDER)
    (tmp_path / "prompt.txt").write_text("What is this about? {{message}}")
    command = ["-m", "evenhand", "info", "mcp", "--max-cost", "0.05", "--root", str(tmp_path)]
    parameters = StdioServerParameters(
        command=sys.executable, args=command, cwd=str(tmp_path), env=dict(os.environ)
    )
    calls: list[str] = []
    async with Client(parameters) as client:

        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            calls.append(tool)
            told = await client.call_tool(tool, arguments)
            return json.loads(told.content[0].text)  # pyright: ignore[reportAttributeAccessIssue]

        told = await call("check", {})
        steps: list[dict[str, Any]] = list(told["next"])
        mended, first = False, ""
        while told.get("verdict") != "passed" and len(calls) < 12:
            step = steps.pop(0)
            if "do" in step:
                assert "made_from" in step["do"], told
                (file,) = told["made_from"]["prompts"]
                page = tmp_path / file["untrusted"]
                page.write_text(page.read_text() + " Answer with one word.")
                mended = True
            else:
                told = await call(step["tool"], step["arguments"])
                first = first or told.get("run", "")
                steps = [*told["next"], *steps]
        compared = await call("compare", {"first": first})
        refused = await call("run", {"max_cost_usd": 100.0})
    assert mended
    assert told["verdict"] == "passed"
    assert len(calls) <= 12
    assert calls[:4] == ["check", "run", "failures", "cell"]
    assert compared["verdict"] in (
        "undecided",
        "no detectable difference",
    )  # two cases show nothing
    assert refused["left_usd"] < 0.05
