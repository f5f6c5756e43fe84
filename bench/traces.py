"""How many spans a second are imported, and in how much memory: `python bench/traces.py 10000 100000 1000000`.

Traces of ten spans are written as OTLP in JSON, one request per line, and imported by the command in a process of its
own, whose largest memory is read when it is done.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SPANS = 10
"""Spans of a trace."""
BEGAN = 1_760_000_000_000_000_000


def text(key: str, value: str) -> dict[str, Any]:
    """An attribute."""
    return {"key": key, "value": {"stringValue": value}}


def trace(number: int) -> str:
    """A trace: an agent that asks a model and calls a tool, again and again."""
    id_ = f"{number + 1:032x}"
    spans: list[dict[str, Any]] = []
    for place in range(SPANS):
        began = BEGAN + (number * SPANS + place) * 1_000_000
        attributes = [
            text("gen_ai.operation.name", "invoke_agent"),
            text("gen_ai.agent.name", "shop"),
        ]
        if place % 2:
            messages = [
                {"role": "assistant", "parts": [{"type": "text", "content": f"step {place}"}]}
            ]
            attributes = [
                text("gen_ai.operation.name", "chat"),
                text("gen_ai.request.model", "gpt-5-mini"),
                text("gen_ai.output.messages", json.dumps(messages)),
                {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "35"}},
                {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "7"}},
            ]
        elif place:
            attributes = [
                text("gen_ai.operation.name", "execute_tool"),
                text("gen_ai.tool.name", "find_order"),
                text("gen_ai.tool.call.arguments", json.dumps({"id": number})),
                text("gen_ai.tool.call.result", json.dumps({"state": "late"})),
            ]
        spans.append(
            {
                "traceId": id_,
                "spanId": f"{number * SPANS + place + 1:016x}",
                "parentSpanId": f"{number * SPANS + 1:016x}" if place else "",
                "name": "step",
                "startTimeUnixNano": str(began),
                "endTimeUnixNano": str(began + 900_000),
                "attributes": attributes,
            }
        )
    resource_ = {"attributes": [text("service.name", "shop")]}
    return json.dumps(
        {"resourceSpans": [{"resource": resource_, "scopeSpans": [{"spans": spans}]}]}
    )


def measured(spans: int) -> str:
    """One import, in words."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spans.jsonl"
        with file.open("w") as out:
            out.writelines(trace(number) + "\n" for number in range(spans // SPANS))
        size = file.stat().st_size
        command = [sys.executable, "-m", "evenhand", "import", "traces", str(file), "--json"]
        started = time.perf_counter()
        child = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "EVENHAND_HOME": folder},
        )
        _, status, used = os.wait4(child.pid, 0)
        took = time.perf_counter() - started
        if status:
            raise SystemExit(f"the import ended with {os.waitstatus_to_exitcode(status)}")
    worked = used.ru_utime + used.ru_stime
    return (
        f"{spans:>9,} spans, {size / 1e6:>6,.0f} MB: {took:7.1f} s, {spans / took:7,.0f} spans/s;"
        f" {worked:6.1f} s of processor, {spans / worked:7,.0f} spans/s; {_peak(used) / 1e6:5.0f} MB at most"
    )


def _peak(used: resource.struct_rusage) -> int:
    return used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    for size in sys.argv[1:] or ("10000", "100000"):
        print(measured(int(size)), flush=True)
