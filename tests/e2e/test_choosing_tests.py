"""What the command line says of what is run, end to end: selections, files of results, and going on with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.commands import Run, in_process

from evenhand.languages.javascript.node import found_node
from evenhand.store.run_lookup import find
from evenhand.store.runfile import RunFile


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs a command line in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MOOD", "")  # so that what a test sets is taken back
    return in_process(capsys)


CONFIG = """
description: demo
prompts: ['{{q}}{{env.MOOD}}']
providers: [echo]
tests:
  - {vars: {q: good}, assert: [{type: contains, value: good}]}
  - {vars: {q: bad}, assert: [{type: contains, value: good}]}
  - {vars: {q: broken}, assert: [{type: python, value: "1/0"}]}
"""


def outputs() -> list[object]:
    """What the latest run's trials answered."""
    with RunFile.open(find(Path.cwd(), None)) as run:
        return [trial.output for trial in run.trials()]


def test_only_what_failed_is_run_again(evenhand: Run, tmp_path: Path) -> None:
    """Failures, errors, or both, of the latest run, of one by name, or of promptfoo's file."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    evenhand("run", "--no-progress")
    first = find(tmp_path, None).stem
    for option, found in (
        ("--filter-failing", ["bad", "broken"]),
        ("--filter-failing-only", ["bad"]),
        ("--filter-errors-only", ["broken"]),
    ):
        evenhand("run", "--no-progress", option, first)
        assert outputs() == found
    both = ("--filter-failing-only", first, "--filter-errors-only", first)
    evenhand("run", "--no-progress", *both)
    assert outputs() == ["bad", "broken"]
    evenhand("run", "--no-progress", "--filter-failing", first, "--filter-errors-only", first)
    assert outputs() == ["bad", "broken"]
    ended = evenhand("run", "--filter-failing-only", first, "--filter-errors-only", "latest")
    assert "name two runs" in ended.err
    rows = [
        {"vars": {"q": "good"}, "success": False, "failureReason": 1},
        {"vars": {"q": "bad"}, "success": True, "failureReason": 0},
    ]
    (tmp_path / "theirs.json").write_text(json.dumps({"results": {"results": rows}}))
    evenhand("run", "--no-progress", "--filter-failing", "theirs.json")
    assert outputs() == ["good"]


def test_a_run_goes_on_with_what_it_was_asked(evenhand: Run, tmp_path: Path) -> None:
    """Selection and overrides are kept with it."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    (tmp_path / "my.env").write_text("MOOD=!\n")
    asked = (
        "--filter-range",
        "1:",
        "--env-file",
        "my.env",
        "--var",
        "extra=1",
        "--prompt-suffix",
        "?",
    )
    assert evenhand("run", "--no-progress", *asked).code == 1
    assert outputs() == ["bad!?", "broken!?"]
    again = evenhand("resume", "--no-progress")
    assert again.code == 1
    assert outputs() == ["bad!?", "broken!?"]


def test_results_are_written_where_the_config_and_the_command_line_say(
    evenhand: Run, tmp_path: Path
) -> None:
    """Each file in the format of its ending."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG + "outputPath: out/r.jsonl\n")
    ended = evenhand("run", "--no-progress", "-o", "r.csv", "-o", "r.json")
    assert "3 trials written to" in ended.err
    assert len((tmp_path / "out" / "r.jsonl").read_text().splitlines()) == 3
    assert (tmp_path / "r.csv").read_text().count("\n") >= 4
    assert json.loads((tmp_path / "r.json").read_text())


def test_a_run_that_is_not_kept_leaves_nothing(evenhand: Run, tmp_path: Path) -> None:
    """What is printed and written is all there is of it."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    ended = evenhand("run", "--no-progress", "--no-write", "-o", "r.json")
    assert "demo" in ended.out
    assert ended.out.endswith("  not saved (--no-write)\n")
    assert "next: " not in ended.out
    assert (tmp_path / "r.json").is_file()
    assert not (tmp_path / "home").exists()


def test_where_nothing_is_selected_the_code_says_so(evenhand: Run, tmp_path: Path) -> None:
    """As in promptfoo it is 0 with promptfoo's codes, unless it is asked to be none."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    nothing = ("run", "--filter-pattern", "zzz")
    assert evenhand(*nothing).code == 5
    assert evenhand(*nothing, "--promptfoo-exit-codes").code == 0
    assert evenhand(*nothing, "--promptfoo-exit-codes", "--fail-on-empty").code == 5


@pytest.mark.parametrize("codes", [(), ("--promptfoo-exit-codes",)], ids=["ours", "promptfoos"])
@pytest.mark.parametrize("option", ["--filter-pattern", "--filter-prompts", "--filter-providers"])
def test_where_nothing_is_selected_the_files_for_results_are_said_to_stay_as_they_are(
    evenhand: Run, tmp_path: Path, option: str, codes: tuple[str, ...]
) -> None:
    """Those of the command line, and the config's own: results of an earlier run may be in them."""
    (tmp_path / "promptfooconfig.yaml").write_text(f"{CONFIG}\noutputPath: own.csv\n")
    ended = evenhand("run", option, "zzz", "-o", "r.json", *codes)
    assert "Nothing is written to own.csv. Nothing is written to r.json." in ended.err
    assert not [*tmp_path.glob("*.json"), *tmp_path.glob("*.csv")]


def test_several_configs_run_as_one(evenhand: Run, tmp_path: Path) -> None:
    """By option, by argument, by pattern."""
    for name in "ab":
        text = f"prompts: ['{{{{q}}}}']\nproviders: [echo]\ntests: [{{vars: {{q: {name}}}}}]\n"
        (tmp_path / f"{name}.yaml").write_text(text)
    for words in (("-c", "a.yaml", "-c", "b.yaml"), ("a.yaml", "b.yaml"), ("-c", "*.yaml")):
        assert evenhand("run", "--no-progress", *words).code == 0
        assert outputs() == ["a", "b"]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--var", "x"), "is not NAME=VALUE"),
        (("--filter-range", "x"), "is not a range"),
        (("--filter-failing", "nope"), "there are no runs"),
        (("--env-file", "no.env"), "no.env: does not exist"),
    ],
)
def test_an_option_that_cannot_be_read_is_a_mistake(
    evenhand: Run, tmp_path: Path, words: tuple[str, ...], what: str
) -> None:
    """It is said, and nothing is run."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    ended = evenhand("run", *words)
    assert ended.code == 2
    assert what in ended.err


def test_check_chooses_as_run_does(evenhand: Run, tmp_path: Path) -> None:
    """And calls nothing that prepares a run."""
    (tmp_path / "hooks.py").write_text("def beforeAll(context, info):\n    raise SystemExit\n")
    (tmp_path / "promptfooconfig.yaml").write_text(
        CONFIG + "extensions: [file://hooks.py:beforeAll]\n"
    )
    ended = evenhand("check", "--filter-range", "0:1", "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["trials"] == 1


@pytest.mark.parametrize("moment", ["beforeAll", "afterAll"])
@pytest.mark.parametrize("file", ["hooks.py", "hooks.js", "node.js"])
def test_what_an_extension_prints_is_no_part_of_the_results(
    evenhand: Run, tmp_path: Path, moment: str, file: str
) -> None:
    """`--json` prints one document, in whatever language the extension is, and whoever runs it."""
    if file == "node.js" and not found_node():
        pytest.skip("there is no Node here")
    code = f"module.exports = {{ {moment}: () => console.log('printed') }};\n"
    (tmp_path / "hooks.py").write_text(f"def {moment}(context, info):\n    print('printed')\n")
    (tmp_path / "hooks.js").write_text(code)
    (tmp_path / "node.js").write_text(f"require('os');\n{code}")
    (tmp_path / "promptfooconfig.yaml").write_text(
        CONFIG + f"extensions: [file://{file}:{moment}]\n"
    )
    ended = evenhand("run", "--json")
    assert ended.code == 1, ended.err
    assert json.loads(ended.out)["verdict"] == "failed"


def test_an_extension_that_raises_after_all_tests_leaves_the_run_to_be_shown(
    evenhand: Run, tmp_path: Path
) -> None:
    """The run was paid for, and is finished: the message says where it is."""
    (tmp_path / "hooks.py").write_text(
        "def afterAll(context, info):\n    raise ValueError('down')\n"
    )
    (tmp_path / "promptfooconfig.yaml").write_text(
        CONFIG + "extensions: [file://hooks.py:afterAll]\n"
    )
    ended = evenhand("run")
    assert ended.code == 2
    assert "hooks.py:afterAll raised ValueError: down" in ended.err
    assert "The run itself is finished and kept: `evenhand show " in ended.err
    assert "passed" in evenhand("show").out


def test_what_a_hook_makes_of_a_test_decides_and_is_shown(evenhand: Run, tmp_path: Path) -> None:
    """Its threshold, description and metadata, and what the results say was asserted; a later hook sees it, too."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        """
        prompts: ["{{q}}"]
        providers: [echo]
        extensions: [file://h.py:beforeEach, file://h.py:afterEach]
        tests:
          - description: before
            metadata: {owner: ann}
            threshold: 0.9
            vars: {q: good}
            assert: [{type: contains, value: good}, {type: contains, value: bad}]
          - {description: left, vars: {q: bad}, assert: [{type: contains, value: bad}]}
        """
    )
    (tmp_path / "h.py").write_text(
        "import json\n"
        "def beforeEach(context, info):\n"
        "    test = context['test']\n"
        "    if test['description'] == 'before':\n"
        "        test.update(description='after', metadata={'owner': 'bo'}, threshold=0.5)\n"
        "        test['assert'][1]['value'] = 'worse'\n"
        "    return context\n"
        "def afterEach(context, info):\n"
        "    row = [context['test']['description'], context['result']['metadata']]\n"
        "    with open('each.txt', 'a') as file: print(json.dumps(row), file=file)\n"
    )
    ended = evenhand("run", "--json")
    assert ended.code == 0, ended.err
    first, second = json.loads(ended.out)["trials"]
    assert (first["description"], first["metadata"]) == ("after", {"owner": "bo"})
    assert (first["outcome"], first["score"]) == ("pass", 0.5)
    assert (second["description"], second["outcome"]) == ("left", "pass")
    seen = sorted((tmp_path / "each.txt").read_text().splitlines())
    assert seen == ['["after", {"owner": "bo"}]', '["left", {}]']
    assert evenhand("export", "--to", "r.json").code == 0
    row = json.loads((tmp_path / "r.json").read_text())["results"]["results"][0]
    assert row["testCase"]["threshold"] == 0.5
    parts = row["gradingResult"]["componentResults"]
    assert [part["assertion"]["value"] for part in parts] == ["good", "worse"]


def test_what_hooks_make_of_metadata_is_added_to_that_of_the_test_and_of_the_answer(
    evenhand: Run, tmp_path: Path
) -> None:
    """Each hook sees all that is there before it; what it returns replaces nothing else."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        """
        prompts: ["{{q}}"]
        providers: [file://p.py]
        extensions: [file://h.py:afterEach, file://later.py:afterEach]
        tests: [{metadata: {owner: ann}, vars: {q: good}, assert: [{type: contains, value: good}]}]
        """
    )
    (tmp_path / "p.py").write_text(
        "def call_api(prompt, options, context):\n"
        "    return {'output': prompt, 'metadata': {'source': 'shop'}}\n"
    )
    (tmp_path / "h.py").write_text(
        "def afterEach(context, info):\n"
        "    return {'result': {'metadata': {'first': sorted(context['result']['metadata'])}}}\n"
    )
    (tmp_path / "later.py").write_text(
        "def afterEach(context, info):\n"
        "    result = context['result']\n"
        "    return {'result': {'metadata': {'second': [result['success'], *sorted(result['metadata'])]}}}\n"
    )
    assert evenhand("run", "-o", "r.json", "--no-progress").code == 0
    row = json.loads((tmp_path / "r.json").read_text())["results"]["results"][0]
    assert row["metadata"] == {
        "owner": "ann",
        "source": "shop",
        "first": ["owner", "source"],
        "second": [True, "first", "owner", "source"],
    }


def test_variables_that_name_each_other_are_said_to(evenhand: Run, tmp_path: Path) -> None:
    """By name, and where the test stands; one that names itself, or is filled in from others, is no such thing."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        """
prompts: ["{{a}}"]
providers: [echo]
defaultTest: {vars: {c: "{{d}}", d: "C {{c}}"}}
tests:
  - {vars: {a: "A {{b}}", b: "B {{a}}", c: x}, assert: [{type: contains, value: A}]}
  - {vars: {a: "{{a}} {{b}}", b: "{{c}}", c: x}, assert: [{type: contains, value: x}]}
  - {vars: {a: "x {{c}}"}, assert: [{type: contains, value: x}]}
"""
    )
    told = evenhand("run", "--no-progress").err
    ring = "name each other: each is filled in once, and some tags stay"
    assert f"promptfooconfig.yaml:6:6: variables 'a', 'b' {ring}" in told
    assert f"promptfooconfig.yaml:8:6: variables 'c', 'd' {ring}" in told
    assert told.count(ring) == 2


def test_hooks_see_what_promptfoo_shows_them(evenhand: Run, tmp_path: Path) -> None:
    """Prompt, variables, cost, tokens and metrics, so that a script that reports them works unchanged."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        CONFIG.replace("description: demo", "extensions: [file://h.py:afterEach, file://h.py:afterAll]")
        .replace("[{type: contains, value: good}]}\n", "[{type: contains, value: good, metric: m}]}\n", 1)
    )  # fmt: skip
    (tmp_path / "h.py").write_text(
        "import json\n"
        "def afterEach(context, info):\n"
        "    test, row = context['test'], context['result']\n"
        "    part = row['gradingResult']['componentResults'][0]['assertion']['type']\n"
        "    line = json.dumps([test['vars'], row['prompt']['raw'], row['testCase']['vars'], row['cost'],\n"
        "        row['tokenUsage']['total'], part, row.get('error')])\n"
        "    with open('each.txt', 'a') as file: print(line, file=file)\n"
        "def afterAll(context, info):\n"
        "    rows = [[row['testCase']['vars']['q'], row['gradingResult']['reason'], row['testIdx'],\n"
        "        row['prompt']['raw'], row['cost'], row['failureReason']] for row in context['results']]\n"
        "    metrics = context['prompts'][0]['metrics']\n"
        "    counts = [metrics['testPassCount'], metrics['testFailCount'], metrics['namedScores']]\n"
        "    with open('all.json', 'w') as file: json.dump([rows, counts], file)\n"
    )
    assert evenhand("run", "--no-progress").code == 1
    each = [json.loads(line) for line in (tmp_path / "each.txt").read_text().splitlines()]
    by_prompt = {line[1]: line for line in each}
    variables = {"q": "good"}
    assert by_prompt["good"] == [variables, "good", variables, 0.0, 0, "contains", None]
    assert by_prompt["bad"][-1] == 'not in "bad"'
    rows, counts = json.loads((tmp_path / "all.json").read_text())
    assert rows[:2] == [
        ["good", "All assertions passed", 0, "good", 0.0, 0],
        ["bad", 'not in "bad"', 1, "bad", 0.0, 1],
    ]
    assert rows[2][0] == "broken"
    assert counts == [1, 2, {"m": 1.0}]


def test_an_error_in_exported_results_is_no_score_once_they_are_imported(
    evenhand: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a grader by itself and of one in a set; promptfoo counts both as failures with 0, in a mean with others."""
    good, bad = ({"type": "contains", "value": value} for value in ("hello", "bye"))
    raising = {"type": "python", "value": "1/0", "metric": "m"}
    known = {"type": "contains", "value": "hello", "metric": "k"}
    suites: list[dict[str, object]] = [
        {"assert": [known, {"type": "assert-set", "assert": [good, raising]}]},
        {"assert": [{"type": "assert-set", "assert": [bad, raising]}]},
        {"assert": [{"type": "assert-set", "threshold": 0.4, "assert": [good, raising]}]},
        {"assert": [known, raising]},
        {"assert": [bad, raising]},
        {"threshold": 0.4, "assert": [good, raising]},
    ]
    tests = [{"vars": {"x": str(i)}, **suite} for i, suite in enumerate(suites)]
    config = {"prompts": ["hello {{x}}"], "providers": ["echo"], "tests": tests}
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config))

    def trials() -> list[tuple[object, ...]]:
        with RunFile.open(find(Path.cwd(), None)) as run:
            return [
                (t.outcome, t.score, t.named_scores, [(o.outcome, o.score) for o in t.outcomes])
                for t in run.trials()
            ]

    evenhand("run", "--no-progress", "-o", "o.json")
    first = trials()
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "other"))
    evenhand("import", "o.json")
    assert trials() == first
    assert [trial[:2] for trial in first] == [
        (outcome, None) for outcome in ("error", "fail", "pass") * 2
    ]


def test_hooks_after_one_and_after_all_trials_see_the_same_filled_in_row(
    evenhand: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what `beforeEach` added, whatever is left out of written results, and tokens that are unknown as 0."""
    config = {
        "prompts": ["{{x}} {{z}}"],
        "providers": ["python:p.py"],
        "extensions": [f"file://h.py:{name}" for name in ("beforeEach", "afterEach", "afterAll")],
        "tests": [{"vars": {"x": "file://x.txt", "y": "why", "z": "{{y}}!"}}],
    }
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config))
    (tmp_path / "x.txt").write_text("hello")
    (tmp_path / "p.py").write_text("def call_api(*_): return {'output': 'answer'}\n")
    (tmp_path / "h.py").write_text(
        "import json\n"
        "def keep(row, path):\n"
        "    line = [row['prompt']['raw'], row['vars'], row['testCase']['vars'], row['provider'],\n"
        "        row['response']['output'], [row['tokenUsage'][k] for k in ('prompt', 'completion', 'total')],\n"
        "        row['gradingResult']['pass']]\n"
        "    with open(path, 'w') as file: json.dump(line, file)\n"
        "def beforeEach(context, info):\n"
        "    context['test']['vars']['added'] = 'by hook'\n"
        "    return context\n"
        "def afterEach(context, info): keep(context['result'], 'each.json')\n"
        "def afterAll(context, info): keep(context['results'][0], 'all.json')\n"
    )
    for name in ("PROMPT_TEXT", "RESPONSE_OUTPUT", "TEST_VARS", "GRADING_RESULT", "METADATA"):
        monkeypatch.setenv(f"PROMPTFOO_STRIP_{name}", "true")
    assert evenhand("run", "--no-progress").code == 0
    each, every = (json.loads((tmp_path / name).read_text()) for name in ("each.json", "all.json"))
    variables = {"x": "hello", "y": "why", "z": "why!", "added": "by hook"}
    provider = {"id": "python:p.py", "label": "python:p.py"}
    row = ["hello why!", variables, variables, provider, "answer", [0, 0, 0], True]
    assert [each, every] == [row, row]
