"""The sandbox that a program is run in: `bwrap`, where there is one and it works.

Inside, all files can be read and none written but those of the program's own folder and those that its settings name;
it sees no other processes; `/tmp` is its own; and it has a network only if it is to have one.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from evenhand.core.record import Record

_TRY_S = 20.0
_ALONE = ("--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--new-session")


class Sandbox(Record, frozen=True):
    """What programs can be run in here.

    Attributes:
        program: Where `bwrap` is; empty where there is no sandbox.
        why: Why there is none, in words; empty where there is one.
    """

    program: str
    why: str = ""

    def command(
        self,
        command: Sequence[str],
        own: Path,
        *,
        readable: Sequence[Path],
        writable: Sequence[Path],
        network: bool,
    ) -> list[str]:
        """The command that runs another one inside.

        Args:
            command: The program and its arguments.
            own: The folder that it is run in, and may write to.
            readable: What it is to see although it lies in `/tmp`.
            writable: Files and folders that it may write to as well; those that are not there are left out.
            network: Whether it has a network.
        """
        tmp = Path("/tmp")  # noqa: S108 (that of the sandbox)
        words = [self.program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        if own != tmp and tmp not in readable:
            words += ["--tmpfs", str(tmp)]
        for path in readable:
            if path.is_relative_to(tmp) and path.exists():
                words += ["--ro-bind", str(path), str(path)]
        for path in writable:
            if path.exists():
                words += ["--bind", str(path), str(path)]
        words += ["--bind", str(own), str(own), "--chdir", str(own), *_ALONE]
        if not network:
            words.append("--unshare-net")
        return [*words, "--", *command]


@functools.cache
def sandbox_here() -> Sandbox:
    """The sandbox of this machine, tried out once."""
    program = shutil.which("bwrap")
    if program is None:
        return Sandbox("", "bwrap is not installed")
    trial = [
        program,
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        *_ALONE,
        "--",
        "true",
    ]
    try:
        done = subprocess.run(trial, capture_output=True, timeout=_TRY_S, check=False)  # noqa: S603 (a program found on the path)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Sandbox("", f"bwrap does not work here: {error}")
    if done.returncode:
        problem = done.stderr.decode("utf-8", "replace").strip()[-200:]
        return Sandbox("", f"bwrap does not work here: {problem or f'code {done.returncode}'}")
    return Sandbox(program)
