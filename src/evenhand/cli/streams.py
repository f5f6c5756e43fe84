"""Stdout and stderr as they may be: closed, full, or a pipe whose reader has gone."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from evenhand.core.errors import StoreError
    from evenhand.store.runfile import RunFile


def present() -> None:
    """Puts a stream that takes everything where a shell has closed stdout or stderr, so that nobody has to look.

    It takes their file numbers too: or else the next file that is opened, of a run perhaps, would be where the programs
    that user code starts print to. What a stream's encoding hasn't is written plainer: a pipe on Windows has no emoji.
    """
    codecs.register_error(_PLAINER, _plainer)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 (for as long as we live)
        elif getattr(stream, "errors", "") in ("strict", "surrogateescape"):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.reconfigure(errors=_PLAINER)


_PLAINER = "evenhand-plainer"


def _plainer(error: UnicodeError) -> tuple[str, int]:
    """What is written in place of characters that an encoding hasn't."""
    from evenhand.core.wording.words import plainer

    if not isinstance(error, UnicodeEncodeError):
        raise error
    return plainer(error.object[error.start : error.end], error.encoding), error.end


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Inside, something is printed to stdout, and is out at the end. A reader that has seen enough is no error.

    Raises:
        StoreError: Stdout cannot be written: a full disk, as a rule.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:  # `evenhand show | head`
        drop()
    except OSError as error:
        drop()
        raise _full(error) from error


def unwritable(error: OSError) -> StoreError | None:
    """The error of a stdout that takes nothing, for what went wrong while a command printed; None if it isn't that."""
    if error.filename is not None:
        return None
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError as again:
        drop()
        return _full(again) if again.errno == error.errno else None
    except ValueError:  # it is closed
        return None
    return None


def _full(error: OSError) -> StoreError:
    from evenhand.core.errors import StoreError

    return StoreError(
        f"stdout cannot be written: {error.strerror or error}",
        hint="Nothing that is saved is lost: `evenhand show` prints a run again.",
    )


@contextlib.contextmanager
def set_apart() -> Iterator[TextIO]:
    """Inside, what user code and the programs it starts write to file number 1 goes to stderr: stdout is for results.

    What it prints in Python is kept with its trial; this is for what passes Python by. Gives what stdout was.
    """
    from evenhand.engine.process import not_for_children

    real = sys.stdout
    try:
        real.flush()
        copy = os.dup(1)
    except (OSError, ValueError):  # there is no stdout to keep clean
        yield real
        return
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, copy)
        stack.callback(os.dup2, copy, 1)
        out = stack.enter_context(_twin(real, copy)) if _is_first(real) else real
        with contextlib.suppress(OSError, ValueError):
            stack.enter_context(not_for_children(copy, out.fileno()))
        os.dup2(2, 1)
        yield out


def _is_first(stream: TextIO) -> bool:
    try:
        return stream.fileno() == 1
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def _twin(stream: TextIO, number: int) -> Iterator[TextIO]:
    """A stream like this one, to where this file number leads. That nobody reads it any more is no error."""
    with open(  # noqa: PTH123 (of a number)
        os.dup(number), "w", encoding=stream.encoding, errors=stream.errors
    ) as out:
        try:
            yield out
        finally:
            try:
                out.flush()
            except OSError:
                drop(out)


def tell(line: str) -> None:
    """Writes a line to stderr, without secrets; that nobody can read it any more is no reason to stop anything.

    It may repeat what was typed, or what a file says: nothing in it steers a terminal. It is wrapped for one, and
    stays in one piece elsewhere, where somebody looks for it: see `_wrapped`.
    """
    from evenhand.core.secrets import known, shown
    from evenhand.core.wording.words import put_quietly, safe

    known.learn_environment(os.environ)
    text = safe(shown(line), multiline=True)
    put_quietly(sys.stderr, "\n".join(_wrapped(text.split("\n"), sys.stderr)) + "\n")


def leave() -> None:
    """Gets rid of what stderr still holds: Python would try again on its way out, and exit with a code of its own."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        drop(sys.stderr)


def drop(stream: TextIO | None = None) -> None:
    """Lets what is still to be printed to a stream, stdout by default, go nowhere."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, (stream or sys.stdout).fileno())
        os.close(nowhere)


def print_run(
    run_file: RunFile, *, as_json: bool, table: bool, with_heading: bool = True, calls: bool = False
) -> None:
    """Prints a run to stdout: for programs, or for people."""
    with printing():
        if as_json:
            from evenhand.render.document import write_document

            write_document(run_file, sys.stdout, calls=calls)
            return
        from evenhand.core.wording.ink import takes_colors
        from evenhand.render.console import show as print_it

        print_it(
            run_file,
            sys.stdout,
            table=table,
            color=takes_colors(sys.stdout),
            with_heading=with_heading,
        )


def say_json(document: object) -> None:
    """Prints one JSON document to stdout, on a line."""
    from evenhand.core.wording.json_text import json_text, writer

    with printing():
        writer(sys.stdout)(json_text(document) + "\n")


def say_wrapped(text: str, indent: str = "") -> None:
    """Prints lines to stdout; those that are too long for it are wrapped.

    Args:
        text: One line, or several.
        indent: Before each line that a wrapped one goes on in; a short one where that would leave no room.
    """
    from evenhand.core.wording.ink import width_of
    from evenhand.core.wording.words import folded, without_commands

    width = width_of(sys.stdout)
    if len(indent) > width // 2:
        indent = "    "
    with printing():
        for line in text.split("\n"):
            pieces = folded(line, width, "", indent, whole=True)
            sys.stdout.write(without_commands("\n".join(pieces)) + "\n")


def say_lines(lines: Iterable[str]) -> None:
    """Prints lines to stdout; those that are too long for a terminal are wrapped."""
    from evenhand.core.wording.words import put

    with printing():
        put(sys.stdout, "".join(f"{line}\n" for line in _wrapped(lines, sys.stdout)))


def _wrapped(lines: Iterable[str], out: TextIO) -> Iterator[str]:
    """Lines in as many as they take on a terminal; in a log, where somebody looks for one, each stays in one piece.

    No word is cut, as it may be a command's. Lines with colours have been given a width.
    """
    from evenhand.core.wording.ink import width_of
    from evenhand.core.wording.words import folded

    width = width_of(out) if out.isatty() else sys.maxsize
    for line in lines:
        if len(line) <= width // 2 or "\x1b" in line:
            yield line
            continue
        label = _LABEL.match(line)
        indent = len(label[0]) if label else len(line) - len(line.lstrip()) + 2
        yield from folded(line, width, "", " " * min(width // 2, indent), whole=True)


_LABEL = re.compile(r" *(?=.{1,16} {2})\S+(?: \S+)* {2,}")
"""What a line begins with before the column in which its text stands: `  judge     `."""
