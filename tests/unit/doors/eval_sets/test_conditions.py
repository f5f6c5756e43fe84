"""Another condition is another test; another application, another label's condition and another layout aren't."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.definition import Definition
from evenhand.core.expect import Expectation
from evenhand.core.users_code import keep_text
from evenhand.doors.eval_sets.conditions import Conditions, conditions_in, conditions_of
from evenhand.doors.eval_sets.expect import Expect
from evenhand.doors.eval_sets.project_files import imported_code

CHECKS = '''
import json
from evenhand import Case, Dataset, EvalSet, Expect
from evenhand.scorers import Contains
from shop import bot

GREETINGS = ["Dear", "Hello"]
client = bot.Client()
evals = EvalSet("desk", data=Dataset.of({"id": "a", "input": "Hi"}))


def polite(text):
    return any(word in text for word in GREETINGS)


def ask(question):
    return client.answer(question)


def plain(question):
    return question.upper()


def well_formed(text):
    assert text.strip() == text


def formal(expect, text):
    expect("!" not in text, "is formal")


@evals.eval
async def answers(case: Case, expect: Expect, model) -> str:
    """Asks once."""
    reply = await model.generate("Be kind. " + case.input)
    other = ask(case.input)
    third = bot.reply(case.input)
    fourth = plain(case.input)
    output = reply.text.strip()
    short = len(output.split()) < 30
    found = []
    for word in GREETINGS:
        found.append(word in output)
        expect(output.find(word) < 9, f"begins with {word}")
    expect(short and polite(output), "is short")
    expect(sum(found), label="greetings", at_least=1)
    expect(other == third, "agree")
    expect(len(fourth) > 1, "answers")
    expect(bot.reply("x") == "y", "knows x")
    expect(output, Contains("Dear"), label="by a scorer")
    with expect.that("is JSON"):
        data = json.loads(output)
        assert data["kind"] == "letter"
    expect(output, f"label {case.id}")
    assert len(output) > 3, "too short"
    well_formed(output)
    formal(expect, output)
    return output


@evals.eval
def others(case: Case, expect: Expect) -> None:
    expect(case.input != "", "is short")
'''


def known(folder: Path, text: str) -> dict[str, str]:
    """The digests of what `answers` expects, in a file with this text."""
    folder.mkdir()
    (folder / "shop").mkdir()
    (folder / "shop" / "bot.py").write_text("class Client: pass\n")
    (folder / "desk_evals.py").write_text(text)
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines, 1) if line.startswith("async def answers"))
    last = next(i for i, line in enumerate(lines, 1) if i > first and line == "    return output")
    return labelled(conditions_of(lines_of(folder / "desk_evals.py", first - 1, last)))


def labelled(conditions: Conditions) -> dict[str, str]:
    """The digests of conditions by their labels, or by the patterns of these."""
    return {**conditions.by_label, **dict(conditions.patterns)}


def lines_of(path: Path, first: int, last: int) -> Any:
    """An eval that stands in these lines, as far as its conditions go."""

    class Lines:
        pass

    lines: Any = Lines()
    lines.path, lines.first, lines.last, lines.function = path, first, last, None
    return lines


PUT_TOGETHER = {"label\\ .*", "begins\\ with\\ .*"}
LABELS = {
    "answers", "is short", "greetings", "agree", "knows x", "is JSON", "is formal", "", *PUT_TOGETHER
}  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("expect(short and polite(output)", "expect(short", {"is short"}),
        ("< 30", "< 300", {"is short"}),
        ("return any(word in", "return all(word in", {"is short"}),
        ('["Dear", "Hello"]', '["Dear"]', {"is short", "greetings"}),
        ("found.append(word in output)", "found.append(True)", {"greetings"}),
        ("sum(found)", "sum(found) + 1", {"greetings"}),
        ("find(word) < 9", "find(word) < 99", {"begins\\ with\\ .*"}),
        ("other == third", "other or third", {"agree"}),
        ("len(fourth) > 1", "len(fourth) > 0", {"answers"}),
        ('bot.reply("x") == "y"', 'bot.reply("x") != ""', {"knows x"}),
        ('data["kind"] == "letter"', '"kind" in data', {"is JSON"}),
        ('"!" not in text', '"!!" not in text', {"is formal"}),
        ("len(output) > 3", "len(output) > 0", {""}),
        ("text.strip() == text", "text", {""}),
    ],
)
def test_the_labels_of_conditions_that_were_changed_are_told(
    tmp_path: Path, before: str, after: str, changed: set[str]
):
    """In the eval, and in what it names of its file."""
    first = known(tmp_path / "first", CHECKS)
    assert first.keys() == LABELS
    assert CHECKS.count(before) == 1
    second = known(tmp_path / "second", CHECKS.replace(before, after))
    assert {label for label in LABELS if first[label] != second[label]} == changed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"Be kind. " + case.input', '"Be brief. " + case.input'),
        ("question.upper()", "question.lower()"),
        ("client.answer(question)", "client.answer(question, retries=3)"),
        ("client = bot.Client()", "client = bot.Client(2)"),
        ("bot.reply(case.input)", "bot.reply(case.input, 2)"),
        ("output = reply.text.strip()", "output = reply.text"),
        ('Contains("Dear")', 'Contains("Hello")'),
        ('"too short"', '"too short, that is"'),
        ('    """Asks once."""\n', "    # Asks once.\n"),
        ("(other == third,", "(\n        other == third,"),
        ('expect(case.input != "", "is short")', 'expect(True, "is short")'),
    ],
)
def test_what_is_no_part_of_a_condition_changes_none(tmp_path: Path, before: str, after: str):
    """What answers, what another eval or a scorer asks, and how the file is laid out."""
    assert before in CHECKS
    edited = known(tmp_path / "second", CHECKS.replace(before, after, 1))
    assert edited == known(tmp_path / "first", CHECKS)


@pytest.mark.parametrize("text", ["def answers(:", "\0", None])
def test_what_cannot_be_read_has_no_digests(tmp_path: Path, text: str | None):
    """An eval may be typed at a prompt, and its file may be gone."""
    path = tmp_path / "desk_evals.py"
    if text is not None:
        path.write_text(text)
    assert conditions_of(lines_of(path, 1, 2)) == Conditions()


PARAMETRIZED = """
import pytest


def bot(number):
    return number + 1


def high(number):
    return number > 9


@pytest.mark.parametrize("n, m", [(1, 2)])
def test_high(expect, n, m):
    output = bot(n)
    expect(high(output), "is high")
    assert m
"""


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("number + 1", "number + 2", set[str]()),
        ("number > 9", "number > 2", {"is high"}),
        ("assert m", "assert n", {""}),
    ],
)
def test_what_a_test_of_pytests_gives_its_parameters_to_is_what_it_tests(
    tmp_path: Path, before: str, after: str, changed: set[str]
):
    """As an eval does with its case."""
    both = list[dict[str, str]]()
    for name, text in (("a", PARAMETRIZED), ("b", PARAMETRIZED.replace(before, after))):
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        both.append(labelled(conditions_of(lines_of(path, 13, 16))))
    first, second = both
    assert {label for label in first if first[label] != second[label]} == changed
    assert first.keys() == {"is high", ""}


STATED = """
WORDS = ["Dear"]


def stated(expect, text):
    expect(any(word in text for word in WORDS), "greets")
"""


WITHIN = """
async def answers(case, expect):
    from late_limits import MOST
    from late_desk import checks
    import late_limits as bounds
    output = case.input
    expect(len(output) < MOST, "is short")
    expect(len(output) > bounds.LEAST, "is long")
    checks.assert_plain(output)
    return output
"""
LIMITS = "MOST = 30\nLEAST = 3\n"
PLAIN = "def assert_plain(text):\n    assert '<b>' not in text\n"


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("MOST = 30", "MOST = 300", {"is short"}),
        ("LEAST = 3", "LEAST = 0", {"is long"}),
        ("'<b>'", "'<i>'", {""}),
    ],
)
def test_conditions_consist_of_what_an_eval_imports_in_its_body(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, changed: set[str]
):
    """As of what its file imports, whether or not it has been imported yet."""
    digests = list[dict[str, str]]()
    for name, edit in (
        ("first", lambda text: text),
        ("again", lambda text: text),
        ("edited", None),
    ):
        folder = tmp_path / name
        (folder / "late_desk").mkdir(parents=True)
        for file, text in (
            ("late_limits", LIMITS),
            ("late_desk/checks", PLAIN),
            ("late_desk/__init__", ""),
        ):
            (folder / f"{file}.py").write_text(edit(text) if edit else text.replace(before, after))
        (folder / "a_evals.py").write_text(WITHIN)
        with monkeypatch.context() as patch:
            patch.syspath_prepend(folder)
            digests.append(labelled(conditions_of(lines_of(folder / "a_evals.py", 2, 10))))
    first, again, edited = digests
    assert first == again
    assert first.keys() == {"is short", "is long", ""}
    assert {label for label in first if first[label] != edited[label]} == changed


def test_what_is_imported_once_more_is_read_once_more(tmp_path: Path):
    """As in a notebook, or while evals are watched: the function is the same, and what it names isn't."""
    path = tmp_path / "stated.py"
    digests = list[Definition | None]()

    class Told:
        def expect(self, expectation: Expectation) -> None:
            digests.append(expectation.definition)

    trial: Any = Told()
    for text in (STATED, STATED.replace("Dear", "Hello"), STATED):
        path.write_text(text)
        names: dict[str, Any] = {}
        exec(compile(text, path, "exec"), names)
        names["stated"](Expect(trial), "Dear")
        path.write_text("gone = 1\n")
        names["stated"](Expect(trial), "Dear")
    first, again, second, _, third, _ = digests
    assert first == again == third != second
    assert all(digests)


def imported(folder: Path, monkeypatch: pytest.MonkeyPatch, **modules: str) -> Any:
    """Modules of the user's in a folder, imported in their order; the last of them."""
    monkeypatch.syspath_prepend(folder)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.invalidate_caches()
    module = None
    for name in modules:
        module = importlib.import_module(name)
    return module


FAR = """
from pathlib import Path

def inner(text):
    assert {condition}

def outer(text):
    inner(text)
"""
MIDDLE = """
import far_checks

def follow(text):
    far_checks.outer(text)

def checked(text):
    follow(text)
    if text == "again":
        checked(text)
"""
NEAR = """
from middle_checks import checked

def own(text):
    checked(text)

def test_text(expect):
    own("Dear")
"""


def test_asserts_are_known_however_many_modules_lie_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Through functions that only call others, in their own file and in others; and one may call itself."""
    digests = list[str]()
    for number, condition in enumerate(("len(text) < 30", "len(text) < 300", "len(text) < 30")):
        folder = tmp_path / str(number)
        folder.mkdir()
        texts = {"far_checks": FAR.format(condition=condition), "middle_checks": MIDDLE}
        near = imported(folder, monkeypatch, **texts, near_checks=NEAR)
        digests.append(conditions_in(near.test_text).asserts)
    first, other, same = digests
    assert first
    assert first == same != other


def test_an_edit_in_the_middle_of_a_run_makes_no_difference_to_its_conditions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """They are read when the first trial states them, as they were when the run began; so are numbers they name."""
    limits, helper = "LIMIT = 30\n", "import own_limits\n\ndef stated(expect, text):\n"
    helper += '    expect(len(text) < own_limits.LIMIT, "is short")\n'
    asserting = "import own_limits\n\ndef test_text(expect):\n    assert 3 < own_limits.LIMIT\n"
    digests = list[list[str]]()
    for edits in ({}, {"LIMIT = 30": "LIMIT = 300", "(text) <": "(text) <="}):
        folder = tmp_path / str(len(edits))
        folder.mkdir()
        names = {"own_limits": limits, "own_tests": asserting, "own_helper": helper}
        module = imported(folder, monkeypatch, **names)
        imported_code()
        for file in folder.glob("own_*.py"):
            text = file.read_text()
            for before, after in edits.items():
                text = text.replace(before, after)
            file.write_text(text)
        states: list[Definition | None] = []
        trial: Any = type("T", (), {"expect": lambda _, one: states.append(one.definition)})()  # noqa: B023
        module.stated(Expect(trial), "Dear")
        (state,) = states
        assert state is not None
        digests.append(
            [state.settings["code"], conditions_in(sys.modules["own_tests"].test_text).asserts]
        )
    assert digests[0] == digests[1]
    assert all(digests[0])


def test_a_label_of_which_nothing_is_written_is_known_by_what_fits_everything():
    """Where something of another label is written, that one goes first."""
    some = Conditions(patterns=((".*", "ast:1"), ("has\\ .*", "ast:2")), whole="ast:3")
    assert some.digest("anything") == Conditions(patterns=((".*", "ast:1"),)).digest("any")
    alone = Conditions(patterns=(("has\\ .*", "ast:2"),))
    assert some.digest("has refund") == alone.digest("has refund")
    assert some.digest("anything") not in ("", "ast:3", some.digest("has refund"))


OWN_LIMIT = """
LIMIT = 30


def stated(expect, text):
    expect(len(text) < LIMIT, "is short")
"""


def test_a_number_that_is_edited_in_the_middle_of_a_run_is_that_of_its_beginning(tmp_path: Path):
    """The function that names it is the same; and so is one that no text of the file is compiled to, as pytest's."""
    path = tmp_path / "own_limit.py"
    digests = list[Definition | None]()

    class Told:
        def expect(self, expectation: Expectation) -> None:
            digests.append(expectation.definition)

    trial: Any = Told()
    for edited in (OWN_LIMIT, OWN_LIMIT.replace("30", "300")):
        for compiled in (OWN_LIMIT, OWN_LIMIT.replace('"is short"', '"is short", why=""')):
            path.write_text(OWN_LIMIT)
            keep_text(str(path))
            names: dict[str, Any] = {}
            exec(compile(compiled, path, "exec"), names)
            path.write_text(edited)
            names["stated"](Expect(trial), "Dear")
    assert len({str(one) for one in digests}) == 1
    assert digests[0] is not None
    assert digests[0].settings["code"]


READS = """
import json
from pathlib import Path
from late_goldens import GOLDENS, PROMPT

HERE = Path(__file__).parent
GOLD = json.loads((HERE / "data" / "gold.json").read_text())
WORDS = Path("words.txt").read_text().split()

def written():
    return Path("data/out.json").read_text()

def answers(case, expect):
    expect(case.input == GOLD[case.id], "is gold")
    expect(case.input in WORDS, "is a word")
    expect(case.input == GOLDENS[case.id], "is golden")
    expect(case.input not in PROMPT, "is no prompt")
    expect(written() == "x", "has written")
    expect(case.input == "y", "is y")
"""
GOLDENS = """
import csv
from pathlib import Path

GOLDENS = [*csv.reader(Path(__file__).with_name("goldens.csv").open())]
PROMPT = Path(__file__).with_name("prompt.txt").read_text()
"""


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("data/gold.json", {"is gold"}),
        ("words.txt", {"is a word"}),
        ("goldens.csv", {"is golden"}),
        ("prompt.txt", set[str]()),
        ("data/out.json", set[str]()),
        ("data/other.json", set[str]()),
    ],
)
def test_conditions_consist_of_the_data_that_constants_are_read_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, changed: set[str]
):
    """Other right answers are another test; a prompt of the application's, and what it writes, are none."""
    digests = list[dict[str, str]]()
    for name in ("first", "again", "edited"):
        folder = tmp_path / name
        (folder / "data").mkdir(parents=True)
        for one in ("data/gold.json", "words.txt", "goldens.csv", "prompt.txt", "data/out.json"):
            (folder / one).write_text("old")
        if name == "edited":
            (folder / file).write_text("new")
        (folder / "late_goldens.py").write_text(GOLDENS)
        (folder / "a_evals.py").write_text(READS)
        with monkeypatch.context() as patch:
            patch.syspath_prepend(folder)
            digests.append(labelled(conditions_of(lines_of(folder / "a_evals.py", 13, 20))))
    first, again, edited = digests
    assert first == again
    assert {label for label in first if first[label] != edited[label]} == changed


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [("MOST = 30", "MOST = 31", True), ("gone = 1", "gone = 2", False)],
)
def test_a_constant_that_a_module_hands_on_is_that_of_the_module_it_is_written_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, changed: bool
):
    """By whatever name, and through any number of modules."""
    modules = {
        "written_limits": "MOST = 30\ngone = 1\n",
        "middle_limits": "from written_limits import MOST as LIMIT\n",
        "outer_limits": "from middle_limits import LIMIT\n",
    }
    text = (
        "from outer_limits import LIMIT\n\n\ndef answers(case, expect):\n"
        '    expect(len(case.input) < LIMIT, "is short")\n'
    )
    digests = list[dict[str, str]]()
    for name in ("first", "edited"):
        folder = tmp_path / name
        folder.mkdir()
        for module, source in modules.items():
            there = source.replace(before, after) if name == "edited" else source
            (folder / f"{module}.py").write_text(there)
        (folder / "a_evals.py").write_text(text)
        with monkeypatch.context() as patch:
            patch.syspath_prepend(folder)
            digests.append(labelled(conditions_of(lines_of(folder / "a_evals.py", 4, 5))))
    assert (digests[0]["is short"] != digests[1]["is short"]) is changed


JUDGED = """
def ask(case):
    return case.input.upper()


def fits(case, output):
    return output == case.expected


def answers(case, expect):
    output = ask(case)
    expect(fits(case, output), "fits")
"""


@pytest.mark.parametrize(
    ("before", "after", "changed"), [("==", "in", True), ("upper", "lower", False)]
)
def test_a_function_that_is_given_the_case_and_what_came_of_it_is_the_check(
    tmp_path: Path, before: str, after: str, changed: bool
):
    """One that is given the case alone is what is tested."""
    digests = list[str]()
    for name, text in (("a", JUDGED), ("b", JUDGED.replace(before, after))):
        (tmp_path / f"{name}_evals.py").write_text(text)
        lines = lines_of(tmp_path / f"{name}_evals.py", 10, 12)
        digests.append(labelled(conditions_of(lines))["fits"])
    assert (digests[0] != digests[1]) is changed
