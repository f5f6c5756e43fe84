"""The command line, started warm: a process of its own for every command, and the imports once for all of them.

Many tests run the real command in a real process, and most of such a process's time goes into imports. So each process
of pytest keeps a server that has imported them all. For a command, the server forks (`clone` with CLONE_PARENT): what
comes of it is a child of pytest, with its own number, folder, environment, files and signals, that starts at once.

Only the very words of `COMMAND` start so, and only where nobody can tell: an option of Popen that is not listed here,
other search paths, or many different settings of the interpreter mean a cold start, as ever. The installed command is
tested cold, too (tests/e2e/test_installed.py). EVENHAND_COLD=1 in the environment starts everything cold.
"""

from __future__ import annotations

import array
import atexit
import ctypes
import gc
import importlib
import inspect
import io
import json
import os
import pkgutil
import platform
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CODE = "from evenhand.cli import main; main()"
MATTERS = ("PYTHON", "LC_", "LANG", "LD_", "TZ", "MALLOC_", "COV", "SSL_", "OPENSSL_")
"""Names of variables that count before the first line of Python, or while modules are imported."""
TAKEN_OVER = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
SERVERS = 4
LIBRARIES = "aiohttp asyncio click jsonschema_rs msgspec quickjs sqlite3 uvloop yaml".split()
LEFT_OUT = ("pytest_plugin", "__main__", "ray_cluster", "django")
CLONE = {"x86_64": 56, "aarch64": 220}
CLONE_PARENT = 0x8000


class Server:
    """A process that has imported everything; the kernel ends it with the socket's other end."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.socket, other = socket.socketpair()
        with other:
            words = [sys.executable, __file__, str(other.fileno())]
            self.process = cold(words, env=dict(env), pass_fds=[other.fileno()])
        self.owner, self.turn = os.getpid(), threading.Lock()
        atexit.register(self.close)

    def start(self, request: Mapping[str, Any], files: tuple[int, int, int]) -> int:
        """Starts a command; its number."""
        told = json.dumps(request).encode()
        with self.turn:
            socket.send_fds(self.socket, [len(told).to_bytes(8, "big")], files)
            self.socket.sendall(told)
            return int.from_bytes(whole(self.socket, 8), "big")

    def close(self) -> None:
        """Ends it, but not from a process that a test has forked."""
        self.socket.close()
        if os.getpid() == self.owner:
            self.process.wait()


def whole(from_: socket.socket, size: int) -> bytes:
    """So many bytes; EOFError where there are none any more."""
    read = b""
    while len(read) < size:
        part = from_.recv(size - len(read))
        if not part:
            raise EOFError
        read += part
    return read


servers: dict[tuple[tuple[str, str], ...], Server] = {}
starting = threading.Lock()
cold = subprocess.Popen
execute_cold = subprocess.Popen._execute_child  # pyright: ignore[reportAttributeAccessIssue]
_names = list(inspect.signature(execute_cold).parameters)[1:]
_plain = {
    "executable": None, "preexec_fn": None, "pass_fds": (), "shell": False, "gid": None,
    "gids": None, "uid": None, "umask": -1, "start_new_session": False, "process_group": -1,
}  # fmt: skip


def _server(env: Mapping[str, str]) -> Server | None:
    """Who starts commands with these settings; None where there are too many of them."""
    if env.get("PYTHONPATH") != os.environ.get("PYTHONPATH") and "PYTHONPATH" in env:
        return None
    counts = {
        name: value
        for name, value in env.items()
        if name.startswith(MATTERS) and name not in TAKEN_OVER
    }
    key = tuple(sorted(counts.items()))
    with starting:
        if key not in servers and len(servers) < SERVERS:
            servers[key] = Server(counts | {"PATH": os.environ["PATH"]})
    return servers.get(key)


def _execute_child(self: Any, *given: Any) -> None:
    """In the place of Popen's: starts `COMMAND` warm, and all else as ever."""
    asked = dict(zip(_names, given, strict=True))
    words, env = asked["args"], asked["env"]
    env = os.environ if env is None else env
    cwd = Path.cwd() / (asked["cwd"] or "")
    if (
        not isinstance(words, list | tuple)
        or [str(word) for word in words[:3]] != [sys.executable, "-c", CODE]
        or any(asked[name] != value for name, value in _plain.items())
        or not all(isinstance(text, str) for pair in env.items() for text in pair)
        or not cwd.is_dir()
        or (server := _server(env)) is None
    ):
        execute_cold(self, *given)
        return
    request = {"args": [os.fspath(w) for w in words[3:]], "cwd": str(cwd), "env": dict(env)}
    pipes = (asked["p2cread"], asked["c2pwrite"], asked["errwrite"])
    files = tuple(own if pipe == -1 else pipe for own, pipe in enumerate(pipes))
    try:
        self.pid = server.start(request, files)  # pyright: ignore[reportAttributeAccessIssue]
        self._child_created = True
    finally:
        self._close_pipe_fds(*(asked[name] for name in (
            "p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"
        )))  # fmt: skip


def install() -> None:
    """Makes every process that tests start a warm one where that cannot be told."""
    if (
        sys.platform == "linux"
        and platform.machine() in CLONE
        and "EVENHAND_COLD" not in os.environ
    ):
        subprocess.Popen._execute_child = _execute_child  # pyright: ignore[reportAttributeAccessIssue]


def fork_for_parent() -> int:
    """Forks a child of this process's parent; 0 in the child."""
    python, libc = ctypes.pythonapi, ctypes.PyDLL(None)
    python.PyOS_BeforeFork()
    pid = libc.syscall(CLONE[platform.machine()], CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    python.PyOS_AfterFork_Child() if pid == 0 else python.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError("clone has failed")
    return pid


def serve(control: socket.socket) -> dict[str, Any]:
    """Forks for each command; returns in the children, with what to run."""
    while True:
        try:
            size, ancillary, _, _ = control.recvmsg(8, socket.CMSG_LEN(3 * 4))
            size += whole(control, 8 - len(size))
            request = json.loads(whole(control, int.from_bytes(size, "big")))
        except EOFError:
            os._exit(0)
        files = array.array("i", ancillary[0][2])
        pid = fork_for_parent()
        if pid == 0:
            control.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
            for file in files:
                os.close(file)
            return request
        for file in files:
            os.close(file)
        control.sendall(pid.to_bytes(8, "big"))


def become(request: dict[str, Any]) -> None:
    """Takes over the folder, environment, words and streams of a command."""
    os.chdir(request["cwd"])
    coerced = os.environ.get("LC_CTYPE")
    os.environ.clear()
    os.environ.update(request["env"])
    if coerced is not None:
        os.environ.setdefault("LC_CTYPE", coerced)
    sys.argv = ["-c", *request["args"]]
    sys.path[0] = ""
    sys.dont_write_bytecode = bool(request["env"].get("PYTHONDONTWRITEBYTECODE"))
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        raw = io.FileIO(number, "wb" if number else "rb", closefd=False)
        stream = io.TextIOWrapper(
            io.BufferedWriter(raw) if number else io.BufferedReader(raw),
            encoding=old.encoding,
            errors=old.errors,
            line_buffering=number == 2 or os.isatty(number),
            write_through=bool(request["env"].get("PYTHONUNBUFFERED")),
        )
        stream.mode = "w" if number else "r"  # pyright: ignore[reportAttributeAccessIssue]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def prepared() -> None:
    """Imports what commands import."""
    import evenhand

    for library in LIBRARIES:
        importlib.import_module(library)
    for module in pkgutil.walk_packages(evenhand.__path__, "evenhand."):
        if not any(word in module.name for word in LEFT_OUT):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def run() -> None:
    """Runs the command, and leaves without taking the interpreter apart, which takes longer than most commands."""
    code: Any = None
    try:
        exec(CODE, {"__name__": "__main__", "__builtins__": __builtins__})
    except SystemExit as ended:
        code = ended.code
    threading._shutdown()  # pyright: ignore (as the interpreter does first)
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(code)
    if code is not None and not isinstance(code, int):
        sys.exit(code)
    os._exit((code or 0) & 0xFF)


if __name__ == "__main__":
    own = socket.socket(fileno=int(sys.argv[1]))
    prepared()
    become(serve(own))
    run()
