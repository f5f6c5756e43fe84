"""Connections while made answers are scored: none leaves this machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evenhand.wings.audit import users_code

SCRIPT = """
import socket, threading
from evenhand.core.errors import CodeError
from evenhand.wings.audit.users_code import nothing_sent, refused

server = socket.create_server(("127.0.0.1", 0))

def connects(address):
    try:
        socket.create_connection(address, timeout=1).close()
    except CodeError as error:
        return error.message
    except OSError:
        return "tried"
    return "connected"

with nothing_sent():
    print(connects(("192.0.2.1", 80)))
    print(connects(("audit.example", 80)))
    print(connects(server.getsockname()))
    results = []
    thread = threading.Thread(target=lambda: results.append(connects(("192.0.2.2", 80))))
    thread.start()
    thread.join()
    print(*results)
print(refused)
"""


def test_other_machines_are_refused_in_all_threads_and_this_one_is_not():
    """By address or by name, also in a thread; a server on this machine answers."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=60
    )
    lines = done.stdout.splitlines()
    assert "connects to '192.0.2.1'" in lines[0]
    assert "connects to 'audit.example'" in lines[1]
    assert lines[2] == "connected"
    assert "connects to '192.0.2.2'" in lines[3]
    assert lines[4] == "['192.0.2.1', 'audit.example', '192.0.2.2']"


def test_a_process_that_ends_hears_nothing_of_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hook stays, and the names of its module don't."""
    with users_code.nothing_sent():
        pass
    monkeypatch.setattr(users_code, "_state", None)
    sys.audit("evenhand.anything")
