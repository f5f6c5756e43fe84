"""What goes to and from an actor of Ray's: all that there is, as one batch."""

from __future__ import annotations

import queue
import socket
import sys
from pathlib import Path

import pytest

from evenhand.core.errors import UsageError
from evenhand.wings.fleet.messages import Message
from evenhand.wings.fleet.ray_cluster import RayCluster, gathered, reason


def test_what_waits_is_one_batch_in_its_order_and_the_end_comes_after_it():
    """However often it is asked for; and nothing is lost before the end."""
    said: queue.SimpleQueue[list[Message] | None] = queue.SimpleQueue()
    for batch in ([("a",), ("b",)], [("c",)], None):
        said.put(batch)
    assert gathered(said) == [("a",), ("b",), ("c",)]
    assert gathered(said) is None


def test_nothing_within_the_time_is_an_empty_batch_and_no_end():
    """A worker that has nothing to say is alive."""
    assert gathered(queue.SimpleQueue(), 0.001) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            (
                "The actor died because of an error raised in its creation task, \x1b[36mray::Actor.__init__()\x1b[39m"
                " (pid=13, repr=<Actor object at 0x7f>)\n    ^^^^^\nModuleNotFoundError: No module named 'evenhand'"
            ),
            "ModuleNotFoundError: No module named 'evenhand'",
        ),
        (
            (
                "The actor died unexpectedly before finishing this task.\n\tclass_name: _actor.<locals>.Actor\n"
                "\tactor_id: 35021aaf\n\tpid: 7\n\tip: 10.0.0.1\nThe actor is dead because its node has died."
            ),
            "The actor died unexpectedly before finishing this task. The actor is dead because its node has died.",
        ),
        ("no node had room for it within 120 s", "no node had room for it within 120 s"),
        ("", "OSError"),
    ],
)
def test_what_ray_says_is_its_cause_without_ids_and_colours(text: str, wanted: str):
    """A node without Evenhand has a traceback; one that is taken away, a list of ids between two sentences."""
    assert reason(OSError(text)) == wanted


def test_an_address_of_rays_client_says_what_to_install_where_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Ray alone has no client, and says so in its own words."""
    pytest.importorskip("ray")
    monkeypatch.setitem(sys.modules, "grpc", None)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(UsageError, match="needs Ray's client") as caught,
    ):
        RayCluster(f"ray://127.0.0.1:{server.getsockname()[1]}", 1, tmp_path)
    assert "pip install 'evenhand[ray]'" in (caught.value.hint or "")
