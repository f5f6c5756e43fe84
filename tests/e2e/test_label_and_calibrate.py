"""From a judged run to a gate, on the command line: draw, label, calibrate, required calibration."""

from __future__ import annotations

import csv
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.commands import in_process

from evenhand.testing import FakeProvider, Rule, Script

EXAMPLE = Path(__file__).parents[2] / "examples" / "judge"
CONFIG = {
    "prompts": ["Tell me of {{q}}"],
    "providers": ["openai:chat:gpt-5-mini"],
    "defaultTest": {
        "options": {"provider": "openai:chat:gpt-5"},
        "assert": [{"type": "llm-rubric", "value": "is kind", "metric": "kindness"}],
    },
    "tests": [{"vars": {"q": f"thing {i:02d}"}} for i in range(80)],
}


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    """The judge passes all but the answers on things that end in 7, 8 or 9."""
    answers = [
        Rule((f"Tell me of thing {i:02d}",), f"An answer on thing {i:02d}", model="gpt-5-mini")
        for i in range(80)
    ]
    strict = Rule((r"An answer on thing \d[789]",), _says(False), model="gpt-5")
    script = Script([strict, *answers, Rule(reply=_says(True), model="gpt-5")])
    with FakeProvider(script) as fake:
        yield fake


def _says(passes: bool) -> str:
    return json.dumps({"reason": "so", "pass": passes, "score": float(passes)})


def test_a_run_is_labelled_calibrated_and_gated(provider: FakeProvider, tmp_path: Path):
    """Required, it exits with 3 until there is a calibration, and again once the rubric has changed."""
    config = tmp_path / "promptfooconfig.json"
    config.write_text(json.dumps(CONFIG))

    def evenhand(*args: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-c", "from evenhand.cli import main; main()", *args],
            cwd=tmp_path,
            env={**os.environ, **provider.env()},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == code, done.stdout + done.stderr
        messages.append(done.stderr)
        return done.stdout

    messages: list[str] = []
    gated = ("run", ".", "--calibrated", "required", "--at-least", "0.5", "--no-progress")
    assert "not checked against people" in evenhand(*gated, code=3)
    evenhand("label", "latest", "--draw", "60", "--seed", "1", "--to", "draw.csv")
    with (tmp_path / "draw.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60
    assert not any(word in json.dumps(rows).lower() for word in ("true", "reason", "score"))
    for row in rows:
        thing = int(row["output"].split()[-1])
        row["verdict"] = "pass" if thing % 10 < 5 else "fail"  # the judge is too kind
    with (tmp_path / "draw.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(rows)
    evenhand("label", "latest", "--from", "draw.csv", "--by", "ann", "--rule", "No scorn.")
    document = json.loads(evenhand("calibrate", "latest", "--json"))
    assert document["schema"] == "evenhand.calibration/1"
    (judge,) = document["judges"]
    assert (judge["metric"], judge["labels"], judge["verdict"]) == ("kindness", 60, "usable with labels")  # fmt: skip
    assert judge["tpr"]["value"] == 1.0
    assert judge["corrected"]["high"] < judge["raw"]["value"] == 0.7
    assert judge["random_draw"]["ok"] is True
    assert json.loads((tmp_path / "calibration.json").read_text()) == document
    asked = len(provider.requests)
    assert "corrected, 60 labels, today" in evenhand(*gated)
    assert len(provider.requests) == asked, "all from the cache"
    assert "nobody has labelled" in evenhand("calibrate")
    assert "calibrated before, in calibration.json: kindness by" in messages[-1]
    assert f"(usable with labels, 60 labels of run {document['run'][:10]})" in messages[-1]
    (rate,) = json.loads(evenhand("show", "--json"))["judged"]
    assert (rate["calibration"], rate["labels"]) == ("fresh", 60)
    assert rate["corrected"] == pytest.approx(judge["corrected"], abs=1e-9)
    config.write_text(json.dumps(CONFIG).replace("is kind", "is kind!"))
    assert "calibration is stale: judge prompt, criteria changed" in " ".join(
        evenhand(*gated, code=3).split()
    )
    (tmp_path / "calibration.json").write_text("{")
    assert "calibration.json is not a calibration" in " ".join(evenhand("show").split())


def test_labelling_without_a_terminal_says_how_to_do_it_in_a_file(
    provider: FakeProvider, tmp_path: Path
):
    """Nothing waits for keys that nobody can press; --from goes with no --draw."""
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(CONFIG))
    env = {**os.environ, **provider.env()}

    def evenhand(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from evenhand.cli import main; main()", *args]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    evenhand("run", ".", "--first", "3", "--no-progress")
    done = evenhand("label", "latest")
    assert done.returncode == 2
    assert "--to draw.csv" in done.stderr
    done = evenhand("label", "--draw", "2", "--from", "x.csv")
    assert done.returncode == 2
    assert "can't be combined with --draw or --to" in done.stderr
    done = evenhand("calibrate")
    assert (done.returncode, "no verdict" in done.stdout) == (0, True)
    assert not (tmp_path / "calibration.json").exists()


def test_somebody_labels_in_a_terminal_key_by_key(provider: FakeProvider, tmp_path: Path):
    """A rule first; then verdicts, a score, a note, a failure code, an undo; what was given is kept when they quit."""
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(CONFIG))
    env = {**os.environ, **provider.env(), "TERM": "xterm"}
    command = [sys.executable, "-c", "from evenhand.cli import main; main()"]
    subprocess.run(
        [*command, "run", ".", "--no-progress"], cwd=tmp_path, env=env, check=False, timeout=120,
        capture_output=True,
    )  # fmt: skip
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*command, "label", "--draw", "4", "--seed", "1", "--by", "ann"],
        cwd=tmp_path, env=env, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
    )  # fmt: skip
    os.close(theirs)
    screen = Screen(ours)
    screen.wait("rule")
    screen.type("No scorn.\r")
    screen.wait("q quit")
    assert "1 of 4" in screen.text
    assert "rule: No scorn." in screen.text
    assert "kindness" in screen.text
    screen.type("c")
    screen.wait("failure code")
    screen.type("too cold\r")
    screen.wait("q quit")
    assert "your failure code: too cold" in screen.text
    screen.type("2")
    screen.wait("q quit")
    screen.type("f")
    screen.wait("2 of 4")
    screen.wait("q quit")
    screen.type("n")
    screen.wait("note")
    screen.type("fine\r")
    screen.wait("your note: fine")
    screen.wait("q quit")
    screen.type("p")
    screen.wait("3 of 4")
    screen.wait("q quit")
    screen.type("u")
    screen.wait("2 of 4")
    screen.wait("q quit")
    screen.type("q")
    screen.wait("evenhand calibrate")
    assert process.wait(30) == 0
    os.close(ours)
    assert "1 label by ann" in screen.text

    def evenhand(*args: str) -> str:
        done = subprocess.run(
            [*command, *args], cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=120
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "too cold   100 % [21–100]" in evenhand("label", "--codes")
    (code,) = json.loads(evenhand("label", "--codes", "--json"))["codes"]
    assert (code["name"], code["share"]["value"]) == ("too cold", 1)
    assert "tone   100 % [21–100]" in evenhand("label", "--rename", "too cold=tone")
    (judge,) = json.loads(evenhand("calibrate", "--json", "--no-write"))["judges"]
    assert judge["labels"] == 1


class Screen:
    """What a program writes to a terminal since it was last typed at."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self.text = ""

    def wait(self, words: str, seconds: float = 60) -> None:
        """Reads until these words are there, and the program waits for a key."""
        until = time.monotonic() + seconds
        while words not in self.text:
            assert time.monotonic() < until, self.text
            if select.select([self._terminal], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self._terminal, 65536).decode("utf-8", "replace")
                except OSError:  # the program is gone
                    assert words in self.text, self.text
        time.sleep(0.3)  # it empties its input once more before it reads a key

    def type(self, keys: str) -> None:
        """Presses keys."""
        self.text = ""
        os.write(self._terminal, keys.encode())


def test_labels_count_again_where_only_clusters_were_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The report proposes the command, and the corrected rate is back without a new label."""
    shutil.copytree(EXAMPLE, tmp_path / "shop", ignore=shutil.ignore_patterns(".evenhand"))

    monkeypatch.chdir(tmp_path / "shop")
    command_line = in_process(capsys)

    def evenhand(*args: str, code: int = 0) -> str:
        done = command_line(*args)
        assert done.code == code, done.out + done.err
        return done.out + done.err

    evenhand("run", ".", "--offline", "--no-progress", code=1)
    evenhand("label", "latest", "--draw", "60", "--seed", "1", "--to", "draw.csv")
    evenhand("label", "latest", "--from", "labels.csv", "--by", "ann")
    evenhand("calibrate", "latest")
    tests = tmp_path / "shop" / "messages.csv"
    head, *rows = tests.read_text("utf-8").splitlines()
    lines = [f"{row},c{i // 4}" for i, row in enumerate(rows)]
    tests.write_text("\n".join([f"{head},__metadata:customer", *lines]) + "\n", "utf-8")
    with (tmp_path / "shop" / "promptfooconfig.yaml").open("a", encoding="utf-8") as config:
        config.write("evenhand: {cluster: customer}\n")
    stale = " ".join(evenhand("run", ".", "--offline", "--no-progress", code=1).split())
    assert "calibration is stale: clusters changed" in stale
    command = stale.partition("to calibrate again: evenhand ")[2].partition(",")[0].split()
    assert command[:1] + command[2:3] == ["label", "--from"]
    assert f"evenhand {' '.join(command)}" in evenhand("calibrate", "latest")
    assert "60 labels of run" in evenhand(*command)
    assert "labels     60 of 100 judged outputs" in evenhand("calibrate", "latest")
    after = evenhand("run", ".", "--offline", "--no-progress", code=1)
    assert "corrected, 60 labels" in after
    assert "has these labels already" in evenhand("label", command[3], "--from", command[3], code=2)


def test_labels_of_outputs_that_resume_replaced_count_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """An application answers otherwise when its trial is run again: what people said was of the first answer."""
    monkeypatch.chdir(tmp_path)
    evenhand = in_process(capsys)
    (tmp_path / "a_evals.py").write_text(
        "from pathlib import Path\nfrom evenhand import EvalSet\nfrom evenhand.scorers import Passes\n"
        'evals = EvalSet("a", data=[{"id": f"{i}"} for i in range(6)], judge="openai:chat:gpt-5")\n\n\n'
        "@evals.eval\ndef answers(case, expect):\n"
        '    again = Path("again").exists()\n'
        '    output = f"answer {case.id}" + "!" * again\n'
        '    expect(output, Passes("is kind"))\n'
        "    if int(case.id) % 2 and not again:\n"
        '        raise ValueError("later")\n'
        "    return output\n"
    )
    reply = json.dumps({"reasoning": "so", "passes": True, "confidence": 1})
    (tmp_path / "offline.jsonl").write_text(json.dumps({"match": "kind", "reply": reply}) + "\n")
    evenhand("run", "a_evals.py", "--offline", "--no-progress")
    evenhand("label", "latest", "--draw", "6", "--to", "labels.csv")
    rows = list(csv.DictReader((tmp_path / "labels.csv").read_text().splitlines()))
    assert len(rows) == 6
    with (tmp_path / "filled.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "verdict": "fail"} for row in rows)
    evenhand("label", "latest", "--from", "filled.csv", "--by", "ann")
    (tmp_path / "again").touch()
    told = evenhand("resume", "--no-progress")
    assert "3 labels taken back" in told.err
    document = json.loads(evenhand("calibrate", "latest", "--json").out)
    assert [judge["labels"] for judge in document["judges"]] == [3]
