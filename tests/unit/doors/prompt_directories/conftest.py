"""A small repository of prompts, to be changed by each test as it likes."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from evenhand.doors.prompt_directories.library import Library
from evenhand.doors.prompt_directories.prompt import PromptFolder, read_prompt
from evenhand.languages.documents.findings import Findings

META = """\
id: {id}
title: Greeter
summary: Greets somebody
status: draft
version: 0.1.0
created: 2026-01-02
updated: 2026-01-02
model: echo
inputs:
  - {{name: who, required: true}}
description: Greets somebody by name. Use when somebody comes in.
"""
EVAL = """\
cases:
  - name: one
    inputs: {who: Ada}
    assert:
      - contains: Hello
"""


@dataclass
class Shelf:
    """A repository, and how to write into it."""

    library: Library

    def add(self, name: str, **files: str) -> Path:
        """A prompt with these files; `meta`, `prompt` and `eval` are those of META and so on where not given."""
        folder = self.library.prompts / name
        said = {
            "meta": META.format(id=name),
            "prompt": "<p>Hello {{who}}</p>\n",
            "eval": EVAL,
            **files,
        }
        names = {
            "meta": "meta.yml",
            "prompt": "prompt.xml",
            "eval": "eval.yml",
            "guard": "guard.sh",
        }
        names["verify"] = "verify.sh"
        for key, text in said.items():
            if text:
                path = folder / names.get(key, key)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(textwrap.dedent(text), "utf-8")
                path.chmod(0o755 if path.suffix == ".sh" else 0o644)
        return folder

    def read(self, name: str = "greet") -> PromptFolder:
        """A prompt, read anew."""
        return read_prompt(self.library, name, Findings())

    def problems(self, name: str = "greet") -> str:
        """What is wrong with a prompt's folder, as reading it finds."""
        findings = Findings()
        read_prompt(self.library, name, findings)
        return "\n".join(map(str, findings.problems))


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """A repository with the prompt `greet`, in which one stands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENHAND_JUDGE", raising=False)
    found = Shelf(Library(tmp_path))
    found.add("greet")
    return found
