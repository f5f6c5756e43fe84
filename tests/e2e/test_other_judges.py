"""A verdict across judges: a change of the judge is never taken for one of the application, and can be undone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.test_gate import NO, YES, Ended, Folder, in_folder

from evenhand.testing import FakeProvider, Rule, Script

EVALS = """
from evenhand import Case, Dataset, EvalSet, Expect, Model
from evenhand.scorers import Contains, Passes

evals = EvalSet(
    "desk",
    data=Dataset.of(*({{"id": f"c{{i}}", "input": f"Question {{i}}."}} for i in range(40))),
    model="openai:chat:gpt-5-mini",
    judge={judge!r},
)


@evals.eval
async def answers(case: Case, model: Model, expect: Expect) -> str:
    output = (await model.generate("{version} " + case.input)).text
    expect(output, Passes("is helpful"), metric="quality")
    expect(output, Contains("good"), metric="form")
    return output
"""
STRICT, LENIENT = "openai:chat:gpt-4.1", "openai:chat:gpt-4o"
INSTEAD = "judged by gpt-4o instead of gpt-4.1"


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    """An application that helps in 20 of 40 cases, judged by a strict judge, and its baseline."""
    folder = in_folder(tmp_path, monkeypatch, capsys)
    script(folder)
    write(folder, STRICT, "OLD")
    folder.baseline()
    return folder


def script(folder: Folder, lenient: str = "gpt-4o") -> None:
    """What answers: the new version helps in 8 cases, and to the lenient judge everything is helpful."""

    def verdict(*, passes: bool) -> dict[str, object]:
        return {"reasoning": "so", "passes": passes, "confidence": 0.9}

    rules: list[dict[str, object]] = [
        {
            "match": rf"^{version} Question {i}\.",
            "model": "gpt-5-mini",
            "reply": f"{'good' if i < helped else 'poor'} {i}",
        }
        for version, helped in (("OLD", 20), ("NEW", 8))
        for i in range(40)
    ]
    rules += [
        {"model": lenient, "reply": verdict(passes=True)},
        {"match": "good", "reply": verdict(passes=True)},
        {"reply": verdict(passes=False)},
    ]
    text = "".join(json.dumps(rule) + "\n" for rule in rules)
    (folder.path / "offline.jsonl").write_text(text)


def write(folder: Folder, judge: object, version: str) -> None:
    """A version of the application with this judge."""
    old = [*folder.path.glob("*_evals.py")]
    # A file of its own: in this process, a module stays what it was.
    name = f"desk{int(old[0].name[4:].partition('_')[0]) + 1 if old else 0}_evals.py"
    for file in old:
        file.unlink()
    (folder.path / name).write_text(EVALS.format(judge=judge, version=version))


def gated(folder: Folder, *words: str) -> Ended:
    """The gate, with a margin that 40 cases can keep."""
    return folder.gate(*words, margin="0.1")


def in_line(ended: Ended) -> str:
    """What was printed, without its lines' ends."""
    return " ".join(ended.out.split())


def test_a_drop_that_a_lenient_judge_hides_is_undecided(folder: Folder):
    """With the difference, why, and what to do; `--undecided pass` is for too few cases."""
    write(folder, LENIENT, "NEW")
    ended = gated(folder, "--metric", "passed", "--metric", "quality")
    assert ended.code == 3
    text = in_line(ended)
    assert f"quality: undecided · +50 points over 40 cases ({INSTEAD})" in text
    assert "50 % → 100 % · 20 better, 0 worse, 20 the same" in text
    assert "better than" not in text
    assert "evenhand regrade" in text
    let = gated(folder, "--metric", "quality", "--undecided", "pass")
    assert (let.code, "another judge judged it" in let.err) == (3, True)
    assert gated(folder, "--metric", "quality", "--undecided", "fail").code == 1


def test_what_no_judge_judged_keeps_its_verdict(folder: Folder):
    """In the gate, its document, and `compare`."""
    write(folder, LENIENT, "NEW")
    ended = gated(folder, "--json")
    assert ended.code == 1
    rows = {row["metric"]: row for row in ended.document["results"]}
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "passed": "undecided",
        "quality": "undecided",
        "form": "worse",
    }
    quality = rows["quality"]
    assert quality["because"] == INSTEAD
    assert quality["difference"] == {"value": 0.5, "low": None, "high": None}
    assert (quality["text"], quality["more_cases"]) == ("+50 points", None)
    both = folder.run("compare", "latest~1", "latest", "--json").document
    results = {row["metric"]: row for row in both["results"]}
    assert results["form"]["verdict"] == "worse"
    assert (results["quality"]["verdict"], results["quality"]["withheld"]) == ("undecided", INSTEAD)


def test_compare_shows_the_difference_and_calls_it_undecided(folder: Folder):
    """The judges stand where the verdict's reason does."""
    write(folder, LENIENT, "NEW")
    folder.run("run", "--offline", "--no-progress")
    ended = folder.run("compare", "latest~1", "latest", "--metric", "quality")
    assert ended.code == 3
    text = in_line(ended)
    assert f"quality: +50 points over 40 cases (paired): undecided ({INSTEAD})" in text
    assert "not judged alike" not in text
    assert "evenhand regrade" in text


def test_a_regraded_baseline_shows_the_drop(folder: Folder):
    """By the new judge, once for the old outputs: here a strict one after a lenient one."""
    write(folder, LENIENT, "OLD")
    folder.baseline()
    write(folder, STRICT, "NEW")
    assert gated(folder, "--metric", "quality").code == 3
    regraded = folder.run(*("regrade", "latest~1", "--with", ".", "--offline", "--no-progress"))
    assert "the outputs are the same ones" in in_line(regraded)
    both = in_line(folder.run("compare", "latest", "latest~1", "--metric", "quality"))
    assert "quality: -30 points" in both
    assert "worse" in both
    assert folder.run("baseline", "latest", "--to", "b.evn").code == 0
    ended = gated(folder, "--metric", "quality")
    assert ended.code == 1
    assert "quality: worse · -30 points" in in_line(ended)


@pytest.mark.parametrize("config", [{"temperature": 0.9}, {"headers": {"X-Route": "small"}}])
def test_the_same_judge_with_other_settings_is_another_judge(
    folder: Folder, config: dict[str, object]
):
    """In both commands. A gateway may choose the model by a header."""
    write(folder, {"id": STRICT, "config": config}, "NEW")
    script(folder, lenient="gpt-4.1")
    ended = gated(folder, "--metric", "quality")
    assert ended.code == 3
    assert "judged by gpt-4.1 with other settings" in in_line(ended)
    both = folder.run("compare", "latest~1", "latest", "--metric", "quality")
    assert both.code == 3
    assert "judged by gpt-4.1 with other settings" in in_line(both)
    folder.run("run", "--offline", "--no-progress")
    assert "┄ judge: other settings for gpt-4.1" in folder.run("runs", "history").out


def test_the_same_judge_is_compared(folder: Folder):
    """A drop is one."""
    write(folder, STRICT, "NEW")
    ended = gated(folder, "--metric", "quality")
    assert (ended.code, "quality: worse · -30 points" in in_line(ended)) == (1, True)


@pytest.mark.parametrize("words", [("--stop-when-decided",), ("--sample", "30")])
def test_a_gate_of_a_part_of_the_cases_decides_nothing_by_another_judge(
    folder: Folder, words: tuple[str, ...]
):
    """Nothing is predicted from what the other judge said."""
    write(folder, LENIENT, "NEW")
    ended = gated(folder, "--metric", "quality", *words)
    assert (ended.code, INSTEAD in in_line(ended)) == (3, True)
    assert "predicted" not in in_line(ended)


def test_a_baseline_of_an_earlier_version_names_its_judges(folder: Folder):
    """Which is enough to tell another one, and not to take a vendor's new snapshot for one."""
    path = folder.path / "b.evn"
    header, rest = path.read_text("utf-8").split("\n", 1)
    fields = json.loads(header)
    assert [one["ids"] for one in fields.pop("judges")] == [[STRICT]]
    path.write_text(f"{json.dumps(fields)}\n{rest}", "utf-8")
    write(folder, LENIENT, "NEW")
    assert gated(folder, "--metric", "quality").code == 3
    write(folder, STRICT, "NEW")
    assert gated(folder, "--metric", "quality").code == 1


def test_a_config_whose_judge_changes_is_undecided(folder: Folder):
    """A promptfoo config says its judge in each assertion."""
    for judge in (STRICT, LENIENT):
        for file in folder.path.glob("*_evals.py"):
            file.unlink()
        folder.rules = [
            {"model": "gpt-4o", "reply": {"reason": "so", "pass": True, "score": 1}},
            {"model": "gpt-4.1", "reply": {"reason": "so", "pass": False, "score": 0}},
            {"reply": "yes"},
        ]
        check = {"type": "llm-rubric", "value": "is kind", "metric": "kind", "provider": judge}
        folder.write(cases=20, asserts=(check,))
        if judge == STRICT:
            folder.baseline()
    ended = folder.gate("--all")
    assert (ended.code, INSTEAD in in_line(ended)) == (3, True)
    # Without --all, what has another judge is run, too.
    assert folder.gate().code == 3


def test_a_web_service_that_judges_is_one_judge_whatever_it_is_sent(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    """What its body holds beside the settings is what it judges: another one for each answer."""
    for file in folder.path.glob("*_evals.py"):
        file.unlink()
    verdict = json.dumps({"reason": "so", "pass": True, "score": 1})
    config = {
        "method": "POST",
        "body": {"question": "{{prompt}}"},
        "transformResponse": "json.output",
    }
    rules = [
        Rule(path="/judge", reply={"output": verdict}),
        Rule(("Answer no",), "no"),
        Rule(reply="yes"),
    ]
    with FakeProvider(Script(rules)) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        judge = {"id": f"{fake.url}/judge", "label": "own judge", "config": config}
        check = {"type": "llm-rubric", "value": "is kind", "metric": "kind", "provider": judge}
        for prompt in (YES, NO):
            folder.write([prompt], cases=40, asserts=(check,))
            assert folder.run("run", "--no-progress").code == 0
    both = folder.run("compare", "latest~1", "latest", "--metric", "kind")
    assert "no detectable difference" in both.out, both.out


def test_variants_of_one_run_with_judges_of_their_own_are_not_ranked(folder: Folder):
    """Their rates stand in the table; neither beats the other."""
    for file in folder.path.glob("*_evals.py"):
        file.unlink()
    text = EVALS.format(judge=STRICT, version="OLD")
    text = text.replace(
        "    judge=", f'    over={{"grader": [{STRICT!r}, {LENIENT!r}]}},\n    judge='
    )
    text = text.replace("model: Model, ", "model: Model, grader: str, ")
    text = text.replace('Passes("is helpful")', 'Passes("is helpful", judge=grader)')
    (folder.path / "graders_evals.py").write_text(text.replace('"desk"', '"graders"'))
    table = in_line(folder.run("run", "--offline", "--no-progress"))
    assert "judged by" in table.partition("undecided (")[2]
    assert "beats" not in table
    both = folder.run("compare", ":1", ":2", "--metric", "quality")
    assert (both.code, INSTEAD in in_line(both)) == (3, True)
    assert "evenhand regrade" not in both.out


def test_a_judge_that_is_a_program_is_another_one_when_its_code_changes(folder: Folder):
    """What it imports is its code; another file beside it isn't."""
    for file in folder.path.glob("*_evals.py"):
        file.unlink()
    check = {
        "type": "llm-rubric",
        "value": "is kind",
        "metric": "kind",
        "provider": "file://own.py",
    }
    (folder.path / "own.py").write_text(
        "from strictness import verdict\n\n"
        "def call_api(prompt, options, context):\n    return {'output': verdict(prompt)}\n"
    )
    strict = "def verdict(prompt):\n    return {'reason': 'so', 'pass': 'no 1' not in prompt}\n"
    (folder.path / "strictness.py").write_text(strict)
    folder.write([YES], cases=20, asserts=(check,))
    folder.baseline()
    (folder.path / "application.py").write_text("VERSION = 2\n")
    assert folder.gate("--all", margin="0.2").code == 0
    (folder.path / "strictness.py").write_text(strict.replace("no 1", "no 2"))
    ended = folder.gate("--all", margin="0.2")
    assert ended.code == 3
    assert "judged by file://own.py with other code" in in_line(ended)
    assert "judge: other code for file://own.py" in folder.run("runs", "history").out
