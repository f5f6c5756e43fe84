"""A PostgreSQL of our own, for the tests that want a real one."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def _missing(what: str) -> None:
    """Skips, but for those who have said that these tests have to run."""
    if os.environ.get("REQUIRE_POSTGRESQL"):
        pytest.fail(f"REQUIRE_POSTGRESQL is set, but {what}")
    pytest.skip(f"{what} (on Debian: apt-get install postgresql)")


def _binaries() -> Path:
    """Where initdb and pg_ctl are: the newest of Debian's, or on the path."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: p.parts[-3])
    found = debian[-1] if debian else shutil.which("initdb")
    if found is None:
        _missing("there is no PostgreSQL here")
    return Path(str(found)).parent


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The folder with the socket of a server that lives as long as the tests; user and database `postgres`."""
    binaries = _binaries()
    root = os.geteuid() == 0  # whom PostgreSQL refuses to work for
    if root:
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            _missing("root has no user 'postgres' to run PostgreSQL as")
    user = "postgres" if root else None
    home = Path(tempfile.mkdtemp(prefix="evenhand-pg-"))
    if root:
        shutil.chown(home, "postgres")

    def do(*words: object) -> None:
        command = [str(word) for word in words]
        subprocess.run(command, cwd=home, check=True, capture_output=True, timeout=60, user=user)

    data = home / "data"
    serve = f"-k {home} -c listen_addresses= -c fsync=off -c max_connections=60"
    try:
        do(binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N")
        do(binaries / "pg_ctl", "-D", data, "-l", home / "log", "-o", serve, "-w", "start")
        try:
            yield str(home)
        finally:
            do(binaries / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)
