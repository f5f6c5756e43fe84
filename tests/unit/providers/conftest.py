"""What tests of the HTTP client have: a transport, authorities, and an environment that says nothing of proxies."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
from tests.unit.providers.http_peers import Authority

from evenhand.providers.http import HttpTransport

_AUTHORITIES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


@pytest.fixture
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxies and no authorities of this machine's user."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name in _AUTHORITIES:
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """An authority that no system knows."""
    return Authority(tmp_path_factory.mktemp("authority") / "one", "an authority of a test")


@pytest.fixture(scope="session")
def other_authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Another one."""
    return Authority(tmp_path_factory.mktemp("authority") / "other", "another authority")


@pytest.fixture
async def transport(plain_environment: None) -> AsyncIterator[HttpTransport]:
    """A transport of the test's own."""
    one = HttpTransport()
    yield one
    await one.close()
