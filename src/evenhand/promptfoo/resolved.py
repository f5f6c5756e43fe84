"""The variables of a case as its prompt gets them: files read in, tags filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.promptfoo.template import names_in, render
from evenhand.promptfoo.variable_files import file_value

_TAG = re.compile(r"\{[{%].*?[}%]\}", re.DOTALL)


def resolved(
    variables: Mapping[str, Any], files: frozenset[str], tagged: frozenset[str], base: Path
) -> Mapping[str, Any]:
    """The variables with files read in and, where the config has tags in them, those filled in.

    Raises:
        CodeError: A file cannot be read any more.
    """
    if not files and not tagged:
        return variables
    found = dict(variables)
    for name in files:
        value = found[name]
        if isinstance(value, str) and value.startswith("file://"):
            found[name] = file_value(base / value.removeprefix("file://"))
            tagged -= {name}  # what a file says is data
    # What names something that is not there stays as it is written, as in promptfoo.
    tagged = frozenset(
        name
        for name in tagged
        if isinstance(found[name], str) and names_in(found[name]) <= found.keys()
    )
    return {**found, **_Filled(found, tagged).all()} if tagged else found


class _Filled:
    """Variables filled into variables: each text as it is written, once, after those that it names.

    So what is filled in is never looked at again. Where two name each other, one of them takes the other as written.
    """

    def __init__(self, written: Mapping[str, Any], tagged: frozenset[str]) -> None:
        self._written = written
        self._named = {
            name: [other for other in tagged if other != name and _names(written[name], other)]
            for name in tagged
        }
        self._done: dict[str, str] = {}

    def all(self) -> Mapping[str, str]:
        """Those with tags, filled in."""
        return {name: self._filled(name, ())[0] for name in self._named}

    def _filled(self, name: str, above: tuple[str, ...]) -> tuple[str, bool]:
        """One of them, and whether it is whole, whoever asks: nothing in it was cut short at one of those above."""
        if name in self._done:
            return self._done[name], True
        values = {k: v for k, v in self._written.items() if k != name}
        whole = True
        for other in self._named[name]:
            if other in above:
                whole = False
            else:
                values[other], settled = self._filled(other, (*above, name))
                whole = whole and settled
        text = render(str(self._written[name]), values)
        if whole:
            self._done[name] = text
        return text, whole


def _names(text: str, name: str) -> bool:
    """Whether a tag of this text may name this variable."""
    return any(re.search(rf"\b{re.escape(name)}\b", tag) for tag in _TAG.findall(text))
