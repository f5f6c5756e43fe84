"""A repository of 500 prompts with their evidence: how long `doctor`, `list` and `index` take, start-up included."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

META = """\
id: {id}
title: Prompt {id}
summary: Does what prompt {id} does
status: {status}
version: 1.2.0
created: 2026-01-02
updated: 2026-03-04
tags: [code, "pattern:diff"]
model: claude-haiku-4-5
inputs:
  - {{name: file, required: true}}
  - {{name: constraints, required: false, default: none}}
description: Does what prompt {id} does. Use when somebody wants it done.
triggers:
  - do it
not_for:
  - do something else
notes: |
  Watch out for long files.
"""
CASE = """\
  - name: case-{i}
    inputs_from: examples/one
    assert:
      - contains: "DIFF"
      - max_words: 2000
    rubric: "How surgical is it, from 1 to 5?"
    judge: {{model: claude-haiku-4-5, pass_threshold: 4}}
"""
TRIGGERS = 'triggering:\n  should_match: ["do it now"]\n  should_not_match: ["write a poem"]\n'
ROW = {
    "ts": "2026-01-02T03:04:05Z", "case": None, "vars_hash": "none", "sent": True, "exit_code": 0, "verified": True,
    "duration_ms": 900, "prompt_words": 80, "output_words": 40, "content": "0" * 16, "model": "anthropic:x",
}  # fmt: skip
COMMANDS = (["prompt", "doctor", "--quiet"], ["prompt", "list"], ["prompt", "index"])


def make(root: Path, count: int, cases: int) -> None:
    for i in range(count):
        folder = root / "prompts" / f"prompt-{i:04}"
        (folder / "examples" / "one").mkdir(parents=True)
        status = ("draft", "tested", "ready")[i % 3]
        (folder / "meta.yml").write_text(META.format(id=folder.name, status=status))
        body = "<rules>\n" + "  <rule>Do it well.</rule>\n" * 30 + "</rules>\n"
        text = f"<prompt>\n{body}<file>{{{{file}}}}</file>{{{{constraints}}}}</prompt>\n"
        (folder / "prompt.xml").write_text(text)
        (folder / "examples" / "one" / "inputs.yml").write_text("file: a.py\n")
        listed = "".join(CASE.format(i=n) for n in range(cases))
        (folder / "eval.yml").write_text(f"{TRIGGERS}cases:\n{listed}")
        (folder / "aliases").write_text(f"do-{i}\n")
        (folder / ".usage.jsonl").write_text((json.dumps(ROW) + "\n") * 20)
        (folder / ".eval.jsonl").write_text(
            '{"ts":"x","all_passed":true,"total":3,"passed":3}\n' * 3
        )
    (root / "README.md").write_text("<!-- INDEX:START -->\n<!-- INDEX:END -->\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=500)
    parser.add_argument("--cases", type=int, default=3)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), options.prompts, options.cases)
        for words in COMMANDS:
            took: list[float] = []
            for _ in range(options.times):
                start = time.perf_counter()
                command = [sys.executable, "-c", "from evenhand.cli import main; main()", *words]
                done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
                took.append(time.perf_counter() - start)
            print(
                f"{' '.join(words):<24} {min(took):.2f} s (best of {options.times}), exit {done.returncode}"
            )


if __name__ == "__main__":
    main()
