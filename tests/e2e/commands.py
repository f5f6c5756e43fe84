"""Command lines that run in the process of the tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from evenhand.cli import main


@dataclass(frozen=True)
class Ended:
    """What a command came to."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


def in_process(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs command lines in the current folder."""

    def run(*words: str) -> Ended:
        code = 0
        try:
            main(list(words))
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = capsys.readouterr()
        return Ended(code, said.out, said.err)

    return run
