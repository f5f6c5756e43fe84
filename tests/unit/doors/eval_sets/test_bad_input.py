"""What is wrong with eval files: told when they are read, with file and line, all at once; the others still run."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import ConfigError, Problem, UsageError
from evenhand.core.plan import Plan
from evenhand.doors.eval_sets.bounds import misgiven
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.doors.eval_sets.discovery import find
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.doors.eval_sets.selection import EvalFilter

HEAD = """\
from evenhand import *
from evenhand.scorers import *
import evenhand.scorers as scorers
evals = EvalSet("{name}", judge="echo")
"""
GOOD = """
@evals.eval
def holds(expect):
    expect(True, "holds")
"""


def written(folder: Path, name: str, body: str, head: str = HEAD) -> Path:
    """An eval file; its first line after the head is 5."""
    path = folder / f"{name}_evals.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head.format(name=name) + textwrap.dedent(body), "utf-8")
    return path


def read(*paths: Path) -> tuple[Plan, list[Problem]]:
    """The plan of these files, and what is wrong with those that it does without."""
    found = find([str(path) for path in paths])
    plan = plan_of(found.sets, env={}, only=EvalFilter(lines=found.lines), broken=found.problems)
    return plan, found.problems


def problems(*paths: Path) -> list[Problem]:
    """What is wrong where nothing is left to run."""
    with pytest.raises(ConfigError) as caught:
        read(*paths)
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('expect("x", Rating(CLARITY))', "rating clarity gives a number, and has no bound"),
        ('expect("x", scorers.Rating("how"), weight=2)', "rating custom gives a number"),
        ('await expect.now("x", Rating(CLARITY))', "has no bound"),
        ('expect("x", Contains("b"), at_least=3)', "true or false, and has a bound"),
        ('expect("x", Preferred(over="y", criteria="c"), at_least=1)', "true or false, and has"),
        ('expect("x", Jury(["echo"], of=Passes("c")), at_least=1)', "true or false, and has"),
        ('expect("x", ~Rating(CLARITY))', "rating clarity measures, and only a verdict has an op"),
        ('expect("x", ~Rating(case))', "Rating measures, and only a verdict has an opposite"),
        ('expect("x", ~Contains("b"), at_least=3)', "true or false, and has a bound"),
        ('expect("x", not Contains("b"))', "`not Contains('b')` is False, whatever the output"),
        ('expect("x", Contains("b") and Contains(case.id))', "only the last is asked"),
        ('expect("x", Contains("b") or Passes("c"))', "only the first is asked"),
        ('expect("x", Equals(case.id), at_most=case.n)', "Equals is true or false, and has a b"),
        ('expect.now("x", Contains("b"))', "not awaited, and so nothing is expected"),
        ('if expect.now("x", Contains("b")).outcome == "pass": pass', "not awaited"),
        ('found = expect.now("x", Contains("b")); assert found.outcome', "not awaited"),
        ('expect("x", Rating(case))', "Rating gives a number"),
        ('expect("x", Rating("how"), at_least="high")', "at_least is 'high', not a number"),
        ('expect(3, at_least=5, at_most=2, label="n")', "at_least is 5, and at_most is 2"),
        ("expect(case.id == 1)", "needs a label"),
        ('expect("x", Passes("  "))', "there are no criteria"),
        (
            'expect("x", Passes("x", critera="y"))',
            "Passes takes no `critera`: did you mean `criteria`?",
        ),
        ('expect("x", Contains())', "Contains needs `wanted`"),
        ('expect("x", CallsTools("search"))', "'search' is a text, not a list"),
        ('expect("x", Preferred(over="y", criteria="c", ties="no"))', "ties='no'"),
        ('expect("x", Rating(Rubric("r", {1: "a", 3: "b", 4: "c"})), at_least=2)', "a gap"),
        ('expect("x", Rating(Rubric("r", {(1, 3): "a", (3, 5): "b"})), at_least=2)', "overlap"),
    ],
)
def test_what_a_line_says_plainly_is_known_before_it_runs(tmp_path: Path, line: str, says: str):
    """With the line; nothing of the eval is called."""
    path = written(
        tmp_path, "plain", f"\n@evals.eval\nasync def wrong(case, expect):\n    pass\n    {line}\n"
    )
    (problem,) = problems(path)
    assert says in problem.what
    assert (problem.file, problem.line) == (str(path), 9)


@pytest.mark.parametrize(
    "line",
    [
        'expect("x", Rating(CLARITY), at_least=4)',
        'expect("x", Rating(CLARITY), **case.metadata)',
        'expect("x", Contains("b"), at_least=None)',
        'await gather(expect.now("x", scorer), expect.now("y", scorer))',
        'asked = expect.now("x", scorer); found = await asked; assert found.outcome',
        'asked = [expect.now(x, scorer) for x in "xy"]',
        'return expect.now("x", scorer)',
        'expect("x", scorer)',
        "expect(*case.context)",
        'expect("x", Passes(case.expected))',
        'expect("x", ~Contains("b"))',
        'expect("x", ~~Passes(case.id))',
        'expect("x", case.id and Contains("b"))',
        "Rating = case.id\n    expect('x', Rating(3))",
        "outcome = expect.that('reads')",
        "case.expect('x', 3)",
    ],
)
def test_what_hangs_on_a_variable_is_left_to_the_run(tmp_path: Path, line: str):
    """A guess would refuse what is right."""
    head = HEAD + 'scorer = Contains("x")\n'
    path = written(
        tmp_path, "fine", f"\n@evals.eval\nasync def fine(case, expect):\n    {line}\n", head=head
    )
    assert read(path)[1] == []


@pytest.mark.parametrize(
    ("body", "line", "says"),
    [
        ("def wrong(expct): ...\nevals.eval(wrong)\n", 5, "Did you mean 'expect'?"),
        ("@evals.eval\ndef wrong(expect):\n    yield\n", 5, "has a yield"),
        ("@evals.eval\ndef wrong(expect, /): ...\n", 5, "by position alone"),
        (GOOD + GOOD, 10, "two evals of this set are called holds"),
        ("@evals.fixture\ndef one(): ...\n@evals.fixture\ndef one(): ...\n" + GOOD, 7, "two fix"),
        ("@evals.fixture\ndef case(): ...\n" + GOOD, 5, "cannot be called 'case'"),
        ("@evals.fixture\ndef one(two): ...\n" + GOOD, 5, "asks for 'two', which nothing"),
        ("@evals.fixture\ndef one(one): ...\n" + GOOD, 5, "one → one"),
        (
            "@evals.fixture\ndef b(c): ...\n@evals.fixture\ndef a(b): ...\n@evals.fixture\ndef c(a): ...\n"
            + GOOD,
            7,
            "a → b → c → a",
        ),
        (
            "EvalSet('z', repeats=0, over={'tone': []})",
            5,
            "not a whole number from 1 to 1,000,000; the axis 'tone' is []",
        ),
        ("EvalSet('z', over={'tone': 'kind'})", 5, "is 'kind', not a list"),
        ("EvalSet('z', over={'judge': ['a']})", 5, "cannot be called 'judge'"),
        ("EvalSet('z', tags='slow')", 5, "tags is 'slow', not a list"),
        ("@evals.eval(tags='slow')\ndef e(): ...\n", 5, "tags is 'slow', not a list"),
        ("EvalSet('  ')", 5, "a name of one line"),
        ("empty = EvalSet('z', data=[])\n@empty.eval\ndef e(): ...\n", 5, "holds no cases"),
        ("none = EvalSet('z')\n", 5, "has no evals"),
        ("twice = EvalSet('z', data=[{'id': 'a'}, {'id': 'a'}])", 5, "two cases have the id 'a'"),
        ("evals.eval(3)", 5, "3 is not a function"),
        ("LEVELS = Rubric('r', {1: 'a', 3: 'b', 4: 'c'})", 5, "a gap"),
        ("import nothing_of_this_name", 5, "ModuleNotFoundError"),
        ("def f(:\n", 5, "SyntaxError: invalid syntax It is read by Python 3."),
        ("raise SystemExit(3)", 5, "SystemExit: 3"),
        ("m = EvalSet('m', model='opnai:gpt')\n@m.eval\ndef e(model): ...\n", 5, "opnai"),
    ],
)
def test_a_file_says_what_is_wrong_with_it_and_others_run(
    tmp_path: Path, body: str, line: int, says: str
):
    """Its line, what is wrong, and nothing else; the sound file beside it is planned."""
    bad = written(tmp_path, "bad", body + GOOD * ("evals" not in body))
    good = written(tmp_path, "good", GOOD)
    plan, wrong = read(bad, good)
    told = [problem for problem in wrong if problem.line == line]
    assert [says in f"{problem.what} {problem.hint}" for problem in told] == [True], wrong
    assert Path(told[0].file) == bad
    assert "good: holds" in {variant.eval for variant in plan.variants}


def test_all_problems_of_all_files_are_told_at_once(tmp_path: Path):
    """In the order of files and lines; one that is in a dataset names the dataset's own line."""
    (tmp_path / "d.csv").write_text("id,input\na,1\na,2\nb\n")
    one = written(tmp_path, "one", "@evals.eval\ndef wrong(ton, cas, expect):\n    expect(True)\n")
    two = written(tmp_path, "two", 'd = EvalSet("d", data=Dataset.read("d.csv"))\n')
    told = problems(one, two, tmp_path / "none_evals.py")
    assert [(Path(p.file).name, p.line) for p in told] == [
        ("d.csv", 3),
        ("d.csv", 4),
        ("none_evals.py", 0),
        ("one_evals.py", 5),
        ("one_evals.py", 5),
        ("one_evals.py", 7),
    ]


def test_what_ends_an_import_does_not_hide_the_rest(tmp_path: Path):
    """Values that are made further down and lines of evals, as far as they hang on nothing that was not made."""
    body = """
LEVELS = Rubric("r", {1: "a", 3: "b", 4: "c"})
OTHERS = Rubric("r", {(1, 3): "a", (3, 5): "b"})
FINE = Rubric("r", {1: "a", 2: "b"})
def unused():
    Contains()
try:
    Contains()
except TypeError:
    pass
twice = EvalSet("z", data=[{"id": "a"}, {"id": "a"}])

@evals.eval
def wrong(case, expect):
    Passes = case.id
    Passes("  ")
    expect("x", Rating(FINE))
    expect("x", Contains())

@evals.eval(tags=["slow"])
async def wrong_too(case, expect):
    expect("x", Rating(LEVELS), at_least=2)
    expect(case.id == 1)
"""
    found = problems(written(tmp_path, "many", body))
    lines = HEAD.count("\n")
    assert [(p.line - lines, p.what.partition(":")[0]) for p in found] == [
        (2, "rubric 'r'"),
        (3, "rubric 'r'"),
        (11, "two cases have the id 'a'"),
        (17, "expect"),
        (18, "Contains needs `wanted`"),
        (23, "expect"),
    ]


def test_a_line_outside_of_every_eval_leaves_the_other_files_running(tmp_path: Path):
    """It is told what evals there are; none of that file runs."""
    one, two = written(tmp_path, "one", GOOD), written(tmp_path, "two", GOOD)
    plan, (problem,) = read(Path(f"{one}:1"), two)
    assert (problem.file, problem.line) == (str(one), 1)
    assert "no eval is on this line" in problem.what
    assert "holds (6–8)" in problem.hint
    assert [variant.eval for variant in plan.variants] == ["two: holds"]
    assert len(problems(Path(f"{one}:1"))) == 1


def test_a_setup_that_fails_is_told_once_and_other_folders_run(tmp_path: Path):
    """Not once for each of its files."""
    broken, sound = tmp_path / "broken" / "evals", tmp_path / "sound" / "evals"
    for name in ("one", "two", "three"):
        written(broken, name, GOOD)
    written(sound, "four", GOOD)
    (broken / "setup.py").write_text("\n1 / 0\n")
    plan, (problem,) = read(broken.parent, sound.parent)
    assert (problem.file, problem.line) == (str(broken / "setup.py"), 2)
    assert "ZeroDivisionError" in problem.what
    assert plan.size == 1


def test_what_setup_makes_is_there_for_evals_and_made_once(tmp_path: Path):
    """`from setup import …` is the module that was loaded first, in each of two projects."""
    for place in ("one", "two"):
        folder = tmp_path / place / "evals"
        body = f"from setup import LOG\nassert LOG == ['{place}'], LOG\n" + GOOD
        written(folder, place, body)
        (folder / "setup.py").write_text(f"LOG = []\nLOG.append('{place}')\n")
    assert read(tmp_path / "one", tmp_path / "two")[1] == []


def test_two_projects_may_each_have_a_module_of_one_name(tmp_path: Path):
    """Each is given its own, whichever is read first."""
    for place in ("one", "two"):
        body = f"from judges import WHERE\nassert WHERE == '{place}', WHERE\n" + GOOD
        written(tmp_path / place / "evals", place, body)
        (tmp_path / place / "judges.py").write_text(f"WHERE = '{place}'\n")
    plan, wrong = read(tmp_path / "one", tmp_path / "two")
    assert wrong == []
    assert plan.size == 2


def test_an_error_in_the_application_is_told_at_the_import_with_its_own_place(tmp_path: Path):
    """The line of the eval file, and where it was raised."""
    (tmp_path / "applic.py").write_text("def f():\n    raise KeyError('x')\nf()\n")
    path = written(tmp_path, "one", "import applic\n" + GOOD)
    (problem,) = problems(path)
    assert problem.line == 5
    assert "applic.py:2" in problem.hint


def test_two_evals_of_one_name_in_two_files_are_told_apart_or_refused(tmp_path: Path):
    """Sets of one name may have different evals; one that already exists names the other's place."""
    one = written(tmp_path / "a", "same", GOOD)
    two = written(tmp_path / "b", "same", GOOD)
    other = written(tmp_path / "c", "same", GOOD.replace("holds(", "differs("))
    assert read(one, other)[1] == []
    plan, (problem,) = read(one, two)
    assert plan.size == 1
    assert f"already exists, in {one}:6" in problem.what


def test_a_set_that_is_given_twice_is_run_once():
    """As a file that is named twice is."""
    evals = EvalSet("once")
    evals.eval(lambda: None)
    assert plan_of([evals, evals], env={}).size == 1


def test_an_eval_typed_anew_takes_the_place_of_the_earlier():
    """In a notebook a cell is run again and again."""
    names: dict[str, Any] = {}
    for _ in range(2):
        exec(
            compile(GOOD, "<cell>", "exec"), names | {"evals": names.setdefault("e", EvalSet("n"))}
        )
    assert len(names["e"].evals) == 1
    assert plan_of([names["e"]], env={}).size == 1


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "/etc/passwd",
        "link",
        "a/../../secret",
        "",
        ".",
        "folder",
        "none",
        "nul\0",
        None,
        3,
    ],
)
def test_files_outside_of_the_folder_or_not_there_are_refused(tmp_path: Path, name: Any):
    """Dots, links, absolute paths, folders, and what is no path at all."""
    folder = tmp_path / "files"
    (folder / "folder").mkdir(parents=True)
    (tmp_path / "secret").write_text("s")
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(UsageError):
        EvalSet("files", files=folder).file(name)


def test_files_inside_of_the_folder_are_found_whatever_they_are_called(tmp_path: Path):
    """Nested ones, ones with dots, and links that stay inside."""
    folder = tmp_path / "files"
    (folder / "deep").mkdir(parents=True)
    for name in ("deep/a..b.txt", "deep/c.bin"):
        (folder / name).write_bytes(b"\xff")
    (folder / "link").symlink_to(folder / "deep" / "c.bin")
    evals = EvalSet("files", files=folder)
    assert evals.file("deep/a..b.txt").read_bytes() == b"\xff"
    assert evals.file("link").read_bytes() == b"\xff"
    (tmp_path / "files_evil").mkdir()
    (tmp_path / "files_evil" / "x").write_text("")
    with pytest.raises(UsageError, match="outside"):
        evals.file("../files_evil/x")


def test_a_dataset_of_the_current_folder_is_read_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Once for each line that reads it; where it is in neither folder, both are named, and the line."""
    folder = tmp_path / "evals"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    code = compile("data = Dataset.read('qs.csv')", str(folder / "x_evals.py"), "exec")
    (folder / "x_evals.py").write_text("data = Dataset.read('qs.csv')\n")
    (tmp_path / "q.csv").write_text("id\na\n")
    with pytest.raises(ConfigError) as refused:
        exec(code, {"Dataset": Dataset})
    message = str(refused.value)
    assert message.startswith("evals/x_evals.py:1: qs.csv does not exist\n  Did you mean 'q.csv'?")
    assert f"Looked in {folder} and {tmp_path}." in message
    (tmp_path / "qs.csv").write_text("id\na\n")
    for _ in range(2):
        exec(code, {"Dataset": Dataset})
    note = f"evals/x_evals.py:1: qs.csv is not beside this file, and read from {tmp_path}\n"
    assert capsys.readouterr().err == note
    (folder / "qs.csv").write_text("id\nb\n")
    names: dict[str, Any] = {"Dataset": Dataset}
    exec(code, names)
    assert [case.id for case in names["data"]] == ["b"]
    assert capsys.readouterr().err == ""


def test_a_dataset_is_found_beside_the_file_that_reads_it(tmp_path: Path):
    """From wherever it is run; a path from where one stands is good as well."""
    (tmp_path / "d.csv").write_text("id\na\n")
    body = 'd = EvalSet("d", data=Dataset.read("d.csv"))\n@d.eval\ndef e(): ...\n' + GOOD
    assert read(written(tmp_path, "one", body))[0].size == 2
    assert len(Dataset.read(tmp_path / "d.csv")) == 1


def my_model(prompt: str) -> str:
    """What a user may take for a model."""
    return prompt


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            {"model": my_model},
            "model= takes a model, and my_model is a function: call it in the eval",
        ),
        ({"judge": my_model}, "or name its file, judge='file://answers.py:my_model'"),
        ({"over": {"model": ["echo", 3]}}, "model= takes a model, and this is 3: write an id"),
        ({"judge": " "}, "judge= takes a model, and this is ' '"),
        (
            {"judge": {"id": "openai:gpt-5", "temperature": 0}},
            "judge= 'temperature' is not known: a model has id, label, config",
        ),
        ({"over": {"model": [{"id": 5}]}}, "model= id is 5, not a model's id"),
        ({"model": {"id": "echo", "config": "hot"}}, "model= config is 'hot', not settings"),
    ],
)
def test_a_model_that_is_neither_an_id_nor_a_provider_is_refused_when_the_set_is_made(
    arguments: dict[str, Any], says: str
):
    """A function is what many try first: they are told where it belongs."""
    with pytest.raises(UsageError, match=re.escape(says)):
        EvalSet("x", **arguments)


def test_a_number_may_be_asked_for_exactly():
    """at_least and at_most may be the same; the other way round nothing could pass."""
    assert misgiven(3, 3, 1, "", "") == ""
    assert misgiven(3, 2, 1, "", "") == "at_least is 3, and at_most is 2: no number is both"
