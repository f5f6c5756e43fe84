"""One thing is changed in the definition of a test and nothing else: each place that compares names it.

And what may be changed between two runs that are compared is no reason to judge nothing.
"""

from __future__ import annotations

import json
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.runs import baseline_of

from evenhand import EvalSet, compare, run
from evenhand.analysis.comparison.changed_tests import Argument, _Alone
from evenhand.analysis.gates.baseline_file import read_baseline, write_baseline
from evenhand.analysis.gates.gate_verdict import gate
from evenhand.analysis.history.run_changes import changes, evidence_of
from evenhand.core import definition
from evenhand.core.run import TrialResult
from evenhand.render.comparing import Comparison
from evenhand.render.run import Run
from evenhand.testing import Scripted
from evenhand.wings.viewer.comparison import comparison as viewed

BASE = '''
import functools
from dataclasses import dataclass, field
from evenhand import Case, EvalSet, Expect, Score
from evenhand.scorers import Contains, CustomJudge, Equals, Jury, Matches, Passes, Rating, Rubric
from evenhand.scorers.function import FunctionScorer

LIMIT = 5
NEEDLE = "t"


def bigger(output):
    return len(output) > LIMIT


def short(output: str) -> bool:
    """Whether it is short."""
    return bigger(output) is False  # a comment


def within(number):
    def at_most(output: str) -> bool:
        return len(output) <= number

    return at_most


def up_to(output: str, most: int) -> bool:
    return len(output) <= most


@dataclass
class Graded:
    step: float = 1.0

    def score(self, output, trial):
        return Score(float(len(output)) * self.step, scale=(0, 10))


data = [
    {
        "id": f"c{i}",
        "input": f"question {i}",
        "expected": f"answer {i}",
        "context": [f"passage {i}"],
        "tags": ["easy"],
        "metadata": {"row": i},
        "topic": "returns",
    }
    for i in range(12)
]
evals = EvalSet("desk", data=data, judge=JUDGE)


@evals.eval
def answers(case: Case, expect: Expect) -> str:
    output = SYSTEM(case)
    expect(output, Contains("t"), label="has it")
    expect(output, short, label="short")
    expect(output, within(6), label="within")
    expect(output, functools.partial(up_to, most=6), label="partly")
    expect(output, lambda text: "t" in text, label="lambda")
    expect(output, Graded(), at_least=2, at_most=9, metric="length")
    expect(output, Passes("is polite", examples=[{"output": "x", "passes": True}]), metric="tone")
    expect(output, Rating(Rubric("clarity", {3: "clear", 2: "so so", 1: "muddled"})), at_least=2, metric="clarity")
    expect("t" in output, "a condition")
    return output
'''

Edit = tuple[str, str]

CHANGES: dict[str, tuple[Edit, str]] = {
    "another input": (('"question {i}"', '"easier question {i}"'), "another input"),
    "another expected value": (
        ('f"answer {i}"', 'f"another answer {i}"'),
        "another expected value",
    ),
    "another context": (('f"passage {i}"', 'f"other passage {i}"'), "another context"),
    "another variable": (('"returns"', '"refunds"'), "other variables"),
    "other tags": (('["easy"]', '["hard"]'), "other tags"),
    "more tags": (('["easy"]', '["easy", "hard"]'), "other tags"),
    "the code of a condition": (
        ('expect("t" in output,', "expect(True,"),
        "a condition: code changed",
    ),
    "a lower bound": (("at_least=2, at_most=9", "at_least=1, at_most=9"), "at least 2"),
    "a higher bound": (("at_most=9", "at_most=20"), "at most 9"),
    "no bound any more": (("at_least=2, at_most=9", "at_least=2"), "at most 9"),
    "the bound of a judge": (
        ('at_least=2, metric="clarity"', 'at_least=1, metric="clarity"'),
        "at least 2",
    ),
    "a weight": (('label="has it")', 'label="has it", weight=3)'), "weight 1, now 3"),
    "left out of the verdict": (('label="short")', 'label="short", weight=0)'), "weight 1, now 0"),
    "criteria": (('"is polite"', '"is long enough"'), "tone: criteria changed"),
    "stricter": (('"is polite",', '"is polite", strict=True,'), "tone: strict changed"),
    "an example": (('"output": "x"', '"output": "y"'), "tone: examples changed"),
    "no examples": ((', examples=[{"output": "x", "passes": True}]', ""), "tone: examples changed"),
    "told more": (
        ('"is polite",', '"is polite", context="They are in a hurry.",'),
        "tone: context changed",
    ),
    "the words of a rubric": (('"so so"', '"not bad"'), "clarity: rubric changed"),
    "the levels of a rubric": (('3: "clear", 2', '4: "clear", 3: "fine", 2'), "clarity"),
    "another question for the judge": (
        (
            'Passes("is polite", examples=[{"output": "x", "passes": True}])',
            'Rating(Rubric("tone", {2: "a", 1: "b"})), at_least=1',
        ),
        "Passes, now Rating",
    ),
    "another scorer under its label": (('Contains("t")', 'Matches("t")'), "Contains, now Matches"),
    "another argument under its label": (('Contains("t")', 'Contains("a")'), "has it: "),
    "a condition instead of a scorer": (
        ('expect(output, Contains("t"), label="has it")', 'expect("t" in output, "has it")'),
        "Contains, now Stated",
    ),
    "the code of a grader": (("is False  # a comment", "in (True, False)"), "short: code changed"),
    "the code that a grader calls": (
        ("len(output) > LIMIT", "len(output) > LIMIT + 1"),
        "short: code changed",
    ),
    "a constant that a grader goes by": (("LIMIT = 5", "LIMIT = 7"), "code changed"),
    "what a grader was made with": (("within(6)", "within(60)"), "within: values changed"),
    "what a grader is given": (("most=6", "most=60"), "partly: values changed"),
    "the code of a lambda": (('"t" in text', '"a" in text'), "lambda: code changed"),
    "the argument of a class": (("Graded()", "Graded(0.5)"), "length: step changed"),
    "the code of a class": (("* self.step", "+ self.step"), "length: code changed"),
    "a scale": (("scale=(0, 10)", "scale=(0, 100)"), "length"),
    "one more expectation": (
        ("    return output", '    expect(output, Contains("e"), label="more")\n    return output'),
        "more: only in the second",
    ),
    "one expectation less": (
        ('    expect("t" in output, "a condition")\n', ""),
        "a condition: only in the first",
    ),
    "another eval set": (('"desk"', '"another desk"'), "different evals"),
    "another eval": (("def answers(", "def replies("), "different evals"),
}

METRICS = {"tone": "tone", "clarity": "clarity", "length": "length"}


def judge(id_: str = "judge-1") -> Scripted:
    """A judge that answers whatever it is asked."""

    def says(prompt: object) -> str:
        answer = {"reasoning": "r", "passes": True, "score": 2, "confidence": 0.9}
        return json.dumps(answer)

    return Scripted(says, id=id_)


def made(
    folder: Path,
    source: str,
    system: Callable[..., str] = lambda case: "text",
    *,
    judges: str = "judge-1",
    **options: object,
) -> Run:
    """A run of this eval file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "desk_evals.py"
    file.write_text(source)
    module = types.ModuleType(f"desk_{abs(hash(source))}")
    module.__dict__.update(SYSTEM=system, JUDGE=judge(judges), JUDGE2=judge("judge-2"))
    sys.modules[module.__name__] = module  # where dataclasses look for it
    exec(compile(source, str(file), "exec"), module.__dict__)
    evals: EvalSet = module.__dict__["evals"]
    return run(evals, progress=False, home=folder / ".evenhand", cache=False, **options)  # type: ignore[arg-type]


def worse(case: object) -> str:
    """A system that fails what the other one passes."""
    return "text" if getattr(case, "id", "") == "c0" else "no"


def edited(edit: Edit) -> str:
    """The eval file after an edit."""
    old, new = edit
    assert old in BASE
    return BASE.replace(old, new)


def passed_of(comparison: Comparison) -> str:
    """The verdict on whether trials passed."""
    return next(one.verdict for one in comparison.results if one.metric == "passed")


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run before any change, which nobody writes to."""
    return made(tmp_path_factory.mktemp("before"), BASE, worse)


@pytest.mark.thorough(after=14)
@pytest.mark.parametrize("name", CHANGES)
def test_whatever_is_changed_in_a_test_is_named_in_each_place_and_no_verdict_rests_on_it(
    tmp_path: Path, before: Run, name: str
):
    """The system is another one as well: so much the more would be wrongly said."""
    edit, words = CHANGES[name]
    now = made(tmp_path / "b", edited(edit))
    both = compare(before, now)
    assert passed_of(both) == "undecided"
    assert words in str(both)
    assert words in json.dumps(both.document())
    assert compare(before, now, metric="passed").verdict == "undecided"
    assert compare(now, before, metric="passed", margin=0.5).verdict == "undecided"

    shape = viewed(now.file, before.file)
    question = next(one for one in shape.questions if one.metric == "passed")
    assert [row.verdict for row in question.results] == ["undecided"]
    assert words in " ".join(question.lines)

    path = tmp_path / "b.evn"
    write_baseline(baseline_of(before.file), path)
    outcome = gate(read_baseline(path), now.file, 0.5)
    assert outcome.verdict == "nothing"
    assert {one.verdict for one in outcome.results if one.metric == "passed"} <= {"nothing"}
    assert (
        words in " ".join([*(one.why for one in outcome.results), *outcome.notes])
        or outcome.because
    )

    marked = changes(evidence_of(before.file), evidence_of(now.file))
    if "different evals" not in words:
        kinds = {one.kind for one in marked} - {"code"}
        assert kinds == {"data"} or kinds <= {"judge", "expectation"}
        assert kinds


def test_a_raw_score_is_compared_whatever_its_bound_is(tmp_path: Path):
    """A bound decides what passes, and not what is measured."""
    lengths = (
        made(tmp_path / "a", BASE, lambda case: "t"),
        made(tmp_path / "b", edited(CHANGES["a lower bound"][0]), lambda case: "t" * 9),
    )
    both = compare(*lengths, metric=["passed", *METRICS])
    by_metric = {one.metric: one for one in both.results}
    assert by_metric["length"].n == 12
    assert by_metric["length"].verdict == "better"
    assert by_metric["passed"].n == 0
    assert by_metric["tone"].n == 12


@pytest.mark.parametrize("metric", METRICS)
def test_what_a_metric_asks_concerns_that_metric_and_the_verdict_alone(tmp_path: Path, metric: str):
    """The other metrics are compared."""
    edits = {
        "tone": CHANGES["criteria"][0],
        "clarity": CHANGES["the words of a rubric"][0],
        "length": CHANGES["the code of a class"][0],
    }
    sides = made(tmp_path / "a", BASE), made(tmp_path / "b", edited(edits[metric]))
    both = compare(*sides, metric=[*METRICS])
    compared = {one.metric for one in both.results if one.n}
    assert compared == set(METRICS) - {metric}


LEGITIMATE: dict[str, Edit] = {
    "nothing": ("LIMIT", "LIMIT"),
    "the eval's own code": ("output = SYSTEM(case)", "output = str(SYSTEM(case))"),
    "a comment of a grader": ("# a comment", "# another comment"),
    "a docstring of a grader": ("Whether it is short.", "Says whether it is short."),
    "lines that move": ("LIMIT = 5", "LIMIT = 5\n\n\n"),
    "the order of cases": ("for i in range(12)", "for i in reversed(range(12))"),
    "a constant that nobody goes by": ('NEEDLE = "t"', 'NEEDLE = "u"'),
    "metadata": ('{"row": i}', '{"row": i + 1}'),
    "a function that nobody calls": ("def up_to(", "def unused():\n    return 1\n\n\ndef up_to("),
    "the name of a local variable of the eval": (
        "output = SYSTEM(case)",
        "output = answer = SYSTEM(case)",
    ),
    "who judges by default": (
        'EvalSet("desk", data=data',
        'EvalSet("desk", tags=["nightly"], data=data',
    ),
    "repeats": ('EvalSet("desk", data=data', 'EvalSet("desk", repeats=2, data=data'),
    "a fixture": ("@evals.eval", "@evals.fixture\ndef db():\n    yield 1\n\n\n@evals.eval"),
    "what the run has to reach": (
        'EvalSet("desk", data=data',
        'EvalSet("desk", pass_rate=0.5, data=data',
    ),
    "a loop around the expectations": (
        '    expect(output, short, label="short")',
        '    for grader in [short]:\n        expect(output, grader, label="short")',
    ),
    "an import": ("import functools", "import functools\nimport math"),
    "an expectation that moves": (
        '    expect("t" in output, "a condition")\n    return output',
        "    return output",
    ),
}


@pytest.mark.thorough(after=8)
@pytest.mark.parametrize("name", LEGITIMATE)
def test_what_is_no_part_of_the_test_may_be_changed(tmp_path: Path, name: str):
    """And then a worse system is worse."""
    old, new = LEGITIMATE[name]
    source = edited((old, new))
    if name == "an expectation that moves":
        line = '    expect("t" in output, "a condition")\n'
        source = source.replace(
            "    expect(output, Contains", line + "    expect(output, Contains", 1
        )
    before = made(tmp_path / "a", BASE)
    now = made(tmp_path / "b", source, worse)
    both = compare(before, now)
    result = next(one for one in both.results if one.metric == "passed")
    assert (result.n, result.verdict, dict(result.unlike)) == (12, "worse", {})
    assert compare(now, before, metric="passed").verdict == "better"
    path = tmp_path / "b.evn"
    write_baseline(baseline_of(before.file), path)
    assert gate(read_baseline(path), now.file, 0.05, metrics=["passed"]).verdict == "worse"
    marked = changes(evidence_of(before.file), evidence_of(now.file))
    assert [one for one in marked if one.kind not in ("model", "code")] == []


def test_where_nobody_can_tell_whether_code_was_edited_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A run of an earlier version, or code without source in another version of Python."""
    with monkeypatch.context() as earlier:
        earlier.setattr(definition, "text_of_code", lambda code: "")
        earlier.setattr(definition, "fields_in", lambda file, name: None)
        before = made(tmp_path / "a", BASE)
    now = made(tmp_path / "b", BASE, worse)
    words = "! short: nobody can tell whether its code was edited (12 cases): another version of"
    both = compare(before, now, metric="passed")
    assert (cases_of(both), both.verdict, words in str(both)) == ((12, 0), "worse", True)
    path = tmp_path / "b.evn"
    write_baseline(baseline_of(before.file), path)
    outcome = gate(read_baseline(path), now.file, 0.05, metrics=["passed"])
    assert (outcome.verdict, any(words in one for one in outcome.notes)) == ("worse", True)


def cases_of(comparison: Comparison) -> tuple[int, int]:
    """How many cases were compared, and how many are another test."""
    result = comparison.results[0]
    return result.n, sum(map(len, result.unlike.values()))


def test_three_edited_cases_of_sixty_are_named_and_the_others_compared(tmp_path: Path):
    """In a gate, too."""
    source = BASE.replace("range(12)", "range(60)")
    now_source = source.replace(
        'f"answer {i}"', 'f"answer {i}" if i not in (3, 4, 5) else "another"'
    )
    before, now = made(tmp_path / "a", source), made(tmp_path / "b", now_source, worse)
    both = compare(before, now, metric="passed")
    assert cases_of(both) == (57, 3)
    assert both.verdict == "worse"
    assert "left out: 3 cases with another expected value: c3, c4, c5" in str(both)
    path = tmp_path / "b.evn"
    write_baseline(baseline_of(before.file), path)
    outcome = gate(read_baseline(path), now.file, 0.05, metrics=["passed"])
    assert outcome.verdict == "worse"
    assert "left out of passed: 3 cases with another expected value: c3, c4, c5" in outcome.notes
    (change,) = changes(evidence_of(before.file), evidence_of(now.file))
    assert (change.kind, change.text) == ("data", "3 cases with another expected value")


def test_added_cases_are_named_and_the_common_ones_compared(tmp_path: Path):
    """A dataset grows."""
    before = made(tmp_path / "a", BASE)
    now = made(tmp_path / "b", BASE.replace("range(12)", "range(20)"), worse)
    both = compare(before, now, metric="passed")
    assert (cases_of(both), both.verdict) == ((12, 0), "worse")
    assert "8 cases only in the second" in str(both)


def test_the_first_cases_are_compared_with_all_of_them(tmp_path: Path):
    """They were not chosen by what came of them."""
    before = made(tmp_path / "a", BASE)
    now = made(tmp_path / "b", BASE, worse, first=10)
    assert cases_of(compare(before, now, metric="passed")) == (10, 0)


def test_what_another_judge_judged_is_shown_and_undecided(tmp_path: Path):
    """What no judge judged is compared."""
    before, now = made(tmp_path / "a", BASE), made(tmp_path / "b", BASE, worse, judges="judge-9")
    both = compare(before, now, metric=["passed", "a condition"])
    passed, condition = both.results
    assert (passed.n, passed.verdict, passed.other_judge) == (12, "undecided", True)
    assert passed.withheld == "judged by judge-9 instead of judge-1"
    assert passed.difference is not None
    assert (condition.verdict, condition.withheld) == ("worse", "")


AFTERWARDS: dict[str, Iterable[str]] = {
    "an argument that is the first answer": (
        '    expect(output, Equals(SYSTEM(case)), label="stable")\n',
    ),
    "an argument that is the answer's own words": (
        '    expect(output, Contains(output + case.id if False else output), label="its own")\n',
    ),
    "a function over the answer": (
        '    expect(output, lambda text, first=output: text == first, label="same")\n',
    ),
    "a label with the answer's length": (
        '    expect(len(output) > 0, f"{len(output)} letters {case.id}")\n',
    ),
    "an end before the last expectation": (
        '    if len(output) < 3:\n        expect(False, "says something")\n        return output\n',
    ),
    "passages that were retrieved": (
        '    expect(output, Passes("is grounded", context=f"{case.id}: {output}"), metric="grounded")\n',
    ),
}


@pytest.mark.parametrize("name", AFTERWARDS)
def test_what_comes_of_the_answer_is_no_part_of_the_test(tmp_path: Path, name: str):
    """Arguments, labels and the end of an eval may hang on what the application does, in each case."""
    (line,) = AFTERWARDS[name]
    source = BASE.replace("    expect(output, Contains(", line + "    expect(output, Contains(", 1)

    def first(case: object) -> str:
        return f"t{getattr(case, 'id', '')}"

    def second(case: object) -> str:
        return first(case) if getattr(case, "id", "") == "c0" else "no"

    both = compare(made(tmp_path / "a", source, first), made(tmp_path / "b", source, second))
    result = next(one for one in both.results if one.metric == "passed")
    assert (result.n, result.verdict, dict(result.unlike)) == (12, "worse", {})


def test_a_run_of_an_earlier_version_is_compared_and_it_is_said_what_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It lacks the digests: its texts are looked at, and its expectations by name and bound."""
    before = made(tmp_path / "a", BASE)
    now = made(tmp_path / "b", BASE, worse)
    trials = [_of_earlier(trial) for trial in before.trials()]
    monkeypatch.setattr(before.file, "trials", lambda *_, **__: iter(trials))
    both = compare(before, now)
    assert passed_of(both) == "worse"
    assert "has no full record of its cases and expectations" in str(both)
    eased = made(tmp_path / "c", edited(CHANGES["another input"][0]), worse)
    assert passed_of(compare(before, eased)) == "undecided"
    bound = made(tmp_path / "d", edited(CHANGES["a lower bound"][0]), worse)
    assert passed_of(compare(before, bound)) == "undecided"


def _of_earlier(trial: TrialResult) -> TrialResult:
    from msgspec.structs import replace

    return replace(trial, content={}, definitions=())


def test_trials_that_were_picked_by_what_came_of_them_show_nothing(tmp_path: Path):
    """A part of a run, as a filter leaves it."""
    before, now = made(tmp_path / "a", BASE), made(tmp_path / "b", BASE, worse)
    failed = [trial.index for trial in now.trials() if trial.outcome == "fail"]
    part = now.file.only(failed, "status:fail", by_outcome=True)
    both = compare(before, part)
    assert both.verdict == "undecided"
    assert "were chosen by their outcomes" in str(both)
    named = compare(before, now.file.only(range(11), "case:c"))
    assert not any(one.withheld for one in named.results)


class Sums:
    """One side of a comparison, as far as it says how many cases have a value of an argument."""

    def __init__(self, cases: int, **having: int) -> None:
        slot = ("kind", 0)
        self.slot, self.cases = slot, cases
        self.values = Counter({(slot, "most", value): n for value, n in having.items()})

    def sums(self) -> Any:
        return self.values, self.cases


@pytest.mark.parametrize(
    ("first", "second", "became", "edited"),
    [
        (Sums(3, a=2), Sums(3, b=2), "b", True),
        (Sums(3, a=1), Sums(3, b=2), "b", False),
        (Sums(3, a=2), Sums(3, b=1), "b", False),
        (Sums(2, a=1), Sums(2, b=1), "b", True),
        (Sums(1, a=1), Sums(1, b=1), "b", True),
        (Sums(3, a=2), Sums(3, a=1, b=2), "b", False),
        (Sums(3, a=2, b=1), Sums(3, b=2), "b", False),
        (Sums(4, a=4), Sums(4, b=2, c=2), "bc", False),
    ],
)
def test_an_argument_was_edited_where_cases_that_shared_it_share_another_one(
    first: Any, second: Any, became: str, edited: bool
):
    """One case of three or more shows no pattern, nor does a value that stays, or becomes several."""
    alone = _Alone(first=first, second=second, passed={}, mine=(), theirs=(), one_run=False)
    arguments = [Argument((first.slot, first.slot), "most", ("a", value)) for value in became]
    for one in arguments:
        alone.add(one)
    assert {alone.edited(one) for one in arguments} == {edited}
