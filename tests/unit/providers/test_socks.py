"""SOCKS proxies: who looks the name up, passwords, and what is said of one that lets nobody through."""

from __future__ import annotations

import pytest
from tests.unit.providers.http_peers import Authority, Peer, Relay, socks4, socks5

from evenhand.core.errors import ConnectionFailed
from evenhand.providers.http import HttpTransport


@pytest.mark.parametrize("scheme", ["socks5h", "socks4a"])
@pytest.mark.parametrize("name", ["ALL_PROXY", "all_proxy", "HTTPS_PROXY"])
async def test_a_socks_proxy_may_look_names_up_and_its_connection_is_kept(
    transport: HttpTransport,
    authority: Authority,
    monkeypatch: pytest.MonkeyPatch,
    scheme: str,
    name: str,
):
    """With TLS to the server itself."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    greet = socks4 if scheme == "socks4a" else socks5()
    async with (
        Peer(tls=authority.context("nowhere.invalid")) as peer,
        Relay(peer.port, greet) as proxy,
    ):
        monkeypatch.setenv(name, f"{scheme}://127.0.0.1:{proxy.port}")
        for _ in range(2):
            assert (await transport.post("https://nowhere.invalid/v1", {}, b"{}", 10)).status == 200
        assert proxy.targets == ["nowhere.invalid:443"]
        assert len(peer.requests) == 2


@pytest.mark.parametrize("scheme", ["socks5", "socks4"])
async def test_without_an_h_or_an_a_the_name_is_looked_up_here(
    transport: HttpTransport, monkeypatch: pytest.MonkeyPatch, scheme: str
):
    """One that is not known here is not asked for."""
    async with (
        Peer() as peer,
        Relay(peer.port, socks4 if scheme == "socks4" else socks5()) as proxy,
    ):
        monkeypatch.setenv("all_proxy", f"{scheme}://127.0.0.1:{proxy.port}")
        assert (await transport.post("http://198.51.100.7/v1", {}, b"{}", 10)).status == 200
        with pytest.raises(ConnectionFailed) as caught:
            await transport.post("http://nowhere.invalid/v1", {}, b"{}", 10)
        assert caught.value.billed is False
        assert proxy.targets == ["198.51.100.7:80"]


async def test_a_socks_proxy_lets_in_who_knows_its_password(
    plain_environment: None, monkeypatch: pytest.MonkeyPatch
):
    """Who does not is told of the proxy, without the password, and nothing was sent."""
    async with Peer() as peer, Relay(peer.port, socks5(b"name", b"p@ss")) as proxy:
        for password, is_known in (("p%40ss", True), ("wrong", False)):
            monkeypatch.setenv("all_proxy", f"socks5h://name:{password}@127.0.0.1:{proxy.port}")
            transport = HttpTransport()
            if is_known:
                answer = await transport.post("http://nowhere.invalid/v1", {}, b"{}", 10)
                assert answer.status == 200
            else:
                with pytest.raises(ConnectionFailed, match="through the proxy 127") as caught:
                    await transport.post("http://nowhere.invalid/v1", {}, b"{}", 10)
                assert caught.value.billed is False
                assert password not in str(caught.value)
            await transport.close()
        assert len(peer.requests) == 1


async def test_no_proxy_leaves_a_socks_proxy_out(
    transport: HttpTransport, monkeypatch: pytest.MonkeyPatch
):
    """As with any other."""
    monkeypatch.setenv("all_proxy", "socks5h://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "nowhere.invalid")
    with pytest.raises(ConnectionFailed, match=r"^nowhere\.invalid cannot be reached"):
        await transport.post("http://nowhere.invalid/v1", {}, b"{}", 10)
    with pytest.raises(ConnectionFailed, match=r"^other\.invalid through the proxy 127"):
        await transport.post("http://other.invalid/v1", {}, b"{}", 10)
