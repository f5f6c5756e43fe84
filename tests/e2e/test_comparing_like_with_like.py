"""Runs whose test is another one, made by the command line: of configs, of prompt directories, and of chosen cases."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.commands import Run, in_process

from evenhand import compare as compared
from evenhand.analysis.comparison.comparison_results import ComparedRuns
from evenhand.render.run import Run as OpenRun
from evenhand.store.run_lookup import paths
from evenhand.wings.viewer.comparison import comparison as viewed


@pytest.fixture(autouse=True)
def not_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate in CI refuses a baseline that nobody has committed."""
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Command lines in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("EVENHAND_JUDGE", "openai:chat:judge")
    offline(tmp_path)
    return in_process(capsys)


def offline(folder: Path) -> None:
    """What models answer there."""
    rules = [
        {"match": "worse", "reply": "no"},
        {
            "match": "rubric|rating|judge|score",
            "reply": '{"reason": "r", "pass": true, "score": 1}',
        },
        {"reply": "yes"},
    ]
    (folder / "offline.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))


def newest(folder: Path) -> list[Path]:
    """Its run files, the newest first."""
    return sorted(paths(folder / ".evenhand"), reverse=True)


GRADER = "def get_assert(output, context):\n    return len(output) < 10\n"
CONFIG: dict[str, object] = {
    "prompts": [{"label": "plain", "raw": "worse {{q}}"}],
    "providers": ["openai:chat:gpt-5-mini"],
    "defaultTest": {
        "assert": [
            {"type": "contains", "value": "e"},
            {"type": "python", "value": "file://grader.py"},
            {"type": "javascript", "value": "output.length < 10"},
            {"type": "llm-rubric", "value": "is polite", "metric": "tone"},
            {"type": "word-count", "value": {"max": 3}, "metric": "words"},
            {
                "type": "assert-set",
                "threshold": 0.5,
                "assert": [{"type": "equals", "value": "yes"}],
            },
        ]
    },
    "tests": [
        {"vars": {"q": f"question {i}"}, "assert": [{"type": "not-contains", "value": f"{i}!"}]}
        for i in range(8)
    ],
}


def written(folder: Path, config: dict[str, object], grader: str = GRADER) -> None:
    """Writes the config and its grader."""
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    (folder / "grader.py").write_text(grader)


Edit = Callable[[dict[str, object]], object]


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of the config, and its baseline: made once, for tests to go on from there."""
    folder = tmp_path_factory.mktemp("accepted")
    offline(folder)
    written(folder, CONFIG)
    command(folder, "run", ".", "--offline", "--no-progress")
    command(folder, "baseline", "latest", "--to", "b.evn")
    assert (folder / "b.evn").exists()
    return folder


def first_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Goes to the folder, as it was after its first run: where that is."""
    monkeypatch.chdir(folder)
    *later, first = newest(folder)
    for path in later:
        path.unlink()
    return first


def command(folder: Path, *words: str) -> None:
    """A command line of its own, whose exit code has no effect here."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "CI"},
        "EVENHAND_JUDGE": "openai:chat:judge",
    }
    subprocess.run(
        [sys.executable, "-c", "from evenhand.cli import main; main()", *words],
        check=False,
        capture_output=True,
        cwd=folder,
        env=environment,
    )


def first_assertion(number: int, **keys: object) -> Edit:
    """Changes an assertion of all tests."""

    def change(config: dict[str, object]) -> object:
        return config["defaultTest"]["assert"][number].update(keys)  # type: ignore[index]

    return change


CHANGES: dict[str, tuple[Edit, str]] = {
    "a value": (first_assertion(0, value="s"), "contains"),
    "a type": (first_assertion(0, type="icontains"), "contains"),
    "code in a config": (first_assertion(2, value="output.length < 90"), "output.length"),
    "a rubric": (first_assertion(3, value="is long enough"), "tone: value changed"),
    "a judge's threshold": (first_assertion(3, threshold=0.2), "tone: threshold changed"),
    "a judge's prompt": (
        first_assertion(3, rubricPrompt="Judge: {{output}} {{rubric}}"),
        "tone: judge prompt changed",
    ),
    "a limit": (first_assertion(4, value={"max": 30}), "words: value changed"),
    "a weight": (first_assertion(4, weight=3), "words: weight 1, now 3"),
    "a set's threshold": (first_assertion(5, threshold=0.1), "assert-set"),
    "what is in a set": (
        first_assertion(5, **{"assert": [{"type": "equals", "value": "no"}]}),
        "assert-set",
    ),
    "a transform of an assertion": (
        first_assertion(0, transform="output.toUpperCase()"),
        "transform changed",
    ),
    "one assertion less": (lambda c: c["defaultTest"]["assert"].pop(0), "only in the first"),  # type: ignore[index]
    "one more assertion": (
        lambda c: c["defaultTest"]["assert"].append({"type": "contains", "value": "y"}),
        "only in the second",
    ),  # type: ignore[index]
    "what a score has to reach": (
        lambda c: c["defaultTest"].update(threshold=0.2),
        "another threshold",
    ),  # type: ignore[attr-defined]
    "a transform of all": (
        lambda c: c["defaultTest"].update(options={"transform": "output + '!'"}),
        "transform",
    ),  # type: ignore[attr-defined]
    "each test's own assertion": (
        lambda c: [
            t.update(assert_=0)
            or t.update({"assert": [{"type": "not-contains", "value": "#"}]})
            or t.pop("assert_")
            for t in c["tests"]
        ],  # type: ignore[attr-defined]
        "not-contains",
    ),
}


@pytest.mark.thorough(after=6)
@pytest.mark.parametrize("name", CHANGES)
def test_a_config_that_expects_something_else_is_named_and_judged_nowhere(
    evenhand: Run, accepted: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    """By `compare`, `gate`, `history` and the page; the prompt is better, too."""
    edit, words = CHANGES[name]
    first = first_run(accepted, monkeypatch)
    config = json.loads(json.dumps(CONFIG))
    edit(config)
    config["prompts"] = [{"label": "plain", "raw": "{{q}}"}]
    written(accepted, config)
    evenhand("run", ".", "--offline", "--no-progress")
    second, _ = newest(accepted)
    told = evenhand("compare", str(first), str(second), "--metric", "passed")
    assert (told.code, words in told.out) == (3, True), told.out
    held = evenhand(
        "gate",
        ".",
        "--offline",
        "--baseline",
        "b.evn",
        "--margin",
        "0.9",
        "--metric",
        "passed",
        "--undecided",
        "pass",
        "--no-progress",
    )
    assert (held.code, words in held.out) == (5, True), held.out
    marked = evenhand("runs", "history", ".", "--json")
    (line,) = json.loads(marked.out)["lines"]
    kinds = {one["kind"] for one in line["runs"][1]["changes"]}
    assert kinds - {"prompt"}, marked.out
    with OpenRun.open(first) as before, OpenRun.open(second) as now:
        shape = viewed(now.file, before.file)
        rows = [row for one in shape.questions if one.metric == "passed" for row in one.results]
        assert {row.verdict for row in rows} == {"undecided"}
        assert words in "\n".join(line for one in shape.questions for line in one.lines)


@pytest.mark.parametrize("file", ["grader", "limits"])
def test_the_code_of_a_configs_grader_is_named(evenhand: Run, tmp_path: Path, file: str):
    """Its file is part of the test, with what it imports beside it; another file isn't."""
    files = {
        "grader": f"import limits\n\n{GRADER}",
        "limits": "MOST = 10\n",
        "other": "MOST = 10\n",
    }

    def run() -> None:
        written(tmp_path, CONFIG, files["grader"])
        for name in ("limits", "other"):
            (tmp_path / f"{name}.py").write_text(files[name])
        evenhand("run", ".", "--offline", "--no-progress")

    run()
    files["other"] = "MOST = 100\n"
    run()
    second, first = newest(tmp_path)
    assert evenhand("compare", str(first), str(second), "--metric", "passed").code == 0
    files[file] = files[file].replace("10", "100")
    run()
    second, first, _ = newest(tmp_path)
    told = evenhand("compare", str(first), str(second), "--metric", "passed")
    assert told.code == 3
    assert "python grader.py: value changed" in told.out


LEGITIMATE: dict[str, Edit] = {
    "the prompt": lambda c: c,
    "the model": lambda c: c.update(providers=["openai:chat:gpt-5"]),
    "a description": lambda c: c.update(description="another one"),
    "more tests": lambda c: c["tests"].append({"vars": {"q": "question 99"}}),  # type: ignore[attr-defined]
    "the order of tests": lambda c: c["tests"].reverse(),  # type: ignore[attr-defined]
    "metadata": lambda c: c["defaultTest"].update(metadata={"owner": "me"}),  # type: ignore[attr-defined]
    "the descriptions of tests": lambda c: [
        t.update(description=f"Row {i}") for i, t in enumerate(c["tests"])
    ],  # type: ignore[attr-defined]
    "outputs": lambda c: c.update(outputPath="out.json"),
}


@pytest.mark.thorough(after=3)
@pytest.mark.parametrize("name", LEGITIMATE)
def test_a_config_that_expects_the_same_is_compared(
    evenhand: Run, accepted: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    """Whatever else it says."""
    first_run(accepted, monkeypatch)
    config = json.loads(json.dumps(CONFIG))
    LEGITIMATE[name](config)
    config["prompts"] = [{"label": "plain", "raw": "{{q}}"}]
    written(accepted, config)
    evenhand("run", ".", "--offline", "--no-progress")
    second, first = newest(accepted)
    told = evenhand("compare", str(first), str(second), "--metric", "passed")
    assert (told.code, ": better" in told.out) == (0, True), told.out
    held = evenhand(
        "gate",
        ".",
        "--offline",
        "--baseline",
        "b.evn",
        "--margin",
        "0.5",
        "--metric",
        "passed",
        "--no-progress",
    )
    assert held.code == 0, held.out


CHOICES = {
    "--filter-failing": "failed or ended in an error",
    "--filter-failing-only": "failed",
    "--filter-errors-only": "ended in an error",
}
SYSTEM = '''
"""A system that never changes: right in half of the cases, by a generator that each run continues."""

import pathlib
import random


def call_api(prompt, options, context):
    place = pathlib.Path(__file__).with_name("drawn")
    drawn = int(place.read_text() or 0) if place.exists() else 0
    place.write_text(str(drawn + 1))
    value = random.Random(drawn * 7919 + 1).random()
    if value < 0.1:
        return {"error": "down"}
    return {"output": "yes" if value < 0.55 else "no"}
'''


def a_system(folder: Path, cases: int = 24) -> None:
    """A config of it."""
    (folder / "provider.py").write_text(SYSTEM)
    tests = [
        {"vars": {"q": f"{i}"}, "assert": [{"type": "equals", "value": "yes"}]}
        for i in range(cases)
    ]
    config = {"prompts": ["{{q}}"], "providers": ["file://provider.py"], "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(config))


def start(evenhand: Run, *words: str) -> None:
    """A run of it."""
    evenhand("run", ".", "--no-progress", "--no-cache", "-j", "1", *words)


@pytest.mark.thorough(after=4)
@pytest.mark.parametrize(
    ("choice", "source", "which"),
    [
        (choice, ("id", "latest", "file")[(i + j) % 3], which)
        for i, choice in enumerate(CHOICES)
        for j, which in enumerate(("first", "second", "both"))
    ],
)
def test_cases_that_were_chosen_by_their_outcome_show_nothing(
    evenhand: Run, tmp_path: Path, choice: str, source: str, which: str
):
    """Whichever run they were chosen for: the reason is told in each place, and no place has a verdict."""
    a_system(tmp_path)
    start(evenhand, "-o", "results.json")
    (whole,) = newest(tmp_path)
    assert evenhand("baseline", "latest", "--to", "b.evn").code == 0
    named = {"id": whole.stem, "latest": "latest", "file": "results.json"}[source]
    start(evenhand, choice, named)
    chosen = newest(tmp_path)[0]
    first, second = {"first": (chosen, whole), "second": (whole, chosen), "both": (chosen, chosen)}[
        which
    ]
    if which == "both":
        start(evenhand, choice, whole.stem)
        second = newest(tmp_path)[0]
    told = evenhand("compare", str(first), str(second))
    assert told.code == 3
    assert f"were chosen because they {CHOICES[choice]} in" in told.out
    assert ": better" not in told.out
    assert ": worse" not in told.out
    assert all(
        row["withheld"]
        for row in json.loads(evenhand("compare", str(first), str(second), "--json").out)["results"]
    )
    with OpenRun.open(first) as before, OpenRun.open(second) as now:
        both: ComparedRuns = compared(before, now)
        assert both.verdict == "undecided"
        assert "come out differently the next time" in str(both)
        shape = viewed(now.file, before.file)
        assert {row.verdict for one in shape.questions for row in one.results} == {"undecided"}
    refused = evenhand("baseline", chosen.stem, "--to", "c.evn")
    assert (refused.code, "chosen because" in refused.err) == (2, True)
    held = evenhand(
        "gate",
        ".",
        "--baseline",
        "b.evn",
        "--margin",
        "0.9",
        "--no-cache",
        "--undecided",
        "pass",
        choice,
        named,
        "--no-progress",
    )
    assert held.code == 5, held.out + held.err
    marked = json.loads(evenhand("runs", "history", ".", "--json").out)["lines"][0]["runs"]
    assert any(
        "were chosen because" in change["text"] for one in marked for change in one["changes"]
    )


def test_the_sentences_below_the_table_say_nothing_of_chosen_cases(evenhand: Run, tmp_path: Path):
    """Two variants of a run of what failed before."""
    a_system(tmp_path)
    config = json.loads((tmp_path / "promptfooconfig.json").read_text())
    config["prompts"] = ["{{q}}", "{{q}}?"]
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    start(evenhand)
    told = evenhand("run", ".", "--no-progress", "--no-cache", "--filter-failing", "latest").out
    assert "variants are not ranked, as the cases of this run were chosen" in " ".join(told.split())
    assert "beats" not in told


SELECTIONS = (
    ("--first", "12"),
    ("--filter-sample", "14"),
    ("--filter-range", "0:12"),
    ("--repeat", "2"),
)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_cases_that_were_chosen_otherwise_are_compared(
    evenhand: Run, tmp_path: Path, selection: tuple[str, str]
):
    """By their place, at random, by what they are called."""
    a_system(tmp_path)
    start(evenhand)
    start(evenhand, *selection)
    second, first = newest(tmp_path)
    told = evenhand("compare", str(first), str(second), "--json")
    assert not any(row["withheld"] for row in json.loads(told.out)["results"])


def test_reworded_references_of_imported_results_are_compared_by_their_input(
    evenhand: Run, tmp_path: Path
):
    """Where it is unique in both; how many were paired how is told. Ids tell two imports of one second apart."""
    questions = [f"question {i}" for i in range(8)]
    for reworded in ("Paris.", " Paris", "PARIS", "Pari\u0073\u0301", "the city of Paris"):
        for file, reference, score in (("before", "Paris", 0.2), ("after", reworded, 0.9)):
            rows = [f"{q},a,{reference},{score}" for q in questions] + [
                f"same,a,{reference} {i},{score}" for i in range(2)
            ]
            (tmp_path / f"{file}.csv").write_text(
                "user_input,response,reference,faithfulness\n" + "\n".join(rows) + "\n"
            )
        for one in newest(tmp_path):
            one.unlink()
        evenhand("import", "ragas", "before.csv", "after.csv")
        runs = {OpenRun.open(path).meta.title: path for path in newest(tmp_path)}
        told = evenhand(
            "compare", str(runs["before"]), str(runs["after"]), "--metric", "faithfulness"
        )
        assert told.code == 0, told.out + told.err
        assert "paired: 0 cases by id, 8 by the input" in told.out
        assert "8 cases with another expected value" in told.out
        assert "over 8 cases (paired)" in told.out
        (head, *_) = told.out.splitlines()
        one, two = head.split(" → ")
        assert one != two


def test_imports_without_a_common_case_are_told_apart(evenhand: Run, tmp_path: Path):
    """Both were made in the same second."""
    for file, question in (("before", "q"), ("after", "r")):
        rows = "".join(f"{question}{i},a,b,0.5\n" for i in range(3))
        (tmp_path / f"{file}.csv").write_text(f"user_input,response,reference,faithfulness\n{rows}")
    evenhand("import", "ragas", "before.csv", "after.csv")
    one, two = newest(tmp_path)
    told = evenhand("compare", str(one), str(two))
    assert told.code == 2
    names = told.err.split(" have no case in common")[0].removeprefix("evenhand: ").split(" and ")
    assert names[0] != names[1]


def test_a_regrade_says_that_only_the_judging_differs(evenhand: Run, tmp_path: Path):
    """Which outputs come out otherwise is listed; whether the system is better is not said."""
    written(tmp_path, {**CONFIG, "prompts": ["{{q}}"]})
    evenhand("run", ".", "--offline", "--no-progress")
    config = json.loads(json.dumps({**CONFIG, "prompts": ["{{q}}"]}))
    config["defaultTest"]["assert"][0]["value"] = "never"
    written(tmp_path, config)
    told = " ".join(
        evenhand("regrade", "latest", "--with", ".", "--offline", "--no-progress").out.split()
    )
    assert "the outputs are the same ones: what differs is how they were judged" in told
    assert ": worse" not in told
    assert "8 worse" in told


HISTORY = textwrap.dedent("""
    from dataclasses import dataclass

    from evenhand import Case, EvalSet, Expect, Model, Prompt
    from evenhand.scorers import Contains, Passes


    @dataclass(frozen=True)
    class Tone:
        label: str = "warm"
        text: str = "Be warm."


    PROMPTS = [Prompt("main", "Answer in full: {{q}}"), Prompt("brief", "Use few words: {{q}}")]
    evals = EvalSet(
        "notes",
        data=[{"id": f"c{i}", "input": f"item {i}"} for i in range(6)],
        model="openai:chat:gpt-5-mini",
        over={"prompt": PROMPTS, "tone": [Tone()], "folder": ["prompts/greet"]},
    )


    @evals.eval
    async def a(case: Case, prompt: Prompt, tone: Tone, folder: str, model: Model, expect: Expect) -> str:
        reply = await model.generate(prompt.render(q=case.input))
        expect(reply.text, Contains("e"))
        expect(reply.text, Passes("is polite"), metric="polite")
        return reply.text
""")

EDITS: dict[str, tuple[tuple[str, str], list[tuple[str, str]]]] = {
    "nothing": (("", ""), []),
    "one prompt": (("Answer in full", "Answer in full, please"), [("prompt", "main edited")]),
    "both prompts": (("{{q}}", "{{q}}!"), [("prompt", "brief, main edited")]),
    "the text of another axis": (
        ("Be warm.", "Be cold."),
        [("prompt", "warm edited"), ("code", "eval notes: a edited")],
    ),
    "a prompt in the code of the eval": (
        ("q=case.input", 'q=f"Be warm. {case.input}"'),
        [("code", "eval notes: a edited")],
    ),
    "one case": (
        ('f"item {i}"', 'f"item {i}" if i else "another"'),
        [("data", "1 case with another input")],
    ),
    "a judge's question": (("is polite", "is kind"), [("judge", "another prompt for polite")]),
    "a check": (('Contains("e")', 'Contains("y")'), [("expectation", "")]),
    "one check more": (
        (
            "    return reply",
            '    expect(reply.text, Contains("s"), metric="long")\n    return reply',
        ),
        [("expectation", "long: added")],
    ),
    "one check less": (
        ('    expect(reply.text, Contains("e"))\n', ""),
        [("expectation", 'contains "e": left out')],
    ),
    "the model": (
        ("gpt-5-mini", "gpt-5"),
        [("model", "openai:chat:gpt-5 instead of openai:chat:gpt-5-mini")],
    ),
    "a comment": (("@evals.eval", "# A comment.\n@evals.eval"), []),
}


@pytest.fixture(scope="module")
def noted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of the eval set: made once, for tests to edit it."""
    folder = tmp_path_factory.mktemp("noted")
    judge = '{"reasoning": "r", "passes": true, "confidence": 0.9}'
    rules = [{"match": "is polite|is kind", "reply": judge}, {"reply": "yes"}]
    (folder / "offline.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    (folder / "notes_evals.py").write_text(HISTORY)
    greeting = folder / "prompts" / "greet" / "prompt.md"
    greeting.parent.mkdir(parents=True)
    greeting.write_text("Hello")
    command(folder, "run", ".", "--offline", "--no-progress")
    return folder


@pytest.mark.parametrize("name", EDITS)
def test_history_marks_what_was_edited_in_an_eval_set_and_nothing_else(
    evenhand: Run, noted: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    """In the terminal and in JSON, which the page shows."""
    (old, new), expected = EDITS[name]
    first_run(noted, monkeypatch)
    assert old in HISTORY
    edited = HISTORY.replace(old, new) if old else HISTORY
    (noted / "notes_evals.py").write_text(edited)
    command(noted, "run", ".", "--offline", "--no-progress")
    (line,) = json.loads(evenhand("runs", "history", ".", "--json").out)["lines"]
    changes = [(one["kind"], one["text"]) for one in line["runs"][1]["changes"]]
    assert [kind for kind, _ in changes] == [kind for kind, _ in expected], changes
    assert all(text in told for (_, text), (_, told) in zip(expected, changes, strict=True)), (
        changes
    )
    shown = evenhand("runs", "history", ".").out
    assert shown.count("┄") == len(expected)


def test_history_marks_that_a_prompt_in_the_code_of_the_application_was_edited(
    evenhand: Run, tmp_path: Path
):
    """By the file that holds it, which is code like any other."""
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/shop_evals.py").write_text(
        'import bot\nfrom evenhand import EvalSet\nevals = EvalSet("shop", data=[{"id": "a", "input": "a"}])\n'
        '@evals.eval\ndef asks(case, expect):\n    expect(bot.PROMPT != "", "asks")\n    return bot.PROMPT\n'
    )
    for prompt in ("Be kind.", "Be kind.", "Be brief."):
        (tmp_path / "bot.py").write_text(f'PROMPT = "{prompt}"\n')
        command(tmp_path, "run", "evals", "--no-progress")
    (line,) = json.loads(evenhand("runs", "history", "--json").out)["lines"]
    assert [run["changes"] for run in line["runs"]] == [
        [],
        [],
        [{"kind": "code", "text": "bot.py edited"}],
    ]


CODE = {
    "scoring": "def get_score(named_scores, context):\n    return {'score': 1.0, 'pass': True, 'reason': ''}\n",
    "look": "import cut\n\n\ndef get_transform(output, context):\n    return cut.short(output)\n",
    "cut": "def short(output):\n    return output[:90]\n",
    "hooks": "def extension_hook(hook_name, context):\n    return context\n",
}
SCORED = {
    "scoring": ("scoring", {"defaultTest": {"assertScoringFunction": "file://scoring.py"}}),
    "a transform": ("look", {"defaultTest": {"options": {"transform": "file://look.py"}}}),
    "what a transform imports": (
        "cut",
        {"defaultTest": {"options": {"transform": "file://look.py"}}},
    ),
    "postprocess": ("look", {"defaultTest": {"options": {"postprocess": "file://look.py"}}}),
    "hooks": ("hooks", {"extensions": ["file://hooks.py:extension_hook"]}),
}


@pytest.mark.parametrize("which", SCORED)
def test_code_that_decides_about_a_verdict_is_part_of_the_test(
    evenhand: Run, tmp_path: Path, which: str
):
    """Whatever it is called by in the config, and none of the rest of the folder."""
    name, config = SCORED[which]
    (tmp_path / "promptfooconfig.json").write_text(
        json.dumps(
            {
                "prompts": ["Say {{q}}"],
                "providers": ["echo"],
                "tests": [
                    {"vars": {"q": f"{n}"}, "assert": [{"type": "contains", "value": "Say"}]}
                    for n in range(8)
                ],
                **config,
            }
        )
    )
    for file, text in CODE.items():
        (tmp_path / f"{file}.py").write_text(text)
    evenhand("run", ".", "--no-progress")
    (tmp_path / "beside.py").write_text("changed = 1\n")
    evenhand("run", ".", "--no-progress")
    second, first = newest(tmp_path)
    alike = evenhand("compare", str(first), str(second))
    assert "the test has changed" not in alike.out, alike.out
    (tmp_path / f"{name}.py").write_text(f"{CODE[name]}\nchanged = 1\n")
    evenhand("run", ".", "--no-progress")
    third, second, _ = newest(tmp_path)
    told = evenhand("compare", str(second), str(third))
    assert told.code == 3
    assert "the test has changed" in told.out, told.out


ELSEWHERE = {
    "desk/__init__.py": "",
    "desk/bot.py": "PROMPT = 'Be kind.'\n\n\ndef answer(text):\n    return f'Dear customer, {text}'\n",
    "desk/limits.py": "import os\n\nMOST = 30\nWORDS = ['Dear', 'customer']\nNAME = 'Ada'\nSEEN = [os.getpid()]\n",
    "desk/checks.py": textwrap.dedent("""\
        from .limits import MOST


        def formal(expect, text):
            expect("!" not in text, "is formal")
            expect(len(text) < MOST, "is short")


        def assert_plain(text):
            assert "<b>" not in text


        async def assert_named(text):
            assert "Dear" in text


        def kind(say, text):
            say("Dear" in text, "is kind")


        def each(expect, text, words):
            for word in words:
                expect(word in text, f"says {word}")


        class Tone:
            def __init__(self, expect):
                self.expect = expect

            def warm(self, text):
                self.expect("!!" not in text, "is warm")
        """),
    "desk_evals.py": textwrap.dedent("""\
        from desk import checks, limits
        from desk.bot import PROMPT, answer
        from evenhand import EvalSet

        evals = EvalSet("desk", data=[{"id": f"c{i}", "input": str(i)} for i in range(8)])


        @evals.eval
        async def answers(case, expect):
            output = answer(case.input)
            checks.formal(expect, output)
            checks.kind(expect, output)
            checks.each(expect, output, limits.WORDS)
            checks.Tone(expect).warm(output)
            checks.assert_plain(output)
            with expect.that("is named"):
                await checks.assert_named(output)
            expect(PROMPT not in output, "keeps its " + "prompt")
            expect(limits.NAME not in output, "names nobody")
            expect(len(output) <= limits.MOST, label="fits")
            expect(len(limits.SEEN) > 0, "is kept")
            return output
        """),
}


@pytest.mark.parametrize(
    ("file", "before", "after", "changed"),
    [
        ("desk/checks.py", '"!" not', '"!!!" not', ["is formal"]),
        ("desk/checks.py", 'say("Dear"', 'say("D"', ["is kind"]),
        (
            "desk/checks.py",
            "word in text",
            "word in 'Dear customer'",
            ["says Dear", "says customer"],
        ),
        ("desk/checks.py", '"!!" not', '"!!!" not', ["is warm"]),
        ("desk/checks.py", '"<b>" not', '"<i>" not', ["rule"]),
        ("desk/checks.py", 'assert "Dear"', 'assert "Dea"', ["is named"]),
        ("desk/limits.py", "30", "300", ["is short", "fits"]),
        ("desk_evals.py", "PROMPT not", "PROMPT * 2 not", ["keeps its prompt"]),
        ("desk/limits.py", "Ada", "Bo", []),
        ("desk/limits.py", "['Dear', ", "['Dear', 'Dear', ", []),
        ("desk/bot.py", "Be kind", "Be brief", []),
        ("desk/bot.py", "{text}'", "{text}.'", []),
    ],
)
def test_a_condition_is_known_by_its_code_wherever_that_lies(
    evenhand: Run, tmp_path: Path, file: str, before: str, after: str, changed: list[str]
):
    """In another module, with a label that is put together, by a number of the application: and no more than it."""
    for name, text in ELSEWHERE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    command(tmp_path, "run", ".", "--no-progress")
    assert before in ELSEWHERE[file]
    (tmp_path / file).write_text(ELSEWHERE[file].replace(before, after))
    command(tmp_path, "run", ".", "--no-progress")
    second, first = newest(tmp_path)
    told = json.loads(evenhand("compare", str(first), str(second), "--json").out)
    unlike = " ".join(told["results"][0]["left_out"]["unlike"])
    named = re.findall(r"[(;] ?([\w ]+): code changed", unlike) + ["rule"] * (
        "another threshold, assert" in unlike
    )
    assert sorted(named) == sorted(changed), unlike
