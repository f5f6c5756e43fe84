"""Whose certificates are trusted, and that nothing is sent to anybody else."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.unit.providers.http_peers import Authority, Peer, Relay, connect

from evenhand.core.errors import ConnectionFailed, Unreachable
from evenhand.providers.http import HttpTransport


async def test_a_certificate_of_an_unknown_authority_is_refused_with_what_to_do(
    transport: HttpTransport, authority: Authority
):
    """A company's proxy that reads along is the usual reason."""
    async with Peer(tls=authority.context("localhost")) as peer:
        with pytest.raises(ConnectionFailed, match="certificate is not trusted") as caught:
            await transport.post(peer.url(), {"authorization": "secret"}, b"{}", 10)
        assert "SSL_CERT_FILE" in caught.value.hint
        assert caught.value.billed is False
        assert peer.requests == []


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"])
async def test_an_authority_that_the_environment_names_is_trusted(
    transport: HttpTransport, authority: Authority, monkeypatch: pytest.MonkeyPatch, name: str
):
    """By each name that other tools have for it."""
    monkeypatch.setenv(name, str(authority.file))
    async with Peer(tls=authority.context("localhost")) as peer:
        assert (await transport.post(peer.url(), {}, b"{}", 10)).status == 200
        assert (await transport.post(peer.url(host="localhost"), {}, b"{}", 10)).status == 200


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
async def test_a_file_of_authorities_stands_in_the_systems_place_and_another_one_beside_it(
    plain_environment: None,
    authority: Authority,
    other_authority: Authority,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
):
    """NODE_EXTRA_CA_CERTS adds to what is trusted, as its name says."""
    monkeypatch.setenv(name, str(authority.file))
    async with (
        Peer(tls=authority.context("localhost")) as known,
        Peer(tls=other_authority.context("localhost")) as other,
    ):
        first = HttpTransport()
        assert (await first.post(known.url(), {}, b"{}", 10)).status == 200
        with pytest.raises(ConnectionFailed, match="not trusted"):
            await first.post(other.url(), {}, b"{}", 10)
        await first.close()
        monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(other_authority.file))
        second = HttpTransport()
        assert (await second.post(known.url(), {}, b"{}", 10)).status == 200
        assert (await second.post(other.url(), {}, b"{}", 10)).status == 200
        await second.close()


async def test_ssl_cert_file_comes_before_requests_ca_bundle(
    transport: HttpTransport,
    authority: Authority,
    other_authority: Authority,
    monkeypatch: pytest.MonkeyPatch,
):
    """Where both are there."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(other_authority.file))
    async with Peer(tls=authority.context("localhost")) as peer:
        assert (await transport.post(peer.url(), {}, b"{}", 10)).status == 200


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"])
async def test_a_file_of_authorities_that_is_not_there_ends_the_run_before_anything_is_sent(
    transport: HttpTransport,
    authority: Authority,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
):
    """It says which variable names it, and what is not encrypted goes on."""
    monkeypatch.setenv(name, str(tmp_path / "gone.pem"))
    async with Peer(tls=authority.context("localhost")) as peer, Peer() as plain:
        with pytest.raises(Unreachable, match=rf"{name} names cannot be read: .*gone\.pem"):
            await transport.post(peer.url(), {}, b"{}", 10)
        assert peer.connections == 0
        assert (await transport.post(plain.url(), {}, b"{}", 10)).status == 200


async def test_a_file_without_certificates_trusts_nobody(
    transport: HttpTransport, authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Nothing is sent."""
    empty = tmp_path / "empty.pem"
    empty.write_text("no certificate\n")
    monkeypatch.setenv("SSL_CERT_FILE", str(empty))
    async with Peer(tls=authority.context("localhost")) as peer:
        with pytest.raises(ConnectionFailed, match="SSL_CERT_FILE") as caught:
            await transport.post(peer.url(), {}, b"{}", 10)
        assert caught.value.billed is False
        assert peer.requests == []


async def test_a_certificate_for_another_host_is_refused(
    transport: HttpTransport, authority: Authority, monkeypatch: pytest.MonkeyPatch
):
    """Though its authority is trusted."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    async with Peer(tls=authority.context("elsewhere.invalid", ip="127.9.9.9")) as peer:
        for host in ("localhost", "127.0.0.1"):
            with pytest.raises(ConnectionFailed, match="not trusted") as caught:
                await transport.post(peer.url(host=host), {}, b"{}", 10)
            assert caught.value.billed is False
        assert peer.requests == []


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["http", "https"])
async def test_tls_goes_through_a_proxy_to_the_server_itself(
    transport: HttpTransport,
    authority: Authority,
    monkeypatch: pytest.MonkeyPatch,
    is_encrypted: bool,
):
    """The proxy is asked for the name, and sees nothing of the request; the server's head is the answer's."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    tls = authority.context("localhost") if is_encrypted else None
    async with (
        Peer(tls=authority.context("nowhere.invalid")) as peer,
        Relay(peer.port, connect, tls) as proxy,
    ):
        scheme = "https" if is_encrypted else "http"
        monkeypatch.setenv("https_proxy", f"{scheme}://localhost:{proxy.port}")
        for _ in range(2):
            answer = await transport.post("https://nowhere.invalid/v1", {}, b"{}", 10)
            assert (answer.status, answer.body) == (200, b"{}")
            assert "x-proxy" not in answer.headers
        assert proxy.targets == ["nowhere.invalid:443"]
        assert [one.line for one in peer.requests] == ["POST /v1 HTTP/1.1"] * 2


async def test_a_server_behind_a_proxy_has_to_be_trusted_and_so_has_a_proxy_that_is_encrypted(
    plain_environment: None,
    authority: Authority,
    other_authority: Authority,
    monkeypatch: pytest.MonkeyPatch,
):
    """Nothing is sent to either."""
    for proxy_tls, known in (
        (None, other_authority),
        (authority.context("localhost"), other_authority),
    ):
        monkeypatch.setenv("SSL_CERT_FILE", str(known.file))
        async with (
            Peer(tls=authority.context("nowhere.invalid")) as peer,
            Relay(peer.port, connect, proxy_tls) as proxy,
        ):
            scheme = "https" if proxy_tls else "http"
            monkeypatch.setenv("https_proxy", f"{scheme}://localhost:{proxy.port}")
            transport = HttpTransport()
            with pytest.raises(ConnectionFailed, match="through the proxy") as caught:
                await transport.post("https://nowhere.invalid/v1", {}, b"{}", 10)
            await transport.close()
            assert caught.value.billed is False
            assert "SSL_CERT_FILE" in caught.value.hint
            assert peer.requests == []
            assert proxy.targets == ([] if proxy_tls else ["nowhere.invalid:443"])


async def test_a_plain_address_may_be_reached_through_an_encrypted_proxy(
    transport: HttpTransport, authority: Authority, monkeypatch: pytest.MonkeyPatch
):
    """Which is asked for the whole address."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    async with Peer(tls=authority.context("localhost")) as proxy:
        monkeypatch.setenv("http_proxy", f"https://localhost:{proxy.port}")
        assert (await transport.post("http://nowhere.invalid/v1", {}, b"{}", 10)).status == 200
        assert proxy.requests[0].line == "POST http://nowhere.invalid/v1 HTTP/1.1"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="names the files by their hashes")
async def test_a_folder_of_authorities_is_trusted_beside_the_systems(
    transport: HttpTransport, authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """As OpenSSL keeps them."""
    shutil.copy(authority.file, tmp_path / "ours.pem")
    await asyncio.to_thread(subprocess.run, ["openssl", "rehash", str(tmp_path)], check=True)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    async with Peer(tls=authority.context("localhost")) as peer:
        assert (await transport.post(peer.url(), {}, b"{}", 10)).status == 200
