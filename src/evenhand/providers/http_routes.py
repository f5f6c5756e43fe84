"""How to get to an address: which proxy leads there, and which authorities' certificates are trusted."""

from __future__ import annotations

import atexit
import os
import ssl
import sys
from functools import cache
from pathlib import Path
from urllib.parse import quote, urlsplit

from evenhand.core.errors import BadRequest, Unreachable
from evenhand.core.record import Record
from evenhand.core.scratch import ScratchFolder

PROXIES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")
"""What proxies may speak."""

_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Alpine, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, Red Hat
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # macOS, FreeBSD
)
_WRITTEN = "-._~:/?#[]@!$&'()*+,;=%"  # what an address may have in it as it is


class Route(Record, frozen=True):
    """How to get to a host.

    Attributes:
        host: The host, with its port where the address names one, as messages quote it.
        proxy: The proxy's address; empty for none.
        authorities: The file of the certificates that are trusted; empty where nothing is encrypted.
        authorities_folder: A folder of more of them, named by their hashes; empty for none.
    """

    host: str
    proxy: str
    authorities: str
    authorities_folder: str

    @property
    def way(self) -> str:
        """The host, and the proxy that leads there, without its password."""
        return f"{self.host} through the proxy {host_of(self.proxy)}" if self.proxy else self.host


def host_of(url: str) -> str:
    """The host of an address, with its port, without names and passwords."""
    return url.partition("//")[2].partition("/")[0].rpartition("@")[2] or url


def as_sent(url: str) -> str:
    """An address as it is sent: with percent signs and, in the host, `xn--` for other letters; without its fragment."""
    url = url.partition("#")[0]
    if not url.isascii():
        parts = urlsplit(url)
        login, at, place = parts.netloc.rpartition("@")
        url = parts._replace(netloc=login + at + place.encode("idna").decode()).geturl()
    return quote(url, safe=_WRITTEN)


def route_to(url: str) -> Route:
    """How to get to an address, by the environment as it is now.

    Raises:
        BadRequest: It is no address.
        Unreachable: The proxy is of a kind that is not spoken here, or no authorities are known.
    """
    host = host_of(url)
    try:
        parts = urlsplit(url)
        scheme, name, port = parts.scheme, parts.hostname, parts.port
        as_sent(url)
    except ValueError as error:  # of which one is that a letter cannot be encoded
        raise BadRequest(f"nothing can be sent to {host}: {error}") from None
    if scheme not in ("http", "https") or not name:
        raise BadRequest(
            f"nothing can be sent to {host}: an address begins with http:// or https://"
        )
    proxy = "" if _is_here(name) else _proxy_to(scheme, name, port)
    if proxy and "//" not in proxy:
        proxy = f"http://{proxy}"
    elif proxy and proxy.partition("://")[0].lower() not in PROXIES:
        raise Unreachable(
            f"{host} cannot be reached through a proxy like {proxy.partition('://')[0]}://",
            hint="Name an HTTP or SOCKS proxy with HTTPS_PROXY, or the address with NO_PROXY.",
        )
    if scheme != "https" and not proxy.lower().startswith("https:"):
        return Route(host, proxy, "", "")
    return Route(host, proxy, authorities(), os.environ.get("SSL_CERT_DIR") or "")


def _proxy_to(scheme: str, name: str, port: int | None) -> str:
    """The proxy that the environment names for a host; on macOS the system, too."""
    if sys.platform != "darwin" and not any(key.lower().endswith("_proxy") for key in os.environ):
        return ""
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 (5 ms, and seldom wanted)

    proxies = getproxies()
    if proxy_bypass(f"{name}:{port or (443 if scheme == 'https' else 80)}"):
        return ""
    return proxies.get(scheme) or proxies.get("all") or ""


def authorities() -> str:
    """The file of certificates whose owners are trusted: the system's, and those that the environment names.

    SSL_CERT_FILE and REQUESTS_CA_BUNDLE stand in the system's place, NODE_EXTRA_CA_CERTS beside them.

    Raises:
        Unreachable: There are none, or one that is named cannot be read.
    """
    env = os.environ
    name = "SSL_CERT_FILE" if env.get("SSL_CERT_FILE") else "REQUESTS_CA_BUNDLE"
    named = [(name, env[name])] if env.get(name) else []
    if not named:
        named.append(("the system", _system_bundle()))
    if env.get("NODE_EXTRA_CA_CERTS"):
        named.append(("NODE_EXTRA_CA_CERTS", env["NODE_EXTRA_CA_CERTS"]))
    for name, path in named:
        try:
            with Path(path).open("rb"):
                pass
        except OSError as error:
            raise Unreachable(
                f"the certificates that {name} names cannot be read: {path}: {error.strerror}",
                hint="Name a file of certificates (PEM) that exists, or unset it.",
            ) from None
    if len(named) == 1:
        return named[0][1]
    return _joined(tuple(path for _, path in named))


def _system_bundle() -> str:
    default = ssl.get_default_verify_paths().openssl_cafile
    for path in (default, *_BUNDLES):
        if Path(path).is_file():
            return path
    raise Unreachable(
        "no certificates of authorities are installed, so no server's can be checked",
        hint="Install the system's (ca-certificates), or name a file of them with SSL_CERT_FILE.",
    )


@cache
def _joined(paths: tuple[str, ...]) -> str:
    """Files of certificates in one, which is there as long as this process: libcurl reads one file."""
    folder = ScratchFolder("authorities")
    atexit.register(folder.cleanup)
    joined = Path(folder.name, "joined.pem")
    joined.write_bytes(b"".join(Path(path).read_bytes() + b"\n" for path in paths))
    return str(joined)


def _is_here(name: str) -> bool:
    """Whether this is this very machine, which no proxy leads to."""
    return name in ("localhost", "::1") or name.startswith("127.")
