"""The mistakes that a Python engineer makes on first contact: each gets one clear message, and none passes in silence.

A message says where (the file and its line), what is wrong, and what to do. Each row is an eval file's lines, run by
the command line in this process.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from evenhand.cli import main

HEAD = """from evenhand import *
from evenhand.scorers import *
from evenhand.testing import Scripted
evals = EvalSet("shop", data=[{"id": "a", "input": "q", "expected": "yes", "question": "x"}], model=Scripted())
"""
EVAL = """
@evals.eval
async def it(case, model, expect):
    reply = await model.generate(case.input)
    {}
"""
LINES: dict[str, str] = {
    "expect(model.generate('x').text, Contains('yes'))": "Write await model.generate(…)",
    "expect(reply.text, 'is polite')": 'Passes("is polite")',
    "expect(reply.text, Contains)": "Write Contains(…).",
    "expect(Contains('yes'), reply.text)": "Write expect(output, scorer).",
    "expect.equal(reply.text, 'yes')": "Write expect(output, Equals(…))",
    "expect(reply.text).to_contain('yes')": "needs a label",
    "expect(reply.text == 'yes')": "needs a label",
    "expect(reply.text, Equals('yes'), 'msg')": 'label="…"',
    "expect(reply.content, Contains('yes'))": "Write reply.text.",
    "expect(reply.output_text, Contains('yes'))": "Write reply.text.",
    "expect(reply.choices[0].message.content, Contains('yes'))": "Write reply.text.",
    "expect(reply['text'], Contains('yes'))": "Write reply.text.",
    "expect(reply.texts, Contains('yes'))": "Did you mean 'text'?",
    "expect(reply.text, Contains(['yes', 'no']))": "ContainsAny([…])",
    "expect(reply.text, ContainsAny('yes'))": "Write ContainsAny(['…', '…']).",
    "expect(reply.text, TokenF1('yes'), at_least=80)": "Write a bound from 0 to 1.",
    "expect(reply.text, TokenF1('yes'), at_least='0.8')": "at_least is '0.8', not a number",
    "expect(reply.text, TokenF1('yes'))": "Write at_least= or at_most=.",
    "expect(reply.text, TokenF1('yes'), threshold=0.8)": "did you mean `at_least`?",
    "expect(reply.text, Contains('yes'), at_least=1)": "Leave at_least= and at_most= out.",
    "import re; expect(reply.text, Matches(re.compile('y')))": "not a text",
    "expect(reply.text, Matches('(y'))": "is not a regular expression",
    "expect(reply.text, not Contains('no'))": "Write ~Contains('no').",
    "expect(reply.text, Contains('yes') and Contains('y'))": "Write an expect(…) for each.",
    "expect(reply.text, Contains('yes') | Contains('y'))": "Write ContainsAny([…])",
    "expect(reply.text, Contains('yes') & Contains('y'))": "Write an expect(…) for each.",
    "expect(reply.text, ~TokenF1('yes'))": "at_most=",
    "expect(reply.text, ~(lambda o: True))": "Write ~FunctionScorer(…).",
    "expect(reply.text, [Contains('yes'), Contains('y')])": "Write an expect(…) for each scorer.",
    "expect(reply.text, Passes('is kind'))": "no judge is named",
    "expect(reply.text, Passes('is kind', judge=lambda p: 'yes'))": "judge= takes a model",
    "expect(reply.text, Passes('is kind', judge='openai/gpt-5'))": "Did you mean 'openai:gpt-5'?",
    "expect(reply.text, Passes('is kind', model='echo'))": "did you mean `judge`?",
    "expect(reply.text, Passes(rubric='is kind', judge='echo'))": "did you mean `criteria`?",
    "expect(reply.text, GEval(name='x', criteria='is kind'))": "import Passes.",
    "expect(reply.text, AnswerRelevancy(threshold=0.7))": "import AnswerRelevance.",
    "expect(reply.text, Faithfulness(retrieval_context=['a'], judge='echo'))": "did you mean `contexts`?",
    "expect(case.question, Contains('x'))": "Write case.vars['question']",
    "expect(case['input'], Contains('x'))": "Write case.input.",
    "expect(case.vars['qestion'], Contains('x'))": "case.vars of 'a' has: question",
    "expect(reply.text, Equals(case.expected_output))": "case 'a' has the variables: question.",
    "expect(len(reply.text), 3)": "expect(number, at_most=3, label=",
    "expect(None, Contains('x'))": "got None, not a text",
    "r = await model.generate('x', temperature=0)": "Settings belong to the model",
    "r = await model.chat('x')": "Write await model.generate(…).",
    "r = await model('x')": "Write await model.generate(…).",
    "expect.now(reply.text, Contains('yes'))": "Write await expect.now(…)",
    "await expect(reply.text, Contains('yes'))": "leave the await out",
    "pass": "it expects nothing",
    "return reply.text == 'yes'": "it expects nothing",
    "expect(reply.text, IsJson(dict))": "Write the JSON Schema as a dict",
    "expect(reply.text, Latency('2s'))": "is '2s', not a number",
    "expect(reply.text, Contains('yes'), weight='2')": "weight is '2', not a number",
    "expect(reply.text, lambda o: 'yes' in o)": 'Write label="…"',
    "expect(reply.text, lambda o: 'good', label='x')": "not True or False, a number, or a Score",
    "expect(reply.text, lambda a, b: True, label='x')": "is given the output, and the case",
    "expect(reply.text, Contains('yes', ignorecase=True))": "did you mean `ignore_case`?",
    "expect(reply.text, Contains())": "Contains needs `wanted`",
    "import nothing_of_this_name": "No module named 'nothing_of_this_name'",
}
"""A line of an eval, and what is said."""
FILES: dict[str, str] = {
    "@evals.eval\ndef it(cse, expect): ...": "Did you mean 'case'?",
    "@evals.eval('slow')\ndef it(expect): ...": "@evals.eval(tags=['slow'])",
    "@evals.eval(tag='slow')\ndef it(expect): ...": "did you mean `tags`?",
    "@evals.fixture(scope='session')\ndef db(): ...": "EvalSet.fixture takes no `scope`",
    "@evals.eval\ndef it(expect, db): ...": "Write @evals.fixture above a function db.",
    "def it(case, expect): ...": "Write @evals.eval above a function.",
    "@evals\ndef it(case, expect): ...": "Write @evals.eval above a function",
    "@evals.test\ndef it(case, expect): ...": "Write @evals.eval above a function.",
    "class TestIt:\n    @evals.eval\n    def it(self, expect): ...": "not a method of a class",
    "evals.run()": "Write run(evals)",
    "run([evals])": "Write run(evals, others, first=10).",
    "run('evals')": "run: str is not an EvalSet",
    "run(evals, limit=3)": "did you mean `first`?",
    "run(evals, max_cost=1)": "did you mean `max_cost_usd`?",
    "EvalSet('b', data='cases.csv')": "To read a file: Dataset.read('cases.csv')",
    "from evenhand import recording\nrecording.install(price=1)": "did you mean `prices`?",
    "from evenhand import recording\nrecording.install(role='jugde')": "Did you mean 'judge'?",
    "from evenhand import recording\nrecording.http_client(prices=[1])": "prices is [1], not a dict",
    "from evenhand import recording\nrecording.instal()": "Did you mean 'install'?",
    "import evenhand\nevenhand.recording.begin()": "\n  There are: AsyncTransport, Installed, ",
    "import evenhand\nevenhand.scorers.Contians('x')": "Did you mean 'Contains'?",
    "import evenhand\nevenhand.EvalSte('b')": "Did you mean 'EvalSet'?",
    "evenhand.run(evals)": "Write import evenhand.",
    "EvalSet('b', judge={'frist': 'openai:decisions:x'})": "a cascade has the keys 'first', 'then' and 'risk'",
    "EvalSet('b', data={'input': 'x'})": "Write a list of cases: [{…}].",
    "EvalSet('b', data=[('q', 'a')])": "Name its parts: {'input': …, 'expected': …}.",
    "EvalSet('b', data=['q', 'a'])": "Name what it is: {'input': …}.",
    "EvalSet('b', [{'input': 'x'}])": "Write EvalSet(name, data=…).",
    "EvalSet('b', dataset=[])": "did you mean `data`?",
    "EvalSet('b', models=['echo'])": 'did you mean `over={"model": […]}`?',
    "EvalSet('b', model=['echo'])": "model= takes a model",
    "EvalSet('b', over={'model': 'echo'})": "is 'echo', not a list of values",
    "EvalSet('b', over={'prompt': {'short': 'Hi'}})": "is a dict, and its keys alone would be the values: write a list",
    "EvalSet('b', over={'prompt': {'Hi', 'Ho'}})": "is a set, without an order: write a list",
    "EvalSet('b', over=['echo'])": "over is ['echo'], not a dict",
    "EvalSet('b', over={'n': 3})": "the axis 'n' is 3, not a list",
    "EvalSet('b', repeats=0)": "repeats is 0",
    "EvalSet('b', epochs=2)": "did you mean `repeats`?",
    "EvalSet('b', pass_rate=90)": "pass_rate is 90, not a number from 0 to 1",
    "EvalSet('b', threshold=0.9)": "did you mean `pass_rate`?",
    "EvalSet('b', require={'x': 0.9})": "write at_least(…) or at_most(…)",
    "EvalSet('b', require=[0.9])": "require is [0.9], not a dict",
    "EvalSet('b', tags='slow')": "tags is 'slow', not a list of tags",
    "EvalSet('b', compare=3)": "compare is 3, not a list",
    "EvalSet(data=[{'a': 1}])": "EvalSet needs `name`",
    "EvalSet([{'a': 1}])": "its name is [{'a': 1}], not a text",
    "Dataset.read('nope.csv')": "shop_evals.py:5: nope.csv does not exist",
    "Dataset.read(file='nope.csv')": "did you mean `path`?",
    "Dataset.from_csv('nope.csv')": "Write Dataset.read(path).",
    "Dataset.of([{'a': 1}])": "Dataset.of(*rows)",
    "from evenhand.scorers import ContextRelevancy": "Did you mean ContextRelevance?",
    "from evenhand.scorers import Levenshtein": "Did you mean EditDistance?",
    "from evenhand import Contains": "Write from evenhand.scorers import Contains.",
    "Case('a', question='x')": "did you mean `input`?",
    "Case(input='x')": "Case needs `id`",
    "score('q', 'a')": "score takes no argument without a name",
    "score(question='q', answer='a', contexts=['c'])": "did you mean `context`?",
    "score(question='q', answer='a', metrics=['answer_relevancy'])": "Did you mean 'answer_relevance'?",
    "score(question='q', answer='a', metrics=[])": "metrics: there are none",
    "Prompt('Hi {{a}}')": "Prompt needs `text`",
    "Prompt('x', 'Hi {{a}}').format(a=1)": "Write prompt.render(name=…), or prompt.text for its text.",
    "Prompt('x', 'Hi {a}').replace('Hi', '')": "Write prompt.text for its text.",
    "compare('latset', 'latest')": "`evenhand run` makes one",
}
"""Lines of a file, and what is said."""


def said_of(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """The exit code and all that is printed for a file with these lines after the head, on one line each."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "1000")
    Path("shop_evals.py").write_text(HEAD + text)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(["run", "shop_evals.py", "--no-write", "--json"])
    printed = out.getvalue()
    run = json.loads(printed) if printed.startswith("{") else {"trials": [], "warnings": []}
    parts = [*run["trials"], *run["warnings"]]
    outcomes = [json.dumps(part, ensure_ascii=False).replace('\\"', '"') for part in parts]
    assert isinstance(ended.value.code, int)
    return ended.value.code, "\n".join([err.getvalue(), *outcomes])


@pytest.mark.thorough(after=25)
@pytest.mark.parametrize("line", LINES)
def test_a_mistake_in_an_eval_is_said_with_its_line_and_what_to_do(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It is an error, never a pass; nothing of Python's own way of saying it is left."""
    code, said = said_of(EVAL.format(line), tmp_path, monkeypatch)
    assert code in (2, 3)
    assert LINES[line] in said
    assert "Traceback" not in said
    assert "this is a bug" not in said


@pytest.mark.parametrize("lines", FILES)
def test_a_mistake_in_a_file_is_said_with_its_line_and_what_to_do(
    lines: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Before anything is sent."""
    code, said = said_of(f"{lines}\n", tmp_path, monkeypatch)
    assert code == 2
    assert FILES[lines] in said
    assert re.search(r"(?:shop_evals\.py:\d|nope\.csv)", said)
    assert "Traceback" not in said
    assert "/src/evenhand/" not in said


@pytest.mark.parametrize(
    ("last", "reminded"),
    [("", True), ("run(evals)", False), ("raise SystemExit(0)", True), ("1 / 0", False)],
)
def test_a_file_of_evals_that_python_runs_does_not_end_in_silence(
    last: str, reminded: bool, tmp_path: Path
):
    """Nothing was run, and the exit code is 0."""
    file = tmp_path / "shop_evals.py"
    eval_ = "@evals.eval\ndef it(expect): expect(True, 'holds')"
    text = f"from evenhand import EvalSet, run\nevals = EvalSet('shop')\n{eval_}\n{last}\n"
    file.write_text(text)
    ended = subprocess.run([sys.executable, file], check=False, capture_output=True, text=True)
    said = "shop_evals.py: no eval was run\n  Run them: evenhand run shop_evals.py\n"
    assert (said in ended.stderr) == reminded
