"""The example of the page on replay runs as it says: from its cassette alone, and a changed word misses."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_is_replayed_from_its_cassette_and_a_changed_word_is_shown(tmp_path: Path):
    """As the page says: it passes; with another word in the prompt, the trials are errors that show the word."""
    folder = tmp_path / "replay"
    shutil.copytree(ROOT / "examples" / "replay", folder)
    (folder / "offline.jsonl").unlink()
    code = "from evenhand.cli import main; main()"
    command = [sys.executable, "-c", code, "run", ".", "--replay", "shop.cassette"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "replayed from cassette shop.cassette, recorded" in done.stdout
    shop = folder / "shop.py"
    shop.write_text(shop.read_text().replace("Only its number", "Just its number"))
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert "content, character 28:" in " ".join(done.stdout.split())
