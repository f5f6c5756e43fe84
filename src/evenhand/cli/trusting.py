"""Whether a run's file may say what is run: those of this home may, those of others after somebody has looked at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.options import flag
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_mapping, is_sequence

if TYPE_CHECKING:
    from evenhand.core.run import RunMeta
_CALLED = {"paths": "the files", "failing": "the outcomes of", "definitions": "definitions of"}
_NOT_RUN = frozenset(
    {"version", "selection", "at_least", "strict", "strict_prompts", "tag", "case", "names"}
)
_PLACES = ("source", "replay", "gate", "skill", "probe", "canaries", "tryout", "batch")
_LONGEST = 300


trust_option = flag(
    "--trust",
    help="Run what the file of a run that was made elsewhere names: its paths, models and programs.",
)
"""Lets a run that was made elsewhere say what is run."""


def look_at_origin(meta: RunMeta, *, trust: bool) -> None:
    """That this home made the run, or that its user trusts whoever did, and that its eval files are as they were.

    Nothing that the file names has been read before.

    Raises:
        UsageError: It was made elsewhere: with what it would run. Or a file has changed since. Or pytest made it.
    """
    from evenhand.core.run import is_of_pytest
    from evenhand.store.home import is_signed
    from evenhand.store.run_lookup import homes

    if is_of_pytest(meta.title, meta.variants):
        raise UsageError(
            f"run {meta.id} is a session of pytest: its file doesn't record what would be asked again",
            hint="Run pytest again: what was answered already comes from the cache.",
        )
    # The signature is of this home's own key: who copies a file can't make it.
    if not trust and not is_signed(meta, homes(Path.cwd())):
        named = "\n  ".join(_named(meta)) or "nothing that it names"
        raise UsageError(
            f"run {meta.id} was not made here, and its file says what is run:\n  {named}",
            hint="If you trust its author, add --trust. Commands that only read it, such as show, don't ask.",
        )
    _look_at_files(meta)


def _named(meta: RunMeta) -> Iterator[str]:
    """What the run's file has a later command use, a line each."""
    from evenhand.core.wording.words import safe

    request = meta.settings.get("asked")
    for name, value in _settings(request if isinstance(request, Mapping) else {}):
        yield safe(f"{_CALLED.get(name, name)}: {value}"[:_LONGEST])
    for name in _PLACES:
        value = meta.source if name == "source" else meta.settings.get(name)
        if value:
            yield safe(f"{name}: {_text(value)}"[:_LONGEST])


def _settings(request: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in request.items():
        if name in _NOT_RUN or not value:
            continue
        if is_mapping(value):
            yield from _settings(value)
        else:
            yield name, _text(value)


def _text(value: object) -> str:
    from evenhand.core.encoding import encode

    if isinstance(value, str):
        return value
    if is_sequence(value) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return encode(value).decode()


def _look_at_files(meta: RunMeta) -> None:
    from evenhand.doors.eval_sets.project_files import changed_files
    from evenhand.engine.door import changed_since

    request: Mapping[str, Any] = meta.settings.get("asked") or {}
    digests = meta.config.get("files")
    paths = request.get("paths")
    if not is_mapping(digests) or isinstance(paths, str) or not is_sequence(paths):
        return
    if changed := changed_files([path for path in paths if isinstance(path, str)], digests):
        raise changed_since(meta, changed)
