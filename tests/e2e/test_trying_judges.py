"""`evenhand calibrate --try`: variants of a judge on labelled outputs, with a provider that answers by script."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.test_probe_command import start

from evenhand.testing import Rule

__all__ = ["start"]

PEOPLE_FAIL = 5
"""Every so many-th answer is wrong."""
CONFIG = {
    "prompts": ["Tell me of {{q}}"],
    "providers": ["openai:chat:gpt-5-mini"],
    "defaultTest": {
        "options": {"provider": "openai:chat:gpt-5"},
        "assert": [{"type": "llm-rubric", "value": "Says how often it comes", "metric": "tides"}],
    },
    "tests": [{"vars": {"q": f"thing {i:03d}"}} for i in range(200)],
}
FILES = {
    "promptfooconfig.json": json.dumps(CONFIG),
    "judges.yml": """\
sharp:
  model: openai:chat:gpt-4.1
words:
  criteria: Says that the tide comes twice
own prompt:
  model: openai:chat:gpt-4.1
  prompt: file://judge.txt
panel:
  panel: [openai:chat:gpt-4.1, openai:chat:gpt-5, openai:chat:gpt-5]
""",
    "judge.txt": "About {{q}}: {{output}}\nBy this: {{criteria}}. Reply with JSON: reason, pass.",
}
EVALS = """
from evenhand import Case, Dataset, EvalSet, Expect, Model
from evenhand.scorers import Jury, Passes

evals = EvalSet(
    "tides",
    data=Dataset.of(*({"id": f"case {i}", "input": f"thing {i:03d}"} for i in range(80))),
    model="openai:chat:gpt-5-mini",
)


@evals.eval
async def comes(case: Case, model: Model, expect: Expect) -> None:
    reply = await model.generate(f"Tell me of {case.input}")
    jury = Jury(["openai:chat:gpt-5", "openai:chat:gpt-4o", "openai:chat:gpt-4.1"], of=Passes("tides"))
    expect(reply.text, jury, metric="tides")
"""


def says(passes: bool) -> str:
    """A judge's answer, to whichever of our prompts."""
    verdict = {"reason": "so", "pass": passes, "score": float(passes)}
    return json.dumps({**verdict, "reasoning": "so", "passes": passes})


def wrong(i: int) -> bool:
    """Whether people fail this answer."""
    return i % PEOPLE_FAIL == 0


ANSWERS = [
    Rule(
        (f"Tell me of thing {i:03d}",),
        f"Answer {i:03d}: {'once a WRONG month' if wrong(i) else 'twice a day'}.",
        model="gpt-5-mini",
    )
    for i in range(200)
]
SHARP = [
    Rule(("WRONG",), says(False), model="gpt-4.1"),
    Rule(reply=says(True), model="gpt-4.1"),
]
LENIENT = [Rule(reply=says(True), model=model) for model in ("gpt-5", "gpt-4o")]


def labelled(evenhand: Any, folder: Path, count: int, where: str = ".") -> None:
    """Runs, and labels so many outputs as people would."""
    evenhand("run", where, "--no-progress", "--no-table")
    evenhand("label", "latest", "--draw", str(count), "--seed", "1", "--to", "draw.csv")
    with (folder / "draw.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["verdict"] = "fail" if "WRONG" in row["output"] else "pass"
    with (folder / "draw.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    evenhand("label", "latest", "--from", "draw.csv", "--by", "ann")


@pytest.mark.thorough
def test_a_sharper_judge_is_found_and_confirmed(start, tmp_path: Path):
    """100 labels; the subject isn't asked again, the run and its calibration stay as they are; twice costs once."""
    fake, evenhand = start([*SHARP, *LENIENT, *ANSWERS], FILES)
    labelled(evenhand, tmp_path, 100)
    paid = fake.ledger.total
    document = json.loads(evenhand("calibrate", "--try", "judges.yml", "--json", "--no-progress"))
    (judge,) = document["judges"]
    assert (judge["labels"], judge["choosing"], judge["confirming"]) == (100, 50, 50)
    assert (judge["verdict"], judge["winner"]) == ("confirmed", "sharp")
    assert judge["confirmation"]["difference"]["value"] == pytest.approx(0.2, abs=0.06)
    assert judge["confirmation"]["p"] < 0.05
    assert judge["today"]["tnr"]["value"] == 0
    rows = {row["name"]: row for row in judge["variants"]}
    assert list(rows) == ["sharp", "words", "own prompt", "panel", "panel, weighted by labels"]
    assert {rows[name]["agrees"]["value"] for name in ("sharp", "own prompt")} == {1}
    assert rows["words"]["choosing"]["difference"]["value"] == 0
    assert rows["panel"]["tnr"]["value"] == 0, "two of its three votes are today's judge's"
    assert rows["panel, weighted by labels"]["agrees"]["value"] > 0.95
    assert rows["sharp"]["per_verdict_usd"] > 0
    assert judge["today"]["per_verdict_usd"] > 0
    # The panel asks gpt-4.1 what `sharp` asked, and gpt-5 once what today's judge was asked: the cache has these.
    assert fake.ledger.total <= paid + 100 * 6
    assert not [r for r in fake.requests[paid:] if r.model == "gpt-5-mini"]
    paid = fake.ledger.total
    tryout = document["tryout"]
    assert json.loads(evenhand("calibrate", tryout, "--json")) == document
    again = json.loads(evenhand("calibrate", "--try", "judges.yml", "--json", "--no-progress"))
    assert again["run"] == document["run"], "the latest run that is not a tryout"
    assert again["judges"][0]["winner"] == "sharp"
    assert fake.ledger.total == paid
    assert "tried variants of the judges of run" in evenhand("probe", tryout, code=2)
    assert "tried variants" in evenhand("label", tryout, "--draw", "9", "--to", "d.csv", code=2)
    shown = evenhand("calibrate", tryout)
    assert "confirmed: 'sharp' agrees with people more often than today's judge" in shown
    assert "prompt: file" not in shown
    assert not (tmp_path / "calibration.json").exists()


def test_few_labels_have_a_table_and_no_verdict(start, tmp_path: Path):
    """With 40 labels it says why, and what to do."""
    _, evenhand = start([*SHARP, *LENIENT, *ANSWERS], FILES)
    labelled(evenhand, tmp_path, 40)
    shown = evenhand("calibrate", "--try", "model=openai:chat:gpt-4.1", "--no-progress")
    assert (
        "no verdict: 40 labels are too few: it takes 60 or more, so that each half has 30"
        in " ".join(shown.split())
    )
    assert "model=openai:chat:gpt-4.1" in shown
    assert "100 % [91–100]" in shown


@pytest.mark.thorough
def test_errors_of_a_variant_are_no_disagreements_and_confirm_nothing(start, tmp_path: Path):
    """A judge that is right where it answers, and doesn't where people pass an answer: that could be either."""
    silent = [Rule(("Answer .*[13579]:",), "Hm.", model="gpt-4.1"), *SHARP]
    _, evenhand = start([*silent, *LENIENT, *ANSWERS], FILES)
    labelled(evenhand, tmp_path, 100)
    document = json.loads(
        evenhand(
            "calibrate", "--try", "model=openai:chat:gpt-4.1", "--json", "--no-progress", code=3
        )
    )
    (judge,) = document["judges"]
    (row,) = judge["variants"]
    assert row["errors"] > 20
    assert (row["agrees"]["value"], row["tnr"]["value"]) == (1, 1)
    assert row["agrees"]["low"] < 0.8
    assert judge["verdict"] == "no verdict"


@pytest.mark.thorough
def test_a_tryout_out_of_budget_is_resumed_and_pays_for_nothing_twice(start, tmp_path: Path):
    """It exits with 4; `resume`, or its id, continues it; without all verdicts there is none."""
    fake, evenhand = start([*SHARP, *LENIENT, *ANSWERS], FILES)
    labelled(evenhand, tmp_path, 60)
    before = fake.ledger.total
    args = ("--no-progress", "-j", "1", "--max-cost")
    shown = evenhand("calibrate", "--try", "judges.yml", *args, "0.05", code=4)
    assert "not all variants were asked about all labelled outputs" in shown
    part = fake.ledger.total
    tryout = max(path.stem for path in (tmp_path / ".evenhand" / "runs").glob("*.db"))
    evenhand("resume", tryout, *args, "0.2", code=4)
    document = json.loads(evenhand("calibrate", tryout, "--json", *args, "9"))
    assert document["judges"][0]["verdict"] in ("confirmed", "not confirmed")
    assert before < part < fake.ledger.total
    assert fake.ledger.total - before <= 60 * 6
    (tmp_path / "judges.yml").write_text("other: {repeats: 2}\n", "utf-8")
    assert "sharp" in evenhand("calibrate", tryout), "finished, it needs its files no more"


@pytest.mark.thorough
def test_a_jury_is_weighed_and_its_variants_are_tried(start, tmp_path: Path):
    """One sharp and two lenient judges in an eval set: `calibrate` weighs them, one of them alone is tried."""
    _, evenhand = start([*SHARP, *LENIENT, *ANSWERS], {"evals/tides_evals.py": EVALS})
    labelled(evenhand, tmp_path, 70, "evals")
    calibration = json.loads(evenhand("calibrate", "--json"))
    jury = calibration["judges"][0]["jury"]
    assert jury["verdict"] == "better"
    assert [member["model"] for member in jury["members"]] == ["gpt-4.1", "gpt-4o", "gpt-5"]
    args = ("--try", "model=openai:chat:gpt-4.1", "--try", "criteria=comes twice", "--json")
    document = json.loads(evenhand("calibrate", *args, "--no-progress"))
    rows = {row["name"]: row for row in document["judges"][0]["variants"]}
    assert list(rows) == [
        "today, weighted by labels",
        "model=openai:chat:gpt-4.1",
        "criteria=comes twice",
        "criteria=comes twice, weighted by labels",
    ]
    assert rows["model=openai:chat:gpt-4.1"]["agrees"]["value"] == 1
    assert rows["criteria=comes twice"]["tnr"]["value"] == 0, "still the jury"


def test_what_is_wrong_is_said_before_anything_is_asked(start, tmp_path: Path):
    """All mistakes of a file at once, with their lines; an estimate sends nothing."""
    fake, evenhand = start([*SHARP, *LENIENT, *ANSWERS], FILES)
    evenhand("run", ".", "--no-progress", "--no-table")
    assert "nobody has labelled" in evenhand("calibrate", "--try", "repeats=3", code=2)
    labelled(evenhand, tmp_path, 60)
    before = fake.ledger.total
    shown = evenhand("calibrate", "--try", "judges.yml", "--dry-run")
    assert "tides: 60 labelled outputs" in shown
    assert "panel                         about 180 calls, about $" in shown
    (tmp_path / "bad.yml").write_text(
        "today: {repeats: 2}\na: {modle: openai:gpt-5}\nb:\n  panel: [openai:gpt-5]\n"
        "c: {prompt: Is it good?}\nd: {model: nobody:x}\ne: {repeats: 0}\nf:\n",
        "utf-8",
    )
    shown = evenhand("calibrate", "--try", "bad.yml", code=2)
    for line, words in enumerate(
        ("no variant can be called", "Did you mean 'model'", "", "a panel is a list of models",
         "doesn't show the output", "nobody", "repeats", "changes nothing"), 1
    ):  # fmt: skip
        assert not words or (f"bad.yml:{line}:" in shown and words in shown), (line, shown)
    for args, words in (
        (("--try", "modle=x"), "Did you mean 'model'"),
        (("--try", "no.yml"), "no.yml: does not exist"),
        (("--try", "repeats=3", "--metric", "tide"), "Did you mean 'tides'"),
        (("--try", "judges.yml", "--try", "./judges.yml"), "two variants called 'sharp'"),
        (("--try", "repeats=3", "--no-write"), "this run is a tryout"),
        (("--dry-run",), "It goes with --try"),
        (("--max-cost", "1"), "--max-cost has no effect here"),
        (("--metric", "tides"), "--metric has no effect here"),
        (("--retries", "1"), "--retries has no effect here"),
    ):
        assert words in evenhand("calibrate", *args, code=2), args
    assert fake.ledger.total == before


def test_an_estimate_after_scripted_replies_says_what_models_would_cost(start, tmp_path: Path):
    """Of today's judge by what the script answered, and of another model by its list price."""
    script = [{"model": "gpt-5", "reply": says(True)}, {"reply": "Twice a day."}]
    files = {**FILES, "offline.jsonl": "".join(json.dumps(rule) + "\n" for rule in script)}
    _, evenhand = start((), files)
    evenhand("run", ".", "--offline", "--no-progress", "--no-table")
    evenhand("label", "latest", "--draw", "10", "--seed", "1", "--to", "draw.csv")
    draw = tmp_path / "draw.csv"
    header, *rows = draw.read_text("utf-8").splitlines()
    draw.write_text("\n".join([header, *(f"{row}pass" for row in rows)]) + "\n", "utf-8")
    evenhand("label", "latest", "--from", "draw.csv", "--by", "ann")
    for variant in ("model=openai:chat:gpt-4.1", "repeats=2"):
        estimate = evenhand("calibrate", "--try", variant, "--dry-run")
        assert "price unknown" not in estimate
        assert "replies scripted (from models about $" in estimate.splitlines()[-1]


def test_a_variant_that_gives_no_verdict_at_all_decides_nothing_and_says_why(start, tmp_path: Path):
    """No rule of the script answers it: exit code 3, the error, no price, and a next step that gets further."""
    rule = {"model": "gpt-5", "match": ["Says how often"], "reply": says(True)}
    script = tmp_path / "offline.jsonl"
    known = json.dumps(rule) + "\n" + json.dumps({"model": "gpt-5-mini", "reply": "Twice a day."})
    config = {**CONFIG, "tests": CONFIG["tests"][:62]}
    files = {"promptfooconfig.json": json.dumps(config), "offline.jsonl": known}
    _, evenhand = start((), files)
    evenhand("run", ".", "--offline", "--no-progress", "--no-table")
    evenhand("label", "latest", "--draw", "62", "--seed", "1", "--to", "draw.csv")
    draw = tmp_path / "draw.csv"
    header, *rows = draw.read_text("utf-8").splitlines()
    verdicts = (f"{row}{'pass' if i % 4 else 'fail'}" for i, row in enumerate(rows))
    draw.write_text("\n".join([header, *verdicts]) + "\n", "utf-8")
    evenhand("label", "latest", "--from", "draw.csv", "--by", "ann")
    args = ("calibrate", "--try", "criteria=is short", "--offline", "--no-progress")
    shown = evenhand(*args, code=3)
    tryout = max(path.stem for path in (tmp_path / ".evenhand" / "runs").glob("*.db"))
    assert (
        "'criteria=is short' (without a verdict on 31 of the 31 outputs used to choose)"
        in " ".join(shown.split())
    )
    assert 'offline.jsonl has no rule for: rubric "is short"' in shown
    assert shown.count("  scripted") == 2, "today's verdicts have no price either"
    assert f"then evenhand resume {tryout[:10]}" in evenhand("show", tryout)
    script.write_text(known.replace('"match": ["Says how often"], ', ""), "utf-8")
    shown = evenhand("resume", tryout, "--no-progress")
    assert "no variant is better" in shown
    assert shown.count("  scripted") == 2
