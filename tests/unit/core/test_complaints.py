"""What a program wrote to its standard error, as messages quote it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evenhand.core.program_output import complaint_of


def test_of_a_traceback_only_what_was_raised_is_quoted():
    """A real one, after warnings of libraries, of an exception that was raised while another was handled."""
    code = (
        "import sys; print('a warning ' * 100, file=sys.stderr)\n"
        "try: {}['key']\n"
        "except KeyError: raise RuntimeError('no stock\\n  for this part')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert complaint_of(ended.stderr) == "RuntimeError: no stock\n  for this part"


@pytest.mark.parametrize(
    ("errors", "quoted"),
    [
        ("", ""),
        ("  \n", ""),
        ("short", "short"),
        ("a first line\nthe second\nthe third", "the second\nthe third"),
        ("x" * 30, "…" + "x" * 24),
        (b"\xff broken", "\ufffd broken"),
        (
            "Traceback (most recent call last):\n  File",
            "Traceback (most recent call last):\n  File"[:24],
        ),
    ],
)
def test_the_end_is_quoted_in_whole_lines(errors: str | bytes, quoted: str):
    """It never begins in the middle of a word, unless one line is too long."""
    assert complaint_of(errors, most=24).rstrip("…") == quoted.rstrip("…")
