"""The command line, from its first moment to its last.

Ctrl-C raises KeyboardInterrupt wherever Python is. While modules are imported, nobody could catch it everywhere: so
before a command begins, and once it has ended, a request to end ends the process at once. All else is imported after
that.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

TYPE_CHECKING = False  # importing `typing` takes long, and Ctrl-C may come meanwhile
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import NoReturn

    import click

PATIENCE = 2.0
"""Seconds for a thread that user code left running, before it is said that somebody waits for it."""
_BEFORE = frozenset(sys.modules)
_OURS = frozenset(("evenhand", "click", "msgspec", "pycurl", "typing_extensions", "uvloop"))
"""The package, and the libraries that a plain run loads."""


def main(args: Sequence[str] | None = None) -> None:
    """Runs a command line, and exits with its code."""
    if args is None:
        end_at_once()
        # Imports alone would have the cycle collector look ninety times, and find nothing.
        gc.set_threshold(100_000, 50, 100)
    from evenhand.cli.streams import leave, present, printing, tell
    from evenhand.core.version import __version__

    present()
    words = list(sys.argv[1:] if args is None else args)
    if words in (["--version"], ["-V"]):  # scripts ask often: not worth importing anything
        try:
            with printing():
                sys.stdout.write(f"evenhand {__version__}\n")
        except Exception as error:  # noqa: BLE001 (as in `_run`)
            raise SystemExit(_failed(error, words)) from None
        return
    # With arguments, somebody's program goes on; a shell that completes a word runs no code of the user's.
    guarded = args is None and "_EVENHAND_COMPLETE" not in os.environ
    if guarded:
        from evenhand.engine.guardian import guard

        guard(tell)
    try:
        code = _run(words)
    except KeyboardInterrupt:  # once more, while that was said
        code = 130
    end_with(code)
    _let_go_of_signals()
    leave()
    code = _outlived(code)
    if guarded:
        from evenhand.engine.guardian import finish

        finish(code)
    if guarded and _holds_only_ours():
        gc.freeze()  # on its way out, Python would look for cycles among all that was imported
    raise SystemExit(code)  # not sys.exit, which user code may have replaced


def _holds_only_ours() -> bool:
    """Whether there is no code of others, whose objects may still write something when they are collected."""
    files = [name for name, module in sys.modules.items() if getattr(module, "__file__", None)]
    loaded = {name.partition(".")[0] for name in files}
    return loaded <= _OURS | _BEFORE | sys.stdlib_module_names


def _outlived(code: int) -> int:
    """Waits for threads that user code left running, as Python would; what they still expect cannot be recorded.

    Those of thread pools wait for work until the interpreter ends, which tells them to.
    """
    from evenhand.cli.streams import tell

    # Not imported for this: what nobody has loaded left nothing running.
    threading = sys.modules.get("threading")
    runner = sys.modules.get("evenhand.engine.runner")
    if threading is None or runner is None:
        return code
    pools = getattr(sys.modules.get("concurrent.futures.thread"), "_threads_queues", {})
    try:
        for thread in threading.enumerate():
            if (
                thread is not threading.current_thread()
                and not thread.daemon
                and thread not in pools
            ):
                # Most threads end in a moment: only one that doesn't is worth a word.
                thread.join(PATIENCE)
                if thread.is_alive():
                    tell(
                        f"evenhand: waiting for a thread that your code left running: {thread.name}"
                    )
                    thread.join()
    except KeyboardInterrupt:
        return code
    for line in runner.after_the_run:
        tell(f"evenhand: after the run had ended: {line}")
    return code or (3 if runner.after_the_run else 0)


def _interrupted() -> tuple[int, str]:
    """The signal that interrupted the command, 0 for Ctrl-C, and what to say of that."""
    signals = sys.modules.get("evenhand.engine.signals")
    if signals is None or signals.late.path is None:
        return (signals.late.number if signals is not None else 0), "interrupted"
    from pathlib import Path

    from evenhand.store.run_lookup import called

    name = called(Path.cwd(), signals.late.path)
    return signals.late.number, f"interrupted; the run is whole: `evenhand show {name}` prints it"


def _end_interrupted() -> int:
    """Says that the command was interrupted; its exit code."""
    from evenhand.cli.exits import INTERRUPTED
    from evenhand.cli.streams import tell

    number, line = _interrupted()
    end_with(code := 128 + number if number else INTERRUPTED)
    tell(line)
    return code


def _let_go_of_signals() -> None:
    """Has signals do what they did before the command."""
    if (signals := sys.modules.get("evenhand.engine.signals")) is not None:
        signals.late.let_go()


def _is_folder_gone() -> bool:
    """Whether the folder that the command was started in is not there any more."""
    try:
        os.getcwd()  # noqa: PTH109 (pathlib may not be loaded)
    except FileNotFoundError:
        return True
    return False


def _show(error: click.ClickException) -> None:
    """Shows an error of the command line, which quotes what was typed."""
    import io

    from evenhand.core.wording.words import put_quietly, safe

    text = io.StringIO()
    error.show(text)
    put_quietly(sys.stderr, safe(text.getvalue(), multiline=True))


def _of_package(words: Sequence[str]) -> str:
    """The wing and the package that brought the command; empty where it is one of ours."""
    from evenhand.core.wing import parts

    for name in (" ".join(words[:2]), *words[:1]):
        brought = parts("commands").get(name)
        if brought is not None and not brought.ours:
            return f"the wing '{brought.wing}' of the package {brought.package}"
    return ""


def _run(words: list[str]) -> int:
    import contextlib

    import click

    from evenhand.cli.exits import USAGE
    from evenhand.cli.streams import printing
    from evenhand.cli.verbs import evenhand

    try:
        code = evenhand.main(args=words, prog_name="evenhand", standalone_mode=False)
        with printing():
            pass  # what is still to be printed
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption):
            from evenhand.cli.other_words import with_our_option

            error = with_our_option(error)
        if isinstance(error, click.MissingParameter):
            from evenhand.cli.other_words import with_an_example

            error = with_an_example(error)
        with contextlib.suppress(OSError):
            _show(error)
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        return _end_interrupted()
    except Exception as error:  # noqa: BLE001 (whatever is left is ours; a script must not take it for "trials failed")
        return _failed(error, words)
    return code if isinstance(code, int) else 0


def _failed(error: Exception, words: Sequence[str]) -> int:
    """Says why a command ended, and gives its exit code."""
    import errno
    import tempfile
    import traceback

    from evenhand.cli.exits import NO_VERDICT, OUR_FAULT, USAGE, code_of, complaint
    from evenhand.cli.streams import tell, unwritable
    from evenhand.core.errors import EvenhandError

    if isinstance(error, OSError):
        error = unwritable(error) or error
    if isinstance(error, EvenhandError):
        tell(complaint(error).removesuffix("\n"))
        return code_of(error)
    # While a class is made, Python wraps what comes of Ctrl-C in a RuntimeError.
    if isinstance(error.__cause__, KeyboardInterrupt):
        return _end_interrupted()
    # User code may have replaced what Python itself needs: then the traceback is not about us.
    names = sys.modules.get("evenhand.engine.python_names")
    if names is not None and (problem := names.trouble()):
        tell(f"evenhand: ended without a verdict: {problem}")
        return NO_VERDICT
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        tell(
            "evenhand: too many files are open\n  Allow more with `ulimit -n 1024`. "
            "Replies received so far are saved: `evenhand resume` continues the run."
        )
        return NO_VERDICT
    disk = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
    if isinstance(error, OSError) and error.errno in disk:
        # A library that writes for us may name no file.
        file = ascii(os.fsdecode(error.filename))[1:-1] if error.filename else "a file"
        tell(
            f"evenhand: {file} cannot be written or read: {os.strerror(error.errno)}\n"
            f"  Look at the disk, also that of temporary files ({tempfile.gettempdir()}), and try again. "
            "Replies received so far are saved: `evenhand resume` continues the run."
        )
        return NO_VERDICT
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        # The name may hold anything, and is too long to print.
        start = ascii(os.fsdecode(error.filename or ""))[1:80]
        tell(f"evenhand: {start}…: no file has a name as long as this one")
        return USAGE
    if isinstance(error, FileNotFoundError) and _is_folder_gone():
        tell("evenhand: the current folder has been deleted or moved\n  Go to one that exists.")
        return USAGE
    tell(traceback.format_exc().removesuffix("\n"))
    if author := _of_package(words):
        tell(f"evenhand: this is a fault of {author}. Please report the lines above there.")
        return OUR_FAULT
    tell(
        "evenhand: this is a bug in Evenhand. Replies received so far are saved: "
        "`evenhand resume` continues the run. Please report the lines above."
    )
    return OUR_FAULT


_python_exit = os._exit
_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Process:
    """What a request to end does."""

    is_ours = False
    code = 130
    word = b"interrupted\n"


_process = _Process()


def end_at_once() -> None:
    """From now on, Ctrl-C ends this process, as long as nobody has anything to finish."""
    # A handler of somebody else's, or none at all as in the background of a shell, stays.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        _process.is_ours = True
        signal.signal(signal.SIGINT, _end)


def end_as_usual() -> None:
    """From now on, Ctrl-C raises KeyboardInterrupt: there is a command to be interrupted."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def end_with(code: int) -> None:
    """From now on, any request to end does that, with this exit code: there is nothing left but to leave."""
    if _process.is_ours:
        _process.code, _process.word = code, b""
        for number in _REQUESTS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    try:  # noqa: SIM105 (contextlib may not be imported yet)
        # Not sys.stderr: a signal may come while it is being written to.
        os.write(2, _process.word)
    except OSError:  # nobody reads it
        pass
    # It may be being imported, in this very moment.
    finish = getattr(sys.modules.get("evenhand.engine.guardian"), "finish", None)
    if finish is not None:
        finish(_process.code)
    _python_exit(_process.code)


if "".join(sys.argv[:1]).endswith(f"{os.sep}evenhand"):
    end_at_once()  # this is the command itself, and there is still more to be imported
