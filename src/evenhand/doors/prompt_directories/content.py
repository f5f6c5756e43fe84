"""What evidence is about: a hash of the prompt, of its cases and of its hooks, as they are now.

How this works: a prompt's own hash is of its template and of the inputs that it declares, as both decide what is sent;
its status, its title and its notes are not in it, so that a promotion leaves its evidence standing. The hash of the
cases is of eval.yml, of the files that it names, and, where there are trigger tests, of what the prompt says that it is
for. The hash of the hooks is of guard.sh and verify.sh, and of whether they can be run. What hooks, graders and models
of one's own load counts with them; see `reached`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from evenhand.core.encoding import digest, encode
from evenhand.core.errors import StoreError
from evenhand.core.record import Record
from evenhand.doors.prompt_directories.eval_yml import EvalFile, read_eval
from evenhand.doors.prompt_directories.hooks import is_hook
from evenhand.doors.prompt_directories.library import EVAL, GUARD, VERIFY
from evenhand.doors.prompt_directories.loaded_files import beside, reached, reached_by_id
from evenhand.doors.prompt_directories.prompt import PromptFolder
from evenhand.languages.documents.findings import Findings, shown_path

LENGTH = 16
_PLAIN = (b"inputs_from", b"json_schema", b"among", b"type")
"""An eval.yml without any of these words names no file of inputs, and no other prompt."""


class Content(Record, frozen=True):
    """Three hashes of 16 hex digits: of the prompt, of its cases, of its hooks.

    Attributes:
        loaded: The files that count because hooks, graders or models of one's own load them, as the repository's root
            sees them.
    """

    prompt: str
    cases: str
    hooks: str
    loaded: tuple[str, ...] = ()

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
    folder, root = prompt.path, prompt.library.root
    inputs = [[i.name, i.required, i.default] for i in prompt.meta.inputs]
    model = reached_by_id(prompt.meta.model, folder, root)
    own = digest(prompt.template, encode(inputs), *_files(model, root))[:LENGTH]
    hooks = [folder / name for name in (GUARD, VERIFY) if is_hook(folder / name)]
    by_hooks = reached(hooks, folder, root)
    by_cases = reached([folder / EVAL], folder, root)
    if hooks:  # a file here that nothing is seen to load may be loaded all the same
        by_hooks |= {path for path in beside(folder) if path not in by_cases} - {*hooks}
    # A hook that may not be executed is not run, and counts as none.
    programs = [
        _bytes(path) if path in hooks else b"" for path in (folder / GUARD, folder / VERIFY)
    ]
    named = digest(*programs, *_files(by_hooks, root))[:LENGTH]
    loaded = tuple(str(path.relative_to(root)) for path in sorted(by_hooks | by_cases | model))
    return Content(own, _cases(prompt, suite, by_cases), named, loaded)


def _cases(prompt: PromptFolder, suite: EvalFile | None, loaded: set[Path]) -> str:
    path = prompt.path / EVAL
    try:
        data = path.read_bytes()
    except OSError:
        return ""
    parts: list[bytes | str] = [data]
    files = set(loaded)
    # Most of these files name no other, and need not be parsed to be hashed.
    if any(word in data for word in _PLAIN):
        eval_file = suite or read_eval(prompt, Findings(), with_inputs=False)
        files |= {file for file in eval_file.files if file.is_file()} if eval_file else set()
        if eval_file and eval_file.triggering:
            parts.append(encode(list(eval_file.triggering.others)))
    parts += _files(files, prompt.library.root)
    if b"triggering" in data:
        meta = prompt.meta
        parts.append(encode([meta.description or meta.summary, meta.triggers, meta.not_for]))
    return digest(*parts)[:LENGTH]


def _files(paths: Iterable[Path], root: Path) -> list[bytes | str]:
    """Names and contents, in the order of the names."""
    parts: list[bytes | str] = []
    for path in sorted(paths):
        parts += [os.path.relpath(path, root), _bytes(path)]
    return parts


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(f"{shown_path(path)} cannot be read: {error.strerror or error}") from error
