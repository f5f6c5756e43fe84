"""Production inputs replayed: each new reply against the one that was sent then, as the documentation shows it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evenhand.cli import main
from evenhand.testing import FakeProvider, Rule, Script

PAGE = Path(__file__).resolve().parents[2] / "docs" / "eval-sets.md"


def judged(conversation: str) -> dict[str, object]:
    """A judge who finds any reply better than `On its way.`, and cannot choose otherwise."""
    parcel = conversation.rfind("On its way.")
    other = conversation.rfind("It comes tomorrow.")
    winner = "tie" if parcel < 0 else "second" if other > parcel else "first"
    return {"reasoning": "r", "winner": winner, "confidence": 0.9}


def test_the_documented_replay_tells_wins_losses_and_ties(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example of the page runs as it stands, and its report has the totals."""
    section = PAGE.read_text("utf-8").partition("## Replay production inputs")[2]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert code is not None
    (tmp_path / "replay_evals.py").write_text(code[1])
    rules = [
        Rule(model="gpt-5", reply=judged),
        Rule(match=("parcel",), reply="It comes tomorrow."),
        Rule(reply="Yes, within 30 days."),
    ]
    monkeypatch.chdir(tmp_path)
    with FakeProvider(Script(rules)) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit, match=r"^0$"):
            main(["run", "replay_evals.py"])
    text = " ".join(capsys.readouterr().out.split())
    assert 'preferred by "helps the customer": won 1, 50 % [' in text
    assert "· tied 1, 50 % [" in text
    assert "of 2 pairs" in text
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["show", "--json"])
    (row,) = json.loads(capsys.readouterr().out)["preferences"]
    assert [row[side]["count"] for side in ("won", "lost", "tied")] == [1, 0, 1]
