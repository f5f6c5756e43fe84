"""What is said where a library is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evenhand.core.errors import UsageError
from evenhand.isolation import django_rolled_back, rolled_back


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch):
    """With what to install."""
    for name in ("sqlalchemy", "django"):
        monkeypatch.delitem(sys.modules, f"evenhand.isolation.{name}", raising=False)
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"needs SQLAlchemy 2.*\n.*pip install 'sqlalchemy"):
        rolled_back(object())  # pyright: ignore[reportCallIssue, reportArgumentType] (the mistake itself)
    with pytest.raises(UsageError, match=r"needs Django.*\n.*pip install django"):
        django_rolled_back()


def test_the_door_alone_loads_neither():
    """Nor does reading eval files."""
    script = "import evenhand.isolation, evenhand.authoring.body, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert not {"sqlalchemy", "django", "asgiref"} & set(done.stdout.split())
