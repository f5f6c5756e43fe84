"""Keys that somebody repeated are written nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.report.conftest import result

from evenhand.core.run import CallEnd, CallStart, RunMeta
from evenhand.core.secrets import HIDDEN, Secrets
from evenhand.core.variant import Variant
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
        tmp_path / "runs", RunMeta("01RUN", "", "", "f", 2, 2, 1, columns, 0.0)
    )
    call = await journal.begin(CallStart(0, "k", 0, "subject", "m", SECRET.encode(), None))
    await journal.end(call, CallEnd(f"key {SECRET}".encode(), "provider"))
    lost = await journal.begin(CallStart(1, "j", 0, "subject", "m", b"{}", None))
    await journal.end(lost, CallEnd(b"", "provider", error="auth", message=f"no: {SECRET}"))
    await journal.settle(result(0, output={"said": SECRET}, reason=SECRET, vars={"x": [SECRET]}))
    await journal.finish("finished")
    assert SECRET.encode() not in journal.path.read_bytes()
    with RunFile.open(journal.path) as run:
        trial = run.trial(0)
        assert trial is not None
        assert trial.output == {"said": HIDDEN}
        first, second = run.calls()
        assert first.end is not None
        assert first.end.body == f"key {HIDDEN}".encode()
        assert second.end is not None
        assert second.end.message == f"no: {HIDDEN}"


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
