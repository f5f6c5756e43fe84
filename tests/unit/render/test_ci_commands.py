"""No line that others wrote is a command to the CI host that reads a job's log."""

from __future__ import annotations

import io
import re

import pytest

from evenhand.core.wording.words import put, safe

COMMANDS = (
    "::error file=a.py,line=1::x", "::warning::x", "::stop-commands::x", "::add-mask::x", "::group::x", "::endgroup::",
    "::set-output name=a::b", "::pause-123::", "##[error]x", "##[group]x", "##[stop-commands]x", "##[section]x",
    "##vso[task.setvariable variable=a]b", "##vso[task.complete result=Succeeded;]", "##VSO[task.debug]x",
    "##teamcity[buildStop comment='x']", "##teamcity[testFailed name='x']", "--- group", "+++ group", "~~~ group",
    "^^^ +++", "\x1b[0Ksection_start:1:x\r\x1b[0Kx", "section_end:1:x\r\x1b[0K", "travis_fold:start:x\r\x1b[0K",
)  # fmt: skip
BEFORE = (
    "",
    " ",
    "\t",
    "\u00a0",
    "x\n",
    "x\n  ",
    "x\r\n",
    "x\r",
    "x\u2028",
    "x\x0b",
    "x\x0c",
    "x\x85",
)
OBEYED = re.compile(
    r"^\s*::[\w-]|##\[|##vso\[|##teamcity\[|^(---|\+\+\+|~~~|\^\^\^)\s|section_(?:start|end):\d+:\w+\r\x1b|fold:\w+:\w+\r",
    re.IGNORECASE | re.MULTILINE,
)


@pytest.mark.parametrize("multiline", [True, False])
@pytest.mark.parametrize("command", COMMANDS)
def test_foreign_text_never_begins_a_line_as_a_command(command: str, multiline: bool):
    """Of GitHub, GitLab, Azure, TeamCity, Buildkite and Travis, behind whatever white space."""
    for before in BEFORE:
        text = safe(f"{before}{command}\nrest", multiline=multiline)
        for line in text.split("\n"):
            assert not OBEYED.search(line), (before, line)
        assert safe(text, multiline=multiline) == text


@pytest.mark.parametrize("command", COMMANDS[:21])
def test_a_line_that_was_wrapped_is_looked_at_once_more(command: str):
    """Whatever is printed, but commands of ours."""
    out = io.StringIO()
    put(out, f"aaa\n  {command.lstrip('x')}\n{command}\n")
    lines = out.getvalue().split("\n")
    assert not OBEYED.search(lines[2])
    assert not re.match(r"\s*(::\w|##\w*\[)", lines[1])
    out = io.StringIO()
    put(out, command, commands=True)
    assert out.getvalue() == command


@pytest.mark.parametrize(
    "text",
    [
        "a::b", "std::vector", "test_x.py::test_y", "a: b", ":: a", "## heading", "---", "| --- | --- |", "x ---",
        "::1", "127.0.0.1, ::1 or localhost", "::ffff:1, a", "::1/128",
    ],
)  # fmt: skip
def test_what_is_no_command_stays_as_it_is(text: str):
    """Names with colons, addresses, headings and rules of Markdown."""
    assert safe(text) == text
    out = io.StringIO()
    put(out, text)
    assert out.getvalue() == text


@pytest.mark.parametrize("text", ["::add-mask::x", "::dead::x", "::1::x", "::1:2::x", "::a1b2c3::"])
def test_a_command_that_looks_like_an_address_is_one(text: str):
    """A stopped log is resumed by a word of anybody's choice."""
    assert safe(text) == f"\\x3a{text[1:]}"
