"""Records what promptfoo makes of the cases in a file: `python record_assertions.py NODE PROMPTFOO_JS FILE.jsonl…`.

A case is one line of JSON. What is asked: `assert`, and `vars`, `threshold` and `options` where it has them; of what:
`response`, what the provider returns, or `message`, what a chat completion of OpenAI's holds; `config` is the
provider's. Spans in `response.metadata.trace` are sent to promptfoo's own receiver. `expect` is written into the line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PROVIDER = """
const fs = require('fs')
const cases = JSON.parse(fs.readFileSync(__dirname + '/cases.json'))
const worth = (value) => typeof value === 'string' ? { stringValue: value }
  : typeof value === 'boolean' ? { boolValue: value }
  : Number.isInteger(value) ? { intValue: value }
  : typeof value === 'number' ? { doubleValue: value }
  : Array.isArray(value) ? { arrayValue: { values: value.map(worth) } }
  : { kvlistValue: { values: told(value ?? {}) } }
const told = (object) => Object.entries(object).map(([key, value]) => ({ key, value: worth(value) }))
const nano = (ms) => ms === undefined ? undefined : String(BigInt(Math.round(ms * 1000)) * 1000n)
module.exports = class {
  constructor (options) { this.config = options.config; this.label = options.label }
  id () { return this.label }
  async callApi (prompt, context) {
    const response = cases[context.vars.case].response
    const trace = response.metadata?.trace
    if (trace && context.traceparent) {
      const traceId = context.traceparent.split('-')[1]
      const spans = trace.spans.map((span, i) => ({
        traceId, spanId: String(i + 1).padStart(16, '0'), name: span.name, attributes: told(span.attributes ?? {}),
        startTimeUnixNano: nano(span.startTime ?? 0), endTimeUnixNano: nano(span.endTime),
        status: { code: span.statusCode, message: span.statusMessage }
      }))
      const body = JSON.stringify({ resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ spans }] }] })
      const answer = await fetch('http://127.0.0.1:4318/v1/traces', {
        method: 'POST', headers: { 'content-type': 'application/json' }, body
      })
      if (!answer.ok) throw new Error(`spans: ${answer.status} ${await answer.text()}`)
    }
    return response
  }
}
"""


def _completions(cases: list[dict[str, Any]]) -> ThreadingHTTPServer:
    """A server that answers the n-th case's prompt with its message."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
            number = int(sent["messages"][-1]["content"].removeprefix("case "))
            choice = {"index": 0, "message": cases[number]["message"], "finish_reason": "stop"}
            body = json.dumps(
                {"id": "1", "object": "chat.completion", "choices": [choice]}
            ).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def _config(cases: list[dict[str, Any]], port: int) -> dict[str, Any]:
    labels: dict[str, dict[str, Any]] = {}
    tests: list[dict[str, Any]] = []
    for number, case in enumerate(cases):
        config: dict[str, Any] = dict(case.get("config") or {})
        provider: dict[str, Any] = {"id": "file://provider.js", "config": config}
        if "message" in case:
            config |= {"apiBaseUrl": f"http://127.0.0.1:{port}", "apiKey": "none"}
            provider["id"] = "openai:chat:gpt-4o"
        label = labels.setdefault(json.dumps(provider), {**provider, "label": f"p{len(labels)}"})
        tests.append(
            {
                "vars": {**(case.get("vars") or {}), "case": str(number)},
                "providers": [label["label"]],
                **{k: case[k] for k in ("assert", "threshold", "options") if k in case},
            }
        )
    return {
        "prompts": ["case {{case}}"],
        "providers": list(labels.values()),
        "tests": tests,
        "tracing": {"enabled": True, "otlp": {"http": {"enabled": True}}},
    }


def recorded(cases: list[dict[str, Any]], node: str, program: str) -> None:
    """Writes what promptfoo makes of each case into it."""
    server = _completions(cases)
    with tempfile.TemporaryDirectory() as home:
        folder, out = Path(home), Path(home) / "out.json"
        (folder / "cases.json").write_text(json.dumps(cases))
        (folder / "provider.js").write_text(PROVIDER)
        config = _config(cases, server.server_address[1])
        (folder / "promptfooconfig.json").write_text(json.dumps(config))
        env = {
            **os.environ,
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "PROMPTFOO_CONFIG_DIR": home,
        }
        command = [node, program, "eval", "--no-cache", "--no-table", "-o", str(out)]
        run = subprocess.run(
            command, cwd=home, env=env, capture_output=True, text=True, check=False
        )
        if not out.is_file():
            sys.exit(f"{run.stdout[-2000:]}{run.stderr[-2000:]}")
        results = json.loads(out.read_text())["results"]["results"]
    server.shutdown()
    for row in results:
        case = cases[int(row["vars"]["case"])]
        if "message" in case:
            case["response"] = {"output": row["response"]["output"]}
        case["expect"] = _expected(row)


def _expected(row: Mapping[str, Any]) -> dict[str, Any]:
    graded = row.get("gradingResult") or {}
    found: dict[str, Any] = {
        "success": row["success"],
        "score": row["score"],
        "failureReason": row["failureReason"],
    }
    if row["failureReason"] == 2:
        found["error"] = str(row.get("error")).partition("\n    at ")[0][:100]
    else:
        components = graded.get("componentResults") or []
        found["components"] = [[part["pass"], part["score"]] for part in components]
    return found


if __name__ == "__main__":
    node, program, *names = sys.argv[1:]
    for name in names:
        lines = Path(name).read_text("utf-8").splitlines()
        cases = [json.loads(line) for line in lines]
        recorded(cases, node, program)
        text = "".join(json.dumps(case, separators=(",", ":")) + "\n" for case in cases)
        Path(name).write_text(text, "utf-8")
        sys.stdout.write(f"{name}: {len(cases)} cases\n")
