"""Eval sets in Python, run by the real command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from evenhand.testing import FakeProvider, Rule, Script

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]

ONE = '''
from evenhand import EvalSet

evals = EvalSet("one", data=[{"id": "a"}, {"id": "b"}])


@evals.eval
def holds(case, expect):
    """It does."""
    expect(True, "holds", case=case.id)


@evals.eval(tags=["slow"])
def misses(case, expect):
    expect(case.id == "a", "is a")
    expect(3, at_most=5, label="size")
'''

TWO = """
from evenhand import EvalSet

evals = EvalSet("two")


@evals.eval
def is_there(expect):
    expect(True, "is there")
"""


def run(*args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """`evenhand` with these arguments, in an environment that has no key and no address but these."""
    kept = ("PATH", "HOME", "TMPDIR", "PYTHONPATH")
    clean = {name: value for name, value in os.environ.items() if name in kept}
    return subprocess.run(
        [*COMMAND, *args],
        cwd=cwd,
        env=clean | env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def trials(done: subprocess.CompletedProcess[str]) -> list[tuple[str, str, str]]:
    """The trials of a run with `--json`: eval, case and outcome."""
    document: dict[str, Any] = json.loads(done.stdout)
    return [(t["variant"]["prompt"], t["case"], t["outcome"]) for t in document["trials"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with two eval files."""
    evals = tmp_path / "evals"
    evals.mkdir()
    (evals / "one_evals.py").write_text(ONE, "utf-8")
    (evals / "two_evals.py").write_text(TWO, "utf-8")
    return tmp_path


def test_a_folder_runs_all_its_evals(folder: Path):
    """Every eval on every case; one that fails exits with 1; the run is kept beside `evals`."""
    done = run("run", "--json", cwd=folder)
    assert done.returncode == 1, done.stderr
    assert trials(done) == [
        ("one: holds", "a", "pass"),
        ("one: misses", "a", "pass"),
        ("one: holds", "b", "pass"),
        ("one: misses", "b", "fail"),
        ("two: is_there", "two", "pass"),
    ]
    assert [path.name for path in folder.iterdir() if path.name != "evals"] == [".evenhand"]
    outcomes = json.loads(done.stdout)["trials"][3]["outcomes"]
    assert [(o["name"], o["outcome"], o["score"]) for o in outcomes] == [
        ("is a", "fail", 0),
        ("size", "pass", 3),
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["evals/one_evals.py:8"], {"holds"}),
        (["evals/one_evals.py:15"], {"misses"}),
        (["evals/one_evals.py:8", "evals/two_evals.py"], {"one: holds", "two: is_there"}),
        (["evals/one_evals.py:8", "evals/one_evals.py:15"], {"holds", "misses"}),
        (["evals/two_evals.py", "evals/two_evals.py"], {"is_there"}),
        (["-k", "HOLD"], {"holds"}),
        (["-k", "two"], {"is_there"}),
        (["--tag", "slow"], {"misses"}),
        (["--filter-prompts", "holds$"], {"one: holds"}),
        (["--filter-pattern", "^two$"], {"two: is_there"}),
        (["evals/one_evals.py:8", "evals/one_evals.py"], {"holds", "misses"}),
        (["evals"], {"one: holds", "one: misses", "two: is_there"}),
    ],
)
def test_what_is_named_is_run_and_nothing_else(folder: Path, words: list[str], expected: set[str]):
    """Lines, files, folders, names and tags; a file that is named twice is run once."""
    done = run("run", *words, "--json", cwd=folder)
    found = trials(done)
    assert {name for name, _, _ in found} == expected, done.stderr
    assert len(set(found)) == len(found)


ASKING = """
from evenhand import Dataset, EvalSet

rows = [
    {"id": "a", "input": "1", "description": "short", "tags": ["slow"], "metadata": {"team": "x"}},
    {"id": "b", "input": "2", "description": "long", "metadata": {"team": "y", "sure": True}},
]
evals = EvalSet("asking", data=rows, over={"model": ["echo", "openai:chat:gpt-5-mini"], "tone": ["calm", "loud"]})


@evals.eval
async def answers(case, model, tone, expect):
    expect((await model.generate(case.input)).text == case.input, tone)
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ["calm a", "loud a", "calm b", "loud b"]),
        (["--filter-prompts", "loud"], ["loud a", "loud b"]),
        (["--filter-pattern", "^sho"], ["calm a", "loud a"]),
        (["--filter-metadata", "team=y"], ["calm b", "loud b"]),
        (["--filter-metadata", "team=y", "--filter-metadata", "sure=false"], []),
        (["--filter-metadata", "tags=slow"], ["calm a", "loud a"]),
        (["--filter-range", "1:"], ["calm b", "loud b"]),
    ],
)
def test_filters_leave_cases_and_columns(tmp_path: Path, words: list[str], expected: list[str]):
    """Every option that says which part of an evaluation is run says it of eval sets, too."""
    (tmp_path / "asking_evals.py").write_text(ASKING, "utf-8")
    done = run("run", "--json", "--filter-providers", "^echo", *words, cwd=tmp_path)
    if not expected:
        assert (done.returncode, done.stdout) == (5, "")
        return
    document = json.loads(done.stdout)
    found = [f"{t['outcomes'][0]['name']} {t['case']}" for t in document["trials"]]
    assert (found, done.returncode) == (expected, 0), done.stderr


@pytest.mark.parametrize("verb", ["run", "check"])
def test_options_of_other_doors_are_refused_by_name(folder: Path, verb: str):
    """All of them at once, each with what to do instead; nothing is run."""
    (folder / "outputs.json").write_text("[]")
    words = "-p Hello -r echo -t rows.csv --grader echo --prompt-prefix x --model-outputs outputs.json".split()
    words += "--assertions outputs.json --delay 5 --env-file .env --strict-prompts".split()
    words += "--description d --tag team=a --var a=b --case x".split()
    done = run(verb, *words, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--grader, --model-outputs, --assertions, --delay" in done.stderr
    assert "are for promptfoo configs" in done.stderr
    assert "--var is for promptfoo configs and prompt directories" in done.stderr
    assert "--case is for prompt directories" in done.stderr
    assert "and these are eval sets" in done.stderr
    assert "set EVENHAND_JUDGE" in done.stderr
    assert not (folder / ".evenhand").exists()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["evals/one_evals.py:1"], 2, "holds (7–10)"),
        (["evals/none_evals.py"], 2, "does not exist"),
        (["-k", "nothing"], 5, "There are: one: holds, misses; two: is_there"),
        (["--tag", "fast"], 5, "no eval has the tag"),
        (["--filter", "zebra", "-k", "holds"], 5, "matches none of the cases (2)"),
        (["--filter", "("], 2, "not a regular expression"),
    ],
)
def test_what_leaves_nothing_to_run_never_passes(
    folder: Path, words: list[str], code: int, says: str
):
    """A wrong line, a file that is not there, a selection of nothing: each says what there is."""
    done = run("run", *words, cwd=folder)
    assert done.returncode == code
    assert says in done.stderr


def test_a_broken_file_beside_a_good_one_is_named_and_the_good_one_runs(folder: Path):
    """It exits with 2, whatever the others came to."""
    (folder / "evals" / "one_evals.py").write_text("import nothing_of_this_name\n", "utf-8")
    done = run("run", "--json", cwd=folder)
    assert trials(done) == [("is_there", "two", "pass")]
    assert done.returncode == 2
    assert "one_evals.py:1: cannot be imported: ModuleNotFoundError" in done.stderr


def test_all_that_is_wrong_with_sets_is_said_at_once(folder: Path):
    """Parameters that nothing provides, each with its file and line; nothing runs."""
    for name in ("one", "two"):
        path = folder / "evals" / f"{name}_evals.py"
        path.write_text(path.read_text("utf-8").replace("expect)", "expct)"), "utf-8")
    done = run("run", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.count("Did you mean 'expect'?") == 3
    assert "3 problems" in done.stderr


def test_check_says_what_would_run_and_runs_nothing(folder: Path):
    """Evals are counted; a broken file is an error here; no run is kept."""
    done = run("check", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "3 evals, 3 cases: 5 trials" in done.stdout
    (folder / "evals" / "two_evals.py").write_text("1 +\n", "utf-8")
    done = run("check", "evals", cwd=folder)
    assert done.returncode == 2
    assert "two_evals.py:1: cannot be imported: SyntaxError" in done.stderr
    assert not (folder / ".evenhand").exists()


def test_check_takes_what_run_takes(folder: Path):
    """Several files, and lines; what is wrong is told with paths from where one stands."""
    both = run("check", "evals/one_evals.py:8", "evals/two_evals.py", cwd=folder)
    assert both.returncode == 0, both.stderr
    assert "2 eval sets · 2 evals" in both.stdout
    assert "evenhand run evals/one_evals.py:8 evals/two_evals.py" in both.stdout
    (folder / "evals" / "two_evals.py").write_text("import nowhere_to_be_found", "utf-8")
    broken = run("check", cwd=folder)
    assert broken.returncode == 2
    assert "\nevals/two_evals.py:1: cannot be imported" in f"\n{broken.stderr}"
    nothing = run("run", "-k", "zzz", "evals/one_evals.py", cwd=folder)
    assert "There are: one: holds, misses." in nothing.stderr


def test_a_run_with_errors_is_resumed_and_only_they_are_tried_again(folder: Path):
    """An eval that raises is an error and no failure; mended outside of the file, its trial alone runs again."""
    (folder / "evals" / "two_evals.py").unlink()
    (folder / "evals" / "one_evals.py").write_text(
        textwrap.dedent("""
            from pathlib import Path
            from evenhand import EvalSet
            evals = EvalSet("one", data=[{"id": "a"}, {"id": "b"}])

            @evals.eval
            def counts(case, expect):
                with Path("log").open("a") as log:
                    log.write(case.id)
                expect(True, "before")
                if case.id == "b":
                    Path("wanted").read_text()
            """),
        "utf-8",
    )
    first = run("run", "evals/one_evals.py:7", "--json", cwd=folder)
    assert first.returncode == 3, first.stderr
    assert trials(first) == [("counts", "a", "pass"), ("counts", "b", "error")]
    (folder / "wanted").write_text("", "utf-8")
    again = run("resume", "--json", cwd=folder)
    assert again.returncode == 0, again.stderr
    assert trials(again) == [("counts", "a", "pass"), ("counts", "b", "pass")]
    assert (folder / "log").read_text("utf-8") in ("abb", "bab")


@pytest.mark.parametrize("name", ["late.py", "far.py"])
def test_a_run_is_not_resumed_with_other_code_that_is_imported_late_or_lies_elsewhere(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, name: str
):
    """Half of its results would be of one version, and half of the other, in one rate."""
    shelf = tmp_path_factory.mktemp("shelf")
    files = {"late.py": folder / "late.py", "far.py": shelf / "far.py"}
    for file in files.values():
        file.write_text("x = 1\n", "utf-8")
    (folder / "app.py").write_text(
        f"import sys\nsys.path.append({str(shelf)!r})\nimport far\n\n\ndef answer():\n    import late\n",
        "utf-8",
    )
    (folder / "evals" / "one_evals.py").write_text(f"import app\n{ONE}", "utf-8")
    assert run("run", "evals/one_evals.py", cwd=folder).returncode == 1
    assert run("resume", cwd=folder).returncode == 1
    files[name].write_text("x = 2\n", "utf-8")
    again = run("resume", cwd=folder)
    assert again.returncode == 2
    assert "cannot be resumed: " in again.stderr
    assert f"{name} has changed since" in again.stderr


@pytest.mark.parametrize("name", ["app.py", "evals/setup.py", "evals/one_evals.py"])
def test_a_run_whose_code_has_changed_is_not_resumed(folder: Path, name: str):
    """The application under test is part of it; what is only installed or not imported is not."""
    (folder / "app.py").write_text("def answer():\n    return 1\n", "utf-8")
    (folder / "beside.py").touch()
    (folder / "evals" / "setup.py").touch()
    (folder / "evals" / "one_evals.py").write_text(f"import app\n{ONE}", "utf-8")
    assert run("run", "evals/one_evals.py", cwd=folder).returncode == 1
    (folder / "beside.py").write_text("changed = 1\n", "utf-8")
    assert run("resume", cwd=folder).returncode == 1
    with (folder / name).open("a") as file:
        file.write("# changed\n")
    again = run("resume", cwd=folder)
    assert again.returncode == 2
    assert f"cannot be resumed: {name} has changed since" in again.stderr


@pytest.mark.parametrize("broken", ["import nowhere", "from evenhand import EvalSet"])
def test_what_nobody_provides_is_told_of_a_file_that_cannot_be_imported(
    tmp_path: Path, broken: str
):
    """Whether its import ends before its set is made or after, and with it all else that is plainly wrong."""
    (tmp_path / "asked_evals.py").write_text(
        textwrap.dedent(f"""\
            {broken}
            from evenhand import EvalSet

            evals = EvalSet("asked", over={{"tone": ["calm"]}})

            @evals.fixture
            def desk(case, lamp):
                return 1

            @evals.eval(tags=["x"])
            def first(case, expect, tone, desk, shelf, *, more=1):
                expect(True, "x")

            raise RuntimeError("here")

            @evals.eval
            def second(expect, *, model):
                expect(True, "x")
            """),
        "utf-8",
    )
    done = run("run", cwd=tmp_path)
    assert done.returncode == 2
    found = [line.split(": ", 1)[1] for line in done.stderr.splitlines() if "asks for" in line]
    assert found == [
        "desk asks for 'lamp', which nothing provides",
        "first asks for 'shelf', which nothing provides",
        "second asks for 'model', which nothing provides",
    ]
    assert "asked_evals.py:16: second asks" in done.stderr
    assert "cannot be imported" in done.stderr


WITH_DATA = """
from pathlib import Path
from evenhand import Dataset, EvalSet, Prompt

prompts = [Prompt("plain", Path(__file__).with_name("plain.txt").read_text())]
evals = EvalSet("asked", data=Dataset.read("faq.jsonl"), over={"prompt": prompts})


@evals.eval
def holds(case, prompt, expect):
    expect(evals.file("notes/page.txt").read_text() == case.input, "is there")
"""


@pytest.mark.parametrize("name", ["evals/own.py", "evals/strictness.py"])
def test_a_run_whose_judge_has_changed_is_not_resumed(folder: Path, name: str):
    """A judge that is a function is imported when it is first asked, and is a part of the run from the start."""
    (folder / "evals" / "own.py").write_text(
        "from strictness import verdict\n\n"
        "def call_api(prompt, options, context):\n    return {'output': verdict}\n",
        "utf-8",
    )
    (folder / "evals" / "strictness.py").write_text("verdict = '{}'\n", "utf-8")
    judged = ONE.replace('"b"}]', '"b"}], judge="file://own.py"')
    (folder / "evals" / "one_evals.py").write_text(judged, "utf-8")
    assert run("run", "evals/one_evals.py", cwd=folder).returncode == 1
    with (folder / name).open("a") as file:
        file.write("# changed\n")
    again = run("resume", cwd=folder)
    assert again.returncode == 2
    assert f"cannot be resumed: {name} has changed since" in again.stderr


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("faq.jsonl", "evals/faq.jsonl"),
        ("files/notes/page.txt", "evals/files/"),
        ("plain.txt", "the prompt 'plain' of 'asked'"),
    ],
)
def test_a_run_whose_data_have_changed_is_not_resumed(tmp_path: Path, name: str, called: str):
    """Nor one whose files or prompts have; what is hidden, such as a file manager's own, is nobody's data."""
    evals = tmp_path / "evals"
    (evals / "files" / "notes").mkdir(parents=True)
    (evals / "asked_evals.py").write_text(WITH_DATA, "utf-8")
    (evals / "faq.jsonl").write_text('{"id": "a", "input": "x"}\n', "utf-8")
    (evals / "files" / "notes" / "page.txt").write_text("x", "utf-8")
    (evals / "plain.txt").write_text("Hello", "utf-8")
    assert run("run", cwd=tmp_path).returncode == 0
    (evals / "files" / ".hidden").touch()
    assert run("resume", cwd=tmp_path).returncode == 0
    with (evals / name).open("a") as file:
        file.write('{"id": "b", "input": "x"}')
    again = run("resume", cwd=tmp_path)
    assert again.returncode == 2
    assert f"cannot be resumed: {called} has changed since" in again.stderr


def test_the_example_runs_offline_from_anywhere(tmp_path: Path):
    """One summary has a number wrong, and the judge sees it; the others are fine."""
    shutil.copytree(
        EXAMPLES / "documents",
        tmp_path / "documents",
        ignore=shutil.ignore_patterns(".evenhand", "__pycache__"),
    )
    done = run("run", "documents", "--offline", "--json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["totals"]["errors"] == 0
    (failed,) = [t for t in document["trials"] if t["outcome"] == "fail"]
    assert failed["variant"]["prompt"] == "document summaries: would_be_printed"
    assert "the notice says 150" in failed["outcomes"][1]["reason"]
    assert set(failed["named_scores"]) >= {"coverage", "accuracy", "clarity", "brevity"}
    words, _, _, clear = document["trials"][0]["outcomes"]
    assert words["metadata"]["compression"] > 2
    assert clear["score"] == 4
    assert clear["metadata"]["reasoning"]
    file = tmp_path / "documents" / "evals" / "documents_evals.py"
    text = file.read_text("utf-8")
    place = text[: text.index("SummaryJudge(document=")].count("\n") + 1
    line = run("run", f"{file}:{place}", "--offline", "--json", cwd=tmp_path)
    assert {name for name, _, _ in trials(line)} == {"would_be_printed"}


def test_a_new_project_runs_at_once_and_from_anywhere(tmp_path: Path):
    """Written, checked and run as the lines that it prints say; one of four is missed, and the judge says why."""
    done = run("init", "my shop", "--python", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "next: evenhand run 'my shop' --offline" in done.stdout
    assert "4 trials" in run("check", "my shop", cwd=tmp_path, OPENAI_API_KEY="k").stdout
    for where, words in ((tmp_path, ["my shop"]), (tmp_path / "my shop", [])):
        done = run("run", *words, "--offline", "--json", cwd=where)
        assert done.returncode == 1, done.stderr
        document = json.loads(done.stdout)
        assert [t["outcome"] for t in document["trials"]] == ["pass", "pass", "pass", "fail"]
        missed = [o for o in document["trials"][3]["outcomes"] if o["outcome"] == "fail"]
        assert ["money back for a gift" in o["reason"] for o in missed] == [True]
    again = run("init", "my shop", "--python", cwd=tmp_path)
    assert again.returncode == 2
    assert "nothing was written" in again.stderr


def test_what_is_wrong_is_told_with_its_lines_and_the_rest_runs(folder: Path):
    """A setup that fails is told once; `check` and `run` say the same, in one order."""
    other = folder / "other" / "evals"
    other.mkdir(parents=True)
    (other / "setup.py").write_text("1 / 0\n", "utf-8")
    for name in ("a", "b"):
        (other / f"{name}_evals.py").write_text(TWO, "utf-8")
    text = ONE + '    expect("x", Rating("how clear?"))\n'
    text = text.replace("import EvalSet\n", "import EvalSet\nfrom evenhand.scorers import Rating\n")
    (folder / "evals" / "one_evals.py").write_text(text, "utf-8")
    done = run("run", "evals", "other", "--json", cwd=folder)
    assert done.returncode == 3
    assert [(name, outcome) for name, _, outcome in trials(done)] == [
        ("one: holds", "pass"),
        ("one: misses", "error"),
        ("one: holds", "pass"),
        ("one: misses", "error"),
        ("two: is_there", "pass"),
    ]
    told = [line for line in done.stderr.splitlines() if ".py:" in line]
    assert [line.split(": ")[0] for line in told] == [
        "evals/one_evals.py:18",
        "other/evals/setup.py:1",
    ]
    assert "gives a number, and has no bound" in run("check", "evals", cwd=folder).stderr


def test_new_files_work_together(tmp_path: Path):
    """An eval, a judge and a prompt as `new` writes them: the eval runs at once, and again with the other two."""
    for kind in ("eval", "judge", "prompt-function"):
        assert run("new", kind, "reply", cwd=tmp_path).returncode == 0
    done = run("run", "evals/reply_evals.py", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "evals" / "reply_evals.py"
    text = path.read_text("utf-8")
    text = text.replace('# model="openai', 'model="openai').replace(
        '# judge="anthropic', 'judge="anthropic'
    )
    text += textwrap.dedent("""
        from judges.reply import Reply
        from prompts.reply import reply

        @evals.eval
        async def is_kind(case, model, expect):
            said = await model.generate(reply(case.input))
            expect(said.text, Reply(readers="customers of a shop"), at_least=4)
        """)
    path.write_text(text, "utf-8")
    grade = {"reasoning": "Short and kind.", "score": 4}
    rules = [
        {"match": ["you do not flatter"], "reply": {"clarity": grade, "friendliness": grade}},
        {"match": ["answer customers of a shop"], "reply": "Of course."},
    ]
    script = "".join(json.dumps(rule) + "\n" for rule in rules)
    (tmp_path / "offline.jsonl").write_text(script, "utf-8")
    done = run("run", "-k", "is_kind", "--offline", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert [t["named_scores"] for t in json.loads(done.stdout)["trials"]] == [
        {"clarity": 4, "friendliness": 4}
    ] * 2


def test_results_go_to_ci_and_to_people(folder: Path):
    """JUnit and Markdown, by the file's ending."""
    run("run", cwd=folder)
    for name in ("r.xml", "r.md"):
        done = run("export", "--to", name, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert "5 trials written" in done.stderr
    assert 'tests="5" failures="1"' in (folder / "r.xml").read_text("utf-8")
    assert "| `one: misses` | 1/2 |" in (folder / "r.md").read_text("utf-8")


def test_a_time_limit_holds_for_evals_and_fixtures(folder: Path):
    """Plain and async; without the option they have 600 seconds."""
    (folder / "evals" / "two_evals.py").unlink()
    (folder / "evals" / "one_evals.py").write_text(
        textwrap.dedent("""
            import asyncio, time
            from evenhand import EvalSet
            evals = EvalSet("slow")

            @evals.fixture
            def prepared():
                time.sleep(0.4)
                yield

            @evals.eval
            def waits(prepared, expect):
                expect(True, "is reached")

            @evals.eval
            async def sleeps(expect):
                await asyncio.sleep(0.4)
                expect(True, "is reached")
            """),
        "utf-8",
    )
    assert run("run", cwd=folder).returncode == 0
    done = run("run", "--time-limit", "0.1", "--json", cwd=folder)
    reasons = [t["error"]["message"] for t in json.loads(done.stdout)["trials"]]
    assert len(reasons) == 2
    for name, reason in zip(("fixture prepared", "sleeps"), reasons, strict=True):
        assert f"{name} took longer than 0.1 s and was given up" in reason


def test_offline_costs_nothing_and_no_budget_stops_it(folder: Path):
    """Neither a model whose price is known nor one whose price nobody knows."""
    (folder / "evals" / "two_evals.py").unlink()
    (folder / "offline.jsonl").write_text('{"match": "", "reply": "fine"}\n', "utf-8")
    (folder / "evals" / "one_evals.py").write_text(
        textwrap.dedent("""
            from evenhand import EvalSet
            over = {"model": ["openai:chat:gpt-5-mini", "openai:chat:of-my-own"]}
            evals = EvalSet("asks", over=over)

            @evals.eval
            async def asks(model, expect):
                expect((await model.generate("how?")).text == "fine", "is fine")
            """),
        "utf-8",
    )
    for most in ("5", "0"):
        done = run("run", "--offline", "--max-cost", most, "--json", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert [outcome for _, _, outcome in trials(done)] == ["pass", "pass"]


OWN_ADDRESS = """
import httpx2
from evenhand import EvalSet, recording

ELSEWHERE = "{elsewhere}"
client = recording.http_client()
evals = EvalSet("own address")


@evals.eval
def asks(expect):
    messages = [{{"role": "user", "content": "how?"}}]
    url = f"{{ELSEWHERE}}/v1/chat/completions?beta=1"
    reply = client.post(url, json={{"model": "of-my-own", "messages": messages}})
    expect(reply.json()["choices"][0]["message"]["content"] == "fine", "is fine")
    found = client.post(f"{{ELSEWHERE}}/search", json={{"words": "shoes"}})
    expect(found.json() == {{"found": 3}}, "is searched")
"""


def test_offline_a_model_at_an_address_in_the_code_is_scripted_too_and_other_services_are_not(
    folder: Path,
):
    """Under the name that it has at any address of a script's, so that a replay finds it."""
    (folder / "evals" / "two_evals.py").unlink()
    (folder / "offline.jsonl").write_text('{"match": "how", "reply": "fine"}\n', "utf-8")
    with FakeProvider(Script([Rule(reply={"found": 3}, path="search")])) as elsewhere:
        text = OWN_ADDRESS.format(elsewhere=elsewhere.url.replace("127.0.0.1", "localhost"))
        (folder / "evals" / "one_evals.py").write_text(text, "utf-8")
        for options in (("--offline",), ("--replay", "latest")):
            done = run("run", *options, "--json", cwd=folder)
            assert done.returncode == 0, done.stderr
            assert [outcome for _, _, outcome in trials(done)] == ["pass"]
        assert [request.path for request in elsewhere.requests] == ["/search"]


LABELS = """
from evenhand import EvalSet, at_least

evals = EvalSet("labels", data=[{{"id": f"c{{i}}"}} for i in range(10)]{how})


@evals.eval
def labels(case, expect):
    if case.id in {broken!r}:
        raise RuntimeError("no answer")
    expect(case.id not in ("c0", "c1"), "is right", metric="accuracy")
"""


@pytest.mark.parametrize(
    ("how", "broken", "options", "code"),
    [
        ("", (), (), 1),
        (", pass_rate=0.8", (), (), 0),
        (", pass_rate=0.9", (), (), 1),
        (", pass_rate=0.8", ("c2",), (), 3),
        (", pass_rate=0.7", ("c2",), (), 0),
        (", require={'accuracy': at_least(0.8)}", (), (), 0),
        (", require={'accuracy': at_least(0.8)}", ("c2",), (), 3),
        (", require={'acuracy': at_least(0.8)}", (), (), 3),
        ("", (), ("--at-least", "0.8"), 0),
        (", pass_rate=0.5", (), ("--at-least", "0.9"), 1),
        ("", (), ("--at-least", "80"), 2),
    ],
)
def test_the_exit_code_follows_what_a_set_requires(
    tmp_path: Path, how: str, broken: tuple[str, ...], options: tuple[str, ...], code: int
) -> None:
    """Eight of ten are right: passed, failed, or undecided where errors could turn it."""
    (tmp_path / "labels_evals.py").write_text(LABELS.format(how=how, broken=broken))
    done = run("run", "labels_evals.py", *options, cwd=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr


OVER_MODELS = """
from evenhand import EvalSet

evals = EvalSet("asks", over={"model": ["openai:chat:one", "openai:chat:two"]})


@evals.eval
async def asks(model, expect):
    expect((await model.generate("hi")).text == "yes", "says yes")
"""


def test_another_model_is_named_on_the_command_line(tmp_path: Path) -> None:
    """Instead of the set's own and its axis; where no set names one, it is refused."""
    (tmp_path / "asks_evals.py").write_text(OVER_MODELS)
    (tmp_path / "offline.jsonl").write_text('{"match": "hi", "reply": "yes"}\n')
    given = ("run", "asks_evals.py", "--offline", "--model", "openai:chat:three")
    done = run(*given, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (trial,) = json.loads(done.stdout)["trials"]
    assert trial["variant"]["model"] == "openai:chat:three"
    (tmp_path / "two_evals.py").write_text(TWO)
    done = run("run", "two_evals.py", "--model", "openai:chat:three", cwd=tmp_path)
    assert (done.returncode, "no eval would ask it" in done.stderr) == (2, True)


CONDITIONS = """
from evenhand import EvalSet

evals = EvalSet("bot", data=[{"id": f"c{i}", "input": i} for i in range(20)])


@evals.eval
def answers(case, expect):
    output = case.input * 1
    high = output > 9
    expect(high, "is high")
    expect(output >= 0, "is a number")
    return output
"""


def test_a_condition_that_became_lenient_is_no_better_application(tmp_path: Path):
    """Neither in `compare` nor in the gate; a better application is one."""
    file = tmp_path / "bot_evals.py"
    file.write_text(CONDITIONS, "utf-8")
    run("run", cwd=tmp_path)
    run("baseline", "latest", "--to", "b.evn", cwd=tmp_path)
    file.write_text(CONDITIONS.replace("output > 9", "output > 0"), "utf-8")
    gated = run(
        "gate", "--baseline", "b.evn", "--margin", "0.3", "--undecided", "pass", cwd=tmp_path
    )
    assert gated.returncode not in (0, 1), gated.stdout
    assert "is high: code changed" in " ".join(gated.stdout.split())
    run("run", cwd=tmp_path)
    other = run("compare", "latest~1", "latest", "--metric", "is a number", cwd=tmp_path)
    assert (other.returncode, "code changed" in other.stdout) == (0, False), other.stdout
    file.write_text(CONDITIONS.replace("* 1", "* 8"), "utf-8")
    better = run("gate", "--baseline", "b.evn", "--margin", "0.3", cwd=tmp_path)
    assert (better.returncode, "better" in better.stdout) == (0, True), better.stdout
