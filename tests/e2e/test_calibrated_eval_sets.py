"""Judges of eval sets that people have checked: what else ran is no change of what was judged."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.cli import main
from evenhand.testing import FakeProvider, Rule, Script

JUDGED = {"reasoning": "It is warm.", "passes": True, "confidence": 0.9}
STRICT = Rule((r"An answer on thing \d[789]",), {**JUDGED, "passes": False})
MANY = """
from evenhand import Case, EvalSet, Expect
from evenhand.scorers import Passes

ROWS = [{"id": f"c{i}", "input": f"thing {i:02d}"} for i in range(60)]
slugs = EvalSet("many slugs", data=ROWS, judge="openai:chat:gpt-5")


@slugs.eval
def many(case: Case, expect: Expect) -> str:
    answer = f"An answer on {case.input}"
    expect(answer, Passes("is kind"))
    return answer
"""
OTHER = """
from evenhand import EvalSet, Expect

more = EvalSet("more")


@more.eval
def ok(expect: Expect) -> None:
    expect(True, "ok")
"""
Evenhand = Callable[..., str]


@pytest.fixture
def evenhand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A command in a folder whose evals a judge is asked in; with what it printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/many_evals.py").write_text(MANY)

    def go(*words: str) -> str:
        with pytest.raises(SystemExit):
            main(list(words))
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return printed.out + printed.err

    with FakeProvider(Script([STRICT, Rule(reply=JUDGED)])) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        yield go


def calibrate(evenhand: Evenhand, folder: Path, labels: int = 60) -> str:
    """Labels a draw of the latest run, of which people find less kind than its judge, and calibrates it."""
    file = folder / "draw.csv"
    file.unlink(missing_ok=True)
    evenhand("label", "latest", "--draw", str(labels), "--seed", "1", "--to", "draw.csv")
    with file.open(encoding="utf-8", newline="") as draw:
        rows = list(csv.DictReader(draw))
    for row in rows:
        row["verdict"] = "pass" if int(row["output"].split()[-1]) % 10 < 5 else "fail"
    with file.open("w", encoding="utf-8", newline="") as draw:
        table = csv.DictWriter(draw, rows[0].keys())
        table.writeheader()
        table.writerows(rows)
    evenhand("label", "latest", "--from", "draw.csv", "--by", "ann")
    return evenhand("calibrate")


def corrected(evenhand: Evenhand, *run: str) -> tuple[str, list[str], object]:
    """Whether the calibration holds for a run, what has changed, and the corrected rate."""
    evenhand("run", *run, "--no-progress")
    (rate,) = json.loads(evenhand("show", "--json"))["judged"]
    return rate["calibration"], rate["changed"], rate["corrected"]


@pytest.mark.parametrize("several", [False, True])
def test_a_calibration_holds_whatever_else_runs(
    evenhand: Evenhand, tmp_path: Path, *, several: bool
):
    """Made of one file's run or of two files' run, it corrects the numbers of both."""
    other = tmp_path / "evals/other_evals.py"
    if several:
        other.write_text(OTHER)
    evenhand("run", "--no-progress")
    assert "usable with labels" in calibrate(evenhand, tmp_path)
    other.write_text(OTHER)
    both = corrected(evenhand)
    alone = corrected(evenhand, "evals/many_evals.py")
    assert both == alone
    assert alone[:2] == ("fresh", [])
    assert alone[2]


def test_too_few_labels_are_not_said_to_correct_later_runs(evenhand: Evenhand, tmp_path: Path):
    """They are written, and stand in no gate; enough of them do."""
    evenhand("run", "--no-progress")
    few = " ".join(calibrate(evenhand, tmp_path, labels=3).split())
    assert "3 labels are too few" in few
    assert (
        "no judge in it can be used yet, so with --calibrated required, a run has no verdict" in few
    )
    assert "later runs are corrected" not in few
    told = " ".join(evenhand("run", "--no-progress", "--no-cache").split())
    assert re.search(
        r": \d+ % \[[^]]*\] by [^·]+ · \d+ % [^·]+ corrected, 3 labels[^·]+ · too few", told
    )
    assert "commit it, and later runs are corrected with it" in calibrate(evenhand, tmp_path)


def test_a_set_with_the_same_criterion_is_not_checked_by_the_calibration_of_another(
    evenhand: Evenhand, tmp_path: Path
):
    """That of the labelled one holds in a run of both; alone, the other one is said to be another."""
    evenhand("run", "--no-progress")
    calibrate(evenhand, tmp_path)
    more = MANY.replace("many", "few").replace("thing", "item")
    (tmp_path / "evals/more_evals.py").write_text(more)
    evenhand("run", "--no-progress")
    rates = {r["variant"]["prompt"]: r for r in json.loads(evenhand("show", "--json"))["judged"]}
    first, second = rates["many slugs: many"], rates["few slugs: few"]
    assert (first["calibration"], first["labels"], bool(first["corrected"])) == ("fresh", 60, True)
    assert (second["calibration"], second["changed"]) == ("missing", ["evals"])
    assert second["corrected"] is None
    shown = " ".join(evenhand("run", "evals/more_evals.py", "--no-progress").split())
    assert "not checked against people: the calibration is for other evals" in shown
    assert "stale" not in shown


FEW = MANY.replace("many", "few").replace('f"c{i}"', 'f"d{i}"')


def edited(few: Path) -> Path:
    """The eval with more cases, in another file: this process has imported the first one."""
    few.unlink(missing_ok=True)
    other = few.with_name("more_evals.py")
    other.write_text(FEW.replace("range(60)", "range(100)"))
    return other


def standings(evenhand: Evenhand, *run: str) -> dict[str, tuple[str, list[str], bool]]:
    """For each eval of a run whether its calibration holds, what has changed, and whether its rate is corrected."""
    evenhand("run", *run, "--no-progress")
    return {
        rate["variant"]["prompt"].rpartition(": ")[2]: (
            rate["calibration"],
            rate["changed"],
            bool(rate["corrected"]),
        )
        for rate in json.loads(evenhand("show", "--json"))["judged"]
    }


def test_a_calibration_of_two_evals_with_the_same_criterion_holds_for_each_alone(
    evenhand: Evenhand, tmp_path: Path
):
    """That the other one doesn't run, or has changed, is no change of it."""
    few = tmp_path / "evals/few_evals.py"
    few.write_text(FEW)
    evenhand("run", "--no-progress")
    assert "usable with labels" in calibrate(evenhand, tmp_path, labels=110)
    holds = ("fresh", [], True)
    assert standings(evenhand) == {"many": holds, "few": holds}
    assert standings(evenhand, "evals/many_evals.py") == {"many": holds}
    assert standings(evenhand, "evals/few_evals.py") == {"few": holds}
    few = edited(few)
    stale = ("stale", ["data"], False)
    assert standings(evenhand) == {"many": holds, "few": stale}
    assert standings(evenhand, str(few)) == {"few": stale}


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("together", [False, True])
def test_calibrating_one_eval_leaves_what_the_file_says_of_another_with_the_same_criterion(
    evenhand: Evenhand, tmp_path: Path, *, together: bool
):
    """Whether that was calibrated alone, or both together; in runs of both, each has its own."""
    few = tmp_path / "evals/few_evals.py"
    if together:
        few.write_text(FEW)
    evenhand("run", "--no-progress")
    calibrate(evenhand, tmp_path, labels=110 if together else 60)
    few = edited(few)
    evenhand("run", str(few), "--no-progress")
    calibrate(evenhand, tmp_path, labels=40)
    holds = ("fresh", [], True)
    assert standings(evenhand) == {"many": holds, "few": holds}
    assert standings(evenhand, "evals/many_evals.py") == {"many": holds}
    rows = json.loads((tmp_path / "calibration.json").read_text())["judges"]
    assert [{variant["eval"] for variant in row["variants"]} for row in rows] == [
        {"few slugs: few"},
        {"many slugs: many"},
    ]
    # Again, it replaces its own alone.
    evenhand("run", str(few), "--no-progress", "--no-cache")
    calibrate(evenhand, tmp_path, labels=50)
    rows = json.loads((tmp_path / "calibration.json").read_text())["judges"]
    assert [row["labels"] for row in rows] == [50, 110 if together else 60]


BOT = "def answer(topic: str) -> str:\n    return f'An answer on {topic}'\n"


def of_a_bot(folder: Path) -> Path:
    """The answers come from a module beside the evals, by a function in the eval file."""
    (folder / "bot.py").write_text(BOT)
    text = MANY.replace(
        "from evenhand import", "from bot import answer as bot\nfrom evenhand import", 1
    )
    text = text.replace('f"An answer on {case.input}"', "reply_to(case)")
    text = text.replace(
        "\n\n@slugs", "\n\ndef reply_to(case: Case) -> str:\n    return bot(case.input)\n\n\n@slugs"
    )
    file = folder / "evals/many_evals.py"
    file.write_text(text)
    return file


def test_labels_of_other_code_correct_nothing(evenhand: Evenhand, tmp_path: Path):
    """Of a module and of a function in the eval file: what changed is named, in JSON and in words."""
    file = of_a_bot(tmp_path)
    evenhand("run")
    calibrate(evenhand, tmp_path)
    assert corrected(evenhand)[:2] == ("fresh", [])
    (tmp_path / "bot.py").write_text(f"{BOT}# mended\n")
    assert corrected(evenhand) == ("stale", ["bot.py"], None)
    assert "calibration is stale: bot.py changed" in evenhand("show")
    (tmp_path / "bot.py").write_text(BOT)
    written = file.read_text()
    file.write_text(written.replace("return bot(case.input)", "return bot(case.input).strip()"))
    assert corrected(evenhand) == ("stale", ["eval many slugs: many"], None)
    file.write_text(written.replace("answer = reply_to(case)", "answer = reply_to(case).strip()"))
    assert corrected(evenhand) == ("stale", ["eval many slugs: many"], None)


def test_another_check_and_another_eval_leave_a_calibration_as_it_is(
    evenhand: Evenhand, tmp_path: Path
):
    """They don't change what the application answers."""
    file = of_a_bot(tmp_path)
    evenhand("run")
    calibrate(evenhand, tmp_path)
    text = file.read_text().replace(
        "    return answer\n", '    expect(len(answer) < 99, "is short")\n    return answer\n'
    )
    file.write_text(
        f"# A comment\nimport json\n{text}\n\n@slugs.eval\ndef other(expect: Expect) -> None:\n    json.dumps(1)\n"
    )
    assert corrected(evenhand)[:2] == ("fresh", [])


def test_labels_of_mended_code_take_the_place_of_those_of_before(
    evenhand: Evenhand, tmp_path: Path
):
    """Also where people found no failure among them, so that there is no verdict; and they correct later runs."""
    of_a_bot(tmp_path)
    evenhand("run")
    calibrate(evenhand, tmp_path)
    (tmp_path / "bot.py").write_text(BOT.replace("answer on", "answer 0 on"))
    evenhand("run")
    evenhand("label", "latest", "--draw", "60", "--seed", "1", "--to", "all.csv")
    rows = (tmp_path / "all.csv").read_text("utf-8").splitlines()
    (tmp_path / "all.csv").write_text(
        "\n".join([rows[0], *(f"{row}pass" for row in rows[1:])]), "utf-8"
    )
    evenhand("label", "latest", "--from", "all.csv", "--by", "ann")
    assert "people found no failures" in evenhand("calibrate")
    state, changed, rate = corrected(evenhand)
    assert (state, changed) == ("fresh", [])
    assert isinstance(rate, dict)
    assert rate["low"] > 0.9


def test_a_comparison_says_which_labels_are_of_the_other_run(evenhand: Evenhand, tmp_path: Path):
    """Nobody labelled the second one."""
    of_a_bot(tmp_path)
    evenhand("run")
    calibrate(evenhand, tmp_path)
    evenhand("run")
    assert "60 labels of its own and 60 in calibration.json" in " ".join(
        evenhand("compare").split()
    )


CONFIG = """
prompts: ['Write on {{topic}}']
providers: ['file://bot.py']
defaultTest:
  options: {transform: 'file://shape.py'}
  assert: [{type: llm-rubric, value: is kind, metric: kind, provider: openai:chat:gpt-5}]
tests: file://topics.csv
"""
PROVIDER = (
    "import pathlib\nWORDS = pathlib.Path(__file__).with_name('words.txt').read_text()\n"
    "def call_api(prompt, options, context):\n    return {'output': 'An answer on ' + prompt[9:]}\n"
)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("bot.py", "'An answer", "'My answer"),
        ("words.txt", "one", "two"),
        ("shape.py", "output.strip()", "output.upper()"),
        ("promptfooconfig.yaml", "file://shape.py", "output.trim()"),
        ("promptfooconfig.yaml", "options: {transform: 'file://shape.py'}", "options: {}"),
        ("promptfooconfig.yaml", "metric: kind", "metric: kind, transform: output.trim()"),
    ],
)
def test_labels_of_other_code_of_a_promptfoo_folder_correct_nothing(
    evenhand: Evenhand,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    old: str,
    new: str,
):
    """Of a provider, a text that it names, and transforms in files and in the config, also of what a judge reads."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    (tmp_path / "bot.py").write_text(PROVIDER)
    (tmp_path / "words.txt").write_text("one")
    (tmp_path / "shape.py").write_text(
        "def get_transform(output, context):\n    return output.strip()\n"
    )
    (tmp_path / "topics.csv").write_text(
        "\n".join(["topic", *(f"thing {i:02d}" for i in range(60))])
    )
    rubric = {"reason": "It is warm.", "pass": True, "score": 1.0}
    strict = Rule(STRICT.match, {**rubric, "pass": False, "score": 0.0})
    with FakeProvider(Script([strict, Rule(reply=rubric)])) as server:
        for key, value in server.env().items():
            monkeypatch.setenv(key, value)
        evenhand("run", "promptfooconfig.yaml")
        calibrate(evenhand, tmp_path)
        assert corrected(evenhand, "promptfooconfig.yaml")[:2] == ("fresh", [])
        file = tmp_path / name
        file.write_text(file.read_text().replace(old, new))
        state, changed, rate = corrected(evenhand, "promptfooconfig.yaml")
        assert (state, rate) == ("stale", None)
        word = "criteria" if "metric" in new else "transforms"
        assert (word if name.endswith(".yaml") else name) in changed


def test_what_is_imported_while_an_eval_runs_is_code_too(evenhand: Evenhand, tmp_path: Path):
    """It is read when the run ends."""
    file = of_a_bot(tmp_path)
    (tmp_path / "lazy_bot.py").write_text(BOT)
    written = file.read_text().replace(
        "    return bot(case.input)",
        "    from lazy_bot import answer\n\n    return answer(case.input)",
    )
    file.write_text(written)
    evenhand("run")
    calibrate(evenhand, tmp_path)
    assert corrected(evenhand)[:2] == ("fresh", [])
    (tmp_path / "lazy_bot.py").write_text(f"{BOT}# mended\n")
    assert corrected(evenhand) == ("stale", ["lazy_bot.py"], None)


def test_labels_of_regraded_outputs_are_not_of_the_code_of_today(
    evenhand: Evenhand, tmp_path: Path
):
    """The outputs are of before, and so nobody has labelled what today's code answers."""
    of_a_bot(tmp_path)
    evenhand("run")
    (tmp_path / "bot.py").write_text(f"{BOT}# mended\n")
    evenhand("regrade", "latest", "--with", "evals")
    calibrate(evenhand, tmp_path)
    assert corrected(evenhand) == ("stale", ["bot.py"], None)


def test_a_copied_project_is_calibrated_nowhere_but_where_it_is(
    evenhand: Evenhand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its runs name the folder that they were made in, whose calibration is another's by now."""
    evenhand("run", "--no-progress")
    calibrate(evenhand, tmp_path)
    before = (tmp_path / "calibration.json").read_bytes()
    copy = tmp_path.parent / f"{tmp_path.name}-copy"
    shutil.copytree(tmp_path, copy)
    monkeypatch.chdir(copy)
    (copy / "calibration.json").unlink()
    refused = " ".join(evenhand("calibrate").split())
    assert f"this run was made in {tmp_path}, and its file is in {copy} now" in refused
    assert "name a file: --to calibration.json" in refused
    assert (tmp_path / "calibration.json").read_bytes() == before
    assert "written to calibration.json" in evenhand("calibrate", "--to", "calibration.json")
    assert (copy / "calibration.json").is_file()


def joined(text: str) -> str:
    """Without spaces and line breaks: lines are folded, also in the middle of a long path."""
    return "".join(text.split())


@pytest.mark.parametrize("moved", [False, True])
def test_a_run_of_another_copy_says_whose_calibration_corrects_it(
    evenhand: Evenhand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, moved: bool
):
    """Where the project was moved, nobody's does, though one lies beside it; a run that is made there goes by that."""
    evenhand("run", "--no-progress")
    calibrate(evenhand, tmp_path)
    evenhand("run", "--no-progress")
    copy = tmp_path.parent / f"{tmp_path.name}-copy"
    shutil.copytree(tmp_path, copy)
    monkeypatch.chdir(copy)
    if moved:
        (tmp_path / "calibration.json").unlink()
    made = joined(f"this run was made in {tmp_path}, and its file is in {copy} now")
    text = joined(evenhand("show", "latest"))
    if moved:
        assert joined(f"the calibration.json beside it is not that of this run: {made}") in text
    else:
        assert joined(f"by the calibration.json of another copy of the project: {made}") in text
    assert ("corrected" in text) != moved
    assert made not in joined(evenhand("show", "latest~1")) or moved
    here = " ".join(evenhand("run", "--no-progress").split())
    assert "corrected" in here
    assert "this run was made in" not in here
