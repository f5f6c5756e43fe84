"""`evenhand compare` on real run files: what it prints, and how it exits."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.e2e.commands import Run, in_process

QUESTIONS = [f"question {i}" for i in range(12)]


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs a command line in a folder of its own; `echo` answers, so nothing is asked of anybody."""
    monkeypatch.chdir(tmp_path)
    return in_process(capsys)


def asked(evenhand: Run, folder: Path, prompts: list[str], questions: list[str] = QUESTIONS) -> str:
    """Runs these prompts; a trial passes where its prompt says yes. The run's id."""
    tests = [
        {"vars": {"q": q}, "assert": [{"type": "contains", "value": "yes"}]} for q in questions
    ]
    config = {"prompts": prompts, "providers": ["echo"], "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    ended = evenhand("run", "--no-progress")
    return re.findall(r"saved as (\w+)", ended.out)[0]


def test_a_gate_passes_fails_and_stays_open(evenhand: Run, tmp_path: Path):
    """0 for what is better, or not shown to be worse; 1 for worse; 3 where the margin cannot be decided."""
    old = asked(evenhand, tmp_path, ["no {{q}}"])
    new = asked(evenhand, tmp_path, ["yes {{q}}"])
    again = asked(evenhand, tmp_path, ["yes, {{q}}"])
    better = evenhand("compare", old, new)
    assert (better.code, better.err) == (0, "")
    assert "passed: +100 points [+52, +100] over 12 cases (paired), p < 0.001: better" in better.out
    assert evenhand("compare", new, old).code == 1
    same = evenhand("compare", new, again)
    assert same.code == 0
    assert (
        "no detectable difference (12 cases can only show differences of 58 points or more)"
        in " ".join(same.out.split())
    )
    open_ = evenhand("compare", new, again, "--margin", "0.05")
    assert open_.code == 3
    assert (
        "undecided (it may be 18 points worse, one-sided, or not; the margin is 5 points)"
        in " ".join(open_.out.split())
    )
    assert evenhand("compare", new, "latest", "--margin", "0.3").code == 0


def test_without_names_the_latest_run_is_compared_with_the_one_before_it_of_its_config(
    evenhand: Run, tmp_path: Path
):
    """Runs of another config in between don't matter; the first run of a config says what to do."""
    alone = asked(evenhand, tmp_path, ["no {{q}}", "no, {{q}}"])
    ended = evenhand("compare")
    assert (ended.code, ended.out) == (2, "")
    assert f"before the latest, {alone}" in ended.err
    assert "evenhand compare :1 :2" in ended.err
    old = asked(evenhand, tmp_path, ["no {{q}}"])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "promptfooconfig.json").write_text(
        json.dumps({"prompts": ["{{q}}"], "providers": ["echo"], "tests": [{"vars": {"q": "x"}}]})
    )
    evenhand("run", "other", "--no-progress")
    new = asked(evenhand, tmp_path, ["yes {{q}}"])
    ended = evenhand("compare", "--metric", "passed")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{old} → {new}\n")
    assert evenhand("compare", old, "--metric", "passed").out == ended.out
    assert evenhand("compare", new).code == 2


def test_without_names_a_folder_with_a_new_set_is_compared_with_its_runs_of_the_sets_before(
    evenhand: Run, tmp_path: Path
):
    """A second eval set begins no new comparison; a set without earlier runs has none."""
    folder = tmp_path / "evals"
    folder.mkdir()

    def ran(*names: str) -> str:
        for name in names:
            (folder / f"{name}_evals.py").write_text(
                "from evenhand import Case, EvalSet\n"
                f"evals = EvalSet({name!r}, data=[Case(f'c{{i}}', input=i) for i in range(9)])\n"
                f"@evals.eval\ndef {name}_eval(case, expect):\n    expect(case.input != 3, 'ok')\n",
                "utf-8",
            )
        ended = evenhand("run", "evals", "--no-progress")
        return re.findall(r"saved as (\w+)", ended.out)[0]

    old, new = ran("alpha"), ran("beta")
    ended = evenhand("compare")
    assert (ended.code, ended.out.partition("\n")[0]) == (0, f"{old} → {new}")
    assert "without a counterpart" in ended.out
    (folder / "alpha_evals.py").unlink()
    (folder / "beta_evals.py").unlink()
    last = ran("gamma")
    assert f"before the latest, {last}" in evenhand("compare").err


def test_columns_of_the_latest_run_need_no_id(evenhand: Run, tmp_path: Path):
    """By their name in the table or their number; JSON holds the same."""
    asked(evenhand, tmp_path, ["no {{q}}", "yes {{q}}"])
    ended = evenhand("compare", ":1", ":2", "--metric", "passed", "--json")
    document = json.loads(ended.out)
    assert (ended.code, document["verdict"], document["results"][0]["n"]) == (0, "better", 12)
    assert evenhand("compare", ":yes {{q}}", ":no {{q}}").code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("{new}", "{new}"), "compared with itself"),
        (("{new}:nope", "{old}"), "has no variant 'nope'"),
        (("{new}", "nowhere"), "there is no run 'nowhere'"),
        (("{new}", "{other}"), "no case in common"),
        (("{new}", "{old}", "--metric", "pased"), "Did you mean 'passed'?"),
        (("{new}", "{old}", "--margin", "5"), "5 points are 0.05"),
        (("{new}", "{old}", "--margin", "-1"), "it is -1, not a number from 0"),
        (
            ("{new}", "{old}", "--cluster", "document"),
            "no case has a variable or metadata called 'document'",
        ),
    ],
)
def test_what_cannot_be_compared_is_told_and_exits_2(
    evenhand: Run, tmp_path: Path, words: tuple[str, ...], said: str
):
    """In words, on stderr, without a traceback."""
    names = {
        "old": asked(evenhand, tmp_path, ["no {{q}}"]),
        "new": asked(evenhand, tmp_path, ["yes {{q}}"]),
        "other": asked(evenhand, tmp_path, ["yes {{q}}"], ["something else"]),
    }
    ended = evenhand("compare", *(word.format(**names) for word in words))
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_what_raises_where_it_would_fail_is_not_better(evenhand: Run, tmp_path: Path):
    """The run says that errors leave it open, and so does `compare`, which exits with 3."""
    (tmp_path / "app.py").write_text(
        "def call_api(prompt, options, context):\n"
        "    kind, n = prompt.split()\n"
        "    if int(n) < 6:\n"
        "        return {'output': 'yes'}\n"
        "    return {'output': 'no'} if kind == 'plain' else {'error': 'it raised'}\n"
    )
    config = {
        "prompts": ["plain {{n}}", "strict {{n}}"],
        "providers": ["python:app.py"],
        "tests": [
            {"vars": {"n": n}, "assert": [{"type": "contains", "value": "yes"}]} for n in range(12)
        ],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    ended = evenhand("run", "--no-progress")
    assert re.findall(r"6/12 +(\S+ %)", ended.out) == ["50 %", "50–100 %"]
    assert "strict {{n}} and plain {{n}}: undecided (6 trials in error could turn it)" in ended.out
    assert " beats " not in ended.out
    ended = evenhand("compare", ":1", ":2", "--metric", "passed")
    assert ended.code == 3
    assert "p = 1: undecided (6 trials in error could turn it)" in " ".join(ended.out.split())


def test_errors_alone_are_undecided(evenhand: Run, tmp_path: Path):
    """Where a side has nothing else, "no detectable difference" would be said of what nobody measured."""
    (tmp_path / "app.py").write_text(
        "def call_api(prompt, options, context):\n"
        "    kind, n = prompt.split()\n"
        "    if kind == 'strict':\n"
        "        return {'error': 'it raised'}\n"
        "    return {'output': 'yes' if n != '0' else 'no'}\n"
    )
    expected = [{"type": "contains", "value": "yes", "metric": "agrees"}]
    config = {
        "prompts": ["plain {{n}}", "strict {{n}}"],
        "providers": ["python:app.py"],
        "tests": [{"vars": {"n": n}, "assert": expected} for n in range(6)],
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    why = "undecided (no case has a value in both: 6 trials in error)"
    ran = evenhand("run", "--no-progress").out
    assert f"{{n}}}}: {why}" in " ".join(ran.split())
    for sides in ((":1", ":2"), (":2", ":1")):
        ended = evenhand("compare", *sides, "--metric", "passed")
        assert (ended.code, " ".join(ended.out.split()).count(why)) == (3, 1), ended.out
        several = evenhand("compare", *sides, "--metric", "passed", "--metric", "agrees", "--json")
        document = json.loads(several.out)
        assert (several.code, document["verdict"]) == (3, "undecided")
        for result in document["results"]:
            assert (result["verdict"], result["low"], result["p"]) == ("undecided", None, 1)


def test_runs_of_chosen_cases_that_have_none_in_common_name_what_chose_them(
    evenhand: Run, tmp_path: Path
):
    """Their ids are no reason: they stay."""
    asked(evenhand, tmp_path, ["yes {{q}}"])
    for cases in ("question [0-4]$", "question [5-9]$"):
        assert evenhand("run", "--no-progress", "--filter", cases).code == 0
    told = evenhand("compare", "latest~1", "latest")
    assert told.code == 2
    assert "ran --filter 'question [0-4]$'" in told.err
    assert "Run the same cases in both" in told.err
    assert "`id` that stays" not in told.err


def test_history_says_that_an_eval_has_another_name(evenhand: Run, tmp_path: Path):
    """And not its prompt, whose variants keep theirs."""
    text = (
        "from evenhand import EvalSet\n"
        "evals = EvalSet('desk', data=[{'input': 'a'}], over={'tone': ['plain', 'warm']})\n"
        "@evals.eval\ndef NAME(case, tone, expect):\n    expect(True, 'holds')\n    return tone\n"
    )
    for name in ("answers", "replies"):
        for file in tmp_path.glob("*_evals.py"):
            file.unlink()
        # A file of its own: in this process, a module stays what it was.
        (tmp_path / f"{name}_evals.py").write_text(text.replace("NAME", name))
        assert evenhand("run", "--no-progress").code == 0
    lines = [line for line in evenhand("runs", "history").out.splitlines() if "┄" in line]
    assert lines == ["┄ eval: replies instead of answers"]
