"""Records what promptfoo makes of the folders beside this file: `python record_promptfoo.py NODE PROMPTFOO_JS [NAME]…`.

What is recorded is all that the tests need, so that they run without Node. Only for folders whose models are local.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDERS = (*(HERE / "folders").iterdir(), *(HERE / "typescript").iterdir())


def recorded(folder: Path, node: str, program: str) -> list[dict[str, Any]]:
    """One dict for each cell, in promptfoo's order of rows and columns."""
    args_file = folder / "args.json"
    args = json.loads(args_file.read_text()) if args_file.is_file() else []
    with tempfile.TemporaryDirectory() as home:
        out = Path(home) / "out.json"
        env = {
            **os.environ,
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "PROMPTFOO_CONFIG_DIR": home,
            "PROMPTFOO_PYTHON": sys.executable,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [node, program, "eval", "--no-cache", "--no-table", "-o", str(out), *args]
        run = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        if not out.is_file():
            sys.exit(f"{folder.name}: {run.stdout[-2000:]}{run.stderr[-2000:]}")
        results = json.loads(out.read_text())["results"]["results"]
    return [
        {
            "model": row["provider"].get("label") or row["provider"]["id"],
            "description": row["testCase"].get("description", ""),
            "vars": row["vars"],
            "output": (row.get("response") or {}).get("output"),
            "outcome": ("pass", "fail", "error")[row["failureReason"]],
            "metadata": row["testCase"].get("metadata", {}),
            "score": row["score"],
            "named": row["namedScores"],
            "parts": [
                [part["pass"], part["score"]]
                for part in (row.get("gradingResult") or {}).get("componentResults") or []
            ],
        }
        for row in sorted(results, key=lambda row: (row["testIdx"], row["promptIdx"]))
    ]


if __name__ == "__main__":
    node, program, *names = sys.argv[1:]
    for folder in sorted(FOLDERS):
        if not names or folder.name in names:
            rows = recorded(folder, node, program)
            text = "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"
            (folder / "recorded.json").write_text(text)
            sys.stdout.write(f"{folder.name}: {len(rows)} cells\n")
