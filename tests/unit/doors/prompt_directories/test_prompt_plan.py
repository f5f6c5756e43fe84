from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from evenhand.core.errors import ConfigError, NothingSelected, UsageError
from evenhand.core.expect import Expectation
from evenhand.core.plan import Selection
from evenhand.core.score import Score
from evenhand.doors.prompt_directories.content import content_of
from evenhand.doors.prompt_directories.evidence import EVALS, read
from evenhand.doors.prompt_directories.plan import load
from evenhand.engine.door import Settings, run
from evenhand.render.console import show
from evenhand.stats.interval import wilson
from evenhand.store.runfile import RunFile

JUDGE = """\
import json

def call_api(prompt, options, context):
    said = json.dumps(prompt) if not isinstance(prompt, str) else prompt
    if "GARBAGE" in said or "cannot be used" in said:
        return {"output": "I would rather not say."}
    if "Should the skill be used" in said:
        return {"output": json.dumps({"reasoning": "so", "matches": "hello" in said.split("The user's message:")[1]})}
    score = 5 if "inputs.*who:\\\\nAda" in said or "Ada" in said else 3
    if "SCORE" in said:
        score = int(said.split("SCORE")[1][0])
    return {"output": json.dumps({"reasoning": "so", "score": score, "confidence": 0.9})}
"""


class Never:
    """A scorer that nothing applies to."""

    def score(self, output, trial):
        return Score(None, None, "there is nothing to look at")


def settled(shelf, ids=("greet",), **more):
    """The trials of a run of these prompts, and the run's file."""
    plan = load(shelf.library, list(ids), **more)
    finished = run(plan, Settings(home=shelf.library.root / ".evenhand", cache=False))
    with RunFile.open(finished.path) as file:
        return list(file.trials()), plan


def last_row(shelf, name="greet"):
    """The latest row of a prompt's evals."""
    return read(shelf.library.prompts / name / EVALS).rows[-1]


def with_judge(shelf) -> str:
    """The id of a judge that scores, decides, or talks garbage, by what it reads."""
    (shelf.library.root / "judge.py").write_text(JUDGE, "utf-8")
    return "python:judge.py:call_api"


def test_a_suite_is_run_case_by_case(shelf):
    """The prompt is filled in, sent, and looked at; a row of evidence with the keys it always had is kept."""
    trials, _ = settled(shelf)
    assert [(t.case, t.outcome, t.output) for t in trials] == [
        ("one", "pass", "<p>Hello Ada</p>\n")
    ]
    row = last_row(shelf)
    wanted = {"all_passed": True, "total": 1, "passed": 1, "failed_cases": [], "partial": False}
    assert {key: row[key] for key in wanted} == wanted
    assert row["trials"] == 1
    assert row["offline"] is False
    assert row["models"] == ["echo"]


def test_a_failed_case_is_named_with_its_reason(shelf):
    """What failed, and why, can be read from the row."""
    text = """\
        cases:
          - {name: a, inputs: {who: x}, assert: [{contains: Bye}]}
          - {name: b, inputs: {who: x}, assert: [{contains: Hello}]}
        """
    shelf.add("greet", eval=text)
    settled(shelf)
    row = last_row(shelf)
    assert (row["all_passed"], row["passed"], row["failed_cases"]) == (False, 1, ["a"])
    assert "Bye" in row["reasons"]["a"]


@pytest.mark.parametrize(
    ("score", "outcome"), [(4, "pass"), (3, "fail"), (9, "error"), (0, "error")]
)
def test_a_rubric_wants_four_of_five(shelf, score, outcome):
    """4 passes by default, 3 does not, and what is off the scale is an error and no score."""
    judge = with_judge(shelf)
    shelf.add(
        "greet",
        eval=f'cases: [{{name: a, inputs: {{who: "SCORE{score}"}}, rubric: "How kind?", judge: {{model: "{judge}"}}}}]',
    )
    (trial,), _ = settled(shelf)
    assert trial.outcome == outcome
    assert last_row(shelf)["errors"] == (outcome == "error")


def test_a_judge_without_a_verdict_is_an_error(shelf):
    """It is no failure of the prompt; the eval is not green for all that."""
    judge = with_judge(shelf)
    shelf.add(
        "greet",
        eval=f'cases: [{{name: a, inputs: {{who: GARBAGE}}, rubric: "How kind?", judge: {{model: "{judge}"}}}}]',
    )
    (trial,), _ = settled(shelf)
    assert trial.outcome == "error"
    row = last_row(shelf)
    assert (row["all_passed"], row["errors"], row["failed_cases"]) == (False, 1, ["a"])


def test_a_judge_may_be_asked_several_times(shelf):
    """The mean of its scores counts, and each is kept."""
    judge = with_judge(shelf)
    shelf.add(
        "greet",
        eval=f'cases: [{{name: a, inputs: {{who: Ada}}, rubric: Kind?, judge: {{model: "{judge}", samples: 3}}}}]',
    )
    (trial,), _ = settled(shelf)
    (outcome,) = trial.outcomes
    assert (outcome.score, len(outcome.metadata["jury"])) == (5, 3)


def test_a_judge_sees_the_inputs(shelf):
    """Who rates an answer knows what it was made of."""
    judge = with_judge(shelf)
    shelf.add(
        "greet",
        prompt="<p>Hello you</p>",
        eval=f'cases: [{{name: a, inputs: {{who: Ada}}, rubric: "Is it for who?", judge: {{model: "{judge}"}}}}]',
    )
    (trial,), _ = settled(shelf)
    assert (
        trial.outcomes[0].score == 5
    )  # our judge gives 5 where it reads the name, which only the inputs have


@pytest.mark.parametrize(
    ("wanted", "query", "outcome"),
    [
        ("should_match", "say hello", "pass"),
        ("should_match", "write a poem", "fail"),
        ("should_not_match", "write a poem", "pass"),
        ("should_not_match", "say hello", "fail"),
        ("should_match", "GARBAGE", "error"),
    ],
)
def test_queries_match_or_do_not(shelf, wanted, query, outcome):
    """Yes where it should, no where it should not, and an error for neither."""
    judge = with_judge(shelf)
    shelf.add("greet", eval=f'triggering: {{judge: {{model: "{judge}"}}, {wanted}: ["{query}"]}}')
    (trial,), _ = settled(shelf)
    assert trial.outcome == outcome


def test_precision_and_recall_of_queries_are_kept(shelf):
    """Of three that were matched two should be; of three that should be two were."""
    judge = with_judge(shelf)
    shelf.add(
        "greet",
        eval=f"""\
        triggering:
          judge: {{model: "{judge}"}}
          should_match: [hello one, hello two, good day]
          should_not_match: [hello three, write a poem]
        """,
    )
    trials, plan = settled(shelf)
    row = last_row(shelf)
    low, high = wilson(2, 3)
    share = {"n": 3, "errors": 0, "low": pytest.approx(low), "high": pytest.approx(high)}
    share |= dict.fromkeys(("rate", "rate_least", "rate_most"), pytest.approx(2 / 3))
    assert row["triggering"] == {"precision": share, "recall": share}
    assert (row["total"], row["passed"], row["all_passed"]) == (5, 3, False)
    assert "trigger precision 0.67 of 3 · trigger recall 0.67 of 3" in plan.notes[0]
    assert [t.output for t in trials] == ["YES", "YES", "NO", "YES", "NO"]


def test_a_run_shows_how_well_queries_are_matched(shelf):
    """One eval in two columns, which are not compared; precision and recall, each with its n and its interval."""
    judge = with_judge(shelf)
    shelf.add(
        "greet",
        eval=f"""\
        cases: [{{name: a, inputs: {{who: Ada}}, assert: [contains: Ada]}}]
        triggering:
          judge: {{model: "{judge}"}}
          should_match: [hello one, good day]
          should_not_match: [hello two, write a poem]
        """,
    )
    plan = load(shelf.library, ["greet"])
    finished = run(plan, Settings(home=shelf.library.root / ".evenhand", cache=False))
    out = io.StringIO()
    with RunFile.open(finished.path) as file:
        show(file, out)
    said = " ".join(out.getvalue().split())
    assert "1 eval, 2 variants, 5 cases: 5 trials" in said
    assert (
        "precision 50 % [9–91], 1 of 2 that matched should · "
        "recall 50 % [9–91], 1 of 2 that should match did"
    ) in said
    assert "no detectable difference" not in said


def test_a_case_to_which_nothing_applies_is_no_green(shelf, monkeypatch):
    """It is counted apart, and a suite of nothing else opens no gate."""

    def unanswerable(*_: object, **__: object):
        return lambda cell: Expectation(cell.output, Never())

    monkeypatch.setattr("evenhand.doors.prompt_directories.assertions._expecting", unanswerable)
    shelf.add("greet", eval="cases: [{name: a, inputs: {who: Ada}, assert: [{contains: x}]}]")
    settled(shelf)
    row = last_row(shelf)
    wanted = {"all_passed": False, "total": 1, "passed": 0, "failed_cases": [], "trials": 0}
    assert {key: row[key] for key in wanted} == wanted
    assert (row["not_applicable"], row["pass_rate"]) == (1, None)


def test_an_error_is_no_failure_of_the_prompt(shelf):
    """It is named among what did not pass, and leaves the rate open: it may have passed."""
    (shelf.library.root / "half.py").write_text(
        "def call_api(prompt, options, context):\n"
        "    return {'error': 'busy'} if 'Bob' in str(prompt) else {'output': 'Ada'}\n"
    )
    shelf.add(
        "greet",
        eval="""\
        defaults: {model: "python:half.py:call_api"}
        cases:
          - {name: a, inputs: {who: Ada}, assert: [contains: Ada]}
          - {name: b, inputs: {who: Bob}, assert: [contains: Ada]}
        """,
    )
    settled(shelf)
    row = last_row(shelf)
    wanted = {"all_passed": False, "passed": 1, "failed_cases": ["b"], "trials": 1, "errors": 1}
    assert {key: row[key] for key in wanted} == wanted
    assert (row["pass_rate"], row["pass_rate_least"], row["pass_rate_most"]) == (None, 0.5, 1)
    assert row["interval"] == [wilson(1, 2)[0], 1]


def test_who_judged_is_kept(shelf):
    """By the name that answered, of rubrics and of queries."""
    judge = with_judge(shelf)
    shelf.add(
        "greet",
        eval=f"""\
        cases: [{{name: a, inputs: {{who: Ada}}, rubric: Kind., judge: {{model: "{judge}"}}}}]
        """,
    )
    settled(shelf)
    assert last_row(shelf)["judges"] == [judge]


def test_other_skills_are_shown_to_who_decides(shelf):
    """A query is decided among those that could be meant, not in isolation."""
    shelf.add("leave")
    with_judge(shelf)
    shelf.add("greet", eval="triggering: {among: all, should_match: [hello], judge: {model: echo}}")
    plan = load(shelf.library, ["greet"])
    (planned,) = plan.trials()
    assert planned.body.others == ["leave: Greets somebody by name. Use when somebody comes in."]
    shelf.add(
        "greet", eval="triggering: {among: [laeve], should_match: [hello], judge: {model: echo}}"
    )
    with pytest.raises(ConfigError, match="Did you mean 'leave'"):
        load(shelf.library, ["greet"])


def test_one_case_alone_is_partial(shelf):
    """It leaves the queries out, and its row says that it is not the whole suite."""
    shelf.add(
        "greet",
        eval="""\
        triggering: {should_match: [hello], judge: {model: echo}}
        cases:
          - {name: a, inputs: {who: x}, assert: [{contains: Hello}]}
          - {name: b, inputs: {who: x}, assert: [{contains: Bye}]}
        """,
    )
    trials, plan = settled(shelf, case="a")
    assert [t.case for t in trials] == ["a"]
    assert last_row(shelf)["partial"] is True
    assert "partial, so that no gate counts it" in plan.notes[0]
    with pytest.raises(UsageError, match="there is no case 'c'"):
        load(shelf.library, ["greet"], case="c")


@pytest.mark.parametrize(
    "selection",
    [
        Selection(first=1),
        Selection(sample=1),
        Selection(range=(1, None)),
        Selection(filter="^a$"),
        Selection(filter="^y$"),
        Selection(pattern="^a$"),
        Selection(metadata=("tags=sm",)),
        Selection(only=frozenset({"greet/a"})),
        Selection(models="^python:"),
    ],
)
def test_whatever_is_left_out_makes_it_partial(shelf, selection):
    """However it was selected; all of it, selected, is all of it."""
    with_judge(shelf)
    shelf.add(
        "greet",
        eval="""\
        cases:
          - {name: a, inputs: {who: x}, assert: [{contains: H}], tags: [small]}
          - {name: b, inputs: {who: y}, assert: [{contains: H}], model: "python:judge.py:call_api"}
        """,
    )
    trials, _ = settled(shelf, selection=selection)
    assert (len(trials), last_row(shelf)["partial"]) == (1, True)
    settled(shelf, selection=Selection(first=2, prompts="greet", metadata=("prompt=greet",)))
    assert last_row(shelf)["partial"] is False


def test_fewer_repeats_than_the_file_asks_for_are_partial(shelf):
    """More are as good."""
    path = shelf.library.prompts / "greet" / "eval.yml"
    path.write_text(path.read_text() + "defaults: {repeats: 2}\n")
    for repeats, partial in ((1, True), (2, False), (3, False)):
        settled(shelf, selection=Selection(repeats=repeats))
        assert last_row(shelf)["partial"] is partial


@pytest.mark.parametrize(
    "selection",
    [
        Selection(filter="("),
        Selection(pattern="("),
        Selection(metadata=("tags",)),
        Selection(models="("),
    ],
)
def test_a_selection_that_cannot_be_read_is_told(shelf, selection):
    """With the option that says it."""
    with pytest.raises(UsageError, match=r"^--filter"):
        load(shelf.library, ["greet"], selection)


def test_nothing_selected_is_an_error(shelf):
    """A selection that leaves no case runs nothing and keeps nothing."""
    with pytest.raises(NothingSelected):
        load(shelf.library, ["greet"], Selection(filter="nothing like it"))


def test_repeats_are_counted_by_case(shelf):
    """A case passes where all its repeats do; the interval knows them for one case."""
    settled(shelf, selection=Selection(repeats=4))
    row = last_row(shelf)
    assert (row["total"], row["trials"], row["trials_passed"]) == (1, 4, 4)
    assert row["interval"][0] < 0.4


def test_the_guard_goes_over_the_command_line_over_the_case(shelf):
    """Case, then what was given, then the guard; in one pass."""
    shelf.add(
        "greet",
        prompt="{{a}} {{b}} {{c}}",
        meta=(shelf.library.prompts / "greet" / "meta.yml").read_text().replace("who", "a"),
        eval='cases: [{name: one, inputs: {a: case, b: case, c: "{{a}}"}, assert: [{contains: "guard line {{a}}"}]}]',
        guard='#!/bin/sh\n[ "$EVA_VAR_a" = line ] && echo a=guard\n',
    )
    (trial,), _ = settled(shelf, variables={"a": "line", "b": "line"})
    assert (trial.outcome, trial.output) == ("pass", "guard line {{a}}")
    assert last_row(shelf)["partial"] is True


def test_the_eval_takes_the_way_that_a_send_takes(shelf):
    """verify.sh looks at each answer, a guard that says no is an error; `hooks: false` leaves them out."""
    hooks = {"verify": '#!/bin/sh\ngrep -q Bob "$EVA_OUTPUT_FILE"\n'}
    shelf.add("greet", **hooks)
    (trial,), _ = settled(shelf)
    assert [(o.name, o.outcome) for o in trial.outcomes][-1] == ("verify.sh", "fail")
    shelf.add("greet", **hooks, guard="#!/bin/sh\nexit 3\n")
    (trial,), _ = settled(shelf)
    assert trial.outcome == "error"
    assert "guard.sh failed for greet (exit 3)" in trial.error.message
    shelf.add(
        "greet",
        eval="defaults: {hooks: false}\ncases: [{name: a, inputs: {who: x}, assert: [{contains: Hello}]}]",
    )
    (trial,), _ = settled(shelf)
    assert trial.outcome == "pass"


def test_a_hook_that_hangs_is_an_error_of_its_trial(shelf):
    """After the time that meta.yml gives it."""
    meta = (shelf.library.prompts / "greet" / "meta.yml").read_text()
    shelf.add("greet", meta=f"{meta}hooks: {{timeout_s: 0.2}}\n", verify="#!/bin/sh\nsleep 30\n")
    (trial,), _ = settled(shelf)
    assert trial.outcome == "error"
    assert "took longer than 0.2 s" in trial.outcomes[-1].reason


def test_a_missing_variable_is_an_error_of_its_case(shelf):
    """Nothing is sent with a place left unfilled."""
    shelf.add("greet", eval="cases: [{name: a, inputs: {}, assert: [{contains: Hello}]}]")
    (trial,), _ = settled(shelf)
    assert trial.outcome == "error"
    assert "'who' has no value" in trial.error.message
    assert trial.calls == 0


def test_several_prompts_are_one_plan(shelf):
    """Each has its own row; those without an eval.yml are left out."""
    shelf.add("leave")
    shelf.add("plain", eval="")
    trials, plan = settled(shelf, ids=["greet", "leave", "plain"])
    assert [t.case for t in trials] == ["greet/one", "leave/one"]
    assert plan.size == plan.case_count == 2
    assert [line.split(":")[0] for line in plan.notes] == ["greet", "leave"]
    assert last_row(shelf, "leave")["all_passed"] is True


def test_all_that_keeps_a_plan_from_being_made_is_told(shelf):
    """No model, unknown models, and no eval.yml, over all prompts at once."""
    meta = (shelf.library.prompts / "greet" / "meta.yml").read_text()
    shelf.add("greet", meta=meta.replace("model: echo\n", ""))
    shelf.add(
        "leave",
        eval="cases: [{name: a, model: opneai:x, inputs: {who: x}, assert: [{contains: x}]}]",
    )
    with pytest.raises(ConfigError) as error:
        load(shelf.library, ["greet", "leave"])
    assert "case 'one' names no model" in str(error.value)
    assert "provider 'opneai:x' is not known" in str(error.value)
    shelf.add("plain", eval="")
    (shelf.library.prompts / "plain" / "eval.yml").unlink(missing_ok=True)
    with pytest.raises(ConfigError, match=r"has no eval\.yml"):
        load(shelf.library, ["plain"])


def test_bare_names_of_models_find_their_vendor(shelf):
    """claude-… is Anthropic's, gpt-… OpenAI's."""
    shelf.add(
        "greet",
        eval="""\
        defaults: {model: claude-haiku-4-5, timeout_s: 7}
        cases: [{name: a, inputs: {who: x}, assert: [{contains: x}]}]
        """,
    )
    plan = load(shelf.library, ["greet"], env={"ANTHROPIC_API_KEY": "k"})
    (provider,) = plan.providers
    assert (provider.id, provider.timeout_s) == ("anthropic:claude-haiku-4-5", 7)
    (estimate,) = plan.estimate()
    assert (estimate.role, estimate.calls) == ("subject", 1)


def test_the_plan_is_another_one_when_anything_in_it_is(shelf):
    """Its fingerprint follows the template, the cases and the hooks; not the title."""
    seen = {load(shelf.library, ["greet"]).fingerprint}
    meta: Path = shelf.library.prompts / "greet" / "meta.yml"
    meta.write_text(meta.read_text().replace("Greeter", "Welcomer"), "utf-8")
    assert load(shelf.library, ["greet"]).fingerprint in seen
    for files in (
        {"prompt": "Hello {{who}}!"},
        {"guard": "#!/bin/sh\n"},
        {"eval": "cases: [{name: a, inputs: {}, assert: [{contains: x}]}]"},
    ):
        shelf.add("greet", **files)
        seen.add(load(shelf.library, ["greet"]).fingerprint)
    assert len(seen) == 4


@pytest.mark.parametrize(
    "files",
    [
        {"prompt": "Hello {{who}}, again"},
        {"eval": "cases: [{name: easy, inputs: {who: x}, assert: [{contains: Hello}]}]"},
        {"verify": "#!/bin/sh\n"},
    ],
)
def test_the_evidence_is_of_what_was_when_the_run_began(shelf, files):
    """A prompt that is edited while its eval runs has no evidence for what it became."""
    plan = load(shelf.library, ["greet"])
    before = content_of(shelf.read()).whole
    shelf.add("greet", **files)
    run(plan, Settings(home=shelf.library.root / ".evenhand", cache=False))
    assert last_row(shelf)["content"] == before
    assert content_of(shelf.read()).whole != before


def test_evidence_that_cannot_be_kept_is_told_and_the_run_is_shown(shelf):
    """A folder that cannot be written takes nothing from what was paid for."""
    (shelf.library.prompts / "greet" / EVALS).mkdir()
    trials, plan = settled(shelf)
    assert trials[0].outcome == "pass"
    assert "but " in plan.notes[0]
    assert "cannot be written" in plan.notes[0]


def test_rows_are_json_of_one_line(shelf):
    """As other tools read them."""
    settled(shelf)
    (line,) = (shelf.library.prompts / "greet" / EVALS).read_text().splitlines()
    assert json.loads(line)["ts"].endswith("Z")


def test_a_suite_can_ask_for_less_than_all(shelf):
    """With pass_rate, three of four are green; an error never is."""
    cases = "".join(
        f"  - {{name: c{i}, inputs: {{who: x}}, assert: [{{contains: Hello}}]}}\n" for i in range(3)
    )
    cases += "  - {name: d, inputs: {who: x}, assert: [{contains: Bye}]}\n"
    shelf.add("greet", eval=f"defaults: {{pass_rate: 0.75}}\ncases:\n{cases}")
    settled(shelf)
    assert (last_row(shelf)["all_passed"], last_row(shelf)["pass_rate"]) == (True, 0.75)
    shelf.add("greet", eval=f"defaults: {{pass_rate: 0.8}}\ncases:\n{cases}")
    settled(shelf)
    assert last_row(shelf)["all_passed"] is False


def test_assertions_of_the_other_dialect_work_beside_its_own(shelf):
    """By their type, negated too, with a variable filled in; one that there is not is told."""
    asserts = (
        '[{type: icontains, value: "hello {{who}}"}, {type: not-equals, value: x}, {contains: Ada}]'
    )
    shelf.add("greet", eval=f"cases: [{{name: a, inputs: {{who: Ada}}, assert: {asserts}}}]")
    (trial,), _ = settled(shelf)
    assert [o.outcome for o in trial.outcomes] == ["pass"] * 3
    shelf.add(
        "greet",
        eval="cases: [{name: a, inputs: {}, assert: [{type: contians, value: x}, {type: contains}]}]",
    )
    with pytest.raises(ConfigError) as error:
        load(shelf.library, ["greet"])
    assert "Did you mean 'contains'" in str(error.value)
    assert "'contains' has no value" in str(error.value)


def test_a_rubric_of_the_other_dialect_is_judged_by_who_judges_here(shelf):
    """The case's judge, the file's, or EVENHAND_JUDGE; where nobody is named, the model that answers is not asked."""
    (shelf.library.root / "judge.py").write_text(
        "import json\n"
        "def call_api(prompt, options, context):\n"
        "    return {'output': json.dumps({'pass': True, 'score': 1, 'reason': 'so', 'reasoning': 'so'})}\n"
    )
    judge, item = "python:judge.py:call_api", "{type: llm-rubric, value: is kind}"
    case = f"{{name: a, inputs: {{who: Ada}}, assert: [{item}]}}"
    shelf.add("greet", eval=f'cases: [{case[:-1]}, judge: "{judge}"}}]')
    (trial,), _ = settled(shelf)
    assert (trial.outcome, last_row(shelf)["judges"]) == ("pass", [judge])
    shelf.add("greet", eval=f'defaults: {{judge: {{model: "{judge}"}}}}\ncases: [{case}]')
    (trial,), _ = settled(shelf)
    assert trial.outcome == "pass"
    shelf.add("greet", eval=f'defaults: {{model: "{judge}"}}\ncases: [{case}]')
    with pytest.raises(ConfigError, match="'llm-rubric' has no model to judge"):
        load(shelf.library, ["greet"], env={})
    plan = load(shelf.library, ["greet"], env={"EVENHAND_JUDGE": judge})
    assert [planned.problem for planned in plan.trials()] == [None]


def test_files_that_the_other_dialect_names_are_part_of_the_evidence(shelf):
    """A grader that was edited asks for another eval."""
    root = shelf.library.root
    (root / "grader.py").write_text(
        "def get_assert(output, context):\n    return 'Ada' in output\n"
    )
    (root / "schema.json").write_text('{"type": "string"}')
    items = (
        "{type: python, value: file://grader.py}, {type: not-is-json, value: file://schema.json}"
    )
    shelf.add("greet", eval=f"cases: [{{name: a, inputs: {{who: Ada}}, assert: [{items}]}}]")
    (trial,), _ = settled(shelf)
    assert [o.outcome for o in trial.outcomes] == ["pass", "pass"]
    before = content_of(shelf.read())
    assert last_row(shelf)["content"] == before.whole
    for name in ("grader.py", "schema.json"):
        path = root / name
        path.write_text(path.read_text() + " ")
        assert content_of(shelf.read()).cases != before.cases
        before = content_of(shelf.read())


PRICED = """\
defaults:
  model: openai:of-our-own
  prices: {openai:of-our-own: PRICE, ollama:llama3: {inputCost: 0.000001, outputCost: 0.000002}}
cases:
  - name: one
    inputs: {who: Ada}
    assert: [{contains: Hello}]
"""


def test_a_price_is_said_in_the_defaults(shelf):
    """In the words of a config: a model without a known price has one, for estimates and `--max-cost`."""
    shelf.add("greet", eval=PRICED.replace("PRICE", "{cost: 0.000002}"))
    plan = load(shelf.library, ["greet"], env={"OPENAI_API_KEY": "k"})
    (row,) = plan.estimate()
    assert row.cost_usd is not None
    assert row.cost_usd > row.tokens_in * 0.000002
    shelf.add("greet", eval=EVAL_WITHOUT_PRICE)
    assert [
        row.cost_usd
        for row in load(shelf.library, ["greet"], env={"OPENAI_API_KEY": "k"}).estimate()
    ] == [None]


def test_judges_with_a_price_have_an_estimate(shelf):
    """Of rubrics and of queries: as much as in a config, never `price unknown`."""
    judged = PRICED.replace("PRICE", "{cost: 0.000002}") + (
        "    rubric: polite\n    judge: {model: 'openai:of-our-own', samples: 3}\n"
        "triggering: {judge: {model: 'openai:of-our-own'}, should_match: [hello, hi]}\n"
    )
    shelf.add("greet", eval=judged)
    plan = load(shelf.library, ["greet"], env={"OPENAI_API_KEY": "k"})
    judges = [row for row in plan.estimate() if row.role == "judge"]
    assert [row.calls for row in judges] == [5]
    assert all(row.tokens_in == row.calls * 700 for row in judges)
    assert all(row.cost_usd and row.cost_usd > row.tokens_in * 0.000002 for row in judges)


EVAL_WITHOUT_PRICE = PRICED.replace(PRICED.splitlines(keepends=True)[2], "")


def test_prices_that_cannot_be_are_told(shelf):
    """Half a price, one that is no number, and two prices of one model among prompts that are run together."""
    shelf.add("greet", eval=PRICED.replace("PRICE", "{inputCost: 0.000002}"))
    with pytest.raises(ConfigError, match="the price of openai:of-our-own is not said"):
        load(shelf.library, ["greet"], env={})
    shelf.add("greet", eval=PRICED.replace("PRICE", "{cost: cheap}"))
    with pytest.raises(ConfigError, match="cost is 'cheap'"):
        load(shelf.library, ["greet"], env={})
    shelf.add("greet", eval=PRICED.replace("PRICE", "{cost: 0.000001}"))
    shelf.add("other", eval=PRICED.replace("PRICE", "{cost: 0.000002}"))
    with pytest.raises(ConfigError, match="the price of openai:of-our-own is another one"):
        load(shelf.library, ["greet", "other"], env={})
