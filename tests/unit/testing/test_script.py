"""What a script answers: rules in their order, faults by their share, and files that are read whole or not at all."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from evenhand.core.errors import ConfigError
from evenhand.scorers.judge_prompt import judge_prompt
from evenhand.testing import Rule, Script, shapes
from evenhand.testing.script import FAULTS, ScriptedRequest, example_of


def asked(text: str, **more: str) -> ScriptedRequest:
    """A question of one message."""
    return ScriptedRequest(more.pop("model", "m"), text, last=more.pop("last", text), **more)


def said(script: Script, question: ScriptedRequest) -> str | None:
    """What the script says to it."""
    rule = script.rule_for(question)
    return None if rule is None else rule.reply_text(question.text)


def written(folder: Path, *lines: object) -> Path:
    """A script on disk; what is not text is written as JSON."""
    path = folder / "offline.jsonl"
    path.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines), "utf-8")
    return path


def test_the_first_rule_that_fits_answers():
    """All its patterns must be found; later rules are not looked at."""
    script = Script([Rule(("cats", "dogs"), "both"), Rule(("cats",), "cats"), Rule((), "any")])
    assert [said(script, asked(t)) for t in ("dogs, cats", "cats", "x")] == ["both", "cats", "any"]


def test_a_pattern_looks_across_lines():
    """A dot stands for a line's end too, as prompts have many lines."""
    assert said(Script([Rule(("one.*two",), "yes")], None), asked("one\n\ntwo")) == "yes"


@pytest.mark.parametrize(
    ("rule", "fits", "fits_not"),
    [
        (Rule(model="judge"), asked("x", model="judge"), asked("x", model="judge-2")),
        (Rule(last="^hi$"), asked("be kind\nhi", last="hi"), asked("hi", last="hi there")),
        (Rule(system="kind"), asked("x", system="be kind"), asked("be kind", system="")),
        (Rule(path="messages"), asked("x", path="/v1/messages"), asked("x", path="/v1/chat")),
    ],
    ids=["model", "last", "system", "path"],
)
def test_a_rule_may_look_at_one_part_of_a_request(
    rule: Rule, fits: ScriptedRequest, fits_not: ScriptedRequest
):
    """The model by its name, the other parts by patterns."""
    assert rule.fits(fits)
    assert not rule.fits(fits_not)


def test_a_rule_is_used_as_often_as_it_may():
    """After that it is passed over, as if it were not there."""
    script = Script([Rule(("x",), "twice", times=2), Rule(("x",), "then")])
    assert [said(script, asked("x")) for _ in range(4)] == ["twice", "twice", "then", "then"]


def test_a_reply_is_text_or_json_or_what_a_function_says():
    """JSON is written out; a function gets the conversation."""
    assert Rule(reply={"pass": True, "why": "é"}).reply_text("") == '{"pass": true, "why": "é"}'
    assert Rule(reply=7).reply_text("") == "7"
    assert Rule(reply=lambda text: [len(text)]).reply_text("four") == "[4]"


def test_what_no_rule_fits_has_an_answer_of_its_own_or_none():
    """Different questions, and different models, have different answers; without a default there is none."""
    one, again, two = (said(Script(), asked(t)) for t in ("a", "a", "b"))
    assert one == again != two
    assert said(Script(), asked("a", model="other")) != one
    assert said(Script([], None), asked("a")) is None


def test_only_rules_that_name_a_path_are_meant_for_embeddings():
    """So that a rule for any text does not answer what is no conversation."""
    script = Script([Rule((), "any"), Rule(path="embeddings", fault="500")])
    found = script.rule_for(asked("x", path="/v1/embeddings"), by_path=True)
    assert found is not None
    assert found.fault == "500"
    assert script.rule_for(asked("x", path="/v1/other"), by_path=True) is None


def test_faults_fall_on_the_same_requests_every_time():
    """By seed, request and attempt; about as many as asked for."""
    script = Script(faults={"500": 0.2, "drop": 0.1}, seed=3)
    again = Script(faults=script.faults, seed=3)
    drawn = [script.fault_for(f"key {i}", 1) for i in range(2000)]
    assert drawn == [again.fault_for(f"key {i}", 1) for i in range(2000)]
    counts = Counter(drawn)
    assert 330 < counts["500"] < 470
    assert 150 < counts["drop"] < 250
    attempts = {script.fault_for("key", n) for n in range(60)}
    assert attempts == {"", "500", "drop"}  # asked again, it draws again
    assert Script().fault_for("key", 1) == ""


@pytest.mark.parametrize("faults", [{"boom": 0.1}, {"500": 0.7, "drop": 0.7}, {"500": -0.1}])
def test_shares_of_faults_are_checked_when_they_are_given(faults: dict[str, float]):
    """A name that is none, more than all requests, less than none."""
    with pytest.raises(ValueError, match=r"not known|not shares"):
        Script(faults=faults)


@pytest.mark.parametrize(
    "wrong", [{"fault": "boom"}, {"fault": "200"}, {"match": ("(",)}, {"last": "["}]
)
def test_a_rule_is_checked_when_it_is_made(wrong: dict[str, str]):
    """Faults by name, patterns by compiling them."""
    with pytest.raises(ValueError, match=r"not known|not a regular expression"):
        Rule(**wrong)


@pytest.mark.parametrize("fault", [*FAULTS, "429", "529"])
def test_every_fault_can_be_asked_for(fault: str):
    """By a rule and by a share."""
    assert Rule(fault=fault).fault == fault
    assert Script(faults={fault: 1.0}).fault_for("key", 1) == fault


def test_a_script_on_disk_is_read_line_by_line(tmp_path: Path):
    """Empty lines, a byte order mark and comments are allowed; what no rule fits is refused."""
    path = written(
        tmp_path,
        '\ufeff{"match": ["a", "b"], "reply": {"x": 1}, "comment": "why"}',
        "",
        {"match": "c", "fault": 429, "retry_after": 2, "times": 1, "latency_ms": 5},
        {"match": {"text": "t", "last": "l", "system": "s", "model": "m", "path": "p"}},
        {"reply": "line\u2028separator", "headers": {"x-limit": 3}},
    )
    one, two, three, four = Script.read(str(path)).rules
    assert Script.read(path).rules == [one, two, three, four]
    assert (one.match, one.reply_text("")) == (("a", "b"), '{"x": 1}')
    assert (two.fault, two.retry_after, two.times, two.latency_ms) == ("429", "2", 1, 5.0)
    assert three == Rule(("t",), "", "m", last="l", system="s", path="p")
    assert (four.reply, four.headers) == ("line\u2028separator", {"x-limit": "3"})
    assert Script.read(path).default is None


@pytest.mark.parametrize(
    ("question", "excerpt"),
    [
        ("a question\nof two lines", "a question of two lines"),
        ("The same preamble. " * 20 + "Where is my order?", "Where is my order?"),
    ],
)
def test_what_no_rule_fits_is_told_by_its_last_words(tmp_path: Path, question: str, excerpt: str):
    """In a line, with the name of the script's file."""
    script = Script.read(written(tmp_path, {"match": "nothing of it"}))
    message = script.lacks(asked(question))
    assert message.startswith("offline.jsonl has no rule for: ")
    assert message.endswith(excerpt)
    assert len(message) < 160
    assert Script([], None).lacks(asked(question)).startswith("the script has no rule for: ")


def test_a_judges_request_that_no_rule_fits_is_told_by_its_criterion_and_output():
    """And not by what all judges' requests have in common."""

    def message(criterion: str, output: str) -> str:
        values = {"criteria": criterion, "output": output, "context": "", "examples": ""}
        _, prompt = judge_prompt("passes", values)
        return Script([], None).lacks(asked(prompt.text))

    assert message("names the\n30 days", "You have 30 days.") == (
        'the script has no rule for: criterion "names the 30 days" · output "You have 30 days."'
    )
    assert len(message("long " * 500, "words " * 500)) < 200


def test_all_that_is_wrong_with_a_script_is_said_at_once(tmp_path: Path):
    """Each with its line, what was found, and the nearest word."""
    path = written(
        tmp_path,
        {"mach": "a", "replay": "b"},
        [],
        {"match": ["(", 7], "fault": "boom"},
        {"times": "x", "latency_ms": -1, "reply": None},
        {"times": True},
        {"match": {"lst": "a", "system": 3}},
        '{"match": "a",}',
    )
    with pytest.raises(ConfigError) as caught:
        Script.read(path)
    lines = str(caught.value).splitlines()
    assert [problem.line for problem in caught.value.problems] == [
        1,
        1,
        2,
        3,
        3,
        3,
        4,
        4,
        4,
        5,
        6,
        6,
        7,
    ]
    assert lines[0] == f"{path}:1: key 'mach' is not known"
    assert "Did you mean 'match'?" in lines[1]
    assert "Did you mean 'reply'?" in str(caught.value)
    assert "Did you mean 'last'?" in str(caught.value)
    assert "a rule is an object, and this is []" in str(caught.value)
    # Python 3.13 points at the comma, earlier ones at what follows it.
    assert re.search(rf"{re.escape(str(path))}:7:1[45]: is not JSON", str(caught.value))


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_script_that_cannot_be_read_is_a_config_error(tmp_path: Path, content: bytes | None):
    """Not there, or not text."""
    path = tmp_path / "offline.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"offline\.jsonl: cannot be read"):
        Script.read(path)


def test_a_request_with_a_schema_that_no_rule_fits_says_what_a_reply_is_like():
    """Who writes replies for a metric of RAG needn't look for its keys."""
    statement = {
        "type": "object",
        "properties": {
            "claim": {"type": "boolean"},
            "topic": {"enum": ["on", "off"]},
            "more": {"$ref": "#/$defs/more"},
        },
    }
    schema = {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string"},
            "score": {"anyOf": [{"const": 3}, {"type": "null"}]},
            "statements": {"type": "array", "items": statement},
        },
        "$defs": {"more": {"type": ["integer", "null"]}},
    }
    body = {
        "messages": [{"role": "user", "content": "Judge."}],
        "response_format": {"json_schema": {"schema": schema}},
    }
    assert Script([], None).lacks(shapes.asked(body, "/v1/chat/completions")) == (
        'the script has no rule for: Judge. · its reply is like {"reasoning": "…", "score": 3, '
        '"statements": [{"claim": true, "topic": "on", "more": 1}]}'
    )


def test_a_schema_that_refers_to_itself_has_an_example():
    """A tree has one to a certain depth."""
    tree = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#/nowhere"}}}
    assert example_of(tree).endswith('"right": "…"}')
