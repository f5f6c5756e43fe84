"""What user code prints, in all the ways in which code prints."""

from __future__ import annotations

import logging
import sys
import threading

import pytest

from evenhand.engine.capture import Sink, captured, current, user_code


@pytest.fixture
def sink():
    """A trial's sink, set for the length of the test."""
    made = Sink("case-1")
    token = current.set(made)
    yield made
    current.reset(token)


def test_bytes_are_refused_where_text_is_due(sink):
    """As a real stream refuses them, in the line that wrote them, and not when the trial is summed up."""
    with captured(), user_code(), pytest.raises(TypeError, match="must be str, not bytes"):
        sys.stdout.write(b"x")  # type: ignore[arg-type]
    assert sink.text() == ""


def test_bytes_for_the_streams_buffer_are_kept_as_text(sink):
    """Programs that write UTF-8 themselves are kept like the others; broken bytes do no harm."""
    with captured(), user_code():
        assert sys.stdout.buffer.write("é".encode()) == 2
        sys.stdout.buffer.write(b"\xff\n")
        sys.stdout.buffer.flush()
        assert sys.stdout.buffer.writable()
    assert sink.text() == "é\ufffd\n"


def test_what_scripts_do_to_the_streams_does_no_harm(sink, capsys):
    """Asking for UTF-8, or closing them, changes nothing for anybody else."""
    with captured():
        with user_code():
            sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
            assert sys.stdout.writable()
            assert sys.stdout.errors in (None, "strict", "backslashreplace", "surrogateescape")
            sys.stdout.close()
            sys.stdout.write("still here\n")
        sys.stdout.write("ours\n")
    assert sink.text() == "still here\n"
    assert capsys.readouterr().out == "ours\n"


def test_logs_are_kept_too(sink):
    """They go to stderr, which is the trial's as well."""
    logger = logging.getLogger("evenhand-test-capture")
    logger.propagate = False
    with captured(), user_code():
        logger.addHandler(logging.StreamHandler())
        logger.error("logged")
    assert sink.text() == "logged\n"


def test_a_thread_of_the_users_own_never_prints_into_the_results(sink, capsys):
    """Nobody knows for which trial it speaks; stdout is for what the run has to say."""
    with captured(), user_code():
        thread = threading.Thread(target=print, args=("from a thread",))
        thread.start()
        thread.join()
    assert capsys.readouterr() == ("", "from a thread\n")
    assert sink.text() == ""
