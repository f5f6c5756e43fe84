"""What evidence is about: a hash of the prompt, of its cases and of its hooks, as they are now.

How this works: a prompt's own hash is of its template and of the inputs that it declares, as both decide what is sent;
its status, its title and its notes are not in it, so that a promotion leaves its evidence standing. The hash of the
cases is of eval.yml, of the files that it names, and, where there are trigger tests, of what the prompt says that it is
for. The hash of the hooks is of guard.sh and verify.sh, and of whether they can be run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.encoding import digest, encode
from evenhand.core.errors import StoreError
from evenhand.documents.findings import Findings, shown_path
from evenhand.registry.cases import EvalFile, read_eval
from evenhand.registry.hooks import is_hook
from evenhand.registry.library import EVAL, GUARD, VERIFY
from evenhand.registry.prompt import PromptFolder

LENGTH = 16
_PLAIN = (b"inputs_from", b"json_schema", b"among", b"type")
"""An eval.yml without any of these words names no file."""


@dataclass(frozen=True, slots=True)
class Content:
    """Three hashes of 16 hex digits: of the prompt, of its cases, of its hooks."""

    prompt: str
    cases: str
    hooks: str

    @property
    def sent(self) -> str:
        """Of all that decides what is sent, and whether it is verified."""
        return digest(self.prompt, self.hooks)[:LENGTH]

    @property
    def whole(self) -> str:
        """Of all that decides what an eval finds."""
        return digest(self.prompt, self.cases, self.hooks)[:LENGTH]


def content_of(prompt: PromptFolder, suite: EvalFile | None = None) -> Content:
    """What this prompt's evidence is about.

    Args:
        suite: Its eval.yml, where it has been read already.
    """
    inputs = [[i.name, i.required, i.default] for i in prompt.meta.inputs]
    own = digest(prompt.template, encode(inputs))[:LENGTH]
    hooks: list[bytes | str] = []
    for name in (GUARD, VERIFY):
        path = prompt.path / name
        hooks.append(_bytes(path) if is_hook(path) else "")
    return Content(own, _cases(prompt, suite), digest(*hooks)[:LENGTH])


def _cases(prompt: PromptFolder, suite: EvalFile | None) -> str:
    path = prompt.path / EVAL
    try:
        data = path.read_bytes()
    except OSError:
        return ""
    parts: list[bytes | str] = [data]
    if any(word in data for word in _PLAIN):
        found = suite or read_eval(prompt, Findings(), _nothing, with_inputs=False)
        files: Sequence[Path] = sorted(found.files) if found else ()
        parts += [_bytes(file) for file in files if file.is_file()]
        if found and found.triggering:
            parts.append(encode(list(found.triggering.others)))
    if b"triggering" in data:
        meta = prompt.meta
        parts.append(encode([meta.description or meta.summary, meta.triggers, meta.not_for]))
    return digest(*parts)[:LENGTH]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(f"{shown_path(path)} cannot be read: {error.strerror or error}") from error


def _nothing(*_: object) -> None:
    """Reads no assertion: only the files are of interest."""
