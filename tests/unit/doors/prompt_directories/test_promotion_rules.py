from __future__ import annotations

import itertools
import json

import pytest
from click.testing import CliRunner

from evenhand.cli.verbs import evenhand
from evenhand.core.errors import UsageError
from evenhand.doors.prompt_directories import promotion
from evenhand.doors.prompt_directories.content import content_of
from evenhand.doors.prompt_directories.evidence import (
    EVALS,
    PENDING,
    PROMOTIONS,
    USAGE,
    append,
    read,
)
from evenhand.doors.prompt_directories.evidence_rules import latest_of_runs, not_an_eval
from evenhand.doors.prompt_directories.listing import described
from evenhand.doors.prompt_directories.outcome import rows_of
from evenhand.doors.prompt_directories.plan import load
from evenhand.doors.prompt_directories.promotion import promote
from evenhand.doors.prompt_directories.promotion_rules import evidence_of, gates, standing
from evenhand.doors.prompt_directories.runs import KeptRuns
from evenhand.engine.door import Settings, run
from evenhand.store.runfile import RunFile

NUMBERS = itertools.count()
VERIFY = "#!/bin/sh\nexit 0\n"


def use(shelf, times=1, **more):
    """Rows of sends of the prompt as it is now."""
    prompt = shelf.read()
    for _ in range(times):
        row = {"sent": True, "exit_code": 0, "verified": None, "model": "echo", "address": ""}
        row |= {"content": content_of(prompt).sent, "text_hash": f"text {next(NUMBERS)}"}
        append(prompt.path / USAGE, {**row, **more})


def evaluated(shelf, **more):
    """A row of a green eval of the prompt as it is now."""
    prompt = shelf.read()
    row = {
        "all_passed": True,
        "total": 2,
        "passed": 2,
        "partial": False,
        "offline": False,
        "trials": 2,
    }
    row |= {
        "content": content_of(prompt).whole,
        "model": "echo",
        "models": ["echo"],
        "judges": [],
        "judge": "",
        "judge_named_by": "",
        "addresses": {},
        "interval": [0.34, 1.0],
    }
    append(prompt.path / EVALS, {**row, **more})


def missing(shelf, target):
    """What keeps the prompt from this status."""
    prompt = shelf.read()
    return [gate.line for gate in gates(prompt, target, evidence_of(prompt)) if not gate.met]


def meta(shelf, **fields):
    """Sets fields of meta.yml."""
    path = shelf.library.prompts / "greet" / "meta.yml"
    lines = [x for x in path.read_text().splitlines() if x.split(":")[0] not in fields]
    path.write_text("\n".join([*lines, *(f"{k}: {v}" for k, v in fields.items())]) + "\n", "utf-8")


def test_three_successful_sends_make_a_draft_tested(shelf):
    """Verified or not looked at; two are not enough."""
    use(shelf, 2)
    assert missing(shelf, "tested") == [
        "2 of 3 distinct successful sends of this prompt as it is now, to echo"
    ]
    use(shelf, 1, verified=True)
    assert missing(shelf, "tested") == []
    assert not promote(shelf.read()).done  # none of these rows has its run here
    meta(shelf, promotion="{require_runs: false}")
    done = promote(shelf.read())
    assert (done.done, shelf.read().meta.status) == (True, "tested")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"verified": False}, "rejected by verify.sh"),
        ({"exit_code": 1}, "without an answer"),
        ({"exit_code": None}, "without an answer"),
        ({"sent": False}, ""),
        ({"content": "0" * 16}, "of an earlier version"),
        ({"model": "openai:other"}, "to openai:other"),
        ({"offline": True}, "answered from offline.jsonl"),
        ({"content": None}, "of an earlier version"),
        ({"address": "http://127.0.0.1:99"}, "sent to 127.0.0.1:99, which is not the vendor's"),
    ],
)
def test_sends_that_failed_or_were_of_something_else_do_not_count(shelf, more, why):
    """Refuted, crashed, dry, of an earlier version, to another model, scripted, or of nobody knows what."""
    use(shelf, 5, **more)
    (line,) = missing(shelf, "tested")
    assert line.startswith("0 of 3 distinct successful sends of this prompt as it is now, to echo")
    assert f"not counted: 5 {why}" in line if why else "not counted" not in line


def test_a_text_that_was_sent_twice_counts_once(shelf):
    """Three sends of two texts are two uses; a prompt without inputs is sent as one text, and each send counts."""
    use(shelf, 2, text_hash="the same")
    use(shelf, 1)
    (line,) = missing(shelf, "tested")
    assert line.startswith("2 of 3 distinct successful sends")
    assert "1 of a text that counts already" in line


def test_each_send_of_a_prompt_without_inputs_counts(shelf):
    """It has one text only."""
    shelf.add("greet", prompt="<p>Hello</p>\n")
    use(shelf, 3, text_hash="the same")
    assert missing(shelf, "tested") == []


def test_an_address_is_allowed_by_its_host_alone(shelf):
    """At whatever port; another host is not allowed by that."""
    meta(shelf, promotion="{addresses: [127.0.0.1]}")
    use(shelf, 3, address="http://127.0.0.2:99")
    assert missing(shelf, "tested")
    use(shelf, 3, address="http://127.0.0.1:99")
    assert missing(shelf, "tested") == []


def test_a_row_that_does_not_say_that_it_was_sent_is_not_a_send(shelf):
    """Nor counted among those that were left out."""
    use(shelf, 2)
    use(shelf, 1, sent=None)
    (line,) = missing(shelf, "tested")
    assert line == "2 of 3 distinct successful sends of this prompt as it is now, to echo"


def test_ten_verified_sends_and_a_green_eval_make_it_ready(shelf):
    """Not looked at is not verified."""
    shelf.add("greet", verify=VERIFY)
    meta(shelf, status="tested")
    use(shelf, 9, verified=True)
    use(shelf, 2)
    use(shelf, 1, verified="yes")
    assert len(missing(shelf, "ready")) == 2
    use(shelf, 1, verified=True)
    evaluated(shelf)
    assert missing(shelf, "ready") == []
    meta(shelf, promotion="{require_runs: false}")
    assert promote(shelf.read()).done
    prompt = shelf.read()
    assert standing(prompt, evidence_of(prompt)).state == "current"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"partial": True}, "partial"),
        ({"partial": None}, "partial"),
        ({"offline": True}, "answered from offline.jsonl"),
        ({"offline": None}, "answered from offline.jsonl"),
        ({"models": ["echo", "openai:other"]}, "answered by openai:other, and the prompt is sent"),
        (
            {"addresses": {"echo": ["http://127.0.0.1:99", ""]}},
            "sent to 127.0.0.1:99, which is not the vendor's address",
        ),
        ({"judges": ["m"], "judge": "m", "judge_named_by": None}, "from before rows said who"),
        (
            {"judges": ["m"], "judge": "m", "judge_named_by": "EVENHAND_JUDGE"},
            "judged by m, which only EVENHAND_JUDGE names",
        ),
        ({"content": "0" * 16}, "of an earlier version"),
        ({"model": "openai:other"}, "with another model"),
        ({"all_passed": False, "failed_cases": ["one"]}, "eval failed: one"),
        ({"all_passed": "yes"}, "eval failed: it has no verdict"),
    ],
)
def test_an_eval_counts_only_for_the_whole_suite_as_it_is(shelf, more, why):
    """An easy case alone, scripted answers, an older version, another model or a red run open no gate."""
    evaluated(shelf, **more)
    assert why in missing(shelf, "ready")[-1]


def test_a_judge_of_the_project_counts_as_long_as_the_project_names_it(shelf):
    """Somebody may have named another one since."""
    use(shelf, 10, verified=True)
    judge = "openai:gpt-5"
    evaluated(shelf, judges=[judge], judge=judge, judge_named_by="pyproject.toml")
    project = shelf.library.root / "pyproject.toml"
    for named, left in ((judge, 0), ("openai:gpt-4", 1)):
        project.write_text(f'[tool.evenhand]\njudge = "{named}"\n', "utf-8")
        assert len(missing(shelf, "ready")) == left
    (line,) = missing(shelf, "ready")
    assert f"judged by {judge}, which pyproject.toml does not name any more" in line


def test_evals_of_an_earlier_content_are_no_reruns_of_this_one(shelf):
    """However many of them were not green."""
    meta(shelf, promotion="{max_reruns: 0, min_uses: 0}")
    evaluated(shelf, content="0" * 16, all_passed=False)
    for _ in range(2):  # a green run before the latest one is none that was not green
        evaluated(shelf)
        assert missing(shelf, "ready") == []
    evaluated(shelf, all_passed=False)
    evaluated(shelf)
    assert "failed before the latest one, at most 0" in missing(shelf, "ready")[0]


def test_a_run_has_one_row_its_last_at_the_place_of_that(shelf):
    """A run that is gone on with appends another; rows without a run stand for themselves."""
    rows = [{"run": run, "n": n} for n, run in enumerate(["a", "b", "a", None, None], 1)]
    assert [row["n"] for row in latest_of_runs(rows)] == [2, 3, 4, 5]


@pytest.mark.parametrize("merged", [["red", "green"], ["green", "red"]])
def test_the_latest_eval_is_that_of_the_latest_time_however_git_merged_the_rows(shelf, merged):
    """Of two branches, either's rows may come first: the green one is older here, and decides nothing."""
    meta(shelf, promotion="{min_uses: 0, max_reruns: 0}")
    rows = {
        "green": {"ts": "2026-11-30T09:00:00Z"},
        "red": {"ts": "2026-11-30T10:00:00Z", "all_passed": False, "failed_cases": ["hard"]},
    }
    for name in merged:
        evaluated(shelf, **rows[name])
    assert [line[:30] for line in missing(shelf, "ready")] == ["the latest eval failed: hard; "]
    described_ = described(shelf.read())
    assert described_["latest_eval"]["ts"] == described_["last_eval"]["ts"] == rows["red"]["ts"]
    evaluated(shelf, ts="2026-11-30T11:00:00Z")
    assert "1 full run of this content failed before" in missing(shelf, "ready")[0]
    evaluated(shelf, ts="2026-11-30T08:00:00Z", all_passed=False)  # another branch's, merged late
    assert "2 full runs of this content failed before" in missing(shelf, "ready")[0]


def test_a_promotion_is_forced_if_the_latest_one_was_however_git_merged_the_rows(shelf):
    """A row that another branch had before is none of today's."""
    meta(shelf, status="tested")
    prompt = shelf.read()
    row = {"to": "tested", "content": content_of(prompt).whole}
    append(prompt.path / PROMOTIONS, {**row, "ts": "2026-11-30T10:00:00Z", "forced": True})
    append(prompt.path / PROMOTIONS, {**row, "ts": "2026-11-30T09:00:00Z", "forced": False})
    assert standing(prompt, evidence_of(prompt)).state == "forced"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, ""),
        ({"passed": 2}, "says something else: passed is 1 there, and 2 here"),
        ({"run_digest": "0"}, "has changed, or is another one"),
        ({"run": "01KAEXAMPLE0000000000000RN"}, "not backed by a run on this machine"),
        ({"run": None}, "from before rows were bound to runs"),
    ],
)
def test_an_eval_that_its_run_contradicts_opens_no_gate(shelf, change, why):
    """A row can be written by hand; the run that it names is on this machine and says what came of it."""
    plan = load(shelf.library, ["greet"])
    home = shelf.library.root / ".evenhand"
    finished = run(plan, Settings(home=home, cache=False))
    with RunFile.open(finished.path) as file:
        ((_, row),) = rows_of(file)
    row = {**row, "run": finished.path.stem, **change}
    prompt = shelf.read()
    append(prompt.path / EVALS, row)
    evidence = evidence_of(prompt, runs=KeptRuns(home), must_be_here=True)
    told = " ".join(not_an_eval(row, evidence))
    assert why in told if why else not told
    anywhere = evidence_of(prompt, runs=KeptRuns(home))
    contradicted = bool(why) and "run" not in change
    assert any("contradicted" in one for one in not_an_eval(row, anywhere)) is contradicted


def test_an_easy_case_run_after_a_red_suite_opens_no_gate(shelf):
    """The latest row that counts decides, not the last row."""
    evaluated(shelf, all_passed=False, failed_cases=["hard"])
    evaluated(shelf, partial=True)
    assert "eval failed: hard" in missing(shelf, "ready")[-1]


def test_rows_of_before_are_history(shelf):
    """A row without a hash keeps its place in the counts, and opens no gate."""
    path = shelf.library.prompts / "greet" / EVALS
    path.write_text(
        json.dumps({"ts": "x", "all_passed": True, "total": 1, "passed": 1, "failed_cases": []})
        + "\n"
    )
    assert "does not say what of" in missing(shelf, "ready")[-1]


@pytest.mark.parametrize("files", [{"prompt": "Hi {{who}}"}, {"guard": "#!/bin/sh\n"}])
def test_an_edit_makes_sends_stale(shelf, files):
    """The template and the hooks are what was sent."""
    use(shelf, 3)
    shelf.add("greet", **files)
    assert missing(shelf, "tested")


def test_an_edit_of_the_cases_makes_the_eval_stale_and_not_the_sends(shelf):
    """An eval.yml says nothing of what was sent; an example that it names is part of it."""
    shelf.add(
        "greet",
        eval="cases: [{name: a, inputs_from: examples/a, assert: [{contains: Hello}]}]",
        **{"examples/a/inputs.yml": "who: Ada\n"},
    )
    use(shelf, 3)
    evaluated(shelf)
    shelf.add(
        "greet",
        eval="cases: [{name: a, inputs_from: examples/a, assert: [{contains: Hello}]}]",
        **{"examples/a/inputs.yml": "who: Bob\n"},
    )
    assert missing(shelf, "tested") == []
    assert "of an earlier version" in missing(shelf, "ready")[-1]


def test_what_does_not_decide_what_is_sent_leaves_evidence_standing(shelf):
    """Status, version, title, notes and dates."""
    use(shelf, 3)
    evaluated(shelf)
    before = content_of(shelf.read())
    meta(shelf, title="Other", notes="x", version="9.9.9", status="tested", updated="2030-01-01")
    assert content_of(shelf.read()) == before


def test_another_model_makes_evidence_stale(shelf):
    """What one model did says nothing of another."""
    use(shelf, 3)
    evaluated(shelf)
    meta(shelf, model="openai:gpt-5-mini")
    assert missing(shelf, "tested")
    assert "with another model" in missing(shelf, "ready")[-1]


def test_a_prompt_without_a_verifier_can_say_so(shelf):
    """Otherwise the gate tells what to do about it; there is a way that is not --force."""
    use(shelf, 10)
    evaluated(shelf)
    assert "write one, or say 'promotion: {require_verified: false}'" in missing(shelf, "ready")[0]
    meta(shelf, promotion="{require_verified: false}")
    assert missing(shelf, "ready") == []


def test_a_prompt_can_ask_for_more(shelf):
    """Other counts, no eval, a number of trials, and a lower end of the interval."""
    use(shelf, 1, verified=True)
    meta(shelf, promotion="{min_uses: 1, require_eval: false}")
    assert missing(shelf, "ready") == []
    meta(shelf, promotion="{min_uses: 1, min_n: 30, at_least: 0.9}")
    evaluated(shelf)
    assert missing(shelf, "ready") == [
        "the latest eval had 2 trials, and 30 are needed",
        "the latest eval's pass rate is at least 0.340 (95 %), wanted 0.9",
    ]
    evaluated(shelf, trials=40, interval=[0.91, 1.0])
    assert missing(shelf, "ready") == []


def test_an_unmet_gate_promotes_nothing(shelf):
    """And writes nothing."""
    done = promote(shelf.read())
    assert (done.done, len(done.missing)) == (False, 1)
    assert shelf.read().meta.status == "draft"
    assert not (shelf.library.prompts / "greet" / PROMOTIONS).exists()


def test_force_wants_a_reason_and_leaves_a_record(shelf):
    """Who, from what, to what, past which gates, and why; it stands until the prompt is edited."""
    with pytest.raises(UsageError, match="--force needs a reason"):
        promote(shelf.read(), force=True, reason=" ")
    done = promote(shelf.read(), force=True, reason="shown to the board")
    assert done.done
    (row,) = read(shelf.library.prompts / "greet" / PROMOTIONS).rows
    assert (row["from"], row["to"], row["forced"]) == ("draft", "tested", True)
    assert row["reason"] == "shown to the board"
    assert row["unmet"] == list(done.missing)
    prompt = shelf.read()
    assert standing(prompt, evidence_of(prompt)).state == "forced"
    shelf.add("greet", prompt="Hi {{who}}", meta=(prompt.path / "meta.yml").read_text())
    prompt = shelf.read()
    assert standing(prompt, evidence_of(prompt)).state == "stale"


def test_a_promotion_that_was_killed_before_it_came_about_leaves_no_row(shelf, monkeypatch):
    """Its row was written first. The next promotion takes it back, and keeps those from before."""
    promote(shelf.read(), force=True, reason="first")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(promotion, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            promote(shelf.read(), force=True, reason="killed")
    prompt = shelf.read()
    assert prompt.meta.status == "tested"
    assert len(read(prompt.path / PROMOTIONS).rows) == 2
    assert [row["reason"] for row in evidence_of(prompt).promotions.rows] == ["first"]
    shown = CliRunner().invoke(evenhand, ["prompt", "log", "greet", "--promotions"])
    assert ("first" in shown.stdout, "killed" in shown.stdout) == (True, False)
    promote(prompt, force=True, reason="again")
    assert [row["reason"] for row in read(prompt.path / PROMOTIONS).rows] == ["first", "again"]
    assert not (prompt.path / PENDING).exists()


def test_a_promotion_that_was_killed_after_it_came_about_keeps_its_row(shelf):
    """Only the file of what was under way is left."""
    promote(shelf.read(), force=True, reason="first")
    folder = shelf.read().path
    (folder / PENDING).write_bytes((folder / PROMOTIONS).read_bytes())
    assert len(evidence_of(shelf.read()).promotions.rows) == 1
    promote(shelf.read(), force=True, reason="second")
    assert [row["reason"] for row in read(folder / PROMOTIONS).rows] == ["first", "second"]


def test_a_meta_yml_that_cannot_be_changed_leaves_no_row(shelf):
    """Its status is not on a line of its own."""
    path = shelf.library.prompts / "greet" / "meta.yml"
    text = path.read_text("utf-8").replace("status: draft\n", "status:\n  draft\n")
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match="is not on a line of its own"):
        promote(shelf.read(), force=True, reason="x")
    assert not (path.parent / PROMOTIONS).exists()


def test_force_is_not_recorded_where_nothing_was_missing(shelf):
    """The evidence was enough."""
    use(shelf, 3)
    meta(shelf, promotion="{require_runs: false}")
    assert promote(shelf.read(), force=True, reason="in a hurry").done
    (row,) = read(shelf.read().path / PROMOTIONS).rows
    assert (row["forced"], row["reason"], row["unmet"]) == (False, "in a hurry", [])


def test_what_is_ready_cannot_be_promoted(shelf):
    """A breaking change is a new prompt. Where its evidence is of something else by now, that is what is said."""
    meta(shelf, status="ready", promotion="{min_uses: 0, require_eval: false}")
    with pytest.raises(UsageError, match="already at top"):
        promote(shelf.read())
    meta(shelf, status="ready", promotion="{require_eval: false, require_verified: false}")
    with pytest.raises(UsageError, match="its evidence falls short: 0 of 10 distinct") as refused:
        promote(shelf.read())
    assert "prompt list" in refused.value.hint


def test_a_promotion_changes_two_lines(shelf):
    """Status and date; comments, quotes and order stay."""
    path = shelf.library.prompts / "greet" / "meta.yml"
    text = (
        path.read_text().replace("status: draft", "status:   'draft'   # for now") + "# the end\n"
    )
    path.write_text(text, "utf-8")
    promote(shelf.read(), force=True, reason="x")
    after = path.read_text().splitlines()
    assert "status:   tested   # for now" in after
    assert len([1 for a, b in zip(after, text.splitlines(), strict=True) if a != b]) == 2
