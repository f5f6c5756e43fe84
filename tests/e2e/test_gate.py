"""`evenhand gate` on a folder whose replies are scripted: verdicts, exit codes, and that nothing is never a pass."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main

YES = "Answer yes. {{q}}"
NO = "Answer no. {{q}}"
CASES = 60
RULES = (
    {"match": "Answer fault", "fault": "400"},
    {"match": "Answer no", "reply": "no"},
    {"match": "Answer half.*[02468]$", "reply": "no"},
    {"reply": "yes"},
)
KEYS = [
    *("schema", "verdict", "results", "asked", "taken", "of", "cost_usd", "stopped", "stopping"),
    *("margin", "because", "notes", "title", "run", "baseline", "status"),
]


@dataclass
class Ended:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """What it printed as JSON."""
        return json.loads(self.out)


@dataclass
class Folder:
    """A folder of evals, and the command line in it."""

    path: Path
    run: Callable[..., Ended]
    rules: Sequence[dict[str, Any]] = field(default=RULES)

    def write(
        self,
        prompts: Sequence[Any] = (YES,),
        cases: int = CASES,
        asserts: Sequence[Any] = ({"type": "contains", "value": "yes"},),
        **config: Any,
    ) -> None:
        """Writes its config and its script."""
        tests = [
            {"description": f"case {i}", "vars": {"q": f"q{i}"}, "assert": list(asserts)}
            for i in range(cases)
        ]
        whole = {
            "prompts": list(prompts),
            "providers": ["openai:chat:gpt-5-mini"],
            "tests": tests,
            **config,
        }
        (self.path / "promptfooconfig.json").write_text(json.dumps(whole))
        (self.path / "offline.jsonl").write_text("".join(json.dumps(r) + "\n" for r in self.rules))

    def baseline(self, *words: str) -> None:
        """Runs what is there, and makes it the baseline."""
        assert self.run("run", "--offline", "--no-progress", *words).code in (0, 1, 3)
        assert self.run("baseline", "--to", "b.evn").code == 0

    def gate(self, *words: str, margin: str = "0.05") -> Ended:
        """The gate against it."""
        return self.run(
            *("gate", "--baseline", "b.evn", "--margin", margin, "--offline", "--no-progress"),
            *words,
        )


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    """An empty one."""
    return in_folder(tmp_path, monkeypatch, capsys)


def in_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    """The command line in this folder; the environment is not that of CI."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*words: str) -> Ended:
        code: Any = 0
        try:
            main(list(words))
        except SystemExit as ended:
            code = ended.code
        printed = capsys.readouterr()
        return Ended(code or 0, printed.out, printed.err)

    return Folder(tmp_path, run)


def test_what_did_not_change_is_not_worse(folder: Folder):
    """Exit code 0, in words and as JSON."""
    folder.write()
    folder.baseline()
    same = folder.gate("--all")
    assert (same.code, same.err) == (0, "")
    assert "✓ passed: not worse · 0 points [-6, +6] over 60 cases" in same.out
    document = folder.gate("--json", "--all").document
    assert list(document) == KEYS
    assert (document["schema"], document["verdict"]) == ("evenhand.gate/1", "not worse")
    assert (document["asked"], document["taken"], document["of"]) == (60, 0, 60)
    taken = folder.gate()
    assert taken.code == 0
    assert "✓ passed: not worse · 60 cases (no request or expectation has changed)" in taken.out
    assert "0 of 60 trials run · 60 taken from the baseline" in taken.out
    (result,) = document["results"]
    assert (result["metric"], result["verdict"], result["cases"]) == ("passed", "not worse", 60)
    assert result["difference"].keys() == {"value", "low", "high"}


def test_what_became_worse_is_blocked_and_what_became_better_passes(folder: Folder):
    """Exit codes 1 and 0."""
    folder.write()
    folder.baseline()
    folder.write([NO])
    worse = folder.gate()
    assert worse.code == 1
    assert "✗ passed: worse · -100 points" in worse.out
    (case,) = re.findall(r"next: evenhand show (.*)", worse.err)
    assert "100 % → 0 %" in worse.out
    assert "fail" in folder.run("show", *case.split()).out
    assert re.search(r"✗ case \d+ +100 % → 0 %", worse.out)
    folder.baseline()
    folder.write()
    better = folder.gate()
    assert better.code == 0
    assert "✓ passed: better" in better.out


def test_what_cannot_be_decided_is_undecided_unless_it_is_said_what_that_counts_as(folder: Folder):
    """Exit code 3; with --undecided 0 or 1, and that is said."""
    folder.write(cases=20)
    folder.baseline()
    folder.write(["Answer yes! {{q}}"], cases=20)
    open_ = folder.gate()
    assert open_.code == 3
    assert "undecided" in open_.out
    assert "next: add cases, or let only a proven loss fail: --undecided pass" in open_.err
    advice = " ".join(open_.out.split())
    more = "about 32 more cases would decide it if they come out like these: about 64 calls"
    assert f"{more}, including a new baseline)" in advice
    assert "no case was repeated" in advice
    passed, failed = folder.gate("--undecided", "pass"), folder.gate("--undecided", "fail")
    assert (passed.code, failed.code) == (0, 1)
    assert "undecided counts as pass, by --undecided\n" in passed.err
    assert folder.gate("--json", "--undecided", "pass").document["verdict"] == "undecided"
    (folder.path / "pyproject.toml").write_text(
        '[tool.evenhand.gate]\nbaseline = "b.evn"\nmargin = 0.05\nundecided = "fail"\n'
    )
    by_project = folder.run("gate", "--offline", "--no-progress")
    assert by_project.code == 1
    assert "undecided counts as fail, by the project's gate.undecided\n" in by_project.err
    assert folder.gate("--undecided", "pass").code == 0


def test_each_metric_of_each_variant_has_a_verdict(folder: Folder):
    """The gravest is that of all."""
    labels = [{"raw": YES, "label": "plain"}, {"raw": "Answer yes, kindly. {{q}}", "label": "kind"}]
    asserts = [
        {"type": "contains", "value": "yes", "metric": "agrees"},
        {"type": "not-contains", "value": "maybe"},
    ]
    folder.write(labels, asserts=asserts)
    folder.baseline()
    folder.write([labels[0], {"raw": NO, "label": "kind"}], asserts=asserts)
    worse = folder.gate("--json")
    assert worse.code == 1
    verdicts = {
        (one["variant"], one["metric"]): one["verdict"] for one in worse.document["results"]
    }
    assert verdicts == {
        ("plain", "passed"): "not worse",
        ("plain", "agrees"): "not worse",
        ("kind", "passed"): "worse",
        ("kind", "agrees"): "worse",
    }
    only = folder.gate("--json", "--metric", "agrees", "--filter-prompts", "plain")
    assert [one["metric"] for one in only.document["results"]] == ["agrees"]


def test_a_part_of_the_cases_is_compared_by_what_they_measure(folder: Folder):
    """A metric of other cases is not missed."""
    yes = {"type": "contains", "value": "yes"}
    tests = [
        {"vars": {"q": f"q{i}"}, "assert": [{**yes, "metric": "late"} if i > 49 else yes]}
        for i in range(CASES)
    ]
    folder.write(tests=tests)
    folder.baseline()
    names = [one["metric"] for one in folder.gate("--json").document["results"]]
    assert names == ["passed", "late"]
    part = folder.gate("--json", "--first", "50")
    assert (part.code, part.document["of"]) == (0, 50)
    assert [one["metric"] for one in part.document["results"]] == ["passed"]
    assert "10 cases only in the baseline" in " ".join(part.document["notes"])


def test_errors_may_have_come_out_either_way(folder: Folder):
    """A few of them leave it open; that is no pass."""
    folder.write()
    folder.baseline()
    folder.rules = ({"match": "q[0-9]$", "fault": "400"}, *RULES)
    folder.write()
    open_ = folder.gate()
    assert open_.code == 3
    assert "10 trials in error could turn it" in " ".join(open_.out.split())
    passed = folder.gate("--undecided", "pass")
    assert passed.code == 3
    assert "undecided does not count as pass here: errors could turn it" in passed.err
    assert folder.gate("--undecided", "fail").code == 1


def test_a_baseline_lives_beside_the_evals_and_is_found_from_anywhere(folder: Folder):
    """As the project says, with paths from its folder."""
    folder.write()
    folder.baseline()
    (folder.path / "evals").mkdir()
    for name in ("promptfooconfig.json", "offline.jsonl", "b.evn"):
        (folder.path / name).rename(folder.path / "evals" / name)
    (folder.path / "pyproject.toml").write_text(
        '[tool.evenhand.gate]\nbaseline = "evals/b.evn"\nmargin = 0.1\n'
    )
    assert folder.run("gate", "evals", "--offline", "--no-progress").code == 0


# Nothing is not a pass


def _moved(folder: Folder) -> None:
    (folder.path / "b.evn").rename(folder.path / "c.evn")


def _put(data: bytes) -> Callable[[Folder], None]:
    def put(folder: Folder) -> None:
        (folder.path / "b.evn").write_bytes(data)

    return put


def _changed(**config: Any) -> Callable[[Folder], None]:
    return lambda folder: folder.write(**config)


def _edited(folder: Folder) -> None:
    path = folder.path / "b.evn"
    path.write_text(path.read_text().replace('"outcome":"pass"', '"outcome":"fail"', 1))


def _cut(folder: Folder) -> None:
    path = folder.path / "b.evn"
    path.write_text("\n".join(path.read_text().splitlines()[:10]) + "\n")


def _without_script(folder: Folder) -> None:
    (folder.path / "offline.jsonl").unlink()


def _without_config(folder: Folder) -> None:
    (folder.path / "promptfooconfig.json").unlink()


def _all_fault(folder: Folder) -> None:
    folder.rules = ({"fault": "400"},)
    folder.write()


def _all_refuse_the_key(folder: Folder) -> None:
    folder.rules = ({"fault": "401"},)
    folder.write()


def _other_metric(folder: Folder) -> None:
    folder.write(asserts=[{"type": "contains", "value": "yes", "metric": "agrees"}])
    folder.baseline()
    folder.write()


def _judge_never_answers(folder: Folder) -> None:
    rubric = [
        {"type": "llm-rubric", "value": "kind", "metric": "kind", "provider": "openai:chat:gpt-5"}
    ]
    verdict = {"pass": True, "score": 1, "reason": "kind"}
    folder.rules = ({"model": "gpt-5", "reply": verdict}, *RULES)
    folder.write(asserts=rubric)
    folder.baseline()
    folder.rules = ({"model": "gpt-5", "reply": "I cannot say"}, *RULES)
    folder.write(asserts=rubric)


def _of_another_eval(folder: Folder) -> None:
    folder.write(cases=10)
    path = folder.path / "promptfooconfig.json"
    path.write_text(path.read_text().replace('"q": "q', '"q": "other '))


NOTHING: list[tuple[str, Callable[[Folder], None], tuple[str, ...], int, str]] = [
    ("the baseline was moved", _moved, (), 2, "there is no baseline"),
    ("the baseline is empty", _put(b""), (), 2, "is empty"),
    ("the baseline is something else", _put(b"a,b\n1,2\n"), (), 2, "not a baseline"),
    ("the baseline is JSON", _put(b'{"schema": "evenhand.run/1"}'), (), 2, "not a baseline"),
    ("the baseline was edited", _edited, (), 2, "was edited or merged"),
    ("the baseline was cut off", _cut, (), 2, "was cut off"),
    ("it is of other cases", _of_another_eval, (), 5, "no case in common"),
    ("a filter matches no case", lambda _: None, ("--filter", "nowhere"), 5, "matches none"),
    ("a filter of metadata", lambda _: None, ("--filter-metadata", "a=b"), 5, "matches none"),
    ("a range beyond the end", lambda _: None, ("--filter-range", "900:999"), 5, "matches none"),
    ("a prompt that is not there", lambda _: None, ("--filter-prompts", "zz"), 5, "zz"),
    ("there are no tests", _changed(cases=0), (), 5, "no case in common"),
    ("there is no script", _without_script, (), 2, "there is no offline.jsonl"),
    ("there is no config", _without_config, (), 2, ""),
    ("another path", lambda _: None, ("elsewhere",), 2, "elsewhere"),
    ("all trials are errors", _all_fault, (), 5, "in error"),
    ("all keys are refused", _all_refuse_the_key, (), 5, ""),
    ("nothing is expected any more", _changed(asserts=()), (), 5, "nothing"),
    ("echo answers", _changed(providers=["echo"]), (), 5, "no model was asked"),
    ("a metric is gone", _other_metric, (), 5, "the run has no values of this metric"),
    ("the judge never answers", _judge_never_answers, (), 5, "in error"),
    ("a metric that is nowhere", lambda _: None, ("--metric", "kindness"), 2, "no metric"),
    ("a prompt file was moved", _changed(prompts=["file://gone.txt"]), (), 2, "gone.txt"),
]


@pytest.mark.thorough(after=15)
@pytest.mark.parametrize("undecided", ["", "pass"])
@pytest.mark.parametrize(
    ("change", "words", "code", "message"),
    [case[1:] for case in NOTHING],
    ids=[case[0] for case in NOTHING],
)
def test_nothing_is_not_a_pass(
    folder: Folder,
    change: Callable[[Folder], None],
    words: tuple[str, ...],
    code: int,
    message: str,
    undecided: str,
):
    """Whatever counts as a pass otherwise: an exit code other than 0, and why."""
    folder.write()
    folder.baseline()
    change(folder)
    more = ("--undecided", undecided) if undecided else ()
    ended = folder.gate(*words, *more)
    assert ended.code == code, ended.out + ended.err
    assert message in ended.out + ended.err
    assert "Traceback" not in ended.err


def test_a_script_is_not_asked_in_ci_by_accident(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    """It is a usage error, unless it is said to be meant."""
    folder.write()
    folder.baseline()
    monkeypatch.setenv("CI", "true")
    refused = folder.gate()
    assert refused.code == 2
    assert "models and judges would answer from a script" in refused.err
    assert "--offline-in-ci: the gate then tests your own code and prompts" in refused.err
    assert folder.gate("--offline-in-ci", "--to", "gate.json").code == 0
    said = "models and judges answered from a script (--offline)"
    for words in (
        ("show",),
        ("comment", "gate.json", "--print"),
        ("export", "--to", "-", "--format", "markdown"),
    ):
        assert said in folder.run(*words).out


def test_scripted_replies_are_not_compared_with_those_of_models(folder: Folder):
    """Nor the other way round."""
    folder.write()
    folder.baseline()
    ended = folder.run("gate", "--baseline", "b.evn", "--margin", "0.05", "--no-progress")
    assert ended.code == 2
    assert "was made from other replies: it has scripted replies" in ended.err
    assert "Add --offline, or make the baseline" in ended.err


def test_metrics_whose_equal_results_no_gate_could_decide_are_left_out_of_the_next_command(
    folder: Folder,
):
    """A rating from 1 to 5 varies by more than a margin for rates; where even rates are too few, undecided may pass."""
    evals = folder.path / "own_evals.py"
    evals.write_text(
        "from evenhand import EvalSet, Score\n"
        "def tone(output):\n    return Score(int(output) % 5, scale=(0, 4))\n"
        "evals = EvalSet('own', data=[{'input': str(i)} for i in range(70)])\n"
        "@evals.eval\ndef answers(case, expect):\n    expect(len(case.input) < 3, 'short')\n"
        "    expect(case.input, tone, at_least=0, metric='tone')\n"
        "    return case.input\n"
    )
    assert folder.run("run", "own_evals.py", "--no-progress").code == 0
    made = folder.run("baseline", "--to", "own.evn")
    assert (
        "at a margin of 0.05, equal results of trials that run again are undecided in tone\n"
        in made.err
    )
    assert "--baseline own.evn --margin 0.05 --metric passed\n" in made.err
    gate = ("gate", "own_evals.py", "--baseline", "own.evn", "--margin", "0.05", "--no-progress")
    assert folder.run(*gate).code == 3
    assert folder.run(*gate, "--metric", "passed").code == 0
    assert folder.run("run", "own_evals.py", "--first", "4", "--no-progress").code == 0
    made = folder.run("baseline", "--to", "few.evn")
    assert "results of trials that run again are undecided in passed, tone\n" in made.err
    assert "--undecided pass\n" in made.err


def test_a_baseline_proposes_a_margin_that_its_clusters_can_keep(folder: Folder):
    """Seventy cases of ten documents: 5 points are none, and --undecided pass would let anything through."""
    (folder.path / "own_evals.py").write_text(
        "from evenhand import EvalSet\n"
        "rows = [{'input': str(i), 'vars': {'doc': f'd{i // 7}'}} for i in range(70)]\n"
        "evals = EvalSet('own', data=rows, cluster='doc')\n"
        "@evals.eval\ndef answers(case, expect):\n    expect(len(case.input) < 3, 'short')\n    return case.input\n"
    )
    assert folder.run("run", "own_evals.py", "--no-progress").code == 0
    made = folder.run("baseline", "--to", "own.evn")
    assert (
        "0.05 needs 52 clusters or more: with 10, even equal results of trials that run again are"
        in made.err
    )
    assert re.search(
        r"a margin of 0\.3 with 10 clusters is for results that don't vary from run to run; for results that vary from "
        r"run to run, evenhand info power says how many it takes\n",
        made.err,
    )
    assert "next: evenhand gate own_evals.py --baseline own.evn --margin 0.3\n" in made.err
    gate = ("gate", "own_evals.py", "--baseline", "own.evn", "--no-progress", "--all")
    assert folder.run(*gate, "--margin", "0.3").code == 0


def test_a_baseline_that_no_model_answered_is_compared_with_and_without_a_script(folder: Folder):
    """Of a program's own functions; that of another set is said to be of another set, not of other replies."""
    evals = folder.path / "own_evals.py"
    evals.write_text(
        "from evenhand import EvalSet\nevals = EvalSet('own', data=[{'input': str(i)} for i in range(8)])\n"
        "@evals.eval\ndef answers(case, expect):\n    expect(len(case.input) == 1, 'short')\n    return case.input\n"
    )
    assert folder.run("run", "own_evals.py", "--no-progress").code == 0
    made = folder.run("baseline", "--to", "own.evn")
    assert "next: evenhand gate own_evals.py --baseline own.evn --margin 0.3\n" in made.err
    assert (
        "0.05 needs 52 cases or more: with 8, even equal results of trials that run again are"
        in made.err
    )
    gate = ("--baseline", "own.evn", "--margin", "0.5", "--no-progress")
    (folder.path / "offline.jsonl").touch()
    for more in ((), ("--offline",)):
        assert folder.run("gate", "own_evals.py", *gate, *more).code == 0, more
    folder.write()
    folder.baseline()
    other = folder.run("gate", "own_evals.py", "--baseline", "b.evn", "--margin", "0.5")
    assert (other.code, "in common with own" in other.err) == (5, True)


def test_a_gate_without_baseline_or_margin_says_what_is_missing(folder: Folder):
    """Usage errors."""
    folder.write()
    folder.baseline()
    assert "no baseline to compare with" in folder.run("gate", "--margin", "0.1", "--offline").err
    assert "there is no margin" in folder.run("gate", "--baseline", "b.evn", "--offline").err
    too_large = folder.gate(margin="5")
    assert too_large.code == 2
    assert "5 points are 0.05" in too_large.err


def test_a_gate_stops_as_soon_as_nothing_can_be_much_worse(folder: Folder):
    """In the same order each time; the cases that it left out are not asked."""
    folder.write(cases=400)
    folder.baseline()
    words = ("--all", "--stop-when-decided", "-j", "1")  # nothing else is under way at the end
    ended = folder.gate(*words, "--json", "--no-cache")
    document = ended.document
    assert ended.code == 0
    assert (document["verdict"], document["stopped"]) == ("not worse", True)
    stopping = document["stopping"]
    assert document["asked"] == stopping["cases"] < 300
    assert (stopping["of"], stopping["seed"], stopping["open"]) == (400, 0, [])
    (result,) = document["results"]
    assert result["cases"] == stopping["cases"]
    assert result["difference"]["low"] < -0.03, "it allows for looking after each case"
    again = folder.gate(*words)
    assert f"stopped after {stopping['cases']} of 400 cases (order: seed 0)" in again.out
    other = folder.gate("--all", "--stop-when-decided", "--seed", "5").out
    assert "(order: seed 5)" in other
    refused = folder.run("baseline", "--to", "part.evn")
    assert refused.code == 2
    assert "without --stop-when-decided" in refused.err


def test_a_gate_stops_as_soon_as_something_is_clearly_worse(folder: Folder):
    """Half of the answers are wrong now."""
    folder.write(cases=400)
    folder.baseline()
    folder.write(["Answer half. {{q}}"], cases=400)
    ended = folder.gate("--stop-when-decided", "--json")
    assert ended.code == 1
    assert (ended.document["verdict"], ended.document["stopped"]) == ("worse", True)
    assert ended.document["asked"] < 150


@pytest.mark.thorough
def test_a_gate_that_is_not_decided_early_says_what_all_cases_say(folder: Folder):
    """And that 60 cases leave little to save."""
    folder.write()
    folder.baseline()
    ended = folder.gate("--all", "--stop-when-decided")
    assert "60 cases leave little to save" in ended.err
    assert "not decided before the last of 60 cases" in ended.out
    assert (ended.code, "60 of 60 trials run" in ended.out) == (3, True)


@pytest.mark.thorough
def test_metrics_on_no_known_scale_are_decided_by_all_cases(folder: Folder):
    """Said before, and the rest can be left out."""
    lengths = ({"type": "python", "value": "len(output) * 7.0", "metric": "length"},)
    folder.write(cases=150, asserts=lengths)
    folder.baseline()
    ended = folder.gate("--all", "--stop-when-decided", "--json", "--metric", "passed")
    assert ended.document["stopped"]
    whole = folder.gate("--all", "--stop-when-decided")
    assert "length can only be decided by all cases" in whole.err
    assert "not decided before the last of 150 cases: length needs all of them" in whole.out


def test_a_run_stops_as_soon_as_its_pass_rate_is_decided(folder: Folder):
    """Either way; what it shows later is what it decided, and no interval that ignores the looks."""
    folder.write(cases=400)
    words = ("run", "--offline", "--no-progress", "--json", "--stop-when-decided", "--at-least")
    ended = folder.run(*words, "0.8")
    document = ended.document
    assert ended.code == 0
    assert (document["verdict"], document["run"]["status"]) == ("passed", "decided")
    assert document["run"]["decided"]["of"] == 400
    assert document["totals"]["trials"] < 200
    (rate,) = document["rates"]
    assert rate["low"] < 0.98, "an interval that holds however often one looks is wider"
    shown = folder.run("show", "--no-table")
    assert "passed ·" in shown.out
    assert "the pass rates reach their bounds" in shown.out
    assert "evenhand resume" not in shown.out
    again = folder.run("resume")
    assert again.code == 0
    assert "without --stop-when-decided" in again.err
    folder.write([NO], cases=400)
    assert folder.run(*words, "0.8").code == 1


def test_a_config_says_what_its_gate_goes_by(folder: Folder):
    """Below the only key that is ours; the command line goes over it, and pyproject.toml below it."""
    gate = {"baseline": "b.evn", "margin": 0.2, "undecided": "fail", "metrics": ["passed"]}
    folder.write(evenhand={"gate": gate})
    folder.baseline()
    project = "[tool.evenhand.gate]\nbaseline = 'none.evn'\nmargin = 0.4\n"
    (folder.path / "pyproject.toml").write_text(project)
    words = ("gate", "--offline", "--no-progress", "--all", "--json")
    ended = folder.run(*words)
    assert (ended.code, ended.document["margin"]) == (0, 0.2)
    assert folder.run(*words, "--margin", "0.3").document["margin"] == 0.3
    strict = folder.run(*words, "--margin", "0.01")
    assert strict.code == 1, "undecided counts as a failure"
    assert "undecided counts as fail, by the gate of the config or eval set\n" in strict.err


def test_what_a_config_says_wrongly_of_its_gate_is_said_at_once(folder: Folder):
    """Each with its place; nothing is sent."""
    wrong = {"baseline": 3, "margin": "a lot", "undecided": "maybe", "metrics": "passed", "x": 1}
    folder.write(evenhand={"gate": wrong, "other": 1})
    ended = folder.run("gate", "--offline", "--no-progress")
    assert ended.code == 2
    for part in ("gate.baseline is 3", "gate.margin", "gate.undecided", "gate.metrics", "'x'"):
        assert part in ended.err, part
    assert "Traceback" not in ended.err


def test_a_config_that_wants_fresh_answers_takes_none_from_the_baseline(folder: Folder):
    """A gate of what is known would say nothing of the model."""
    folder.write(evaluateOptions={"cache": False})
    folder.baseline()
    ended = folder.gate("--json")
    assert (ended.document["asked"], ended.document["taken"]) == (60, 0)


def test_an_eval_set_says_what_its_gate_goes_by(folder: Folder):
    """And two that say different things have to be told apart."""
    text = """
from evenhand import Case, Dataset, EvalSet, Expect, GateTerms

evals = EvalSet(
    "NAME",
    data=Dataset.of(*({"id": f"c{i}", "input": i} for i in range(60))),
    gate=GateTerms("NAME.evn", margin=0.2),
)

@evals.eval
async def even(case: Case, expect: Expect) -> None:
    expect(case.input % 2 == 0, "even")
"""
    for name in ("one", "two"):
        (folder.path / f"{name}_evals.py").write_text(text.replace("NAME", name))
    assert folder.run("run", "one_evals.py", "--no-progress").code == 1
    assert folder.run("baseline", "--to", "one.evn").code == 0
    ended = folder.run("gate", "one_evals.py", "--no-progress", "--json")
    assert (ended.code, ended.document["margin"]) == (0, 0.2)
    both = folder.run("gate", "one_evals.py", "two_evals.py", "--no-progress")
    assert both.code == 2
    assert "have different gates" in both.err


def test_stopping_early_takes_a_bound_on_a_pass_rate(folder: Folder):
    """Nothing is sent without one."""
    folder.write()
    ended = folder.run("run", "--offline", "--no-progress", "--stop-when-decided")
    assert ended.code == 2
    assert "--at-least 0.9" in ended.err


def test_nothing_is_said_in_json_too(folder: Folder):
    """Where a selection leaves no case."""
    folder.write()
    folder.baseline()
    ended = folder.gate("--json", "--filter", "nowhere")
    assert ended.code == 5
    assert list(ended.document) == KEYS
    assert (ended.document["verdict"], ended.document["of"]) == ("nothing", 0)
    assert ended.document["because"]


@pytest.mark.parametrize("more", [(), ("--all",)], ids=["what changed", "all"])
def test_our_own_example_is_gated(folder: Folder, monkeypatch: pytest.MonkeyPatch, more: list[str]):
    """By the baseline that lives beside it, in CI."""
    example = Path(__file__).resolve().parents[2] / "examples" / "judge"
    for name in ("promptfooconfig.yaml", "messages.csv", "offline.jsonl", "baseline.evn"):
        (folder.path / name).write_bytes((example / name).read_bytes())
    monkeypatch.setenv("CI", "true")
    words = ("--baseline", "baseline.evn", "--margin", "0.05", "--offline", "--offline-in-ci")
    ended = folder.run("gate", *words, "--no-progress", "--json", *more)
    assert ended.code == 0, ended.out + ended.err
    assert {one["cases"] for one in ended.document["results"]} == {100}


def test_what_a_gate_came_to_is_also_written_to_a_file(folder: Folder):
    """The same document as --json prints, whatever the verdict, beside what people read."""
    folder.write()
    folder.baseline()
    folder.write([NO])
    worse = folder.gate("--to", "gate.json")
    assert worse.code == 1
    assert "✗ passed: worse" in worse.out
    document = json.loads((folder.path / "gate.json").read_text())
    assert list(document) == KEYS
    (result,) = document["results"]
    assert (result["worse"], result["better"], result["same"]) == (60, 0, 0)
    assert (result["kind"], result["text"]) == ("rate", "-100 points [-100, -88]")
    change = result["changed"][0]
    assert (change["verdict"], change["baseline"], change["now"]) == ("worse", 1.0, 0.0)
    assert change["name"] == f"case {change['trial']}"
    assert (document["baseline"], document["status"]) == ("b.evn", "finished")
    assert folder.run("comment", "gate.json", "--print").out.startswith("### ✗ worse than the")


def test_a_gate_that_cannot_run_says_so_in_the_file(folder: Folder):
    """What an earlier one left there is not taken for it."""
    folder.write()
    folder.baseline()
    assert folder.gate("--to", "gate.json").code == 0
    (folder.path / "promptfooconfig.json").write_text("{")
    assert folder.gate("--to", "gate.json").code == 2
    document = json.loads((folder.path / "gate.json").read_text())
    assert (document["verdict"], document["results"]) == ("nothing", [])
    assert "promptfooconfig.json" in document["because"]
    folder.write()
    assert folder.gate("--to", "gate.json", "--filter-pattern", "nobody").code == 5
    document = json.loads((folder.path / "gate.json").read_text())
    assert (document["verdict"], document["baseline"]) == ("nothing", "b.evn")
    assert folder.gate("--to", "nowhere/gate.json").code == 2


@pytest.mark.parametrize("everything", [True, False])
def test_a_changed_test_is_accepted_by_the_next_command(folder: Folder, everything: bool):
    """A baseline of this run if it ran all trials, and of another one where it took some."""
    for value in ("yes", "ye"):
        folder.write()
        config = folder.path / "promptfooconfig.json"
        whole = json.loads(config.read_text())
        for case in whole["tests"][: None if everything else 1]:
            case["assert"].append({"type": "contains", "value": value, "metric": "yes"})
        config.write_text(json.dumps(whole))
        if value == "yes":
            folder.baseline()
    changed = folder.gate("--metric", "yes")
    assert changed.code == 5, changed.out
    (line,) = re.findall(r"next, to accept the change: evenhand (.*)", changed.err)
    assert line.startswith("baseline 0" if everything else "run --offline, then evenhand ")
    for words in line.split(", then evenhand "):
        assert folder.run(*words.split()).code == 0
    assert "not worse" in folder.gate("--metric", "yes").out


def test_a_gate_that_errors_left_without_a_value_shows_them(folder: Folder):
    """What failed before as well is no help."""
    folder.write()
    folder.baseline()
    folder.write(["Answer fault. {{q}}"])
    broken = folder.gate()
    assert broken.code == 5
    assert re.search(r"next: evenhand show \w+ --where status:error\n", broken.err)


@pytest.mark.parametrize(
    ("fault", "helps"),
    [
        ("503", r"next: evenhand resume \w+ --errors\n"),
        ("400", r"next: evenhand show \w+ --where status:error, then change what is sent, and run"),
    ],
)
def test_a_gate_that_errors_leave_undecided_says_the_first_and_what_helps(
    folder: Folder, fault: str, helps: str
):
    """More cases wouldn't help, and --undecided pass doesn't cover it; what is refused is refused again."""
    folder.write()
    folder.baseline()
    folder.rules = ({"match": "q1", "fault": fault}, *RULES)
    folder.write(["Answer yes! {{q}}"])
    open_ = folder.gate("--retries", "0")
    assert open_.code == 3, open_.out
    assert re.search(helps, open_.err)
    assert "the first error, of case " in open_.out
    assert fault in open_.out


def test_a_gate_that_is_undecided_shows_the_first_case_that_became_worse(folder: Folder):
    """Not those that failed before as well."""
    folder.write(["Answer half. {{q}}"], cases=20)
    folder.baseline()
    folder.rules = ({"match": "q3$", "reply": "no"}, *RULES)
    folder.write(["Answer half. {{q}}"], cases=20)
    open_ = folder.gate(margin="0.1")
    assert open_.code == 3, open_.out
    (words,) = re.findall(r"next: evenhand (show .*)", open_.err)
    assert "q3" in folder.run(*words.split()).out


def test_a_file_that_wants_a_key_when_it_is_imported_is_lent_none(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
):
    """A client that it makes would send it: eval sets always run."""
    (folder.path / "keyed_evals.py").write_text(
        "import os\nfrom pathlib import Path\nfrom evenhand import EvalSet\n"
        "with Path(__file__).with_name('keys').open('a') as file:\n"
        "    file.write(os.environ['OPENAI_API_KEY'] + '\\n')\n"
        "evals = EvalSet('keyed', data=[{'input': str(i)} for i in range(8)])\n"
        "@evals.eval\ndef answers(case, expect):\n    expect(len(case.input) == 1, 'short')\n    return case.input\n"
    )
    monkeypatch.setenv("OPENAI_API_KEY", "own")
    assert folder.run("run", "keyed_evals.py", "--no-progress").code == 0
    assert folder.run("baseline", "--to", "own.evn").code == 0
    monkeypatch.delenv("OPENAI_API_KEY")
    # This process has imported the file already, and imports it again under another name.
    (folder.path / "keyed_evals.py").rename(folder.path / "again_evals.py")
    gate = folder.run("gate", "again_evals.py", "--baseline", "own.evn", "--margin", "0.5")
    assert (gate.code, "OPENAI_API_KEY" in gate.err) == (2, True)
    assert set((folder.path / "keys").read_text().split()) == {"own"}
