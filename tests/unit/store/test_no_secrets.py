"""Keys that somebody repeated are written nowhere."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from tests.runs import result

from evenhand.core.run import CallEnd, CallStart, RunMeta
from evenhand.core.secrets import HIDDEN, Secrets, known
from evenhand.core.variant import Variant
from evenhand.store.cache import Cache
from evenhand.store.journal import Journal
from evenhand.store.runfile import RunFile

SECRET = "drawn-for-nobody-0123456789"


async def test_a_key_of_the_environment_is_in_no_byte_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not where a model, a program or an error repeats it."""
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    columns = (Variant(0, "p", "m"),)
    journal = Journal.create(
        tmp_path / "runs", RunMeta("01RUN", f"with {SECRET}", "", "f", 2, 2, 1, columns, 0.0)
    )
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    call = await journal.begin(CallStart(0, "k", 0, "subject", "m", SECRET.encode(), None))
    await journal.end(call, CallEnd(f"key {SECRET}".encode(), "provider"))
    lost = await journal.begin(CallStart(1, "j", 0, "subject", "m", b"{}", None))
    await journal.end(lost, CallEnd(b"", "provider", error="auth", message=f"no: {SECRET}"))
    await journal.settle(result(0, output={"said": SECRET}, reason=SECRET, vars={"x": [SECRET]}))
    await journal.turn()
    for path in journal.path.parent.iterdir():  # before it is finished, too
        assert SECRET.encode() not in path.read_bytes(), path
    await journal.finish("finished")
    assert SECRET.encode() not in journal.path.read_bytes()
    with RunFile.open(journal.path) as run:
        assert run.meta.title == f"with {HIDDEN}"
        trial = run.trial(0)
        assert trial is not None
        assert trial.output == {"said": HIDDEN}
        first, second = run.calls()
        assert first.end is not None
        assert first.end.body == f"key {HIDDEN}".encode()
        assert second.end is not None
        assert second.end.message == f"no: {HIDDEN}"


def test_a_key_that_was_given_is_in_no_byte_of_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it was asked or answered; other users of the machine cannot read the rest either."""
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    known.learn_environment(os.environ)
    cache = Cache.open(tmp_path / "cache")
    cache.put("k", "", f"asked {SECRET}".encode(), f"said {SECRET}".encode(), 0.1)
    assert (reply := cache.get("k", "")) is not None
    assert reply.body == f"said {HIDDEN}".encode()
    cache.close()
    folder = cache.path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.iterdir():
        assert SECRET.encode() not in path.read_bytes(), path
    with closing(sqlite3.connect(cache.path)) as db:
        assert db.execute("select identity, body from answer").fetchall() == [
            (f"asked {HIDDEN}".encode(), f"said {HIDDEN}".encode())
        ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/local/bin:/usr/bin"),
        ("SHOP_KEY", "short"),
        ("SHOP_TOKEN", "two words of it all"),
        ("PWD", "/srv/ada/evaluations/of-a-shop"),
        ("OLDPWD", "/srv/ada/evaluations"),
    ],
)
def test_what_is_no_secret_stays(name: str, value: str) -> None:
    """A path, a word, a sentence, the folder that one stands in."""
    assert not Secrets({name: value})
