"""What a gate asks again: exactly the trials of which the request, or what looks at the answer, has changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main
from evenhand.testing import FakeProvider, Rule, Script

CASES = 8
CONFIG = """\
description: Refunds
prompts:
  - file://prompts/plain.txt
  - file://prompts/kind.txt
providers: [openai:chat:gpt-5-mini]
defaultTest:
  assert:
    - type: python
      value: file://grader.py
    - type: contains
      value: "yes"
tests: file://tests.yaml
"""
GRADER = """\
import json
from words import GOOD

# Passes what agrees.
def get_assert(output, context):
    return GOOD in output
"""
RUBRIC = "    - type: llm-rubric\n      value: is kind\n      provider: openai:chat:gpt-5\n"

Gate = Callable[..., dict[str, Any]]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """Answers yes, and judges all as kind; what it was asked is in its ledger."""
    verdict = {"pass": True, "score": 1, "reason": "kind"}
    rating = {"reasoning": "It is kind.", "score": 5, "confidence": 0.9}
    rules = [
        Rule(system="You rate an output", reply=rating),
        Rule(model="gpt-5", reply=verdict),
        Rule(model="gpt-5.2", reply=verdict),
        Rule(match=("is (very )?kind",), reply=verdict),
        Rule(match=("Refuse",), reply="no"),
        Rule(match=("Break",), fault="400"),
        Rule(reply="yes"),
    ]
    with FakeProvider(Script(rules)) as provider:
        for name, value in provider.env().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("CI", "true")
        yield provider


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two prompts, eight cases, a grader with a module beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts").mkdir()
    files = {
        "promptfooconfig.yaml": CONFIG + RUBRIC * 0,
        "prompts/plain.txt": "Answer: {{q}}\n",
        "prompts/kind.txt": "Answer kindly: {{q}}\n",
        "grader.py": GRADER,
        "words.py": 'GOOD = "yes"\n',
        "tests.yaml": "".join(case(i) for i in range(CASES)),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def case(i: int) -> str:
    """A case; every other one is judged, too."""
    judged = "  assert:\n" + RUBRIC if i % 2 else ""
    return f"- description: case {i}\n  vars:\n    q: May I return {i} shoes?\n{judged}"


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """What a command line exits with and prints."""
    code: Any = 0
    try:
        main(list(words))
    except SystemExit as ended:
        code = ended.code or 0
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
def gate(folder: Path, fake: FakeProvider, capsys: pytest.CaptureFixture[str]) -> Gate:
    """Compares with a baseline of the folder as it was; its JSON, with the calls that were sent."""
    del folder
    assert command(capsys, "run", "--no-progress")[0] == 0
    assert command(capsys, "baseline", "--to", "b.evn")[0] == 0

    def run(*words: str) -> dict[str, Any]:
        before = fake.ledger.total
        more = ("--no-cache", "--no-progress", "--json", "--margin", "0.3", "--baseline", "b.evn")
        code, out, err = command(capsys, "gate", *more, *words)
        assert out, err
        return {**json.loads(out), "code": code, "calls": fake.ledger.total - before, "err": err}

    return run


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Replaces all of a text in a file."""

    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return change


def rename(name: str, to: str, *mentions: str) -> Callable[[Path], None]:
    """Renames a file, and its name in others."""

    def change(folder: Path) -> None:
        (folder / name).rename(folder / to)
        for other in mentions:
            path = folder / other
            old, new = Path(name).name, Path(to).name
            if other.endswith(".py"):
                old, new = Path(name).stem, Path(to).stem
            path.write_text(path.read_text().replace(old, new))

    return change


def add_case(folder: Path) -> None:
    """Adds one that no baseline has."""
    with (folder / "tests.yaml").open("a") as file:
        file.write("- vars:\n    q: May I return a boat?\n")


def remove_case(folder: Path) -> None:
    """Removes the first one."""
    path = folder / "tests.yaml"
    path.write_text(path.read_text().replace(case(0), ""))


def reverse_cases(folder: Path) -> None:
    """Turns their order round."""
    (folder / "tests.yaml").write_text("".join(case(i) for i in reversed(range(CASES))))


def say_otherwise(folder: Path) -> None:
    """Changes both prompts."""
    for name in ("plain", "kind"):
        edit(f"prompts/{name}.txt", "Answer", "Say")(folder)


ALL, JUDGED = 2 * CASES, CASES
EDITS: list[tuple[str, Callable[[Path], None], int, int]] = [
    ("nothing", lambda _: None, 0, 0),
    ("a word of one prompt", edit("prompts/plain.txt", "Answer", "Reply"), CASES, CASES + JUDGED // 2),
    ("a space in one prompt", edit("prompts/kind.txt", "Answer ", "Answer  "), CASES, 12),
    ("a word of both prompts", say_otherwise, ALL, ALL + JUDGED),
    ("a case's text", edit("tests.yaml", "return 2 shoes", "return two shoes"), 2, 2),
    ("a judged case's text", edit("tests.yaml", "return 3 shoes", "return three shoes"), 2, 4),
    ("a case's description", edit("tests.yaml", "case 2", "the second case"), 2, 2),
    ("a case that is new", add_case, 2, 2),
    ("a case that is gone", remove_case, 0, 0),
    ("the order of the cases", reverse_cases, 0, 0),
    ("a rubric", edit("tests.yaml", "is kind", "is very kind"), JUDGED, 2 * JUDGED),
    ("the judge", edit("tests.yaml", "openai:chat:gpt-5", "openai:chat:gpt-5.2"), JUDGED, 2 * JUDGED),
    ("the model", edit("promptfooconfig.yaml", "gpt-5-mini", "gpt-5-nano"), ALL, ALL + JUDGED),
    ("a value that is looked for", edit("promptfooconfig.yaml", '"yes"', '"ye"'), ALL, ALL + JUDGED),
    ("a weight", edit("promptfooconfig.yaml", 'value: "yes"', 'value: "yes"\n      weight: 2'), ALL, ALL + JUDGED),
    ("a metric's name", edit("promptfooconfig.yaml", '"yes"', '"yes"\n      metric: m'), ALL, ALL + JUDGED),
    ("another way to write a value", edit("promptfooconfig.yaml", '"yes"', "'yes'"), 0, 0),
    ("a comment in the config", edit("promptfooconfig.yaml", "prompts:", "# ours\nprompts:"), 0, 0),
    ("blank lines in the config", edit("promptfooconfig.yaml", "providers", "\n\nproviders"), 0, 0),
    ("the title", edit("promptfooconfig.yaml", "Refunds", "Returns"), 0, 0),
    ("a comment in the tests", edit("tests.yaml", "- description: case 4", "# four\n- description: case 4"), 0, 0),
    ("a comment in a grader", edit("grader.py", "# Passes what agrees.", "# Yes is enough."), 0, 0),
    ("blank lines in a grader", edit("grader.py", "import json\n", "import json\n\n\n"), 0, 0),
    ("what a grader does", edit("grader.py", "GOOD in output", "GOOD in output.lower()"), ALL, ALL + JUDGED),
    ("what a grader imports", edit("words.py", "yes", "ye"), ALL, ALL + JUDGED),
    ("a comment in what it imports", edit("words.py", "GOOD", "# good\nGOOD"), 0, 0),
    ("the name of a grader", rename("grader.py", "marks.py", "promptfooconfig.yaml"), 0, 0),
    ("the name of a prompt's file", rename("prompts/plain.txt", "prompts/simple.txt", "promptfooconfig.yaml"), 0, 0),
    ("the name of the tests", rename("tests.yaml", "cases.yaml", "promptfooconfig.yaml"), 0, 0),
    ("another module that computes", edit("grader.py", "import json", "import math"), ALL, ALL + JUDGED),
]  # fmt: skip


@pytest.mark.thorough(after=12)
@pytest.mark.parametrize(
    ("change", "asked", "calls"), [one[1:] for one in EDITS], ids=[one[0] for one in EDITS]
)
def test_what_is_asked_after_an_edit(
    folder: Path, gate: Gate, change: Callable[[Path], None], asked: int, calls: int
):
    """By the ledger of whoever was asked; and the verdict is that of a full run."""
    change(folder)
    ended = gate()
    assert (ended["asked"], ended["calls"]) == (asked, calls), ended["notes"]
    assert ended["asked"] + ended["taken"] == ended["of"]
    whole = gate("--all")
    assert (whole["asked"], whole["taken"]) == (whole["of"], 0)
    assert whole["calls"] >= calls
    if asked:
        assert (ended["verdict"], ended["code"]) == (whole["verdict"], whole["code"])
    else:
        assert (ended["verdict"], ended["code"]) == ("not worse", 0)


@pytest.mark.parametrize(
    "grader",
    [
        "import time\ndef get_assert(o, c):\n    return 'yes' in o\n",
        "def get_assert(o, c):\n    with open(__file__) as f:\n        return 'yes' in o and bool(f.read())\n",
        "import phrases.deep\ndef get_assert(o, c):\n    return 'yes' in o\n",
        "from pathlib import Path\ndef get_assert(o, c):\n    return 'yes' in o\n",
    ],
)
def test_a_grader_that_reaches_out_is_asked_again(
    folder: Path, fake: FakeProvider, capsys: pytest.CaptureFixture[str], grader: str
):
    """It can't be known what it depends on, and that is said."""
    del fake
    (folder / "grader.py").write_text(grader)
    if "deep" in grader:
        (folder / "phrases").mkdir()
        (folder / "phrases" / "deep.py").write_text("")
    assert command(capsys, "run", "--no-progress")[0] == 0
    assert command(capsys, "baseline", "--to", "b.evn")[0] == 0
    words = ("gate", "--no-progress", "--json", "--margin", "0.3", "--baseline", "b.evn")
    document = json.loads(command(capsys, *words)[1])
    assert (document["asked"], document["taken"]) == (ALL, 0)
    assert "decides them, and may have changed" in " ".join(document["notes"])


def test_an_error_in_the_baseline_is_run_again(
    folder: Path, gate: Gate, capsys: pytest.CaptureFixture[str]
):
    """It may come to a verdict now."""
    edit("prompts/kind.txt", "Answer", "Break: answer")(folder)
    assert command(capsys, "run", "--no-progress")[0] == 3
    assert command(capsys, "baseline", "--to", "b.evn")[0] == 0
    document = gate()
    assert (document["taken"], document["asked"]) == (CASES, CASES)
    assert "in error in the baseline" in " ".join(document["notes"])


def test_a_worse_prompt_is_seen_on_what_was_asked(folder: Path, gate: Gate):
    """The other prompt is taken and not worse."""
    edit("prompts/kind.txt", "Answer kindly", "Refuse")(folder)
    document = gate()
    assert (document["verdict"], document["code"]) == ("worse", 1)
    verdicts = {one["variant"]: one["verdict"] for one in document["results"]}
    assert sorted(verdicts.values()) == ["not worse", "worse"]
    assert document["taken"] == CASES


def test_a_gate_that_runs_out_of_its_budget_is_no_pass(folder: Path, gate: Gate):
    """Whatever undecided counts as."""
    del folder
    ended = gate("--all", "--max-cost", "0.0000001", "--undecided", "pass")
    assert ended["code"] == 4
    assert ended["verdict"] in ("undecided", "nothing")
    assert ended["calls"] == 0


def test_the_run_of_a_gate_is_retried_as_a_gate(
    folder: Path, gate: Gate, fake: FakeProvider, capsys: pytest.CaptureFixture[str]
):
    """It ends with a gate's verdict and exit code, and asks only what was in error."""
    edit("prompts/kind.txt", "Answer", "Break: answer")(folder)
    broken = gate()
    assert broken["code"] == 5, "all trials of a variant are in error"
    before = fake.ledger.total
    fake.script.rules[:] = [rule for rule in fake.script.rules if not rule.fault]
    code, out, err = command(capsys, "resume", "--errors", "--json", "--no-progress")
    document = json.loads(out)
    assert (document["schema"], document["verdict"], code) == ("evenhand.gate/1", "not worse", 0), (
        err
    )
    assert (
        fake.ledger.total - before == CASES + CASES // 2
    )  # the answers, and what judges say of every other


def test_a_gate_whose_baseline_has_changed_is_not_resumed(
    folder: Path, gate: Gate, capsys: pytest.CaptureFixture[str]
):
    """Half of its verdict would be of another baseline."""
    edit("prompts/kind.txt", "Answer", "Break: answer")(folder)
    gate()
    edit("prompts/kind.txt", "Break: answer", "Answer in a word")(folder)
    command(capsys, "run", "--no-progress")
    command(capsys, "baseline", "--to", "b.evn")
    first = sorted((folder / ".evenhand" / "runs").glob("*.db"))[1].stem
    edit("prompts/kind.txt", "Answer in a word", "Break: answer")(folder)
    code, _, err = command(capsys, "resume", "--errors", first)
    assert code == 2
    assert "b.evn has changed since it began" in err
    assert "Run the gate again" in err


def test_a_run_of_taken_trials_is_no_baseline(
    folder: Path, gate: Gate, capsys: pytest.CaptureFixture[str]
):
    """It says what to do."""
    del folder
    gate()
    code, _, err = command(capsys, "baseline", "--to", "c.evn")
    assert code == 2
    assert "16 trials from a baseline" in err
    gate("--all")
    assert command(capsys, "baseline", "--to", "c.evn")[0] == 0


def test_an_expectation_that_is_gone_is_not_taken_for_a_pass(folder: Path, gate: Gate):
    """Trials that expect nothing have not passed."""
    text = CONFIG[: CONFIG.index("defaultTest")] + CONFIG[CONFIG.index("tests:") :]
    (folder / "promptfooconfig.yaml").write_text(text)
    (folder / "tests.yaml").write_text("".join(case(i) for i in range(0, CASES, 2)))
    document = gate()
    assert (document["verdict"], document["code"]) == ("nothing", 5)


def test_the_folder_may_be_moved(folder: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch):
    """Where it lies is not part of what is asked."""
    inside = folder / "elsewhere"
    inside.mkdir()
    for path in list(folder.iterdir()):
        if path.name not in ("elsewhere", ".evenhand"):
            path.rename(inside / path.name)
    monkeypatch.chdir(inside)
    assert gate()["asked"] == 0


EVAL = """\
defaults: {judge: {model: "openai:chat:gpt-5"}}
cases:
  - name: one
    inputs: {q: May I return one shoe?}
    assert: [{contains: "yes"}]
  - name: two
    inputs: {q: May I return two shoes?}
    assert: [{max_words: 20}, {type: contains, value: "yes"}]
  - name: three
    inputs: {q: May I return three shoes?}
    rubric: It is kind.
"""
META = """\
id: refunds
title: Refunds
summary: Refunds.
status: draft
version: 0.1.0
created: 2026-11-23
updated: 2026-11-23
tags: []
model: openai:chat:gpt-5-mini
inputs:
  - {name: q, required: true}
"""


@pytest.mark.parametrize(
    ("name", "old", "new", "asked"),
    [
        ("eval.yml", "cases:", "# ours\ncases:", 0),
        ("eval.yml", '"yes"}]', '"ye"}]', 2),
        ("eval.yml", "max_words: 20", "max_words: 21", 1),
        ("eval.yml", "It is kind", "It is very kind", 1),
        ("eval.yml", "gpt-5", "gpt-5.2", 1),
        ("eval.yml", "two shoes", "2 shoes", 1),
        ("eval.yml", "- name: two", "- tags: [size]\n    name: two", 0),
        ("meta.yml", "summary: Refunds", "summary: All refunds", 0),
        ("prompt.xml", "{{q}}", "Now: {{q}}", 3),
        ("verify.sh", "", "#!/bin/sh\nexit 0\n", 3),
    ],
)
def test_what_is_asked_of_a_prompt_directory_after_an_edit(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fake: FakeProvider,
    capsys: pytest.CaptureFixture[str],
    name: str,
    old: str,
    new: str,
    asked: int,
):
    """Its own operators, typed assertions and rubrics; a hook is run. No evidence is added."""
    del fake
    monkeypatch.chdir(tmp_path)
    prompt = tmp_path / "prompts" / "refunds"
    prompt.mkdir(parents=True)
    texts = {"eval.yml": EVAL, "meta.yml": META, "prompt.xml": "<p>{{q}}</p>\n", "verify.sh": ""}
    for file, text in texts.items():
        (prompt / file).write_text(text)
    run = command(capsys, "run", "prompts/refunds", "--no-progress")
    assert run[0] == 0, run
    assert command(capsys, "baseline", "--to", "b.evn")[0] == 0
    evidence = (prompt / ".eval.jsonl").read_bytes()
    (prompt / name).write_text(texts[name].replace(old, new) if old else new)
    if name == "verify.sh":
        (prompt / name).chmod(0o755)
    words = ("gate", "prompts/refunds", "--baseline", "b.evn", "--margin", "0.9", "--json")
    document = json.loads(command(capsys, *words, "--no-progress", "--no-cache")[1])
    assert (document["asked"], document["of"]) == (asked, 3), document["notes"]
    assert (prompt / ".eval.jsonl").read_bytes() == evidence


SHOES = """\
from evenhand import Dataset, EvalSet
from evenhand.scorers import Contains

rows = [{"id": str(i), "input": f"{i} shoes?"} for i in range(6)]
evals = EvalSet("shoes", data=Dataset.of(*rows), over={"model": ["openai:chat:gpt-5-mini"]})


@evals.eval
async def agrees(case, model, expect):
    reply = await model.generate(case.input)
    expect(reply.text, Contains("yes"))
"""


def test_an_eval_set_is_run_whole(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fake: FakeProvider,
    capsys: pytest.CaptureFixture[str],
):
    """What its application asks can't be known before."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "shoes_evals.py").write_text(SHOES)
    ran = command(capsys, "run", "evals", "--no-progress")
    assert ran[0] == 0, ran
    assert command(capsys, "baseline", "--to", "b.evn")[0] == 0
    before = fake.ledger.total
    words = ("gate", "evals", "--baseline", "b.evn", "--margin", "0.5", "--json")
    code, out, _ = command(capsys, *words, "--no-progress", "--no-cache")
    document = json.loads(out)
    assert (document["asked"], document["taken"], code) == (6, 0, 0)
    assert fake.ledger.total - before == 6


FILES = {
    "promptfooconfig.yaml": """\
prompts: ["Answer: {{q}}"]
providers: [openai:chat:gpt-5-mini]
env: {WORD: "yes"}
defaultTest:
  options:
    rubricPrompt: file://judge.txt
    transform: output.trim()
tests:
  - vars: {q: one, policy: file://policy.txt}
    assert: [{type: contains, value: "{{policy}}"}]
  - vars: {q: two}
    assert: [{type: contains, value: file://want.txt}]
  - vars: {q: three}
    assert: [{type: contains, value: "{{env.WORD}}"}]
  - vars: {q: four}
    assert: [{type: llm-rubric, value: nice, provider: {id: openai:chat:gpt-4o, config: {temperature: 0.1}}}]
  - vars: {q: five, extra: file://extra.py}
    assert: [{type: javascript, value: "output.includes(context.vars.extra)"}]
""",
    "policy.txt": "yes",
    "want.txt": "yes",
    "judge.txt": "Judge {{output}} by {{rubric}}",
    "extra.py": 'def get_var(name, prompt, other_vars):\n    return {"output": "yes"}\n',
    "offline.jsonl": '{"match": "Judge", "reply": {"pass": true, "score": 1, "reason": "r"}}\n{"reply": " yes"}\n',
}


@pytest.mark.parametrize(
    ("name", "old", "new", "asked"),
    [
        ("policy.txt", "yes", "ye", 1),
        ("want.txt", "yes", "ye", 1),
        ("judge.txt", "Judge", "Judge well:", 1),
        ("extra.py", '"yes"', '"ye"', 1),
        ("promptfooconfig.yaml", "0.1", "0.2", 1),
        ("promptfooconfig.yaml", "nice", "kind", 1),
        ("promptfooconfig.yaml", 'WORD: "yes"', 'WORD: "ye"', 1),
        ("promptfooconfig.yaml", "output.trim()", "output.trim().trim()", 5),
        ("promptfooconfig.yaml", "transform: output.trim()", "transform: Date.now() && output", 5),
        ("offline.jsonl", " yes", "yes!", 5),
    ],
)
def test_what_looks_at_an_answer_counts_wherever_it_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    old: str,
    new: str,
    asked: int,
):
    """Files of variables, values and judge prompts; settings of judges; the environment; transforms; the script."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    assert command(capsys, "run", "--offline", "--no-progress")[0] == 0
    assert command(capsys, "baseline", "--to", "b.evn")[0] == 0
    words = ("gate", "--offline", "--baseline", "b.evn", "--margin", "0.9", "--json")
    assert json.loads(command(capsys, *words, "--no-progress")[1])["asked"] == 0
    edit(name, old, new)(tmp_path)
    document = json.loads(command(capsys, *words, "--no-progress")[1])
    assert document["asked"] == asked, document["notes"]


def test_a_prompt_that_became_another_one_is_compared_with_its_own_results(
    folder: Path, fake: FakeProvider, capsys: pytest.CaptureFixture[str]
):
    """The baseline has its requests, in another variant: what they came to there passes for no change of this one."""
    edit("prompts/kind.txt", "Answer kindly", "Refuse")(folder)
    assert command(capsys, "run", "--no-progress")[0] == 1
    assert command(capsys, "baseline", "--to", "b.evn")[0] == 0
    edit("prompts/plain.txt", "Answer", "Refuse")(folder)
    terms = ("--baseline", "b.evn", "--margin", "0.3", "--no-progress", "--json")
    code, out, _ = command(capsys, "gate", *terms)
    document = json.loads(out)
    assert (code, document["verdict"], document["asked"]) == (1, "worse", CASES)


def judge_nothing(folder: Path) -> None:
    """Leaves the model alone to be asked."""
    path = folder / "tests.yaml"
    path.write_text(
        path.read_text().replace("  assert:\n    - type: llm-rubric\n      value: is kind\n", "")
    )


@pytest.fixture
def keyless(
    folder: Path,
    fake: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str, str]]:
    """A gate without keys, of a baseline that was made with one; a half of the cases asks a judge that nobody names."""
    path = folder / "tests.yaml"
    path.write_text(path.read_text().replace("      provider: openai:chat:gpt-5\n", ""))
    # A server on this machine needs no key; under this name, it isn't known to be one.
    for name, value in fake.env().items():
        monkeypatch.setenv(name, value.replace("//127.0.0.1", "//127.1"))
    assert command(capsys, "run", "--no-progress")[0] == 0
    assert command(capsys, "baseline", "--to", "b.evn")[0] == 0
    for name in fake.env():
        if name.endswith("_KEY"):
            monkeypatch.delenv(name)
    terms = ("--baseline", "b.evn", "--margin", "0.3", "--no-progress")
    return lambda *words: command(capsys, "gate", *terms, *words)


def test_a_gate_that_takes_all_trials_needs_no_key(
    keyless: Callable[..., tuple[int, str, str]], fake: FakeProvider
):
    """Neither that of its model, nor that of a judge that the key would choose."""
    before = fake.ledger.total
    code, out, err = keyless()
    assert code == 0, out + err
    assert f"0 of {ALL} trials run" in out
    assert "API key" not in err
    assert fake.ledger.total == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (edit("prompts/plain.txt", "Answer", "Reply"), ()),
        (edit("tests.yaml", "is kind", "is very kind"), ()),
        (add_case, ()),
        (lambda _: None, ("--all",)),
        (judge_nothing, ()),
    ],
    ids=["a prompt", "a rubric", "a new case", "all", "no judge"],
)
def test_a_gate_that_has_to_ask_says_which_key_it_needs_and_leaves_no_run(
    folder: Path,
    fake: FakeProvider,
    keyless: Callable[..., tuple[int, str, str]],
    change: Callable[[Path], None],
    words: tuple[str, ...],
):
    """Exit code 2, before anything is sent; a script is no help, as the baseline is of models."""
    (folder / "offline.jsonl").write_text('{"reply": "yes"}\n')
    change(folder)
    before, runs = fake.ledger.total, len(list(folder.glob(".evenhand/runs/*.db")))
    code, out, err = keyless(*words)
    assert (code, out) == (2, ""), err
    assert "there is no API key for openai:chat:gpt-5-mini" in err
    assert "Set OPENAI_API_KEY in the environment" in err
    assert "--offline" not in err
    assert fake.ledger.total == before
    assert len(list(folder.glob(".evenhand/runs/*.db"))) == runs


def test_a_gate_of_a_prompt_directory_that_takes_all_trials_needs_no_key(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fake: FakeProvider,
    capsys: pytest.CaptureFixture[str],
):
    """Neither for its model nor for its judge; once its prompt has changed, it does."""
    for name, value in fake.env().items():
        monkeypatch.setenv(name, value.replace("//127.0.0.1", "//127.1"))
    monkeypatch.chdir(tmp_path)
    prompt = tmp_path / "prompts" / "refunds"
    prompt.mkdir(parents=True)
    for file, text in (("eval.yml", EVAL), ("meta.yml", META), ("prompt.xml", "<p>{{q}}</p>\n")):
        (prompt / file).write_text(text)
    assert command(capsys, "run", "prompts/refunds", "--no-progress")[0] == 0
    assert command(capsys, "baseline", "--to", "b.evn")[0] == 0
    for name in fake.env():
        if name.endswith("_KEY"):
            monkeypatch.delenv(name)
    words = ("gate", "prompts/refunds", "--baseline", "b.evn", "--margin", "0.9", "--no-progress")
    code, out, err = command(capsys, *words)
    assert (code, "API key" in err) == (0, False), out + err
    edit("prompts/refunds/prompt.xml", "<p>", "<p>Now: ")(tmp_path)
    code, out, err = command(capsys, *words)
    assert (code, out, "no API key for openai:chat:gpt-5" in err) == (2, "", True), out + err
