"""Which cluster an address names, and what is said at once where nothing answers."""

from __future__ import annotations

import socket

import pytest

from evenhand.core.errors import UsageError
from evenhand.wings.fleet.ray_address import AUTO, HERE, check_address, cluster_address
from evenhand.wings.fleet.ray_cluster import unusable


@pytest.mark.parametrize(
    ("address", "known", "meant"),
    [
        ("", "", HERE),
        ("", "head:6379", "head:6379"),
        ("", "auto", AUTO),
        ("auto", "", AUTO),
        ("auto", "head:6379", "head:6379"),
        ("local", "head:6379", HERE),
        ("ray://head:10001", "other:6379", "ray://head:10001"),
    ],
)
def test_an_address_is_what_was_written_or_what_ray_knows(
    address: str, known: str, meant: str, monkeypatch: pytest.MonkeyPatch
):
    """`auto` is a cluster that runs already; only without an address is one started."""
    monkeypatch.setenv("RAY_ADDRESS", known)
    assert cluster_address(address) == meant


@pytest.mark.parametrize("address", ["evals", ".", "head", "ray://", "ray://head", "head:port"])
def test_what_is_no_address_is_said_with_where_a_path_goes(address: str):
    """`evenhand run --ray evals` reads the path as an address."""
    with pytest.raises(UsageError, match="not the address of a Ray cluster") as caught:
        check_address(address)
    assert "PATH before --ray" in (caught.value.hint or "")


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_where_nothing_answers_is_said_at_once(scheme: str):
    """Ray itself would try for minutes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"{scheme}127.0.0.1:{server.getsockname()[1]}"
        check_address(address)
    with pytest.raises(UsageError, match=f"nothing answers at '{address}': Connection refused"):
        check_address(address)


@pytest.mark.parametrize("address", [".head:6379", f"ray://{'a' * 70}.example:10001"])
def test_a_name_that_no_host_can_have_is_said(address: str):
    """Python gives up on it before it asks anybody."""
    with pytest.raises(UsageError, match="no host has such a name"):
        check_address(address)


@pytest.mark.parametrize("address", [HERE, AUTO, "cloud://cluster"])
def test_what_only_ray_can_tell_is_left_to_ray(address: str):
    """A cluster of this machine has no address here, and a service of clusters has its own."""
    check_address(address)


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (TimeoutError(), "less busy"),
        (RuntimeError("The current node timed out during startup."), "less busy"),
        (ConnectionError("ray client connection timeout"), "less busy"),
        (ImportError("no grpc"), "pip install"),
        (ConnectionError("nobody listens"), "RAY_AUTH_MODE"),
    ],
    ids=str,
)
def test_what_ray_fails_with_has_advice_that_fits(error: Exception, hint: str):
    """A busy machine is told nothing of addresses and tokens."""
    assert hint in unusable("auto", error).hint
