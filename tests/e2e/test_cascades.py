"""A cheap judge decides where labels show that it may, a dearer one the rest, and people what is left."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evenhand.core.errors import ConfigError
from evenhand.testing import FakeProvider, Rule, Script
from evenhand.wings.judge_checks.judge_variants import read_variants

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]

ITEMS = 300
EVALS = """
from evenhand import Case, Dataset, EvalSet, Expect
from evenhand.scorers import Passes

evals = EvalSet(
    "shop",
    data=Dataset.of(*({"id": f"case {i}", "input": f"output {i}."} for i in range(ITEMS))),
    judge={"first": "openai:decisions:gpt-6-luna", "then": "openai:chat:gpt-5", "risk": "15%", "people": "5%"},
)


@evals.eval
def answers(case: Case, expect: Expect) -> str:
    expect(case.input, Passes("keeps to the policy"), metric="policy")
    return case.input
"""


class Row(NamedTuple):
    """An output: what people say, the cheap judge's probability, the dear one's verdict and how sure it is."""

    good: bool
    probability: float
    passes: bool
    sure: float


def rows(*, coin: bool) -> list[Row]:
    """Outputs; the cheap judge is surer where it is right, or a coin. The dear one errs where it is unsure."""
    rng = random.Random(9)
    made: list[Row] = []
    for _ in range(ITEMS):
        good = rng.random() < 0.6
        right = rng.random() < (0.5 if coin else 0.85)
        sure = rng.uniform(0.8, 0.99) if right or coin else rng.uniform(0.5, 0.75)
        unsure = rng.random() < 0.1
        made.append(
            Row(
                good,
                round(sure if good is right else 1 - sure, 3),
                good if not unsure or rng.random() < 0.5 else not good,
                0.3 if unsure else 0.9,
            )
        )
    return made


def script(made: list[Row], models: tuple[str, str] = ("gpt-6-luna", "gpt-5")) -> Script:
    """Both judges."""
    rules: list[Rule] = []
    for i, row in enumerate(made):
        verdict = {"reasoning": "so", "passes": row.passes, "confidence": row.sure}
        rules.append(Rule(last=rf"output {i}\.", reply=row.probability, model=models[0]))
        rules.append(Rule((rf"output {i}\.",), reply=verdict, model=models[1]))
    return Script(rules)


def command(folder: Path, fake: FakeProvider) -> Callable[..., str]:
    """The command line in a folder."""

    def evenhand(*arguments: str) -> str:
        env = {**os.environ, **fake.env(), "EVENHAND_HOME": str(folder / "home")}
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode in (0, 1, 3, 5), done.stderr + done.stdout
        return done.stdout

    return evenhand


def label(folder: Path, evenhand: Callable[..., str], made: list[Row], draw: int = 150) -> None:
    """Has a person label a draw of the latest run."""
    sheet = folder / "draw.csv"
    evenhand("label", "latest", "--draw", str(draw), "--seed", "1", "--to", str(sheet))
    with sheet.open() as lines:
        drawn = list(csv.DictReader(lines))
    for row in drawn:
        place = int(row["output"].split()[-1].removesuffix("."))
        row["verdict"] = "pass" if made[place].good else "fail"
    with sheet.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, list(drawn[0]))
        writer.writeheader()
        writer.writerows(drawn)
    evenhand("label", "latest", "--from", str(sheet), "--by", "ann")


def paths(fake: FakeProvider) -> dict[str, int]:
    """How many requests went to each judge."""
    decided = sum("decisions" in request.path for request in fake.requests)
    return {"first": decided, "then": len(fake.requests) - decided}


def test_labels_choose_what_each_judge_decides(tmp_path: Path):
    """At first both are asked; once labels have chosen the limits, the dear one only the rest."""
    made = rows(coin=False)
    (tmp_path / "shop_evals.py").write_text(EVALS.replace("ITEMS", str(ITEMS)), "utf-8")
    with FakeProvider(script(made)) as fake:
        evenhand = command(tmp_path, fake)
        first = json.loads(evenhand("run", "--json"))
        assert paths(fake) == {"first": ITEMS, "then": ITEMS}
        assert all(t["outcomes"][0]["outcome"] in ("pass", "fail") for t in first["trials"])
        label(tmp_path, evenhand, made)
        document: dict[str, Any] = json.loads(evenhand("calibrate", "latest", "--json"))
        text = evenhand("calibrate", "latest")
        assert [judge["model"] for judge in document["judges"]] == ["gpt-5"]
        (limits,) = document["cascades"]
        assert limits["first"] is not None
        assert limits["decided_first"] > 0.5 * ITEMS
        assert f"the first judge decides {limits['decided_first']} of {ITEMS} outputs" in text
        before = len(fake.requests)
        second = evenhand("run", "--no-cache")
        later = fake.requests[before:]
        evenhand("calibrate", "latest")  # a run that goes by limits keeps them
        (kept,) = json.loads((tmp_path / "calibration.json").read_text())["cascades"]
        shown = json.loads(evenhand("show", "--json"))
        evenhand("label", "latest", "--to", str(tmp_path / "people.csv"))
        (tmp_path / "shop_evals.py").write_text(
            EVALS.replace("ITEMS", str(ITEMS)).replace("keeps to", "honours"), "utf-8"
        )
        before = len(fake.requests)
        evenhand("run", "--no-cache")  # limits hold for the question that they were chosen for
        anew = fake.requests[before:]
    assert sum("decisions" in request.path for request in anew) == ITEMS
    assert len(anew) == 2 * ITEMS
    asked_then = sum("decisions" not in request.path for request in later)
    assert asked_then == ITEMS - limits["decided_first"]
    outcomes = [trial["outcomes"][0] for trial in shown["trials"]]
    by_stage: dict[str, list[bool]] = {"first": [], "then": []}
    for row, outcome in zip(made, outcomes, strict=True):
        stage = outcome["metadata"]["cascade"]["stage"]
        by_stage[stage].append((outcome["outcome"] == "pass") is row.good)
    stood = by_stage["first"] + by_stage["then"]
    assert stood.count(False) / len(stood) <= 0.15
    assert (
        f"the first judge decided {len(by_stage['first'])}, the second {len(by_stage['then'])}"
        in second
    )
    words = " ".join(second.split())
    assert "the second one alone would have cost about" in words
    # Labels that chose the limits say too little of what stands by them.
    assert "not checked against people: the calibration is for another judge" in words
    assert kept == limits
    with (tmp_path / "people.csv").open() as lines:
        drawn = list(csv.DictReader(lines))
    assert len(drawn) == 0.05 * ITEMS  # `people: 5%`
    assert {row["inclusion"] for row in drawn} == {"0.05"}


Change = Callable[[str], str]
CHANGES: dict[str, Change] = {
    "the application's code": lambda text: text.replace("return case", "return 0 * [] or case"),
    "the question": lambda text: text.replace("keeps to", "honours"),
    "a context": lambda text: text.replace('policy")', 'policy", context="A shop.")', 1),
    "the system": lambda text: text.replace("def answers", "def replies"),
    "the first judge": lambda text: text.replace("gpt-6-luna", "gpt-6-sol"),
    "the second judge": lambda text: text.replace("gpt-5", "gpt-5-mini"),
    "the risk": lambda text: text.replace("15%", "14%"),
}
KEPT: dict[str, Change] = {
    "the share for people": lambda text: text.replace('"5%"', '"7%"'),
    "how the risk is written": lambda text: text.replace('"15%"', "0.15"),
    "another case": lambda text: text.replace('"input": f"', '"input": f"New '),
}


@pytest.mark.thorough
def test_limits_hold_for_their_question_system_and_judges_alone(tmp_path: Path):
    """Of anything else nobody knows how sure a judge has to be, so that both are asked."""
    made = [row._replace(probability=0.97 if row.good else 0.03) for row in rows(coin=False)[:60]]
    text = EVALS.replace("ITEMS", "60")
    file = tmp_path / "shop_evals.py"
    file.write_text(text, "utf-8")
    every = [*script(made).rules, *script(made, models=("gpt-6-sol", "gpt-5-mini")).rules]
    with FakeProvider(Script(every)) as fake:
        evenhand = command(tmp_path, fake)
        evenhand("run")
        label(tmp_path, evenhand, made, 55)
        evenhand("calibrate", "latest")
        asked: dict[str, int] = {}
        for what, change in (CHANGES | KEPT).items():
            assert change(text) != text
            file.write_text(change(text), "utf-8")
            before = len(fake.requests)
            evenhand("run", "--no-cache")
            asked[what] = sum("decisions" not in one.path for one in fake.requests[before:])
    assert asked == dict.fromkeys(CHANGES, 60) | dict.fromkeys(KEPT, 0)


QUESTIONS = {
    "negated": ('~Passes("breaks the policy")', {}),
    "of a level": ('Rating(Rubric("policy", {2: "kept", 1: "broken"}))', {"at_least": 2}),
}


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("question", QUESTIONS)
def test_limits_are_chosen_for_the_verdicts_that_stand(tmp_path: Path, question: str):
    """Of the opposite of a question, and of levels: what is right of the first judge's is what would stand."""
    made = [row._replace(passes=row.good, sure=0.9) for row in rows(coin=False)[:120]]
    asked, bounds = QUESTIONS[question]
    wanted = "".join(f", {name}={value}" for name, value in bounds.items())
    text = EVALS.replace("ITEMS", "120").replace("import Passes", "import Passes, Rating, Rubric")
    text = text.replace('Passes("keeps to the policy")', f"{asked}{wanted}")
    (tmp_path / "shop_evals.py").write_text(text, "utf-8")
    rules: list[Rule] = []
    for i, row in enumerate(made):
        sure = max(row.probability, 1 - row.probability)
        right = row.good is (row.probability > 0.5)
        verdict = row.good if right else not row.good
        level = {"2": sure if verdict else 1 - sure, "1": 1 - sure if verdict else sure}
        reply: Any = level if bounds else (1 - sure if verdict else sure)
        rules.append(Rule(last=rf"output {i}\.", reply=reply, model="gpt-6-luna"))
        said = {"reasoning": "so", "passes": not row.good, "score": 1 + row.good, "confidence": 0.9}
        rules.append(Rule((rf"output {i}\.",), reply=said, model="gpt-5"))
    with FakeProvider(Script(rules)) as fake:
        evenhand = command(tmp_path, fake)
        evenhand("run")
        label(tmp_path, evenhand, made, 120)
        (limits,) = json.loads(evenhand("calibrate", "latest", "--json"))["cascades"]
        run = json.loads(evenhand("run", "--no-cache", "--json"))
    assert limits["decided_first"] > 60
    wrong = [
        row.good is not (trial["outcomes"][0]["outcome"] == "pass")
        for row, trial in zip(made, run["trials"], strict=True)
    ]
    assert sum(wrong) <= 0.15 * 120


@pytest.mark.thorough
def test_a_first_judge_that_is_a_coin_saves_nothing_and_the_report_says_so(tmp_path: Path):
    """Its verdicts never stand, so that the second one is asked about everything."""
    made = rows(coin=True)
    (tmp_path / "shop_evals.py").write_text(EVALS.replace("ITEMS", str(ITEMS)), "utf-8")
    with FakeProvider(script(made)) as fake:
        evenhand = command(tmp_path, fake)
        evenhand("run")
        label(tmp_path, evenhand, made)
        text = " ".join(evenhand("calibrate", "latest").split())
        before = len(fake.requests)
        evenhand("run", "--no-cache")
        asked_then = sum("decisions" not in request.path for request in fake.requests[before:])
    assert (
        "the first judge decides nothing at a risk of 15 % (95 % confidence), so it saves nothing"
        in text
    )
    assert asked_then == ITEMS


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        ({"first": "openai:decisions:gpt-6-luna"}, "there is no 'then'"),
        ({"first": "openai:chat:gpt-5", "then": "openai:chat:gpt-5"}, "is not a decision model"),
        ({"first": "openai:decisions:x", "then": "openai:chat:y", "risk": "2"}, "risk is '2'"),
        (
            {"first": ["openai:decisions:x", "openai:decisions:z"], "then": "openai:chat:y"},
            "'first' is no model's id",
        ),
        (
            {"first": "openai:decisions:x", "then": ["openai:chat:y", "openai:chat:z"]},
            "'then' is no model's id",
        ),
        (
            {"first": "openai:decisions:x", "then": "openai:chat:y", "than": 1},
            "'than' is not known",
        ),
    ],
)
def test_a_cascade_that_is_none_is_reported_before_the_run(tmp_path: Path, judge: object, why: str):
    """With all that is wrong with it."""
    text = EVALS.replace("ITEMS", "3")
    start, end = text.index("    judge="), text.index(",\n)")
    (tmp_path / "shop_evals.py").write_text(
        text[:start] + f"    judge={judge!r}" + text[end:], "utf-8"
    )
    done = subprocess.run(
        [*COMMAND, "run"],
        cwd=tmp_path,
        env={**os.environ, "OPENAI_API_KEY": "k"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert why in done.stderr


def test_a_config_can_name_a_cascade(tmp_path: Path):
    """In place of a provider's id."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        """
prompts: ["Say {{a}}"]
providers: [openai:chat:gpt-5-mini]
defaultTest:
  options: {provider: {first: openai:decisions:gpt-6-luna, then: openai:chat:gpt-5, risk: 10%}}
  assert: [{type: llm-rubric, value: is polite}]
tests: [{vars: {a: hi}}]
""",
        "utf-8",
    )
    rules = [
        Rule(system="is polite", reply=0.9),
        Rule(("Say hi",), "hi", model="gpt-5-mini"),
        Rule(model="gpt-5", reply={"reason": "so", "pass": True, "score": 0.9}),
    ]
    with FakeProvider(Script(rules)) as fake:
        run = json.loads(command(tmp_path, fake)("run", "--json"))
    (outcome,) = run["trials"][0]["outcomes"]
    assert outcome["outcome"] == "pass"
    assert outcome["metadata"]["judge"] == "gpt-5"  # without limits, the verdict is its own
    assert outcome["metadata"]["cascade"]["stage"] == "then"


CONFIG = """
prompts: ["Say {{a}}"]
providers: [{id: openai:chat:gpt-4.1-mini, config: {temperature: 0}}]
defaultTest:
  options: {provider: {first: openai:decisions:gpt-6-luna, then: openai:chat:gpt-5, risk: 15%}}
  assert: [{type: llm-rubric, value: is polite, metric: polite}]
tests:
"""


def test_limits_hold_for_the_settings_of_the_system(tmp_path: Path):
    """Another temperature is another system, for a cascade's limits as for a judge's calibration."""
    made = [row._replace(probability=0.97 if row.good else 0.03) for row in rows(coin=False)[:60]]
    rules: list[Rule] = []
    for i, row in enumerate(made):
        verdict = {"reason": "so", "pass": row.passes, "score": 0.95 if row.passes else 0.05}
        rules += [
            Rule(last=rf"output {i}\.", reply=row.probability, model="gpt-6-luna"),
            Rule((rf"output {i}\.",), reply=f"output {i}.", model="gpt-4.1-mini"),
            Rule((rf"output {i}\.",), reply=verdict, model="gpt-5"),
        ]
    text = CONFIG + "".join(f"  - vars: {{a: output {i}.}}\n" for i in range(60))
    file = tmp_path / "promptfooconfig.yaml"
    asked: dict[str, int] = {}
    with FakeProvider(Script(rules)) as fake:
        evenhand = command(tmp_path, fake)
        file.write_text(text, "utf-8")
        evenhand("run")
        label(tmp_path, evenhand, made, 55)
        evenhand("calibrate", "latest")
        for what in ("temperature: 0", "temperature: 1", "max_tokens: 50"):
            file.write_text(text.replace("temperature: 0", what), "utf-8")
            before = len(fake.requests)
            evenhand("run", "--no-cache")
            asked[what] = sum(one.model == "gpt-5" for one in fake.requests[before:])
    assert asked == {"temperature: 0": 0, "temperature: 1": 60, "max_tokens: 50": 60}


@pytest.mark.thorough
@pytest.mark.parametrize("coin", [False, True])
def test_a_cascade_is_tried_beside_todays_judge(coin: bool, tmp_path: Path):
    """Its error, cost and width stand beside those of the judge that it would save, and a coin saves nothing."""
    made = rows(coin=coin)
    one = EVALS.replace("ITEMS", "300")
    start, _, rest = one.partition('judge={"first"')
    alone = f'{start}judge="openai:chat:gpt-5",{rest.partition("},")[2]}'
    (tmp_path / "shop_evals.py").write_text(alone, "utf-8")
    (tmp_path / "judges.yml").write_text(
        "cheap first:\n  model: {first: openai:decisions:gpt-6-luna, then: openai:chat:gpt-5, risk: 15%}\n"
        "cheap alone:\n  model: openai:decisions:gpt-6-luna\n"
    )
    with FakeProvider(script(made)) as fake:
        evenhand = command(tmp_path, fake)
        evenhand("run")
        label(tmp_path, evenhand, made, 200)
        document = json.loads(evenhand("calibrate", "latest", "--try", "judges.yml", "--json"))
        text = " ".join(evenhand("calibrate", "latest", "--try", "judges.yml").split())
    (judge,) = document["judges"]
    cascade, cheap = judge["variants"]
    shares = cascade["cascade"]
    assert cheap["cascade"] is None
    assert shares["risk"] == 0.15
    decided = shares["decided_first"], shares["decided_then"], shares["people"]
    assert sum(decided) == judge["labels"] == 200
    assert cascade["errors"] == shares["people"]
    assert cascade["half_width"] > 0
    if coin:
        assert (shares["first"], decided[0]) == (None, 0)
        assert "the first judge decides nothing, so it saves nothing" in text
        return
    assert decided[0] > 60
    assert f"at a risk of 15 %: the first judge decides {decided[0]} from" in text
    assert cascade["agrees"]["value"] >= 0.85
    assert cheap["per_verdict_usd"] < cascade["per_verdict_usd"] < judge["today"]["per_verdict_usd"]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ("model: CASCADE, repeats: 3", "no repeats and no prompt of yours"),
        ('model: CASCADE, prompt: "{{output}}"', "no repeats and no prompt of yours"),
        ("panel: [CASCADE, openai:gpt-5]", "a cascade is in a panel"),
        ("model: {first: openai:chat:gpt-5, then: openai:chat:gpt-5}", "first"),
        ("model: [openai:gpt-5, openai:gpt-5-mini]", "several models"),
    ],
)
def test_a_cascade_that_cannot_be_tried_is_reported_before_anything_is_asked(
    settings: str, why: str, tmp_path: Path
):
    """With votes, with a prompt in words, and in a panel; a fallback has no verdict of its own."""
    cascade = "{first: openai:decisions:gpt-6-luna, then: openai:chat:gpt-5}"
    (tmp_path / "judges.yml").write_text(f"one: {{{settings.replace('CASCADE', cascade)}}}\n")
    with pytest.raises(ConfigError, match=why):
        read_variants(["judges.yml"], tmp_path)


@pytest.mark.thorough
def test_what_nobody_decides_is_what_a_person_gets(tmp_path: Path):
    """And the report, the next command and a gate against a run from before the limits say so."""
    made = rows(coin=False)[:200]
    made = [
        row._replace(probability=0.55, sure=0.1) if i < 20 else row for i, row in enumerate(made)
    ]
    text = EVALS.replace("ITEMS", "200").replace("15%", "8%")
    text = text.replace(
        "    expect(case.input",
        '    if case.id == "case 0" and Path("out").exists():\n        raise ValueError\n    expect(case.input',
    )
    (tmp_path / "shop_evals.py").write_text(f"from pathlib import Path\n{text}", "utf-8")
    (tmp_path / "out").touch()
    with FakeProvider(script(made)) as fake:
        evenhand = command(tmp_path, fake)
        first = " ".join(evenhand("run").split())
        evenhand("baseline", "--to", "before.evn")
        label(tmp_path, evenhand, made, 150)
        evenhand("calibrate", "latest")
        (tmp_path / "out").unlink()
        run = json.loads(evenhand("run", "--json"))
        said = " ".join(evenhand("show").split())
        evenhand("label", "latest", "--unsure", "0.08", "--to", "unsure.csv")
        gate = " ".join(evenhand("gate", "--baseline", "before.evn", "--margin", "0.1").split())
    undecided = {one["case"] for one in run["trials"] if one["outcome"] == "error"}
    with (tmp_path / "unsure.csv").open() as lines:
        opened = {row["case"] for row in csv.DictReader(lines)}
    drawn = {f"case {i}" for i in range(200)} - opened
    assert len(undecided) >= 20
    assert opened == undecided - drawn
    assert len(opened) > 10
    # The first trial of the first run was in error: the judges of the others are named all the same.
    assert "both judges were asked about 199 outputs" in first
    assert "neither of them" in said
    assert "replayed answers included" in said
    assert f"next: evenhand label {run['run']['id'][:10]} --unsure 0.08" in said
    assert "limits or prompt of the judges' cascade changed" in gate
    assert "judge's prompt changed" not in gate
