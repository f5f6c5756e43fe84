"""What driver and worker compare before anything is sent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from evenhand.wings.fleet.messages import hosts_of


@pytest.mark.parametrize(
    ("accounts", "hosts"),
    [
        ((), ()),
        (("", "file:///evals/app.py"), ()),
        (("b.example:8000 #12345678", "a.example #1", "a.example #2"), ("a.example", "b.example")),
        (("http:[x] #1", "{{host}} #1"), ("http:[x]", "{{host}}")),
        (("127.0.0.1:41 #1", "127.0.0.1:42 #1", "[::1]:43 #1"), ("127.0.0.1", "::1")),
    ],
)
def test_hosts_are_those_that_models_are_asked_at(
    accounts: tuple[str, ...], hosts: tuple[str, ...]
):
    """Whatever the key; a program or a function has none; offline, each process has a port of its own."""
    plan: Any = SimpleNamespace(providers=[SimpleNamespace(account=one) for one in accounts])
    assert hosts_of(plan) == hosts
