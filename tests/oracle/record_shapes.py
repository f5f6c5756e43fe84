"""Records what promptfoo makes of answers of every shape: `python record_shapes.py NODE PROMPTFOO_JS [API]…`.

All vendors are one server on this machine, which answers with the shape that the prompt names.
"""

from __future__ import annotations

import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any

from shapes.answers import ANSWERS, asked, encoded

RECORDED = Path(__file__).parent / "shapes" / "recorded.json"
API = {
    "/responses": "responses",
    "/v1/messages": "anthropic",
    ":generateContent": "google",
    "/api/chat": "ollama",
    "/api/generate": "generate",
    "/chat/completions": "chat",
    "/completions": "completion",
}


class Vendors(http.server.BaseHTTPRequestHandler):
    """All of them."""

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        question = self.rfile.read(length).decode()
        path = self.path.partition("?")[0]
        api = next(api for ending, api in API.items() if path.endswith(ending))
        name = re.search(r"SHAPE:<([^>]*)>", question)
        assert name is not None
        body = encoded(ANSWERS[api][name[1]])
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (as it is called there)
        """Says nothing."""


def recorded(api: str, base: str, node: str, program: str) -> dict[str, dict[str, Any]]:
    """The outputs of all who speak an API, by id, what they are held to, and shape."""
    with tempfile.TemporaryDirectory() as home:
        providers = [
            {"id": id_, "label": f"{id_} {form}", "config": config}
            for its, id_, form, config in asked(base)
            if its == api
        ]
        config = {
            "prompts": ["SHAPE:<{{shape}}> in json"],
            "providers": providers,
            "tests": [{"vars": {"shape": name}} for name in ANSWERS[api]],
        }
        (Path(home) / "promptfooconfig.json").write_text(json.dumps(config))
        out = Path(home) / "out.json"
        env = {
            **os.environ,
            "HOME": home,
            "PROMPTFOO_CONFIG_DIR": home,
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "OLLAMA_BASE_URL": base,
        }
        command = [node, program, "eval", "--no-cache", "--no-table", "-o", str(out)]
        run = subprocess.run(
            command,
            cwd=home,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if not out.is_file():
            sys.exit(f"{api}: {run.stdout[-2000:]}{run.stderr[-2000:]}")
        results = json.loads(out.read_text())["results"]["results"]
    outputs: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in sorted(results, key=lambda row: (row["promptIdx"], row["testIdx"])):
        label, shape = row["provider"]["label"], row["vars"]["shape"]
        response = row.get("response") or {}
        error = row["failureReason"] == 2
        outputs[label][shape] = (
            {"error": row["error"]} if error else {"output": response.get("output")}
        )
    return outputs


if __name__ == "__main__":
    node, program, *apis = sys.argv[1:]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Vendors)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    known = json.loads(RECORDED.read_text()) if RECORDED.is_file() else {}
    for api in apis or [name for name in ANSWERS if name != "llama"]:
        known[api] = recorded(api, base, node, program)
        text = json.dumps(known, ensure_ascii=False, indent=0, sort_keys=True)
        RECORDED.write_text(text + "\n")
